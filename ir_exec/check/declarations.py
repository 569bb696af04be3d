"""Declared types of ports: checked on their own, and against the final type of the port's value.

A wrong declaration that old writers always made, and that no layer depends on, is only a warning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ir_exec.check.findings import Findings
from ir_exec.codes import Code
from ir_exec.errors import ElementTypeError, IRError, Location, Severity, ShapeError
from ir_exec.graph import Graph, Node, Value
from ir_exec.ir import Port
from ir_exec.types import Dim, ElementType, Shape, TensorType

__all__ = [
    "End",
    "check_edges",
    "check_readers",
    "contradiction",
    "contradiction_error",
    "difference",
    "fault_at",
    "fits",
    "has_meaningless_ports",
    "joined_types",
    "layer_of",
    "meaningless_ports",
    "merge_types",
    "readers_of_values",
    "severity_at_reader",
    "severity_at_source",
    "source_of",
]


def fits(declared: TensorType, inferred: TensorType) -> bool:
    """Return True if a value can have both types; an unknown element type, rank or dim matches any other."""
    if (
        declared.element_type is not inferred.element_type
        and declared.element_type.is_known
        and inferred.element_type.is_known
    ):
        return False
    mine, theirs = declared.shape.dims, inferred.shape.dims
    if mine is None or theirs is None or mine == theirs:
        return True
    return len(mine) == len(theirs) and all(a.lo <= b.hi and b.lo <= a.hi for a, b in zip(mine, theirs, strict=True))


def contradiction(declared: TensorType, inferred: TensorType) -> Code:
    """Return the code for two types that do not fit: IR603 element type, IR602 rank, IR601 dims."""
    if not fits(TensorType(declared.element_type, Shape.unknown()), inferred):
        return Code.declared_element_type
    return Code.declared_rank if declared.rank != inferred.rank else Code.declared_dims


def difference(declared: TensorType, inferred: TensorType) -> str:
    """Describe the differences of two types that do not fit: `dim 1 is 4, not 5`."""
    parts = []
    if contradiction(declared, inferred) == Code.declared_element_type:
        parts.append(f"the element type is {inferred.element_type}, not {declared.element_type}")
    mine, theirs = declared.shape.dims, inferred.shape.dims
    if mine is not None and theirs is not None:
        if len(mine) != len(theirs):
            parts.append(f"the rank is {len(theirs)}, not {len(mine)}")
        else:
            pairs = enumerate(zip(mine, theirs, strict=True))
            parts += [f"dim {axis} is {_dim(b)}, not {_dim(a)}" for axis, (a, b) in pairs if a & b is None]
    return ", ".join(parts)


def merge_types(chosen: TensorType, other: TensorType) -> TensorType:
    """Return the chosen type, with unknown parts filled in from the other one; known elements are dropped."""
    element_type = chosen.element_type if chosen.element_type.is_known else other.element_type
    mine, theirs = chosen.shape.dims, other.shape.dims
    if mine is None:
        return TensorType(element_type, other.shape)
    if theirs is None or len(mine) != len(theirs):
        return TensorType(element_type, chosen.shape)
    return TensorType(element_type, Shape([(a & b) or a for a, b in zip(mine, theirs, strict=True)]))


def _dim(dim: Dim) -> str:
    """A dim in words: `4`, `at least 2`, `1 to 8`."""
    if dim.is_static:
        return str(dim)
    return f"{dim.lo} to {dim.hi}" if dim.is_bounded else f"at least {dim.lo}"


class End(NamedTuple):
    """An input or output port of a node."""

    node: Node
    position: int
    is_output: bool

    @property
    def port(self) -> Port:
        layer = self.node.layer
        return (layer.outputs if self.is_output else layer.inputs)[self.position]

    @property
    def value(self) -> Value | None:
        """The value of the port; None for an input without an edge."""
        return self.node.outputs[self.position] if self.is_output else self.node.inputs[self.position]

    @property
    def declared(self) -> TensorType:
        """The type that the file declares at the port."""
        return self.node.outputs[self.position].declared if self.is_output else self.node.declared_inputs[self.position]

    @property
    def name(self) -> str:
        """The name of the port in messages: the operator's name for it, or its id without an operator."""
        op = self.node.op
        if op is None:
            return self.port.id
        return op.output_name(self.position) if self.is_output else op.input_name(self.position)

    @property
    def location(self) -> Location:
        return Location(line=self.port.line, port=self.name).filled_from(self.node.location)


