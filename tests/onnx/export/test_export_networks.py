"""Real networks, exported, compute in onnxruntime what the interpreter computes, at two sizes where dims are open."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ir_exec
from ir_exec.onnx.export.lower import Exported, lower_model
from ir_exec.types import Array
from tests.onnx.export.sessions import run

FOLDER = Path(__file__).parents[2] / "networks"

NETWORKS = sorted(path.stem for path in FOLDER.glob("*.xml"))

TOLERANCE = 2e-4
"""Of the largest absolute output."""


def stored_inputs(model: ir_exec.Model, name: str) -> list[Array]:
    with np.load(FOLDER / f"{name}.inputs.npz", allow_pickle=True) as stored:
        arrays = dict(stored)
    names = [next((name for name in port.names if name in arrays), "") for port in model.inputs]
    return [arrays[input_name or f"in{i}"] for i, input_name in enumerate(names)]


def initial_states(exported: Exported, model: ir_exec.Model, batch: int) -> dict[str, Array]:
    """Zeros for the states, with nothing along open dims but the batch."""
    kinds = {1: np.float32, 10: np.float16, 7: np.int64, 9: np.bool_, 6: np.int32}
    states = {}
    for declared in exported.proto.graph.input:
        if declared.name in [past for past, _ in exported.states.values()]:
            tensor = declared.type.tensor_type
            dims = [dim.dim_value if dim.HasField("dim_value") else 0 for dim in tensor.shape.dim]
            dims[0] = dims[0] or batch
            states[declared.name] = np.zeros(dims, kinds[tensor.elem_type])
    return states


def assert_alike(actual: list[Array], expected: list[Array]) -> None:
    for left, right in zip(actual, expected, strict=False):
        assert left.shape == right.shape
        if right.dtype.kind == "f":
            finite = np.isfinite(right)
            scale = np.abs(right[finite].astype(np.float64)).max(initial=1e-6)
            np.testing.assert_allclose(left, right, rtol=0, atol=TOLERANCE * scale)
        else:
            np.testing.assert_array_equal(left, right)


@pytest.mark.broad(keep=8)
@pytest.mark.parametrize("name", NETWORKS)
def test_the_exported_network_computes_the_same(name: str) -> None:
    model = ir_exec.read_model(FOLDER / f"{name}.xml")
    inputs = stored_inputs(model, name)
    exported = lower_model(model)
    assert exported.inputs == tuple(port.name for port in model.inputs)
    result = ir_exec.compile_model(model)(inputs)
    expected = [np.asarray(result[i]) for i in range(len(model.outputs))]
    batch = inputs[0].shape[0] if inputs and inputs[0].ndim else 1
    assert_alike(run(exported, inputs, initial_states(exported, model, batch)), expected)


@pytest.mark.parametrize(("name", "axis"), [("bert_tiny_fp16", 0), ("bert_tiny_fp16", 1), ("llama_int4_asym", 1)])
def test_open_dims_take_another_size(name: str, axis: int) -> None:
    model = ir_exec.read_model(FOLDER / f"{name}.xml")
    inputs = [np.concatenate([input, input], axis) for input in stored_inputs(model, name)]
    result = ir_exec.compile_model(model)(inputs)
    expected = [np.asarray(result[i]) for i in range(len(model.outputs))]
    assert_alike(run(lower_model(model), inputs), expected)
