"""Steps of optimizers (domain ai.onnx.preview.training).

The inputs after the learning rate and the step count are tensors, then their gradients, then their averages.
"""

from __future__ import annotations

from collections.abc import Sequence

from ir_exec import build
from ir_exec.build import Value
from ir_exec.codes import Code
from ir_exec.errors import GraphError, InvalidAttributeError
from ir_exec.onnx.lowering.registry import TRAINING, onnx_op
from ir_exec.onnx.lowering.values import cast, number

__all__: list[str] = []


def _groups(inputs: Sequence[Value], parts: int) -> list[tuple[Value, ...]]:
    """The inputs of each optimized tensor."""
    if not inputs or len(inputs) % parts:
        raise GraphError(
            "the node has",
            actual=len(inputs),
            detail="inputs",
            expected=f"a multiple of {parts}",
            code=Code.wrong_number_of_inputs,
        )
    count = len(inputs) // parts
    return [tuple(inputs[first::count]) for first in range(count)]


def _columns(results: Sequence[tuple[Value, ...]]) -> list[Value]:
    return [value for column in zip(*results, strict=True) for value in column]


def _regularize(x: Value, gradient: Value, coefficient: float) -> Value:
    return build.add(build.multiply(number(coefficient, x), x), gradient) if coefficient else gradient


@onnx_op("Adagrad", since=1, domain=TRAINING)
def adagrad(
    rate: Value, count: Value, *inputs: Value, decay_factor: float, epsilon: float, norm_coefficient: float
) -> list[Value]:
    results = []
    for x, gradient, squares in _groups(inputs, 3):
        steps = build.multiply(cast(count, x.element_type), number(decay_factor, x))
        step = build.divide(cast(rate, x.element_type), build.add(number(1, x), steps))
        gradient = _regularize(x, gradient, norm_coefficient)
        squares = build.add(squares, build.multiply(gradient, gradient))
        scale = build.add(build.sqrt(squares), number(epsilon, x))
        results.append((build.subtract(x, build.divide(build.multiply(step, gradient), scale)), squares))
    return _columns(results)


@onnx_op("Adam", since=1, domain=TRAINING)
def adam(
    rate: Value,
    count: Value,
    *inputs: Value,
    alpha: float,
    beta: float,
    epsilon: float,
    norm_coefficient: float,
    norm_coefficient_post: float,
) -> list[Value]:
    results = []
    for x, gradient, means, squares in _groups(inputs, 4):
        one, steps = number(1, x), cast(count, x.element_type)
        gradient = _regularize(x, gradient, norm_coefficient)
        means = build.add(build.multiply(number(alpha, x), means), build.multiply(number(1 - alpha, x), gradient))
        square = build.multiply(gradient, gradient)
        squares = build.add(build.multiply(number(beta, x), squares), build.multiply(number(1 - beta, x), square))
        root = build.add(build.sqrt(squares), number(epsilon, x))
        plain = cast(rate, x.element_type)
        grown = build.sqrt(build.subtract(one, build.power(number(beta, x), steps)))
        corrected = build.divide(
            build.multiply(plain, grown), build.subtract(one, build.power(number(alpha, x), steps))
        )
        step = build.select(build.greater(count, number(0, count)), corrected, plain)
        after = build.subtract(x, build.divide(build.multiply(step, means), root))
        results.append((build.multiply(number(1 - norm_coefficient_post, x), after), means, squares))
    return _columns(results)


@onnx_op("Momentum", since=1, domain=TRAINING)
def momentum(
    rate: Value, count: Value, *inputs: Value, alpha: float, beta: float, mode: str, norm_coefficient: float
) -> list[Value]:
    if mode not in ("standard", "nesterov"):
        raise InvalidAttributeError("mode is", actual=repr(mode), expected="standard or nesterov")
    results = []
    for x, gradient, moved in _groups(inputs, 3):
        gradient = _regularize(x, gradient, norm_coefficient)
        factor = build.select(build.greater(count, number(0, count)), number(beta, x), number(1, x))
        moved = build.add(build.multiply(number(alpha, x), moved), build.multiply(factor, gradient))
        way = moved if mode == "standard" else build.add(gradient, build.multiply(number(alpha, x), moved))
        results.append((build.subtract(x, build.multiply(cast(rate, x.element_type), way)), moved))
    return _columns(results)
