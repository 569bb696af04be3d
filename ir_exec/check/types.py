"""Types: what the file declares at every port against what the operators make of their inputs.

A fault is reported once, at the layer where declared and inferred first part, and the layers below go on with the type
for which most speaks. So each independent fault is found in one pass, and none of what follows from it.

Who is wrong where declared and inferred contradict each other is told by the input ports of the layers below, which
declare the same value: where they side with the declared type, something in this layer was changed; where they side
with the inferred one, the declaration of this port was.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from typing import Any

from ir_exec.check.bodies import body_input_types
from ir_exec.check.compare import contradiction, difference, fits, merged
from ir_exec.check.findings import Findings, Repair
from ir_exec.codes import Code
from ir_exec.errors import ElementTypeError, IRError, Location, ShapeError, internal_error
from ir_exec.graph import Graph, Node, Value
from ir_exec.infer import infer_node, infer_types
from ir_exec.ir import Port, Weights
from ir_exec.ops import Op
from ir_exec.ops.sources import Const
from ir_exec.types import ElementType, Shape, TensorType

__all__ = ["check_types"]


def check_types(graph: Graph, weights: Weights | None, findings: Findings) -> int:
    """Infer and compare every reachable layer of the graph and of the bodies in it; how many could be checked."""
    checker = _Checker(graph, weights, findings)
    infer_types(graph, weights=weights, report=checker.faults.append, settle=checker.settle)
    findings.repairs += checker.repairs()
    return checker.checked


class _Checker:
    """Decides, layer by layer, what is reported and what the layers below go on with.

    faults: what inference has reported of the layer that is settled next.
    types: what the layers below see, by the number of the value; the declared types until then.
    unknown: values about which neither inference nor the file says enough.
    disputed: values that not all of their ports declare alike. Ports that declare the same share one type.
    """

    def __init__(self, graph: Graph, weights: Weights | None, findings: Findings) -> None:
        self.faults: list[IRError] = []
        self._repairs: list[Repair] = []
        self._odd_ports: list[tuple[IRError, Value, Port]] = []
        self.checked = 0
        self._weights = weights
        self._findings = findings
        self._types = [value.declared for value in graph.values]
        self._unknown: set[Value] = set()
        self._readers: dict[Value, list[tuple[Node, int]]] = {value: [] for value in graph.values}
        self._disputed: set[Value] = set()
        self._said: set[tuple[Value, str, str]] = set()
        for node in graph.nodes:
            for position, value in enumerate(node.inputs):
                if value is not None:
                    self._readers[value].append((node, position))
                    if node.declared_inputs[position] is not value.declared:
                        self._disputed.add(value)

    def settle(self, node: Node, inferred: list[TensorType] | None) -> list[TensorType]:
        """The types of a node's outputs for the layers below; reports what is wrong with the node."""
        faults = self.faults[:]
        self.faults.clear()
        was_faulty = self._findings.is_faulty(node)
        bodies_hold = self._check_bodies(node)
        if not was_faulty:
            self._check_ports(node)
            if bodies_hold:
                self._report(node, faults)
            if inferred is not None:
                inferred = self._outputs(node, inferred)
                self._check_values(node)
        is_checked = self._is_checked(node) and Code.internal_error not in [fault.code for fault in faults]
        self.checked += is_checked
        is_quiet = was_faulty or not bodies_hold
        types = []
        for position, value in enumerate(node.outputs):
            type = None if inferred is None or position >= len(inferred) else inferred[position]
            if is_quiet and type is not None and not (fits(value.declared, type) and not was_faulty):
                type = None
            settled = self._settle_value(value, type)
            if not is_checked:
                settled = merged(settled, value.declared)
                if settled.rank is None or not settled.element_type.is_known:
                    self._unknown.add(value)
            self._types[value.number] = settled
            types.append(settled)
        if is_checked and not was_faulty:
            self._check_rank(node)
        return types

    def repairs(self) -> list[Repair]:
        """What the ports should declare of which a fault was reported, as far as that is known in the end."""
        for error, value, port in self._odd_ports:
            self._repair(error, port, self._types[value.number])
        return self._repairs

    # What concerns the node as a whole.

    def _check_bodies(self, node: Node) -> bool:
        """Check the graphs inside the node; whether they hold no error, which would make one of the node itself."""
        if not node.bodies:
            return True
        if node.is_whole and not self._findings.is_faulty(node):
            for inner, fault in body_input_types(node, [self._types[value.number] for value in node.values_in]):
                if not self._findings.is_faulty(inner):
                    self._findings(fault)
        for body in node.bodies:
            self.checked += check_types(body.graph, self._weights, self._findings)
        return not any(self._findings.is_faulty(inner) for body in node.bodies for inner in body.graph.all_nodes())

    def _report(self, node: Node, faults: Iterable[IRError]) -> None:
        for fault in faults:
            if fault.code == Code.internal_error:
                # The file is not to blame, and everything else in it is still checked.
                fault.severity = "info"
            if not self._is_said(node, fault):
                self._findings(fault.located(node.location))

    def _is_said(self, node: Node, fault: IRError) -> bool:
        """Whether the same error was reported of another layer that takes the same constant."""
        if fault.severity != "error" or not fault.code.startswith(("IR5", "IR7")):
            return False
        suspects = {
            value: None
            for position, value in enumerate(node.inputs)
            if value is not None
            and isinstance(value.node.op, Const)
            and fault.location.port in (None, _port_name(node, position, is_output=False))
        }
        keys = [(value, fault.code, fault.message) for value in suspects]
        if not self._said.isdisjoint(keys):
            return True
        self._said.update(keys)
        for value in suspects:
            others = len({reader for reader, _ in self._readers[value]}) - 1
            if others and fault.hint is None:
                more, them = ("1 more layer takes", "it") if others == 1 else (f"{others} more layers take", "them")
                fault.hint = f"{more} this from {_layer(value.node)}; the same is not said of {them} again"
        return False

    def _check_ports(self, node: Node) -> None:
        """Report ports whose declaration means nothing: a dim below -1, a precision that no element type has."""
        for is_output, ports in ((False, node.layer.inputs), (True, node.layer.outputs)):
            for position, port in enumerate(ports):
                for code, message in _meaningless(port.precision, port.dims):
                    self._report_port(_error(code, message), node, position, is_output=is_output)

    def _report_port(self, error: IRError, node: Node, position: int, *, is_output: bool) -> None:
        self._findings(_at(error, node, position, is_output=is_output))
        value = node.outputs[position] if is_output else node.inputs[position]
        if value is not None:
            port = (node.layer.outputs if is_output else node.layer.inputs)[position]
            self._odd_ports.append((error, value, port))

    def _check_rank(self, node: Node) -> None:
        """IR507 for the layer from which on a rank is not known, though those of its inputs are."""
        for value in node.outputs:
            if self._types[value.number].shape.dims is None and node.type != "Parameter":
                if any(self._types[above.number].shape.dims is None for above in node.values_in):
                    return
                message = "the rank of this output depends on values, which some devices refuse"
                error = ShapeError(message, code=Code.dynamic_rank, severity="info")
                self._findings(_at(error, node, value.position, is_output=True))

    def _outputs(self, node: Node, inferred: list[TensorType]) -> list[TensorType]:
        """One type for each output port, where there are as many; IR114 for ports that the operator does not give."""
        count = len(node.outputs)
        if len(inferred) >= count or not inferred or node.bodies:
            return inferred
        lengths = node.values_in[2:] if node.type.lower() == "variadicsplit" else ()
        if not all(self._types[value.number].shape.is_static for value in lengths):
            # Of no other operator does the number of outputs follow from an input.
            return inferred + [inferred[-1].without_values()] * (count - len(inferred))
        message = f"{count} outputs are declared, and {node.type} gives {len(inferred)}"
        self._findings(_at(ShapeError(message, code=Code.too_many_outputs), node, len(inferred), is_output=True))
        return inferred

    def _check_values(self, node: Node) -> None:
        """Report what the known values of constants say about a run."""
        op = node.op
        if op is None:
            return
        try:
            if isinstance(op, Const) and op.element_type is ElementType.string and self._weights is not None:
                op.evaluate(weights=self._weights)  # of all constants only strings can be damaged inside
            if type(op).check_values is Op.check_values:
                return
            self._report(node, op.check_values(*[self._types[value.number] for value in node.values_in]))
        except IRError as error:
            self._findings(error.located(node.location))
        except Exception as error:
            self._report(node, [internal_error(error)])

    def _is_checked(self, node: Node) -> bool:
        """Whether enough is known to check the node; where only its inputs are not known, that is said (IR905)."""
        if not node.is_whole or (isinstance(node.op, Const) and self._weights is None):
            return False
        for position, value in enumerate(node.values_in if self._unknown else ()):
            if value in self._unknown:
                message = "the types of its inputs are not known, because layers above it were not checked"
                name = _port_name(node, position, is_output=False)
                self._findings(
                    IRError(message, code=Code.unknown_inputs, severity="info", port=name).located(node.location)
                )
                return False
        return True

    # What concerns one value: the port it comes from, and the ports it goes to.

    def _settle_value(self, value: Value, inferred: TensorType | None) -> TensorType:
        readers = self._readers[value]
        declared = value.declared
        if (
            inferred is not None
            and declared.rank is not None
            and value not in self._disputed
            and fits(declared, inferred)
        ):
            # As nearly always: there is nothing to say.
            return self._without_lost_values(value, inferred)
        if inferred is not None and self._is_declared_as_stored(value, inferred):
            return inferred
        if inferred is None:
            settled = self._settle_declared(value)
        elif fits(declared, inferred):
            settled = self._settle_with_readers(value, inferred)
        else:
            settled = self._settle_contradiction(value, inferred)
            # A reader that sides with either has nothing wrong that is not said already.
            readers = [one for one in readers if not fits(_declared(one), inferred)]
            readers = [one for one in readers if not fits(_declared(one), value.declared)]
        for reader in readers:
            if not fits(_declared(reader), settled):
                self._report_reader(reader, value, settled)
        self._check_dims_left_out(value, settled)
        self._check_ends(value, settled)
        return self._without_lost_values(value, settled)

    def _is_declared_as_stored(self, value: Value, inferred: TensorType) -> bool:
        """Whether a decompressed constant is declared in the precision that it is stored in.

        OpenVINO's writer does so where the constant is an output of the network, for whatever else reads it too.
        """
        node = value.node
        marks = [mark.attributes.get("name") for mark in node.layer.rt_info.children]
        if node.type != "Convert" or "decompression" not in marks:
            return False
        stored = TensorType(self._types[node.values_in[0].number].element_type, inferred.shape)
        readers = self._readers[value]
        ports = [value.declared, *map(_declared, readers)]
        return any(reader.type == "Result" for reader, _ in readers) and all(fits(port, stored) for port in ports)

    def _settle_contradiction(self, value: Value, inferred: TensorType) -> TensorType:
        """Declared and inferred contradict each other: report it, and go on with the one that most readers have."""
        declared = value.declared
        sides = [(fits(port, declared), fits(port, inferred)) for port in map(_declared, self._readers[value])]
        for_declared = sum(mine and not theirs for mine, theirs in sides)
        for_inferred = sum(theirs and not mine for mine, theirs in sides)
        name = _port_name(value.node, value.position, is_output=True)
        message = f"{name} is declared as {declared}, but the layer gives {inferred}: {difference(declared, inferred)}"
        hint = None
        if for_inferred > for_declared:
            hint = f"the layers below take {inferred}: only the declaration of this port is wrong"
        elif for_declared:
            hint = f"the layers below take {declared}: was an attribute, a constant or an edge of this layer changed?"
        error = _error(contradiction(declared, inferred), message, hint)
        self._findings(_at(error, value.node, value.position, is_output=True))
        if for_inferred >= for_declared:
            self._repair(error, _port_of(value), inferred)
        return inferred if for_inferred > for_declared else merged(declared, inferred)

    def _settle_with_readers(self, value: Value, inferred: TensorType) -> TensorType:
        """The inferred type, unless several layers take the value and all of them declare another: one fault, not many.

        Go on with theirs then: what lies below was made for it.
        """
        readers = self._readers[value]
        shared = _declared(readers[0]) if readers else inferred
        if any(fits(_declared(reader), inferred) or not fits(_declared(reader), shared) for reader in readers):
            return inferred
        nodes = list(dict.fromkeys(node for node, _ in readers))
        if len(nodes) < 2 or self._findings.is_faulty(value.node):
            return inferred
        name = _port_name(value.node, value.position, is_output=True)
        message = (
            f"{name} is {inferred}, but the {len(nodes)} layers that take it ({_layer(nodes[0])} is the first) declare "
            f"{shared}: {difference(shared, inferred)}"
        )
        hint = "was an attribute, a constant or an edge of this layer changed?"
        error = _at(_error(contradiction(shared, inferred), message, hint), value.node, value.position, is_output=True)
        error.related = tuple(node.location for node in nodes)
        self._findings(error)
        return merged(shared, inferred)

    def _settle_declared(self, value: Value) -> TensorType:
        """Nothing is inferred: the declared type, unless the layers below agree on another one."""
        readers = self._readers[value]
        declared = value.declared
        for reader in readers:
            if fits(declared, _declared(reader)):
                declared = merged(declared, _declared(reader))
        against = [reader for reader in readers if not fits(declared, _declared(reader))]
        if not against:
            return declared
        other = _declared(against[0])
        if not all(fits(_declared(reader), other) for reader in readers):
            return declared
        if len(against) == 1 and not self._speaks_for(against[0], value, other):
            return declared
        name = _port_name(value.node, value.position, is_output=True)
        message = (
            f"{name} is declared as {value.declared}, but {_layer(against[0][0])}, which takes it, declares {other}: "
            f"{difference(value.declared, other)}"
        )
        error = _error(contradiction(value.declared, other), message)
        self._findings(_at(error, value.node, value.position, is_output=True))
        self._repair(error, _port_of(value), other)
        return merged(other, value.declared)

    def _speaks_for(self, reader: tuple[Node, int], value: Value, type: TensorType) -> bool:
        """Whether more speaks for the type that the only reader of a value declares than for that of its source."""
        node, position = reader
        mine, theirs = self._takes(reader, type), self._takes(reader, value.declared)
        if mine is not theirs:
            return mine
        # Most layers keep element type and shape of something, so their other ports tell what is odd here.
        around = [
            *value.node.declared_inputs,
            *(other.declared for other in value.node.outputs if other is not value),
            *(other.declared for other in node.outputs),
            *(port for index, port in enumerate(node.declared_inputs) if index != position),
        ]
        return sum(_likeness(port, type) - _likeness(port, value.declared) for port in around) > 0

    def _takes(self, reader: tuple[Node, int], type: TensorType) -> bool:
        """Whether a layer gives what it declares when its input at this position is of this type."""
        node, position = reader
        if node.op is None or node.bodies or not node.is_whole:
            return False
        inputs = [self._types[value.number] for value in node.values_in]
        inputs[position] = type
        faults: list[IRError] = []
        context: dict[str, Any] = {"weights": self._weights, "bodies": ()}
        inferred = infer_node(node.op, inputs, context, faults.append)
        if inferred is None or faults:
            return False
        return all(fits(value.declared, found) for value, found in zip(node.outputs, inferred, strict=False))

    def _report_reader(self, reader: tuple[Node, int], value: Value, settled: TensorType) -> None:
        node, position = reader
        if self._findings.is_faulty(node):
            return
        declared = _declared(reader)
        name = _port_name(node, position, is_output=False)
        message = (
            f"{name} is declared as {declared}, but {_layer(value.node)} gives {settled}: "
            f"{difference(declared, settled)}"
        )
        error = _at(_error(contradiction(declared, settled), message), node, position, is_output=False)
        self._findings(error)
        self._repair(error, _input_port(reader), settled)

    def _repair(self, error: IRError, port: Port, type: TensorType) -> None:
        """The fault is gone where the port declares this type."""
        self._repairs.append(Repair(error.code, error.location, port, type))

    def _check_dims_left_out(self, value: Value, settled: TensorType) -> None:
        """IR602 for a port without dims whose value has some, as the other end of the edge knows.

        A port without dims alone says nothing: it may be a scalar's, or of unknown rank.
        """
        if not settled.rank:
            return
        ends = [
            (value.node, value.position, _port_of(value)),
            *((*one, _input_port(one)) for one in self._readers[value]),
        ]
        if not any(port.dims for _, _, port in ends):
            return
        for index, (node, position, port) in enumerate(ends):
            if not port.dims and not self._findings.is_faulty(node):
                name = _port_name(node, position, is_output=index == 0)
                message = f"{name} is declared without dims, as a scalar is, but it is {settled}"
                error = _at(ShapeError(message, code=Code.declared_rank), node, position, is_output=index == 0)
                self._findings(error)
                self._repair(error, port, settled)

    def _check_ends(self, value: Value, settled: TensorType) -> None:
        """IR604 for ends of an edge that declare different dims where either could be."""
        source = _port_of(value)
        for reader in self._readers[value]:
            port = _input_port(reader)
            if (
                port.dims == source.dims
                or len(port.dims) != len(source.dims)
                or not fits(_declared(reader), value.declared)
            ):
                continue
            source_is_odd = _strangeness(source, settled.shape) > _strangeness(port, settled.shape)
            node, position = (value.node, value.position) if source_is_odd else reader
            if self._findings.is_faulty(value.node) or self._findings.is_faulty(reader[0]):
                continue
            mine, theirs = (source, port) if source_is_odd else (port, source)
            other = reader[0] if source_is_odd else value.node
            name = _port_name(node, position, is_output=source_is_odd)
            message = f"{name} is declared with dims {_dims(mine)}, and with {_dims(theirs)} at {_layer(other)}"
            error = ShapeError(message, code=Code.ports_disagree, severity="warning")
            self._findings(_at(error, node, position, is_output=source_is_odd))
            if source_is_odd:
                return

    def _without_lost_values(self, value: Value, settled: TensorType) -> TensorType:
        """A constant whose bytes cannot be read keeps its type alone, so that no layer below trips over them."""
        if isinstance(value.node.op, Const) and (self._weights is None or self._findings.is_faulty(value.node)):
            return settled.without_values()
        return settled


