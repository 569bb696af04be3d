"""The error allowed for operators: rounding and approximations are no faults, and faults of 1 % are found."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ir_exec import build
from ir_exec.build import Value
from ir_exec.debug import Comparison, compare
from ir_exec.debug.comparison.metrics import Settings, difference_text
from ir_exec.debug.comparison.tolerances import tolerance_of
from ir_exec.ops.base.facts import ROUNDED, Accuracy
from ir_exec.ops.base.registry import registered
from ir_exec.types import Array, ElementType
from tests.helpers.facts import mentions

PAGE = Path(__file__).parents[3] / "docs" / "explanation" / "tolerances.md"
ULP = np.float64(2.0**-23)


def against(make: Callable[[Value], Value], x: Array, change: Callable[[Array], Array]) -> Comparison:
    """A layer of x compared with its exact value after `change`."""
    model = build.model(build.result(make(build.parameter(x.shape, name="x")), name="y"), name="one")
    node = next(node for node in model.graph.nodes if node.type not in ("Parameter", "Const", "Result"))
    exact = np.asarray(node.op.evaluate(x.astype(np.float64)))  # type: ignore[union-attr]
    return compare(model, {"y": change(exact).astype(np.float32)}, [x])


LOW = np.linspace(-12, -9, 64, dtype=np.float32)
SMALL = np.linspace(-1e-4, -1e-6, 64, dtype=np.float32)

APPROXIMATED: list[tuple[Callable[[Value], Value], Array, float]] = [
    (build.sigmoid, LOW, 1.2),
    (build.erf, SMALL, 4),
    (build.softplus, LOW, 9),
    (build.mish, LOW, 9),
    (build.gelu, LOW, 10),
    (build.swish, LOW, 9),
    (lambda x: build.elu(x, 1.0), SMALL, 1),
]


@pytest.mark.parametrize(("make", "x", "steps"), APPROXIMATED)
def test_library_rounding_is_no_fault(make: Callable[[Value], Value], x: Array, steps: float) -> None:
    """The steps of 1 by which OpenVINO or onnxruntime are off for these arguments."""
    report = against(make, x, lambda exact: exact + steps * ULP)
    assert report.equal, str(report)
    assert report.faults == ()


@pytest.mark.parametrize("make", [row[0] for row in APPROXIMATED])
def test_one_per_cent_is_a_fault(make: Callable[[Value], Value]) -> None:
    x = np.linspace(-3, 3, 65, dtype=np.float32)
    assert len(against(make, x, lambda exact: exact * 1.01).faults) == 1


@pytest.mark.parametrize("make", [build.relu, build.negative, build.sqrt, build.abs])
def test_operators_without_a_floor_keep_small_values_apart(make: Callable[[Value], Value]) -> None:
    x = np.linspace(1e-6, 1e-4, 64, dtype=np.float32)
    assert len(against(make, x, lambda exact: exact * 1.001).faults) == 1


def test_coordinates_along_a_long_axis() -> None:
    x = np.random.default_rng(0).uniform(-1, 1, (1, 1, 1, 400)).astype(np.float32)

    def make_resized(x: Value) -> Value:
        return build.interpolate(
            x,
            np.array([700]),
            np.array([3]),
            mode="linear_onnx",
            shape_calculation_mode="sizes",
            coordinate_transformation_mode="align_corners",
            name="y",
        )

    model = build.model(build.result(make_resized(build.parameter([1, 1, 1, 400], name="x"))), name="one")

    def sample_row(dtype: type, length: float = 699) -> Array:
        """In f32, where the coordinate is rounded before the position is taken from it."""
        coordinate = np.arange(700).astype(dtype) * (dtype(399) / dtype(length))
        low = np.minimum(np.floor(coordinate).astype(int), 398)
        share = (coordinate - low).astype(np.float64)
        row = x[0, 0, 0].astype(np.float64)
        interpolated = row[low] * (1 - share) + row[low + 1] * share
        return np.asarray(interpolated[None, None, None], np.float32)

    assert compare(model, {"y": sample_row(np.float32)}, [x]).faults == ()
    assert [fault.layer_name for fault in compare(model, {"y": sample_row(np.float32, 700)}, [x]).faults] == ["y"]


def test_subnormal_numbers_may_be_flushed() -> None:
    x = np.full(4, 1e-20, np.float32)
    model = build.model(build.result(build.multiply(build.parameter([4], name="x"), np.float32(1e-20), name="y")))
    report = compare(model, {"y": np.zeros(4, np.float32)}, [x])
    assert report.equal


def test_the_floor_counts_for_carried_errors() -> None:
    model = build.model(build.result(build.sigmoid(build.parameter([4], name="x"), name="y")), name="one")
    node = next(node for node in model.graph.nodes if node.type == "Sigmoid")
    assert tolerance_of([ElementType.f32], node).atol >= 4 * ULP
    assert tolerance_of([ElementType.f32]).atol < ULP
    assert Settings(rtol=1e-3).carried_tolerance([ElementType.f32], node).atol == 0


def test_page_lists_accuracy_of_every_operator() -> None:
    rows = re.findall(r"^\| (\w+) \| ([\d.]*) \| ([\d.]*) \| ([\d.]*) \|.*\| (.*) \|$", PAGE.read_text(), re.MULTILINE)
    page = {name: Accuracy(*(float(text or 0) for text in numbers), reason) for name, *numbers, reason in rows}
    declared = {(cls.type_name, cls.accuracy) for cls in registered() if cls.accuracy != ROUNDED}
    assert declared == set(page.items())


def test_versions_of_an_operator_are_equally_accurate() -> None:
    accuracies: dict[str, set[Accuracy]] = {}
    for cls in registered():
        accuracies.setdefault(cls.type_name, set()).add(cls.accuracy)
    assert [name for name, different in accuracies.items() if len(different) > 1] == []


def test_a_difference_shows_them() -> None:
    x = np.array([2.0**31], np.float32)
    model = build.model(build.result(build.relu(build.parameter([1], name="x"), name="y")), name="one")
    report = compare(model, {"y": x - np.float32(2**12)}, [x])
    assert report.layers[-1].own is not None
    assert mentions(2147483648, 2147479552) in difference_text(report.layers[-1].own).splitlines()


def test_a_reduction_of_a_scalar_by_its_only_axis() -> None:
    x = build.parameter([], name="x")
    model = build.model(build.result(build.reduce_sum(x, [0], keep_dims=False), name="y"), name="one")
    assert compare(model, {"y": np.array(2 * (1 + ULP), np.float32)}, [np.array(2, np.float32)]).verdict == "equal"


def rounded_to_bf16(change: Callable[[Array], Array]) -> Comparison:
    """x by way of bf16, compared with values of both conversions after `change` of the first."""
    short = build.convert(build.parameter((64,), name="x"), "bf16", name="short")
    model = build.model(build.result(build.convert(short, "f32", name="long"), name="y"), name="one")
    x = np.linspace(1, 4, 64, dtype=np.float32)
    values = change(x).astype(ElementType.bf16.dtype)
    return compare(model, {"short": values, "long": values.astype(np.float32)}, [x])


def test_truncation_to_bf16_names_the_rounding_layer() -> None:
    report = rounded_to_bf16(lambda x: (x.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32))
    assert report.verdict == "different"
    assert report.faults == ()
    assert mentions(report.decision.line, "short", "long")


def test_values_that_no_rounding_explains_are_a_fault_of_the_conversion() -> None:
    report = rounded_to_bf16(lambda x: x * np.float32(1.05))
    assert [fault.layer_name for fault in report.faults] == ["short"]
