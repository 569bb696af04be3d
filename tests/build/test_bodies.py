"""Loop, If and TensorIterator made by the builder: OpenVINO reads them and computes the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import ir_exec
from ir_exec import build
from tests.conformance.build import IRFile
from tests.conformance.compare import value_faults
from tests.conformance.oracle import Oracle, Refused
from tests.helpers.facts import naming

Build = Callable[[build.Value], "build.Value | tuple[build.Value, ...]"]

ZEROS = np.zeros(2, np.float32)


def until_large(x: build.Value) -> tuple[build.Value, ...]:
    """Doubled until the sum is above 50."""

    def body(i: build.Value, value: build.Value) -> tuple[build.Value, list[build.Value], list[build.Value]]:
        doubled = build.multiply(value, 2.0)
        return build.less(build.reduce_sum(doubled, [0]), 50.0), [doubled], []

    return build.loop(None, None, body, carried=[x])


def iteration_numbers(x: build.Value) -> tuple[build.Value, ...]:
    """The number of the iteration, and the sums so far, collected."""

    def body(i: build.Value, sum: build.Value) -> tuple[None, list[build.Value], list[build.Value]]:
        after = build.add(sum, build.multiply(x, build.convert(i, destination_type="f32")))
        return None, [after], [build.unsqueeze(i, 0), build.unsqueeze(after, 0)]

    return build.loop(4, None, body, carried=[ZEROS])


def grown(x: build.Value) -> tuple[build.Value, ...]:
    """A carried value that becomes longer in each iteration."""
    return build.loop(3, None, lambda i, seen: (None, [build.concat([seen, x], 0)], []), carried=[x])


def of_parts(x: build.Value) -> tuple[build.Value, ...]:
    """A scan over the elements in reverse order."""
    return build.tensor_iterator(
        lambda before, part: ([build.add(before, part)], [build.add(before, part)]),
        carried=[np.zeros(1, np.float32)],
        sliced=[build.Sliced(x, axis=0, start=-1, end=0, stride=-1)],
    )


def sliced_in_a_loop(x: build.Value) -> tuple[build.Value, ...]:
    """Two of the elements by slices of one, with parts collected."""
    return build.loop(
        2, None, lambda i, part: (None, [], [build.exp(part)]), sliced=[build.Sliced(x, axis=0, start=0, end=-1)]
    )


def nested_if(x: build.Value) -> build.Value:
    """An If in a Loop in an If, all of which read x."""

    def body(i: build.Value, value: build.Value) -> tuple[None, list[build.Value], list[build.Value]]:
        is_first = build.equal(i, 0)
        chosen = build.if_(is_first, lambda: build.add(value, x), lambda: build.subtract(value, build.constant(ZEROS)))
        return None, [chosen], []

    flag = build.greater(build.reduce_sum(x, [0]), 0.0)
    result: build.Value = build.if_(flag, lambda: build.loop(3, None, body, carried=[x])[0], lambda: build.negative(x))
    return result


def two_outputs(x: build.Value) -> tuple[build.Value, ...]:
    flag = build.greater(build.reduce_sum(x, [0]), 0.0)
    y = build.relu(x, name="outside")
    results: tuple[build.Value, ...] = build.if_(
        flag, lambda: (y, build.add(y, x)), lambda: (build.negative(y), x), name="chosen", tensor_names=[["a"], ["b"]]
    )
    return results


def never_run(x: build.Value) -> tuple[build.Value, ...]:
    return build.loop(0, None, lambda i, value: (None, [build.exp(value)], []), carried=[x])


CASES = [until_large, iteration_numbers, grown, of_parts, sliced_in_a_loop, nested_if, two_outputs, never_run]


@pytest.mark.conformance
@pytest.mark.parametrize("function", CASES, ids=lambda function: function.__name__)
@pytest.mark.parametrize("shape", [[2], ["?"]], ids=["static", "dynamic"])
def test_openvino_computes_the_same(function: Build, shape: list[object], oracle: Oracle, tmp_path: Path) -> None:
    x = build.parameter(",".join(map(str, shape)), name="x")
    outputs = function(x)
    model = build.model(outputs if isinstance(outputs, build.Value) else list(outputs))
    model.save(tmp_path / "body.xml")
    again = ir_exec.read_model(tmp_path / "body.xml")
    assert again.types == model.types
    report = ir_exec.check_model(tmp_path / "body.xml")
    assert [str(finding) for finding in (*report.errors, *report.warnings)] == []
    for data in (np.array([1, 2], np.float32), np.array([-3, 1], np.float32)):
        if function is until_large and data[0] < 0:
            continue  # it would never end
        actual = list(ir_exec.compile_model(model)([data]).values())
        file = IRFile((tmp_path / "body.xml").read_bytes(), (tmp_path / "body.bin").read_bytes(), (data,))
        expected = oracle.values(file)
        assert not isinstance(expected, Refused), expected.reason
        assert not value_faults(actual, expected, rtol=1e-6)
        after = list(ir_exec.compile_model(again)([data]).values())
        assert not value_faults(after, actual)


def test_constants_from_outside_are_constants_inside() -> None:
    x = build.parameter([4], name="x")
    size = build.constant([2, 2])
    (y,) = build.loop(
        2, None, lambda i, value: (None, [value], [build.reshape(value, size, special_zero=False)]), carried=[x]
    )[1:]
    assert y.shape == [4, 2]
    (loop,) = (node for node in build.model(y).graph.nodes if node.type == "Loop")
    assert [node.type for node in loop.bodies[0].graph.nodes].count("Const") == 2
    assert len(loop.inputs) == 3


def test_value_read_twice_is_one_input() -> None:
    x = build.parameter([4], name="x")
    (y,) = build.loop(2, None, lambda i, value: (None, [build.add(build.add(value, x), x)], []), carried=[x])
    (loop,) = (node for node in build.model(y).graph.nodes if node.type == "Loop")
    assert len(loop.inputs) == 4


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda x: build.if_(x, lambda: x, lambda: (x, x)), naming("then", 1, "else_", 2)),
        (lambda x: build.loop(1, None, lambda i, value: (None, [], []), carried=[x]), naming(0, 1)),
        (lambda x: build.loop(1, None, lambda i, value: (None, [value]), carried=[x]), naming("condition")),
        (lambda x: build.if_(build.relu(x), lambda: x, lambda: x, name="choice"), naming("choice")),
        (
            lambda x: build.tensor_iterator(lambda part: ([], [part]), sliced=[build.Sliced(x, axis=3)]),
            naming("axis", 3),
        ),
    ],
)
def test_wrong_bodies(make: Callable[[build.Value], object], told: str) -> None:
    with pytest.raises(ir_exec.IRError, match=told):
        make(build.parameter([2]))


def test_an_error_in_a_body_names_the_layer_inside() -> None:
    x = build.parameter([2])
    with pytest.raises(ir_exec.ShapeError, match='"wrong" \\(Add\\)'):
        build.loop(2, None, lambda i, value: (None, [build.add(value, [1.0, 2.0, 3.0], name="wrong")], []), carried=[x])
    # A failure leaves no open body.
    assert build.model(build.relu(x)).outputs[0].shape == [2]


def test_variables_in_a_body() -> None:
    x = build.parameter([2], name="x")

    def body(i: build.Value, value: build.Value) -> tuple[None, list[build.Value], list[build.Value]]:
        total = build.add(build.read_value(ZEROS, "total"), x)
        build.assign(total, "total")
        return None, [total], []

    (y,) = build.loop(3, None, body, carried=[x])
    model = build.model(y)
    (result,) = ir_exec.compile_model(model)([np.array([1, 2], np.float32)]).values()
    assert result.tolist() == [3, 6]


def test_types_that_widen_one_after_the_other() -> None:
    """The first value grows, and each of the others is the one before it an iteration ago."""
    x = build.parameter([1], name="x")
    values = build.loop(
        14, None, lambda i, *values: (None, [build.concat([values[0], x], 0), *values[:-1]], []), carried=[x] * 12
    )
    (last,) = ir_exec.compile_model(build.model(values[-1]))([np.array([3], np.float32)]).values()
    assert last.tolist() == [3, 3, 3, 3]
