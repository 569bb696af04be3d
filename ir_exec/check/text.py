"""Findings as text: one block for each.

    error[IR601 declared-dims]: dim 1 of output is declared as 5, and is 4 (declared [2,5], inferred [2,4])
      --> model.xml:42  layer 7 "gather" (GatherElements), port output
       |
    42 | <port id="2" precision="FP32">
       | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
       = hint: ...

A layer that was exported from Python is followed by its module and line, with the text of the line below (`code:`).

The caller chooses the colors: a style maps the role of a text and the text to the styled text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Protocol, TypeAlias

from ir_exec.check.findings import Diagnostic
from ir_exec.check.rules import weight
from ir_exec.codes import Code
from ir_exec.errors import Location
from ir_exec.printable import inert, printable
from ir_exec.report.numbers import format_count
from ir_exec.report.text import list_names, wrap_words

__all__ = [
    "LinesOf",
    "Style",
    "by_severity",
    "find_fault_span",
    "inert",
    "plain",
    "printable",
    "render",
    "render_diagnostic",
]

Style: TypeAlias = Callable[[str, str], str]
"""A function of a role (error, warning, info, message, frame, place, hint, source) and a text."""

LinesOf: TypeAlias = Callable[[str], Sequence[str]]
"""The lines of the file at a path; empty if it cannot be read."""

WIDEST_EXCERPT = 160
"""Maximum characters of a line of the file that are shown: some writers put everything on one line."""

_NARROWEST_EXCERPT = 30
_LEFT_OUT = "..."

MOST_LAYERS_LISTED = 12


_OF_MANY_LAYERS = {Code.unknown_type, Code.type_not_in_opset, Code.unknown_opset, Code.newer_than_target}
"""Errors whose cause is rarely in the layer: equal messages of several layers form one block, as for warnings."""

_ONE_CAUSE = {Code.duplicate_tensor_name}
"""Errors whose messages differ, but have the same cause: the writer of the file."""


class HasDiagnostics(Protocol):
    """The protocol of reports that can be rendered as text."""

    @property
    def diagnostics(self) -> Sequence[Diagnostic]: ...


def plain(role: str, text: str) -> str:
    """Return the text without colors; the default style."""
    return text


def render(
    report: HasDiagnostics, *, style: Style = plain, lines_of: LinesOf | None = None, width: int | None = None
) -> Iterator[str]:
    """The lines of every block, with an empty line after each: errors first, then warnings, then infos.

    Equal findings of several layers form one block.

    Lines of the file are cut to the marked fault, other lines are wrapped.

    Args:
        width: Maximum characters of a line.
    """
    for diagnostic, others in _group_by_block(report.diagnostics):
        yield from _block(diagnostic, others, style, lines_of, width)
        yield ""


def by_severity(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Sort errors first, then warnings, then infos, each in the given order."""
    return sorted(diagnostics, key=lambda diagnostic: -weight(diagnostic.severity))


def render_diagnostic(diagnostic: Diagnostic, *, style: Style = plain) -> Iterator[str]:
    """The lines of one block."""
    return _block(diagnostic, [], style, None, None)


def _group_by_block(diagnostics: Sequence[Diagnostic]) -> list[tuple[Diagnostic, list[Diagnostic]]]:
    """Each finding with later findings of the same block, by severity."""
    blocks: list[tuple[Diagnostic, list[Diagnostic]]] = []
    first: dict[tuple[str, ...], list[Diagnostic]] = {}
    for diagnostic in by_severity(diagnostics):
        key = _sameness(diagnostic)
        if key in first:
            first[key].append(diagnostic)
            continue
        others: list[Diagnostic] = []
        if key is not None:
            first[key] = others
        blocks.append((diagnostic, others))
    return blocks


def _sameness(diagnostic: Diagnostic) -> tuple[str, ...] | None:
    """The key that findings of the same block share; None for an error of one layer."""
    if diagnostic.code in _ONE_CAUSE:
        return diagnostic.severity, diagnostic.code
    if diagnostic.severity == "error" and diagnostic.code not in _OF_MANY_LAYERS:
        return None
    return diagnostic.severity, diagnostic.code, diagnostic.message


