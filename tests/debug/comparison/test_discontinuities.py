"""Elements on a step, and ties: differences that are not faults."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from html import unescape
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from ir_exec import Model, build, read_model
from ir_exec.build import Value
from ir_exec.debug import ComparedLayer, ComparedOutput, Comparison, Difference, compare, trace
from ir_exec.debug.comparison.discontinuities import reached_by_rounding
from ir_exec.debug.comparison.items_report import junit
from ir_exec.debug.comparison.report_text import headline
from ir_exec.debug.comparison.tolerances import Tolerance
from ir_exec.debug.traces.walk import Walker
from ir_exec.types import Array, ElementType
from tests.debug.comparison.test_comparing import SCHEMAS
from tests.helpers.facts import mentions
from tests.helpers.network_text import NetworkText

CLOSE = np.float32(1 + 2e-6)


def layer(type: str, inputs: list[Array], reference: list[Array], opset: int = 1, **attributes: Any) -> Comparison:
    """A network of one layer between ReLUs, compared with these values in place of the layer's."""
    net = NetworkText()
    first = net.parameter(",".join(map(str, inputs[0].shape)), "f32")
    further_inputs = [net.const(array) for array in inputs[1:]]
    outputs = net.outputs(len(reference), type, first, *further_inputs, opset=opset, **attributes)
    for value in outputs:
        net.result(value)
    file = net.file()
    model = read_model(file.xml, weights=file.weights)
    name = f"{type.lower()}{len(inputs)}"
    names = [name] if len(reference) == 1 else [f"{name}:{port}" for port in range(len(reference))]
    return compare(model, dict(zip(names, reference, strict=True)), inputs[:1])


def status(report: Comparison) -> tuple[str, str | None]:
    (match,) = (layer for layer in report.layers if layer.partner is not None)
    assert (match.status == "wrong") == (report.first_fault is not None)
    return match.status, match.note


def test_rounding() -> None:
    x = np.array([0.5, 1.2, 2.5 * CLOSE, 3.0], np.float32)
    report = layer("Round", [x], [np.array([0, 1, 2, 3], np.float32)], opset=5, mode="half_to_even")
    assert status(report) == ("step", mentions(1, 4))
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
    assert status(layer("Less", [x, y], [np.array([False, True])])) == ("step", mentions(1, 2))
    assert status(layer("Less", [x, y], [np.array([True, False])]))[0] == "wrong"


