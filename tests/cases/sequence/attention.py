"""ScaledDotProductAttention."""

from __future__ import annotations

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case

TOLERANCE = {"f64": 1e-5, "f32": 1e-5, "f16": 4e-3, "bf16": 2e-2}


def data_of(element_type: str, shape: tuple[int, ...], seed: int) -> Array:
    return np.random.default_rng(seed).uniform(-1.5, 1.5, shape).astype(ElementType[element_type].dtype)


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
    element_type: str = "f32",
    **fields: object,
) -> Case:
    inputs = tuple(data_of(element_type, shape, seed) for seed, shape in enumerate((query, key, value)))
    tolerance = TOLERANCE[element_type]
    return Case(
        "ScaledDotProductAttention",
        13,
        inputs + further,
        {"causal": causal},
        **{"rtol": tolerance, "atol": tolerance} | fields,  # type: ignore[arg-type]  # as a caller
    )


def mask(*shape: int, element_type: str = "f32") -> Array:
    return data_of(element_type, shape, 7)


def number(value: float, element_type: str = "f32", shape: tuple[int, ...] = ()) -> Array:
    return np.full(shape, value, ElementType[element_type].dtype)


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
    attention(*FOUR, attention_mask, causal=True)
    for attention_mask in (mask(4, 5), pattern(4, 5), number(0), mask(4, 4), mask(5), mask(2, 9, 9))
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
    attention(*FOUR, attention_mask, number(0.3), sink, causal=causal)
    for causal in (False, True)
    for attention_mask in (mask(4, 5), number(0))
    for sink in (mask(1, 3, 1, 1), mask(2, 3, 1, 1), mask(1, 1, 4, 1), number(30, shape=(1, 1, 1, 1)))
]
CASES += [attention((2, 4, 8), (2, 5, 8), (2, 5, 6), mask(4, 5), number(0.3), mask(2, 1, 1))]

# Large scores.
CASES += [attention(*FOUR, mask(4, 5), number(100)), attention(*FOUR, number(-80) * pattern(4, 5))]

# Element types: computed in f32.
CASES += [
    attention(*FOUR, *further, causal=causal, element_type=element_type)
    for element_type in ("f64", "f16", "bf16")
    for further, causal in [
        ((), False),
        ((), True),
        ((mask(4, 5, element_type=element_type),), False),
        ((pattern(4, 5),), False),
        (
            (
                mask(4, 5, element_type=element_type),
                number(0.25, element_type),
                mask(1, 3, 1, 1, element_type=element_type),
            ),
            False,
        ),
    ]
]

# Vectors so short that the largest score is not sought, and split: with other values in `costs`.
SHORT = ((2, 3, 9, 2), (2, 3, 12, 2), (2, 3, 12, 2))
LOWEST = np.where(pattern(9, 12), 0, -6e4)
CASES += [
    attention(*SHORT, *further, causal=causal, element_type=element_type)
    for element_type in ("f32", "f64", "f16", "bf16")
    for further, causal in [
        ((), False),
        ((), True),
        ((LOWEST.astype(ElementType[element_type].dtype),), False),
        ((pattern(9, 12),), False),
        ((np.arange(12)[np.newaxis] < 7,), False),
        ((pattern(2, 1, 9, 12),), False),
        ((number(0, element_type), number(30, element_type)), False),
        ((number(0, element_type), number(0.25, element_type), mask(1, 3, 1, 1, element_type=element_type)), False),
    ]
]

# No queries, and no keys.
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
