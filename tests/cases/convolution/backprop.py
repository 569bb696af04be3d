"""ConvolutionBackpropData and GroupConvolutionBackpropData."""

from __future__ import annotations

import numpy as np

from tests.cases.convolution.convolution import TOLERANCE
from tests.conformance.case import Case
from tests.helpers.window_cases import data_of, windows


def deconvolution(
    type: str,
    data: tuple[int, ...],
    filters: tuple[int, ...],
    element_type: str = "f32",
    constants: tuple[int, ...] = (1, 2),
    *,
    sizes: tuple[int, ...] | None = None,
    sizes_kind: str = "int64",
    more: int | tuple[int, ...] | None = 0,
    **steps: object,
) -> Case:
    rank = len(data) - 2
    inputs = [data_of(data, element_type), data_of(filters, element_type, 1)]
    if sizes is not None:
        inputs.append(np.array(sizes, sizes_kind))
    attributes = windows(rank, **steps)  # type: ignore[arg-type]  # as a caller
    if more is not None:
        attributes["output_padding"] = more if isinstance(more, tuple) else (more,) * rank
    tolerance = TOLERANCE.get(element_type, 0.0)
    positions = tuple(position for position in constants if position < len(inputs))
    return Case(type, 1, tuple(inputs), attributes, positions, rtol=tolerance, atol=tolerance * 10)


ONE, GROUPS = "ConvolutionBackpropData", "GroupConvolutionBackpropData"

STEPS: list[dict[str, object]] = [
    {},
    {"strides": 2},
    {"strides": 2, "begin": 1},
    {"strides": 3, "begin": 2, "end": 0},
    {"dilations": 2, "begin": 0, "end": 1},
    {"strides": 2, "dilations": 2, "begin": 1},
    {"strides": 3, "more": 2},
    {"strides": 2, "more": 1, "begin": 1},
    {"strides": 3, "dilations": 2, "more": 1, "begin": 2},
    *[{"strides": 2, "auto_pad": mode, "more": 1} for mode in ("same_upper", "same_lower", "valid")],
]

CASES: list[Case] = []

# One, two and three spatial axes.
CASES += [deconvolution(ONE, (2, 3, 5), (3, 4, 3), **steps) for steps in STEPS]  # type: ignore[arg-type]  # as a caller
CASES += [deconvolution(ONE, (2, 3, 4, 5), (3, 4, 3, 4), **steps) for steps in STEPS]  # type: ignore[arg-type]  # as a caller
CASES += [deconvolution(ONE, (1, 2, 2, 3, 4), (2, 3, 2, 3, 3), **steps) for steps in STEPS[:-3]]  # type: ignore[arg-type]  # as a caller
CASES += [
    deconvolution(ONE, (1, 2, 3, 4), (2, 3, 3, 2), strides=(1, 3), dilations=(3, 1), begin=(2, 0), end=(0, 1)),
    deconvolution(ONE, (1, 2, 3, 4), (2, 3, 1, 1)),
    deconvolution(ONE, (1, 2, 3, 4), (2, 3, 1, 1), strides=3),
    deconvolution(ONE, (1, 2, 3, 4), (2, 3, 2, 2), strides=2),
    deconvolution(ONE, (1, 2, 3, 4), (2, 3, 2, 2), strides=(4, 5), begin=1),
    deconvolution(ONE, (1, 2, 1, 1), (2, 3, 3, 3)),
    deconvolution(ONE, (1, 2, 3, 4), (2, 3, 2, 2), more=None),
    deconvolution(ONE, (1, 2, 3, 4), (2, 3, 2, 2), auto_pad="VALID"),
]
CASES += [deconvolution(ONE, (1, 2, 3, 4), (2, 3, 2, 2), constants=constants) for constants in ((), (0,))]
CASES += [
    Case(ONE, 1, (data_of((1, 2, 3, 3)), data_of((2, 2, 3, 3))), {}, {1}, rtol=1e-5, atol=1e-4, note="no attributes")
]

# More than fits into one block.
CASES += [
    deconvolution(ONE, (2, 20, 41, 30), (20, 30, 4, 4), strides=2, begin=1),
    deconvolution(ONE, (1, 3, 5000), (3, 40, 16), strides=8, begin=4),
    deconvolution(GROUPS, (2, 90, 30, 31), (90, 1, 1, 4, 4), strides=2, begin=1),
]

