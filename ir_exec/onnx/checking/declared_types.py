"""Comparison of the types that a file declares with the types of its values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ir_exec.build import Value
from ir_exec.codes import Code
from ir_exec.errors import ShapeError
from ir_exec.onnx.lowering.values import Appended, GraphValue, Sequence, Stack
from ir_exec.onnx.reading.tensors import tensor_type_of

if TYPE_CHECKING:
    from onnx import TypeProto

__all__ = ["Contradiction", "contradiction"]


class Contradiction(NamedTuple):
    """A difference from a declaration.

    Attributes:
        actual: The declared type.
        expected: The type of the value.
        of_shape: The shape differs, but not the element type.
    """

    name: str
    actual: str
    expected: str
    of_shape: bool

    def error(self, subject: str = "", **parts: Any) -> ShapeError:
        """The error IR606; `subject` begins the message."""
        text = f"{subject}{self.name!r} is declared as"
        reason = "the type of the value"
        return ShapeError(
            text, actual=self.actual, expected=self.expected, reason=reason, code=Code.value_info, **parts
        )


def contradiction(name: str, declared: TypeProto, value: GraphValue) -> Contradiction | None:
    """The difference between a value and the type that the file declares for its name; None if there is none."""
    field = declared.WhichOneof("value")
    if field == "sequence_type" and declared.sequence_type.elem_type.HasField("map_type"):
        return None  # ZipMap itself warns about the tensor that replaces the maps.
    is_list = isinstance(value, (Sequence, Stack, Appended))
    if is_list != (field == "sequence_type") and field in ("tensor_type", "sequence_type"):
        declared_kind, kind_of_value = field.removesuffix("_type"), "a list" if is_list else "a tensor"
        return Contradiction(name, f"a {declared_kind}", kind_of_value, of_shape=False)
    if field != "tensor_type" or not isinstance(value, Value):
        return None
    declared_type = tensor_type_of(declared)
    are_known = declared_type.element_type.is_known and value.element_type.is_known
    is_same = not are_known or declared_type.element_type is value.element_type
    if is_same and (declared_type.shape & value.shape) is not None:
        return None
    return Contradiction(name, str(declared_type), str(value.type), of_shape=is_same)
