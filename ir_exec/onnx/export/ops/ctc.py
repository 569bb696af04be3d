"""Lowerings of CTC decoders and of CTCLoss."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ir_exec.onnx.export.algebra import BOOL, I64, Expr, concat, convert_output, input_tensors, loop, widen
from ir_exec.onnx.export.registry import export
from ir_exec.ops.sequence.ctc import CTCGreedyDecoder, CTCGreedyDecoderSeqLen, CTCLoss

if TYPE_CHECKING:
    from ir_exec.onnx.export.node import ExportNode


def _compact_rows(values: Expr, mask: Expr) -> tuple[Expr, Expr]:
    """The values [N, T] of each row where `mask`, moved to its beginning and followed by -1, and their counts."""
    ones, width = mask.to(I64), values.dim(1)
    # The others are moved to an extra column, which is dropped.
    places = mask.where(ones.cumsum(1) - 1, width)
    empty = values.sheet.zeros(values.sheet.ints(values.dim(0), width + 1), I64, -1)
    moved = empty.call("ScatterElements", places, values.to(I64), axis=1)
    return moved.slice(1, 0, width), ones.sum([1], keep=False)


def _without_repeats(values: Expr) -> Expr:
    """A mask of the elements that differ from their predecessor."""
    differs = ~values.slice(1, 1, 2**62).equals(values.slice(1, 0, -1))
    first = values.slice(1, 0, 1)
    return concat([first.equals(first), differs], 1)


def _labels(classes: Expr, inside: Expr, blank: Expr, merge: bool) -> tuple[Expr, Expr]:
    retained = inside & ~classes.equals(blank)
    if merge:
        retained = retained & _without_repeats(classes)
    return _compact_rows(classes, retained)


@export(CTCGreedyDecoder)
def greedy_decoder(node: ExportNode) -> str:
    """The best classes of the steps before the end of the mask, without blanks and repeats."""
    data, mask = input_tensors(node)
    ended = widen(mask).transpose(1, 0).equals(0).to(I64)
    inside = ended.cumsum(1).equals(0)
    classes = widen(data).transpose(1, 0, 2).argmax(2, keep=False)
    labels, _ = _labels(classes, inside, data.dim(2) - 1, node.op.ctc_merge_repeated)
    return labels.unsqueeze(2, 3).to(data.dtype).name


@export(CTCGreedyDecoderSeqLen)
def greedy_decoder_of_lengths(node: ExportNode) -> tuple[str, ...]:
    """The best classes of the first steps, without blanks and repeats."""
    data, lengths, *blanks = input_tensors(node)
    op = node.op
    blank = blanks[0].to(I64).reshape(1) if blanks else data.dim(2) - 1
    inside = data.sheet.arange(data.dim(1)).reshape(1, -1) < lengths.to(I64).unsqueeze(1)
    labels, counts = _labels(widen(data).argmax(2, keep=False), inside, blank, op.merge_repeated)
    return labels.to(op.classes_index_type.dtype).name, counts.to(op.sequence_length_type.dtype).name


@export(CTCLoss)
def ctc_loss(node: ExportNode) -> str:
    """The forward algorithm as a Loop over the steps."""
    op = node.op
    logits, logit_length, labels, label_length, *blanks = input_tensors(node)
    sheet, wide = logits.sheet, widen(logits)
    blank = blanks[0].to(I64).reshape(1) if blanks else logits.dim(2) - 1
    lengths, counts, targets = logit_length.to(I64), label_length.to(I64).unsqueeze(1), labels.to(I64)
    numbers = sheet.arange(targets.dim(1)).reshape(1, -1)
    if op.unique or op.preprocess_collapse_repeated:
        retained = numbers < counts
        if op.unique:
            equal = targets.unsqueeze(2).equals(targets.unsqueeze(1)) & retained.unsqueeze(1)
            earlier = equal & (numbers.unsqueeze(1) < numbers.unsqueeze(2))
            retained = retained & ~earlier.to(np.int32).max([2], keep=False).to(BOOL)
        else:
            retained = retained & _without_repeats(targets)
        targets, number = _compact_rows(targets, retained)
        counts = number.unsqueeze(1)
    batch = targets.dim(0)
    targets = (numbers < counts).where(targets, blank)
    pairs = concat([targets.unsqueeze(2), (targets * 0 + blank).unsqueeze(2)], 2).reshape(batch, targets.dim(1) * 2)
    states = concat([blank.unsqueeze(0).expand(batch, 1), pairs], 1)
    places = sheet.arange(states.dim(1)).reshape(1, -1)
    is_label = (places % 2).equals(1)
    before = concat([states.slice(1, 0, 2), states], 1).slice(1, 0, -2)
    may_skip = is_label & (places >= 3)
    if op.ctc_merge_repeated:
        may_skip = may_skip & ~states.equals(before)
    scores = wide.call("LogSoftmax", axis=2)
    start = (places.equals(0)).where(sheet.constant(0, wide.dtype), -np.inf).expand_to(states.shape())

    def shift_states(forward: Expr, by: int) -> Expr:
        return forward.pad([0, by], [0, -by], -np.inf)

    def body(time: Expr, forward: Expr, ends: Expr) -> tuple[list[Expr], list[Expr]]:
        stayed = forward if op.ctc_merge_repeated else is_label.where(-np.inf, forward)
        skipped = may_skip.where(shift_states(forward, 2), -np.inf)
        arrived = _log_sum(_log_sum(stayed, shift_states(forward, 1)), skipped)
        after = arrived + scores.gather(time, 1).take_along(states, 1)
        return [after, lengths.unsqueeze(1).equals(time + 1).where(after, ends)], []

    _, ends = loop(wide.dim(1), [start, start], body)
    last = counts * 2
    at_blank = ends.take_along(last, 1)
    at_label = (last > 0).where(ends.take_along((last - 1).at_least(0), 1), -np.inf)
    return convert_output(-_log_sum(at_blank, at_label).squeeze(1), logits.dtype).name


def _log_sum(left: Expr, right: Expr) -> Expr:
    """log(exp(left) + exp(right)); minus infinity if both are."""
    greatest = left.at_least(right)
    is_nothing = greatest.equals(-np.inf)
    offset = is_nothing.where(0, greatest)
    return offset + ((left - offset).exp() + (right - offset).exp()).log()
