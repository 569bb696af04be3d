"""Edits of the port declarations in an .xml that leave every other byte unchanged."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from lxml import etree

from ir_exec.errors import ParseError
from ir_exec.ir.document import Port
from ir_exec.ir.markup import start_tags

__all__ = ["PortEdit", "with_ports"]

_TAG_END = re.compile(rb"""(?:[^>"']|"[^"]*"|'[^']*')*>""")
_PRECISION = re.compile(rb"""\bprecision\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_CLOSING = re.compile(rb"</[^>]*>")


@dataclass(frozen=True, slots=True)
class PortEdit:
    """A new declaration for a port; None for no change. `layer_id` is the id of the port's layer."""

    layer_id: str
    port: Port
    precision: str | None
    dims: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class _Change:
    start: int
    end: int
    text: bytes


def with_ports(raw: bytes, edits: Iterable[PortEdit]) -> bytes:
    """The file with these ports changed: the text of a dim or of a precision, dims added or removed at the end.

    Raises:
        ParseError: For a file that is not well-formed UTF-8, and for a port that cannot be located.
    """
    tags = start_tags(raw)
    starts = dict(tags)
    lines = _line_numbers(raw, [start for _, start in tags])
    ports: dict[tuple[int, str, str], list[etree._Element]] = {}
    for (element, _), line in zip(tags, lines, strict=True):
        if element.tag == "port" and (layer := _layer_of(element)) is not None:
            ports.setdefault((line, layer.get("id", ""), element.get("id", "")), []).append(element)
    changes: list[_Change] = []
    for edit in edits:
        matches = ports.get((edit.port.line, edit.layer_id, edit.port.id), [])
        if len(matches) != 1:
            raise ParseError(f"port {edit.port.id} of layer {edit.layer_id} is ambiguous: other ports are on its line")
        changes += _changes(raw, matches[0], starts, edit)
    return _apply_changes(raw, changes)


def _layer_of(port: etree._Element) -> etree._Element | None:
    parent = port.getparent()
    return None if parent is None else parent.getparent()


def _line_numbers(raw: bytes, starts: Sequence[int]) -> list[int]:
    numbers, line, position = [], 1, 0
    for start in starts:
        line += raw.count(b"\n", position, start)
        position = start
        numbers.append(line)
    return numbers


def _changes(
    raw: bytes, element: etree._Element, starts: dict[etree._Element, int], edit: PortEdit
) -> Iterator[_Change]:
    start = starts[element]
    tag_end = _end_of_tag(raw, start)
    if edit.precision is not None and edit.precision != edit.port.precision:
        match = _PRECISION.search(raw, start, tag_end)
        if match is None:
            raise ParseError(f"port {edit.port.id} of layer {edit.layer_id} has no precision to change")
        group = 1 if match[1] is not None else 2
        yield _Change(*match.span(group), edit.precision.encode("ascii"))
    if edit.dims is not None and edit.dims != edit.port.dims:
        dims = [child for child in element if child.tag == "dim"]
        yield from _dim_changes(raw, start, tag_end, [_span(raw, starts[dim]) for dim in dims], edit)


def _dim_changes(
    raw: bytes, start: int, tag_end: int, spans: list[tuple[int, int, int, int]], edit: PortEdit
) -> Iterator[_Change]:
    """Yield the changes of the dims of a port.

    Args:
        spans: Four offsets of each dim: the starts of its element and of its text, and the ends of its text and of its
            element.
    """
    assert edit.dims is not None, "the caller has dims to set"
    for (_, text_start, text_end, _), old, new in zip(spans, edit.port.dims, edit.dims, strict=False):
        if raw[text_start:text_end].strip() and old != new:
            yield _Change(text_start, text_end, str(new).encode("ascii"))
    if len(edit.dims) < len(spans):
        kept_end = spans[len(edit.dims) - 1][3] if edit.dims else tag_end
        yield _Change(kept_end, spans[-1][3], b"")
    elif len(edit.dims) > len(spans):
        added = edit.dims[len(spans) :]
        if spans:
            before = spans[-2][3] if len(spans) > 1 else tag_end
            blank = raw[before : spans[-1][0]]
            blank = blank if not blank.strip() else b""
            yield _Change(spans[-1][3], spans[-1][3], b"".join(blank + _dim(dim) for dim in added))
        else:
            yield _first_dims(raw, start, tag_end, added)


def _first_dims(raw: bytes, start: int, tag_end: int, dims: Sequence[int]) -> _Change:
    """Dims for a port without dims, formatted like the neighboring lines."""
    line_start = raw.rfind(b"\n", 0, start) + 1
    indent = raw[line_start:start]
    is_alone = not indent.strip() and line_start > 0
    ending = b"\r\n" if raw[line_start - 2 : line_start] == b"\r\n" else b"\n"
    step = b"\t" if b"\t" in indent else b"  "
    inner = ending + indent + step if is_alone else b""
    text = b"".join(inner + _dim(dim) for dim in dims)
    if raw[tag_end - 2 : tag_end] == b"/>":
        outer = ending + indent if is_alone else b""
        return _Change(tag_end - 2, tag_end, b">" + text + outer + b"</port>")
    closes_here = raw[tag_end : tag_end + 2] == b"</"
    return _Change(tag_end, tag_end, text + (ending + indent if is_alone and closes_here else b""))


def _dim(size: int) -> bytes:
    return b"<dim>%d</dim>" % size


def _span(raw: bytes, start: int) -> tuple[int, int, int, int]:
    text_start = _end_of_tag(raw, start)
    if raw[text_start - 2 : text_start] == b"/>":
        raise ParseError("a dim without text cannot be changed")
    closing = _CLOSING.search(raw, text_start)
    if closing is None or b"<" in raw[text_start : closing.start()]:
        raise ParseError("a dim that contains more than text cannot be changed")
    return start, text_start, closing.start(), closing.end()


def _end_of_tag(raw: bytes, start: int) -> int:
    match = _TAG_END.match(raw, start)
    if match is None:
        raise ParseError("a tag of the port has no end")
    return match.end()


def _apply_changes(raw: bytes, changes: list[_Change]) -> bytes:
    parts, position = [], 0
    for change in sorted(set(changes), key=lambda change: (change.start, change.end)):
        if change.start < position:
            raise ParseError("two changes of one place conflict")
        parts += [raw[position : change.start], change.text]
        position = change.end
    return b"".join([*parts, raw[position:]])
