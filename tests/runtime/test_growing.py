"""Variables that runs append to: the values of all arrays ever returned, and the bytes that are copied."""

from __future__ import annotations

import numpy as np
import pytest

import ir_exec
from ir_exec import build
from ir_exec.runtime import growing
from ir_exec.runtime.growing import GrowingArray
from ir_exec.runtime.sessions import Session
from ir_exec.types import Array

WIDTH = 4
ROW_BYTES = 2 * WIDTH * 4
RANDOM = np.random.default_rng(3)


def make_cache(*, beams: bool = True, axis: int = 2, element_type: str = "f32") -> ir_exec.Model:
    """cache = concat(gather(cache, beams), x), with a sum of the cache as a second output."""
    x = build.parameter([None, 2, None, WIDTH], element_type, name="x")
    indices = build.parameter([None], "i32", name="beams")
    initial = build.constant(np.zeros((1, 2, 0, WIDTH), np.float32), element_type)
    past = build.read_value(initial, "v", shape=[None, 2, None, WIDTH])
    source = build.gather(past, indices, np.array(0)) if beams else past
    cache = build.concat([source, x], axis)
    total = build.reduce_sum(
        build.multiply(cache, build.constant(np.float32(2), element_type)), np.array([2]), keep_dims=False
    )
    results = [build.result(cache, name="cache"), build.result(total, name="total")]
    if beams:
        return build.model(results, sinks=[build.assign(cache, "v")])
    return build.model([*results, build.result(build.shape_of(indices), name="size")], sinks=[build.assign(cache, "v")])


def rows(count: int = 1, batch: int = 1) -> Array:
    return RANDOM.standard_normal((batch, 2, count, WIDTH)).astype(np.float32)


def step(session: Session, x: Array, beams: list[int] | None = None) -> Array:
    order = list(range(len(x))) if beams is None else beams
    return session({"x": x, "beams": np.array(order, np.int32)})["cache"]


