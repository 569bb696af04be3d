"""Definitions of ONNX: functions, operators defined by a list of nodes, and the element types of operators."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ir_exec.build import Value
from ir_exec.codes import Code
from ir_exec.errors import ElementTypeError, GraphError, Location, UnsupportedError
from ir_exec.onnx.lowering.registry import MICROSOFT, canonical_domain, find, shown_domain
from ir_exec.onnx.lowering.values import GraphValue, Narrow, Sequence
from ir_exec.onnx.reading.signatures import find_signature
from ir_exec.onnx.reading.tensors import onnx_type
from ir_exec.types import ElementType

if TYPE_CHECKING:
    from collections.abc import Iterable

    from onnx import FunctionProto, NodeProto, TypeProto

__all__ = ["NEWER_THAN_ANY", "Functions", "defining", "deprecation", "not_accepted", "schema_of"]


NEWER_THAN_ANY = 2**31 - 1
"""A version number above the versions of all files."""


_MOST_COUNTED = 64
"""Maximum depth of calls of functions whose nodes are counted."""


class Functions:
    """The functions of a file, and the functions of ONNX."""

    def __init__(self, local: Iterable[FunctionProto]) -> None:
        self._local = {
            (canonical_domain(function.domain), function.name, function.overload): function for function in local
        }
        self._counts: dict[tuple[str, str, str], int] = {}

    def count_nodes(self, function: FunctionProto, most: int, depth: int = 0) -> int:
        """Return the minimum number of nodes of a function with those of the functions that it calls, up to `most` + 1.

        Bodies inside nodes are not counted, because they need not run.

        Args:
            depth: The number of enclosing calls; very deep calls are not counted either.
        """
        key = (canonical_domain(function.domain), function.name, function.overload)
        if depth > _MOST_COUNTED or self._local.get(key) is not function:
            return len(function.node)
        count = self._counts.get(key)
        if count is None:
            # A function that calls itself is reported when it is expanded.
            self._counts[key] = len(function.node)
            called = [callee for node in function.node if (callee := self.local(node)) is not None]
            count = len(function.node) + sum(self.count_nodes(callee, most, depth + 1) for callee in called)
            count = self._counts[key] = min(count, most + 1)
        return count

    def local(self, node: NodeProto) -> FunctionProto | None:
        """The function of the file that a node calls."""
        return self._local.get((canonical_domain(node.domain), node.op_type, node.overload))

    def are_defined(self, domain: str, type: str, opset: int) -> bool:
        """Return True if ONNX defines an operator by a body, at least for some types."""
        schema = defining(domain, type, opset)
        return schema is not None and _has_body(schema)

    def find_body(self, node: NodeProto, inputs: list[GraphValue], opset: int) -> FunctionProto | None:
        """The body in ONNX's definition of a node's operator for inputs of these types; None if it has none."""
        from onnx import FunctionProto

        schema = defining(canonical_domain(node.domain), node.op_type, opset)
        if schema is None:
            return None
        body = FunctionProto()
        if schema.has_context_dependent_function:
            versions = [since for since in schema.context_dependent_function_opset_versions if since <= opset]
            version = max(versions, default=min(schema.context_dependent_function_opset_versions))
            types = [_type_of(value).SerializeToString() for value in inputs]
            text = schema.get_context_dependent_function_with_opset_version(version, node.SerializeToString(), types)
        elif schema.has_function:
            versions = [since for since in schema.function_opset_versions if since <= opset]
            version = max(versions, default=min(schema.function_opset_versions))
            text = schema.get_function_with_opset_version(version)
        else:
            return None
        if not text:
            return None
        body.ParseFromString(text) if isinstance(text, bytes) else body.CopyFrom(text)
        for name, attribute in schema.attributes.items():
            if attribute.default_value.type and name not in {declared.name for declared in body.attribute_proto}:
                body.attribute_proto.append(attribute.default_value)
        return body


def deprecation(domain: str, type: str, opset: int) -> GraphError | None:
    """A warning (IR125) if this version of an operator is deprecated, or is an experimental one of early ONNX."""
    version, schema = find(domain, type, opset), schema_of(domain, type, opset)
    instead = None if version is None else version.instead
    if schema is None and instead is not None:
        message = f"{type} was an experimental operator of early versions of {shown_domain(domain)}"
    elif schema is not None and schema.deprecated:
        message = f"{type} is deprecated in version {opset} of {shown_domain(domain)}"
        instead = _instead(schema) or instead
    else:
        return None
    hint = None if instead is None else f"use {instead}"
    return GraphError(message, code=Code.deprecated_operator, severity="warning", hint=hint)


def _instead(schema: Any) -> str | None:
    """The replacement of a deprecated operator: the operator named in its text, or a later version."""
    from onnx import defs

    for name in re.findall(r"\b[Uu]se (\w+)", schema.doc.split("\n\n")[0]):
        if defs.has(name, schema.domain):
            return str(name)
    newest = schema_of(schema.domain, schema.name, NEWER_THAN_ANY)
    return None if newest.deprecated else f"{schema.name} of opset {newest.since_version}"


def defining(domain: str, type: str, opset: int) -> Any:
    """The definition of an operator in an opset; for a deprecated operator, the previous definition."""
    schema = schema_of(domain, type, opset)
    while schema is not None and schema.deprecated and not _has_body(schema):
        schema = schema_of(domain, type, schema.since_version - 1)
    return schema


def _has_body(schema: Any) -> bool:
    return bool(schema.has_function or schema.has_context_dependent_function)


def schema_of(domain: str, type: str, opset: int) -> Any:
    """ONNX's definition of an operator; None if it has none."""
    from onnx import defs

    try:
        return defs.get_schema(type, opset, domain)
    except defs.SchemaError:
        return None


