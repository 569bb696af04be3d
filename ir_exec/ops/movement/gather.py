"""The gather family: outputs are elements or slices of `data` selected by indices."""

from __future__ import annotations

from math import prod
from typing import Any, ClassVar, Literal

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, IRError, Location, ShapeError
from ir_exec.kernels.gather import take_along_axis, take_slices, take_tuples
from ir_exec.kernels.indices import (
    Negative,
    OutOfRangeError,
    check_indices,
    count_from_front,
    find_indices,
    tuple_offsets,
)
from ir_exec.kernels.offsets import slices_cost
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import Int, NonNegative
from ir_exec.ops.base.dims import given_axis, known_axis
from ir_exec.ops.base.inputs import FIRST_AXIS, AxisIndices, IndexTuples
from ir_exec.ops.base.shapes import merge_dims, normalize_axis, require_least_rank, require_rank
from ir_exec.ops.base.variants import Kernel, KernelRequest, variant
from ir_exec.tuning import thresholds
from ir_exec.types import INDEX, INTEGER, Array, Dim, ElementType, Shape, TensorType

__all__ = ["Gather1", "Gather7", "Gather8", "GatherElements", "GatherND5", "GatherND8"]


@op("GatherElements", since=6)
class GatherElements(Op):
    """output[i, j, k] = data[i, indices[i, j, k], k], shown for axis 1 of rank 3.

    A negative index counts from the end, as OpenVINO does; the specification expects indices of 0 or more.

    Specification: movement/gather-elements-6.

    Inputs:
        data: Any element type, rank 1 or more.
        indices: i32 or i64, the shape of data except on `axis`.

    Outputs:
        output: The element type of data, the shape of indices.

    Raises:
        IRError: IR701 for an index out of range.
    """

    inputs = (In("data"), In("indices", types=INDEX, domain=AxisIndices("axis")))
    increasing_in = ("data",)
    reads_sparsely = ("data",)
    is_data_movement = True

    axis: Int

    def infer(self, data: TensorType, indices: TensorType) -> TensorType:
        for name, tensor in (("data", data), ("indices", indices)):
            require_least_rank(tensor, 1, name)
        if data.shape.dims is None:
            return data.with_shape(indices.shape)
        axis = normalize_axis(self.axis, len(data.shape))
        if indices.shape.dims is None:
            return data.with_shape(Shape([*data.shape[:axis], Dim.any(), *data.shape[axis + 1 :]]))
        require_rank(indices, len(data.shape), "indices", why="the rank of data")
        dims = [
            theirs if i == axis else merge_dims(mine, theirs, f"axis {i} of data and indices", port="indices")
            for i, (mine, theirs) in enumerate(zip(data.shape, indices.shape, strict=True))
        ]
        return data.with_shape(Shape(dims))

    def evaluate(self, data: Array, indices: Array) -> Array:
        axis = self.axis % data.ndim
        try:
            return take_along_axis(data, indices, axis)
        except OutOfRangeError:
            find_indices(indices, data.shape[axis], axis, "tolerated")
            raise

    def check_values(self, *types: TensorType) -> list[IRError]:
        data, indices = types
        if data.shape.dims is None:
            return []
        axis = self.axis % len(data.shape)
        return _check_constant(indices, data.shape[axis], axis, "tolerated")


def _is_short(data: TensorType, indices: TensorType, axis: int) -> bool:
    """Return True if one call of NumPy is faster than waking threads, for slices of these static types.

    NumPy checks the indices itself.
    """
    if indices.element_type not in INDEX:
        return False
    sizes = data.shape.static
    slices = prod(sizes[:axis]) * prod(indices.shape.static)
    nbytes = prod(sizes[axis + 1 :]) * data.element_type.dtype.itemsize
    return slices_cost(slices, nbytes) < thresholds.SHARED_NANOSECONDS


