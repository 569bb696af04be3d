"""Reports of a comparison with many inputs, also in the JUnit format of CI servers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, Literal, NamedTuple
from xml.sax.saxutils import quoteattr

from ir_exec.debug.comparison.report import ComparedLayer, Comparison, rows_as_csv
from ir_exec.debug.comparison.report_text import details, difference_text, headline
from ir_exec.debug.values.facts import Record

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


class Comparisons(Record):
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
        """Return the rows of `Comparison.to_csv` for each item as CSV text; an item without layers has one row."""
        rows: list[dict[str, Any]] = []
        for item in self.items:
            if item.comparison is None:
                rows.append({"item": item.item, "error": item.error})
            else:
                rows += [{"item": item.item, "error": None, **row} for row in item.comparison.to_rows()]
        return rows_as_csv(rows)

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
        suites = [_suite(f"{report.model} against {report.reference_title}", report, None)]
    else:
        about = f"{report.model} against {report.reference}"
        suites = [_suite(f"{item.item}: {about}", item.comparison, item.error) for item in report.items]
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<testsuites>", *suites, "</testsuites>"]
    return "\n".join(lines) + "\n"


def _suite(name: str, report: Comparison | None, error: str | None) -> str:
    cases = [_whole(report, error)]
    for layer in () if report is None else report.layers:
        body = ""
        is_failing = report is not None and layer.path in report.failing
        if layer.alone in ("wrong", "crashed", "refused"):
            error = difference_text(layer.alone_error) if layer.alone_error else layer.note or ""
            body = _outcome(f"{layer.type} alone: {layer.alone}", error, is_failing)
        elif layer.status == "wrong" and is_failing:
            what = "the fault is in or before this" if layer.includes else "wrong"
            body = _outcome(f"{what} {layer.type}", difference_text(layer.own) if layer.own else "", is_failing)
        elif layer.status in ("unmatched", "failed", "skipped"):
            body = f"<skipped message={quoteattr(_clean(layer.note or 'no value to compare with'))}/>"
        elif layer.status in ("step", "wrong", "reference"):
            text = layer.note or ("" if layer.own is None else difference_text(layer.own))
            body = f"<system-out>{escape(_clean(text))}</system-out>"
        cases.append(_case(layer.type, f"{layer.layer_id} {layer.path}", body))
    isolation = None if report is None else report.isolation
    for part in () if isolation is None else (*isolation.parts, *isolation.fusions):
        if part.kind != "layer":
            error = difference_text(part.error) if part.error else part.note or ""
            is_right = part.status not in ("wrong", "crashed", "refused")
            is_failing = report is not None and not report.failing.isdisjoint(part.layers)
            body = "" if is_right else _outcome(f"{part.kind} alone: {part.status}", error, is_failing)
            cases.append(_case(part.kind, ", ".join(part.layers) if part.kind == "fusion" else part.name, body))
    counts = [sum(mark in case for case in cases) for mark in ("<failure", "<error", "<skipped")]
    failures, errors, skipped = counts
    heading = (
        f'<testsuite name={quoteattr(_clean(name))} tests="{len(cases)}" '
        f'failures="{failures}" errors="{errors}" skipped="{skipped}">'
    )
    return "\n".join([heading, *cases, "</testsuite>"])


def _whole(report: Comparison | None, error: str | None) -> str:
    body = ""
    if report is None:
        body = f"<error message={quoteattr(_clean(error or ''))}/>"
    elif not report.equal:
        body = _failure(headline(report), details(report))
    return _case("comparison", "comparison", body)


def _case(group: str, name: str, body: str) -> str:
    return f"<testcase classname={quoteattr(_clean(group))} name={quoteattr(_clean(name))}>{body}</testcase>"


def _outcome(message: str, text: str, is_failing: bool) -> str:
    """Return a failure, or the same text as output if the verdict does not count it."""
    if is_failing:
        return _failure(message, [text])
    return f"<system-out>{escape(_clean(f'{message}: {text}' if text else message))}</system-out>"


def _failure(message: str, lines: Iterable[str]) -> str:
    text = escape(_clean("\n".join(lines)))
    return f"<failure message={quoteattr(_clean(message))}>{text}</failure>"


def _clean(text: str) -> str:
    """Replace the characters that are invalid in XML."""
    return "".join(one if one in "\t\n" or (one >= " " and one not in "\ufffe\uffff") else "?" for one in text)
