"""The loss of a quantized model: the distance of its outputs from those of the plain model, as one number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np

from ir_exec.codes import Code
from ir_exec.debug.values.facts import as_numbers
from ir_exec.errors import EvaluationError
from ir_exec.graph import Node
from ir_exec.model import Model
from ir_exec.report.records import Number, Record
from ir_exec.types import STRING, Array, ElementType

__all__ = ["LossKind", "OutputLoss", "OutputLosses", "kinds_of_outputs"]

LossKind: TypeAlias = Literal["logits", "probabilities", "values"]


class OutputLoss(Record):
    """The distance of outputs from those of the plain model.

    Attributes:
        loss: The greatest loss of all outputs. For logits and probabilities, the mean Kullback-Leibler divergence in
            nats; for other values, the power of the noise relative to that of the values, 0.01 for 20 dB.
        kl: The greatest divergence; None without logits and probabilities.
        top1_changes: The share of positions with another greatest element.
        sqnr_db: The least signal to noise ratio of an output; None without noise.
        output: The output with the greatest loss.
    """

    loss: Number = 0.0
    kl: Number | None = None
    top1_changes: float | None = None
    sqnr_db: Number | None = None
    output: str = ""


def kinds_of_outputs(model: Model) -> list[LossKind]:
    """Return the kind of each output: logits by its name, probabilities of a SoftMax, or other values."""
    kinds: list[LossKind] = []
    for result, port in zip(model.graph.results, model.outputs, strict=True):
        loss_kind: LossKind = "values"
        shape = port.shape
        has_classes = shape.dims is not None and len(shape.dims) >= 2 and shape.dims[-1].lo != 1
        if has_classes and ElementType.parse(str(port.element_type)).is_float:
            names = " ".join((port.name, *port.names)).lower()
            if _find_source(result).op_class.is_distribution:
                loss_kind = "probabilities"
            elif "logit" in names:
                loss_kind = "logits"
        kinds.append(loss_kind)
    return kinds


def _keeps_elements(node: Node) -> bool:
    return node.op_class.preserves_order or node.op_class.changes_order or node.op_class.is_result


def _find_source(node: Node) -> Node:
    """The layer that computes a result, upstream of layers that only convert or reorder its elements."""
    while _keeps_elements(node) and node.values_in:
        node = node.values_in[0].node
    return node


class OutputLosses:
    """The outputs of the plain model in several calls, to compute the loss of other outputs."""

    def __init__(self, names: Sequence[str], kinds: Sequence[LossKind], calls: Sequence[Sequence[Array]]) -> None:
        self._names = names
        self._kinds = kinds
        self._calls = calls

    def of(self, calls: Sequence[Sequence[Array]]) -> OutputLoss:
        """The loss of outputs, from the same calls as those of the plain model.

        Raises:
            EvaluationError: If an output has another shape, or if no output has numbers.
        """
        losses = [self._of_output(position, calls) for position in range(len(self._names))]
        measured = [loss for loss in losses if loss is not None]
        if not measured:
            raise EvaluationError(
                "no output has numbers to compare",
                expected=f"some in {', '.join(self._names)}",
                code=Code.unknown_input,
            )
        worst = max(measured, key=lambda loss: float(loss.loss))
        return OutputLoss(
            loss=worst.loss,
            kl=max((float(loss.kl) for loss in measured if loss.kl is not None), default=None),
            top1_changes=max((loss.top1_changes for loss in measured if loss.top1_changes is not None), default=None),
            sqnr_db=min((float(loss.sqnr_db) for loss in measured if loss.sqnr_db is not None), default=None),
            output=worst.output,
        )

    def _of_output(self, position: int, calls: Sequence[Sequence[Array]]) -> OutputLoss | None:
        loss_kind, name = self._kinds[position], self._names[position]
        noise = signal = divergence = 0.0
        rows = changed = elements = 0
        for mine, plain in zip(calls, self._calls, strict=True):
            output, expected = mine[position], plain[position]
            if output.shape != expected.shape:
                message = f"output {name!r} has shape {list(output.shape)}, expected {list(expected.shape)} as without "
                raise EvaluationError(f"{message}quantization", code=Code.unknown_input)
            if ElementType.of(expected) in STRING or not expected.size:
                continue
            elements += expected.size
            ours, theirs = (as_numbers(array).reshape(expected.shape) for array in (output, expected))
            finite = np.isfinite(theirs)
            gap = np.where(finite, np.nan_to_num(ours, nan=np.inf) - np.where(finite, theirs, 0), 0)
            noise += float(np.square(gap).sum())
            signal += float(np.square(theirs[finite]).sum())
            if loss_kind != "values":
                divergence += float(_divergences(theirs, ours, loss_kind).sum())
                changed += int(np.count_nonzero(theirs.argmax(-1) != ours.argmax(-1)))
                rows += math.prod(expected.shape[:-1])
        if not elements:
            return None
        ratio = noise / signal if signal else math.inf if noise else 0.0
        sqnr_db = -10 * math.log10(ratio) if 0 < ratio < math.inf else None
        if loss_kind == "values" or not rows:
            return OutputLoss(loss=ratio, sqnr_db=sqnr_db, output=name)
        kl = max(divergence / rows, 0.0)
        return OutputLoss(loss=kl, kl=kl, top1_changes=changed / rows, sqnr_db=sqnr_db, output=name)


def _divergences(plain: Array, actual: Array, loss_kind: LossKind) -> Array:
    """The divergence of each row from the plain distribution."""
    with np.errstate(all="ignore"):
        if loss_kind == "logits":
            logs = [_log_softmax(row) for row in (plain, actual)]
        else:
            # The output of a LogSoftMax already is logarithms, none of them positive.
            is_log = bool((plain <= 0).all())
            logs = [row if is_log else np.log(np.maximum(row, 1e-30)) for row in (plain, actual)]
        terms = np.exp(logs[0]) * (logs[0] - logs[1])
    return np.asarray(np.nan_to_num(terms, nan=0.0, posinf=0.0, neginf=0.0).sum(axis=-1))


def _log_softmax(array: Array) -> Array:
    shifted = array - array.max(axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)))