@pytest.fixture
def copies(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The bytes of every copy to a growing array."""
    sizes: list[int] = []
    copy = growing.copy_elements

    def count(target: Array, source: Array) -> None:
        sizes.append(source.nbytes)
        copy(target, source)

    for module in ("ir_exec.runtime.growing", "ir_exec.runtime.state"):
        monkeypatch.setattr(f"{module}.copy_elements", count)
    return sizes


@pytest.mark.parametrize("beams", [True, False])
def test_copied_bytes_grow_with_the_tokens(copies: list[int], beams: bool) -> None:
    session = ir_exec.compile_model(make_cache(beams=beams)).session()
    parts = []
    for _ in range(600):
        parts.append(rows())
        cache = step(session, parts[-1])
    assert np.array_equal(cache, np.concatenate(parts, 2))
    assert len(copies) > 600
    assert sum(copies) < 3 * 600 * ROW_BYTES


def test_equal_order_of_beams_copies_new_elements_only(copies: list[int]) -> None:
    session = ir_exec.compile_model(make_cache()).session()
    step(session, rows(10, batch=3))
    copies.clear()
    step(session, rows(1, batch=3))
    assert copies == [3 * ROW_BYTES]


def test_other_order_of_beams_copies_once(copies: list[int]) -> None:
    session = ir_exec.compile_model(make_cache()).session()
    first, second = rows(10, batch=3), rows(1, batch=3)
    step(session, first)
    copies.clear()
    cache = step(session, second, [2, 0, 0])
    assert np.array_equal(cache, np.concatenate([first[[2, 0, 0]], second], 2))
    assert sum(copies) == 3 * 11 * ROW_BYTES


def test_number_of_beams_may_change() -> None:
    session = ir_exec.compile_model(make_cache()).session()
    first, second, third = rows(2), rows(1, batch=3), rows(2, batch=2)
    step(session, first)
    assert np.array_equal(step(session, second, [0, 0, 0]), np.concatenate([first[[0, 0, 0]], second], 2))
    expected = np.concatenate([first[[0, 0]], second[[2, 1]], third], 2)
    assert np.array_equal(step(session, third, [2, 1]), expected)


@pytest.mark.parametrize("index", [-1, 2])
def test_other_indices_than_those_of_beams(index: int) -> None:
    """Gather-8 counts negative indices from the end, and gives zeros for those out of range."""
    session = ir_exec.compile_model(make_cache()).session()
    first, second = rows(2, batch=2), rows(1, batch=2)
    step(session, first)
    moved = first[[0, 1]] if index == -1 else first * np.array([1, 0], np.float32).reshape(2, 1, 1, 1)
    assert np.array_equal(step(session, second, [0, index]), np.concatenate([moved, second], 2))


def test_retained_states_and_outputs_never_change() -> None:
    session = ir_exec.compile_model(make_cache()).session()
    retained: list[tuple[Array, Array]] = []
    for number in range(80):
        outputs = session({"x": rows(1 + number % 3), "beams": np.zeros(1, np.int32)})
        state = session.state["v"]
        assert state is not None
        assert not state.flags.writeable
        retained += [(array, array.copy()) for array in (state, outputs["cache"], outputs["total"])]
    assert all(np.array_equal(array, copy) for array, copy in retained)


def test_writes_to_outputs_change_no_variable() -> None:
    session = ir_exec.compile_model(make_cache()).session()
    first, second = rows(2), rows(1)
    step(session, first)[...] = 7
    step(session, second)[...] = 7
    assert np.array_equal(session.state["v"], np.concatenate([first, second], 2))


def test_failed_run_leaves_the_variable_unchanged() -> None:
    x = build.parameter([1, 2, None, WIDTH], "f32", name="x")
    past = build.read_value(np.zeros((1, 2, 0, WIDTH), np.float32), "v", shape=[1, 2, None, WIDTH])
    cache = build.concat([past, x], 2)
    added = build.add(cache, build.parameter([1, 2, None, WIDTH], "f32", name="addend"))
    model = build.model(build.result(added, name="sum"), sinks=[build.assign(cache, "v")])
    session = ir_exec.compile_model(model).session()
    first, second = rows(3), rows(1)
    zeros = np.zeros((1, 2, 1, WIDTH), np.float32)
    session({"x": first, "addend": zeros})
    before = session.state["v"]
    for _ in range(3):
        with pytest.raises(ir_exec.ShapeError):
            session({"x": rows(1), "addend": np.zeros((1, 2, 2, WIDTH), np.float32)})
        assert session.state["v"] is before
    session({"x": second, "addend": zeros})
    assert np.array_equal(before, first)
    assert np.array_equal(session.state["v"], np.concatenate([first, second], 2))


def test_sessions_continue_separately_from_one_snapshot() -> None:
    compiled = ir_exec.compile_model(make_cache())
    sessions = [compiled.session() for _ in range(3)]
    start = rows(3)
    step(sessions[0], start)
    snapshot = sessions[0].snapshot()
    for session in sessions[1:]:
        session.restore(snapshot)
    parts = [[start] for _ in sessions]
    for _ in range(100):
        for session, own in zip(sessions, parts, strict=True):
            own.append(rows())
            step(session, own[-1])
    for session, own in zip(sessions, parts, strict=True):
        assert np.array_equal(session.state["v"], np.concatenate(own, 2))
    assert np.array_equal(snapshot.values["v"], start)


def test_values_set_by_users_and_resets() -> None:
    session = ir_exec.compile_model(make_cache()).session()
    step(session, rows(5))
    assigned, new = rows(2), rows(1)
    session.state["v"] = assigned
    assert np.array_equal(step(session, new), np.concatenate([assigned, new], 2))
    session.reset_state()
    assert np.array_equal(step(session, new), new)
    session.state["v"] = None
    assert np.array_equal(step(session, new), new)


def test_observed_runs_between_others() -> None:
    session = ir_exec.compile_model(make_cache()).session()
    parts = []
    for number in range(9):
        parts.append(rows())
        inputs = {"x": parts[-1], "beams": np.zeros(1, np.int32)}
        cache = session(inputs, observe=(lambda *_: None) if number % 3 == 1 else None)["cache"]
    assert np.array_equal(cache, np.concatenate(parts, 2))


@pytest.mark.parametrize("axis", [0, 1, 3])
def test_other_axes(axis: int) -> None:
    shape: list[int | None] = [2, 2, 2, 2]
    shape[axis] = None
    x = build.parameter(shape, "f32", name="x")
    empty = [0 if size is None else size for size in shape]
    cache = build.concat([build.read_value(np.zeros(empty, np.float32), "v", shape=shape), x], axis - 4)
    compiled = ir_exec.compile_model(build.model(build.result(cache, name="cache"), sinks=[build.assign(cache, "v")]))
    parts = []
    for _ in range(70):
        parts.append(RANDOM.standard_normal([size or 1 for size in empty]).astype(np.float32))
        output = compiled([parts[-1]])["cache"]
    assert np.array_equal(output, np.concatenate(parts, axis))


def test_small_budget_leaves_no_room() -> None:
    """The room for more elements is not worth a failure."""
    x = build.parameter([1, None], "f32", name="x")
    cache = build.concat([build.read_value(np.zeros((1, 0), np.float32), "v", shape=[1, None]), x], 1)
    total = build.result(build.reduce_sum(cache, np.array([0, 1]), keep_dims=False), name="sum")
    compiled = ir_exec.compile_model(build.model(total, sinks=[build.assign(cache, "v")]), max_memory=2**20)
    ones = np.ones((1, 2**15), np.float32)
    for count in range(1, 4):
        assert compiled([ones])["sum"] == count * 2**15


def test_growing_array_without_room_allocates_nothing() -> None:
    array = GrowingArray((2, 0), 1, np.dtype(np.float32), 1)
    assert array.append(np.ones((2, growing.LEAST_ROOM), np.float32)) is not None
    assert array.append(np.ones((2, 1), np.float32)) is None
    assert array.latest.shape == (2, growing.LEAST_ROOM)


def test_sums_that_a_cache_of_16_bits_appends_are_rounded() -> None:
    """The next run reads what the variable keeps, and snapshots have the type of the variable."""
    x = build.parameter([None, 2, None, WIDTH], "f16", name="x")
    initial = build.constant(np.zeros((1, 2, 0, WIDTH), np.float32), "f16")
    past = build.read_value(initial, "v", shape=[None, 2, None, WIDTH])
    cache = build.concat([past, build.add(x, build.constant(np.float32(1), "f16"))], 2)
    model = build.model([build.result(cache, name="cache")], sinks=[build.assign(cache, "v")])
    session = ir_exec.compile_model(model).session()
    for _ in range(2):
        session({"x": np.full((1, 2, 1, WIDTH), 2048, np.float16)})
    snapshot = session.snapshot()
    assert snapshot.values["v"].dtype == np.float16
    # 2049 is no number of f16.
    assert np.unique(snapshot.values["v"]).tolist() == [2048]
    other = ir_exec.compile_model(model).session()
    other.restore(snapshot)
    assert other({"x": np.full((1, 2, 1, WIDTH), 2048, np.float16)})["cache"].shape == (1, 2, 3, WIDTH)
