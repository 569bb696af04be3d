"""Strings as begins, ends and characters."""

from __future__ import annotations

import numpy as np
import pytest

from ir_exec import EvaluationError, ResourceError
from ir_exec.codes import Code
from ir_exec.kernels import strings
from ir_exec.kernels.limits import LIMITS, Budget, Limits, MemoryMeter, current_limits, limited_memory
from ir_exec.kernels.strings import encode_text, join_strings
from tests.helpers.facts import coded


def test_strings_in_any_shape() -> None:
    begins, ends, chars = join_strings(iter([b"ab", b"", b"cde"]), (3, 1))
    assert (begins.tolist(), ends.tolist(), chars.tobytes()) == ([[0], [2], [2]], [[2], [2], [5]], b"abcde")
    assert (begins.dtype, ends.dtype, chars.dtype) == (np.int32, np.int32, np.uint8)
    empty = join_strings([], (0, 2))
    assert [array.shape for array in empty] == [(0, 2), (0, 2), (0,)]


def test_places_beyond_i32(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strings, "MOST_CHARACTERS", 4)
    assert join_strings([b"abcd"], (1,))[2].size == 4
    with pytest.raises(ResourceError, check=coded(Code.limit_exceeded)):
        join_strings([b"abcd", b"e"], (2,))


def test_strings_are_not_computed_beyond_the_budget() -> None:
    computed = []

    def texts() -> object:
        for number in range(1000):
            computed.append(number)
            yield bytes(10_000)

    with limited_memory(100_000), pytest.raises(ResourceError):
        join_strings(texts(), (1000,))  # type: ignore[arg-type]  # a generator
    assert len(computed) < 20


@pytest.mark.parametrize("text", ["\ud800", "a\udfff", "\ud83d\ude00"])
def test_surrogates_that_are_no_bytes(text: str) -> None:
    with pytest.raises(EvaluationError, check=coded(Code.bad_value)):
        encode_text(text)
    assert encode_text("\udc80é") == b"\x80\xc3\xa9"


def test_meter_checks_limits_before_counting() -> None:
    with limited_memory(1000):
        meter = MemoryMeter()
        meter.add(1000)
        with pytest.raises(ResourceError):
            MemoryMeter().add(1001)
        assert meter.size == 1000
    assert LIMITS.get() is None
    MemoryMeter().add(10**15)


def test_limits_of_a_run_apply_within_other_limits() -> None:
    limits = Limits(Budget(10))
    token = LIMITS.set(limits)
    try:
        with limited_memory(1000):
            assert current_limits() is limits
    finally:
        LIMITS.reset(token)
