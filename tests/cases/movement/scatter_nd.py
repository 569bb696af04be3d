"""ScatterNDUpdate."""

from __future__ import annotations

from math import prod

import numpy as np

from ir_exec.types import Array, ElementType
from tests.cases.movement.scatter import MOVED, NUMBERS, OTHERS, below, distinct
from tests.conformance.case import Case
from tests.helpers.index_cases import indices_of, values_of
from tests.helpers.values import floats, ints, iota


def nd(since: int, data: Array, indices: Array, updates: Array, reduction: str | None = None, **fields: object) -> Case:
    attributes = {} if reduction is None else {"reduction": reduction}
    inputs = (data, indices, updates)
    return Case("ScatterNDUpdate", since, inputs, attributes, **fields)  # type: ignore[arg-type]  # as a caller


CASES: list[Case] = []

# Shape of data, of indices without the tuple, length of the tuple.
NDS: list[tuple[tuple[int, ...], tuple[int, ...], int]] = [
    ((8,), (4,), 1),
    ((4,), (1,), 1),
    ((3, 4), (5,), 2),
    ((3, 4), (2,), 1),
    ((3, 4), (1, 2), 1),
    ((2, 3, 4), (2, 3), 3),
    ((2, 3, 4), (3,), 2),
    ((2, 3, 4), (1, 2, 1), 2),
    ((2, 3, 4), (2,), 1),
    ((2, 1, 3, 2), (2, 2), 3),
    ((3, 4), (0,), 2),
    ((3, 4), (2, 0), 1),
    ((3, 0), (2,), 1),
]
for seed, (shape, leading, length) in enumerate(NDS):
    positions = distinct(leading, prod(shape[:length]), seed)
    indices = np.stack(np.unravel_index(positions, shape[:length]), -1).astype(np.int32 if seed % 2 else np.int64)
    negative = indices - np.array(shape[:length], indices.dtype) * (seed % 3 != 1)
    updates = below(*leading, *shape[length:])
    CASES.append(nd(4, iota(*shape), indices, updates, constants={1} if seed % 4 == 1 else ()))
    CASES.append(nd(15, iota(*shape), negative, updates))
    again = np.concatenate([indices, negative], 0)
    for reduction in ("sum", "sub", "prod", "min", "max"):
        if seed in (2, 6, 8, 11):
            reduced = np.concatenate([updates, updates + 3], 0)
            CASES.append(nd(15, iota(*shape), again, reduced, reduction))
for turn, reduction in enumerate(("none", "sum", "sub", "prod", "min", "max")):
    for name in NUMBERS[turn % 2 :: 2]:
        element_type = ElementType[name]
        low = -3 if element_type.is_signed else 1
        data, updates = indices_of((3, 2), low + 3, 7, 3), indices_of((4, 2), low, 3, 4)
        if reduction == "sub":
            data = data + 9
        indices = ints([0], [2], [0], [-1]) if reduction != "none" else ints([0], [2], [1], [-3])[:3]
        data, updates = data.astype(element_type.dtype), updates[: len(indices)].astype(element_type.dtype)
        CASES.append(nd(15, data, indices, updates, reduction))
    booleans = np.array([[True, False], [True, True], [False, False]])
    flags = np.array([[True, False], [True, True], [False, True], [True, True]])
    if reduction != "none":
        CASES.append(nd(15, booleans, ints([0], [2], [0], [-2]), flags, reduction))
SPEC = floats(1, 2, 3, 4), ints([0], [2], [-3], [-3], [0]), floats(10, 20, 30, 40, 50)
CUBE = np.array([[[1, 2, 3, 4], [5, 6, 7, 8], [8, 7, 6, 5], [4, 3, 2, 1]]] * 2, np.float32)
CUBE = np.concatenate([CUBE, CUBE[:, [2, 3, 0, 1]]])
ROWS = np.repeat(np.arange(1, 9, dtype=np.float32), 4).reshape(2, 4, 4)[::-1]
CASES += [
    nd(4, iota(8) + 1, ints([4], [3], [1], [7]), floats(9, 10, 11, 12),
       expected=(floats(1, 11, 3, 10, 9, 6, 7, 12),), note="ScatterNDUpdate_3, 1"),
    nd(15, iota(8) + 1, ints([4], [3], [1], [7], [-2], [-4]), floats(9, 10, 11, 12, 13, 14), oracle="nobody",
       expected=(floats(1, 11, 3, 10, 14, 6, 13, 12),), note="ScatterNDUpdate_15, 1, the last one wins"),
    nd(4, CUBE, ints([0], [2]), ROWS, expected=(np.stack([ROWS[0], CUBE[1], ROWS[1], CUBE[3]]),), note="example 2"),
    nd(15, *SPEC, "sum", expected=(floats(61, 72, 23, 4),), note="example 2"),
    nd(15, *SPEC, "sub", expected=(floats(-59, -68, -17, 4),), note="example 3"),
    nd(15, *SPEC, "prod", expected=(floats(500, 2400, 60, 4),), note="example 4, whose numbers are of other indices"),
    nd(15, SPEC[0].astype(np.float16), SPEC[1], SPEC[2].astype(np.float16), "sum"),
    nd(4, iota(2, 3), ints(0, -1), np.array(9, np.float32), note="updates is a scalar"),
    nd(4, iota(2, 3), ints(0, -1), floats(9), oracle="reference", note="updates is one element"),
    nd(15, iota(2, 3), ints(0, -1), floats([[9]]), "sum", oracle="reference", note="updates is one element"),
    nd(4, iota(2, 3), np.zeros((2, 0), np.int64), below(2, 2, 3), oracle="reference", note="empty tuples"),
    nd(15, iota(2, 3), np.zeros(0, np.int64), below(2, 3), "sum", oracle="reference", note="an empty tuple"),
    nd(15, iota(3), ints([1], [1], [1], [0]), floats(5, 6, 7, 8), oracle="nobody", expected=(floats(8, 7, 2),),
       note="the last one wins"),
    nd(15, floats(1, np.nan, 3), ints([0], [1], [2]), floats(np.nan, 3, 2), "min"),
    nd(15, floats(1, np.nan, 3), ints([0], [1], [2]), floats(np.nan, 3, 4), "max"),
    nd(15, ints(100, 100, element_type="i8"), ints([0], [1], [1]), ints(100, -2, 100, element_type="i8"), "sum"),
    nd(15, ints(5, 7, element_type="u8"), ints([0], [1], [1]), ints(6, 9, 11, element_type="u8"), "sub"),
]  # fmt: skip

# Element types that are only moved.
for name in MOVED:
    data, updates, expected = values_of(name, [0, 1, 2]), values_of(name, [3, 0]), values_of(name, [0, 0, 3])
    CASES.append(nd(15, data, ints([-1], [1]), updates, "none", expected=(expected,)))
for name in OTHERS:
    codes = ([1, 1, 0], [1, 0], [1, 0, 1]) if name == "u1" else ([0, 1, 2], [3, 0], [0, 0, 3])
    data, updates, expected = (values_of(name, list(some)) for some in codes)
    CASES.append(
        nd(15, data, ints([-1], [1]), updates, "none", oracle="nobody", expected=(expected,), note="the plugin cannot")
    )
# 4-bit integers wrap in four bits.
CASES += [
    nd(15, ints(15, 3, element_type="u4"), ints([0], [1]), ints(2, 5, element_type="u4"), "prod", oracle="nobody",
       expected=(ints(14, 15, element_type="u4"),), note="wraps"),
]  # fmt: skip
