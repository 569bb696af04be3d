"""The report of a comparison for notebooks: the verdict, the outputs, the explanation, and the layers that differ."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ir_exec.debug.comparison.metrics import Difference
from ir_exec.debug.comparison.records import ComparedLayer, ComparedOutput, ComparisonRecord
from ir_exec.report.html import escape_html, html_table
from ir_exec.report.numbers import format_number
from ir_exec.report.text import format_remainder

__all__ = ["comparison_html"]

_MOST_ROWS = 50
"""Maximum rows of a table: notebooks store their outputs."""

_GOOD, _BAD = "#1a7f37", "#cf222e"


def comparison_html(
    report: ComparisonRecord, headline: str, details: Iterable[str], layers: Sequence[ComparedLayer], counts: str
) -> str:
    """Return the report as HTML without scripts.

    Args:
        headline: The verdict in one line.
        details: The lines that explain the verdict.
        layers: The layers to list, the worst first.
        counts: The number of layers with each status.
    """
    color = _GOOD if report.equal else _BAD
    title = f"{report.model} against {report.reference_title}"
    parts = [
        f'<p>{escape_html(title)}<br><strong style="color:{color}">{escape_html(headline)}</strong></p>',
        _outputs_table(report.output_results),
    ]
    if lines := list(details):
        text = "\n".join(escape_html(line) for line in lines)
        parts.append(f'<pre style="white-space:pre-wrap">{text}</pre>')
    if layers:
        parts.append(_layers_table(layers[:_MOST_ROWS]))
        parts += [f"<p>{escape_html(line)}</p>" for line in format_remainder(len(layers), _MOST_ROWS)]
    parts.append(f"<p>{escape_html(counts)}</p>")
    return f"<div>{''.join(parts)}</div>"


def _outputs_table(outputs: Sequence[ComparedOutput]) -> str:
    header = ("output", "value", "status", "max_abs", "sqnr_db", "beyond")
    rows = [
        (
            output.name,
            _type_text(output),
            output.status,
            *(_error_text(output.error, name) for name in ("max_abs", "sqnr_db", "beyond")),
        )
        for output in outputs
    ]
    return html_table("Outputs", header, rows)


def _layers_table(layers: Sequence[ComparedLayer]) -> str:
    header = ("id", "layer", "type", "value", "status", "own max_abs", "carried max_abs", "source")
    rows = [
        (
            layer.layer_id,
            layer.path,
            layer.type,
            _type_text(layer),
            layer.status,
            _error_text(layer.own, "max_abs"),
            _error_text(layer.carried, "max_abs"),
            "" if layer.source is None else layer.source.describe(layer.path) or "",
        )
        for layer in layers
    ]
    return html_table("Layers", header, rows)


def _type_text(value: ComparedOutput | ComparedLayer) -> str:
    return f"{value.element_type}[{','.join(map(str, value.shape or ()))}]"


def _error_text(error: Difference | None, name: str) -> str:
    number = None if error is None else getattr(error, name)
    return "-" if number is None else f"{number:.2%}" if name == "beyond" else format_number(number)
