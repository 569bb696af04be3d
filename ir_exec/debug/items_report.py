"""What a comparison over many inputs answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from ir_exec.debug.facts import Record
from ir_exec.debug.report import ComparedLayer, Comparison, rows_as_csv
from ir_exec.debug.text import verdict

__all__ = ["ComparedItem", "Comparisons", "WorstLayer"]


class ComparedItem(Record):
    """One set of inputs. item: its name. error: why it could not be compared; `comparison` is None then."""

    item: str
    error: str | None = None
    comparison: Comparison | None = None

    @property
    def equal(self) -> bool:
        """Whether it could be compared, and its outputs are within the tolerance."""
        return self.comparison is not None and self.comparison.equal

    @property
    def verdict(self) -> str:
        """The answer in one line."""
        if self.comparison is not None:
            return verdict(self.comparison)
        return f"could not be compared: {self.error}".splitlines()[0]


class WorstLayer(NamedTuple):
    """A layer as it is in the item in which it is worst. wrong: in how many items it is wrong by itself."""

    layer: ComparedLayer
    item: str
    wrong: int


class Comparisons(Record):
    """The answer of `compare` over many inputs, each compared for itself. equal: whether all are."""

    format: Literal[1] = 1
    model: str
    reference: str
    equal: bool
    items: tuple[ComparedItem, ...]

    @classmethod
    def of(cls, model: str, reference: str, items: Sequence[ComparedItem]) -> Comparisons:
        """The answer over these items, which are equal where each of them is."""
        equal = all(item.equal for item in items)
        return cls(model=model, reference=reference, equal=equal, items=tuple(items))

    @property
    def is_whole(self) -> bool:
        """Whether every item could be compared."""
        return all(item.comparison is not None and item.comparison.failure is None for item in self.items)

    def worst_layers(self) -> list[WorstLayer]:
        """Every layer that ran on any of the items, in the order of computation."""
        found: dict[tuple[str, str], WorstLayer] = {}
        for item in self.items:
            for layer in () if item.comparison is None else item.comparison.layers:
                known = found.get((layer.path, layer.layer_id))
                wrong = (0 if known is None else known.wrong) + (layer.status == "wrong")
                if known is None or layer.rank > known.layer.rank:
                    known = WorstLayer(layer, item.item, wrong)
                found[layer.path, layer.layer_id] = known._replace(wrong=wrong)
        return list(found.values())

    def to_csv(self) -> str:
        """A row for each layer of each item, as `Comparison.to_csv` has them, and one for each item without."""
        rows: list[dict[str, Any]] = []
        for item in self.items:
            if item.comparison is None:
                rows.append({"item": item.item, "error": item.error})
            else:
                rows += [{"item": item.item, "error": None, **row} for row in item.comparison.to_rows()]
        return rows_as_csv(rows)

    def __str__(self) -> str:
        equal = sum(item.equal for item in self.items)
        lines = [f"{equal:,} of {len(self.items):,} items are equal"]
        return "\n".join([*lines, *(f"{item.item}: {item.verdict}" for item in self.items)])
