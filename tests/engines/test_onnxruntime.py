"""onnxruntime as an engine: the networks, weights, precision, state, limits, errors, threads and times."""

from __future__ import annotations

import gc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ir_exec import (
    CompiledModel,
    EvaluationError,
    IRError,
    Model,
    ResourceError,
    build,
    compile_model,
    read_model,
)
from ir_exec.build import Value
from ir_exec.engines import onnxruntime as module
from ir_exec.engines.compiled import EngineModel
from ir_exec.types import Array
from tests.helpers.facts import mentions

NETWORKS = sorted((Path(__file__).parents[1] / "networks").glob("*.xml"))
X = np.linspace(0.1, 2, 12, dtype=np.float32).reshape(3, 4)
RANDOM = np.random.default_rng(0)


def compile_for_engine(model: Model | Path, **options: Any) -> EngineModel:
    engine_model = compile_model(model, engine="onnxruntime", **options)
    assert isinstance(engine_model, EngineModel)
    return engine_model


def inputs_of(path: Path) -> list[Array]:
    with np.load(path.with_suffix(".inputs.npz"), allow_pickle=True) as stored:
        return [stored[f"in{i}"] for i in range(len(stored.files))]


def assert_close(actual: Array, expected: Array) -> None:
    assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape)
    if expected.dtype.kind != "f":
        np.testing.assert_array_equal(actual, expected)
        return
    finite = np.abs(expected[np.isfinite(expected)].astype(np.float64)).max(initial=0)
    np.testing.assert_allclose(actual.astype(np.float64), expected.astype(np.float64), rtol=2e-3, atol=1e-3 * finite)


@pytest.mark.parametrize("path", NETWORKS, ids=lambda path: path.stem)
def test_networks(path: Path) -> None:
    inputs = inputs_of(path)
    ours, engine = compile_model(path), compile_for_engine(path)
    for _ in range(2):
        for actual, expected in zip(engine(inputs).to_tuple(), ours(inputs).to_tuple(), strict=True):
            assert_close(actual, expected)
        ours.reset_state()
        engine.reset_state()
    assert engine.partition.failures == ()


def test_most_layers_are_on_the_engine() -> None:
    reports = [compile_for_engine(path).partition for path in NETWORKS]
    assert sum(report.on_engine for report in reports) > 0.8 * sum(report.layers for report in reports)


def linear(element_type: str = "f32") -> Model:
    weights = RANDOM.normal(size=(4, 64)).astype(np.float32)
    x = build.parameter([None, 4], element_type, name="x")
    y = build.matmul(x, build.constant(weights, element_type))
    return build.model(build.result(build.relu(build.add(y, build.constant(weights[0], element_type))), name="y"))


def test_any_size_runs_in_the_same_session(monkeypatch: pytest.MonkeyPatch) -> None:
    model = compile_for_engine(linear())
    monkeypatch.setattr(module.OnnxRuntime, "compile", lambda *_: pytest.fail("another session"))
    for rows in (1, 3, 0):
        assert model([X[:rows]])["y"].shape == (rows, 64)


@pytest.mark.parametrize("element_type", ["f16", "bf16"])
def test_short_floats_are_computed_in_f32(element_type: str) -> None:
    # A sum that f16 cannot hold on the way to a small difference.
    x = build.parameter([2], element_type, name="x")
    large = build.multiply(x, build.constant(np.array([300, 300], np.float32), element_type))
    square = build.multiply(large, large)
    model = build.model(build.result(build.divide(square, build.multiply(large, x)), name="y"))
    values = np.array([1, 2], np.float32)
    actual, expected = compile_for_engine(model)([values])["y"], compile_model(model)([values])["y"]
    assert actual.dtype == expected.dtype
    assert actual.astype(np.float32).tolist() == expected.astype(np.float32).tolist() == [300, 300]


