"""Attention that is written as several layers, as one step."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import ir_exec
from ir_exec.types import Array
from tests.helpers.chunks import in_chunks
from tests.helpers.network_text import NetworkText, Output
from tests.plan.passes.helpers import of_network, of_text

RANDOM = np.random.default_rng(3)
QUERY = RANDOM.normal(size=(2, 3, 5, 8)).astype(np.float32)
KEY = RANDOM.normal(size=(2, 3, 7, 8)).astype(np.float32)
VALUE = RANDOM.normal(size=(2, 3, 7, 4)).astype(np.float32)
MASK = np.where(np.arange(7) < 5, 0, -1e4).astype(np.float32).reshape(1, 1, 1, 7)


@pytest.fixture(autouse=True)
def small_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most scores of these tests would fit into a real one."""
    in_chunks(monkeypatch, "INTERMEDIATE_ELEMENTS", 0)


def attention(query: Array, key: Array, value: Array, scale: float = 1.0, mask: Array | float = 0.0) -> Array:
    """The definition, in f64."""
    scores = query.astype(np.float64) @ key.swapaxes(-1, -2) * scale + mask
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.asarray(weights / weights.sum(-1, keepdims=True) @ value)


@pytest.mark.parametrize("name", ["activations", "bert", "gpt2_fused", "windows"])
def test_attention_is_matched_in_real_networks(name: str) -> None:
    both = of_network(f"onnx/{name}")
    assert both.types.count("Attending") == 1
    both.assert_close()


def softmax(net: NetworkText, scores: Output, axis: int = -1) -> Output:
    return net.op("SoftMax", scores, opset=8, axis=axis)


def scores_of(net: NetworkText, query: Output, key: Output) -> Output:
    return net.op("MatMul", query, key, transpose_b="true")


@pytest.mark.parametrize("scaled", ["", "Multiply", "Divide"])
@pytest.mark.parametrize("has_mask", [False, True])
@pytest.mark.parametrize("by_columns", [False, True])
@pytest.mark.parametrize("shape", ["2,3", "?,3"])
def test_every_way_to_write_it(scaled: str, shape: str, *, has_mask: bool, by_columns: bool) -> None:
    net = NetworkText()
    query, key, value = (net.parameter(f"{shape},{dims}") for dims in ("5,8", "8,7" if by_columns else "7,8", "7,4"))
    scores = net.op("MatMul", query, key) if by_columns else scores_of(net, query, key)
    if scaled:
        scores = net.op(scaled, scores, net.const(np.array([4], np.float32)))
    if has_mask:
        scores = net.op("Add", net.const(MASK), scores)
    net.result(net.op("MatMul", softmax(net, scores, 3), value))
    both = of_text(net, QUERY, KEY.swapaxes(-1, -2).copy() if by_columns else KEY, VALUE)
    assert both.types == ["Attending"]
    scale = {"": 1.0, "Multiply": 4.0, "Divide": 0.25}[scaled]
    expected = attention(QUERY, KEY, VALUE, scale, MASK if has_mask else 0.0)
    np.testing.assert_allclose(both.rewritten[0], expected, rtol=1e-4, atol=1e-5)
    both.assert_close()


def test_column_major_values_with_score_bias() -> None:
    net = NetworkText()
    query, key, value = (net.parameter(shape) for shape in ("2,3,5,8", "1,1,7,8", "2,3,4,7"))
    bias = RANDOM.normal(size=(1, 3, 5, 7)).astype(np.float32)
    weights = softmax(net, net.op("Add", scores_of(net, query, key), net.const(bias)))
    net.result(net.op("MatMul", weights, value, transpose_b="true"))
    both = of_text(net, QUERY, KEY[:1, :1], VALUE.swapaxes(-1, -2).copy())
    assert both.types == ["Attending"]
    expected = attention(QUERY, KEY[:1, :1], VALUE, mask=bias)
    np.testing.assert_allclose(both.rewritten[0], expected, rtol=1e-4, atol=1e-5)


def test_scores_that_the_cache_holds_stay_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    net = NetworkText()
    query, key, value = (net.parameter(shape) for shape in ("2,3,5,8", "2,3,7,8", "2,3,7,4"))
    net.result(net.op("MatMul", softmax(net, scores_of(net, query, key)), value))
    scores_bytes = 2 * 3 * 5 * 7 * 4
    for size, types in ((scores_bytes // 4 - 1, ["Attending"]), (scores_bytes // 4, [])):
        in_chunks(monkeypatch, "INTERMEDIATE_ELEMENTS", size)
        assert of_text(net, QUERY, KEY, VALUE).types == types


def of_matrices(net: NetworkText, query: Output, key: Output, value: Output) -> Output:
    first, other, last = (net.op("ReduceSum", x, net.const(np.array([0, 1], np.int64))) for x in (query, key, value))
    return net.op("MatMul", softmax(net, scores_of(net, first, other)), last)


def along_another_axis(net: NetworkText, query: Output, key: Output, value: Output) -> Output:
    return net.op("MatMul", softmax(net, scores_of(net, query, key), -2), value)


def as_the_second_factor(net: NetworkText, query: Output, key: Output, value: Output) -> Output:
    weights = softmax(net, scores_of(net, query, key))
    return net.op("MatMul", value, weights, transpose_a="true", transpose_b="true")


def with_a_mask_that_widens(net: NetworkText, query: Output, key: Output, value: Output) -> Output:
    scores = net.op("Add", scores_of(net, query, key), net.const(np.zeros((2, 1, 1, 1, 7), np.float32)))
    return net.op("MatMul", softmax(net, scores), value)


def with_a_vector(net: NetworkText, query: Output, key: Output, value: Output) -> Output:
    scores = net.op("Multiply", scores_of(net, query, key), net.const(np.ones(7, np.float32)))
    return net.op("MatMul", softmax(net, scores), value)


def with_a_quotient_of_numbers(net: NetworkText, query: Output, key: Output, value: Output) -> Output:
    scores = net.op("Divide", net.const(np.array(2, np.float32)), scores_of(net, query, key))
    return net.op("MatMul", softmax(net, scores), value)


def that_shows_its_weights(net: NetworkText, query: Output, key: Output, value: Output) -> Output:
    weights = softmax(net, scores_of(net, query, key))
    net.result(weights)
    return net.op("MatMul", weights, value)


@pytest.mark.parametrize(
    "written",
    [
        of_matrices,
        along_another_axis,
        as_the_second_factor,
        with_a_mask_that_widens,
        with_a_vector,
        with_a_quotient_of_numbers,
        that_shows_its_weights,
    ],
)
def test_other_graphs_are_no_attention(written: Callable[..., Output]) -> None:
    net = NetworkText()
    net.result(written(net, *(net.parameter(shape) for shape in ("2,3,5,8", "2,3,7,8", "2,3,7,4"))))
    both = of_text(net, QUERY, KEY, VALUE)
    assert both.fused == []
    both.assert_close()


def test_results_do_not_depend_on_the_threads() -> None:
    net = NetworkText()
    query, key, value = (net.parameter("2,4,300,32") for _ in range(3))
    net.result(net.op("MatMul", softmax(net, scores_of(net, query, key)), value))
    file = net.file()
    model = ir_exec.read_model(file.xml, weights=file.weights)
    data = [RANDOM.normal(size=(2, 4, 300, 32)).astype(np.float32) for _ in range(3)]
    alone = ir_exec.compile_model(model, threads=1)(data)[0]
    np.testing.assert_array_equal(alone, ir_exec.compile_model(model, threads=3)(data)[0])
    np.testing.assert_allclose(alone, attention(*data), rtol=1e-4, atol=1e-5)
