"""Whose fault a layer is: values inside fusions of the reference, and types in which it computes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from ir_exec import Model, build
from ir_exec.debug import Comparison, compare
from ir_exec.debug.comparison.comparing import compare_with
from ir_exec.debug.comparison.metrics import Settings
from ir_exec.debug.comparison.references.reference import ArraysReference
from ir_exec.debug.comparison.tolerances import Tolerance
from ir_exec.debug.comparison.value_comparer import computed_type, find_agreements
from ir_exec.graph import Node
from ir_exec.types import Array, ElementType

X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


class Fusing(ArraysReference):
    """Arrays of a reference that shows other values inside its fusions; it has no second opinion."""

    fuses = True

    def opinions(
        self, node: Node, inputs: Sequence[Array], partners: Sequence[str | None]
    ) -> dict[str, list[Array | None]]:
        return {}


def chain() -> Model:
    """y = |sin(tanh(x)) + 1|"""
    x = build.parameter([3, 4], name="x")
    waves = build.sin(build.tanh(x, name="inner"), name="waves")
    return build.model(build.result(build.abs(build.add(waves, np.float32(1), name="sum"), name="end"), name="y"))


def values() -> dict[str, Array]:
    inner = np.tanh(X)
    total = np.sin(inner) + np.float32(1)
    return {"inner": inner, "waves": np.sin(inner), "sum": total, "end": np.abs(total)}


def against(changes: dict[str, Array], *, fuses: bool = True) -> Comparison:
    reference_class = Fusing if fuses else ArraysReference
    return compare_with(chain(), reference_class(values() | changes, "arrays"), [[X]], Settings())


def statuses(report: Comparison) -> dict[str, str]:
    return {layer.path: layer.status for layer in report.layers if layer.path in values()}


class TestFusions:
    def test_a_value_of_another_shape(self) -> None:
        report = against({"waves": np.zeros((3, 2), np.float32)})
        assert report.faults == ()
        assert statuses(report)["waves"] == "skipped"
        assert statuses(report)["sum"] in ("equal", "close")

    def test_several_layers_inside(self) -> None:
        report = against({"inner": X + 5, "waves": X - 5})
        assert report.faults == ()
        assert [path for path, status in statuses(report).items() if status == "skipped"] == ["inner", "waves"]

    def test_carried_error_is_a_fault(self) -> None:
        waves = values()["waves"] * np.float32(1.1)
        total = waves + np.float32(1)
        report = against({"waves": waves, "sum": total, "end": np.abs(total)})
        assert [fault.path for fault in report.faults] == ["waves"]
        assert statuses(report)["end"] == "carried"

    def test_error_at_the_end_is_a_fault(self) -> None:
        report = against({"end": values()["end"] * np.float32(1.1)})
        assert [fault.path for fault in report.faults] == ["end"]

    def test_unfused_reference_has_fault_per_layer(self) -> None:
        report = against({"waves": values()["waves"] * np.float32(1.1)}, fuses=False)
        assert [fault.path for fault in report.faults] == ["waves", "sum"]


def rotate_half(x: build.Value) -> build.Value:
    """Rotary embeddings of half of the last axis, as GPT-NeoX has them."""
    angles = np.outer(np.arange(5), 1 / 10000 ** (np.arange(2) / 2)).astype(np.float32)
    both = np.concatenate([angles, angles], -1)[None, None]
    part = [np.array([number]) for number in (0, 4, 8, 1, 3, 2)]
    zero, four, eight, unit, axis, two = part
    turned, remaining = build.slice(x, zero, four, unit, axis), build.slice(x, four, eight, unit, axis)
    low, high = build.slice(turned, zero, two, unit, axis), build.slice(turned, two, four, unit, axis)
    halves = build.concat([build.multiply(high, np.float32(-1)), low], axis=-1)
    summed = build.add(build.multiply(turned, np.cos(both)), build.multiply(halves, np.sin(both)))
    return build.concat([summed, remaining], axis=-1)


def test_partial_rotary_embeddings_in_openvino() -> None:
    pytest.importorskip("openvino")
    x = build.parameter([2, 4, 5, 8], name="x")
    model = build.model(build.result(build.relu(rotate_half(build.relu(x))), name="y"))
    report = compare(model, "openvino", [np.random.default_rng(0).standard_normal((2, 4, 5, 8)).astype(np.float32)])
    assert report.equal, str(report)
    assert {layer.status for layer in report.layers} <= {"equal", "close", "skipped"}


class TestTypes:
    def test_f64_computed_in_f32(self) -> None:
        x = build.parameter([8], "f64", name="x")
        model = build.model(build.result(build.sin(x, name="waves"), name="y"))
        data = np.linspace(0, 3, 8)
        short = np.sin(data.astype(np.float32)).astype(np.float64)
        assert compare(model, {"waves": short}, [data]).faults == ()
        assert len(compare(model, {"waves": np.sin(data) + 1e-8}, [data]).faults) == 1

    def test_the_type_of_an_array(self) -> None:
        assert computed_type(np.array([1 / 3])) is ElementType.f64
        assert computed_type(np.array([1 / 3], np.float32).astype(np.float64)) is ElementType.f32
        assert computed_type(np.array([1 / 3], np.float32)) is ElementType.f32
        assert computed_type(np.array([1])) is ElementType.i64


def test_opinions() -> None:
    ones, two = np.float32([1]), np.float32([2])
    tolerance = Tolerance(atol=0.1)
    assert find_agreements({"kernel": [ones]}, 0, ones, two, tolerance).is_reference
    assert not find_agreements({"kernel": [two]}, 0, ones, two, tolerance).is_reference
    assert find_agreements({"kernel": [two], "alone": [ones]}, 0, ones, two, tolerance).is_reference
    assert find_agreements({"kernel": [ones]}, 0, ones, ones, tolerance) == (None, False, False)
    assert find_agreements({"evaluator": [None]}, 0, ones, two, tolerance) == (None, False, False)
    assert [find_agreements({"kernel": [side]}, 0, ones, two, tolerance).confirms for side in (ones, two)] == [
        False,
        True,
    ]
