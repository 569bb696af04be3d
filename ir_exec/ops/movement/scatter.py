"""The scatter family: the output is `data` with the elements or slices selected by indices replaced by `updates`.

Several updates to one element are applied in the order of `updates`: the last one wins, and floating point sums are
reproducible. The specifications do not define the order.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Annotated, ClassVar, Literal

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, IRError, ShapeError
from ir_exec.kernels.chunks import as_bits
from ir_exec.kernels.indices import (
    Negative,
    OutOfRangeError,
    check_duplicates,
    check_indices,
    element_offsets,
    find_indices,
)
from ir_exec.kernels.scatter import put_along_axis
from ir_exec.kernels.scatter_reduced import ReducingUpdate
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import LOWER, Bool
from ir_exec.ops.base.dims import given_axis, known_axis
from ir_exec.ops.base.elementwise import is_own_type
from ir_exec.ops.base.graph_facts import OlderVersion
from ir_exec.ops.base.inputs import FIRST_AXIS, AxisIndices
from ir_exec.ops.base.shapes import merge_shapes, require_rank
from ir_exec.ops.base.variants import Kernel, KernelRequest, variant
from ir_exec.ops.movement.scatter_rules import (
    COMPUTING_REDUCTIONS,
    copy_data,
    like_data,
    most_updates,
    overwrite_slices,
    require_reducible,
    require_updates,
    too_large,
)
from ir_exec.types import BOOLEAN, INTEGER, Array, Dim, Shape, TensorType

__all__ = [
    "ScatterElementsUpdate3",
    "ScatterElementsUpdate12",
    "ScatterUpdate",
]


@op("ScatterUpdate", since=3)
class ScatterUpdate(Op):
    """output[p, indices[i], r] = updates[p, i, r]: i are axes of indices, p axes before `axis`, r axes after it.

    Specification: movement/scatter-update-3.

    Inputs:
        data: Any element type, rank 1 or more.
        indices: Integers, any rank.
        updates: The element type of data, shape data.shape[:axis] + indices.shape + data.shape[axis + 1:].
        axis: One integer, a scalar or of shape [1].

    Outputs:
        output: The element type and shape of data. Of updates to the same place the last one wins.

    Raises:
        IRError: IR701 for an index out of range and, as the specification requires, for a negative one; IR704 for an
            axis out of range.
    """

    inputs = (
        In("data"),
        In("indices", types=INTEGER, domain=AxisIndices("axis")),
        In("updates", like="data"),
        In("axis", types=INTEGER, domain=FIRST_AXIS),
    )
    increasing_in = ("data", "updates")
    inplace_inputs = ("data",)
    is_data_movement = True

    def infer(self, data: TensorType, indices: TensorType, updates: TensorType, axis: TensorType) -> TensorType:
        position = known_axis(axis, data.rank)
        if data.rank is not None and indices.rank is not None:
            rank = indices.rank + data.rank - 1
            if updates.rank is not None and updates.rank != rank:
                raise ShapeError(
                    "updates has rank",
                    actual=updates.rank,
                    expected=f"rank(indices) + rank(data) - 1 = {rank}",
                    code=Code.wrong_rank,
                    port="updates",
                )
        if position is not None and indices.shape.dims is not None:
            expected = [*data.shape[:position], *indices.shape, *data.shape[position + 1 :]]
            rule = f"data.shape[:{position}] + indices.shape + data.shape[{position + 1}:]"
            require_updates(updates, Shape(expected), rule)
        return like_data(data, updates)

    def evaluate(self, data: Array, indices: Array, updates: Array, axis: Array, *, out: Array | None = None) -> Array:
        position = given_axis(axis, data.ndim)
        size = data.shape[position]
        expected = data.shape[:position] + indices.shape + data.shape[position + 1 :]
        if updates.shape != expected:
            raise EvaluationError(
                "updates has shape",
                actual=list(updates.shape),
                expected=list(expected),
                reason=f" for axis {position}",
                port="updates",
            )
        positions = find_indices(indices, size, position, "refused").reshape(-1)
        before, after = prod(data.shape[:position]), prod(data.shape[position + 1 :])
        output = np.empty(data.shape, data.dtype) if out is None else out
        overwrite_slices(data, positions, updates, output, (before, size, after))
        return output

    def check_values(self, *types: TensorType) -> list[IRError]:
        data, indices, _, axis = types
        position = known_axis(axis, data.rank)
        if position is None or not data.shape[position].is_static or (value := indices.value) is None:
            return []
        size = data.shape[position].size
        return check_indices(value, size, position, "refused") or check_duplicates(value)


def _is_one_slice(op: ScatterUpdate, request: KernelRequest) -> bool:
    data, indices, _, axis = request.types
    return known_axis(axis, data.rank) is not None and indices.shape.size == Dim(1) and is_own_type(indices)


@variant(
    "ScatterUpdate",
    name="one_slice",
    applies=_is_one_slice,
    cost=0.11,
    why="One slice along a known axis: one assignment in NumPy.",
)
def _one_slice(op: ScatterUpdate, request: KernelRequest) -> Kernel:
    data, _, _, axis = request.types
    position = known_axis(axis, data.rank)
    assert position is not None, "the variant requires a known axis"
    shape = data.shape.static
    before, size = (slice(None),) * position, shape[position]
    slice_shape = shape[:position] + shape[position + 1 :]

    def put(data: Array, indices: Array, updates: Array, axis: Array, *, out: Array | None = None) -> Array:
        index = indices.item()
        if not 0 <= index < size:
            return op.evaluate(data, indices, updates, axis, out=out)
        output = copy_data(data) if out is None else out
        output[(*before, index)] = updates.reshape(slice_shape)
        return output

    return put


class _ScatterElementsUpdate(Op):
    """output[i, indices[i, j, k], k] = updates[i, j, k], shown for axis 1 of rank 3."""

    inputs = (
        In("data"),
        In("indices", types=INTEGER | BOOLEAN, domain=AxisIndices("axis")),
        In("updates", like="data"),
        In("axis", types=INTEGER, domain=FIRST_AXIS),
    )
    inplace_inputs = ("data",)
    is_data_movement = True

    negative: ClassVar[Negative]

    def infer(self, data: TensorType, indices: TensorType, updates: TensorType, axis: TensorType) -> TensorType:
        position = known_axis(axis, data.rank)
        shape = merge_shapes(indices.shape, updates.shape, "the shapes of indices and updates", port="updates")
        if data.rank is not None:
            port = "indices" if indices.rank is not None else "updates"
            require_rank(TensorType(indices.element_type, shape), data.rank, port, why="the rank of data")
        if position is not None and shape.dims is not None:
            for i, (most, dim) in enumerate(zip(data.shape, shape, strict=True)):
                if i != position and dim.lo > most.hi:
                    raise too_large(ShapeError, i, dim, most).changed(code=Code.dims_differ)
        return like_data(data, updates)

    def evaluate(self, data: Array, indices: Array, updates: Array, axis: Array, *, out: Array | None = None) -> Array:
        position = given_axis(axis, data.ndim)
        for i, (most, size) in enumerate(zip(data.shape, indices.shape, strict=True)):
            if i != position and size > most:
                raise too_large(EvaluationError, i, size, most)
        output = np.empty(data.shape, data.dtype) if out is None else out
        try:
            self._put(data, indices, updates, position, output)
        except OutOfRangeError:
            find_indices(indices, data.shape[position], position, self.negative)
            raise
        return output

    def _put(self, data: Array, indices: Array, updates: Array, axis: int, output: Array) -> None:
        negative = self.negative != "refused"
        target = as_bits(output)
        source = target if output is data else as_bits(data)
        put_along_axis(source, indices, as_bits(updates), axis, target, negative=negative)

    def check_values(self, *types: TensorType) -> list[IRError]:
        data, indices, _, axis = types
        position = known_axis(axis, data.rank)
        if position is None or not data.shape[position].is_static or (value := indices.value) is None:
            return []
        size = data.shape[position].size
        faults = check_indices(value, size, position, self.negative)
        if self._overwrites() and all(error.severity != "error" for error in faults):
            counted = find_indices(value, size, position, self.negative)
            frame = [*value.shape[:position], size, *value.shape[position + 1 :]]
            faults += check_duplicates(element_offsets(counted, position, frame))
        return faults

    def _overwrites(self) -> bool:
        return True


def _is_one_element(op: _ScatterElementsUpdate, request: KernelRequest) -> bool:
    data, indices, _, axis = request.types
    is_one = known_axis(axis, data.rank) == 0 and data.rank == 1 and indices.shape.size == Dim(1)
    return is_one and is_own_type(indices) and op._overwrites()


@variant(
    "ScatterElementsUpdate",
    name="one_element",
    applies=_is_one_element,
    cost=0.06,
    why="One element of a vector, as in loops that fill it: one assignment in NumPy.",
)
def _one_element(op: _ScatterElementsUpdate, request: KernelRequest) -> Kernel:
    size = request.types[0].shape.static[0]
    least = 0 if op.negative == "refused" else -size

    def put(data: Array, indices: Array, updates: Array, axis: Array, *, out: Array | None = None) -> Array:
        index = indices.item()
        if not least <= index < size:
            return op.evaluate(data, indices, updates, axis, out=out)
        output = copy_data(data) if out is None else out
        output[index] = updates[0]
        return output

    return put


@op("ScatterElementsUpdate", since=3)
class ScatterElementsUpdate3(_ScatterElementsUpdate):
    """output[i, indices[i, j, k], k] = updates[i, j, k], shown for axis 1 of rank 3; elsewhere output is data.

    Specification: movement/scatter-elements-update-3.

    Inputs:
        data: Any element type, rank 1 or more.
        indices: Integers, the rank of data and, except on `axis`, at most its sizes.
        updates: The element type of data, the shape of indices.
        axis: One integer, a scalar or of shape [1].

    Outputs:
        output: The element type and shape of data. Of updates to the same element the last one wins.

    Raises:
        IRError: IR701 for an index out of range and, as the specification requires (OpenVINO counts it from the end),
            for a negative one; IR704 for an axis out of range.
    """

    increasing_in = ("data", "updates")

    negative: ClassVar[Negative] = "refused"


@op("ScatterElementsUpdate", since=12)
class ScatterElementsUpdate12(_ScatterElementsUpdate):
    """ScatterElementsUpdate-3 with a reduction of all updates to an element.

    With `use_init_val` the reduction includes the element of data.

    On booleans sum and max are "or", prod and min are "and", and there is no mean. Integers wrap around. The mean of
    integers is rounded down, as specified; OpenVINO's CPU plugin rounds towards zero, and wraps the sums of 8-bit
    types, which are exact here. A NaN among the updates leaves min and max unchanged, as in OpenVINO.

    Specification: movement/scatter-elements-update-12.

    Inputs:
        data: Any element type, with a reduction a numeric or boolean one except u1, u3, u6 and nf4; rank 1 or more.
        indices: Integers, the rank of data and, except on `axis`, at most its sizes; a negative one counts from the
            end.
        updates: The element type of data, the shape of indices.
        axis: One integer, a scalar or of shape [1].

    Attributes:
        reduction: `none` (the last update wins), sum, prod, min, max or mean. Without `use_init_val` only the updates
            are reduced; elements without updates are always those of data.

    Outputs:
        output: The element type and shape of data.

    Raises:
        IRError: IR401 for an element type that the reduction does not support, IR701 for an index out of range, IR704
            for an axis out of range.
    """

    older = OlderVersion(
        3, without=(("reduction", ("none",)), ("use_init_val", (True, False))), nonnegative=("indices",)
    )

    negative: ClassVar[Negative] = "counted"

    reduction: Annotated[Literal["none", "sum", "prod", "min", "max", "mean"], LOWER] = "none"
    use_init_val: Bool = True

    @property
    def is_data_movement(self) -> bool:  # type: ignore[override]  # a reduction computes
        return self.reduction == "none"

    @property
    def increasing_in(self) -> tuple[str, ...]:  # type: ignore[override]  # a product may decrease as a factor increases
        return () if self.reduction == "prod" else ("data", "updates")

    @property
    def term_inputs(self) -> tuple[str, ...]:  # type: ignore[override]  # other reductions have no terms
        return ("data", "updates") if self.reduction in ("sum", "mean") else ()

    def infer(self, data: TensorType, indices: TensorType, updates: TensorType, axis: TensorType) -> TensorType:
        require_reducible(data, self.reduction)
        return super().infer(data, indices, updates, axis)

    def count_terms(self, inputs: Sequence[Array]) -> int:
        if self.reduction not in COMPUTING_REDUCTIONS:
            return 1
        data, indices, _, axis = inputs
        along = given_axis(axis, data.ndim)
        size = data.shape[along]
        frame = [*indices.shape[:along], size, *indices.shape[along + 1 :]]
        rows = find_indices(indices, size, along, self.negative)
        return 1 + most_updates(element_offsets(rows, along, frame))

    def _put(self, data: Array, indices: Array, updates: Array, axis: int, output: Array) -> None:
        if self.reduction == "none":
            super()._put(data, indices, updates, axis, output)
        else:
            update = ReducingUpdate(self.reduction, self.use_init_val)
            put_along_axis(data, indices, updates, axis, output, negative=True, update=update)

    def _overwrites(self) -> bool:
        return self.reduction == "none"
