"""Measurements for the numbers in `ir_exec/tuning/thresholds.py`: times on either side of the thresholds.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.costs

It takes about a minute. Each figure is the minimum of many repetitions; use an idle machine.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import cycle
from math import inf
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np

sys.path[:0] = [] if __package__ else [str(Path(__file__).resolve().parent.parent)]

from ir_exec.kernels.boxes import CornerOverlaps, keep_best
from ir_exec.kernels.compressed import CompressedMatrix, multiply_rows
from ir_exec.kernels.elementwise import select, truncated_remainder
from ir_exec.kernels.gather import take_along_axis
from ir_exec.kernels.parallel import THREADS, Worker, for_each
from ir_exec.kernels.scatter import put_slices
from ir_exec.kernels.scatter_reduced import ReducingUpdate
from ir_exec.kernels.softmax import softmax
from ir_exec.kernels.sorting import least_indices
from ir_exec.ops.arithmetic.cumsum import CumSum
from ir_exec.tuning import thresholds
from ir_exec.types import ElementType

RNG = np.random.default_rng(0)


def nanoseconds(function: Callable[[], object], seconds: float = 0.1) -> float:
    """Return the minimum time of a call, in nanoseconds."""
    function()
    least, end = inf, perf_counter() + seconds
    while perf_counter() < end:
        start = perf_counter()
        function()
        least = min(least, perf_counter() - start)
    return least * 1e9


def random_elements() -> None:
    print("\nELEMENT_NANOSECONDS: random f32 of a tensor, ns per element")
    for power in range(14, 28, 2):
        data = RNG.random(2**power // 4, dtype=np.float32)
        indices = RNG.integers(0, data.size, 2**17)
        output = np.empty(indices.size, np.float32)

        def take() -> None:
            np.take(data, indices, out=output, mode="clip")  # noqa: B023  # called before the next round

        print(f"{2**power:>12,} bytes {nanoseconds(take) / indices.size:8.2f}")


def slices() -> None:
    print("\nBYTE_NANOSECONDS: random slices of 4 MiB, ns per slice to read and to write")
    data = RNG.random(2**20, dtype=np.float32)
    for nbytes in (4, 16, 64, 256, 512, 1024, 4096, 16384):
        rows = data.reshape(-1, nbytes // 4)
        indices = RNG.integers(0, len(rows), min(len(rows), 2**12))
        values = rows[indices]
        items, updates = (array.reshape(-1).view(f"V{nbytes}") for array in (rows, values))
        read = nanoseconds(lambda: np.take(rows, indices, axis=0, out=values, mode="clip"))  # noqa: B023  # as above
        write = nanoseconds(lambda: np.put(items, indices, updates, mode="clip"))  # noqa: B023  # as above
        print(f"{nbytes:>12,} bytes {read / len(indices):8.1f} {write / len(indices):8.1f}")


def pieces() -> None:
    print("\nCHUNK_ELEMENTS: five steps of f32 arithmetic in chunks of this many elements, ns per element")
    data = RNG.random(2**22, dtype=np.float32)
    output = np.empty_like(data)

    def compute(step: int) -> None:
        for start in range(0, data.size, step):
            part = data[start : start + step]
            result = part * 2
            result += 1
            result *= result
            result -= part
            output[start : start + step] = result

    for power in range(10, 23):
        time = nanoseconds(lambda: compute(2**power), 0.3)  # noqa: B023  # as above
        print(f"{2**power:>12,} elements {time / data.size:8.2f}")


def functions() -> None:
    print("\nRemainders: np.fmod, and quotients in f64, ns per call")
    for power in (4, 8, 10, 11, 12, 14):
        data, divisors = (RNG.normal(size=2**power).astype(np.float32) for _ in range(2))
        plain = nanoseconds(lambda: np.fmod(data, divisors))  # noqa: B023  # as above
        few, thresholds.CALL_ELEMENTS = thresholds.CALL_ELEMENTS, 0
        ours = nanoseconds(lambda: truncated_remainder(data, divisors))  # noqa: B023
        thresholds.CALL_ELEMENTS = few
        print(f"{2**power:>12,} elements {plain:8.0f} {ours:8.0f}")
    print("\nSelections: np.where, and bit masks, ns per call, for random conditions and for two halves")
    for power in (10, 11, 12, 13, 14, 16):
        data, others = (RNG.normal(size=2**power).astype(np.float32) for _ in range(2))
        for conditions in (RNG.random(data.size) < 0.5, np.arange(data.size) * 2 < data.size):
            few, thresholds.CALL_ELEMENTS = thresholds.CALL_ELEMENTS, 2**20
            plain = nanoseconds(lambda: select(conditions, data, others))  # noqa: B023  # as above
            thresholds.CALL_ELEMENTS = 0
            ours = nanoseconds(lambda: select(conditions, data, others))  # noqa: B023
            thresholds.CALL_ELEMENTS = few
            print(f"{2**power:>12,} elements {plain:8.0f} {ours:8.0f}")
    print("\nSoftmax: 64 slices of 512, ns per element")
    for dtype in (np.float16, np.float32):
        scores = RNG.random((64, 512, 1)).astype(dtype)
        print(f"{dtype.__name__:>12} {nanoseconds(lambda: softmax(scores)) / scores.size:8.2f}")  # noqa: B023


def products() -> None:
    print("\nProducts: multiplications per nanosecond of f32 products")
    for size in (1, 4, 8, 16, 32, 64, 128):
        wide = RNG.random((256, 512), dtype=np.float32)
        rows, columns = RNG.random((size, 256), dtype=np.float32), RNG.random((512, size), dtype=np.float32)
        few_rows = nanoseconds(lambda: rows @ wide)  # noqa: B023  # as above
        few_columns = nanoseconds(lambda: wide @ columns)  # noqa: B023  # as above
        count = size * wide.size
        print(f"{size:>12,} rows {count / few_rows:8.1f}    columns {count / few_columns:8.1f}")
    print("\nCHUNK_LINES: products in chunks of this size, relative to the whole product")
    high, narrow = RNG.random((1024, 512), dtype=np.float32), RNG.random((512, 128), dtype=np.float32)
    low, wide = RNG.random((128, 512), dtype=np.float32), RNG.random((512, 1024), dtype=np.float32)
    uncut = nanoseconds(lambda: high @ narrow), nanoseconds(lambda: low @ wide)
    for size in (32, 64, 96, 128, 256):
        starts = range(0, 1024, size)
        rows_cut = nanoseconds(lambda: [high[i : i + size] @ narrow for i in starts])  # noqa: B023  # as above
        columns_cut = nanoseconds(lambda: [low @ wide[:, i : i + size] for i in starts])  # noqa: B023  # as above
        print(f"{size:>12,} rows {rows_cut / uncut[0]:8.2f}    columns {columns_cut / uncut[1]:8.2f}")


def threads() -> None:
    print("\nSHARED_NANOSECONDS: eight chunks of work on one and two threads, us")
    data = np.ones(2**14, np.float32)
    for count in (1, 5, 10, 20, 40):

        def make_worker() -> Worker:
            def work(_number: int) -> None:
                for _ in range(count):  # noqa: B023  # as above
                    np.sqrt(data)

            return work

        times = []
        for number in (1, 2):
            token = THREADS.set(number)
            samples = []
            for _ in range(200):
                start = perf_counter()
                for_each(8, make_worker)
                samples.append(perf_counter() - start)
            times.append(median(samples) * 1e6)
            THREADS.reset(token)
        print("".join(f"{time:12.0f}" for time in times))


def kernels() -> None:
    """Time kernels with numbers that differ from `thresholds`."""
    corners = RNG.random((2, 3000)) * 100
    boxes = np.concatenate([corners, corners + RNG.random((2, 3000)) * 20]).astype(np.float32)
    overlaps = CornerOverlaps(boxes)
    with_numbers("BOXES_AT_ONCE", (32, 64, 128, 256, 512), lambda: keep_best(3000, overlaps, 0.3))

    target, places = RNG.random((10**5, 32), dtype=np.float32), RNG.zipf(1.5, 40_000) % 5000
    updates = RNG.random((len(places), 32), dtype=np.float32)
    powers = (2**8, 2**10, 2**12, 2**14, 2**16)
    with_numbers("CALL_ELEMENTS", powers, lambda: ReducingUpdate("sum").slices(target, places, updates))

    data, indices = RNG.random((8, 4000), dtype=np.float32), RNG.integers(0, 4000, (8, 128))
    with_numbers("TABLE_ELEMENTS", (0, 2**13), lambda: take_along_axis(data, indices, 1))

    # New rows every time: branch prediction learns the order of rows that are sorted repeatedly.
    keys = cycle(RNG.random((64, 4, 1080), dtype=np.float32))
    with_numbers("CALL_ELEMENTS", (0, 10**9), lambda: least_indices(next(keys), 1080, 1))
    few = cycle(RNG.random((64, 4, 50), dtype=np.float32))
    with_numbers("CALL_ELEMENTS", (0, 10**9), lambda: least_indices(next(few), 50, 1))

    summed, axis = RNG.random((256, 768), dtype=np.float32), np.array(1)
    with_numbers("TABLE_ELEMENTS", (0, 10**9), lambda: CumSum().evaluate(summed, axis))

    rows, values = RNG.random((1, 2**14, 128), dtype=np.float32), RNG.random((1, 2**13, 128), dtype=np.float32)
    chosen, output = RNG.integers(0, 2**14, 2**13), np.empty_like(rows)
    with_numbers("LONG_ROW", (1, 10**9), lambda: put_slices(rows, chosen, values, output))


def decoding() -> None:
    print("\nNEAR_ELEMENT_NANOSECONDS: the passes over a block of 2**18 weights in the cache, ns per weight")
    rows, columns = 128, 2048
    weights = RNG.random((rows, columns), dtype=np.float32)
    half, vector = weights[:, : columns // 2], weights[0]
    stored = RNG.integers(0, 256, half.shape, np.uint8)
    words = weights.view(np.int32)
    short = weights.astype(np.float16)
    table = RNG.random(256)
    codes, decoded, pairs = np.empty_like(stored), np.empty_like(weights), np.empty(half.shape)
    passes: dict[str, Callable[[], object]] = {
        "u4: the lower or the upper half of each byte": lambda: np.bitwise_and(stored, 15, out=codes),
        "u4: half of the codes to f32": lambda: np.copyto(decoded[:, : columns // 2], codes),
        "u4: two weights by a table of pairs": lambda: np.take(table, stored, out=pairs, mode="clip"),
        "f16: a shift or a mask": lambda: np.right_shift(words, 3, out=decoded.view(np.int32)),
        "f16: NumPy's conversion": lambda: np.copyto(decoded, short),
        "the product with one token": lambda: weights @ vector,
    }
    for name, function in passes.items():
        print(f"{name:46} {nanoseconds(function) / weights.size:8.3f}")
    for element_type, matrix in _compressed_matrices():
        product = partial(multiply_rows, RNG.random((1, matrix.columns), dtype=np.float32), matrix)
        print(f"\none token by {matrix.rows:,} x {matrix.columns:,} weights of {element_type}")
        numbers = (2**17, 2**18, 2**19, 2**20)
        with_numbers("WINDOW_ELEMENTS", numbers, partial(product, np.empty((1, matrix.rows), np.float32)))


def _compressed_matrices() -> Iterator[tuple[str, CompressedMatrix]]:
    rows, columns, groups = 5632, 2048, 16
    scale = RNG.random((rows, groups), dtype=np.float32).astype(np.float16)
    zero = RNG.integers(0, 16, (rows, groups), np.uint8)
    stored = RNG.integers(0, 256, (rows, columns // 2), np.uint8)
    floats = RNG.random((rows, columns), dtype=np.float32).astype(np.float16).view(np.uint8)
    for element_type, matrix in (
        ("u4", CompressedMatrix.of(stored, ElementType.u4, columns, scale=scale, zero=zero)),
        ("f16", CompressedMatrix.of(floats, ElementType.f16, columns)),
    ):
        if matrix is not None:
            yield element_type, matrix


def with_numbers(name: str, numbers: Sequence[int], function: Callable[[], object]) -> None:
    """Print the time of the function with each of these numbers in `thresholds`."""
    print(f"\n{name}: us")
    own = getattr(thresholds, name)
    for number in numbers:
        setattr(thresholds, name, number)
        print(f"{number:>14,} {nanoseconds(function) / 1000:12.1f}")
    setattr(thresholds, name, own)


def main() -> None:
    for experiment in (random_elements, slices, pieces, functions, products, threads, kernels, decoding):
        experiment()


if __name__ == "__main__":
    main()
