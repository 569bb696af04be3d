"""Checks of nodes against ONNX's definitions, and against the constraints of `constraint_table`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ir_exec.build import Value
from ir_exec.codes import Code
from ir_exec.errors import ElementTypeError, GraphError, IRError, UnsupportedError
from ir_exec.onnx.checking.constraint_table import CONSTRAINTS
from ir_exec.onnx.checking.constraints import Constraint, NodeFacts
from ir_exec.onnx.checking.microsoft_constraint_table import MICROSOFT_CONSTRAINTS
from ir_exec.onnx.checking.ml_constraint_table import ML_CONSTRAINTS
from ir_exec.onnx.lowering.attributes import resolve
from ir_exec.onnx.lowering.registry import MICROSOFT, ML, STANDARD, canonical_domain, find
from ir_exec.onnx.lowering.values import GraphValue, Narrow
from ir_exec.onnx.reading.functions import defining
from ir_exec.onnx.reading.signatures import find_signature
from ir_exec.onnx.reading.tensors import onnx_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnx import AttributeProto, NodeProto

__all__ = ["broken_constraints", "own_names"]


class _Input(NamedTuple):
    """An input of a definition.

    Attributes:
        variable: The name of its type, shared by inputs of the same type.
    """

    name: str
    variable: str
    is_required: bool
    is_variadic: bool


class _Definition(NamedTuple):
    """The definition of an operator in onnx.defs as Python values, and its further constraints."""

    inputs: tuple[_Input, ...]
    most_outputs: int
    defaults: Mapping[str, Any]
    constraints: Sequence[Constraint]


def broken_constraints(
    node: NodeProto, opset: int, inputs: Sequence[GraphValue], function_attributes: Mapping[str, AttributeProto]
) -> list[IRError]:
    """The violations of the operator's definition by a node: warnings, and at most one error, the last element.

    Args:
        function_attributes: The attributes of the call of the function that contains the node.
    """
    definition = _definition(canonical_domain(node.domain), node.op_type, opset)
    if definition is None:
        return []
    error = (
        _missing_input(definition, inputs)
        or _number_of_outputs(definition, node)
        or _differing_types(definition, inputs)
    )
    return list(_of_table(definition, node, opset, inputs, function_attributes)) if error is None else [error]


@lru_cache(maxsize=2**10)
def _definition(domain: str, type: str, opset: int) -> _Definition | None:
    if domain == MICROSOFT:
        return _of_microsoft(type, opset)
    schema = defining(domain, type, opset)
    if schema is None:
        return None
    inputs = tuple(
        _Input(
            input.name,
            input.type_str if input.is_homogeneous and input.type_str in _variables(schema) else "",
            input.option.name == "Single",
            input.option.name == "Variadic",
        )
        for input in schema.inputs
    )
    signature = find_signature(domain, type, opset)
    stored = {} if signature is None else signature.attributes
    defaults = {name: _plain(attribute.default) for name, attribute in stored.items() if attribute.default is not None}
    tables = {STANDARD: CONSTRAINTS, ML: ML_CONSTRAINTS}
    constraints = tables[domain].get(type, ()) if domain in tables else ()
    return _Definition(inputs, schema.max_output, defaults, constraints)


def _of_microsoft(type: str, opset: int) -> _Definition | None:
    signature = find_signature(MICROSOFT, type, opset)
    if signature is None:
        return None
    inputs = tuple(
        _Input(input.name, input.variable, input.is_required, input.is_variadic) for input in signature.inputs
    )
    # QLinearConcat has three inputs of different types for each tensor.
    inputs = tuple(input._replace(variable="") if input.is_variadic else input for input in inputs)
    return _Definition(inputs, signature.outputs, {}, MICROSOFT_CONSTRAINTS.get(type, ()))


def own_names(node: NodeProto, opsets: Mapping[str, int]) -> dict[str, str]:
    """ONNX's names of a node's inputs, by these names and by the names of the function that lowers the operator."""
    domain = canonical_domain(node.domain)
    opset = opsets.get(domain, 0)
    definition, version = _definition(domain, node.op_type, opset), find(domain, node.op_type, opset)
    lowered = () if version is None else version.parameter_names
    names = lowered if definition is None else tuple(input.name for input in definition.inputs)
    return {**dict(zip(lowered, names, strict=False)), **{name: name for name in names}}


def _variables(schema: Any) -> set[str]:
    return {constraint.type_param_str for constraint in schema.type_constraints}


def _at(definition: _Definition, position: int) -> _Input | None:
    """The input at a position; a variadic last input repeats."""
    inputs = definition.inputs
    if position < len(inputs):
        return inputs[position]
    return inputs[-1] if inputs and inputs[-1].is_variadic else None


def _missing_input(definition: _Definition, inputs: Sequence[GraphValue]) -> IRError | None:
    for position, declared in enumerate(definition.inputs):
        if declared.is_required and position < len(inputs) and inputs[position] is None:
            message = f"the required input {declared.name} is missing"
            return GraphError(message, code=Code.wrong_number_of_inputs, port=declared.name)
    return None


def _number_of_outputs(definition: _Definition, node: NodeProto) -> IRError | None:
    most = definition.most_outputs
    if len(node.output) <= most:
        return None
    return GraphError(
        "the node has",
        actual=len(node.output),
        detail="outputs",
        expected=f"at most {most}",
        code=Code.too_many_outputs,
    )


def _differing_types(definition: _Definition, inputs: Sequence[GraphValue]) -> IRError | None:
    """IR402 for the first input whose type differs from an earlier input that must have the same type."""
    first_types: dict[str, tuple[str, int, str]] = {}
    for position, value in enumerate(inputs):
        declared = _at(definition, position)
        if declared is None or not declared.variable:
            continue
        type_name, shown = _type_of(value)
        if not type_name:
            continue
        name = f"{declared.name}[{position - len(definition.inputs) + 1}]" if declared.is_variadic else declared.name
        first, expected, expected_shown = first_types.setdefault(declared.variable, (name, type_name, shown))
        if type_name != expected:
            return ElementTypeError(
                f"{name} is",
                actual=shown,
                expected=expected_shown,
                reason=f"the type of {first}",
                code=Code.element_types_differ,
                port=name,
            )
    return None


def _type_of(value: GraphValue) -> tuple[int, str]:
    """The TensorProto.DataType of a tensor, and its name in messages; 0 if unknown."""
    if isinstance(value, Narrow):
        return value.data_type, _name_of(value.data_type)
    if not isinstance(value, Value) or not value.element_type.is_known:
        return 0, ""
    try:
        return onnx_type(value.element_type), str(value.element_type)
    except UnsupportedError:
        return 0, ""


def _name_of(data_type: int) -> str:
    from onnx import TensorProto

    return str(TensorProto.DataType.Name(data_type)).lower()


def _of_table(
    definition: _Definition,
    node: NodeProto,
    opset: int,
    inputs: Sequence[GraphValue],
    function_attributes: Mapping[str, AttributeProto],
) -> Iterator[IRError]:
    """Yield the violated constraints up to the first error."""
    if not definition.constraints:
        return
    named: dict[str, GraphValue] = {}
    for position, value in enumerate(inputs):
        declared = _at(definition, position)
        if declared is not None:
            named[f"{declared.name}[{position}]" if declared.is_variadic else declared.name] = value
    facts = NodeFacts(
        node.op_type, opset, named, {**definition.defaults, **_attributes(node, function_attributes)}, len(node.output)
    )
    for constraint in definition.constraints:
        violation = constraint(facts)
        if violation is not None:
            yield violation
            if violation.severity == "error":
                return


def _attributes(node: NodeProto, function_attributes: Mapping[str, AttributeProto]) -> dict[str, Any]:
    """The numbers and texts among the attributes of a node, and lists of them."""
    from onnx import AttributeProto, helper

    types = AttributeProto.AttributeType
    plain = (types.INT, types.FLOAT, types.STRING, types.INTS, types.FLOATS, types.STRINGS)
    values = {}
    for attribute in node.attribute:
        value = resolve(attribute, function_attributes)
        if value is not None and value.type in plain:
            values[attribute.name] = _plain(helper.get_attribute_value(value))
    return values


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return [_plain(element) for element in value] if isinstance(value, (list, tuple)) else value
