"""Records of generated inputs, with the reason for their values."""

from __future__ import annotations

from typing import Literal

from ir_exec.debug.inputs.roles import Role
from ir_exec.report.records import Record
from ir_exec.types import BOOLEAN, STRING, Array, ElementType

__all__ = ["Drawn", "DrawnInput", "input_record"]


class DrawnInput(Record):
    """One generated input.

    Attributes:
        values: A description of the elements.
        reason: The evidence for `role`: the layers that read the input (the first of them is `layer`), its name, or
            only its element type.
        low: The least element, None for an empty array.
        high: The greatest element, None for an empty array.
    """

    name: str
    element_type: str
    shape: tuple[int, ...]
    role: str
    values: str
    reason: Literal["use", "name", "type"]
    layer: str | None = None
    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        """`input_ids i64[2,8] token ids below 119`."""
        return f"{self.name} {self.element_type}[{','.join(map(str, self.shape))}] {self.values}".rstrip()


class Drawn(Record):
    """The generated inputs of one seed.

    Attributes:
        rejected: Problems in the outputs of earlier draws.
        problem: The problem in the outputs of this draw, None if they are usable.
        checked: True if the model was run with these inputs.
    """

    seed: int
    inputs: tuple[DrawnInput, ...] = ()
    rejected: tuple[str, ...] = ()
    problem: str | None = None
    checked: bool = False

    def __str__(self) -> str:
        """One line for the values, and one each for rejected draws and for a remaining problem."""
        lines = []
        if self.inputs:
            lines.append(f"drawn with seed {self.seed}: {'; '.join(map(str, self.inputs))}")
        if self.rejected:
            lines.append(f"drawn {len(self.rejected) + 1} times: {'; '.join(dict.fromkeys(self.rejected))}")
        if self.problem:
            lines.append(f"with these inputs {self.problem}; pass other values with --input")
        return "\n".join(lines)


def input_record(name: str, array: Array, role: Role) -> DrawnInput:
    """The record of one input."""
    is_number = array.dtype.kind in "biuf" and array.size
    return DrawnInput(
        name=name,
        element_type=str(ElementType.of(array)),
        shape=array.shape,
        role=role.kind,
        values=_values(role, array),
        reason=role.reason,
        layer=role.layer or None,
        low=float(array.min()) if is_number else None,
        high=float(array.max()) if is_number else None,
    )


def _values(role: Role, array: Array) -> str:
    if role.kind == "mask":
        return f"{'ones' if role.low else 'zeros'} ({role.text})"
    if role.kind == "counting":
        return f"counting up ({role.text})"
    if role.kind == "exact":
        shown = ",".join(f"{value:g}" for value in role.exact[:8])
        return f"{shown} ({role.text})"
    if role.kind == "index":
        return role.text
    if role.kind in ("within", "image", "corners", "sorted"):
        return f"{role.low:.4g} to {role.high:.4g} ({role.text})"
    if role.kind == "plain":
        element_type = ElementType.of(array)
        if element_type in STRING:
            return "words"
        if element_type in BOOLEAN:
            return "false and true"
        return "normal" if element_type.is_float else "the whole range" if element_type.bits <= 8 else "0 and 1"
    return role.text
