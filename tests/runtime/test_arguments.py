"""Arguments of callers: arrays for inputs, shapes for plans, numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ir_exec
from ir_exec.codes import Code
from ir_exec.model import ModelPort
from ir_exec.runtime.arguments import bind_inputs, bind_shapes, require_callable, seconds, whole_number
from tests.helpers.facts import facts, fault_with, mentions
from tests.helpers.network_text import NetworkText


def ports(*inputs: tuple[str, str]) -> list[ModelPort]:
    net = NetworkText()
    for shape, element_type in inputs:
        net.result(net.parameter(shape, element_type))
    return ir_exec.read_model(net.file().xml).inputs


def named_ports(*inputs: tuple[str, str]) -> tuple[list[ModelPort], list[str]]:
    input_ports = ports(*inputs)
    return input_ports, [port.name for port in input_ports]


TWO = (("2", "f32"), ("?,3", "i64"))
X, Y = np.ones(2, np.float32), np.ones((1, 3), np.int64)


def error_of(call: Callable[[], object]) -> tuple[str, ir_exec.IRError]:
    with pytest.raises(ir_exec.IRError) as caught:
        call()
    return caught.value.code, caught.value


def test_inputs_in_any_order_by_name_and_position() -> None:
    input_ports, (x, y) = named_ports(*TWO)
    for arguments in ([X, Y], (X, Y), {y: Y, x: X}, {1: Y, 0: X}, {y: Y, 0: X}, {input_ports[1]: Y, input_ports[0]: X}):
        first, second = bind_inputs(arguments, input_ports)  # type: ignore[arg-type]  # keys of several kinds
        assert (first.shape, second.shape) == ((2,), (1, 3))
    assert bind_inputs(None, []) == bind_inputs({}, []) == bind_inputs([], []) == []


def test_an_array_alone_is_the_only_input() -> None:
    (array,) = bind_inputs(X, ports(("2", "f32")))
    assert array.tolist() == [1, 1]
    assert error_of(lambda: bind_inputs(X, ports(*TWO))) == (
        Code.unknown_input,
        fault_with(actual="ndarray", expected=mentions()),
    )


def test_wrong_sets_of_inputs() -> None:
    input_ports, (x, y) = named_ports(*TWO)
    wrong: list[tuple[Any, fault_with]] = [
        ([X], fault_with(x, y, actual=1, expected=2)),
        ([X, Y, Y], fault_with(x, y, actual=3, expected=2)),
        (None, fault_with(x, y)),
        ({x: X}, fault_with(y)),
        ({x: X, 0: X, y: Y}, fault_with(x)),
        ("xy", fault_with(actual="str", expected=mentions())),
        (b"xy", fault_with(actual="bytes", expected=mentions())),
        ({1}, fault_with(actual="set", expected=mentions())),
    ]
    for arguments, fault in wrong:
        assert error_of(lambda arguments=arguments: bind_inputs(arguments, input_ports)) == (Code.unknown_input, fault)


@pytest.mark.parametrize(
    ("array", "element_type"),
    [
        # Floats are rounded to floats, integers widened where all of them fit.
        (np.ones(2, np.float64), "f16"),
        (np.ones(2, np.float16), "f32"),
        (np.ones(2, np.int32), "i64"),
        (np.ones(2, np.uint8), "i16"),
        (np.ones(2, np.int8), "f32"),
        ([1, 2.0], "f32"),
        ([1.0, 2.0], "i32"),
        ([True, False], "boolean"),
        ([0, 255], "u8"),
    ],
)
def test_cast_arrays_of_other_types(array: Any, element_type: str) -> None:
    (bound,) = bind_inputs([array], ports(("2", element_type)))
    assert bound.dtype == ir_exec.ElementType[element_type].dtype
    np.testing.assert_array_equal(bound.astype(np.float64), np.asarray(array, np.float64))


@pytest.mark.parametrize(
    ("array", "element_type", "actual"),
    [
        (np.ones(2, np.float32), "f8e4m3", "float32"),
        (np.ones(2, np.int64), "i32", "int64"),
        (np.ones(2, np.float32), "i64", "float32"),
        (np.ones(2, np.int64), "f32", "int64"),
        (np.ones(2, np.complex64), "f32", "complex64"),
        (["1", "2"], "f32", "<U1"),
        ([1, 2], "string", "int64"),
        ([0, 256], "u8", None),
        ([-1, 0], "u8", None),
        ([1.5, 0], "i32", None),
    ],
)
def test_arrays_that_would_lose_something(array: Any, element_type: str, actual: str | None) -> None:
    input_ports, (x,) = named_ports(("2", element_type))
    expected = None if actual is None else element_type
    fault = fault_with(x, element_type, actual=actual, expected=expected)
    assert error_of(lambda: bind_inputs([array], input_ports)) == (Code.input_array_type, fault)


def test_the_hint_says_how_to_cast() -> None:
    with pytest.raises(ir_exec.ElementTypeError) as caught:
        bind_inputs([np.ones(2, np.int64)], ports(("2", "i32")))
    assert facts(caught.value.hint) == ["int32"]


@pytest.mark.parametrize(
    ("value", "element_type"),
    [(None, "f32"), ([None, None], "f32"), (["1", "2"], "f32"), (np.array(["1", "2"]), "i64"), ([1, 2], "string")],
)
def test_non_numeric_values_have_no_cast_hint(value: Any, element_type: str) -> None:
    with pytest.raises(ir_exec.ElementTypeError) as caught:
        bind_inputs([value], ports(("2", element_type)))
    assert caught.value.hint is None


@pytest.mark.parametrize(
    ("sizes", "fits"),
    [((2, 1), True), ((4, 1), True), ((1, 1), False), ((5, 1), False), ((3,), False), ((3, 1, 1), False)],
)
def test_ends_of_a_range_of_sizes(sizes: tuple[int, ...], fits: bool) -> None:
    input_ports, (x,) = named_ports(("2..4,?", "f32"))
    array = np.zeros(sizes, np.float32)
    if fits:
        assert bind_inputs([array], input_ports)[0] is array
    else:
        shape = str(list(sizes)).replace(" ", "")
        fault = fault_with(x, actual=shape, expected="[2..4,?]")
        assert error_of(lambda: bind_inputs([array], input_ports)) == (Code.input_array_shape, fault)


def test_shapes_of_a_plan() -> None:
    input_ports, (x, y) = named_ports(*TWO)
    assert [sizes for _, sizes in bind_shapes({y: (4, 3)}, input_ports)] == [(2,), (4, 3)]
    assert [sizes for _, sizes in bind_shapes({1: "0,3", x: [2]}, input_ports)] == [(2,), (0, 3)]
    assert [port.name for port, _ in bind_shapes({1: (1, 3)}, input_ports)] == [x, y]
    for arguments in (None, {}, {x: (2,)}, {y: "?,3"}):
        fault = fault_with(y, actual="[?,3]", expected=mentions())
        assert error_of(lambda arguments=arguments: bind_shapes(arguments, input_ports)) == (
            Code.input_array_shape,
            fault,
        )
    assert error_of(lambda: bind_shapes({y: (4, 4)}, input_ports)) == (
        Code.input_array_shape,
        fault_with(y, actual="[4,4]", expected="[?,3]"),
    )
    assert error_of(lambda: bind_shapes([(4, 4)], input_ports)) == (  # type: ignore[arg-type]  # as callers may
        Code.unknown_input,
        fault_with(actual="list", expected=mentions()),
    )


@pytest.mark.parametrize("value", [3, 3.0, np.int8(3), 5])
def test_whole_numbers(value: Any) -> None:
    number = whole_number(value, "batch", 3)
    assert (type(number), number) == (int, int(value))


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        (2, fault_with("batch", actual=2, expected="3 or more")),
        (3.5, fault_with("batch", actual="3.5", expected=mentions(3))),
        (True, fault_with("batch", actual="True", expected=mentions(3))),
        (None, fault_with("batch", actual="None", expected=mentions(3))),
        ([3], fault_with("batch", actual=mentions(), expected=mentions(3))),
        (
            "x" * 48,
            fault_with(
                "batch", "x" * 48, actual="'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'", expected=mentions(3)
            ),
        ),
        (
            "x" * 49,
            fault_with(
                "batch", "x" * 49, actual="'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...", expected=mentions(3)
            ),
        ),
    ],
)
def test_invalid_integer(value: Any, fault: fault_with) -> None:
    assert error_of(lambda: whole_number(value, "batch", 3)) == (Code.bad_value, fault)


@pytest.mark.parametrize("value", [1e-9, 2, np.float32(0.5), np.int64(3), float("inf")])
def test_seconds(value: Any) -> None:
    assert seconds(value, "max_seconds") == float(value)


@pytest.mark.parametrize("value", [0, -1, float("nan"), True, "1", None, 0.0])
def test_invalid_time(value: Any) -> None:
    fault = fault_with("max_seconds", actual=mentions(), expected=mentions(0))
    assert error_of(lambda: seconds(value, "max_seconds"))[1] == fault


def test_what_can_be_called() -> None:
    require_callable(None, "observe")
    require_callable(print, "observe")
    assert error_of(lambda: require_callable(3, "observe"))[1] == fault_with("observe", actual=3, expected="a function")
