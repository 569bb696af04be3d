"""Offsets of single elements, against NumPy's, also where they are beyond the type of the indices."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ir_exec.kernels.indices import element_offsets


@given(
    shape=st.lists(st.sampled_from([1, 2, 3, 2**16]), min_size=1, max_size=4).filter(lambda shape: prod(shape) < 2**62),
    dtype=st.sampled_from([np.int8, np.int32, np.int64, np.uint8]),
    data=st.data(),
)
def test_offsets_of_elements_are_those_of_numpy(shape: list[int], dtype: type, data: st.DataObject) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    block = [min(size, 2) if dim != axis else 3 for dim, size in enumerate(shape)]
    highest = min(shape[axis], np.iinfo(dtype).max + 1)
    positions = np.random.default_rng(len(shape)).integers(0, highest, block).astype(dtype)
    actual = element_offsets(positions, axis, shape)
    assert actual.dtype == np.int64
    strides = [int(np.prod(shape[dim + 1 :])) for dim in range(len(shape))]
    for position in np.ndindex(*block):
        index = [*position[:axis], int(positions[position]), *position[axis + 1 :]]
        assert actual[position] == sum(i * stride for i, stride in zip(index, strides, strict=True))


@pytest.mark.parametrize("dtype", [np.int8, np.int32])
def test_offsets_are_wider_than_indices(dtype: type) -> None:
    assert element_offsets(np.array([[3]], dtype), 0, (4, 2**30)).tolist() == [[3 * 2**30]]
    assert element_offsets(np.array([[100]], dtype), 0, (101, 2**20)).tolist() == [[100 * 2**20]]
