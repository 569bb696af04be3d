"""The effect of quantizing each layer alone, and the fewest layers to keep."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import ir_exec
from ir_exec import build
from ir_exec.debug.precision.effects_by_layer import quantization_report
from ir_exec.errors import EvaluationError, GraphError
from ir_exec.model import Model
from ir_exec.view import view
from tests.debug.precision.networks import TOKENS, plain_model, quantized_model, ranged_model
from tests.helpers.facts import coded, naming

PLAIN = plain_model()
QUANTIZED = quantized_model(PLAIN)


def outputs(model: Model) -> np.ndarray:
    return next(iter(ir_exec.compile_model(model)(TOKENS).values()))


def divergence(model: Model) -> float:
    """The mean divergence of the logits from those of the plain model, in plain words."""
    rows = []
    for plain, changed in zip(outputs(PLAIN)[0].astype(np.float64), outputs(model)[0].astype(np.float64), strict=True):
        p, q = (np.exp(logits) / np.exp(logits).sum() for logits in (plain, changed))
        rows.append((p * np.log(p / q)).sum())
    return float(np.mean(rows))


def test_effect_of_weight_equals_single_weight_model() -> None:
    report = quantization_report(QUANTIZED, PLAIN, [TOKENS])
    assert report.metric == "kl"
    assert report.complete
    assert {layer.path for layer in report.layers} == {"table", "w0", "w1", "w2", "w3", "head"}
    assert float(report.total.loss) == pytest.approx(divergence(QUANTIZED), rel=1e-3)
    for effect in report.layers:
        assert effect.effect is not None
        alone = quantized_model(PLAIN, "keep", **{effect.path: "int4_sym"})
        assert float(effect.effect.loss) == pytest.approx(divergence(alone), rel=1e-3, abs=1e-9)
        assert (effect.format, effect.group_size) == ("int4_sym", 16)
        assert effect.bytes < effect.plain_bytes / 5
    losses = [float(layer.effect.loss) for layer in report.layers if layer.effect is not None]
    assert losses == sorted(losses, reverse=True)
    assert report.plain_bytes == sum(layer.plain_bytes for layer in report.layers)


@pytest.mark.parametrize("bits", [8, 16])
def test_layers_to_keep_are_proven_by_a_run(bits: int) -> None:
    unlimited = quantization_report(QUANTIZED, PLAIN, [TOKENS])
    limit = float(unlimited.total.loss) / 3
    report = quantization_report(QUANTIZED, PLAIN, [TOKENS], max_loss=limit, keep_bits=bits)
    assert not report.is_within
    assert report.minimal
    assert report.keep
    assert report.kept is not None
    assert float(report.kept.loss) <= limit
    name = {8: "int8_asym", 16: "f16"}[bits]
    assert {layer.keep_as for layer in report.layers if layer.kept} == {name.removesuffix("_asym")}
    mixed = quantized_model(PLAIN, "int4_sym", **dict.fromkeys(report.keep, name))
    assert divergence(mixed) == pytest.approx(float(report.kept.loss), rel=0.05)
    for dropped in report.keep:
        fewer = quantized_model(PLAIN, "int4_sym", **{path: name for path in report.keep if path != dropped})
        assert divergence(fewer) > limit
    again = quantization_report(mixed, PLAIN, [TOKENS], max_loss=limit * 1.05)
    assert again.is_within
    assert again.keep is None
    # What is kept in f16 is no quantized weight of the mixed model.
    assert again.bytes == report.kept_bytes or bits == 16


def test_a_loss_that_no_set_reaches() -> None:
    report = quantization_report(QUANTIZED, PLAIN, [TOKENS], max_loss=0)
    assert (report.keep, report.kept, report.is_within) == (None, None, False)


def test_an_early_answer() -> None:
    report = quantization_report(QUANTIZED, PLAIN, [TOKENS], seconds=0, max_loss=0.0)
    assert not report.complete
    assert [layer.effect is not None for layer in report.layers] == [True] + [False] * 5
    assert all(layer.estimate is not None for layer in report.layers)


def test_an_interrupted_report() -> None:
    steps: list[str] = []

    def progress(step: str) -> None:
        steps.append(step)
        if len(steps) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        quantization_report(QUANTIZED, PLAIN, [TOKENS], progress=progress)


def test_an_interrupted_search_keeps_the_smallest_set_so_far() -> None:
    limit = float(quantization_report(QUANTIZED, PLAIN, [TOKENS]).total.loss) / 3
    complete = quantization_report(QUANTIZED, PLAIN, [TOKENS], max_loss=limit)
    layers = len(complete.layers)
    steps: list[str] = []

    def progress(step: str) -> None:
        steps.append(step)
        # After each layer, the quantized model and all kept layers, the first smaller set is tried.
        if len(steps) == layers + 3:
            raise KeyboardInterrupt

    report = quantization_report(QUANTIZED, PLAIN, [TOKENS], max_loss=limit, progress=progress)
    assert not report.minimal
    assert report.keep is not None
    assert complete.keep is not None
    assert len(complete.keep) <= len(report.keep) <= layers
    assert report.kept is not None
    assert float(report.kept.loss) <= limit


def test_outputs_without_logits() -> None:
    plain = plain_model("y")
    report = quantization_report(quantized_model(plain), plain, [TOKENS, {"tokens": np.array([[3, 4]])}])
    assert (report.metric, report.calls, report.total.kl) == ("noise", 2, None)
    assert 0 < float(report.total.loss) < 1


def test_values_in_ranges() -> None:
    plain = plain_model(sensitive=False)
    report = quantization_report(ranged_model(), plain, [TOKENS], max_loss=1e-9)
    (layer,) = report.layers
    assert (layer.path, layer.kind, layer.format, layer.keep_as) == ("range", "values", "16 levels", "float")
    assert layer.effect is not None
    assert float(layer.effect.loss) == pytest.approx(float(report.total.loss), rel=1e-3)
    assert report.keep == ("range",)
    assert report.ranges[0].outside > 0


@pytest.mark.parametrize(
    ("quantized", "plain", "error"),
    [
        (lambda: PLAIN, lambda: QUANTIZED, GraphError),
        (lambda: PLAIN, lambda: PLAIN, GraphError),
        (
            lambda: QUANTIZED,
            lambda: build.model(build.relu(build.parameter([1, None], "i64", name="tokens"))),
            EvaluationError,
        ),
    ],
)
def test_models_that_do_not_go_together(
    quantized: Callable[[], Model], plain: Callable[[], Model], error: type[Exception]
) -> None:
    with pytest.raises(error):
        quantization_report(quantized(), plain(), [TOKENS])


def test_outputs_of_another_shape_name_both_shapes() -> None:
    random = np.random.default_rng(0)
    table, head = (random.standard_normal((rows, 32)).astype(np.float32) for rows in (40, 30))
    hidden = build.gather(build.constant(table, name="table"), build.parameter([1, None], "i64", name="tokens"), 0)
    logits = build.matmul(hidden, build.constant(head, name="head"), transpose_b=True, name="last")
    other = build.model([build.result(logits, name="logits"), build.result(build.relu(logits), name="further")])
    with pytest.raises(EvaluationError, match=naming("further"), check=coded("IR705")):
        quantization_report(QUANTIZED, other, [TOKENS])
    smaller = build.model(build.result(logits, name="logits"))
    with pytest.raises(EvaluationError, match=naming("logits", "f32[1,?,40]", "f32[1,?,30]"), check=coded("IR705")):
        quantization_report(QUANTIZED, smaller, [TOKENS])


def test_page_has_status_per_layer_of_weight() -> None:
    unlimited = quantization_report(QUANTIZED, PLAIN, [TOKENS])
    report = quantization_report(QUANTIZED, PLAIN, [TOKENS], max_loss=float(unlimited.total.loss) / 3)
    page = view(QUANTIZED, compare=report)
    errors = {layer.name: layer.error for layer in page.networks[0].graph.layers if layer.error is not None}
    assert report.keep
    for effect in report.layers:
        error, scale = errors[effect.path], errors[f"{effect.path}/scale"]
        assert error.status == scale.status
        assert (error.status == "wrong") == (effect.path in report.keep)
    assert "product0" not in errors
