"""Reductions of the elements along some axes to one: sum, greatest element, logical "and"."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any, ClassVar

import numpy as np

from ir_exec.kernels.precision import CALCULABLE, accumulator, round_to, type_limits, widen
from ir_exec.kernels.reduce import mean, reduce_along, reducing, sum_along, summing
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import Bool
from ir_exec.ops.base.dims import AXES, axes_of, distinct_axes
from ir_exec.ops.base.shapes import known_ints, require_rank
from ir_exec.types import BOOLEAN, Array, Dim, ElementType, Shape, TensorType, element_types

__all__ = [
    "ReduceL1",
    "ReduceL2",
    "ReduceLogicalAnd",
    "ReduceLogicalOr",
    "ReduceMax",
    "ReduceMean",
    "ReduceMin",
    "ReduceProd",
    "ReduceSum",
]


_ADDED_AS_THEY_ARE = element_types("f32 f64")


class _Reduction(Op):
    """The base of the reductions.

    Inputs:
        data: Any shape, any numeric type (boolean for the logical reductions).
        axes: A scalar or a vector of integers; negative ones count from the end, repeated ones count once, as in
            OpenVINO. Without axes, every element is reduced separately.

    Attributes:
        keep_dims: Reduced axes are kept with size 1; by default they are removed.

    Outputs:
        output: The element type of data.

    Raises:
        IRError: IR501 for axes of rank 2 or more, IR503 and IR701 for an axis that data does not have.
    """

    inputs = (In("data", types=CALCULABLE), In("axes", types=AXES))
    arranging_inputs = ("axes",)

    keep_dims: Bool = False

    def infer(self, data: TensorType, axes: TensorType) -> TensorType:
        require_rank(axes, (0, 1), "axes")
        values = known_ints(axes)
        if data.shape.dims is None:
            return data.with_shape(Shape.unknown())
        if values is None:
            return data.with_shape(self._unknown_axes(data.shape, axes.shape))
        along = distinct_axes(values, self._axis_count(len(data.shape)))
        dims = [Dim.of(1) if axis in along else dim for axis, dim in enumerate(data.shape)]
        if not self.keep_dims:
            dims = [dim for axis, dim in enumerate(dims) if axis not in along]
        return data.with_shape(Shape(dims))

    def evaluate(self, data: Array, axes: Array) -> Array:
        return self._along(axes_of(axes, self._axis_count(data.ndim)), data)

    def count_terms(self, inputs: Sequence[Array]) -> int:
        data, axes = inputs
        along = axes_of(axes, self._axis_count(data.ndim)) if data.ndim else ()
        return int(prod([data.shape[axis] for axis in along]))

    def kernel(self, *types: TensorType, unread: frozenset[str] = frozenset()) -> Callable[..., Any]:
        axes = known_ints(types[1])
        if axes is None or types[0].rank is None:
            return self.evaluate
        along = distinct_axes(axes, self._axis_count(types[0].rank))
        is_plain = types[0].element_type in _ADDED_AS_THEY_ARE and types[0].shape.size.lo > 0
        # If no axis is left, NumPy does not return an array.
        if is_plain and (self.keep_dims or len(along) < types[0].rank) and types[0].rank:
            return self._of_floats(along, types[0]) or partial(self._along, along)
        return partial(self._along, along)

    def _of_floats(self, along: tuple[int, ...], data: TensorType) -> Callable[..., Any] | None:
        """`_along` without the checks that f32 and f64 do not need, for static data that is not empty."""
        return None

    def _along(self, along: tuple[int, ...], data: Array, axes: Array | None = None) -> Array:
        """The output for axes counted from the front.

        As a kernel, this method also receives the input `axes` and ignores it.
        """
        result = self._reduce(data, along if data.ndim else ())
        return round_to(np.asarray(result), data.dtype)

    def _reduce(self, data: Array, axes: tuple[int, ...]) -> Array:
        """The reduced elements, in the type of data or a wider one."""
        raise NotImplementedError

    def _axis_count(self, rank: int) -> int:
        # As in OpenVINO, a scalar may be reduced along axis 0 without keep_dims.
        return rank if self.keep_dims else max(rank, 1)

    def _unknown_axes(self, shape: Shape, axes: Shape) -> Shape:
        if self.keep_dims:
            return Shape([dim | Dim.of(1) for dim in shape])
        if axes.is_static and axes.size == 1:
            return Shape.of_rank(max(len(shape) - 1, 0))
        return Shape.unknown()


@op("ReduceSum", since=1)
class ReduceSum(_Reduction):
    """The sum of the elements; 0 for no elements. Integers of 8 bits saturate, others wrap.

    Specification: reduction/reduce-sum-1.
    """

    term_inputs = ("data",)
    increasing_in = ("data",)
    saturates = True

    def _reduce(self, data: Array, axes: tuple[int, ...]) -> Array:
        return sum_along(data, axes, self.keep_dims)

    def _of_floats(self, along: tuple[int, ...], data: TensorType) -> Callable[..., Any]:
        total = summing(data.shape.static, along, self.keep_dims)
        return lambda data, _axes: total(data)


@op("ReduceMean", since=1)
class ReduceMean(_Reduction):
    """The mean of the elements, rounded towards zero for integers; 0 for no elements, as in OpenVINO.

    Specification: reduction/reduce-mean-1.
    """

    term_inputs = ("data",)

    def _reduce(self, data: Array, axes: tuple[int, ...]) -> Array:
        return mean(data, axes, self.keep_dims)

    def _of_floats(self, along: tuple[int, ...], data: TensorType) -> Callable[..., Any]:
        sizes = data.shape.static
        count = np.array(prod([sizes[axis] for axis in along]), data.element_type.dtype)
        total = summing(sizes, along, self.keep_dims)

        def mean_of(data: Array, axes: Array) -> Any:
            sums = total(data)
            return np.divide(sums, count, out=sums)

        return mean_of


@op("ReduceProd", since=1)
class ReduceProd(_Reduction):
    """The product of the elements; 1 for no elements. Integers of 8 bits saturate, others wrap.

    Specification: reduction/reduce-prod-1.
    """

    increasing_in = ("data",)
    nonnegative = True
    saturates = True

    def _reduce(self, data: Array, axes: tuple[int, ...]) -> Array:
        return reduce_along(np.multiply, data, axes, self.keep_dims, accumulator(data.dtype))


class _Extreme(_Reduction):
    """NaN among the elements gives NaN; in OpenVINO this depends on its place."""

    moved_inputs = ("data",)
    increasing_in = ("data",)

    extreme: ClassVar[np.ufunc]
    of_nothing: ClassVar[int]

    def count_terms(self, inputs: Sequence[Array]) -> int:
        return 1

    def _reduce(self, data: Array, axes: tuple[int, ...]) -> Array:
        if all(data.shape[axis] for axis in axes):
            return reduce_along(self.extreme, data, axes, self.keep_dims)
        shape = tuple(1 if axis in axes else size for axis, size in enumerate(data.shape))
        if not self.keep_dims:
            shape = tuple(size for axis, size in enumerate(data.shape) if axis not in axes)
        return np.full(shape, _ends_of_range(data.dtype)[self.of_nothing], data.dtype)

    def _of_floats(self, along: tuple[int, ...], data: TensorType) -> Callable[..., Any]:
        reduce = reducing(self.extreme, data.shape.static, along, self.keep_dims)
        return lambda data, _axes: reduce(data)


@op("ReduceMax", since=1)
class ReduceMax(_Extreme):
    """The greatest element; for no elements minus infinity, or the lowest value of a type without infinity.

    Specification: reduction/reduce-max-1. It does not define the reduction of no elements; ONNX has infinity, and
    OpenVINO infinity or the lowest finite value, depending on its kernel.
    """

    extreme = np.maximum
    of_nothing = 0


@op("ReduceMin", since=1)
class ReduceMin(_Extreme):
    """The least element; for no elements infinity, or the greatest value of a type without infinity.

    Specification: reduction/reduce-min-1. It does not define the reduction of no elements; ONNX has infinity, and
    OpenVINO infinity or the greatest finite value, depending on its kernel.
    """

    extreme = np.minimum
    of_nothing = 1


def _ends_of_range(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """The infinities of a dtype, or its lowest and highest values if it has none."""
    if not ElementType.of_dtype(dtype).is_float:
        return type_limits(dtype)
    infinity = np.array(np.inf).astype(dtype)[()]
    return (-infinity, infinity) if np.isinf(infinity) else type_limits(dtype)


@op("ReduceL1", since=4)
class ReduceL1(_Reduction):
    """The sum of the magnitudes.

    Specification: reduction/reduce-l1-4. There the reduction along no axes is the identity; as in OpenVINO, it returns
    magnitudes.
    """

    def _reduce(self, data: Array, axes: tuple[int, ...]) -> Array:
        return sum_along(np.abs(widen(data)), axes, self.keep_dims)


@op("ReduceL2", since=4)
class ReduceL2(_Reduction):
    """The square root of the sum of the squares, rounded towards zero for integers.

    Specification: reduction/reduce-l2-4. There the reduction along no axes is the identity; as in OpenVINO, it returns
    magnitudes.
    """

    def _reduce(self, data: Array, axes: tuple[int, ...]) -> Array:
        wide = widen(data) if ElementType.of(data).is_float else data.astype(np.float64)
        return np.asarray(np.sqrt(sum_along(np.square(wide), axes, self.keep_dims)))


class _LogicalReduction(_Reduction):
    inputs = (In("data", types=BOOLEAN), In("axes", types=AXES))
    moved_inputs = ("data",)


@op("ReduceLogicalAnd", since=1)
class ReduceLogicalAnd(_LogicalReduction):
    """The logical "and" of the elements; true for no elements.

    Specification: reduction/reduce-logical-and-1.
    """

    def _reduce(self, data: Array, axes: tuple[int, ...]) -> Array:
        return reduce_along(np.logical_and, data, axes, self.keep_dims)


@op("ReduceLogicalOr", since=1)
class ReduceLogicalOr(_LogicalReduction):
    """The logical "or" of the elements; false for no elements.

    Specification: reduction/reduce-logical-or-1.
    """

    def _reduce(self, data: Array, axes: tuple[int, ...]) -> Array:
        return reduce_along(np.logical_or, data, axes, self.keep_dims)
