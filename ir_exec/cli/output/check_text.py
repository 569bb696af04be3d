"""Text of `ir-exec check`: errors at once, then the warnings, infos and facts of all files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from ir_exec.check import Diagnostic, Report, Style, render, rule_of, weight
from ir_exec.check.text import plain
from ir_exec.cli.output.terminal import echo, style_text, terminal_width
from ir_exec.errors import IRError, Severity
from ir_exec.ir.markup import load
from ir_exec.printable import inert, printable
from ir_exec.report.text import align_cells

__all__ = ["TextOutput", "from_level", "lines_of_file", "statistics"]


@dataclass
class TextOutput:
    """Text output: errors at once, then the warnings and infos of all files; collected for a file.

    Attributes:
        counts_infos: True for one line with the number of infos by rule, if infos are not listed.
        later: The lines of warnings and infos.
        ends: Lines about complete files.
    """

    level: Severity
    requires: bool
    to_file: bool
    counts_infos: bool = False
    collected: list[str] = field(default_factory=list)
    later: dict[Severity, list[str]] = field(default_factory=lambda: {"warning": [], "info": []})
    ends: list[str] = field(default_factory=list)
    infos: Counter[str] = field(default_factory=Counter)

    @property
    def style(self) -> Style:
        return plain if self.to_file else style_text

    def errors(self, report: Report) -> list[str]:
        """Return the lines of the errors of one file, and collect everything else about it."""
        self.infos.update(info.code for info in report.infos)
        report = from_level(report, self.level)
        self.later["warning"] += self._blocks(report, report.warnings)
        self.later["info"] += self._blocks(report, report.infos)
        self.ends += _new_outputs(report, self.style)
        self.ends += [_requirement(report, self.style), ""] if self.requires else []
        return self._blocks(report, report.errors)

    def _blocks(self, report: Report, diagnostics: tuple[Diagnostic, ...]) -> list[str]:
        if not diagnostics:
            return []
        width = None if self.to_file else terminal_width()
        chosen = report.model_copy(update={"diagnostics": diagnostics})
        return list(render(chosen, style=self.style, lines_of=lines_of_file, width=width))

    def show_collected(self) -> None:
        """Show the warnings and infos of all files, and the number of infos that are not listed."""
        self.lines([*self.later["warning"], *self.later["info"], *self.ends])
        if self.counts_infos and self.infos and weight(self.level) > weight("info"):
            rules = ", ".join(f"{count} {code} {rule_of(code).name}" for code, count in sorted(self.infos.items()))
            self.lines([f"{self.style('info', 'info')}: {rules}; --level info lists them"])

    def lines(self, lines: Iterable[str]) -> None:
        for line in lines:
            if self.to_file:
                self.collected.append(inert(line))
            else:
                echo(line)


def from_level(report: Report, level: Severity) -> Report:
    """Return the report without findings of lower severity."""
    diagnostics = tuple(diagnostic for diagnostic in report.diagnostics if weight(diagnostic.severity) >= weight(level))
    return (
        report
        if len(diagnostics) == len(report.diagnostics)
        else report.model_copy(update={"diagnostics": diagnostics})
    )


def _requirement(report: Report, style: Style) -> str:
    """Return `model.xml needs OpenVINO 2023.1 or newer: GroupNormalization of opset12 (2 times, first in line 40)`."""
    path = printable(report.path or "<bytes>")
    if report.requires is None:
        return f"{path}: the required OpenVINO release is unknown"
    demands = []
    for demand in report.requires.demands:
        location = demand.location
        where = "" if location.line is None else f", line {location.line}"
        times = f" ({demand.count} times{where and ', first in' + where[1:]})" if demand.count > 1 else where
        demands.append(f"{printable(demand.what)}{times}")
    head = style("message", f"{path} needs OpenVINO {report.requires.release} or newer")
    return f"{head}: {'; '.join(demands)}"


def _new_outputs(report: Report, style: Style) -> list[str]:
    """Return the output types for the requested input shapes, one per line; nothing if the shapes do not fit."""
    if report.outputs is None or report.errors:
        return []
    head = style("message", f"{printable(report.path or '<bytes>')}: outputs with these input shapes")
    lines = align_cells([(printable(name), type) for name, type in report.outputs.items()])
    return [head, *(f"  {line}" for line in lines), ""]


def statistics(reports: list[Report]) -> Iterator[str]:
    counts = Counter((diagnostic.code, diagnostic.severity) for report in reports for diagnostic in report.diagnostics)
    width = len(str(max(counts.values(), default=0)))
    for (code, severity), count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        yield f"{count:>{width}}  {code}  {severity:7}  {rule_of(code).name}"
    if counts:
        yield ""


@lru_cache(maxsize=1)
def lines_of_file(path: str) -> Sequence[str]:
    """Return the lines of a file for excerpts; only the last file is cached, because reports come file by file."""
    try:
        _, raw = load(path)
    except IRError:
        return ()
    return raw.decode("utf-8", "replace").split("\n")
