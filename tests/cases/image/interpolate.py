"""Interpolate of opset1, opset4 and opset11."""

from __future__ import annotations

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case

TOLERANCE = {"f64": 1e-5, "f32": 1e-5, "f16": 4e-3, "bf16": 2e-2}
COORDINATES = ("half_pixel", "pytorch_half_pixel", "asymmetric", "tf_half_pixel_for_nn", "align_corners")
NEAREST = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "simple")


def image(*shape: int, element_type: str = "f32", seed: int = 0) -> Array:
    return np.random.default_rng(seed).uniform(0, 60, shape).astype(ElementType[element_type].dtype)


def resize(
    since: int,
    data: Array,
    target: list[int] | list[float],
    axes: list[int] | None,
    mode: str,
    *,
    element_type: str = "i64",
    constants: tuple[int, ...] = (1, 2, 3),
    fields: dict[str, object] | None = None,
    **attributes: object,
) -> Case:
    """Sizes if the target is of integers, scales if it is of floats."""
    by_size = all(isinstance(size, int) for size in target)
    attributes = {"mode": mode, "shape_calculation_mode": "sizes" if by_size else "scales", **attributes}
    chosen = np.array(target, ElementType[element_type].dtype if by_size else np.float32)
    if since == 11:
        inputs = [data, chosen]
    else:
        inputs = [data, chosen, np.ones(len(target), np.float32)] if by_size else [data, np.array([7]), chosen]
    if axes is not None:
        inputs.append(np.array(axes, ElementType[element_type].dtype))
    tolerance = TOLERANCE.get(ElementType.of(data).name, 0)
    case_fields = {"rtol": tolerance, "atol": tolerance * 20} | (fields or {})
    constant_positions = {position for position in constants if position < len(inputs)}
    return Case("Interpolate", since, tuple(inputs), attributes, constant_positions, **case_fields)  # type: ignore[arg-type]  # as a caller


def first(data: Array, sizes: list[int], axes: str, mode: str, **attributes: object) -> Case:
    all_attributes = {"mode": mode, "axes": axes} | attributes
    return Case("Interpolate", 1, (data, np.array(sizes)), all_attributes, {1}, rtol=1e-5, atol=1e-4)


CASES: list[Case] = []

# Every coordinate mode with every way of rounding; the reference kernel and the plugin agree but for align_corners.
CASES += [
    resize(4, image(1, 2, 4, 6), sizes, [2, 3], "nearest", coordinate_transformation_mode=mode, nearest_mode=rounding)
    for mode in COORDINATES
    for rounding in NEAREST
    for sizes in ([8, 3], [3, 9])
    if sizes == [8, 3] or rounding in ("ceil", "simple")
]
CASES += [
    resize(4, image(1, 2, 4, 6), target, [2, 3], mode, coordinate_transformation_mode=coordinates)
    for coordinates in COORDINATES
    for mode in ("linear_onnx", "cubic", "linear")
    for target in ([7, 3], [0.6, 2.3])
]
CASES += [
    resize(4, image(1, 1, 4, 3, 5), [3, 7, 4], [2, 3, 4], mode, coordinate_transformation_mode=coordinates)
    for coordinates in COORDINATES
    for mode in ("linear", "linear_onnx", "nearest")
]

# Antialiasing: of fewer than five axes the plugin leaves it out.
CASES += [
    resize(4, data, target, axes, "linear", antialias=True, fields={"oracle": oracle}, **options)
    for data, target, axes, oracle, options in (
        (image(1, 1, 9, 8), [4, 3], [2, 3], "reference", {}),
        (image(1, 1, 9, 8), [4, 11], [2, 3], "reference", {}),
        (image(1, 1, 9, 8), [18, 16], [2, 3], "reference", {}),
        (image(1, 1, 9, 8), [0.3, 2.0], [2, 3], "reference", {"coordinate_transformation_mode": "asymmetric"}),
        (image(1, 1, 9, 8), [0.3, 4.0], [2, 3], "reference", {"coordinate_transformation_mode": "asymmetric"}),
        (image(12), [1], [0], "reference", {}),
        (image(1, 1, 5, 9, 8), [2, 4, 3], [2, 3, 4], "plugin", {}),
        (image(1, 1, 5, 9, 8), [2, 4, 8], [2, 3, 4], "plugin", {"coordinate_transformation_mode": "align_corners"}),
    )
]

