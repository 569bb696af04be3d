"""A comparison in the form of JUnit, for CI servers."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from xml.sax.saxutils import quoteattr

from ir_exec.debug.items_report import Comparisons
from ir_exec.debug.report import Comparison
from ir_exec.debug.text import details, told, verdict

__all__ = ["junit"]


def junit(report: Comparison | Comparisons) -> str:
    """A test case for each layer: those that are wrong by themselves fail, those that cannot be judged are skipped; a
    further one for the whole comparison. Of many inputs each is a test suite."""
    if isinstance(report, Comparison):
        suites = [_suite(f"{report.model} against {report.reference}", report, None)]
    else:
        about = f"{report.model} against {report.reference}"
        suites = [_suite(f"{item.item}: {about}", item.comparison, item.error) for item in report.items]
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<testsuites>", *suites, "</testsuites>"]
    return "\n".join(lines) + "\n"


def _suite(name: str, report: Comparison | None, error: str | None) -> str:
    cases = [_whole(report, error)]
    for layer in () if report is None else report.layers:
        body = ""
        if layer.status == "wrong":
            body = _failure(f"{layer.type} is wrong by itself", [told(layer.own)] if layer.own else [])
        elif layer.status in ("unmatched", "failed"):
            body = f"<skipped message={quoteattr(_clean(layer.note or 'no value to compare with'))}/>"
        elif layer.status == "step":
            body = f"<system-out>{escape(_clean(layer.note or ''))}</system-out>"
        cases.append(_case(layer.type, f"{layer.layer_id} {layer.path}", body))
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
        body = _failure(verdict(report), details(report))
    return _case("comparison", "comparison", body)


def _case(group: str, name: str, body: str) -> str:
    return f"<testcase classname={quoteattr(_clean(group))} name={quoteattr(_clean(name))}>{body}</testcase>"


def _failure(message: str, lines: Iterable[str]) -> str:
    text = escape(_clean("\n".join(lines)))
    return f"<failure message={quoteattr(_clean(message))}>{text}</failure>"


def _clean(text: str) -> str:
    """Without the characters that XML cannot hold."""
    return "".join(one if one in "\t\n" or (one >= " " and one not in "\ufffe\uffff") else "?" for one in text)
