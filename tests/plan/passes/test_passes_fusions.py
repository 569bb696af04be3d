"""Conditions under which a plan is rewritten."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import ir_exec
from ir_exec.debug import profile
from ir_exec.plan.records import Step
from tests.conformance.networks import networks
from tests.helpers.facts import mentions
from tests.helpers.network_text import NetworkText, tied_input, tied_output
from tests.plan.passes.helpers import of_network, of_text

LLAMA = networks()["llama_stateful"]


def llama_inputs() -> list[np.ndarray]:
    with np.load(LLAMA.with_suffix(".inputs.npz")) as stored:
        return [stored[f"in{i}"] for i in range(len(stored.files))]


@pytest.mark.broad
@pytest.mark.parametrize("name", sorted(networks()))
def test_results_agree_within_rounding(name: str) -> None:
    try:
        both = of_network(name)
    except ir_exec.UnsupportedError as error:
        pytest.skip(error.message)
    both.assert_close()


def test_an_observer_sees_every_layer() -> None:
    model = ir_exec.read_model(LLAMA)
    compiled, plain = ir_exec.compile_model(model), ir_exec.compile_model(model, optimize=False)
    seen: list[str] = []
    observed = compiled(llama_inputs(), observe=lambda node, *_: seen.append(node.name))
    assert sum("Power" in name for name in seen) == 5
    np.testing.assert_array_equal(observed[0], plain(llama_inputs())[0])


def in_a_body() -> tuple[NetworkText, np.ndarray]:
    net, body = NetworkText(), NetworkText()
    inner = body.parameter("2,8")
    axes = body.const(np.array([-1], np.int64))
    mean = body.op("ReduceMean", body.op("Multiply", inner, inner), axes, keep_dims="true")
    shifted = body.op("Add", mean, body.const(np.array([1e-3], np.float32)))
    result = body.result(body.op("Divide", inner, body.op("Sqrt", shifted)))
    x = net.parameter("2,8")
    (out,) = net.loop(1, "TensorIterator", [x], body, [tied_input(0, inner), tied_output(1, result)])
    net.weights[:] = body.weights
    net.result(out)
    return net, np.random.default_rng(0).normal(size=(2, 8)).astype(np.float32)


def test_bodies_are_rewritten_too() -> None:
    net, data = in_a_body()
    both = of_text(net, data)
    assert both.types == ["RMSNorm"]
    both.assert_close()


def test_bodies_of_an_observed_run_are_not() -> None:
    net, data = in_a_body()
    file = net.file()
    model = ir_exec.read_model(file.xml, weights=file.weights)
    steps: list[Step] = []

    def watch(step: Step) -> Step:
        steps.append(step)
        return step

    compiled = ir_exec.runtime.CompiledModel(model, instrument=watch)
    compiled([data], observe=lambda *_: None)
    assert steps
    assert not any(step.members for step in steps)
    compiled([data])
    assert any(step.members for step in steps)


def test_copies_keep_the_choice() -> None:
    compiled = ir_exec.compile_model(LLAMA, optimize=False)
    copied = pickle.loads(pickle.dumps(compiled))
    inputs = llama_inputs()
    np.testing.assert_array_equal(copied(inputs)[0], compiled(inputs)[0])


def test_profile_shows_executed_steps() -> None:
    report = profile(LLAMA, llama_inputs(), repeat=1)
    together = [layer for layer in report.layers if layer.fused]
    assert [layer.type for layer in together] == ["RMSNorm"] * 5
    assert all(layer.fused[-1] == layer.path and len(layer.fused) == 7 for layer in together)
    assert report.measured == mentions(35, 5)
    assert next(group for group in report.by_type if group.name == "RMSNorm").layers == 5
