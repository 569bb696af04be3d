"""DetectionOutput, Proposal, RegionYolo."""

from __future__ import annotations

from typing import Any

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case

CASES: list[Case] = []


def floats(shape: tuple[int, ...], low: float, high: float, seed: int) -> Array:
    return np.random.default_rng(seed).uniform(low, high, shape).astype(np.float32)


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
    logits = floats((images, priors * (1 if shared else classes) * 4), -0.5, 0.5, seed)
    scores = floats((images, priors * classes), 0, 1, seed + 1)
    batch = images if own else 1
    start = floats((batch, priors, 2), 0, 0.7, seed + 2)
    boxes = np.concatenate([start, start + floats((batch, priors, 2), 0.1, 0.4, seed + 3)], axis=2)
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
        inputs += (floats((images, priors * 2), 0, 1, seed + 4), floats(logits.shape, -0.5, 0.5, seed + 5))
    return inputs


def detection(since: int, inputs: tuple[Array, ...], classes: int, note: str = "", **rest: Any) -> Case:
    attributes = {"keep_top_k": 10, "nms_threshold": 0.4, "normalized": True, **rest}
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
for kind in ("f16", "bf16"):
    typed = tuple(array.astype(ElementType[kind].dtype) for array in detection_inputs(1, 8, 3, **PLAIN))
    case = detection(8, typed, 3)
    CASES.append(Case(case.type, 8, typed, case.attributes, rtol=0.01, atol=0.01))
ended = detection_inputs(1, 8, 2, **{**PLAIN, "normal": False})
ended[2].reshape(2, 8, 5)[0, 5, 0] = -1
CASES.append(detection(8, ended, 2, normalized=False, input_height=10, input_width=10, note="priors that end"))
ties = detection_inputs(1, 8, 3, **PLAIN)
for attributes in ({}, {"decrease_label_id": True}, {"keep_top_k": 2}):
    same = (ties[0], np.round(ties[1] * 3) / 4, ties[2])
    CASES.append(detection(8, same, 3, note="equal scores", **{"nms_threshold": 0.9, **attributes}))


# Proposal.
def proposal(since: int, size: tuple[int, int, int], image: tuple[float, ...], seed: int = 0, **rest: Any) -> Case:
    attributes: dict[str, Any] = {
        "base_size": 16,
        "pre_nms_topn": 60,
        "post_nms_topn": 12,
        "nms_thresh": 0.6,
        "feat_stride": 16,
        "min_size": 8,
        "ratio": (0.5, 1.0, 2.0),
        "scale": (1.0, 2.0),
        **rest,
    }
    batches, height, width = size
    ratios, scales = (np.size(attributes[name]) for name in ("ratio", "scale"))
    scores = np.random.default_rng(seed).permutation(batches * 2 * ratios * scales * height * width) / 10.0
    probs = scores.reshape(batches, 2 * ratios * scales, height, width).astype(np.float32)
    deltas = floats((batches, 4 * ratios * scales, height, width), -0.6, 0.6, seed + 1)
    inputs = (probs, deltas, np.array(image, np.float32))
    return Case("Proposal", since, inputs, attributes, (), 2 if since == 4 else 1, rtol=1e-5, atol=1e-4)


PROPOSALS: list[dict[str, Any]] = [
    {},
    {"nms_thresh": 0.3, "min_size": 12, "pre_nms_topn": 10},
    {"ratio": 2.67, "scale": (4.0, 6.0)},
    {"clip_before_nms": False},
    {"clip_before_nms": False, "clip_after_nms": True},
    {"normalize": True},
    {"normalize": True, "clip_after_nms": True, "clip_before_nms": False},
    {"box_size_scale": 5.0, "box_coordinate_scale": 10.0},
    {"framework": "tensorflow"},
    {"framework": "tensorflow", "normalize": True, "box_size_scale": 5.0, "box_coordinate_scale": 10.0},
    {"framework": "tensorflow", "clip_before_nms": False, "base_size": 32},
    {"pre_nms_topn": 20, "post_nms_topn": 2},
    {"feat_stride": 8, "base_size": 7},
    {"nms_thresh": 1.0, "post_nms_topn": 5},
]
for seed, variant in enumerate(PROPOSALS):
    for since in (1, 4):
        # With two outputs OpenVINO leaves scores behind the end as they were in memory, so all rows are filled.
        full = {"nms_thresh": 1.0, "min_size": 0, "pre_nms_topn": 30} if since == 4 else {}
        full = {key: value for key, value in full.items() if key not in variant}
        full |= {"nms_thresh": max(variant["nms_thresh"], 0.8)} if "nms_thresh" in variant and since == 4 else {}
        CASES.append(proposal(since, (2, 3, 4), (60.0, 90.0, 1.0), seed, **{**variant, **full}))
for since in (1, 4):
    CASES += [
        proposal(since, (1, 4, 3), (60.0, 90.0, 1.5, 2.0), 50, nms_thresh=0.9),
        proposal(since, (3, 2, 2), (40.0, 40.0, 1.0), 51, nms_thresh=0.9, post_nms_topn=3),
    ]
few = proposal(1, (2, 2, 1), (40.0, 40.0, 1.0), 52, post_nms_topn=20)
CASES.append(few)


# RegionYolo.
def region(shape: tuple[int, ...], **attributes: Any) -> Case:
    given = {"axis": 1, "end_axis": 3, "coords": 4, "num": 2, "classes": 3, "do_softmax": True, **attributes}
    return Case("RegionYolo", 1, (floats(shape, -3, 3, 3),), given, rtol=1e-5, atol=1e-6)


CASES += [
    region((1, 16, 3, 5)),
    region((2, 16, 3, 5)),
    region((2, 16, 2, 2), axis=-3, end_axis=-1),
    region((2, 16, 2, 2), axis=2, end_axis=3),
    region((2, 16, 2, 2), axis=0, end_axis=3),
    region((2, 16, 2, 2), axis=1, end_axis=1),
    region((2, 24, 2, 2), num=3),
    region((1, 20, 2, 3), num=2),
    region((1, 16, 2, 3), do_softmax=False, mask=(0, 1)),
    region((2, 24, 2, 3), do_softmax=False, mask=(3, 4, 5), num=6),
    region((1, 24, 2, 3), do_softmax=False, mask=(0, 1)),
    region((1, 6, 2, 3), do_softmax=False, mask=0, classes=1),
    region((1, 12, 2, 3), coords=2),
    region((1, 8, 1, 1), num=1),
    region((1, 16, 3, 5), anchors=(1.08, 1.19, 3.42, 4.41)),
]
for kind, tolerance in (("f16", 1e-3), ("bf16", 1e-2)):
    for attributes in ({}, {"do_softmax": False, "mask": (0, 1)}):
        rows = region((2, 16, 2, 3), **attributes)
        typed = (rows.inputs[0].astype(ElementType[kind].dtype),)
        CASES.append(Case("RegionYolo", 1, typed, rows.attributes, rtol=tolerance, atol=tolerance))
