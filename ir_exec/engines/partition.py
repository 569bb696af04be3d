"""Partition of a graph between an engine and the interpreter, into few parts that can run in sequence."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from ir_exec.build.cutting import is_counted, needed_by, source
from ir_exec.graph import Graph, Node, Value
from ir_exec.ops.infrastructure.values import AssignsVariable, ReadsVariable
from ir_exec.plan.constant_values import constant_values

__all__ = ["GraphPart", "Partition", "divide"]

_LEAST = 3
"""Minimum layers of a part on the engine: smaller ones do not pay for copying arrays to the engine and back."""


@dataclass(frozen=True, slots=True)
class GraphPart:
    """Layers that run together.

    Attributes:
        constants: Layers that depend on constants alone, and that these layers read.
        inputs: Values of other parts, of variables and of the model.
        outputs: Values that have readers outside the part.
    """

    on_engine: bool
    nodes: tuple[Node, ...]
    constants: tuple[Node, ...]
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Partition:
    """The parts in the order in which they run, and the reasons for layers that are not on the engine."""

    parts: tuple[GraphPart, ...]
    reasons: Mapping[Node, str]

    @property
    def crossings(self) -> int:
        """The number of values passed from one part to another."""
        computed = {value for part in self.parts for value in part.outputs}
        return sum(value in computed for part in self.parts for value in part.inputs)


def divide(graph: Graph, refused: Mapping[Node, str]) -> Partition:
    """Return the partition with the fewest alternations in which each layer runs after the layers that it reads.

    A layer is in the earliest part of its kind after the parts that it depends on. All layers of such a part can run
    together, because no path leaves the part and returns. Layers that depend on constants alone are in every part that
    reads them. Parts of the engine that are too small to pay for their crossings are interpreted.

    Args:
        refused: The layers that the engine does not run, with the reasons.
    """
    reasons = dict(refused)
    constant = constant_values(graph)
    nodes = _run_every_time(graph, constant)
    while small := _small(_stages(nodes, reasons)):
        reasons |= small
    read = _readers(graph, nodes)
    parts = [_part(graph, stage, inside, constant, read) for stage, inside in sorted(_stages(nodes, reasons).items())]
    direct = _directly_read_constants(graph, constant)
    if direct:
        parts.append(GraphPart(False, (), _above(direct, constant, graph), (), direct))
    return Partition(tuple(parts), reasons)


def _run_every_time(graph: Graph, constant: Collection[Value]) -> list[Node]:
    """Return the layers of the parts, in order: layers that compute something in every run, without reads and writes of
    variables.

    Layers that only lead to the initial value of a variable run only if the variable has no value.
    """
    ends = [*graph.results, *(node for node in graph.nodes if isinstance(node.op, AssignsVariable))]
    read = {value for node in graph.nodes if isinstance(node.op, ReadsVariable) for value in node.outputs}
    required = needed_by(ends, read)
    return [
        node
        for node in graph.nodes
        if node in required
        and is_counted(node)
        and not isinstance(node.op, ReadsVariable | AssignsVariable)
        and not (node.outputs and all(output in constant for output in node.outputs))
    ]


def _stages(nodes: Collection[Node], refused: Mapping[Node, str]) -> dict[int, list[Node]]:
    """Return the layers by the number of their part; parts of the engine have even numbers."""
    stage: dict[Node, int] = {}
    stages: dict[int, list[Node]] = {}
    for node in nodes:
        parity = int(node in refused)
        least = parity
        for value in map(source, node.values_in):
            above = stage.get(value.node)
            if above is not None:
                least = max(least, above if above % 2 == parity else above + 1)
        stage[node] = least
        stages.setdefault(least, []).append(node)
    return stages


def _small(stages: Mapping[int, list[Node]]) -> dict[Node, str]:
    """Return the layers of parts of the engine that are too small compared with their crossings."""
    if all(stage % 2 == 0 for stage in stages):
        return {}
    reason = "too few layers between interpreted ones to pay for copies to and from the engine"
    small = [nodes for stage, nodes in stages.items() if stage % 2 == 0 and len(nodes) < _LEAST]
    return {node: reason for nodes in small for node in nodes}


def _readers(graph: Graph, nodes: Collection[Node]) -> dict[Value, list[Node]]:
    """Return the layers that read each value in a run: Results first, then layers that assign variables."""
    ends = [node for node in graph.nodes if isinstance(node.op, AssignsVariable)]
    readers: dict[Value, list[Node]] = {}
    for node in (*graph.results, *ends, *nodes):
        for value in node.values_in:
            readers.setdefault(source(value), []).append(node)
    return readers


def _part(
    graph: Graph, stage: int, nodes: list[Node], constant: Collection[Value], readers: Mapping[Value, list[Node]]
) -> GraphPart:
    inside = set(nodes)
    read = [source(value) for node in nodes for value in node.values_in]
    inputs = [value for value in dict.fromkeys(read) if value not in constant and value.node not in inside]
    outputs = [value for value, by in readers.items() if value.node in inside and not inside.issuperset(by)]
    return GraphPart(stage % 2 == 0, tuple(nodes), _above(read, constant, graph), tuple(inputs), tuple(outputs))


def _above(values: Collection[Value], constant: Collection[Value], graph: Graph) -> tuple[Node, ...]:
    """Return the layers that compute these values from constants, in the order of the graph."""
    counted: set[Node] = set()
    pending = [value.node for value in values if value in constant]
    while pending:
        node = pending.pop()
        if node not in counted and is_counted(node):
            counted.add(node)
            pending += [value.node for value in node.values_in]
    return tuple([node for node in graph.nodes if node in counted])


def _directly_read_constants(graph: Graph, constant: Collection[Value]) -> tuple[Value, ...]:
    """Return the constant values that Results and variables read directly."""
    ends = [*graph.results, *(node for node in graph.nodes if isinstance(node.op, AssignsVariable))]
    values = [source(value) for node in ends for value in node.values_in]
    return tuple([value for value in dict.fromkeys(values) if value in constant])