def test_outputs_are_the_callers() -> None:
    model = compile_for_engine(linear())
    first, second = model([X])["y"], model([X])["y"]
    assert first.flags.writeable
    first[...] = 0
    assert second.any()
    assert not np.may_share_memory(first, second)


def accumulating(shape: list[int | None], *, initial: bool) -> Model:
    x = build.parameter([None], name="x")
    state = (
        build.read_value(build.multiply(x, x), "v")
        if initial
        else build.read_value(None, "v", shape=shape, element_type="f32")
    )
    total = build.add(state, x)
    out = build.relu(build.abs(build.multiply(total, total)))
    return build.model(build.result(out, name="y"), sinks=[build.assign(total, "v")])


def test_variables() -> None:
    model, x = compile_for_engine(accumulating([None], initial=True)), np.array([2, 3], np.float32)
    assert [model([x])["y"].tolist() for _ in range(3)] == [[36, 144], [64, 225], [100, 324]]
    session = model.session()
    assert session([x])["y"].tolist() == [36, 144]
    model.reset_state()
    assert model([x])["y"].tolist() == [36, 144]
    other = compile_for_engine(accumulating([2], initial=False))
    assert [other([x])["y"].tolist() for _ in range(2)] == [[4, 9], [16, 36]]


def test_failed_call_restores_state() -> None:
    model, x = compile_for_engine(accumulating([2], initial=False)), np.array([2, 3], np.float32)
    model([x])
    with pytest.raises(IRError):
        model([np.ones(3, np.float32)])
    assert model([x])["y"].tolist() == [16, 36]


def gathering(function: str) -> Model:
    table, indices = build.parameter([5], name="table"), build.parameter([None], "i64", name="indices")
    if function == "gather":
        picked = build.gather(table, indices, 0, name="pick")
    elif function == "gather_elements":
        picked = build.gather_elements(table, indices, axis=0, name="pick")
    elif function == "gather_nd":
        picked = build.gather_nd(table, build.unsqueeze(indices, [1]), name="pick")
    elif function == "scatter_update":
        picked = build.scatter_update(table, indices, build.gather(table, [0], 0), 0, name="pick")
    elif function == "scatter_elements_update":
        picked = build.scatter_elements_update(table, indices, build.gather(table, [0], 0), 0, name="pick")
    else:
        picked = build.scatter_nd_update(table, build.unsqueeze(indices, [1]), build.gather(table, [0], 0), name="pick")
    return build.model(build.result(build.abs(build.relu(picked)), name="y"))


@pytest.mark.parametrize(
    "function",
    ["gather", "gather_elements", "gather_nd", "scatter_update", "scatter_elements_update", "scatter_nd_update"],
)
@pytest.mark.parametrize("index", [5, -6, 2**31, -(2**62)])
def test_out_of_range_indices_match_interpreter(function: str, index: int) -> None:
    model, arguments = gathering(function), [np.arange(1, 6, dtype=np.float32), np.array([index])]
    expected, actual = [outcome(network, arguments) for network in (compile_model(model), compile_for_engine(model))]
    assert actual == expected


def outcome(model: CompiledModel, arguments: list[Array]) -> object:
    """The output as a list, or what the error is and where."""
    try:
        result: object = model(arguments)["y"].tolist()
    except IRError as error:
        return type(error), error.code, error.location.layer_name
    return result


@pytest.mark.parametrize("function", ["divide", "mod", "floor_mod"])
@pytest.mark.parametrize("element_type", ["i32", "u8", "i64"])
def test_integer_division_by_possible_zero_is_interpreted(function: str, element_type: str) -> None:
    x, y = build.parameter([None], element_type, name="x"), build.parameter([None], element_type, name="y")
    model = build.model(build.result(getattr(build, function)(x, y, name="quotient"), name="z"))
    engine_model = compile_for_engine(model)
    assert [layer.name for layer in engine_model.partition.interpreted] == ["quotient"]
    with pytest.raises(IRError):
        engine_model([[1], [0]])
    quotient = build.abs(
        build.convert(getattr(build, function)(x, build.constant([3], element_type)), destination_type="f32")
    )
    partition = compile_for_engine(build.model(build.result(build.relu(quotient)))).partition
    assert partition.on_engine == partition.layers


