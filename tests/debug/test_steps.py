"""Elements on a step, and ties: differences that are nobody's fault."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ir_exec import build, read_model
from ir_exec.debug import ComparedLayer, Comparison, Difference, compare, trace
from ir_exec.types import Array, ElementType
from tests.helpers.network_text import NetworkText

CLOSE = np.float32(1 + 2e-6)


def layer(type: str, inputs: list[Array], reference: list[Array], opset: int = 1, **attributes: Any) -> Comparison:
    """A network of one layer between ReLUs, compared with these values in place of the layer's."""
    net = NetworkText()
    first = net.parameter(",".join(map(str, inputs[0].shape)), "f32")
    rest = [net.const(array) for array in inputs[1:]]
    found = net.outputs(len(reference), type, first, *rest, opset=opset, **attributes)
    for value in found:
        net.result(value)
    file = net.file()
    model = read_model(file.xml, weights=file.weights)
    name = f"{type.lower()}{len(inputs)}"
    names = [name] if len(reference) == 1 else [f"{name}:{port}" for port in range(len(reference))]
    return compare(model, dict(zip(names, reference, strict=True)), inputs[:1])


def status(report: Comparison) -> tuple[str, str | None]:
    (found,) = (one for one in report.layers if one.partner is not None)
    assert (found.status == "wrong") == (report.first_fault is not None)
    return found.status, found.note


def test_rounding() -> None:
    x = np.array([0.5, 1.2, 2.5 * CLOSE, 3.0], np.float32)
    report = layer("Round", [x], [np.array([0, 1, 2, 3], np.float32)], opset=5, mode="half_to_even")
    assert status(report) == ("step", "1 of 4 elements lie on a step; one step apart")
    report = layer("Round", [x], [np.array([0, 2, 3, 3], np.float32)], opset=5, mode="half_to_even")
    assert status(report) == ("wrong", None)
    report = layer("Round", [x], [np.array([0, 1, 5, 3], np.float32)], opset=5, mode="half_to_even")
    assert status(report) == ("wrong", None)


@pytest.mark.parametrize(("type", "ours"), [("Floor", [1, 1]), ("Ceiling", [1, 2])])
def test_whole_numbers(type: str, ours: list[float]) -> None:
    x = np.array([1, 1.5], np.float32)
    other = np.array(ours, np.float32) + np.array([-1 if type == "Floor" else 1, 0], np.float32)
    assert status(layer(type, [x], [other]))[0] == "step"
    assert status(layer(type, [x], [np.array(ours, np.float32) + 1]))[0] == "wrong"


@pytest.mark.parametrize("type", ["fLOOR", "floor", "FLOOR"])
def test_types_in_another_case(type: str) -> None:
    x, other = np.array([1, 1.5], np.float32), np.array([0, 1], np.float32)
    assert status(layer(type, [x], [other]))[0] == "step"
    limits = [np.array(number, np.float32) for number in (0, 255, 0, 255)]
    x, other = np.array([100.5], np.float32), np.array([101], np.float32)
    assert status(layer("fAKEqUANTIZE", [x, *limits], [other], levels=256))[0] == "step"


def test_conversion() -> None:
    x = np.array([2.0, 3.7], np.float32)
    assert status(layer("Convert", [x], [np.array([1, 3], np.int32)], destination_type="i32"))[0] == "step"
    assert status(layer("Convert", [x], [np.array([2, 4], np.int32)], destination_type="i32"))[0] == "wrong"


def test_comparison() -> None:
    x, y = np.array([1, 2], np.float32), np.array([CLOSE, 3], np.float32)
    assert status(layer("Less", [x, y], [np.array([False, True])])) == ("step", "1 of 2 elements lie on a step")
    assert status(layer("Less", [x, y], [np.array([True, False])]))[0] == "wrong"


def test_quantization() -> None:
    limits = [np.array(number, np.float32) for number in (0, 255, 0, 255)]
    x = np.array([0.5, 10.2, 100.5, 200], np.float32)
    found = np.array([0, 10, 101, 200], np.float32)
    assert status(layer("FakeQuantize", [x, *limits], [found], levels=256)) == (
        "step",
        "1 of 4 elements lie on a step; one step apart",
    )
    far = np.array([0, 11, 100, 200], np.float32)
    assert status(layer("FakeQuantize", [x, *limits], [far], levels=256))[0] == "wrong"


@pytest.mark.parametrize(
    ("indices", "expected"),
    [([2, 0], "step"), ([0, 2], "equal"), ([0, 1], "wrong"), ([0, 0], "wrong"), ([0, 9], "wrong")],
)
def test_ties(indices: list[int], expected: str) -> None:
    x = np.array([5, 1, 5, 0], np.float32)
    values = np.array([5, 5], np.float32)
    attributes = {"axis": 0, "mode": "max", "sort": "value", "index_element_type": "i64"}
    report = layer("TopK", [x, np.array(2, np.int64)], [values, np.array(indices, np.int64)], opset=3, **attributes)
    assert status(report)[0] == expected
    if expected == "step":
        assert "2 of 2 indices differ among equal elements" in str(report)
    assert report.equal is (expected != "wrong")


def test_an_output_that_differs_in_ties_alone_is_no_difference(tmp_path: Path) -> None:
    """Beside a whole run, of which every output is looked at."""
    x = build.parameter([4], name="x")
    found = build.topk(x, np.int64(2), axis=0, mode="max", sort="value", index_element_type="i64", name="best")
    model = build.model([build.result(found[0], name="largest"), build.result(found[1], name="where")])
    inputs = [np.float32([5, 1, 5, 0])]
    values = trace(model, inputs, output=tmp_path / "run")
    (file,) = [values.folder / one.file for one in values.index.values if (one.layer_name, one.port) == ("best", 1)]
    for indices, is_equal in ([2, 0], True), ([0, 1], False):
        np.save(file, np.int64(indices))
        report = compare(model, tmp_path / "run", inputs)
        assert report.equal is is_equal, str(report)


def test_outputs_of_a_layer_that_has_several_are_its_own() -> None:
    layer = ComparedLayer(
        layer_id="1",
        layer_name="best",
        path="best",
        type="TopK",
        partner="best",
        status="carried",
        carried=Difference(elements=2, beyond=0.5, beyond_count=1),
    )
    report = Comparison(model="m", reference="r", equal=False, layers=(layer,), outputs=("best:0", "best:1"))
    assert str(report).startswith("different: outputs differ (best), but no layer is wrong by itself")


@pytest.mark.parametrize(("kind", "least"), [("i64", -(2**63)), ("i32", -(2**31)), ("u8", 0)])
def test_numbers_without_an_integer(kind: str, least: int) -> None:
    """What infinity and NaN are as integers is left open; numbers that have a place among them are not."""
    x = np.array([-np.inf, np.nan, 7.5, np.inf], np.float32)
    dtype = ElementType.parse(kind).dtype
    other = np.array([least, 5, 7, 11], dtype)
    report = layer("Convert", [x], [other], destination_type=kind)
    assert report.equal
    found = next(one for one in report.layers if one.type == "Convert")
    assert found.status == "step"
    assert "beyond the range of" in (found.note or "")
    other[2] = 9
    assert status(layer("Convert", [x], [other], destination_type=kind))[0] == "wrong"


def test_other_layers_have_no_steps() -> None:
    assert status(layer("Tanh", [np.array([1.0], np.float32)], [np.array([0.5], np.float32)]))[0] == "wrong"
