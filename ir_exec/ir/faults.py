"""Conversion of pydantic's errors about a file to faults with line and layer, and to data without the faults.

The path of an error refers to the plain data from the reader: `("layers", 3, "outputs", 0, "dims", 1)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

from lxml import etree
from pydantic_core import ErrorDetails

from ir_exec.codes import Code
from ir_exec.errors import IRError, Location, ParseError
from ir_exec.ir.document import UnreadableId
from ir_exec.ir.markup import Markup
from ir_exec.report.text import shorten

__all__ = ["Plain", "mend_plain", "quote"]

Plain: TypeAlias = dict[str, Any]
"""The content of an element by the names of its model's fields; numbers are still text."""

_TAGS = {"layers": "layer", "inputs": "port", "outputs": "port", "edges": "edge", "back_edges": "edge"}
_ELEMENTS = ("layers", "edges")

_STANDS_FOR: dict[tuple[str, str], Any] = {
    ("net", "version"): 11,
    ("layer", "name"): "",
    ("layer", "type"): "",
    ("layer", "version"): None,
    ("port", "id"): UnreadableId(),
    ("port", "precision"): None,
}
"""Replacements for missing or unreadable fields; elements with other faults are omitted."""

_OPTIONAL = frozenset(("axis", "start", "end", "stride", "part_size"))


class _Place(NamedTuple):
    """The subject of an error: a field, or one of the dims, of the element with the content `holder`.

    Attributes:
        items: The list with the element; a net is in no list.
        position: The position of the element in the list.
        layer: The element itself, or its layer.
    """

    tag: str
    holder: Plain
    field: str
    dim: int | None
    items: list[Plain]
    position: int
    layer: Plain


def mend_plain(plain: Plain, errors: Sequence[ErrorDetails], markup: Markup) -> list[IRError]:
    """Convert the errors to faults; `plain` is valid afterwards."""
    lines = _Lines(markup)
    faults: list[ParseError] = []
    places = [_locate(plain, error["loc"]) for error in errors]
    for error, target in zip(errors, places, strict=True):
        is_missing = target.dim is None and target.holder.get(target.field) is None
        fault = _missing(target) if is_missing else _unreadable(target, is_id=error["type"] == "id")
        layer = target.layer
        location = Location(plain["path"], lines.of(target), layer.get("id"), layer.get("name"), layer.get("type"))
        faults.append(fault.located(location))
    unwanted: dict[int, tuple[list[Plain], set[int]]] = {}
    for error, target in zip(errors, places, strict=True):
        if not _mend(target, is_id=error["type"] == "id"):
            unwanted.setdefault(id(target.items), (target.items, set()))[1].add(target.position)
    for items, indices in unwanted.values():
        items[:] = [item for index, item in enumerate(items) if index not in indices]
    # Ids have one spelling only now, after all of them were mended.
    return [
        fault.changed(location=replace(fault.location, layer_id=_one_spelling(target.layer.get("id"))))
        for fault, target in zip(faults, places, strict=True)
    ]


def quote(text: str | None) -> str:
    """The text shortened for a message: broken files contain texts of any length."""
    text = text or ""
    return repr(shorten(text, 40))


def _locate(plain: Plain, path: Sequence[str | int]) -> _Place:
    tag, holder, layer = "net", plain, Plain()
    items: list[Plain] = []
    last = 0
    for name, index in zip(path[::2], path[1::2], strict=False):
        if name == "dims":
            return _Place(tag, holder, name, int(index), items, last, layer)
        items, last = holder[str(name)], int(index)
        holder = items[last]
        tag = _TAGS.get(str(name)) or holder.get("direction") or holder["name"]
        layer = holder if name == "layers" else layer
    return _Place(tag, holder, str(path[-1]), None, items, last, layer)


def _missing(target: _Place) -> ParseError:
    what = f"<{target.field}>" if target.field in _ELEMENTS else f"attribute {_attribute(target)}"
    return ParseError(f"<{target.tag}> has no {what}", code=Code.missing_markup)


def _unreadable(target: _Place, *, is_id: bool) -> ParseError:
    if target.dim is not None:
        what = f"dim {target.dim} of port {target.holder.get('id')}"
    elif target.tag == "net":
        what = "the version"
    else:
        what = ({"layer": "the layer's id", "port": "a port's id"} if is_id else {}).get(target.tag) or _attribute(
            target
        )
    return ParseError(
        f"{what} is",
        actual=quote(target.holder[target.field] if target.dim is None else target.holder["dims"][target.dim]),
        expected="a number of 0 or more" if is_id and target.tag != "net" else "a 64-bit integer",
        code=Code.unreadable_number,
    )


def _attribute(target: _Place) -> str:
    """The name in the file."""
    return target.field.replace("_", "-") if target.tag == "edge" else target.field


def _mend(target: _Place, *, is_id: bool) -> bool:
    """Make the field valid.

    Returns:
        False if the element must be omitted.
    """
    if target.dim is not None:
        target.holder["dims"][target.dim] = -1
    elif target.field in _ELEMENTS:
        target.holder[target.field] = []
    elif is_id and target.holder[target.field] is not None:
        target.holder[target.field] = UnreadableId(target.holder[target.field])
    elif (target.tag, target.field) in _STANDS_FOR:
        target.holder[target.field] = _STANDS_FOR[target.tag, target.field]
    elif target.field in _OPTIONAL:
        target.holder[target.field] = None
    else:
        return False
    return True


def _one_spelling(id: str | None) -> str | None:
    return id if id is None or isinstance(id, UnreadableId) else str(int(id))


class _Lines:
    """The lines of faults. Only the lines of dims, which are not used elsewhere, must be searched for."""

    def __init__(self, markup: Markup) -> None:
        self._markup = markup
        self._ports: dict[tuple[int, str | None], etree._Element] = {}

    def of(self, target: _Place) -> int:
        if target.dim is None:
            line: int = target.holder["line"] if "line" in target.holder else self._markup.line_of(self._markup.root)
            return line
        if not self._ports:
            self._ports = {
                (self._markup.line_of(port), port.get("id")): port for port in self._markup.root.iter("port")
            }
        line = target.holder["line"]
        # Ports of the oldest files have no ids: their ids are counted.
        port = self._ports.get((line, target.holder.get("id")), self._ports.get((line, None)))
        if port is None:
            return int(line)
        dims = [child for child in port if child.tag == "dim"]
        return self._markup.line_of(dims[target.dim])
