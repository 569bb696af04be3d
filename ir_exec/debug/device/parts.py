"""The parts of a model that run by themselves: single layers, or blocks of layers with a common name prefix."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ir_exec.build.cutting import Cut, Region, is_counted, source
from ir_exec.debug.device.networks import part_network
from ir_exec.graph import Node, Value
from ir_exec.model import Model
from ir_exec.ops.infrastructure.values import AssignsVariable, ReadsVariable
from ir_exec.plan.constant_values import constant_values
from ir_exec.types import Array

__all__ = ["IsolatedPart", "IsolationScope", "LeftOut", "parts_of", "reason_to_leave_out", "scopes_of"]


class IsolationScope:
    """The main graph or the graph of a body, indexed for parts.

    Attributes:
        constant: The values that depend only on weights.
        readers: The readers of each value, Results included.
    """

    def __init__(self, region: Region) -> None:
        self.region = region
        self.constant = constant_values(region.graph)
        self.readers: dict[Value, list[Node]] = {}
        for node in region.graph.nodes:
            for value in node.values_in:
                self.readers.setdefault(source(value), []).append(node)

    def part(self, name: str, nodes: Sequence[Node], *, is_single: bool) -> IsolatedPart:
        """The layers as a part. Its outputs are the values that other layers read."""
        inside = set(nodes)
        outputs = [
            value
            for node in nodes
            for value in node.outputs
            if any(reader not in inside for reader in self.readers.get(value, ()))
        ]
        return IsolatedPart(self, name, tuple(nodes), tuple(outputs), is_single)


@dataclass(eq=False)
class IsolatedPart:
    """Layers that run as one model.

    Attributes:
        name: The path of the layer, or the prefix of the block.
        outputs: The values that layers outside the part read.
        is_single: True for a layer, False for a block.
    """

    scope: IsolationScope
    name: str
    nodes: tuple[Node, ...]
    outputs: tuple[Value, ...]
    is_single: bool = True
    _made: Cut | None = field(default=None, init=False)

    @cached_property
    def inside(self) -> frozenset[Node]:
        """The layers as a set."""
        return frozenset(self.nodes)

    def network(self) -> Cut:
        """The model of the part, built once.

        Raises:
            IRError: The errors of building a graph.
        """
        if self._made is None:
            region = self.scope.region
            read = {source(value) for node in self.nodes for value in node.values_in}
            constants: dict[Value, Array] = {}
            for value in read:
                array = None if value.node in self.inside or value in self.scope.constant else region.known(value)
                if array is not None:
                    constants[value] = array
            self._made = part_network(region, self.nodes, self.outputs, self.scope.constant, constants)
        return self._made

    def forget(self) -> None:
        """Release the model."""
        self._made = None


@dataclass(frozen=True)
class LeftOut:
    """A layer that cannot run by itself, and the reason."""

    node: Node
    path: str
    reason: str


def scopes_of(model: Model) -> Iterator[IsolationScope]:
    """The main graph of a model and the graphs of all bodies, outer graphs first."""
    has_bodies = any(node.bodies for node in model.graph.nodes)
    seen = model.all_types() if has_bodies else {}
    for scope, graph in model.graph.scopes(unreachable=True):
        types = [seen.get(value, value.declared) for value in graph.values] if scope else model.types
        yield IsolationScope(Region(model, graph, types, scope))


def parts_of(scope: IsolationScope, block: str | None = None) -> tuple[list[IsolatedPart], list[LeftOut]]:
    """The parts of a graph in topological order, and the layers that are left out.

    Args:
        block: A pattern of name prefixes. All layers with the same matching prefix are one part; layers without a
            matching prefix are single parts. `*` matches any characters except dots and slashes, `**` matches any
            characters.
    """
    prefix = None if block is None else _prefix(block)
    groups: dict[tuple[str, str | None], list[Node]] = {}
    left = []
    for node in scope.region.graph.nodes:
        if not is_counted(node):
            continue
        path = "/".join((*scope.region.scope, node.name))
        reason = reason_to_leave_out(node, scope)
        if reason is not None:
            left.append(LeftOut(node, path, reason))
            continue
        match = None if prefix is None else prefix.match(path)
        # Layers with the same name differ by id.
        groups.setdefault((path, node.id) if match is None else (match[0], None), []).append(node)
    parts = []
    for (name, id), nodes in groups.items():
        part = scope.part(name, nodes, is_single=id is not None)
        if part.outputs:
            parts.append(part)
        else:
            left += [LeftOut(node, name, "no layer reads its outputs") for node in nodes]
    return parts, left


def _prefix(block: str) -> re.Pattern[str]:
    """The pattern of names that begin with a block. A block ends before a dot or a slash, or at the end of the name."""
    signs = {"**": ".*?", "*": "[^./]*", "?": "[^./]"}
    text = "".join(signs.get(sign, re.escape(sign)) for sign in re.split(r"(\*\*|[*?])", block.rstrip("./")))
    return re.compile(rf"{text}(?=[./]|\Z)")


def reason_to_leave_out(node: Node, scope: IsolationScope) -> str | None:
    """The reason why a layer cannot run by itself; None if it can."""
    inside = [node, *(inner for body in node.bodies for inner in body.graph.all_nodes())]
    if any(isinstance(inner.op, (AssignsVariable, ReadsVariable)) for inner in inside):
        return "keeps a variable"
    if any(inner.op is not None and not inner.op.deterministic and is_counted(inner) for inner in inside):
        return "random numbers"
    if node.outputs and scope.constant.issuperset(node.outputs):
        return "depends only on weights, runs with the layers that read it"
    return None
