"""NonMaxSuppression and NMSRotated."""

from __future__ import annotations

from typing import Any

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case
from tests.helpers.nms_cases import number, random_boxes

# Three heaps, of three, two and one box.
HEAPS = np.array(
    [[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11], [0, 10.1, 1, 11.1], [0, 100, 1, 101]],
    np.float32,
)[np.newaxis]
HEAP_SCORES = np.array([[[0.9, 0.75, 0.6, 0.95, 0.5, 0.3]]], np.float32)


def nms(since: int, *inputs: Array, constants: Any = (), note: str = "", **attributes: object) -> Case:
    outputs = 3 if since >= 5 else 1
    return Case("NonMaxSuppression", since, inputs, attributes, constants, outputs, rtol=2e-6, note=note)


def thresholds(most: int, iou: float, score: float, *sigma: float) -> tuple[Array, ...]:
    return (number(most, "i64"), *map(number, (iou, score, *sigma)))


CASES: list[Case] = []

# All versions, with max_output_boxes_per_class known only at run time.
for since in (1, 3, 4, 5, 9):
    CASES += [
        nms(since, HEAPS, HEAP_SCORES, *thresholds(3, 0.5, 0.0)),
        nms(since, HEAPS, HEAP_SCORES, *thresholds(10, 0.5, 0.4)),
        nms(since, HEAPS, HEAP_SCORES, *thresholds(0, 0.5, 0.0)),
        nms(since, HEAPS, HEAP_SCORES, number(10, "i32"), number(0.5)),
        nms(since, HEAPS, HEAP_SCORES, number(2, "i64"), note="the first of every class where all others overlap by 0"),
        nms(since, HEAPS[..., [2, 3, 0, 1]], HEAP_SCORES, *thresholds(10, 0.5, 0.0), note="corners swapped"),
        nms(since, HEAPS[..., [2, 1, 0, 3]], HEAP_SCORES, *thresholds(10, 0.5, 0.0), note="other corners"),
        nms(since, HEAPS, HEAP_SCORES, *thresholds(10, 0.5, 0.0), box_encoding="center"),
        nms(since, HEAPS, HEAP_SCORES, *thresholds(10, 0.5, 0.0), sort_result_descending=False),
    ]
    for encoding, descending in (("corner", False), ("center", True)):
        attributes = {"box_encoding": encoding, "sort_result_descending": descending}
        CASES.append(nms(since, *random_boxes(2, 3, 17, seed=since), *thresholds(5, 0.3, 0.2), **attributes))
    CASES += [
        nms(since, *random_boxes(1, 1, 1), *thresholds(5, 0.3, 0.2)),
        nms(since, *random_boxes(3, 1, 9), *thresholds(9, 0.1, 0.0)),
        nms(since, *random_boxes(1, 2, 200, size=2.0), *thresholds(50, 0.2, 0.1)),
    ]
    if since > 1:
        CASES += [
            nms(since, *random_boxes(2, 2, 7), *thresholds(5, 0.3, 0.2), output_type=element_type)
            for element_type in ("i32", "i64")
        ]

# Known at once: as many boxes are kept as there may be.
CASES += [
    nms(1, HEAPS, HEAP_SCORES, *thresholds(3, 0.5, 0.0), constants={2, 3, 4}),
    nms(3, HEAPS, HEAP_SCORES, *thresholds(3, 0.5, 0.0), constants={2, 3, 4}, output_type="i32"),
    nms(4, HEAPS, HEAP_SCORES, *thresholds(3, 0.5, 0.0), constants={2, 3, 4}),
    nms(4, np.tile(HEAPS, (2, 1, 1)), np.tile(HEAP_SCORES, (2, 3, 1)), *thresholds(3, 0.5, 0.0), constants={2, 3, 4}),
    nms(1, HEAPS, HEAP_SCORES),
    nms(3, HEAPS, HEAP_SCORES),
    nms(4, HEAPS, HEAP_SCORES),
]

