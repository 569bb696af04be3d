"""Large tensors that stay in the file."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, numpy_helper

import ir_exec
from ir_exec.errors import IRError
from ir_exec.onnx import mapping
from ir_exec.onnx.mapping import without_large_tensors
from ir_exec.onnx.reading import read_proto
from tests.onnx.files import model, stored

LARGE = np.random.default_rng(0).standard_normal((1200, 1000)).astype(np.float32)
SMALL = np.arange(1000, dtype=np.float32)


def network() -> onnx.ModelProto:
    proto = model("g (float[1,1200] x) => (float[1,1000] y) { h = MatMul(x, w) y = Add(h, b) }")
    proto.graph.initializer.append(numpy_helper.from_array(LARGE, "w"))
    proto.graph.initializer.append(numpy_helper.from_array(SMALL, "b"))
    return proto


def short_of(proto: onnx.ModelProto, name: str = "m.onnx") -> onnx.ModelProto | None:
    content = without_large_tensors(memoryview(proto.SerializeToString()), name, lambda kind: kind != TensorProto.INT2)
    return None if content is None else onnx.ModelProto.FromString(content)


def test_only_large_tensors_are_left_out_and_nothing_else_changes() -> None:
    proto = network()
    short = short_of(proto)
    assert short is not None
    left, kept = short.graph.initializer
    entries = {one.key: one.value for one in left.external_data}
    start, size = int(entries["offset"]), int(entries["length"])
    assert proto.SerializeToString()[start : start + size] == LARGE.tobytes()
    assert entries["location"] == "m.onnx"
    assert kept.raw_data == SMALL.tobytes()
    left.ClearField("external_data")
    left.ClearField("data_location")
    left.raw_data = LARGE.tobytes()
    assert short == proto


def test_what_is_stored_in_another_way_stays() -> None:
    proto = network()
    proto.graph.initializer[0].CopyFrom(onnx.helper.make_tensor("w", 1, LARGE.shape, LARGE.ravel().tolist()))
    assert short_of(proto) is None
    proto = network()
    proto.graph.initializer[0].data_type = TensorProto.INT2
    assert short_of(proto) is None


def test_the_network_computes_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = stored(tmp_path, network())
    found, folder = read_proto(path)
    assert folder == str(tmp_path)
    assert found.graph.initializer[0].data_location == TensorProto.EXTERNAL
    x = np.ones((1, 1200), np.float32)
    result = ir_exec.compile_model(path)({"x": x})["y"]
    np.testing.assert_array_equal(result, ir_exec.compile_model(path.read_bytes())({"x": x})["y"])
    monkeypatch.chdir(tmp_path)
    np.testing.assert_array_equal(ir_exec.compile_model("model.onnx")({"x": x})["y"], result)
    ir_exec.read_model(path).save(tmp_path / "model.xml")
    assert (tmp_path / "model.bin").stat().st_size == LARGE.nbytes + SMALL.nbytes


@pytest.mark.skipif(os.name != "posix", reason="links as POSIX has them")
def test_a_link_to_a_file_of_another_name(tmp_path: Path) -> None:
    (tmp_path / "blobs").mkdir()
    (tmp_path / "shown").mkdir()
    stored(tmp_path / "blobs", network(), "0123abcd")
    link = tmp_path / "shown" / "model.onnx"
    link.symlink_to("../blobs/0123abcd")
    assert ir_exec.compile_model(link)({"x": np.ones((1, 1200), np.float32)})["y"].shape == (1, 1000)


def test_data_that_does_not_fit_the_dims_is_told(tmp_path: Path) -> None:
    proto = network()
    proto.graph.initializer[0].dims[0] = 1201
    with pytest.raises(IRError) as caught:
        ir_exec.read_model(stored(tmp_path, proto))
    assert "1201" in str(caught.value)


@settings(deadline=None, max_examples=300)
@given(st.data())
def test_damaged_content_is_left_to_the_parser(data: st.DataObject) -> None:
    proto = network()
    proto.graph.initializer[0].CopyFrom(numpy_helper.from_array(LARGE[:4, :8], "w"))
    content = bytearray(proto.SerializeToString())
    cut = data.draw(st.integers(0, len(content)))
    content = content[:cut]
    for _ in range(data.draw(st.integers(0, 4))):
        if content:
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mapping, "_LEAST", 16)
        found = without_large_tensors(memoryview(bytes(content)), "m.onnx", lambda kind: True)
    assert found is None or len(found) < len(content) + 200


def test_converting_holds_no_copy_of_the_weights(tmp_path: Path) -> None:
    path = stored(tmp_path, network())
    ir_exec.read_model(path).save(tmp_path / "first.xml")  # imports what it needs
    tracemalloc.start()
    try:
        ir_exec.read_model(path).save(tmp_path / "model.xml")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < LARGE.nbytes / 2


@pytest.mark.parametrize("shift", range(4))
@pytest.mark.parametrize("optimize", [False, True])
def test_what_stays_in_the_file_is_multiplied_aligned(tmp_path: Path, shift: int, *, optimize: bool) -> None:
    proto = network()
    proto.producer_name = "." * shift
    path = tmp_path / "m.onnx"
    path.write_bytes(proto.SerializeToString())
    data = np.random.default_rng(1).standard_normal((1, 1200), np.float32)
    compiled = ir_exec.compile_model(path, optimize=optimize)
    for _ in range(2):
        np.testing.assert_allclose(compiled([data])[0], data @ LARGE + SMALL, rtol=1e-4, atol=1e-3)
    (kept,) = (one for one in compiled._executor._constants or () if one is not None and one.shape == LARGE.shape)
    assert kept.flags.aligned
    np.testing.assert_array_equal(kept, LARGE)


def test_pages_of_the_file_may_be_let_go(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(network().SerializeToString())
    opened = ir_exec.read_model(path)
    (node,) = (node for node in opened.graph.nodes if node.type == "Const" and node.op.shape == LARGE.shape)
    assert opened.weights is not None
    array = node.op.evaluate(weights=opened.weights)
    assert opened.weights.maps(array)
    opened.weights.forget(array)
    np.testing.assert_array_equal(array, LARGE)
    assert not opened.weights.maps(array.copy())


@pytest.mark.parametrize("shift", range(4))
def test_kept_weights_stay_in_the_file(tmp_path: Path, shift: int) -> None:
    proto = network()
    proto.producer_name = "." * shift
    path = tmp_path / "m.onnx"
    path.write_bytes(proto.SerializeToString())
    opened = ir_exec.read_model(path)
    compiled = ir_exec.compile_model(opened, weights="keep")
    data = np.random.default_rng(1).standard_normal((1, 1200), np.float32)
    np.testing.assert_allclose(compiled([data])[0], data @ LARGE + SMALL, rtol=1e-4, atol=1e-3)
    (kept,) = (one for one in compiled._executor._constants or () if one is not None and one.shape == LARGE.shape)
    assert opened.weights is not None
    assert opened.weights.maps(kept)
