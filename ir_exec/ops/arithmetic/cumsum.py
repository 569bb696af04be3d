"""CumSum: running sums along an axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ir_exec.kernels.chunks import by_slices
from ir_exec.kernels.precision import CALCULABLE
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import Bool
from ir_exec.ops.base.dims import given_axis, known_axis
from ir_exec.ops.base.inputs import FIRST_AXIS
from ir_exec.ops.base.shapes import require_least_rank
from ir_exec.tuning import thresholds
from ir_exec.types import BOOLEAN, INDEX, Array, ElementType, TensorType

__all__ = ["CumSum"]


@op("CumSum", since=3)
class CumSum(Op):
    """output[j] = the sum of data[0] to data[j] along the axis.

    The specification has numeric types only; as in OpenVINO, data may also be boolean, which PyTorch exporters write
    for packed sequences: a sum is then true if one of its elements is.

    Specification: arithmetic/cumsum-3.

    Inputs:
        data: Rank 1 or more, any numeric type.
        axis: A scalar of i32 or i64, by default 0; as in OpenVINO it may also be a vector of one element.

    Attributes:
        exclusive: The sum ends at data[j - 1], and is 0 for the first element; false by default.
        reverse: Sums begin at the end of the axis; false by default.

    Outputs:
        output: Like data; integers wrap.

    Raises:
        IRError: IR501 for data that is a scalar, IR501 and IR502 for an axis of another shape, IR503 and IR704 for an
            axis that data does not have.
    """

    inputs = (
        In("data", types=CALCULABLE | BOOLEAN),
        In("axis", types=INDEX, optional=True, domain=FIRST_AXIS),
    )
    term_inputs = ("data",)
    is_cumulative = True

    exclusive: Bool = False
    reverse: Bool = False

    def infer(self, data: TensorType, axis: TensorType | None = None) -> TensorType:
        require_least_rank(data, 1, "data")
        if axis is not None:
            known_axis(axis, data.rank)
        return data.without_values()

    def evaluate(self, data: Array, axis: Array | None = None) -> Array:
        along = 0 if axis is None else given_axis(axis, data.ndim)
        return self._along(along, _sum_type(ElementType.of(data)), data)

    def count_terms(self, inputs: Sequence[Array]) -> int:
        data, *axis = inputs
        return int(data.shape[given_axis(axis[0], data.ndim) if axis else 0])

    def kernel(self, *types: TensorType, unread: frozenset[str] = frozenset()) -> Callable[..., Any]:
        along = 0 if len(types) == 1 else known_axis(types[1], types[0].rank)
        return self.evaluate if along is None else partial(self._along, along, _sum_type(types[0].element_type))

    def _along(self, along: int, dtype: np.dtype[Any], data: Array, axis: Array | None = None) -> Array:
        """The sums along an axis, in this dtype.

        As a kernel, this function also receives the input `axis` and ignores it.
        """
        nanoseconds, least = thresholds.SLOW_ELEMENT_NANOSECONDS, thresholds.LONG_ROW
        return by_slices(partial(self._sums, dtype), data, along, nanoseconds=nanoseconds, least=least)

    def _sums(self, dtype: np.dtype[Any], data: Array) -> Array:
        """The sums along axis 1 of three axes."""
        sums = (np.zeros if self.exclusive else np.empty)(data.shape, dtype)
        source, target = self._places
        _accumulate(data[:, source].astype(dtype, copy=False), sums[:, target])
        return sums.astype(data.dtype, copy=False)

    @property
    def _places(self) -> tuple[slice, slice]:
        """The elements to add up, in the order of addition, and the destination of their sums."""
        if not self.exclusive:
            every = slice(None, None, -1 if self.reverse else 1)
            return every, every
        return (slice(None, 0, -1), slice(-2, None, -1)) if self.reverse else (slice(None, -1), slice(1, None))


def _accumulate(data: Array, sums: Array) -> None:
    """The running sums along axis 1 of three axes: sums within blocks, plus the totals of the preceding blocks."""
    before, size, after = data.shape
    each = 8
    full = size - size % each
    if data.size < thresholds.TABLE_ELEMENTS or full <= each:
        np.add.accumulate(data, 1, out=sums)
        return
    shape = before, full // each, each, after
    parts, running = data[:, :full].reshape(shape), sums[:, :full].reshape(shape)
    running[:, :, 0] = parts[:, :, 0]
    for position in range(1, each):
        np.add(running[:, :, position - 1], parts[:, :, position], out=running[:, :, position])
    before_blocks = np.zeros((before, full // each, 1, after), sums.dtype)
    np.add.accumulate(running[:, :-1, -1:], 1, out=before_blocks[:, 1:])
    # 0 is added to the first block too: NumPy then merges two axes and is three times faster.
    running += before_blocks
    for position in range(full, size):
        np.add(sums[:, position - 1], data[:, position], out=sums[:, position])
    if sums.dtype.kind == "f" and not math.isfinite(sums.sum()):
        # The sum of a block may overflow where no sum from the beginning does.
        np.add.accumulate(data, 1, out=sums)


def _sum_type(element_type: ElementType) -> np.dtype[Any]:
    if element_type.is_float:
        return np.dtype(np.float32) if element_type.bits < 32 else element_type.dtype
    if element_type in BOOLEAN:
        return element_type.dtype
    return np.dtype(np.int8) if element_type.bits < 8 else element_type.dtype
