"""The attributes of a node, converted to the arguments of the registered functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from ir_exec.codes import Code
from ir_exec.errors import InvalidAttributeError, ReportFault
from ir_exec.hints import closest_names, did_you_mean
from ir_exec.onnx.lowering.versions import Attribute, Version

if TYPE_CHECKING:
    from onnx import AttributeProto, GraphProto, NodeProto, SparseTensorProto, TensorProto, TypeProto

__all__ = [
    "Body",
    "Floats",
    "Ints",
    "Sparse",
    "Strings",
    "Tensor",
    "Type",
    "chosen",
    "read_attributes",
    "resolve",
    "resolve_references",
]

Ints: TypeAlias = tuple[int, ...]
Floats: TypeAlias = tuple[float, ...]
Strings: TypeAlias = tuple[str, ...]
Tensor: TypeAlias = "TensorProto"
Sparse: TypeAlias = "SparseTensorProto"
Body: TypeAlias = "GraphProto"
Type: TypeAlias = "TypeProto"


def read_attributes(
    node: NodeProto, version: Version, function_attributes: Mapping[str, AttributeProto], warn: ReportFault
) -> dict[str, Any]:
    """The values of a node's attributes, by the names of the function's parameters.

    Args:
        function_attributes: The attributes of a function that replace references (`ref_attr_name`), by name.
        warn: Called with IR303 for an attribute that this version does not have and onnxruntime ignores.

    Raises:
        InvalidAttributeError: IR301 for a missing attribute, IR302 for an attribute of another type, and for one that
            this version does not have.
    """
    values: dict[str, Any] = dict(version.defaults)
    for attribute in node.attribute:
        actual = resolve(attribute, function_attributes)
        if actual is None:
            continue
        declared = version.attributes.get(attribute.name)
        if declared is None:
            if not version.ignores_attributes:
                raise _unknown(attribute.name, version)
            warn(_ignored_attribute(attribute.name, version))
            continue
        value = _value(actual, declared)
        if declared.parameter:
            values[declared.parameter] = value
    for name, declared in version.attributes.items():
        if declared.is_required and declared.parameter not in values:
            raise InvalidAttributeError(f"attribute {name} is missing", code=Code.missing_attribute)
    return values


Choice = TypeVar("Choice")


def chosen(name: str, value: str, choices: Mapping[str, Choice]) -> Choice:
    """The value of a name in an attribute's choices.

    Raises:
        InvalidAttributeError: For any other name.
    """
    if value not in choices:
        raise InvalidAttributeError(f"{name} is", actual=repr(value), expected=", ".join(choices))
    return choices[value]


def resolve(attribute: AttributeProto, function_attributes: Mapping[str, AttributeProto]) -> AttributeProto | None:
    """The attribute itself, or the attribute that it refers to; None if that is missing."""
    return function_attributes.get(attribute.ref_attr_name) if attribute.ref_attr_name else attribute


def resolve_references(node: NodeProto, function_attributes: Mapping[str, AttributeProto]) -> NodeProto:
    """The node with attributes that refer to attributes of a function replaced by their values."""
    if not any(attribute.ref_attr_name for attribute in node.attribute):
        return node
    resolved_node = type(node)()
    resolved_node.CopyFrom(node)
    del resolved_node.attribute[:]
    for attribute in node.attribute:
        value = resolve(attribute, function_attributes)
        if value is not None:
            copied = resolved_node.attribute.add()
            copied.CopyFrom(value)
            copied.name = attribute.name
    return resolved_node


def _unknown(name: str, version: Version) -> InvalidAttributeError:
    from ir_exec.onnx.lowering.registry import versions

    others = [other for other in versions(version.domain, version.name) if name in other.attributes]
    hint = f"use {name} with {', '.join(map(str, others))}" if others else None
    # Not IR303, which is a warning: the effect of an attribute of a later version is unknown here.
    return InvalidAttributeError(f"{version} has no attribute {name}", code=Code.invalid_attribute, hint=hint)


def _ignored_attribute(name: str, version: Version) -> InvalidAttributeError:
    hint = did_you_mean(closest_names(name, version.attributes))
    message = f"{version} has no attribute {name}; it is ignored"
    return InvalidAttributeError(message, code=Code.unknown_attribute, severity="warning", hint=hint)


def _value(attribute: AttributeProto, declared: Attribute) -> Any:
    from onnx import AttributeProto

    type_name = AttributeProto.AttributeType.Name(attribute.type)
    if type_name != declared.type_name:
        # An empty list has no inherent type: exporters write different ones.
        if declared.type_name in ("INTS", "FLOATS", "STRINGS") and not _length(attribute):
            return ()
        raise InvalidAttributeError(
            f"attribute {attribute.name} has type",
            actual=type_name,
            expected=declared.type_name,
            code=Code.invalid_attribute,
        )
    match type_name:
        case "INT":
            return bool(attribute.i) if declared.annotation == "bool" else attribute.i
        case "FLOAT":
            return attribute.f
        case "STRING":
            return _text(attribute.s, attribute.name)
        case "INTS":
            return tuple(attribute.ints)
        case "FLOATS":
            return tuple(attribute.floats)
        case "STRINGS":
            return tuple(_text(string, attribute.name) for string in attribute.strings)
        case "TENSOR":
            return attribute.t
        case "TYPE_PROTO":
            return attribute.tp
        case "SPARSE_TENSOR":
            return attribute.sparse_tensor
        case _:
            return attribute.g


def _length(attribute: AttributeProto) -> int:
    return len(attribute.ints) + len(attribute.floats) + len(attribute.strings)


def _text(stored: bytes, name: str) -> str:
    try:
        return stored.decode()
    except UnicodeDecodeError:
        raise InvalidAttributeError(f"attribute {name} is not valid UTF-8 text", code=Code.invalid_attribute) from None
