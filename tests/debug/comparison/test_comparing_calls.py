"""Several calls in a row: each side continues with its own variables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import pytest
from openvino import opset13 as op

from ir_exec import EvaluationError, Model, read_model
from ir_exec.debug import compare, trace
from ir_exec.types import Array
from tests.helpers.facts import coded, mentions, naming
from tests.helpers.network_text import NetworkText

LLAMA = Path(__file__).parents[2] / "networks" / "llama_stateful.xml"
DECLARED = {"variable_type": "f32", "variable_shape": "4"}
X = np.array([0.5, 1.5, -2.0, 3.0], np.float32)


def sums(changed: tuple[str, str] = ("", ""), variables: tuple[str, str] = ("sum", "most")) -> Model:
    """Two variables, the sum of all inputs before and the greatest of them, whose minimum is the output.

    changed: a type of layer, and its replacement. variables: which the sum is assigned to, and which
    the greatest.
    """
    net = NetworkText()
    x = net.parameter("4")
    zeros = net.const(np.zeros(4, np.float32))
    total = net.op("ReadValue", zeros, opset=6, variable_id="sum", **DECLARED)
    most = net.op("ReadValue", zeros, opset=6, variable_id="most", **DECLARED)
    net.op("Assign", net.op("Add", total, x), opset=6, variable_id=variables[0])
    net.op("Assign", net.op("Maximum", most, x), opset=6, variable_id=variables[1])
    net.result(net.op("Minimum", total, most))
    file = net.file()
    old, new = (f'type="{type}"'.encode() for type in changed)
    return read_model(file.xml.replace(old, new), weights=file.weights)


def test_both_go_on_from_their_variables() -> None:
    report = compare(sums(), sums(), [X], then=[[X + 1], [X + 2]])
    assert report.equal
    assert report.calls == 3
    assert {layer.runs for layer in report.layers} == {3}
    assert [(result.status, result.call) for result in report.output_results] == [("equal", 1)]


def test_fault_shown_by_later_call_only() -> None:
    """In the first call both variables are 0."""
    good, bad = sums(), sums(("Minimum", "Multiply"))
    assert compare(good, bad, [X]).equal
    report = compare(good, bad, [X], then=[[X], [X]])
    assert [(fault.type, fault.call) for fault in report.faults] == [("Minimum", 2)]
    assert report.first_fault == report.faults[0]
    assert mentions(2, 3) in str(report).splitlines()
    assert report.to_rows()[-1]["call"] == 2


def test_fault_in_assigned_value_does_not_affect_read() -> None:
    report = compare(sums(), sums(("Add", "Subtract")), [X], then=[[X], [X]])
    assert [(fault.type, fault.call) for fault in report.faults] == [("Add", 1)]
    carried = {(layer.type, layer.call) for layer in report.layers if layer.status == "carried"}
    assert carried == {("ReadValue", 2), ("Assign", 1), ("Minimum", 2)}


def test_variable_with_value_assigned_to_another() -> None:
    """No layer computes anything wrong, but what is read is not what was assigned."""
    report = compare(sums(), sums(variables=("most", "sum")), [X], then=[[X]])
    assert [(fault.type, fault.call) for fault in report.faults] == [("ReadValue", 2), ("ReadValue", 2)]
    assert report.verdict == "different in a layer", "the smaller of both is the same"


def test_inputs_are_given_again_or_drawn_anew() -> None:
    good, bad = sums(), sums(("Minimum", "Multiply"))
    with_inputs = compare(good, bad, [X], calls=3)
    same = compare(good, bad, [X], then=[[X], [X]])
    assert with_inputs.layers == same.layers
    drawn = compare(good, bad, seed=4, calls=3)
    (layer,) = (layer for layer in drawn.layers if layer.type == "Maximum")
    assert (drawn.calls, drawn.seed, layer.runs) == (3, 4, 3)
    assert drawn.first_fault is not None
    assert drawn.first_fault.call == 2


def test_sequences_of_random_numbers_go_on(tmp_path: Path) -> None:
    net = NetworkText()
    limits = [net.const(np.array(limit, np.float32)) for limit in (0, 1)]
    shape = net.const(np.array([8], np.int64))
    noise = {"global_seed": 7, "op_seed": 3, "output_type": "f32"}
    net.result(net.op("Add", net.parameter("8"), net.op("RandomUniform", shape, *limits, opset=8, **noise)))
    file = net.file()
    model = read_model(file.xml, weights=file.weights)
    assert compare(model, model, [np.zeros(8, np.float32)], calls=3).equal


def test_files_have_the_values_of_one_call(tmp_path: Path) -> None:
    trace(sums(), [X], output=tmp_path)
    with pytest.raises(EvaluationError, match=naming(str(tmp_path))):
        compare(sums(), tmp_path, [X], calls=2)
    with pytest.raises(EvaluationError, check=coded("IR705")):
        compare(sums(), {"out0": X}, [X], then=[[X]])


def rows(calls: int) -> list[dict[str, Array]]:
    """A prompt of three tokens, and one token for each further call."""
    random = np.random.default_rng(0)
    rows_of_calls = []
    for call in range(calls):
        count, past = (1, 2 + call) if call else (3, 0)
        rows_of_calls.append(
            {
                "input_ids": random.integers(0, 50, (1, count)),
                "attention_mask": np.ones((1, past + count), np.int64),
                "position_ids": np.arange(past, past + count)[None],
                "beam_idx": np.zeros(1, np.int32),
            }
        )
    return rows_of_calls


@pytest.mark.broad
@pytest.mark.parametrize("probe", ["all", "outputs"])
def test_openvino_goes_on_as_well(probe: Any) -> None:
    first, *then = rows(3)
    report = compare(read_model(LLAMA), "openvino", first, then=then, probe=probe)
    assert report.equal, str(report)
    assert report.calls == 3


def positive_sum() -> ov.Model:
    x = op.parameter([1, 4], np.float32, name="x")
    before = op.read_value(op.constant(np.zeros((1, 4), np.float32)), "v", np.float32, [1, 4])
    after = op.relu(op.add(before, x))
    after.set_friendly_name("after")
    return ov.Model([op.sin(after).output(0)], [op.assign(after, "v")], [x], "sum")


@pytest.mark.parametrize("probe", ["all", "bisect"])
def test_a_fault_against_openvino_in_a_later_call(probe: Any, tmp_path: Path) -> None:
    """OpenVINO is given another file than was read: in the first call ReLU and Abs do the same.

    For the layer of the original file, its values equal those of ir_exec.
    """
    path = tmp_path / "net.xml"
    ov.save_model(positive_sum(), path, compress_to_fp16=False)
    text = path.read_text()
    path.write_text(text.replace('type="ReLU"', 'type="Abs"'))
    model = read_model(path)
    path.write_text(text)
    first, second, third = (np.array([row], np.float32) for row in ([1, 2, 3, 4], [0, 0, -9, 0], [1, 1, 1, 1]))
    report = compare(model, "openvino", [first], then=[[second], [third]], probe=probe)
    reference_faults = [(layer.layer_name, layer.call) for layer in report.layers if layer.status == "reference"]
    assert (reference_faults, report.verdict) == ([("after", 2)], "reference")
    assert compare(model, "openvino", [first], then=[[first]], probe=probe).equal
