"""Arithmetic, comparison, logic and activations of single elements."""

from __future__ import annotations

from itertools import chain

import numpy as np

from tests.onnx.cases.values import floats, integers, positive
from tests.onnx.runtime import LEFT_OUT, Node, rows

__all__ = ["CASES"]

PAIRS = [
    (floats(2, 3), floats(2, 3, seed=1)),
    (floats(2, 3), floats(3, seed=1)),
    (floats(), floats(4, seed=1)),
    (floats(), floats(seed=1)),
    (floats(2, 1, 3), floats(4, 1, seed=1)),
    (floats(0, 3), floats(1, seed=1)),
    (floats(2, 3, dtype=np.float64), floats(1, 3, dtype=np.float64, seed=1)),
    (floats(2, 3, dtype=np.float16), floats(2, 1, dtype=np.float16, seed=1)),
]

WHOLE = [
    (integers(-20, 20, 2, 4, dtype=dtype), integers(1, 6, 4, dtype=dtype))
    for dtype in (np.int32, np.int64, np.int8, np.int16)
] + [(integers(0, 20, 2, 4, dtype=dtype), integers(1, 6, 4, dtype=dtype)) for dtype in (np.uint8, np.uint32, np.uint64)]

SIGNED = [(integers(-20, 20, 2, 4, dtype=dtype), integers(-5, -1, 4, dtype=dtype)) for dtype in (np.int32, np.int64)]

FALSE_AND_TRUE = [
    (integers(0, 2, 3, 4, dtype=bool), integers(0, 2, 4, dtype=bool)),
    (integers(0, 2, dtype=bool), integers(0, 2, 0, dtype=bool)),
]

ONE = [
    (floats(2, 5),),
    (floats(),),
    (floats(0, 3),),
    (floats(4, dtype=np.float64),),
    (floats(4, dtype=np.float16),),
    (np.array([0.0, -0.0, np.inf, -np.inf, np.nan], np.float32),),
]

INSIDE = [(np.linspace(-0.95, 0.95, 7, dtype=np.float32),), (floats(0),)]


def _pairs() -> list[Node]:
    nodes: list[Node] = []
    for name in ("Add", "Sub", "Mul"):
        nodes += rows(name, (7, 14), *PAIRS, *WHOLE)
    nodes += rows("Div", (7, 14), *PAIRS, *WHOLE, *SIGNED)
    nodes += rows("Pow", (7, 12, 15), (positive(2, 3), floats(3)), (positive(2, 3), floats()))
    nodes += rows("Pow", (15,), (floats(4), integers(0, 4, 4)), (integers(-3, 3, 4), integers(0, 4, 4, dtype=np.int32)))
    nodes += rows("Mod", (10, 13), *WHOLE, *SIGNED, fmod=[0, 1])
    nodes += rows("Mod", (10, 13), *PAIRS[:5], fmod=[1])
    for name in ("Equal", "Greater", "Less"):
        nodes += rows(name, (7, 9, 13), *(PAIRS if name != "Equal" else []), *WHOLE[:2])
    nodes += rows("Equal", (11, 13, 19), *PAIRS, *FALSE_AND_TRUE)
    for name in ("GreaterOrEqual", "LessOrEqual"):
        nodes += rows(name, (12, 16), *PAIRS, *WHOLE[:2])
    for name in ("And", "Or", "Xor"):
        nodes += rows(name, (7,), *FALSE_AND_TRUE)
    for name in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
        nodes += rows(name, (18,), *WHOLE)
    nodes += rows("BitShift", (11,), *WHOLE[4:], direction=["LEFT", "RIGHT"])
    nodes += rows("PRelu", (7, 9, 16), *PAIRS[:2], (floats(2, 3, 4), floats(3, 1, seed=1)))
    for name in ("Max", "Min"):
        nodes += rows(name, (8, 12, 13), *PAIRS, (floats(3),), (floats(3), floats(2, 1, seed=1), floats(seed=2)))
        nodes += rows(name, (12, 13), *WHOLE[:3])
    for name in ("Sum", "Mean"):
        nodes += rows(name, (8, 13), *PAIRS[:6], (floats(3),), (floats(3), floats(2, 1, seed=1), floats(seed=2)))
    nodes += rows("Where", (9, 16), (integers(0, 2, 2, 1, dtype=bool), floats(3), floats(4, 1, 1, seed=1)))
    nodes += rows("Where", (16,), (np.array(True), integers(0, 9, 3), integers(0, 9, 3, seed=1)))
    return nodes