# Ranks and axes.
for since in (4, 11):
    CASES += [
        resize(since, image(5), [8], [0], "nearest", fields={"oracle": "reference"}),
        resize(since, image(5), [0.5], None, "linear", fields={"oracle": "reference"}),
        resize(since, image(3, 5), [6, 4], None, "linear_onnx"),
        resize(since, image(3, 5), [7], [1], "linear_onnx"),
        resize(since, image(3, 5), [6, 4], [0, 1], "cubic"),
        resize(since, image(2, 3, 5), [6, 4], [1, 2], "nearest"),
        resize(since, image(2, 3, 5), [1.7, 0.9], [1, 2], "linear_onnx", fields={"oracle": "plugin"}),
        resize(since, image(4, 3, 5), [2, 7, 4], None, "linear_onnx"),
        resize(since, image(1, 2, 3, 5), [1, 2, 6, 10], None, "linear_onnx"),
        resize(since, image(1, 2, 3, 5), [1.0, 1.0, 2.0, 0.5], None, "nearest"),
        resize(since, image(1, 2, 3, 5), [9, 4], [3, 2], "nearest", nearest_mode="floor"),
        resize(since, image(1, 2, 3, 5), [9, 4], [3, 2], "linear", fields={"oracle": "reference"}),
        resize(since, image(1, 2, 3, 5), [9], [2], "cubic"),
        resize(since, image(2, 3, 5, 2), [5, 3], [1, 2], "linear", fields={"oracle": "reference"}),
        resize(since, image(2, 3, 5, 2), [5, 3], [1, 2], "nearest", fields={"oracle": "reference"}),
        resize(since, image(2, 3, 4, 2, 3), [8, 4, 3], [2, 3, 4], "nearest"),
        resize(since, image(2, 3, 2, 2, 3, 2), [4, 3], [1, 4], "nearest", fields={"oracle": "reference"}),
        resize(since, image(1, 1, 4, 4), [8, 8, 3], [2, 3], "nearest", fields={"dynamic": False}),
        resize(since, image(1, 1, 4, 4), [4, 4], [2, 3], "cubic"),
        resize(since, image(1, 1, 4, 4), [1.2, 1.0], [2, 3], "linear", coordinate_transformation_mode="asymmetric"),
        resize(since, image(1, 1, 3, 3), [1 / 3, 2 / 3], [2, 3], "nearest"),
        resize(since, image(1, 1, 4, 6), [0.0, 2.0], [2, 3], "nearest"),
        resize(since, image(1, 1, 4, 6), [8, 0], [2, 3], "linear", fields={"oracle": "nobody", "expected": (
            np.zeros((1, 1, 8, 0), np.float32),)}),
        resize(since, image(0, 2, 4, 6), [8, 12], [2, 3], "linear", fields={"oracle": "nobody", "expected": (
            np.zeros((0, 2, 8, 12), np.float32),)}),
        resize(since, image(1, 1, 1, 1), [3, 2], [2, 3], "cubic"),
        resize(since, image(1, 3, 130, 140), [65, 300], [2, 3], "linear_onnx"),
        resize(since, image(1, 2, 4, 5), [8, 10], [2, 3], "nearest", element_type="i32"),
        resize(since, image(1, 2, 4, 5), [8, 10], [2, 3], "nearest", constants=(), fields={"oracle": "reference"}),
        resize(since, image(1, 2, 4, 5), [2.0, 0.5], [2, 3], "cubic", constants=(3,) if since == 4 else (2,),
               fields={"oracle": "reference"}),
    ]  # fmt: skip

# Attributes: pads, the parameter of cubics, unsigned sizes.
for since in (4, 11):
    CASES += [
        resize(since, image(1, 1, 3, 4), target, [2, 3], mode, pads_begin=(0, 0, 1, 2), pads_end=(0, 0, 0, 1))
        for mode in ("nearest", "linear_onnx", "cubic")
        for target in ([7, 5], [1.5, 0.7])
    ]
    CASES += [
        resize(since, image(1, 1, 3, 4), [6, 5], [2, 3], "linear", pads_begin=(0, 1), pads_end=(0, 0, 2),
               fields={"oracle": "reference"}),
        resize(since, image(1, 1, 3, 4), [6, 5], [2, 3], "linear", pads_begin=(0, 0, 1, 0, 9),
               fields={"dynamic": False}),
        resize(since, image(1, 1, 3, 4), [6, 5], [2, 3], "cubic", cube_coeff=-0.5),
        resize(since, image(1, 1, 3, 4), [6, 5], [2, 3], "cubic", cube_coeff=0.3),
        resize(since, image(1, 1, 3, 4), [6, 5], [2, 3], "nearest", element_type="u64", fields={"oracle": "reference"}),
    ]  # fmt: skip

