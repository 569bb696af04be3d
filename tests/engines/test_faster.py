"""engine="auto": the faster of the interpreter and the engine, by the times of the first calls."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import ir_exec
from ir_exec import EvaluationError, build, compile_model
from ir_exec.cli import main
from ir_exec.debug import profile
from ir_exec.engines import faster
from ir_exec.engines.compiled import EngineModel
from ir_exec.engines.faster import TRIAL_CALLS, FasterExecutor
from ir_exec.engines.report import EnginePlan
from ir_exec.runtime.executor import Executor
from ir_exec.runtime.loop import Observer
from ir_exec.types import Array

NETWORKS = Path(__file__).parents[1] / "networks"


class Clock:
    """A clock that only calls advance."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


class Timed(Executor):
    """Takes the given seconds in its calls, the last of them in all further calls."""

    def __init__(self, clock: Clock, *seconds: float, on_run: Callable[[], object] = lambda: None) -> None:
        self.calls = 0
        self._clock, self._seconds, self._on_run = clock, seconds, on_run

    def run(self, arrays: list[Array], observe: Observer | None = None, **_: object) -> list[Array]:
        self._clock.seconds += self._seconds[min(self.calls, len(self._seconds) - 1)]
        self.calls += 1
        self._on_run()
        return arrays


def array(*shape: int) -> list[Array]:
    return [np.zeros(shape, np.float32)]


