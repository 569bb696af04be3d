"""Who passes an engine on: batches, in processes too, and Dask."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ir_exec
from ir_exec import EvaluationError

SAMPLE = Path(__file__).parents[2] / "samples" / "gather_elements.xml"


def inputs() -> dict[str, np.ndarray]:
    with np.load(SAMPLE.with_suffix(".inputs.npz")) as stored:
        return dict(stored)


@pytest.mark.parametrize("jobs", [None, 2])
def test_batch(jobs: int | None) -> None:
    given = inputs()
    expected = ir_exec.compile_model(SAMPLE)(given)
    items = [given, given, {}]
    results = list(ir_exec.batch.run(SAMPLE, items, jobs=jobs, engine="onnxruntime"))
    for result in results[:2]:
        assert result.outputs is not None
        for name in expected:
            np.testing.assert_allclose(result.outputs[name], expected[name], rtol=1e-6)
    assert isinstance(results[2].error, EvaluationError)


def test_batch_with_an_engine_that_is_not_there() -> None:
    with pytest.raises(EvaluationError):
        ir_exec.batch.run(SAMPLE, [inputs()], engine="nothing")


def test_dask() -> None:
    array = pytest.importorskip("dask.array")
    import ir_exec.dask
    from ir_exec import build

    x = build.parameter([None, 4], name="x")
    model = build.model(build.result(build.relu(build.multiply(build.abs(x), 2.0)), name="y"))
    values = np.arange(24, dtype=np.float32).reshape(6, 4)
    found = ir_exec.dask.apply(model, array.from_array(values, chunks=(2, 4)), engine="onnxruntime")
    np.testing.assert_array_equal(found.compute(scheduler="synchronous"), values * 2)
    with pytest.raises(EvaluationError):
        ir_exec.dask.apply(model, array.from_array(values, chunks=(2, 4)), engine="nothing")
