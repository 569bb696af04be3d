"""Reports of partitions, as text and JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ir_exec.engines.partition import Partition
from ir_exec.graph import Graph
from ir_exec.report.numbers import format_count
from ir_exec.report.records import Record

__all__ = ["InterpretedLayer", "PartReport", "PartitionReport", "RoundedProduct", "make_report"]


class PartReport(Record):
    """Layers that run together.

    Attributes:
        inputs: The names of the values that enter.
        outputs: The names of the values that leave.
    """

    engine: bool
    layers: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


class InterpretedLayer(Record):
    """A layer that the engine does not run, and the reason."""

    name: str
    type: str
    reason: str


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
        products: The products with compressed weights that a run has measured, for the option `accuracy_level`.
    """

    engine: str
    layers: int
    on_engine: int
    crossings: int
    parts: tuple[PartReport, ...]
    interpreted: tuple[InterpretedLayer, ...]
    failures: tuple[str, ...] = ()
    products: tuple[RoundedProduct, ...] = ()

    def __str__(self) -> str:
        parts = len(self.parts)
        summary = f"{format_count(parts, 'part')}, {format_count(self.crossings, 'value')} between them"
        lines = [f"{self.engine} runs {self.on_engine} of {self.layers} layers, in {summary}"]
        for number, part in enumerate(self.parts):
            who = "engine" if part.engine else "interpreter"
            count = len(part.layers)
            lines.append(f"  part {number}  {who:11}  {format_count(count, 'layer')}: {_ends(part.layers)}")
        reasons = Counter((layer.type, layer.reason) for layer in self.interpreted)
        lines += [
            f"  interpreted: {count} x {operator_type}: {reason}"
            for (operator_type, reason), count in reasons.most_common()
        ]
        lines += [f"  failed on the engine and was interpreted: {failure}" for failure in self.failures]
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


def make_report(
    graph: Graph,
    engine: str,
    partition: Partition,
    failures: Sequence[str],
    products: Sequence[RoundedProduct] = (),
) -> PartitionReport:
    """Return the report of a partition."""
    parts = [
        PartReport(
            engine=part.on_engine,
            layers=tuple([node.name for node in part.nodes]),
            inputs=tuple([value.name for value in part.inputs]),
            outputs=tuple([value.name for value in part.outputs]),
        )
        for part in partition.parts
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
        products=tuple(products),
    )


def _ends(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 3 else f"{names[0]}, ..., {names[-1]}"
