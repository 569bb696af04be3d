"""What a comparison answers."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from ir_exec.debug.facts import Record
from ir_exec.debug.jumps import Jump
from ir_exec.debug.metrics import COLUMNS, Difference

__all__ = ["ComparedLayer", "Comparison", "LayerFault", "Status", "Unmatched", "rows_as_csv"]

Status = Literal["equal", "close", "carried", "step", "wrong", "failed", "unmatched"]
"""equal: the same bits. close: within the tolerance. carried: beyond it, from errors that came with the inputs.
step: differs in ties or on steps alone, by itself or for inputs that differ within the tolerance. wrong: beyond the
tolerance by itself. failed: cannot be run on the reference's inputs. unmatched: the reference has no value for it."""

_SEVERITY: dict[Status, int] = {
    "unmatched": 0,
    "equal": 1,
    "close": 2,
    "carried": 3,
    "step": 4,
    "failed": 5,
    "wrong": 6,
}


class ComparedLayer(Record):
    """One layer of MODEL.

    path: `loop/body/name` for layers of bodies. partner: the layer of the reference, its path. own: the error that the
    layer makes by itself, from the reference's inputs; None where the reference has too few values to tell. carried:
    the error when both networks ran from the same inputs. Of several outputs and iterations the worst is told, and
    `iterations` says which; of several calls the first that shows as much, and `call` says which, from 1 on. `runs`
    counts all. includes: layers above, without a partner, whose errors are part of
    `own`. jump: what a layer with steps makes of inputs within the tolerance. note: what else is to be said.
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
    note: str | None = None

    @property
    def severity(self) -> int:
        """How bad the status is: the greater, the worse."""
        return _SEVERITY[self.status]

    @property
    def rank(self) -> tuple[int, float]:
        """By this the worst of several runs of a layer is the greatest: by status, then by the share beyond."""
        found = self.own if self.status in ("wrong", "step") and self.jump is None else self.carried
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


class Unmatched(Record):
    """A layer without a partner. side: whose it is. why: what is known of the reason."""

    side: Literal["model", "reference"]
    path: str
    type: str
    why: str


class Comparison(Record):
    """The answer of `compare`.

    equal: no layer is wrong by itself, every output has a partner and is within the tolerance. first_fault: the first
    layer, in the order of calls and of computation, that is wrong by itself. faults: all of them. layers: in the order
    of computation. unmatched: layers without a partner on either side. notes: what a reader should know of the
    comparison itself.
    first_carried: the first layer beyond the tolerance at all. inputs: the shapes of the network's inputs in the first
    call, by name. seed: of the inputs that were drawn, None where none were. calls: how many were compared. rounds: how
    often the reference ran. failure: why it could not give all its values, None where it could: `equal` is false then.
    """

    format: Literal[1] = 1
    model: str
    reference: str
    equal: bool
    first_fault: LayerFault | None = None
    faults: tuple[LayerFault, ...] = ()
    first_carried: str | None = None
    layers: tuple[ComparedLayer, ...] = ()
    outputs: tuple[str, ...] = ()
    unmatched: tuple[Unmatched, ...] = ()
    notes: tuple[str, ...] = ()
    inputs: Mapping[str, tuple[int, ...]] = {}
    seed: int | None = None
    calls: int = 1
    rounds: int = 1
    failure: str | None = None

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
            }
            for side, found in (("own", layer.own), ("carried", layer.carried)):
                for column in COLUMNS:
                    row[f"{side}_{column}"] = None if found is None else getattr(found, column)
                for name, number in (found.custom if found else {}).items():
                    row[f"{side}_{name}"] = number
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
        # The renderer needs the models above, so it cannot be imported before them.
        from ir_exec.debug.text import render

        return "\n".join(render(self))


def rows_as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as text, with a heading of all their names."""
    text = io.StringIO()
    names = list(dict.fromkeys(name for row in rows for name in row)) or ["layer_id"]
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
