"""Linear models, support vector machines and encoders of ai.onnx.ml give what onnxruntime gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from ir_exec import check_model, compile_model
from ir_exec.errors import IRError, UnsupportedError
from tests.onnx.runtime import Node, assert_as_onnxruntime, model_of_node, node

RANDOM = np.random.default_rng(5)
TRANSFORMS = ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO")


def f(*shape: int, dtype: Any = np.float32) -> Any:
    return RANDOM.standard_normal(shape).astype(dtype)


def floats(count: int) -> list[float]:
    return [float(number) for number in f(count)]


def ml(type: str, *inputs: Any, opset: int = 3, **options: Any) -> Node:
    return node(type, *inputs, domain="ai.onnx.ml", opset=opset, **options)


def strings(*values: str) -> Any:
    return np.array(values, object)


LINEAR = [
    *[
        ml(
            "LinearRegressor",
            f(4, 3),
            coefficients=floats(6),
            intercepts=floats(2),
            targets=2,
            post_transform=transform,
        )
        for transform in (*TRANSFORMS, "PROBIT")
    ],
    ml("LinearRegressor", f(4, 3), coefficients=floats(3)),
    ml("LinearRegressor", f(4, 3), coefficients=floats(3), intercepts=floats(1), post_transform="LOGISTIC"),
    ml("LinearRegressor", f(3), coefficients=floats(3), intercepts=floats(2)),
    *[
        ml(
            "LinearClassifier",
            f(5, 3),
            coefficients=floats(9),
            intercepts=floats(3),
            classlabels_ints=[4, 2, 9],
            post_transform=transform,
            outputs=2,
        )
        for transform in TRANSFORMS
    ],
    *[
        ml(
            "LinearClassifier",
            f(5, 3),
            coefficients=floats(3),
            intercepts=floats(1),
            classlabels_strings=["no", "yes"],
            post_transform=transform,
            outputs=2,
        )
        for transform in ("NONE", "LOGISTIC")
    ],
    *[
        ml(
            "LinearClassifier",
            (f(5, 3) * 3).astype(dtype),
            coefficients=floats(6),
            intercepts=floats(2),
            classlabels_ints=[0, 1],
            outputs=2,
        )
        for dtype in (np.float64, np.int32, np.int64)
    ],
]


def regressor(kernel: str, **attributes: Any) -> Node:
    return ml(
        "SVMRegressor",
        f(5, 3),
        kernel_type=kernel,
        kernel_params=[0.4, 0.3, 3.0],
        coefficients=floats(4),
        rho=[0.2],
        n_supports=4,
        support_vectors=floats(12),
        **attributes,
    )


def classifier(kernel: str, classes: int, *, probabilities: bool = False, **attributes: Any) -> Node:
    pairs, vectors = classes * (classes - 1) // 2, [2, 3, 1, 2][:classes]
    labels = attributes.pop("labels", {"classlabels_ints": [3, 1, 7, 5][:classes]})
    if probabilities:
        attributes |= {"prob_a": [-abs(number) - 0.2 for number in floats(pairs)], "prob_b": floats(pairs)}
    return ml(
        "SVMClassifier",
        f(6, 3),
        kernel_type=kernel,
        kernel_params=[0.4, 0.3, 2.0],
        vectors_per_class=vectors,
        support_vectors=floats(3 * sum(vectors)),
        coefficients=floats((classes - 1) * sum(vectors)),
        rho=floats(pairs),
        outputs=2,
        **labels,
        **attributes,
    )


KERNELS = ("LINEAR", "POLY", "RBF", "SIGMOID")
MACHINES = [
    *[regressor(kernel) for kernel in KERNELS],
    regressor("RBF", one_class=1),
    ml("SVMRegressor", f(5, 4), coefficients=floats(4), rho=[0.2], kernel_params=[1.0, 0.0, 3.0]),
    *[classifier(kernel, 3) for kernel in KERNELS],
    *[classifier("RBF", classes, probabilities=True) for classes in (2, 3, 4)],
    *[classifier("RBF", 2, post_transform=transform) for transform in ("NONE", "LOGISTIC", "SOFTMAX")],
    classifier("RBF", 4, post_transform="LOGISTIC"),
    classifier("POLY", 3, labels={"classlabels_strings": ["a", "b", "c"]}),
    *[
        ml(
            "SVMClassifier",
            f(6, 3),
            coefficients=[sign * abs(coefficient) if sign else coefficient for coefficient in floats(3 * classes)],
            rho=[0.1],
            kernel_params=[1.0, 0.0, 3.0],
            classlabels_ints=[3, 1, 7][:classes],
            outputs=2,
            post_transform=transform,
        )
        for classes, sign, transform in (
            (1, 0, "NONE"),
            (1, 1, "LOGISTIC"),
            (2, 0, "NONE"),
            (2, 1, "NONE"),
            (3, 0, "SOFTMAX"),
        )
    ],
    ml(
        "SVMClassifier",
        f(6, 3),
        kernel_type="RBF",
        kernel_params=[0.4, 0.3, 2.0],
        vectors_per_class=[2],
        support_vectors=floats(6),
        coefficients=floats(2),
        rho=[0.1],
        prob_a=[1.0],
        prob_b=[0.5],
        classlabels_strings=["only"],
        outputs=2,
    ),
]

MISSING = np.array([[1, np.nan, 0], [np.nan, 0, 5]], np.float32)
ZEROS = np.array([[0, 0, 0], [-1, 2, -2]], np.float32)
NAMES = strings("a", "c", "b", "?")

ENCODERS = [
    *[ml("Normalizer", np.vstack([f(2, 3), ZEROS]), norm=norm) for norm in ("MAX", "L1", "L2")],
    *[ml("Normalizer", np.arange(6).reshape(2, 3).astype(dtype), norm="L2") for dtype in (np.int64, np.float64)],
    ml("Normalizer", f(4), norm="L1"),
    ml("Scaler", f(2, 3), scale=[2.0, 3.0, 4.0], offset=[1.0, 0.0, -1.0]),
    ml("Scaler", f(2, 3, dtype=np.float64), scale=[2.0], offset=[1.0]),
    ml("Imputer", MISSING, imputed_value_floats=[7.0, 8.0, 9.0], replaced_value_float=float("nan")),
    ml("Imputer", MISSING, imputed_value_floats=[7.0, 8.0], replaced_value_float=0.0),
    ml("Imputer", np.array([[1, -1], [-1, 3]]), imputed_value_int64s=[7], replaced_value_int64=-1),
    ml("OneHotEncoder", np.array([[1, 5], [3, 9]]), cats_int64s=[3, 1, 5]),
    ml("OneHotEncoder", np.array([1.7, 5.0, 3.0], np.float32), cats_int64s=[3, 1, 5], zeros=0),
    ml("OneHotEncoder", NAMES, cats_strings=["b", "a"]),
    ml("OneHotEncoder", np.array([1, 8]), cats_int64s=[3, 1, 5], zeros=0),
    ml("CategoryMapper", NAMES, cats_strings=["a", "b", "c"], cats_int64s=[5, 6, 7], default_int64=-4),
    ml("CategoryMapper", np.array([[7, 5], [1, 6]]), cats_strings=["a", "b", "c"], cats_int64s=[5, 6, 7]),
    ml("LabelEncoder", NAMES, opset=1, classes_strings=["a", "b", "c"]),
    ml("LabelEncoder", np.array([2, 0, 3, -1]), opset=1, classes_strings=["a", "b", "c"], default_string="none"),
    ml("LabelEncoder", NAMES, opset=2, keys_strings=["a", "b"], values_floats=[0.5, 1.5], default_float=-1.0),
    ml("FeatureVectorizer", np.array([[3, 4, 5], [6, 7, 8]]), np.array([[1], [2]]), opset=1, inputdimensions=[3, 1]),
    ml("FeatureVectorizer", f(2, 3), f(2, 2), opset=1, inputdimensions=[2, 4]),
]


@pytest.mark.parametrize("case", [*LINEAR, *MACHINES, *ENCODERS], ids=str)
def test_as_onnxruntime(case: Node) -> None:
    assert_as_onnxruntime(case, rtol=1e-4, atol=1e-5)


def with_maps() -> bytes:
    """A classifier as skl2onnx writes it: the scores are declared as a list of maps."""
    scores = helper.make_map_type_proto(TensorProto.INT64, helper.make_tensor_type_proto(TensorProto.FLOAT, []))
    nodes = [
        helper.make_node(
            "LinearClassifier",
            ["x"],
            ["label", "scores"],
            domain="ai.onnx.ml",
            coefficients=[1.0, 2.0, -1.0, 0.5],
            intercepts=[0.5, 0.25],
            classlabels_ints=[4, 6],
        ),
        helper.make_node("ZipMap", ["scores"], ["maps"], domain="ai.onnx.ml", classlabels_int64s=[4, 6]),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 2])]
    outputs = [
        helper.make_tensor_value_info("label", TensorProto.INT64, [None]),
        helper.make_value_info("maps", helper.make_sequence_type_proto(scores)),
    ]
    graph = helper.make_graph(nodes, "g", inputs, outputs)
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    model: bytes = helper.make_model(graph, opset_imports=imports, ir_version=9).SerializeToString()
    return model


def test_maps_are_a_tensor_of_scores(tmp_path: Any) -> None:
    outputs = compile_model(with_maps())({"x": np.array([[1, 2], [0, -1]], np.float32)})
    np.testing.assert_array_equal(outputs["label"], [4, 6])
    np.testing.assert_allclose(outputs["maps"], [[5.5, 0.25], [-1.5, -0.25]])
    path = tmp_path / "maps.onnx"
    path.write_bytes(with_maps())
    report = check_model(path)
    assert [
        (diagnostic.code, diagnostic.severity) for diagnostic in report.diagnostics if diagnostic.severity != "info"
    ] == [("IR606", "warning")]


@pytest.mark.parametrize(
    "case",
    [
        ml("LinearClassifier", f(5, 3), coefficients=floats(7), intercepts=floats(2), classlabels_ints=[0, 1]),
        ml("LinearClassifier", f(5, 3), coefficients=floats(9), intercepts=floats(3), classlabels_ints=[0, 1]),
        ml("LinearClassifier", f(5, 3), coefficients=floats(3), intercepts=floats(1), classlabels_ints=[0, 1, 2]),
        ml("LinearRegressor", f(5, 3), coefficients=floats(6), targets=0),
        ml("LinearRegressor", f(5, 3), coefficients=floats(4)),
        ml("SVMRegressor", f(5, 3), coefficients=floats(4), rho=[0.1], n_supports=2, support_vectors=floats(6)),
        ml("SVMRegressor", f(5, 3), coefficients=floats(3), rho=[0.1], kernel_type="CUBE", n_supports=3),
        ml("SVMClassifier", f(5, 3), coefficients=floats(4), rho=[0.1], classlabels_ints=[0, 1], prob_a=[1.0]),
        ml("SVMClassifier", f(5, 3), coefficients=floats(4), classlabels_ints=[0, 1], vectors_per_class=[2**40, 1]),
        ml("Normalizer", f(5, 3), norm="L3"),
        ml("Normalizer", f(5, 3, 2)),
        ml("Imputer", f(5, 3), imputed_value_int64s=[1]),
        ml("OneHotEncoder", f(5, 3), cats_strings=["a"]),
        ml("CategoryMapper", np.array([1]), cats_strings=["a"], cats_int64s=[1, 2]),
        ml("FeatureVectorizer", f(5, 3), opset=1, inputdimensions=[3, 2]),
        ml("ZipMap", f(5, 3), classlabels_int64s=[1, 2]),
    ],
    ids=str,
)
def test_damaged_attributes_are_refused(case: Node) -> None:
    with pytest.raises(IRError):
        compile_model(model_of_node(case, dynamic=False).SerializeToString())


@pytest.mark.parametrize("type", ["CastMap", "DictVectorizer"])
def test_operators_of_maps_are_named(type: str) -> None:
    with pytest.raises(UnsupportedError, match=type):
        compile_model(model_of_node(ml(type, f(2, 3)), dynamic=False).SerializeToString())
