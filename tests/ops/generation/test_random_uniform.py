"""RandomUniform: the generators' own numbers, and what stays the same."""

from __future__ import annotations

import numpy as np
import pytest

import ir_exec
from ir_exec.errors import EvaluationError, InvalidAttributeError, IRError, raise_error
from ir_exec.kernels.parallel import THREADS
from ir_exec.ops.generation.random_uniform import RandomUniform
from ir_exec.types import Array, ElementType, Shape, TensorType
from tests.helpers.facts import fault_with, mentions
from tests.helpers.network_text import NetworkText, tied_input, tied_output
from tests.helpers.operators import make


def uniform(**attributes: object) -> RandomUniform:
    return RandomUniform(**({"output_type": ElementType.f32} | attributes))


def limits(low: float, high: float, element_type: str = "f32") -> tuple[Array, Array]:
    dtype = ElementType[element_type].dtype
    return np.array(low, dtype), np.array(high, dtype)


@pytest.mark.parametrize(
    ("shape", "low", "high", "code", "fault"),
    [
        (np.array([2, -1]), *limits(0, 1), "IR505", fault_with(actual="[2, -1]", expected=mentions())),
        (np.array([2]), *limits(1, 1), "IR505", fault_with("minval", actual="1.0", expected=mentions())),
        (np.array([[2]]), *limits(0, 1), "IR501", fault_with("[1,1]", actual=2, expected=1)),
        (
            np.array([2]),
            np.zeros(2, np.float32),
            np.float32(1),
            "IR502",
            fault_with("minval", actual="[2]", expected="one element"),
        ),
        (
            np.array([2]),
            *limits(0, 1, "f64"),
            "IR402",
            fault_with("minval", "output_type", actual="f64", expected="f32"),
        ),
    ],
)
def test_errors_of_uniform(shape: Array, low: Array, high: Array, code: str, fault: fault_with) -> None:
    with pytest.raises(IRError) as error:
        uniform(global_seed=1).infer(*[TensorType.of(np.asarray(array)) for array in (shape, low, high)])
    assert (error.value.code, error.value) == (code, fault)


@pytest.mark.parametrize(
    ("shape", "low", "high", "port"), [([-1], 0, 1, "shape"), ([2], 1, 1, "minval"), ([2], np.nan, 1, "minval")]
)
def test_errors_of_a_uniform_run(shape: list[int], low: float, high: float, port: str) -> None:
    with pytest.raises(EvaluationError) as error:
        uniform(global_seed=1).evaluate(np.array(shape), *limits(low, high))
    assert (error.value.code, error.value.location.port) == ("IR704", port)


@pytest.mark.parametrize(
    "attributes",
    [{"output_type": "u8"}, {"output_type": "f32", "alignment": "jax"}, {"output_type": "f32", "op_seed": "1.5"}],
)
def test_attributes_that_cannot_be(attributes: dict[str, str]) -> None:
    with pytest.raises(InvalidAttributeError) as error:
        RandomUniform.parse(attributes, raise_error)
    assert error.value.code == "IR302"


def test_a_shape_within_bounds() -> None:
    shape = TensorType(ElementType.i64, Shape([2])).with_bounds(np.array([1, 0]), np.array([3, 2**63 - 1]))
    unknown = TensorType(ElementType.f32, Shape([]))
    assert uniform().infer(shape, unknown, unknown).shape == [(1, 3), None]
    assert uniform().infer(TensorType(ElementType.i64, Shape([None])), unknown, unknown).shape == Shape.unknown()


@pytest.mark.parametrize("alignment", ["tensorflow", "pytorch"])
def test_without_seeds_no_two_runs_are_alike(alignment: str) -> None:
    first, second = (uniform(alignment=alignment).evaluate(np.array([8]), *limits(0, 1)) for _ in range(2))
    assert not np.array_equal(first, second)
    assert ((first >= 0) & (first < 1)).all()


