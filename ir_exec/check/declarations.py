"""What ports declare: on their own, and against the type on which their value was settled."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from ir_exec.check.compare import contradiction, difference, fits
from ir_exec.check.ends import End, fault_at, layer_of, source_of
from ir_exec.check.findings import Findings
from ir_exec.check.habits import severity_at_reader
from ir_exec.codes import Code
from ir_exec.errors import IRError, ShapeError
from ir_exec.graph import Node, Value
from ir_exec.ir import Port
from ir_exec.types import ElementType, Shape, TensorType

__all__ = ["check_edges", "check_readers", "meaningless_ports"]

_OTHER_PRECISIONS = ("U1", "bin", "UNSPECIFIED", "undefined")
"""Spellings of element types that OpenVINO reads besides the name and the precision."""


def meaningless_ports(node: Node) -> Iterator[tuple[End, IRError]]:
    """Ports whose declaration means nothing: a dim below -1 (IR601), a precision that no element type has (IR603)."""
    for is_output, ports in ((False, node.layer.inputs), (True, node.layer.outputs)):
        for position, port in enumerate(ports):
            for code, message in _meaningless(port.precision, port.dims):
                end = End(node, position, is_output)
                yield end, fault_at(end, code, message)


@lru_cache(maxsize=2**14)
def _meaningless(precision: str | None, dims: tuple[int, ...]) -> tuple[tuple[Code, str], ...]:
    # A network has few types, and each at many ports.
    faults = []
    if min(dims, default=0) < -1:
        axis, dim = next((axis, dim) for axis, dim in enumerate(dims) if dim < -1)
        message = f"dim {axis} is declared as {dim}; dims are 0 or more, or -1 where they are not known"
        faults.append((Code.declared_dims, message))
    spelt = None if precision is None else _spelt(precision)
    if spelt != precision:
        hint = f", which is spelt {spelt}" if spelt else ""
        message = f"{(precision or '')[:40]!r} is the precision of no element type{hint}"
        faults.append((Code.declared_element_type, message))
    return tuple(faults)


def _spelt(precision: str) -> str | None:
    """The precision in the case in which OpenVINO reads it; None if it is no element type."""
    try:
        kind = ElementType.parse(precision)
    except ValueError:
        return None
    return precision if precision in (kind.name, kind.precision, *_OTHER_PRECISIONS) else kind.precision


def check_readers(value: Value, readers: list[End], settled: TensorType, findings: Findings) -> None:
    """Report input ports that declare another type than their value has."""
    for reader in readers:
        if fits(reader.declared, settled) or findings.is_faulty(reader.node):
            continue
        message = (
            f"{reader.name} is declared as {reader.declared}, but {layer_of(value.node)} gives {settled}: "
            f"{difference(reader.declared, settled)}"
        )
        error = fault_at(reader, contradiction(reader.declared, settled), message)
        error = error.changed(severity=severity_at_reader(reader))
        findings(error)
        findings.repair(error, reader.port, settled)


def check_edges(value: Value, readers: list[End], settled: TensorType, findings: Findings) -> None:
    """Report ports that declare too few dims, or other dims than the other end of their edge."""
    _check_dims_left_out(value, readers, settled, findings)
    _check_dims_differ(value, readers, settled, findings)


def _check_dims_left_out(value: Value, readers: list[End], settled: TensorType, findings: Findings) -> None:
    """IR602 for a port without dims whose value has dims, which another end of its edges declares.

    If no end declares dims, the value may be a scalar or of unknown rank.
    """
    if not settled.rank:
        return
    ends = [source_of(value), *readers]
    if not any(end.port.dims for end in ends):
        return
    for end in ends:
        if not end.port.dims and not findings.is_faulty(end.node):
            message = f"{end.name} is declared without dims, as a scalar is, but it is {settled}"
            error = fault_at(end, Code.declared_rank, message)
            findings(error)
            findings.repair(error, end.port, settled)


def _check_dims_differ(value: Value, readers: list[End], settled: TensorType, findings: Findings) -> None:
    """IR604 for ends of an edge that declare different dims, both of which are possible."""
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
    """How many dims differ from what a writer of the file would declare for this shape."""
    if shape.dims is None or len(shape.dims) != len(port.dims):
        return len(port.dims)
    return sum(dim != (found.size if found.is_static else -1) for dim, found in zip(port.dims, shape.dims, strict=True))


def _dims(port: Port) -> str:
    return "[" + ",".join("?" if dim < 0 else str(dim) for dim in port.dims) + "]"