def _error(code: str, message: str, hint: str | None = None) -> IRError:
    cls = ElementTypeError if code == Code.declared_element_type else ShapeError
    return cls(message, code=code, hint=hint)


def _at(error: IRError, node: Node, position: int, *, is_output: bool) -> IRError:
    """The error placed at a port: on its line, under its name."""
    port = (node.layer.outputs if is_output else node.layer.inputs)[position]
    error.location = Location(line=port.line, port=_port_name(node, position, is_output=is_output))
    return error.located(node.location)


def _port_name(node: Node, position: int, *, is_output: bool) -> str:
    if node.op is None:
        return (node.layer.outputs if is_output else node.layer.inputs)[position].id
    return node.op.output_name(position) if is_output else node.op.input_name(position)


def _declared(reader: tuple[Node, int]) -> TensorType:
    node, position = reader
    return node.declared_inputs[position]


def _input_port(reader: tuple[Node, int]) -> Port:
    node, position = reader
    return node.layer.inputs[position]


def _port_of(value: Value) -> Port:
    return value.node.layer.outputs[value.position]


def _layer(node: Node) -> str:
    return str(replace(node.location, path=None, line=None))


def _dims(port: Port) -> str:
    return "[" + ",".join("?" if dim < 0 else str(dim) for dim in port.dims) + "]"


