"""Sessions: separate variables, calls from several threads, and the state after a failed run."""

from __future__ import annotations

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import ir_exec
from ir_exec.types import ElementType
from tests.helpers.facts import fault_with
from tests.helpers.items import counting_network
from tests.helpers.network_text import NetworkText
from tests.runtime.test_sessions_limits import compiled_of

ONES = np.ones(2, np.float32)
ZEROS = np.zeros(2, np.float32)


def counter(element_type: str = "f32") -> NetworkText:
    """y = v = v + x, and w = x."""
    net = NetworkText()
    x = net.parameter("2", element_type)
    declared = {"variable_type": element_type, "variable_shape": "2"}
    before = net.op("ReadValue", x, opset=6, variable_id="sum", **declared)
    total = net.op("Add", before, x)
    net.op("Assign", total, opset=6, variable_id="sum")
    net.result(total)
    return net


def test_each_session_has_variables_of_its_own() -> None:
    compiled = compiled_of(counter())
    first, other = compiled.session(), compiled.session()
    assert [first([ONES])[0][0] for _ in range(3)] == [2, 3, 4]
    assert other([ONES])[0][0] == 2
    assert compiled([ONES])[0][0] == 2
    first.reset_state()
    assert first([ONES])[0][0] == 2
    assert other([ONES])[0][0] == 3


def test_variables_can_be_read_and_set() -> None:
    session = compiled_of(counter()).session()
    assert dict(session.state) == {"sum": None}
    session([ONES])
    value = session.state["sum"]
    assert value is not None
    assert value.tolist() == [2, 2]
    with pytest.raises(ValueError, match="read-only"):
        value[:] = 0
    values = np.array([10, 20], np.float32)
    session.state["sum"] = values
    values[:] = 0
    assert session([ONES])[0].tolist() == [11, 21]
    assert repr(session.state) == "States(sum: f32[2])"
    session.state["sum"] = None
    assert session([ONES])[0].tolist() == [2, 2]
    assert len(session.state) == 1


@pytest.mark.parametrize(
    ("variable_id", "value", "error", "words"),
    [
        ("none", ONES, ir_exec.EvaluationError, fault_with("none", "sum")),
        ("sum", np.ones(3, np.float32), ir_exec.ShapeError, fault_with("sum", actual="[3]", expected="[2]")),
        ("sum", np.ones(2, complex), ir_exec.ElementTypeError, fault_with("sum", actual="complex128", expected="f32")),
        ("sum", "abc", ir_exec.ElementTypeError, fault_with(actual="<U3", expected="f32")),
    ],
)
def test_values_that_do_not_fit(
    variable_id: str, value: object, error: type[ir_exec.IRError], words: fault_with
) -> None:
    state = compiled_of(counter()).session().state
    with pytest.raises(error) as caught:
        state[variable_id] = value
    assert caught.value == words
    assert dict(state) == {"sum": None}
    with pytest.raises(KeyError):
        state["none"]


def test_variables_of_bodies_are_among_them() -> None:
    from tests.runtime.test_bodies import accumulator

    compiled = compiled_of(accumulator())
    compiled.state["sum"] = [[5]]
    assert compiled([np.ones((3, 1), np.float32)])[0].ravel().tolist() == [6, 7, 8]
    assert np.array_equal(compiled.state["sum"], [[8]])


def wide_counter(size: int) -> NetworkText:
    """The counter with enough layers and elements that threads meet in the middle of a run."""
    net = NetworkText()
    x = net.parameter(str(size))
    before = net.op("ReadValue", x, opset=6, variable_id="sum", variable_type="f32", variable_shape=str(size))
    total = net.op("Add", before, x)
    for _ in range(5):
        total = net.op("Negative", net.op("Negative", total))
    net.op("Assign", total, opset=6, variable_id="sum")
    net.result(total)
    return net


def test_calls_of_one_session_wait_for_each_other() -> None:
    compiled = compiled_of(wide_counter(1000))
    ones = np.ones(1000, np.float32)
    compiled.state["sum"] = np.zeros(1000, np.float32)
    with ThreadPoolExecutor(8) as pool:
        results = [outputs[0] for outputs in pool.map(lambda _: compiled([ones]), range(200))]
    assert sorted(array[0] for array in results) == list(range(1, 201))
    assert all((array == array[0]).all() for array in results)


def test_sessions_run_side_by_side() -> None:
    """Each waits in its observer for the other, which would never come if they took turns."""
    compiled = compiled_of(counter())
    both = threading.Barrier(2, timeout=60)

    def run(session: ir_exec.Session) -> list[float]:
        return [float(session([ONES], observe=wait)[0][0]) for _ in range(2)]

    def wait(node: object, inputs: object, outputs: object) -> None:
        both.wait()

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(run, [compiled.session(), compiled.session()])) == [[2, 3], [2, 3]]


def test_calls_without_variables_run_side_by_side() -> None:
    net = NetworkText()
    net.result(net.op("Exp", net.parameter("2")))
    compiled = compiled_of(net)
    both = threading.Barrier(2, timeout=60)
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda x: compiled([x], observe=lambda *_: both.wait())[0], [ZEROS, ZEROS]))
    assert [array.tolist() for array in results] == [[1, 1], [1, 1]]


def test_concurrent_call_is_reported() -> None:
    compiled = compiled_of(counter())
    with pytest.raises(ir_exec.EvaluationError, match=r"session\(\)"):
        compiled([ONES], observe=lambda *_: compiled([ONES]))
    other = compiled.session()
    assert compiled([ONES], observe=lambda *_: other([ONES]))[0].tolist() == [2, 2]


