"""The conversion of an ONNX graph to operators of IR, node by node, through the builder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from collections.abc import Sequence as Many
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ir_exec import build
from ir_exec.build import Value
from ir_exec.build.values import derived_from, next_serial
from ir_exec.codes import Code
from ir_exec.errors import (
    GraphError,
    IRError,
    Location,
    NotKnownError,
    ReportFault,
    ResourceError,
    Severity,
    UnsupportedError,
    internal_error,
    raise_error,
)
from ir_exec.onnx.checking.declared_types import contradiction
from ir_exec.onnx.checking.definitions import broken_constraints, own_names
from ir_exec.onnx.checking.unknown import describe_unsupported, unknown_operator
from ir_exec.onnx.lowering.attributes import read_attributes, resolve, resolve_references
from ir_exec.onnx.lowering.inputs import check_inputs, locate_at_node
from ir_exec.onnx.lowering.layer_names import name_layers
from ir_exec.onnx.lowering.registry import canonical_domain, find, shown_domain
from ir_exec.onnx.lowering.scope import NameScope
from ir_exec.onnx.lowering.states import DOMAIN as STATES
from ir_exec.onnx.lowering.states import state_value
from ir_exec.onnx.lowering.values import GraphValue, Missing, MissingValueError
from ir_exec.onnx.lowering.versions import Version
from ir_exec.onnx.reading.functions import Functions, deprecation, not_accepted
from ir_exec.onnx.reading.order import in_order, name_of, needed_names, place_of
from ir_exec.onnx.reading.sources import NodeSources
from ir_exec.onnx.reading.tensors import array_of, dense, narrow, tensor_type_of
from ir_exec.types import Array
from ir_exec.types.dim import OpenShapeError

if TYPE_CHECKING:
    from onnx import AttributeProto, FunctionProto, GraphProto, NodeProto, TensorProto, TypeProto

__all__ = ["Arrays", "Call", "ConvertedNode", "Converter", "NameScope", "UnsupportedOperator"]

Arrays: TypeAlias = "dict[int, tuple[TensorProto, Array]]"
"""Decoded tensors by their ids, with the tensors, to keep the ids unique."""

_MOST_DEPTH = 64
"""Maximum nesting of bodies and functions."""


_MOST_EXPANDED = 2**17
"""Maximum nodes of functions, counted at each call: a file of a few kilobytes can call functions millions of times."""


class UnsupportedOperator(NamedTuple):
    """An operator that could not be converted, with the reason.

    Attributes:
        is_unknown: Inputs of a run may resolve it.
    """

    operator: str
    why: str
    is_unknown: bool


class ConvertedNode(NamedTuple):
    """A node, and serials between which those of its layers are."""

    node: NodeProto
    start: int
    end: int
    outputs: list[GraphValue]


class Call:
    """The context of an operator's function, in addition to its inputs and attributes."""

    def __init__(self, converter: Converter, scope: NameScope, node: NodeProto) -> None:
        self._converter = converter
        self._scope = scope
        self.node = node

    @property
    def opset(self) -> int:
        """The version of the domain of the node."""
        return self._scope.opsets.get(canonical_domain(self.node.domain), 1)

    @property
    def outputs(self) -> int:
        """The number of outputs, up to the last named one."""
        return max((i + 1 for i, name in enumerate(self.node.output) if name), default=0)

    def wants(self, position: int) -> bool:
        """Return True if the node names the output at this position."""
        return position < len(self.node.output) and bool(self.node.output[position])

    def body(self, graph: GraphProto, inputs: Many[GraphValue] = ()) -> list[GraphValue]:
        """The outputs of a graph inside the node for these inputs."""
        return self._converter.body(graph, inputs, self._scope)

    def compare(self, graph: GraphProto, values: Iterable[GraphValue], *, shapes: Severity) -> None:
        """Compare the types that a graph inside the node declares for its inputs with the given values.

        Args:
            shapes: The severity of a different shape; a different element type is always an error.

        Raises:
            ShapeError: IR606 for an error.
        """
        for declared, value in zip(graph.input, values, strict=False):
            difference = contradiction(declared.name, declared.type, value)
            if difference is None:
                continue
            severity = shapes if difference.of_shape else "error"
            error = difference.error("the input ", severity=severity)
            if severity == "error":
                raise error
            self.warn(error)

    def warn(self, warning: IRError) -> None:
        """Report a warning about the node."""
        self._converter.warnings.append(warning)

    def array(self, tensor: TensorProto) -> Array:
        """The elements of an attribute."""
        return self._converter.array(tensor)

    def assume(self) -> None:
        """Record that the lowered node may not fit all inputs that the node accepts."""
        self._converter.has_assumptions = True

    @property
    def faults(self) -> int:
        """The number of errors that the conversion reported so far."""
        return self._converter.faults

    def mark(self) -> Counter[UnsupportedOperator]:
        """The operators that could not be converted so far."""
        return self._converter.unsupported.copy()

    def back_to(self, mark: Counter[UnsupportedOperator]) -> bool:
        """Drop the operators that could not be converted since the mark; return True if there were any."""
        failed = self._converter.unsupported != mark
        self._converter.unsupported = mark.copy()
        return failed


