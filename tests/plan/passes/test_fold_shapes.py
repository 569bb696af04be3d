"""Values that follow from the shapes of inputs are computed once for each plan, without any other change."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import ir_exec
from ir_exec import build
from ir_exec.errors import IRError
from ir_exec.ops.activation.functions import Exp
from ir_exec.plan import planner as plans
from ir_exec.plan.passes import prepack as packed
from ir_exec.plan.passes.relayout_constants import is_scattered
from ir_exec.plan.records import Kernel, Plan
from ir_exec.types import Array

TABLE = np.random.default_rng(0).standard_normal((64, 30), np.float32)


def rows_of(count: int) -> Array:
    return np.linspace(-1, 1, count * 30, dtype=np.float32).reshape(count, 30)


def size_of(data: build.Value) -> build.Value:
    return build.gather(build.shape_of(data), 0, 0)


def row_numbers(data: build.Value, first: int = 0) -> build.Value:
    return build.range(first, build.add(size_of(data), first), 1, output_type="i64")


def add_bias(*, first: int = 0) -> ir_exec.Model:
    """Rows to which an exponential is added that follows from their number; it has too many elements for inference.

    first: the number of the first row. There are 64.
    """
    data = build.parameter([-1, 30], "f32", name="data")
    table_rows = build.gather_nd(build.constant(TABLE), build.unsqueeze(row_numbers(data, first), 1))
    return build.model(build.add(data, build.exp(table_rows)))


def plan_of(compiled: ir_exec.CompiledModel, *inputs: Array) -> Plan:
    return compiled.executor.plan([(array.dtype, array.shape) for array in inputs])


def layers_of(compiled: ir_exec.CompiledModel, *inputs: Array) -> list[str]:
    return [step.node.type for step in plan_of(compiled, *inputs).steps]


def test_shape_dependent_values_are_in_no_plan() -> None:
    data = rows_of(40)
    fast, plain = ir_exec.compile_model(add_bias()), ir_exec.compile_model(add_bias(), optimize=False)
    for _ in range(2):
        assert_array_equal(fast([data])[0], plain([data])[0])
    assert layers_of(fast, data) == ["Add"]
    assert layers_of(plain, data)[-2:] == ["Exp", "Add"]


def test_an_observer_sees_every_layer() -> None:
    compiled, seen = ir_exec.compile_model(add_bias()), []
    compiled([rows_of(40)])
    compiled([rows_of(40)], observe=lambda node, inputs, outputs: seen.append(node.type))
    assert {"ShapeOf", "GatherND", "Exp", "Add"} <= set(seen)


def test_other_shapes_have_their_own_values() -> None:
    compiled = ir_exec.compile_model(add_bias())
    for count in (40, 50, 60, 50, 60, 40):
        data = rows_of(count)
        assert_array_equal(compiled([data])[0], ir_exec.compile_model(add_bias(), optimize=False)([data])[0])
    assert layers_of(compiled, rows_of(50)) == ["Add"]


def test_value_beyond_the_room_is_computed_in_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    data = rows_of(40)
    monkeypatch.setattr(packed, "PRECOMPUTED_SHARE", 10**9)
    monkeypatch.setattr(packed, "PRECOMPUTED_ALWAYS", data.nbytes - 1)
    compiled = ir_exec.compile_model(add_bias())
    assert_array_equal(compiled([data])[0], ir_exec.compile_model(add_bias(), optimize=False)([data])[0])
    assert layers_of(compiled, data)[-2:] == ["Exp", "Add"]


@pytest.mark.broad
def test_plans_share_the_room_during_their_lifetime(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "PRECOMPUTED_SHARE", 10**9)
    monkeypatch.setattr(packed, "PRECOMPUTED_ALWAYS", rows_of(60).nbytes)
    monkeypatch.setattr(plans, "MAX_PLANS", 2)
    compiled = ir_exec.compile_model(add_bias())
    assert layers_of(compiled, rows_of(40)) == ["Add"]
    assert "Exp" in layers_of(compiled, rows_of(50))
    assert "Exp" in layers_of(compiled, rows_of(51))
    gc.collect()
    assert layers_of(compiled, rows_of(52)) == ["Add"]


def test_run_counts_values_of_its_plan() -> None:
    data = rows_of(40)
    fast, plain = ir_exec.compile_model(add_bias()), ir_exec.compile_model(add_bias(), optimize=False)
    shapes = {"data": data.shape}
    assert fast.memory_plan(shapes).peak == 2 * data.nbytes
    assert fast.memory_plan(shapes).constants == plain.memory_plan(shapes).constants


def test_layers_run_without_cache_memory() -> None:
    data = build.parameter([-1, 30], "f32", name="data")
    # The peak precedes the exponentials.
    sums = build.reduce_sum(build.tile(data, [1, 500]), 1, keep_dims=True)
    model = build.model(build.add(sums, build.exp(build.gather(build.constant(TABLE), row_numbers(data), 0))))
    rows = rows_of(40)
    plain = ir_exec.compile_model(model, optimize=False)
    least = plain.memory_plan({"data": rows.shape})
    compiled = ir_exec.compile_model(model, max_memory=least.peak + least.constants)
    assert_array_equal(compiled([rows])[0], plain([rows])[0])
    assert layers_of(compiled, rows)[-2:] == ["Exp", "Add"]
    assert layers_of(ir_exec.compile_model(model), rows) == ["Tile", "ReduceSum", "Add"]


def test_bodies_cache_values_of_input_shapes(monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[Array] = []
    chosen = Exp.kernel
    monkeypatch.setattr(
        Exp, "kernel", lambda op, *types, **options: _note_calls(chosen(op, *types, **options), computed)
    )
    data = build.parameter([-1, 30], "f32", name="data")

    def add_rows(_: build.Value, rows: build.Value) -> tuple[None, list[build.Value], list[build.Value]]:
        return None, [build.add(rows, build.exp(build.gather(build.constant(TABLE), row_numbers(rows), 0)))], []

    compiled = ir_exec.compile_model(build.model(build.loop(5, None, add_rows, [data])))
    expected = rows_of(40)
    for _ in range(5):
        expected = expected + np.exp(TABLE[:40])
    for _ in range(2):
        assert_array_equal(compiled([rows_of(40)])[0], expected)
    assert len(computed) == 1


def _note_calls(kernel: Kernel, calls: list[Array]) -> Kernel:
    def call_noted(data: Array, **options: Array) -> Array:
        calls.append(data)
        return np.asarray(kernel(data, **options))

    return call_noted


def test_failing_layer_fails_in_the_run() -> None:
    messages = []
    for optimize in (True, False):
        compiled = ir_exec.compile_model(add_bias(first=30), optimize=optimize)
        compiled.memory_plan({"data": (40, 30)})
        with pytest.raises(IRError) as caught:
            compiled([rows_of(40)])
        messages.append(str(caught.value))
        assert np.isfinite(compiled([rows_of(30)])[0]).all()
    assert messages[0] == messages[1]


def test_random_numbers_and_variables_are_not_kept() -> None:
    data = build.parameter([-1, 30], "f32", name="data")
    drawn = build.random_uniform(build.shape_of(data), 0.0, 1.0, output_type="f32", global_seed=1, op_seed=2)
    state = build.read_value(build.exp(build.gather(build.constant(TABLE), row_numbers(data), 0)), variable_id="sum")
    stored = build.assign(build.add(state, data), variable_id="sum")
    model = build.model([build.add(data, drawn), stored])
    results = []
    for optimize in (True, False):
        compiled = ir_exec.compile_model(model, optimize=optimize)
        results.append([np.stack(list(compiled([rows_of(40)]).values())) for _ in range(3)])
    assert_array_equal(*results)
    assert not (results[0][0] == results[0][1]).any(axis=(1, 2)).all()


def test_unexpanded_weights_stay() -> None:
    data = build.parameter([-1, 30], "f32", name="data")
    weights = build.convert(build.constant(np.resize(TABLE, (400, 30)).astype(np.float16)), destination_type="f32")
    model = build.model(build.add(build.concat([data, data], 0), weights))
    compiled = ir_exec.compile_model(model, weight_mode="keep")
    assert "Convert" in layers_of(compiled, rows_of(200))


def masks(compiled: ir_exec.CompiledModel, *inputs: Array) -> list[Array]:
    return [array for array in plan_of(compiled, *inputs).slots if array is not None and array.shape == (30, 4, 10)]


@pytest.mark.parametrize("is_constant", [True, False])
def test_scattered_elements_are_put_side_by_side(is_constant: bool) -> None:
    data, scores = build.parameter([-1, 30], "f32", name="data"), build.parameter([30, 4, 10], "f32", name="scores")
    numbers = build.constant(np.arange(40)) if is_constant else row_numbers(data)
    rows = build.exp(build.gather(build.constant(TABLE), numbers, 0))
    mask = build.transpose(build.reshape(rows, [4, 10, 30], special_zero=False), [2, 0, 1])
    compiled = ir_exec.compile_model(build.model([build.add(scores, mask), data]))
    score_rows = np.ones((30, 4, 10), np.float32)
    outputs = compiled({"data": rows_of(40), "scores": score_rows})
    assert_array_equal(outputs[0], 1 + np.exp(TABLE[:40]).reshape(4, 10, 30).transpose(2, 0, 1))
    given_in_order = [score_rows if port.name == "scores" else rows_of(40) for port in compiled.inputs]
    assert [mask.flags.c_contiguous for mask in masks(compiled, *given_in_order)] == [True]


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (TABLE, False),
        (TABLE.T, False),
        (TABLE.T[np.newaxis, :, :, np.newaxis], False),
        (TABLE.reshape(4, 16, 30).transpose(1, 0, 2), False),
        (TABLE.reshape(4, 16, 30).transpose(2, 0, 1), True),
        (TABLE[0, ::2], True),
        (np.broadcast_to(TABLE[0, 0], (4, 5)), False),
        (TABLE[0, 0], False),
        (TABLE[:0].T, False),
    ],
)
def test_scattered_elements(array: Array, expected: bool) -> None:
    assert is_scattered(np.asarray(array)) == expected


def test_outputs_belong_to_the_caller() -> None:
    data = build.parameter([-1, 30], "f32", name="data")
    model = build.model(build.exp(build.gather(build.constant(TABLE), row_numbers(data), 0)))
    compiled = ir_exec.compile_model(model)
    expected = np.array(compiled([rows_of(40)])[0])
    compiled([rows_of(40)])[0][:] = 0
    assert_array_equal(compiled([rows_of(40)])[0], expected)
    assert layers_of(compiled, rows_of(40)) == []
