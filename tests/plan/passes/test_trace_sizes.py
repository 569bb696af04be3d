"""Plans for sizes that change from run to run: no inference in runs, equal outputs, and the faults of other sizes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ir_exec
from ir_exec import build
from ir_exec.build import Value
from ir_exec.errors import IRError
from ir_exec.plan import dynamic_kernel
from ir_exec.plan.records import Plan
from ir_exec.types import Array

NETWORKS = Path(__file__).parents[2] / "networks"
RANDOM = np.random.default_rng(11)


def with_sizes(compiled: ir_exec.CompiledModel) -> list[Plan]:
    """The plans that runs have made for certain sizes."""
    return [sized for plans in compiled.executor.sized_plans.values() for sized in plans.traced]


def types_of(plan: Plan) -> list[str]:
    return [step.node.type for step in plan.steps]


@pytest.fixture
def inferences(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The layers that were inferred in runs."""
    types: list[str] = []
    infer = dynamic_kernel.infer_outputs

    def count(op: Any, *arguments: Any) -> Any:
        types.append(op.type_name)
        return infer(op, *arguments)

    monkeypatch.setattr(dynamic_kernel, "infer_outputs", count)
    return types


def decode(session: Any, tokens: list[int], length: int, batch: int = 1) -> Array:
    total = length + len(tokens)
    return session(
        {
            "input_ids": np.array([tokens] * batch),
            "attention_mask": np.ones((batch, total), np.int64),
            "position_ids": np.array([range(length, total)] * batch),
            "beam_idx": np.arange(batch, dtype=np.int32),
        }
    )[0]


def test_decoder_infers_nothing_after_its_first_tokens(inferences: list[str]) -> None:
    compiled = ir_exec.compile_model(NETWORKS / "llama_stateful.xml")
    plain = ir_exec.compile_model(NETWORKS / "llama_stateful.xml", passes="-trace_sizes,-grow_variables")
    sessions = compiled.session(), plain.session()
    for length in range(40):
        if length >= 8:
            inferences.clear()
        outputs = decode(sessions[0], [length % 7], length)
        if length >= 8:
            assert not inferences, length
        assert np.array_equal(outputs, decode(sessions[1], [length % 7], length))
    (plan,) = with_sizes(compiled)
    assert not plan.is_dynamic
    assert "ShapeOf" not in types_of(plan)


def test_sequences_of_prompts_resets_and_batches() -> None:
    compiled = ir_exec.compile_model(NETWORKS / "llama_stateful.xml")
    plain = ir_exec.compile_model(NETWORKS / "llama_stateful.xml", passes="-trace_sizes")
    sessions = compiled.session(), plain.session()
    length, batch = 0, 1
    for step in range(120):
        if step % 23 == 22:
            length, batch = 0, 1 + step % 3
            for session in sessions:
                session.reset_state()
        tokens = RANDOM.integers(0, 900, 1 if RANDOM.random() < 0.7 else RANDOM.integers(2, 6)).tolist()
        outputs = [decode(session, tokens, length, batch) for session in sessions]
        length += len(tokens)
        assert np.array_equal(*outputs), step
    assert with_sizes(compiled)


def run_both(
    make: Callable[[], ir_exec.Model], calls: list[dict[str, Array]], **options: Any
) -> tuple[ir_exec.CompiledModel, list[Any]]:
    """Run calls with and without the pass, and compare all outputs and errors."""
    compiled, plain = ir_exec.compile_model(make(), **options), ir_exec.compile_model(make(), passes="-trace_sizes")
    results: list[Any] = []
    for inputs in calls:
        pair = []
        for model in (compiled, plain):
            try:
                pair.append([array.tolist() for array in model(inputs).to_tuple()])
            except IRError as error:
                pair.append(error)
        if isinstance(pair[0], IRError):
            assert isinstance(pair[1], type(pair[0])), inputs
            assert pair[0].code == pair[1].code
        else:
            assert pair[0] == pair[1]
        results.append(pair[0])
    return compiled, results


