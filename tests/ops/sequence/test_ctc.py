"""Connectionist temporal classification: against all paths, one after the other, and what is refused."""

from __future__ import annotations

from itertools import groupby, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir_exec.errors import EvaluationError, ShapeError
from ir_exec.ops.sequence.ctc import CTCGreedyDecoder, CTCGreedyDecoderSeqLen, CTCLoss
from ir_exec.types import Array, ElementType, Shape, TensorType
from tests.helpers.facts import fault_with, naming

CLASSES = 3


def collapse_path(path: list[int], blank: int, merge: bool) -> list[int]:
    """Collapse a path as specified: repeated classes become one, then blanks go."""
    if merge:
        path = [label for label, _ in groupby(path)]
    return [label for label in path if label != blank]


@settings(max_examples=50)
@given(
    path=st.lists(st.integers(0, CLASSES - 1), min_size=1, max_size=8),
    blank=st.integers(0, CLASSES),
    merge=st.booleans(),
    data=st.data(),
)
def test_greedy_decoding_is_the_best_path(path: list[int], blank: int, merge: bool, data: st.DataObject) -> None:
    length = data.draw(st.integers(0, len(path)))
    scores = np.eye(CLASSES)[path][np.newaxis]
    actual, count = CTCGreedyDecoderSeqLen(merge_repeated=merge).evaluate(scores, np.array([length]), np.array(blank))
    expected = collapse_path(path[:length], blank, merge)
    assert count.tolist() == [len(expected)]
    assert actual[0].tolist() == expected + [-1] * (len(path) - len(expected))
    masked = CTCGreedyDecoder(ctc_merge_repeated=merge).evaluate(
        scores.swapaxes(0, 1), (np.arange(len(path)) < length).astype(float)[:, np.newaxis]
    )
    expected = collapse_path(path[:length], CLASSES - 1, merge)
    assert masked.ravel().tolist() == expected + [-1] * (len(path) - len(expected))


def loss_of_all_paths(logits: Array, target: list[int], blank: int, merge: bool) -> float:
    shares = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    total = sum(
        np.prod([shares[time, label] for time, label in enumerate(path)])
        for path in product(range(CLASSES), repeat=len(logits))
        if collapse_path(list(path), blank, merge) == target
    )
    return float(-np.log(total)) if total else float("inf")


@settings(max_examples=40)
@given(data=st.data())
def test_the_loss_counts_every_path(data: st.DataObject) -> None:
    steps = data.draw(st.integers(1, 5))
    length = data.draw(st.integers(0, steps))
    blank = data.draw(st.integers(0, CLASSES - 1))
    label = st.sampled_from([label for label in range(CLASSES) if label != blank])
    target = data.draw(st.lists(label, max_size=length))
    collapse, merge, unique = (data.draw(st.booleans()) for _ in range(3))
    logits = np.random.default_rng(data.draw(st.integers(0, 99))).uniform(-3, 3, (1, steps, CLASSES))
    labels = np.zeros((1, steps), np.int64)
    labels[0, : len(target)] = target
    operator = CTCLoss(preprocess_collapse_repeated=collapse, ctc_merge_repeated=merge, unique=unique)
    with np.errstate(all="ignore"):
        actual = operator.evaluate(logits, np.array([length]), labels, np.array([len(target)]), np.array(blank))
    if unique:
        target = list(dict.fromkeys(target))
    elif collapse:
        target = [label for label, _ in groupby(target)]
    expected = loss_of_all_paths(logits[0, :length], target, blank, merge)
    np.testing.assert_allclose(actual, [expected], rtol=1e-9, atol=1e-12)


def test_loss_defaults_match_specification() -> None:
    assert CTCLoss() == CTCLoss(preprocess_collapse_repeated=False, ctc_merge_repeated=True, unique=False)


def test_the_loss_of_long_sequences_does_not_underflow() -> None:
    """With equal classes every path has the probability C ** -T."""
    steps = 400
    logits = np.zeros((1, steps, 2), np.float32)
    with np.errstate(all="ignore"):
        (result,) = CTCLoss().evaluate(logits, np.array([steps]), np.zeros((1, steps), int), np.array([1]))
    paths = steps * (steps + 1) // 2
    assert result == pytest.approx(steps * np.log(2) - np.log(paths), rel=1e-5)


