"""DFT, IDFT, RDFT, IRDFT, STFT and ISTFT."""

from __future__ import annotations

from typing import Any

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case

TOLERANCE = {"f32": 1e-4, "f16": 1e-2, "bf16": 6e-2, "f64": 1e-4}


def noise(shape: tuple[int, ...], element_type: str = "f32") -> Array:
    return (
        np.random.default_rng(len(shape) * 100 + sum(shape))
        .uniform(-1, 1, shape)
        .astype(ElementType[element_type].dtype)
    )


def along(data: Array, axis: int, size: int, sign: int) -> Array:
    """sum over j of data[j] * exp(sign * 2 pi i m j / size), with zeros for what data has less."""
    first = np.zeros((*data.shape[:axis], size, *data.shape[axis + 1 :]), np.complex128)
    count = min(size, data.shape[axis])
    moved, source = np.moveaxis(first, axis, -1), np.moveaxis(data, axis, -1)
    moved[..., :count] = source[..., :count]
    turns = np.outer(np.arange(size), np.arange(size)) / max(size, 1)
    return np.moveaxis(moved @ np.exp(sign * 2j * np.pi * turns), -1, axis)


def mirror_half(data: Array, axis: int, size: int) -> Array:
    """The numbers of which data has the first half: number j and number size - j are conjugates."""
    half = np.moveaxis(data, axis, -1)[..., : size // 2 + 1]
    half = np.pad(half, [(0, 0)] * (half.ndim - 1) + [(0, size // 2 + 1 - half.shape[-1])])
    mirror = half[..., 1 : size - size // 2][..., ::-1].conj()
    return np.moveaxis(np.concatenate([half, mirror], -1), -1, axis)


def by_formula(type: str, data: Array, axes: tuple[int, ...], sizes: tuple[int, ...]) -> Array:
    """The sums of the specification, one axis after the other; none of the sizes is -1."""
    numbers = data.astype(np.float64)
    numbers = numbers if type == "RDFT" else numbers[..., 0] + 1j * numbers[..., 1]
    turned = [axis % numbers.ndim for axis in axes]
    for axis, size in zip(turned, sizes, strict=True):
        if type == "IRDFT" and axis == turned[-1]:
            numbers = mirror_half(numbers, axis, size)
        numbers = along(numbers, axis, size, 1 if type.startswith("I") else -1) / (size if type[0] == "I" else 1)
    if type == "RDFT":
        numbers = np.take(numbers, range(sizes[-1] // 2 + 1), turned[-1])
    parts = numbers.real if type == "IRDFT" else np.stack([numbers.real, numbers.imag], -1)
    return parts.astype(data.dtype)


def fourier(
    type: str,
    shape: tuple[int, ...],
    axes: tuple[int, ...],
    sizes: tuple[int, ...] | None = None,
    *,
    element_type: str = "f32",
    index: str = "i64",
    constants: tuple[int, ...] = (1, 2),
    **more: Any,
) -> Case:
    inputs = [noise(shape, element_type), np.array(axes, ElementType[index].dtype)]
    if sizes is not None:
        inputs.append(np.array(sizes, ElementType[index].dtype))
    constant_positions = tuple(position for position in constants if position < len(inputs))
    opset = 9 if type.endswith("RDFT") else 7
    tolerance = TOLERANCE[element_type]
    return Case(type, opset, tuple(inputs), constants=constant_positions, rtol=tolerance, atol=tolerance, **more)


def alone(
    type: str, shape: tuple[int, ...], axes: tuple[int, ...], sizes: tuple[int, ...] | None = None, **more: Any
) -> Case:
    """A case for which the plugin reads beyond the data, or gives up; the formula gives the answer."""
    signal_shape = shape if type == "RDFT" else shape[:-1]
    signal = [signal_shape[axis] for axis in axes]
    if type == "IRDFT":
        signal[-1] = 2 * (signal[-1] - 1)
    for position, size in enumerate(sizes or ()):
        signal[position] = signal[position] if size == -1 else size
    expected = by_formula(type, noise(shape, more.get("kind", "f32")), axes, tuple(signal))
    return fourier(type, shape, axes, sizes, expected=(expected,), oracle="nobody", **more)


def larger(type: str, shape: tuple[int, ...], axes: tuple[int, ...], sizes: tuple[int, ...] | None) -> bool:
    """Return True if the plugin would read beyond the data (it pads no axis of RDFT, one of IRDFT) or refuse a -1."""
    outer = len(axes) - (type == "IRDFT")
    bigger = any(size > shape[axis] for axis, size in zip(axes[:outer], sizes or (), strict=False))
    return bigger or -1 in (sizes or ())


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
CASES += [
    (alone if larger(type, *row) else fourier)(type, row[0][:-1] if type == "RDFT" else row[0], *row[1:])
    for type in ("RDFT", "IRDFT")
    for row in COMPLEX + WHOLE
    if type == "RDFT" or row[0] != (1, 2)
]
CASES += [alone("RDFT", (3, 5), (1, 0), (4, -1)), alone("IRDFT", (3, 5, 2), (1, 0), (4, -1))]
CASES += [fourier("RDFT", (2, 2), (-1, -2)), fourier("RDFT", (2, 2), (0,))]
CASES += [
    fourier(type, (3, 5, 2), (), expected=(noise((3, 5, 2)),), oracle="nobody", note="the plugin leaves the output")
    for type in ("DFT", "IDFT")
]

# Short floats, index types, and inputs known only at run time.
for case_type, data_shape in (("DFT", (3, 5, 2)), ("IDFT", (3, 5, 2)), ("IRDFT", (3, 5, 2)), ("RDFT", (3, 5))):
    CASES += [
        fourier(case_type, data_shape, (0, 1), (3, 4), element_type=element_type) for element_type in ("f16", "bf16")
    ]
    CASES += [fourier(case_type, data_shape, (1,), element_type=element_type) for element_type in ("f16", "bf16")]
    CASES += [
        fourier(case_type, data_shape, (1,), (4,), index="i32"),
        fourier(case_type, data_shape, (0,), index="i32"),
    ]
    asked = alone if case_type.endswith("RDFT") else fourier
    CASES += [asked(case_type, data_shape, (1,), (4,), constants=constants) for constants in ((), (1,), (2,))]
    CASES += [asked(case_type, data_shape, (1,), constants=())]

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


def hann(length: int, element_type: str) -> Array:
    return np.hanning(length + 2)[1:-1].astype(ElementType[element_type].dtype)


def stft(
    shape: tuple[int, ...],
    window: int,
    size: int,
    step: int,
    transpose: bool = False,
    *,
    element_type: str = "f32",
    index: str = "i64",
    constants: tuple[int, ...] = (2, 3),
) -> Case:
    integer = ElementType[index].dtype
    inputs = (noise(shape, element_type), hann(window, element_type), np.array(size, integer), np.array(step, integer))
    tolerance = TOLERANCE[element_type]
    attributes = {"transpose_frames": transpose}
    return Case("STFT", 15, inputs, attributes, constants=constants, rtol=tolerance, atol=tolerance)


FRAMES = [(7, 11, 3), (11, 11, 3), (8, 8, 8), (6, 8, 20), (1, 1, 1), (1, 7, 1), (16, 16, 4), (5, 56, 1), (56, 56, 9)]
"""window, frame_size, frame_step"""

CASES += [stft(shape, *row, transpose) for row in FRAMES for shape in ((56,), (3, 56)) for transpose in (False, True)]
CASES += [stft((2, 56), 7, 11, 3, element_type=element_type) for element_type in ("f16", "bf16", "f64")]
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
    element_type: str = "f32",
    index: str = "i64",
    vector: bool = False,
    constants: tuple[int, ...] = (2, 3, 4),
    **more: Any,
) -> Case:
    integer = ElementType[index].dtype
    data = noise((*shape[:-1], size // 2 + 1, shape[-1], 2), element_type)
    inputs = [data, hann(window, element_type), np.array(size, integer), np.array(step, integer)]
    if length is not None:
        inputs.append(np.array([length] if vector else length, integer))
    constant_positions = tuple(position for position in constants if position < len(inputs))
    tolerance = TOLERANCE[element_type]
    attributes = {"center": center, "normalized": normalized}
    return Case(
        "ISTFT", 16, tuple(inputs), attributes, constants=constant_positions, rtol=tolerance, atol=tolerance, **more
    )


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
CASES += [istft((5,), 8, 8, 2, element_type=element_type, center=True) for element_type in ("f16", "bf16", "f64")]
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
