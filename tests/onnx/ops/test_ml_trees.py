"""Ensembles of trees of ai.onnx.ml give what onnxruntime gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from ir_exec import compile_model
from ir_exec.errors import IRError
from tests.onnx.runtime import Node, assert_as_onnxruntime, node

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
TRANSFORMS = ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO")
FEATURES = 3


def grown(seed: int, depth: int = 3, trees: int = 4, modes: Sequence[str] = MODES, tracks: bool = True) -> Any:
    """The attributes of random trees, whose node numbers are those of a heap, and (tree, node) of each leaf."""
    random = np.random.default_rng(seed)
    columns: dict[str, list[Any]] = {}
    leaves = []

    def add(**values: Any) -> None:
        for name, value in values.items():
            columns.setdefault(f"nodes_{name}", []).append(value)

    for tree in range(trees):
        waiting = [(0, 0)]
        while waiting:
            number, level = waiting.pop(0)
            is_leaf = level == depth or (level > 0 and random.random() < 0.2)
            mode = "LEAF" if is_leaf else modes[random.integers(len(modes))]
            yes, no = (0, 0) if is_leaf else (2 * number + 1, 2 * number + 2)
            add(treeids=tree, nodeids=number, modes=mode, truenodeids=yes, falsenodeids=no)
            add(featureids=int(random.integers(FEATURES)), values=float(random.integers(-4, 5)) / 4)
            if tracks:
                add(missing_value_tracks_true=int(random.integers(2)))
            if is_leaf:
                leaves.append((tree, number))
            else:
                waiting += [(yes, level + 1), (no, level + 1)]
    return columns, leaves


def weight_attributes(
    prefix: str, leaves: Any, style: str, targets: int, *, positive: bool = False, seed: int = 0
) -> Any:
    """The attributes of weights: of all targets, of one of each tree, of the last one, or of some of each leaf."""
    random = np.random.default_rng(seed)
    rows = []
    for tree, number in leaves:
        chosen = {"all": range(targets), "tree": [tree % targets], "first": [0], "last": [targets - 1]}.get(style)
        for target in random.permutation(targets)[: random.integers(1, targets + 1)] if chosen is None else chosen:
            weight = float(np.float32(random.standard_normal()))
            rows.append((tree, number, int(target), abs(weight) if positive else weight))
    names = [f"{prefix}_{name}" for name in ("treeids", "nodeids", "ids", "weights")]
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def rows(dtype: Any = np.float32, seed: int = 3) -> Any:
    """Multiples of a quarter, so that some are equal to thresholds, and NaN."""
    random = np.random.default_rng(seed)
    data = random.integers(-6, 7, (12, FEATURES)) / 4
    if np.issubdtype(dtype, np.floating):
        data[random.random(data.shape) < 0.2] = np.nan
    return data.astype(dtype)


def regressor(style: str, targets: int, *, data: Any = None, seed: int = 0, opset: int = 3, **attributes: Any) -> Node:
    columns, leaves = grown(seed, **attributes.pop("trees", {}))
    leaf_attributes = weight_attributes("target", leaves, style, targets, seed=seed) | attributes
    return node(
        "TreeEnsembleRegressor",
        rows() if data is None else data,
        domain="ai.onnx.ml",
        opset=opset,
        n_targets=targets,
        **columns,
        **leaf_attributes,
    )


def classifier(
    style: str, labels: Sequence[Any], *, data: Any = None, positive: bool = False, seed: int = 0, **attributes: Any
) -> Node:
    columns, leaves = grown(seed)
    leaf_attributes = weight_attributes("class", leaves, style, len(labels), positive=positive, seed=seed) | attributes
    key = "classlabels_strings" if isinstance(labels[0], str) else "classlabels_int64s"
    return node(
        "TreeEnsembleClassifier",
        rows() if data is None else data,
        domain="ai.onnx.ml",
        opset=3,
        outputs=2,
        **{key: list(labels)},
        **columns,
        **leaf_attributes,
    )


def precise(case: Node, *names: str) -> Node:
    """With attributes as tensors of f64, and thresholds that f32 does not hold."""
    attributes = dict(case.attributes)
    for name in names:
        values = np.array(attributes.pop(name)) + (1e-10 if name == "nodes_values" else 0)
        attributes[f"{name}_as_tensor"] = numpy_helper.from_array(values, name)
    return case._replace(attributes=attributes)


AGGREGATES = ("SUM", "AVERAGE", "MIN", "MAX")
REGRESSORS = [
    *[regressor("all", 1, aggregate_function=how, seed=seed) for seed, how in enumerate(AGGREGATES)],
    *[regressor("all", 1, trees={"modes": [mode]}) for mode in MODES],
    *[regressor("some", 3, aggregate_function=how, base_values=[0.5, -1.0, 0.25]) for how in AGGREGATES],
    *[regressor("tree", 4, post_transform=how) for how in TRANSFORMS],
    regressor("all", 1, base_values=[0.5], trees={"depth": 1, "trees": 1, "tracks": False}),
    regressor("all", 1, base_values=[0.5], post_transform="LOGISTIC", opset=1),
    regressor("all", 1, data=rows(np.float32)[0]),
    precise(regressor("all", 1, data=rows(np.float64)), "nodes_values", "target_weights"),
]

CLASSIFIERS = [
    *[classifier("all", [0, 1, 2], post_transform=how) for how in TRANSFORMS],
    *[classifier(style, ["a", "b", "c"], seed=7) for style in ("tree", "first", "some")],
    classifier("some", [5, 1, 3], base_values=[0.1, 2.0, -0.5]),
    *[
        classifier(style, [0, 1], positive=positive, post_transform=how)
        for style in ("first", "last")
        for positive in (False, True)
        for how in TRANSFORMS
    ],
    *[classifier(style, ["no", "yes"], positive=True) for style in ("all", "some", "tree")],
    *[classifier("first", [3, 8], base_values=base) for base in ([0.3], [0.3, -0.2])],
    *[classifier("some", [0, 1], base_values=base) for base in ([0.3], [0.3, -0.2])],
    *[classifier("all", [0, 1, 2], data=rows(dtype)) for dtype in (np.float64, np.int32, np.int64)],
    precise(classifier("all", [0, 1, 2], data=rows(np.float64)), "nodes_values", "class_weights"),
]


@pytest.mark.broad
@pytest.mark.parametrize("case", [*REGRESSORS, *CLASSIFIERS], ids=lambda case: f"{case.type}-{case.opset}")
def test_as_onnxruntime(case: Node) -> None:
    assert_as_onnxruntime(case, rtol=1e-4, atol=1e-5, dynamic=True)


ENSEMBLE = {
    "nodes_featureids": [0, 1, 2, 0],
    "nodes_modes": [0, 6, 6, 3],
    "nodes_splits": [0.5, 0.0, 0.0, -0.25],
    "nodes_truenodeids": [1, 0, 1, 2],
    "nodes_trueleafs": [0, 1, 1, 1],
    "nodes_falsenodeids": [2, 3, 3, 4],
    "nodes_falseleafs": [0, 0, 1, 1],
    "nodes_missing_value_tracks_true": [0, 1, 0, 1],
    "leaf_targetids": [0, 1, 0, 1, 0],
    "leaf_weights": [1.0, -2.0, 3.0, 0.5, 0.25],
    "membership_values": [1.0, -0.5, 0.25, np.nan, 0.75, np.nan],
    "tree_roots": [0, 3],
    "n_targets": 2,
}


def ensemble(dtype: Any = np.float32, **changes: Any) -> onnx.ModelProto:
    """Two trees that share nodes, with tests for members of sets."""
    attributes = {name: values for name, values in (ENSEMBLE | changes).items() if values is not None}
    for name in ("nodes_splits", "leaf_weights", "membership_values"):
        attributes[name] = numpy_helper.from_array(np.array(attributes[name], dtype), name)
    attributes["nodes_modes"] = numpy_helper.from_array(np.array(attributes["nodes_modes"], np.uint8), "m")
    operator = helper.make_node("TreeEnsemble", ["x"], ["y"], domain="ai.onnx.ml", **attributes)
    type = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    port = helper.make_tensor_value_info("x", type, ["rows", FEATURES])
    graph = helper.make_graph([operator], "g", [port], [helper.make_tensor_value_info("y", type, None)])
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", 5)]
    return helper.make_model(graph, opset_imports=imports, ir_version=10)


@pytest.mark.parametrize("aggregate", range(4))
@pytest.mark.parametrize("transform", range(4))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ensembles_with_sets(aggregate: int, transform: int, dtype: Any) -> None:
    model, data = ensemble(dtype, aggregate_function=aggregate, post_transform=transform), rows(dtype)
    output = compile_model(model.SerializeToString())({"x": data})["y"]
    np.testing.assert_allclose(output, expected(data, aggregate, transform), atol=1e-6)
    assert output.dtype == dtype


def expected(data: Any, aggregate: int, transform: int) -> Any:
    """The trees above, walked row by row."""
    sets = {1: [1.0, -0.5, 0.25], 2: [0.75]}
    results = np.zeros((len(data), 2))
    for at, row in enumerate(data.astype(np.float64)):
        weights: list[list[float]] = [[], []]
        for root in ENSEMBLE["tree_roots"]:
            index, is_leaf = root, 0
            while not is_leaf:
                value, split = row[ENSEMBLE["nodes_featureids"][index]], ENSEMBLE["nodes_splits"][index]
                mode = ENSEMBLE["nodes_modes"][index]
                goes = {0: value <= split, 6: value in sets.get(index, ()), 3: value > split}[mode]
                goes = goes or bool(np.isnan(value) and ENSEMBLE["nodes_missing_value_tracks_true"][index])
                way = "true" if goes else "false"
                index, is_leaf = ENSEMBLE[f"nodes_{way}nodeids"][index], ENSEMBLE[f"nodes_{way}leafs"][index]
            weights[ENSEMBLE["leaf_targetids"][index]].append(ENSEMBLE["leaf_weights"][index])
        how = [
            lambda values: sum(values) / 2,
            sum,
            lambda values: min(values, default=0),
            lambda values: max(values, default=0),
        ]
        scores = np.array([how[aggregate](values) for values in weights])
        powers = np.exp(scores)
        shares = powers[np.abs(scores) > 1e-7].sum()
        zero = np.where(np.abs(scores) > 1e-7, powers / (shares or 1), 0)
        results[at] = [scores, powers / powers.sum(), 1 / (1 + np.exp(-scores)), zero][transform]
    return results


def test_half_precision_is_kept() -> None:
    model, data = ensemble(np.float16), rows(np.float16)
    output = compile_model(model.SerializeToString())({"x": data})["y"]
    assert output.dtype == np.float16
    np.testing.assert_allclose(output, expected(data, 1, 0), atol=1e-3)


def test_nodes_agree_with_the_reference() -> None:
    model, data = ensemble(tree_roots=[0]), rows()
    (reference,) = ReferenceEvaluator(model).run(None, {"x": data})
    output = compile_model(model.SerializeToString())({"x": data})["y"]
    full = ~np.isnan(data).any(1)
    np.testing.assert_allclose(output[full], reference[full], atol=1e-6)


@pytest.mark.parametrize(
    "changes",
    [
        {"nodes_truenodeids": [1, 0, 1, 9]},
        {"nodes_truenodeids": [0, 0, 1, 2]},
        {"nodes_falsenodeids": [2, 3, 3]},
        {"nodes_featureids": [0, 1, 2, 3]},
        {"nodes_featureids": [0, -1, 2, 0]},
        {"nodes_modes": [0, 6, 9, 3]},
        {"membership_values": [1.0]},
        {"leaf_targetids": [0, 1, 0, 2, 0]},
        {"tree_roots": [4]},
        {"tree_roots": []},
        {"aggregate_function": 4},
        {"post_transform": -1},
        {"n_targets": None},
        {"n_targets": 2**40},
    ],
)
def test_damaged_ensembles_are_refused(changes: dict[str, Any]) -> None:
    model = ensemble(**{name: values for name, values in changes.items() if values != []})
    if changes.get("tree_roots") == []:
        attribute = next(attribute for attribute in model.graph.node[0].attribute if attribute.name == "tree_roots")
        del attribute.ints[:]
    with pytest.raises(IRError):
        compile_model(model.SerializeToString())({"x": rows()})


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("nodes_truenodeids", lambda old: [0, *old[1:]]),
        ("nodes_truenodeids", lambda old: [99, *old[1:]]),
        ("nodes_falsenodeids", lambda old: old[:-1]),
        ("nodes_nodeids", lambda old: [old[1], *old[1:]]),
        ("nodes_featureids", lambda old: [-1 for _ in old]),
        ("nodes_featureids", lambda old: [7 for _ in old]),
        ("nodes_modes", lambda old: ["BRANCH", *old[1:]]),
        ("nodes_modes", lambda old: []),
        ("class_nodeids", lambda old: [77, *old[1:]]),
        ("class_ids", lambda old: [3, *old[1:]]),
        ("class_ids", lambda old: [-1, *old[1:]]),
        ("class_weights", lambda old: old[1:]),
        ("classlabels_int64s", lambda old: [1]),
        ("post_transform", lambda old: "SOFT"),
        ("base_values", lambda old: [1.0, 2.0]),
    ],
)
def test_damaged_classifiers_are_refused(name: str, values: Any) -> None:
    case = classifier("all", [0, 1, 2])
    attributes = dict(case.attributes) | {name: values(case.attributes.get(name))}
    operator = helper.make_node(
        case.type, ["x"], ["l", "s"], domain=case.domain, **{k: v for k, v in attributes.items() if v != []}
    )
    declared = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["rows", FEATURES])
    outputs = [onnx.ValueInfoProto(name=name) for name in ("l", "s")]
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    model = helper.make_model(
        helper.make_graph([operator], "g", [declared], outputs), opset_imports=imports, ir_version=9
    )
    with pytest.raises(IRError):
        compile_model(model.SerializeToString())({"x": rows()})
