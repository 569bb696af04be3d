"""Effects of quantization of each layer on the outputs, as records and as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from ir_exec.debug.comparison.report_text import describe_drawn_inputs
from ir_exec.debug.precision.losses import OutputLoss
from ir_exec.debug.precision.ranges import QuantizedRange
from ir_exec.report.numbers import format_count, format_number
from ir_exec.report.records import Number, Record, TableRecord
from ir_exec.report.text import format_remainder

__all__ = ["LayerEffect", "QuantizationReport", "loss_text"]

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
        bytes: The size of the quantized weight.
        plain_bytes: The size of the plain weight.
        estimate: The noise that the layer adds, relative to the power of the quantized values, computed without a
            separate run.
        effect: The loss of the outputs; None if the time limit was reached before the run.
        kept: True for a layer to keep at a higher precision.
        keep_as: The format to keep it in: int8, f16, or float for values.
        extra_bytes: The additional bytes of this format.
    """

    path: str
    layer_ids: tuple[str, ...] = ()
    kind: Literal["weight", "values"] = "weight"
    layers: tuple[str, ...] = ()
    format: str
    group_size: int | None = None
    weight_sqnr_db: Number | None = None
    bytes: int = 0
    plain_bytes: int = 0
    estimate: Number | None = None
    effect: OutputLoss | None = None
    kept: bool = False
    keep_as: str = "int8"
    extra_bytes: int = 0

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
            row = layer.model_dump(exclude={"layer_ids", "layers", "effect"})
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
            text += f'; greatest effect: "{first.path}" ({loss_text(first.effect)})'
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