def source_of(value: Value) -> End:
    """The output port that produces a value."""
    return End(value.node, value.position, is_output=True)


def readers_of_values(graph: Graph) -> dict[Value, list[End]]:
    """The input ports that read each value of a graph."""
    readers: dict[Value, list[End]] = {value: [] for value in graph.values}
    for node in graph.nodes:
        for position, value in enumerate(node.inputs):
            if value is not None:
                readers[value].append(End(node, position, is_output=False))
    return readers


def fault_at(end: End, code: Code, message: str, **parts: Any) -> IRError:
    """An error about the declared type of a port, located at the port.

    Args:
        parts: Further arguments of the error, such as `actual`, `expected` and `hint`.
    """
    cls = ElementTypeError if code is Code.declared_element_type else ShapeError
    return cls(message, code=code, location=end.location, **parts)


def contradiction_error(end: End, inferred: TensorType, giver: str, hint: str | None = None) -> IRError:
    """The error for a port with a declared type that does not fit the type `inferred` that the layer `giver` gives."""
    # Baselines of findings contain this message.
    message = (
        f"{end.name} is declared as {end.declared}, but {giver} gives {inferred}: {difference(end.declared, inferred)}"
    )
    error = fault_at(end, contradiction(end.declared, inferred), message, hint=hint)
    return error.changed(actual=str(end.declared), expected=str(inferred))


def layer_of(node: Node) -> str:
    """The name of a layer in a sentence: `layer 7 "gather" (GatherElements)`."""
    return str(Location(layer_id=node.id, layer_name=node.name, layer_type=node.type))


def joined_types(node: Node) -> dict[Value, TensorType]:
    """Values in the bodies of a layer that are concatenated over the iterations, with the type of the joined output."""
    joined = {}
    for body in node.bodies:
        for tie in body.ties.outputs if body.ties is not None else ():
            values = body.graph.results[tie.result].values_in
            if tie.part is not None and tie.position is not None and values:
                joined[values[0]] = node.outputs[tie.position].declared
    return joined


def severity_at_source(
    value: Value, readers: Sequence[End], code: Code, joined: Mapping[Value, TensorType]
) -> Severity:
    """The severity of an output's declared type that differs from the inferred type.

    Args:
        joined: For values of a body, the type of the output that the layer of the body joins from them; Model Optimizer
            declares this type inside the body as well.
    """
    if code == Code.declared_element_type:
        is_habit = value.declared.element_type is ElementType.f32 and _is_habitually_f32(value)
        return "warning" if is_habit or not readers else "error"
    return "warning" if code == Code.declared_dims and joined.get(value) == value.declared else "error"


def severity_at_reader(reader: End) -> Severity:
    """The severity of an input's declared type that differs from the type of its value.

    Ports of Results have no precision in files of version 10, and no layer depends on their dims.
    """
    return "warning" if reader.node.op_class.is_result and reader.port.precision is None else "error"


def _is_habitually_f32(value: Value) -> bool:
    """Return True for outputs that Model Optimizer, POT and NNCF declare as f32: boxes of f16 models, and indices."""
    cls = value.node.op_class
    return value.position < len(cls.outputs) and cls.outputs[value.position] in cls.declared_as_f32


_OTHER_PRECISIONS = ("U1", "bin", "UNSPECIFIED", "undefined")
"""Spellings of element types that OpenVINO reads in addition to the name and the precision."""


def has_meaningless_ports(graph: Graph) -> bool:
    """Return True if `meaningless_ports` finds a port of the graph; fast, because many ports declare the same type."""
    layers = [node.layer for node in graph.nodes]
    declarations = {(port.precision, port.dims) for layer in layers for port in (*layer.inputs, *layer.outputs)}
    return any(_meaningless(*declaration) for declaration in declarations)


def meaningless_ports(node: Node) -> Iterator[tuple[End, IRError]]:
    """Ports with an invalid declaration: a dim below -1 (IR601), a precision that no element type has (IR603)."""
    for is_output, ports in ((False, node.layer.inputs), (True, node.layer.outputs)):
        for position, port in enumerate(ports):
            for code, text, actual, expected in _meaningless(port.precision, port.dims):
                end = End(node, position, is_output)
                yield end, fault_at(end, code, text, actual=actual, expected=expected)


