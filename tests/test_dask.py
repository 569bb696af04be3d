"""Networks over Dask arrays: known before anything runs, and the same as a call for each chunk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ir_exec
from ir_exec.errors import ElementTypeError, EvaluationError, IRError, ShapeError, WeightsError
from tests.helpers.items import counting_network, weighed_network
from tests.helpers.network_text import NetworkText

dask = pytest.importorskip("dask", reason="Dask is not installed")
da = pytest.importorskip("dask.array", reason="Dask's arrays are not installed")

from ir_exec.dask import apply  # noqa: E402  # it imports Dask
from tests.helpers.facts import coded, naming  # noqa: E402

WEIGHTS = np.arange(12, dtype=np.float32).reshape(4, 3)
DATA = np.arange(40, dtype=np.float32).reshape(10, 4)


@pytest.fixture(autouse=True)
def here() -> Any:
    with dask.config.set(scheduler="synchronous"):
        yield


def test_shape_dtype_and_chunks_are_known_before() -> None:
    def refuse_call(block: Any) -> Any:
        raise AssertionError("nothing runs yet")

    x = da.from_array(DATA, chunks=(4, 2)).map_blocks(refuse_call, dtype=np.float32)
    y = apply(weighed_network(), x)
    assert isinstance(y, da.Array)
    assert (y.shape, y.dtype, y.chunks) == ((10, 3), np.float32, ((4, 4, 2), (3,)))


@pytest.mark.parametrize("chunks", [(4, 4), (10, 2), (1, 3)])
@pytest.mark.parametrize("weights", ["path", "value"])
def test_values(tmp_path: Path, chunks: tuple[int, int], weights: Any) -> None:
    y = apply(weighed_network(tmp_path), da.from_array(DATA, chunks=chunks), weights=weights)
    assert isinstance(y, da.Array)
    assert np.array_equal(y.compute(), DATA @ WEIGHTS)
    assert np.array_equal(y[3:5].sum(axis=0).compute(), (DATA @ WEIGHTS)[3:5].sum(axis=0))


def test_a_network_of_one_row_takes_other_chunks() -> None:
    y = apply(weighed_network(rows="1"), da.from_array(DATA, chunks=(5, 4)))
    assert isinstance(y, da.Array)
    assert np.array_equal(y.compute(), DATA @ WEIGHTS)


def several() -> ir_exec.Model:
    """sum = a + b, and the places where a is not 0."""
    text = NetworkText()
    a, b = text.parameter("?,2"), text.parameter("?,2")
    text.result(text.op("Add", a, b))
    places = text.op("NonZero", a, opset=3, output_type="i64")
    text.result(text.op("Transpose", places, text.const(np.array([1, 0], np.int64))))
    return ir_exec.read_model(text.file().xml, text.file().weights)


def test_several_inputs_and_outputs() -> None:
    a = np.array([[0, 1], [2, 0], [3, 4]], np.float32)
    arrays = {1: da.ones((3, 2), chunks=(2, 2), dtype=np.float32), 0: da.from_array(a, chunks=(2, 2))}
    outputs = apply(several(), arrays)
    assert isinstance(outputs, dict)
    total, places = outputs.values()
    assert np.array_equal(total.compute(), a + 1)
    assert np.isnan(places.shape[0])
    assert places.shape[1] == 2
    assert len(places.compute()) == 4


def test_each_chunk_starts_from_the_initial_state() -> None:
    y = apply(counting_network(), da.ones(4, chunks=1, dtype=np.float32))
    assert isinstance(y, da.Array)
    assert y.compute().tolist() == [1, 1, 1, 1]


def test_an_output_without_the_batch() -> None:
    text = NetworkText()
    x = text.parameter("?,4")
    axes = text.const(np.array([0], np.int64))
    text.result(text.op("ReduceSum", x, axes, keep_dims=True))
    network = ir_exec.read_model(text.file().xml, text.file().weights)
    with pytest.raises(ShapeError, match=naming("reducesum2", "[1,4]")):
        apply(network, da.from_array(DATA, chunks=(5, 4)))


@pytest.mark.parametrize(
    ("x", "error", "message"),
    [
        (DATA, EvaluationError, naming("parameter0", "ndarray", "dask.array")),
        ({}, EvaluationError, naming("parameter0")),
        ({"nothing": da.from_array(DATA)}, EvaluationError, naming("nothing")),
        (da.from_array(DATA.astype(np.int64)), ElementTypeError, naming("parameter0", "int64", "f32")),
        (da.from_array(DATA[:, :3], chunks=(5, 3)), ShapeError, naming("chunks", 5)),
        (da.from_array(np.float32(1)), ShapeError, naming("axes")),
        (da.from_array(DATA)[da.from_array(DATA)[:, 0] > 3], ShapeError, naming("x.compute_chunk_sizes()")),
    ],
)
def test_arrays_that_do_not_fit(x: Any, error: type[IRError], message: str) -> None:
    with pytest.raises(error, match=message):
        apply(weighed_network(), x)


def test_chunks_of_several_inputs_that_differ() -> None:
    with pytest.raises(ShapeError, match=naming("(2, 2)", "(4,)")):
        apply(several(), {0: da.ones((4, 2), chunks=(2, 2)), 1: da.ones((4, 2), chunks=(4, 2))})


def test_missing_weights(tmp_path: Path) -> None:
    model = weighed_network(tmp_path)
    # Precision makes it a network that no test has left in the cache of this process.
    y = apply(model, da.from_array(DATA, chunks=(5, 4)), precision="file")
    z = apply(model, da.from_array(DATA, chunks=(5, 4)), precision="file", weights="value")
    (tmp_path / "net.bin").unlink()
    with pytest.raises(WeightsError, check=coded("IR201")):
        y.compute()  # type: ignore[union-attr]  # one output, one array
    assert np.array_equal(z.compute(), DATA @ WEIGHTS)  # type: ignore[union-attr]  # the same