# Pillow
for mode in ("bilinear_pillow", "bicubic_pillow"):
    CASES += [
        resize(11, image(*shape), target, axes, mode, cube_coeff=-0.5)
        for shape, target, axes in (
            ((1, 2, 9, 7), [4, 12], [2, 3]),
            ((1, 2, 9, 7), [0.4, 0.5], [2, 3]),
            ((1, 2, 9, 7), [9, 3], [2, 3]),
            ((1, 2, 9, 7), [18, 7], [2, 3]),
            ((1, 9, 7, 2), [4, 3], [1, 2]),
            ((9, 7), [4, 3], None),
        )
    ]
    CASES += [
        resize(11, image(1, 1, 9, 7), [4, 12], [2, 3], mode, cube_coeff=-0.75),
        resize(11, image(1, 1, 9, 7), [4, 12], [2, 3], mode),
        resize(11, image(1, 1, 9, 7), [4, 12], [2, 3], mode, cube_coeff=-0.5, pads_begin=(0, 0, 1),
               pads_end=(0, 0, 0, 2)),
        resize(11, image(1, 1, 60, 70), [7, 9], [2, 3], mode, cube_coeff=-0.5),
        resize(11, image(1, 3, 9, 7) * 4, [4, 12], [2, 3], mode, antialias=True,
               coordinate_transformation_mode="asymmetric", cube_coeff=-0.5),
    ]  # fmt: skip
    for element_type in ("f16", "bf16", "u8", "i8"):
        # The plugin keeps fractions between the two passes, Pillow itself does not.
        oracle = "reference" if element_type in ("u8", "i8") else "plugin"
        data = image(1, 1, 9, 8, element_type=element_type)
        CASES += [resize(11, data, [4, 12], [2, 3], mode, cube_coeff=-0.5, fields={"oracle": oracle})]
    for element_type in ("i32", "i64", "f64"):
        CASES += [resize(11, image(1, 1, 1, 8, element_type=element_type), [1, 3], [2, 3], mode, cube_coeff=-0.5)]

# Element types. The plugin rounds integers; the reference kernel cuts their fractions off in some of the modes.
for element_type in ("f16", "bf16", "f64"):
    CASES += [
        resize(4, image(1, 1, 3, 4, element_type=element_type), [6, 3], [2, 3], mode)
        for mode in ("nearest", "linear", "linear_onnx", "cubic")
    ]
for element_type in ("u8", "i8", "i32", "i64"):
    CASES += [
        resize(4, image(1, 1, 3, 4, element_type=element_type, seed=3), [6, 8], [2, 3], mode)
        for mode in ("nearest", "linear", "linear_onnx", "cubic")
    ]
CASES += [
    resize(4, np.array([[[[0, 255, 0, 255]]]], np.uint8), [1, 8], [2, 3], "cubic"),
    resize(11, np.array([[[[0, 255, 0, 255, 255, 0]]]], np.uint8), [1, 12], [2, 3], "bicubic_pillow", cube_coeff=-0.5),
    resize(4, np.array([[[[1, np.inf, 2, 3, np.nan, 4]]]], np.float32), [1, 12], [2, 3], "linear_onnx",
           coordinate_transformation_mode="half_pixel"),
]  # fmt: skip

# Interpolate-1
for mode in ("nearest", "linear", "cubic", "linear_onnx"):
    for corners in (True, False):
        CASES += [
            first(image(1, 2, 3, 4), [5, 3], "2,3", mode, align_corners=corners, pads_begin=0, pads_end=0),
            first(image(1, 2, 3, 4), [5, 3], "3,2", mode, align_corners=corners, antialias=False),
            first(image(1, 2, 3, 4), [3, 4], "2,3", mode, align_corners=corners),
            first(
                image(1, 2, 3, 4),
                [7, 2],
                "2,3",
                mode,
                align_corners=corners,
                pads_begin=(0, 0, 1, 0),
                pads_end=(0, 0, 0, 2),
            ),
        ]
for mode in ("nearest", "linear"):
    for corners in (True, False):
        CASES += [first(image(1, 1, 3, 4, 2), [5, 3, 4], "2,3,4", mode, align_corners=corners)]
for mode in ("linear", "linear_onnx"):
    for sizes in ([3, 4], [12, 14]):
        CASES += [
            first(image(1, 2, 7, 9), sizes, "2,3", mode, antialias=True, align_corners=False),
            first(image(2, 7, 9), sizes, "1,2", mode, antialias=True, align_corners=False),
            first(image(7, 9), sizes, "0,1", mode, antialias=True, align_corners=False),
        ]
CASES += [
    # Enlarging five axes, the plugin smooths.
    first(image(1, 2, 2, 7, 9), [3, 4], "3,4", mode, antialias=True, align_corners=False)
    for mode in ("linear", "linear_onnx")
]
CASES += [
    first(image(2, 3, 4), [5, 3], "1,2", "linear", align_corners=False),
    first(image(2, 3, 4), [5], "2", "linear", align_corners=False),
    first(image(1, 2, 3, 4), [5], "3", "linear", align_corners=False),
    first(image(1, 2, 3, 4), [6, 8], "2,3", "nearest"),
    first(image(1, 2, 3, 4, element_type="u8"), [6, 8], "2,3", "linear", align_corners=False),
]  # fmt: skip
