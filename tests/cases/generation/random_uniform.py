"""RandomUniform."""

from __future__ import annotations

from typing import Any

import numpy as np

from ir_exec.types import ElementType
from tests.conformance.case import Case

ORACLES = {"i32": "plugin", "bf16": "plugin"}
"""f16, f64 and i64 the plugin draws as f32 and i32, and f32 it does not round after the multiplication."""


def uniform(
    shape: tuple[int, ...],
    low: float,
    high: float,
    element_type: str = "f32",
    seeds: tuple[int, int] = (12, 34),
    alignment: str | None = None,
    *,
    index: str = "i64",
    vector: bool = False,
    constants: tuple[int, ...] = (0, 1, 2),
    **more: Any,
) -> Case:
    dtype = ElementType[element_type].dtype
    limits = [np.array([limit] if vector else limit, dtype) for limit in (low, high)]
    attributes = {"output_type": element_type, "global_seed": seeds[0], "op_seed": seeds[1]}
    if alignment is not None:
        attributes["alignment"] = alignment
    inputs = (np.array(shape, ElementType[index].dtype), *limits)
    more = {"oracle": ORACLES.get(element_type, "reference"), "wide_vectors": element_type == "bf16"} | more
    return Case("RandomUniform", 8, inputs, attributes, constants=constants, **more)


CASES = [
    uniform(
        (3, 3),
        0,
        1,
        seeds=(150, 10),
        expected=(
            np.array(
                [
                    [0.7011236, 0.30539632, 0.93931055],
                    [0.9456035, 0.11694777, 0.50770056],
                    [0.5197197, 0.22727466, 0.991374],
                ],
                np.float32,
            ),
        ),
        rtol=1e-6,
        note="specification",
    ),
    uniform(
        (2, 2),
        2,
        10,
        "f64",
        seeds=(80, 100),
        expected=(np.array([[5.65927959, 4.23122376], [2.67008206, 2.36423758]]),),
        rtol=1e-8,
        note="specification",
    ),
    uniform(
        (2, 3),
        50,
        100,
        "i32",
        seeds=(80, 100),
        expected=(np.array([[65, 70, 56], [59, 82, 92]], np.int32),),
        note="specification",
    ),
]

SEEDS = [(1, 0), (0, 1), (2**32, 2**40 + 7), (2**63 - 1, 2**63 - 1), (-1, -(2**63)), (0, 0xDEADBEEF)]
CASES += [uniform((2, 5), 0, 1, "f32", seeds, oracle="plugin") for seeds in SEEDS]
CASES += [
    uniform((50,), -3, 7.3, alignment=to, oracle="plugin", rtol=1e-6, atol=1e-6) for to in ("tensorflow", "pytorch")
]
CASES += [
    uniform((9,), -100, 100, element_type, seeds) for element_type in ("i32", "i64", "f64") for seeds in SEEDS[2:5]
]
CASES += [uniform((9,), 0, 1, "f32", seeds, "pytorch") for seeds in SEEDS]
CASES += [uniform((9,), 0, 1, "f64", seeds, "pytorch") for seeds in SEEDS[2:5]]

FLOATS = ("f32", "f16", "bf16", "f64")
RANGES = [(0, 1), (-3, 5), (0.1, 0.2), (-1000, 60000)]
ALIGNMENTS = ("tensorflow", "pytorch")
CASES += [
    uniform((7,), *range_, element_type, alignment=to)
    for element_type in FLOATS
    for range_ in RANGES
    for to in ALIGNMENTS
]
INTEGERS = [(-3, 5), (0, 2), (-7, 2**20), (2**31 - 5, 2**31 - 1)]
WIDE = (-(2**31), 2**31 - 1)
LONG = [(-5, 2**40), (2**33, 2**33 + 3), (-(2**62), 2**62 - 1), (0, 2**32), (0, 2**32 - 1), (-(2**40), 5)]
CASES += [uniform((7,), *range_, "i32", alignment=to) for range_ in INTEGERS for to in ALIGNMENTS]
CASES += [uniform((7,), *WIDE, "i32", alignment=to, oracle="reference") for to in ALIGNMENTS]
CASES += [uniform((7,), *range_, "i64", alignment=to) for range_ in [*INTEGERS, WIDE, *LONG] for to in ALIGNMENTS]

# Shapes, and sequences longer than a state of the twister and than a chunk.
CASES += [
    uniform(shape, 0, 1, alignment=to) for shape in ((), (1,), (0,), (2, 0, 3), (1, 2, 3, 4)) for to in ALIGNMENTS
]
CASES += [
    uniform((1303,), -3, 5, element_type, alignment=to) for element_type in (*FLOATS, "i32", "i64") for to in ALIGNMENTS
]
CASES += [uniform((1303,), 0, 2**40, "i64", alignment="pytorch")]
CASES += [uniform((300, 301), 0, 1, "f32", alignment=to) for to in ALIGNMENTS]
CASES += [uniform((70001,), 0, 1, "f64", alignment=to) for to in ALIGNMENTS]
CASES += [
    uniform((4,), 0, 1, index="i32"),
    uniform((4,), 0, 1, vector=True),
    uniform((4,), 0, 1, alignment="TENSORFLOW"),
]
CASES += [uniform((2, 3), 0, 1, constants=constants) for constants in ((), (0,), (1, 2), (0, 1))]