def not_accepted(domain: str, type: str, opset: int, inputs: Iterable[GraphValue]) -> ElementTypeError | None:
    """A warning (IR401) for the first input whose element type this version of the operator does not accept.

    It is not an error: the meaning of the node is clear, and OpenVINO runs it, but onnxruntime rejects the file.
    """
    if domain == MICROSOFT:
        return _not_accepted_by_microsoft(type, opset, inputs)
    accepted = _accepted_types(domain, type, opset)
    for position, value in enumerate(inputs):
        if not accepted or not isinstance(value, Value) or not value.element_type.is_known:
            continue
        name, kinds = accepted[min(position, len(accepted) - 1)]
        try:
            data_type = onnx_type(value.element_type)
        except UnsupportedError:
            continue
        if kinds and data_type not in kinds:
            return _type_warning(f"{type} of opset {opset}", value, name, "insert a Cast, or import a newer opset")
    return None


def _not_accepted_by_microsoft(type: str, opset: int, inputs: Iterable[GraphValue]) -> ElementTypeError | None:
    signature = find_signature(MICROSOFT, type, opset)
    for declared, value in zip(() if signature is None else signature.inputs, inputs, strict=False):
        if not isinstance(value, Value) or not value.element_type.is_known or not declared.kinds:
            continue
        if str(value.element_type) not in declared.kinds:
            return _type_warning(f"{MICROSOFT}:{type}", value, declared.name, "insert a Cast")
    return None


def _type_warning(operator: str, value: Value, name: str, help: str) -> ElementTypeError:
    message = f"{operator} does not accept {value.element_type}"
    hint = f"{help}: onnxruntime rejects this file"
    return ElementTypeError(message, severity="warning", hint=hint, location=Location(port=name))


@lru_cache(maxsize=2**10)
def _accepted_types(domain: str, type: str, opset: int) -> tuple[tuple[str, frozenset[int]], ...]:
    """The name and the TensorProto.DataTypes of each input; () for operators that ONNX does not define."""
    from onnx import TensorProto

    schema = schema_of(domain, type, opset)
    if schema is None:
        return ()
    spelled = {f"tensor({name.lower()})": code for name, code in TensorProto.DataType.items()}
    return tuple(
        [(input.name, frozenset([spelled[text] for text in input.types if text in spelled])) for input in schema.inputs]
    )


def _type_of(value: GraphValue) -> TypeProto:
    from onnx import TypeProto

    proto = TypeProto()
    if isinstance(value, Sequence):
        proto.sequence_type.elem_type.tensor_type.elem_type = onnx_type(value.element_type)
    elif isinstance(value, Narrow):
        proto = _type_of(value.value)
        proto.tensor_type.elem_type = value.data_type
    elif isinstance(value, Value) and value.type.element_type is not ElementType.dynamic:
        proto.tensor_type.elem_type = onnx_type(value.type.element_type)
        if value.type.shape.dims is not None:
            dims = proto.tensor_type.shape
            dims.SetInParent()
            for dim in value.type.shape:
                entry = dims.dim.add()
                if dim.is_static:
                    entry.dim_value = dim.size
    return proto
