"""Connectionist temporal classification."""

from __future__ import annotations

from itertools import product

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case

F32 = np.float32


def scores(*shape: int, seed: int = 0, element_type: str = "f32") -> Array:
    return np.random.default_rng(seed).uniform(-3, 3, shape).astype(ElementType[element_type].dtype)


def path(classes: list[list[int]], count: int) -> Array:
    """Scores in which these classes are the most probable ones, [N, T, C]."""
    return np.eye(count, dtype=F32)[np.array(classes)]


def mask(lengths: list[int], steps: int, element_type: str = "f32") -> Array:
    return (np.arange(steps)[:, None] < np.array(lengths)).astype(ElementType[element_type].dtype)


REPEATED = path([[1, 1, 3, 1, 1, 2], [0, 0, 2, 2, 1, 1], [3, 3, 3, 3, 3, 3]], 4)


def greedy(data: Array, lengths: list[int], element_type: str = "f32", **attributes: object) -> Case:
    """data: [N, T, C]."""
    inputs = (data.swapaxes(0, 1).copy(), mask(lengths, data.shape[1], element_type))
    return Case("CTCGreedyDecoder", 1, inputs, attributes)


CASES: list[Case] = []
for merge in (True, False):
    CASES += [greedy(REPEATED, lengths, ctc_merge_repeated=merge) for lengths in ([6, 6, 6], [5, 3, 1], [1, 2, 6])]
    CASES += [greedy(scores(2, 7, 3), [7, 4], ctc_merge_repeated=merge)]
    CASES += [greedy(scores(1, 1, 2), [1], ctc_merge_repeated=merge)]
    CASES += [
        greedy(scores(2, 5, 3, element_type=element_type), [5, 2], element_type, ctc_merge_repeated=merge)
        for element_type in ("f16", "bf16")
    ]
CASES += [greedy(REPEATED, [6, 4, 2])]
CASES += [
    Case(
        "CTCGreedyDecoder",
        1,
        (REPEATED.swapaxes(0, 1).copy(), mask([6, 4, 2], 6, element_type)),
        note=f"a mask of {element_type}",
    )
    for element_type in ("f16", "bf16", "f64")
]
CASES += [
    Case(
        "CTCGreedyDecoder",
        1,
        (REPEATED.swapaxes(0, 1).copy(), np.array([[1, 1, 1], [0, 1, 1], [1, 0.5, 0], [1] * 3, [1] * 3, [0] * 3], F32)),
        note="a mask that begins again",
    )
]


def greedy_seq_len(data: Array, lengths: object, *blank: Array, dtype: type = np.int32, **attributes: object) -> Case:
    inputs = (data, np.array(lengths, dtype), *blank)
    return Case("CTCGreedyDecoderSeqLen", 6, inputs, attributes, outputs=2)


for merge in (True, False):
    CASES += [greedy_seq_len(REPEATED, lengths, merge_repeated=merge) for lengths in ([6, 6, 6], [5, 3, 1], [0, 2, 6])]
    CASES += [
        greedy_seq_len(REPEATED, [6, 5, 4], np.array(blank, np.int32), merge_repeated=merge)
        for blank in (0, 1, [2], 9, -1)
    ]
    CASES += [greedy_seq_len(scores(2, 7, 3), [7, 4], merge_repeated=merge)]
    CASES += [
        greedy_seq_len(scores(2, 5, 3, element_type=element_type), [5, 2], merge_repeated=merge)
        for element_type in ("f16", "bf16", "f64")
    ]
CASES += [greedy_seq_len(REPEATED, [6, 4, 2])]
CASES += [
    greedy_seq_len(REPEATED, [6, 4, 2], dtype=np.int64, classes_index_type=index_type, sequence_length_type=length_type)
    for index_type, length_type in product(("i32", "i64"), repeat=2)
]
CASES += [
    greedy_seq_len(REPEATED, [6, 4, 2], np.array(1, element_type), dtype=np.int64)
    for element_type in (np.int32, np.int64)
]


def loss(
    logits: Array,
    logit_length: list[int],
    labels: list[list[int]],
    label_length: list[int],
    *blank: Array,
    dtype: type = np.int32,
    tolerance: float = 1e-4,
    **attributes: object,
) -> Case:
    padded = np.zeros(logits.shape[:2], dtype)
    for row, row_labels in enumerate(labels):
        padded[row, : len(row_labels)] = row_labels
    inputs = (logits, np.array(logit_length, dtype), padded, np.array(label_length, dtype), *blank)
    # Where it is not given, the specification takes true and OpenVINO false.
    attributes = {"ctc_merge_repeated": True} | attributes
    return Case("CTCLoss", 4, inputs, attributes, rtol=tolerance, atol=tolerance)


LOGITS = scores(3, 5, 4, seed=3)
LABELS = {
    "different": ([5, 4, 3], [[0, 1, 2], [1, 2], [2]], [3, 2, 1]),
    "repeated": ([5, 5, 4], [[1, 1], [0, 0, 1, 1], [2, 0, 2]], [2, 4, 3]),
    "padded": ([4, 5, 2], [[1, 1, 2, 2], [0, 1, 0, 1, 0], [2, 2]], [2, 3, 1]),
    "as long": ([2, 3, 1], [[0, 1], [2, 1, 0], [1]], [2, 3, 1]),
}
FLAGS = ("preprocess_collapse_repeated", "ctc_merge_repeated", "unique")
CASES += [
    loss(LOGITS, *LABELS[name], **dict(zip(FLAGS, flags, strict=True)))
    for name in LABELS
    for flags in product((False, True), repeat=3)
]
CASES += [loss(LOGITS, *LABELS["different"])]
CASES += [
    loss(LOGITS, [5, 4, 3], [[1, 2, 3], [1, 1], [2, 3, 1]], [3, 2, 2], np.array(0, element_type), dtype=element_type)
    for element_type in (np.int32, np.int64)
]
CASES += [
    loss(LOGITS.astype(ElementType[element_type].dtype), *LABELS["different"], tolerance=0.05)
    for element_type in ("f16", "bf16")
]
CASES += [loss(scores(1, 1, 2), [1], [[0]], [1])]
CASES += [
    Case(
        "CTCLoss",
        4,
        (np.zeros((2, 3, 2), F32), np.array([3, 0], np.int32), np.zeros((2, 3), np.int32), np.zeros(2, np.int32)),
        expected=(np.array([3 * np.log(2), 0], F32),),
        oracle="nobody",
        rtol=1e-6,
        note="no labels: all blanks. OpenVINO crashes",
    )
]
