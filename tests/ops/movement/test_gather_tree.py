"""GatherTree against the pseudocode of its specification, and its errors for wrong shapes and values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir_exec.errors import EvaluationError, ShapeError
from ir_exec.types import Array, ElementType
from tests.helpers.chunks import in_chunks
from tests.helpers.facts import facts, naming
from tests.helpers.operators import make, run
from tests.helpers.values import make_type


@st.composite
def beams(draw: st.DrawFn) -> tuple[Array, Array, Array, Array]:
    steps, batch, width = draw(st.integers(0, 5)), draw(st.integers(0, 3)), draw(st.integers(1, 4))
    element_type = draw(st.sampled_from(["i32", "i64", "u8", "f32", "f16", "bf16"]))

    def array(low: int, high: int, *shape: int) -> Array:
        size = int(np.prod(shape))
        values = draw(st.lists(st.integers(low, high), min_size=size, max_size=size))
        return np.array(values, np.int64).reshape(shape).astype(ElementType[element_type].dtype)

    shape = (steps, batch, width)
    return array(0, 4, *shape), array(0, width - 1, *shape), array(0, 7, batch), array(0, 4)


@settings(max_examples=100)
@given(beams())
def test_GatherTree_is_the_pseudocode_of_its_specification(case: tuple[Array, Array, Array, Array]) -> None:
    step_ids, parent_ids, max_seq_len, end_token = case
    steps, batches, width = step_ids.shape
    expected = np.full(step_ids.shape, end_token[()])
    for batch in range(batches):
        for beam in range(width):
            length = min(steps, int(max_seq_len[batch]))
            if not length:
                continue
            parent = int(parent_ids[length - 1, batch, beam])
            expected[length - 1, batch, beam] = step_ids[length - 1, batch, beam]
            for level in reversed(range(length - 1)):
                expected[level, batch, beam] = step_ids[level, batch, parent]
                parent = int(parent_ids[level, batch, parent])
            finished = False
            for time in range(length):
                if finished:
                    expected[time, batch, beam] = end_token
                elif expected[time, batch, beam] == end_token:
                    finished = True
    assert np.array_equal(run(make("GatherTree", 1), step_ids, parent_ids, max_seq_len, end_token), expected)


def test_parents_without_beams() -> None:
    steps = np.zeros((3, 2, 2), np.int32)
    parents = np.zeros_like(steps)
    parents[1, 1, 0] = 2
    operator, lengths, end = make("GatherTree", 1), np.array([3, 3], np.int32), np.array(9, np.int32)
    with pytest.raises(EvaluationError) as caught:
        operator.evaluate(steps, parents, lengths, end)
    assert (caught.value.code, caught.value.location.port) == ("IR701", "parent_ids")
    assert facts(caught.value.message) == ["0", "1", "1", "1", "2"]
    lengths = np.array([3, 1], np.int32)
    assert operator.evaluate(steps, parents, lengths, end)[:, 1].tolist() == [[0, 0], [9, 9], [9, 9]]


def test_nan_parent_is_no_beam() -> None:
    steps, lengths = np.zeros((3, 1, 2), np.float32), np.array([3], np.float32)
    parents = np.array([0, 0, np.nan, 0, 0, 0], np.float32).reshape(3, 1, 2)
    with pytest.raises(EvaluationError) as caught, np.errstate(all="ignore"):
        make("GatherTree", 1).evaluate(steps, parents, lengths, np.array(9, np.float32))
    assert (caught.value.code, caught.value.location.port) == ("IR701", "parent_ids")


def test_beams_of_some_batches_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    operator = make("GatherTree", 1)
    step_ids, parent_ids = rng.integers(0, 9, (5, 7, 3)), rng.integers(0, 3, (5, 7, 3))
    lengths, end = rng.integers(0, 6, 7), np.array(1)
    expected = operator.evaluate(step_ids, parent_ids, lengths, end)
    parent_ids[4, 6, 2] = 3
    lengths[6] = 5
    for followed in (1, 30, 45, 1000):
        in_chunks(monkeypatch, "CHUNK_ELEMENTS", followed)
        assert np.array_equal(operator.evaluate(step_ids[:, :6], parent_ids[:, :6], lengths[:6], end), expected[:, :6])
        with pytest.raises(EvaluationError, match=naming("3", "4", "6")):
            operator.evaluate(step_ids, parent_ids, lengths, end)


def test_lengths_of_any_number() -> None:
    steps = np.arange(4, dtype=np.float32).reshape(4, 1, 1)
    for length, retained in [(np.inf, 4), (1e30, 4), (2.9, 2), (-1.0, 0), (-np.inf, 0), (np.nan, 0)]:
        with np.errstate(all="ignore"):
            lengths = np.array([length], np.float32)
            result = make("GatherTree", 1).evaluate(steps, steps * 0, lengths, np.array(-1, np.float32))
        assert result.ravel().tolist() == [0, 1, 2, 3][:retained] + [-1] * (4 - retained)


def test_GatherTree_shapes_that_contradict() -> None:
    operator = make("GatherTree", 1)
    for shapes, port in [
        (("[4,2]", "[4,2]", "[2]", "[]"), "step_ids"),
        (("[4,2,3]", "[4,2,2]", "[2]", "[]"), "parent_ids"),
        (("[4,2,3]", "[4,2,3]", "[3]", "[]"), "max_seq_len"),
        (("[4,2,3]", "[4,2,3]", "[2]", "[1]"), "end_token"),
    ]:
        with pytest.raises(ShapeError) as caught:
            operator.infer(*(make_type(shape, "i32") for shape in shapes))
        assert caught.value.location.port == port
