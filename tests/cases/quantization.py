"""FakeQuantize and FakeConvert."""

from __future__ import annotations

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case

TOLERANCE = {"f64": 1e-5, "f32": 1e-5, "f16": 3e-3, "bf16": 2e-2}


def spread(shape: tuple[int, ...], element_type: str = "f32", limit: float = 2.5, seed: int = 0) -> Array:
    return np.random.default_rng(seed).uniform(-limit, limit, shape).astype(ElementType[element_type].dtype)


def quantize(
    data: Array,
    limits: tuple[object, object, object, object],
    levels: int,
    constants: tuple[int, ...] = (1, 2, 3, 4),
    auto_broadcast: str | None = "numpy",
    **fields: object,
) -> Case:
    element_type = ElementType.of(data)
    inputs = (data, *[np.asarray(limit, element_type.dtype) for limit in limits])
    attributes: dict[str, object] = {"levels": levels}
    attributes |= {"auto_broadcast": auto_broadcast} if auto_broadcast else {}
    tolerance = TOLERANCE.get(element_type.name, 0.0)
    defaults: dict[str, object] = {"rtol": tolerance, "atol": tolerance, "oracle": "plugin"}
    return Case("FakeQuantize", 1, inputs, attributes, constants, **defaults | fields)  # type: ignore[arg-type]  # as a caller


def per_channel(values: list[float], rank: int = 4) -> Array:
    return np.array(values, np.float32).reshape(1, -1, *[1] * (rank - 2))


LOW, HIGH = [-1, -0.5, -2], [1, 2, 1.5]
UNIT = (-1, 1, -1, 1)

CASES: list[Case] = []
CASES += [
    quantize(spread((2, 3, 4, 5)), limits, levels, oracle=oracle)
    for limits in (UNIT, (0, 2, 0, 2), (-2, 1.5, -4, 3), (-1.28, 1.27, -128, 127), (-1, 1, 3, -3))
    for levels in (2, 3, 16, 255, 256)
    for oracle in ("plugin", "reference")
]
CASES += [
    quantize(spread((2, 3, 4, 5)), limits, 17)
    for limits in [
        (per_channel(LOW), per_channel(HIGH), -1, 1),
        (-1, 1, per_channel(LOW), per_channel(HIGH)),
        (per_channel(LOW), per_channel(HIGH), per_channel(LOW), per_channel(HIGH)),
        (per_channel(LOW)[0], per_channel(HIGH)[0], per_channel(LOW), per_channel(HIGH)),
        ([-1.0], [1.0], [[[[-1.0]]]], [[2.0]]),
    ]
]
CASES += [
    quantize(spread((2, 3, 4)), limits, 9, oracle="reference")
    for limits in [
        (spread((4,)) - 3, spread((4,)) + 3, -1, 1),
        (spread((3, 1)) - 3, 3, spread((2, 1, 1)), spread((1, 3, 1)) + 3),
        (spread((2, 3, 4)) - 3, spread((2, 3, 4)) + 3, spread((2, 3, 4)), 4),
    ]
]
CASES += [
    quantize(spread(shape), UNIT, 5, **fields)  # type: ignore[arg-type]  # as a caller
    for shape in ((), (7,), (3, 4), (2, 3, 4), (1, 2, 3, 2, 2))
    for fields in ({}, {"constants": ()})
]
CASES += [quantize(spread(shape), UNIT, 5, oracle="reference") for shape in ((0, 3), (2, 0))]
CASES += [quantize(spread((3, 100, 300)), (spread((100, 1)) - 3, 3, -1, 1), 255)]
CASES += [quantize(spread((2, 90000)), (-1, 1, 0, 1), 255, oracle="reference")]
CASES += [quantize(spread((2, 3)), (*[spread((2, 3)) + shift for shift in (-3, 3, -3, 3)],), 5, auto_broadcast="none")]
CASES += [quantize(spread((2, 3)), UNIT, 5, auto_broadcast=mode) for mode in ("NUMPY", None)]
CASES += [quantize(spread((2, 3, 4), element_type), UNIT, 9) for element_type in ("f64", "f16", "bf16")]
CASES += [
    Case(
        "FakeQuantize",
        1,
        (
            spread((2, 3, 4), element_type),
            *[np.array(limit, ElementType[limits].dtype) for limit in (-4.25, 4.25, -2.5, 2.5)],
        ),
        {"levels": 17},
        constants=constants,
        rtol=TOLERANCE[element_type],
        atol=TOLERANCE[element_type],
    )
    for constants, types in (
        ((), (("f16", "f32"), ("f32", "f16"), ("bf16", "f32"), ("f32", "f64"))),
        # The plugin takes integers only where they are constants.
        ((1, 2, 3, 4), (("f16", "f32"), ("f32", "i32"))),
    )
    for element_type, limits in types
]
CASES += [quantize(np.array([-2, 0, 1, 2, 3], np.int32), (-1, 3, 0, 8), 5)]

