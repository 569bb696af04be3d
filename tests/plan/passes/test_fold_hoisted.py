"""Values that do not change between the iterations of a loop are computed once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

import ir_exec
from ir_exec.errors import EvaluationError, ResourceError
from ir_exec.plan.records import Step
from ir_exec.runtime.compiled import CompiledModel
from ir_exec.types import Array
from tests.helpers.network_text import NetworkText, Output, tied_input, tied_output

RANDOM = np.random.default_rng(5)
TRIPS = 4
X, FIXED = RANDOM.random((2, 3)).astype(np.float32), RANDOM.random((TRIPS + 1, 2, 3)).astype(np.float32)
MATRIX = RANDOM.random((3, 3)).astype(np.float32)

Body = Callable[[NetworkText, Output, Output, Output], Output]
"""The state after an iteration: of the body, the state before, what is the same in every iteration, and its number."""


def looping(body_of: Body, x: str = "2,3", fixed: str = "5,2,3") -> NetworkText:
    net = NetworkText()
    body = NetworkText(net)
    inputs = [net.const(np.array(TRIPS)), net.const(np.array(True)), net.parameter(x), net.parameter(fixed)]
    state, same, count = body.parameter(), body.parameter(), body.parameter("", "i64")
    result = body.result(body_of(body, state, same, count))
    goes_on = body.result(body.const(np.array(True)))
    ties = [tied_input(2, state), tied_input(3, same), tied_input(-1, count, purpose="current_iteration")]
    ties += [tied_output(4, result), tied_output(-1, goes_on, purpose="execution_condition")]
    for output in net.loop(1, "Loop", inputs, body, ties, [(result, state)]):
        net.result(output)
    return net


def runs(net: NetworkText, *inputs: Array, max_memory: int | None = None) -> tuple[Counter[str], Array]:
    """The number of runs of each type of layer, and the output, equal to that of a plain run but for rounding."""
    file, counts = net.file(), Counter[str]()
    model = ir_exec.read_model(file.xml, weights=file.weights)

    def count_calls(step: Step) -> Step:
        evaluate, operator_type = step.evaluate, step.node.type

        def call(*arrays: Array, **further: object) -> object:
            counts[operator_type] += 1
            return evaluate(*arrays, **further)

        step.evaluate = call
        return step

    limit = {} if max_memory is None else {"max_memory": max_memory}
    compiled = CompiledModel(model, instrument=count_calls, **limit)
    for _ in range(2):
        counts.clear()
        output = compiled(list(inputs))[0]
    np.testing.assert_allclose(output, CompiledModel(model, optimize=False)(list(inputs))[0], rtol=1e-5)
    return counts, output


def plus(body: NetworkText, state: Output, same: Output, count: Output) -> Output:
    return body.op(
        "Add", state, body.op("ReduceSum", body.op("Exp", same), body.const(np.array([0])), keep_dims="false")
    )


def grown(body: NetworkText, state: Output, same: Output, count: Output) -> Output:
    return body.op("Concat", state, body.op("Exp", same), axis=0)


def test_layers_of_fixed_inputs_run_once() -> None:
    counts, output = runs(looping(plus), X, FIXED)
    assert (counts["Exp"], counts["ReduceSum"], counts["Add"]) == (1, 1, TRIPS)
    np.testing.assert_allclose(output, X + TRIPS * np.exp(FIXED).sum(0), rtol=1e-5)


def test_fixed_layers_run_once_with_changing_state_shape() -> None:
    counts, output = runs(looping(grown, fixed="2,3"), X, FIXED[0])
    assert (counts["Exp"], counts["Concat"]) == (1, TRIPS)
    np.testing.assert_allclose(output, np.concatenate([X, *[np.exp(FIXED[0])] * TRIPS]), rtol=1e-6)


def test_hoisted_values_are_not_overwritten() -> None:
    """It is large enough that the next layer would take its memory, and it becomes the state."""

    def body_of(body: NetworkText, state: Output, same: Output, count: Output) -> Output:
        exponential = body.op("Exp", same)
        body.result(exponential)
        return body.op("Add", body.op("Sqrt", exponential), body.op("Abs", state))

    large = RANDOM.random((80, 80)).astype(np.float32)
    counts, output = runs(looping(body_of, "80,80", "80,80"), large, large)
    assert (counts["Exp"], counts["Sqrt"], counts["Abs"]) == (1, 1, TRIPS)
    np.testing.assert_allclose(output, large + TRIPS * np.sqrt(np.exp(large)), rtol=1e-5)


def test_hoisted_values_count() -> None:
    def body_of(body: NetworkText, state: Output, same: Output, count: Output) -> Output:
        many = body.op("Tile", same, body.const(np.array([1000, 1])))
        return body.op("Add", state, body.op("ReduceMax", many, body.const(np.array([0])), keep_dims="false"))

    net = looping(body_of, "100", "1,100")
    inputs = np.ones(100, np.float32), np.ones((1, 100), np.float32)
    with pytest.raises(ResourceError, match="Tile"):
        runs(net, *inputs, max_memory=300_000)
    assert runs(net, *inputs, max_memory=1_000_000)[0]["Tile"] == 1


def test_error_in_hoisted_layer_names_it() -> None:
    def body_of(body: NetworkText, state: Output, same: Output, count: Output) -> Output:
        index = body.op("Convert", same, destination_type="i64")
        values = body.op("Gather", body.const(np.ones(3, np.float32)), index, body.const(np.array(0)), opset=7)
        return body.op("Add", state, values)

    file = looping(body_of, "1", "1").file()
    compiled = CompiledModel(ir_exec.read_model(file.xml, weights=file.weights))
    assert compiled([np.ones(1, np.float32)] * 2)[0].tolist() == [1 + TRIPS]
    with pytest.raises(EvaluationError) as error:
        compiled([np.ones(1, np.float32), np.array([7], np.float32)])
    assert error.value.location.layer_type == "Gather"


def matmul_of_part(axis: int, **attributes: object) -> Body:
    """The state plus the product of a matrix and what the iteration's number chooses of the fixed input."""

    def body_of(body: NetworkText, state: Output, same: Output, count: Output) -> Output:
        part = body.op("Gather", same, count, body.const(np.array(axis)), opset=8)
        return body.op("Add", state, body.op("MatMul", part, body.const(MATRIX), **attributes))

    return body_of


