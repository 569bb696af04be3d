"""Variables: values that one run of a network leaves to the next."""

from __future__ import annotations

from collections.abc import Iterable

from ir_exec.build.constants import ElementTypeLike, Input, as_element_type, constant
from ir_exec.build.operators import make, operator_class
from ir_exec.build.values import Value
from ir_exec.model import ShapeLike, as_shape

__all__ = ["assign", "read_value"]


def read_value(
    init_value: Input | None,
    variable_id: str,
    *,
    shape: ShapeLike | None = None,
    element_type: ElementTypeLike | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """What the last run has assigned to the variable `variable_id`; in the first run, and after a reset, `init_value`.

    shape, element_type: of the variable; those of `init_value` where they are not given. Without `init_value`, None,
        the variable begins with zeros, and both must be given.
    """
    value = init_value if init_value is None or isinstance(init_value, Value) else constant(init_value)
    kind = None if element_type is None else as_element_type(element_type)
    dims = None if shape is None else as_shape(shape)
    if value is not None:
        kind = value.element_type if kind is None else kind
        dims = value.shape if dims is None else dims
    attributes = {"variable_id": variable_id, "variable_type": kind, "variable_shape": dims}
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
    """Give the variable `variable_id` its value for the next run, `new_value`, which is the output.

    `build.model` takes it among its `sinks`, unless a result needs it; in a body it is kept in any case.
    """
    attributes = {"variable_id": variable_id}
    layer = make(operator_class("Assign"), [new_value], attributes, name=name, tensor_names=tensor_names)
    if layer.scope.outer is not None:
        layer.scope.sinks.append(layer)
    return layer.outputs[0]
