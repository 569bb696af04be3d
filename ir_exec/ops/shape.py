"""Operators that read shapes as values, or change shapes without moving elements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import prod
from typing import Any, TypeVar

import numpy as np

from ir_exec.errors import EvaluationError, ShapeError
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import Bool, IndexTypeName
from ir_exec.ops.base.graph_facts import OlderVersion
from ir_exec.ops.base.inputs import TargetShape
from ir_exec.ops.base.shapes import (
    ints,
    known_bounds,
    known_ints,
    normalize_axis,
    require_rank,
    require_representable,
    shape_of_length,
)
from ir_exec.types import INTEGER, UNBOUNDED, Array, Bounds, Dim, ElementType, Shape, TensorType
from ir_exec.types.traced_size import integer_array

__all__ = ["Reshape", "ShapeOf", "ShapeOf1", "Squeeze", "Squeeze1", "Unsqueeze"]

Item = TypeVar("Item")


@op("ShapeOf", since=1)
class ShapeOf1(Op):
    """output = the shape of data, as a vector of i64; empty for a scalar.

    Specification: shape/shape-of-1.

    Inputs:
        data: Any shape, any type.
    """

    inputs = (In("data", only_shape=True),)
    is_data_movement = True

    def infer(self, data: TensorType) -> TensorType:
        return _shape_as_value(data.shape, ElementType.i64)

    def evaluate(self, data: Array) -> Array:
        return np.array(data.shape, np.int64)


@op("ShapeOf", since=3)
class ShapeOf(Op):
    """output = the shape of data, as a vector of the type `output_type`: i64 (the default) or i32; empty for a scalar.

    Specification: shape/shape-of-3.

    Inputs:
        data: Any shape, any type.
    """

    inputs = (In("data", only_shape=True),)
    is_data_movement = True

    output_type: IndexTypeName = ElementType.i64

    def infer(self, data: TensorType) -> TensorType:
        return _shape_as_value(data.shape, self.output_type)

    def evaluate(self, data: Array) -> Array:
        return np.array(data.shape, self.output_type.dtype)


def _shape_as_value(shape: Shape, element_type: ElementType) -> TensorType:
    """The type of the vector that holds a shape; the bounds of the dims are the bounds of its elements."""
    if shape.dims is None:
        return TensorType(element_type, Shape.of_rank(1))

    def bounds() -> Bounds:
        # The greatest value of the type means "not bounded"; for i64 it is UNBOUNDED itself.
        end = np.iinfo(element_type.dtype).max
        lower = integer_array([min(dim.lo, end) for dim in shape], element_type.dtype)
        upper = integer_array([min(dim.hi, end) for dim in shape], element_type.dtype)
        return lower, lower if shape.is_static else upper

    return TensorType(element_type, Shape([len(shape)]), bounds)


class _Squeeze(Op):
    """The base of both versions of Squeeze.

    Inputs:
        data: Any shape, any type.
        axes: Optional; integers, a scalar or a vector, negative ones counted from the end.

    Outputs:
        output: The type of data; it may alias data.

    Raises:
        IRError: IR501 for axes of rank 2 or more, IR503 for an axis that data does not have.
    """

    inputs = (In("data"), In("axes", types=INTEGER, optional=True))
    arranging_inputs = ("axes",)
    increasing_in = ("data",)
    may_alias = True
    is_data_movement = True
    preserves_order = True

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
        """The shape without one unknown dim."""
        if not any(1 in dim for dim in shape):
            return shape
        return Shape.of_rank(len(shape) - 1)


def _squeezed_axes(axes: tuple[int, ...], rank: int) -> list[int]:
    """The axes that may be removed, without duplicates; all without `axes`.

    As in OpenVINO, a scalar has an axis here.
    """
    if not axes:
        return list(range(rank))
    chosen = sorted({normalize_axis(axis, rank or 1, name="axes") for axis in axes})
    return chosen if rank else []


@op("Squeeze", since=1)
class Squeeze1(_Squeeze):
    """Remove dims of size 1 from the shape of data: the dims at `axes`, or all of them without axes.

    Dims at `axes` of another size are kept. As specified, inference treats a dim at one of `axes` as 1 if it may be 1.

    Specification: shape/squeeze-1.
    """


@op("Squeeze", since=15)
class Squeeze(_Squeeze):
    """Squeeze-1 with the attribute `allow_axis_skip`.

    allow_axis_skip (false by default): a dim at one of `axes` that may be 1 makes the rank dynamic.

    Specification: shape/squeeze-15.
    """

    older = OlderVersion(1, without=(("allow_axis_skip", (False,)),))

    allow_axis_skip: Bool = False

    @property
    def _allows_skips(self) -> bool:
        return self.allow_axis_skip

    def _along_one_axis(self, shape: Shape) -> Shape:
        return Shape.unknown() if any(1 in dim for dim in shape) else shape


@op("Unsqueeze", since=1)
class Unsqueeze(Op):
    """Insert dims of size 1 into the shape of data, at `axes` of the output.

    Duplicates are ignored. As in OpenVINO, an axis given as 4 and as -1 is inserted once, but counts twice in the rank
    that negative axes refer to.

    Specification: shape/unsqueeze-1.

    Inputs:
        data: Any shape, any type.
        axes: Integers, a scalar or a vector; negative ones count from the end of the output's shape.

    Outputs:
        output: The type of data; it may alias data.

    Raises:
        IRError: IR501 for axes of rank 2 or more, IR503 for an axis out of range, IR505 for no axes.
    """

    inputs = (In("data"), In("axes", types=INTEGER))
    arranging_inputs = ("axes",)
    increasing_in = ("data",)
    may_alias = True
    is_data_movement = True
    preserves_order = True

    def infer(self, data: TensorType, axes: TensorType) -> TensorType:
        require_rank(axes, (0, 1), "axes")
        chosen = known_ints(axes)
        if chosen == ():
            raise ShapeError("axes are", actual="empty", expected="at least one", port="axes")
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
    """The elements of data, in their order, in the shape given by the input `shape`.

    As in OpenVINO, -1 is 1 next to a 0 for data without elements, and inference treats a size that may be 0 as a size,
    not as a copy. With a copied dim, OpenVINO accepts sizes whose product is wrong, and reads beyond the tensor; here
    this is an error.

    Specification: shape/reshape-1.

    Inputs:
        data: Any shape, any type.
        shape: A vector of integers; one may be -1, for the remaining size. With `special_zero` a 0 is replaced by the
            dim of data at the same position, otherwise it means 0 elements.

    Outputs:
        output: The type of data; it may alias data.

    Raises:
        IRError: IR501 for a shape that is not a vector, IR505 and IR704 for one that does not match data.
    """

    inputs = (In("data"), In("shape", types=INTEGER, domain=TargetShape(leading=1)))
    arranging_inputs = ("shape",)
    increasing_in = ("data",)
    may_alias = True
    is_data_movement = True
    preserves_order = True

    special_zero: Bool

    def infer(self, data: TensorType, shape: TensorType) -> TensorType:
        require_rank(shape, 1, "shape")
        sizes = known_bounds(shape)
        if sizes is None:
            return data.with_shape(shape_of_length(shape))
        require_representable(len(sizes))
        return data.with_shape(self._output_shape(data.shape, sizes))

    def equal_sizes(self, *types: TensorType) -> Iterator[tuple[int, int]]:
        sizes, shape = types[0].shape.static, types[1].value
        if shape is None or (shape < 0).any():
            raise ValueError("the number of elements is not known")
        yield (
            prod(sizes),
            prod(
                [sizes[axis] if self.special_zero and not size else int(size) for axis, size in enumerate(shape.flat)]
            ),
        )

    def evaluate(self, data: Array, shape: Array) -> Array:
        sizes = ints(shape)
        try:
            if data.size == 0:
                # NumPy does not support -1 for an array without elements.
                return data.reshape(self._output_shape(Shape(data.shape), [(size, size) for size in sizes]).static)
            if min(sizes, default=0) < -1:
                # NumPy treats any negative size as -1.
                raise ValueError
            if self.special_zero:
                sizes = tuple([size or data.shape[position] for position, size in enumerate(sizes)])
            return data.reshape(sizes)
        except (ValueError, IndexError, ShapeError):
            raise EvaluationError(
                f"data of shape {list(data.shape)} does not fit {list(sizes)}", port="shape"
            ) from None

    def kernel(self, *types: TensorType, unread: frozenset[str] = frozenset()) -> Callable[..., Any]:
        return _reshaping(self, types)

    def _output_shape(self, shape: Shape, sizes: Sequence[tuple[int, int]]) -> Shape:
        """The shape of the output for these bounds of the sizes."""
        dims: list[Dim] = []
        explicit: list[Dim] = []
        copied: set[int] = set()
        inferred = None
        for position, (least, most) in enumerate(sizes):
            if least == most == 0 and self.special_zero:
                copied.add(position)
                dims.append(_copy_dim(shape, position))
                continue
            if least == most == -1:
                if inferred is not None:
                    raise ShapeError(
                        "shape has -1 at", actual=f"{inferred} and {position}", expected="at most one -1", port="shape"
                    )
                inferred = position
                dims.append(Dim.any())
                continue
            if most < 0:
                raise ShapeError(f"element {position} of shape is", actual=most, expected="-1 or more", port="shape")
            # A size that may be -1 gives no bounds.
            dims.append(Dim(least, most) if least >= 0 else Dim.any())
            explicit.append(dims[-1])
        if shape.dims is None:
            return Shape(dims)
        left = [dim for position, dim in enumerate(shape) if position not in copied]
        if inferred is not None:
            dims[inferred] = _infer_dim(left, explicit, shape)
        elif Shape(left).size & Shape(explicit).size is None and not any(0 in dims[position] for position in copied):
            # With a copied dim of 0 no sizes can be compared.
            raise ShapeError(f"data of shape {shape} does not fit {Shape(dims)}", port="shape")
        return Shape(dims)


def _copy_dim(shape: Shape, position: int) -> Dim:
    if shape.dims is None:
        return Dim.any()
    if position >= len(shape):
        raise ShapeError(
            f"0 at {position} of shape copies a dim that data of shape {shape} does not have", port="shape"
        )
    return shape[position]


def _infer_dim(left: list[Dim], explicit: list[Dim], shape: Shape) -> Dim:
    """The size for -1: the product of the dims in `left` divided by the product of the given sizes."""
    elements, parts = (prod([dim.lo for dim in dims if dim.is_static]) for dims in (left, explicit))
    open_elements, open_parts = (Shape([dim for dim in dims if not dim.is_static]).size for dims in (left, explicit))
    if parts == 0 and elements != 0:
        if 0 in open_elements:
            return Dim.any()
        raise ShapeError(f"no size next to 0 makes the elements of data of shape {shape}", port="shape")
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
    """The kernel of an operator that only changes the shape, for inputs of known types: NumPy's reshape."""
    sizes = op.infer(*types).shape.static
    return lambda data, *_: data.reshape(sizes)
