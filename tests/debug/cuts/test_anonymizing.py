"""Networks without names and weights of their own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ir_exec import Model, compile_model, read_model
from ir_exec.debug import anonymous
from ir_exec.debug.cuts.anonymizing import redrawn
from ir_exec.infer import infer_types
from ir_exec.ops.infrastructure.values import Const
from ir_exec.types import Array, ElementType
from tests.conformance.networks import arrays
from tests.helpers.network_text import NetworkText

NETWORKS = Path(__file__).parents[2] / "networks"

RUN = [
    "bert_tiny_fp16",
    "conv_zoo",
    "embedding_bag_dlrm",
    "gnn_gcn_gat",
    "index_ops",
    "llama_int4_asym",
    "llama_stateful",
    "lstm",
    "matrix_ops",
    "script_if",
    "script_loop_seq",
]


@pytest.mark.broad
@pytest.mark.parametrize("name", RUN)
def test_the_same_layers_on_the_same_shapes(name: str) -> None:
    path = NETWORKS / f"{name}.xml"
    whole = read_model(path)
    other = anonymous(whole)
    assert [node.type for node in other.graph.all_nodes()] == [node.type for node in whole.graph.all_nodes()]
    assert other.types == whole.types
    seen: list[dict[object, object]] = []
    for model in (whole, other):
        found: dict[object, object] = {}
        infer_types(model.graph, weights=model.weights, seen=found)  # type: ignore[arg-type]  # types by values
        seen.append(found)
    assert list(seen[0].values()) == list(seen[1].values())
    inputs = arrays(path, "inputs")
    assert inputs is not None
    results = [compile_model(model)(inputs).to_tuple() for model in (whole, other)]
    assert [ElementType.of(one) for one in results[0]] == [ElementType.of(one) for one in results[1]]
    assert [one.ndim for one in results[0]] == [one.ndim for one in results[1]]


@pytest.mark.parametrize("name", RUN)
def test_no_name_is_left(name: str, tmp_path: Path) -> None:
    whole = read_model(NETWORKS / f"{name}.xml")
    anonymous(whole).save(tmp_path / "other.xml")
    text = (tmp_path / "other.xml").read_text()
    nodes = list(whole.graph.all_nodes(unreachable=True))
    names = {node.name for node in nodes} | {one for node in nodes for value in node.outputs for one in value.names}
    for one in names:
        if one.isdigit() or len(one) < 4:
            continue  # it stands for something else as well
        assert f'"{one}"' not in text
        assert f",{one}," not in text
    assert "fused_names" not in text
    assert "conversion_parameters" not in text
    assert "friendly" not in text


def weights_of(model: Model) -> list[Array]:
    assert model.weights is not None
    return [
        node.op.evaluate(weights=model.weights).astype(np.float64)
        for node in model.graph.all_nodes()
        if isinstance(node.op, Const) and node.op.element_type.is_float and node.op.shape.size.lo > 64
    ]


def test_weights_are_others_of_the_same_distribution() -> None:
    whole = read_model(NETWORKS / "bert_tiny_fp16.xml")
    mine, theirs = weights_of(whole), weights_of(anonymous(whole))
    assert len(mine) > 10
    for a, b in zip(mine, theirs, strict=True):
        assert np.count_nonzero(a) == np.count_nonzero(b)
        assert a.min() <= b.min() <= b.max() <= a.max()
        if a.std() and a.size > 500:
            assert not np.array_equal(a, b)
            assert abs(a.mean() - b.mean()) < 0.2 * a.std()
            assert 0.8 < b.std() / a.std() < 1.2


def test_a_seed_decides() -> None:
    whole = read_model(NETWORKS / "lstm.xml")
    one, same, other = (weights_of(anonymous(whole, seed=seed)) for seed in (1, 1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(one, same, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_weights_that_stay() -> None:
    whole = read_model(NETWORKS / "lstm.xml")
    kept = anonymous(whole, weights=False)
    assert all(np.array_equal(a, b) for a, b in zip(weights_of(whole), weights_of(kept), strict=True))
    assert kept.graph.nodes[0].name == "layer0"


def test_what_inference_uses_and_wide_integers_stay() -> None:
    net = NetworkText()
    x = net.parameter("2,6")
    shaped = net.op("Reshape", x, net.const(np.array([3, -1])), special_zero="false")
    looked = net.op("Gather", shaped, net.const(np.array([2, 0, 1], np.int32)), net.const(np.array(0)), opset=8)
    small = net.op("Convert", net.const(np.arange(-100, 100, dtype=np.int8)), destination_type="f32")
    words = net.const(np.array(["secret words", "ä"], object))
    net.result(looked)
    net.result(small)
    net.result(words)
    file = net.file()
    whole = read_model(file.xml, weights=file.weights)
    other = anonymous(whole)
    values = [
        [node.op.evaluate(weights=model.weights) for node in model.graph.nodes if isinstance(node.op, Const)]  # type: ignore[arg-type]  # there are weights
        for model in (whole, other)
    ]
    for mine, theirs in zip(*values, strict=True):
        if mine.dtype == object:
            assert [len(text) for text in theirs] == [12, 1]
            assert "secret" not in str(theirs)
        else:
            assert np.array_equal(mine, theirs) == (mine.dtype != np.int8)
            assert set(theirs.reshape(-1).tolist()) <= set(mine.reshape(-1).tolist())


@given(
    st.lists(st.floats(width=32), max_size=40),
    st.integers(0, 9),
)
def test_zeros_and_what_is_not_finite_are_as_many(values: list[float], seed: int) -> None:
    array = np.array(values, np.float32)
    made = redrawn(array, np.random.default_rng(seed))
    assert made.shape == array.shape
    assert made.dtype == array.dtype
    for counted in (np.isnan, np.isposinf, np.isneginf):
        assert np.count_nonzero(counted(made)) == np.count_nonzero(counted(array))
    finite, drawn = array[np.isfinite(array)], made[np.isfinite(made)]
    if finite.size:
        assert finite.min() <= drawn.min() <= drawn.max() <= finite.max()
