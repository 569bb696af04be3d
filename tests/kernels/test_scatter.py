"""The lists of ways to scatter and to gather: which way is taken, and that all that apply give the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ir_exec.kernels import gather, scatter
from ir_exec.kernels.indices import OutOfRangeError
from ir_exec.kernels.offsets import Strategy, choose
from ir_exec.types import Array

RNG = np.random.default_rng(0)


def numbers(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float32)


def places(size: int, *shape: int) -> Array:
    return RNG.integers(-size, size, shape).astype(np.int32)


ALONG_AXIS = {
    "strided": (numbers(300, 40).T, places(300, 40, 5), 1),
    "table": (numbers(3, 40), places(40, 3, 5), 1),
    "tiles": (numbers(600, 500), places(500, 600, 500), 1),
}

SLICES = {
    "numpy": (numbers(30, 4), places(30, 5), 0, 0),
    "table": (numbers(2, 30, 4), places(30, 2, 5), 1, 1),
    "elements in tiles": (numbers(300), places(300, 600_000), 0, 0),
    "strided": (numbers(40, 300).T, places(300, 5), 0, 0),
    "tiles": (numbers(3000, 100), places(3000, 40_000), 0, 0),
}

TUPLES = {
    "numpy": (numbers(30, 4), places(4, 5, 2), 0),
    "table": (numbers(30, 40), places(30, 2500, 2), 0),
    "chunks": (numbers(30, 40), places(30, 150_000, 2), 0),
}


@pytest.mark.parametrize(
    ("strategies", "name", "arguments"),
    [
        pytest.param(strategies, name, arguments, id=f"{kernel} {name}")
        for kernel, strategies, examples in (
            ("along axis", gather.ALONG_AXIS, ALONG_AXIS),
            ("slices", gather.SLICES, SLICES),
            ("tuples", gather.TUPLES, TUPLES),
        )
        for name, arguments in examples.items()
    ],
)
def test_each_way_to_gather(strategies: tuple[Strategy[Any, Any], ...], name: str, arguments: tuple[Any, ...]) -> None:
    assert choose(strategies, *arguments).name == name
    results = [strategy.run(*arguments) for strategy in strategies if strategy.applies(*arguments)]
    for result in results:
        assert result.dtype == results[0].dtype
        assert np.array_equal(result, results[0])


@pytest.mark.parametrize(
    ("strategies", "examples"),
    [(gather.ALONG_AXIS, ALONG_AXIS), (gather.SLICES, SLICES), (gather.TUPLES, TUPLES)],
    ids=["along axis", "slices", "tuples"],
)
def test_no_way_to_gather_reads_out_of_range(
    strategies: tuple[Strategy[Any, Any], ...], examples: dict[str, tuple[Any, ...]]
) -> None:
    assert [strategy.name for strategy in strategies] == list(examples)
    for strategy in strategies:
        data, indices, *inputs = examples[strategy.name]
        indices = indices.astype(np.int32)
        indices.reshape(-1)[-1] = max(data.shape)
        with pytest.raises(OutOfRangeError):
            strategy.run(data, indices, *inputs)


@pytest.mark.parametrize(
    ("name", "shape", "chosen"),
    [("table", (3, 40), (3, 5)), ("part", (30, 4000), (20, 4000)), ("tiles", (30, 4000), (30, 4000))],
)
def test_each_way_to_scatter_along_an_axis(name: str, shape: tuple[int, int], chosen: tuple[int, int]) -> None:
    data, indices, updates = numbers(*shape), places(shape[1], *chosen), numbers(*chosen)
    arguments = (data, indices, updates, 1, np.empty_like(data), True, scatter.assign)
    assert choose(scatter.ALONG_AXIS, *arguments).name == name
    expected = data.copy()
    for i, j in np.ndindex(*chosen):
        expected[i, indices[i, j]] = updates[i, j]
    scatter.put_along_axis(*arguments[:5], negative=True)
    assert np.array_equal(arguments[4], expected)


@pytest.mark.parametrize(
    ("name", "size", "after", "count"),
    [
        ("numpy", 30, 4, 20),
        ("last of each", 300, 128, 200),
        ("last of each", 3000, 16, 3001),
        ("one by one", 3000, 16, 9),
    ],
)
def test_each_way_to_scatter_slices(name: str, size: int, after: int, count: int) -> None:
    data, positions, updates = numbers(1, size, after), np.abs(places(size - 1, count)), numbers(1, count, after)
    output = np.empty_like(data)
    assert choose(scatter.SLICES, data, positions, updates, output).name == name
    expected = data.copy()
    for j, position in enumerate(positions):
        expected[:, position] = updates[:, j]
    for strategy in scatter.SLICES:
        output[...] = np.nan
        strategy.run(data, positions, updates, output)
        assert np.array_equal(output, expected), strategy.name
