"""ScaledDotProductAttention."""

from __future__ import annotations

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case

TOLERANCE = {"f64": 1e-5, "f32": 1e-5, "f16": 4e-3, "bf16": 2e-2}


def data_of(kind: str, shape: tuple[int, ...], seed: int) -> Array:
    return np.random.default_rng(seed).uniform(-1.5, 1.5, shape).astype(ElementType[kind].dtype)


def pattern(*shape: int) -> Array:
    """A boolean mask that shuts out some keys, but never the first one."""
    mask = np.random.default_rng(9).integers(0, 2, shape).astype(np.bool_)
    mask[..., 0] = True
    return mask


def attention(
    query: tuple[int, ...],
    key: tuple[int, ...],
    value: tuple[int, ...],
    *further: Array,
    causal: bool = False,
    kind: str = "f32",
    **fields: object,
) -> Case:
    inputs = tuple(data_of(kind, shape, seed) for seed, shape in enumerate((query, key, value)))
    tolerance = TOLERANCE[kind]
    return Case(
        "ScaledDotProductAttention",
        13,
        inputs + further,
        {"causal": causal},
        **{"rtol": tolerance, "atol": tolerance} | fields,  # type: ignore[arg-type]  # as a caller
    )


def mask(*shape: int, kind: str = "f32") -> Array:
    return data_of(kind, shape, 7)


def number(value: float, kind: str = "f32", shape: tuple[int, ...] = ()) -> Array:
    return np.full(shape, value, ElementType[kind].dtype)


SHAPES = [
    ((1, 4, 8), (1, 5, 8), (1, 5, 6)),
    ((2, 3, 4, 8), (2, 3, 5, 8), (2, 3, 5, 6)),
    ((2, 3, 4, 8), (2, 3, 4, 8), (2, 3, 4, 8)),
    ((2, 3, 1, 8), (2, 3, 5, 8), (2, 3, 5, 8)),
    ((2, 3, 7, 8), (2, 3, 1, 8), (2, 3, 1, 8)),
    ((1, 1, 1, 1), (1, 1, 1, 1), (1, 1, 1, 1)),
    ((2, 1, 3, 4, 8), (2, 1, 3, 5, 8), (2, 1, 3, 5, 6)),
]
BROADCAST = [
    ((2, 1, 4, 8), (1, 3, 5, 8), (1, 1, 5, 6)),
    ((2, 1, 4, 8), (1, 3, 5, 8), (1, 5, 6)),
    ((1, 4, 8), (2, 3, 5, 8), (2, 3, 5, 6)),
    ((4, 4, 8), (1, 5, 8), (1, 5, 8)),
]
FOUR = ((2, 3, 4, 8), (2, 3, 5, 8), (2, 3, 5, 6))

CASES = [attention(*shapes, causal=causal) for shapes in SHAPES + BROADCAST for causal in (False, True)]

# Masks, added or boolean, of every form that broadcasts.
CASES += [
    attention(*FOUR, form(*shape))
    for form in (mask, pattern)
    for shape in ((4, 5), (1, 5), (4, 1), (1, 1), (1, 4, 5), (3, 4, 5), (2, 1, 4, 5), (2, 3, 4, 5), (2, 3, 1, 5))
]
CASES += [
    attention((2, 4, 8), (2, 5, 8), (2, 5, 6), form(*shape))
    for form in (mask, pattern)
    for shape in ((4, 5), (2, 1, 5))
]
CASES += [attention(*FOUR, number(0)), attention(*FOUR, number(1)), attention(*FOUR, np.array(True))]
CASES += [attention(*FOUR, mask(7, 1, 1, 4, 5)), attention((2, 1, 8), (2, 5, 8), (2, 5, 6), mask(4, 5))]
CASES += [attention(*FOUR, np.where(pattern(4, 5), 0, -np.inf).astype(np.float32))]
CASES += [attention(*FOUR, np.arange(20).reshape(4, 5) >= 5), attention(*FOUR, np.array(False))]

# Ignored where causal, even if it would not fit.
CASES += [
    attention(*FOUR, one, causal=True)
    for one in (mask(4, 5), pattern(4, 5), number(0), mask(4, 4), mask(5), mask(2, 9, 9))
]

# Scale.
CASES += [
    attention(*FOUR, number(0), number(0.3)),
    attention(*FOUR, mask(4, 5), number(0.3)),
    attention(*FOUR, mask(4, 5), number(0.3, shape=(1,))),
    attention(*FOUR, pattern(4, 5), number(2)),
    attention(*FOUR, mask(4, 5), number(0.3), causal=True),
    attention(*FOUR, mask(4, 5), number(0.0)),
    attention(*FOUR, mask(4, 5), number(0.3), constants={3, 4}),
]

# Sink: a score without a value.
CASES += [
    attention(*FOUR, one, number(0.3), sink, causal=causal)
    for causal in (False, True)
    for one in (mask(4, 5), number(0))
    for sink in (mask(1, 3, 1, 1), mask(2, 3, 1, 1), mask(1, 1, 4, 1), number(30, shape=(1, 1, 1, 1)))
]
CASES += [attention((2, 4, 8), (2, 5, 8), (2, 5, 6), mask(4, 5), number(0.3), mask(2, 1, 1))]

# Large scores.
CASES += [attention(*FOUR, mask(4, 5), number(100)), attention(*FOUR, number(-80) * pattern(4, 5))]

# Element types: computed in f32.
CASES += [
    attention(*FOUR, *further, causal=causal, kind=kind)
    for kind in ("f64", "f16", "bf16")
    for further, causal in [
        ((), False),
        ((), True),
        ((mask(4, 5, kind=kind),), False),
        ((pattern(4, 5),), False),
        ((mask(4, 5, kind=kind), number(0.25, kind), mask(1, 3, 1, 1, kind=kind)), False),
    ]
]

# Vectors so short that the largest score is not sought, and cut into pieces: with other numbers in `costs`.
SHORT = ((2, 3, 9, 2), (2, 3, 12, 2), (2, 3, 12, 2))
LOWEST = np.where(pattern(9, 12), 0, -6e4)
CASES += [
    attention(*SHORT, *further, causal=causal, kind=kind)
    for kind in ("f32", "f64", "f16", "bf16")
    for further, causal in [
        ((), False),
        ((), True),
        ((LOWEST.astype(ElementType[kind].dtype),), False),
        ((pattern(9, 12),), False),
        ((np.arange(12)[np.newaxis] < 7,), False),
        ((pattern(2, 1, 9, 12),), False),
        ((number(0, kind), number(30, kind)), False),
        ((number(0, kind), number(0.25, kind), mask(1, 3, 1, 1, kind=kind)), False),
    ]
]

# Nothing to ask, and nothing to attend to.
CASES += [attention((2, 0, 8), (2, 5, 8), (2, 5, 6))]
CASES += [
    attention(
        query,
        key,
        value,
        expected=(np.zeros((2, 4, 6), np.float32),),
        oracle="nobody",
        note="OpenVINO returns memory as it was",
    )
    for query, key, value in [((2, 4, 8), (2, 0, 8), (2, 0, 6))]
]
