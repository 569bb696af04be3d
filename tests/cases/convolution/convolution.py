"""Convolution and GroupConvolution."""

from __future__ import annotations

import numpy as np

from tests.conformance.case import Case
from tests.helpers.window_cases import data_of, windows

TOLERANCE = {"f64": 1e-5, "f32": 1e-5, "f16": 1e-2, "bf16": 6e-2}


def convolution(
    type: str,
    data: tuple[int, ...],
    filters: tuple[int, ...],
    element_type: str = "f32",
    constants: tuple[int, ...] = (1,),
    wide_vectors: bool = False,
    terms: int = 1000,
    **steps: object,
) -> Case:
    """terms: about how many products are added up, if they are more than a thousand."""
    tolerance = TOLERANCE.get(element_type, 0.0)
    inputs = (data_of(data, element_type), data_of(filters, element_type, 1))
    attributes = windows(len(data) - 2, **steps)  # type: ignore[arg-type]  # as a caller
    atol = tolerance * terms / 100
    return Case(type, 1, inputs, attributes, constants, rtol=tolerance, atol=atol, wide_vectors=wide_vectors)


STEPS: list[dict[str, object]] = [
    {},
    {"strides": 2},
    {"begin": 1},
    {"begin": 2, "end": 0, "strides": 3},
    {"begin": 0, "end": 1, "dilations": 2},
    {"strides": 2, "dilations": 2, "begin": 2},
    *[{"auto_pad": mode} for mode in ("same_upper", "same_lower", "valid")],
    *[{"auto_pad": mode, "strides": 2} for mode in ("same_upper", "same_lower", "valid")],
    *[{"auto_pad": mode, "strides": 3, "dilations": 2} for mode in ("same_upper", "same_lower")],
]

CASES: list[Case] = []

# One, two and three spatial axes.
CASES += [convolution("Convolution", (2, 3, 9), (4, 3, 3), **steps) for steps in STEPS]
CASES += [convolution("Convolution", (2, 3, 7, 8), (4, 3, 3, 2), **steps) for steps in STEPS]
CASES += [convolution("Convolution", (1, 2, 5, 6, 7), (3, 2, 2, 3, 2), **steps) for steps in STEPS[:-2]]
CASES += [
    convolution("Convolution", (1, 2, 9, 10), (3, 2, 3, 2), strides=(1, 3), dilations=(3, 1), begin=(2, 0), end=(0, 1)),
    convolution("Convolution", (1, 2, 4, 5, 6), (3, 2, 1, 2, 3), strides=(2, 1, 2), begin=(0, 1, 2), end=(1, 0, 0)),
]

# Kernels of three elements along every axis, for which there are other ways to multiply.
CASES += [
    convolution("Convolution", (2, 3, 8, 9), (4, 3, 3, 3), **steps)
    for steps in STEPS
    if not {"strides", "dilations"} & set(steps)
]
CASES += [
    convolution("Convolution", (1, 40, 11, 12), (32, 40, 3, 3), begin=1),
    convolution("Convolution", (2, 3, 5, 6, 7), (4, 3, 3, 3, 3), begin=1),
    convolution("GroupConvolution", (2, 6, 7, 6), (3, 4, 2, 3, 3), begin=1),
    convolution("GroupConvolution", (1, 4, 3, 4, 5), (2, 3, 2, 3, 3, 3), auto_pad="same_upper"),
    convolution("Convolution", (1, 2, 1, 6), (3, 2, 3, 3), begin=(3, 0), end=(1, 5)),
]

# Filters of one element; windows that are the whole of the data; large pads.
CASES += [
    convolution("Convolution", (2, 5, 4, 3), (6, 5, 1, 1)),
    convolution("Convolution", (2, 5, 4, 3), (6, 5, 1, 1), strides=2),
    convolution("Convolution", (1, 5, 4, 3), (6, 5, 1, 1), begin=1),
    convolution("Convolution", (1, 5, 1, 1), (6, 5, 1, 1)),
    convolution("Convolution", (1, 5, 4, 3), (2, 5, 4, 3)),
    convolution("Convolution", (1, 1, 2, 2), (1, 1, 3, 3), begin=4, wide_vectors=True),
    convolution("Convolution", (1, 1, 3), (1, 1, 2), dilations=4, begin=1),
    convolution("Convolution", (1, 1, 1), (1, 1, 1)),
]
CASES += [
    convolution("Convolution", (1, 2, 5, 5), (3, 2, 3, 3), constants=constants, auto_pad=mode)
    for constants in ((), (0,), (0, 1))
    for mode in ("explicit", "same_lower")
]
CASES += [convolution("Convolution", (1, 2, 5, 5), (3, 2, 2, 2), auto_pad="SAME_UPPER")]
CASES += [
    Case(
        "Convolution",
        1,
        (data_of((1, 2, 4, 4)), data_of((2, 2, 3, 3))),
        {},
        {1},
        rtol=1e-5,
        atol=1e-4,
        note="no attributes",
    )
]