def _block(
    diagnostic: Diagnostic, others: list[Diagnostic], style: Style, lines_of: LinesOf | None, width: int | None
) -> Iterator[str]:
    severity, location = diagnostic.severity, diagnostic.location
    head = f"{severity}[{diagnostic.code} {diagnostic.name}]"
    first, *further = wrap_words(": " + printable(diagnostic.message), width, used=len(head), indent=4)
    yield f"{style(severity, head)}{style('message', first)}"
    yield from (style("message", line) for line in further)
    excerpt = _excerpt(location, lines_of)
    margin = " " * max(len(str(location.line or "")), 2)
    location_text = _location_text(location)
    if location_text:
        first, *further = wrap_words(location_text, width, used=len(margin) + 4, indent=len(margin) + 4)
        yield f"{margin}{style('frame', '-->')} {first}"
        yield from further
    if excerpt is not None:
        bar = style("frame", "|")
        yield f"{margin} {bar}"
        start, length = find_fault_span(excerpt, diagnostic)
        room = WIDEST_EXCERPT if width is None else min(width - len(margin) - 3, WIDEST_EXCERPT)
        excerpt, start, length = _cut(excerpt, start, length, max(room, _NARROWEST_EXCERPT))
        yield f"{style('frame', str(location.line).rjust(len(margin)))} {bar} {style('source', excerpt)}"
        yield f"{margin} {bar} {' ' * start}{style(severity, '^' * length)}"
    if location.source is not None and location.source.code:
        yield from _note("code:", printable(location.source.code), margin, style, width)
    if others:
        yield from _note("also:", _layers(others), margin, style, width)
    if diagnostic.hint:
        yield from _note("hint:", printable(diagnostic.hint), margin, style, width)
    if diagnostic.source:
        yield from _note("source:", printable(str(diagnostic.source)), margin, style, width)


def _note(name: str, text: str, margin: str, style: Style, width: int | None) -> Iterator[str]:
    indent = len(margin) + 4 + len(name)
    first, *further = wrap_words(text, width, used=indent, indent=indent)
    yield f"{margin} {style('frame', '=')} {style('hint', name)} {first}"
    yield from further


_ATTRIBUTES: dict[str, str] = {
    Code.ir_version: "version",
    Code.duplicate_layer_id: "id",
    Code.duplicate_layer_name: "name",
    Code.duplicate_tensor_name: "names",
    Code.duplicate_port_id: "id",
    Code.unknown_type: "type",
    Code.type_not_in_opset: "version",
    Code.unknown_opset: "version",
    Code.newer_than_target: "version",
    Code.declared_element_type: "precision",
    Code.extension_operator: "version",
}
"""The attribute that is marked for a rule; for other rules the whole start tag is marked."""

_NAMED_ATTRIBUTE = re.compile(r"\battribute (\w+)")


def find_fault_span(line: str, diagnostic: Diagnostic) -> tuple[int, int]:
    """Return the start and length of the fault in its line, which starts with a tag."""
    named = _NAMED_ATTRIBUTE.search(diagnostic.message)
    name = named[1] if named is not None else _ATTRIBUTES.get(diagnostic.code)
    if name is not None:
        match = re.search(rf"""(?<![\w-]){re.escape(name)}\s*=\s*("[^"]*"|'[^']*')""", line)
        if match is not None:
            return match.start(), match.end() - match.start()
    return 0, max(line.find(">") + 1 or len(line), 1)


def _location_text(location: Location) -> str:
    """Return a location as `model.xml:42  layer 7 "gather" (GatherElements), port indices`."""
    file = printable(location.path or "")
    if location.line is not None:
        file = f"{file or '<bytes>'}:{location.line}"
    layer = printable(str(replace(location, path=None, line=None)))
    return "  ".join(part for part in (file, layer) if part)


def _layers(others: list[Diagnostic]) -> str:
    ids = list(
        dict.fromkeys(diagnostic.location.layer_id or f"line {diagnostic.location.line}" for diagnostic in others)
    )
    shown = list_names([*map(printable, ids)], MOST_LAYERS_LISTED, is_counted=False)
    noun = others[0].location.kind if others[0].location.layer_id is not None else "place"
    return f"{format_count(len(ids), 'other ' + noun)} ({shown})"


def _excerpt(location: Location, lines_of: LinesOf | None) -> str | None:
    if lines_of is None or location.path is None or location.line is None:
        return None
    lines = lines_of(location.path)
    if not 0 < location.line <= len(lines):
        return None
    return printable(lines[location.line - 1].strip())


def _cut(text: str, start: int, length: int, room: int) -> tuple[str, int, int]:
    """Cut a line to a number of characters, including the mark.

    Returns:
        The text and the mark's start and length.
    """
    if len(text) <= room:
        return text, start, length
    before, behind = "", _LEFT_OUT
    if start and start + length > room - len(behind):
        text, start, before = text[start:], 0, _LEFT_OUT
    shown = text[: room - len(before) - len(behind)]
    if len(shown) == len(text):
        behind = ""
    return before + shown + behind, start + len(before), min(length, len(shown) - start)
