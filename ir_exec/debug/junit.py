"""A comparison in the form of JUnit, for CI servers."""

from __future__ import annotations

from html import escape
from xml.sax.saxutils import quoteattr

from ir_exec.debug.report import Comparison
from ir_exec.debug.text import details, told, verdict

__all__ = ["junit"]


def junit(report: Comparison) -> str:
    """A test case for each layer: those that are wrong by themselves fail, those that cannot be judged are skipped; a
    further one for the whole comparison."""
    cases = [_case("comparison", "comparison", "" if report.equal else _failure(verdict(report), details(report)))]
    for layer in report.layers:
        body = ""
        if layer.status == "wrong":
            body = _failure(f"{layer.type} is wrong by itself", [told(layer.own)] if layer.own else [])
        elif layer.status in ("unmatched", "failed"):
            body = f"<skipped message={quoteattr(layer.note or 'no value to compare with')}/>"
        cases.append(_case(layer.type, f"{layer.layer_id} {layer.path}", body))
    failures, skipped = (sum(mark in case for case in cases) for mark in ("<failure", "<skipped"))
    heading = (
        f"<testsuite name={quoteattr(f'{report.model} against {report.reference}')} "
        f'tests="{len(cases)}" failures="{failures}" errors="0" skipped="{skipped}">'
    )
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<testsuites>", heading, *cases, "</testsuite>", "</testsuites>"]
    return "\n".join(lines) + "\n"


def _case(group: str, name: str, body: str) -> str:
    return f"<testcase classname={quoteattr(_clean(group))} name={quoteattr(_clean(name))}>{body}</testcase>"


def _failure(message: str, lines: object) -> str:
    assert hasattr(lines, "__iter__")
    text = escape(_clean("\n".join(lines)))
    return f"<failure message={quoteattr(_clean(message))}>{text}</failure>"


def _clean(text: str) -> str:
    """Without the characters that XML cannot hold."""
    return "".join(one if one in "\t\n" or (one >= " " and one not in "\ufffe\uffff") else "?" for one in text)
