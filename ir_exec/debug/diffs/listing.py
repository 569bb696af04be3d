"""Text of a model without ids, for programs that compare lines."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import NamedTuple

from ir_exec.codes import Code
from ir_exec.debug.comparison.pairing.structure import plain_attributes
from ir_exec.errors import IRError, raise_error
from ir_exec.graph import Graph, Node
from ir_exec.ir import RtInfo, Weights
from ir_exec.model import Loaded, Model, Source, WeightsSource, load
from ir_exec.ops.infrastructure.values import Const
from ir_exec.printable import printable
from ir_exec.readers import reader_of

__all__ = ["Opened", "is_onnx_source", "listed", "opened"]


class Opened(NamedTuple):
    """A model without inferred types.

    Attributes:
        weights: None if the .bin is missing.
    """

    graph: Graph
    weights: Weights | None
    rt_info: RtInfo


def opened(source: Model | Loaded | Source, weights: WeightsSource | None) -> Opened:
    """Return the model of a file, with its weights if the .bin exists."""
    if isinstance(source, (Model, Loaded)):
        return Opened(source.graph, source.weights, source.document.rt_info)
    loaded = load(source, weights, report=_unless_missing if weights is None else raise_error)
    assert loaded is not None, "a reader that raises errors returns a complete model"
    return Opened(loaded.graph, loaded.weights, loaded.document.rt_info)


def _unless_missing(fault: IRError) -> None:
    if fault.code != Code.weights_missing:
        raise_error(fault)


def is_onnx_source(source: Model | Loaded | Source) -> bool:
    """Return True for a path or the content of an ONNX file."""
    reader = None if isinstance(source, (Model, Loaded)) else reader_of(source)
    return reader is not None and reader.name == "ONNX"


def listed(source: Model | Source, weights: WeightsSource | None = None) -> Iterator[str]:
    """Yield lines for each layer and its attributes, in the order of computation, with a digest for each constant.

    An ONNX file is listed as ONNX, also a damaged or invalid one.

    Raises:
        IRError: What `read_model` raises, except for missing weights.
    """
    if is_onnx_source(source):
        from ir_exec.debug.diffs.onnx_listing import list_onnx  # imported for ONNX files only

        yield from list_onnx(source)  # type: ignore[arg-type]  # a path or bytes
        return
    network = opened(source, weights)
    yield from _lines(network.graph, network.weights, "")


def _lines(graph: Graph, weights: Weights | None, indent: str) -> Iterator[str]:
    for node in (*graph.nodes, *graph.unreachable):
        inputs = ", ".join(value.name for value in node.values_in)
        outputs = ", ".join(str(value.declared) for value in node.outputs)
        yield indent + printable(f"{node.name} = {node.layer.version} {node.type}({inputs}) {outputs}".rstrip())
        for name, value in plain_attributes(node).items():
            yield f"{indent}    {name} = {printable(value)}"
        if isinstance(node.op, Const):
            yield f"{indent}    values = {_digest(node, weights)}"
        for body in node.bodies:
            yield f"{indent}    {printable(body.name)}:"
            yield from _lines(body.graph, weights, f"{indent}        ")


def _digest(node: Node, weights: Weights | None) -> str:
    if weights is None:
        return "unknown: the .bin is missing"
    assert isinstance(node.op, Const)
    return sha256(weights.slice(node.op.offset, node.op.size)).hexdigest()[:32]
