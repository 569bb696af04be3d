"""Reports of partitions, as text and JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ir_exec.engines.partition import Partition
from ir_exec.graph import Graph
from ir_exec.report.numbers import format_count
from ir_exec.report.records import Record

__all__ = ["InterpretedLayer", "PartReport", "PartitionReport", "make_report"]


class PartReport(Record):
    """Layers that run together.

    Attributes:
        inputs: The names of the values that enter.
        outputs: The names of the values that leave.
        form: For a model of an ONNX file, the nodes of the file that the engine runs, and the reasons for layers that
            were lowered.
    """

    engine: bool
    layers: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    form: str = ""


class InterpretedLayer(Record):
    """A layer that the engine does not run, and the reason."""

    name: str
    type: str
    reason: str


class PartitionReport(Record):
    """The layers that an engine runs.

    Attributes:
        layers: The total number of layers, without constants.
        on_engine: The number of layers on the engine.
        crossings: The number of values passed between parts in a run.
        failures: Messages of runs that failed on the engine and were then interpreted.
    """

    engine: str
    layers: int
    on_engine: int
    crossings: int
    parts: tuple[PartReport, ...]
    interpreted: tuple[InterpretedLayer, ...]
    failures: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts = len(self.parts)
        summary = f"{format_count(parts, 'part')}, {format_count(self.crossings, 'value')} between them"
        lines = [f"{self.engine} runs {self.on_engine} of {self.layers} layers, in {summary}"]
        for number, part in enumerate(self.parts):
            who = "engine" if part.engine else "interpreter"
            count = len(part.layers)
            form = f" ({part.form})" if part.form else ""
            lines.append(f"  part {number}  {who:11}  {format_count(count, 'layer')}: {_ends(part.layers)}{form}")
        reasons = Counter((layer.type, layer.reason) for layer in self.interpreted)
        lines += [
            f"  interpreted: {count} x {operator_type}: {reason}"
            for (operator_type, reason), count in reasons.most_common()
        ]
        lines += [f"  failed on the engine and was interpreted: {failure}" for failure in self.failures]
        return "\n".join(lines)


def make_report(
    graph: Graph, engine: str, partition: Partition, failures: Sequence[str], forms: Sequence[str]
) -> PartitionReport:
    """Return the report of a partition.

    Args:
        forms: As in PartReport, for each part.
    """
    parts = [
        PartReport(
            engine=part.on_engine,
            layers=tuple([node.name for node in part.nodes]),
            inputs=tuple([value.name for value in part.inputs]),
            outputs=tuple([value.name for value in part.outputs]),
            form=form,
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
    )


def _ends(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 3 else f"{names[0]}, ..., {names[-1]}"