def flatten(x: Value) -> Value:
    """Reshape x to [first size, product of the others], computed by layers."""
    shape = build.shape_of(x)
    first = build.gather(shape, np.array([0]), np.array(0))
    others = build.slice(shape, np.array([1]), np.array([9]), np.array([1]))
    product = build.reduce_prod(others, np.array([0]), keep_dims=True)
    return build.reshape(x, build.concat([first, product], 0), special_zero=False)


def test_batches_of_other_sizes_in_a_row(inferences: list[str]) -> None:
    def make() -> ir_exec.Model:
        x = build.parameter([None, 2, None], "f32", name="x")
        matrix = build.parameter([None, None], "f32", name="matrix")
        return build.model(build.result(build.add(build.relu(flatten(x)), matrix)))

    sizes = [(int(batch), int(width)) for batch, width in RANDOM.integers(2, 30, (30, 2))]
    calls = [
        {"x": RANDOM.standard_normal((batch, 2, width), np.float32), "matrix": np.ones((batch, 2 * width), np.float32)}
        for batch, width in sizes
    ]
    compiled, _ = run_both(make, calls)
    assert {"ShapeOf", "Gather", "Slice", "ReduceProd", "Concat"}.isdisjoint(types_of(with_sizes(compiled)[0]))
    inferences.clear()
    for call in calls[10:]:
        compiled(call)
    assert not inferences


def test_sizes_that_do_not_fit_are_errors() -> None:
    def make() -> ir_exec.Model:
        x = build.parameter([None, None], "f32", name="x")
        y = build.parameter([None, None], "f32", name="y")
        return build.model(build.result(build.add(build.relu(flatten(x)), build.relu(y))))

    calls = [{"x": np.ones((size, 3), np.float32), "y": np.ones((size, 3), np.float32)} for size in range(2, 12)]
    others = [
        ((5, 3), (4, 3)),
        ((5, 3), (1, 3)),
        ((1, 3), (1, 3)),
        ((0, 3), (0, 3)),
        ((0, 3), (2, 3)),
        ((7, 3), (6, 3)),
    ]
    calls += [{"x": np.ones(first, np.float32), "y": np.ones(second, np.float32)} for first, second in others * 2]
    compiled, results = run_both(make, calls)
    assert with_sizes(compiled)
    assert [isinstance(result, IRError) for result in results[10:16]] == [True, False, False, False, True, True]


def test_sizes_that_depend_on_elements() -> None:
    def make() -> ir_exec.Model:
        x = build.parameter([None], "f32", name="x")
        places = build.non_zero(x)
        chosen = build.gather(x, build.reshape(places, np.array([-1]), special_zero=False), np.array(0))
        return build.model([build.result(flatten(build.unsqueeze(chosen, np.array([1])))), build.result(build.relu(x))])

    calls = [{"x": (np.arange(size) % 3).astype(np.float32)} for size in [*range(12), 0, 1, 4, 9, 2, 2]]
    run_both(make, calls)


def test_passing_the_budget_of_sizes_counts_layer_by_layer() -> None:
    """The sum over all layers exceeds the budget, what exists at one time does not."""

    def make() -> ir_exec.Model:
        x = build.parameter([None, None], "f32", name="x")
        for _ in range(60):
            x = build.add(flatten(x), build.reduce_max(x, np.array([0]), keep_dims=True))
        return build.model(build.result(x))

    calls = [{"x": np.ones((size, 2**8), np.float32)} for size in range(100, 130)]
    compiled, results = run_both(make, calls, max_memory=2**23)
    assert not any(isinstance(result, IRError) for result in results)
    assert with_sizes(compiled)
    with pytest.raises(ir_exec.ResourceError):
        compiled({"x": np.ones((8000, 2**8), np.float32)})


