"""Effects of quantization of each layer on the outputs: the loss as one number, records and text."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from ir_exec.codes import Code
from ir_exec.debug.comparison.report_text import describe_drawn_inputs
from ir_exec.debug.precision.activations import QuantizedRange
from ir_exec.debug.values.facts import as_numbers
from ir_exec.errors import EvaluationError, SourceLine
from ir_exec.graph import Node
from ir_exec.model import Model
from ir_exec.report.numbers import format_count, format_number
from ir_exec.report.records import Number, Record, TableRecord
from ir_exec.report.text import format_remainder
from ir_exec.types import STRING, Array, ElementType

__all__ = [
    "LayerEffect",
    "LossKind",
    "OutputLoss",
    "OutputLosses",
    "QuantizationReport",
    "kinds_of_outputs",
    "loss_text",
]

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


_LAYERS_SHOWN = 20


class LayerEffect(Record):
    """A quantized layer, and the loss of the outputs if only this layer is quantized.

    Attributes:
        path: The constant of codes, or the FakeQuantize.
        layer_ids: The ids of all layers of the weight.
        kind: A weight, or computed values.
        layers: The readers.
        format: The format of a weight; for values, the number of levels.
        group_size: The number of elements of a weight that share a scale; None for whole channels or tensors, and for
            values.
        weight_sqnr_db: The SQNR of the weight relative to the plain weight.
        tensors: The tensors of a checkpoint that the weight consists of; empty without a checkpoint.
        tensor_sqnr_db: The SQNR of the weight relative to these tensors.
        tensor_fault: The difference from these tensors that rounding does not explain; None without one.
        bytes: The size of the quantized weight.
        plain_bytes: The size of the plain weight.
        estimate: The noise that the layer adds, relative to the power of the quantized values, computed without a
            separate run.
        effect: The loss of the outputs; None if the time limit was reached before the run.
        kept: True for a layer to keep at a higher precision.
        keep_as: The format to keep it in: int8, f16, or float for values.
        extra_bytes: The additional bytes of this format.
        source: The line of Python that the layer was exported from.
    """

    path: str
    layer_ids: tuple[str, ...] = ()
    kind: Literal["weight", "values"] = "weight"
    layers: tuple[str, ...] = ()
    format: str
    group_size: int | None = None
    weight_sqnr_db: Number | None = None
    tensors: tuple[str, ...] = ()
    tensor_sqnr_db: Number | None = None
    tensor_fault: str | None = None
    bytes: int = 0
    plain_bytes: int = 0
    estimate: Number | None = None
    effect: OutputLoss | None = None
    kept: bool = False
    keep_as: str = "int8"
    extra_bytes: int = 0
    source: SourceLine | None = None

    @property
    def title(self) -> str:
        """The path, with the line of Python that it was exported from."""
        source = "" if self.source is None else self.source.describe(self.path)
        return f'"{self.path}"' + (f", {source}" if source else "")

    @property
    def rank(self) -> tuple[bool, float]:
        """A sort key that increases with the loss; layers without a run are below those with a run."""
        if self.effect is not None:
            return True, float(self.effect.loss)
        return False, float(self.estimate or 0.0)


class QuantizationReport(TableRecord):
    """Effects of quantization on the outputs of a model.

    Attributes:
        model: The quantized model.
        reference: The plain model.
        metric: The kind of `loss` of the output with the greatest loss.
        total: The loss of the quantized model.
        layers: Sorted by effect, greatest first.
        complete: True if every layer was run by itself.
        max_loss: The given maximum loss.
        keep: The layers to keep at a higher precision for a loss of at most `max_loss`; None without `max_loss`, or if
            no set was found.
        kept: The measured loss with these layers kept.
        minimal: True if runs show that no layer can be removed from `keep`.
        bytes: The size of all weights in the quantized model.
        plain_bytes: The size of all weights in the plain model.
        kept_bytes: The size of all weights with the layers of `keep` at the higher precision.
        ranges: The FakeQuantize layers over values.
        runs: The number of runs of both models.
        seconds: The total time.
    """

    format: Literal[1] = 1
    model: str
    reference: str
    metric: Literal["kl", "noise"]
    total: OutputLoss
    layers: tuple[LayerEffect, ...] = ()
    complete: bool = True
    max_loss: float | None = None
    keep_bits: int = 8
    keep: tuple[str, ...] | None = None
    kept: OutputLoss | None = None
    minimal: bool = False
    bytes: int = 0
    plain_bytes: int = 0
    kept_bytes: int | None = None
    ranges: tuple[QuantizedRange, ...] = ()
    inputs: Mapping[str, tuple[int, ...]] = {}
    calls: int = 1
    seed: int | None = None
    runs: int = 0
    seconds: float = 0.0

    @property
    def is_within(self) -> bool:
        """Return True if the loss of the quantized model is at most `max_loss`, or without `max_loss`."""
        return self.max_loss is None or float(self.total.loss) <= self.max_loss

    def to_rows(self) -> list[dict[str, Any]]:
        """A flat row for each layer."""
        rows = []
        for layer in self.layers:
            row = layer.model_dump(exclude={"layer_ids", "layers", "effect", "source", "tensors"})
            row["tensors"] = " ".join(layer.tensors)
            row["source"] = None if layer.source is None else str(layer.source)
            row |= {f"effect_{name}": value for name, value in (layer.effect or OutputLoss()).model_dump().items()}
            rows.append(row)
        return rows

    @property
    def headline(self) -> str:
        """The loss of the whole model, and the layer with the greatest effect, in one line."""
        share = f"{self.plain_bytes:,} -> {self.bytes:,} bytes"
        text = f"quantized: {loss_text(self.total)} in total ({share})"
        first = self.layers[0] if self.layers and self.layers[0].effect is not None else None
        if first is not None and first.effect is not None:
            text += f"; greatest effect: {first.title} ({loss_text(first.effect)})"
        return text

    @property
    def verdict(self) -> str | None:
        """The layers to keep at a higher precision, in one line; None without `max_loss`."""
        if self.max_loss is None:
            return None
        if self.is_within:
            return f"the loss is at most {self.max_loss:g} with all layers quantized"
        if self.keep is None or self.kept is None:
            return f"no set of layers in {self.keep_bits} bits was found with a loss of at most {self.max_loss:g}"
        count = len(self.keep)
        least = "none can be left out" if self.minimal else "may not be the smallest set"
        subject = f"{format_count(count, 'layer', ',')} in more bits"
        cost = "" if self.kept_bytes is None else f", {self.bytes:,} -> {self.kept_bytes:,} bytes"
        return f"{subject}: {loss_text(self.kept)} (measured), limit {self.max_loss:g}; {least}{cost}"

    def lines(self) -> Iterator[str]:
        """Yield the lines of the report."""
        yield self.headline
        if self.verdict is not None:
            yield self.verdict
        yield from self.kept_lines()
        for layer in self.layers[:_LAYERS_SHOWN]:
            effect = "not run" if layer.effect is None else loss_text(layer.effect)
            yield f"  {layer.path} ({layer.format}): {effect}; {layer.plain_bytes:,} -> {layer.bytes:,} bytes"
        yield from format_remainder(len(self.layers), _LAYERS_SHOWN, indent="  ")
        yield self.counts

    def kept_lines(self) -> Iterator[str]:
        """Yield a line for each layer to keep."""
        for layer in self.layers:
            if layer.kept:
                yield f"  keep in {layer.keep_as}: {layer.path}"

    @property
    def counts(self) -> str:
        """The number of layers that were run by themselves, in one line."""
        run = sum(layer.effect is not None for layer in self.layers)
        left = "" if self.complete else "; the others are ranked by an estimate, increase --time to run them"
        what = f"{run:,} of {len(self.layers):,} layers run by themselves, {self.runs:,} runs{left}"
        return what + describe_drawn_inputs(self.seed, self.inputs)

    def __str__(self) -> str:
        return "\n".join(self.lines())


def loss_text(loss: OutputLoss) -> str:
    """A loss in a few words."""
    sqnr = "no noise" if loss.sqnr_db is None else f"SQNR {float(loss.sqnr_db):.1f} dB"
    if loss.kl is None:
        return f"loss {format_number(loss.loss)}, {sqnr}"
    top = "" if loss.top1_changes is None else f", {loss.top1_changes:.1%} top-1 changes"
    return f"KL {format_number(loss.kl)}{top}, {sqnr}"
