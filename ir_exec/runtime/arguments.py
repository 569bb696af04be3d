"""Input arrays: matched by name, position or port, checked against the inputs, and cast between floats or where no
value changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan
from typing import Any, TypeAlias

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import ElementTypeError, EvaluationError, ShapeError
from ir_exec.model import ModelPort, PortKey, ShapesByPort, as_shape, find_port
from ir_exec.report.text import shorten
from ir_exec.runtime.tensors import is_tensor, to_numpy
from ir_exec.types import STRING, Array, ElementType, Shape

__all__ = [
    "Inputs",
    "bind_inputs",
    "bind_shapes",
    "bind_values",
    "check_value",
    "require_callable",
    "seconds",
    "whole_number",
]

Inputs: TypeAlias = (
    Mapping[str, Any] | Mapping[int, Any] | Mapping[ModelPort, Any] | Mapping[PortKey, Any] | Sequence[Any]
)


def bind_inputs(inputs: Inputs | None, ports: Sequence[ModelPort]) -> list[Array]:
    """Return the arrays in the order of the inputs; each has its input's element type and fits its shape.

    Raises:
        EvaluationError: IR705 for wrong names or a wrong number of inputs.
        ElementTypeError: IR403 for an array with values that the input cannot represent.
        ShapeError: IR506 for an array with another shape.
    """
    return [check_value(value, port) for value, port in zip(bind_values(inputs, ports), ports, strict=True)]


def bind_values(inputs: Inputs | None, ports: Sequence[ModelPort]) -> list[Any]:
    """Return the value given for each input, in the order of the inputs.

    Raises:
        EvaluationError: IR705 for wrong names or a wrong number of inputs.
    """
    if inputs is None:
        inputs = {}
    elif len(ports) == 1 and not isinstance(inputs, Mapping) and is_tensor(inputs):
        inputs = [inputs]
    if isinstance(inputs, Mapping):
        return _by_name(inputs, ports)
    if isinstance(inputs, Sequence) and not isinstance(inputs, (str, bytes)):
        values = list(inputs)
        if len(values) != len(ports):
            names = ", ".join(port.name for port in ports)
            raise EvaluationError(
                "the call has",
                actual=len(values),
                detail="inputs",
                expected=len(ports),
                reason=f": {names}",
                code=Code.unknown_input,
            )
        return values
    expected = "a mapping or a sequence"
    raise EvaluationError(
        "the inputs are of type", actual=type(inputs).__name__, expected=expected, code=Code.unknown_input
    )


def bind_shapes(
    shapes_by_port: ShapesByPort | None, ports: Sequence[ModelPort]
) -> list[tuple[ModelPort, tuple[int, ...]]]:
    """Return the static shape of every input: the given one, or the declared one if it is static.

    Raises:
        EvaluationError: IR705 for unknown names.
        ShapeError: IR506 for a shape that does not fit or is dynamic.
    """
    if shapes_by_port is not None and not isinstance(shapes_by_port, Mapping):
        raise EvaluationError(
            "the shapes are of type",
            actual=type(shapes_by_port).__name__,
            expected="a mapping from names or positions of inputs",
            code=Code.unknown_input,
        )
    shapes = [port.shape for port in ports]
    for key, shape in (shapes_by_port or {}).items():
        position = find_port(ports, key)
        shapes[position] = _met(ports[position], as_shape(shape))
    for port, shape in zip(ports, shapes, strict=True):
        if not shape.is_static:
            raise ShapeError(
                f"input {port.name!r} has the dynamic shape",
                actual=shape,
                expected="a static shape",
                code=Code.input_array_shape,
            )
    return [(port, shape.static) for port, shape in zip(ports, shapes, strict=True)]


def _met(port: ModelPort, shape: Shape, role: str = "input") -> Shape:
    met = shape & port.shape
    if met is None:
        raise ShapeError(
            f"{role} {port.name!r} has shape", actual=shape, expected=port.shape, code=Code.input_array_shape
        )
    return met


_FEW_PORTS = 8
"""Maximum number of inputs that are compared with each name instead of looked up."""


def _by_name(by_key: Mapping[Any, Any], ports: Sequence[ModelPort]) -> list[Any]:
    by_position: dict[int, Any] = {}
    positions = {port.name: position for position, port in enumerate(ports)} if len(ports) > _FEW_PORTS else {}
    for key, value in by_key.items():
        index = positions.get(key) if isinstance(key, str) and len(positions) == len(ports) else None
        position = find_port(ports, key) if index is None else index
        if position in by_position:
            raise EvaluationError(f"input {ports[position].name!r} is given more than once", code=Code.unknown_input)
        by_position[position] = value
    missing = [port.name for position, port in enumerate(ports) if position not in by_position]
    if missing:
        raise EvaluationError(f"no value for input {', '.join(map(repr, missing))}", code=Code.unknown_input)
    return [by_position[position] for position in range(len(ports))]


def check_value(value: Any, port: ModelPort, role: str = "input") -> Array:
    """Return the value as an array of the port's element type that fits its shape; `role` names the port in messages.

    Raises:
        IRError: As `bind_inputs` does.
    """
    array = _as_array(value, port.element_type, f"{role} {port.name!r}")
    if not _fits(array.shape, port.shape):
        _met(port, Shape(array.shape), role)
    return array


def _fits(sizes: tuple[int, ...], shape: Shape) -> bool:
    """Return True if a shape allows these sizes. It creates no Shape, because every call checks every input."""
    if shape.dims is None:
        return True
    if len(sizes) != len(shape.dims):
        return False
    for size, dim in zip(sizes, shape.dims, strict=True):  # noqa: SIM110  # `all` is 3x slower
        if not dim.lo <= size <= dim.hi:
            return False
    return True


def _as_array(value: Any, element_type: ElementType, name: str) -> Array:
    try:
        array = value if isinstance(value, np.ndarray) else to_numpy(value)
    except MemoryError:
        raise
    except Exception as error:
        # Any exception of the `__array__` or `__dlpack__` of the caller's object.
        message = f"{name} cannot be converted to an array: {type(error).__name__}: {error}"
        raise EvaluationError(message, code=Code.unknown_input) from error
    if not element_type.is_known or array.dtype == element_type.dtype:
        return _as_strings(value, array, element_type, name) if element_type in STRING else array
    if element_type in STRING:
        return _as_strings(value, array, element_type, name)
    if isinstance(value, np.ndarray | np.generic) or array.dtype.kind == "V":
        # NumPy computes in f64 by default, so floats are rounded. Integers are cast by callers, who know that they fit.
        is_rounding = array.dtype.kind == "f" and element_type.is_float and element_type.bits >= 16
        if is_rounding or np.can_cast(array.dtype, element_type.dtype, "safe"):
            return array.astype(element_type.dtype)
        raise _wrong_type(value, array, element_type, name)
    # Python's numbers have no element type, so their values decide.
    return _from_python(value, array, element_type, name)


def _from_python(value: Any, array: Array, element_type: ElementType, name: str) -> Array:
    if array.dtype.kind not in "biuf":
        raise _wrong_type(value, array, element_type, name)
    try:
        with np.errstate(all="ignore"):
            cast = array.astype(element_type.dtype)
            exact = element_type.is_float or np.array_equal(cast.astype(array.dtype), array)
    except (ValueError, TypeError):
        raise _wrong_type(value, array, element_type, name) from None
    if not exact:
        raise ElementTypeError(f"{name} has values that {element_type} cannot represent", code=Code.input_array_type)
    return cast


def _as_strings(value: Any, array: Array, element_type: ElementType, name: str) -> Array:
    if array.dtype.kind not in "UOT" or not all(isinstance(text, str) for text in array.ravel().tolist()):
        raise _wrong_type(value, array, element_type, name)
    return array.astype(object)


def _wrong_type(value: Any, array: Array, element_type: ElementType, name: str) -> ElementTypeError:
    """Return the error for an argument of another element type; only numbers can be cast."""
    if value is None:
        return ElementTypeError(f"{name} is", actual="None", expected=element_type, code=Code.input_array_type)
    reason = hint = None
    if element_type not in STRING and array.dtype.kind not in "OUSTMm" and array.dtype.names is None:
        reason = "; the cast could change values"
        hint = f"cast it with .astype({element_type.dtype.name!r}) if that is intended"
    return ElementTypeError(
        f"{name} is", actual=array.dtype, expected=element_type, reason=reason, code=Code.input_array_type, hint=hint
    )


def whole_number(value: Any, name: str, least: int) -> int:
    """Return the argument as an int; EvaluationError IR704 for anything but a whole number of at least `least`."""
    is_whole = isinstance(value, (int, np.integer)) or (isinstance(value, float) and value.is_integer())
    if not is_whole or isinstance(value, bool):
        raise EvaluationError(f"{name} is", actual=_shorten(value), expected=f"a whole number of {least} or more")
    if value < least:
        raise EvaluationError(f"{name} is", actual=value, expected=f"{least} or more")
    return int(value)


def seconds(value: Any, name: str) -> float:
    """Return the argument as a float; EvaluationError IR704 for anything but a number above 0."""
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
        number = float(value)
        if not isnan(number) and number > 0:
            return number
    raise EvaluationError(f"{name} is", actual=_shorten(value), expected="a number of seconds above 0")


def require_callable(value: Any, name: str) -> None:
    """Raise EvaluationError IR704 for an argument that is neither callable nor None."""
    if value is not None and not callable(value):
        raise EvaluationError(f"{name} is", actual=_shorten(value), expected="a function")


def _shorten(value: object) -> str:
    """Return the argument, shortened, for a message."""
    if value is None or isinstance(value, (bool, int, float, str, np.number)):
        text = repr(value)
        return shorten(text, 50)
    return f"of type {type(value).__name__}"
