"""The terms of sums decide how far two implementations may differ, and a wide tolerance hides faults."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from ir_exec import Model, build
from ir_exec.build import Value
from ir_exec.debug import compare
from ir_exec.debug.comparison.tolerances import count_terms
from ir_exec.extension import FLOAT, In, Op, Shape, TensorType, register_op
from ir_exec.graph import Node
from ir_exec.types import Array

STEP = 2.0**-23


def normal(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def find_node(model: Model, name: str) -> Node:
    return next(node for node in model.graph.nodes if node.name == name)


def deformable(x: Array, offsets: Array, filters: Array) -> Model:
    layer = build.deformable_convolution(
        build.parameter(x.shape, name="x"),
        offsets,
        filters,
        strides=[1, 1],
        pads_begin=[0, 0],
        pads_end=[0, 0],
        dilations=[1, 1],
        name="sum",
    )
    return build.model(build.result(layer, name="y"), name="sums")


def make_transposed_convolution(x: Array, filters: Array, stride: int = 1) -> Model:
    layer = build.convolution_backprop_data(
        build.parameter(x.shape, name="x"),
        filters,
        strides=[stride],
        pads_begin=[0],
        pads_end=[0],
        dilations=[1],
        name="sum",
    )
    return build.model(build.result(layer, name="y"), name="sums")


def convolve_rows(x: Array, filters: Array) -> Array:
    """The 3x3 convolution of one image, with f64 sums, in plain loops over the elements of a window."""
    rows, columns = x.shape[2] - 2, x.shape[3] - 2
    total = np.zeros((1, filters.shape[0], rows, columns))
    for i in range(3):
        for j in range(3):
            window = x[0, :, i : i + rows, j : j + columns].astype(np.float64)
            total[0] += np.einsum("oc,chw->ohw", filters[:, :, i, j].astype(np.float64), window)
    return total


class TestDeformableConvolution:
    """Offsets of zero: the values of a plain convolution."""

    x, filters = normal(1, 64, 58, 58), normal(2, 64, 3, 3, seed=1)
    offsets = np.zeros((1, 18, 56, 56), np.float32)

    def test_offsets_are_no_filters(self) -> None:
        node = find_node(deformable(self.x, self.offsets, self.filters), "sum")
        assert count_terms(node, [self.x, self.offsets, self.filters]) == 576

    def test_fault_below_tolerance_of_offset_terms(self) -> None:
        expected = convolve_rows(self.x, self.filters)
        model = deformable(self.x, self.offsets, self.filters)
        assert compare(model, {"sum": expected.astype(np.float32)}, [self.x]).faults == ()
        greatest = np.abs(expected).max()
        faulty = expected.copy()
        # Positions add 3 * 56 steps of the greatest element, 576 terms add 4 * 24, 56448 would add 4 * 238.
        faulty[0, 0, 5, 7] += 700 * STEP * greatest
        report = compare(model, {"sum": faulty.astype(np.float32)}, [self.x])
        assert [fault.layer_name for fault in report.faults] == ["sum"]


class TestTransposedConvolution:
    def test_channels_of_data_are_summed(self) -> None:
        x, filters = normal(1, 900, 8), normal(900, 2, 4, seed=1)
        model = make_transposed_convolution(x, filters, stride=2)
        # Two of the four elements of a filter meet at an element of the output.
        assert count_terms(find_node(model, "sum"), [x, filters]) == 1800

    def test_no_alarm_for_many_channels_of_data(self) -> None:
        """Rounding of terms of one sign, as in sums one after the other, stays within the tolerance."""
        x, filters = np.abs(normal(1, 6400, 3)), np.abs(normal(6400, 1, 1, seed=1))
        exact = np.einsum("bcw,cok->bow", x.astype(np.float64), filters.astype(np.float64))
        model = make_transposed_convolution(x, filters)
        assert compare(model, {"sum": exact.astype(np.float32)}, [x]).faults == ()
        # 300 steps: an error of sums of 6400 terms, but far beyond 20 steps, the limit of a single term.
        rounded = (exact * (1 + 250 * STEP)).astype(np.float32)
        assert compare(model, {"sum": rounded}, [x]).faults == ()

    def test_fault_below_tolerance_of_output_terms(self) -> None:
        x, filters = normal(1, 2, 6), normal(2, 3600, 1, seed=1)
        exact = np.einsum("bcw,cok->bow", x.astype(np.float64), filters.astype(np.float64))
        model = make_transposed_convolution(x, filters)
        assert compare(model, {"sum": exact.astype(np.float32)}, [x]).faults == ()
        faulty = exact.copy()
        faulty[0, 3, 2] += 150 * STEP * np.abs(exact).max()
        report = compare(model, {"sum": faulty.astype(np.float32)}, [x])
        assert [fault.layer_name for fault in report.faults] == ["sum"]

    def test_groups(self) -> None:
        x, filters = normal(1, 6, 5), normal(2, 3, 7, 3, seed=1)
        layer = build.group_convolution_backprop_data(
            build.parameter(x.shape, name="x"),
            filters,
            strides=[3],
            pads_begin=[0],
            pads_end=[0],
            dilations=[1],
            name="sum",
        )
        model = build.model(build.result(layer, name="y"), name="sums")
        assert count_terms(find_node(model, "sum"), [x, filters]) == 3


def test_a_pool_sums_its_window_only() -> None:
    x = normal(1, 4, 128, 128)
    layer = build.avg_pool(
        build.parameter(x.shape, name="x"),
        strides=[2, 2],
        pads_begin=[0, 0],
        pads_end=[0, 0],
        kernel=[2, 2],
        exclude_pad=True,
        rounding_type="floor",
        auto_pad="explicit",
        name="sum",
    )
    model = build.model(build.result(layer, name="y"), name="sums")
    means = x.astype(np.float64).reshape(1, 4, 64, 2, 64, 2).mean((3, 5))
    assert compare(model, {"sum": means.astype(np.float32)}, [x]).faults == ()
    means[0, 1, 2, 3] += 200 * STEP * np.abs(means).max()
    report = compare(model, {"sum": means.astype(np.float32)}, [x])
    assert [fault.layer_name for fault in report.faults] == ["sum"]


def transform(x: Array, dtype: type[np.floating]) -> Array:
    """The discrete Fourier transform of rows of complex numbers, with angles of this precision."""
    size = x.shape[1]
    numbers = np.arange(size).astype(dtype)
    angles = (dtype(2 * np.pi) * numbers[:, None] * numbers / dtype(size)).astype(np.float64)
    product = (x[..., 0] + 1j * x[..., 1].astype(np.float64)) @ (np.cos(angles) - 1j * np.sin(angles))
    return np.stack([product.real, product.imag], -1).astype(np.float32)


def test_transform_angles_are_rounded_relative_to_size() -> None:
    x = normal(4, 1000, 2)
    layer = build.dft(build.parameter(x.shape, name="x"), [1], name="sum")
    model = build.model(build.result(layer, name="y"), name="sums")
    assert compare(model, {"sum": transform(x, np.float32)}, [x]).faults == ()
    faulty = transform(x, np.float64)
    faulty[1, 7, 0] += 5000 * STEP * np.abs(faulty).max()
    report = compare(model, {"sum": faulty}, [x])
    assert [fault.layer_name for fault in report.faults] == ["sum"]


@pytest.mark.parametrize(("steps", "columns"), [(1, 8), (5, 8), (5, 64)])
def test_a_layer_in_a_body_counts_in_every_iteration(steps: int, columns: int) -> None:
    weights = normal(columns, columns, seed=1)
    x = build.parameter([2, steps, columns], name="x")

    def body(state: Value, row: Value) -> tuple[list[Value], list[Value]]:
        return [build.matmul(build.add(row, state), weights)], []

    initial = np.zeros((2, 1, columns), np.float32)
    (last,) = build.tensor_iterator(body, carried=[initial], sliced=[build.Sliced(x, axis=1)], name="sum")
    node = find_node(build.model(build.result(last, name="y")), "sum")
    assert count_terms(node, [initial, normal(2, steps, columns)]) == steps * columns


def test_the_longest_of_two_bodies_counts() -> None:
    x = build.parameter([2, 6], name="x")
    layer = build.if_(
        build.parameter([], "boolean", name="flag"),
        lambda: build.relu(x),
        lambda: build.matmul(x, normal(6, 6, seed=1)),
        name="sum",
    )
    node = find_node(build.model(build.result(layer, name="y")), "sum")
    assert count_terms(node, [np.array(True), normal(2, 6)]) == 6


def test_axes_in_a_body_may_be_all() -> None:
    x = build.parameter([2, 6, 5], name="x")
    layer = build.if_(
        build.parameter([], "boolean", name="flag"),
        lambda: build.relu(x),
        lambda: build.subtract(x, build.reduce_mean(x, [1, 2], keep_dims=True)),
        name="sum",
    )
    node = find_node(build.model(build.result(layer, name="y")), "sum")
    assert 30 <= count_terms(node, [np.array(True), normal(2, 6, 5)]) <= 60


class Window(Op):
    """The sum of the last elements of every row."""

    inputs = (In("data", types=FLOAT),)

    length: int = 1

    def infer(self, data: TensorType) -> TensorType:
        return data.with_shape(Shape([data.shape[0]]))

    def count_terms(self, inputs: Sequence[Array]) -> int:
        return self.length

    def evaluate(self, data: Array) -> Array:
        return np.asarray(data[:, -self.length :].sum(-1, dtype=data.dtype))


@pytest.mark.usefixtures("forgotten_extensions")
@pytest.mark.parametrize(("length", "is_fault"), [(16, True), (10_000, False)])
def test_an_operator_of_an_extension_counts_its_terms(length: int, is_fault: bool) -> None:
    register_op("Window", version="extension")(Window)
    x = np.abs(normal(3, 10_000))
    layer = build.op("Window", build.parameter(x.shape, name="x"), opset="extension", length=length, name="sum")
    model = build.model(build.result(layer, name="y"))
    exact = x[:, -length:].sum(-1, dtype=np.float64)
    report = compare(model, {"sum": (exact * (1 + 300 * STEP)).astype(np.float32)}, [x])
    assert bool(report.faults) is is_fault
