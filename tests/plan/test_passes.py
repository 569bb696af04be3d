"""The passes that make plans: their order, what each changes, and that bit-exact ones keep every bit."""

from __future__ import annotations

import ast
import re
from collections import Counter
from dataclasses import FrozenInstanceError, replace
from hashlib import blake2b
from operator import attrgetter
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
from ir_exec.plan.pipeline import PASSES, ModelPass, Pass, fusion_pass, selection_of
from tests.helpers.examples import blocks_of, run_example
from tests.plans.snapshot import plans_of
from tests.plans.table import ARCHITECTURE, with_table

NETWORKS = Path(__file__).parent.parent / "networks"
CHOSEN = ("bert_tiny_fp16", "conv_zoo", "keras", "llama_int4_asym", "index_ops", "branches", "gnn_gcn_gat")
OPTIONAL = [entry for entry in PASSES if entry.is_selectable]
NAME_OF = attrgetter("name")


def test_passes_follow_their_requirements() -> None:
    seen: set[str] = set()
    for entry in PASSES:
        assert seen.issuperset(entry.needs), entry.name
        assert entry.name not in seen
        seen.add(entry.name)
    assert PASSES[-1].name == "select_kernels"
    scopes = [entry.scope for entry in PASSES]
    assert scopes == sorted(scopes), "those of scope model come first"


def outputs(name: str, passes: str | None, *, optimize: bool = True) -> list[np.ndarray]:
    with np.load(NETWORKS / f"{name}.inputs.npz") as inputs:
        compiled = ir_exec.compile_model(NETWORKS / f"{name}.xml", passes=passes, optimize=optimize, threads=1)
        first = list(compiled(dict(inputs)).values())
        again = list(compiled(dict(inputs)).values()) if not compiled.query_state() else first
        for left, other in zip(first, again, strict=True):
            np.testing.assert_array_equal(left, other)
        return first


@pytest.mark.parametrize("entry", [entry for entry in OPTIONAL if entry.exactness == "bit-exact"], ids=NAME_OF)
def test_every_bit_exact_pass_keeps_every_bit(entry: Pass) -> None:
    for name in ("bert_tiny_fp16", "conv_zoo", "branches"):
        for actual, expected in zip(outputs(name, entry.name), outputs(name, None, optimize=False), strict=True):
            np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("name", CHOSEN)
def test_bit_exact_passes_keep_every_bit_together(name: str) -> None:
    expected = outputs(name, None, optimize=False)
    exact = ",".join(pass_.name for pass_ in OPTIONAL if pass_.exactness == "bit-exact")
    for actual, plain in zip(outputs(name, exact), expected, strict=True):
        np.testing.assert_array_equal(actual, plain)


@pytest.mark.parametrize("entry", OPTIONAL, ids=NAME_OF)
def test_a_network_runs_without_any_pass(entry: Pass) -> None:
    name = entry.name
    for network in ("bert_tiny_fp16", "conv_zoo"):
        expected = outputs(network, None, optimize=False)
        for actual, plain in zip(outputs(network, f"-{name}"), expected, strict=True):
            np.testing.assert_allclose(actual, plain, rtol=1e-4, atol=1e-4)


def explain_network(name: str, passes: str | None = None) -> PlanReport:
    with np.load(NETWORKS / f"{name}.inputs.npz") as inputs:
        shapes = {key: inputs[key].shape for key in inputs.files}
    return ir_exec.compile_model(NETWORKS / f"{name}.xml", passes=passes).explain(shapes)


def test_every_layer_is_explained() -> None:
    report = explain_network("bert_tiny_fp16")
    assert report.steps == sum(layer.fate == "step" for layer in report.layers)
    for layer in report.layers:
        assert (layer.variant is not None) == (layer.fate == "step")
        assert layer.fate == "step" or layer.made_by in {pass_.name for pass_ in PASSES}
    fused = [layer for layer in report.layers if layer.made_by == "fuse_layer_norm"]
    steps = {layer.name for layer in fused if layer.fate == "step"}
    assert steps
    assert {layer.into for layer in fused if layer.fate == "fused"} == steps


def test_disabled_pass_changes_nothing() -> None:
    report = explain_network("bert_tiny_fp16", "-fuse_layer_norm")
    assert not [layer for layer in report.layers if layer.made_by == "fuse_layer_norm"]


def test_convolution_algorithm_has_a_reason() -> None:
    layers = [layer for layer in explain_network("conv_zoo").layers if (layer.variant or "").startswith("convolve.")]
    assert layers
    assert all(layer.reason and len(layer.alternatives) == 3 for layer in layers)


