"""MulticlassNms and MatrixNms."""

from __future__ import annotations

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


# Thresholds as attributes.
def by_class(type_name: str, since: int, *inputs: Array, note: str = "", **attributes: object) -> Case:
    return Case(type_name, since, inputs, attributes, (), 3, rtol=2e-6, dynamic=True, note=note)


CASES: list[Case] = []

for type_name, since in (("MatrixNms", 8), ("MulticlassNms", 8), ("MulticlassNms", 9)):
    base: dict[str, object] = {"iou_threshold": 0.3} if type_name == "MulticlassNms" else {}
    for result in ("none", "score", "classid"):
        for across in (True, False):
            order = {"sort_result_type": result, "sort_result_across_batch": across}
            CASES.append(by_class(type_name, since, *random_boxes(2, 3, 9), **base, **order))
            limits = {"nms_top_k": 5, "keep_top_k": 6, "background_class": 1, "score_threshold": 0.1}
            CASES.append(by_class(type_name, since, *random_boxes(3, 3, 11, 1), **base, **order, **limits))
    CASES += [
        by_class(type_name, since, HEAPS, HEAP_SCORES, **base),
        by_class(type_name, since, HEAPS, HEAP_SCORES, **base, normalized=False),
        by_class(type_name, since, HEAPS, HEAP_SCORES, **base, output_type="i32"),
        by_class(type_name, since, HEAPS, HEAP_SCORES, **base, background_class=7),
        by_class(type_name, since, *random_boxes(1, 4, 40, 3), **base, normalized=False),
        by_class(type_name, since, *random_boxes(1, 1, 1), **base),
    ]
    for element_type in ("f16", "bf16")[: 1 if type_name == "MatrixNms" else 2]:
        typed = [array.astype(ElementType[element_type].dtype) for array in random_boxes(1, 2, 9)]
        rows = by_class(type_name, since, *typed, **base)
        CASES.append(Case(rows.type, since, rows.inputs, rows.attributes, (), 3, rtol=0.01))
    for attributes, inputs in (
        ({"nms_top_k": 0}, (HEAPS, HEAP_SCORES)),
        ({"background_class": 0}, (HEAPS, HEAP_SCORES)),
        ({"score_threshold": 0.96}, (HEAPS, HEAP_SCORES)),
        ({"keep_top_k": 0}, (HEAPS, HEAP_SCORES)),
        ({}, (HEAPS[:, :0], HEAP_SCORES[..., :0])),
        ({}, (HEAPS, HEAP_SCORES[:, :0])),
    ):
        none = (np.zeros((0, 6), np.float32), np.zeros((0, 1), np.int64), np.zeros(1, np.int64))
        note = "OpenVINO crashes, or leaves selected_num as it was in memory"
        CASES.append(Case(type_name, since, inputs, {**base, **attributes}, (), 3, none, "nobody", note=note))
for decay in ("linear", "gaussian"):
    for normalized in (True, False):
        attributes = {"decay_function": decay, "normalized": normalized, "post_threshold": 0.2}
        CASES.append(by_class("MatrixNms", 8, *random_boxes(2, 2, 13, 5), **attributes))
        CASES.append(by_class("MatrixNms", 8, *random_boxes(1, 1, 60, 6), **attributes, gaussian_sigma=0.5))
for eta in (0.0, 0.5, 0.9, 0.99):
    for since in (8, 9):
        attributes = {"nms_eta": eta, "iou_threshold": 0.9}
        CASES.append(by_class("MulticlassNms", since, *random_boxes(2, 2, 30, 7, size=9.0), **attributes))
        CASES.append(by_class("MulticlassNms", since, *random_boxes(2, 1, 31, 10, size=1.0), **attributes))

# Separate boxes for every class, counted by roisnum.
OWN = random_boxes(3, 1, 12, 8)[0]
OWN_SCORES = random_boxes(1, 3, 12, 9)[1][0]
for counts in ([12], [5, 7], [4, 0, 8], [2, 3], [0], [0, 3, 0, 2]):
    for element_type in ("i32", "i64"):
        for result in ("score", "classid"):
            attributes = {"iou_threshold": 0.2, "sort_result_type": result, "score_threshold": 0.1}
            CASES.append(by_class("MulticlassNms", 9, OWN, OWN_SCORES, number(counts, element_type), **attributes))
attributes = {"iou_threshold": 0.2, "sort_result_type": "score", "sort_result_across_batch": True, "keep_top_k": 5}
CASES.append(by_class("MulticlassNms", 9, OWN, OWN_SCORES, number([5, 7], "i64"), **attributes))
CASES.append(by_class("MulticlassNms", 9, OWN, OWN_SCORES, number([6, 6], "i64"), nms_eta=0.9, iou_threshold=0.8))
