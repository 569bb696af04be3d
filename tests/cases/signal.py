"""DFT, IDFT, RDFT, IRDFT, STFT and ISTFT."""

from __future__ import annotations

from typing import Any

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case

TOLERANCE = {"f32": 1e-4, "f16": 1e-2, "bf16": 6e-2, "f64": 1e-4}


def noise(shape: tuple[int, ...], kind: str = "f32") -> Array:
    return np.random.default_rng(len(shape) * 100 + sum(shape)).uniform(-1, 1, shape).astype(ElementType[kind].dtype)


def fourier(
    type: str,
    shape: tuple[int, ...],
    axes: tuple[int, ...],
    sizes: tuple[int, ...] | None = None,
    *,
    kind: str = "f32",
    index: str = "i64",
    constants: tuple[int, ...] = (1, 2),
    **more: Any,
) -> Case:
    inputs = [noise(shape, kind), np.array(axes, ElementType[index].dtype)]
    if sizes is not None:
        inputs.append(np.array(sizes, ElementType[index].dtype))
    known = tuple(position for position in constants if position < len(inputs))
    opset = 9 if type.endswith("RDFT") else 7
    tolerance = TOLERANCE[kind]
    return Case(type, opset, tuple(inputs), constants=known, rtol=tolerance, atol=tolerance, **more)


COMPLEX = [
    ((4, 2), (0,), None),
    ((1, 2), (0,), None),
    ((7, 2), (0,), None),
    ((3, 5, 2), (0,), None),
    ((3, 5, 2), (1,), None),
    ((3, 5, 2), (-1,), None),
    ((3, 5, 2), (-2, -1), None),
    ((3, 5, 2), (1, 0), None),
    ((3, 5, 2), (1,), (8,)),
    ((3, 5, 2), (1,), (3,)),
    ((3, 5, 2), (1,), (1,)),
    ((3, 5, 2), (0, 1), (4, 6)),
    ((3, 5, 2), (1, 0), (6, 2)),
    ((2, 3, 4, 2), (0, 2), None),
    ((2, 3, 4, 2), (2, 0), (5, 3)),
    ((2, 3, 4, 5, 2), (3, 1, 2), None),
    ((2, 3, 4, 5, 2), (3, 0, 2), (4, 3, 7)),
    ((1, 16, 2), (1,), None),
    ((2, 64, 2), (1,), (60,)),
]
"""Shape of data, axes, signal_size."""

WHOLE = [((3, 5, 2), (1,), (-1,)), ((3, 5, 2), (0, 1), (-1, 7)), ((2, 3, 4, 5, 2), (3, 1, 2), (6, -1, 3))]
"""With -1 in signal_size, but not for the last axis."""

CASES = [fourier(type, *row) for type in ("DFT", "IDFT") for row in COMPLEX + WHOLE]
CASES += [fourier(type, (3, 5, 2), (1, 0), (4, -1)) for type in ("DFT", "IDFT")]
CASES += [fourier(type, (3, 5, 2), ()) for type in ("DFT", "IDFT")]
CASES += [fourier("IRDFT", *row) for row in COMPLEX if row[2] is None and row[0] != (1, 2)]
CASES += [fourier("IRDFT", *row) for row in COMPLEX if row[2] is not None]
CASES += [fourier("IRDFT", *row) for row in WHOLE[1:]]
CASES += [fourier("RDFT", row[0][:-1], *row[1:]) for row in COMPLEX + WHOLE]
CASES += [fourier("RDFT", (3, 5), (1, 0), (4, -1)), fourier("RDFT", (2, 2), (-1, -2)), fourier("RDFT", (2, 2), (0,))]

# Short floats, index types, and inputs that only the run knows.
for case_type, data_shape in (("DFT", (3, 5, 2)), ("IDFT", (3, 5, 2)), ("IRDFT", (3, 5, 2)), ("RDFT", (3, 5))):
    CASES += [fourier(case_type, data_shape, (0, 1), (3, 8), kind=kind) for kind in ("f16", "bf16")]
    CASES += [fourier(case_type, data_shape, (1,), kind=kind) for kind in ("f16", "bf16")]
    CASES += [
        fourier(case_type, data_shape, (1,), (4,), index="i32"),
        fourier(case_type, data_shape, (0,), index="i32"),
    ]
    CASES += [fourier(case_type, data_shape, (1,), (4,), constants=constants) for constants in ((), (1,), (2,))]
    CASES += [fourier(case_type, data_shape, (1,), constants=())]