@pytest.mark.parametrize("text", ["unknown", "-unknown", "fold_constants", "-select_kernels"])
def test_passes_that_cannot_be_chosen(text: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        selection_of(text)
    assert caught.value.code == "IR704"


def test_the_table_of_the_architecture_is_current() -> None:
    page = ARCHITECTURE.read_text("utf-8")
    assert page.count(f"| `{PASSES[0].name}` |") == 1
    assert page == with_table(page), "run: python -m tests.plans"


def test_the_commands() -> None:
    path = str(NETWORKS / "conv_zoo.xml")
    result = CliRunner().invoke(main, ["profile", "--plan", path, "--format", "json"])
    report = PlanReport.model_validate_json(result.stdout)
    assert report.steps > 10
    assert CliRunner().invoke(main, ["profile", "--plan", path, "--top", "2"]).exit_code == 0
    assert CliRunner().invoke(main, ["run", path, "--passes=-fuse_activation"]).exit_code == 0
    assert CliRunner().invoke(main, ["run", path, "--passes", "unknown"]).exit_code == 1
    assert CliRunner().invoke(main, ["profile", path, "--passes", "-fuse_padding"]).exit_code == 2


def test_near_fusions_have_a_reason() -> None:
    """Scores that a cache holds; a sigmoid that gates another value."""
    query, value = (build.parameter([1, 2, 64, 8], "f32", name=name) for name in ("query", "value"))
    scores = build.softmax(build.matmul(query, query, transpose_b=True, name="product"), axis=-1, name="softmax")
    attended = build.matmul(scores, value)
    gated = build.multiply(build.sigmoid(query, name="gate"), value)
    report = ir_exec.compile_model(build.model([attended, gated])).explain()
    reasons = {pass_.name: pass_.skipped for pass_ in report.passes if pass_.skipped}
    assert reasons.keys() == {"fuse_attention", "fuse_activation"}
    (attention,), (swish,) = reasons["fuse_attention"], reasons["fuse_activation"]
    assert (attention.layer, swish.layer) == ("product", "gate")
    assert "[1,2,64,64]" in attention.found
    assert "query" in swish.found


def test_passes_count_their_layers() -> None:
    report = explain_network("bert_tiny_fp16")
    (layer_norm,) = [pass_ for pass_ in report.passes if pass_.name == "fuse_layer_norm"]
    assert layer_norm.layers == sum(layer.made_by == "fuse_layer_norm" for layer in report.layers)
    assert (layer_norm.exactness, layer_norm.error) == ("rounding", None)


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
def test_failing_pass_is_skipped(
    name: str, error: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    expected = outputs("bert_tiny_fp16", f"-{name}")
    monkeypatch.setattr(Compiler, "is_strict", False)
    failing(monkeypatch, name, error)
    for actual, plain in zip(outputs("bert_tiny_fp16", None), expected, strict=True):
        np.testing.assert_array_equal(actual, plain)
    assert [record.levelname for record in caplog.records if record.name == "ir_exec.plan"] == ["WARNING"]
    (left_out,) = [pass_ for pass_ in explain_network("bert_tiny_fp16").passes if pass_.error is not None]
    assert left_out.name == name
    assert left_out.error == f"{type(error).__name__}: {error}"


def test_failing_pass_is_an_error_in_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, "fuse_layer_norm", ShapeError("broken"))
    with pytest.raises(PassFailedError):
        outputs("bert_tiny_fp16", None)


def test_the_fusion_of_the_architecture_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The example of "Adding a fusion in five steps" is run, added to the passes, and found in a network."""
    page = ARCHITECTURE.read_text("utf-8")
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
    fused = [layer for layer in compiled.explain().layers if layer.made_by == name]
    assert [layer.type for layer in fused if layer.fate == "fused"] == ["Abs", "Add"]
    x = np.array([[-2, -0.5, 0], [0.25, 1, 8]], np.float32)
    np.testing.assert_array_equal(compiled([x])[0], x / (1 + np.abs(x)))


@pytest.mark.parametrize("options", [{}, {"weight_mode": "keep"}, {"optimize": "full"}], ids=str)
@pytest.mark.parametrize("name", CHOSEN)
def test_running_each_pass_twice_changes_nothing(
    name: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    once = plans_after(name, **options)
    monkeypatch.setattr(compiler, "PASSES", tuple(entry for entry in PASSES for _ in range(2)))
    assert plans_after(name, **options) == once


def test_running_the_passes_of_plans_twice_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    of_shapes = [entry for entry in PASSES if entry.scope == "shapes"]
    for name in CHOSEN:
        once = plans_after(name)
        with monkeypatch.context() as patch:
            patch.setattr(compiler, "PASSES", (*PASSES[:-1], *of_shapes))
            assert plans_after(name) == once


def plans_after(name: str, **options: Any) -> str:
    """The plans of two runs as text, with those of bodies, and the digests of the outputs."""
    with np.load(NETWORKS / f"{name}.inputs.npz") as inputs:
        compiled = ir_exec.compile_model(NETWORKS / f"{name}.xml", threads=1, **options)
        digests = [blake2b(array.tobytes()).hexdigest() for array in compiled(dict(inputs)).values()]
        return "\n".join([plans_of(compiled), *digests])


def test_model_passes_run_once_and_shape_passes_per_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: Counter[str] = Counter()

    def counting(entry: Any) -> Any:
        def run(*state: Any) -> Any:
            calls[entry.name] += 1
            return entry.run(*state)

        return replace(entry, run=run)

    monkeypatch.setattr(compiler, "PASSES", tuple(counting(entry) for entry in PASSES))
    matrix = np.ones((3, 3), np.float32)
    compiled = ir_exec.compile_model(build.model(build.matmul(build.parameter([None, 3]), build.constant(matrix))))
    compiled([np.ones((1, 3), np.float32)], observe=lambda *_: None)
    assert calls == Counter({entry.name: 1 for entry in PASSES if entry.scope == "model"})
    for rows in (1, 40_000, 1):
        compiled([np.ones((rows, 3), np.float32)])
    assert calls == Counter({entry.name: 1 if entry.scope == "model" else 2 for entry in PASSES})


def test_passes_cannot_write_to_the_constants_of_the_model() -> None:
    compiled = ir_exec.compile_model(build.model(build.relu(build.parameter([3]))))
    compiled([np.ones(3, np.float32)])
    constants = compiled.executor.compiler.constants
    assert constants is not None
    with pytest.raises(FrozenInstanceError):
        constants.folded = frozenset()  # type: ignore[misc]


def test_plan_reading_missing_values_is_refused_in_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    def lose(graph: PlanGraph, constants: ModelConstants) -> PlanGraph:
        graph.set_nodes(graph.nodes[1:])
        return graph

    passes = tuple(replace(entry, run=lose) if entry.name == "fuse_padding" else entry for entry in PASSES)
    monkeypatch.setattr(compiler, "PASSES", passes)
    model = build.model(build.exp(build.relu(build.parameter([3]))))
    with pytest.raises(AssertionError):
        ir_exec.compile_model(model)([np.ones(3, np.float32)])


@pytest.mark.parametrize("scope", ["model", "shapes"])
def test_constants_that_a_pass_loses(scope: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def lose(*state: Any) -> Any:
        constants = state[-1]
        constants.arrays[:] = [None] * len(constants.arrays)
        return state[0]

    name = {"model": "relayout_constants", "shapes": "fuse_padding"}[scope]
    passes = tuple(replace(entry, run=lose) if entry.name == name else entry for entry in PASSES)
    monkeypatch.setattr(compiler, "PASSES", passes)
    model = build.model(build.add(build.parameter([3]), build.constant(np.ones(3, np.float32))))
    with pytest.raises(AssertionError):
        ir_exec.compile_model(model)([np.ones(3, np.float32)])


def test_log_of_outcomes(caplog: pytest.LogCaptureFixture) -> None:
    data = build.parameter([2, 3], "f32")
    with caplog.at_level("DEBUG", "ir_exec.plan"):
        compiled = ir_exec.compile_model(
            build.model(build.multiply(data, build.sigmoid(data))), passes="-fuse_attention", optimize=True
        )
        compiled([np.ones((2, 3), np.float32)])
    outcomes = compiled.executor.compiler.outcomes
    assert outcomes.keys() == {entry.name for entry in PASSES}
    assert [name for name, outcome in outcomes.items() if outcome.is_applied] == ["fold_constants", "fuse_activation"]
    assert {record.args[0] for record in caplog.records if record.name == "ir_exec.plan"} == outcomes.keys()
    plain = ir_exec.compile_model(build.model(build.relu(data)), optimize=False)
    plain([np.ones((2, 3), np.float32)])
    unused = {entry.name for entry in PASSES if not (entry.is_plain or entry.is_required)}
    reasons = {name: outcome.reason for name, outcome in plain.executor.compiler.outcomes.items() if name in unused}
    assert reasons.keys() == unused
    assert len(set(reasons.values())) == 1