class _Gather(Op):
    """output[p, q, i, r] = data[p, q, indices[p, i], r]: p are batch axes, q axes before `axis`, r axes after it."""

    inputs = (
        In("data"),
        In("indices", types=INTEGER, domain=AxisIndices("axis", selects_slices=True)),
        In("axis", types=INTEGER, domain=FIRST_AXIS),
    )
    arranging_inputs = ("axis",)
    increasing_in = ("data",)
    reads_sparsely = ("data",)
    is_data_movement = True

    negative: ClassVar[Negative] = "tolerated"

    def infer(self, data: TensorType, indices: TensorType, axis: TensorType) -> TensorType:
        position = known_axis(axis, data.rank)
        batch = self._batch(indices.rank)
        if batch is None or data.shape.dims is None or indices.shape.dims is None:
            return data.with_shape(Shape.unknown())
        last = len(data.shape) - 1 if position is None else position
        if batch > last:
            raise _batch_fault(ShapeError, batch, last).changed(code=Code.axis_out_of_range)
        shared = [
            merge_dims(mine, theirs, f"batch axis {i} of data and indices", port="indices")
            for i, (mine, theirs) in enumerate(zip(data.shape[:batch], indices.shape[:batch], strict=True))
        ]
        if position is None:
            remaining = [Dim.any()] * (len(data.shape) + len(indices.shape) - 1 - 2 * batch)
            return data.with_shape(Shape([*shared, *remaining]))
        behind = data.shape[position + 1 :]
        return data.with_shape(Shape([*shared, *data.shape[batch:position], *indices.shape[batch:], *behind]))

    def evaluate(self, data: Array, indices: Array, axis: Array) -> Array:
        position = given_axis(axis, data.ndim)
        batch = self._batch(indices.ndim) or 0
        if batch > position:
            raise _batch_fault(EvaluationError, batch, position).located(Location(port="axis"))
        try:
            return take_slices(data, indices, position, batch)
        except OutOfRangeError:
            return self._with_indices_out_of_range(data, indices, position, batch)

    def _batch(self, rank: int | None) -> int | None:
        """The number of axes shared by data and indices, if it is known; `rank` is the rank of indices."""
        return 0

    def _with_indices_out_of_range(self, data: Array, indices: Array, axis: int, batch: int) -> Array:
        """Return the output; raises an error that names an index out of range."""
        find_indices(indices, data.shape[axis], axis, self.negative)
        raise AssertionError("no index is out of range")

    def check_values(self, *types: TensorType) -> list[IRError]:
        data, indices, axis = types
        position = known_axis(axis, data.rank)
        return [] if position is None else _check_constant(indices, data.shape[position], position, self.negative)


def _is_one_call(op: _Gather, request: KernelRequest) -> bool:
    data, indices, axis = request.types
    position = known_axis(axis, data.rank)
    return position is not None and not op._batch(indices.rank) and _is_short(data, indices, position)


@variant(
    "Gather",
    name="take",
    applies=_is_one_call,
    cost=0.22,
    why="Few slices along a known axis: NumPy's take checks the indices itself.",
)
def _take(op: _Gather, request: KernelRequest) -> Kernel:
    data, indices, axis = request.types
    position = known_axis(axis, data.rank)
    assert position is not None, "the variant requires a known axis"
    before: tuple[Any, ...] = (slice(None),) * position
    is_one = indices.rank == 0

    def take_first(data: Array, indices: Array, axis: Array) -> Array:
        try:
            return data[indices.item(), ...].copy()
        except IndexError:
            return op.evaluate(data, indices, axis)

    if is_one and position == 0:
        return take_first

    def take(data: Array, indices: Array, axis: Array) -> Array:
        try:
            if data.flags.c_contiguous:
                # NumPy returns a number in place of an array without axes.
                return np.asarray(data.take(indices, position), data.dtype)
            if is_one:
                # Without the copy of all the others that NumPy's function makes first.
                return np.array(data[(*before, int(indices))], order="C")
        except IndexError:
            pass
        return op.evaluate(data, indices, axis)

    return take


@op("Gather", since=1)
class Gather1(_Gather):
    """output[p, i, r] = data[p, indices[i], r]: i are axes of indices, p axes before `axis`, r axes after it.

    A negative index counts from the end. The specification does not define it. OpenVINO's reference kernel, which folds
    constants, counts from the end; its CPU plugin gives zeros.

    Specification: movement/gather-1.

    Inputs:
        data: Any element type, rank 1 or more.
        indices: Integers, any rank.
        axis: One integer, a scalar or of shape [1].

    Outputs:
        output: The element type of data, shape data.shape[:axis] + indices.shape + data.shape[axis + 1:].

    Raises:
        IRError: IR701 for an index out of range (OpenVINO gives zeros, which only Gather-8 is specified to do), IR704
            for an axis out of range.
    """


