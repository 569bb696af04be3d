"""What a comparison answers, as records."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import model_validator

from ir_exec.debug.comparison.discontinuities import Jump
from ir_exec.debug.comparison.metrics import COLUMNS, Difference
from ir_exec.debug.comparison.rounded import WeightsNote
from ir_exec.debug.comparison.sensitivity import Untested
from ir_exec.debug.draw.record import Drawn
from ir_exec.debug.isolation.report import Isolation, PartStatus
from ir_exec.debug.pairing.ends import Pairing
from ir_exec.debug.quantization.ranges import QuantizedRange
from ir_exec.debug.quantization.weights import QuantizedWeight
from ir_exec.debug.values.facts import Record

__all__ = [
    "ComparedLayer",
    "ComparedModule",
    "ComparedOutput",
    "Comparison",
    "LayerFault",
    "OutputStatus",
    "Status",
    "Unmatched",
    "Verdict",
    "rows_as_csv",
]


Verdict = Literal["equal", "different", "reference", "not compared", "failed"]
"""equal: every output is within its tolerance. different: one is not. reference: one is not, and the reference's own
second answer agrees with this model. not compared: an output has no finite element on either side, where no fault
could show. failed: the reference gave no answer, or only a part of it."""

OutputStatus = Literal["equal", "close", "step", "different", "not compared", "unmatched"]
"""equal: the same bits. close: within the tolerance. step: beyond it on steps and in ties alone. different: beyond it.
not compared: no element is finite on both sides. unmatched: the reference has no such output."""

Status = Literal["equal", "close", "carried", "step", "reference", "wrong", "failed", "unmatched", "skipped"]
"""equal: the same bits. close: within the tolerance. carried: beyond it, from errors that came with the inputs.
step: differs in ties or on steps alone, by itself or for inputs that differ within the tolerance. reference: beyond the
tolerance, where the reference differs from itself: another way in which it computes the layer agrees with this network.
wrong: beyond the tolerance by itself. failed: cannot be run on the reference's inputs. unmatched: the reference has no
value for it. skipped: inside a fusion of the reference, whose values there are not those of the layers, or inside a
compressed weight that is compared as a whole."""

_SEVERITY: dict[Status, int] = {
    "unmatched": 0,
    "skipped": 1,
    "equal": 2,
    "close": 3,
    "carried": 4,
    "step": 5,
    "reference": 6,
    "failed": 7,
    "wrong": 8,
}


class ComparedLayer(Record):
    """One layer of MODEL.

    path: `loop/body/name` for layers of bodies. partner: the layer of the reference, its path. own: the error that the
    layer makes by itself, from the reference's inputs; None where the reference has too few values to tell. carried:
    the error when both networks ran from the same inputs. Of several outputs and iterations the worst is told, and
    `iterations` says which; of several calls the first that shows as much, and `call` says which, from 1 on. `runs`
    counts all. includes: layers above, without a partner, whose errors are part of
    `own`. jump: what a layer with steps makes of inputs within the tolerance. untested: why no element of it could have
    shown a fault with these inputs. alone, alone_error: the layer by itself on the device, where the
    comparison isolates layers. note: what else is to be said.
    """

    layer_id: str
    layer_name: str
    path: str
    type: str
    partner: str | None = None
    element_type: str | None = None
    shape: tuple[int, ...] | None = None
    status: Status
    own: Difference | None = None
    carried: Difference | None = None
    iterations: tuple[int, ...] = ()
    call: int = 1
    runs: int = 1
    includes: tuple[str, ...] = ()
    jump: Jump | None = None
    untested: Untested | None = None
    alone: PartStatus | None = None
    alone_error: Difference | None = None
    note: str | None = None

    @property
    def severity(self) -> int:
        """How bad the status is: the greater, the worse."""
        return _SEVERITY[self.status]

    @property
    def rank(self) -> tuple[int, float]:
        """By this the worst of several runs of a layer is the greatest: by status, then by the share beyond."""
        found = self.own if self.status in ("wrong", "reference", "step") and self.jump is None else self.carried
        return self.severity, found.beyond if found is not None else 0.0


class LayerFault(Record):
    """A layer that is wrong by itself, in the names of MODEL. call: the first in which it is, from 1 on. taken_by: of a
    constant, the layers that take it."""

    layer_id: str
    layer_name: str
    path: str
    type: str
    own: Difference | None = None
    carried: Difference | None = None
    call: int = 1
    includes: tuple[str, ...] = ()
    taken_by: tuple[str, ...] = ()
    note: str | None = None


class ComparedOutput(Record):
    """One output of MODEL.

    name: that of the output. path: the layer that gives it. partner: the reference's value, its path. error: how far it
    is from the reference's output, with the tolerance; None where the reference has none. Of several calls the worst
    counts, and `call` says which, from 1 on.
    """

    name: str
    path: str
    partner: str | None = None
    element_type: str | None = None
    shape: tuple[int, ...] | None = None
    status: OutputStatus
    error: Difference | None = None
    visible: Difference | None = None
    call: int = 1


class ComparedModule(Record):
    """A module of a recording. path: as the network's layers are named. layers: those that give its outputs.

    status: wrong where a layer of it or of a module in it is wrong by itself. own: the error of that layer. carried:
    that of its outputs.
    """

    path: str
    layers: tuple[str, ...] = ()
    status: Status
    own: Difference | None = None
    carried: Difference | None = None


class Unmatched(Record):
    """A layer without a partner. side: whose it is. why: what is known of the reason."""

    side: Literal["model", "reference"]
    path: str
    type: str
    why: str


class Comparison(Record):
    """The answer of `compare`.

    verdict: the answer in a word. equal: the verdict is "equal": outputs were compared, every one has a partner and is
    within its tolerance. output_results: each output, in the order of the model's. outputs: the layers that give them.
    not_compared: the number of elements of outputs that are NaN or infinite on both sides. untested: the number of
    layers of which no element could have shown a fault with these inputs. first_fault: the first layer, in the order of
    calls and of computation, that is wrong by itself; outputs may be equal all the same. faults: all of them. layers:
    in the order of computation. pairings: inputs and outputs, and values that the caller named, that go together by
    something else than a name. unmatched: layers without a partner on either side. notes: what a reader should know of
    the comparison itself.
    first_carried: the first layer beyond the tolerance at all. inputs: the shapes of the network's inputs in the first
    call, by name. seed: of the inputs that were drawn, None where none were. drawn: what they are. calls: how many were
    compared. rounds: how often the reference ran. not_run: layers of bodies that no call ran, which count as untested,
    too. failure: why it could not give all its values, None where it could: `equal` is false then.
    computes_in: the type in which the reference computed, where that is coarser than its values.
    weights: what the weights of one side are rounded to, where they are; no constant is wrong for it.
    quantized: compressed weights of either side against those of the other. ranges: FakeQuantize layers that the
    reference does not have.
    modules: those of a recording, in its order. first_module: the innermost module that has the first wrong layer.
    isolation: each part by itself on the device, where that was asked for.
    """

    format: Literal[1] = 1
    model: str
    reference: str
    verdict: Verdict
    equal: bool
    output_results: tuple[ComparedOutput, ...] = ()
    not_compared: int = 0
    untested: int = 0
    not_run: int = 0
    first_fault: LayerFault | None = None
    faults: tuple[LayerFault, ...] = ()
    first_carried: str | None = None
    layers: tuple[ComparedLayer, ...] = ()
    outputs: tuple[str, ...] = ()
    pairings: tuple[Pairing, ...] = ()
    unmatched: tuple[Unmatched, ...] = ()
    notes: tuple[str, ...] = ()
    inputs: Mapping[str, tuple[int, ...]] = {}
    seed: int | None = None
    drawn: Drawn | None = None
    calls: int = 1
    rounds: int = 1
    failure: str | None = None
    computes_in: str | None = None
    weights: WeightsNote | None = None
    quantized: tuple[QuantizedWeight, ...] = ()
    ranges: tuple[QuantizedRange, ...] = ()
    modules: tuple[ComparedModule, ...] = ()
    first_module: str | None = None
    isolation: Isolation | None = None

    @model_validator(mode="before")
    @classmethod
    def _of_earlier_releases(cls, data: Any) -> Any:
        """Give reports that were written before there were verdicts the one that they mean."""
        if isinstance(data, dict) and "verdict" not in data and "equal" in data:
            failed = data.get("failure") is not None
            return {**data, "verdict": "failed" if failed else "equal" if data["equal"] else "different"}
        return data

    def to_rows(self) -> list[dict[str, Any]]:
        """A flat row for each layer: what `--format csv` writes."""
        rows = []
        for layer in self.layers:
            row: dict[str, Any] = {
                "layer_id": layer.layer_id,
                "layer_name": layer.layer_name,
                "path": layer.path,
                "type": layer.type,
                "partner": layer.partner,
                "element_type": layer.element_type,
                "shape": None if layer.shape is None else str(list(layer.shape)),
                "status": layer.status,
                "call": layer.call,
                "untested": layer.untested,
            }
            for side, found in (("own", layer.own), ("carried", layer.carried)):
                for column in COLUMNS:
                    row[f"{side}_{column}"] = None if found is None else getattr(found, column)
                for name, number in (found.custom if found else {}).items():
                    row[f"{side}_{name}"] = number
            if self.isolation is not None:
                row["alone"] = layer.alone
                row["alone_max_abs"] = None if layer.alone_error is None else layer.alone_error.max_abs
            row["note"] = layer.note
            rows.append(row)
        return rows

    def to_dataframe(self) -> Any:
        """The rows as a pandas DataFrame; ImportError where pandas is not installed."""
        import pandas  # type: ignore[import-untyped]  # its stubs are a package of their own

        return pandas.DataFrame(self.to_rows())

    def to_csv(self) -> str:
        """The rows as text with a heading."""
        return rows_as_csv(self.to_rows())

    def __str__(self) -> str:
        """The report as text, as the command line prints it."""
        from ir_exec.debug.comparison.report_text import render  # it needs the records

        return "\n".join(render(self))


def rows_as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as text, with a heading of all their names."""
    text = io.StringIO()
    names = list(dict.fromkeys(name for row in rows for name in row)) or ["layer_id"]
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
