"""The report of the differences between two models, and its text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from ir_exec.debug.comparison.metrics import Difference, difference_text
from ir_exec.debug.comparison.rounded import WeightsNote
from ir_exec.debug.precision.activations import QuantizedRange
from ir_exec.debug.precision.weights import (
    QuantizedWeight,
    summary_of,
    weight_line,
)
from ir_exec.report.numbers import format_count
from ir_exec.report.records import Record

__all__ = ["Change", "ChangedLayer", "Differences", "NetworkDiff", "UnmatchedLayer"]


class UnmatchedLayer(Record):
    """A layer that exists in only one of the models.

    Attributes:
        path: `loop/body/name`.
        outputs: The types of its outputs.
        inputs: The names of the values that it reads.
    """

    layer_id: str
    path: str
    type: str
    opset: str | None
    outputs: tuple[str, ...]
    inputs: tuple[str, ...]


class Change(Record):
    """A property that differs (`attribute strides`, `input 1`, `output`), with both values; None for a missing one."""

    what: str
    before: str | None = None
    after: str | None = None


class ChangedLayer(Record):
    """A layer of both models that differs.

    Attributes:
        path: The path in the first model.
        path_b: The path in the second model.
        layer_id: The id in the first model.
        layer_id_b: The id in the second model.
        constant: For constants with different arrays, the difference of the second model's array from the first
            model's.
    """

    path: str
    path_b: str
    type: str
    layer_id: str
    layer_id_b: str
    changes: tuple[Change, ...]
    constant: Difference | None = None


class NetworkDiff(Record):
    """Differences between the models `a` and `b`.

    Attributes:
        unchanged: The number of layers that do not differ.
        constants_not_compared: The number of constants not compared because a .bin is missing.
        order: Inputs or outputs in a different order, and differences of the models themselves.
        consequences: Layers whose types or dims differ only because those of their inputs do. They alone do not make
            models different.
        weights: Constants that one model stores in a shorter floating-point type, without any other difference. They
            and their conversions are in no other list.
        quantized: Weights that one model stores compressed, or both in different formats. They and the layers that
            expand them are in no other list.
        ranges: FakeQuantize layers on computed values, if only one model has such layers.
        unit: What is compared: layers of IR, or nodes, constants, inputs and outputs of ONNX files.
    """

    a: str
    b: str
    equal: bool
    unchanged: int
    constants_not_compared: int = 0
    order: tuple[str, ...] = ()
    added: tuple[UnmatchedLayer, ...] = ()
    removed: tuple[UnmatchedLayer, ...] = ()
    changed: tuple[ChangedLayer, ...] = ()
    consequences: tuple[ChangedLayer, ...] = ()
    weights: WeightsNote | None = None
    quantized: tuple[QuantizedWeight, ...] = ()
    ranges: tuple[QuantizedRange, ...] = ()
    unit: Literal["layer", "node"] = "layer"

    @property
    def summary(self) -> str:
        """Summary in one line."""
        constants = sum(layer.constant is not None for layer in self.changed)
        parts = [f"{len(self.added):,} added, {len(self.removed):,} removed, {len(self.changed):,} changed"]
        parts[0] += f" ({format_count(constants, 'constant', ',')})" if constants else ""
        if self.consequences:
            parts.append(f"{len(self.consequences):,} with different types as a consequence")
        parts.append(f"{self.unchanged:,} unchanged")
        if self.constants_not_compared:
            count = self.constants_not_compared
            missing = "a .bin is missing" if self.unit == "layer" else "their data are missing"
            parts.append(f"{format_count(count, 'constant', ',')} not compared because {missing}")
        stored = "" if self.weights is None else f"{self.weights}; "
        stored += "".join(f"{line}; " for line in summary_of(self.quantized))
        if self.ranges:
            stored += f"{len(self.ranges):,} values quantized to a range; "
        return ("equal" if self.equal else "different") + f": {stored}{self.unit}s: {'; '.join(parts)}"

    def lines(self, *, every: bool = False) -> Iterator[tuple[str, str]]:
        """Yield the kind of each line (added, removed, changed, or "") and the line.

        Args:
            every: Include all consequences.
        """
        for line in self.order:
            yield "changed", f"~ {line}"
        for sign, role, unmatched in (("-", "removed", self.removed), ("+", "added", self.added)):
            for one_sided in unmatched:
                yield role, f"{sign} {_layer_text(one_sided)}"
        for weight in self.quantized:
            name = repr(weight.path) if weight.path == weight.partner else f"{weight.path!r} for {weight.partner!r}"
            yield "removed" if weight.is_fault else "changed", f"~ {name} (weight)"
            yield "", f"    {weight_line(weight)}"
        for one_range in self.ranges:
            yield "changed", f"~ {one_range.path!r} (FakeQuantize)"
            yield "", f"    {one_range.levels:,} levels in [{one_range.low:.4g}, {one_range.high:.4g}]"
        shown = (*self.changed, *(self.consequences if every else ()))
        for layer in shown:
            yield "changed", f"~ {_of_layer(layer)}"
            for change in layer.changes:
                yield "", f"    {change.what}: {_or_none(change.before)} -> {_or_none(change.after)}"
            if layer.constant is not None:
                text = difference_text(layer.constant).replace(" beyond the tolerance", " elements differ")
                yield "", f"    values: {text}"

    def __str__(self) -> str:
        return "\n".join([self.summary, *(line for _, line in self.lines())])


class Differences:
    """Differences found so far, in all graphs of both models."""

    def __init__(self) -> None:
        self.unchanged = 0
        self.not_compared = 0
        self.order: list[str] = []
        self.added: list[UnmatchedLayer] = []
        self.removed: list[UnmatchedLayer] = []
        self.changed: list[ChangedLayer] = []
        self.consequences: list[ChangedLayer] = []

    def report(
        self,
        a: str,
        b: str,
        unit: Literal["layer", "node"],
        *,
        weights: WeightsNote | None = None,
        quantized: Sequence[QuantizedWeight] = (),
        ranges: Sequence[QuantizedRange] = (),
    ) -> NetworkDiff:
        """Return the report; the arguments are those fields of it that are not collected here."""
        differs = self.added or self.removed or self.changed or self.order or weights or quantized or ranges
        return NetworkDiff(
            a=a,
            b=b,
            equal=not differs,
            unchanged=self.unchanged,
            constants_not_compared=self.not_compared,
            order=tuple(self.order),
            added=tuple(self.added),
            removed=tuple(self.removed),
            changed=tuple(self.changed),
            consequences=tuple(self.consequences),
            weights=weights,
            quantized=tuple(quantized),
            ranges=tuple(ranges),
            unit=unit,
        )


def _or_none(text: str | None) -> str:
    return "(none)" if text is None else text


def _of_layer(layer: ChangedLayer) -> str:
    name = repr(layer.path) if layer.path == layer.path_b else f"{layer.path!r}, now {layer.path_b!r}"
    return f"{name} ({layer.type})"


def _layer_text(layer: UnmatchedLayer) -> str:
    outputs = f" -> {', '.join(layer.outputs)}" if layer.outputs else ""
    version = f"{layer.type} of {layer.opset}" if layer.opset is not None else layer.type
    inputs = f" of ({', '.join(layer.inputs)})" if layer.inputs or layer.opset is not None else ""
    return f"{layer.path!r} ({version}){inputs}{outputs}"
