"""ScatterNDUpdate: the output is `data` with the elements or slices at tuples of indices replaced by `updates`.

Several updates to one element are applied in the order of `updates`, as in `scatter`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Annotated, ClassVar, Literal

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import IRError, ShapeError
from ir_exec.kernels.chunks import as_bits
from ir_exec.kernels.indices import (
    Negative,
    OutOfRangeError,
    check_duplicates,
    check_indices,
    tuple_offsets,
)
from ir_exec.kernels.offsets import Indices
from ir_exec.kernels.scatter import copy_into, put_tuples, slice_offsets
from ir_exec.kernels.scatter_reduced import ReducingUpdate
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import LOWER
from ir_exec.ops.base.graph_facts import OlderVersion
from ir_exec.ops.base.inputs import IndexTuples
from ir_exec.ops.base.shapes import require_least_rank
from ir_exec.ops.base.variants import Kernel, KernelRequest, variant
from ir_exec.ops.movement.scatter_rules import (
    COMPUTING_REDUCTIONS,
    copy_data,
    like_data,
    most_updates,
    overwrite_slices,
    require_reducible,
    require_updates,
)
from ir_exec.types import INDEX, Array, Dim, Shape, TensorType

__all__ = [
    "ScatterNDUpdate4",
    "ScatterNDUpdate15",
]


class _ScatterNDUpdate(Op):
    """output[*indices[i]] = updates[i], i are all axes of indices except the last."""

    inputs = (In("data"), In("indices", types=INDEX, domain=IndexTuples()), In("updates", like="data"))
    inplace_inputs = ("data",)
    is_data_movement = True

    negative: ClassVar[Negative]

    def infer(self, data: TensorType, indices: TensorType, updates: TensorType) -> TensorType:
        for name, tensor in (("data", data), ("indices", indices)):
            require_least_rank(tensor, 1, name)
        if data.shape.dims is not None and indices.shape.dims is not None:
            length = indices.shape[-1]
            if length.lo > len(data.shape):
                raise ShapeError(
                    "the last axis of indices is",
                    actual=length,
                    expected=f"at most rank(data) = {len(data.shape)}",
                    code=Code.impossible_shape,
                    port="indices",
                )
            if length.is_static:
                expected = Shape([*indices.shape[:-1], *data.shape[length.size :]])
                if expected.rank or 1 not in updates.shape.size:
                    require_updates(updates, expected, f"indices.shape[:-1] + data.shape[{length.size}:]")
        return like_data(data, updates)

    def evaluate(self, data: Array, indices: Array, updates: Array, *, out: Array | None = None) -> Array:
        length = indices.shape[-1]
        sizes, after = data.shape[:length], prod(data.shape[length:])
        output = np.empty(data.shape, data.dtype) if out is None else out
        tuples = Indices.of(indices, max(data.shape))
        try:
            if after == 1:
                self._put_elements(data, tuples, updates, sizes, output)
            else:
                self._put(data, slice_offsets(tuples, sizes), updates, output, (1, prod(sizes), after))
        except OutOfRangeError:
            tuple_offsets(indices, sizes, 0, self.negative)
            raise
        return output

    def _put_elements(
        self, data: Array, indices: Indices, updates: Array, sizes: tuple[int, ...], output: Array
    ) -> None:
        target = as_bits(output)
        put_tuples(target if output is data else as_bits(data), indices, as_bits(updates), sizes, target)

    def _put(self, data: Array, rows: Array, updates: Array, output: Array, shape: tuple[int, int, int]) -> None:
        overwrite_slices(data, rows, updates, output, shape)

    def check_values(self, *types: TensorType) -> list[IRError]:
        data, indices, _ = types
        value = None if data.shape.dims is None else indices.value
        if value is None:
            return []
        faults = []
        sizes = data.shape[: value.shape[-1]]
        for axis, size in enumerate(sizes):
            if size.is_static:
                faults += check_indices(value[..., axis], size.size, axis, self.negative, axis)
        sound = all(size.is_static for size in sizes) and all(error.severity != "error" for error in faults)
        if sound and self._overwrites():
            faults += check_duplicates(tuple_offsets(value, [size.size for size in sizes], 0, self.negative))
        return faults

    def _overwrites(self) -> bool:
        return True


def _is_one_tuple(op: _ScatterNDUpdate, request: KernelRequest) -> bool:
    _, indices, _ = request.types
    length = indices.shape.static[-1]
    return length > 0 and indices.shape.size == Dim(length) and op._overwrites()


@variant(
    "ScatterNDUpdate",
    name="one_tuple",
    applies=_is_one_tuple,
    cost=0.2,
    why="One element or slice, as in loops that fill a tensor: one assignment in NumPy.",
)
def _one_tuple(op: _ScatterNDUpdate, request: KernelRequest) -> Kernel:
    data, indices, _ = request.types
    length = indices.shape.static[-1]
    sizes, slice_shape = data.shape.static[:length], data.shape.static[length:]

    def put(data: Array, indices: Array, updates: Array, *, out: Array | None = None) -> Array:
        location = tuple(indices.reshape(-1).tolist())
        if not all(-size <= index < size for index, size in zip(location, sizes, strict=True)):
            return op.evaluate(data, indices, updates, out=out)
        output = copy_data(data) if out is None else out
        output[location] = updates.reshape(slice_shape)
        return output

    return put


@op("ScatterNDUpdate", since=4)
class ScatterNDUpdate4(_ScatterNDUpdate):
    """output[*indices[i]] = updates[i], i are all axes of indices except the last; elsewhere output is data.

    A negative index counts from the end, as in OpenVINO; the specification requires indices of 0 or more. Tuples of no
    elements select all of data, as in the specification's formula; OpenVINO's CPU plugin leaves data unchanged.

    Specification: movement/scatter-nd-update-3.

    Inputs:
        data: Any element type, rank 1 or more.
        indices: i32 or i64, rank 1 or more; tuples are along the last axis and have at most rank(data) elements.
        updates: The element type of data, shape indices.shape[:-1] + data.shape[indices.shape[-1]:], or any one element
            if this is the shape of a scalar.

    Outputs:
        output: The element type and shape of data. Of updates to the same place the last one wins.

    Raises:
        IRError: IR701 for an index out of range.
    """

    increasing_in = ("data", "updates")

    negative: ClassVar[Negative] = "tolerated"


@op("ScatterNDUpdate", since=15)
class ScatterNDUpdate15(_ScatterNDUpdate):
    """ScatterNDUpdate-4 with a reduction of all updates to a place and the element of data there.

    On booleans sum and max are "or", prod and min are "and", sub is "exclusive or". Integers wrap around. A NaN among
    the updates leaves min and max unchanged, as in OpenVINO.

    Specification: movement/scatter-nd-update-15.

    Inputs:
        data: Any element type, with a reduction a numeric or boolean one except u1, u3, u6 and nf4; rank 1 or more.
        indices: i32 or i64, rank 1 or more, a negative one counts from the end; tuples are along the last axis and have
            at most rank(data) elements.
        updates: The element type of data, shape indices.shape[:-1] + data.shape[indices.shape[-1]:], or any one element
            if this is the shape of a scalar.

    Attributes:
        reduction: `none` (the last update wins), sum, sub, prod, min or max.

    Outputs:
        output: The element type and shape of data.

    Raises:
        IRError: IR401 for an element type that the reduction does not support, IR701 for an index out of range.
    """

    older = OlderVersion(4, without=(("reduction", ("none",)),), nonnegative=("indices",))

    negative: ClassVar[Negative] = "counted"

    reduction: Annotated[Literal["none", "sum", "sub", "prod", "min", "max"], LOWER] = "none"

    @property
    def is_data_movement(self) -> bool:  # type: ignore[override]  # a reduction computes
        return self.reduction == "none"

    @property
    def increasing_in(self) -> tuple[str, ...]:  # type: ignore[override]  # a difference decreases as an update increases
        return () if self.reduction in ("prod", "sub") else ("data", "updates")

    @property
    def term_inputs(self) -> tuple[str, ...]:  # type: ignore[override]  # other reductions have no terms
        return ("data", "updates") if self.reduction in ("sum", "sub") else ()

    @property
    def subtracted_inputs(self) -> tuple[str, ...]:  # type: ignore[override]  # updates are subtracted
        return ("updates",) if self.reduction == "sub" else ()

    def infer(self, data: TensorType, indices: TensorType, updates: TensorType) -> TensorType:
        require_reducible(data, self.reduction)
        return super().infer(data, indices, updates)

    def count_terms(self, inputs: Sequence[Array]) -> int:
        if self.reduction not in COMPUTING_REDUCTIONS:
            return 1
        data, indices, _ = inputs
        return 1 + most_updates(tuple_offsets(indices, data.shape[: indices.shape[-1]], 0, self.negative))

    def _put_elements(
        self, data: Array, indices: Indices, updates: Array, sizes: tuple[int, ...], output: Array
    ) -> None:
        if self.reduction == "none":
            super()._put_elements(data, indices, updates, sizes, output)
        else:
            put_tuples(data, indices, updates, sizes, output, ReducingUpdate(self.reduction))

    def _put(self, data: Array, rows: Array, updates: Array, output: Array, shape: tuple[int, int, int]) -> None:
        if self.reduction == "none":
            super()._put(data, rows, updates, output, shape)
            return
        copy_into(output, data)
        if output.size:
            ReducingUpdate(self.reduction).slices(output.reshape(shape[1:]), rows, updates.reshape(rows.size, shape[2]))

    def _overwrites(self) -> bool:
        return self.reduction == "none"
