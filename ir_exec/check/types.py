"""Comparison of the types declared at every port with the types inferred by the operators.

A fault is reported once, at the first layer with contradictory declared and inferred types, and the layers below
continue with the more likely type (`settle.py`). One pass finds each independent fault without its consequences.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ir_exec.check.declarations import (
    End,
    difference,
    fits,
    has_meaningless_ports,
    joined_types,
    layer_of,
    meaningless_ports,
    merge_types,
)
from ir_exec.check.findings import Findings
from ir_exec.check.settle import Settler
from ir_exec.codes import Code
from ir_exec.errors import IRError, ShapeError, internal_error
from ir_exec.graph import Graph, Node, Value
from ir_exec.infer import infer_types, tells_outputs
from ir_exec.ir import Weights
from ir_exec.ops import Op
from ir_exec.ops.base.bodies import BodyInput, Ties
from ir_exec.ops.base.shapes import normalize_axis
from ir_exec.ops.infrastructure.values import Const, Parameter
from ir_exec.report.numbers import pluralize
from ir_exec.types import Dim, ElementType, Shape, TensorType

__all__ = ["body_input_types", "check_types"]


def check_types(
    graph: Graph, weights: Weights | None, findings: Findings, inferred: dict[Value, TensorType] | None = None
) -> int:
    """Infer and compare every reachable layer of the graph and of its bodies, and return how many could be checked.

    Args:
        inferred: Filled with the type of every value that can be inferred, independent of the declared types.
    """
    return _check(graph, weights, findings, {}, inferred)


def _check(
    graph: Graph,
    weights: Weights | None,
    findings: Findings,
    joined: Mapping[Value, TensorType],
    seen: dict[Value, TensorType] | None,
) -> int:
    """Check a graph.

    Args:
        joined: For a body, the types of its layer's outputs that are joined from values of the body.
    """
    check = _TypeCheck(graph, weights, findings, joined, seen)
    infer_types(graph, weights=weights, settle=check.settle)
    check.repair_odd_ports()
    return check.checked


class _TypeCheck:
    """Reports faults layer by layer, and determines the types for the layers below.

    Attributes:
        checked: The number of layers checked so far, including bodies.
    """

    def __init__(
        self,
        graph: Graph,
        weights: Weights | None,
        findings: Findings,
        joined: Mapping[Value, TensorType],
        seen: dict[Value, TensorType] | None,
    ) -> None:
        self.checked = 0
        self._seen = seen
        self._weights = weights
        self._findings = findings
        self._settler = Settler(graph, weights, findings, joined)
        self._shared = _SharedConstants(self._settler)
        self._has_odd_ports = has_meaningless_ports(graph)
        self._odd_ports: list[tuple[IRError, End]] = []
        # Values whose type is neither inferred nor declared completely.
        self._unknown: set[Value] = set()

    def settle(self, node: Node, inferred: list[TensorType] | None, faults: list[IRError]) -> list[TensorType]:
        """Report the faults of a node, and return the types of its outputs for the layers below."""
        settler, was_faulty = self._settler, self._findings.is_faulty(node)
        if self._seen is not None and inferred is not None:
            self._seen.update(zip(node.outputs, inferred, strict=False))
        bodies_hold = not node.bodies or self._check_bodies(node)
        if not was_faulty:
            for end, error in meaningless_ports(node) if self._has_odd_ports else ():
                self._findings(error)
                self._odd_ports.append((error, end))
            if faults and bodies_hold:
                self._report(node, faults)
            if inferred is not None:
                if len(inferred) < len(node.outputs):
                    inferred = self._for_all_outputs(node, inferred)
                self._check_values(node)
        is_checked = (
            (inferred is not None or node.is_whole)
            and not (self._unknown and self._reads_unknown(node))
            and not (faults and any(fault.code == Code.internal_error for fault in faults))
        )
        self.checked += is_checked
        settled = []
        for position, value in enumerate(node.outputs):
            type = None if inferred is None or position >= len(inferred) else inferred[position]
            if was_faulty or (not bodies_hold and type is not None and not fits(value.declared, type)):
                type = None
            type = settler.settle(value, type)
            if not is_checked:
                type = merge_types(type, value.declared)
                if type.rank is None or not type.element_type.is_known:
                    self._unknown.add(value)
            settler.types[value.number] = type
            settled.append(type)
        if is_checked and not was_faulty and None in [type.shape.dims for type in settled]:
            self._check_rank(node)
        return settled

    def repair_odd_ports(self) -> None:
        """Record the types that ports with an invalid declaration should declare, once every type is final."""
        for error, end in self._odd_ports:
            if end.value is not None:
                self._findings.repair(error, end.port, self._types[end.value.number])

    @property
    def _types(self) -> list[TensorType]:
        return self._settler.types

    def _types_in(self, node: Node) -> list[TensorType]:
        return [self._types[value.number] for value in node.values_in]

    def _check_bodies(self, node: Node) -> bool:
        """Check the bodies of the node; False if they have errors, which cause errors of the node itself."""
        if node.is_whole and not self._findings.is_faulty(node):
            for inner, fault in body_input_types(node, self._types_in(node)):
                if not self._findings.is_faulty(inner):
                    self._findings(fault)
        joined = joined_types(node)
        for body in node.bodies:
            self.checked += _check(body.graph, self._weights, self._findings, joined, self._seen)
        return not any(self._findings.is_faulty(inner) for body in node.bodies for inner in body.graph.all_nodes())

    def _report(self, node: Node, faults: Iterable[IRError]) -> None:
        for fault in faults:
            if fault.code == Code.internal_error:
                # The file is not the cause, and all other layers are still checked.
                self._findings(fault.changed(severity="info").located(node.location))
            elif (first := self._shared.first_of(node, fault)) is not None:
                self._findings(first.located(node.location))

    def _for_all_outputs(self, node: Node, inferred: list[TensorType]) -> list[TensorType]:
        """Return one type for each output port, except for ports that the operator does not have."""
        if not inferred or node.bodies or tells_outputs(node, self._types):
            return inferred
        return inferred + [inferred[-1].without_values()] * (len(node.outputs) - len(inferred))

    def _check_values(self, node: Node) -> None:
        """Report faults that the known values of constants would cause in a run."""
        op = node.op
        try:
            if isinstance(op, Const) and op.element_type is ElementType.string and self._weights is not None:
                op.evaluate(weights=self._weights)  # only string constants can have damaged contents
            if op is not None and type(op).check_values is not Op.check_values:
                self._report(node, op.check_values(*self._types_in(node)))
        except IRError as error:
            self._findings(error.located(node.location))
        except Exception as error:
            self._report(node, [internal_error(error)])

    def _reads_unknown(self, node: Node) -> bool:
        """Return True, and report IR905, if the input types of a complete node are too incomplete to check it."""
        for position, value in enumerate(node.values_in):
            if value in self._unknown:
                message = "the types of its inputs are unknown because preceding layers were not checked"
                name = End(node, position, is_output=False).name
                error = IRError(message, code=Code.unknown_inputs, port=name)
                self._findings(error.located(node.location))
                return True
        return False

    def _check_rank(self, node: Node) -> None:
        """IR507 for a layer with an output of dynamic rank, if all its inputs have a static rank."""
        for value in node.outputs:
            if self._types[value.number].rank is None and not node.op_class.is_parameter:
                if any(type.rank is None for type in self._types_in(node)):
                    return
                message = "the rank of this output depends on values; some devices reject such models"
                location = End(node, value.position, is_output=True).location
                self._findings(ShapeError(message, code=Code.dynamic_rank, location=location))


class _SharedConstants:
    """Reports errors of constants once, instead of for every layer that reads the same constant."""

    def __init__(self, settler: Settler) -> None:
        self._settler = settler
        self._said: set[tuple[Value, str, str]] = set()

    def first_of(self, node: Node, fault: IRError) -> IRError | None:
        """The error, with a hint about other layers that read its constant; None if it was reported before."""
        if fault.severity != "error" or not fault.code.startswith(("IR5", "IR7")):
            return fault
        suspects = list(
            dict.fromkeys(
                value
                for position, value in enumerate(node.inputs)
                if value is not None
                and isinstance(value.node.op, Const)
                and fault.location.port in (None, End(node, position, is_output=False).name)
            )
        )
        keys = [(value, fault.code, fault.message) for value in suspects]
        if not self._said.isdisjoint(keys):
            return None
        self._said.update(keys)
        for value in suspects:
            others = len({reader.node for reader in self._settler.readers[value]}) - 1
            if others and fault.hint is None:
                more = f"{others} more {pluralize(others, 'layer reads', 'layers read')}"
                hint = f"{more} this value of {layer_of(value.node)}; the error is reported once"
                return fault.changed(hint=hint)
        return fault


def body_input_types(node: Node, inputs: list[TensorType]) -> Iterator[tuple[Node, IRError]]:
    """IR605 for each Parameter of a body whose declared type contradicts the passed type, with the Parameter.

    Loop-carried values are compared by element type only: their shape may change between iterations.
    """
    for body in node.bodies:
        if body.ties is None:
            continue
        for entry in body.ties.inputs:
            fault = _fault(body.graph, body.ties, entry, inputs)
            if fault is not None:
                inner = body.graph.parameters[entry.parameter]
                yield inner, fault.located(inner.location)


def _fault(graph: Graph, ties: Ties, entry: BodyInput, inputs: list[TensorType]) -> IRError | None:
    op = graph.parameters[entry.parameter].op
    if entry.position is None or entry.counts_iterations or not isinstance(op, Parameter):
        return None
    declared = TensorType(op.element_type, op.shape)
    handed = _part(inputs[entry.position], entry)
    if any(edge.parameter == entry.parameter for edge in ties.back_edges):
        handed = TensorType(handed.element_type, Shape.unknown())
    if fits(declared, handed):
        return None
    message = f"the Parameter is {declared}, but the layer passes {handed}: {difference(declared, handed)}"
    error = ShapeError(message, code=Code.body_input_type)
    return error.changed(actual=str(declared), expected=str(handed))


def _part(type: TensorType, entry: BodyInput) -> TensorType:
    """The type of the slice of an input that one iteration reads."""
    dims = type.shape.dims
    if entry.part is None or dims is None or not -len(dims) <= entry.part.axis < len(dims):
        return type.without_values()
    axis = normalize_axis(entry.part.axis, len(dims))
    sizes = [Dim(entry.part.part_size) if index == axis else dim for index, dim in enumerate(dims)]
    return TensorType(type.element_type, Shape(sizes))