@pytest.mark.parametrize("attributes", [{}, {"transpose_b": "true"}])
@pytest.mark.parametrize(("fixed", "axis"), [((5, 2, 3), 0), ((2, 5, 3), 1), ((2, 5, 3), -2), ((5, 3), 0)])
def test_products_of_parts_are_one_product(fixed: tuple[int, ...], axis: int, attributes: dict[str, object]) -> None:
    operand = RANDOM.random(fixed).astype(np.float32)
    x = np.zeros([size for position, size in enumerate(fixed) if position != axis % len(fixed)], np.float32)
    sizes = [",".join(map(str, array.shape)) for array in (x, operand)]
    counts, output = runs(looping(matmul_of_part(axis, **attributes), *sizes), x, operand)
    assert (counts["MatMul"], counts["Gather"]) == (1, TRIPS)
    matrix = MATRIX.T if attributes else MATRIX
    first = np.take(operand, range(TRIPS), axis).sum(axis)
    np.testing.assert_allclose(output, x + first @ matrix, rtol=1e-5)


def along_the_sum(body: NetworkText, state: Output, same: Output, count: Output) -> Output:
    part = body.op("Gather", same, body.op("Mod", count, body.const(np.array(3))), body.const(np.array(1)), opset=8)
    return body.op("Add", state, body.op("MatMul", part, body.const(RANDOM.random((5, 3)).astype(np.float32))))


def of_the_state(body: NetworkText, state: Output, same: Output, count: Output) -> Output:
    index = body.op("Mod", count, body.const(np.array(2)))
    part = body.op("Gather", state, index, body.const(np.array(0)), opset=8)
    return body.op("Add", state, body.op("MatMul", part, body.const(MATRIX)))


def by_a_matrix_of_the_run(body: NetworkText, state: Output, same: Output, count: Output) -> Output:
    part = body.op("Gather", same, count, body.const(np.array(0)), opset=8)
    return body.op("Add", state, body.op("MatMul", part, state))


def read_twice(body: NetworkText, state: Output, same: Output, count: Output) -> Output:
    part = body.op("Gather", same, count, body.const(np.array(0)), opset=8)
    return body.op("Add", part, body.op("MatMul", part, body.const(MATRIX)))


@pytest.mark.parametrize(
    ("body_of", "x", "fixed"),
    [
        (along_the_sum, (5, 3), (5, 3)),
        (of_the_state, (2, 3), (5, 2, 3)),
        (by_a_matrix_of_the_run, (3, 3), (5, 3, 3)),
        (read_twice, (2, 3), (5, 2, 3)),
        (matmul_of_part(0, transpose_a="true"), (2, 3), (5, 3, 2)),
    ],
)
def test_other_products_stay(body_of: Body, x: tuple[int, ...], fixed: tuple[int, ...]) -> None:
    arrays = [RANDOM.random(shape).astype(np.float32) for shape in (x, fixed)]
    net = looping(body_of, *[",".join(map(str, shape)) for shape in (x, fixed)])
    assert runs(net, *arrays)[0]["MatMul"] == TRIPS


def test_too_large_product_is_not_hoisted() -> None:
    operand = RANDOM.random((400, 2, 3)).astype(np.float32)
    net = looping(matmul_of_part(0), "2,3", "400,2,3")
    assert runs(net, X, operand, max_memory=20_000)[0]["MatMul"] == TRIPS
