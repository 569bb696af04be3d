"""The elements of shape rules: ranks, axes, known values, dims that must match, broadcasting.

Each raises a ShapeError with the expected and the found value: IR501 for a wrong rank, IR502 for unequal dims, IR503
for an axis out of range, IR504 for shapes that do not broadcast, IR505 for an impossible shape.

As in OpenVINO, inputs may be converted to the element type of the data they are written to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import ElementTypeError, EvaluationError, IRError, ShapeError, UnsupportedError
from ir_exec.kernels.precision import type_limits
from ir_exec.types import UNBOUNDED, Array, Dim, ElementType, Shape, TensorType, convert

__all__ = [
    "LARGEST_RANK",
    "LARGEST_SEARCHED",
    "Broadcasting",
    "align_pdpd",
    "broadcast_shapes",
    "broadcasts_to",
    "dims_within",
    "divide_dim",
    "ints",
    "known_axes",
    "known_bounds",
    "known_faults",
    "known_int",
    "known_ints",
    "known_shape",
    "known_size",
    "largest_dim",
    "merge_dims",
    "merge_shapes",
    "normalize_axes",
    "normalize_axis",
    "rank_error",
    "require_convertible",
    "require_least_rank",
    "require_one_element",
    "require_rank",
    "require_representable",
    "require_same_values",
    "shape_of_length",
]


Broadcasting = Literal["none", "numpy", "pdpd"]

LARGEST_RANK = 64
"""Maximum number of dims of a NumPy array."""

LARGEST_SEARCHED = 2**16
"""Maximum number of elements of known data that is searched for the size of an output."""


def require_rank(tensor: TensorType, ranks: int | Iterable[int], name: str, *, why: str = "") -> None:
    """Raise ShapeError IR501 unless the rank of the tensor, the input `name`, is one of `ranks`, or unknown.

    Args:
        why: The end of the message, such as "as data has".
    """
    allowed = (ranks,) if isinstance(ranks, int) else tuple(ranks)
    if tensor.rank is not None and tensor.rank not in allowed:
        raise rank_error(tensor, " or ".join(map(str, allowed)), name, why)


def require_least_rank(tensor: TensorType, least: int, name: str) -> None:
    """Raise ShapeError IR501 if the rank of the tensor, the input `name`, is known and less than `least`."""
    if tensor.rank is not None and tensor.rank < least:
        raise rank_error(tensor, f"{least} or more", name)


def rank_error(tensor: TensorType, expected: str, name: str, why: str = "") -> ShapeError:
    """The error IR501 for the rank of the tensor, the input `name`; see `require_rank`."""
    return ShapeError(
        f"{name} has rank",
        actual=tensor.rank,
        detail=f"({tensor.shape})",
        expected=expected,
        reason=why,
        code=Code.wrong_rank,
        port=name,
    )


def require_one_element(tensor: TensorType, name: str) -> None:
    """Raise ShapeError IR501 or IR502 unless the tensor, input `name`, may be a scalar or a vector of one element."""
    require_rank(tensor, (0, 1), name)
    if tensor.rank == 1 and 1 not in tensor.shape[0]:
        raise ShapeError(
            f"{name} has shape", actual=tensor.shape, expected="one element", code=Code.dims_differ, port=name
        )


def require_representable(rank: int) -> None:
    """Raise UnsupportedError if NumPy does not support arrays of this rank."""
    if rank > LARGEST_RANK:
        raise UnsupportedError(
            "a tensor has rank", actual=rank, expected=f"at most {LARGEST_RANK}", reason="the limit of NumPy"
        )


def normalize_axis(axis: int, rank: int, *, name: str = "axis") -> int:
    """The axis counted from the front.

    Raises:
        ShapeError: IR503 with `name` outside of -rank .. rank - 1.
    """
    if not -rank <= axis < rank:
        expected, reason = (f"{-rank} to {rank - 1}", f" for rank {rank}") if rank else ("none", "a scalar has no axes")
        raise ShapeError(f"{name} is", actual=axis, expected=expected, reason=reason, code=Code.axis_out_of_range)
    return axis + rank if axis < 0 else axis


def normalize_axes(axes: Iterable[int], rank: int, *, name: str = "axes") -> tuple[int, ...]:
    """The axes of a tensor of this rank, counted from the front, in their order.

    Raises:
        ShapeError: IR503 with `name` for an axis out of range and for duplicates.
    """
    normalized = tuple([normalize_axis(axis, rank, name=name) for axis in axes])
    if len(set(normalized)) != len(normalized):
        raise ShapeError(f"{name} are", actual=list(normalized), expected="distinct axes", code=Code.axis_out_of_range)
    return normalized


def ints(array: Array) -> tuple[int, ...]:
    """The elements of an integer array of any element type, flattened; those of an array of objects are unchanged."""
    if array.dtype.kind in "iO":
        return tuple(array.ravel().tolist())
    return tuple(convert(array, ElementType.i64).ravel().tolist())


def known_ints(tensor: TensorType) -> tuple[int, ...] | None:
    """The elements of an integer tensor, flattened, if its value is known."""
    value = tensor.value
    return None if value is None else ints(value)


def known_int(tensor: TensorType) -> int | None:
    """The only element of an integer tensor with one element, if it is known."""
    values = known_ints(tensor)
    return values[0] if values is not None and len(values) == 1 else None


def known_bounds(tensor: TensorType) -> tuple[tuple[int, int], ...] | None:
    """The least and the greatest value of every element of an integer tensor, flattened; None if nothing is known.

    The greatest value of an element without upper bound is UNBOUNDED, for any element type.
    """
    bounds = tensor.bounds
    if bounds is None:
        return None
    lower, upper = bounds
    if lower is upper:
        return tuple([(value, value) for value in ints(lower)])
    if ElementType.of(upper).bits >= 32:
        is_open = upper == type_limits(upper.dtype)[1]
        upper = np.where(is_open, UNBOUNDED, convert(upper, ElementType.i64))
    return tuple(zip(ints(lower), ints(upper), strict=True))


def known_axes(tensor: TensorType, rank: int | None, *, name: str = "axes") -> tuple[int, ...] | None:
    """The axes in a tensor, the input `name`, counted from the front, if they and the rank are known."""
    values = known_ints(tensor)
    if values is None or rank is None:
        return None
    return normalize_axes(values, rank, name=name)


def known_size(size: TensorType, name: str) -> Dim:
    """The dim given by an integer input of one element and its bounds; raises IR505 for a negative size."""
    require_one_element(size, name)
    bounds = known_bounds(size)
    if bounds is None:
        return Dim.any()
    least, most = bounds[0]
    if most < 0:
        raise ShapeError(f"{name} is", actual=most, expected="0 or more", port=name)
    return Dim(max(least, 0), most)


def known_shape(vector: TensorType, name: str) -> Shape:
    """The shape given by the integer vector `name` and its bounds; raises IR505 for a negative size."""
    bounds = known_bounds(vector)
    if bounds is None:
        return shape_of_length(vector)
    require_representable(len(bounds))
    return Shape(dims_within(bounds, name))


def shape_of_length(vector: TensorType) -> Shape:
    """A shape with a dynamic dim for every element of the vector, whose length may be known."""
    if vector.shape.dims is None or not vector.shape[0].is_static or vector.shape[0].lo > LARGEST_RANK:
        return Shape.unknown()
    return Shape.of_rank(vector.shape[0].lo)


def dims_within(bounds: Sequence[tuple[int, int]], name: str) -> list[Dim]:
    """The dims between these bounds of the input `name`; raises IR505 for a size that can only be negative."""
    if any(most < 0 for _, most in bounds):
        sizes = ", ".join(str(least) if least == most else "?" for least, most in bounds)
        raise ShapeError(f"{name} is", actual=f"[{sizes}]", expected="no negative size", port=name)
    return [Dim(max(least, 0), most) for least, most in bounds]


def divide_dim(dim: Dim, divisor: int, what: str, *, port: str | None = None) -> Dim:
    """The dim divided by `divisor`; raises IR505 for a remainder. `what` begins the message: "axis 1 of data"."""
    low = -(-dim.lo // divisor)
    high = dim.hi // divisor if dim.is_bounded else UNBOUNDED
    if low > high:
        raise ShapeError(
            f"{what} is", actual=dim, expected=f"a multiple of {divisor}", code=Code.impossible_shape, port=port
        )
    return Dim(low, high)


def merge_dims(a: Dim, b: Dim, what: str, *, port: str | None = None) -> Dim:
    """The common sizes of the dims `a` and `b`, which must be equal.

    Args:
        what: The beginning of the message: "axis 1 of data and indices".

    Raises:
        ShapeError: IR502 at `port` if there are none.
    """
    dim = a & b
    if dim is None:
        raise ShapeError(
            f"{what}: found", actual=f"{a} and {b}", expected="equal dims", code=Code.dims_differ, port=port
        )
    return dim


def merge_shapes(a: Shape, b: Shape, what: str, *, port: str | None = None) -> Shape:
    """The common shape of two shapes that must be equal; `what` begins the message: "the shapes of a and b".

    Raises:
        ShapeError: At `port`: IR501 for different ranks, IR502 for different sizes.
    """
    shape = a & b
    if shape is None:
        code = Code.wrong_rank if a.rank != b.rank else Code.dims_differ
        raise ShapeError(f"{what}: found", actual=f"{a} and {b}", expected="equal shapes", code=code, port=port)
    return shape


def broadcast_shapes(a: Shape, b: Shape, mode: Broadcasting = "numpy", axis: int = -1) -> Shape:
    """The shape of two tensors that are broadcast together by a mode.

    none: the shapes must be equal. numpy: as NumPy does. pdpd (PaddlePaddle's way): b is broadcast to a; its first dim
    is aligned with `axis` of a, or for -1 its last dim with the last of a; trailing dims of size 1 of b do not count.

    Raises:
        ShapeError: If the shapes do not broadcast.
    """
    if mode == "none":
        return merge_shapes(a, b, "the shapes of both inputs without broadcasting")
    if a.dims is None or b.dims is None:
        return a if mode == "pdpd" else Shape.unknown()
    if mode == "pdpd":
        return _broadcast_pdpd(a, b, axis)
    if not b.dims or a.dims == b.dims:
        return a
    rank = max(len(a.dims), len(b.dims))
    dims = []
    for left, right in zip(_pad_dims(a.dims, rank), _pad_dims(b.dims, rank), strict=True):
        dim = left.broadcast(right)
        if dim is None:
            raise ShapeError(f"the shapes {a} and {b} do not broadcast: {left} meets {right}", code=Code.no_broadcast)
        dims.append(dim)
    return Shape(dims)


def _broadcast_pdpd(a: Shape, b: Shape, axis: int) -> Shape:
    if axis < -1 or axis > len(a):
        raise ShapeError(
            "axis is",
            actual=axis,
            expected=f"-1 to {len(a)}",
            reason=f" for pdpd broadcasting to rank {len(a)}",
            code=Code.axis_out_of_range,
        )
    start = len(a) - len(b) if axis == -1 else axis
    trailing = list(b)
    while trailing and trailing[-1] == 1:
        trailing.pop()
    if start < 0 or start + len(trailing) > len(a):
        raise ShapeError(f"{b} at axis {start} does not fit into {a}", code=Code.no_broadcast)
    dims = list(a)
    for position, dim in enumerate(trailing, start):
        met = dims[position] if dim == 1 else dims[position] & dim
        if met is None and 1 not in dim:
            raise ShapeError(f"{b} does not broadcast to {a}: {dim} meets {dims[position]}", code=Code.no_broadcast)
        if met is not None and 1 not in dim:
            dims[position] = met
    return Shape(dims)


def align_pdpd(b: Array, rank: int, axis: int) -> Array:
    """The second operand of pdpd broadcasting, reshaped so that NumPy's broadcasting is equivalent."""
    if axis == -1:
        return b
    shape = list(b.shape)
    while shape and shape[-1] == 1:
        shape.pop()
    return b.reshape(shape + [1] * (rank - axis - len(shape)))


def broadcasts_to(shape: Shape, target: Shape) -> bool:
    """Return True if NumPy may broadcast a tensor of this shape to the target's shape."""
    if shape.dims is None or target.dims is None:
        return True
    rank = max(len(shape.dims), len(target.dims))
    pairs = zip(_pad_dims(shape.dims, rank), _pad_dims(target.dims, rank), strict=True)
    return all(1 in dim or dim & met is not None for dim, met in pairs)


def _pad_dims(dims: tuple[Dim, ...], rank: int) -> tuple[Dim, ...]:
    """The dims with ones in front, up to the rank."""
    return (Dim.of(1),) * (rank - len(dims)) + dims


def known_faults(check: Callable[..., object], *inputs: TensorType | None, **settings: Any) -> list[IRError]:
    """The EvaluationError that `check` raises for the values of these inputs; none if one of them is not known.

    Args:
        check: Takes their arrays, and `settings` by name.
    """
    values: list[Array] = []
    for tensor in inputs:
        value = None if tensor is None else tensor.value
        if value is None:
            return []
        values.append(value)
    try:
        check(*values, **settings)
    except EvaluationError as error:
        return [error]
    return []


def largest_dim(tensor: TensorType, axis: int) -> int:
    """The largest possible size of an axis: an index beyond it is always wrong."""
    return UNBOUNDED if tensor.shape.dims is None else tensor.shape[axis].hi


def require_convertible(tensor: TensorType, into: TensorType, name: str, into_name: str) -> None:
    """Raise ElementTypeError IR402 for a conversion between strings and numbers."""
    kinds = (tensor.element_type, into.element_type)
    if (
        ElementType.string in kinds
        and kinds[0] is not kinds[1]
        and all(element_type.is_known for element_type in kinds)
    ):
        raise ElementTypeError(
            f"{name} is",
            actual=kinds[0],
            expected=kinds[1],
            reason=f" as {into_name} is",
            code=Code.element_types_differ,
            port=name,
        )


def require_same_values(array: Array, element_type: ElementType) -> None:
    """Raise EvaluationError IR704 for an element that the element type `element_type` cannot represent.

    For operators with bounds computed from the bounds of `array`: a conversion that wraps would reverse them.
    """
    own = ElementType.of(array)
    if own is not element_type and not np.array_equal(convert(convert(array, element_type), own), array):
        raise EvaluationError(f"{element_type} cannot represent all of these elements of type {own}")
