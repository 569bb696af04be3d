"""Layers of any operator: attributes in the spelling of the file, inputs as values, outputs typed by inference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from ir_exec.build.constants import ElementTypeLike, Input, as_array, as_element_type, constant
from ir_exec.build.values import BuiltLayer, Value, new_layer
from ir_exec.codes import Code
from ir_exec.errors import GraphError, InvalidAttributeError, IRError, Location, raise_error
from ir_exec.infer import infer_node
from ir_exec.model import ShapeLike, as_shape
from ir_exec.ops import Op, resolve
from ir_exec.ops.base import In
from ir_exec.ops.base.attributes import Field
from ir_exec.ops.base.registry import LAST_OPSET, canonical, extension_version, newest
from ir_exec.types import Array, ElementType, Shape, TensorType

__all__ = [
    "assign",
    "attribute_text",
    "has_one_output",
    "make",
    "op",
    "operator_class",
    "operator_of",
    "read_value",
    "single_or_all",
]


def op(
    type_name: str,
    *inputs: Input | None,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] | Iterable[Iterable[str]] = (),
    outputs: int | None = None,
    **attributes: Any,
) -> Any:
    """Return a layer of the operator `type_name`: its Value, or a tuple of Values for several outputs.

    Args:
        *inputs: Values, arrays, numbers or lists; optional ones at the end may be left out. Numbers, lists and arrays
            get the element type of the other inputs if the operator requires equal types.
        opset: `"opset8"` or 8, or the version of a custom operator; the newest one by default.
        outputs: The number of outputs, if neither the operator nor constants determine it.
        **attributes: By the names of the operator's fields, equal to the names in the file except for invalid Python
            names.

    Raises:
        IRError: For invalid inputs or attributes, with the layer's name and type.
    """
    cls = operator_class(type_name, opset)
    values = list(inputs)
    while values and values[-1] is None:
        values.pop()
    version = None if hasattr(cls, "since") else str(opset or extension_version(type_name))
    layer = make(cls, values, attributes, name=name, tensor_names=tensor_names, outputs=outputs, version=version)
    return single_or_all(layer)


def single_or_all(layer: BuiltLayer) -> Any:
    """Return the output of a layer whose operator always has one, or the tuple of its outputs."""
    return layer.outputs[0] if has_one_output(type(layer.op)) else layer.outputs


def has_one_output(cls: type[Op]) -> bool:
    """Return True if layers of this operator always have one output."""
    return len(cls.outputs) == 1 and not cls.varies_outputs


def operator_class(type_name: str, opset: str | int | None = None) -> type[Op]:
    """Return the class of a type in an opset, the newest by default; raises the IRError of reading such a layer."""
    if opset is None:
        newest_class = newest(type_name)
        if newest_class is not None:
            return newest_class
        opset = extension_version(type_name)
    version = f"opset{LAST_OPSET if opset is None else opset}" if not isinstance(opset, str) else opset
    return resolve(canonical(type_name), version)


def make(
    cls: type[Op],
    inputs: list[Any],
    attributes: Mapping[str, Any],
    *,
    name: str | None = None,
    tensor_names: Iterable[str] | Iterable[Iterable[str]] = (),
    outputs: int | None = None,
    version: str | None = None,
) -> BuiltLayer:
    """Return a layer of this operator class; raises as `op` does.

    Args:
        version: The version of a class that is in no opset.
    """
    try:
        operator, texts = operator_of(cls, attributes)
        values = _values(cls, inputs)
        types = infer_node(operator, [value.type for value in values], {"weights": None}, raise_error)
        assert types is not None, "the report raises"
        types = _require_outputs(operator, values, types, outputs)
    except IRError as error:
        raise error.located(Location(layer_name=name, layer_type=cls.type_name)) from error.__cause__
    return new_layer(
        cls.type_name,
        operator,
        values,
        types,
        name=name,
        version=version,
        attributes=texts,
        tensor_names=tensor_names,
    )


def operator_of(cls: type[Op], attributes: Mapping[str, Any]) -> tuple[Op, Mapping[str, str]]:
    """Return the operator with these attributes, by names of fields or of the file, and all of its attributes as text.

    Raises:
        InvalidAttributeError: IR301 for a missing attribute, IR302 for an invalid one, IR303 for an unknown one.
    """
    by_name = _fields_by_name(cls)  # type: ignore[arg-type]  # mypy takes a class for one of its objects
    texts: dict[str, str] = {}
    for key, value in attributes.items():
        if value is None:
            continue
        field = by_name.get(key)
        if field is None:
            field_names = ", ".join(field.name for field in cls.fields()) or "none"
            of = f" of opset{cls.since}" if hasattr(cls, "since") else ""
            message = f"{cls.type_name}{of} has no attribute {key}; it has: {field_names}"
            raise InvalidAttributeError(message, code=Code.unknown_attribute)
        texts[field.attribute] = attribute_text(value)
    # Operators that are random or stateful are identified by their layer.
    parse = _shared_operator if cls.deterministic else _operator
    return parse(cls, tuple(texts.items()))  # type: ignore[arg-type]  # as above


def _operator(cls: type[Op], attributes: tuple[tuple[str, str], ...]) -> tuple[Op, Mapping[str, str]]:
    texts = dict(attributes)
    operator = cls.parse(texts, raise_error)
    assert operator is not None, "the report raises"
    for field in cls.fields():
        if field.attribute not in texts:
            value = getattr(operator, field.name)
            if not (value is None or value == () or value is ElementType.dynamic or value == Shape.unknown()):
                texts[field.attribute] = attribute_text(value)
    texts = {name: attribute_text(value) for name, value in operator.spelled_out().items()} | texts
    return operator, {field.attribute: texts[field.attribute] for field in cls.fields() if field.attribute in texts}


_shared_operator = lru_cache(maxsize=2**12)(_operator)


@lru_cache(maxsize=2**10)
def _fields_by_name(cls: type[Op]) -> dict[str, Field]:
    return {name: field for field in cls.fields() for name in (field.attribute, field.name)}


def attribute_text(value: Any) -> str:
    """Return an attribute in the spelling of a file: `true`, `1,2`, `f32`, `1..8,?`."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, float | np.floating):
        return repr(float(value))
    if isinstance(value, ElementType):
        return value.name
    if isinstance(value, Shape):
        return "..." if value.dims is None else ",".join(map(str, value))
    if isinstance(value, Iterable):
        return ",".join(attribute_text(item) for item in value)
    if isinstance(value, np.dtype | type):
        return ElementType.of_dtype(np.dtype(value)).name
    return str(value)


