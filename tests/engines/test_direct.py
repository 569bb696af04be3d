"""Calls that go to the engine at once, and calls that need preparations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ir_exec import ElementTypeError, EvaluationError, IRError, ShapeError, build, compile_model
from ir_exec.engines.compiled import EngineModel
from ir_exec.runtime import runnable
from tests.onnx.files import model

X, Y = np.arange(6, dtype=np.float32).reshape(2, 3), np.ones((2, 3), np.float32)
BODY = "g (float[N,3] x, float[2,3] y) => (float[N,3] z) { s = Add(x, y) z = Neg(s) }"


def compile_for_engine(source: Any, **options: Any) -> EngineModel:
    content = source if not isinstance(source, str) else model(source).SerializeToString()
    compiled = compile_model(content, engine="onnxruntime", **options)
    assert isinstance(compiled, EngineModel)
    return compiled


@pytest.fixture
def prepared_runs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of inputs of each run that is made with the preparations of the interpreter."""
    runs: list[int] = []
    run = runnable.RunnableNetwork.run

    def record(self: Any, arrays: Any, *further: Any) -> Any:
        runs.append(len(arrays))
        return run(self, arrays, *further)

    monkeypatch.setattr(runnable.RunnableNetwork, "run", record)
    return runs


@pytest.mark.parametrize(
    "inputs", [{"x": X, "y": Y}, {"y": Y, "x": X}, [X, Y], (X, Y)], ids=["names", "reversed", "list", "tuple"]
)
def test_arrays_of_the_inputs_go_to_the_engine(inputs: Any, prepared_runs: list[int]) -> None:
    compiled = compile_for_engine(BODY)
    # The first call measures the memory of the part.
    for calls in range(3):
        outputs = compiled(inputs)
        assert outputs["z"].tolist() == (-(X + Y)).tolist()
        assert outputs.to_tuple()[0].flags.writeable
        assert len(prepared_runs) == min(calls + 1, 1)


@pytest.mark.parametrize(
    "inputs",
    [
        {0: X, "y": Y},
        {"x": X.tolist(), "y": Y},
        {"x": X.astype(np.float64), "y": Y},
        {"x": X.astype(">f4"), "y": Y},
        [X, Y.tolist()],
    ],
    ids=["position", "list", "f64", "byte order", "sequence"],
)
def test_other_inputs_are_prepared(inputs: Any, prepared_runs: list[int]) -> None:
    compiled = compile_for_engine(BODY)
    compiled([X, Y])
    assert compiled(inputs)["z"].tolist() == (-(X + Y)).tolist()
    assert len(prepared_runs) == 2


@pytest.mark.parametrize(
    ("inputs", "error"),
    [
        ({"x": X}, EvaluationError),
        ({"x": X, "y": Y, "z": Y}, EvaluationError),
        ({"x": X, "other": Y}, EvaluationError),
        ([X], EvaluationError),
        (None, EvaluationError),
        ({"x": X, "y": Y.astype(np.int64)}, ElementTypeError),
        ({"x": X[:, :2], "y": Y}, ShapeError),
        ({"x": X[0], "y": Y}, ShapeError),
        ({"x": X, "y": Y[:1]}, ShapeError),
    ],
)
def test_errors_are_those_of_other_calls(inputs: Any, error: type[IRError]) -> None:
    compiled = compile_for_engine(BODY)
    compiled([X, Y])
    with pytest.raises(error) as caught:
        compiled(inputs)
    with pytest.raises(error) as expected:
        compile_model(model(BODY).SerializeToString())(inputs)
    assert (caught.value.code, caught.value.actual) == (expected.value.code, expected.value.actual)


def test_failures_are_interpreted_and_reported(prepared_runs: list[int]) -> None:
    """The rows do not broadcast."""
    compiled = compile_for_engine(BODY)
    compiled([X, Y])
    for _ in range(2):
        with pytest.raises(IRError) as caught:
            compiled([np.ones((4, 3), np.float32), Y])
        assert caught.value.location.layer_name == "s"
    assert len(prepared_runs) == 3


def test_outputs_share_no_memory() -> None:
    body = "g (float[2,3] x) => (float[2,3] a, float[2,3] b) { a = Identity(x) b = Identity(a) }"
    compiled = compile_for_engine(body)
    for _ in range(3):
        x = X.copy()
        a, b = compiled([x]).to_tuple()
        a[...], b[...] = 7, 8
        assert x.tolist() == X.tolist()
        assert a.tolist() == np.full((2, 3), 7).tolist()


def test_larger_inputs_are_compared_with_the_budget() -> None:
    compiled = compile_for_engine("g (float[N,3] x) => (float[N,3] z) { s = Exp(x) z = Neg(s) }", max_memory=10_000)
    compiled([X])
    with pytest.raises(IRError) as caught:
        compiled([np.ones((10_000, 3), np.float32)])
    assert caught.value.code == "IR006"


def test_time_limits_and_observers_need_preparations(prepared_runs: list[int]) -> None:
    timed, plain = compile_for_engine(BODY, max_seconds=60.0), compile_for_engine(BODY)
    for _ in range(2):
        timed([X, Y])
        plain([X, Y], observe=lambda *_: None)
    assert len(prepared_runs) == 4


def test_changed_weights_are_reported(tmp_path: Path) -> None:
    x = build.parameter([2, 768], name="x")
    product = build.matmul(x, build.constant(np.ones((768, 768), np.float32)))
    path = tmp_path / "model.xml"
    build.model(build.result(build.relu(product), name="y")).save(path)
    compiled = compile_model(path, engine="onnxruntime")
    values = np.ones((2, 768), np.float32)
    for _ in range(2):
        assert compiled([values])["y"].tolist() == np.full((2, 768), 768).tolist()
    path.with_suffix(".bin").write_bytes(b"\0" * 4 * 768 * 769)
    with pytest.raises(IRError) as caught:
        compiled([values])
    assert caught.value.code == "IR200"


def test_a_closed_model_runs_no_more() -> None:
    compiled = compile_for_engine(BODY)
    compiled([X, Y])
    compiled.close()
    with pytest.raises(EvaluationError):
        compiled([X, Y])


def test_chosen_engine_is_called_directly(prepared_runs: list[int]) -> None:
    """With the engine "auto", once it has been measured for these shapes."""
    compiled = compile_model(model(BODY).SerializeToString(), engine="auto")
    assert isinstance(compiled, EngineModel)
    for _ in range(40):
        assert compiled([X, Y])["z"].tolist() == (-(X + Y)).tolist()
    runs_on = {choice.runs_on for choice in compiled.partition.choices}
    assert len(prepared_runs) < 40 or runs_on == {"interpreter"}
    before = len(prepared_runs)
    compiled([np.ones((9, 3), np.float32)[:2], Y])
    assert compiled([X[:, ::-1], Y])["z"].shape == (2, 3)
    assert len(prepared_runs) - before in (0, 2)
