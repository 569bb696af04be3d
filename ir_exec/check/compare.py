"""Two types of one value: whether they contradict each other, and where they differ."""

from __future__ import annotations

from ir_exec.codes import Code
from ir_exec.types import Dim, Shape, TensorType

__all__ = ["contradiction", "difference", "fits", "merged"]


def fits(declared: TensorType, found: TensorType) -> bool:
    """Whether a value can have both types; an unknown element type, rank or dim contradicts nothing."""
    if (
        declared.element_type is not found.element_type
        and declared.element_type.is_known
        and found.element_type.is_known
    ):
        return False
    mine, theirs = declared.shape.dims, found.shape.dims
    if mine is None or theirs is None or mine == theirs:
        return True
    return len(mine) == len(theirs) and all(a.lo <= b.hi and b.lo <= a.hi for a, b in zip(mine, theirs, strict=True))


def contradiction(declared: TensorType, found: TensorType) -> Code:
    """The code for two types that do not fit: IR603 element type, IR602 rank, IR601 dims."""
    if not fits(TensorType(declared.element_type, Shape.unknown()), found):
        return Code.declared_element_type
    return Code.declared_rank if declared.rank != found.rank else Code.declared_dims


def difference(declared: TensorType, found: TensorType) -> str:
    """Where two types that do not fit differ: `dim 1 is 4, not 5`."""
    parts = []
    if contradiction(declared, found) == Code.declared_element_type:
        parts.append(f"the element type is {found.element_type}, not {declared.element_type}")
    mine, theirs = declared.shape.dims, found.shape.dims
    if mine is not None and theirs is not None:
        if len(mine) != len(theirs):
            parts.append(f"the rank is {len(theirs)}, not {len(mine)}")
        else:
            pairs = enumerate(zip(mine, theirs, strict=True))
            parts += [f"dim {axis} is {_dim(b)}, not {_dim(a)}" for axis, (a, b) in pairs if a & b is None]
    return ", ".join(parts)


def merged(chosen: TensorType, other: TensorType) -> TensorType:
    """The chosen type, its unknown parts filled in from the other; known elements are dropped."""
    element_type = chosen.element_type if chosen.element_type.is_known else other.element_type
    mine, theirs = chosen.shape.dims, other.shape.dims
    if mine is None:
        return TensorType(element_type, other.shape)
    if theirs is None or len(mine) != len(theirs):
        return TensorType(element_type, chosen.shape)
    return TensorType(element_type, Shape([(a & b) or a for a, b in zip(mine, theirs, strict=True)]))


def _dim(dim: Dim) -> str:
    """A dim in words: `4`, `at least 2`, `1 to 8`."""
    if dim.is_static:
        return str(dim)
    return f"{dim.lo} to {dim.hi}" if dim.is_bounded else f"at least {dim.lo}"
