"""A network as lines of text without ids, for programs that compare lines."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b

from ir_exec.debug.diffing import opened
from ir_exec.debug.pairing import plain_attributes
from ir_exec.graph import Graph, Node
from ir_exec.ir import Weights
from ir_exec.model import Model, Source, WeightsSource
from ir_exec.ops.infrastructure.values import Const
from ir_exec.printable import printable

__all__ = ["listed"]


def listed(source: Model | Source, weights: WeightsSource | None = None) -> Iterator[str]:
    """A line for each layer in the order of computation, one below it for each attribute; constants by a digest.

    Raises what `read_model` raises, missing weights left out.
    """
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
        return "not known: the .bin is missing"
    assert isinstance(node.op, Const)
    return blake2b(weights.slice(node.op.offset, node.op.size), digest_size=16).hexdigest()