@pytest.mark.parametrize(("interpreter_time", "engine_time"), [(1e-3, 2e-3), (2e-3, 1e-3)])
def test_later_calls_run_on_the_faster(interpreter_time: float, engine_time: float) -> None:
    clock = Clock()
    interpreter, engine = Timed(clock, interpreter_time), Timed(clock, engine_time)
    executor = FasterExecutor(interpreter, engine, clock=clock)
    for _ in range(TRIAL_CALLS):
        executor.run(array(2))
    assert (interpreter.calls, engine.calls) == (TRIAL_CALLS // 2, TRIAL_CALLS // 2)
    executor.run(array(2))
    later = (interpreter.calls - TRIAL_CALLS // 2, engine.calls - TRIAL_CALLS // 2)
    assert later == ((1, 0) if interpreter_time < engine_time else (0, 1))
    (choice,) = executor.choices
    assert choice.runs_on == ("interpreter" if interpreter_time < engine_time else "engine")
    assert choice.interpreter_seconds == pytest.approx(interpreter_time)
    assert choice.engine_seconds == pytest.approx(engine_time)


def test_first_call_of_each_does_not_count() -> None:
    clock = Clock()
    executor = FasterExecutor(Timed(clock, 1e-6, 3e-3), Timed(clock, 5e-2, 1e-3), clock=clock)
    for _ in range(TRIAL_CALLS):
        executor.run(array(2))
    (choice,) = executor.choices
    assert choice.runs_on == "engine"
    assert (choice.interpreter_seconds, choice.engine_seconds) == (pytest.approx(3e-3), pytest.approx(1e-3))


def test_interpreter_is_measured_before_the_engine() -> None:
    clock, order = Clock(), []
    interpreter = Timed(clock, 1e-3, on_run=lambda: order.append("interpreter"))
    engine = Timed(clock, 1e-3, on_run=lambda: order.append("engine"))
    executor = FasterExecutor(interpreter, engine, clock=clock)
    for _ in range(TRIAL_CALLS):
        executor.run(array(2))
    half = TRIAL_CALLS // 2
    assert order == ["interpreter"] * half + ["engine"] * half


def test_long_calls_are_measured_once() -> None:
    clock = Clock()
    interpreter, engine = Timed(clock, 9.0), Timed(clock, 5.0)
    executor = FasterExecutor(interpreter, engine, clock=clock)
    for _ in range(5):
        executor.run(array(2))
    assert (interpreter.calls, engine.calls) == (2, 3)


def test_each_class_of_shapes_has_a_choice() -> None:
    clock = Clock()
    interpreter, engine = Timed(clock, 1e-3), Timed(clock, 2e-3)
    executor = FasterExecutor(interpreter, engine, clock=clock)
    for size in (5, 6, 7, 8, 5, 6, 7, 8):
        executor.run(array(size))
    (choice,) = executor.choices
    assert (choice.runs_on, choice.shapes) == ("interpreter", ((5,),))
    executor.run(array(9))
    assert [choice.runs_on for choice in executor.choices] == ["interpreter", None]
    assert executor.choices[1].interpreter_calls == 1


def test_calls_during_a_measured_call_are_not_measured() -> None:
    clock = Clock()
    engine = Timed(clock, 1e-3)
    executor: FasterExecutor
    interpreter = Timed(clock, 1e-3, on_run=lambda: executor.run(array(2)))
    executor = FasterExecutor(interpreter, engine, clock=clock)
    executor.run(array(2))
    assert (interpreter.calls, engine.calls) == (1, 1)
    assert executor.choices[0].engine_calls == 0


def test_failed_calls_are_not_counted() -> None:
    def fail() -> None:
        raise EvaluationError("it-fails")

    clock = Clock()
    executor = FasterExecutor(Timed(clock, 1e-3, on_run=fail), Timed(clock, 1e-3), clock=clock)
    for _ in range(2):
        with pytest.raises(EvaluationError):
            executor.run(array(2))
    assert executor.choices[0].interpreter_calls == 0


def test_number_of_choices_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faster, "MOST_CHOICES", 2)
    clock = Clock()
    engine = Timed(clock, 1e-3)
    executor = FasterExecutor(Timed(clock, 1e-3), engine, clock=clock)
    for size in (1, 2, 4, 8):
        executor.run(array(size))
    assert (len(executor.choices), engine.calls) == (2, 2)


def test_nothing_is_measured_without_layers_on_the_engine() -> None:
    clock = Clock()
    interpreter, engine = Timed(clock, 1e-3), Timed(clock, 1e-3)
    executor = FasterExecutor(interpreter, engine, is_useful=False, clock=clock)
    for _ in range(TRIAL_CALLS + 1):
        executor.run(array(2))
    assert (interpreter.calls, engine.calls, executor.choices) == (TRIAL_CALLS + 1, 0, ())


def compile_auto(model: ir_exec.Model | Path) -> EngineModel:
    pytest.importorskip("onnxruntime")
    compiled = compile_model(model, engine="auto")
    assert isinstance(compiled, EngineModel)
    return compiled


def test_outputs_and_variables_are_those_of_the_interpreter() -> None:
    """Calls of both executors continue one cache."""
    path = NETWORKS / "llama_stateful.xml"
    with np.load(path.with_suffix(".inputs.npz")) as stored:
        inputs = [stored[f"in{index}"] for index in range(len(stored.files))]
    compiled, interpreter = compile_auto(path), compile_model(path)
    for _ in range(TRIAL_CALLS + 2):
        compiled.reset_state()
        interpreter.reset_state()
        actual, expected = compiled(inputs), interpreter(inputs)
        for name in expected:
            np.testing.assert_allclose(actual[name], expected[name], rtol=1e-3, atol=1e-4)
        for variable, value in interpreter.state.items():
            np.testing.assert_allclose(compiled.state[variable], value, rtol=1e-3, atol=1e-4)


def test_explain_has_the_choice() -> None:
    x = build.parameter([None, 4], name="x")
    compiled = compile_auto(build.model(build.result(build.relu(build.exp(build.sqrt(build.abs(x)))))))
    plan = compiled.explain({"x": (2, 4)})
    assert isinstance(plan, EnginePlan)
    assert plan.partition.choices == ()
    for _ in range(TRIAL_CALLS):
        compiled([np.ones((2, 4), np.float32)])
    plan = compiled.explain({"x": (2, 4)})
    assert isinstance(plan, EnginePlan)
    (choice,) = plan.partition.choices
    assert choice.shapes == ((2, 4),)
    assert choice.runs_on in ("interpreter", "engine")


def test_copies_measure_again() -> None:
    x = build.parameter([4], name="x")
    compiled = compile_auto(build.model(build.result(build.relu(build.exp(build.sqrt(build.abs(x)))))))
    compiled([np.ones(4, np.float32)])
    copy = pickle.loads(pickle.dumps(compiled))
    assert len(compiled.partition.choices) == 1
    assert copy.partition.choices == ()
    copy([np.ones(4, np.float32)])
    assert copy.partition.choices[0].interpreter_calls == 1


@pytest.mark.parametrize("calls", [0, 1, TRIAL_CALLS + 1])
def test_closed_models_run_no_more(calls: int) -> None:
    x = build.parameter([4], name="x")
    compiled = compile_auto(build.model(build.result(build.relu(build.exp(build.sqrt(build.abs(x)))))))
    for _ in range(calls):
        compiled([np.ones(4, np.float32)])
    compiled.close()
    with pytest.raises(EvaluationError):
        compiled([np.ones(4, np.float32)])


@pytest.mark.parametrize("command", ["run", "profile"])
def test_command_reports_the_choice(command: str) -> None:
    pytest.importorskip("onnxruntime")
    further = ["--repeat", str(TRIAL_CALLS + 2)] if command == "run" else ["--plan"]
    arguments = [command, str(NETWORKS / "nms9.xml"), "--engine", "auto", "--format", "json", *further]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    (choice,) = report["engine" if command == "run" else "partition"]["choices"]
    assert choice["runs_on"] in ("interpreter", "engine")
    assert choice["engine_seconds"] > 0
    assert choice["interpreter_seconds"] > 0


def test_profile_measures_onnxruntime() -> None:
    pytest.importorskip("onnxruntime")
    report = profile(NETWORKS / "nms9.xml", engine="auto", repeat=1)
    assert report.engine is not None
    assert report.engine.partition.on_engine > 0
