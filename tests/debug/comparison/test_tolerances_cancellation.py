"""Sums whose terms cancel: they are as exact as their terms, and faults in them are found all the same."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from ir_exec import Model, build
from ir_exec.build import Value
from ir_exec.debug import Comparison, compare
from ir_exec.debug.comparison.metrics import Tolerance, difference
from ir_exec.debug.comparison.tolerances import cancelling_terms
from ir_exec.graph import Node
from ir_exec.types import Array


def cancelling(*shape: int, seed: int = 0) -> Array:
    """Numbers whose sum along the last axis is that of their rounding errors."""
    half = np.random.default_rng(seed).standard_normal((*shape[:-1], shape[-1] // 2)).astype(np.float32)
    terms = np.concatenate([half, -half], -1)
    return np.random.default_rng(seed + 1).permuted(terms, axis=-1)


def sum_in_order(array: Array) -> Array:
    """One after the other, in f32: as exact as any sum, and in another order than NumPy's."""
    total = np.zeros(array.shape[:-1], np.float32)
    for column in range(array.shape[-1]):
        total = total + array[..., column]
    return total


def layer(make: Callable[[Value], Value], x: Array) -> Model:
    return build.model(
        build.result(build.relu(make(build.parameter(x.shape, name="x")), name="after"), name="y"), name="sums"
    )


def against(make: Callable[[Value], Value], x: Array, reference: Array) -> Comparison:
    """The layer that `make` names "sum", compared with this array in its place."""
    return compare(layer(make, x), {"sum": reference}, [x])


def reduce_mean(x: Value) -> Value:
    return build.reduce_mean(x, [-1], keep_dims=False, name="sum")


class TestNoFalseAlarm:
    @pytest.mark.parametrize("length", [16, 256, 4096])
    def test_means(self, length: int) -> None:
        x = cancelling(6, length)
        report = against(reduce_mean, x, sum_in_order(x) / np.float32(length))
        assert report.faults == (), str(report)

    def test_sums(self) -> None:
        x = cancelling(6, 256)
        assert against(lambda x: build.reduce_sum(x, [-1], name="sum"), x, sum_in_order(x)).faults == ()

    def test_products(self) -> None:
        """Each sum takes every term twice, with either sign."""
        x = cancelling(4, 128)
        weights = np.ones((128, 3), np.float32)
        reference = np.stack([sum_in_order(x * weights[:, i]) for i in range(3)], -1)
        report = against(lambda x: build.matmul(x, weights, name="sum"), x, reference)
        assert report.faults == (), str(report)

    def test_convolutions(self) -> None:
        x = np.ascontiguousarray(cancelling(1, 5, 64).transpose(0, 2, 1))
        weights = np.ones((2, 64, 1), np.float32)
        reference = np.repeat(sum_in_order(x.transpose(0, 2, 1))[:, None], 2, 1)
        report = against(
            lambda x: build.convolution(
                x, weights, strides=[1], pads_begin=[0], pads_end=[0], dilations=[1], name="sum"
            ),
            x,
            reference,
        )
        assert report.faults == (), str(report)

    def test_normalization_of_nearly_constant_rows(self) -> None:
        x = (np.float32(7.3) + np.float32(1e-6) * cancelling(3, 64)).astype(np.float32)
        mean = np.float64(x).mean(-1, keepdims=True).astype(np.float32)
        centered = x - mean
        reference = centered / np.sqrt((centered * centered).mean(-1, keepdims=True) + np.float32(1e-12))
        # Another rounding of the mean moves every element by as much.
        moved = x - np.nextafter(mean, np.float32(9))
        reference = moved / np.sqrt((centered * centered).mean(-1, keepdims=True) + np.float32(1e-12))
        report = against(
            lambda x: build.mvn(x, [-1], eps=1e-12, normalize_variance=True, eps_mode="inside_sqrt", name="sum"),
            x,
            reference,
        )
        assert report.faults == (), str(report)

    def test_outputs_that_cancel_after_carried_errors(self) -> None:
        x = cancelling(4, 64)
        model = build.model(
            build.result(build.reduce_mean(build.tanh(build.parameter(x.shape, name="x"), name="wave"), [-1], name="y"))
        )
        wave = np.tanh(x)
        wave[:, ::3] = np.nextafter(wave[:, ::3], np.float32(9))
        report = compare(model, {"wave": wave, "y": sum_in_order(wave) / np.float32(64)}, [x])
        assert report.equal, str(report)
        far = compare(model, {"wave": wave, "y": sum_in_order(wave) / np.float32(64) + np.float32(1e-3)}, [x])
        assert [fault.layer_name for fault in far.faults] == ["y"]


