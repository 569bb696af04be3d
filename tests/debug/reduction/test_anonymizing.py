"""Networks without names and weights of their own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ir_exec import Model, compile_model, read_model
from ir_exec.debug import anonymous
from ir_exec.debug.reduction.anonymizing import redrawn
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
    names = {node.name for node in nodes} | {name for node in nodes for value in node.outputs for name in value.names}
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


TOKENIZERS = sorted((Path(__file__).parents[2] / "text" / "tokenizers").glob("*.xml"))

LEAST = 5
"""Minimum bytes of a text that cannot be in random bytes by chance."""


def texts_of(model: Model) -> set[bytes]:
    """The strings of the constants, also of those packed in u8 with the begins and ends of two other constants."""
    assert model.weights is not None
    found: set[bytes] = set()
    for node in model.graph.all_nodes(unreachable=True):
        arrays = [
            one.op.evaluate(weights=model.weights) if one is not None and isinstance(one.op, Const) else None
            for one in (value.node for value in node.inputs)
        ]
        for begins, ends, chars in zip(arrays, arrays[1:], arrays[2:], strict=False):
            if chars is not None and chars.dtype == np.uint8 and begins is not None and ends is not None:
                raw = chars.tobytes()
                spans = zip(begins.reshape(-1).tolist(), ends.reshape(-1).tolist(), strict=False)
                found |= {raw[begin:end] for begin, end in spans}
        for array in arrays:
            if array is not None and array.dtype == object:
                found |= {text.encode("utf-8", "surrogateescape") for text in array.reshape(-1)}
            elif array is not None and array.dtype == np.uint8 and array.size < 300:
                found.add(array.tobytes())
    return {text for text in found if len(text) >= LEAST}


@pytest.mark.parametrize("path", TOKENIZERS, ids=lambda path: path.stem)
def test_no_text_of_a_tokenizer_is_left(path: Path, tmp_path: Path) -> None:
    whole = read_model(path)
    anonymous(whole).save(tmp_path / "other.xml")
    content = (tmp_path / "other.bin").read_bytes()
    texts = texts_of(whole)
    assert texts
    assert [text for text in texts if text in content] == []
    info = (tmp_path / "other.xml").read_text("utf-8")
    assert whole.document.rt_info.children
    for child in whole.document.rt_info.children:
        value = child.attributes.get("value", "")
        assert len(value) < LEAST or f'"{value}"' not in info


def test_attributes_of_free_text_are_replaced() -> None:
    net = NetworkText()
    x = net.parameter("2,3")
    other = net.op("SecretType", x, opset="secret", mode="secretmode", axis=-1, on="true", kind="f32", dims="2,?")
    known = net.op("Relu", x, secretname="secretvalue", extra=3)
    read = net.op("ReadValue", known, variable_id="secretvariable", opset=3)
    net.op("Assign", read, variable_id="secretvariable", opset=3)
    for value in (other, read):
        net.result(value)
    document = anonymous(read_model(net.file().xml)).document
    data = {layer.type: dict(layer.data) for layer in document.layers}
    assert "secret" not in str([(layer.name, layer.data) for layer in document.layers])
    assert {name: data["SecretType"][name] for name in ("axis", "on", "kind", "dims")} == {
        "axis": "-1",
        "on": "true",
        "kind": "f32",
        "dims": "2,?",
    }
    assert data["Relu"] == {"extra": "3"}
    assert data["ReadValue"]["variable_id"] == data["Assign"]["variable_id"]


@pytest.mark.parametrize("release", ["2024.1.0-15008-f4afc983258", "2024.6", ""])
def test_the_release_stays_without_its_branch(release: str) -> None:
    path = NETWORKS / "lstm.xml"
    text = path.read_text("utf-8")
    start = text.rindex("<rt_info>")
    info = f'<rt_info><Runtime_version value="{release}-releases/secret"/><secret value="secret"/></rt_info></net>'
    model = read_model((text[:start] + info).encode(), weights=path.with_suffix(".bin").read_bytes())
    document = anonymous(model).document
    assert "secret" not in document.model_dump_json()
    assert document.rt_info.value("Runtime_version") == (release or None)
