"""Pointwise convolutions whose result has the channels of each place side by side: where, and that nothing changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import ir_exec
from ir_exec import build
from ir_exec.build import Value
from ir_exec.kernels import blas, costs
from ir_exec.kernels import convolve as convolving
from ir_exec.kernels.convolve import convolver_by_places
from ir_exec.runtime import packed
from ir_exec.types import Array
from tests.conformance.networks import COPIES, arrays

Layer: TypeAlias = Callable[[Value], Value]

RANDOM = np.random.default_rng(0)
CHANNELS = 48
FILTERS = RANDOM.standard_normal((CHANNELS, 24, 1, 1), np.float32)
TAPS = RANDOM.standard_normal((CHANNELS, 1, 1, 3, 3), np.float32)
IMAGE = RANDOM.standard_normal((1, 24, 14, 13), np.float32)
VECTOR = RANDOM.uniform(0.5, 2, (1, CHANNELS, 1, 1)).astype(np.float32)
LIMITS = [build.constant(np.float32(limit)) for limit in (-8, 8, -8, 8)]
STEPS: dict[str, Any] = {"strides": [1, 1], "dilations": [1, 1], "pads_begin": [0, 0], "pads_end": [0, 0]}
PADDED = STEPS | {"pads_begin": [1, 1], "pads_end": [1, 1]}


@pytest.fixture(autouse=True, params=[False, True], ids=["AVX2", "AVX-512"])
def has_small_kernels(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """With kernels of BLAS that copy small matrices first, and with others."""
    for module in (convolving, packed, blas):
        monkeypatch.setattr(module, "has_small_kernels", lambda: request.param)
    return bool(request.param)


def depthwise(image: Value, taps: Array = TAPS, **attributes: Any) -> Value:
    return build.group_convolution(image, build.constant(taps), **PADDED | attributes)


def network(
    between: Layer = build.relu,
    last: Layer = depthwise,
    shape: tuple[int, ...] = IMAGE.shape,
    filters: Array = FILTERS,
    **attributes: Any,
) -> ir_exec.Model:
    data = build.parameter(list(shape), "f32")
    return build.model(last(between(build.convolution(data, build.constant(filters), **STEPS | attributes))))


def turned(model: ir_exec.Model, data: Array = IMAGE, threads: int = 1) -> int:
    """How many convolutions have their filters by columns; the outputs must be those of the plain plan."""
    compiled = ir_exec.compile_model(model, threads=threads)
    found, plain = compiled([data]), ir_exec.compile_model(model, optimize=False)([data])
    for place, wanted in plain.items():
        assert (found[place].shape, found[place].dtype) == (wanted.shape, wanted.dtype)
        assert_allclose(found[place], wanted, atol=1e-5 * float(np.abs(wanted).max(initial=1)))
    plan = compiled._executor.plan([(data.dtype, data.shape)])
    return sum(getattr(step.op, "_columns", None) is not None for step in plan.steps)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "between",
    [
        lambda image: image,
        build.relu,
        build.swish,
        lambda image: build.prelu(image, build.constant(VECTOR.ravel() / 4)),
        lambda image: build.fake_quantize(image, *LIMITS, levels=256),
        lambda image: build.clamp(image, min=0.0, max=6.0),
        lambda image: build.hswish(build.add(image, build.constant(VECTOR))),
        lambda image: build.multiply(image, build.sigmoid(image)),
        lambda image: build.pad(image, build.constant([0, 0, 0, 1]), build.constant([0, 0, 1, 0]), pad_mode="constant"),
    ],
)
def test_before_depthwise_convolutions(between: Layer, threads: int) -> None:
    assert turned(network(between), threads=threads) == 1


@pytest.mark.parametrize("attributes", [{"strides": [2, 2]}, {"dilations": [2, 1]}, {"auto_pad": "same_upper"}])
def test_every_depthwise_convolution(attributes: dict[str, Any]) -> None:
    assert turned(network(last=lambda image: depthwise(image, **attributes))) == 1


def test_before_means() -> None:
    assert turned(network(last=lambda image: build.reduce_mean(image, build.constant([2, 3])))) == 1


def test_several_readers() -> None:
    def last(image: Value) -> Value:
        return build.add(
            depthwise(image), build.multiply(depthwise(image), build.reduce_mean(image, [2, 3], keep_dims=True))
        )

    assert turned(network(last=last)) == 1


def test_normalizations_that_the_filters_take_over() -> None:
    gamma, beta, mean, variance = (build.constant(VECTOR.ravel() + shift) for shift in range(4))

    def between(image: Value) -> Value:
        return build.relu(build.batch_norm_inference(image, gamma, beta, mean, variance, epsilon=1e-3))

    assert turned(network(between)) == 1


@pytest.mark.parametrize(("shape", "kernel"), [((3, 24, 7, 6), (3, 3)), ((0, 24, 5, 5), (3, 3)), ((2, 24, 9), (3,))])
def test_shapes(shape: tuple[int, ...], kernel: tuple[int, ...]) -> None:
    axes = len(kernel)
    steps = {name: values[:axes] for name, values in STEPS.items()}
    taps = TAPS.reshape(CHANNELS, 1, 1, *TAPS.shape[3 : 3 + axes]) if axes == 2 else TAPS[..., 0]

    def last(image: Value) -> Value:
        return depthwise(image, taps, **{name: values[:axes] for name, values in PADDED.items()})

    model = network(last=last, shape=shape, filters=FILTERS.reshape(*FILTERS.shape[: 2 + axes]), **steps)
    assert turned(model, RANDOM.standard_normal(shape, np.float32)) == 1


@pytest.mark.parametrize(
    "attributes", [{"strides": [2, 2]}, {"pads_begin": [1, 0]}, {"pads_begin": [1, 0], "pads_end": [-1, 0]}]
)
def test_windows_that_are_not_the_elements(attributes: dict[str, Any]) -> None:
    assert turned(network(**attributes)) == 0


@pytest.mark.parametrize(
    "last",
    [
        build.relu,
        lambda image: build.add(depthwise(image), image),
        lambda image: depthwise(
            build.add(image, build.constant(RANDOM.standard_normal((1, CHANNELS, 14, 13), np.float32)))
        ),
        lambda image: build.group_convolution(image, build.constant(TAPS.reshape(24, 1, 2, 3, 3)), **PADDED),
        lambda image: depthwise(image, RANDOM.standard_normal((CHANNELS, 8, 1, 3, 3), np.float32)),
        lambda image: depthwise(image, TAPS[..., :1, :1], pads_begin=[0, 0], pads_end=[0, 0]),
        lambda image: depthwise(build.softmax(image, axis=1)),
        lambda image: build.convolution(image, build.constant(TAPS.reshape(1, CHANNELS, 3, 3)), **PADDED),
    ],
)
def test_images_that_are_read_otherwise(last: Layer) -> None:
    assert turned(network(last=last)) == 0


def test_images_that_are_an_output() -> None:
    data = build.parameter(list(IMAGE.shape), "f32")
    image = build.convolution(data, build.constant(FILTERS), **STEPS)
    assert turned(build.model([image, depthwise(image)])) == 0


def test_images_with_few_channels_with_many_elements_and_of_unknown_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    few = network(last=lambda image: depthwise(image, TAPS[:31]), filters=FILTERS[:31])
    assert turned(few) == 0
    assert turned(network(shape=(1, 24, -1, 13))) == 0
    assert turned(network()) == 1
    monkeypatch.setattr(costs, "SPLIT_ELEMENTS", CHANNELS * 14 * 13)
    assert turned(network()) == 0


def test_large_images_with_strides_and_many_channels(monkeypatch: pytest.MonkeyPatch) -> None:
    strided = network(last=lambda image: depthwise(image, strides=[2, 2]))
    monkeypatch.setattr(costs, "FEW_MULTIPLICATIONS", 7 * 7 * 9 - 1)
    assert turned(strided) == 1
    monkeypatch.setattr(costs, "PHASED_CHANNELS", CHANNELS - 1)
    assert turned(strided) == 0
    assert turned(network()) == 1
    monkeypatch.setattr(costs, "FEW_MULTIPLICATIONS", 7 * 7 * 9)
    assert turned(strided) == 1


def test_many_windows_where_small_matrices_are_not_copied(
    has_small_kernels: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    strided = network(last=lambda image: depthwise(image, strides=[1, 2]))
    for limit, found in ((2 * 14 * 13 * 9**2, 1), (2 * 14 * 13 * 9**2 - 1, not has_small_kernels)):
        monkeypatch.setattr(costs, "FEW_WINDOWS_BY_PLACES", limit)
        assert turned(network()) == found
        assert turned(strided) == 1


def test_plain_and_observed_plans_read_the_file() -> None:
    compiled = ir_exec.compile_model(network())
    seen = []
    observed = compiled([IMAGE], observe=lambda node, inputs, _: seen.append((node.type, inputs[-1].shape)))
    assert ("Convolution", FILTERS.shape) in seen
    assert_array_equal(observed[0], ir_exec.compile_model(network(), optimize=False)([IMAGE])[0])


def test_the_memory_of_filters_that_the_process_holds() -> None:
    half = build.convert(build.constant(FILTERS.astype(np.float16)), "f32")
    data = build.parameter(list(IMAGE.shape), "f32")
    model = build.model(depthwise(build.convolution(data, half, **STEPS)))
    assert turned(model) == 1
    compiled = ir_exec.compile_model(model)
    compiled([IMAGE])
    assert compiled.memory_plan().constants == FILTERS.nbytes + TAPS.nbytes


def test_they_are_found_in_a_real_network(has_small_kernels: bool) -> None:
    path = COPIES / "same_padding.xml"
    image = arrays(path, "inputs")
    assert image is not None
    assert turned(ir_exec.read_model(path), image[0]) == (4 if has_small_kernels else 5)


def test_the_kernel() -> None:
    """Also for data whose channels are side by side already."""
    columns = np.ascontiguousarray(FILTERS.reshape(FILTERS.shape[:2]).T)
    wanted = np.einsum("oc,bchw->bohw", FILTERS[:, :, 0, 0], IMAGE, dtype=np.float64)
    for data in (IMAGE, np.ascontiguousarray(IMAGE.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)):
        found = convolver_by_places(data.shape, columns)(data)
        assert found.strides[1] == found.itemsize
        assert_allclose(found, wanted, atol=1e-4)
