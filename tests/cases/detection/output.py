"""DetectionOutput."""

from __future__ import annotations

from typing import Any

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case
from tests.helpers.values import uniform


# DetectionOutput.
def detection_inputs(
    images: int,
    priors: int,
    classes: int,
    *,
    shared: bool,
    encoded: bool,
    normal: bool,
    own: bool,
    more: bool,
    seed: int,
) -> tuple[Array, ...]:
    """box_logits, class_preds, proposals, and aux_class_preds with aux_box_preds if `more`."""
    logits = uniform((images, priors * (1 if shared else classes) * 4), -0.5, 0.5, seed)
    scores = uniform((images, priors * classes), 0, 1, seed + 1)
    batch = images if own else 1
    start = uniform((batch, priors, 2), 0, 0.7, seed + 2)
    boxes = np.concatenate([start, start + uniform((batch, priors, 2), 0.1, 0.4, seed + 3)], axis=2)
    if not normal:
        count = np.zeros((batch, priors, 1), np.float32)
        boxes = np.concatenate([count, boxes * 10], axis=2)
    rows = [boxes.reshape(batch, 1, -1)]
    if not encoded:
        variance = np.full(rows[0].shape, 0.1, np.float32)
        variance[..., ::2] = 0.2
        rows.append(variance)
    inputs = (logits, scores, np.concatenate(rows, axis=1).astype(np.float32))
    if more:
        inputs += (uniform((images, priors * 2), 0, 1, seed + 4), uniform(logits.shape, -0.5, 0.5, seed + 5))
    return inputs


def detection(since: int, inputs: tuple[Array, ...], classes: int, note: str = "", **options: Any) -> Case:
    attributes = {"keep_top_k": 10, "nms_threshold": 0.4, "normalized": True, **options}
    attributes |= {"num_classes": classes} if since == 1 else {}
    return Case("DetectionOutput", since, inputs, attributes, rtol=1e-5, atol=1e-5, note=note)


CENTER = "caffe.PriorBoxParameter.CENTER_SIZE"
CORNER = "caffe.PriorBoxParameter.CORNER"
VARIANTS: list[dict[str, Any]] = [
    {},
    {"code_type": CENTER},
    {"code_type": CORNER, "confidence_threshold": 0.5},
    {"code_type": CENTER, "confidence_threshold": 0.3, "nms_threshold": 0.7},
    {"keep_top_k": -1, "top_k": 4},
    {"keep_top_k": -1, "top_k": -1},
    {"keep_top_k": 0},
    {"keep_top_k": 3, "top_k": 4, "code_type": CENTER},
    {"keep_top_k": 200, "background_label_id": 1},
    {"keep_top_k": 200, "background_label_id": -1},
    {"clip_before_nms": True, "code_type": CENTER},
    {"clip_after_nms": True, "code_type": CENTER},
    {"variance_encoded_in_target": True},
    {"variance_encoded_in_target": True, "code_type": CENTER, "share_location": False},
    {"share_location": False, "background_label_id": -1},
    {"share_location": False, "code_type": CENTER},
    {"decrease_label_id": True, "confidence_threshold": 0.4},
    {"decrease_label_id": True, "top_k": 7, "keep_top_k": 5},
    {"decrease_label_id": True, "share_location": False, "code_type": CENTER},
    {"normalized": False, "input_height": 10, "input_width": 12},
    {"normalized": False, "input_height": 10, "input_width": 12, "code_type": CENTER, "share_location": False},
    {"normalized": False, "variance_encoded_in_target": True},
    {"nms_threshold": 0.0},
    {"nms_threshold": 1.0, "confidence_threshold": 0.9},
    {"confidence_threshold": 2.0},
]
CASES: list[Case] = []

for seed, variant in enumerate(VARIANTS):
    kinds = {
        "shared": variant.get("share_location", True),
        "encoded": variant.get("variance_encoded_in_target", False),
        "normal": variant.get("normalized", True),
        "seed": 10 * seed,
    }
    CASES.append(detection(8, detection_inputs(2, 15, 3, own=False, more=False, **kinds), 3, **variant))
    CASES.append(detection(1, detection_inputs(2, 12, 4, own=True, more=False, **kinds), 4, **variant))
    twice = {**variant, "objectness_score": 0.3}
    CASES.append(detection(8, detection_inputs(2, 9, 3, own=True, more=True, **kinds), 3, **twice))
    CASES.append(detection(1, detection_inputs(1, 9, 3, own=True, more=True, **kinds), 3, **twice))

PLAIN = {"shared": True, "encoded": False, "normal": True, "own": False, "more": False, "seed": 7}
for element_type in ("f16", "bf16"):
    typed = tuple(array.astype(ElementType[element_type].dtype) for array in detection_inputs(1, 8, 3, **PLAIN))
    case = detection(8, typed, 3)
    CASES.append(Case(case.type, 8, typed, case.attributes, rtol=0.01, atol=0.01))
ended = detection_inputs(1, 8, 2, **{**PLAIN, "normal": False})
ended[2].reshape(2, 8, 5)[0, 5, 0] = -1
CASES.append(detection(8, ended, 2, normalized=False, input_height=10, input_width=10, note="priors that end"))
ties = detection_inputs(1, 8, 3, **PLAIN)
for attributes in ({}, {"decrease_label_id": True}, {"keep_top_k": 2}):
    same = (ties[0], np.round(ties[1] * 3) / 4, ties[2])
    CASES.append(detection(8, same, 3, note="equal scores", **{"nms_threshold": 0.9, **attributes}))
