"""Multinomial."""

from __future__ import annotations

from typing import Any

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case

SEEDS = [(1, 0), (0, 1), (2**32, 2**40 + 7), (2**63 - 1, 2**63 - 1), (-1, -(2**63)), (0, 0xDEADBEEF)]


def multinomial(
    probs: Any,
    count: int,
    replacement: bool = True,
    logarithms: bool = False,
    *,
    element_type: str = "f32",
    convert_type: str = "i32",
    seeds: tuple[int, int] = (1, 2),
    vector: bool = False,
    index: str = "i64",
    constants: tuple[int, ...] = (1,),
    **more: Any,
) -> Case:
    attributes = {
        "convert_type": convert_type,
        "with_replacement": replacement,
        "log_probs": logarithms,
        "global_seed": seeds[0],
        "op_seed": seeds[1],
    }
    number = np.array([count] if vector else count, ElementType[index].dtype)
    inputs: tuple[Array, ...] = (np.asarray(probs, ElementType[element_type].dtype), number)
    return Case("Multinomial", 13, inputs, attributes, constants=constants, **more)


SHARES = [[0.1, 0.5, 0.4], [5, 1, 1], [0, 1, 3]]
RANDOM = np.random.default_rng(3).uniform(0, 1, (4, 20))
CASES: list[Case] = []

CASES += [multinomial(SHARES, count) for count in (0, 1, 5, 40)]
CASES += [multinomial(SHARES[:2], count, False) for count in (0, 1, 2, 3)]
CASES += [multinomial(RANDOM, 20, replacement) for replacement in (True, False)]
CASES += [multinomial(np.log(RANDOM) + 3, 20, replacement, True) for replacement in (True, False)]
CASES += [multinomial([[-1, 1, 2], [50, 1, 21]], 10, True, True)]
CASES += [
    multinomial(RANDOM, 6, replacement, element_type=element_type)
    for element_type in ("f16", "f64")
    for replacement in (True, False)
]
CASES += [multinomial([[0, 2, 0], [0, 0, 1]], 3, element_type="bf16")]
CASES += [multinomial(RANDOM, 6, seeds=seeds) for seeds in SEEDS]
CASES += [multinomial(SHARES, 5, convert_type="i64"), multinomial(SHARES, 5, vector=True)]
CASES += [multinomial(SHARES, 5, index="i32"), multinomial(SHARES, 5, constants=()), multinomial([[1]], 5)]
CASES += [multinomial(np.zeros((0, 3)), 5), multinomial(np.linspace(1, 2, 1500)[None], 700, False)]