def _values(cls: type[Op], inputs: list[Any]) -> tuple[Value, ...]:
    """Return the inputs as values; arrays and numbers become constants."""
    if all(type(input) is Value for input in inputs):
        return tuple(inputs)
    declared = [
        cls.inputs[min(position, len(cls.inputs) - 1)] if cls.inputs else In("") for position in range(len(inputs))
    ]
    values: list[Value] = []
    for position, operand in enumerate(inputs):
        if isinstance(operand, Value):
            values.append(operand)
            continue
        port = declared[position]
        if operand is None:
            message = f"{cls.input_name(position)} is omitted, but a later input is given"
            raise GraphError(message, code=Code.wrong_number_of_inputs, port=cls.input_name(position))
        try:
            values.append(constant(operand, _required_type(port, operand, declared, inputs)))
        except IRError as error:
            raise error.located(Location(port=cls.input_name(position))) from error.__cause__
    return tuple(values)


def _required_type(port: In, argument: Any, declared: list[In], inputs: list[Any]) -> ElementType | None:
    """Return the element type that a constant for this port must have; None if it may keep its type."""
    group = _group(port)
    arrays: list[Array] = []
    for other, value in zip(declared, inputs, strict=True):
        if group is None or _group(other) != group:
            continue
        if isinstance(value, Value):
            if value.element_type.is_known:
                return value.element_type
        elif value is not None:
            arrays.append(as_array(value, None))
    if len(arrays) > 1:
        return ElementType.of_dtype(np.result_type(*arrays)) if arrays[0].dtype.kind in "biuf" else None
    if isinstance(argument, np.ndarray | np.generic):
        return None
    return _of_number(port, as_array(argument, None), inputs)