def test_quantization() -> None:
    limits = [np.array(number, np.float32) for number in (0, 255, 0, 255)]
    x = np.array([0.5, 10.2, 100.5, 200], np.float32)
    output = np.array([0, 10, 101, 200], np.float32)
    assert status(layer("FakeQuantize", [x, *limits], [output], levels=256)) == (
        "step",
        mentions(1, 4),
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
        assert mentions(2, 2) in str(report).splitlines()
    assert report.equal is (expected != "wrong")


def test_difference_in_ties_alone_is_equal(tmp_path: Path) -> None:
    """The trace is of a complete run, so every output is compared."""
    x = build.parameter([4], name="x")
    largest = build.topk(x, np.int64(2), axis=0, mode="max", sort="value", index_element_type="i64", name="best")
    model = build.model([build.result(largest[0], name="largest"), build.result(largest[1], name="where")])
    inputs = [np.float32([5, 1, 5, 0])]
    values = trace(model, inputs, output=tmp_path / "run")
    (file,) = [
        values.folder / value.file for value in values.index.values if (value.layer_name, value.port) == ("best", 1)
    ]
    for indices, is_equal in ([2, 0], True), ([0, 1], False):
        np.save(file, np.int64(indices))
        report = compare(model, tmp_path / "run", inputs)
        assert report.equal is is_equal, str(report)


def test_headline_names_differing_output_of_layer() -> None:
    layer = ComparedLayer(
        layer_id="1",
        layer_name="best",
        path="best",
        type="TopK",
        partner="best",
        status="carried",
        carried=Difference(elements=2, beyond=0.5, beyond_count=1),
    )
    outputs = tuple(
        ComparedOutput(name=f"{name}", path=f"best:{port}", status=status, error=error)
        for port, (name, status, error) in enumerate(
            [("largest", "equal", Difference(elements=2)), ("where", "different", layer.carried)]
        )
    )
    report = Comparison(
        model="m", reference="r", verdict="different", equal=False, layers=(layer,), output_results=outputs
    )
    assert headline(report).startswith('different: output "where" (')


@pytest.mark.parametrize(("element_type", "least"), [("i64", -(2**63)), ("i32", -(2**31)), ("u8", 0)])
def test_numbers_without_an_integer(element_type: str, least: int) -> None:
    """Infinity and NaN are undefined as integers; numbers within the range are not."""
    x = np.array([-np.inf, np.nan, 7.5, np.inf], np.float32)
    dtype = ElementType.parse(element_type).dtype
    other = np.array([least, 5, 7, 11], dtype)
    report = layer("Convert", [x], [other], destination_type=element_type)
    assert report.equal
    match = next(layer for layer in report.layers if layer.type == "Convert")
    assert match.status == "step"
    assert match.note == mentions(2, 4, element_type)
    other[2] = 9
    assert status(layer("Convert", [x], [other], destination_type=element_type))[0] == "wrong"


def test_other_layers_have_no_steps() -> None:
    assert status(layer("Tanh", [np.array([1.0], np.float32)], [np.array([0.5], np.float32)]))[0] == "wrong"


X = np.arange(64, dtype=np.float32)
THIRD = X / np.float32(3)
OFF = THIRD.copy()
OFF[[9, 12, 13]] = np.nextafter(THIRD[[9, 12, 13]], np.float32(0))
"""One ulp less: 3 and 4 are no longer whole, and 4.33 is what it was to Floor."""


def network(step: Callable[[Value], Value], further: bool = True) -> Model:
    """third = x / 3, same = third * 1, the step, y = 5 times that."""
    x = build.parameter([64], name="x")
    same = build.multiply(build.divide(x, np.float32(3), name="third"), np.float32(1), name="same")
    stepped = step(same)
    if further:
        stepped = build.multiply(build.convert(stepped, "f32"), np.float32(50), name="y")
    return build.model(build.result(stepped, name="out"), name="steps")


def floor(x: Value) -> Value:
    return build.floor(x, name="step")


def compare_stepped(step: Callable[[Value], Value], stepped: Array, further: bool = True) -> Comparison:
    values = {"third": OFF, "same": OFF, "step": stepped}
    if further:
        values["y"] = stepped.astype(np.float32) * np.float32(50)
    return compare(network(step, further), values, [X])


class TestThatIsNamed:
    def test_which_layer_and_whose_rounding(self) -> None:
        report = compare_stepped(floor, np.floor(OFF))
        assert report.faults == ()
        assert not report.equal
        assert report.first_carried == "step"
        (match,) = (layer for layer in report.layers if layer.status == "step")
        assert match.path == "step"
        assert match.jump is not None
        assert (match.jump.count, match.jump.elements, match.jump.input) == (2, 64, 0)
        assert match.jump.made_by == "third"
        assert match.jump.max_ulp == pytest.approx(1, rel=0.5)
        assert match.jump.max_abs == float(np.float32(4) - np.nextafter(np.float32(4), np.float32(0)))
        assert next(layer.status for layer in report.layers if layer.path == "y") == "carried"

    def test_in_all_forms(self) -> None:
        report = compare_stepped(floor, np.floor(OFF))
        verdict = 'layer 5 "step" (Floor)'
        text = str(report)
        assert verdict in text.splitlines()[0]
        parsed = json.loads(report.model_dump_json())
        jsonschema.validate(parsed, json.loads((SCHEMAS / "compare.schema.json").read_text()))
        (layer,) = (candidate for candidate in parsed["layers"] if candidate["jump"])
        assert layer["jump"]["made_by"] == "third"
        told = layer["note"]
        assert told == mentions(2, 64, 0, "third")
        assert told in text
        assert f"<system-out>{told}</system-out>" in unescape(junit(report))
        assert verdict in unescape(junit(report))
        assert told.replace('"', '""') in report.to_csv()

    @pytest.mark.parametrize(
        ("step", "stepped"),
        [
            (lambda x: build.greater_equal(x, np.float32(4), name="step"), OFF >= 4),
            (lambda x: build.convert(x, "i32", name="step"), OFF.astype(np.int32)),
            (
                lambda x: build.bucketize(
                    x, np.float32([4, 9]), output_type="i32", with_right_bound=False, name="step"
                ),
                np.digitize(OFF, [4, 9]),
            ),
            (lambda x: build.ceiling(build.negative(x), name="step"), np.ceil(-OFF)),
        ],
    )
    def test_kinds(self, step: Callable[[Value], Value], stepped: Array) -> None:
        if stepped.dtype == np.int64:
            stepped = stepped.astype(np.int32)
        report = compare_stepped(step, stepped)
        assert report.faults == (), str(report)
        assert [layer.path for layer in report.layers if layer.jump] == ["step"], str(report)
        assert not report.equal

    def test_indices_of_the_largest(self) -> None:
        x = build.parameter([3], name="x")
        wave = build.multiply(x, np.float32(2), name="wave")
        best = build.topk(wave, np.int64(1), axis=0, mode="max", sort="value", index_element_type="i64", name="best")
        far = build.multiply(build.convert(best[1], "f32"), np.float32(3), name="far")
        model = build.model([build.result(best[0]), build.result(best[1]), build.result(far)])
        a, b = np.float32(1), np.nextafter(np.float32(1), np.float32(2))
        report = compare(
            model,
            {
                "wave": np.float32([2 * b, 2 * b, 0]),
                "best:0": np.float32([2 * b]),
                "best:1": np.array([0]),
                "far": np.float32([0]),
            },
            [np.float32([a, b, 0])],
        )
        assert report.faults == ()
        (match,) = (layer for layer in report.layers if layer.jump is not None)
        assert (match.path, match.jump.count if match.jump else 0) == ("best", 1)


class TestWhatIsEqual:
    def test_an_output_on_a_step(self) -> None:
        report = compare_stepped(floor, np.floor(OFF), further=False)
        assert report.equal
        assert [result.status for result in report.output_results] == ["step"]

    def test_output_far_from_a_step_differs(self) -> None:
        x = X + np.float32(1.2e-3)
        third = x / np.float32(3)
        third[12] = 3.9999
        values = {"third": third, "same": third, "step": np.floor(third)}
        report = compare(network(floor, further=False), values, [x], rtol=1e-3)
        assert report.faults == ()
        assert not report.equal
        (match,) = (layer for layer in report.layers if layer.jump)
        assert match.jump is not None
        assert match.jump.max_ulp > 1000


class TestWhatIsNoStep:
    def test_inputs_beyond_the_tolerance(self) -> None:
        """The error was large before."""
        far = THIRD + np.float32(2)
        report = compare(
            network(floor), {"third": far, "same": far, "step": np.floor(far), "y": np.floor(far) * 50}, [X]
        )
        assert [fault.path for fault in report.faults] == ["third"]
        assert [layer.path for layer in report.layers if layer.status == "step"] == []

    def test_a_wrong_step(self) -> None:
        report = compare_stepped(floor, np.ceil(OFF))
        assert [fault.path for fault in report.faults] == ["step"]

    def test_layers_without_steps(self) -> None:
        x = build.parameter([64], name="x")
        third = build.divide(x, np.float32(3), name="third")
        less = build.subtract(third, np.float32(4), name="step")
        model = build.model(build.result(build.divide(np.float32(1), build.add(less, np.float32(1e-9)), name="y")))
        off = OFF - np.float32(4)
        report = compare(model, {"third": OFF, "step": off, "y": 1 / (off + np.float32(1e-9))}, [X])
        assert report.faults == ()
        assert [layer.status for layer in report.layers if layer.path == "y"] == ["carried"]
        assert mentions("y") in str(report).splitlines()


def test_in_a_body(tmp_path: Path) -> None:
    """In the second iteration, of which the trace has another value."""

    def body(number: Value, carried: Value) -> tuple[None, list[Value], list[Value]]:
        third = build.divide(carried, np.float32(3), name="third")
        return None, [build.add(carried, np.float32(3))], [build.floor(third, name="step")]

    (_, last_value) = build.loop(2, None, body, carried=[build.parameter([1, 2], name="x")], name="loop")
    model = build.model(build.result(build.multiply(last_value, np.float32(50), name="y")))
    x = np.float32([[3, 4]])
    run = trace(model, [x], output=tmp_path / "run")
    files = {(value.layer_name, value.iterations): run.folder / value.file for value in run.index.values}
    (third,) = (file for (name, iterations), file in files.items() if name == "third" and iterations[-1:] == (1,))
    (step,) = (file for (name, iterations), file in files.items() if name == "step" and iterations[-1:] == (1,))
    off = np.float32([[np.nextafter(np.float32(2), np.float32(0)), 7 / 3]])
    np.save(third, off)
    np.save(step, np.floor(off))
    report = compare(model, tmp_path / "run", [x])
    assert "loop/body/third" not in [fault.path for fault in report.faults], str(report)
    (layer,) = (layer for layer in report.layers if layer.jump is not None)
    assert (layer.path, layer.iterations) == ("loop/body/step", (1,))
    assert layer.jump is not None
    assert layer.jump.made_by == "loop/body/third"


class TestRounding:
    """Layers with steps that no list names: their outputs for inputs that are rounded otherwise."""

    def explain_reference(self, reference: Array) -> str | None:
        x = build.parameter([4], name="x")
        model = build.model(
            build.result(build.bucketize(x, np.float32([1, 2]), output_type="i64", with_right_bound=True, name="step"))
        )
        node = next(node for node in model.graph.nodes if node.name == "step")
        walker = Walker(model)
        inputs = [np.float32([0.5, 1.0, 2.0, 9.0]), np.float32([1, 2])]
        again = partial(walker.again, node)
        return reached_by_rounding(node, again, inputs, again(inputs), [reference], Tolerance())

    def test_an_element_on_a_step(self) -> None:
        assert self.explain_reference(np.int64([0, 1, 1, 2])) == mentions(1)

    @pytest.mark.parametrize("reference", [[1, 0, 1, 2], [0, 2, 1, 2], [0, 0, 1, 2]])
    def test_elements_without_ties(self, reference: list[int]) -> None:
        """One is far from a step, one is two steps away, and one is equal."""
        assert self.explain_reference(np.int64(reference)) is None

    def test_a_chain_of_layers_has_more_noise(self) -> None:
        x = build.parameter([4], name="x")
        floor = build.floor(build.multiply(build.sin(x, name="waves"), np.float32(8)), name="floor")
        model = build.model(build.result(floor, name="y"))
        data = np.arcsin(np.float32([0.5, 0.25, 0.75, 0.9])).astype(np.float32)
        values = np.floor(np.sin(data) * np.float32(8) - np.float32(1e-4))
        assert not np.array_equal(values, np.floor(np.sin(data) * np.float32(8)))
        assert compare(model, {"floor": values}, [data]).verdict == "equal"
        assert compare(model, {"floor": values - 1}, [data]).verdict == "different"
