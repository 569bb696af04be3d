"""RandomUniform and Multinomial: their generators, errors, and what stays from run to run."""

from __future__ import annotations

import numpy as np
import pytest

import ir_exec
from ir_exec.errors import EvaluationError, InvalidAttributeError, IRError, raise_error
from ir_exec.kernels.parallel import THREADS
from ir_exec.kernels.random_bits import mersenne_twister, philox, words_of_number, words_of_sequence
from ir_exec.ops.generation.multinomial import Multinomial
from ir_exec.ops.generation.random_uniform import RandomUniform
from ir_exec.types import Array, ElementType, Shape, TensorType
from tests.helpers.network_text import NetworkText, tied_input, tied_output


@pytest.mark.parametrize(
    ("counter", "key", "wanted"),
    [
        ([0, 0, 0, 0], [0, 0], "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ([2**32 - 1] * 4, [2**32 - 1] * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        (
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
            [0xA4093822, 0x299F31D0],
            "d16cfe09 94fdcceb 5001e420 24126ea1",
        ),
    ],
)
def test_philox_of_its_authors(counter: list[int], key: list[int], wanted: str) -> None:
    """The known answers that come with the Random123 library."""
    low, high = counter[0] | counter[1] << 32, counter[2] | counter[3] << 32
    found = philox(key[0] | key[1] << 32, high, low, 1)
    assert " ".join(f"{number:08x}" for number in found[0]) == wanted


def test_blocks_of_philox_do_not_depend_on_the_first() -> None:
    assert np.array_equal(philox(7, 9, 100, 50)[30:], philox(7, 9, 130, 20))


def test_the_twister_of_the_cpp_standard() -> None:
    """[rand.predef] of the C++ standard: the 10000th number of a generator seeded with 5489."""
    assert mersenne_twister(words_of_number(5489)).random_raw(10000)[-1] == 4123659995


def test_a_seed_sequence_counts_the_low_32_bits() -> None:
    assert words_of_sequence((2**40 + 3, 5)) == words_of_sequence((3, 5))
    assert words_of_sequence((3, 5)) != words_of_sequence((5, 3))


def uniform(**attributes: object) -> RandomUniform:
    return RandomUniform(**({"output_type": ElementType.f32} | attributes))


def limits(low: float, high: float, kind: str = "f32") -> tuple[Array, Array]:
    dtype = ElementType[kind].dtype
    return np.array(low, dtype), np.array(high, dtype)


@pytest.mark.parametrize(
    ("shape", "low", "high", "code", "message"),
    [
        (np.array([2, -1]), *limits(0, 1), "IR505", "shape [2, -1] holds a negative size"),
        (np.array([2]), *limits(1, 1), "IR505", "minval is 1.0, expected less than maxval, which is 1.0"),
        (np.array([[2]]), *limits(0, 1), "IR501", "shape has rank 2 ([1,1]), expected 1"),
        (np.array([2]), np.zeros(2, np.float32), np.float32(1), "IR502", "minval has shape [2], expected one element"),
        (np.array([2]), *limits(0, 1, "f64"), "IR402", "minval is f64, output_type is f32; both must be equal"),
    ],
)
def test_errors_of_uniform(shape: Array, low: Array, high: Array, code: str, message: str) -> None:
    with pytest.raises(IRError) as error:
        uniform(global_seed=1).infer(*[TensorType.of(np.asarray(array)) for array in (shape, low, high)])
    assert (error.value.code, error.value.message) == (code, message)


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
    compiled, found = runs("tensorflow", 3)
    wanted = [
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
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    compiled.reset_state()
    assert np.array_equal(compiled()[0], found[0])


def test_pytorch_gives_the_same_in_every_run() -> None:
    _, found = runs("pytorch", 2)
    assert np.array_equal(found[0], found[1])


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
    made = body.result(body.op("Add", value, drawn))
    goes_on = body.result(body.const(np.array(True)))
    ties = [
        tied_input(2, value),
        tied_output(-1, goes_on, purpose="execution_condition"),
        tied_output(3, made, axis=0),
    ]
    (output,) = net.loop(1, "Loop", [trips, start, x], body, ties)
    net.result(output)
    file = net.file()
    compiled = ir_exec.compile_model(ir_exec.read_model(file.xml, weights=file.weights))
    first = compiled([np.zeros(1, np.float32)])[0]
    assert len(set(first.tolist())) == 3
    assert len(set(first.tolist()) | set(compiled([np.zeros(1, np.float32)])[0].tolist())) == 6


def multinomial(**attributes: object) -> Multinomial:
    given = {"convert_type": ElementType.i32, "with_replacement": True, "log_probs": False, "global_seed": 1}
    return Multinomial(**(given | attributes))


@pytest.mark.parametrize(
    ("probs", "count", "replacement", "message"),
    [
        ([[1, 2]], -1, True, "num_samples is -1, expected 0 or more"),
        ([[1, 2]], 3, False, "num_samples is 3, expected at most the 2 classes without replacement"),
        ([[1, 2], [0, 0]], 3, True, "row 1 of probs has no class left with a probability above 0"),
        ([[1, 2, 0], [0, 1, 0]], 2, False, "row 1 of probs has no class left with a probability above 0"),
    ],
)
def test_nothing_to_draw(probs: list[list[float]], count: int, replacement: bool, message: str) -> None:
    operator = multinomial(with_replacement=replacement)
    with pytest.raises(EvaluationError) as error, np.errstate(all="ignore"):
        operator.evaluate(np.array(probs, np.float32), np.array(count))
    assert (error.value.code, error.value.message) == ("IR704", message)


def test_errors_of_multinomial() -> None:
    with pytest.raises(IRError) as error:
        multinomial().infer(TensorType(ElementType.f32, Shape([3])), TensorType.of(np.array(2)))
    assert (error.value.code, error.value.message) == ("IR501", "probs has rank 1 ([3]), expected 2")
    with pytest.raises(IRError) as error:
        multinomial().infer(TensorType(ElementType.f32, Shape([3, 2])), TensorType.of(np.array(-2)))
    assert (error.value.code, error.value.message) == ("IR505", "num_samples is -2, expected 0 or more")


def test_classes_come_as_often_as_they_are_probable() -> None:
    found = multinomial().evaluate(np.array([[1, 2, 5, 0]], np.float32), np.array(8000))
    np.testing.assert_allclose(np.bincount(found[0], minlength=4) / 1000, [1, 2, 5, 0], atol=0.2)


def test_without_replacement_all_classes_come() -> None:
    with np.errstate(all="ignore"):
        found = multinomial(with_replacement=False).evaluate(np.ones((5, 40), np.float32), np.array(40))
    assert np.array_equal(np.sort(found), np.broadcast_to(np.arange(40), (5, 40)))


def test_no_two_draws_without_seeds_are_alike() -> None:
    operator, probs = multinomial(global_seed=0), np.ones((1, 1000), np.float32)
    first, second = (operator.evaluate(probs, np.array(8)) for _ in range(2))
    assert not np.array_equal(first, second)