class _BatchedGather(_Gather):
    """A Gather with the attribute batch_dims."""

    batch_dims: Int = 0

    def _batch(self, rank: int | None) -> int | None:
        batch = self.batch_dims
        if rank is None:
            return batch if batch >= 0 else None
        if not -rank <= batch <= rank:
            raise ShapeError(
                "batch_dims is",
                actual=batch,
                expected=f"{-rank} to {rank}",
                reason=f" for indices of rank {rank}",
                code=Code.axis_out_of_range,
            )
        return batch + rank if batch < 0 else batch


@op("Gather", since=7)
class Gather7(_BatchedGather):
    """Gather-1 with the first `batch_dims` axes shared by data and indices.

    output[p, q, i, r] = data[p, q, indices[p, i], r]: p are the batch axes, q the axes before `axis`, r the axes after
    it.

    Negative indices and indices out of range are as in Gather-1. Specification: movement/gather-7.

    Inputs:
        data: Any element type, rank 1 or more.
        indices: Integers, any rank.
        axis: One integer, a scalar or of shape [1], not less than batch_dims.

    Attributes:
        batch_dims: 0 or more, or negative to count from the end of the shape of indices.

    Outputs:
        output: The element type of data, shape data.shape[:axis] + indices.shape[batch_dims:] + data.shape[axis + 1:].
    """


@op("Gather", since=8)
class Gather8(_BatchedGather):
    """Gather-7 with any index allowed: a negative one counts from the end, one out of range gives zeros.

    output[p, q, i, r] = data[p, q, indices[p, i], r]: p are the batch axes, q the axes before `axis`, r the axes after
    it.

    Specification: movement/gather-8.

    Inputs:
        data: Any element type, rank 1 or more.
        indices: Integers, any rank.
        axis: One integer, a scalar or of shape [1], not less than batch_dims.

    Attributes:
        batch_dims: 0 or more, or negative to count from the end of the shape of indices.
        out_of_range: An attribute of ir_exec, which OpenVINO ignores. With "error" an index out of range is an error,
            as ONNX requires for its Gather; Gather-7 cannot express this, because OpenVINO gives zeros for its negative
            indices. For strings, the empty string is used as zero.

    Outputs:
        output: The element type of data, shape data.shape[:axis] + indices.shape[batch_dims:] + data.shape[axis + 1:].

    Raises:
        IRError: IR701 for an index out of range if `out_of_range` is "error".
    """

    negative: ClassVar[Negative] = "counted"

    out_of_range: Literal["error"] | None = None

    def _with_indices_out_of_range(self, data: Array, indices: Array, axis: int, batch: int) -> Array:
        if self.out_of_range == "error":
            return super()._with_indices_out_of_range(data, indices, axis, batch)
        positions, outside = count_from_front(indices, data.shape[axis])
        assert outside is not None
        if not data.shape[axis]:
            shape = data.shape[:axis] + indices.shape[batch:] + data.shape[axis + 1 :]
            return np.full(shape, _zero(data.dtype), data.dtype)
        output = take_slices(data, np.where(outside, 0, positions), axis, batch)
        mask = outside.reshape(indices.shape[:batch] + (1,) * (axis - batch) + indices.shape[batch:])
        output[np.broadcast_to(mask, output.shape[: axis + indices.ndim - batch])] = _zero(data.dtype)
        return output

    def check_values(self, *types: TensorType) -> list[IRError]:
        faults = super().check_values(*types)
        if self.out_of_range == "error":
            return faults
        return [error.changed(message=f"{error.message}; it gives zeros", severity="warning") for error in faults]


