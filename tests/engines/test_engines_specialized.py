"""Engines run what the interpreter runs: models that are specialized to their inputs, and models with assumptions."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from ir_exec import EvaluationError, compile_model
from ir_exec.engines import onnxruntime as module
from ir_exec.engines.compiled import EngineModel
from ir_exec.types import Array
from tests.engines.other import OtherEngine
from tests.onnx.files import model

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def _gather_elements() -> onnx.ModelProto:
    """With inputs of unknown rank."""
    node = helper.make_node("GatherElements", ["x", "i"], ["y"], axis=1)
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, None),
        helper.make_tensor_value_info("i", TensorProto.INT64, None),
    ]
    graph = helper.make_graph([node], "g", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    return helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)])


MODELS: dict[str, tuple[onnx.ModelProto, dict[str, Array]]] = {
    "GatherND": (
        model("g (float[b,3,4] x, int64[2,2,1] i) => (float[2,2,4] y) { y = GatherND<batch_dims = 1>(x, i) }"),
        {"x": X, "i": np.array([[[0], [2]], [[1], [1]]])},
    ),
    "GatherElements": (_gather_elements(), {"x": X[0], "i": np.array([[0, 3], [1, 2], [0, 0]])}),
    "Unsqueeze": (
        model("g (float[N,M] x, int64[P] a) => (y) { y = Unsqueeze(x, a) }"),
        {"x": X[0], "a": np.array([0, 3])},
    ),
    "SequenceAt": (
        model("g (float[N] x, float[N] z, int64 i) => (y) { s = SequenceConstruct(x, z) y = SequenceAt(s, i) }"),
        {"x": X[0, 0], "z": X[0, 1], "i": np.array(1)},
    ),
    "SequenceInsert": (
        model(
            """g (float[N,M] x, float[K] z) => (y) { s = SplitToSequence<axis = 0, keepdims = 0>(x)
            t = SequenceInsert(s, z) y = ConcatFromSequence<axis = 0, new_axis = 1>(t) }"""
        ),
        {"x": X[0], "z": X[1, 0]},
    ),
    "SplitToSequence": (
        model(
            """g (float[N,M] x, int64[P] sizes) => (y) { s = SplitToSequence<axis = 1>(x, sizes)
            z = Constant<value_int = 0>() h = SequenceAt(s, z) y = Neg(h) }"""
        ),
        {"x": X[0], "sizes": np.array([1, 3])},
    ),
}
"""Operators that need values of the call, or are lowered with assumptions about it."""


def engine_model(proto: onnx.ModelProto, engine: str, **options: Any) -> EngineModel:
    engine_model = compile_model(proto.SerializeToString(), engine=engine, **options)
    assert isinstance(engine_model, EngineModel)
    return engine_model


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("engine", ["other", "onnxruntime"])
def test_engine_runs_models_of_the_interpreter(
    name: str, engine: str, register: Callable[[OtherEngine], OtherEngine]
) -> None:
    if engine == "other":
        register(OtherEngine())
    proto, inputs = MODELS[name]
    expected = compile_model(proto.SerializeToString())(inputs)
    compiled = engine_model(proto, engine)
    for _ in range(2):
        outputs = compiled(inputs)
        np.testing.assert_array_equal(outputs[0], expected[0])
    assert compiled.partition.on_engine > 0
    assert compiled.partition.failures == ()


def test_inputs_contradicting_assumptions_get_another_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Elements of a list with different sizes cannot be joined, if the nodes of the file are lowered."""
    monkeypatch.setattr(module, "OLDEST_COMPARED", (99, 0))
    proto, inputs = MODELS["SequenceAt"]
    compiled = engine_model(proto, "onnxruntime")
    compiled(inputs)
    assert compiled.specializations == []
    output = compiled({**inputs, "z": X[1, 1, :3]})[0]
    np.testing.assert_array_equal(output, X[1, 1, :3])
    assert len(compiled.specializations) == 1


def test_original_nodes_make_no_assumptions() -> None:
    """onnxruntime has lists, and needs no other model for elements of different sizes."""
    proto, inputs = MODELS["SequenceAt"]
    compiled = engine_model(proto, "onnxruntime")
    for z in (inputs["z"], X[1, 1, :3]):
        np.testing.assert_array_equal(compiled({**inputs, "z": z})[0], z)
    assert compiled.specializations == []
    assert compiled.partition.failures == ()


def test_partial_model_has_partition_after_first_call(
    register: Callable[[OtherEngine], OtherEngine],
) -> None:
    engine = register(OtherEngine())
    proto, inputs = MODELS["SplitToSequence"]
    compiled = engine_model(proto, "other")
    assert compiled.engine == "other 1.0"
    with pytest.raises(EvaluationError):
        _ = compiled.partition
    for sizes in ([1, 3], [2, 2], [1, 3]):
        output = compiled({**inputs, "sizes": np.array(sizes)})[0]
        np.testing.assert_array_equal(output, -X[0][:, : sizes[0]])
    assert len(compiled.specializations) == 2
    assert len(engine.parts) == 2
    copied = pickle.loads(pickle.dumps(compiled))
    np.testing.assert_array_equal(copied(inputs)[0], -X[0][:, :1])


@pytest.mark.parametrize("name", ["SequenceAt", "SplitToSequence"])
def test_a_closed_model_makes_no_further_models(name: str, register: Callable[[OtherEngine], OtherEngine]) -> None:
    engine = register(OtherEngine())
    proto, inputs = MODELS[name]
    compiled = engine_model(proto, "other")
    compiled(inputs)
    compiled.close()
    assert all(part.is_closed for part in engine.parts)
    with pytest.raises(EvaluationError):
        compiled(inputs)
    with pytest.raises(EvaluationError):
        compiled({key: value[:1] if value.ndim else value for key, value in inputs.items()})


def test_partial_model_options_are_validated_before_a_call() -> None:
    with pytest.raises(EvaluationError):
        engine_model(MODELS["SplitToSequence"][0], "nothing")
