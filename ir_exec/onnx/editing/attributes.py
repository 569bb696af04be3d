"""Attributes of ONNX nodes from numbers, lists, texts and arrays, by the definition of the operator."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import InvalidAttributeError, Location, UnsupportedError
from ir_exec.hints import suggested
from ir_exec.onnx.lowering.registry import canonical_domain, shown_domain
from ir_exec.onnx.reading.order import name_of
from ir_exec.onnx.reading.signatures import find_signature, operators_of
from ir_exec.onnx.reading.tensors import onnx_type
from ir_exec.types import Array, ElementType

if TYPE_CHECKING:
    from onnx import AttributeProto, FunctionProto, NodeProto, TensorProto

__all__ = [
    "array_like",
    "data_type_of",
    "declared_attributes",
    "make_attribute",
    "parse_literal",
    "require_operator",
    "tensor_of",
]

_INT64 = range(-(2**63), 2**63)


def declared_attributes(
    node: NodeProto, opsets: Mapping[str, int], functions: Iterable[FunctionProto]
) -> dict[str, str] | None:
    """Return the types of the attributes of a node's operator by name, "" for an unknown type.

    Returns:
        None for an operator without a definition.
    """
    domain = canonical_domain(node.domain)
    for function in functions:
        if (canonical_domain(function.domain), function.name) == (domain, node.op_type):
            types = {declared.name: _type_name(declared) for declared in function.attribute_proto}
            return types | dict.fromkeys(function.attribute, "")
    signature = find_signature(domain, node.op_type, opsets.get(domain, 0))
    return None if signature is None else {name: entry.type_name for name, entry in signature.attributes.items()}


def require_operator(node: NodeProto, opsets: Mapping[str, int], functions: Iterable[FunctionProto]) -> None:
    """Raise UnsupportedError for a new node of a known domain whose operator is not in the imported version."""
    domain = canonical_domain(node.domain)
    operators = operators_of(domain)
    if not operators or declared_attributes(node, opsets, functions) is not None:
        return
    version = opsets.get(domain, 0)
    available = [name for name in operators if find_signature(domain, name, version) is not None]
    message = f"there is no operator {node.op_type} in version {version} of {shown_domain(domain)}"
    raise UnsupportedError(message, code=Code.operator_not_in_opset, hint=suggested(node.op_type, available))


def make_attribute(node: NodeProto, name: str, value: Any, types: Mapping[str, str] | None) -> AttributeProto:
    """Return an attribute of a node.

    Args:
        value: A number, a list, a text or an array; a text may stand for any of these.
        types: The types of the operator's attributes by name, as from `declared_attributes`.

    Raises:
        InvalidAttributeError: For an unknown attribute, and a value of another type.
    """
    from onnx import AttributeProto, helper

    existing = next((attribute for attribute in node.attribute if attribute.name == name), None)
    if existing is None and types is not None and name not in types:
        names = ", ".join(sorted(types)) or "none"
        message = f"{node.op_type} has no attribute {name}; it has: {names}"
        raise InvalidAttributeError(
            message, code=Code.unknown_attribute, location=_location(node), hint=suggested(name, types)
        )
    type_name = _type_name(existing) if existing is not None else (types or {}).get(name, "")
    value = _as_type(node, name, value, type_name)
    if isinstance(value, np.ndarray):
        former = existing.t if existing is not None and existing.HasField("t") else None
        value = tensor_of("", value) if former is None else tensor_of(former.name, array_like(former.data_type, value))
    code = AttributeProto.AttributeType.Value(type_name) if type_name else None
    try:
        attribute = helper.make_attribute(name, value, attr_type=code)
    except (TypeError, ValueError, OverflowError) as error:
        raise _wrong_value(node, name, value, type_name or "an attribute") from error
    if existing is not None:
        attribute.doc_string = existing.doc_string
    return attribute


def _type_name(attribute: AttributeProto) -> str:
    from onnx import AttributeProto

    code = attribute.type
    return str(AttributeProto.AttributeType.Name(code)) if code in AttributeProto.AttributeType.values() else ""


def _as_type(node: NodeProto, name: str, value: Any, type_name: str) -> Any:
    """Return a value in the form of a type of attributes."""
    if type_name == "STRING":
        return value if isinstance(value, str) else str(value)
    value = parse_literal(value) if isinstance(value, str) else value
    if type_name == "INT" and isinstance(value, str):
        # The types of Cast, for example, are numbers with names.
        try:
            return data_type_of(value)
        except UnsupportedError:
            raise _wrong_value(node, name, value, type_name) from None
    if type_name == "TENSOR" and not isinstance(value, str):
        return value if isinstance(value, np.ndarray) else np.asarray(value)
    is_list = isinstance(value, (list, tuple))
    if type_name in ("INTS", "FLOATS", "STRINGS") and not is_list:
        value, is_list = [value], True
    elements = list(value) if is_list else [value]
    if type_name in ("INT", "FLOAT") and is_list:
        raise _wrong_value(node, name, value, type_name)
    if type_name in ("INT", "INTS"):
        if not all(isinstance(element, int) and element in _INT64 for element in elements):
            raise _wrong_value(node, name, value, type_name)
        elements = [int(element) for element in elements]
    elif type_name in ("FLOAT", "FLOATS"):
        if not all(isinstance(element, (int, float)) for element in elements):
            raise _wrong_value(node, name, value, type_name)
        elements = [float(element) for element in elements]
    elif type_name == "STRINGS":
        elements = [str(element) for element in elements]
    elif type_name in ("", "TENSOR") or isinstance(value, np.ndarray):
        elements = [int(element) if isinstance(element, bool) else element for element in elements]
        if any(isinstance(element, float) for element in elements) and not any(
            isinstance(element, str) for element in elements
        ):
            elements = [float(element) for element in elements]
    else:
        raise _wrong_value(node, name, value, type_name)
    return elements if is_list else elements[0]


def _wrong_value(node: NodeProto, name: str, value: Any, type_name: str) -> InvalidAttributeError:
    return InvalidAttributeError(
        f"{name} of {node.op_type} is",
        actual=repr(value)[:60],
        expected=type_name,
        code=Code.invalid_attribute,
        location=_location(node),
    )


def _location(node: NodeProto) -> Location:
    return Location(layer_name=name_of(node), layer_type=node.op_type, kind="node")


def parse_literal(text: str) -> Any:
    """Parse a number, a list of numbers or texts (`1,2`, `[1, 2]`), true or false; other texts are returned."""
    words = {"true": True, "false": False}
    if text.lower() in words:
        return words[text.lower()]
    try:
        value = ast.literal_eval(text.strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _special_float(text)
    if isinstance(value, tuple):
        value = list(value)
    is_plain = isinstance(value, (int, float, list)) and not isinstance(value, str)
    return value if is_plain else text


def _special_float(text: str) -> float | str:
    try:
        value = float(text)
    except ValueError:
        return text
    return value if math.isinf(value) or math.isnan(value) else text


def data_type_of(name: str) -> int:
    """Return the TensorProto.DataType of an element type by its name in ONNX or in IR: `float16`, `f16`.

    Raises:
        UnsupportedError: For another name.
    """
    from onnx import TensorProto

    code: int | None = dict(TensorProto.DataType.items()).get(name.upper())
    if code:
        return code
    try:
        return onnx_type(ElementType.parse(name))
    except Exception:
        names = [text.lower() for text in TensorProto.DataType.keys() if text != "UNDEFINED"]  # noqa: SIM118
        message = f"{name!r} is not an element type of ONNX"
        raise UnsupportedError(message, code=Code.bad_value, hint=suggested(name, names)) from None


def array_like(data_type: int, value: Any) -> Array:
    """Return numbers or an array as an array of a TensorProto.DataType.

    Raises:
        InvalidAttributeError: If the type cannot represent them.
    """
    from onnx import TensorProto, helper

    dtype = helper.tensor_dtype_to_np_dtype(data_type)
    try:
        array = np.asarray(value)
        is_exact = array.dtype.kind not in "fc" or dtype.kind not in "iu" or bool(np.all(array == np.trunc(array)))
        is_exact = is_exact and (dtype.kind != "b" or bool(np.all((array == 0) | (array == 1))))
        with np.errstate(over="raise"):
            converted: Array = np.asarray(value, dtype) if array.dtype.kind == "i" else array.astype(dtype)
    except (TypeError, ValueError, OverflowError, FloatingPointError):
        is_exact = False
    if not is_exact:
        name = TensorProto.DataType.Name(data_type).lower()
        raise InvalidAttributeError(
            "the value is", actual=repr(value)[:60], expected=f"elements of {name}", code=Code.bad_value
        )
    return converted


def tensor_of(name: str, array: Array) -> TensorProto:
    """Return a tensor with the elements of an array."""
    from onnx import numpy_helper

    return numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)
