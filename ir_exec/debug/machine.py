"""What this machine can do, by a short measurement: multiply matrices, and copy memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import perf_counter

import numpy as np

from ir_exec.debug.facts import Record
from ir_exec.kernels.parallel import for_ranges
from ir_exec.kernels.products import matrix_product
from ir_exec.runtime.threads import RunThreads
from ir_exec.types import Array

__all__ = ["IN_CACHE", "Machine", "measure_machine"]

IN_CACHE = 2**20
"""Bytes up to which what a layer reads and writes is likely to lie in a cache of a core."""

_MATRIX = 768
_LARGE = 2**26
_PIECE = 2**20


class Machine(Record):
    """The best of a few tries. threads: those of a run, which copied and multiplied.

    gflops: billions of multiplications and additions a second of an f32 matrix product, two for each multiply-add.
    gbytes: 10^9 bytes a second, read and written together, of copies that no cache holds. cache_gbytes: of copies
    within a cache, by one thread.
    """

    threads: int
    gflops: float
    gbytes: float
    cache_gbytes: float

    def least_seconds(self, multiply_adds: int, bytes_moved: int) -> float:
        """The least time that so much work takes here: of computing and moving whatever takes longer."""
        speed = self.cache_gbytes if bytes_moved <= IN_CACHE else self.gbytes
        return max(2e-9 * multiply_adds / self.gflops, 1e-9 * bytes_moved / speed)


def measure_machine(threads: int) -> Machine:
    """Takes about a quarter of a second."""
    matrix = np.full((_MATRIX, _MATRIX), 1.5, np.float32)
    source, target = np.zeros(_LARGE // 2, np.uint8), np.zeros(_LARGE // 2, np.uint8)
    near, nearer = source[: IN_CACHE // 4].copy(), target[: IN_CACHE // 4].copy()
    with RunThreads(threads):
        multiplied = _least(partial(matrix_product, matrix, matrix))
        copied = _least(lambda: _copy(source, target))
        cached = _least(partial(np.copyto, nearer, near))
    gbytes = 2e-9 * source.nbytes / copied
    return Machine(
        threads=threads,
        gflops=2e-9 * _MATRIX**3 / multiplied,
        gbytes=gbytes,
        # On a busy machine the short copies may be the slower ones.
        cache_gbytes=max(2e-9 * near.nbytes / cached, gbytes),
    )


def _copy(source: Array, target: Array) -> None:
    def work(start: int, stop: int) -> None:
        target[start:stop] = source[start:stop]

    for_ranges(source.size, _PIECE, work)


def _least(work: Callable[[], object], seconds: float = 0.08, tries: int = 5) -> float:
    """The least time of at least so many tries."""
    best, end, count = float("inf"), perf_counter() + seconds, 0
    while count < tries or perf_counter() < end:
        start = perf_counter()
        work()
        best = min(best, perf_counter() - start)
        count += 1
    return best