def test_variables_of_other_shapes() -> None:
    def make() -> ir_exec.Model:
        x = build.parameter([1, None], "f32", name="x")
        past = build.read_value(np.zeros((1, 1), np.float32), "v", shape=[1, None])
        total = build.add(past, x)
        return build.model(
            [build.result(total), build.result(flatten(build.concat([total, past], 1)))],
            sinks=[build.assign(build.concat([past, x], 1), "v")],
        )

    ones = [{"x": np.full((1, 1), value, np.float32)} for value in range(15)]
    _, results = run_both(make, [*ones, {"x": np.ones((1, 3), np.float32)}, {"x": np.ones((1, 16), np.float32)}, *ones])
    assert [isinstance(result, IRError) for result in results[15:18]] == [True, False, False]


def test_variables_whose_shapes_repeat_have_a_static_plan(inferences: list[str]) -> None:
    def make() -> ir_exec.Model:
        x = build.parameter([1, 3], "f32", name="x")
        past = build.read_value(np.zeros((1, 3), np.float32), "v", shape=[None, None])
        total = build.tanh(build.add(build.matmul(past, np.ones((3, 3), np.float32)), x))
        return build.model(build.result(total), sinks=[build.assign(total, "v")])

    calls = [{"x": RANDOM.standard_normal((1, 3)).astype(np.float32)} for _ in range(12)]
    compiled, _ = run_both(make, calls)
    inferences.clear()
    for _ in range(4):
        compiled(calls[0])
    assert not inferences
    (plans,) = compiled.executor.sized_plans.values()
    (exact,) = plans.exact.values()
    assert exact is not None
    assert not exact.is_dynamic
    compiled.state["v"] = np.ones((2, 3), np.float32)
    expected = np.tanh(np.full((2, 3), 3, np.float32) + calls[0]["x"])
    np.testing.assert_allclose(compiled(calls[0])[0], expected, rtol=1e-6)


def test_faults_that_repeat_are_still_reported() -> None:
    def make() -> ir_exec.Model:
        x = build.parameter([1, 3], "f32", name="x")
        past = build.read_value(np.zeros((1, 3), np.float32), "v", shape=[None, None])
        return build.model(build.result(build.add(past, x)), sinks=[build.assign(past, "v")])

    compiled = ir_exec.compile_model(make())
    compiled.state["v"] = np.ones((1, 2), np.float32)
    for _ in range(8):
        with pytest.raises(ir_exec.ShapeError):
            compiled({"x": np.ones((1, 3), np.float32)})
    compiled.state["v"] = np.ones((1, 3), np.float32)
    assert compiled({"x": np.ones((1, 3), np.float32)})[0].tolist() == [[2] * 3]


def test_faults_that_depend_on_elements() -> None:
    def make() -> ir_exec.Model:
        x = build.parameter([None, None], "f32", name="x")
        axis = build.parameter([], "i64", name="axis")
        flat = build.relu(flatten(x))
        update = build.scatter_update(flat, np.array([0]), build.parameter([None, None], "f32", name="row"), axis)
        return build.model(build.result(update))

    calls = [
        {"x": np.ones((size, 3), np.float32), "row": np.zeros((1, 3), np.float32), "axis": np.array(0)}
        for size in range(2, 12)
    ]
    calls += [calls[-1] | {"x": np.ones((size, 3), np.float32), "axis": np.array(5)} for size in range(12, 16)]
    _, results = run_both(make, calls)
    assert [isinstance(result, IRError) for result in results] == [False] * 10 + [True] * 4


def test_integers_that_leave_their_type_are_computed_in_the_run() -> None:
    """A product of sizes beyond i32 wraps in the layer, not in an expression."""

    def make() -> ir_exec.Model:
        x = build.parameter([None, None], "f32", name="x")
        shape = build.shape_of(x, output_type="i32")
        squared = build.multiply(shape, build.multiply(shape, shape))
        first = build.concat([build.multiply(squared, squared), shape], 0)
        return build.model([build.result(first), build.result(build.relu(flatten(x)))])

    run_both(make, [{"x": np.zeros((2, size), np.float32)} for size in [*range(2, 12), 40, 50, 51, 3]])
