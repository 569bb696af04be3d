"""Scales that one of two files applies after a layer, and the other one in its weights."""

from __future__ import annotations

import numpy as np
import pytest

import ir_exec
from ir_exec import build
from ir_exec.model import Model

DRAW = np.random.default_rng(0)
WEIGHTS = [DRAW.normal(size=size).astype(np.float32) for size in ((4, 6), (6, 4))]
BIAS = DRAW.normal(size=6).astype(np.float32)
X = DRAW.normal(size=(3, 4)).astype(np.float32)


def network(scale: float, *, folds: bool, wrong: float = 0.0, spread: float = 0.5) -> Model:
    """A residual block whose scale is a layer, or is folded into the weights of the product before.

    Args:
        folds: Fold the scale into the weights, and give the product its name.
        wrong: Added to an element of the weights.
        spread: The differences between the scales of channels, relative to the scale.
    """
    gamma = (scale * (1 + spread * np.arange(4))).astype(np.float32)
    second = WEIGHTS[1] + np.float32(wrong) * np.eye(6, 4, dtype=np.float32)
    x = build.parameter([3, 4], "f32", name="x")
    hidden = build.gelu(build.matmul(x, WEIGHTS[0], name="expand"), name="gelu")
    if folds:
        # In another layout, so that the constants are not paired.
        stored = build.constant(np.ascontiguousarray((second * gamma).T), name="folded")
        branch = build.matmul(hidden, stored, transpose_b=True, name="reduce")
    else:
        product = build.matmul(hidden, build.constant(second, name="weights"), name="reduce")
        branch = build.multiply(product, build.constant(gamma, name="scales"), name="gamma")
    return build.model(build.result(build.add(branch, x, name="sum"), name="y"))


@pytest.mark.parametrize("scale", [1e-6, 0.3, 2.0])
def test_scale_in_the_weights_is_no_fault(scale: float) -> None:
    report = ir_exec.compare(network(scale, folds=False), network(scale, folds=True), [X])
    assert (report.verdict, report.faults) == ("equal", ())
    layers = {layer.path: layer for layer in report.layers}
    assert (layers["reduce"].status, layers["reduce"].partner) == ("unmatched", None)
    assert layers["gamma"].partner == "reduce"
    assert layers["gamma"].status in ("equal", "close")
    assert not any(layer.other_attributes for layer in report.layers)


@pytest.mark.parametrize("scale", [0.3, 2.0])
def test_wrong_weights_before_a_scale_are_a_fault(scale: float) -> None:
    report = ir_exec.compare(network(scale, folds=False, wrong=0.5), network(scale, folds=True), [X])
    assert report.verdict == "different"
    assert {fault.path for fault in report.faults} & {"reduce", "gamma"}


def test_scale_of_another_value_is_a_fault() -> None:
    report = ir_exec.compare(network(0.3, folds=False), network(0.5, folds=True), [X])
    assert report.verdict == "different"


def test_shift_and_scale_in_the_weights() -> None:
    x = build.parameter([3, 4], "f32", name="x")
    product = build.matmul(x, build.constant(WEIGHTS[0], name="weights"), name="product")
    shifted = build.add(product, build.constant(BIAS, name="bias"), name="shift")
    scaled = build.multiply(shifted, build.constant(np.float32(3), name="three"), name="scale")
    plain = build.model(build.result(build.tanh(scaled, name="tanh"), name="y"))

    x = build.parameter([3, 4], "f32", name="x")
    joined = np.concatenate([WEIGHTS[0], BIAS[None]]) * np.float32(3)
    ones = build.concat([x, np.ones((3, 1), np.float32)], 1, name="ones")
    product = build.matmul(ones, build.constant(joined, name="folded"), name="product")
    folded = build.model(build.result(build.tanh(product, name="tanh"), name="y"))

    report = ir_exec.compare(plain, folded, [X])
    assert (report.verdict, report.faults) == ("equal", ())
    assert {layer.path: layer.partner for layer in report.layers}["scale"] == "product"


def test_scale_that_layers_reshape() -> None:
    x = build.parameter([3, 4], "f32", name="x")
    product = build.matmul(x, build.constant(WEIGHTS[0], name="weights"), name="product")
    scales = np.arange(1, 7, dtype=np.float32)
    scale = build.unsqueeze(build.constant(scales, name="scales"), 0)
    plain = build.model(build.result(build.tanh(build.multiply(product, scale, name="scale"), name="tanh"), name="y"))

    x = build.parameter([3, 4], "f32", name="x")
    stored = build.constant(np.ascontiguousarray((WEIGHTS[0] * scales).T), name="folded")
    product = build.matmul(x, stored, transpose_b=True, name="product")
    folded = build.model(build.result(build.tanh(product, name="tanh"), name="y"))
    report = ir_exec.compare(plain, folded, [X])
    assert (report.verdict, report.faults) == ("equal", ())
    assert {layer.path: layer.partner for layer in report.layers}["scale"] == "product"


def test_output_without_a_bias_of_zeros_is_paired() -> None:
    x = build.parameter([3, 4], "f32", name="x")
    product = build.matmul(x, build.constant(WEIGHTS[0], name="weights"), name="left_product")
    plain = build.model(build.result(build.add(product, np.zeros(6, np.float32), name="left_bias"), name="left_output"))

    x = build.parameter([3, 4], "f32", name="x")
    product = build.matmul(x, build.constant(WEIGHTS[0], name="weights"), name="right_product")
    folded = build.model(build.result(product, name="right_output"))
    for model, reference in ((plain, folded), (folded, plain)):
        report = ir_exec.compare(model, reference, [X])
        assert report.verdict == "equal"
        (output,) = report.output_results
        assert (output.status, output.error is None) == ("equal", False)


def test_several_calls() -> None:
    report = ir_exec.compare(network(0.3, folds=False), network(0.3, folds=True), [X], then=[[X * 2], [X * 3]])
    assert (report.verdict, report.calls, report.faults) == ("equal", 3, ())
