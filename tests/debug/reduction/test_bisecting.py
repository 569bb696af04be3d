"""Passes that change outputs are found, alone or together, with the steps that they have made."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ir_exec
from ir_exec import EvaluationError, build
from ir_exec.debug import PassBisection, bisect_passes
from ir_exec.debug.reduction import bisecting
from ir_exec.plan import compiler
from ir_exec.plan.constants import ModelConstants
from ir_exec.plan.graph import Fusion, PlanGraph
from ir_exec.plan.passes.fuse_layer_norm import LayerNorm
from ir_exec.plan.pipeline import PASSES
from ir_exec.types import Array

NETWORKS = Path(__file__).parents[2] / "networks"


def bisect_network(name: str, **options: Any) -> PassBisection:
    with np.load(NETWORKS / f"{name}.inputs.npz") as inputs:
        return bisect_passes(NETWORKS / f"{name}.xml", dict(inputs), threads=1, **options)


def test_passes_that_round() -> None:
    told: list[str] = []
    report = bisect_network("keras", progress=told.append)
    # Products of fewer rows round differently with some BLAS kernels.
    effects = [effect for effect in report.effects if effect.passes != ("hoist_gather_past_matmul",)]
    assert {effect.passes for effect in effects} == {("fuse_layer_norm",), ("fuse_activation",)}
    assert report.is_within
    assert len(told) <= report.runs
    for effect in effects:
        assert effect.exactness == "rounding"
        assert effect.layers
        for layer in effect.layers:
            assert len(layer.computes) > 1
            assert layer.name == layer.computes[-1]
            assert layer.own is not None
            assert layer.own.is_within


def test_no_pass_changes_a_bit() -> None:
    report = bisect_network("conv_zoo")
    assert report.effects == ()
    assert all(output.error.max_abs == 0 for output in report.outputs)


def test_wrong_step_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    right = LayerNorm.evaluate
    calls: list[float] = []

    def wrong(self: LayerNorm, data: Array, weight: Array, bias: Array | None = None) -> Array:
        calls.append(self.epsilon)
        return right(self, data, weight, bias) * np.float32(1.5)

    monkeypatch.setattr(LayerNorm, "evaluate", wrong)
    report = bisect_network("bert_tiny_fp16")
    assert calls
    assert not report.is_within
    fault = report.effects[0]
    assert (fault.passes, fault.is_fault) == (("fuse_layer_norm",), True)
    assert all(layer.own is not None and not layer.own.is_within for layer in fault.layers)


def test_bit_exact_pass_changing_a_bit_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    passes = tuple(replace(compiler_pass, exactness="bit-exact") for compiler_pass in PASSES)
    monkeypatch.setattr(bisecting, "PASSES", passes)
    report = bisect_network("keras")
    assert all(effect.is_fault for effect in report.effects)


def test_passed_tolerances() -> None:
    assert not bisect_network("keras", atol=1e-12).is_within
    assert bisect_network("keras", atol=1.0).is_within


def test_passes_that_change_an_output_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of them marks the plan, and the other changes marked plans."""
    marked: list[PlanGraph] = []

    def mark(graph: PlanGraph, constants: ModelConstants) -> PlanGraph:
        marked.append(graph)
        return graph

    def change(graph: PlanGraph, constants: ModelConstants) -> PlanGraph:
        if graph in marked:
            node = graph.nodes[-1]
            negative = ir_exec.build.negative(build.parameter([3], "f32")).layer.op
            graph.replace(Fusion([node], negative, node.values_in[:1]), "fuse_padding")
            graph.apply_replacements()
        return graph

    runs = {"fuse_batch_norm": mark, "fuse_padding": change}
    passes = tuple(
        replace(compiler_pass, run=runs.get(compiler_pass.name, compiler_pass.run)) for compiler_pass in PASSES
    )
    monkeypatch.setattr(compiler, "PASSES", passes)
    model = build.model(build.relu(build.parameter([3], "f32")))
    report = bisect_passes(model, [np.arange(3, dtype=np.float32)])
    (effect,) = report.effects
    assert set(effect.passes) == {"fuse_batch_norm", "fuse_padding"}
    assert effect.is_fault
    (layer,) = effect.layers
    assert (layer.type, layer.own is not None and layer.own.is_within) == ("ReLU", False)


def gelu(number: Any, x: Any) -> tuple[None, list[Any], list[Any]]:
    """A body that computes a Gelu by five layers."""
    factor, half, unit = (build.constant(np.float32(value)) for value in (np.sqrt(0.5), 0.5, 1))
    shifted = build.add(build.erf(build.multiply(x, factor)), unit)
    return None, [build.multiply(build.multiply(x, half), shifted, name="gelu")], []


def test_steps_in_bodies_are_named_by_their_paths() -> None:
    (result,) = build.loop(3, None, gelu, carried=[build.parameter([4, 8], "f32")], name="loop")
    data = np.random.default_rng(1).normal(size=(4, 8)).astype(np.float32)
    (effect,) = bisect_passes(build.model(result), [data]).effects
    assert effect.passes == ("fuse_activation",)
    (layer,) = effect.layers
    assert layer.name.startswith("loop/")
    assert layer.name.endswith("/gelu")
    assert layer.own is None


def test_models_whose_results_are_random() -> None:
    shape, low, high = (build.constant(np.array(value)) for value in ([64], np.float32(0), np.float32(1)))
    model = build.model(
        build.add(build.parameter([64], "f32"), build.random_uniform(shape, low, high, output_type="f32"))
    )
    with pytest.raises(EvaluationError):
        bisect_passes(model, [np.zeros(64, np.float32)])
