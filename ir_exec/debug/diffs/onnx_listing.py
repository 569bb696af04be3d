"""Text of an ONNX file, for programs that compare lines: every part of the file on lines of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from ir_exec.debug.diffs.onnx_digests import OnnxConstant, digest_of
from ir_exec.onnx.editing.scopes import bodies_of
from ir_exec.onnx.editing.sources import OnnxSource
from ir_exec.onnx.lowering.registry import canonical_domain, shown_domain
from ir_exec.onnx.reading.listing import attribute_text, operator_name, plain_name, type_text
from ir_exec.printable import printable

__all__ = ["list_onnx"]


def list_onnx(path: str | os.PathLike[str] | bytes) -> Iterator[str]:
    """Yield lines for the header, the inputs and outputs, the constants with digests, the nodes, and the functions.

    Raises:
        IRError: For a file of which no node can be read.
    """
    source = OnnxSource(path, is_lenient=True)
    proto = source.proto
    if source.damage is not None:
        yield printable(f"damaged: {source.damage.message}")
    yield f"IR version {proto.ir_version}"
    yield from _opset_lines(proto.opset_import, "")
    for name in ("producer_name", "producer_version", "domain", "model_version", "doc_string"):
        if getattr(proto, name):
            yield printable(f"{name.replace('_', ' ')} = {_text(getattr(proto, name))}")
    for entry in proto.metadata_props:
        yield printable(f"metadata {plain_name(entry.key)} = {plain_name(entry.value)}")
    yield from _graph_lines(source, proto.graph, "")
    for function in proto.functions:
        name = operator_name(plain_name(function.domain), plain_name(function.name))
        inputs, outputs = (", ".join(map(plain_name, names)) for names in (function.input, function.output))
        yield printable(f"function {name}({inputs}) -> {outputs}")
        yield from _opset_lines(function.opset_import, "    ")
        yield from _node_lines(source, function.node, "    ")


def _opset_lines(entries: Any, indent: str) -> Iterator[str]:
    for entry in entries:
        yield printable(f"{indent}opset {shown_domain(canonical_domain(plain_name(entry.domain)))} = {entry.version}")


def _graph_lines(source: OnnxSource, graph: Any, indent: str) -> Iterator[str]:
    for end, declarations in (("input", graph.input), ("output", graph.output)):
        for declared in declarations:
            yield indent + printable(f"{end} {plain_name(declared.name)}: {type_text(declared.type)}")
    for tensor in graph.initializer:
        yield indent + printable(f"initializer {plain_name(tensor.name)} = {_digest(source, tensor)}")
    for sparse in graph.sparse_initializer:
        digest = digest_of(source, OnnxConstant("", sparse, None))
        yield indent + printable(f"sparse initializer {plain_name(sparse.values.name)} = {_hex(digest)}")
    yield from _node_lines(source, graph.node, indent)


def _node_lines(source: OnnxSource, nodes: Any, indent: str) -> Iterator[str]:
    for node in nodes:
        operator = operator_name(plain_name(node.domain), plain_name(node.op_type))
        outputs, inputs = (", ".join(map(plain_name, names)) for names in (node.output, node.input))
        name = f' "{plain_name(node.name)}"' if node.name else ""
        yield indent + printable(f"{outputs} = {operator}({inputs}){name}")
        for attribute in sorted(node.attribute, key=lambda entry: plain_name(entry.name)):
            if not (attribute.HasField("g") or len(attribute.graphs)):
                value = _digest(source, attribute.t) if attribute.HasField("t") else attribute_text(attribute)
                yield printable(f"{indent}    {plain_name(attribute.name)} = {value}")
        for body, graph in bodies_of(node):
            yield printable(f"{indent}    {body}:")
            yield from _graph_lines(source, graph, f"{indent}        ")


def _digest(source: OnnxSource, tensor: Any) -> str:
    digest = digest_of(source, OnnxConstant("", tensor, tensor))
    assert isinstance(digest, tuple)
    from onnx import TensorProto

    is_known = digest[0] in TensorProto.DataType.values()
    name = TensorProto.DataType.Name(digest[0]).lower() if is_known else str(digest[0])
    return f"{name}[{','.join(map(str, digest[1:-1]))}] {_hex(digest[-1])}"


def _hex(digest: Any) -> str:
    return digest.hex() if isinstance(digest, bytes) else str(digest)


def _text(value: object) -> str:
    return plain_name(value) if isinstance(value, (str, bytes)) else str(value)