# More windows, channels and batches than fit into one block.
CASES += [
    convolution("Convolution", (2, 40, 30, 50), (3, 40, 5, 5), begin=2),
    convolution("Convolution", (1, 130, 700), (2, 130, 16), begin=(3,), end=(12,), terms=2080),
    convolution("Convolution", (1, 30, 11, 12, 13), (2, 30, 3, 4, 5), begin=1),
]

# Nothing to convolve.
CASES += [
    convolution("Convolution", (0, 2, 4, 4), (3, 2, 2, 2)),
    Case(
        "Convolution",
        1,
        (np.zeros((2, 0, 3, 3), np.float32), np.zeros((3, 0, 2, 2), np.float32)),
        windows(2),
        {1},
        expected=(np.zeros((2, 3, 2, 2), np.float32),),
        oracle="nobody",
        note="OpenVINO leaves the memory of the output as it is",
    ),
]

# Every element type; integers are exact, 8 bits saturate.
CASES += [
    convolution("Convolution", (1, 3, 6, 5), (4, 3, 3, 2), element_type) for element_type in ("f64", "f16", "bf16")
]
CASES += [
    convolution(type, (1, 4, 6, 5), shape, element_type, begin=1, wide_vectors=element_type == "i8")
    for type, shape in (("Convolution", (3, 4, 2, 2)), ("GroupConvolution", (2, 3, 2, 2, 2)))
    for element_type in ("i8", "u8", "i16", "u16", "i32", "i64")
]
CASES += [
    Case(
        "Convolution",
        1,
        (np.full((1, 1, 3), value, dtype), np.full((1, 1, 2), 100, dtype)),
        windows(1),
        {1},
        expected=(np.full((1, 1, 2), result, dtype),),
    )
    for dtype, value, result in [(np.int8, 100, 127), (np.int8, -100, -128), (np.uint8, 2, 255)]
]
CASES += [
    Case(
        "Convolution",
        1,
        (np.full((1, 1, 2), 2**30, np.int32), np.full((1, 1, 2), 3, np.int32)),
        windows(1),
        {1},
        expected=(np.array([[[2**31]]], np.int64).astype(np.int32),),
        oracle="nobody",
        note="OpenVINO computes in f32",
    )
]
CASES += [
    Case(
        "Convolution",
        1,
        (np.array([[[np.inf, 1, 2, np.nan, 0, 3]]], np.float32), np.array([[[1, -1]]], np.float32)),
        windows(1),
        {1},
        expected=(np.array([[[np.inf, -1, np.nan, np.nan, -3]]], np.float32),),
    )
]

# Groups: depthwise, with several outputs each, and in between.
for steps in STEPS:
    CASES += [convolution("GroupConvolution", (2, 3, 7, 8), (3, 1, 1, 3, 2), **steps)]
CASES += [convolution("GroupConvolution", (2, 6, 7, 8), (3, 4, 2, 3, 2), **steps) for steps in STEPS[:6]]
CASES += [convolution("GroupConvolution", (2, 3, 9), (3, 2, 1, 3), **steps) for steps in STEPS[::2]]
CASES += [convolution("GroupConvolution", (2, 3, 4, 5, 6), (3, 2, 1, 3, 2, 2), **steps) for steps in STEPS[:3]]
CASES += [
    convolution("GroupConvolution", (2, 4, 5, 5), (1, 3, 4, 2, 2)),
    convolution("GroupConvolution", (2, 4, 5, 5), (4, 3, 1, 1, 1)),
    convolution("GroupConvolution", (2, 4, 5, 5), (2, 3, 2, 1, 1), begin=1),
    convolution("GroupConvolution", (1, 4, 1, 1), (4, 1, 1, 1, 1)),
    convolution("GroupConvolution", (3, 70, 60, 61), (70, 1, 1, 3, 3), begin=1),
    convolution("GroupConvolution", (1, 2, 500, 301), (2, 1, 1, 3, 3), strides=2),
    convolution("GroupConvolution", (1, 2, 90001), (2, 1, 1, 5), strides=2, begin=2),
    convolution("GroupConvolution", (1, 2, 5, 5), (2, 1, 1, 2, 2), constants=()),
    convolution("GroupConvolution", (0, 2, 5, 5), (2, 1, 1, 2, 2)),
]
CASES += [
    convolution("GroupConvolution", (1, 3, 6, 5), (3, 1, 1, 3, 2), element_type)
    for element_type in ("f64", "f16", "bf16")
]
