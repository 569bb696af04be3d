"""Shapes: read as a value, and changed without touching the elements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any, TypeVar

import numpy as np

from ir_exec.errors import EvaluationError, ShapeError
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import Bool, IndexTypeName
from ir_exec.ops.base.shapes import (
    ints,
    known_bounds,
    known_ints,
    normalize_axis,
    require_rank,
    require_representable,
    shape_of_length,
)
from ir_exec.types import INTEGER, UNBOUNDED, Array, Dim, ElementType, Shape, TensorType

__all__ = ["Reshape", "ShapeOf", "ShapeOf1", "Squeeze", "Squeeze1", "Unsqueeze"]


Item = TypeVar("Item")


@op("ShapeOf", since=1)
class ShapeOf1(Op):
    """output = the shape of data as an i64 vector; a scalar has an empty one.

    Specification: shape/shape-of-1.
    """

    inputs = (In("data"),)

    def infer(self, data: TensorType) -> TensorType:
        return _shape_as_value(data.shape, ElementType.i64)

    def evaluate(self, data: Array) -> Array:
        return np.array(data.shape, np.int64)


@op("ShapeOf", since=3)
class ShapeOf(Op):
    """output = the shape of data as a vector of `output_type`, i64 or i32; a scalar has an empty one.

    Specification: shape/shape-of-3.
    """

    inputs = (In("data"),)

    output_type: IndexTypeName = ElementType.i64

    def infer(self, data: TensorType) -> TensorType:
        return _shape_as_value(data.shape, self.output_type)

    def evaluate(self, data: Array) -> Array:
        return np.array(data.shape, self.output_type.dtype)


def _shape_as_value(shape: Shape, kind: ElementType) -> TensorType:
    """The type of a shape as a tensor; the bounds of its dims are the bounds of the elements."""
    if shape.dims is None:
        return TensorType(kind, Shape.of_rank(1))
    # An i64 ends where a dim without bound does; an i32 says "not bounded" with its own greatest value.
    end = np.iinfo(kind.dtype).max
    lower = np.array([min(dim.lo, end) for dim in shape], kind.dtype)
    upper = np.array([min(dim.hi, end) for dim in shape], kind.dtype)
    return TensorType(kind, Shape([len(shape)])).with_bounds(lower, lower if shape.is_static else upper)


class _Squeeze(Op):
    """What both versions of Squeeze share; `allow_axis_skip` is False in the first."""

    inputs = (In("data"), In("axes", types=INTEGER, optional=True))
    rising = ("data",)
    views = True

    def infer(self, data: TensorType, axes: TensorType | None = None) -> TensorType:
        if axes is not None:
            require_rank(axes, (0, 1), "axes")
        if data.shape.dims is None:
            return data.with_shape(Shape.unknown())
        chosen = () if axes is None else known_ints(axes)
        if chosen is None:
            alone = axes is not None and axes.shape.size == 1
            return data.with_shape(self._along_one_axis(data.shape) if alone else Shape.unknown())
        dims = data.shape.dims
        squeezed = _squeezed_axes(chosen, len(dims))
        if (not chosen or self._allows_skips) and any(
            1 in dims[axis] and not dims[axis].is_static for axis in squeezed
        ):
            return data.with_shape(Shape.unknown())
        return data.with_shape(Shape([dim for axis, dim in enumerate(dims) if axis not in squeezed or 1 not in dim]))

    def evaluate(self, data: Array, axes: Array | None = None) -> Array:
        squeezed = _squeezed_axes(() if axes is None else ints(axes), data.ndim)
        return data.squeeze(tuple([axis for axis in squeezed if data.shape[axis] == 1]))

    def kernel(self, *types: TensorType, unread: frozenset[str] = frozenset()) -> Callable[..., Any]:
        return _reshaping(self, types)

    @property
    def _allows_skips(self) -> bool:
        return False

    def _along_one_axis(self, shape: Shape) -> Shape:
        """The shape without one dim, of which it is not known which one."""
        if not any(1 in dim for dim in shape):
            return shape
        return Shape.of_rank(len(shape) - 1)


def _squeezed_axes(axes: tuple[int, ...], rank: int) -> list[int]:
    """The axes that may go, each once: all of them where none are given. OpenVINO lets a scalar have an axis here."""
    if not axes:
        return list(range(rank))
    chosen = sorted({normalize_axis(axis, rank or 1, name="axes") for axis in axes})
    return chosen if rank else []


@op("Squeeze", since=1)
class Squeeze1(_Squeeze):
    """Takes dims of size 1 out of the shape of data: those at `axes`, or all of them without axes.

    An axis whose dim is not 1 is left alone. While shapes are inferred, a dim at one of `axes` that may be 1 is taken
    for 1, as the specification wants it.

    Errors: IR501 where axes are no scalar or vector, IR503 for an axis out of range.
    Specification: shape/squeeze-1.
    """


@op("Squeeze", since=15)
class Squeeze(_Squeeze):
    """As Squeeze-1; with `allow_axis_skip` a dim at one of `axes` that may be 1 leaves the rank of the output open.

    Specification: shape/squeeze-15.
    """

    allow_axis_skip: Bool = False

    @property
    def _allows_skips(self) -> bool:
        return self.allow_axis_skip

    def _along_one_axis(self, shape: Shape) -> Shape:
        return Shape.unknown() if any(1 in dim for dim in shape) else shape


@op("Unsqueeze", since=1)
class Unsqueeze(Op):
    """Puts dims of size 1 into the shape of data, so that they stand at `axes` of the output.

    An axis that is given twice counts once; given twice in different spellings (4 and -1) it counts for the rank from
    which negative axes are counted, but is inserted once, as OpenVINO does.

    Errors: IR501 where axes are no scalar or vector, IR503 for an axis out of range, IR505 where there are no axes.
    Specification: shape/unsqueeze-1.
    """

    inputs = (In("data"), In("axes", types=INTEGER))
    rising = ("data",)
    views = True

    def infer(self, data: TensorType, axes: TensorType) -> TensorType:
        require_rank(axes, (0, 1), "axes")
        chosen = known_ints(axes)
        if chosen == ():
            raise ShapeError("axes are empty, expected one at least", port="axes")
        if data.shape.dims is None:
            return data.with_shape(Shape.unknown())
        if chosen is None:
            alone = axes.shape.size == 1
            return data.with_shape(Shape.of_rank(len(data.shape) + 1) if alone else Shape.unknown())
        dims = _with_inserted(list(data.shape), _inserted_axes(chosen, len(data.shape)), Dim.of(1))
        require_representable(len(dims))
        return data.with_shape(Shape(dims))

    def evaluate(self, data: Array, axes: Array) -> Array:
        index: list[Any] = _with_inserted([slice(None)] * data.ndim, _inserted_axes(ints(axes), data.ndim), np.newaxis)
        view: Array = data[tuple(index)]
        return view

    def kernel(self, *types: TensorType, unread: frozenset[str] = frozenset()) -> Callable[..., Any]:
        return _reshaping(self, types)


def _inserted_axes(axes: Iterable[int], rank: int) -> list[int]:
    chosen = set(axes)
    return sorted({normalize_axis(axis, rank + len(chosen), name="axes") for axis in chosen})


def _with_inserted(items: list[Item], axes: list[int], item: Item) -> list[Item]:
    for axis in axes:
        items.insert(axis, item)
    return items


@op("Reshape", since=1)
class Reshape(Op):
    """The elements of data, in their order, in the shape that `shape` gives.

    At most one size may be -1: it is what the other sizes leave. With `special_zero` a 0 stands for the dim of data at
    the same place; otherwise a 0 is a 0. What the other sizes leave of nothing is 1, as in OpenVINO. OpenVINO accepts
    sizes of another product than data has beside a copied dim, and reads beyond the tensor; here that is an error.
    While shapes are inferred, a size that may be 0 but need not is taken for a size, as by OpenVINO.

    Errors: IR501 where shape is no vector, IR505 where no shape comes of it.
    Specification: shape/reshape-1.
    """

    inputs = (In("data"), In("shape", types=INTEGER))
    rising = ("data",)
    views = True

    special_zero: Bool

    def infer(self, data: TensorType, shape: TensorType) -> TensorType:
        require_rank(shape, 1, "shape")
        sizes = known_bounds(shape)
        if sizes is None:
            return data.with_shape(shape_of_length(shape))
        require_representable(len(sizes))
        return data.with_shape(self._reshaped(data.shape, sizes))

    def evaluate(self, data: Array, shape: Array) -> Array:
        sizes = ints(shape)
        try:
            if data.size == 0:
                # NumPy does not tell what -1 is of nothing.
                return data.reshape(self._reshaped(Shape(data.shape), [(size, size) for size in sizes]).static)
            if min(sizes, default=0) < -1:
                # NumPy takes any negative size for -1.
                raise ValueError
            if self.special_zero:
                sizes = tuple([size or data.shape[place] for place, size in enumerate(sizes)])
            return data.reshape(sizes)
        except (ValueError, IndexError, ShapeError):
            raise EvaluationError(
                f"data of shape {list(data.shape)} does not fit {list(sizes)}", port="shape"
            ) from None

    def kernel(self, *types: TensorType, unread: frozenset[str] = frozenset()) -> Callable[..., Any]:
        return _reshaping(self, types)

    def _reshaped(self, shape: Shape, sizes: Sequence[tuple[int, int]]) -> Shape:
        """The shape for these bounds of the sizes."""
        dims: list[Dim] = []
        given: list[Dim] = []
        copied: set[int] = set()
        rest = None
        for place, (least, most) in enumerate(sizes):
            if least == most == 0 and self.special_zero:
                copied.add(place)
                dims.append(_copied(shape, place))
                continue
            if least == most == -1:
                if rest is not None:
                    raise ShapeError(
                        f"shape has -1 at {rest} and at {place}, only one size may be left open", port="shape"
                    )
                rest = place
                dims.append(Dim.any())
                continue
            if most < 0:
                raise ShapeError(f"{most} at {place} of shape is no size", port="shape")
            # A size that may be -1 as well as something else says nothing.
            dims.append(Dim(least, most) if least >= 0 else Dim.any())
            given.append(dims[-1])
        if shape.dims is None:
            return Shape(dims)
        left = [dim for place, dim in enumerate(shape) if place not in copied]
        if rest is not None:
            dims[rest] = _rest(left, given, shape)
        elif Shape(left).size & Shape(given).size is None and not any(0 in dims[place] for place in copied):
            # Beside a copied dim of 0 nothing is to be compared.
            raise ShapeError(f"data of shape {shape} does not fit {Shape(dims)}", port="shape")
        return Shape(dims)


def _copied(shape: Shape, place: int) -> Dim:
    if shape.dims is None:
        return Dim.any()
    if place >= len(shape):
        raise ShapeError(f"0 at {place} of shape copies a dim that data of shape {shape} does not have", port="shape")
    return shape[place]


def _rest(left: list[Dim], given: list[Dim], shape: Shape) -> Dim:
    """The size that -1 stands for: the elements of the dims in `left`, divided by the sizes given."""
    elements, parts = (prod([dim.lo for dim in dims if dim.is_static]) for dims in (left, given))
    open_elements, open_parts = (Shape([dim for dim in dims if not dim.is_static]).size for dims in (left, given))
    if parts == 0 and elements != 0:
        if 0 in open_elements:
            return Dim.any()
        raise ShapeError(f"no size beside 0 makes the elements of data of shape {shape}", port="shape")
    if parts == 0:
        elements = parts = 1
    if open_elements.is_static and open_parts.is_static:
        if elements % parts:
            raise ShapeError(
                f"the {elements} elements of data of shape {shape} do not make rows of {parts}", port="shape"
            )
        return Dim(elements // parts)
    total, row = open_elements * elements, open_parts * parts
    hi = total.hi // row.lo if total.is_bounded and row.lo else UNBOUNDED
    lo = -(-total.lo // row.hi)
    if lo > hi:
        raise ShapeError(f"the elements of data of shape {shape} do not make rows of {parts}", port="shape")
    return Dim(lo, hi)


def _reshaping(op: Op, types: tuple[TensorType, ...]) -> Callable[..., Any]:
    """What is left to do where the shape of the output is known: NumPy's reshape."""
    sizes = op.infer(*types).shape.static
    return lambda data, *_: data.reshape(sizes)
