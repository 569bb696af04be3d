"""The account of weights as an HTML page."""

from __future__ import annotations

from ir_exec.debug.weights.records import WeightsDiff
from ir_exec.report.html import escape_html, html_page, html_table
from ir_exec.report.numbers import format_number

__all__ = ["weights_html"]

_STYLE = """
body { font: 14px/1.5 system-ui, sans-serif; margin: 2rem; max-width: 80rem; color: #1d2733; background: #fff; }
table { border-collapse: collapse; width: 100%; margin-top: 1.5rem; }
caption { text-align: left; font-weight: 600; }
th, td { text-align: left; padding: .25rem .6rem; border-bottom: 1px solid #d8dee6; overflow-wrap: anywhere; }
@media (prefers-color-scheme: dark) {
  body { color: #dfe6ee; background: #14191f; } th, td { border-color: #323b46; }
}
"""


def weights_html(report: WeightsDiff) -> str:
    """Return a page without scripts: the faults, all constants, and all tensors that are not used."""
    parts = [f"<p>{escape_html(line)}</p>" for line in (report.headline, report.account)]
    if report.faults:
        rows = [
            (fault.category, fault.path or "", ", ".join(fault.tensors), fault.message, f"{fault.bytes:,}")
            for fault in report.faults
        ]
        parts.append(html_table("Faults", ("category", "constant", "tensors", "message", "bytes"), rows))
    weights = [
        (
            weight.path,
            "x".join(map(str, weight.shape)),
            weight.format,
            f"{weight.bytes:,}",
            ", ".join(weight.tensors),
            weight.how if weight.tensors else "no tensor",
            format_number(weight.sqnr_db),
            f"{weight.different:,}",
        )
        for weight in report.weights
    ]
    heads = ("constant", "shape", "format", "bytes", "tensors", "transformations", "SQNR dB", "different")
    parts.append(html_table("Constants", heads, weights))
    tensors = [
        (tensor.name, "x".join(map(str, tensor.shape)), tensor.format, tensor.status, tensor.reason or "")
        for tensor in report.tensors
        if tensor.status != "used"
    ]
    if tensors:
        parts.append(
            html_table("Tensors that are not used", ("tensor", "shape", "format", "status", "reason"), tensors)
        )
    return html_page(f"Weights of {report.model}", "\n".join(parts), style=_STYLE)
