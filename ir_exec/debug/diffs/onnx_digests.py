"""Digests of the constants, attributes and nodes of ONNX files, independent of names."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ir_exec.errors import IRError
from ir_exec.onnx.editing.sources import OnnxSource, Span, data_span
from ir_exec.onnx.lowering.registry import canonical_domain
from ir_exec.onnx.reading.listing import plain_name
from ir_exec.onnx.reading.tensors import external_number, external_path

if TYPE_CHECKING:
    from onnx import NodeProto, TensorProto

__all__ = [
    "OnnxConstant",
    "attribute_key",
    "digest_of",
    "form_of",
    "hash_parts",
    "is_equal_constant",
    "node_key",
    "operator_of",
]

_CHUNK = 2**24


@dataclass(frozen=True, eq=False)
class OnnxConstant:
    """An initializer, or a node Constant.

    Attributes:
        tensor: None for a constant that is not a dense tensor.
        node: None for an initializer.
    """

    name: str
    message: Any
    tensor: TensorProto | None
    node: NodeProto | None = None
    position: int = -1


def operator_of(node: NodeProto) -> Hashable:
    """Return the domain, the type and the overload of an operator."""
    return canonical_domain(plain_name(node.domain)), plain_name(node.op_type), plain_name(node.overload)


def node_key(source: OnnxSource, node: NodeProto) -> bytes:
    """Return a digest of the operator and the attributes of a node, without names."""
    parts = [str(operator_of(node)), str(len(node.output))]
    attributes = sorted(node.attribute, key=lambda attribute: plain_name(attribute.name))
    return hash_parts(*parts, *(attribute_key(source, attribute) for attribute in attributes))


def attribute_key(source: OnnxSource, attribute: Any) -> bytes:
    """Return a digest of the value of an attribute, without names in tensors and bodies."""
    name = plain_name(attribute.name)
    if attribute.HasField("t"):
        return hash_parts(name, str(digest_of(source, OnnxConstant("", attribute.t, attribute.t))))
    graphs = [*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs]
    if graphs:
        return hash_parts(name, *(_graph_key(source, graph) for graph in graphs))
    plain = type(attribute)()
    plain.CopyFrom(attribute)
    plain.ClearField("doc_string")
    return bytes(plain.SerializeToString())


def _graph_key(source: OnnxSource, graph: Any) -> bytes:
    """Return a digest of the structure of a body, without names and values of outer graphs."""
    places = {name.name: f"input {position}" for position, name in enumerate(graph.input)}
    places |= {tensor.name: str(digest_of(source, OnnxConstant("", tensor, tensor))) for tensor in graph.initializer}
    parts: list[bytes | str] = []
    for index, node in enumerate(graph.node):
        parts += [node_key(source, node), *(places.get(name, "outer" if name else "") for name in node.input)]
        places |= {name: f"{index}:{port}" for port, name in enumerate(node.output)}
    return hash_parts(*parts, *(places.get(output.name, "outer") for output in graph.output))


def hash_parts(*parts: bytes | str) -> bytes:
    """Return a digest of texts and bytes."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        content = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(len(content).to_bytes(8, "little"))
        digest.update(content)
    return digest.digest()


def form_of(constant: OnnxConstant) -> tuple[Any, ...]:
    """Return the type and the dims of a constant."""
    tensor = constant.tensor
    return (constant.message.DESCRIPTOR.name,) if tensor is None else (tensor.data_type, *tensor.dims)


def is_equal_constant(a: OnnxSource, left: OnnxConstant, b: OnnxSource, right: OnnxConstant) -> bool:
    """Return True if two constants have equal types, dims and bytes; data in the same place of a file are not read."""
    if form_of(left) != form_of(right):
        return False
    if left.tensor is not None and right.tensor is not None:
        spans = _span_of(a, left.tensor), _span_of(b, right.tensor)
        if spans[0] is not None and spans[1] is not None:
            return _data_location(a, spans[0]) == _data_location(b, spans[1]) or _is_equal_content(
                a, spans[0], b, spans[1]
            )
    return digest_of(a, left) == digest_of(b, right)


def _is_equal_content(a: OnnxSource, left: Span, b: OnnxSource, right: Span) -> bool:
    try:
        return left.size == right.size and all(
            chunk == other_chunk for chunk, other_chunk in zip(_chunks(a, left), _chunks(b, right), strict=True)
        )
    except (OSError, ValueError):
        # A missing file, or one that ends early.
        return False


def _data_location(source: OnnxSource, span: Span | None) -> Hashable:
    path = None if span is None else span.path or source.path
    return None if span is None else (os.path.realpath(path or ""), path is None and id(source), span.start, span.end)


def _span_of(source: OnnxSource, tensor: TensorProto) -> Span | None:
    """Return the place of the data of a tensor outside the message; None for data in it, and for a wrong place."""
    span = data_span(tensor)
    if span is not None or tensor.data_location != tensor.EXTERNAL:
        return span
    entries = {entry.key: entry.value for entry in tensor.external_data}
    try:
        path = external_path(entries.get("location", ""), source.folder)
        start = external_number(entries, "offset", 0)
        length = external_number(entries, "length", 0) or max(os.path.getsize(path) - start, 0)
    except (IRError, OSError):
        return None
    return Span(start, start + length, path)


def digest_of(source: OnnxSource, constant: OnnxConstant) -> Hashable:
    """Return a digest of the type, dims and elements of a constant; large data are read in chunks."""
    tensor = constant.tensor
    if tensor is None:
        plain = type(constant.message)()
        plain.CopyFrom(constant.message)
        for name in ("name", "doc_string"):
            if name in plain.DESCRIPTOR.fields_by_name:
                plain.ClearField(name)
        if plain.DESCRIPTOR.name == "SparseTensorProto":
            plain.values.ClearField("name")
        return hash_parts(plain.SerializeToString())
    span = _span_of(source, tensor)
    digest = hashlib.blake2b(digest_size=16)
    if span is not None:
        try:
            for chunk in _chunks(source, span):
                digest.update(chunk)
        except OSError:
            digest.update(b"missing" + str(span).encode())
    else:
        digest.update(_raw_data(tensor))
    return (tensor.data_type, *tensor.dims, digest.digest())


def _raw_data(tensor: TensorProto) -> bytes:
    if tensor.HasField("raw_data"):
        return bytes(tensor.raw_data)
    from onnx import numpy_helper

    try:
        return bytes(numpy_helper.from_array(numpy_helper.to_array(tensor)).raw_data) or b"".join(
            len(text).to_bytes(8, "little") + text for text in tensor.string_data
        )
    except Exception:
        # Damaged data raise exceptions of several classes.
        return bytes(tensor.SerializeToString())


def _chunks(source: OnnxSource, span: Span) -> Iterator[bytes | memoryview]:
    if span.path is None and source.path is None:
        yield source.content[span.start : span.end]
        return
    with open(span.path or source.path or "", "rb") as file:
        file.seek(span.start)
        left = span.size
        while left > 0 and (chunk := file.read(min(_CHUNK, left))):
            yield chunk
            left -= len(chunk)
