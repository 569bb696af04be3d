"""Reports of partitions, as text and JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

from ir_exec.engines.interface import PartForm
from ir_exec.engines.partition import Partition
from ir_exec.graph import Graph
from ir_exec.plan.explain import PlanReport
from ir_exec.report.numbers import format_count, format_seconds
from ir_exec.report.records import Record
from ir_exec.report.text import format_remainder

__all__ = [
    "EngineChoice",
    "EnginePlan",
    "InterpretedLayer",
    "LayerReason",
    "PartReport",
    "PartitionReport",
    "RoundedProduct",
    "make_report",
]


_MOST_SHOWN = 5
"""Maximum lowered nodes of a part that the text names."""


class LayerReason(Record):
    """A layer, and the reason for what happens to it."""

    name: str
    type: str
    reason: str


class PartReport(Record):
    """Layers that run together.

    Attributes:
        inputs: The names of the values that enter.
        outputs: The names of the values that leave.
        original_nodes: The number of nodes of an ONNX file that the engine runs as they are; None for other models.
        lowered: Layers of other nodes of the file, one for each node, and the reasons why these were lowered.
        reason: The reason why all nodes of the file were lowered.
        int8_layers: The number of convolutions and products that the engine computes with integers of 8 bits.
    """

    engine: bool
    layers: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    original_nodes: int | None = None
    lowered: tuple[LayerReason, ...] = ()
    reason: str = ""
    int8_layers: int = 0

    @property
    def form(self) -> str:
        """The form in one phrase; empty for layers of IR that are computed in their own types."""
        if self.int8_layers:
            return f" ({format_count(self.int8_layers, 'layer')} in int8)"
        if self.original_nodes is None:
            return ""
        if not self.lowered and not self.reason:
            return " (original nodes)"
        return f" ({self.original_nodes} original nodes)"


class InterpretedLayer(LayerReason):
    """A layer that the engine does not run, and the reason."""


class EngineChoice(Record):
    """The faster of the interpreter and the engine for a set of input shapes, with `engine="auto"`.

    Attributes:
        shapes: The input shapes of the first call.
        interpreter_seconds: The least time of the interpreter's calls that count, None before the first one.
        engine_seconds: The least time of the engine's calls that count, None before the first one.
        interpreter_calls: The number of measured calls; the first one does not count.
        engine_calls: The number of measured calls; the first one does not count.
        runs_on: None until both are measured.
    """

    shapes: tuple[tuple[int, ...], ...]
    interpreter_seconds: float | None
    engine_seconds: float | None
    interpreter_calls: int
    engine_calls: int
    runs_on: Literal["interpreter", "engine"] | None

    def __str__(self) -> str:
        shapes = " ".join(f"[{','.join(map(str, shape))}]" for shape in self.shapes)
        if self.runs_on is None or self.interpreter_seconds is None or self.engine_seconds is None:
            calls = f"{self.interpreter_calls} by the interpreter, {self.engine_calls} by the engine"
            return f"{shapes}: not chosen yet, after {calls}"
        times = f"interpreter {format_seconds(self.interpreter_seconds)}, engine {format_seconds(self.engine_seconds)}"
        return f"{shapes}: runs on the {self.runs_on}; least time: {times}"


class RoundedProduct(Record):
    """A product with compressed weights for which the engine may round activations to 8 bits.

    Attributes:
        name: The name of the layer.
        error: The relative error in the first run.
        is_rounded: The error is small enough.
    """

    name: str
    error: float
    is_rounded: bool


class PartitionReport(Record):
    """The layers that an engine runs.

    Attributes:
        layers: The total number of layers, without constants.
        on_engine: The number of layers on the engine.
        crossings: The number of values passed between parts in a run.
        failures: Messages of runs that failed on the engine and were then interpreted.
        choices: With `engine="auto"`, what runs inputs of the shapes of the calls so far, and the times that decided.
        products: The products with compressed weights that a run has measured, for the option `accuracy_level`.
    """

    engine: str
    layers: int
    on_engine: int
    crossings: int
    parts: tuple[PartReport, ...]
    interpreted: tuple[InterpretedLayer, ...]
    failures: tuple[str, ...] = ()
    choices: tuple[EngineChoice, ...] = ()
    products: tuple[RoundedProduct, ...] = ()

    def __str__(self) -> str:
        parts = len(self.parts)
        summary = f"{format_count(parts, 'part')}, {format_count(self.crossings, 'value')} between them"
        lines = [f"{self.engine} runs {self.on_engine} of {self.layers} layers, in {summary}"]
        for number, part in enumerate(self.parts):
            who = "engine" if part.engine else "interpreter"
            count = len(part.layers)
            lines.append(f"  part {number}  {who:11}  {format_count(count, 'layer')}: {_ends(part.layers)}{part.form}")
            lines += [f"    lowered: {part.reason}"] if part.reason else []
            lines += [f"    lowered: {layer.name}: {layer.reason}" for layer in part.lowered[:_MOST_SHOWN]]
            lines += [f"    {line}" for line in format_remainder(len(part.lowered), _MOST_SHOWN)]
        reasons = Counter((layer.type, layer.reason) for layer in self.interpreted)
        lines += [
            f"  interpreted: {count} x {operator_type}: {reason}"
            for (operator_type, reason), count in reasons.most_common()
        ]
        lines += [f"  failed on the engine and was interpreted: {failure}" for failure in self.failures]
        lines += [f"  inputs {choice}" for choice in self.choices]
        if self.products:
            lines += self._describe_products()
        return "\n".join(lines)

    def _describe_products(self) -> list[str]:
        rounded = [product for product in self.products if product.is_rounded]
        exact = [product for product in self.products if not product.is_rounded]
        lines = []
        if rounded:
            largest = max(product.error for product in rounded)
            lines.append(
                f"  {format_count(len(rounded), 'product')} with activations of 8 bits, error at most {largest:.2%}"
            )
        lines += [f"  {product.name}: activations of f32, the error would be {product.error:.2%}" for product in exact]
        return lines


class EnginePlan(PlanReport):
    """The plan of the interpreter, and the partition of the model with an engine."""

    partition: PartitionReport

    def __str__(self) -> str:
        return f"{super().__str__()}\n{self.partition}"


def make_report(
    graph: Graph,
    engine: str,
    partition: Partition,
    failures: Sequence[str],
    forms: Sequence[PartForm | None],
    choices: Sequence[EngineChoice] = (),
    products: Sequence[RoundedProduct] = (),
) -> PartitionReport:
    """Return the report of a partition.

    Args:
        forms: The form of each part; None without one to report.
        choices: The times of the interpreter and the engine, with `engine="auto"`.
        products: The products whose activations may be rounded.
    """
    parts = [
        PartReport(
            engine=part.on_engine,
            layers=tuple([node.name for node in part.nodes]),
            inputs=tuple([value.name for value in part.inputs]),
            outputs=tuple([value.name for value in part.outputs]),
            **({} if form is None else _form_fields(form)),
        )
        for part, form in zip(partition.parts, forms, strict=True)
    ]
    reasons = partition.reasons
    return PartitionReport(
        engine=engine,
        layers=sum(len(part.layers) for part in parts),
        on_engine=sum(len(part.layers) for part in parts if part.engine),
        crossings=partition.crossings,
        parts=tuple(parts),
        interpreted=tuple(
            [
                InterpretedLayer(name=node.name, type=node.type, reason=reasons[node])
                for node in graph.nodes
                if node in reasons
            ]
        ),
        failures=tuple(failures),
        choices=tuple(choices),
        products=tuple(products),
    )


def _form_fields(form: PartForm) -> dict[str, Any]:
    lowered = [LayerReason(name=node.name, type=node.type, reason=reason) for node, reason in form.lowered]
    return {
        "original_nodes": form.original_nodes,
        "lowered": tuple(lowered),
        "reason": form.reason,
        "int8_layers": form.int8_layers,
    }


def _ends(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 3 else f"{names[0]}, ..., {names[-1]}"