LOGITS = np.zeros((2, 4, 3), np.float32)


@pytest.mark.parametrize(
    ("lengths", "labels", "counts", "blank", "code", "fault"),
    [
        ([4, 5], 0, [1, 1], 2, "IR704", fault_with("logit_length[1]", actual=5, expected="0 to 4")),
        ([4, -1], 0, [1, 1], 2, "IR704", fault_with("logit_length[1]", actual=-1, expected="0 to 4")),
        (
            [4, 1],
            0,
            [1, 2],
            2,
            "IR704",
            fault_with("label_length[1]", "logit_length[1]", actual=2, expected="at most 1"),
        ),
        ([4, 4], 3, [0, 2], 2, "IR701", fault_with("labels[1,0]", 2, "blank", actual=3, expected="0 to 2")),
        ([4, 4], 2, [1, 0], 2, "IR701", fault_with("labels[0,0]", "blank", actual=2, expected="0 to 2")),
        ([4, 4], 0, [1, 0], 3, "IR701", fault_with("blank_index", actual=3, expected="0 to 2")),
    ],
)
def test_losses_that_cannot_be(
    lengths: list[int], labels: int, counts: list[int], blank: int, code: str, fault: fault_with
) -> None:
    inputs = (LOGITS, np.array(lengths), np.full((2, 4), labels), np.array(counts), np.array(blank))
    with pytest.raises(EvaluationError) as error:
        CTCLoss().evaluate(*inputs)
    assert (error.value.code, error.value) == (code, fault)


def test_labels_behind_the_end_may_be_anything() -> None:
    labels = np.array([[0, -7, 99, 2]])
    with np.errstate(all="ignore"):
        actual = CTCLoss(unique=True).evaluate(LOGITS[:1], np.array([4]), labels, np.array([1]))
        expected = CTCLoss(unique=True).evaluate(LOGITS[:1], np.array([4]), labels * 0, np.array([1]))
    assert actual == expected


def test_too_long_sequences() -> None:
    with pytest.raises(EvaluationError) as error:
        CTCGreedyDecoderSeqLen().evaluate(LOGITS, np.array([4, 5]))
    message = "sequence_length[1] is 5, expected 0 to 4"
    assert (error.value.code, error.value.message, error.value.location.port) == ("IR704", message, "sequence_length")


@pytest.mark.parametrize("shape", [(1, 2, 0), (2, 1, 0), (1, 1, 0), (3, 2, 0)])
def test_there_must_be_a_class_to_choose(shape: tuple[int, ...]) -> None:
    with pytest.raises(EvaluationError, match=naming("data")):
        CTCGreedyDecoderSeqLen().evaluate(np.zeros(shape), np.zeros(shape[0], np.int64))


@pytest.mark.parametrize("shape", [(0, 2, 0), (2, 0, 0), (0, 2, 3), (2, 0, 3), (0, 0, 0)])
def test_nothing_to_decode(shape: tuple[int, ...]) -> None:
    labels, counts = CTCGreedyDecoderSeqLen().evaluate(np.zeros(shape), np.zeros(shape[0], np.int64))
    assert (labels.shape, counts.tolist()) == (shape[:2], [0] * shape[0])


def test_the_first_of_equal_classes_is_chosen() -> None:
    scores = np.array([[[1, 1, 0], [0, 2, 2], [3, 0, 3]]], np.float16)
    labels, _ = CTCGreedyDecoderSeqLen(merge_repeated=False).evaluate(scores, np.array([3]), np.array(9))
    assert labels.tolist() == [[0, 1, 0]]


def test_dims_that_differ() -> None:
    data, mask = (TensorType(ElementType.f32, Shape.parse(text)) for text in ("5,2,4", "5,3"))
    with pytest.raises(ShapeError) as error:
        CTCGreedyDecoder().infer(data, mask)
    fault = fault_with("sequence_mask", actual="2 and 3", expected="equal dims")
    assert (error.value.code, error.value) == ("IR502", fault)
