"""The passes that make plans: their order, what each changes, and that bit-exact ones keep every bit."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import ir_exec
from ir_exec import EvaluationError, ShapeError, build
from ir_exec.cli import main
from ir_exec.plan import compiler
from ir_exec.plan.compiler import Compiler, PassFailedError
from ir_exec.plan.constants import ModelConstants
from ir_exec.plan.explain import PlanReport
from ir_exec.plan.graph import PlanGraph
from ir_exec.plan.pipeline import PASSES, ModelPass, fusion_pass, selection_of
from tests.helpers.examples import blocks_of, run_example

NETWORKS = Path(__file__).parent.parent / "networks"
CHOSEN = ("bert_tiny_fp16", "conv_zoo", "keras", "llama_int4_asym", "index_ops", "branches", "gnn_gcn_gat")
OPTIONAL = [entry for entry in PASSES if entry.is_selectable]


def test_passes_come_after_what_they_need() -> None:
    seen: set[str] = set()
    for one in PASSES:
        assert seen.issuperset(one.needs), one.name
        assert one.name not in seen
        seen.add(one.name)
    assert PASSES[-1].name == "select_kernels"


def outputs(name: str, passes: str | None, *, optimize: bool = True) -> list[np.ndarray]:
    with np.load(NETWORKS / f"{name}.inputs.npz") as inputs:
        compiled = ir_exec.compile_model(NETWORKS / f"{name}.xml", passes=passes, optimize=optimize, threads=1)
        first = list(compiled(dict(inputs)).values())
        again = list(compiled(dict(inputs)).values()) if not compiled.query_state() else first
        for one, other in zip(first, again, strict=True):
            np.testing.assert_array_equal(one, other)
        return first


@pytest.mark.parametrize("name", CHOSEN)
def test_bit_exact_passes_keep_every_bit(name: str) -> None:
    expected = outputs(name, None, optimize=False)
    exact = ",".join(one.name for one in OPTIONAL if one.exactness == "bit-exact")
    for found, plain in zip(outputs(name, exact), expected, strict=True):
        np.testing.assert_array_equal(found, plain)


@pytest.mark.parametrize("one", OPTIONAL, ids=lambda one: one.name)
def test_a_network_runs_without_any_pass(one: object) -> None:
    name = str(getattr(one, "name", ""))
    for network in ("bert_tiny_fp16", "conv_zoo"):
        expected = outputs(network, None, optimize=False)
        for found, plain in zip(outputs(network, f"-{name}"), expected, strict=True):
            np.testing.assert_allclose(found, plain, rtol=1e-4, atol=1e-4)


def explained(name: str, passes: str | None = None) -> PlanReport:
    with np.load(NETWORKS / f"{name}.inputs.npz") as inputs:
        shapes = {key: inputs[key].shape for key in inputs.files}
    return ir_exec.compile_model(NETWORKS / f"{name}.xml", passes=passes).explain(shapes)


def test_every_layer_is_explained() -> None:
    report = explained("bert_tiny_fp16")
    assert report.steps == sum(layer.fate == "step" for layer in report.layers)
    for layer in report.layers:
        assert (layer.variant is not None) == (layer.fate == "step")
        assert layer.fate == "step" or layer.made_by in {one.name for one in PASSES}
    fused = [layer for layer in report.layers if layer.made_by == "fuse_layer_norm"]
    steps = {layer.name for layer in fused if layer.fate == "step"}
    assert steps
    assert {layer.into for layer in fused if layer.fate == "fused"} == steps


def test_a_pass_that_is_left_out_makes_nothing() -> None:
    report = explained("bert_tiny_fp16", "-fuse_layer_norm")
    assert not [layer for layer in report.layers if layer.made_by == "fuse_layer_norm"]


def test_the_algorithm_of_a_convolution_has_a_reason() -> None:
    layers = [layer for layer in explained("conv_zoo").layers if (layer.variant or "").startswith("convolve.")]
    assert layers
    assert all(layer.reason and len(layer.alternatives) == 3 for layer in layers)


@pytest.mark.parametrize("text", ["unknown", "-unknown", "fold_constants", "-select_kernels"])
def test_passes_that_cannot_be_chosen(text: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        selection_of(text)
    assert caught.value.code == "IR704"


def test_the_table_of_the_architecture_is_current() -> None:
    page = (Path(__file__).parents[2] / "docs" / "architecture.md").read_text("utf-8")
    for entry in PASSES:
        assert f"| `{entry.name}` | {entry.exactness} | {entry.scope} | {entry.effect} |" in page


def test_the_commands() -> None:
    path = str(NETWORKS / "conv_zoo.xml")
    result = CliRunner().invoke(main, ["profile", "--plan", path, "--format", "json"])
    report = PlanReport.model_validate_json(result.stdout)
    assert report.steps > 10
    assert CliRunner().invoke(main, ["profile", "--plan", path, "--top", "2"]).exit_code == 0
    assert CliRunner().invoke(main, ["run", path, "--passes=-fuse_activation"]).exit_code == 0
    assert CliRunner().invoke(main, ["run", path, "--passes", "unknown"]).exit_code == 1
    assert CliRunner().invoke(main, ["profile", path, "--passes", "-fuse_padding"]).exit_code == 2


def test_fusions_that_nearly_matched_have_a_reason() -> None:
    """Scores that a cache holds; a sigmoid that gates another value."""
    query, value = (build.parameter([1, 2, 64, 8], "f32", name=name) for name in ("query", "value"))
    scores = build.softmax(build.matmul(query, query, transpose_b=True, name="product"), axis=-1, name="softmax")
    attended = build.matmul(scores, value)
    gated = build.multiply(build.sigmoid(query, name="gate"), value)
    report = ir_exec.compile_model(build.model([attended, gated])).explain()
    found = {one.name: one.skipped for one in report.passes if one.skipped}
    assert found.keys() == {"fuse_attention", "fuse_activation"}
    (attention,), (swish,) = found["fuse_attention"], found["fuse_activation"]
    assert (attention.layer, swish.layer) == ("product", "gate")
    assert "[1,2,64,64]" in attention.found
    assert "query" in swish.found


def test_passes_count_the_layers_that_they_decide_about() -> None:
    report = explained("bert_tiny_fp16")
    (found,) = [one for one in report.passes if one.name == "fuse_layer_norm"]
    assert found.layers == sum(layer.made_by == "fuse_layer_norm" for layer in report.layers)
    assert (found.exactness, found.error) == ("rounding", None)


def failing(monkeypatch: pytest.MonkeyPatch, name: str, error: Exception) -> None:
    """Let a pass fail after it has changed a part of the plan, or the constants."""

    def fail_with_constants(constants: ModelConstants) -> ModelConstants:
        constants.arrays[:] = [None] * len(constants.arrays)
        raise error

    def fail_with_nodes(graph: PlanGraph, constants: ModelConstants) -> PlanGraph:
        graph.set_nodes(graph.nodes[1:])
        raise error

    def broken(entry: Any) -> Any:
        return replace(entry, run=fail_with_constants if isinstance(entry, ModelPass) else fail_with_nodes)

    passes = tuple(broken(entry) if entry.name == name else entry for entry in PASSES)
    monkeypatch.setattr(compiler, "PASSES", passes)


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("fuse_layer_norm", ValueError("broken")),
        ("fuse_layer_norm", ShapeError("broken")),
        ("prepack_weights", ShapeError("broken")),
        ("fold_shapes", KeyError("broken")),
    ],
)
def test_a_pass_that_fails_is_left_out(
    name: str, error: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    expected = outputs("bert_tiny_fp16", f"-{name}")
    monkeypatch.setattr(Compiler, "is_strict", False)
    failing(monkeypatch, name, error)
    for found, plain in zip(outputs("bert_tiny_fp16", None), expected, strict=True):
        np.testing.assert_array_equal(found, plain)
    assert [record.levelname for record in caplog.records if record.name == "ir_exec.plan"] == ["WARNING"]
    (left_out,) = [one for one in explained("bert_tiny_fp16").passes if one.error is not None]
    assert left_out.name == name
    assert left_out.error == f"{type(error).__name__}: {error}"


def test_a_pass_that_fails_is_an_error_in_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, "fuse_layer_norm", ShapeError("broken"))
    with pytest.raises(PassFailedError):
        outputs("bert_tiny_fp16", None)


def test_the_fusion_of_the_architecture_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The example of "Adding a fusion in five steps" is run, added to the passes, and found in a network."""
    page = (Path(__file__).parents[2] / "docs" / "architecture.md").read_text("utf-8")
    (block,) = blocks_of(page, "python")
    names: dict[str, Any] = {}
    run_example(block, names)
    (arguments,) = re.findall(r"`fusion_pass\((.*), SOFTSIGN\)`", page)
    name, exactness, what = ast.literal_eval(f"({arguments})")
    added = fusion_pass(name, exactness, what, names["SOFTSIGN"])
    monkeypatch.setattr(compiler, "PASSES", (*PASSES[:-1], added, PASSES[-1]))
    data = build.parameter([2, 3], "f32")
    softsign = build.divide(data, build.add(build.abs(data), build.constant(np.float32(1))), name="softsign")
    compiled = ir_exec.compile_model(build.model(softsign))
    made = [layer for layer in compiled.explain().layers if layer.made_by == name]
    assert [layer.type for layer in made if layer.fate == "fused"] == ["Abs", "Add"]
    x = np.array([[-2, -0.5, 0], [0.25, 1, 8]], np.float32)
    np.testing.assert_array_equal(compiled([x])[0], x / (1 + np.abs(x)))


@pytest.mark.parametrize("name", CHOSEN)
def test_running_the_fusions_twice_changes_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    once = explained(name).layers
    fusions = [one for one in PASSES if one.name.startswith("fuse_")]
    monkeypatch.setattr(compiler, "PASSES", (*PASSES[:-1], *fusions, PASSES[-1]))
    assert explained(name).layers == once
