"""Callers that pass an engine on: batches, in processes too, and Dask."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import ir_exec
from ir_exec import EvaluationError
from ir_exec.cli import main
from ir_exec.plan.explain import PlanReport
from tests.engines.other import OtherEngine

SAMPLE = Path(__file__).parents[2] / "samples" / "gather_elements.xml"


def inputs() -> dict[str, np.ndarray]:
    with np.load(SAMPLE.with_suffix(".inputs.npz")) as stored:
        return dict(stored)


@pytest.mark.parametrize("jobs", [None, 2])
def test_batch(jobs: int | None) -> None:
    arrays = inputs()
    expected = ir_exec.compile_model(SAMPLE)(arrays)
    items = [arrays, arrays, {}]
    results = list(ir_exec.batch.run(SAMPLE, items, jobs=jobs, engine="onnxruntime"))
    for result in results[:2]:
        assert result.outputs is not None
        for name in expected:
            np.testing.assert_allclose(result.outputs[name], expected[name], rtol=1e-6)
    assert isinstance(results[2].error, EvaluationError)


def test_batch_with_missing_engine() -> None:
    with pytest.raises(EvaluationError):
        ir_exec.batch.run(SAMPLE, [inputs()], engine="nothing")


def test_dask() -> None:
    array = pytest.importorskip("dask.array")
    import ir_exec.dask
    from ir_exec import build

    x = build.parameter([None, 4], name="x")
    model = build.model(build.result(build.relu(build.multiply(build.abs(x), 2.0)), name="y"))
    values = np.arange(24, dtype=np.float32).reshape(6, 4)
    result = ir_exec.dask.apply(model, array.from_array(values, chunks=(2, 4)), engine="onnxruntime")
    np.testing.assert_array_equal(result.compute(scheduler="synchronous"), values * 2)
    with pytest.raises(EvaluationError):
        ir_exec.dask.apply(model, array.from_array(values, chunks=(2, 4)), engine="nothing")


NETWORK = str(Path(__file__).parents[1] / "networks" / "branches.xml")


def test_the_plan_shows_the_partition(register: Callable[[OtherEngine], OtherEngine]) -> None:
    register(OtherEngine(refuses=["ReduceMean"]))
    arguments = ["profile", NETWORK, "--plan", "--engine", "other"]
    result = CliRunner().invoke(main, [*arguments, "--format", "json"])
    assert result.exit_code == 0, result.output
    plan = json.loads(result.stdout)
    partition = plan.pop("partition")
    assert PlanReport.model_validate(plan).steps > 0
    refused = [entry for entry in partition["interpreted"] if entry["type"] == "ReduceMean"]
    assert [entry["reason"] for entry in refused] == ["refused"]
    assert partition["parts"][0]["engine"] is True
    text = CliRunner().invoke(main, [*arguments, "--all"], env={"COLUMNS": "200"}).stdout
    assert "other 1.0" in text
    assert "refused" in text
    assert all(name in text for part in partition["parts"] for name in part["layers"])


def test_plan_of_missing_engine() -> None:
    assert CliRunner().invoke(main, ["profile", NETWORK, "--plan", "--engine", "nothing"]).exit_code == 1


@pytest.mark.parametrize("command", ["run", "profile"])
def test_missing_provider_is_one_message(command: str, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    out = tmp_path / "out.npz"
    arguments = [command, NETWORK, "--engine", "onnxruntime", "--provider", "Nope", "-o", str(out)]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 1
    assert result.stderr.count("IR704") == 1
    assert "CPUExecutionProvider" in result.stderr
    assert not out.exists()