def _single() -> list[Node]:
    nodes: list[Node] = []
    plain = ("Abs", "Neg", "Exp", "Floor", "Ceil", "Sigmoid", "Tanh", "Relu", "Reciprocal", "Sqrt", "Log")
    for name in plain:
        nodes += rows(name, (6, 13), *ONE[:5])
    for name in ("Abs", "Neg", "Sign"):
        nodes += rows(name, (13,), (integers(-5, 5, 4, dtype=np.int32),), (integers(-5, 5, 4, dtype=np.int8),))
    for name in ("Abs", "Neg", "Relu", "Floor", "Ceil", "Sign", "Sigmoid", "Tanh", "Exp", "Sqrt", "Reciprocal"):
        nodes += rows(name, (13,), ONE[5])
    for name in ("Sin", "Cos", "Tan", "Atan", "Softsign", "Softplus"):
        nodes += rows(name, (7 if name in ("Sin", "Cos", "Tan", "Atan") else 1,), *ONE[:4])
    for name in ("Sinh", "Cosh", "Asinh", "Erf", "Sign"):
        nodes += rows(name, (9, 22) if name not in ("Erf", "Sign") else (9, 13), *ONE[:4])
    for name in ("Asin", "Acos", "Atanh"):
        nodes += rows(name, (9, 22), *INSIDE)
    nodes += rows("Acosh", (9, 22), (positive(2, 3) + 1,))
    halves = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 2.4, np.inf, np.nan], np.float32)
    nodes += rows("Round", (11, 22), (halves,), *ONE[:5])
    nodes += rows("IsNaN", (9, 13, 20), *ONE[3:])
    nodes += rows("IsInf", (10, 20), ONE[5], detect_negative=[0, 1], detect_positive=[0, 1])
    nodes += rows("Not", (1,), (integers(0, 2, 3, dtype=bool),), (np.array(True),))
    nodes += rows("BitwiseNot", (18,), *[pair[:1] for pair in WHOLE])
    nodes += rows("Elu", (6, 22), *ONE[:4], alpha=[LEFT_OUT, 0.5])
    nodes += rows("Celu", (12,), *ONE[:3], alpha=[LEFT_OUT, 0.5])
    nodes += rows("Selu", (6, 22), *ONE[:4], alpha=[LEFT_OUT, 2.0], gamma=[LEFT_OUT, 1.5])
    nodes += rows("LeakyRelu", (6, 16), *ONE[:4], alpha=[LEFT_OUT, 0.3])
    nodes += rows("ThresholdedRelu", (10, 22), *ONE[:4], alpha=[LEFT_OUT, 0.3])
    nodes += rows("HardSigmoid", (6, 22), *ONE[:4], alpha=[LEFT_OUT, 0.3], beta=[LEFT_OUT, 0.4])
    nodes += rows("HardSwish", (14, 22), *ONE[:4])
    nodes += rows("Mish", (18, 22), *ONE[:3])
    nodes += rows("Gelu", (20,), *ONE[:4], approximate=["none", "tanh"])
    nodes += rows("Shrink", (9,), *ONE[:4], lambd=[LEFT_OUT, 0.7], bias=[LEFT_OUT, 0.2])
    nodes += rows("Shrink", (9,), (integers(-5, 5, 6, dtype=np.int32),), lambd=[2.0], bias=[1.0])
    nodes += rows("Swish", (24,), *ONE[:3], alpha=[LEFT_OUT, 0.5])
    return nodes


def _clips() -> list[Node]:
    low, high = np.array(-1, np.float32), np.array(1.5, np.float32)
    nodes = list(rows("Clip", (6,), (floats(2, 3),), min=[LEFT_OUT, -1.0], max=[LEFT_OUT, 1.0]))
    bounds = [(floats(2, 3), low, high), (floats(2, 3), None, high), (floats(0), low)]
    nodes += chain(rows("Clip", (11, 12, 13), *bounds), rows("Clip", (13,), *bounds, constants=(1, 2)))
    nodes += rows("Clip", (13,), (floats(2, 3), high, low), (floats(3),))
    nodes += rows("Clip", (12, 13), (integers(-9, 9, 5), np.array(-2), np.array(4)))
    nodes += rows("Clip", (12, 13), (integers(0, 99, 5, dtype=np.uint8), np.array(3, np.uint8), np.array(40, np.uint8)))
    return nodes


CASES = [*_pairs(), *_single(), *_clips()]
