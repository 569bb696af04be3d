"""Every value of a run in memory: the same as in a folder, without the folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ir_exec
from ir_exec import build
from ir_exec.codes import Code
from ir_exec.debug import compare, trace
from tests.conformance.networks import arrays

NETWORKS = Path(__file__).parents[2] / "networks"
GNN = NETWORKS / "gnn_gcn_gat.xml"
LOOP = NETWORKS / "script_loop_seq.xml"


@pytest.mark.broad(keep=2)
@pytest.mark.parametrize("path", [GNN, LOOP, NETWORKS / "llama_stateful.xml", NETWORKS / "llama_int4_asym.xml"])
def test_as_in_a_folder(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    inputs = arrays(path, "inputs")
    in_memory = trace(path, inputs)
    assert not list(tmp_path.iterdir())
    written = trace(path, inputs, output="values")
    assert in_memory.index == written.index
    assert list(in_memory) == list(written)
    for name, array in in_memory.items():
        assert array.dtype == written[name].dtype
        assert array.tobytes() == written[name].tobytes()
        assert not array.flags.writeable
    assert in_memory.folder is None
    port = ir_exec.read_model(path).outputs[0]
    assert np.array_equal(in_memory[port.name], written[port.name])


def test_chosen_values() -> None:
    inputs = arrays(LOOP, "inputs")
    values = trace(LOOP, inputs, types=["Add"], constants=False)
    assert {value.type for value in values.index.values} == {"Add"}
    assert values.index.filtered
    with pytest.raises(ir_exec.EvaluationError):
        trace(LOOP, inputs, layers=["nothing"])


def test_inputs_may_change_afterwards() -> None:
    data = build.parameter([2], "f32", name="data")
    model = build.model(build.reshape(data, [1, 2], False, name="out"))
    array = np.array([1, 2], np.float32)
    values = trace(model, [array])
    array[:] = 7
    assert values["data"].tolist() == [1, 2]
    assert values["out"].tolist() == [[1, 2]]


def test_missing_names_are_reported() -> None:
    values = trace(GNN, arrays(GNN, "inputs"))
    name = next(iter(values))
    with pytest.raises(KeyError) as caught:
        values[f"{name}x"]
    assert isinstance(caught.value, ir_exec.EvaluationError)
    assert (caught.value.code, name in str(caught.value)) == (Code.unknown_input, True)
    assert f"{name}x" not in values


def test_the_memory_is_limited() -> None:
    model = ir_exec.read_model(GNN)
    inputs = arrays(GNN, "inputs")
    with pytest.raises(ir_exec.ResourceError):
        trace(model, inputs, max_memory=100)
    with pytest.raises(ir_exec.EvaluationError):
        trace(model, inputs, max_memory=-1)
    small_trace = trace(model, inputs, layers=[model.outputs[0].name], max_memory=10_000)
    assert len(small_trace) == 1


def test_as_a_reference() -> None:
    inputs = arrays(GNN, "inputs")
    report = compare(GNN, trace(GNN, inputs))
    assert report.equal
    assert report.seed is None
