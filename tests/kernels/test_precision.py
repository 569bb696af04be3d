"""Sums of 16-bit floats are made in f32 and rounded once, for every operator."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ir_exec.kernels.precision import round_to
from ir_exec.types import Array, ElementType
from tests.helpers.operators import evaluate, make

PADS = {"strides": "1,1", "dilations": "1,1", "pads_begin": "0,0", "pads_end": "0,0"}
GREATEST = {"f16": 2048, "bf16": 256}
"""The start of the range of even numbers only: additions of 1, one by one, change nothing."""

int64 = np.int64


def along(numbers: Array, *shape: int) -> Array:
    return numbers.reshape(shape)


SUMS: dict[str, Callable[[Array], Array]] = {
    "ReduceSum": lambda x: evaluate(make("ReduceSum", 1), x, np.array([0])),
    "ReduceL1": lambda x: evaluate(make("ReduceL1", 4), x, np.array([0])),
    "CumSum": lambda x: evaluate(make("CumSum", 3), x, np.array(0))[-1:],
    "MatMul": lambda x: evaluate(make("MatMul", 1), along(x, 1, -1), np.ones((len(x), 1), x.dtype)),
    "Einsum": lambda x: evaluate(make("Einsum", 7, equation="i,i->"), x, np.ones_like(x)),
    "Einsum of one": lambda x: evaluate(make("Einsum", 7, equation="i->"), x),
    "Convolution": lambda x: evaluate(
        make("Convolution", 1, **PADS), along(x, 1, 1, 1, -1), np.ones((1, 1, 1, len(x)), x.dtype)
    ),
    "GroupConvolution": lambda x: evaluate(
        make("GroupConvolution", 1, **PADS), along(x, 1, 1, 1, -1), np.ones((1, 1, 1, 1, len(x)), x.dtype)
    ),
    "ConvolutionBackpropData": lambda x: evaluate(
        make("ConvolutionBackpropData", 1, **PADS), along(x, 1, -1, 1, 1), np.ones((len(x), 1, 1, 1), x.dtype)
    ),
    "Col2Im": lambda x: evaluate(
        make("Col2Im", 15, strides="1,1"), along(np.diag(x[::-1])[::-1], -1, len(x)), *overlapping(len(x))
    )[..., len(x) - 1],
    "EmbeddingBagPackedSum": lambda x: evaluate(
        make("EmbeddingBagPackedSum", 3), along(x, -1, 1), every(x)[np.newaxis]
    ),
    "EmbeddingBagOffsetsSum": lambda x: evaluate(
        make("EmbeddingBagOffsetsSum", 3), along(x, -1, 1), every(x), np.array([0])
    ),
    "EmbeddingSegmentsSum": lambda x: evaluate(
        make("EmbeddingSegmentsSum", 3), along(x, -1, 1), every(x), np.zeros(len(x), int64), np.array(1)
    ),
}


def every(x: Array) -> Array:
    return np.arange(len(x))


def overlapping(count: int) -> tuple[Array, Array]:
    """The sizes of an image and of a kernel whose windows all meet in one element."""
    return np.array([1, 2 * count - 1]), np.array([1, count])


@pytest.mark.parametrize("type_name", GREATEST)
@pytest.mark.parametrize("operator", SUMS)
def test_added_values_are_not_lost(operator: str, type_name: str) -> None:
    numbers = np.array([GREATEST[type_name], 1, 1, 1, 1], ElementType[type_name].dtype)
    actual = SUMS[operator](numbers)
    assert actual.dtype == numbers.dtype
    assert float(actual.reshape(())) == GREATEST[type_name] + 4


@pytest.mark.parametrize("type_name", ["u64", "i64", "u32", "i32", "u16", "i8"])
def test_floats_become_integers_by_way_of_64_bits(type_name: str) -> None:
    dtype = ElementType[type_name].dtype
    most = 2.0**62 if type_name in ("i64", "u64") else float(np.iinfo(dtype).max)
    numbers = np.array([0.0, 1.75, 2.0**31 + 0.5 if most > 2.0**32 else 3.5, most])
    assert round_to(numbers, dtype).tolist() == [int(number) for number in numbers]