class TestFaultsAreFound:
    @pytest.mark.parametrize("length", [16, 256, 4096])
    def test_mean_leaving_out_one_element(self, length: int) -> None:
        x = cancelling(6, length)
        report = against(reduce_mean, x, x[:, 1:].mean(-1, dtype=np.float64).astype(np.float32))
        assert report.first_fault is not None
        assert report.first_fault.layer_name == "sum"

    def test_a_product_with_one_other_weight(self) -> None:
        x = cancelling(4, 128)
        weights = np.ones((128, 3), np.float32)
        other = weights.copy()
        other[7, 1] += 1e-3
        report = against(lambda x: build.matmul(x, weights, name="sum"), x, x @ other)
        assert report.first_fault is not None
        assert report.first_fault.own is not None
        assert report.first_fault.own.beyond_count <= 4

    def test_given_tolerances_apply_alone(self) -> None:
        x = cancelling(6, 256)
        model = layer(reduce_mean, x)
        assert compare(model, {"sum": sum_in_order(x) / np.float32(256)}, [x], rtol=1e-5).faults != ()


class TestTerms:
    def node(self, make: Callable[[Value], Value], *shape: int) -> Node:
        graph = layer(make, np.ones(shape, np.float32)).graph
        return next(node for node in graph.nodes if node.name == "sum")

    def test_magnitudes(self) -> None:
        x, other = np.float32([[1, -2, 4], [-1, 1, 0]]), np.float32([[3, -3, 1]])
        terms = cancelling_terms(self.node(lambda x: build.subtract(x, other, name="sum"), 2, 3), [x, other])
        assert terms is not None
        assert terms.tolist() == [[4, 5, 5], [4, 4, 1]]

    def test_subtracted_updates(self) -> None:
        x, indices, updates = np.float32([1, -2, 4]), np.int64([[0], [0], [2]]), np.float32([1, -3, 5])

        def make(x: Value, reduction: str) -> Value:
            return build.scatter_nd_update(x, indices, updates, reduction=reduction, name="sum")

        magnitudes = {
            reduction: cancelling_terms(self.node(partial(make, reduction=reduction), 3), [x, indices, updates])
            for reduction in ("sub", "sum", "none")
        }
        assert magnitudes.pop("none") is None
        assert [array.tolist() for array in magnitudes.values() if array is not None] == [[5, 2, 9]] * 2

    def test_normalization(self) -> None:
        x, axes = np.float32([[1, 1, 3, 3], [-2, 0, 0, 2]]), np.array([1])

        def make(x: Value, **attributes: bool) -> Value:
            options = {"normalize_variance": True, "eps": 0.0, "eps_mode": "inside_sqrt", **attributes}
            return build.mvn(x, axes, name="sum", **options)

        terms = cancelling_terms(self.node(make, 2, 4), [x, axes])
        assert terms is not None
        root = math.sqrt(2)
        assert np.allclose(terms, [[3, 3, 5, 5], [3 / root, 1 / root, 1 / root, 3 / root]])
        terms = cancelling_terms(self.node(partial(make, normalize_variance=False), 2, 4), [x, axes])
        assert terms is not None
        assert terms.tolist() == [[3, 3, 5, 5], [3, 1, 1, 3]]

    def test_normalization_by_groups(self) -> None:
        x = np.float32([1, 1, 3, 3]).reshape(1, 2, 2)
        scale, bias = np.float32([-2, 1]), np.float32([0, -7])
        node = self.node(lambda x: build.group_normalization(x, scale, bias, 1, 0.0, name="sum"), 1, 2, 2)
        terms = cancelling_terms(node, [x, scale, bias])
        assert terms is not None
        assert terms.tolist() == [[[6, 6], [12, 12]]]

    def test_normalization_by_batches(self) -> None:
        x = np.float32([[5, -5]])
        gamma, beta, mean, variance = (np.float32([value, value]) for value in (-2, 3, -1, 4))
        node = self.node(lambda x: build.batch_norm_inference(x, gamma, beta, mean, variance, 0.0, name="sum"), 1, 2)
        terms = cancelling_terms(node, [x, gamma, beta, mean, variance])
        assert terms is not None
        assert terms.tolist() == [[9, 9]]

    def test_layers_without_sums_and_integers(self) -> None:
        assert cancelling_terms(self.node(lambda x: build.tanh(x, name="sum"), 3), [np.ones(3, np.float32)]) is None
        node = self.node(lambda x: build.reduce_sum(x, [0], name="sum"), 3)
        assert cancelling_terms(node, [np.array([1, -1, 2]), np.array([0])]) is None

    def test_non_finite_values_give_no_limit(self) -> None:
        node = self.node(lambda x: build.reduce_sum(x, [1], name="sum"), 2, 2)
        terms = cancelling_terms(node, [np.float32([[np.inf, -1], [2, -1]]), np.array([1])])
        assert terms is not None
        assert terms.tolist() == [0, 3]

    def test_limit_is_per_element(self) -> None:
        tolerance = Tolerance(scale=1e-6, terms=1e-3)
        ours, reference = np.float32([0.01, 0.01, 0]), np.zeros(3, np.float32)
        error = difference(ours, reference, tolerance, terms=lambda: np.array([20.0, 5, 5]))
        assert (error.beyond_count, error.worst) == (1, (1,))
        assert math.isclose(error.atol, 5e-3)
        assert difference(ours, reference, tolerance).beyond_count == 2