def test_planning_by_several_threads_gives_each_its_own_shapes() -> None:
    net = NetworkText()
    net.result(net.op("ReduceSum", net.parameter("?,?"), net.const(np.array([0, 1]))))
    compiled = compiled_of(net)
    sizes = [(rows, columns) for rows in range(1, 9) for columns in range(1, 9)] * 3
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda size: compiled([np.ones(size, np.float32)])[0], sizes))
    assert results == [rows * columns for rows, columns in sizes]


def failing_at_the_end() -> NetworkText:
    """Draws random numbers, and fails where the input has an index out of range."""
    net = NetworkText()
    drawn = net.op(
        "RandomUniform",
        net.const(np.array([4])),
        net.const(np.float32(0).reshape(1)),
        net.const(np.float32(1).reshape(1)),
        opset=8,
        output_type="f32",
        global_seed="1",
        op_seed="2",
    )
    net.result(net.op("GatherElements", drawn, net.parameter("4", "i64"), opset=6, axis="0"))
    return net


def test_failed_run_restores_random_state() -> None:
    valid, wrong = np.arange(4), np.array([0, 1, 2, 9])
    compiled, undisturbed = compiled_of(failing_at_the_end()), compiled_of(failing_at_the_end())
    for _ in range(3):
        with pytest.raises(ir_exec.EvaluationError):
            compiled([wrong])
        assert np.array_equal(compiled([valid])[0], undisturbed([valid])[0])


def test_random_numbers_go_on_from_iteration_to_iteration() -> None:
    first, second = (compiled_of(failing_at_the_end()) for _ in range(2))
    indices = np.arange(4)
    draw, two = first([indices])[0], first([indices])[0]
    assert not np.array_equal(draw, two)
    first.reset_state()
    assert np.array_equal(first([indices])[0], draw)
    assert np.array_equal(second.session()([indices])[0], draw)


def test_writes_of_failed_run_are_discarded() -> None:
    """The variable is assigned in one branch of an If alone; after a failed run the other one is taken."""
    from tests.helpers.network_text import tied_input, tied_output

    net = NetworkText()
    x, writes, index = net.parameter("2"), net.parameter("", "boolean"), net.parameter("1", "i64")
    parts: list[object] = []
    for assigns in (True, False):
        body = NetworkText(net)
        value = body.parameter()
        negated = body.op("Negative", value)
        if assigns:
            body.op("Assign", negated, opset=6, variable_id="v")
        parts += [body, [tied_input(1, value), tied_output(2, body.result(negated))]]
    (chosen,) = net.branch(1, [writes, x], *parts)  # type: ignore[arg-type]  # two bodies and their ties
    read = net.op("ReadValue", x, opset=6, variable_id="v", variable_type="f32", variable_shape="2")
    net.result(net.op("GatherElements", chosen, index, opset=6, axis="0"))
    net.result(read)
    compiled = compiled_of(net)
    with pytest.raises(ir_exec.EvaluationError):
        compiled([ONES, np.array(True), np.array([7])])
    compiled([ONES, np.array(False), np.array([0])])
    assert compiled.state["v"] is None
    assert compiled([ONES, np.array(False), np.array([0])])[1].tolist() == [1, 1]


def test_observer_cannot_change_values() -> None:
    net = NetworkText()
    x = net.parameter("2")
    net.result(net.op("Negative", net.op("Abs", net.op("Negative", x))))
    refused = []

    def write(node: object, inputs: list[np.ndarray], outputs: list[np.ndarray]) -> None:
        for array in (*inputs, *outputs):
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 100
            refused.append(array)

    data = ONES.copy()
    assert compiled_of(net)([data], observe=write)[0].tolist() == [-1, -1]
    assert len(refused) == 6
    assert data.flags.writeable
    assert data.tolist() == [1, 1]


def test_a_session_goes_on_from_a_snapshot() -> None:
    compiled = ir_exec.compile_model(counting_network())
    ones = np.ones(1, np.float32)
    session = compiled.session()
    assert [float(session([ones])[0][0]) for _ in range(2)] == [1, 2]
    saved = pickle.loads(pickle.dumps(session.snapshot()))
    assert float(session([ones])[0][0]) == 3
    other = pickle.loads(pickle.dumps(compiled)).session()
    other.restore(saved)
    assert [float(other([ones])[0][0]) for _ in range(2)] == [3, 4]
    session.restore(saved)
    assert float(session([ones])[0][0]) == 3


@pytest.mark.parametrize("element_type", ["f32", "f16"])
def test_snapshots_hold_where_random_numbers_stand(element_type: str) -> None:
    text = NetworkText()
    x = text.parameter("2", element_type)
    bounds = [text.const(np.array(value, ElementType[element_type].dtype)) for value in (0, 1)]
    shape = text.const(np.array([2], np.int64))
    drawn = text.op("RandomUniform", shape, *bounds, opset=8, output_type=element_type, global_seed="3", op_seed="4")
    text.result(text.op("Add", x, drawn))
    file = text.file()
    compiled = ir_exec.compile_model(ir_exec.read_model(file.xml, file.weights))
    zeros = [np.zeros(2, ElementType[element_type].dtype)]
    session = compiled.session()
    session(zeros)
    saved = pickle.loads(pickle.dumps(session.snapshot()))
    expected = [session(zeros)[0].tolist() for _ in range(2)]
    other = pickle.loads(pickle.dumps(compiled)).session()
    assert other(zeros)[0].tolist() != expected[0]
    other.restore(saved)
    assert [other(zeros)[0].tolist() for _ in range(2)] == expected
