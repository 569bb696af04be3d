"""Models that an engine runs in parts: results, state, errors, limits, observers, copies and the report."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import ir_exec
from ir_exec import EvaluationError, IRError, Model, ResourceError, build, compile_model
from ir_exec.build.cutting import Cut
from ir_exec.engines.compiled import EngineModel
from ir_exec.engines.interface import PartRefused
from tests.engines.other import OtherEngine, OtherPart

NETWORKS = Path(__file__).parents[1] / "networks"
X = np.linspace(0.1, 2, 12, dtype=np.float32).reshape(3, 4)

Register = Callable[[OtherEngine], OtherEngine]


def network() -> Model:
    x = build.parameter([None, 4], name="x")
    first = build.sqrt(build.exp(build.abs(x)), name="first")
    middle = build.tanh(first, name="middle")
    last = build.abs(build.cos(build.add(middle, first)), name="last")
    return build.model([build.result(last, name="y"), build.result(middle, name="m")])


def compile_for_engine(model: Model | str | Path, **options: object) -> EngineModel:
    engine_model = compile_model(model, engine="other", **options)  # type: ignore[arg-type]  # options of compile_model
    assert isinstance(engine_model, EngineModel)
    return engine_model


@pytest.mark.parametrize("refuses", [(), ("Tanh",), ("Exp", "Cos")])
def test_outputs_equal_the_interpreter(register: Register, refuses: tuple[str, ...]) -> None:
    engine = register(OtherEngine(refuses=refuses))
    actual, expected = compile_for_engine(network())([X]), compile_model(network())([X])
    for name in ("y", "m"):
        np.testing.assert_allclose(actual[name], expected[name], rtol=1e-6)
        actual[name][...] = 0  # it is the caller's
    assert engine.parts


def test_parts_run_once_in_a_call_for_any_shape(register: Register) -> None:
    engine = register(OtherEngine(refuses=["Tanh"]))
    model = compile_for_engine(network())
    for rows in (1, 3, 2):
        assert model([X[:rows]])["y"].shape == (rows, 4)
    assert [part.runs for part in engine.parts] == [3, 3]


def test_partition_names_engine_of_each_layer(register: Register) -> None:
    register(OtherEngine(refuses=["Tanh"]))
    report = compile_for_engine(network()).partition
    assert (report.engine, report.layers, report.on_engine, report.crossings) == ("other 1.0", 7, 6, 3)
    assert [part.engine for part in report.parts] == [True, False, True]
    assert report.parts[1].layers == ("middle",)
    assert [(layer.name, layer.type, layer.reason) for layer in report.interpreted] == [("middle", "Tanh", "refused")]
    assert len(str(report).splitlines()) == 5


@pytest.mark.parametrize("names", [True, False])
def test_late_refusals_are_interpreted(register: Register, names: bool) -> None:
    register(OtherEngine(late=["Tanh"], names=names))
    model = compile_for_engine(network())
    np.testing.assert_allclose(model([X])["y"], compile_model(network())([X])["y"], rtol=1e-6)
    assert "Tanh" in {layer.type for layer in model.partition.interpreted}
    assert model.partition.on_engine == (6 if names else 0)


def test_refused_constants_are_computed_once(register: Register) -> None:
    x = build.parameter([4], name="x")
    scale = build.tanh(build.constant(np.full(4, 0.5, np.float32)))
    model = build.model(
        build.result(build.abs(build.sqrt(build.multiply(x, build.exp(scale, name="raised")))), name="y")
    )
    engine = register(OtherEngine(refuses=["Tanh"]))
    actual = compile_for_engine(model)([X[0]])["y"]
    np.testing.assert_allclose(actual, np.sqrt(X[0] * np.exp(np.tanh(np.float32(0.5)))), rtol=1e-6)
    assert len(engine.parts) == 1
    assert "raised" in engine.parts[0].layers


def stateful() -> Model:
    """The variable begins with x * x, and grows by x; the output is |sum|."""
    x = build.parameter([None], name="x")
    state = build.read_value(build.multiply(x, x), "v")
    total = build.add(state, x, name="sum")
    grown = build.abs(build.sqrt(build.multiply(total, total)))
    return build.model(build.result(grown, name="y"), sinks=[build.assign(total, "v")])


@pytest.mark.parametrize("refuses", [(), ("Sqrt",)])
def test_variables_live_between_calls(register: Register, refuses: tuple[str, ...]) -> None:
    register(OtherEngine(refuses=refuses))
    model = compile_for_engine(stateful())
    x = np.array([2, 3], np.float32)
    assert model([x])["y"].tolist() == [6, 12]
    assert model([x])["y"].tolist() == [8, 15]
    other = model.session()
    assert other([x])["y"].tolist() == [6, 12]
    snapshot = model.snapshot()
    assert model([x])["y"].tolist() == [10, 18]
    model.restore(snapshot)
    state = model.state["v"]
    assert state is not None
    assert state.tolist() == [8, 15]
    assert not state.flags.writeable
    model.reset_state()
    assert model([x])["y"].tolist() == [6, 12]
    model.state["v"] = np.zeros(2, np.float32)
    assert model([x])["y"].tolist() == [2, 3]


def test_observers_see_every_layer_of_the_interpreter(register: Register) -> None:
    engine = register(OtherEngine())
    seen = []
    compile_for_engine(network())([X], observe=lambda node, *_: seen.append(node.type))
    assert seen == ["Abs", "Exp", "Sqrt", "Tanh", "Add", "Cos", "Abs"]
    assert [part.runs for part in engine.parts] == [0]


def test_failures_of_engine_are_interpreted_and_reported(register: Register) -> None:
    register(OtherEngine(fails=True))
    model = compile_for_engine(network())
    for _ in range(2):
        np.testing.assert_allclose(model([X])["y"], compile_model(network())([X])["y"], rtol=1e-6)
    assert model.partition.failures == ("other-engine-fails",)


def test_error_names_its_layer(register: Register) -> None:
    table, indices = build.parameter([5], name="table"), build.parameter([None], "i64", name="indices")
    picked = build.gather_elements(table, indices, axis=0, name="pick")
    model = build.model(build.result(build.abs(build.sqrt(picked))))
    register(OtherEngine(fails=True))
    with pytest.raises(IRError) as caught:
        compile_for_engine(model)([np.ones(5, np.float32), np.array([9])])
    assert caught.value.location.layer_name == "pick"


def test_budget_is_checked_before_the_engine_runs(register: Register) -> None:
    engine = register(OtherEngine())
    model = compile_for_engine(network(), max_memory=100_000)
    model([X])
    runs = engine.parts[0].runs
    with pytest.raises(ResourceError):
        model([np.ones((10_000, 4), np.float32)])
    assert engine.parts[0].runs == runs


def test_copy_is_compiled_with_the_same_engine(register: Register) -> None:
    engine = register(OtherEngine(refuses=["Tanh"]))
    model = pickle.loads(pickle.dumps(compile_for_engine(network(), providers=["A"], options={"b": 1}, threads=1)))
    assert isinstance(model, EngineModel)
    assert engine.setting is not None
    assert (engine.setting.providers, engine.setting.options, engine.setting.threads) == (("A",), {"b": 1}, 1)
    assert model([X])["y"].shape == (3, 4)


def test_a_closed_model_runs_no_more(register: Register) -> None:
    engine = register(OtherEngine())
    with compile_for_engine(network()) as model:
        model([X])
    assert engine.parts[0].is_closed
    with pytest.raises(EvaluationError):
        model([X])


def test_inputs_and_constants_as_outputs(register: Register) -> None:
    register(OtherEngine())
    x = build.parameter([4], name="x")
    constant = build.result(build.constant(np.arange(3, dtype=np.int32)), name="c")
    model = build.model([build.result(x, name="same"), constant, build.result(build.abs(x), name="y")])
    outputs = compile_for_engine(model)([X[0]])
    assert outputs["c"].tolist() == [0, 1, 2]
    np.testing.assert_array_equal(outputs["same"], X[0])
    assert not np.may_share_memory(outputs["same"], X)


def test_what_cannot_be_asked_for() -> None:
    for options in ({"engine": "none"}, {"providers": ["CPU"]}, {"engine": "onnxruntime", "options": 3}):
        with pytest.raises(EvaluationError) as caught:
            compile_model(network(), **options)  # type: ignore[arg-type]  # it is wrong
        assert caught.value.code == "IR704"


@pytest.mark.parametrize("name", ["bert_tiny_fp16", "index_ops", "same_padding", "keras"])
@pytest.mark.parametrize("refuses", [("MatMul", "Convolution"), ("Add", "ShapeOf"), ("Multiply", "Convert")])
def test_networks_in_many_parts(register: Register, name: str, refuses: tuple[str, ...]) -> None:
    register(OtherEngine(refuses=refuses))
    with np.load(NETWORKS / f"{name}.inputs.npz") as stored:
        inputs = dict(stored)
    actual = compile_for_engine(NETWORKS / f"{name}.xml")(inputs)
    expected = ir_exec.compile_model(NETWORKS / f"{name}.xml")(inputs)
    for key in expected:
        if expected[key].dtype.kind == "f":
            np.testing.assert_allclose(actual[key], expected[key], rtol=1e-3, atol=1e-3)
        else:
            np.testing.assert_array_equal(actual[key], expected[key])


class OneByOne(OtherEngine):
    """An engine that rejects one more layer at each attempt; `names_layers`: it names the layer."""

    def __init__(self, *, names_layers: bool) -> None:
        super().__init__()
        self.names_layers = names_layers

    def compile(self, part: Cut) -> OtherPart:
        node = next(node for node in part.model.graph.nodes if node.type not in ("Parameter", "Result"))
        raise PartRefused("refused", {node.id if self.names_layers else "of no layer": "refused"})


@pytest.mark.parametrize("names_layers", [True, False])
def test_model_rejected_layer_by_layer_is_interpreted(names_layers: bool, register: Register) -> None:
    register(OneByOne(names_layers=names_layers))
    value = x = build.parameter([3, 4], name="x")
    for _ in range(100):
        value = build.tanh(value)
    chain = build.model([build.result(value, name="y"), build.result(build.abs(x), name="z")])
    model = compile_for_engine(chain)
    np.testing.assert_array_equal(model([X])["y"], compile_model(chain, optimize=False)([X])["y"])
    assert model.partition.on_engine == 0
    assert len(model.partition.interpreted) == 101
