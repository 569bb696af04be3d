"""The cost of products, and their division between threads."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, prod
from typing import Any

import numpy as np

from ir_exec.kernels.gemm.blas import blas_is_single_threaded
from ir_exec.kernels.parallel import Worker, even_count, for_each
from ir_exec.tuning import thresholds
from ir_exec.tuning.machine import machine
from ir_exec.types import Array

__all__ = ["OF_BLAS", "batches_at", "chunk_count", "product_nanoseconds", "share_products"]

OF_BLAS = "fd"
"""The kinds of elements, by NumPy's letters, whose products BLAS computes."""


def share_products(count: int, make_worker: Callable[[], Worker], *, nanoseconds: float) -> None:
    """`for_each` for chunks of work with products, on one thread if BLAS manages its threads itself."""
    is_worth = nanoseconds >= thresholds.SHARED_PRODUCT_NANOSECONDS and blas_is_single_threaded()
    for_each(count, make_worker, nanoseconds=inf if is_worth else 0)


def product_nanoseconds(a: tuple[int, ...], b: tuple[int, ...], elements: int, dtype: np.dtype[Any]) -> float:
    """Estimated nanoseconds on one core for this many elements of the product of matrices of these shapes."""
    multiplications: int = elements * a[-1]
    if dtype.char not in OF_BLAS:
        return multiplications * thresholds.ELEMENT_NANOSECONDS
    speed = machine().multiplications_a_nanosecond * 4 / dtype.itemsize
    # With few rows, reading the columns dominates.
    moved = (prod(a) + prod(b) + elements) * dtype.itemsize
    return multiplications / speed + moved * thresholds.BYTE_NANOSECONDS


def chunk_count(nanoseconds: float) -> int:
    """The number of chunks of a product with this duration on one core: 1 if sharing is not worthwhile."""
    if nanoseconds < thresholds.SHARED_PRODUCT_NANOSECONDS:
        return 1
    # Chunks are longer than that: BLAS rearranges one of the matrices for each.
    return min(even_count(nanoseconds / (4 / 3 * thresholds.SHARED_PRODUCT_NANOSECONDS)), thresholds.MOST_CHUNKS // 2)


def batches_at(matrices: Array, axis: int, some: slice) -> Array:
    """The matrices at these places of a batch axis, which counts from the last axis; all of it where it broadcasts."""
    if -axis > matrices.ndim or matrices.shape[axis] == 1:
        return matrices
    index: tuple[Any, ...] = (..., some, *[slice(None)] * (-axis - 1))
    return np.asarray(matrices[index])
