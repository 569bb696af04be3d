"""Layers that compute each element on its own."""

from __future__ import annotations

from collections.abc import Callable
from math import erf
from typing import Any

import numpy as np

from ir_exec.types import Array
from tests.older.cases_by_family.single import CASES, Case, X, case, image, single_layer


@case
def eltwise_sum_with_coefficients() -> Case:
    y = image(1, 4, 5, 6, seed=1)
    told = {"operation": "sum", "coeff": "1.0,-0.5"}
    return single_layer("Eltwise", [X, y], X - 0.5 * y, told)


@case
def eltwise_of_three() -> Case:
    y, z = image(1, 4, 5, 6, seed=1), image(1, 4, 5, 6, seed=2)
    return single_layer("Eltwise", [X, y, z], X * y * z, {"operation": "prod"}, version=2, element="elementwise_data")


def _eltwise(operation: str, expected: Callable[[Array, Array], Array]) -> None:
    def eltwise_case() -> Case:
        y = np.abs(image(1, 4, 5, 6, seed=1)) + 1
        x = np.abs(X) + (X > 0) if operation in ("pow", "floor_mod") else np.where(X > 1, y, X)
        return single_layer("Eltwise", [x, y], expected(x, y).astype(np.float32), {"operation": operation})

    CASES[f"eltwise_{operation}"] = eltwise_case


for _name, _function in {
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "sub": np.subtract,
    "div": np.divide,
    "pow": np.power,
    "squared_diff": lambda x, y: (x - y) ** 2,
    "floor_mod": np.mod,
    "mean": lambda x, y: (x + y) / 2,
    "equal": np.equal,
    "not_equal": np.not_equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "logical_and": lambda x, y: (x != 0) & (y != 0),
    "logical_or": lambda x, y: (x != 0) | (y != 0),
    "logical_xor": lambda x, y: (x != 0) ^ (y != 0),
}.items():
    _eltwise(_name, _function)


@case
def power() -> Case:
    x = np.abs(X)
    return single_layer("Power", [x], (1 + 2 * x) ** 1.5, {"power": 1.5, "scale": 2.0, "shift": 1.0})


@case
def power_that_changes_nothing() -> Case:
    return single_layer("Power", [X], X, {"power": 1, "scale": 1, "shift": 0})


def _activation(type: str, data: dict[str, Any] | None, expected: Callable[[Array], Array], x: Array = X) -> None:
    name = f"activation_{type.lower()}_{len(CASES)}"
    CASES[name] = lambda: single_layer(type, [x], np.asarray(expected(x), np.float32), data)
    lower = {"ReLU6": "relu6", "TanH": "tanh"}.get(type, type.lower())
    if type in ("ReLU", "Sigmoid", "TanH", "ELU", "Clamp", "ReLU6", "Exp"):
        CASES[f"{name}_named"] = lambda: single_layer(
            "Activation", [x], np.asarray(expected(x), np.float32), {"type": lower, **(data or {})}
        )


_positive = np.abs(X) + 1


_small = np.tanh(X)


for _type, _data, _expected, _x in (
    ("ReLU", {"negative_slope": 0.0}, lambda x: np.maximum(x, 0), X),
    ("ReLU", {"negative_slope": 0.25}, lambda x: np.where(x > 0, x, x / 4), X),
    ("ReLU", None, lambda x: np.maximum(x, 0), X),
    ("ReLU6", {"n": 1.5}, lambda x: np.clip(x, 0, 1.5), X),
    ("ELU", {"alpha": 0.5}, lambda x: np.where(x > 0, x, 0.5 * (np.exp(x) - 1)), X),
    ("Clamp", {"min": -0.5, "max": 0.75}, lambda x: np.clip(x, -0.5, 0.75), X),
    ("Sigmoid", None, lambda x: 1 / (1 + np.exp(-x)), X),
    ("TanH", None, np.tanh, X),
    ("Exp", None, np.exp, X),
    ("Abs", None, np.abs, X),
    ("Ceil", None, np.ceil, X),
    ("Floor", None, np.floor, X),
    ("Log", None, np.log, _positive),
    ("Neg", None, np.negative, X),
    ("Reciprocal", None, lambda x: 1 / x, _positive),
    ("Sign", None, np.sign, X),
    ("Softplus", None, lambda x: np.log1p(np.exp(x)), X),
    ("Softsign", None, lambda x: x / (1 + np.abs(x)), X),
    ("Selu", None, lambda x: 1.05070102 * np.where(x > 0, x, 1.67326319 * (np.exp(x) - 1)), X),
    ("HardSigmoid", {"alpha": 0.25, "beta": 0.5}, lambda x: np.clip(0.25 * x + 0.5, 0, 1), X),
    ("Sin", None, np.sin, X),
    ("Cos", None, np.cos, X),
    ("Tan", None, np.tan, _small),
    ("Sinh", None, np.sinh, X),
    ("Cosh", None, np.cosh, X),
    ("Asin", None, np.arcsin, _small),
    ("Acos", None, np.arccos, _small),
    ("Atan", None, np.arctan, X),
    ("Asinh", None, np.arcsinh, X),
    ("Acosh", None, np.arccosh, _positive),
    ("Atanh", None, np.arctanh, _small),
    ("Not", None, lambda x: x == 0, np.round(X)),
    ("Copy", None, lambda x: x, X),
):
    _activation(_type, _data, _expected, _x)


@case
def prelu_of_channels() -> Case:
    slopes = image(4, seed=1)
    expected = np.where(X > 0, X, X * slopes[:, None, None])
    return single_layer("PReLU", [X], expected, {"channel_shared": 0}, {"weights": slopes})


@case
def prelu_of_one_slope() -> Case:
    slopes = np.float32([0.25])
    return single_layer("PReLU", [X], np.where(X > 0, X, X / 4), {"channel_shared": 1}, {"weights": slopes})


def _elementwise(
    type: str, expected: Callable[[Array], Array], data: dict[str, Any] | None = None, x: Array = X
) -> None:
    CASES[f"{type.lower()}_of_every_element"] = lambda: single_layer(
        type, [x], np.asarray(expected(x), np.float32), data
    )


for _type, _expected, _data, _x in (
    ("Ceiling", np.ceil, None, X),
    ("Logistic", lambda x: 1 / (1 + np.exp(-x)), None, X),
    ("Sqrt", np.sqrt, None, _positive),
    ("Erf", np.vectorize(erf), None, X),
    ("Gelu", lambda x: x * (1 + np.vectorize(erf)(x / np.sqrt(2))) / 2, None, X),
    ("Swish", lambda x: x / (1 + np.exp(-2 * x)), {"alpha": 2.0}, X),
    ("HSwish", lambda x: x * np.clip(x + 3, 0, 6) / 6, None, X),
    ("Mish", lambda x: x * np.tanh(np.log1p(np.exp(x))), None, X),
):
    _elementwise(_type, _expected, _data, _x)


@case
def convert() -> Case:
    return single_layer(
        "Convert", [X * 3], (X * 3).astype(np.int32), {"precision": "I32"}, precisions=["I32"], version=7
    )