def test_value_dependent_size_is_interpreted() -> None:
    x, sizes = build.parameter([1], name="x"), build.parameter([1], "i64", name="sizes")
    model = build.model(build.result(build.abs(build.relu(build.tile(x, sizes, name="large"))), name="y"))
    engine_model = compile_for_engine(model, max_memory=10**8)
    assert "large" in [layer.name for layer in engine_model.partition.interpreted]
    with pytest.raises(ResourceError):
        engine_model([X[0, :1], np.array([2**40])])
    assert engine_model([X[0, :1], np.array([3])])["y"].shape == (3,)


def _resize(x: Value, sizes: Value) -> Value:
    return build.interpolate(x, sizes, mode="nearest", shape_calculation_mode="sizes", name="large")


def _count_segments(x: Value, sizes: Value) -> Value:
    count = build.multiply(build.gather(sizes, 0, 0), 2**14)
    return build.embedding_segments_sum(build.squeeze(x, np.array([0, 1])), [0, 1], [0, 1], count, name="large")


SIZED: dict[str, Callable[[Value, Value], Value]] = {
    "AdaptiveAvgPool": lambda x, sizes: build.adaptive_avg_pool(x, build.gather(sizes, [2, 3], 0), name="large"),
    "DFT": lambda x, sizes: build.dft(x, [0, 1, 2], build.gather(sizes, [0, 1, 2], 0), name="large"),
    "EmbeddingSegmentsSum": _count_segments,
    "Interpolate": _resize,
    "PriorBox": lambda x, sizes: build.prior_box(
        build.gather(sizes, [2, 3], 0), [9, 9], offset=0.5, min_size=[1.0], name="large"
    ),
    "SpaceToBatch": lambda x, sizes: build.space_to_batch(
        x, [1, 1, 1, 1], build.multiply(sizes, [0, 0, 1, 1]), [0, 0, 0, 0], name="large"
    ),
}


@pytest.mark.parametrize("build_layer", SIZED.values(), ids=SIZED)
def test_value_dependent_outputs_are_limited(build_layer: Callable[[Value, Value], Value]) -> None:
    x, sizes = build.parameter([1, 1, 4, 2], name="x"), build.parameter([4], "i64", name="sizes")
    output = build.result(build.abs(build_layer(x, sizes)), name="y")
    model = compile_for_engine(build.model(output, [x, sizes]), max_memory=10**8)
    data = np.ones((1, 1, 4, 2), np.float32)
    with pytest.raises(ResourceError):
        model([data, np.array([2**13] * 4)])
    assert "large" in [node.name for node in model.partition.interpreted]
    assert model([data, np.array([2] * 4)])["y"].size


def test_the_time_is_limited() -> None:
    x = build.parameter([1, 8, None, None], name="x")
    value = x
    for _ in range(20):
        value = build.convolution(
            value,
            np.ones((8, 8, 5, 5), np.float32),
            strides=[1, 1],
            pads_begin=[2, 2],
            pads_end=[2, 2],
            dilations=[1, 1],
        )
    model = compile_for_engine(build.model(build.result(value)), max_seconds=0.01, threads=1)
    with pytest.raises(ResourceError):
        model([np.ones((1, 8, 512, 512), np.float32)])


def test_threads_share_a_model() -> None:
    model = compile_for_engine(linear())
    inputs = [RANDOM.normal(size=(rows, 4)).astype(np.float32) for rows in range(1, 30)]
    alone = [model([x])["y"] for x in inputs]
    with ThreadPoolExecutor(4) as pool:
        for actual, expected in zip(pool.map(lambda x: model([x])["y"], inputs), alone, strict=True):
            np.testing.assert_array_equal(actual, expected)


