"""Operators of a node without a function: missing in their domain, or in ir_exec."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ir_exec.codes import Code
from ir_exec.errors import GraphError
from ir_exec.hints import closest_names, did_you_mean
from ir_exec.onnx.lowering.registry import (
    FAMILIES,
    MICROSOFT,
    ML,
    STANDARD,
    TRAINING,
    canonical_domain,
    shown_domain,
    versions,
)
from ir_exec.onnx.reading.functions import NEWER_THAN_ANY, schema_of
from ir_exec.onnx.reading.signatures import operators_of

if TYPE_CHECKING:
    from onnx import NodeProto

__all__ = ["describe_unsupported", "unknown_operator"]

_OF_ONNX = (STANDARD, ML, TRAINING)
"""The domains whose operators onnx.defs lists."""

_WITHOUT_DEFINITION = ("MemcpyFromHost", "MemcpyToHost")
_LEAST_LIKENESS = 0.75
"""Minimum similarity of a proposed name of com.microsoft: among its 150 operators some name is always similar."""

_OF_MAPS = {"CastMap": "reads a map from indices to values", "DictVectorizer": "reads a map from words to values"}

_PLUGIN = "_TRT"
"""The suffix of TensorRT plug-ins, which runtimes have in the standard domain although ONNX does not define them."""


def unknown_operator(node: NodeProto, opset: int) -> GraphError | None:
    """IR126 for the operator of a node that the imported version of its domain does not have.

    None for operators that exist, for domains that ONNX does not define, and for versions newer than its definitions.
    """
    from onnx import defs

    domain, type = canonical_domain(node.domain), node.op_type
    if domain not in _OF_ONNX or schema_of(domain, type, opset) is not None:
        return None
    if type in _WITHOUT_DEFINITION or type.endswith(_PLUGIN):
        return None
    if domain == STANDARD and opset > defs.onnx_opset_version():
        return None
    return GraphError(
        describe_unsupported(node, opset), code=Code.operator_not_in_opset, hint=_hint(domain, type, opset)
    )


def _hint(domain: str, type: str, opset: int) -> str | None:
    """The version, the domain or the name that the file may intend."""
    first = _first_version(domain, type)
    if first is not None:
        return f"import version {first} of {shown_domain(domain)} or later, which may change other operators"
    owner = next((family for family in FAMILIES if family != domain and _has(family, type)), None)
    if owner is not None:
        return f"set the domain of the node to {shown_domain(owner)}, which has {type}"
    return did_you_mean(closest_names(type, _names(domain, opset)))


def _has(domain: str, type: str) -> bool:
    return bool(versions(domain, type)) or _first_version(domain, type) is not None


def _names(domain: str, opset: int) -> list[str]:
    """The operators of a version of a domain."""
    from onnx import defs

    all = defs.get_all_schemas_with_history()
    return sorted({schema.name for schema in all if schema.domain == domain and schema.since_version <= opset})


def describe_unsupported(node: NodeProto, opset: int) -> str:
    """The reason why the operator of a node without a function or a body cannot be lowered."""
    domain, type = canonical_domain(node.domain), node.op_type
    shown = shown_domain(domain)
    if type == "ATen":
        name = next(
            (attribute.s.decode(errors="replace") for attribute in node.attribute if attribute.name == "operator"), ""
        )
        return f"it calls the function {name!r} of PyTorch, which ONNX does not define"
    if domain == MICROSOFT and type not in operators_of(MICROSOFT):
        return f"unknown operator of {shown}{_near(type)}"
    if domain == ML and type in _OF_MAPS:
        return f"it {_OF_MAPS[type]}: IR has no maps"
    first = _first_version(domain, type)
    if first is not None and first > opset:
        return f"{shown} has {type} since version {first}, but the file imports version {opset}"
    if first is None and domain in _OF_ONNX:
        return f"{shown} has no operator {type}"
    return f"no lowering exists (version {opset} of {shown})"


def _near(type: str) -> str:
    """The operator of com.microsoft that a misspelled name may refer to."""
    hint = did_you_mean(closest_names(type, operators_of(MICROSOFT), similarity=_LEAST_LIKENESS))
    return f", {hint}" if hint else ""


def _first_version(domain: str, type: str) -> int | None:
    """The version of the domain that introduced an operator; None if none did."""
    # Queried one by one, the newest first: listing all operators takes 8 ms, for each node of a file.
    first, schema = None, schema_of(domain, type, NEWER_THAN_ANY)
    while schema is not None:
        first = schema.since_version
        schema = schema_of(domain, type, first - 1)
    return first
