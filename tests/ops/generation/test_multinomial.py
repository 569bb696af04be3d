"""Multinomial: how often classes are drawn, and errors."""

from __future__ import annotations

import numpy as np
import pytest

import ir_exec
from ir_exec.errors import EvaluationError, IRError
from ir_exec.infer.known import with_known_values
from ir_exec.ops.generation.multinomial import Multinomial
from ir_exec.types import ElementType, Shape, TensorType
from tests.helpers.facts import fault_with, mentions
from tests.helpers.network_text import NetworkText
from tests.helpers.operators import make


def multinomial(**attributes: object) -> Multinomial:
    defaults = {"convert_type": ElementType.i32, "with_replacement": True, "log_probs": False, "global_seed": 1}
    return Multinomial(**(defaults | attributes))


@pytest.mark.parametrize(
    ("probs", "count", "replacement", "fault"),
    [
        ([[1, 2]], -1, True, fault_with("num_samples", actual=-1, expected="0 or more")),
        ([[1, 2]], 3, False, fault_with("num_samples", actual=3, expected=mentions(2))),
        ([[1, 2], [0, 0]], 3, True, fault_with(1, "probs", 0)),
        ([[1, 2, 0], [0, 1, 0]], 2, False, fault_with(1, "probs", 0)),
    ],
)
def test_nothing_to_draw(probs: list[list[float]], count: int, replacement: bool, fault: fault_with) -> None:
    operator = multinomial(with_replacement=replacement)
    with pytest.raises(EvaluationError) as error, np.errstate(all="ignore"):
        operator.evaluate(np.array(probs, np.float32), np.array(count))
    assert (error.value.code, error.value) == ("IR704", fault)


def test_errors_of_multinomial() -> None:
    with pytest.raises(IRError) as error:
        multinomial().infer(TensorType(ElementType.f32, Shape([3])), TensorType.of(np.array(2)))
    assert (error.value.code, error.value) == ("IR501", fault_with("probs", "[3]", actual=1, expected=2))
    with pytest.raises(IRError) as error:
        multinomial().infer(TensorType(ElementType.f32, Shape([3, 2])), TensorType.of(np.array(-2)))
    assert (error.value.code, error.value) == ("IR505", fault_with("num_samples", actual=-2, expected="0 or more"))


def test_class_frequencies_match_probabilities() -> None:
    result = multinomial().evaluate(np.array([[1, 2, 5, 0]], np.float32), np.array(8000))
    np.testing.assert_allclose(np.bincount(result[0], minlength=4) / 1000, [1, 2, 5, 0], atol=0.2)


def test_without_replacement_all_classes_come() -> None:
    with np.errstate(all="ignore"):
        result = multinomial(with_replacement=False).evaluate(np.ones((5, 40), np.float32), np.array(40))
    assert np.array_equal(np.sort(result), np.broadcast_to(np.arange(40), (5, 40)))


def test_no_two_draws_without_seeds_are_alike() -> None:
    operator, probs = multinomial(global_seed=0), np.ones((1, 1000), np.float32)
    first, second = (operator.evaluate(probs, np.array(8)) for _ in range(2))
    assert not np.array_equal(first, second)


def test_draws_from_constants_are_unknown_in_advance() -> None:
    operator = make("Multinomial", 13, convert_type="i64", with_replacement="true", log_probs="false")
    types = [TensorType.of(np.full((1, 4), 0.25, np.float32)), TensorType.of(np.array(3))]
    (drawn,) = with_known_values(operator, types, [operator.infer(*types)])
    assert drawn.value is None
    net = NetworkText()
    probs, count = net.const(np.full((1, 1000), 1e-3, np.float32)), net.const(np.array(50))
    attributes = {"convert_type": "i64", "with_replacement": "true", "log_probs": "false"}
    net.result(net.op("Multinomial", probs, count, opset=13, **attributes))
    file = net.file()
    compiled = ir_exec.compile_model(file.xml, weights=file.weights)
    first, second = (next(iter(compiled([]).values())).tolist() for _ in range(2))
    assert first != second
