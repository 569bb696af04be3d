"""Arguments and definitions in Python's floats for tests of activation functions."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.testing import assert_allclose

from ir_exec.ops import Op
from ir_exec.types import ElementType
from tests.helpers.operators import evaluate

__all__ = ["Definition", "check_absolute", "check_finite", "check_relative", "operator_name", "sigmoid", "softplus"]

Definition = tuple[Op, Callable[[float], float]]

LARGE = (-3e38, -1e30, -1e4, -800, -100, -50)
DOMAIN = np.concatenate([np.linspace(-30, 30, 601), np.geomspace(1e-12, 1e-2, 50), -np.geomspace(1e-12, 1e-2, 50)])


def softplus(x: float) -> float:
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


def operator_name(value: object) -> str | None:
    """Return the name of an operator for the id of a test."""
    return str(type(value).__name__) if isinstance(value, Op) else None


def check_relative(operator: Op, definition: Callable[[float], float]) -> None:
    """Assert that results are relatively accurate, however small they are."""
    expected = [definition(x) for x in DOMAIN.tolist()]
    assert_allclose(evaluate(operator, DOMAIN), expected, rtol=1e-14, atol=1e-300)
    singles = DOMAIN.astype(np.float32)
    expected = [definition(x) for x in singles.tolist()]
    assert_allclose(evaluate(operator, singles), expected, rtol=2e-6)


def check_absolute(operator: Op, definition: Callable[[float], float]) -> None:
    """Assert that results are accurate to the size of the argument, for formulas that subtract."""
    expected = [definition(x) for x in DOMAIN.tolist()]
    assert_allclose(evaluate(operator, DOMAIN), expected, rtol=1e-14, atol=1e-14)
    singles = DOMAIN.astype(np.float32)
    assert_allclose(evaluate(operator, singles), [definition(x) for x in singles.tolist()], rtol=1e-6, atol=1e-6)


def check_finite(operator: Op, element_type: str) -> None:
    """Assert that no finite argument of an element type gives NaN."""
    limit = {"f16": 6e4, "bf16": 3e38, "f32": 3e38, "f64": 1e300}[element_type]
    data = np.clip(np.array(LARGE + tuple(-x for x in LARGE) + (-limit, limit)), -limit, limit)
    data = data.astype(ElementType[element_type].dtype)
    assert not np.isnan(evaluate(operator, data)).any()
