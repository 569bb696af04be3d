"""What ONNX itself defines: functions, operators whose meaning is a list of nodes, and the types operators take."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ir_exec.build import Value
from ir_exec.errors import ElementTypeError, Location, UnsupportedError
from ir_exec.onnx.registry import ML, STANDARD, TRAINING, canonical_domain, shown_domain
from ir_exec.onnx.tensors import onnx_type
from ir_exec.onnx.values import Held, Narrow, Sequence
from ir_exec.types import ElementType

if TYPE_CHECKING:
    from collections.abc import Iterable

    from onnx import FunctionProto, NodeProto, TypeProto

__all__ = ["Functions", "not_taken", "schema_of", "why_unsaid"]


_NEWER_THAN_ANY = 2**31 - 1
"""A version of a domain that no file has."""


class Functions:
    """The functions of a file, and those of ONNX."""

    def __init__(self, local: Iterable[FunctionProto]) -> None:
        self._local = {(canonical_domain(one.domain), one.name, one.overload): one for one in local}

    def local(self, node: NodeProto) -> FunctionProto | None:
        """The function of the file that a node calls."""
        return self._local.get((canonical_domain(node.domain), node.op_type, node.overload))

    def are_defined(self, domain: str, type: str, opset: int) -> bool:
        """Whether ONNX defines an operator by a body, for some types at least."""
        schema = schema_of(domain, type, opset)
        return schema is not None and bool(schema.has_function or schema.has_context_dependent_function)

    def defined(self, node: NodeProto, inputs: list[Held], opset: int) -> FunctionProto | None:
        """The body by which ONNX defines the operator of a node for inputs of these types; None where it has none."""
        from onnx import FunctionProto

        schema = schema_of(canonical_domain(node.domain), node.op_type, opset)
        if schema is None:
            return None
        body = FunctionProto()
        if schema.has_context_dependent_function:
            known = [since for since in schema.context_dependent_function_opset_versions if since <= opset]
            version = max(known, default=min(schema.context_dependent_function_opset_versions))
            types = [_type_of(value).SerializeToString() for value in inputs]
            text = schema.get_context_dependent_function_with_opset_version(version, node.SerializeToString(), types)
        elif schema.has_function:
            known = [since for since in schema.function_opset_versions if since <= opset]
            version = max(known, default=min(schema.function_opset_versions))
            text = schema.get_function_with_opset_version(version)
        else:
            return None
        if not text:
            return None
        body.ParseFromString(text) if isinstance(text, bytes) else body.CopyFrom(text)
        for name, attribute in schema.attributes.items():
            if attribute.default_value.type and name not in {one.name for one in body.attribute_proto}:
                body.attribute_proto.append(attribute.default_value)
        return body


def why_unsaid(domain: str, type: str, opset: int) -> str:
    """Why no operators of IR say an operator that has neither a function nor a body."""
    shown = shown_domain(domain)
    first = _first_version(domain, type)
    if first is not None and first > opset:
        return f"{shown} has it from version {first} on, and the file imports version {opset}"
    if first is None and domain in (STANDARD, ML, TRAINING):
        return f"{shown} has no such operator"
    if first is not None and schema_of(domain, type, opset).deprecated:
        return f"{shown} has it no longer in version {opset}"
    return f"no operators of IR say it (version {opset} of {shown})"


def _first_version(domain: str, type: str) -> int | None:
    """The version of the domain that brought an operator; None where none has."""
    # Asked for one by one, from the newest on: listing all operators takes 8 ms, for each node of a file.
    first, schema = None, schema_of(domain, type, _NEWER_THAN_ANY)
    while schema is not None:
        first = schema.since_version
        schema = schema_of(domain, type, first - 1)
    return first


def schema_of(domain: str, type: str, opset: int) -> Any:
    """ONNX's definition of an operator; None where it has none."""
    from onnx import defs

    try:
        return defs.get_schema(type, opset, domain)
    except defs.SchemaError:
        return None


def not_taken(domain: str, type: str, opset: int, inputs: Iterable[Held]) -> ElementTypeError | None:
    """A warning (IR401) for the first input whose element type this version of the operator does not take.

    It is no error, for what the node means is clear, and OpenVINO runs it; onnxruntime refuses the file.
    """
    taken = _taken(domain, type, opset)
    for position, value in enumerate(inputs):
        if not taken or not isinstance(value, Value) or not value.element_type.is_known:
            continue
        name, kinds = taken[min(position, len(taken) - 1)]
        try:
            found = onnx_type(value.element_type)
        except UnsupportedError:
            continue
        if kinds and found not in kinds:
            message = f"version {opset} of {type} takes no {value.element_type}"
            hint = "onnxruntime refuses such a file: a Cast, or a newer opset, makes it valid"
            return ElementTypeError(message, severity="warning", hint=hint, location=Location(port=name))
    return None


@lru_cache(maxsize=2**10)
def _taken(domain: str, type: str, opset: int) -> tuple[tuple[str, frozenset[int]], ...]:
    """The name and TensorProto.DataTypes of each input; () for operators that ONNX does not define."""
    from onnx import TensorProto

    schema = schema_of(domain, type, opset)
    if schema is None:
        return ()
    spelt = {f"tensor({name.lower()})": code for name, code in TensorProto.DataType.items()}
    return tuple([(one.name, frozenset([spelt[text] for text in one.types if text in spelt])) for one in schema.inputs])


def _type_of(value: Held) -> TypeProto:
    from onnx import TypeProto

    found = TypeProto()
    if isinstance(value, Sequence):
        found.sequence_type.elem_type.tensor_type.elem_type = onnx_type(value.element_type)
    elif isinstance(value, Narrow):
        found = _type_of(value.value)
        found.tensor_type.elem_type = value.kind
    elif isinstance(value, Value) and value.type.element_type is not ElementType.dynamic:
        found.tensor_type.elem_type = onnx_type(value.type.element_type)
        if value.type.shape.dims is not None:
            dims = found.tensor_type.shape
            dims.SetInParent()
            for dim in value.type.shape:
                one = dims.dim.add()
                if dim.is_static:
                    one.dim_value = dim.size
    return found