def test_compressed_weights() -> None:
    codes = RANDOM.integers(0, 16, (64, 64)).astype(np.uint8)
    weights = build.constant(codes, "u4")
    scale = RANDOM.normal(size=(64, 1)).astype(np.float32)
    decoded = build.multiply(build.subtract(build.convert(weights, destination_type="f32"), 8.0), scale)
    x = build.parameter([None, 64], name="x")
    model = build.model(build.result(build.matmul(x, decoded, transpose_b=True), name="y"))
    values = RANDOM.normal(size=(2, 64)).astype(np.float32)
    for mode in ("expand", "keep"):
        actual = compile_for_engine(model, weight_mode=mode)([values])["y"]
        np.testing.assert_allclose(actual, values @ ((codes.astype(np.float32) - 8) * scale).T, rtol=1e-4, atol=1e-4)


def test_engine_times_have_layer_names() -> None:
    path = next(path for path in NETWORKS if path.stem == "conv_zoo")
    model = compile_for_engine(path, options={"profile": True})
    model(inputs_of(path))
    names = {node.name for node in read_model(path).graph.nodes}
    times = model.engine_times()
    assert times
    assert {time.layer for time in times if time.layer} <= names
    assert sum(time.seconds for time in times if time.layer) > 0


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {"session.force_spinning_stop": "1"}),
        ({"spinning": True}, {}),
        ({"spinning": False}, {"session.intra_op.allow_spinning": "0"}),
        ({"session.force_spinning_stop": "0"}, {"session.force_spinning_stop": "0"}),
    ],
)
def test_threads_spin_during_calls_only(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, object], expected: dict[str, str]
) -> None:
    import onnxruntime

    entries: dict[str, str] = {}

    class Recording(onnxruntime.SessionOptions):  # type: ignore[misc]  # onnxruntime has no types
        def add_session_config_entry(self, key: str, value: str) -> None:
            entries[key] = value
            super().add_session_config_entry(key, value)

    monkeypatch.setattr(onnxruntime, "SessionOptions", Recording)
    assert compile_for_engine(linear(), options=options)([X])["y"].shape == (3, 64)
    assert {key: value for key, value in entries.items() if "spinning" in key} == expected


def test_providers_and_options() -> None:
    assert "CPUExecutionProvider" in compile_for_engine(linear(), providers=["cpu"]).engine
    for options in ({"providers": ["Nope"]}, {"options": {"nope": 1}}, {"options": {"execution_mode": "x"}}):
        with pytest.raises(EvaluationError) as caught:
            compile_for_engine(linear(), **options)
        assert caught.value.code == "IR704"
    settings = {"spinning": False, "prepack": False, "graph_optimization_level": "basic", "inter_op_num_threads": 2}
    assert compile_for_engine(linear(), options=settings)([X])["y"].shape == (3, 64)


def test_missing_package_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(EvaluationError) as caught:
        compile_for_engine(linear())
    assert caught.value.hint == mentions(".[onnxruntime]")


class Session:
    """A session whose runs fail, and, with `refuses`, whose making does."""

    refuses = ""

    def __init__(self, *_: Any, **__: Any) -> None:
        if self.refuses:
            raise RuntimeError(self.refuses)

    def get_inputs(self) -> list[Any]:
        return []

    def run(self, *_: Any) -> list[Array]:
        raise RuntimeError("[ONNXRuntimeError] : 6 : RUNTIME_EXCEPTION : running Add node. Name:'total' Status: no")


def summing() -> Model:
    x = build.parameter([3, 4], name="x")
    total = build.add(build.exp(x), np.float32(1), name="total")
    return build.model(build.result(build.sqrt(build.abs(total)), name="y"))


def test_session_failure_names_the_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    import onnxruntime

    monkeypatch.setattr(onnxruntime, "InferenceSession", Session)
    model = compile_for_engine(summing())
    for _ in range(2):
        np.testing.assert_array_equal(model([X])["y"], compile_model(summing())([X])["y"])
    (failure,) = model.partition.failures
    assert "total" in failure


