"""The attributes and shape rules of operators with sliding windows: convolution and pooling.

`kernels/windows.py` contains the arithmetic of the windows.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import Annotated, Literal

from ir_exec.errors import ShapeError
from ir_exec.ops.base.attributes import LOWER, Ints, Positives
from ir_exec.ops.base.operator import Op
from ir_exec.ops.base.shapes import rank_error
from ir_exec.types import Dim, Shape, TensorType

__all__ = [
    "SPATIAL_RANKS",
    "AutoPad",
    "Windowed",
    "add_to_dim",
    "count_covered",
    "count_overlaps",
    "require_spatial",
    "spatial_dims",
    "window_extent",
]

SPATIAL_RANKS = (1, 2, 3)

AutoPad = Annotated[Literal["explicit", "same_upper", "same_lower", "valid"], LOWER]


class Windowed(Op):
    """The base of operators with windows.

    strides, pads_begin and pads_end have one value for each spatial axis.

    Attributes:
        strides: The distance between neighboring windows.
        pads_begin: Padding before each axis if auto_pad is `explicit`, the default; a negative number removes elements.
        pads_end: Padding after each axis if auto_pad is `explicit`; a negative number removes elements.
        auto_pad: `valid` is no padding; `same_upper` and `same_lower` are ceil(size / stride) windows with the padding
            that they need, an odd element at the end or at the beginning.
    """

    strides: Positives
    pads_begin: Ints = ()
    pads_end: Ints = ()
    auto_pad: AutoPad = "explicit"

    @property
    def _same(self) -> bool:
        return self.auto_pad in ("same_upper", "same_lower")

    def _check_lengths(self, spatial_rank: int, *required: str, **attributes: Sequence[int]) -> None:
        """Raise ShapeError IR505 unless attributes have a value for each spatial axis; optional ones may be empty."""
        attributes |= {"pads_begin": self.pads_begin, "pads_end": self.pads_end}
        for name, values in attributes.items():
            if len(values) != spatial_rank and (values or name in required):
                raise ShapeError(
                    f"{name} {','.join(map(str, values))} has" if values else f"{name} has",
                    actual=len(values),
                    detail="values",
                    expected=spatial_rank,
                    reason="one for each spatial axis",
                )

    def _explicit_pads(self, spatial_rank: int) -> tuple[tuple[int, int], ...]:
        none = (0,) * spatial_rank
        if self.auto_pad != "explicit":
            return tuple(zip(none, none, strict=True))
        return tuple(zip(self.pads_begin or none, self.pads_end or none, strict=True))

    def _same_pads(self, size: int, extent: int, stride: int) -> tuple[int, int]:
        """The padding of one axis with which `ceil(size / stride)` windows of this extent fit."""
        needed = max((-(-size // stride) - 1) * stride + extent - size, 0)
        less, more = needed // 2, needed - needed // 2
        return (less, more) if self.auto_pad == "same_upper" else (more, less)


def require_spatial(data: TensorType, name: str = "data", others: int = 2) -> None:
    """Raise ShapeError IR501 unless the rank leaves one, two or three spatial axes after `others`."""
    if data.rank is not None and data.rank - others not in SPATIAL_RANKS:
        raise rank_error(data, " or ".join(str(others + count) for count in SPATIAL_RANKS), name)


def spatial_dims(shape: Shape, count: int, others: int = 2) -> tuple[Dim, ...]:
    """The dims of the spatial axes; dynamic ones if the rank is unknown."""
    return (Dim.any(),) * count if shape.dims is None else shape[others:]


def window_extent(kernel: Dim, dilation: int) -> Dim:
    """The number of elements from the first to the last element of a window."""
    return (kernel - 1) * dilation + 1


def count_overlaps(kernel: int, stride: int, dilation: int) -> int:
    """The maximum number of windows along an axis that have an element in common."""
    return -(-kernel // (stride // gcd(stride, dilation)))


def add_to_dim(dim: Dim, amount: int) -> Dim:
    """The dim plus the amount, which may be negative."""
    return dim + amount if amount >= 0 else dim - -amount


def count_covered(dim: Dim, pads: tuple[int, int], extent: Dim, axis: int) -> Dim:
    """The number of elements of the padded data after the first window.

    Raises:
        ShapeError: IR505 if no window fits.
    """
    padded = add_to_dim(dim, sum(pads))
    if dim.is_static and extent.is_static and extent.lo > dim.lo + sum(pads):
        raise ShapeError(
            f"a window of {extent} elements on spatial axis {axis} does not fit into the "
            f"{max(dim.lo + sum(pads), 0)} elements of the padded data"
        )
    return padded - extent