# What OpenVINO does not answer; the specification does.
PAIR = np.array([[1, 0], [2, 0]], np.float32)
CASES += [
    Case(
        "IRDFT",
        9,
        (np.array([[6, 0], [-2, 0], [2, 0]], np.float32), np.array([0]), np.array([-1])),
        constants={1, 2},
        expected=(np.array([1, 1, 3, 1], np.float32),),
        oracle="nobody",
        atol=1e-6,
        note="the plugin refuses -1 for the last axis; 6 = 1+1+3+1, -2 = 1-i-3+i, 2 = 1-1+3-1",
    ),
    *[
        Case(
            type,
            opset,
            (data, np.array([0]), np.array([0])),
            constants={1, 2},
            expected=(np.zeros(shape, np.float32),),
            oracle="nobody",
            note="the plugin crashes for a signal of no numbers",
        )
        for type, opset, data, shape in (
            ("DFT", 7, PAIR, (0, 2)),
            ("IDFT", 7, PAIR, (0, 2)),
            ("IRDFT", 9, PAIR, (0,)),
            ("RDFT", 9, PAIR, (0, 2, 2)),
        )
    ],
    Case(
        "DFT",
        7,
        (np.zeros((0, 5, 2), np.float32), np.array([0]), np.array([2])),
        constants={1, 2},
        expected=(np.zeros((2, 5, 2), np.float32),),
        oracle="nobody",
        note="zeros stand for what is not there",
    ),
    *[
        Case(
            type,
            opset,
            (np.zeros(shape, np.float32), np.array([1])),
            constants={1},
            expected=(np.zeros(expected, np.float32),),
            oracle="nobody",
            note="no signals",
        )
        for type, opset, shape, expected in (
            ("DFT", 7, (0, 5, 2), (0, 5, 2)),
            ("IRDFT", 9, (0, 5, 2), (0, 8)),
            ("RDFT", 9, (0, 5), (0, 3, 2)),
        )
    ],
    Case(
        "DFT",
        7,
        (np.array([[1, 2], [3, 5]], np.float64), np.array([0])),
        expected=(np.array([[4, 7], [-2, -3]], np.float64),),
        oracle="nobody",
        dynamic=False,
        note="OpenVINO has no f64 here",
    ),
]


def hann(length: int, kind: str) -> Array:
    return np.hanning(length + 2)[1:-1].astype(ElementType[kind].dtype)


def stft(
    shape: tuple[int, ...],
    window: int,
    size: int,
    step: int,
    transpose: bool = False,
    *,
    kind: str = "f32",
    index: str = "i64",
    constants: tuple[int, ...] = (2, 3),
) -> Case:
    integer = ElementType[index].dtype
    inputs = (noise(shape, kind), hann(window, kind), np.array(size, integer), np.array(step, integer))
    tolerance = TOLERANCE[kind]
    attributes = {"transpose_frames": transpose}
    return Case("STFT", 15, inputs, attributes, constants=constants, rtol=tolerance, atol=tolerance)


FRAMES = [(7, 11, 3), (11, 11, 3), (8, 8, 8), (6, 8, 20), (1, 1, 1), (1, 7, 1), (16, 16, 4), (5, 56, 1), (56, 56, 9)]
"""window, frame_size, frame_step"""

CASES += [stft(shape, *row, transpose) for row in FRAMES for shape in ((56,), (3, 56)) for transpose in (False, True)]
CASES += [stft((2, 56), 7, 11, 3, kind=kind) for kind in ("f16", "bf16", "f64")]
CASES += [stft((2, 56), 7, 11, 3, index="i32"), stft((1, 56), 8, 8, 2)]
CASES += [stft((2, 56), 7, 11, 3, constants=constants) for constants in ((), (2,), (3,), (1, 2, 3))]


def istft(
    shape: tuple[int, ...],
    window: int,
    size: int,
    step: int,
    length: int | None = None,
    *,
    center: bool = False,
    normalized: bool = False,
    kind: str = "f32",
    index: str = "i64",
    vector: bool = False,
    constants: tuple[int, ...] = (2, 3, 4),
    **more: Any,
) -> Case:
    integer = ElementType[index].dtype
    data = noise((*shape[:-1], size // 2 + 1, shape[-1], 2), kind)
    inputs = [data, hann(window, kind), np.array(size, integer), np.array(step, integer)]
    if length is not None:
        inputs.append(np.array([length] if vector else length, integer))
    known = tuple(position for position in constants if position < len(inputs))
    tolerance = TOLERANCE[kind]
    attributes = {"center": center, "normalized": normalized}
    return Case("ISTFT", 16, tuple(inputs), attributes, constants=known, rtol=tolerance, atol=tolerance, **more)


CASES += [
    istft(shape, *row, center=center, normalized=normalized)
    for row in ((7, 11, 3), (11, 11, 3), (8, 8, 4), (16, 16, 5), (1, 7, 1))
    for shape in ((16,), (3, 5))
    for center in (False, True)
    for normalized in (False, True)
]
CASES += [
    istft(shape, 8, 8, 3, length, center=center)
    for shape in ((6,), (2, 6))
    for length in (5, 23, 40)
    for center in (False, True)
]
CASES += [istft((4,), 6, 8, 20), istft((4,), 6, 8, 20, center=True), istft((1,), 8, 8, 2), istft((2, 1), 8, 8, 2)]
CASES += [istft((5,), 8, 8, 2, kind=kind, center=True) for kind in ("f16", "bf16", "f64")]
CASES += [istft((5,), 8, 8, 2, 20, index="i32"), istft((5,), 8, 8, 2, 20, vector=True)]
CASES += [
    istft((2, 5), 8, 8, 2, length, constants=constants) for length in (None, 9) for constants in ((), (2,), (2, 3))
]
CASES += [
    istft(
        (5,),
        8,
        8,
        2,
        0,
        center=center,
        expected=(np.zeros(0, np.float32),),
        oracle="nobody",
        note="the plugin crashes for a signal_length of 0",
    )
    for center in (False, True)
]