# Both ends of the range, its middle, and what is no number.
EDGES = np.array([-3, -1, -0.75, -0.25, 0, 0.25, 0.5, 1, 1.5, np.inf, -np.inf, np.nan], np.float32)
CASES += [
    quantize(EDGES, (-1, 1, 0, 8), 9, oracle="reference", expected=(np.array(expected, np.float32),))
    for expected in [[0, 0, 1, 3, 4, 5, 6, 8, 8, 8, 0, np.nan]]
]
CASES += [
    quantize(np.array([0.5, 1.5, 2.5], np.float32), (0, 4, 0, 4), 5, oracle="reference", expected=(expected,))
    for expected in [np.array([0, 2, 2], np.float32)]
]
CASES += [
    quantize(EDGES[:-3], limits, levels, oracle="reference")
    for limits, levels in [
        ((1, -1, 0, 4), 5),
        ((0.25, 0.25, -1, 1), 4),
        ((0, 0, 5, -5), 256),
        (([1.0], [-1.0], 0, 2), 2),
    ]
]
CASES += [
    quantize(
        np.array([[-2, 0, 2], [-2, 0, 2], [-2, 0, 2]], np.float32),
        ([[-1], [1], [0]], [[1], [-1], [0]], 0, 2),
        3,
        oracle="reference",
        expected=(np.array([[0, 1, 2], [0, 1, 2], [0, 0, 2]], np.float32),),
        note="by hand",
    )
]


def convert(data: Array, scale: object, shift: object | None = None, to: str = "f8e4m3", **fields: object) -> Case:
    dtype = data.dtype
    inputs = [data, np.asarray(scale, dtype)] + ([] if shift is None else [np.asarray(shift, dtype)])
    # The way to f16 and the 8-bit type is exact, the operations before and after are not.
    tolerance = {"f32": 1e-6, "f16": 2e-3, "bf16": 1e-2}[ElementType.of(data).name]
    defaults: dict[str, object] = {"constants": (1, 2)[: len(inputs) - 1], "rtol": tolerance, "atol": tolerance}
    return Case("FakeConvert", 13, tuple(inputs), {"destination_type": to}, **defaults | fields)  # type: ignore[arg-type]  # as a caller


HALVES = np.arange(0, 2**16, 61, dtype=np.uint16).view(np.float16).astype(np.float32)
HALVES = HALVES[~np.isnan(HALVES)]
for to in ("f8e4m3", "f8e5m2"):
    CASES += [
        convert(HALVES, 1, to=to),
        convert(spread((2, 3, 4, 5), limit=300.0), 2, to=to),
        convert(spread((2, 3, 4, 5)), 8, 1.5, to=to),
        convert(spread((2, 3, 4, 5)), per_channel([1, 4, 16]), to=to),
        convert(spread((2, 3, 4, 5)), per_channel([1, 4, 16]), per_channel([0, 1, -1]), to=to),
        convert(spread((2, 3, 4)), [1, 2, 3, 4], [0, 0, 1, 2], to=to),
        convert(spread((2, 3)), 2, 1, to=to, constants=()),
        convert(spread(()), 2, to=to),
        convert(spread((3, 4), "f16"), 4, 1, to=to),
        convert(spread((3, 4), "bf16"), 4, 1, to=to),
        convert(np.array([1.0625 + 2**-20, 1.0625 - 2**-20, 1.125 + 2**-20], np.float32), 1, to=to),
        convert(np.array([1e9, -1e9, np.inf, -np.inf, 0], np.float32), 1, to=to),
    ]
CASES += [
    convert(
        np.array([np.nan, 500, -1e6, 0.3], np.float32),
        1,
        to=to,
        expected=(np.array(expected, np.float32),),
        oracle="nobody",
        note="OpenVINO's plugin makes a number of NaN",
    )
    for to, expected in [("f8e4m3", [np.nan, 448, -448, 0.3125]), ("f8e5m2", [np.nan, 512, -57344, 0.3125])]
]
