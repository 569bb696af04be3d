"""Two files that ir_exec runs: nearly the same bits, or a difference of precision that the first line names."""

from __future__ import annotations

import numpy as np
import pytest

from ir_exec import Model, build
from ir_exec.debug import compare
from ir_exec.debug.comparison.metrics import Difference
from ir_exec.debug.comparison.tolerances import SAME_ENGINE
from ir_exec.debug.comparison.value_comparer import compression_tolerance
from ir_exec.debug.precision.weights import QuantizedWeight
from tests.helpers.facts import mentions

X = np.random.default_rng(3).standard_normal((4, 16)).astype(np.float32)
W = np.random.default_rng(4).standard_normal((16, 16)).astype(np.float32)


def network(factor: float = 1.0, *, is_split: bool = False) -> Model:
    """y = x @ w * factor, as one layer or as two."""
    x = build.parameter([4, 16], name="x")
    product = build.matmul(x, build.constant(W * np.float32(factor), name="w"), name="product")
    if is_split:
        half = build.matmul(x, build.constant(W * np.float32(factor / 2), name="w"), name="half")
        product = build.add(half, half, name="twice")
    return build.model(build.result(product, name="y"))


@pytest.mark.parametrize(("factor", "verdict"), [(1.0, "equal"), (1 + 2e-6, "equal"), (1 + 1e-4, "different")])
def test_the_same_layers(factor: float, verdict: str) -> None:
    report = compare(network(), network(factor), [X])
    assert report.verdict == verdict
    assert bool(report.faults) == (factor != 1.0)


def test_an_element_of_a_weight() -> None:
    """Its effect on the outputs is below the tolerance of other programs, and its own error is none of rounding."""
    w = W.copy()
    w[2, 3] += 1e-3 * np.sqrt(np.mean(W**2))
    x = build.parameter([4, 16], name="x")
    other = build.model(build.result(build.matmul(x, build.constant(w, name="w"), name="product"), name="y"))
    report = compare(network(), other, [X * np.float32([1] * 2 + [0] + [1] * 13)])
    assert report.output_results[0].status == "equal"
    assert report.verdict == "different in a layer"
    assert report.failing == {"w"}
    assert str(report).splitlines()[0] == mentions("w")


def test_other_layers_may_sum_in_another_order() -> None:
    report = compare(network(), network(1 + 2e-5, is_split=True), [X], pairs={"y": "y"})
    assert report.verdict == "equal", str(report)


def test_tolerances_of_the_caller_count() -> None:
    assert compare(network(), network(1.01), [X], rtol=0.1, atol=0.1).verdict == "equal"
    assert compare(network(), network(1 + 2e-6), [X], rtol=0.0).verdict == "different"


def weight(sqnr: float, *, is_fault: bool = False) -> QuantizedWeight:
    error = Difference(rmse=1.0, sqnr_db=sqnr)
    return QuantizedWeight(
        path="w", partner="w", side="model", format="int8", partner_format="f32", error=error, is_fault=is_fault
    )


class TestCompression:
    def test_noise_of_independent_weights(self) -> None:
        single, four = (compression_tolerance([weight(40.0)] * count) for count in (1, 4))
        assert single is not None
        assert four is not None
        assert four.rms == pytest.approx(2 * single.rms)
        assert SAME_ENGINE < single.rms < 0.1

    def test_unexplained_differences(self) -> None:
        assert compression_tolerance([]) is None
        assert compression_tolerance([weight(40.0), weight(40.0, is_fault=True)]) is None
        most = compression_tolerance([weight(-10.0)])
        assert most is not None
        assert most.rms < 1
