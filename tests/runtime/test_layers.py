"""Calls with an observer: the layers of the file run one by one, with the constants and the limits of the model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import ir_exec
from ir_exec import ResourceError, build
from ir_exec.graph import Node
from ir_exec.tuning.machine import pretend
from ir_exec.types import Array

RANDOM = np.random.default_rng(53)
MATRIX = RANDOM.standard_normal((400, 600), np.float32)
ROWS = RANDOM.standard_normal((640, 400), np.float32)


def layers_seen(compiled: ir_exec.CompiledModel, *inputs: Array) -> list[str]:
    names: list[str] = []
    compiled(list(inputs), observe=lambda node, *_: names.append(node.name))
    return names


def product() -> ir_exec.Model:
    """A product with a scaled constant matrix, large enough for panels."""
    matrix = build.multiply(build.constant(MATRIX), build.constant(np.float32(0.5)), name="scaled")
    return build.model(build.relu(build.matmul(build.parameter([640, 400]), matrix, name="product"), name="relu"))


@pytest.fixture
def panels() -> Iterator[None]:
    """Products are multiplied as on a CPU with AVX-512."""
    with pretend(has_small_kernels=True):
        yield


@pytest.mark.usefixtures("panels")
def test_observer_sees_equal_layers_around_other_calls() -> None:
    compiled = ir_exec.compile_model(product(), optimize="full")
    before = layers_seen(compiled, ROWS)
    compiled([ROWS])
    constants = compiled.executor.compiler.constants
    assert constants is not None
    assert any(packed.values for packed in constants.packed), "the matrix is packed"
    assert layers_seen(compiled, ROWS) == before == ["product", "relu"]
    compiled = ir_exec.compile_model(product(), optimize="full")
    compiled([ROWS])
    assert layers_seen(compiled, ROWS) == before


def test_an_observed_call_makes_no_plan() -> None:
    compiled = ir_exec.compile_model(product())
    observed = compiled([ROWS], observe=lambda *_: None)[0]
    assert compiled.executor.plans == []
    assert_array_equal(observed, ir_exec.compile_model(product(), optimize=False)([ROWS])[0])


def test_an_observed_call_obeys_the_budget_of_memory() -> None:
    data = build.parameter([100, 1000], name="data")
    model = build.model(build.add(build.relu(data, name="first"), build.exp(data, name="second"), name="sum"))
    array, size = np.ones((100, 1000), np.float32), 400_000
    for tensors, is_enough in ((3, True), (1, False)):
        compiled = ir_exec.compile_model(model, max_memory=tensors * size + 10_000, optimize=False)
        names: list[str] = []
        if is_enough:
            compiled([array], observe=lambda node, *_, names=names: names.append(node.name))
            assert names == ["first", "second", "sum"]
            continue
        with pytest.raises(ResourceError) as caught:
            compiled([array], observe=lambda node, *_, names=names: names.append(node.name))
        assert names == ["first"]
        assert caught.value.location.layer_name == "second"


@pytest.mark.parametrize("keeps", [False, True])
def test_arrays_that_an_observer_keeps_count(keeps: bool) -> None:
    value = build.parameter([100, 1000], name="data")
    for number in range(6):
        value = build.relu(value, name=f"relu{number}")
    compiled = ir_exec.compile_model(build.model(value), max_memory=3 * 400_000 + 10_000, optimize=False)
    arrays: list[Array] = []

    def observe(node: Node, inputs: list[Array], outputs: list[Array]) -> None:
        arrays.extend(outputs if keeps else ())

    data = np.ones((100, 1000), np.float32)
    if not keeps:
        assert_array_equal(compiled([data], observe=observe)[0], data)
        return
    with pytest.raises(ResourceError) as caught:
        compiled([data], observe=observe)
    assert (caught.value.location.layer_name, len(arrays)) == ("relu3", 3)


def constant_result(number: Any, x: Any) -> tuple[None, list[Any], list[Any]]:
    """A body whose carried value is computed from constants alone."""
    return None, [build.negative(build.constant(np.ones(4, np.float32)))], []


def test_a_caller_cannot_change_the_constants_of_a_body() -> None:
    (result,) = build.loop(3, None, constant_result, carried=[build.parameter([4])], name="loop")
    compiled = ir_exec.compile_model(build.model(result))
    for _ in range(2):
        outputs = compiled([np.zeros(4, np.float32)], observe=lambda *_: None)
        assert_array_equal(outputs[0], -np.ones(4, np.float32))
        outputs[0][...] = 7


def test_errors_of_inference_come_before_the_first_layer() -> None:
    left, right = build.parameter([None], name="left"), build.parameter([None], name="right")
    model = build.model(build.add(build.relu(left), right, name="sum"))
    compiled = ir_exec.compile_model(model)
    assert layers_seen(compiled, np.ones(2, np.float32), np.ones(2, np.float32))
    names: list[str] = []
    with pytest.raises(ir_exec.ShapeError) as caught:
        compiled([np.ones(2, np.float32), np.ones(3, np.float32)], observe=lambda node, *_: names.append(node.name))
    assert (caught.value.location.layer_name, names) == ("sum", [])
