"""Gather and scatter in chunks, on several threads, against plain loops.

The constants that decide on chunks are made so small here that a few elements are many chunks.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from ir_exec.errors import EvaluationError
from ir_exec.kernels.offsets import AlongAxis
from ir_exec.kernels.parallel import THREADS
from ir_exec.tuning.machine import pretend
from ir_exec.types import Array
from tests.conformance.numbers import replace_thresholds
from tests.helpers.facts import fault_with
from tests.helpers.operators import make

CONSTANTS = {
    "CHUNK_ELEMENTS": (1, 3, 8, 40),
    "FEW_ELEMENTS": (1, 2, 30),
    "TABLE_ELEMENTS": (0, 0, 5),
    "INTERMEDIATE_ELEMENTS": (0, 0, 10),
    "CHUNK_NANOSECONDS": (1, 10, 100),
    "RUN_ELEMENTS": (1, 4, 64),
    "WORKING_ELEMENTS": (1, 10, 400, 10**6),
    "LONG_ROW": (1, 8, 64),
    "CALL_ELEMENTS": (1, 4, 16),
    "SHARED_NANOSECONDS": (0,),
}
CACHES = {"core_cache_bytes": (1, 16, 64), "shared_cache_bytes": (1, 64, 10**6), "cache_line_bytes": (4, 12)}
DTYPES = (np.float32, np.float16, np.int8, np.int64, np.bool_, object)
INDEX_DTYPES = (np.int32, np.int64, np.int8, np.uint8, np.uint64)


@pytest.fixture(params=range(40))
def rng(request: pytest.FixtureRequest) -> Iterator[np.random.Generator]:
    """Random numbers, in a world of small chunks and up to three threads."""
    rng = np.random.default_rng(request.param)
    numbers = {name: int(rng.choice(values)) for name, values in CONSTANTS.items()}
    caches = {name: int(rng.choice(values)) for name, values in CACHES.items()}
    token = THREADS.set(int(rng.integers(1, 4)))
    with pretend(**caches), replace_thresholds(numbers):
        yield rng
    THREADS.reset(token)


def some_shape(rng: np.random.Generator, least: int, most: int, sizes: tuple[int, int] = (1, 6)) -> tuple[int, ...]:
    return tuple(rng.integers(*sizes, rng.integers(least, most + 1)).tolist())


def some_data(rng: np.random.Generator, shape: tuple[int, ...], dtype: type) -> Array:
    data = rng.integers(-5, 6, shape)
    data = data.astype(str).astype(object) if dtype is object else data.astype(dtype)
    return np.asarray(data, order="F" if rng.random() < 0.2 else "C")


def some_indices(rng: np.random.Generator, size: int, shape: tuple[int, ...], dtype: type, *, negative: bool) -> Array:
    signed = np.dtype(dtype).kind == "i"
    return rng.integers(-size if negative and signed else 0, size, shape).astype(dtype)


def some_tuples(rng: np.random.Generator, sizes: tuple[int, ...], leading: tuple[int, ...]) -> Array:
    dtype = rng.choice([np.int32, np.int64])
    columns = [some_indices(rng, size, leading, dtype, negative=True) for size in sizes]
    return np.stack(columns, -1) if columns else np.zeros((*leading, 0), dtype)


def same(actual: Array, expected: Array) -> bool:
    return actual.dtype == expected.dtype and actual.shape == expected.shape and bool((actual == expected).all())


def check_scattered(
    operator_name: str, opset: int, attributes: dict[str, object], expected: Array, data: Array, *inputs: Array
) -> None:
    operator = make(operator_name, opset, **attributes)
    before = data.copy()
    with np.errstate(all="ignore"):
        assert same(operator.evaluate(data, *inputs), expected)
        assert same(data, before)
        own = data.copy(order="C")
        actual = operator.evaluate(own, *inputs, out=own)
    assert actual is own
    assert same(own, expected)


def test_GatherElements(rng: np.random.Generator) -> None:
    for _ in range(8):
        shape = some_shape(rng, 1, 3)
        axis = int(rng.integers(len(shape)))
        data = some_data(rng, shape, DTYPES[rng.integers(len(DTYPES))])
        chosen = (*shape[:axis], int(rng.integers(0, 8)), *shape[axis + 1 :])
        indices = some_indices(rng, shape[axis], chosen, rng.choice([np.int32, np.int64]), negative=True)
        expected = np.empty(chosen, data.dtype)
        for index in np.ndindex(*chosen):
            expected[index] = data[(*index[:axis], indices[index], *index[axis + 1 :])]
        assert same(make("GatherElements", 6, axis=axis).evaluate(data, indices), expected)


def test_Gather(rng: np.random.Generator) -> None:
    for _ in range(8):
        shape = some_shape(rng, 1, 3)
        batch = int(rng.integers(0, min(2, len(shape))))
        axis = int(rng.integers(batch, len(shape)))
        data = some_data(rng, shape, DTYPES[rng.integers(len(DTYPES))])
        chosen = shape[:batch] + some_shape(rng, 0, 2, (0, 5))
        indices = some_indices(rng, shape[axis], chosen, INDEX_DTYPES[rng.integers(5)], negative=True)
        expected = np.empty(shape[:axis] + chosen[batch:] + shape[axis + 1 :], data.dtype)
        for position in itertools.product(*map(range, chosen)):
            into = (*position[:batch], *(slice(None),) * (axis - batch), *position[batch:])
            expected[into] = data[(*position[:batch], *(slice(None),) * (axis - batch), int(indices[position]))]
        operator = make("Gather", 8, batch_dims=batch)
        assert same(operator.evaluate(data, indices, np.array(axis)), expected)


def test_GatherND(rng: np.random.Generator) -> None:
    for _ in range(8):
        shape = some_shape(rng, 1, 3)
        batch = int(rng.integers(0, min(2, len(shape))))
        length = int(rng.integers(0, len(shape) - batch + 1))
        data = some_data(rng, shape, DTYPES[rng.integers(len(DTYPES))])
        indices = some_tuples(rng, shape[batch : batch + length], shape[:batch] + some_shape(rng, 0, 2, (0, 5)))
        expected = np.empty(indices.shape[:-1] + shape[batch + length :], data.dtype)
        for position in np.ndindex(*indices.shape[:-1]):
            expected[position] = data[position[:batch] + tuple(indices[position])]
        assert same(make("GatherND", 8, batch_dims=batch).evaluate(data, indices), expected)


def test_ScatterUpdate(rng: np.random.Generator) -> None:
    for _ in range(8):
        shape = some_shape(rng, 1, 3)
        axis = int(rng.integers(len(shape)))
        dtype = DTYPES[rng.integers(len(DTYPES))]
        data = some_data(rng, shape, dtype)
        chosen = some_shape(rng, 0, 2, (0, 6))
        indices = some_indices(rng, shape[axis], chosen, INDEX_DTYPES[rng.integers(5)], negative=False)
        updates = some_data(rng, shape[:axis] + chosen + shape[axis + 1 :], dtype)
        expected, front = data.copy(), (slice(None),) * axis
        for position in np.ndindex(*chosen):
            expected[(*front, int(indices[position]))] = updates[front + position]
        check_scattered("ScatterUpdate", 3, {}, expected, data, indices, updates, np.array(axis))


REDUCE = {
    "none": lambda old, new: new,
    "sum": lambda old, new: old + new,
    "sub": lambda old, new: old - new,
    "prod": lambda old, new: old * new,
    "min": min,
    "max": max,
}


@pytest.mark.parametrize("reduction", ["none", "sum", "prod", "min", "max", "mean"])
@pytest.mark.parametrize("use_init_val", [True, False])
def test_ScatterElementsUpdate(rng: np.random.Generator, reduction: str, use_init_val: bool) -> None:
    shape = some_shape(rng, 1, 3)
    axis = int(rng.integers(len(shape)))
    dtype = (np.float32, np.int64, np.int32)[rng.integers(3)]
    data = some_data(rng, shape, dtype)
    chosen = [int(rng.integers(0 if rng.random() < 0.3 else size, size + 1)) for size in shape]
    chosen[axis] = int(rng.integers(0, 8))
    indices = some_indices(rng, shape[axis], tuple(chosen), INDEX_DTYPES[rng.integers(5)], negative=True)
    updates = some_data(rng, tuple(chosen), dtype)
    met: dict[tuple[int, ...], list[int]] = {}
    for index in np.ndindex(*chosen):
        to = (*index[:axis], int(indices[index]) % shape[axis], *index[axis + 1 :])
        met.setdefault(to, [int(data[to])] if use_init_val and reduction != "none" else []).append(int(updates[index]))
    expected = data.copy()
    for to, values in met.items():
        if reduction == "mean":
            is_integer = np.dtype(dtype).kind == "i"
            expected[to] = (
                sum(values) // len(values) if is_integer else np.float32(sum(values)) / np.float32(len(values))
            )
        else:
            first, *others = values
            for value in others:
                first = REDUCE[reduction](first, value)
            expected[to] = first
    attributes = {"reduction": reduction, "use_init_val": use_init_val}
    check_scattered("ScatterElementsUpdate", 12, attributes, expected, data, indices, updates, np.array(axis))


@pytest.mark.parametrize("reduction", ["none", "sum", "sub", "prod", "min", "max"])
def test_ScatterNDUpdate(rng: np.random.Generator, reduction: str) -> None:
    shape = some_shape(rng, 1, 3)
    length = int(rng.integers(0, len(shape) + 1))
    dtype = (np.float32, np.int64, np.int32)[rng.integers(3)]
    data = some_data(rng, shape, dtype)
    indices = some_tuples(rng, shape[:length], some_shape(rng, 0, 2, (0, 6)))
    updates = some_data(rng, indices.shape[:-1] + shape[length:], dtype)
    expected = data.copy()
    for position in np.ndindex(*indices.shape[:-1]):
        start = tuple(int(index) % size for index, size in zip(indices[position], shape, strict=False))
        for inner in np.ndindex(*shape[length:]):
            with np.errstate(over="ignore"):
                expected[start + inner] = REDUCE[reduction](expected[start + inner], updates[position + inner])
    check_scattered("ScatterNDUpdate", 15, {"reduction": reduction}, expected, data, indices, updates)


def test_out_of_range_index_is_named_in_any_chunk(rng: np.random.Generator) -> None:
    data = np.zeros((7, 5), np.float32)
    row, column = (int(number) for number in rng.integers(0, (7, 5)))
    indices = rng.integers(0, 5, (7, 5))
    indices[row, column] = 5
    fault = fault_with(f"indices[{row},{column}]", "axis", 1, "data", actual=5, expected="-5 to 4")
    for operator, inputs in [
        (make("GatherElements", 6, axis=1), (indices,)),
        (make("Gather", 7), (indices, np.array(1))),
        (make("ScatterElementsUpdate", 12), (indices, data, np.array(1))),
        (make("ScatterElementsUpdate", 12, reduction="sum"), (indices, data, np.array(1))),
    ]:
        with pytest.raises(EvaluationError) as caught:
            operator.evaluate(data, *inputs)
        assert caught.value == fault


def test_sums_do_not_depend_on_chunks(rng: np.random.Generator) -> None:
    data = rng.normal(size=(3, 4)).astype(np.float32)
    indices = rng.integers(0, 3, (60, 4))
    updates = (rng.normal(size=(60, 4)) * 10.0 ** rng.integers(-6, 6, (60, 4))).astype(np.float32)
    expected = data.copy()
    for row in range(60):
        for column in range(4):
            expected[indices[row, column], column] += updates[row, column]
    check_scattered("ScatterElementsUpdate", 12, {"reduction": "sum"}, expected, data, indices, updates, np.array(0))
    rows = indices[:, :1]
    expected = data.copy()
    for row in range(60):
        expected[rows[row, 0]] += updates[row]
    check_scattered("ScatterNDUpdate", 15, {"reduction": "sum"}, expected, data, rows, updates)


@pytest.mark.parametrize(("size", "after"), [(2**12, 512), (2**14, 512), (2**16, 256), (2**18, 128), (2**21, 8)])
def test_work_copies_take_little_memory(size: int, after: int) -> None:
    before, rows, columns = AlongAxis(1, size, after, size).tiles(4, copied=True)
    assert before * rows * columns <= 2**18
    assert columns == after or size * columns * 4 <= 2**23
