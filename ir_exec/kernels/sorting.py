"""Values in a dtype that NumPy can compare, and places in sorted sequences."""

from __future__ import annotations

import numpy as np

from ir_exec.kernels.gather import take_along_axis
from ir_exec.kernels.parallel import for_ranges
from ir_exec.tuning import thresholds
from ir_exec.types import Array, ElementType, element_types
from ir_exec.types.conversion import convert

__all__ = ["best_of_slices", "comparable", "least_indices", "search_sorted"]


def search_sorted(sequence: Array, values: Array, *, right: bool) -> Array:
    """The places of values in a vector, before or after (`right`) equal elements; 0 for NaN."""
    positions = np.searchsorted(sequence, values, side="right" if right else "left")
    return np.where(np.isnan(values), 0, positions) if values.dtype.kind == "f" else positions


_SORTABLE = element_types("f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 string")


def comparable(array: Array) -> Array:
    """The values in a dtype that NumPy can compare and sorts fast."""
    element_type = ElementType.of(array)
    if element_type in _SORTABLE:
        return array
    if element_type.is_float:
        return convert(array, ElementType.f32)
    return convert(array, ElementType.i8 if element_type.is_signed else ElementType.u8)


def best_of_slices(data: Array, axis: int, *, greatest: bool) -> tuple[Array, Array] | None:
    """The least, or the greatest, element of every slice along an axis, and its index: i64, size 1 on the axis.

    Args:
        data: Rank 1 or more, not empty. The first of equal elements is taken. None if an element is NaN: NumPy takes
            the first of these.
    """
    keys = comparable(data)
    chosen: Array = keys.argmax(axis, keepdims=True) if greatest else keys.argmin(axis, keepdims=True)
    best = data.reshape(-1).take(chosen) if chosen.size == 1 else take_along_axis(data, chosen, axis % data.ndim)
    return None if (best != best).any() else (best, chosen)


def least_indices(keys: Array, count: int, axis: int) -> Array:
    """The indices of the `count` least elements of every slice along an axis, in the order of a stable sort: i64.

    Args:
        keys: `comparable`, rank 1 or more. Equal elements are ordered by index, and NaN is last.
    """
    size = keys.shape[axis]
    if not 0 < count * thresholds.KEPT_SHARE <= size or keys.dtype.kind not in "iuf":
        return _stable_order(keys.swapaxes(axis, -1))[..., :count].swapaxes(axis, -1)
    last = keys.swapaxes(axis, -1)
    rows = last.reshape(-1, size)
    result = np.empty((len(rows), count), np.int64)

    def work(start: int, stop: int) -> None:
        result[start:stop] = _least_of_rows(rows[start:stop], count)

    for_ranges(
        len(rows),
        max(thresholds.CHUNK_ELEMENTS // size, 1),
        work,
        nanoseconds=thresholds.SLOW_ELEMENT_NANOSECONDS * rows.size,
    )
    return result.reshape(*last.shape[:-1], count).swapaxes(axis, -1)


def _stable_order(keys: Array) -> Array:
    """np.argsort(keys, axis=-1, kind="stable").

    Numbers of 32 bits are sorted together with their indices, as halves of 64 bits: NumPy sorts integers 3x faster than
    it finds a stable order.
    """
    is_real = keys.dtype.kind == "f"
    is_short = keys.dtype.itemsize == 4 and keys.dtype.kind in "iuf" and keys.shape[-1] < 2**32
    if not is_short or keys.size < thresholds.CALL_ELEMENTS or (is_real and np.isnan(keys.max())):
        return np.argsort(keys, axis=-1, kind="stable")
    if is_real:
        # Without the sign of 0. A greater negative number has smaller bits.
        keys = (keys + keys.dtype.type(0)).view(np.int32)
        keys ^= (keys >> 31) & 0x7FFFFFFF
    pairs = keys.astype(np.uint64 if keys.dtype.kind == "u" else np.int64, order="C")
    pairs <<= 32
    pairs |= np.arange(keys.shape[-1], dtype=pairs.dtype)
    pairs.sort(axis=-1)
    pairs &= 0xFFFFFFFF
    return pairs.view(np.int64)


def _least_of_rows(rows: Array, count: int) -> Array:
    """`least_indices` along the last of two axes: only the kept elements are sorted."""
    limits = np.partition(rows, count - 1, axis=1)[:, count - 1, np.newaxis]
    is_kept = rows <= limits
    numbers = np.add.reduce(is_kept, axis=1)
    # Rows with more elements that equal the last one kept, or with too few that are not NaN.
    irregular = np.flatnonzero(numbers != count)
    if len(irregular):
        least = np.argsort(rows[irregular], axis=1, kind="stable")[:, :count]
        is_kept[irregular] = False
        is_kept[irregular[:, np.newaxis], least] = True
    places = np.flatnonzero(is_kept)
    order = rows.reshape(-1)[places].reshape(-1, count).argsort(axis=1, kind="stable")
    order += np.arange(0, order.size, count)[:, np.newaxis]
    columns: Array = (places % rows.shape[1])[order]
    return columns
