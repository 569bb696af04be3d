"""The computations with weights: evidence of their tensors that needs no names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import NamedTuple

from ir_exec.debug.weights.reader_uses import is_product, scales_elements
from ir_exec.graph import Graph, Node, Value
from ir_exec.ops.base.registry import canonical

__all__ = ["WeightRole", "WeightRoles"]

_FURTHEST = 12
"""Maximum layers between a product of queries and keys and its distribution."""

_MOST_LAYERS = 400
"""Maximum layers between a weight and the ends of its path."""

_OF_ATTENTION = ("query", "key", "value")


class WeightRole(NamedTuple):
    """The computation with a weight, up to layers that join it with other weights, or that read other weights.

    Attributes:
        signature: The layers, without names, ids and shapes: equal for the same weight of all layers of a model.
        use: The part in an attention (query, key, value; attention for several of them) or in a product of two branches
            (gate, up); None for others.
        scope: The body with the weight.
        depth: The number of layers above its reader.
        height: The number of layers below.
    """

    signature: tuple[object, ...]
    use: str | None
    scope: str
    depth: int
    height: int

    def precedes(self, other: WeightRole) -> bool:
        """Return True if the reader is before that of another weight, from the inputs and from the outputs."""
        if self.scope != other.scope:
            return False
        return (
            self.depth <= other.depth
            and self.height >= other.height
            and (self.depth, self.height) != (other.depth, other.height)
        )


@dataclass
class _Path:
    """The layers that compute with a weight alone, and the inputs that they end at."""

    nodes: list[Node]
    ends: list[tuple[Node, int]]


class WeightRoles:
    """The roles of the weights of a graph.

    Args:
        weights: The values of all weights.
        scope: The name of the body.
    """

    def __init__(self, graph: Graph, weights: Iterable[Value], scope: str = "") -> None:
        self._weights = set(weights)
        self._scope = scope
        self._order = {node: position for position, node in enumerate(graph.nodes)}
        self._readers: dict[Value, list[tuple[Node, int]]] = {}
        for node in graph.nodes:
            for position, value in enumerate(node.inputs):
                if value is not None:
                    self._readers.setdefault(value, []).append((node, position))
        self._depths: dict[Node, int] = {}
        self._heights: dict[Node, int] = {}
        self._weighted: set[Node] = set()
        self._computed: set[Node] = set()
        self._measure(graph)

    def _measure(self, graph: Graph) -> None:
        for node in graph.nodes:
            self._depths[node] = max((self._depths.get(value.node, 0) + 1 for value in node.values_in), default=0)
            if node in graph.parameters or any(value.node in self._computed for value in node.values_in):
                self._computed.add(node)
            if self._reads_weight(node) or any(value.node in self._weighted for value in node.values_read):
                self._weighted.add(node)
        for node in reversed(graph.nodes):
            readers = [reader for value in node.outputs for reader, _ in self._readers.get(value, ())]
            self._heights[node] = max((self._heights.get(reader, 0) + 1 for reader in readers), default=0)

    def describe(self, weight: Value) -> WeightRole | None:
        """Return the role of a weight; None if several layers read it, or none of the model's data meets it."""
        readers = list(self._find_readers(weight))
        if len(readers) != 1:
            return None
        reader, position = readers[0]
        path = self._follow(reader)
        if path is None:
            return None
        types = Counter(canonical(node.type) for node in path.nodes)
        ends = sorted((canonical(node.type), index, self._use_of_end(node, index) or "") for node, index in path.ends)
        signature = (canonical(reader.type), position, tuple(sorted(types.items())), tuple(ends))
        use = self._find_use(path)
        return WeightRole(signature, use, self._scope, self._depths[reader], self._heights[reader])

    def _reads_weight(self, node: Node) -> bool:
        """Return True for a layer that computes with the model's data and a weight of several axes."""
        if node.op_class.is_elementwise or not any(value.node in self._computed for value in node.values_in):
            return False
        return any(self._is_weight(value) for value in node.values_in)

    def _is_weight(self, value: Value) -> bool:
        """Return True for a matrix or filters, also after layers that only convert or move its elements."""
        while value not in self._weights:
            node = value.node
            if node in self._computed or not node.inputs or not (node.op_class.is_conversion or _moves(node)):
                return False
            if node.inputs[0] is None:
                return False
            value = node.inputs[0]
        dims = value.declared.shape.dims or ()
        return sum(dim != 1 for dim in dims) > 1

    def _find_readers(self, value: Value) -> Iterator[tuple[Node, int]]:
        """The layers that compute with a weight, after layers that only convert or move its elements."""
        for node, position in self._readers.get(value, ()):
            if node in self._computed:
                yield node, position
            elif (node.op_class.is_conversion or _moves(node)) and position == 0:
                yield from self._find_readers(node.outputs[0])

    def _follow(self, start: Node) -> _Path | None:
        """Follow the values of a weight; None if they are read by too many layers."""
        inside = {start}
        pending = [(self._order[start], start)]
        queued = {start}
        path = _Path([], [])
        while pending:
            _, node = heappop(pending)
            if node is not start:
                own = [index for index, value in enumerate(node.inputs) if value is not None and value.node in inside]
                if self._is_end(node, inside) or any(self._use_of_end(node, index) for index in own):
                    path.ends += [(node, index) for index in own]
                    continue
                inside.add(node)
                path.nodes.append(node)
            if len(inside) > _MOST_LAYERS:
                return None
            for value in node.outputs:
                for reader, position in self._readers.get(value, ()):
                    if reader not in queued and reader.op_class.reads_elements(position) and reader.outputs:
                        queued.add(reader)
                        heappush(pending, (self._order[reader], reader))
        return path

    def _is_end(self, node: Node, inside: set[Node]) -> bool:
        """Return True for a layer that reads a matrix, or joins values with those of other weights."""
        if self._reads_weight(node):
            return True
        return any(value.node in self._weighted and value.node not in inside for value in node.values_read)

    def _find_use(self, path: _Path) -> str | None:
        uses = {self._use_of_end(node, index) for node, index in path.ends} - {None}
        if len(uses) > 1:
            return "attention"
        if uses or not path.ends:
            return next(iter(uses), None)
        node, index = path.ends[0]
        if len(path.ends) > 1 or not scales_elements(node):
            return None
        other = node.inputs[1 - index]
        mine, others = _is_activated(reversed(path.nodes)), other is not None and _is_activated(_nodes_above(other))
        return None if mine == others else "gate" if mine else "up"

    def _use_of_end(self, node: Node, index: int) -> str | None:
        """The use of an input of an attention: by its name, or by the distribution before or after a product."""
        if node.op_class.inputs and len(node.inputs) > 2:
            name = node.op_class.declared_input(index).name
            if name in _OF_ATTENTION:
                return name
        if not is_product(node):
            return None
        other = node.inputs[1 - index]
        if other is not None and any(above.op_class.is_distribution for above in _nodes_above(other)):
            return "value"
        return ("query", "key")[index] if self._reaches_distribution(node) else None

    def _reaches_distribution(self, node: Node) -> bool:
        for _ in range(_FURTHEST):
            readers = [reader for value in node.outputs for reader, _ in self._readers.get(value, ())]
            if len(readers) != 1:
                return False
            node = readers[0]
            if node.op_class.is_distribution:
                return True
            if not (node.op_class.is_elementwise or _moves(node)):
                return False
        return False


def _moves(node: Node) -> bool:
    return node.op_class.is_data_movement or node.op_class.is_conversion


def _nodes_above(value: Value) -> Iterator[Node]:
    """The layers that only move or convert the elements of a value, and the one that computes them."""
    node = value.node
    for _ in range(_FURTHEST):
        yield node
        if not _moves(node) or not node.inputs or node.inputs[0] is None:
            return
        node = node.inputs[0].node


def _is_activated(nodes: Iterable[Node]) -> bool:
    """Return True if the last layer that computes elements has one input only, as activations do."""
    computing = next((node for node in nodes if not _moves(node)), None)
    return computing is not None and computing.op_class.is_elementwise and len(set(computing.values_in)) == 1
