"""Every network of the repository, compared with itself: by a second run, by its trace, and by its arrays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ir_exec import EvaluationError, compile_model, read_model
from ir_exec.codes import Code
from ir_exec.debug import compare, trace
from ir_exec.types import Array

NETWORKS = Path(__file__).parents[2] / "networks"
FILES = {
    path.relative_to(NETWORKS).as_posix(): path
    for path in (*sorted(NETWORKS.glob("*.xml")), *sorted(NETWORKS.glob("onnx/*.onnx")))
}
UNFIT = {"embedding_bag_dlrm.xml"}
"""Networks whose own layers refuse what is drawn for them, where that is not made to fit."""


def inputs_of(path: Path) -> list[Array]:
    with np.load(path.with_name(f"{path.stem}.inputs.npz")) as archive:
        return [archive[name] for name in archive.files]


@pytest.mark.broad(keep=8)
@pytest.mark.parametrize("name", FILES)
def test_from_drawn_inputs(name: str) -> None:
    model = read_model(FILES[name])
    try:
        report = compare(model, model)
    except EvaluationError as error:
        if name not in UNFIT or error.code != Code.bad_value:
            raise
        return
    assert not report.faults
    assert {layer.status for layer in report.layers} == {"equal"}


@pytest.mark.broad(keep=8)
@pytest.mark.parametrize("name", FILES)
def test_from_its_inputs(name: str, tmp_path: Path) -> None:
    model, inputs = read_model(FILES[name]), inputs_of(FILES[name])
    report = compare(model, model, inputs)
    assert report.equal
    assert {layer.status for layer in report.layers} == {"equal"}
    assert not report.unmatched
    values = trace(model, inputs, output=tmp_path / "trace")
    from_trace = compare(model, values, inputs)
    assert from_trace.equal
    assert from_trace.layers == report.layers
    arrays = {name: values[name] for name in values if not name.endswith("]")}
    outputs = compile_model(model)(inputs).to_tuple()
    from_arrays = compare(model, {**arrays, **{f"out{i}": array for i, array in enumerate(outputs)}}, inputs)
    assert from_arrays.equal


@pytest.mark.broad(keep=8)
@pytest.mark.parametrize("name", FILES)
def test_in_calls_that_go_on(name: str) -> None:
    model, inputs = read_model(FILES[name]), inputs_of(FILES[name])
    report = compare(model, read_model(FILES[name]), inputs, calls=2)
    assert report.equal
    assert report.calls == 2
