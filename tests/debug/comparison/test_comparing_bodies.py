"""Bodies in bodies: branches and loops that run late, never, or anew in each iteration of an outer loop."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from ir_exec import Model, build, read_model
from ir_exec.debug import Comparison, compare, profile, trace
from ir_exec.debug.traces.walk import first_not_finite

X = np.float32([0.1, -0.2, 0.3])
ONES, HALVES = np.float32([1, 1, 1]), np.float32([0.5, 0.5, 0.5])
Value = build.Value
Step = Callable[[Value, Value, float], Value]
"""The results of a body from the number of the iteration, the carried value, and a number."""


def plus(_: Value, carried: Value, factor: float) -> Value:
    return build.multiply(build.add(carried, ONES, name="plus"), HALVES * np.float32(factor), name="last")


def late_branch(iteration: Value, carried: Value, factor: float) -> Value:
    """One branch in the first two iterations, then the other."""
    return build.if_(
        build.less(iteration, np.int64(2)),
        lambda: build.add(carried, ONES, name="first"),
        lambda: build.multiply(build.tanh(carried, name="late"), HALVES * np.float32(factor), name="last"),
        name="if",
    )


def make_loop(step: Step, trips: int | Value = 4, name: str = "loop") -> Step:
    def multiply_carried(_: Value, carried: Value, factor: float) -> Value:
        count = trips if isinstance(trips, int) else build.copy(trips)
        return build.loop(count, None, lambda i, c: (None, [step(i, c, factor)], []), carried=[carried], name=name)[0]

    return multiply_carried


def rising_loop(iteration: Value, carried: Value, factor: float) -> Value:
    """One more iteration for each earlier one: none at first."""

    def body(inner: Value, last: Value) -> tuple[None, list[Value], list[Value]]:
        return None, [plus(inner, last, factor)], []

    return build.loop(iteration, None, body, carried=[carried], name="inner")[0]


def parts(_: Value, carried: Value, factor: float) -> Value:
    """A TensorIterator over the elements."""

    def body(part: Value, last: Value) -> tuple[list[Value], list[Value]]:
        return [build.add(plus(part, last, factor), part)], []

    return build.tensor_iterator(body, carried=[carried], sliced=[build.Sliced(carried)], name="parts")[0]


def branch_of_parts(iteration: Value, carried: Value, factor: float) -> Value:
    """A TensorIterator in a branch that first runs in the second iteration."""
    flag = build.greater(iteration, np.int64(0))
    return build.if_(flag, lambda: parts(iteration, carried, factor), lambda: build.sin(carried), name="if")


def by_value(iteration: Value, carried: Value, factor: float) -> Value:
    """A branch that depends on values, so that runs with other weights take another."""
    flag = build.greater(build.reduce_sum(carried, [0]), np.float32(1.2))
    return build.if_(
        flag, lambda: build.multiply(carried, np.float32(0.3)), lambda: plus(iteration, carried, factor), name="if"
    )


def in_branch(step: Step) -> Step:
    def multiply_in_branch(iteration: Value, carried: Value, factor: float) -> Value:
        flag = build.less(build.reduce_sum(carried, [0]), np.float32(100))
        return build.if_(flag, lambda: step(iteration, carried, factor), lambda: build.sin(carried), name="outer")

    return multiply_in_branch


CASES = {
    "late branch": make_loop(late_branch),
    "late branch in a branch": in_branch(make_loop(late_branch)),
    "late branch in loops": make_loop(make_loop(late_branch), 3, "around"),
    "loop without iterations": make_loop(plus, 0),
    "rising loop": make_loop(rising_loop),
    "rising loop in a branch": in_branch(make_loop(rising_loop)),
    "parts in a loop": make_loop(parts),
    "late parts": make_loop(branch_of_parts),
    "branch by value": make_loop(by_value, 6),
    "branch by value in loops": make_loop(make_loop(by_value, 3), 3, "around"),
}


def network(step: Step, factor: float = 1.0) -> Model:
    x = build.parameter([3], name="x")
    zero = build.constant(np.int64(0))
    return build.model(build.result(step(zero, build.relu(x, name="before"), factor), name="y"))


def runs(report: Comparison, name: str) -> int:
    return sum(layer.runs for layer in report.layers if layer.layer_name == name)


@pytest.mark.broad(keep=5)
@pytest.mark.parametrize("name", CASES)
def test_with_itself(name: str, tmp_path: Path) -> None:
    model = network(CASES[name])
    report = compare(model, model, [X])
    values = trace(model, [X], output=tmp_path)
    for comparison in (report, compare(model, values, [X]), compare(model, model), compare(model, model, [X], calls=2)):
        assert comparison.equal
        assert {layer.status for layer in comparison.layers} == {"equal"}
    assert compare(model, values, [X]).layers == report.layers
    assert compare(model, {"y": values[model.outputs[0].name]}, [X]).equal
    assert first_not_finite(model, [X]) is None
    assert profile(model, [X], repeat=1).layers


@pytest.mark.parametrize("name", [name for name in CASES if name != "loop without iterations"])
def test_with_other_weights(name: str, tmp_path: Path) -> None:
    """Results of whole iterations equal those of a look at every layer."""
    model, other = network(CASES[name]), network(CASES[name], 1.25)
    report = compare(model, other, [X])
    assert report.first_fault is not None
    assert set(report.first_fault.taken_by) == {"last"}
    by_layer = compare(model, trace(other, [X], output=tmp_path), [X])
    assert by_layer.first_fault == report.first_fault
    if not any(layer.status == "unmatched" for layer in by_layer.layers):
        assert by_layer.layers == report.layers


def test_layers_of_a_late_branch_are_compared(tmp_path: Path) -> None:
    model = network(CASES["late branch in loops"])
    values = trace(model, [X], output=tmp_path)
    for report in (compare(model, model, [X]), compare(model, values, [X])):
        assert (runs(report, "first"), runs(report, "late")) == (6, 6)
    # The constants of a branch that runs late are in the trace, once.
    (constant,) = [
        value for value in values.index.values if value.type == "Const" and value.scope[-1:] == ("else_body",)
    ]
    assert constant.iterations == (0, 2, 0)


def test_variables_in_bodies() -> None:
    def body(iteration: Value, carried: Value) -> tuple[None, list[Value], list[Value]]:
        total = build.add(build.read_value(np.zeros(3, np.float32), "total"), late_branch(iteration, carried, 1.0))
        build.assign(total, "total")
        return None, [total], []

    x = build.parameter([3], name="x")
    (last,) = build.loop(4, None, body, carried=[x], name="loop")
    model = build.model(build.result(last, name="y"))
    for report in (compare(model, model, [X]), compare(model, model, [X], calls=2)):
        assert report.equal


def test_layers_with_bodies_of_one_name(tmp_path: Path) -> None:
    """Names need not be unique: paths then have the id of the layer."""
    value = build.parameter([3], name="x")
    for trips, step in ((2, plus), (4, late_branch), (3, plus)):
        value = make_loop(step, trips, f"loop{trips}")(value, value, 1.0)
    build.model(build.result(value, name="y")).save(tmp_path / "net.xml")
    text = (tmp_path / "net.xml").read_text()
    for trips in (2, 4, 3):
        text = text.replace(f'name="loop{trips}"', 'name="loop"')
    (tmp_path / "net.xml").write_text(text)
    model = read_model(tmp_path / "net.xml")
    report = compare(model, model, [X])
    assert report.equal
    assert not report.unmatched
    ids = [node.id for node in model.graph.nodes if node.bodies]
    assert {layer.path: layer.runs for layer in report.layers if layer.layer_name == "plus"} == {
        f"loop#{ids[0]}/body/plus": 2,
        f"loop#{ids[2]}/body/plus": 3,
    }
    values = trace(model, [X], output=tmp_path / "trace")
    assert compare(model, values, [X]).layers == report.layers


def test_a_branch_in_a_loop_of_onnx(tmp_path: Path) -> None:
    def graph(name: str, operator_type: str) -> onnx.GraphProto:
        output = helper.make_tensor_value_info(name, TensorProto.FLOAT, [3])
        return helper.make_graph([helper.make_node(operator_type, ["carried"], [name])], name, [], [output])

    body = helper.make_graph(
        [
            helper.make_node("Constant", [], ["two"], value=helper.make_tensor("two", TensorProto.INT64, [], [2])),
            helper.make_node("Less", ["i", "two"], ["is_first"]),
            helper.make_node(
                "If", ["is_first"], ["next"], then_branch=graph("a", "Sin"), else_branch=graph("b", "Tanh")
            ),
            helper.make_node("Identity", ["goes_on"], ["still"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("goes_on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("carried", TensorProto.FLOAT, [3]),
        ],
        [
            helper.make_tensor_value_info("still", TensorProto.BOOL, []),
            helper.make_tensor_value_info("next", TensorProto.FLOAT, [3]),
        ],
    )
    main_graph = helper.make_graph(
        [helper.make_node("Loop", ["count", "", "x"], ["y"], body=body)],
        "whole",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3])],
        [helper.make_tensor("count", TensorProto.INT64, [], [5])],
    )
    path = tmp_path / "net.onnx"
    onnx.save(helper.make_model(main_graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    model = read_model(path)
    assert compare(model, model, [X]).equal
    assert compare(model, path, [X]).equal


def test_openvino() -> None:
    model = network(CASES["late branch in a branch"])
    report = compare(model, "openvino", [X])
    assert report.equal
    assert report.failure is None


def test_openvino_with_an_input_of_unknown_rank() -> None:
    x = build.parameter("...", name="x")
    model = build.model(build.result(make_loop(late_branch)(x, build.relu(x), 1.0), name="y"))
    report = compare(model, "openvino", [X])
    assert report.failure is None
    assert report.equal
