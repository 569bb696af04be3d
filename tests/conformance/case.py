"""A case: one operator with attributes and input arrays, and what is known of its outputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ir_exec.types import Array, ElementType

__all__ = ["Case"]


@dataclass(frozen=True, eq=False)
class Case:
    """One row of a family's table.

    type, opset: as a layer bears them. inputs: one array a port; the dtype gives the element type.
    attributes: as `<data>` bears them; values are written as text (tuples as `1,2`, booleans as `true`).
    constants: the positions of inputs that the file holds as Const; the others are Parameters.
    outputs: how many output ports the layer has.
    expected: the outputs as the specification or another source gives them, with the source in `note`; where it is
        None, OpenVINO's answer is the expectation.
    oracle: who answers for OpenVINO: its CPU plugin, its reference kernels (`Model.evaluate`), or none of them where
        both are known to be wrong (then `expected` must be given, and `note` names the fault).
    rtol, atol: for floating point outputs; zero requires equality.
    summed: for outputs that are long sums, the sum of its terms without signs, an array an output (of a product of
        matrices |a| @ |b|): rounding grows with that, not with the sum, in which terms cancel.
    wide_vectors: whether OpenVINO needs a processor with AVX-512: without, it is known to be wrong or to
        refuse (its bf16 is cut off, not rounded), and its values are not compared.
    dynamic: whether OpenVINO answers this case with dynamic dims and unknown ranks too.
    """

    type: str
    opset: int
    inputs: tuple[Array, ...]
    attributes: Mapping[str, object] = field(default_factory=dict)
    constants: frozenset[int] | set[int] | tuple[int, ...] = ()
    outputs: int = 1
    expected: tuple[Array, ...] | None = None
    oracle: Literal["plugin", "reference", "nobody"] = "plugin"
    rtol: float = 0.0
    atol: float = 0.0
    summed: tuple[Array, ...] | None = None
    wide_vectors: bool = False
    dynamic: bool = True
    note: str = ""

    def attribute_texts(self) -> dict[str, str]:
        """The attributes as a file spells them."""
        return {name: _text(value) for name, value in self.attributes.items()}

    def __str__(self) -> str:
        """Short description: the id of the test."""
        inputs = " ".join(f"{ElementType.of(array)}{list(array.shape)}".replace(" ", "") for array in self.inputs)
        attributes = " ".join(f"{name}={text}" for name, text in self.attribute_texts().items())
        return " ".join(part for part in (f"{self.type}-{self.opset}", inputs, attributes, self.note) if part)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (tuple, list)):
        return ",".join(_text(part) for part in value)
    return repr(value) if isinstance(value, float) else str(value)
