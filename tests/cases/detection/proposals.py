"""Proposal and GenerateProposals."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.conformance.case import Case
from tests.helpers.box_cases import boxes, cast, distinct
from tests.helpers.values import uniform


# GenerateProposals.
def generate(images: int, anchors: int, height: int, width: int, *scale: float, seed: int = 0, **options: Any) -> Case:
    attributes = {"min_size": 1.0, "nms_threshold": 0.5, "pre_nms_count": 40, "post_nms_count": 20, **options}
    inputs = (
        np.tile(np.array([[50.0, 60.0, *scale]], np.float32), (images, 1)),
        boxes((height, width, anchors), seed),
        uniform((images, anchors * 4, height, width), -0.6, 0.6, seed + 2),
        distinct((images, anchors, height, width), seed + 3),
    )
    return Case("GenerateProposals", 9, inputs, attributes, (), 3, rtol=1e-5, atol=1e-4)


CASES: list[Case] = []

for seed, attributes in enumerate(
    [
        {},
        {"normalized": False},
        {"nms_threshold": 0.2, "min_size": 12.0},
        {"nms_threshold": 0.2, "min_size": 12.0, "normalized": False},
        {"pre_nms_count": 9, "post_nms_count": 3},
        {"pre_nms_count": 1000, "post_nms_count": 1000, "nms_threshold": 0.8},
        {"roi_num_type": "i32"},
        {"nms_threshold": 0.0},
        {"min_size": 100.0},
    ]
):
    CASES += [
        generate(1, 3, 3, 4, 1.0, seed=10 * seed, **attributes),
        generate(2, 2, 4, 3, 1.5, 2.0, seed=10 * seed + 5, **attributes),
    ]
CASES += [
    generate(3, 1, 3, 3, 1.0, seed=200),
    generate(1, 1, 1, 1, 1.0, seed=201),
    cast(generate(1, 3, 3, 4, 1.0, seed=202, nms_threshold=0.9), "f16", 0.05),
    cast(generate(1, 3, 3, 4, 1.0, seed=203, nms_threshold=0.9), "bf16", 0.5),
]
mixed = generate(1, 3, 3, 4, 1.0, seed=204)
half = (mixed.inputs[0].astype(np.float16), *mixed.inputs[1:])
CASES.append(Case(mixed.type, 9, half, mixed.attributes, (), 3, rtol=1e-3, atol=0.02, note="types that differ"))


def growing(case: Case) -> Case:
    """Boxes that grow by more than a box may, up to it, and by less, in an image in which all of them have room."""
    deltas = case.inputs[2]
    deltas[...] = np.linspace(3.5, 5, deltas.size, dtype=np.float32).reshape(deltas.shape)
    case.inputs[0][..., :2] = 50_000, 60_000
    return case


# ExperimentalDetectronGenerateProposalsSingleImage.
def single(anchors: int, height: int, width: int, seed: int, **options: Any) -> Case:
    attributes = {"min_size": 0.0, "nms_threshold": 0.5, "pre_nms_count": 40, "post_nms_count": 12, **options}
    inputs = (
        np.array([50.0, 60.0, 1.0], np.float32),
        boxes((height * width * anchors,), seed),
        uniform((anchors * 4, height, width), -0.6, 0.6, seed + 2),
        distinct((anchors, height, width), seed + 3),
    )
    name = "ExperimentalDetectronGenerateProposalsSingleImage"
    return Case(name, 6, inputs, attributes, (), 2, rtol=1e-5, atol=1e-4)


for seed, attributes in enumerate(
    [
        {},
        {"nms_threshold": 0.2},
        {"nms_threshold": 0.9, "post_nms_count": 30},
        {"pre_nms_count": 10, "post_nms_count": 4},
        {"pre_nms_count": 7, "min_size": 9.0},
        {"post_nms_count": 1},
        {"nms_threshold": 0.0},
    ]
):
    CASES.append(single(3, 3, 4, 300 + 10 * seed, **attributes))
    CASES.append(single(1, 5, 2, 305 + 10 * seed, **attributes))
CASES.append(cast(single(3, 3, 4, 400, nms_threshold=0.9), "f16", 0.05))
CASES += [
    growing(generate(1, 3, 3, 4, 1.0, seed=205, nms_threshold=0.9)),
    growing(generate(1, 3, 3, 4, 1.0, seed=206, nms_threshold=0.9, normalized=False)),
    growing(single(3, 3, 4, 401, nms_threshold=0.9)),
]


# Proposal.
def proposal(since: int, size: tuple[int, int, int], image: tuple[float, ...], seed: int = 0, **options: Any) -> Case:
    attributes: dict[str, Any] = {
        "base_size": 16,
        "pre_nms_topn": 60,
        "post_nms_topn": 12,
        "nms_thresh": 0.6,
        "feat_stride": 16,
        "min_size": 8,
        "ratio": (0.5, 1.0, 2.0),
        "scale": (1.0, 2.0),
        **options,
    }
    batches, height, width = size
    ratios, scales = (np.size(attributes[name]) for name in ("ratio", "scale"))
    scores = np.random.default_rng(seed).permutation(batches * 2 * ratios * scales * height * width) / 10.0
    probs = scores.reshape(batches, 2 * ratios * scales, height, width).astype(np.float32)
    deltas = uniform((batches, 4 * ratios * scales, height, width), -0.6, 0.6, seed + 1)
    inputs = (probs, deltas, np.array(image, np.float32))
    return Case("Proposal", since, inputs, attributes, (), 2 if since == 4 else 1, rtol=1e-5, atol=1e-4)


PROPOSALS: list[dict[str, Any]] = [
    {},
    {"nms_thresh": 0.3, "min_size": 12, "pre_nms_topn": 10, "post_nms_topn": 5},
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
        # With two outputs OpenVINO leaves scores after the end uninitialized, so all rows are filled.
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

# Boxes that are half a pixel apart: less than the one pixel that a box is wider than its coordinates.
apart = proposal(1, (1, 3, 4), (90.0, 90.0, 1.0), base_size=4, feat_stride=4, min_size=1, nms_thresh=0.05)
apart.inputs[1][...] = 0
apart.inputs[1][0, 0::4, 0, 1::2] = -0.125
CASES.append(apart)