def _of_number(port: In, array: Array, inputs: list[Any]) -> ElementType | None:
    """Return the element type for Python numbers at an independent port: the type of the first input, if the port
    accepts it and it can represent the numbers; else their default type.
    """
    own = ElementType.of(array)
    if own is ElementType.boolean or own is ElementType.string:
        return None
    takes_floats = bool(port.types & {ElementType.f32})
    if own is ElementType.i64 and not takes_floats:
        return own if own in port.types else ElementType.i32 if ElementType.i32 in port.types else None
    first = next((value.element_type for value in inputs if isinstance(value, Value)), None)
    if first is not None and first in port.types and first.is_known and (first.is_float or own is ElementType.i64):
        return first
    if own not in port.types and own is ElementType.i64:
        return ElementType.f32
    return own


def _group(port: In) -> str | None:
    """Return the key of ports that must share an element type; None for an independent port."""
    if port.variadic:
        return None if port.mixed else port.like or port.name
    return port.like or port.name


def _require_outputs(
    op: Op, inputs: tuple[Value, ...], types: list[TensorType], outputs: int | None
) -> list[TensorType]:
    """Return the types of all outputs."""
    is_known = True
    if op.counts_outputs:
        position = [declared.name for declared in op.inputs].index(op.counts_outputs)
        is_known = inputs[position].shape.is_static
    if is_known and outputs is not None and outputs != len(types):
        raise GraphError(
            f"{op.type_name} has", actual=len(types), detail="outputs", expected=outputs, code=Code.too_many_outputs
        )
    if is_known:
        return types
    if outputs is None:
        message = f"the number of outputs is unknown: {op.counts_outputs} has an unknown number of elements"
        hint = "specify the number of outputs, for example outputs=3"
        raise GraphError(message, code=Code.too_many_outputs, hint=hint, port=op.counts_outputs)
    return [types[min(position, len(types) - 1)] for position in range(outputs)]


def read_value(
    init_value: Input | None,
    variable_id: str,
    *,
    shape: ShapeLike | None = None,
    element_type: ElementTypeLike | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """Return the value of the variable `variable_id` from the last run; initially, and after a reset, `init_value`.

    Args:
        shape: The shape of the variable; by default the shape of `init_value`. Required without `init_value`, where the
            variable starts with zeros.
        element_type: The element type of the variable, with the same default.
    """
    value = init_value if init_value is None or isinstance(init_value, Value) else constant(init_value)
    variable_type = None if element_type is None else as_element_type(element_type)
    dims = None if shape is None else as_shape(shape)
    if value is not None:
        variable_type = value.element_type if variable_type is None else variable_type
        dims = value.shape if dims is None else dims
    attributes = {"variable_id": variable_id, "variable_type": variable_type, "variable_shape": dims}
    inputs = [] if value is None else [value]
    layer = make(operator_class("ReadValue"), inputs, attributes, name=name, tensor_names=tensor_names)
    return layer.outputs[0]


def assign(
    new_value: Input,
    variable_id: str,
    *,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """Assign `new_value` to the variable `variable_id` for the next run; it is also the output.

    Pass it to `build.model` among its `sinks`, unless a result needs it; in a body it is always kept.
    """
    attributes = {"variable_id": variable_id}
    layer = make(operator_class("Assign"), [new_value], attributes, name=name, tensor_names=tensor_names)
    if layer.scope.outer is not None:
        layer.scope.sinks.append(layer)
    return layer.outputs[0]
