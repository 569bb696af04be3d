"""Conversion of ONNX models to models of IR."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from ir_exec import build
from ir_exec.build import Value
from ir_exec.build.network import model_with_ids, needed_layers, with_conversion_parameters
from ir_exec.codes import Code
from ir_exec.errors import GraphError, NotKnownError, ReportFault, Severity, UnsupportedError, raise_error
from ir_exec.hints import shell_word
from ir_exec.kernels.limits import limited_memory
from ir_exec.model import Model, ModelPort
from ir_exec.onnx.checking.names import check_names
from ir_exec.onnx.lowering.demands import Demands, asking
from ir_exec.onnx.lowering.graphs import Converter
from ir_exec.onnx.lowering.original import record_original
from ir_exec.onnx.lowering.registry import NEWEST, NEWEST_VERSIONS, STANDARD, canonical_domain, shown_domain
from ir_exec.onnx.lowering.scope import NameScope
from ir_exec.onnx.lowering.values import Appended, GraphValue, Missing, Narrow, Sequence, Stack
from ir_exec.onnx.reading.functions import Functions
from ir_exec.onnx.reading.tensors import element_type_of, narrow, tensor_type_of
from ir_exec.report.numbers import format_count
from ir_exec.types import ElementType, Shape, TensorType

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, TypeProto, ValueInfoProto

    from ir_exec.onnx.lowering.graphs import Arrays

__all__ = ["Converted", "Given", "Layout", "convert_model", "elements_of", "inputs_of"]

Layout: TypeAlias = "int | list[Layout] | None"
"""The index of an ONNX value among inputs or outputs of the model, a list, or None for an empty optional."""

Given: TypeAlias = "TensorType | list[Given] | None"
"""Known facts of an input beyond its declaration: a type, list elements, or None for an empty optional."""


@dataclass(frozen=True)
class Converted:
    """A model, and the positions of the inputs and outputs of the ONNX graph among its own.

    Attributes:
        has_assumptions: True if the model may reject inputs that the file accepts.
    """

    model: Model
    inputs: dict[str, Layout]
    outputs: dict[str, Layout]
    has_assumptions: bool = False


_STRINGS = 2**30
"""Maximum bytes of the strings that a conversion computes, and of its largest other values of unknown size."""


def convert_model(
    proto: ModelProto,
    *,
    folder: str | None = None,
    given: Mapping[str, Given] | None = None,
    report: ReportFault = raise_error,
    is_lenient: bool = False,
    recorded: Mapping[str, str] | None = None,
    demands: Demands | None = None,
    arrays: Arrays | None = None,
) -> Converted:
    """The model of IR that computes the same as an ONNX model.

    The options of the conversion are recorded in `rt_info`.

    Args:
        folder: The folder of external data.
        given: Known types of inputs beyond their declarations.
        is_lenient: Values that cannot be computed become inputs of the types that the file declares, to check the nodes
            that follow them.
        demands: Computes values that must be known from inputs.
        arrays: The decoded tensors of the model, to share between several conversions.

    Raises:
        UnsupportedError: Names every operator that cannot be lowered to IR.
        NotKnownError: If further knowledge of the inputs may resolve all of them, and otherwise the IRError of the
            first fault, unless `report` returns.
    """
    with asking(demands), limited_memory(_STRINGS):
        return _convert(proto, folder, given or {}, report, is_lenient, recorded or {}, demands, arrays)


def _convert(
    proto: ModelProto,
    folder: str | None,
    input_types: Mapping[str, Given],
    report: ReportFault,
    is_lenient: bool,
    recorded: Mapping[str, str],
    demands: Demands | None,
    arrays: Arrays | None,
) -> Converted:
    graph = proto.graph
    domains = check_names(proto, report)
    opsets = _opsets(proto, report)
    # Without any import, onnxruntime rejects the file.
    for domain in sorted(domains & NEWEST_VERSIONS.keys() - opsets.keys()) if opsets else ():
        opsets[domain] = NEWEST_VERSIONS[domain]
        report(_not_imported(domain, opsets[domain], "error" if is_lenient else "warning"))
    declarations = {info.name: info.type for info in (*graph.value_info, *graph.output)}
    converter = Converter(Functions(proto.functions), folder, report, declarations if is_lenient else {}, arrays)
    scope = NameScope(opsets)
    scope.is_network = True
    initialized = {tensor.name for tensor in graph.initializer}
    initialized |= {sparse.values.name for sparse in graph.sparse_initializer}
    ends = _Inputs(input_types, demands, report, is_lenient)
    inputs: dict[str, Layout] = {}
    for declared in graph.input:
        if declared.name in initialized or declared.name in inputs:
            continue
        value, inputs[declared.name] = ends.add(declared)
        scope.set(declared.name, value)
    values = converter.graph(graph, scope)
    if converter.unsupported:
        report(_unsupported_error(converter, graph))
    results: list[Value] = []
    named = _NamedResults(results)
    outputs: dict[str, Layout] = {}
    for declared, output in zip(graph.output, values, strict=True):
        if not (is_lenient and isinstance(output, (Missing, Stack, Appended))):
            try:
                outputs[declared.name] = _result(output, declared.name, named)
            except NotKnownError as error:
                raise error.changed(hint=_hint_of(graph)) from None
    ends_of_file = len(results)
    if is_lenient and (converter.left_out or not results):
        results += _dead_ends(results, scope, converter)
    parameters = [*ends.parameters, *converter.stand_ins]
    if not results and outputs and not is_lenient:
        # All outputs are empty lists.
        model = build.model(build.constant(0), parameters, name=graph.name or "model")
        model.graph.results.clear()
    else:
        model, ids = model_with_ids(results, parameters, name=graph.name or "model", sinks=converter.sinks)
        if not is_lenient:
            model.original = record_original(proto, model, converter, scope, ids)
    model.left_out = converter.left_out
    model.stand_ins = _stand_ins(model, len(ends.parameters), ends_of_file)
    model.stand_ins |= {model.graph.parameters[position].id for position in ends.lists}
    if recorded:
        model.document = with_conversion_parameters(model.document, recorded)
    return Converted(model, inputs, outputs, converter.has_assumptions)


def _dead_ends(results: list[Value], scope: NameScope, converter: Converter) -> list[Value]:
    """Results for values that only missing nodes read, to check them; at least one Result for the whole model."""
    ends: list[Value] = []
    reached = set(needed_layers(results))
    for value in reversed(scope.tensors()):
        if value.layer not in reached and not (value.layer.is_parameter or value.layer.constant is not None):
            ends.append(build.result(value))
            reached.update(needed_layers([value]))
    if not results and not ends:
        converter.stand_ins.append(build.parameter(Shape.unknown(), ElementType.f32))
        ends.append(build.result(converter.stand_ins[-1]))
    return ends


def _stand_ins(model: Model, inputs: int, outputs: int) -> frozenset[str]:
    """The ids of the layers that are not in the file: further Parameters, their Results, and further Results."""
    results = model.graph.results
    ids = {node.id for node in model.graph.parameters[inputs:]}
    ids |= {
        result.id for result in results if any(value is not None and value.node.id in ids for value in result.inputs)
    }
    return frozenset(ids | {result.id for result in results[outputs:]})


def _opsets(proto: ModelProto, report: ReportFault) -> dict[str, int]:
    """The version of each domain. Reports GraphError IR123 for invalid and unknown versions."""
    opsets: dict[str, int] = {}
    for entry in proto.opset_import:
        domain = canonical_domain(entry.domain)
        before = opsets.get(domain, entry.version)
        opsets[domain] = entry.version
        if entry.version < 1:
            report(
                GraphError(
                    f"the imported version of the domain {shown_domain(domain)} is",
                    actual=entry.version,
                    expected="1 or more",
                    code=Code.opset_import,
                )
            )
        elif before != entry.version:
            message = f"versions {before} and {entry.version} of the domain {shown_domain(domain)} are imported"
            report(GraphError(f"{message}; the last one is used", code=Code.opset_import, severity="warning"))
        if domain == STANDARD and entry.version > NEWEST:
            report(
                GraphError(
                    f"the imported version of the domain {shown_domain(domain)} is",
                    actual=entry.version,
                    expected=f"at most {NEWEST}",
                    code=Code.opset_import,
                )
            )
    return opsets


def _not_imported(domain: str, version: int, severity: Severity) -> GraphError:
    """IR123 for a file that uses a domain without a version: onnxruntime runs its nodes as the newest version."""
    name = shown_domain(domain)
    message = f"the file imports no version of the domain {name}: its nodes are read as version {version}"
    hint = f"import a version of {name}: onnxruntime runs the file without it, but ONNX's checker rejects it"
    return GraphError(message, code=Code.opset_import, severity=severity, hint=hint)


def inputs_of(proto: ModelProto) -> list[ModelPort]:
    """The inputs of the graph that are tensors, as the file declares them."""
    initialized = {tensor.name for tensor in proto.graph.initializer}
    ports = []
    for declared in proto.graph.input:
        if declared.name not in initialized and declared.type.WhichOneof("value") == "tensor_type":
            type = tensor_type_of(declared.type)
            ports.append(ModelPort(declared.name, frozenset([declared.name]), type.element_type, type.shape))
    return ports


def elements_of(declared: TypeProto) -> TensorType:
    """The type of the elements of a list or an optional, of any shape."""
    while (field := declared.WhichOneof("value")) in ("optional_type", "sequence_type"):
        declared = (declared.optional_type if field == "optional_type" else declared.sequence_type).elem_type
    element_type = element_type_of(declared.tensor_type.elem_type) if field == "tensor_type" else ElementType.dynamic
    return TensorType(element_type, Shape.unknown())


class _Inputs:
    """The Parameters of the model.

    Attributes:
        lists: The positions of Parameters for lists and optionals.
    """

    def __init__(
        self, types: Mapping[str, Given], demands: Demands | None, report: ReportFault, is_lenient: bool
    ) -> None:
        self.types = types
        self.lists: list[int] = []
        self._report = report
        self.parameters: list[Value] = []
        self._demands = demands
        self._is_lenient = is_lenient

    def add(self, declared: ValueInfoProto) -> tuple[GraphValue, Layout]:
        """The value of an input of the graph, and its position among the Parameters."""
        name = declared.name
        if name in self.types:
            return self._of(self.types[name], declared.type, name)
        if declared.type.WhichOneof("value") == "tensor_type":
            return self._of(tensor_type_of(declared.type), declared.type, name)
        type_name = (declared.type.WhichOneof("value") or "unknown").removesuffix("_type")
        if type_name == "map":
            hint = "give the features as a tensor: apply DictVectorizer before the model"
            raise UnsupportedError(
                f"the input {name!r} is a map", expected="a tensor", reason=": IR has no maps", hint=hint
            )
        message = f"the input {name!r} has type {type_name}: the number of its tensors must be known"
        if type_name not in ("sequence", "optional"):
            raise UnsupportedError(message)
        error = NotKnownError(message, code=Code.operator_not_implemented, hint=_LIST_HINT)
        if not self._is_lenient:
            raise error
        self._report(error)
        # It has a position among the inputs, but no readers.
        self.lists.append(len(self.parameters))
        self.parameters.append(build.parameter(Shape.unknown(), elements_of(declared.type).element_type, name=name))
        return Missing(), len(self.parameters) - 1

    def _of(self, input_type: Given, declared: TypeProto, name: str) -> tuple[GraphValue, Layout]:
        if input_type is None:
            return None, None
        while declared.WhichOneof("value") == "optional_type":
            declared = declared.optional_type.elem_type
        if isinstance(input_type, list):
            inner = declared.sequence_type.elem_type
            parts = [self._of(element, inner, f"{name}/{position}") for position, element in enumerate(input_type)]
            element_type = element_type_of(inner.tensor_type.elem_type)
            return Sequence(tuple(part[0] for part in parts), element_type), [part[1] for part in parts]
        value = build.parameter(input_type.shape, input_type.element_type, name=name)
        self.parameters.append(value)
        if self._demands is not None:
            self._demands.add_input(value, name)
        return narrow(value, declared.tensor_type.elem_type), len(self.parameters) - 1


class _NamedResults:
    """Results with an index of their names and sources."""

    def __init__(self, values: list[Value]) -> None:
        self._values = values
        self._sources_by_name: dict[str, Value] = {}
        self._sources: set[Value] = set()

    def add(self, source: Value, name: str) -> int:
        """Add the Result of a value, and return its position."""
        result = build.result(source, tensor_names=(name,))
        self._values.append(result)
        (value,) = result.layer.inputs
        self._sources.add(value)
        for output_name in result.layer.output_names:
            self._sources_by_name.setdefault(output_name, value)
        return len(self._values) - 1

    def find_source(self, name: str) -> Value | None:
        """Return the value of the first Result with this name."""
        return self._sources_by_name.get(name)

    def has_source(self, value: Value) -> bool:
        """Return True if a Result has this value."""
        return value in self._sources


def _result(value: GraphValue, name: str, results: _NamedResults) -> Layout:
    if value is None:
        return None
    if isinstance(value, Missing):
        raise GraphError(f"{name!r} is not the output of a node, an input or an initializer", code=Code.dangling_edge)
    if isinstance(value, Stack):
        value = value.to_sequence()
    if isinstance(value, Sequence):
        return [_result(element, f"{name}/{position}", results) for position, element in enumerate(value.items)]
    if isinstance(value, Appended):
        raise NotKnownError(f"the output {name!r} is a list of unknown length")
    tensor = value.value if isinstance(value, Narrow) else value
    return results.add(_name_output(tensor, name, results), name)


def _name_output(tensor: Value, name: str, results: _NamedResults) -> Value:
    """The tensor, or a copy that can have the name of an output.

    OpenVINO gives a tensor the names of only one Result, which replace the names of an input: other Results need
    further tensors.
    """
    source = results.find_source(name)
    if source is not None:
        return source
    is_input = tensor.layer.is_parameter and tensor.layer.name != name
    is_output = results.has_source(tensor)
    if not (is_input or is_output) or tensor.element_type is ElementType.string:
        return tensor
    tensor.tensor_names = tuple([other for other in tensor.tensor_names if other != name])
    return build.convert(tensor, tensor.element_type)


def _unsupported_error(converter: Converter, graph: GraphProto) -> UnsupportedError:
    """One error for all nodes: every operator with its count, grouped by reason."""
    by_reason: dict[str, list[str]] = {}
    for failure, count in sorted(converter.unsupported.items()):
        by_reason.setdefault(failure.why, []).append(f"{failure.operator} ({format_count(count, 'node')})")
    listed = [f"{', '.join(names)}: {why}" for why, names in by_reason.items()]
    message = "operators cannot be lowered to IR: " + "; ".join(listed)
    if all(failure.is_unknown for failure in converter.unsupported):
        return NotKnownError(message, code=Code.operator_not_implemented, hint=_hint_of(graph))
    hint = _hint_of(graph) if any(failure.is_unknown for failure in converter.unsupported) else None
    hint = _HINT if any(":" in failure.operator for failure in converter.unsupported) else hint
    return UnsupportedError(message, code=Code.operator_not_implemented, hint=hint)


def _hint_of(graph: GraphProto) -> str:
    """The commands that supply the unknown values."""
    initialized = {tensor.name for tensor in graph.initializer}
    for declared in graph.input:
        if declared.name not in initialized and declared.type.WhichOneof("value") == "tensor_type":
            shape = tensor_type_of(declared.type).shape
            if not shape.is_static:
                shown = "..." if shape.dims is None else ",".join(str(dim) if dim.is_static else "1" for dim in shape)
                return f"{_RUN_HINT} or --shape {shell_word(f'{declared.name}[{shown}]')}"
    return _RUN_HINT


_RUN_HINT = "give values of the inputs: ir-exec run MODEL.onnx --inputs FILE.npz, or convert --inputs"
_LIST_HINT = "pass it in a call as a list: ir_exec.compile_model(PATH)({NAME: [a, b]})"
_HINT = "register a function with ir_exec.extension.onnx_op and import it with --extension FILE.py"
