"""Parts of a file without an edit have the bytes of the file, also where protobuf would write other bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from ir_exec.errors import ParseError
from ir_exec.onnx.editing.editor import OnnxEditor
from ir_exec.onnx.editing.encoding import encode_model, read_chunks
from ir_exec.onnx.editing.sources import OnnxSource, data_span
from ir_exec.onnx.reading.wire import encode_field, encode_varint, message_fields
from tests.onnx.files import model

NETWORKS = sorted((Path(__file__).parents[2] / "networks" / "onnx").glob("*.onnx"))

TWO_NODES = "g (float[2,3] x) => (float[3,2] y) { a = Relu(x) y = Transpose<perm = [1, 0]>(a) }"


def encode(source: OnnxSource, proto: Any) -> bytes:
    return b"".join(read_chunks(encode_model(source, proto), source))


def fields(content: bytes, *path: int) -> list[bytes]:
    """The contents of the fields with these numbers, from the outermost."""
    parts = [content]
    for number in path:
        parts = [
            part[first:last]
            for part in parts
            for field, _, first, last in message_fields(memoryview(part), 0, len(part))
            if field == number
        ]
    return parts


def repack(content: bytes) -> bytes:
    """The model with packed `ints` in the attributes of its nodes, and an unknown field in each node."""
    parts = []
    for number, begin, first, last in message_fields(memoryview(content), 0, len(content)):
        raw = content[begin:last]
        parts.append(encode_field(7, repack_graph(content[first:last])) if number == 7 else raw)
    return b"".join(parts)


def repack_graph(graph: bytes) -> bytes:
    parts = []
    for number, begin, first, last in message_fields(memoryview(graph), 0, len(graph)):
        parts.append(encode_field(1, repack_node(graph[first:last])) if number == 1 else graph[begin:last])
    return b"".join(parts)


def repack_node(node: bytes) -> bytes:
    parts = [encode_field(1000, b"unknown")]
    for number, begin, first, last in message_fields(memoryview(node), 0, len(node)):
        if number != 5:
            parts.append(node[begin:last])
            continue
        attribute = onnx.AttributeProto.FromString(node[first:last])
        ints = b"".join(map(encode_varint, attribute.ints))
        attribute.ClearField("ints")
        parts.append(encode_field(5, encode_field(8, ints) + attribute.SerializeToString()))
    return b"".join(parts)


@pytest.mark.parametrize("path", NETWORKS, ids=lambda path: path.stem)
def test_file_without_edits_is_equal(path: Path) -> None:
    source = OnnxSource(path)
    assert encode(source, source.proto) == path.read_bytes()


def test_packed_numbers_and_unknown_fields_are_kept_in_nodes_without_edits() -> None:
    content = repack(model(TWO_NODES).SerializeToString())
    source = OnnxSource(content)
    assert source.proto.SerializeToString() != content
    assert encode(source, source.proto) == content
    edited = encode(source, OnnxEditor(source).rename("x", "image").proto())
    assert fields(edited, 7, 1)[1] == fields(content, 7, 1)[1]
    assert [node.input[0] for node in onnx.ModelProto.FromString(edited).graph.node] == ["image", "a"]
    assert fields(edited, 7, 1, 1000) == [b"unknown", b"unknown"]


def test_order_of_fields_is_kept() -> None:
    proto = model(TWO_NODES)
    graph = proto.graph.SerializeToString()
    proto.ClearField("graph")
    content = encode_field(7, graph) + proto.SerializeToString()
    source = OnnxSource(content)
    assert encode(source, source.proto) == content
    assert encode(source, OnnxEditor(source).rename("x", "image").proto()).endswith(proto.SerializeToString())


@pytest.mark.parametrize("is_path", [True, False])
def test_large_tensors_are_not_in_the_message(is_path: bool, tmp_path: Path) -> None:
    proto = model("g (float[512] x) => (float[512] y) { y = MatMul(w, x) }")
    array = np.arange(512 * 512, dtype=np.float32).reshape(512, 512)
    proto.graph.initializer.append(numpy_helper.from_array(array, "w"))
    content = proto.SerializeToString()
    (tmp_path / "model.onnx").write_bytes(content)
    source = OnnxSource(tmp_path / "model.onnx" if is_path else content)
    (tensor,) = source.proto.graph.initializer
    assert data_span(tensor) is not None
    assert source.proto.ByteSize() < 1000
    assert encode(source, source.proto) == content
    renamed = onnx.ModelProto.FromString(encode(source, OnnxEditor(source).rename("w", "weights").proto()))
    assert renamed.graph.initializer[0].name == "weights"
    np.testing.assert_array_equal(numpy_helper.to_array(renamed.graph.initializer[0]), array)


@pytest.mark.parametrize("size", [0, 1, 40])
def test_damaged_file_is_read_as_far_as_possible_only_on_request(size: int) -> None:
    content = model(TWO_NODES).SerializeToString()
    cut = content[:-size] if size else content + b"\xff"
    with pytest.raises(ParseError):
        OnnxSource(cut)
    source = OnnxSource(cut, is_lenient=True)
    assert source.damage is not None
    assert [node.op_type for node in source.proto.graph.node][:1] == ["Relu"]


def test_nothing_readable_is_an_error_on_request_too() -> None:
    with pytest.raises(ParseError):
        OnnxSource(b"\x08\x09", is_lenient=True)
