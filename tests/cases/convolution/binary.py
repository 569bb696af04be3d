"""BinaryConvolution."""

from __future__ import annotations

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case
from tests.helpers.window_cases import windows


def bits(array: Array) -> Array:
    return array.astype(np.uint8).view(ElementType.u1.dtype)


def binary(data: tuple[int, ...], filters: tuple[int, ...], expected: Array | None = None, **changes: object) -> Case:
    """With all bytes of the filters the same in both directions, as the plugin reads their bits in reverse order."""
    generator = np.random.default_rng(3)
    half = generator.integers(0, 2, (np.prod(filters) // 8, 4))
    kernel = np.concatenate([half, half[:, ::-1]], axis=1).reshape(filters)
    pad_value = changes.pop("pad_value", 1.0)
    attributes = windows(2, **changes) | {"mode": "xnor-popcount", "pad_value": pad_value}  # type: ignore[arg-type]  # as a caller
    inputs = (generator.integers(0, 2, data).astype(np.float32), bits(kernel))
    return Case("BinaryConvolution", 1, inputs, attributes, {1})


CASES: list[Case] = []

CASES += [
    binary((2, 8, 5, 6), (8, 8, 3, 2)),
    binary((1, 16, 5, 6), (3, 16, 2, 2), strides=2),
    binary((1, 8, 5, 6), (4, 8, 3, 3), dilations=2),
    binary((1, 8, 5, 6), (4, 8, 3, 3), begin=1),
    binary((1, 8, 5, 6), (4, 8, 3, 3), auto_pad="same_upper"),
    binary((1, 8, 5, 6), (4, 8, 3, 3), auto_pad="same_lower", strides=2),
    binary((1, 8, 5, 6), (4, 8, 3, 3), auto_pad="valid"),
    binary((1, 8, 5, 6), (4, 8, 3, 3), pad_value=-1.0),
]
CASES += [
    Case(
        "BinaryConvolution",
        1,
        (np.array([[[[1, 0], [1, 1]]]], ElementType[element_type].dtype), bits(np.array([[[[1, 0]]]]))),
        windows(2, **steps) | {"mode": "xnor-popcount", "pad_value": pad_value},  # type: ignore[arg-type]  # as a caller
        {1},
        expected=(np.array(expected, ElementType[element_type].dtype),),
        oracle="nobody",
        note="the plugin is wrong for channels that are no multiple of eight, and leaves padding of 0 out",
    )
    for element_type in ("f32", "f16", "i32", "i8")
    for steps, pad_value, expected in [
        ({}, 0.0, [[[[2], [0]]]]),
        ({"begin": (0, 1)}, 0.0, [[[[-2, 2, 0], [-2, 0, 2]]]]),
        ({"begin": (0, 1)}, 1.0, [[[[0, 2, -2], [0, 0, 0]]]]),
    ]
]
