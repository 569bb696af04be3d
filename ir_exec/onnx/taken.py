"""Which element types ONNX's definitions of operators take, where IR takes more."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from ir_exec.build import Value
from ir_exec.errors import ElementTypeError, Location, UnsupportedError
from ir_exec.onnx.functions import schema_of
from ir_exec.onnx.tensors import onnx_type
from ir_exec.onnx.values import Held

__all__ = ["not_taken"]


def not_taken(domain: str, type: str, opset: int, inputs: Sequence[Held]) -> ElementTypeError | None:
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
