"""A comparison as files for programs: a page of HTML, and JUnit for CI servers."""

from __future__ import annotations

from html import escape
from xml.sax.saxutils import quoteattr

from ir_exec.debug.report import ComparedLayer, Comparison
from ir_exec.debug.text import counts, details, number, told, verdict

__all__ = ["html", "junit"]

_STYLE = """
body { font: 14px/1.5 system-ui, sans-serif; margin: 2em; color: #222; }
h1 { font-size: 1.3em; } pre { background: #f5f5f5; padding: 1em; overflow-x: auto; }
table { border-collapse: collapse; } th, td { padding: 2px 10px; text-align: left; white-space: nowrap; }
th { border-bottom: 1px solid #999; } td.n { text-align: right; font-variant-numeric: tabular-nums; }
tr.wrong, tr.failed { background: #fbdcdc; } tr.carried { background: #fdf3d6; } tr.step { background: #e3ecfa; }
tr.unmatched { color: #999; }
"""

_HEADS = (
    "id",
    "layer",
    "type",
    "shape",
    "status",
    "own max",
    "own SQNR",
    "carried max",
    "carried SQNR",
    "beyond",
    "note",
)


def html(report: Comparison) -> str:
    """One page that needs nothing else: the verdict, what explains it, and a row for each layer."""
    heads = "".join(f"<th>{head}</th>" for head in _HEADS)
    rows = "\n".join(_row(layer) for layer in report.layers)
    told_of = escape("\n".join(details(report)))
    title = escape(f"{report.model} against {report.reference}")
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{_STYLE}</style></head>\n<body><h1>{title}</h1>\n<p><b>{escape(verdict(report))}</b></p>\n"
        + (f"<pre>{told_of}</pre>\n" if told_of else "")
        + f"<p>{escape(counts(report))}</p>\n<table><thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}\n</tbody></table>"
        "</body></html>\n"
    )


def _row(layer: ComparedLayer) -> str:
    own, carried = layer.own, layer.carried
    texts = [layer.layer_id, layer.path, layer.type, f"{layer.element_type}{list(layer.shape or ())}", layer.status]
    numbers = [
        number(own.max_abs if own else None),
        number(own.sqnr_db if own else None),
        number(carried.max_abs if carried else None),
        number(carried.sqnr_db if carried else None),
        f"{carried.beyond:.2%}" if carried else "-",
    ]
    cells = "".join(f"<td>{escape(text)}</td>" for text in texts)
    cells += "".join(f'<td class="n">{escape(text)}</td>' for text in numbers)
    return f'<tr class="{layer.status}">{cells}<td>{escape(layer.note or "")}</td></tr>'


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
