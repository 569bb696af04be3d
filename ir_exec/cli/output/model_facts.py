"""The data of `inspect`: a summary of a model, and its layers with inferred types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Set
from typing import Literal

from ir_exec.cli.output.onnx_facts import OnnxFacts, OnnxNode
from ir_exec.cli.output.placed_nodes import PlacedNode
from ir_exec.cli.output.source_text import SourceFacts
from ir_exec.graph import Graph, Node, Value
from ir_exec.graph.compressed import CompressedWeight, find_compressed_weights
from ir_exec.infer import count_work
from ir_exec.ir import Document, Weights
from ir_exec.ir.sources import CodeLocation
from ir_exec.model import Model, ModelPort
from ir_exec.ops.infrastructure.values import Const
from ir_exec.report.records import Record
from ir_exec.runtime.state import variables_of
from ir_exec.types import ElementType, TensorType

__all__ = [
    "ConstantFacts",
    "LayerFacts",
    "NetworkFacts",
    "PortFacts",
    "facts_of",
    "layer_facts",
]

_MOST_ELEMENTS = 16
"""Maximum elements of a constant whose values are shown."""


class PortFacts(Record):
    """An input, output or variable.

    Attributes:
        other_names: Alternative names.
    """

    name: str
    element_type: str
    shape: str
    other_names: tuple[str, ...] = ()

    @classmethod
    def of(cls, port: ModelPort, hidden: Set[str] = frozenset()) -> PortFacts:
        others = tuple(sorted(port.names - hidden - {port.name}))
        return cls(name=port.name, element_type=str(port.element_type), shape=str(port.shape), other_names=others)


class OperatorFacts(Record):
    """An operator type and its number of layers.

    Attributes:
        is_implemented: true if ir_exec can run them.
    """

    type: str
    opset: str | None
    layers: int
    is_implemented: bool


class ConstantFacts(Record):
    """The constants of an element type; shared bytes are counted once."""

    element_type: str
    constants: int
    elements: int
    bytes: int


class CompressedFacts(Record):
    """The compressed weights of a format.

    Attributes:
        group_size: Null for whole rows.
        bytes: The size of codes, scales and zero points.
    """

    format: str
    group_size: int | None
    weights: int
    elements: int
    bytes: int


class NetworkFacts(Record):
    """The summary of a model, with the layers of bodies.

    The version, the layers and the names are those of the file. Operators are those that run, with the conversions of
    inputs and outputs in version 10.

    Attributes:
        writer: The tools that wrote the file, null if unknown.
        parameters: Number of elements of constants of floats, or of integers with at most 8 bits; shared constants are
            counted once. Other integers and booleans are axes, shapes and indices.
        bytes: Size of all constants in the .bin.
        multiply_adds: The multiply-adds of matrix products, convolutions, recurrent cells and attention in one run.
        is_exact: true if multiply_adds is exact; otherwise it is a lower limit, with open dims at their minimum (at
            least 1) and one iteration for loops of unknown length.
        onnx: The content of an ONNX file; the other fields describe the layers that its nodes were lowered to.
    """

    format: Literal[1] = 1
    name: str
    version: int
    writer: str | None
    layers: int
    parameters: int
    bytes: int
    multiply_adds: int
    is_exact: bool
    variables: tuple[PortFacts, ...]
    inputs: tuple[PortFacts, ...]
    outputs: tuple[PortFacts, ...]
    operators: tuple[OperatorFacts, ...]
    constants: tuple[ConstantFacts, ...]
    compressed: tuple[CompressedFacts, ...] = ()
    onnx: OnnxFacts | None = None


def facts_of(network: Model, source: Document, onnx: OnnxFacts | None = None) -> NetworkFacts:
    """Return the summary of a model with its current shapes.

    Args:
        source: The document of the file; it supplies the name, version, writer and number of layers.
    """
    added = {layer.name for layer in network.document.layers} - {layer.name for layer in source.layers}
    work = count_work(network.graph, network.types, network.weights)
    constants = tuple(_constants(network.graph))
    return NetworkFacts(
        name=source.name,
        version=source.version,
        writer=source.writer,
        layers=sum(1 for _ in source.all_layers()),
        parameters=_parameters(network.graph),
        bytes=_stored_bytes(op for op in _const_ops(network.graph)),
        multiply_adds=work.multiply_adds,
        is_exact=work.is_exact,
        variables=tuple(map(PortFacts.of, variables_of(network))),
        inputs=tuple(PortFacts.of(port, added) for port in network.inputs),
        outputs=tuple(PortFacts.of(port, added) for port in network.outputs),
        operators=tuple(_operators(network.graph)),
        constants=constants,
        compressed=tuple(_compressed_facts(network.graph, network.weights)),
        onnx=onnx,
    )


def _const_ops(graph: Graph) -> list[Const]:
    return [node.op for node in graph.all_nodes() if isinstance(node.op, Const)]


def _stored_bytes(constants: Iterable[Const]) -> int:
    return sum({(op.offset, op.size): op.size for op in constants}.values())


def _parameters(graph: Graph) -> int:
    counted = {
        (op.offset, op.size): op.shape.size.lo
        for op in _const_ops(graph)
        if op.element_type.is_float or (op.element_type.is_integer and op.element_type.bits <= 8)
    }
    return sum(counted.values())


def _operators(graph: Graph) -> Iterator[OperatorFacts]:
    nodes = list(graph.all_nodes())
    missing = {(node.type, node.layer.version) for node in nodes if node.op is None}
    counts = Counter((node.type, node.layer.version) for node in nodes)
    for key, count in sorted(counts.items(), key=lambda item: (-item[1], str(item[0]))):
        yield OperatorFacts(type=key[0], opset=key[1], layers=count, is_implemented=key not in missing)


def _constants(graph: Graph) -> list[ConstantFacts]:
    """Return constants by element type, in order of decreasing bytes."""
    by_type: dict[ElementType, list[Const]] = {}
    for op in _const_ops(graph):
        by_type.setdefault(op.element_type, []).append(op)
    facts = [
        ConstantFacts(
            element_type=str(element_type),
            constants=len(ops),
            elements=sum(op.shape.size.lo for op in ops),
            bytes=_stored_bytes(ops),
        )
        for element_type, ops in by_type.items()
    ]
    return sorted(facts, key=lambda group: -group.bytes)


def _compressed_facts(graph: Graph, weights: Weights | None) -> Iterator[CompressedFacts]:
    """Yield compressed weights by format, in order of decreasing elements."""
    weights_by_format: dict[tuple[str, int | None], list[CompressedWeight]] = {}
    graphs = [graph, *(body.graph for node in graph.all_nodes() for body in node.bodies)]
    for weight in (weight for inner in graphs for weight in find_compressed_weights(inner).values()):
        name = str(weight.element_type) if weights is None else weight.format(weights)
        weights_by_format.setdefault((name, weight.group_size), []).append(weight)
    sizes = {key: sum(member.size for member in members) for key, members in weights_by_format.items()}
    for key, members in sorted(weights_by_format.items(), key=lambda item: -sizes[item[0]]):
        yield CompressedFacts(
            format=key[0],
            group_size=key[1],
            weights=len(members),
            elements=sizes[key],
            bytes=sum(member.stored_bytes for member in members),
        )


class Neighbor(Record):
    """The producer or a reader of a value.

    Attributes:
        port: The position of its output or input.
    """

    id: str
    type: str
    name: str
    port: int


class Input(Record):
    """An input of a layer.

    Attributes:
        source: Null without an edge.
        value: The value of a small constant.
    """

    name: str
    type: str | None
    source: Neighbor | None
    value: str | None = None


class Output(Record):
    """An output of a layer, with its readers."""

    name: str
    type: str
    names: tuple[str, ...]
    readers: tuple[Neighbor, ...]
    value: str | None = None


class LayerFacts(Record):
    """A layer.

    Attributes:
        id: The id, preceded by the ids of the enclosing layers in a body.
        line: The line in the .xml.
        node: The node of an ONNX file that was lowered to this layer, and possibly others.
        source: The line of Python that the layer was exported from, null if unknown.
    """

    id: str
    type: str
    name: str
    opset: str | None
    line: int | None
    is_implemented: bool
    multiply_adds: int
    attributes: dict[str, str]
    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]
    node: OnnxNode | None = None
    source: SourceFacts | None = None


def layer_facts(placed: PlacedNode, made_of: OnnxNode | None = None, source: CodeLocation | None = None) -> LayerFacts:
    """Return a layer with its attributes and neighbors."""
    node, types = placed.node, placed.types
    readers: dict[int, list[Neighbor]] = {}
    for other in placed.graph.nodes:
        for position, value in enumerate(other.inputs):
            if value is not None and value.node is node:
                readers.setdefault(value.number, []).append(_neighbor(placed.prefix, other, position))
    alone = Graph(node.name, [node], [], [], placed.graph.values, [])
    return LayerFacts(
        id=placed.id,
        type=node.type,
        name=node.name,
        opset=node.layer.version,
        line=node.layer.line or None,
        is_implemented=node.op is not None,
        multiply_adds=count_work(alone, types, None).multiply_adds,
        attributes=dict(node.layer.data or {}),
        inputs=tuple(_input(placed, position, value) for position, value in enumerate(node.inputs)),
        outputs=tuple(
            Output(
                name=_output_name(node, value.position),
                type=_type_text(types[value.number]),
                names=value.names,
                readers=tuple(readers.get(value.number, ())),
                value=_value(types[value.number]),
            )
            for value in node.outputs
        ),
        node=made_of,
        source=None if source is None else SourceFacts.of(source, is_inferred=node.source is None),
    )


def _input(placed: PlacedNode, position: int, value: Value | None) -> Input:
    name = _input_name(placed.node, position)
    if value is None:
        return Input(name=name, type=None, source=None)
    type = placed.types[value.number]
    source = _neighbor(placed.prefix, value.node, value.position)
    return Input(name=name, type=_type_text(type), source=source, value=_value(type))


def _neighbor(prefix: str, node: Node, port: int) -> Neighbor:
    return Neighbor(id=f"{prefix}{node.id}", type=node.type, name=node.name, port=port)


def _type_text(type: TensorType) -> str:
    return f"{type.element_type}{type.shape}"


def _value(type: TensorType) -> str | None:
    """Return the known elements of a short tensor as text, None for other tensors."""
    if type.value is None or type.shape.size.hi > _MOST_ELEMENTS:
        return None
    return str(type.value.tolist()).replace(" ", "")


def _input_name(node: Node, position: int) -> str:
    declared = node.op.inputs if node.op is not None else ()
    if position < len(declared) and not declared[position].variadic:
        return declared[position].name.rstrip("_")
    if declared and declared[-1].variadic:
        return f"{declared[-1].name}[{position - len(declared) + 1}]"
    return f"input {position}"


def _output_name(node: Node, position: int) -> str:
    names = node.op.outputs if node.op is not None else ()
    return names[position] if position < len(names) else f"output {position}"
