"""Weights in memory: arrays are returned as they are, their bytes are those of a .bin."""

import pickle

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ir_exec.codes import Code
from ir_exec.errors import WeightsError
from ir_exec.ir import Weights, array_weights, encode
from ir_exec.ir.array_weights import ArrayWeights, reserve_offset, stored_size
from ir_exec.types import ElementType

ARRAYS = [
    np.arange(6, dtype=np.float32).reshape(2, 3),
    np.array([True, False]),
    np.array(5, np.int64),
    np.array(["a", "bcd"], object),
    np.array([1, -2, 3], ml_dtypes.int4),
    np.zeros((0, 4), np.float16),
    np.array([1.5, 2.5], ml_dtypes.bfloat16),
]


def weights_of(*arrays):
    by_offset = {reserve_offset(stored_size(array)): array for array in arrays}
    return ArrayWeights(by_offset), list(by_offset)


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.dtype}{list(array.shape)}")
def test_arrays_and_their_bytes(array):
    weights, (offset,) = weights_of(array)
    element_type = ElementType.of(array)
    for source in (weights, pickle.loads(pickle.dumps(weights))):
        actual = source.read(element_type, array.shape, offset, stored_size(array))
        assert actual.dtype == array.dtype
        assert np.array_equal(actual, array)
        assert not actual.flags.writeable
        assert bytes(source.slice(offset, stored_size(array))) == encode(array)


def test_an_array_is_not_copied():
    array = np.ones((1000, 10), np.float32)
    weights, (offset,) = weights_of(array)
    assert np.shares_memory(weights.read(ElementType.f32, (1000, 10), offset, 40_000), array)
    assert np.shares_memory(np.frombuffer(weights.slice(offset, 40_000), np.uint8), array)
    assert array.flags.writeable


@given(st.integers(0, 80), st.integers(0, 80))
def test_any_range_of_bytes(start, size):
    array = np.arange(10, dtype=np.float64)
    weights, (offset,) = weights_of(array)
    assert bytes(weights.slice(offset + start, size)) == array.tobytes()[start : start + size]


def test_a_file_below_the_arrays():
    base = Weights.of_bytes(np.arange(4, dtype=np.int32).tobytes())
    _, (offset,) = weights_of(ARRAYS[0])
    weights = ArrayWeights({offset: ARRAYS[0]}, base)
    assert weights.read(ElementType.i32, (2,), 8, 8).tolist() == [2, 3]
    assert weights.read(ElementType.f32, (2, 3), offset, 24).tolist() == ARRAYS[0].tolist()
    more = weights.append(b"\1\2\3\4")
    assert more.read(ElementType.u8, (2,), weights.size + 1, 2).tolist() == [2, 3]
    assert more.read(ElementType.f32, (2, 3), offset, 24).tolist() == ARRAYS[0].tolist()


def test_missing_arrays():
    weights, (offset,) = weights_of(ARRAYS[0])
    for start, size in ((offset + 16, 24), (offset + 2**30, 24), (0, 24)):
        with pytest.raises(WeightsError) as caught:
            weights.read(ElementType.f32, (2, 3), start, size)
        assert caught.value.code == Code.weights_short


def test_no_two_arrays_have_one_offset():
    first, second = reserve_offset(1000), reserve_offset(1)
    assert second >= first + 1000
    assert reserve_offset(1) > second


def test_memory_of_many_arrays_is_found_by_address(monkeypatch: pytest.MonkeyPatch) -> None:
    block = np.arange(3000, dtype=np.float32).reshape(300, 10)
    stored = [block[row, 2:6] for row in range(0, 300, 3)]
    weights, _ = weights_of(*stored, block[299])
    views = [block[row] for row in range(300)]
    expected = [any(np.may_share_memory(view, array) for array in (*stored, block[299])) for view in views]
    calls: list[None] = []
    bounds = array_weights.byte_bounds
    weights.holds(views[0])
    monkeypatch.setattr(array_weights, "byte_bounds", lambda array: calls.append(None) or bounds(array))
    assert [weights.holds(view) for view in views] == expected
    assert len(calls) == len(views)
    assert not weights.holds(block[0, :2])
    assert weights.holds(block[::-1])
