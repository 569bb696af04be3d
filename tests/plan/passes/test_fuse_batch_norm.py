"""Normalization with known vectors, as one step in place."""

from __future__ import annotations

import numpy as np
import pytest

import ir_exec
from ir_exec import build
from ir_exec.types import Array
from tests.helpers.network_text import NetworkText
from tests.plan.passes.helpers import of_model, of_network, of_text

RANDOM = np.random.default_rng(3)
GAMMA, BETA, MEAN = RANDOM.normal(size=(3, 4)).astype(np.float32)
VARIANCE = RANDOM.uniform(0.5, 2, 4).astype(np.float32)


def expected(x: Array) -> Array:
    vectors = [vector.astype(np.float64).reshape(-1, *[1] * (x.ndim - 2)) for vector in (GAMMA, BETA, MEAN, VARIANCE)]
    return np.asarray((x - vectors[2]) / np.sqrt(vectors[3] + 1e-3) * vectors[0] + vectors[1])


def batch_norm_net(shape: str, element_type: str = "f32", opset: int = 5) -> NetworkText:
    net = NetworkText()
    x = net.parameter(shape, element_type)
    dtype = np.float64 if element_type == "f64" else np.float32
    gamma, beta, mean, variance = (net.const(vector.astype(dtype)) for vector in (GAMMA, BETA, MEAN, VARIANCE))
    inputs = [x, gamma, beta, mean, variance] if opset == 5 else [gamma, beta, x, mean, variance]
    net.result(net.op("BatchNormInference", *inputs, opset=opset, epsilon=1e-3))
    return net


def test_batch_norm_is_matched_in_a_real_network() -> None:
    both = of_network("onnx/unfolded")
    assert both.types == ["BatchNorm"]
    both.assert_close()


@pytest.mark.parametrize("sizes", [(3, 4), (2, 4, 5), (1, 4, 3, 2), (1, 4, 400, 400), (0, 4, 2)])
@pytest.mark.parametrize("element_type", ["f32", "f64"])
@pytest.mark.parametrize("opset", [1, 5])
@pytest.mark.parametrize("is_dynamic", [False, True])
def test_shapes_and_types(sizes: tuple[int, ...], element_type: str, opset: int, *, is_dynamic: bool) -> None:
    x = RANDOM.normal(2, 3, sizes).astype(np.float64 if element_type == "f64" else np.float32)
    shape = ",".join("?" if is_dynamic else str(size) for size in sizes)
    both = of_text(batch_norm_net(shape, element_type, opset), x)
    assert both.types == ["BatchNorm"]
    np.testing.assert_allclose(both.rewritten[0], expected(x), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(both.rewritten[0], both.plain[0])


def test_unknown_vectors() -> None:
    net = NetworkText()
    x, gamma = net.parameter("2,4"), net.parameter("4")
    others = (net.const(vector) for vector in (BETA, MEAN, VARIANCE))
    net.result(net.op("BatchNormInference", x, gamma, *others, opset=5, epsilon=1e-3))
    both = of_text(net, RANDOM.normal(size=(2, 4)).astype(np.float32), GAMMA)
    assert both.fused == []
    np.testing.assert_array_equal(both.rewritten[0], both.plain[0])


def test_results_do_not_depend_on_the_threads() -> None:
    file = batch_norm_net("2,4,400,500").file()
    model = ir_exec.read_model(file.xml, weights=file.weights)
    data = RANDOM.normal(size=(2, 4, 400, 500)).astype(np.float32)
    alone = ir_exec.compile_model(model, threads=1)([data])[0]
    np.testing.assert_array_equal(alone, ir_exec.compile_model(model, threads=3)([data])[0])


def test_channels_last_images() -> None:
    """After a ReLU the normalization is no part of a sum with the convolution, whose result may have this layout."""
    taps = RANDOM.normal(size=(64, 1, 1, 3, 3)).astype(np.float32)
    vectors = [build.constant(RANDOM.uniform(0.5, 2, 64).astype(np.float32)) for _ in range(4)]
    steps = {"strides": [1, 1], "dilations": [1, 1], "pads_begin": [1, 1], "pads_end": [1, 1]}
    image = build.relu(build.group_convolution(build.parameter([1, 64, 14, 15], "f32"), build.constant(taps), **steps))
    gamma, beta, mean, variance = vectors
    model = build.model(build.batch_norm_inference(image, gamma, beta, mean, variance, epsilon=1e-3))
    both = of_model(model, [RANDOM.normal(size=(1, 64, 14, 15)).astype(np.float32)])
    assert both.types == ["BatchNorm"]
    both.assert_close()