def _meaningless(precision: str | None, dims: tuple[int, ...]) -> list[tuple[Code, str, object, str]]:
    """The code, the text before the actual value, the actual value and the expected value of each fault."""
    faults: list[tuple[Code, str, object, str]] = []
    if min(dims, default=0) < -1:
        axis, dim = next((axis, dim) for axis, dim in enumerate(dims) if dim < -1)
        expected = "0 or more, or -1 for a dynamic dim"
        faults.append((Code.declared_dims, f"dim {axis} is declared as", dim, expected))
    spelled = None if precision is None else _readable_precision(precision)
    if spelled != precision:
        expected = spelled or "the precision of an element type"
        faults.append((Code.declared_element_type, "the precision is", repr((precision or "")[:40]), expected))
    return faults


def _readable_precision(precision: str) -> str | None:
    """The precision in the spelling that OpenVINO reads; None if it is not an element type."""
    try:
        element_type = ElementType.parse(precision)
    except ValueError:
        return None
    return (
        precision
        if precision in (element_type.name, element_type.precision, *_OTHER_PRECISIONS)
        else element_type.precision
    )


def check_readers(value: Value, readers: list[End], settled: TensorType, findings: Findings) -> None:
    """Report input ports whose declared type differs from the type of their value."""
    for reader in readers:
        if fits(reader.declared, settled) or findings.is_faulty(reader.node):
            continue
        error = contradiction_error(reader, settled, layer_of(value.node))
        error = error.changed(severity=severity_at_reader(reader))
        findings(error)
        findings.repair(error, reader.port, settled)


def check_edges(value: Value, readers: list[End], settled: TensorType, findings: Findings) -> None:
    """Report ports without dims, or with dims that differ from the other end of their edge."""
    _check_dims_left_out(value, readers, settled, findings)
    _check_dims_differ(value, readers, settled, findings)


def _check_dims_left_out(value: Value, readers: list[End], settled: TensorType, findings: Findings) -> None:
    """IR602 for a port without dims, if the value has dims and another end of its edges declares them.

    If no end declares dims, the value may be a scalar or have a dynamic rank; readers with an error are ignored.
    """
    if not settled.rank:
        return
    ends = [source_of(value), *readers]
    if not any(end.port.dims for end in ends if end.is_output or not findings.is_faulty(end.node)):
        return
    for end in ends:
        if not end.port.dims and not findings.is_faulty(end.node):
            text = f"{end.name} is declared without dims, like a scalar"
            error = fault_at(end, Code.declared_rank, text, expected=settled)
            findings(error)
            findings.repair(error, end.port, settled)


def _check_dims_differ(value: Value, readers: list[End], settled: TensorType, findings: Findings) -> None:
    """IR604 for the ends of an edge that declare different dims, if both are possible."""
    source = source_of(value)
    for reader in readers:
        if (
            reader.port.dims == source.port.dims
            or len(reader.port.dims) != len(source.port.dims)
            or not fits(reader.declared, value.declared)
            or findings.is_faulty(source.node)
            or findings.is_faulty(reader.node)
        ):
            continue
        source_is_odd = _strangeness(source.port, settled.shape) > _strangeness(reader.port, settled.shape)
        odd, other = (source, reader) if source_is_odd else (reader, source)
        dims, others = _dims(odd.port), _dims(other.port)
        message = f"{odd.name} is declared with dims {dims}, and with {others} at {layer_of(other.node)}"
        findings(ShapeError(message, code=Code.ports_disagree, severity="warning", location=odd.location))
        if source_is_odd:
            return


def _strangeness(port: Port, shape: Shape) -> int:
    """The number of dims that differ from the declaration that a writer would make for this shape."""
    if shape.dims is None or len(shape.dims) != len(port.dims):
        return len(port.dims)
    return sum(
        dim != (actual.size if actual.is_static else -1) for dim, actual in zip(port.dims, shape.dims, strict=True)
    )


def _dims(port: Port) -> str:
    return "[" + ",".join("?" if dim < 0 else str(dim) for dim in port.dims) + "]"
