"""Inputs whose outputs show nothing are drawn again."""

from __future__ import annotations

import numpy as np
import pytest

from ir_exec import Model, build, read_model
from ir_exec.build import Value
from ir_exec.debug import compare, drawn_inputs
from ir_exec.debug.inputs.drawing import Drawer, Redraw, checked_inputs, judge
from ir_exec.errors import EvaluationError
from ir_exec.types import Array
from tests.onnx.files import model as onnx_model


def model(*values: Value) -> Model:
    return build.model([build.result(value, name=f"y{number}") for number, value in enumerate(values)])


def x() -> Value:
    return build.parameter("2,8", "f32", name="x")


def near_zero() -> Model:
    """NaN for what is larger than 1, which small numbers alone never are."""
    value = x()
    return model(build.sqrt(build.subtract(np.float32(1), build.multiply(value, value))))


def always_nan() -> Model:
    return model(build.multiply(x(), np.float32(np.nan)))


def test_nan_is_drawn_again() -> None:
    first = drawn_inputs(near_zero(), 0)
    arrays, record = checked_inputs(near_zero(), 0)
    assert np.abs(first["x"]).max() > 1 > np.abs(arrays["x"]).max()
    assert len(record.rejected) == 1
    assert (record.problem, record.checked) == (None, True)


def test_fitting_draw_depends_on_seed_only() -> None:
    (first, _), (second, _), (other, _) = (checked_inputs(near_zero(), seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first["x"], second["x"])
    assert (first["x"] != other["x"]).any()


def test_accepted_draw_equals_plain_draw() -> None:
    network = model(build.relu(x()))
    arrays, record = checked_inputs(network, 0)
    np.testing.assert_array_equal(arrays["x"], drawn_inputs(network, 0)["x"])
    assert not record.rejected


def test_redraw_stops_without_progress() -> None:
    arrays, record = checked_inputs(always_nan(), 0)
    assert record.problem is not None
    assert "'y0'" in record.problem
    assert len(record.rejected) == 2
    np.testing.assert_array_equal(arrays["x"], drawn_inputs(always_nan(), 0)["x"])


def test_a_constant_output_is_drawn_again() -> None:
    # Normal numbers are far above, a tenth of them is not.
    value = build.clamp(build.add(build.abs(x()), np.float32(0.0)), min=0.0, max=1e-9)
    _, record = checked_inputs(model(value), 0)
    assert len(record.rejected) == 2


def test_shape_dependent_outputs_cause_no_redraw() -> None:
    value = x()
    _, record = checked_inputs(model(build.relu(value), build.shape_of(build.concat([value, value], 0))), 0)
    assert not record.rejected
    assert record.problem is None


def test_given_inputs_are_not_run() -> None:
    array = np.full((2, 8), np.nan, np.float32)
    arrays, record = checked_inputs(always_nan(), 0, given_arrays={"x": array})
    assert arrays["x"] is array
    assert not record.checked


def test_a_long_run_is_not_made_again() -> None:
    redraw = Redraw(Drawer(near_zero(), 0))
    before = redraw.arrays
    assert not redraw.again([np.array([np.nan], np.float32)], seconds=60)
    assert redraw.arrays is before
    assert redraw.drawn.problem is not None


def test_the_best_draw_is_kept() -> None:
    value = x()
    redraw = Redraw(Drawer(model(value, build.relu(value)), 0))
    nan, fine = np.array([np.nan, 1], np.float32), np.array([0, 1], np.float32)
    assert redraw.again([nan, nan], 0)
    best = redraw.arrays
    assert redraw.again([nan, fine], 0)
    assert redraw.is_best
    assert not redraw.again([nan, nan], 0)
    assert not redraw.is_best
    assert redraw.arrays is best


def test_failed_run_is_redrawn() -> None:
    redraw = Redraw(Drawer(near_zero(), 0))
    assert redraw.again_after(EvaluationError("no"), 0)
    assert not redraw.again([np.array([0, 1], np.float32)], 0)
    assert redraw.drawn.problem is None
    assert len(redraw.drawn.rejected) == 1


@pytest.mark.parametrize(
    ("outputs", "problem"),
    [
        ([np.array([0, 1], np.float32)], False),
        ([np.array([0, np.nan], np.float32)], True),
        ([np.array([0, -np.inf], np.float32)], True),
        ([np.array([2, 2], np.float32)], True),
        ([np.array([2], np.float32)], False),
        ([np.array([], np.float32)], False),
        ([np.array([True, True])], True),
        ([np.array([True, True]), np.array([0, 1], np.float32)], False),
        ([np.array(["a", "a"], object)], False),
    ],
)
def test_what_shows_nothing(outputs: list[Array], problem: bool) -> None:
    score, text = judge(outputs, [True] * len(outputs), ["a", "b"][: len(outputs)])
    assert (score > 0, text is not None) == (problem, problem)


def test_compare_draws_again() -> None:
    def network(factor: float) -> Model:
        """NaN everywhere where one number is larger than 1."""
        value = x()
        largest = build.reduce_max(build.multiply(value, value), np.int64([0, 1]), keep_dims=True)
        root = build.sqrt(build.subtract(np.float32(1), largest))
        return model(build.multiply(build.multiply(value, root), np.float32(factor)))

    assert np.abs(drawn_inputs(network(1), 0)["x"]).max() > 1
    assert not compare(network(1), network(2)).equal


LIST = "s = SplitToSequence<axis = 1>(x, sizes)"


@pytest.mark.parametrize(
    "nodes", [f"{LIST} z = Constant<value_int = 0>() y = SequenceAt(s, z)", f"{LIST} y = Identity(s)"]
)
def test_inputs_of_call_dependent_model(nodes: str) -> None:
    """Its graph has no values for these outputs, and a list may have several."""
    proto = onnx_model(f"g (float[N,3] x, int64[P] sizes) => (y) {{ {nodes} }}")
    network = read_model(proto.SerializeToString())
    assert network.is_partial
    assert network.output_values == [None]
    arrays, record = checked_inputs(network, 0, given_arrays={"sizes": np.array([1, 2])})
    assert (record.problem, record.checked) == (None, True)
    assert arrays["x"].shape[1] == 3
