"""Connectionist temporal classification (CTC): labels from scores of classes at every step of a sequence.

One class is the blank. A path has one class for every step; its labels are the classes after merging repeated ones and
removing blanks.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, IRError
from ir_exec.kernels.limits import check_time
from ir_exec.kernels.precision import CALCULABLE_FLOAT, round_to, widen
from ir_exec.kernels.softmax import log_softmax
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import Bool, IndexTypeName
from ir_exec.ops.base.dims import merged_dims
from ir_exec.ops.base.inputs import AxisIndices, Lengths
from ir_exec.ops.base.shapes import known_faults, largest_dim, require_rank
from ir_exec.types import INDEX, Array, Dim, ElementType, Shape, TensorType

__all__ = ["CTCGreedyDecoder", "CTCGreedyDecoderSeqLen", "CTCLoss"]


@op("CTCGreedyDecoder", since=1)
class CTCGreedyDecoder(Op):
    """The labels of the most probable path, the last class being the blank; -1 after the last label.

    Specification: sequence/ctc-greedy-decoder-1.

    Inputs:
        data: [T, N, C], steps, sequences and classes, any float type.
        sequence_mask: [T, N], any float type; a sequence ends at its first 0.

    Attributes:
        ctc_merge_repeated: A run of one class is one label.

    Outputs:
        output: [N, T, 1, 1], the type of data.
    """

    inputs = (In("data", types=CALCULABLE_FLOAT), In("sequence_mask", types=CALCULABLE_FLOAT))
    is_discontinuous = True

    ctc_merge_repeated: Bool = True

    def infer(self, data: TensorType, sequence_mask: TensorType) -> TensorType:
        dims = merged_dims({"data": (data, ["T", "N", "C"]), "sequence_mask": (sequence_mask, ["T", "N"])})
        return data.with_shape(Shape([dims["N"], dims["T"], Dim(1), Dim(1)]))

    def evaluate(self, data: Array, sequence_mask: Array) -> Array:
        inside = np.logical_and.accumulate(widen(sequence_mask).T != 0, axis=1)
        classes = _best_path(data.swapaxes(0, 1))
        labels, _ = _labels(classes, inside, data.shape[2] - 1, self.ctc_merge_repeated)
        return labels.reshape(*labels.shape, 1, 1).astype(data.dtype)


@op("CTCGreedyDecoderSeqLen", since=6)
class CTCGreedyDecoderSeqLen(Op):
    """The labels of the most probable path, -1 after the last one, and their number.

    Specification: sequence/ctc-greedy-decoder-seq-len-6.

    Inputs:
        data: [N, T, C], sequences, steps and classes, any float type.
        sequence_length: [N], 0 to T.
        blank_index: One class, by default the last one.

    Outputs:
        decoded_classes: The labels, [N, T], of `classes_index_type`.
        decoded_length: Their numbers, [N], of `sequence_length_type`. With merge_repeated a run of one class is one
            label.

    Raises:
        IRError: IR704 for a length outside of 0 to T.
    """

    inputs = (
        In("data", types=CALCULABLE_FLOAT),
        In("sequence_length", types=INDEX, domain=Lengths("data", 1)),
        In("blank_index", types=INDEX, optional=True),
    )
    outputs = ("decoded_classes", "decoded_length")

    merge_repeated: Bool = True
    classes_index_type: IndexTypeName = ElementType.i32
    sequence_length_type: IndexTypeName = ElementType.i32

    def infer(
        self, data: TensorType, sequence_length: TensorType, blank_index: TensorType | None = None
    ) -> tuple[TensorType, TensorType]:
        dims = merged_dims({"data": (data, ["N", "T", "C"]), "sequence_length": (sequence_length, ["N"])})
        if blank_index is not None:
            require_rank(blank_index, (0, 1), "blank_index")
        decoded = TensorType(self.classes_index_type, Shape([dims["N"], dims["T"]]))
        return decoded, TensorType(self.sequence_length_type, Shape([dims["N"]]))

    def check_values(self, *types: TensorType) -> list[IRError]:
        data, lengths = types[:2]
        return known_faults(_lengths, lengths, most=largest_dim(data, 1), port="sequence_length")

    def evaluate(self, data: Array, sequence_length: Array, blank_index: Array | None = None) -> tuple[Array, Array]:
        _, steps, classes = data.shape
        lengths = _lengths(sequence_length, steps, "sequence_length")
        blank = classes - 1 if blank_index is None else int(blank_index.reshape(-1)[0])
        inside = np.arange(steps) < lengths[:, np.newaxis]
        labels, counts = _labels(_best_path(data), inside, blank, self.merge_repeated)
        return labels.astype(self.classes_index_type.dtype), counts.astype(self.sequence_length_type.dtype)


@op("CTCLoss", since=4)
class CTCLoss(Op):
    """-log of the probability of all paths with these labels; the classes of a step have probabilities softmax(logits).

    First preprocess_collapse_repeated merges runs of equal labels, and `unique` keeps only the first of all equal ones.
    Without ctc_merge_repeated repeated classes of a path are not merged.

    Specification: sequence/ctc-loss-4.

    Inputs:
        logits: [N, T, C], sequences, steps and classes, any float type.
        logit_length: [N], at most T.
        labels: [N, T], the first label_length of them count.
        label_length: [N], at most logit_length.
        blank_index: A scalar, by default the last class.

    Outputs:
        output: [N], the type of logits; infinity if no path has the labels.

    Raises:
        IRError: IR701 for a label out of range, and for the blank among labels; IR704 for lengths out of range.
    """

    inputs = (
        In("logits", types=CALCULABLE_FLOAT),
        In("logit_length", types=INDEX, domain=Lengths("logits", 1)),
        In("labels", types=INDEX, domain=AxisIndices(axis=2, reserved=1)),
        In("label_length", types=INDEX, domain=Lengths("labels", 1)),
        In("blank_index", types=INDEX, optional=True),
    )

    preprocess_collapse_repeated: Bool = False
    ctc_merge_repeated: Bool = True
    unique: Bool = False

    def infer(
        self,
        logits: TensorType,
        logit_length: TensorType,
        labels: TensorType,
        label_length: TensorType,
        blank_index: TensorType | None = None,
    ) -> TensorType:
        dims = merged_dims(
            {
                "logits": (logits, ["N", "T", "C"]),
                "logit_length": (logit_length, ["N"]),
                "labels": (labels, ["N", "T"]),
                "label_length": (label_length, ["N"]),
            }
        )
        if blank_index is not None:
            require_rank(blank_index, 0, "blank_index")
        return logits.with_shape(Shape([dims["N"]]))

    def check_values(self, *types: TensorType) -> list[IRError]:
        logits, lengths, _, counts = types[:4]
        steps = largest_dim(logits, 1)
        faults = known_faults(_lengths, lengths, most=steps, port="logit_length")
        faults += known_faults(_lengths, counts, most=steps, port="label_length")
        return faults or known_faults(_require_paths, lengths, counts)

    def count_terms(self, inputs: Sequence[Array]) -> int:
        """The sums over all alignments, step by step, and the logarithm of the softmax of each step."""
        return int(prod(inputs[0].shape[1:]))

    def evaluate(
        self, logits: Array, logit_length: Array, labels: Array, label_length: Array, blank_index: Array | None = None
    ) -> Array:
        _, steps, classes = logits.shape
        lengths = _lengths(logit_length, steps, "logit_length")
        counts = _lengths(label_length, steps, "label_length")
        _require_paths(lengths, counts)
        blank = classes - 1 if blank_index is None else int(blank_index)
        targets = labels.astype(np.int64)
        _check_labels(targets, counts, classes, blank)
        if self.unique or self.preprocess_collapse_repeated:
            is_kept = _first_of_all(targets, counts) if self.unique else _first_of_run(targets, counts)
            targets, counts = _compact(targets, is_kept)
        scores = log_softmax(widen(logits), axis=-1)
        return round_to(
            -_log_probability(scores, lengths, targets, counts, blank, self.ctc_merge_repeated), logits.dtype
        )


def _require_paths(lengths: Array, counts: Array) -> None:
    """Raise EvaluationError IR704 for a sequence that has more labels than steps."""
    if (counts > lengths).any():
        at = int(np.argmax(counts > lengths))
        raise EvaluationError(
            f"label_length[{at}] is",
            actual=counts[at],
            expected=f"at most {lengths[at]}",
            reason=f"logit_length[{at}]",
            port="label_length",
        )


def _lengths(lengths: Array, most: int, port: str) -> Array:
    """The lengths as i64.

    Raises:
        EvaluationError: IR704 for one that is negative or more than `most`.
    """
    wrong = (lengths < 0) | (lengths > most)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise EvaluationError(f"{port}[{at}] is", actual=lengths[at], expected=f"0 to {most}", port=port)
    return lengths.astype(np.int64)


def _best_path(scores: Array) -> Array:
    """The most probable class of every step, the first of equal ones."""
    if not scores.shape[-1] and scores.shape[0] * scores.shape[1]:
        raise EvaluationError("data is", actual="empty", expected="one class or more", port="data")
    return np.argmax(widen(scores), axis=-1) if scores.size else np.zeros(scores.shape[:-1], np.int64)


def _labels(classes: Array, inside: Array, blank: int, merge: bool) -> tuple[Array, Array]:
    """The labels of paths, [N, T] with -1 after the last, and their numbers; `inside` masks the steps of sequences."""
    is_kept = inside & (classes != blank)
    if merge:
        is_kept[:, 1:] &= classes[:, 1:] != classes[:, :-1]
    return _compact(classes, is_kept)


def _compact(values: Array, is_kept: Array) -> tuple[Array, Array]:
    """The values of each row where `is_kept`, moved to its beginning and followed by -1, and their numbers."""
    places = np.cumsum(is_kept, axis=1) - 1
    rows, columns = np.nonzero(is_kept)
    result = np.full(values.shape, -1, np.int64)
    result[rows, places[rows, columns]] = values[rows, columns]
    return result, np.count_nonzero(is_kept, axis=1)


def _check_labels(targets: Array, counts: Array, classes: int, blank: int) -> None:
    if not 0 <= blank < classes and counts.size:
        raise EvaluationError(
            "blank_index is",
            actual=blank,
            expected=f"0 to {classes - 1}",
            code=Code.index_out_of_range,
            port="blank_index",
        )
    wrong = (targets < 0) | (targets >= classes) | (targets == blank)
    wrong &= np.arange(targets.shape[1]) < counts[:, np.newaxis]
    if wrong.any():
        row, column = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
        raise EvaluationError(
            f"labels[{row},{column}] is",
            actual=targets[row, column],
            expected=f"0 to {classes - 1}",
            reason=f" without {blank}, which is the blank",
            code=Code.index_out_of_range,
            port="labels",
        )


def _first_of_run(targets: Array, counts: Array) -> Array:
    """A mask of the labels that differ from their predecessor."""
    is_kept = np.arange(targets.shape[1]) < counts[:, np.newaxis]
    is_kept[:, 1:] &= targets[:, 1:] != targets[:, :-1]
    return is_kept


def _first_of_all(targets: Array, counts: Array) -> Array:
    """A mask of the first occurrences of labels in their row."""
    is_kept = np.arange(targets.shape[1]) < counts[:, np.newaxis]
    # A stable sort makes equal labels adjacent in their order, and puts labels after the end last.
    values = np.where(is_kept, targets, np.iinfo(np.int64).max)
    order = np.argsort(values, axis=1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=1)
    first = np.ones(targets.shape, np.bool_)
    first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    is_first = np.empty(targets.shape, np.bool_)
    np.put_along_axis(is_first, order, first, axis=1)
    return is_kept & is_first


def _log_probability(scores: Array, lengths: Array, targets: Array, counts: Array, blank: int, merge: bool) -> Array:
    """The log of the probability of all paths with these labels, [N]: the forward algorithm.

    The states are the labels with a blank before, between and after them: labels at odd places, blanks at even ones.
    `forward` is the log of the probability of all beginnings of paths that end in a state.
    """
    batch, most = len(targets), int(counts.max(initial=0))
    targets = targets[:, :most]
    states = np.full((batch, 2 * most + 1), blank)
    states[:, 1::2] = np.where(np.arange(most) < counts[:, np.newaxis], targets, blank)
    is_label = np.arange(states.shape[1]) % 2 == 1
    may_skip = np.zeros(states.shape, np.bool_)
    may_skip[:, 3::2] = (states[:, 3::2] != states[:, 1:-2:2]) | (not merge)
    nothing = scores.dtype.type(-np.inf)
    # Two columns in front represent the states before the first one, which have no path.
    padded = np.full((batch, states.shape[1] + 2), nothing, scores.dtype)
    forward = padded[:, 2:]
    # A path begins before the first step at the first blank: it may stay there, or go to the first label.
    forward[:, 0] = 0
    ends = forward.copy()
    sequences = np.arange(batch)[:, np.newaxis]
    last_steps = set(lengths.tolist())
    for time in range(scores.shape[1]):
        check_time()
        stayed = forward if merge else np.where(is_label, nothing, forward)
        skipped = np.where(may_skip, padded[:, :-2], nothing)
        arrived = np.logaddexp(np.logaddexp(stayed, padded[:, 1:-1]), skipped)
        np.add(arrived, scores[sequences, time, states], out=forward)
        if time + 1 in last_steps:
            ends = np.where((lengths == time + 1)[:, np.newaxis], forward, ends)
    last = 2 * counts[:, np.newaxis]
    at_blank = np.take_along_axis(ends, last, axis=1)
    at_label = np.where(last > 0, np.take_along_axis(ends, np.maximum(last - 1, 0), axis=1), nothing)
    return np.asarray(np.logaddexp(at_blank, at_label)[:, 0])