@pytest.mark.parametrize("message", ["no kernel: Add node (total)", "no kernel"])
def test_session_failure_falls_back_with_reason(monkeypatch: pytest.MonkeyPatch, message: str) -> None:
    import onnxruntime

    monkeypatch.setattr(Session, "refuses", message)
    monkeypatch.setattr(onnxruntime, "InferenceSession", Session)
    model = compile_for_engine(summing())
    np.testing.assert_array_equal(model([X])["y"], compile_model(summing())([X])["y"])
    assert model.partition.on_engine == 0
    assert any(message in layer.reason for layer in model.partition.interpreted if layer.name == "total")


def test_profile_folder_that_cannot_be_created(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(**_: Any) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module.tempfile, "mkdtemp", full)
    with pytest.raises(EvaluationError):
        compile_for_engine(linear(), options={"profile": True})


def test_the_folder_of_a_profile_is_deleted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module.tempfile, "tempdir", str(tmp_path))
    model = compile_for_engine(linear(), options={"profile": True})
    model([X])
    assert len(list(tmp_path.iterdir())) == 1
    assert model.engine_times()
    assert not list(tmp_path.iterdir())
    # An unread profile is deleted with its model.
    for ends_by_closing in (True, False):
        model = compile_for_engine(linear(), options={"profile": True})
        model([X])
        assert len(list(tmp_path.iterdir())) == 1
        if ends_by_closing:
            model.close()
        del model
        gc.collect()
        assert not list(tmp_path.iterdir())


def test_folder_of_refused_session_is_deleted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import onnxruntime

    def refuse(*arguments: Any, **options: Any) -> None:
        raise RuntimeError("refused")

    monkeypatch.setattr(module.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(onnxruntime, "InferenceSession", refuse)
    assert compile_for_engine(linear(), options={"profile": True}).partition.on_engine == 0
    assert not list(tmp_path.iterdir())


def test_truncated_profile_is_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    model = compile_for_engine(linear(), options={"profile": True})
    model([X])

    def cut_off(text: str) -> Any:
        raise ValueError("it ends in a string")

    monkeypatch.setattr(module.json, "loads", cut_off)
    with pytest.raises(EvaluationError) as caught:
        model.engine_times()
    assert caught.value.code == "IR700"


@pytest.mark.parametrize("element_type", ["f8e4m3", "f8e5m2", "bf16", "i4", "u4"])
def test_outputs_have_their_element_types(element_type: str) -> None:
    """onnxruntime returns f8e4m3 as bytes."""
    x = build.parameter([3], "f32", name="x")
    network = build.model([build.result(build.convert(build.abs(x), element_type), name="y")])
    data = np.array([0, 1, 3], np.float32)
    expected = compile_model(network, precision="file")([data])[0]
    actual = compile_model(network, precision="file", engine="onnxruntime")([data])[0]
    assert actual.dtype == expected.dtype
    np.testing.assert_array_equal(actual.astype(np.float32), expected.astype(np.float32))


@pytest.mark.parametrize("element_type", ["f32", "i8"])
def test_constants_that_the_optimizer_transposes(element_type: str) -> None:
    """The optimizer moves the first Transpose past the sum, and transposes a square constant under its name."""
    x = build.parameter([1, 64, 64], name="x")
    constant = build.constant(np.arange(64 * 64).reshape(1, 64, 64) % 100, element_type)
    total = build.add(build.transpose(x, [0, 2, 1]), build.convert(constant, "f32"))
    model = build.model(build.result(build.relu(build.transpose(total, [0, 2, 1])), name="y"))
    values = RANDOM.normal(size=(1, 64, 64)).astype(np.float32)
    assert_close(compile_for_engine(model)([values])["y"], compile_model(model)([values])["y"])