def test_threads_change_nothing() -> None:
    operator, inputs = uniform(global_seed=5), (np.array([300_001]), *limits(0, 1))
    alone = operator.evaluate(*inputs)
    token = THREADS.set(3)
    try:
        assert np.array_equal(operator.evaluate(*inputs), alone)
    finally:
        THREADS.reset(token)


def drawing(alignment: str) -> NetworkText:
    net = NetworkText()
    inputs = [net.const(np.array([6])), *[net.const(limit) for limit in limits(0, 1000)]]
    attributes = {"output_type": "f32", "global_seed": 12, "op_seed": 34, "alignment": alignment}
    for _ in range(2):
        net.result(net.op("RandomUniform", *inputs, opset=8, **attributes))
    return net


def runs(alignment: str, count: int) -> tuple[ir_exec.CompiledModel, list[Array]]:
    file = drawing(alignment).file()
    compiled = ir_exec.compile_model(ir_exec.read_model(file.xml, weights=file.weights))
    results = [compiled() for _ in range(count)]
    assert all(np.array_equal(result[0], result[1]) for result in results), "a layer goes on where itself stopped"
    return compiled, [result[0] for result in results]


def test_every_run_goes_on_as_in_openvino() -> None:
    """The second and third lines are what OpenVINO 2026.4.1 gave in its second and third inference."""
    compiled, actual = runs("tensorflow", 3)
    expected = [
        [768.5678100585938, 967.840576171875, 62.479854583740234, 960.3753051757812, 932.0179443359375, 793.5576171875],
        [
            173.0958251953125,
            19.617916107177734,
            552.4189453125,
            289.7677307128906,
            395.06744384765625,
            68.75991821289062,
        ],
        [786.7305297851562, 695.0857543945312, 274.48486328125, 19.758583068847656, 537.43505859375, 564.5587158203125],
    ]
    np.testing.assert_allclose(actual, expected, rtol=1e-6)
    compiled.reset_state()
    assert np.array_equal(compiled()[0], actual[0])


def test_pytorch_gives_the_same_in_every_run() -> None:
    _, result = runs("pytorch", 2)
    assert np.array_equal(result[0], result[1])


def test_iterations_draw_different_numbers() -> None:
    net = NetworkText()
    trips, start = net.const(np.array(3)), net.const(np.array(True))
    x = net.parameter("1")
    body = NetworkText(net)
    value = body.parameter("1")
    drawn = body.op(
        "RandomUniform",
        body.const(np.array([1])),
        *[body.const(limit) for limit in limits(0, 1)],
        opset=8,
        output_type="f32",
        global_seed=1,
        op_seed=2,
    )
    result = body.result(body.op("Add", value, drawn))
    goes_on = body.result(body.const(np.array(True)))
    ties = [
        tied_input(2, value),
        tied_output(-1, goes_on, purpose="execution_condition"),
        tied_output(3, result, axis=0),
    ]
    (output,) = net.loop(1, "Loop", [trips, start, x], body, ties)
    net.result(output)
    file = net.file()
    compiled = ir_exec.compile_model(ir_exec.read_model(file.xml, weights=file.weights))
    first = compiled([np.zeros(1, np.float32)])[0]
    assert len(set(first.tolist())) == 3
    assert len(set(first.tolist()) | set(compiled([np.zeros(1, np.float32)])[0].tolist())) == 6


@pytest.mark.parametrize("shape", [[2, -1], [-1, 3]])
def test_negative_size_at_run_time(shape: list[int]) -> None:
    with pytest.raises(EvaluationError) as error:
        uniform(global_seed=1).evaluate(np.array(shape), *limits(0, 1))
    assert error.value == fault_with("shape", actual=shape, expected=mentions())


@pytest.mark.parametrize(
    ("text", "seed"),
    [("0", 0), ("-1", 2**64 - 1), (str(-(2**63)), 2**63), (str(2**63 - 1), 2**63 - 1)],
)
def test_seeds_are_64_bits_without_a_sign(text: str, seed: int) -> None:
    operator = make("RandomUniform", 8, output_type="f32", global_seed=text, op_seed=text)
    assert (operator.global_seed, operator.op_seed) == (seed, seed)