class _GatherND(Op):
    """output[p, i] = data[p, *indices[p, i]]: p are the batch axes, i all other axes of indices except the last."""

    inputs = (In("data"), In("indices", types=INTEGER, domain=IndexTuples()))
    increasing_in = ("data",)
    reads_sparsely = ("data",)
    is_data_movement = True

    negative: ClassVar[Negative] = "tolerated"

    batch_dims: NonNegative = 0

    def infer(self, data: TensorType, indices: TensorType) -> TensorType:
        batch = self.batch_dims
        for name, tensor in (("data", data), ("indices", indices)):
            if tensor.rank is not None and tensor.rank <= batch:
                raise ShapeError(
                    f"{name} has rank",
                    actual=tensor.rank,
                    expected=f"{batch + 1} or more",
                    reason=f" with batch_dims {batch}",
                    code=Code.wrong_rank,
                    port=name,
                )
        if data.shape.dims is None or indices.shape.dims is None:
            return data.with_shape(Shape.unknown())
        shared = [
            merge_dims(mine, theirs, f"batch axis {i} of data and indices", port="indices")
            for i, (mine, theirs) in enumerate(zip(data.shape[:batch], indices.shape[:batch], strict=True))
        ]
        length = indices.shape[-1]
        if batch + length.lo > len(data.shape):
            raise ShapeError(
                "the last axis of indices is",
                actual=length,
                expected=f"at most rank(data) - batch_dims = {len(data.shape) - batch}",
                reason=": each tuple counts on that many axes of data",
                code=Code.impossible_shape,
                port="indices",
            )
        if not length.is_static:
            return data.with_shape(Shape.unknown())
        remaining = [*indices.shape[batch:-1], *data.shape[batch + length.size :]]
        return data.with_shape(Shape([*self._output_batch(shared), *remaining]))

    def _output_batch(self, shared: list[Dim]) -> list[Dim]:
        return shared

    def evaluate(self, data: Array, indices: Array) -> Array:
        batch = self.batch_dims
        try:
            return take_tuples(data, indices, batch)
        except OutOfRangeError:
            tuple_offsets(indices, data.shape[batch : batch + indices.shape[-1]], batch, self.negative)
            raise

    def check_values(self, *types: TensorType) -> list[IRError]:
        data, indices = types
        value = None if data.shape.dims is None else indices.value
        if value is None:
            return []
        faults = []
        for component in range(value.shape[-1]):
            axis = self.batch_dims + component
            if data.shape[axis].is_static:
                size = data.shape[axis].size
                faults += check_indices(value[..., component], size, axis, self.negative, component)
        return faults


@op("GatherND", since=5)
class GatherND5(_GatherND):
    """Slices or elements selected by tuples: output[p, i] = data[p, *indices[p, i]]; the batch axes p are merged.

    The first `batch_dims` axes of data and indices are equal.

    A negative index counts from the end, as in OpenVINO; the specification requires indices of 0 or more.

    Specification: movement/gather-nd-5.

    Inputs:
        data: Any element type, rank 1 or more.
        indices: Integers, rank 1 or more; tuples are along the last axis and have at most rank(data) - batch_dims
            elements.

    Outputs:
        output: The element type of data, shape [prod(indices.shape[:batch_dims])] + indices.shape[batch_dims:-1] +
            data.shape[batch_dims + indices.shape[-1]:], without the first axis if batch_dims is 0.

    Raises:
        IRError: IR701 for an index out of range.
    """

    def _output_batch(self, shared: list[Dim]) -> list[Dim]:
        size = Dim(1)
        for dim in shared:
            size = size * dim
        return [size] if shared else []

    def evaluate(self, data: Array, indices: Array) -> Array:
        output = super().evaluate(data, indices)
        batch = self.batch_dims
        return output.reshape(prod(output.shape[:batch]), *output.shape[batch:]) if batch > 1 else output


@op("GatherND", since=8)
class GatherND8(_GatherND):
    """Slices or elements selected by tuples: output[p, i] = data[p, *indices[p, i]]; the batch axes p are kept.

    The first `batch_dims` axes of data and indices are equal (the specification would broadcast them, OpenVINO never
    did).

    Specification: movement/gather-nd-8.

    Inputs:
        data: Any element type, rank 1 or more.
        indices: Integers, rank 1 or more; tuples are along the last axis and have at most rank(data) - batch_dims
            elements.

    Outputs:
        output: The element type of data, shape indices.shape[:-1] + data.shape[batch_dims + indices.shape[-1]:].

    Raises:
        IRError: IR701 for an index out of range, where OpenVINO's CPU plugin reads arbitrary memory.
    """

    negative: ClassVar[Negative] = "counted"


def _batch_fault(error: type[IRError], batch: int, axis: int) -> IRError:
    return error("batch_dims is", actual=batch, expected=f"at most {axis}", reason="the axis")


def _zero(dtype: np.dtype[Any]) -> Array:
    """The value used as zero: the empty string, the nf4 code of 0.0, and elsewhere zero bytes."""
    if dtype == np.dtype(object):
        return np.array("", object)
    zero = np.zeros((), dtype)
    if dtype == ElementType.nf4.dtype:
        zero["nf4"] = 7
    return zero


def _check_constant(indices: TensorType, size: Dim, axis: int, negative: Negative) -> list[IRError]:
    """The faults of constant indices on one axis; they are decoded only if its size is known."""
    value = indices.value if size.is_static else None
    return [] if value is None else check_indices(value, size.size, axis, negative)