class Converter:
    """Converts one model.

    Args:
        report: Called with every other fault; if it returns, the outputs of the node are missing.
        declarations: The types of values of the graph. A missing value with a declaration becomes an input of this
            type, one of `stand_ins`.
        arrays: The tensors that were decoded before.

    Attributes:
        sinks: The Assigns of variables.
        unsupported: The operators that could not be converted, with the reason, for every such node.
        warnings: The warnings of the node that is being converted.
        faults: The number of errors that were reported.
        left_out: The number of nodes that were not converted: these, and nodes that lack inputs because of them.
        has_assumptions: True if the model may reject inputs that the file accepts.
        converted: The nodes of the graph itself, in the order of their conversion.
    """

    def __init__(
        self,
        functions: Functions,
        folder: str | None,
        report: ReportFault = raise_error,
        declarations: Mapping[str, TypeProto] | None = None,
        arrays: Arrays | None = None,
    ) -> None:
        self.functions = functions
        self.folder = folder
        self._report = report
        self.faults = 0
        self.declarations = declarations or {}
        self.stand_ins: list[Value] = []
        self.sinks: list[Value] = []
        self._unknown: set[str] = set()
        self._guessed: set[str] = set()
        self._not_imported: set[str] = set()
        self._sources = NodeSources()
        self.unsupported: Counter[UnsupportedOperator] = Counter()
        self.warnings: list[IRError] = []
        self._arrays: Arrays = {} if arrays is None else arrays
        self.left_out = 0
        self.has_assumptions = False
        self._expanded_nodes = 0
        self._faulty_calls: set[tuple[object, ...]] = set()
        self._active: list[tuple[str, str]] = []
        self.converted: list[ConvertedNode] = []

    def report(self, error: IRError) -> None:
        """Report a fault, and count errors."""
        self.faults += error.severity == "error"
        self._report(error)

    def array(self, tensor: TensorProto) -> Array:
        """The elements of a tensor, decoded once."""
        decoded = self._arrays.get(id(tensor))
        if decoded is None:
            decoded = self._arrays[id(tensor)] = (tensor, array_of(tensor, self.folder))
        return decoded[1]

    def find_decoded(self, tensor: TensorProto) -> Array | None:
        """The elements of a tensor that a node has read; None for another one."""
        decoded = self._arrays.get(id(tensor))
        return None if decoded is None else decoded[1]

    def body(self, graph: GraphProto, inputs: Many[GraphValue], outer: NameScope) -> list[GraphValue]:
        scope = NameScope(outer.opsets, outer=outer)
        if len(inputs) != len(graph.input):
            raise GraphError(
                f"the body {graph.name!r} has",
                actual=len(graph.input),
                detail="inputs",
                expected=len(inputs),
                code=Code.body_port_map,
            )
        for declared, value in zip(graph.input, inputs, strict=True):
            scope.set(declared.name, value)
        return self.graph(graph, scope)

    def graph(self, graph: GraphProto, scope: NameScope) -> list[GraphValue]:
        """The outputs of a graph whose inputs are in the scope."""
        if scope.depth > _MOST_DEPTH:
            raise ResourceError(f"bodies and functions are nested more than {_MOST_DEPTH} deep")
        scope.add_initializers(graph.initializer)
        for sparse in graph.sparse_initializer:
            scope.set(sparse.values.name, build.constant(dense(sparse, self.array), name=sparse.values.name))
        self.nodes(graph.node, scope)
        return [self._value(output.name, scope) for output in graph.output]

    def nodes(self, nodes: Many[NodeProto], scope: NameScope) -> None:
        for position, node in in_order(nodes, scope.names(), self._report_once):
            mark = next_serial()
            outer_warnings, self.warnings = self.warnings, []
            try:
                with derived_from(self._sources.of_node(node)):
                    outputs = self._outputs(node, scope, position)
            except IRError as error:
                self.report(locate_at_node(error, place_of(node, position), own_names(node, scope.opsets)))
                outputs = self._missing(node)
            finally:
                self.warnings = outer_warnings
            name_layers(outputs, f"{scope.prefix}{name_of(node)}", mark)
            if scope.is_network:
                self.converted.append(ConvertedNode(node, mark, next_serial(), outputs))
            for name, value in zip(node.output, outputs, strict=False):
                if name:
                    if scope.holds(name):
                        continue  # reported by `check_names`
                    if scope.is_network and isinstance(value, Missing):
                        value = self._stand_in(name)
                        self._guessed.add(name)
                    elif scope.is_network and name in self.declarations:
                        self._compare(name, value, node, position)
                    scope.set(name, value)
                    if scope.is_network and isinstance(value, Value) and _has_name_of(node, value):
                        value.tensor_names = (*value.tensor_names, name)

    def _report_once(self, error: IRError) -> None:
        """Report a fault of the order; a missing name is reported only once."""
        if error.code == Code.dangling_edge and error.location.port is not None:
            self._unknown.add(error.location.port)
        self.report(error)

    def _compare(self, name: str, value: GraphValue, node: NodeProto, position: int) -> None:
        """Report a declared type that contradicts the inferred one."""
        difference = contradiction(name, self.declarations[name], value)
        if difference is not None:
            self.report(difference.error(location=place_of(node, position)))

    def _stand_in(self, name: str) -> GraphValue:
        declared = self.declarations.get(name)
        if declared is None or declared.WhichOneof("value") != "tensor_type":
            return Missing()
        type = tensor_type_of(declared)
        if not type.element_type.is_known:
            return Missing()
        self.stand_ins.append(build.parameter(type.shape, type.element_type, name=name))
        return narrow(self.stand_ins[-1], declared.tensor_type.elem_type)

    def _outputs(self, node: NodeProto, scope: NameScope, position: int) -> list[GraphValue]:
        inputs = [self._value(name, scope) if name else None for name in node.input]
        if any(isinstance(value, Missing) for value in inputs):
            self._leave_out_unknown(node, position, scope.opsets)
            return self._missing(node)
        try:
            outputs = self._convert(node, inputs, scope)
        except MissingValueError:
            self._leave_out_unknown(node, position, scope.opsets, is_counted=False)
            return self._missing(node)
        except UnsupportedError as error:
            # The known facts of a placeholder may not be all known facts of the value: they may be too imprecise.
            if not self._is_guessed(node) or not self._is_lowered(node, scope.opsets):
                self._leave_out(node, error.message, is_unknown=isinstance(error, NotKnownError))
            return self._missing(node)
        except OpenShapeError:
            # If it is the rank or a size of a tensor, attributes are numbers.
            self._leave_out(node, "the shapes of its inputs must be known at conversion", is_unknown=True)
            return self._missing(node)
        except IRError:
            raise
        except Exception as error:
            raise internal_error(error) from error
        domain = canonical_domain(node.domain)
        opset = scope.opsets.get(domain, 0)
        own = (not_accepted(domain, node.op_type, opset, inputs), self._deprecation(node, opset))
        for fault in (*own, *self.warnings):
            if fault is not None:
                self.report(fault.located(place_of(node, position)))
        missing = [name for name in node.output[len(outputs) :] if name]
        if missing:
            self._leave_out(node, f"output {missing[0]!r} has no counterpart in IR")
        if self._is_guessed(node):
            self._guessed.update(filter(None, node.output))
        return [*outputs, *[Missing()] * (len(node.output) - len(outputs))]

    def _is_guessed(self, node: NodeProto) -> bool:
        """Return True if a node reads a value that was computed from a placeholder."""
        return bool(self._guessed) and not self._guessed.isdisjoint(needed_names(node))

    def _deprecation(self, node: NodeProto, opset: int) -> IRError | None:
        if self.functions.local(node) is not None:
            return None
        return deprecation(canonical_domain(node.domain), node.op_type, opset)

    def _missing(self, node: NodeProto) -> list[GraphValue]:
        self.left_out += 1
        return [Missing()] * len(node.output)

    def _leave_out_unknown(
        self, node: NodeProto, position: int, opsets: Mapping[str, int], *, depth: int = 0, is_counted: bool = True
    ) -> None:
        """Find the operators without a lowering in a node that cannot be converted because of missing inputs.

        Args:
            is_counted: True if existing operators count as not converted; those of a body may already be counted.
        """
        if depth > _MOST_DEPTH:
            return
        domain = canonical_domain(node.domain)
        opset = opsets.get(domain)
        if opset is None:
            lacking = None if self.functions.local(node) is not None else self._lacking_import(domain)
            if lacking is not None:
                self.report(lacking.located(place_of(node, position)))
        elif not self._is_lowered(node, opsets):
            unknown = unknown_operator(node, opset)
            if unknown is not None:
                self.report(unknown.located(place_of(node, position)))
            elif is_counted:
                self._leave_out(node, describe_unsupported(node, opset))
        for attribute in node.attribute:
            for graph in (*attribute.graphs, *((attribute.g,) if attribute.HasField("g") else ())):
                for inner_position, inner in enumerate(graph.node):
                    self._leave_out_unknown(inner, inner_position, opsets, depth=depth + 1, is_counted=is_counted)

    def _lacking_import(self, domain: str) -> GraphError | None:
        """IR123 for a domain without a version; None if it was reported for an earlier node."""
        if domain in self._not_imported:
            return None
        self._not_imported.add(domain)
        message = f"the file imports no version of the domain {shown_domain(domain)}"
        return GraphError(message, code=Code.opset_import)

    def _is_lowered(self, node: NodeProto, opsets: Mapping[str, int]) -> bool:
        """Return True if a function or a body lowers the operator of a node, at least for some inputs."""
        domain = canonical_domain(node.domain)
        opset = opsets.get(domain, 0)
        has_lowering = (
            domain == STATES or self.functions.local(node) is not None or find(domain, node.op_type, opset) is not None
        )
        return has_lowering or self.functions.are_defined(domain, node.op_type, opset)

    def _leave_out(self, node: NodeProto, why: str, *, is_unknown: bool = False) -> None:
        domain = canonical_domain(node.domain)
        operator = f"{domain}:{node.op_type}" if domain else node.op_type
        self.unsupported[UnsupportedOperator(operator, why, is_unknown)] += 1

    def _convert(self, node: NodeProto, inputs: list[GraphValue], scope: NameScope) -> list[GraphValue]:
        domain = canonical_domain(node.domain)
        if domain == STATES and scope.is_network:
            return [state_value(node, inputs, self.sinks)]
        function = self.functions.local(node)
        if function is not None:
            return self._expand(function, node, inputs, scope)
        opset = scope.opsets.get(domain)
        if opset is None:
            raise self._lacking_import(domain) or MissingValueError()
        for violation in broken_constraints(node, opset, inputs, scope.attributes):
            if violation.severity == "error":
                raise violation.located(Location(kind="node"))
            if not scope.is_definition:
                self.warnings.append(violation)
        version = find(domain, node.op_type, opset)
        if version is not None:
            return self._call(version, node, inputs, scope)
        function = self.functions.find_body(resolve_references(node, scope.attributes), inputs, opset)
        if function is None:
            unknown = unknown_operator(node, opset)
            is_open = any(isinstance(input, Value) and not input.shape.is_static for input in inputs)
            if unknown is None and is_open and self.functions.are_defined(domain, node.op_type, opset):
                raise NotKnownError("the shapes of its inputs must be known at conversion")
            raise unknown or UnsupportedError(describe_unsupported(node, opset))
        return self._expand(function, node, inputs, scope, is_definition=True)

    def _call(self, version: Version, node: NodeProto, inputs: list[GraphValue], scope: NameScope) -> list[GraphValue]:
        inputs = check_inputs(version, inputs)
        arguments = read_attributes(node, version, scope.attributes, self.warnings.append)
        if version.takes("call"):
            arguments["call"] = Call(self, scope, node)
        if version.takes("since"):
            arguments["since"] = version.since
        result = version.call(inputs, arguments)
        return list(result) if isinstance(result, (tuple, list)) else [result]

    def _expand(
        self,
        function: FunctionProto,
        node: NodeProto,
        inputs: list[GraphValue],
        scope: NameScope,
        *,
        is_definition: bool = False,
    ) -> list[GraphValue]:
        """The outputs of a function; `is_definition` for one of ONNX, whose nodes get no warnings."""
        key = (function.domain, f"{function.name}:{function.overload}")
        if key in self._active:
            raise GraphError(f"the function {function.name} calls itself", code=Code.cycle)
        if scope.depth > _MOST_DEPTH:
            raise ResourceError(f"bodies and functions are nested more than {_MOST_DEPTH} deep")
        attributes = {attribute.name: attribute for attribute in function.attribute_proto}
        for attribute in node.attribute:
            actual = resolve(attribute, scope.attributes)
            if actual is not None:
                attributes[attribute.name] = actual
        opsets = {canonical_domain(entry.domain): entry.version for entry in function.opset_import}
        inner = NameScope({**scope.opsets, **opsets}, attributes=attributes, prefix=f"{scope.prefix}{name_of(node)}/")
        inner.depth = scope.depth + 1
        inner.is_definition = is_definition or scope.is_definition
        for position, name in enumerate(function.input):
            inner.set(name, inputs[position] if position < len(inputs) else None)
        least = self.functions.count_nodes(function, _MOST_EXPANDED)
        if self._expanded_nodes + least > _MOST_EXPANDED:
            raise ResourceError(f"nested function calls expand to more than {_MOST_EXPANDED:,} nodes")
        call = _call_key(key, inputs, attributes)
        if call in self._faulty_calls:
            raise MissingValueError
        self._expanded_nodes += len(function.node)
        self._active.append(key)
        faults = self.faults
        try:
            self.nodes(function.node, inner)
            if self.faults > faults:
                # Equal calls have the same faults.
                self._faulty_calls.add(call)
            # Unnamed outputs need not exist: bodies omit optional outputs.
            requested = zip(function.output, node.output, strict=False)
            return [self._value(name, inner) if asked else None for name, asked in requested]
        finally:
            self._active.pop()

    def _value(self, name: str, scope: NameScope) -> GraphValue:
        tensor = scope.initializer(name)
        if tensor is not None:
            # In the requesting scope: a body has separate constants.
            value = narrow(build.constant(self.array(tensor), name=name), tensor.data_type)
            scope.set(name, value)
            return value
        try:
            return scope.find(name)
        except KeyError:
            if name in self._unknown:
                return Missing()
            raise GraphError(
                f"{name!r} is not the output of a node, an input or an initializer", code=Code.dangling_edge
            ) from None


def _has_name_of(node: NodeProto, value: Value) -> bool:
    """Return True if the names of a node's outputs become names of a value.

    Inputs keep a single name, because OpenVINO shows any of several.
    """
    return node.domain != STATES and not value.layer.is_parameter


def _call_key(
    key: tuple[str, str], inputs: Iterable[GraphValue], attributes: Mapping[str, AttributeProto]
) -> tuple[object, ...]:
    """Return a key for calls of a function with inputs of equal types and equal attributes."""
    types = [str(value.type) if isinstance(value, Value) else type(value).__name__ for value in inputs]
    return (*key, *types, *[(name, attribute.SerializeToString()) for name, attribute in sorted(attributes.items())])
