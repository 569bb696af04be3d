"""NV12toRGB, NV12toBGR, I420toRGB, I420toBGR, RGBtoNV12, BGRtoNV12.

OpenVINO has no kernel for the last two: what they give is worked out by hand from the formulas.
"""

from __future__ import annotations

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case

TOLERANCE = {"u8": 0.0, "f64": 1e-6, "f32": 1e-6, "f16": 2e-3, "bf16": 2e-2}
SIZES = [(1, 2, 2), (1, 4, 6), (3, 6, 2), (2, 2, 10)]


def plane(*shape: int, element_type: str = "u8", seed: int = 0) -> Array:
    return np.random.default_rng(seed).integers(0, 256, shape).astype(ElementType[element_type].dtype)


def case(type: str, *inputs: Array) -> Case:
    element_type = ElementType.of(inputs[0]).name
    return Case(type, 8, inputs, rtol=TOLERANCE[element_type], atol=255 * TOLERANCE[element_type])


CASES: list[Case] = []
for target in ("RGB", "BGR"):
    for element_type in ("u8", "f32"):
        for seed, (batch, rows, columns) in enumerate(SIZES):
            image = plane(batch, rows // 2 * 3, columns, 1, element_type=element_type, seed=seed)
            y = plane(batch, rows, columns, 1, element_type=element_type, seed=seed)
            half = [
                plane(batch, rows // 2, columns // 2, 1, element_type=element_type, seed=seed + offset)
                for offset in (10, 20)
            ]
            CASES += [
                case(f"NV12to{target}", image),
                case(f"NV12to{target}", y, np.concatenate(half, 3)),
                case(f"I420to{target}", image),
                case(f"I420to{target}", y, *half),
            ]
    for element_type in ("f16", "bf16", "f64"):
        CASES += [
            case(f"NV12to{target}", plane(1, 6, 2, 1, element_type=element_type)),
            case(f"I420to{target}", plane(1, 6, 2, 1, element_type=element_type)),
        ]

# All that a pixel can be.
grid = np.stack(np.meshgrid(*[np.arange(0, 256, 15, dtype=np.uint8)] * 2, indexing="ij"), -1)[np.newaxis]
for light in (0, 16, 100, 235, 255):
    y = np.full((1, 36, 36, 1), light, np.uint8)
    CASES += [case("NV12toRGB", y, grid), case("I420toBGR", y, grid[..., :1], grid[..., 1:])]
CASES += [
    case("NV12toRGB", np.array([-20, 0, 300, 16.5], np.float32).reshape(1, 2, 2, 1),
         np.array([[[[400, -3]]]], np.float32)),
]  # fmt: skip

# To NV12. Red, white / black, gray: Y = 0.257 * 255 + 16 = 81.5, 235.0; 16, 0.859 * 100 + 16 = 101.9;
# U = 90.3, 128; 128, 128; V = 239.9, 128; 128, 128. The means of U: (90 + 3 * 128) / 4 = 118.5, of V: 156.
PIXELS = np.array([[[[255, 0, 0], [255, 255, 255]], [[0, 0, 0], [100, 100, 100]]]])
Y_WANTED = np.array([82, 235, 16, 102]).reshape(1, 2, 2, 1)
UV_WANTED = np.array([119, 156]).reshape(1, 1, 1, 2)
EXACT_Y = np.array([81.535, 235.045, 16, 101.9]).reshape(1, 2, 2, 1)
EXACT_UV = np.array([(128 - 0.148 * 255 + 3 * 128) / 4, (128 + 0.439 * 255 + 3 * 128) / 4]).reshape(1, 1, 1, 2)
for target, pixels in (("RGB", PIXELS), ("BGR", PIXELS[..., ::-1])):
    for element_type, y, uv in (
        ("u8", Y_WANTED, UV_WANTED),
        *((element_type, EXACT_Y, EXACT_UV) for element_type in ("f32", "f16", "f64")),
    ):
        dtype = ElementType[element_type].dtype
        expected = np.concatenate([y, uv.reshape(1, 1, 2, 1)], 1).astype(dtype)
        fields = {"oracle": "nobody", "rtol": TOLERANCE[element_type], "note": "worked out by hand"}
        CASES += [
            Case(f"{target}toNV12", 17, (pixels.astype(dtype),), expected=(expected,), **fields),  # type: ignore[arg-type]  # as fields
            Case(f"{target}toNV12", 17, (pixels.astype(dtype),), {"single_plane": True},
                 expected=(expected,), **fields),  # type: ignore[arg-type]  # as fields
            Case(f"{target}toNV12", 17, (pixels.astype(dtype),), {"single_plane": False}, outputs=2,
                 expected=(y.astype(dtype), uv.astype(dtype)), **fields),  # type: ignore[arg-type]  # as fields
        ]  # fmt: skip
