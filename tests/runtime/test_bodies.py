"""If, Loop and TensorIterator: values and types against OpenVINO, and where it has no answer, against the text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import ir_exec
from ir_exec.infer import infer_body
from ir_exec.plan import planner
from ir_exec.plan.records import Plan
from ir_exec.runtime import bodies
from ir_exec.types import Array, TensorType
from tests.conformance.build import IRFile
from tests.conformance.compare import type_faults, value_faults
from tests.conformance.oracle import Oracle, Refused
from tests.helpers.facts import fault_with, naming
from tests.helpers.network_text import NetworkText, Output, tied_input, tied_output
from tests.helpers.values import make_type

TRUE = np.array(True)
ROW = np.array([[1, 2]], np.float32)
VECTOR = np.array([1, 2], np.float32)
MATRIX = np.arange(12, dtype=np.float32).reshape(6, 2)


def int64(value: object) -> Array:
    return np.array(value, np.int64)


def add(body: NetworkText, parameter: Output) -> Output:
    return body.op("Add", parameter, body.const(np.array([100], np.float32)))


def iterator(
    part: dict[str, object],
    out: dict[str, object] | None = None,
    shape: str = "6,2",
    step: Callable[[NetworkText, Output], Output] = add,
) -> NetworkText:
    """A TensorIterator that adds 100 to parts of its input; its outputs are all of them, and the last."""
    net = NetworkText()
    body = NetworkText(net)
    x = net.parameter(shape)
    parameter = body.parameter()
    result = body.result(step(body, parameter))
    ties = [tied_input(0, parameter, **part), tied_output(1, result, **(out or part)), tied_output(2, result)]
    for output in net.loop(2, "TensorIterator", [x], body, ties):
        net.result(output)
    return net


def loop(
    trip_count: Array | str = "",
    condition: Array | str = "",
    *,
    shape: str = "1,2",
    goes_on: Callable[[NetworkText, Output], Output] = lambda body, count: body.const(TRUE),
    step: Callable[[NetworkText, Output, Output], Output] | None = None,
    counter: tuple[str, str] = ("", "i64"),
    concatenate: bool = True,
) -> NetworkText:
    """A Loop that adds the number of the iteration to its input; outputs are the last sum and all sums.

    trip_count and condition are constants, or the shapes of Parameters.
    """
    net = NetworkText()
    body = NetworkText(net)
    trips = net.parameter(trip_count, "i64") if isinstance(trip_count, str) else net.const(trip_count)
    starts = net.parameter(condition, "boolean") if isinstance(condition, str) else net.const(condition)
    x = net.parameter(shape)
    parameter, count = body.parameter(), body.parameter(*counter)
    number = body.op("Convert", count, destination_type="f32")
    result = body.result(step(body, parameter, number) if step else body.op("Add", parameter, number))
    goes = body.result(goes_on(body, count))
    ties = [tied_input(2, parameter), tied_input(-1, count, purpose="current_iteration")]
    ties += [tied_output(3, result), tied_output(-1, goes, purpose="execution_condition")]
    ties += [tied_output(4, result, axis=0)] if concatenate else []
    for output in net.loop(1 + concatenate, "Loop", [trips, starts, x], body, ties, [(result, parameter)]):
        net.result(output)
    return net


def before_two(body: NetworkText, count: Output) -> Output:
    return body.op("Less", count, body.const(int64(2)))


def never(body: NetworkText, count: Output) -> Output:
    return body.const(np.array(False))


def grown(body: NetworkText, parameter: Output, number: Output) -> Output:
    return body.op("Concat", parameter, body.const(np.ones((1, 2), np.float32)), axis=0)


def sliced_loop(
    trip_count: int, shape: str = "6,2", axis: int = 0, goes_on: bool = True, **part: object
) -> NetworkText:
    """A Loop over parts of its input, each plus the number of its iteration."""
    net = NetworkText()
    body = NetworkText(net)
    inputs = [net.const(int64(trip_count)), net.const(TRUE), net.parameter(shape)]
    parameter, count = body.parameter(), body.parameter("", "i64")
    result = body.result(body.op("Add", parameter, body.op("Convert", count, destination_type="f32")))
    goes = body.result(body.const(TRUE) if goes_on else before_two(body, count))
    ties = [tied_output(4, result), tied_output(-1, goes, purpose="execution_condition")]
    ties += [tied_input(-1, count, purpose="current_iteration"), tied_input(2, parameter, axis=axis, **part)]
    ties += [tied_output(3, result, axis=axis)]
    for output in net.loop(2, "Loop", inputs, body, ties):
        net.result(output)
    return net


def fibonacci(shape: str = "2") -> NetworkText:
    """Two values that change places: a, b = b, a + b."""
    net = NetworkText()
    body = NetworkText(net)
    inputs = [net.const(int64(6)), net.const(TRUE), net.parameter(shape), net.parameter(shape)]
    a, b = body.parameter(), body.parameter()
    first, second, goes = body.result(b), body.result(body.op("Add", a, b)), body.result(body.const(TRUE))
    ties = [tied_input(2, a), tied_input(3, b), tied_output(4, first), tied_output(5, second)]
    ties += [tied_output(-1, goes, purpose="execution_condition")]
    for output in net.loop(2, "Loop", inputs, body, ties, [(first, a), (second, b)]):
        net.result(output)
    return net


def cascade() -> NetworkText:
    """a doubles its length, b is the former a, c the former b: that c changes shows after two iterations."""
    net = NetworkText()
    body = NetworkText(net)
    inputs = [net.const(int64(4)), net.const(TRUE), *(net.parameter("1") for _ in range(3))]
    a, b, c = (body.parameter() for _ in range(3))
    values = [body.op("Concat", a, a, axis=0), body.op("Abs", a), body.op("Abs", b)]
    results = [body.result(value) for value in values]
    goes = body.result(body.const(TRUE))
    ties = [tied_input(2 + i, parameter) for i, parameter in enumerate((a, b, c))]
    ties += [tied_output(5 + i, result) for i, result in enumerate(results)]
    ties += [tied_output(-1, goes, purpose="execution_condition")]
    for output in net.loop(3, "Loop", inputs, body, ties, list(zip(results, (a, b, c), strict=True))):
        net.result(output)
    return net


def constants_and_invariants(trip_count: int = 3) -> NetworkText:
    """Outputs that are an input as it is, a constant, and the constant once for every iteration."""
    net = NetworkText()
    body = NetworkText(net)
    inputs = [net.const(int64([trip_count])), net.const(TRUE), net.parameter("2")]
    parameter = body.parameter()
    same, seven = body.result(parameter), body.result(body.const(np.array([7], np.float32)))
    goes = body.result(body.const(np.array([True])))
    ties = [tied_output(-1, goes, purpose="execution_condition"), tied_output(5, seven, axis=0)]
    ties += [tied_output(4, seven), tied_output(3, same), tied_input(2, parameter)]
    for output in net.loop(3, "Loop", inputs, body, ties):
        net.result(output)
    return net


def nested_loops(shape: str = "1,2", *, counted: bool = False) -> NetworkText:
    """Three iterations over rows of y, in each of which a loop adds multiples of the row to x."""
    net = NetworkText()
    outer = NetworkText(net)
    inner = NetworkText(outer)
    inputs = [net.const(int64(3)), net.const(TRUE), net.parameter(shape), net.parameter("3,2")]
    x, row, count = outer.parameter(), outer.parameter(), outer.parameter("", "i64")
    value, factor, number = inner.parameter(), inner.parameter(), inner.parameter("", "i64")
    product = inner.op("Multiply", factor, inner.op("Convert", number, destination_type="f32"))
    total = inner.result(inner.op("Add", value, product))
    inner_goes = inner.result(inner.const(TRUE))
    ties = [tied_input(2, value), tied_input(3, factor), tied_input(-1, number, purpose="current_iteration")]
    ties += [tied_output(4, total), tied_output(-1, inner_goes, purpose="execution_condition")]
    trips = outer.op("Add", count, outer.const(int64(1))) if counted else outer.const(int64(3))
    (loop_output,) = outer.loop(1, "Loop", [trips, outer.const(TRUE), x, row], inner, ties, [(total, value)])
    result, goes = outer.result(loop_output), outer.result(outer.const(TRUE))
    ties = [tied_input(2, x), tied_input(3, row, axis=0), tied_input(-1, count, purpose="current_iteration")]
    ties += [tied_output(4, result), tied_output(5, result, axis=0)]
    ties += [tied_output(-1, goes, purpose="execution_condition")]
    for output in net.loop(2, "Loop", inputs, outer, ties, [(result, x)]):
        net.result(output)
    return net


def recurrent(type: str, x: str, hidden: str) -> NetworkText:
    """A state to which a product with rows of x is added; outputs are the last state and all states."""
    net = NetworkText()
    body = NetworkText(net)
    own = [net.const(int64(5)), net.const(TRUE)] if type == "Loop" else []
    row, state = body.parameter(), body.parameter()
    weights = body.const(np.ones((3, 4), np.float32)), body.const(np.ones((4, 4), np.float32))
    product = body.op("MatMul", body.op("Squeeze", row, body.const(int64([0]))), weights[0])
    updated = body.op("Add", product, body.op("MatMul", state, weights[1]))
    last, part = body.result(updated), body.result(body.op("Unsqueeze", updated, body.const(int64([0]))))
    first = len(own)
    ties = [tied_input(first, row, axis=0), tied_input(first + 1, state)]
    ties += [tied_output(first + 2, last), tied_output(first + 3, part, axis=0)]
    if own:
        ties.append(tied_output(-1, body.result(body.const(TRUE)), purpose="execution_condition"))
    for output in net.loop(2, type, [*own, net.parameter(x), net.parameter(hidden)], body, ties, [(last, state)]):
        net.result(output)
    return net


def loop_without_slices(out: dict[str, object]) -> NetworkText:
    """A TensorIterator without parts of inputs, which doubles its value in each iteration."""
    net = NetworkText()
    body = NetworkText(net)
    x, parameter = net.parameter("1,2"), body.parameter()
    result = body.result(body.op("Add", parameter, parameter))
    ties = [tied_input(0, parameter), tied_output(1, result, **out)]
    (output,) = net.loop(1, "TensorIterator", [x], body, ties, [(result, parameter)])
    net.result(output)
    return net


def accumulator(*, initial: bool = True) -> NetworkText:
    """A variable inside of a body to which every part is added."""
    net = NetworkText()
    body = NetworkText(net)
    x, parameter = net.parameter("3,1"), body.parameter()
    start = [body.const(np.array([[10]], np.float32))] if initial else []
    declared = {"variable_id": "sum", "variable_type": "f32", "variable_shape": "1,1"}
    total = body.op("Add", body.op("ReadValue", *start, opset=6, **declared), parameter)
    body.op("Assign", total, opset=6, variable_id="sum")
    result = body.result(total)
    ties = [tied_input(0, parameter, axis=0), tied_output(1, result, axis=0), tied_output(2, result)]
    for output in net.loop(2, "TensorIterator", [x], body, ties):
        net.result(output)
    return net


Branch = Callable[[NetworkText, Output], Output]


def branches(then_branch: Branch, else_branch: Branch, condition: Array | str = "", shape: str = "2") -> NetworkText:
    net = NetworkText()
    chosen = net.parameter(condition, "boolean") if isinstance(condition, str) else net.const(condition)
    x = net.parameter(shape)
    parts: list[object] = []
    for branch in (then_branch, else_branch):
        body = NetworkText(net)
        parameter = body.parameter()
        parts += [body, [tied_input(1, parameter), tied_output(2, body.result(branch(body, parameter)))]]
    (output,) = net.branch(1, [chosen, x], *parts)  # type: ignore[arg-type]  # two bodies and their ties
    net.result(output)
    return net


def same(body: NetworkText, value: Output) -> Output:
    return body.op("Abs", value)


def twice(body: NetworkText, value: Output) -> Output:
    return body.op("Concat", value, value, axis=0)


def as_row(body: NetworkText, value: Output) -> Output:
    return body.op("Unsqueeze", value, body.const(int64(0)))


def total(body: NetworkText, value: Output) -> Output:
    return body.op("ReduceSum", value, body.const(int64(0)))


def if_in_a_loop() -> NetworkText:
    """Adds in the first two iterations, and multiplies in the others."""
    net = NetworkText()
    outer = NetworkText(net)
    inputs = [net.const(int64(4)), net.const(TRUE), net.parameter("2")]
    x, count = outer.parameter(), outer.parameter("", "i64")
    parts: list[object] = []
    for type in ("Add", "Multiply"):
        body = NetworkText(outer)
        value = body.parameter()
        branch_output = body.result(body.op(type, value, body.const(np.array([3], np.float32))))
        parts += [body, [tied_input(1, value), tied_output(2, branch_output)]]
    (branch_output,) = outer.branch(1, [before_two(outer, count), x], *parts)  # type: ignore[arg-type]  # two bodies and their ties
    result, goes = outer.result(branch_output), outer.result(outer.const(TRUE))
    ties = [tied_input(2, x), tied_input(-1, count, purpose="current_iteration"), tied_output(3, result)]
    ties += [tied_output(-1, goes, purpose="execution_condition")]
    (output,) = net.loop(1, "Loop", inputs, outer, ties, [(result, x)])
    net.result(output)
    return net


BACKWARD: dict[str, object] = {"axis": 0, "start": -1, "end": 0, "stride": -1}
PAIRS: dict[str, object] = {"axis": 0, "stride": 2, "part_size": 2}
PAIRS_BACKWARD: dict[str, object] = {"axis": 0, "start": -1, "end": 0, "stride": -2, "part_size": 2}
STARTS = (int64(4), TRUE)
ONE = np.ones(1, np.float32)

ANSWERED: dict[str, tuple[NetworkText, Sequence[Array]]] = {
    "parts": (iterator({"axis": 0}), [MATRIX]),
    "parts of any size": (iterator({"axis": 0}, shape="?,2"), [MATRIX]),
    "parts of anything": (iterator({"axis": 0}, shape="?,?"), [MATRIX]),
    "columns": (iterator({"axis": 1}), [MATRIX]),
    "backward": (iterator(BACKWARD), [MATRIX]),
    "backward of any size": (iterator(BACKWARD, shape="?,2"), [MATRIX]),
    "taken backward": (iterator(BACKWARD, {"axis": 0}), [MATRIX]),
    "given backward": (iterator({"axis": 0}, BACKWARD), [MATRIX]),
    "pairs": (iterator(PAIRS), [MATRIX]),
    "pairs of any size": (iterator(PAIRS, shape="?,2"), [MATRIX]),
    "pairs backward": (iterator(PAIRS_BACKWARD), [MATRIX]),
    "pairs taken backward": (iterator(PAIRS_BACKWARD, PAIRS, shape="?,2"), [MATRIX]),
    "no parts": (loop_without_slices({}), [ROW]),
    "one part of the output": (loop_without_slices({"axis": 0}), [ROW]),
    "three parts of the output": (loop_without_slices({"axis": 0, "start": 0, "end": 3}), [ROW]),
    "counted": (loop(*STARTS), [ROW]),
    "counted, any size": (loop(*STARTS, shape="?,2"), [ROW]),
    "counted, any dims": (loop(*STARTS, shape="?,?"), [ROW]),
    "counter of one element": (loop(*STARTS, counter=("1", "i32")), [ROW]),
    "ends early": (loop(*STARTS, goes_on=before_two), [ROW]),
    "ends by its condition": (loop(int64(-1), TRUE, goes_on=before_two), [ROW]),
    "ends at once": (loop(*STARTS, goes_on=never), [ROW]),
    "no iterations": (loop(int64(0), TRUE, shape="?,2"), [ROW]),
    "trip count of the run": (loop(), [int64(3), TRUE, ROW]),
    "no trips in the run": (loop(), [int64(0), TRUE, ROW]),
    "does not start in the run": (loop(), [int64(3), np.array(False), ROW]),
    "no limit in the run": (loop(goes_on=before_two), [int64(-1), TRUE, ROW]),
    "vectors of one element": (loop("1", "1"), [int64([3]), np.array([True]), ROW]),
    "scalars": (loop(*STARTS, shape=""), [np.float32(2).reshape(())]),
    "grows": (loop(*STARTS, step=grown, concatenate=False), [ROW]),
    "grows from any size": (loop(*STARTS, step=grown, concatenate=False, shape="?,2"), [ROW]),
    "ends by its condition, of the largest trip count": (loop(int64(2**63 - 1), TRUE, goes_on=before_two), [ROW]),
    "grows by the trips of the run": (loop("", TRUE, step=grown, concatenate=False), [int64(2), ROW]),
    "parts in a loop": (sliced_loop(6), [MATRIX]),
    "fewer trips than parts": (sliced_loop(2, shape="?,2"), [MATRIX]),
    "parts until the condition fails": (sliced_loop(-1, goes_on=False), [MATRIX]),
    "columns in a loop": (sliced_loop(2, axis=1), [MATRIX]),
    "backward in a loop": (sliced_loop(4, start=-1, end=0, stride=-1), [MATRIX]),
    "values that change places": (fibonacci(), [VECTOR, VECTOR]),
    "values of any size that change places": (fibonacci("?"), [VECTOR, VECTOR]),
    "cascade of dims": (cascade(), [ONE, ONE, ONE]),
    "constants and invariants": (constants_and_invariants(), [VECTOR]),
    "loop in a loop": (nested_loops(), [ROW, MATRIX[:3]]),
    "loop of any size in a loop": (nested_loops("?,2"), [ROW, MATRIX[:3]]),
    "loop in a loop, of as many trips as iterations": (nested_loops(counted=True), [ROW, MATRIX[:3]]),
    "variable": (accumulator(), [MATRIX[:3, :1]]),
    "variable without initial value": (accumulator(initial=False), [MATRIX[:3, :1]]),
    "if": (branches(same, twice), [TRUE, VECTOR]),
    "else": (branches(same, twice), [np.array(False), VECTOR]),
    "else of any size": (branches(same, twice, shape="?"), [np.array(False), VECTOR]),
    "else of bounded size": (branches(same, twice, shape="1..3"), [np.array(False), VECTOR]),
    "condition of one element": (branches(same, twice, "1"), [np.array([True]), VECTOR]),
    "known if": (branches(same, twice, TRUE), [VECTOR]),
    "known else": (branches(same, twice, np.array([False])), [VECTOR]),
    "known else of another rank": (branches(same, as_row, np.array(False)), [VECTOR]),
    "vector or scalar, vector": (branches(same, total), [TRUE, VECTOR]),
    "vector or scalar, scalar": (branches(same, total), [np.array(False), VECTOR]),
    "if in a loop": (if_in_a_loop(), [VECTOR]),
}
"""Networks and inputs for which OpenVINO has an answer."""

each = pytest.mark.parametrize("name", ANSWERED)


def outputs_of(file: IRFile) -> list[Array]:
    result = ir_exec.compile_model(file.xml, weights=file.weights)(file.inputs)
    return [result[i] for i in range(len(result))]


def types_of(file: IRFile) -> list[TensorType]:
    model = ir_exec.read_model(file.xml, weights=file.weights)
    (node,) = (node for node in model.graph.nodes if node.bodies)
    return [model.types[value.number] for value in node.outputs]


@each
def test_values(name: str, oracle: Oracle) -> None:
    net, inputs = ANSWERED[name]
    file = net.file(*inputs)
    answer = oracle.values(file)
    assert not isinstance(answer, Refused), answer.reason
    assert value_faults(outputs_of(file), answer, 0, 0) == []


@each
def test_types(name: str, oracle: Oracle) -> None:
    net, inputs = ANSWERED[name]
    file = net.file(*inputs)
    answer = oracle.types(file)
    assert not isinstance(answer, Refused), answer.reason
    (theirs,) = (node.outputs for node in answer if node.type in ("If", "Loop", "TensorIterator"))
    assert type_faults(types_of(file), theirs, outputs_of(file)) == []


@pytest.mark.parametrize("type", ["Loop", "TensorIterator"])
@pytest.mark.parametrize("x", ["5,2,3", "?,2,?", "?,?,?", "..."])
@pytest.mark.parametrize("hidden", ["2,4", "?,4", "2,?", "?,?", "..."])
def test_known_state_facts_reach_the_output(type: str, x: str, hidden: str, oracle: Oracle) -> None:
    file = recurrent(type, x, hidden).file()
    answer = oracle.types(file)
    assert not isinstance(answer, Refused), answer.reason
    theirs = next(node.outputs for node in answer if node.type == type)
    types = types_of(file)
    assert type_faults(types, theirs, None) == []
    assert types[0].rank is None or types[0].shape[1] == 4


@pytest.mark.parametrize(
    ("initial", "expected"),
    [("1,2", "1..2,2"), ("3,2", "2..3,2"), ("?,2", "2,2"), ("2,2", "2,2"), ("1..4,?", "2,2"), ("2", "...")],
)
def test_possibly_skipped_loop_includes_initial_value(initial: str, expected: str) -> None:
    net = NetworkText()
    body = NetworkText(net)
    inputs = [net.parameter("", "i64"), net.const(TRUE), net.parameter(initial)]
    parameter = body.parameter()
    result, goes = body.result(body.const(np.ones((2, 2), np.float32))), body.result(body.const(TRUE))
    ties = [tied_input(2, parameter), tied_output(3, result), tied_output(-1, goes, purpose="execution_condition")]
    (output,) = net.loop(1, "Loop", inputs, body, ties, [(result, parameter)])
    net.result(output)
    file = net.file()
    assert str(types_of(file)[0].shape) == f"[{expected}]"


@pytest.mark.parametrize("trips", [0, 2])
def test_skipped_loop_gives_initial_value_of_other_shape(trips: int) -> None:
    net = NetworkText()
    body = NetworkText(net)
    inputs = [net.parameter("", "i64"), net.const(TRUE), net.parameter("3,2")]
    parameter = body.parameter()
    result, goes = body.result(body.const(np.ones((1, 2), np.float32))), body.result(body.const(TRUE))
    ties = [tied_input(2, parameter), tied_output(3, result), tied_output(-1, goes, purpose="execution_condition")]
    (output,) = net.loop(1, "Loop", inputs, body, ties, [(result, parameter)])
    net.result(net.op("Relu", output))
    (actual,) = outputs_of(net.file(int64(trips), MATRIX[:3]))
    assert actual.tolist() == ([[1, 1]] if trips else MATRIX[:3].tolist())


@each
def test_nothing_is_found_wrong(name: str) -> None:
    net, inputs = ANSWERED[name]
    file = net.file(*inputs)
    report = ir_exec.check_model(file.xml, weights=file.weights)
    assert [str(diagnostic) for diagnostic in report.diagnostics if diagnostic.severity == "error"] == []


@pytest.mark.parametrize(
    ("net", "inputs", "expected"),
    [
        pytest.param(branches(same, as_row), [np.array(False), VECTOR], [VECTOR[None]], id="another rank"),
        pytest.param(branches(same, total, np.array(False)), [VECTOR], [np.array([3.0])], id="a known scalar"),
        pytest.param(loop(int64(0), TRUE), [ROW], [ROW, ROW[:0]], id="no trips"),
        pytest.param(loop(int64(4), np.array(False)), [ROW], [ROW, ROW[:0]], id="no start"),
        pytest.param(loop(shape="?,?"), [int64(0), TRUE, ROW], [ROW, ROW[:0]], id="no trips, any dims"),
        pytest.param(loop(shape="..."), [int64(2), TRUE, ROW], [ROW + 1, [[1, 2], [2, 3]]], id="any rank"),
        pytest.param(loop(*STARTS, shape="2"), [VECTOR], [VECTOR + 6, [1, 2, 2, 3, 4, 5, 7, 8]], id="long parts"),
        pytest.param(
            loop(int64(2), TRUE, step=grown),
            [ROW],
            [[[1, 2], [1, 1], [1, 1]], [[1, 2], [1, 1]] * 2 + [[1, 1]]],
            id="grow",
        ),
        pytest.param(iterator({"axis": -2}), [MATRIX], [MATRIX + 100, MATRIX[5:] + 100], id="negative axis"),
        pytest.param(
            iterator({"axis": 0, "start": 2, "end": -2}, {"axis": 0}),
            [MATRIX],
            [MATRIX[2:5] + 100, MATRIX[4:5] + 100],
            id="range",
        ),
        pytest.param(
            iterator({"axis": 0, "stride": 2}, {"axis": 0}),
            [MATRIX],
            [MATRIX[::2] + 100, MATRIX[4:5] + 100],
            id="every other",
        ),
        pytest.param(
            iterator({"axis": 0, "stride": 4, "part_size": 4}),
            [MATRIX],
            [MATRIX[:4] + 100, MATRIX[:4] + 100],
            id="a rest",
        ),
        pytest.param(constants_and_invariants(0), [VECTOR], [[0, 0], [0], []], id="nothing to carry"),
    ],
)
def test_what_openvino_does_not_answer(net: NetworkText, inputs: list[Array], expected: list[object]) -> None:
    file = net.file(*inputs)
    actual = outputs_of(file)
    for array, values in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(array, np.asarray(values, array.dtype), strict=True)
    assert type_faults(types_of(file), None, actual) == []


@pytest.mark.parametrize(
    ("net", "inputs", "words"),
    [
        (loop(), [int64(-1), TRUE, ROW], fault_with("trip_count")),
        (sliced_loop(9), [MATRIX], fault_with(6, 6, 6, "axis", 0, 6)),
        (
            iterator({"axis": 0, "start": 0, "end": 6}, {"axis": 0}, shape="?,2"),
            [MATRIX],
            fault_with(6, 6, 6, "axis", 0, 6),
        ),
        (
            loop(int64(2), TRUE, shape="?,2", step=lambda body, x, _: body.op("Concat", x, x, axis=1)),
            [ROW],
            fault_with(1, "axis", 0, "[1, 4]", "[1, 8]"),
        ),
    ],
)
def test_runs_that_fail(net: NetworkText, inputs: list[Array], words: fault_with) -> None:
    file = net.file(*inputs)
    with pytest.raises(ir_exec.EvaluationError) as caught:
        outputs_of(file)
    assert (caught.value.code, caught.value.location.layer_type in ("Loop", "TensorIterator")) == ("IR704", True)
    assert caught.value == words


@pytest.mark.parametrize(
    ("net", "code", "words"),
    [
        (loop(int64(-1), TRUE), "IR704", fault_with("trip_count")),
        (loop(int64([1, 2]), TRUE), "IR502", fault_with("trip_count", actual="[2]", expected="one element")),
        (loop(int64(1), "2"), "IR502", fault_with("execution_condition", actual="[2]", expected="one element")),
        (branches(same, twice, "2"), "IR502", fault_with("condition", actual="[2]", expected="one element")),
        (
            branches(same, lambda body, x: body.op("Convert", x, destination_type="i32")),
            "IR402",
            fault_with(0, "then_body", "else_body", actual="f32 and i32", expected="equal types"),
        ),
        (iterator({"axis": 2}), "IR503", fault_with("axis", actual=2, expected="-2 to 1")),
    ],
)
def test_refused_networks(net: NetworkText, code: str, words: fault_with) -> None:
    file = net.file()
    with pytest.raises(ir_exec.IRError) as caught:
        ir_exec.read_model(file.xml, weights=file.weights).types  # noqa: B018  # typed on access
    assert caught.value.code == code
    assert caught.value == words


def test_parts_must_agree() -> None:
    net = NetworkText()
    body = NetworkText(net)
    inputs = [net.parameter("4,2"), net.parameter("3,2")]
    a, b = body.parameter(), body.parameter()
    result = body.result(body.op("Add", a, b))
    ties = [tied_input(0, a, axis=0), tied_input(1, b, axis=0), tied_output(2, result, axis=0)]
    net.result(net.loop(1, "TensorIterator", inputs, body, ties)[0])
    file = net.file()
    with pytest.raises(ir_exec.ShapeError, match=naming("3", "4")):
        ir_exec.read_model(file.xml, weights=file.weights).types  # noqa: B018  # typed on access


def test_other_branch_is_inferred_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def count_calls(*arguments: Any, **further: Any) -> list[TensorType]:
        asked.append(arguments)
        return infer_body(*arguments, **further)

    monkeypatch.setattr(bodies, "infer_body", count_calls)
    file = branches(same, total).file()
    compiled = ir_exec.compile_model(file.xml, weights=file.weights)
    compiled([np.array(False), VECTOR])
    assert asked
    asked.clear()
    # The total, which is a scalar, becomes a vector as that of the other branch is.
    assert compiled([np.array(False), VECTOR])[0].tolist() == [3]
    assert asked == []


def test_a_variable_of_a_body_lives_on() -> None:
    file = accumulator().file()
    compiled = ir_exec.compile_model(file.xml, weights=file.weights)
    parts = [np.ones((3, 1), np.float32)]
    assert compiled(parts)[0].ravel().tolist() == [11, 12, 13]
    assert compiled(parts)[0].ravel().tolist() == [14, 15, 16]
    compiled.reset_state()
    assert compiled(parts)[1].tolist() == [[13]]


def test_a_branch_does_not_end_the_run_for_variables() -> None:
    """Assignments before an If runs are not read after it: they are for the next run."""
    net = NetworkText()
    declared = {"variable_id": "v", "variable_type": "f32", "variable_shape": "2"}
    x = net.parameter("2")
    net.op("Assign", net.op("Add", x, x), opset=6, variable_id="v")
    parts: list[object] = []
    for _ in range(2):
        body = NetworkText(net)
        value = body.parameter()
        parts += [body, [tied_input(1, value), tied_output(2, body.result(same(body, value)))]]
    (chosen,) = net.branch(1, [net.const(TRUE), x], *parts)  # type: ignore[arg-type]  # two bodies and their ties
    net.result(net.op("Add", net.op("ReadValue", opset=6, **declared), chosen))
    file = net.file()
    compiled = ir_exec.compile_model(file.xml, weights=file.weights)
    assert compiled([VECTOR])[0].tolist() == [1, 2]
    assert compiled([VECTOR])[0].tolist() == [3, 6]


def test_large_values_of_an_iteration_outlive_the_next() -> None:
    """If memory of dead values is written to again, parts that wait to be put together are not dead."""

    def step(body: NetworkText, parameter: Output, number: Output) -> Output:
        moved = body.op("Add", parameter, number)
        return body.op("Sqrt", body.op("Multiply", moved, moved))

    x = np.random.default_rng(0).uniform(1, 2, (1, 20000)).astype(np.float32)
    file = loop(*STARTS, shape="?,?", step=step).file(x)
    expected = [x]
    for number in range(4):
        expected.append(expected[-1] + np.float32(number))
    last, parts = outputs_of(file)
    np.testing.assert_allclose(parts, np.concatenate(expected[1:]), rtol=1e-6)
    np.testing.assert_array_equal(last, parts[3:])


def filling_loop(
    *,
    collected: bool = False,
    twice: bool = False,
    swapped: bool = False,
    read: bool = False,
    assigned: bool = False,
) -> NetworkText:
    """A Loop that puts the number of each iteration into a vector of four.

    Args:
        collected: Each iteration's vector is a slice of an output.
        twice: Two Parameters get the vector.
        swapped: Two vectors change places.
        read: The vector of the iteration before is an output too.
        assigned: A variable gets the vector, which the next iteration reads.
    """
    net = NetworkText()
    body = NetworkText(net)
    inputs = [net.const(int64(4)), net.const(TRUE), net.parameter("4"), net.parameter("4")]
    first, second, count = body.parameter(), body.parameter(), body.parameter("1", "i64")
    number, total = body.op("Convert", count, destination_type="f32"), second
    put = body.op("ScatterElementsUpdate", first, count, number, body.const(int64(0)), opset=12)
    if assigned:
        declared = {"variable_id": "v", "variable_type": "f32", "variable_shape": "4"}
        total = body.op("Add", second, body.op("ReadValue", opset=6, **declared))
        body.op("Assign", put, opset=6, variable_id="v")
    results = [body.result(second if swapped else put), body.result(put if twice or swapped else total)]
    results += [body.result(body.op("Reshape", first, body.const(int64([2, 2])), special_zero="false"))] if read else []
    goes = body.result(body.const(TRUE))
    ties = [tied_input(2, first), tied_input(3, second), tied_input(-1, count, purpose="current_iteration")]
    ties += [tied_output(4 + i, result) for i, result in enumerate(results)]
    ties += [tied_output(4 + len(results), results[0], axis=0)] if collected else []
    ties += [tied_output(-1, goes, purpose="execution_condition")]
    back = [(results[0], first)] if assigned else list(zip(results, (first, second), strict=False))
    for output in net.loop(len(results) + collected, "Loop", inputs, body, ties, back):
        net.result(output)
    return net


FILLED: dict[str, tuple[NetworkText, int]] = {
    "alone": (filling_loop(), 3),
    "changes places": (filling_loop(swapped=True), 2),
    "collected": (filling_loop(collected=True), 0),
    "handed on twice": (filling_loop(twice=True), 0),
    "read by another result": (filling_loop(read=True), 0),
    "assigned to a variable": (filling_loop(assigned=True), 0),
}
"""Loops, and the number of iterations that may write into the vector of the one before."""


@pytest.mark.parametrize("name", FILLED)
def test_iterations_write_into_the_value_of_the_one_before(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    net, expected = FILLED[name]
    written = 0

    def overwrite(kernel: Callable[..., Any], position: int, *arrays: Array) -> Any:
        nonlocal written
        written += arrays[position].flags.writeable
        return planner_overwrite(kernel, position, *arrays)

    planner_overwrite = planner.overwrite_input
    monkeypatch.setattr(planner, "OVERWRITE_FROM", 1)
    monkeypatch.setattr(planner, "overwrite_input", overwrite)
    check_as_observed(net, [np.full(4, 7, np.float32), np.full(4, 8, np.float32)])
    assert written == expected


@each
def test_values_in_overwritten_buffers(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planner, "OVERWRITE_FROM", 1)
    check_as_observed(*ANSWERED[name])


@pytest.mark.parametrize(
    ("name", "expected"),
    [("counted", 1), ("counted, any dims", 1), ("variable", 1), ("grows", 4), ("cascade of dims", 4)],
)
def test_iterations_with_inputs_of_equal_types_look_up_one_plan(
    name: str, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    net, inputs = ANSWERED[name]
    file = net.file(*inputs)
    compiled = ir_exec.compile_model(file.xml, weights=file.weights)
    looked_up = 0
    get = planner.Plans.get

    def count_calls(plans: planner.Plans, *arguments: Any, **options: Any) -> Plan:
        nonlocal looked_up
        looked_up += 1
        return get(plans, *arguments, **options)

    monkeypatch.setattr(planner.Plans, "get", count_calls)
    compiled(file.inputs)
    assert looked_up - 1 == expected, "one more is the plan of the model"


def check_as_observed(net: NetworkText, inputs: Sequence[Array]) -> None:
    """Compare a run with one for an observer, which overwrites nothing, and check that the inputs are as before."""
    file = net.file()
    compiled = ir_exec.compile_model(file.xml, weights=file.weights)
    arrays = [array.copy() for array in inputs]
    expected = compiled(arrays, observe=lambda node, arrays, outputs: None)
    compiled.reset_state()
    outputs = compiled(arrays)
    for index in range(len(expected)):
        np.testing.assert_array_equal(outputs[index], expected[index], strict=True)
    for array, before in zip(arrays, inputs, strict=True):
        np.testing.assert_array_equal(array, before)


@pytest.mark.parametrize("size", ["4,2", "?,2"])
def test_slices_by_the_counter(size: str) -> None:
    """The shape of a slice depends on the value of the counter; the last one is empty."""
    net = NetworkText()
    body = NetworkText(net)
    inputs = [net.const(int64(5)), net.const(TRUE), net.parameter(size)]
    data, count = body.parameter(size), body.parameter("1", "i64")
    step = body.const(int64([1]))
    row = body.op("Slice", data, count, body.op("Add", count, step), step, body.const(int64([0])), opset=8)
    total = body.op("ReduceSum", row, body.const(int64([0, 1])), keep_dims="false")
    results = [body.result(total), body.result(body.const(TRUE))]
    ties = [tied_input(2, data), tied_input(-1, count, purpose="current_iteration")]
    ties += [tied_output(3, results[0], axis=0), tied_output(-1, results[1], purpose="execution_condition")]
    for output in net.loop(1, "Loop", inputs, body, ties):
        net.result(output)
    rows = np.arange(8, dtype=np.float32).reshape(4, 2)
    check_as_observed(net, [rows])
    assert outputs_of(net.file(rows))[0].tolist() == [1, 5, 9, 13, 0]


def test_outputs_of_a_body_are_the_callers_own() -> None:
    file = constants_and_invariants().file()
    compiled = ir_exec.compile_model(file.xml, weights=file.weights)
    data = VECTOR.copy()
    first = compiled([data])
    for i in range(3):
        first[i][:] = -1
    assert data.tolist() == [1, 2]
    assert [compiled([data])[i].tolist() for i in range(3)] == [[1, 2], [7], [7, 7, 7]]


def test_error_in_body_names_the_inner_layer() -> None:
    file = loop(shape="?,?", step=lambda body, x, _: body.op("Concat", x, body.const(ROW), axis=0)).file()
    with pytest.raises(ir_exec.ShapeError) as caught:
        ir_exec.compile_model(file.xml, weights=file.weights)([int64(2), TRUE, np.zeros((1, 3), np.float32)])
    assert caught.value.location.layer_type == "Concat"


def test_deeply_nested_loops_are_typed_in_time() -> None:
    """Each level would infer the one inside several times over."""
    net = NetworkText()
    levels = [net]
    for _ in range(30):
        levels.append(NetworkText(levels[-1]))
    parameters = [net.parameter("1"), *(level.parameter() for level in levels[1:])]
    output = levels[-1].op("Concat", parameters[-1], parameters[-1], axis=0)
    for level in range(29, -1, -1):
        outer, inner = levels[level], levels[level + 1]
        result, goes = inner.result(output), inner.result(inner.const(TRUE))
        inputs = [outer.const(int64(1)), outer.const(TRUE), parameters[level]]
        ties = [tied_input(2, parameters[level + 1]), tied_output(3, result)]
        ties += [tied_output(-1, goes, purpose="execution_condition")]
        (output,) = outer.loop(1, "Loop", inputs, inner, ties, [(result, parameters[level + 1])])
    net.result(output)
    file = net.file(ONE)
    assert outputs_of(file)[0].tolist() == [1, 1]


@pytest.mark.parametrize(
    ("ties", "words"),
    [
        ([tied_input(0, Output(0, 0), axis=0)], fault_with(1)),
        (
            [tied_input(0, Output(0, 0), axis=0), tied_output(1, 2), tied_output(1, 2)],
            fault_with(1),
        ),
        (
            [tied_input(0, Output(0, 0)), tied_input(0, Output(0, 0)), tied_output(1, 2)],
            fault_with("Parameter", 0, "parameter0"),
        ),
        (
            [tied_input(0, Output(0, 0), axis=0, stride=0), tied_output(1, 2)],
            fault_with(actual="1 and 0", expected="size >= 1 and stride != 0"),
        ),
        (
            [tied_input(0, Output(0, 0), axis=0), tied_output(1, 2, axis=0, part_size=0)],
            fault_with(actual="0 and 1", expected="size >= 1 and stride != 0"),
        ),
    ],
)
def test_port_maps_that_do_not_fit(ties: list[str], words: fault_with) -> None:
    net = NetworkText()
    body = NetworkText(net)
    x = net.parameter("6,2")
    body.result(same(body, body.parameter()))
    net.result(net.loop(1, "TensorIterator", [x], body, ties)[0])
    with pytest.raises(ir_exec.GraphError) as caught:
        ir_exec.read_model(net.file().xml)
    assert (caught.value.code, caught.value) == ("IR112", words)


def test_a_loop_needs_a_condition() -> None:
    net = NetworkText()
    body = NetworkText(net)
    inputs = [net.const(int64(2)), net.const(TRUE), net.parameter("2")]
    parameter = body.parameter()
    ties = [tied_input(2, parameter), tied_output(3, body.result(same(body, parameter)))]
    net.result(net.loop(1, "Loop", inputs, body, ties)[0])
    file = net.file()
    with pytest.raises(ir_exec.GraphError, match="execution_condition"):
        ir_exec.read_model(file.xml, weights=file.weights)


@pytest.mark.parametrize(
    ("element_type", "shape", "expected"),
    [("f32", "...", "f32[...]"), ("dynamic", "?,2", "dynamic[?,2]"), ("dynamic", "...", "f16[3]")],
)
def test_partial_body_input_type_replaces_declaration(element_type: str, shape: str, expected: str) -> None:
    """Only for a completely unknown value the body's own declaration counts."""
    body = NetworkText()
    body.result(body.parameter("3", "f16"))
    xml = f'<?xml version="1.0"?><net name="body" version="11">{body.text()}</net>'
    model = ir_exec.read_model(xml.encode(), weights=b"")
    (type_,) = infer_body(model.graph, [make_type(shape, element_type)], None)
    assert str(type_) == expected
