"""PriorBox, PriorBoxClustered."""

from __future__ import annotations

from typing import Any

import numpy as np

from ir_exec.types import ElementType
from tests.conformance.case import Case

CASES: list[Case] = []

BOXES: list[dict[str, object]] = [
    {"min_size": 16.0},
    {"min_size": (16.0, 30.0)},
    {"min_size": 16.0, "max_size": 38.46, "aspect_ratio": 2.0, "flip": True},
    {"min_size": (16.0, 30.5), "max_size": (38.46, 60.0), "aspect_ratio": (2.0, 3.0), "flip": True},
    {"min_size": (16.0, 30.5), "max_size": (38.46, 60.0), "aspect_ratio": (2.0, 0.5, 2.0, 1.0), "flip": True},
    {"min_size": (16.0, 30.5), "max_size": (38.46, 60.0), "aspect_ratio": (2.0, 3.0, 0.25)},
    {"min_size": (16.0, 30.5), "aspect_ratio": 2.0, "clip": True},
    {"min_size": 16.0, "step": 16.0, "aspect_ratio": 2.0},
    {"min_size": 16.0, "step": 8.5, "offset": 0.0},
    {"min_size": 16.0, "step": 8.5, "offset": 0.25, "variance": 0.3},
    {"min_size": 16.0, "variance": (0.1, 0.1, 0.2, 0.2)},
    {"min_size": (0.1, 0.141), "aspect_ratio": (2.0, 0.5), "scale_all_sizes": False, "step": -1.0},
    {"min_size": (0.1, 0.141), "aspect_ratio": (2.0, 0.5), "scale_all_sizes": False, "step": 0.02},
    {"min_size": (0.1, 0.141), "aspect_ratio": (2.0, 0.5), "scale_all_sizes": False, "flip": True},
    {"fixed_size": 32.0, "density": 1.0},
    {"fixed_size": (32.0, 65.0), "density": (4.0, 2.0)},
    {"fixed_size": (32.0, 65.0), "density": (3.0, 2.0), "step": 32.0, "clip": True},
    {"fixed_size": (32.0, 65.0), "density": (2.0, 1.0), "fixed_ratio": 1.0},
    {"fixed_size": (32.0, 65.0), "density": (2.0, 1.0), "fixed_ratio": 2.0, "step": 20.0},
    {"fixed_size": (32.5, 65.0), "density": (3.0, 1.0), "aspect_ratio": (2.0, 0.5)},
    {"fixed_size": (32.5, 65.0), "density": (3.0, 1.0), "aspect_ratio": 3.0, "flip": True},
]
SIZES = [((3, 5), (60, 100)), ((1, 1), (300, 300)), ((2, 4), (33, 47))]


def sizes(grid: tuple[int, int], image: tuple[int, int], element_type: str = "i64") -> tuple[Any, ...]:
    return tuple(np.array(pair, ElementType[element_type].dtype) for pair in (grid, image))


def priors(type_name: str, since: int, grid: Any, image: Any, element_type: str = "i64", **options: Any) -> Case:
    constants, attributes = options.pop("constants", {0, 1}), {"offset": 0.5, **options}
    return Case(type_name, since, sizes(grid, image, element_type), attributes, constants, rtol=1e-6, atol=1e-6)


for since in (1, 8):
    for i, boxes in enumerate(BOXES):
        grid, image = SIZES[i % len(SIZES)]
        CASES.append(priors("PriorBox", since, grid, image, **boxes))
        if since == 8 and "min_size" in boxes:
            CASES.append(priors("PriorBox", since, grid, image, **boxes, min_max_aspect_ratios_order=False))
    CASES.append(Case("PriorBox", since, sizes((2, 3), (60, 100)), {"min_size": 16.0, "step": 8.5}, {0, 1}, rtol=1e-6))
    CASES += [
        priors("PriorBox", since, (2, 3), (60, 100), element_type, min_size=16.0, aspect_ratio=2.0)
        for element_type in ("i8", "i16", "i32", "u8", "u16", "u32", "u64")
    ]
    CASES += [
        priors("PriorBox", since, (2, 3), (60, 100), min_size=16.0, constants=()),
        priors("PriorBox", since, (2, 3), (60, 100), min_size=16.0, constants={0}),
        priors("PriorBox", since, (2, 3), (60, 100), min_size=16.0, constants={1}),
    ]

CLUSTERS: list[dict[str, object]] = [
    {"width": 86.0, "height": 44.0},
    {"width": (86.0, 13.0, 57.0), "height": (44.0, 10.0, 30.0), "step": 16.0},
    {"width": (86.0, 13.0), "height": (44.0, 10.0), "step": 16.0, "clip": False},
    {"width": (8.0, 13.0), "height": (4.0, 10.0), "step_w": 16.0, "step_h": 10.0, "clip": False},
    {"width": (8.0, 13.0), "height": (4.0, 10.0), "step": 3.0, "step_h": 10.0, "clip": False, "offset": 0.0},
    {"width": (8.0, 13.0), "height": (4.0, 10.0), "variance": 0.3},
    {"width": (8.0, 13.0), "height": (4.0, 10.0), "variance": (0.1, 0.1, 0.2, 0.2), "clip": False},
]
for i, boxes in enumerate(CLUSTERS):
    grid, image = SIZES[i % len(SIZES)]
    CASES.append(priors("PriorBoxClustered", 1, grid, image, **boxes))
    CASES.append(priors("PriorBoxClustered", 1, grid, image, "i32", **boxes, constants=()))