def _likeness(one: TensorType, other: TensorType) -> int:
    return (one.element_type is other.element_type) + (one.shape == other.shape)


def _strangeness(port: Port, shape: Shape) -> int:
    """How many dims a port declares in another way than the file's writer would for this shape."""
    if shape.dims is None or len(shape.dims) != len(port.dims):
        return len(port.dims)
    return sum(dim != (found.size if found.is_static else -1) for dim, found in zip(port.dims, shape.dims, strict=True))


@lru_cache(maxsize=2**14)
def _meaningless(precision: str | None, dims: tuple[int, ...]) -> tuple[tuple[str, str], ...]:
    """Code and message of what is wrong with what a port declares, whatever its layer does."""
    # A network has few types, and each at many ports.
    faults = []
    if min(dims, default=0) < -1:
        axis, dim = next((axis, dim) for axis, dim in enumerate(dims) if dim < -1)
        message = f"dim {axis} is declared as {dim}; dims are 0 or more, or -1 where they are not known"
        faults.append((Code.declared_dims, message))
    spelt = None if precision is None else _spelt(precision)
    if spelt != precision:
        hint = f", which is spelt {spelt}" if spelt else ""
        faults.append(
            (Code.declared_element_type, f"{(precision or '')[:40]!r} is the precision of no element type{hint}")
        )
    return tuple(faults)


_OTHER_PRECISIONS = ("U1", "bin", "UNSPECIFIED", "undefined")


def _spelt(precision: str) -> str | None:
    """The precision as OpenVINO reads it, which is particular about case; None where no element type is meant."""
    try:
        kind = ElementType.parse(precision)
    except ValueError:
        return None
    return precision if precision in (kind.name, kind.precision, *_OTHER_PRECISIONS) else kind.precision
