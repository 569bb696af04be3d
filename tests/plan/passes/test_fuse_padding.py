"""Zeros that a convolution adds itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ir_exec import build
from ir_exec.build import Value
from ir_exec.types import Array
from tests.plan.passes.helpers import Both, of_model, of_network

RANDOM = np.random.default_rng(5)
IMAGE = RANDOM.standard_normal((2, 6, 7, 8), np.float32)
FILTERS = RANDOM.standard_normal((4, 6, 3, 3), np.float32)
STEPS: dict[str, Any] = {"strides": [2, 1], "dilations": [1, 1], "pads_begin": [0, 0], "pads_end": [0, 0]}


def pad_image(
    image: Value,
    begins: tuple[int, ...] = (0, 0, 1, 0),
    ends: tuple[int, ...] = (0, 0, 2, 1),
    mode: Any = "constant",
    value: Any = None,
) -> Value:
    return build.pad(image, build.constant([*begins]), build.constant([*ends]), value, pad_mode=mode)


def convolve(image: Value, filters: Array = FILTERS, **attributes: Any) -> Value:
    convolution = build.group_convolution if filters.ndim == 5 else build.convolution
    return convolution(image, build.constant(filters), **STEPS | attributes)


def image_of(*shape: int) -> Value:
    return build.parameter([*(shape or IMAGE.shape)], "f32")


def run(result: Value | list[Value], image: Array = IMAGE) -> Both:
    both = of_model(build.model(result), [image])
    both.assert_close()
    return both


@pytest.mark.parametrize(
    ("attributes", "windows"),
    [
        ({}, (4, 7)),
        ({"pads_begin": [1, 2], "pads_end": [0, 3]}, (5, 12)),
        ({"pads_begin": [-1, 0], "pads_end": [-1, -2]}, (3, 5)),
        ({"auto_pad": "valid", "pads_begin": [5, 5], "pads_end": [5, 5]}, (4, 7)),
        ({"pads_begin": [], "pads_end": []}, (4, 7)),
    ],
)
def test_with_the_padding_of_the_convolution(attributes: dict[str, Any], windows: tuple[int, ...]) -> None:
    both = run(convolve(pad_image(image_of()), **attributes))
    assert both.types == ["Convolution"]
    assert [member.type for member in both.fused[0].members] == ["Pad", "Convolution"]
    assert both.rewritten[0].shape[2:] == windows


@pytest.mark.parametrize("value", [None, 0.0, -0.0])
def test_groups_and_values(value: float | None) -> None:
    both = run(convolve(pad_image(image_of(), value=value), FILTERS.reshape(2, 4, 3, 3, 3)))
    assert both.types == ["GroupConvolution"]


def test_unknown_sizes() -> None:
    assert run(convolve(pad_image(image_of(-1, 6, -1, -1)))).types == ["Convolution"]


def test_pads_that_follow_from_the_shapes() -> None:
    """The form that converters write for TensorFlow's padding "same"."""
    image = image_of(-1, 6, -1, -1)
    # Of seven rows and eight columns.
    more = build.floor_mod(build.shape_of(image), build.constant([1, 1, 4, 7]))
    both = run(convolve(build.pad(image, build.constant([0, 0, 0, 0]), more, pad_mode="constant")))
    assert both.types == ["Convolution"]


@pytest.mark.parametrize(
    "arguments",
    [
        {"mode": "reflect"},
        {"value": 1.0},
        {"begins": (0, 0, -1, 0)},
        {"ends": (0, 0, 0, -1)},
        {"begins": (1, 0, 1, 0)},
    ],
)
def test_what_adds_anything_else(arguments: dict[str, Any]) -> None:
    assert run(convolve(pad_image(image_of(), **arguments))).types == []


def test_added_channels() -> None:
    assert (
        run(convolve(pad_image(image_of(), (0, 1, 0, 0), (0, 2, 0, 0)), RANDOM.random((4, 9, 3, 3), np.float32))).types
        == []
    )


def test_other_readers() -> None:
    image = pad_image(image_of())
    assert run([convolve(image), build.relu(image)]).types == []
    assert run([convolve(image), image]).types == []
    assert run([convolve(image), convolve(image, FILTERS + 1)]).types == []


@pytest.mark.parametrize("mode", ["same_upper", "same_lower"])
def test_padding_by_rule(mode: str) -> None:
    assert run(convolve(pad_image(image_of()), auto_pad=mode)).types == []


def test_non_finite_or_unknown_filters() -> None:
    """Zero times infinity is no zero."""
    filters = FILTERS.copy()
    filters[0, 0, 0, 0] = np.inf
    both = of_model(build.model(convolve(pad_image(image_of()), filters)), [IMAGE])
    assert both.types == []
    assert np.isnan(both.rewritten[0]).sum() == np.isnan(both.plain[0]).sum() > 0
    data, other = image_of(), build.parameter([*FILTERS.shape], "f32")
    both = of_model(build.model(build.convolution(pad_image(data), other, **STEPS)), [IMAGE, FILTERS])
    assert both.types == []
    both.assert_close(0)


def test_padding_is_matched_in_a_real_network() -> None:
    both = of_network("same_padding")
    members = [[member.type for member in step.members] for step in both.fused]
    assert [types for types in members if "Pad" in types] == [
        ["Pad", "Convolution"],
        *[["Pad", "GroupConvolution"]] * 2,
    ]
    both.assert_close()