# Versions 5 and 9: types, thresholds of one element, everything known, soft suppression.
for since in (5, 9):
    CASES += [
        nms(since, HEAPS, HEAP_SCORES, number([3], "i64"), number([0.5]), number([0.0])),
        nms(since, HEAPS, HEAP_SCORES, *thresholds(3, 0.5, 0.0), constants={2, 3, 4}),
        nms(since, HEAPS, HEAP_SCORES, *thresholds(10, 0.5, 0.4), constants={2, 3, 4}),
        nms(since, *random_boxes(2, 3, 17), *thresholds(4, 0.5, 0.4), constants={2, 3, 4}),
        nms(since, HEAPS, -HEAP_SCORES, *thresholds(10, 0.5, -0.7)),
    ]
    for element_type in ("f16", "bf16"):
        typed = [array.astype(ElementType[element_type].dtype) for array in (HEAPS, HEAP_SCORES)]
        CASES.append(nms(since, *typed, *thresholds(10, 0.4, 0.0)))
        CASES.append(
            nms(since, typed[0], HEAP_SCORES, number(10, "i32"), number(0.5, element_type), number(0.4, element_type))
        )
    for element_type in ("i8", "u8", "u32", "f32"):
        CASES.append(nms(since, HEAPS, HEAP_SCORES, number(10, element_type), number(0.5)))
    for sigma in (0.1, 0.5, 2.0):
        CASES += [
            nms(since, HEAPS, HEAP_SCORES, *thresholds(10, 0.5, 0.0, sigma)),
            nms(since, HEAPS, HEAP_SCORES, *thresholds(3, 0.0, 0.3, sigma)),
            nms(since, *random_boxes(2, 2, 15), *thresholds(15, 0.5, 0.1, sigma), sort_result_descending=False),
        ]
    CASES += [
        nms(since, HEAPS, HEAP_SCORES, *thresholds(10, 0.5, 0.0, 0.0)),
        nms(since, *random_boxes(1, 2, 15), *thresholds(15, 0.5, 0.1, 0.5), box_encoding="center"),
    ]

# What OpenVINO leaves open or leaves as it was in memory.
NOTHING = (np.zeros((0, 3), np.int64), np.zeros((0, 3), np.float32), np.zeros(1, np.int64))
for note, inputs in {
    "no number of boxes, so none": (HEAPS, HEAP_SCORES),
    "a negative number of boxes": (HEAPS, HEAP_SCORES, number(-1, "i64"), number(0.5)),
    "no boxes": (HEAPS[:, :0], HEAP_SCORES[..., :0], number(3, "i64"), number(0.5)),
    "no classes": (HEAPS, HEAP_SCORES[:, :0], number(3, "i64"), number(0.5)),
    "no batch": (HEAPS[:0], HEAP_SCORES[:0], number(3, "i64"), number(0.5)),
}.items():
    told = f"{note}; OpenVINO leaves valid_outputs as it was in memory"
    CASES.append(Case("NonMaxSuppression", 9, inputs, {}, (), 3, NOTHING, "nobody", note=told))

TIES = np.array([[[0.5] * 6, [0.5] * 6], [[0.5] * 6, [0.6] * 6]], np.float32)
for descending in (True, False):
    twice = (np.tile(HEAPS, (2, 1, 1)), TIES, *thresholds(6, 0.5, 0.0))
    CASES.append(nms(9, *twice, note="equal scores", sort_result_descending=descending))


# Rotated boxes.
def rotated_boxes(batches: int, classes: int, count: int, seed: int = 0) -> tuple[Array, Array]:
    random = np.random.default_rng(seed)
    boxes = random.uniform(0, 6, (batches, count, 5)) * [1, 1, 0.5, 0.8, 1] + [0, 0, 0.5, 0.5, 0]
    return boxes.astype(np.float32), random_boxes(batches, classes, count, seed)[1]


def nms_rotated(*inputs: Array, constants: Any = (), note: str = "", **attributes: object) -> Case:
    return Case("NMSRotated", 13, inputs, attributes, constants, 3, note=note)


TURNED = np.array(
    [[[0, 0, 4, 2, 0], [0, 0, 4, 2, 1.5], [0, 0.5, 4, 2, 0.1], [5, 5, 2, 2, 0.7], [5, 5, 2, 2, 0.7], [9, 9, 1, 0, 1]]],
    np.float32,
)
for clockwise in (True, False):
    for iou in (0.0, 0.2, 0.5, 0.9):
        CASES.append(nms_rotated(TURNED, HEAP_SCORES, *thresholds(10, iou, 0.0), clockwise=clockwise))
    CASES += [
        nms_rotated(*rotated_boxes(2, 2, 20), *thresholds(8, 0.3, 0.1), clockwise=clockwise),
        nms_rotated(*rotated_boxes(1, 3, 30, 1), *thresholds(30, 0.15, 0.0), clockwise=clockwise),
        nms_rotated(
            *rotated_boxes(2, 2, 12, 2), *thresholds(5, 0.25, 0.2), clockwise=clockwise, sort_result_descending=False
        ),
    ]
CASES += [
    nms_rotated(*rotated_boxes(2, 2, 7), *thresholds(5, 0.3, 0.2), output_type="i32", constants={2, 3, 4}),
    nms_rotated(*rotated_boxes(2, 2, 7), number([5], "i32"), number([0.3]), number([0.2])),
    nms_rotated(*(array.astype(np.float16) for array in rotated_boxes(1, 2, 7)), *thresholds(5, 0.3, 0.2)),
    nms_rotated(*rotated_boxes(1, 1, 1), *thresholds(5, 0.3, 0.2)),
]
attributes = {"iou_threshold": 0.2, "sort_result_type": "score", "sort_result_across_batch": True, "keep_top_k": 5}
