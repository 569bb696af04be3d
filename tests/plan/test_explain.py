"""The report of `explain` about the kernel of each layer: the variant, the reason, and the next variant."""

from __future__ import annotations

import numpy as np
import pytest

import ir_exec
from ir_exec import build
from ir_exec.plan.explain import LayerPlan
from ir_exec.plan.passes import prepack
from ir_exec.tuning.machine import pretend


def explain_last(value: build.Value) -> LayerPlan:
    """The last layer of a network that ran once."""
    compiled = ir_exec.compile_model(build.model(value))
    compiled([np.zeros(port.shape.static, port.element_type.dtype) for port in compiled.inputs])
    return [layer for layer in compiled.explain().layers if layer.fate == "step"][-1]


def test_a_registered_variant() -> None:
    data = build.parameter([5, 3])
    layer = explain_last(build.gather(data, build.constant(np.array([1, 2])), build.constant(np.int64(0))))
    assert layer.variant == "Gather.take"
    assert layer.reason
    assert [text.partition(":")[0] for text in layer.alternatives] == ["evaluate"]


def test_the_runner_up_comes_first() -> None:
    cond, data = build.parameter([5], "boolean"), build.parameter([5])
    layer = explain_last(build.select(cond, data, data))
    assert layer.variant == "Select.where"
    assert [text.partition(":")[0] for text in layer.alternatives] == ["chunks", "evaluate"]


def test_no_variant_that_applies() -> None:
    data, other = build.parameter([4, 5]), build.parameter([4, 5])
    layer = explain_last(build.matmul(data, other, transpose_b=True))
    assert layer.variant == "MatMul.evaluate"
    assert [text.partition(":")[0] for text in layer.alternatives] == ["product"]


def test_a_kernel_of_constants() -> None:
    layer = explain_last(build.matmul(build.parameter([4, 5]), np.ones((6, 5), np.float32), transpose_b=True))
    assert layer.variant == "MatMul.transposed"
    assert layer.alternatives


def test_packed_weights() -> None:
    filters = np.random.default_rng(0).standard_normal((40, 48, 3, 3)).astype(np.float32)
    steps = {"strides": [1, 1], "dilations": [1, 1], "pads_begin": [1, 1], "pads_end": [1, 1]}
    layer = explain_last(build.convolution(build.parameter([1, 48, 28, 30]), build.constant(filters), **steps))
    assert (layer.variant, layer.made_by) == ("Convolution.winograd", "transform_filters")
    assert layer.alternatives


def test_panels() -> None:
    with pretend(has_small_kernels=True):
        layer = explain_last(build.matmul(build.parameter([60, 320]), np.ones((320, 400), np.float32)))
    assert (layer.variant, layer.made_by) == ("MatMul.panels", "prepack_weights")
    assert layer.alternatives


def test_weights_without_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepack, "COPIED_ALWAYS", 0)
    with pretend(has_small_kernels=True):
        layer = explain_last(build.matmul(build.parameter([60, 320]), np.ones((320, 400), np.float32)))
    assert layer.variant == "MatMul.product"
    assert [text.partition(":")[0] for text in layer.alternatives] == ["evaluate", "panels"]


def test_an_operator_without_variants() -> None:
    layer = explain_last(build.relu(build.parameter([4])))
    assert layer.variant
    assert layer.alternatives == ()
