"""Networks with anonymous names and random weights."""

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
    original = read_model(path)
    other = anonymous(original)
    assert [node.type for node in other.graph.all_nodes()] == [node.type for node in original.graph.all_nodes()]
    assert other.types == original.types
    seen: list[dict[object, object]] = []
    for model in (original, other):
        renamed: dict[object, object] = {}
        infer_types(model.graph, weights=model.weights, seen=renamed)  # type: ignore[arg-type]  # types by values
        seen.append(renamed)
    assert list(seen[0].values()) == list(seen[1].values())
    inputs = arrays(path, "inputs")
    assert inputs is not None
    results = [compile_model(model)(inputs).to_tuple() for model in (original, other)]
    assert [ElementType.of(array) for array in results[0]] == [ElementType.of(array) for array in results[1]]
    assert [array.ndim for array in results[0]] == [array.ndim for array in results[1]]


@pytest.mark.parametrize("name", RUN)
def test_no_name_is_left(name: str, tmp_path: Path) -> None:
    original = read_model(NETWORKS / f"{name}.xml")
    anonymous(original).save(tmp_path / "other.xml")
    text = (tmp_path / "other.xml").read_text()
    nodes = list(original.graph.all_nodes(unreachable=True))
    names = {node.name for node in nodes} | {name for node in nodes for value in node.outputs for name in value.names}
    for old_name in names:
        if old_name.isdigit() or len(old_name) < 4:
            continue  # it stands for something else as well
        assert f'"{old_name}"' not in text
        assert f",{old_name}," not in text
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
    original = read_model(NETWORKS / "bert_tiny_fp16.xml")
    mine, theirs = weights_of(original), weights_of(anonymous(original))
    assert len(mine) > 10
    for a, b in zip(mine, theirs, strict=True):
        assert np.count_nonzero(a) == np.count_nonzero(b)
        assert a.min() <= b.min() <= b.max() <= a.max()
        if a.std() and a.size > 500:
            assert not np.array_equal(a, b)
            assert abs(a.mean() - b.mean()) < 0.2 * a.std()
            assert 0.8 < b.std() / a.std() < 1.2


def test_a_seed_decides() -> None:
    original = read_model(NETWORKS / "lstm.xml")
    first, same, other = (weights_of(anonymous(original, seed=seed)) for seed in (1, 1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(first, same, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(first, other, strict=True))


def test_weights_that_stay() -> None:
    original = read_model(NETWORKS / "lstm.xml")
    with_weights = anonymous(original, weights=False)
    assert all(np.array_equal(a, b) for a, b in zip(weights_of(original), weights_of(with_weights), strict=True))
    assert with_weights.graph.nodes[0].name == "layer0"


def test_inference_inputs_and_wide_integers_stay() -> None:
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
    original = read_model(file.xml, weights=file.weights)
    other = anonymous(original)
    values = [
        [node.op.evaluate(weights=model.weights) for node in model.graph.nodes if isinstance(node.op, Const)]  # type: ignore[arg-type]  # there are weights
        for model in (original, other)
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
def test_zeros_and_non_finite_counts_are_preserved(values: list[float], seed: int) -> None:
    array = np.array(values, np.float32)
    redrawn_array = redrawn(array, np.random.default_rng(seed))
    assert redrawn_array.shape == array.shape
    assert redrawn_array.dtype == array.dtype
    for counted in (np.isnan, np.isposinf, np.isneginf):
        assert np.count_nonzero(counted(redrawn_array)) == np.count_nonzero(counted(array))
    finite, drawn = array[np.isfinite(array)], redrawn_array[np.isfinite(redrawn_array)]
    if finite.size:
        assert finite.min() <= drawn.min() <= drawn.max() <= finite.max()


TOKENIZERS = sorted((Path(__file__).parents[2] / "text" / "tokenizers").glob("*.xml"))

LEAST = 5
"""Minimum bytes of a text that cannot be in random bytes by chance."""


def texts_of(model: Model) -> set[bytes]:
    """The strings of the constants, also of those packed in u8 with the begins and ends of two other constants."""
    assert model.weights is not None
    texts: set[bytes] = set()
    for node in model.graph.all_nodes(unreachable=True):
        arrays = [
            source.op.evaluate(weights=model.weights) if source is not None and isinstance(source.op, Const) else None
            for source in (value.node for value in node.inputs)
        ]
        for begins, ends, chars in zip(arrays, arrays[1:], arrays[2:], strict=False):
            if chars is not None and chars.dtype == np.uint8 and begins is not None and ends is not None:
                raw = chars.tobytes()
                spans = zip(begins.reshape(-1).tolist(), ends.reshape(-1).tolist(), strict=False)
                texts |= {raw[begin:end] for begin, end in spans}
        for array in arrays:
            if array is not None and array.dtype == object:
                texts |= {text.encode("utf-8", "surrogateescape") for text in array.reshape(-1)}
            elif array is not None and array.dtype == np.uint8 and array.size < 300:
                texts.add(array.tobytes())
    return {text for text in texts if len(text) >= LEAST}


@pytest.mark.parametrize("path", TOKENIZERS, ids=lambda path: path.stem)
def test_no_text_of_a_tokenizer_is_left(path: Path, tmp_path: Path) -> None:
    original = read_model(path)
    anonymous(original).save(tmp_path / "other.xml")
    content = (tmp_path / "other.bin").read_bytes()
    texts = texts_of(original)
    assert texts
    assert [text for text in texts if text in content] == []
    info = (tmp_path / "other.xml").read_text("utf-8")
    assert original.document.rt_info.children
    for child in original.document.rt_info.children:
        value = child.attributes.get("value", "")
        assert len(value) < LEAST or f'"{value}"' not in info


def test_attributes_of_free_text_are_replaced() -> None:
    net = NetworkText()
    x = net.parameter("2,3")
    other = net.op("SecretType", x, opset="secret", mode="secretmode", axis=-1, on="true", kind="f32", dims="2,?")
    relu = net.op("Relu", x, secretname="secretvalue", extra=3)
    read = net.op("ReadValue", relu, variable_id="secretvariable", opset=3)
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
