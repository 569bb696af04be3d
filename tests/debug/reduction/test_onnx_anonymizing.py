"""Anonymous ONNX files: no name and no weight of the original, and the same computation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from ir_exec import read_model
from ir_exec.debug.reduction.onnx_anonymizing import anonymize_onnx
from ir_exec.onnx.editing.sources import OnnxSource
from ir_exec.types import Array

NETWORKS = Path(__file__).parents[2] / "networks" / "onnx"
F32, I64, STRING, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING, TensorProto.BOOL


def secret_model() -> ModelProto:
    """A model whose names, texts and dims contain `secret`."""
    then, other = (
        helper.make_graph(
            [helper.make_node(operator, ["secret_middle"], [f"secret_{operator}"], f"secret_{operator}_node")],
            "secret_graph",
            [],
            [helper.make_tensor_value_info(f"secret_{operator}", F32, [None, 5, 8, 8])],
        )
        for operator in ("Relu", "Neg")
    )
    function = helper.make_function(
        "secret.domain",
        "SecretLayer",
        ["secret_x"],
        ["secret_y"],
        [helper.make_node("Resize", ["secret_x", "", "secret_scales"], ["secret_y"], mode="linear")],
        [helper.make_opsetid("", 17)],
    )
    function.node.insert(
        0,
        helper.make_node(
            "Constant", [], ["secret_scales"], value=numpy_helper.from_array(np.float32([1, 1, 2, 2]), "secret_value")
        ),
    )
    nodes = [
        helper.make_node(
            "Conv", ["secret_image", "secret_weight"], ["secret_conv"], "secret_node", auto_pad="SAME_UPPER"
        ),
        helper.make_node("SecretLayer", ["secret_conv"], ["secret_middle"], "secret_call", domain="secret.domain"),
        helper.make_node("If", ["secret_flag"], ["secret_out"], "secret_if", then_branch=then, else_branch=other),
        helper.make_node(
            "LabelEncoder",
            ["secret_text"],
            ["secret_label"],
            domain="ai.onnx.ml",
            keys_strings=["secret", "secret2"],
            values_int64s=[1, 2],
        ),
    ]
    graph = helper.make_graph(
        nodes,
        "secret_network",
        [
            helper.make_tensor_value_info("secret_image", F32, ["secret_batch", 3, 4, 4]),
            helper.make_tensor_value_info("secret_flag", BOOL, []),
            helper.make_tensor_value_info("secret_text", STRING, [2]),
        ],
        [
            helper.make_tensor_value_info("secret_out", F32, [None, 5, 8, 8]),
            helper.make_tensor_value_info("secret_label", I64, [2]),
        ],
        [numpy_helper.from_array(np.random.default_rng(1).random((5, 3, 3, 3), np.float32), "secret_weight")],
        "secret documentation",
    )
    opsets = [helper.make_opsetid(*pair) for pair in (("", 17), ("ai.onnx.ml", 3), ("secret.domain", 1))]
    model = helper.make_model(graph, opset_imports=opsets, functions=[function], ir_version=9)
    helper.set_model_props(model, {"secret_key": "secret"})
    model.doc_string = model.domain = "secret"
    return model


def anonymize(model: ModelProto, seed: int = 0) -> tuple[ModelProto, dict[str, str]]:
    content = model.SerializeToString()
    return anonymize_onnx(OnnxSource(content), read_model(content), seed=seed)


def test_nothing_of_the_original_remains() -> None:
    original = secret_model()
    model, names = anonymize(original)
    assert b"secret" not in model.SerializeToString().lower()
    assert names["secret_image"] == model.graph.input[0].name
    onnx.checker.check_model(model)
    assert [node.op_type for node in model.graph.node][::2] == ["Conv", "If"]
    assert model.graph.node[0].attribute[0].s == b"SAME_UPPER"
    assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_param
    weights = [numpy_helper.to_array(proto.graph.initializer[0]) for proto in (original, model)]
    assert weights[0].shape == weights[1].shape
    assert not np.array_equal(*weights)
    assert abs(float(weights[0].mean() - weights[1].mean())) < 0.1


def test_constants_of_shapes_remain() -> None:
    """The scales of a Resize are floats that inference needs."""
    model, _ = anonymize(secret_model())
    (function,) = model.functions
    assert numpy_helper.to_array(function.node[0].attribute[0].t).tolist() == [1, 1, 2, 2]
    assert function.node[1].attribute[0].s == b"linear"


def test_seed() -> None:
    first, again, other = (anonymize(secret_model(), seed)[0] for seed in (0, 0, 1))
    assert first == again
    assert first.graph.initializer[0] != other.graph.initializer[0]


@pytest.mark.parametrize("name", ["loops", "lstm", "quantized_qdq", "windows"])
def test_networks_compute_the_same_shapes(name: str) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    path = NETWORKS / f"{name}.onnx"
    model, names = anonymize(onnx.load(path))
    with np.load(path.with_suffix(".inputs.npz")) as stored:
        arrays = list(stored.values())
    shapes = []
    for proto in (onnx.load(path), model):
        session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
        ports = [port.name for port in session.get_inputs()]
        feeds: dict[str, Array] = dict(zip(ports, arrays, strict=True))
        shapes.append([np.shape(output) for output in session.run(None, feeds)])
        assert proto is not model or set(ports) <= set(names.values())
    assert shapes[0] == shapes[1]