# Sizes that are named: less and more than the data reaches, with every way to pad.
CASES += [
    deconvolution(ONE, (1, 2, 2, 3), (2, 3, 3, 3), sizes=sizes, strides=2, begin=1, end=0, auto_pad=mode)
    for mode in ("explicit", "same_upper", "same_lower", "valid")
    for sizes in ((5, 7), (4, 6), (3, 4), (6, 8), (8, 9))
]
CASES += [
    deconvolution(ONE, (1, 2, 2, 3), (2, 3, 3, 3), sizes=(4, 6), strides=2, more=1, auto_pad=mode)
    for mode in ("same_upper", "same_lower")
]
CASES += [
    deconvolution(ONE, (1, 2, 3), (2, 3, 4), sizes=(7,), strides=3, dilations=2, auto_pad="same_upper"),
    deconvolution(ONE, (1, 2, 2, 2, 3), (2, 3, 3, 2, 3), sizes=(4, 3, 5), strides=2, auto_pad="same_lower"),
    deconvolution(GROUPS, (1, 4, 2, 3), (2, 2, 3, 3, 3), sizes=(4, 5), strides=2, auto_pad="same_upper"),
    deconvolution(ONE, (1, 2, 2, 3), (2, 3, 3, 3), sizes=(4, 6), sizes_kind="int32", strides=2, auto_pad="same_upper"),
]
# Sizes known only at run time. With sizes of unknown number OpenVINO infers an output of rank 2.
CASES += [
    Case(
        ONE,
        1,
        (np.array([[[1, 10]]], np.float32), np.array([[[1, 2, 3]]], np.float32), np.array([size], np.int64)),
        windows(1, strides=2, auto_pad=mode),
        {1},
        expected=(np.array([[result]], np.float32),),
        oracle="nobody",
        dynamic=False,
        note="by hand; the plugin fails",
    )
    for mode, size, result in [
        ("same_upper", 4, [2, 13, 20, 30]),
        ("same_lower", 4, [1, 2, 13, 20]),
        ("same_lower", 3, [2, 13, 20]),
        ("valid", 6, [1, 2, 13, 20, 30, 0]),
    ]
]

# Groups.
CASES += [deconvolution(GROUPS, (2, 4, 3, 4), (2, 2, 3, 3, 3), **steps) for steps in STEPS]  # type: ignore[arg-type]  # as a caller
CASES += [deconvolution(GROUPS, (2, 4, 3, 4), (4, 1, 1, 3, 4), **steps) for steps in STEPS[:6]]  # type: ignore[arg-type]  # as a caller
CASES += [
    deconvolution(GROUPS, (2, 4, 5), (2, 2, 3, 3), strides=2),
    deconvolution(GROUPS, (2, 4, 2, 3, 2), (2, 2, 1, 2, 2, 3), strides=2),
    deconvolution(GROUPS, (1, 4, 3, 4), (4, 1, 2, 2, 2), constants=()),
]

# Element types.
CASES += [
    deconvolution(type, (1, 2, 3, 4), shape, element_type, strides=2)
    for type, shape in ((ONE, (2, 3, 3, 3)), (GROUPS, (2, 1, 1, 3, 3)))
    for element_type in ("f64", "f16", "bf16")
]
CASES += [deconvolution(ONE, (1, 2, 3, 4), (2, 3, 2, 2), element_type) for element_type in ("i32", "i64")]
CASES += [deconvolution(ONE, (0, 2, 3, 4), (2, 3, 2, 2))]

CASES += [
    Case(
        ONE,
        1,
        (np.array([[[1, 10]]], np.float32), np.array([[[1, 2, 3]]], np.float32)),
        windows(1, strides=2) | {"output_padding": (1,)},
        {1},
        expected=(np.array([[[1, 2, 13, 20, 30, 0]]], np.float32),),
        note="by hand",
    ),
    Case(
        ONE,
        1,
        (np.array([[[1, np.inf, 2]]], np.float32), np.array([[[1, 2]]], np.float32)),
        windows(1, strides=2),
        {1},
        expected=(np.array([[[1, 2, np.inf, np.inf, 2, 4]]], np.float32),),
        note="by hand",
    ),
]
