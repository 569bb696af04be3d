"""Transformed filters: which convolutions have them, and that nothing else about a network changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import ir_exec
from ir_exec import build
from ir_exec.plan.passes import prepack as packing_of_weights
from ir_exec.types import Array
from tests.kernels.conv.test_winograd import sums

RANDOM = np.random.default_rng(0)
FILTERS = RANDOM.standard_normal((40, 48, 3, 3), np.float32)
IMAGES = RANDOM.standard_normal((1, 48, 28, 30), np.float32)
STEPS = {"strides": [1, 1], "dilations": [1, 1], "pads_begin": [1, 1], "pads_end": [1, 1]}
PADS = [(1, 1), (1, 1)]
WANTED = sums(IMAGES, FILTERS[np.newaxis], PADS)


def run_transformed(compiled: ir_exec.CompiledModel, *inputs: Array) -> tuple[list[Array], int]:
    """The outputs, and how many steps have their filters transformed."""
    outputs = [np.array(array) for array in compiled(list(inputs)).values()]
    plan = compiled.executor.plan([(array.dtype, array.shape) for array in inputs])
    return outputs, sum(type(step.op).__name__ == "PackedConvolution" for step in plan.steps)


def convolution(
    filters: Array = FILTERS, shape: list[int] | None = None, function: str = "convolution", **attributes: Any
) -> ir_exec.Model:
    data = build.parameter(list(IMAGES.shape) if shape is None else shape, "f32")
    return build.model(getattr(build, function)(data, build.constant(filters), **STEPS | attributes))


def assert_right(actual: Array, expected: Array) -> None:
    assert_allclose(actual, expected, atol=2e-6 * abs(expected).max())


@pytest.mark.parametrize("threads", [1, 2])
def test_a_convolution(threads: int) -> None:
    outputs, count = run_transformed(ir_exec.compile_model(convolution(), threads=threads), IMAGES)
    assert count == 1
    assert_right(outputs[0], WANTED)


@pytest.mark.parametrize("mode", ["same_upper", "same_lower", "valid"])
def test_padding_by_rule(mode: str) -> None:
    outputs, count = run_transformed(ir_exec.compile_model(convolution(auto_pad=mode)), IMAGES)
    assert count == 1
    assert_right(outputs[0], WANTED[:, :, 1:-1, 1:-1] if mode == "valid" else WANTED)


def test_groups() -> None:
    filters = np.stack([FILTERS, FILTERS[::-1]])
    images = np.concatenate([IMAGES, -IMAGES], 1)
    model = convolution(filters, list(images.shape), "group_convolution")
    outputs, count = run_transformed(ir_exec.compile_model(model), images)
    assert count == 1
    assert_right(outputs[0], sums(images, filters, PADS))


def test_three_axes() -> None:
    filters = RANDOM.standard_normal((32, 40, 3, 3, 3), np.float32)
    images = RANDOM.standard_normal((1, 40, 6, 10, 14), np.float32)
    steps = {name: [*values, values[0]] for name, values in STEPS.items()}
    outputs, count = run_transformed(ir_exec.compile_model(convolution(filters, list(images.shape), **steps)), images)
    assert count == 1
    assert_right(outputs[0], sums(images, filters[np.newaxis], [*PADS, (1, 1)]))


@pytest.mark.parametrize(
    ("filters", "attributes"),
    [
        (FILTERS, {"strides": [2, 1]}),
        (FILTERS, {"dilations": [1, 2]}),
        (FILTERS[:, :, :, :2], {}),
        (FILTERS[:16], {}),
    ],
)
def test_untransformed_filters(filters: Array, attributes: dict[str, list[int]]) -> None:
    model = convolution(filters, **attributes)
    outputs, count = run_transformed(ir_exec.compile_model(model), IMAGES)
    assert count == 0
    assert_array_equal(outputs[0], ir_exec.compile_model(model, optimize=False)([IMAGES])[0])


def test_small_images_are_convolved_as_written() -> None:
    assert run_transformed(ir_exec.compile_model(convolution(shape=[1, 48, 7, 7])), IMAGES[:, :, :7, :7])[1] == 0


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, -3e38])
def test_unusual_filter_values_stay(value: float) -> None:
    filters = FILTERS.copy()
    filters[0, 0, 1, 1] = value
    outputs, count = run_transformed(ir_exec.compile_model(convolution(filters)), IMAGES)
    assert count == 0
    assert_right(outputs[0][:, 1:], WANTED[:, 1:])


def test_non_constant_filters_stay() -> None:
    data, filters = build.parameter(list(IMAGES.shape), "f32"), build.parameter(list(FILTERS.shape), "f32")
    model = build.model(build.convolution(data, filters, **STEPS))
    assert run_transformed(ir_exec.compile_model(model), IMAGES, FILTERS)[1] == 0


@pytest.mark.parametrize("reader", ["another layer", "another stride", "an output"])
def test_filters_with_other_readers_stay(reader: str) -> None:
    data, filters = build.parameter(list(IMAGES.shape), "f32"), build.constant(FILTERS)
    value = build.convolution(data, filters, **STEPS)
    other = {
        "another layer": lambda: build.abs(filters),
        "another stride": lambda: build.convolution(data, filters, **STEPS | {"strides": [2, 2]}),
        "an output": lambda: filters,
    }
    outputs, count = run_transformed(ir_exec.compile_model(build.model([value, other[reader]()])), IMAGES)
    assert count == 0
    assert_right(outputs[0], WANTED)


def test_convolutions_share_their_filters() -> None:
    data, filters = build.parameter(list(IMAGES.shape), "f32"), build.constant(FILTERS)
    both = build.add(build.convolution(data, filters, **STEPS), build.convolution(build.relu(data), filters, **STEPS))
    compiled = ir_exec.compile_model(build.model(both))
    outputs, count = run_transformed(compiled, IMAGES)
    assert count == 2
    (filters,) = compiled.executor.compiler.constants.packed
    assert len(filters.values) == 1
    assert_right(outputs[0], WANTED + sums(np.maximum(IMAGES, 0), FILTERS[np.newaxis], PADS))


def test_filters_computed_from_weights() -> None:
    half = FILTERS.astype(np.float16)
    data = build.parameter(list(IMAGES.shape), "f32")
    compiled = ir_exec.compile_model(
        build.model(build.convolution(data, build.convert(build.constant(half), "f32"), **STEPS))
    )
    outputs, count = run_transformed(compiled, IMAGES)
    assert count == 1
    assert_right(outputs[0], sums(IMAGES, half[np.newaxis], PADS))
    assert compiled.memory_plan().constants == FILTERS.nbytes * 16 // 9
    seen = []
    again = compiled([IMAGES], observe=lambda node, inputs, _: seen.append((node.type, [x.shape for x in inputs])))
    assert seen[-1] == ("Convolution", [IMAGES.shape, FILTERS.shape])
    assert_right(again[0], outputs[0])


def test_plain_and_observed_plans_read_the_file() -> None:
    assert run_transformed(ir_exec.compile_model(convolution(), optimize=False), IMAGES)[1] == 0
    compiled = ir_exec.compile_model(convolution())
    observed = compiled([IMAGES], observe=lambda *_: None)
    assert_array_equal(observed[0], ir_exec.compile_model(convolution(), optimize=False)([IMAGES])[0])
    assert run_transformed(compiled, IMAGES)[1] == 1


def test_images_of_unknown_sizes() -> None:
    model = convolution(shape=[-1, 48, -1, -1])
    compiled = ir_exec.compile_model(model)
    for height, width in ((28, 30), (5, 7), (1, 1), (15, 30), (6, 8)):
        images = np.concatenate([IMAGES[:, :, :height, :width]] * 2)
        outputs, count = run_transformed(compiled, images)
        assert count == 1
        assert_right(outputs[0], sums(images, FILTERS[np.newaxis], PADS))
        if height * width < 100:
            assert_array_equal(outputs[0], ir_exec.compile_model(model, optimize=False)([images])[0])


@pytest.mark.parametrize("sizes", [[28, 30], [-1, -1]])
def test_filters_of_the_process_are_counted(sizes: list[int]) -> None:
    half = build.convert(build.constant(FILTERS.astype(np.float16)), "f32")
    data = build.parameter([1, 48, *sizes], "f32")
    compiled = ir_exec.compile_model(build.model(build.convolution(data, half, **STEPS)))
    assert run_transformed(compiled, IMAGES)[1] == 1
    both = FILTERS.nbytes * 16 // 9 + (FILTERS.nbytes if -1 in sizes else 0)
    assert compiled.memory_plan({0: IMAGES.shape}).constants == both


def test_infinite_data_runs_as_written() -> None:
    images = IMAGES.copy()
    images[0, 3, 4, 5] = np.inf
    outputs, count = run_transformed(ir_exec.compile_model(convolution()), images)
    assert count == 1
    expected = ir_exec.compile_model(convolution(), optimize=False)([images])[0]
    assert np.isinf(expected).sum() == 9 * 40
    assert_allclose(outputs[0], expected, atol=1e-3)


@pytest.fixture
def on_disk(tmp_path: Path) -> Path:
    """A network whose weights are mapped: the file is larger than what is read whole."""
    convolution(RANDOM.standard_normal((320, 320, 3, 3), np.float32), [1, 320, 12, 12]).save(tmp_path / "images.xml")
    return tmp_path / "images.xml"


def test_pages_of_a_file_are_let_go(on_disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = ir_exec.read_model(on_disk)
    forgotten = []
    monkeypatch.setattr(type(model.weights), "forget", lambda self, array: forgotten.append(array.nbytes))
    compiled = ir_exec.compile_model(model, optimize="full")
    assert run_transformed(compiled, np.ones((1, 320, 12, 12), np.float32))[1] == 1
    assert forgotten == [4 * 320 * 320 * 9]
    assert compiled.memory_plan().constants == 4 * 320 * 320 * 16


@pytest.mark.parametrize("options", [{"weight_mode": "keep"}, {"max_memory": 20_000_000}])
def test_filters_of_a_file_stay_there(on_disk: Path, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing_of_weights, "COPIED_ALWAYS", 0)
    compiled = ir_exec.compile_model(on_disk, **options)
    assert run_transformed(compiled, np.ones((1, 320, 12, 12), np.float32))[1] == 0
