"""Reports of a comparison with many inputs, also in the JUnit format of CI servers."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

from ir_exec.debug.comparison.metrics import difference_text
from ir_exec.debug.comparison.records import ComparedLayer
from ir_exec.debug.comparison.report_text import Comparison, details, headline
from ir_exec.debug.device.records import RunPart
from ir_exec.report.junit import JUnitCase, JUnitOutcome, JUnitSuite, junit_text
from ir_exec.report.records import Record, TableRecord

__all__ = ["ComparedItem", "Comparisons", "WorstLayer", "junit"]


class ComparedItem(Record):
    """The result for one set of inputs.

    Attributes:
        item: The name of the set.
        error: The reason why it could not be compared, with `comparison` None.
    """

    item: str
    error: str | None = None
    comparison: Comparison | None = None

    @property
    def equal(self) -> bool:
        """True if the item was compared and the verdict is "equal"."""
        return self.comparison is not None and self.comparison.equal

    @property
    def exit_code(self) -> Literal[0, 1, 2]:
        """The exit code for this item: 2 if it could not be compared."""
        return 2 if self.comparison is None else self.comparison.exit_code

    @property
    def verdict(self) -> str:
        """The result in one line."""
        if self.comparison is not None:
            return headline(self.comparison)
        return f"could not be compared: {self.error}".splitlines()[0]


class WorstLayer(NamedTuple):
    """A layer with its worst result, in `item`.

    Attributes:
        wrong: The number of items in which it is wrong.
    """

    layer: ComparedLayer
    item: str
    wrong: int


class Comparisons(TableRecord):
    """The report of `compare` for many inputs, each compared separately.

    Attributes:
        equal: True if all items are equal.
    """

    format: Literal[1] = 1
    model: str
    reference: str
    equal: bool
    items: tuple[ComparedItem, ...]

    @classmethod
    def of(cls, model: str, reference: str, items: Sequence[ComparedItem]) -> Comparisons:
        """Return the report on these items; it is equal if each of them is."""
        equal = all(item.equal for item in items)
        return cls(model=model, reference=reference, equal=equal, items=tuple(items))

    @property
    def exit_code(self) -> Literal[0, 1, 2]:
        """The exit code of the command line: 0 if all items are equal, 2 if one was not compared, otherwise 1."""
        return max((item.exit_code for item in self.items), default=0)

    def worst_layers(self) -> list[WorstLayer]:
        """Return every layer that ran for any item, in the order of computation."""
        worst: dict[tuple[str, str], WorstLayer] = {}
        for item in self.items:
            for layer in () if item.comparison is None else item.comparison.layers:
                key = (layer.path, layer.layer_id)
                former = worst.get(key, WorstLayer(layer, item.item, 0))
                current = former if layer.rank <= former.layer.rank else WorstLayer(layer, item.item, 0)
                worst[key] = current._replace(wrong=former.wrong + (layer.status == "wrong"))
        return list(worst.values())

    def to_rows(self) -> list[dict[str, Any]]:
        """Return the rows of `Comparison.to_rows` for each item; an item without layers has one row."""
        rows: list[dict[str, Any]] = []
        for item in self.items:
            if item.comparison is None:
                rows.append({"item": item.item, "error": item.error})
            else:
                rows += [{"item": item.item, "error": None, **row} for row in item.comparison.to_rows()]
        return rows

    def __str__(self) -> str:
        equal = sum(item.equal for item in self.items)
        left = sum(item.exit_code == 2 for item in self.items)
        runtimes = {item.comparison.runtime for item in self.items if item.comparison is not None} - {None, "ir_exec"}
        names = "".join(f", compared with {name}" for name in sorted(map(str, runtimes)))
        line = f"{equal:,} of {len(self.items):,} items are equal{names}" + (f"; {left:,} not compared" if left else "")
        return "\n".join([line, *(f"{item.item}: {item.verdict}" for item in self.items)])


def junit(report: Comparison | Comparisons) -> str:
    """Return a report in JUnit format, with a test case for each layer and one for the whole comparison.

    The test cases fail by the verdict: none if the comparison is equal, otherwise the whole and the layers that explain
    it. Layers that cannot be judged are skipped. With many inputs, each item is a test suite.
    """
    if isinstance(report, Comparison):
        suites = [_suite(f"{report.model} against {report.reference_title}", report)]
    else:
        about = f"{report.model} against {report.reference}"
        suites = [
            JUnitSuite(f"{item.item}: {about}", [_failed_case(item.error or "")])
            if item.comparison is None
            else _suite(f"{item.item}: {about}", item.comparison)
            for item in report.items
        ]
    return junit_text(suites) + "\n"


def _failed_case(error: str) -> JUnitCase:
    return JUnitCase("comparison", "comparison", outcome=JUnitOutcome("error", error))


def _suite(name: str, report: Comparison) -> JUnitSuite:
    verdict = None
    if not report.equal:
        verdict = JUnitOutcome("failure", headline(report), "\n".join(details(report)))
    cases = [JUnitCase("comparison", "comparison", outcome=verdict)]
    cases += [_layer_case(layer, is_failing=layer.path in report.failing) for layer in report.layers]
    if report.isolation is not None:
        parts = (*report.isolation.parts, *report.isolation.fusions)
        cases += [_part_case(part, report.failing) for part in parts if part.kind != "layer"]
    return JUnitSuite(name, cases)


def _layer_case(layer: ComparedLayer, *, is_failing: bool) -> JUnitCase:
    case = JUnitCase(layer.type, f"{layer.layer_id} {layer.path}")
    if layer.alone in ("wrong", "crashed", "refused"):
        text = difference_text(layer.alone_error) if layer.alone_error else layer.note or ""
        return _with_fault(case, f"{layer.type} alone: {layer.alone}", text, is_failing=is_failing)
    own = "" if layer.own is None else difference_text(layer.own)
    if layer.status == "wrong" and is_failing:
        what = "the fault is in or before this" if layer.includes else "wrong"
        return _with_fault(case, f"{what} {layer.type}", own, is_failing=True)
    if layer.status in ("unmatched", "failed", "skipped"):
        return replace(case, outcome=JUnitOutcome("skipped", layer.note or "no value to compare with"))
    return replace(case, output=layer.note or own) if layer.status in ("step", "wrong", "reference") else case


def _part_case(part: RunPart, failing: Collection[str]) -> JUnitCase:
    case = JUnitCase(part.kind, ", ".join(part.layers) if part.kind == "fusion" else part.name)
    if part.status not in ("wrong", "crashed", "refused"):
        return case
    text = difference_text(part.error) if part.error else part.note or ""
    is_failing = any(path in failing for path in part.layers)
    return _with_fault(case, f"{part.kind} alone: {part.status}", text, is_failing=is_failing)


def _with_fault(case: JUnitCase, message: str, text: str, *, is_failing: bool) -> JUnitCase:
    """Return the case with a failure, or with the same text as output if the verdict does not count it."""
    if is_failing:
        return replace(case, outcome=JUnitOutcome("failure", message, text))
    return replace(case, output=f"{message}: {text}" if text else message)
