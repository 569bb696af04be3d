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

__all__ = ["Plain", "mended", "shown"]

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


def mended(plain: Plain, errors: Sequence[ErrorDetails], markup: Markup) -> list[IRError]:
    """Convert the errors to faults; `plain` is valid afterwards."""
    lines = _Lines(markup)
    faults: list[ParseError] = []
    places = [_place(plain, error["loc"]) for error in errors]
    for error, place in zip(errors, places, strict=True):
        is_missing = place.dim is None and place.holder.get(place.field) is None
        fault = _missing(place) if is_missing else _unreadable(place, is_id=error["type"] == "id")
        layer = place.layer
        location = Location(plain["path"], lines.of(place), layer.get("id"), layer.get("name"), layer.get("type"))
        faults.append(fault.located(location))
    unwanted: dict[int, tuple[list[Plain], set[int]]] = {}
    for error, place in zip(errors, places, strict=True):
        if not _mend(place, is_id=error["type"] == "id"):
            unwanted.setdefault(id(place.items), (place.items, set()))[1].add(place.position)
    for items, indices in unwanted.values():
        items[:] = [item for index, item in enumerate(items) if index not in indices]
    # Ids have one spelling only now, after all of them were mended.
    return [
        fault.changed(location=replace(fault.location, layer_id=_one_spelling(place.layer.get("id"))))
        for fault, place in zip(faults, places, strict=True)
    ]


def shown(text: str | None) -> str:
    """The text shortened for a message: broken files contain texts of any length."""
    text = text or ""
    return repr(shorten(text, 40))


def _place(plain: Plain, path: Sequence[str | int]) -> _Place:
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


def _missing(place: _Place) -> ParseError:
    what = f"<{place.field}>" if place.field in _ELEMENTS else f"attribute {_attribute(place)}"
    return ParseError(f"<{place.tag}> has no {what}", code=Code.missing_markup)


def _unreadable(place: _Place, *, is_id: bool) -> ParseError:
    if place.dim is not None:
        what = f"dim {place.dim} of port {place.holder.get('id')}"
    elif place.tag == "net":
        what = "the version"
    else:
        what = ({"layer": "the layer's id", "port": "a port's id"} if is_id else {}).get(place.tag) or _attribute(place)
    return ParseError(
        f"{what} is",
        actual=shown(place.holder[place.field] if place.dim is None else place.holder["dims"][place.dim]),
        expected="a number of 0 or more" if is_id and place.tag != "net" else "a 64-bit integer",
        code=Code.unreadable_number,
    )


def _attribute(place: _Place) -> str:
    """The name in the file."""
    return place.field.replace("_", "-") if place.tag == "edge" else place.field


def _mend(place: _Place, *, is_id: bool) -> bool:
    """Make the field valid.

    Returns:
        False if the element must be omitted.
    """
    if place.dim is not None:
        place.holder["dims"][place.dim] = -1
    elif place.field in _ELEMENTS:
        place.holder[place.field] = []
    elif is_id and place.holder[place.field] is not None:
        place.holder[place.field] = UnreadableId(place.holder[place.field])
    elif (place.tag, place.field) in _STANDS_FOR:
        place.holder[place.field] = _STANDS_FOR[place.tag, place.field]
    elif place.field in _OPTIONAL:
        place.holder[place.field] = None
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

    def of(self, place: _Place) -> int:
        if place.dim is None:
            line: int = place.holder["line"] if "line" in place.holder else self._markup.line_of(self._markup.root)
            return line
        if not self._ports:
            self._ports = {
                (self._markup.line_of(port), port.get("id")): port for port in self._markup.root.iter("port")
            }
        line = place.holder["line"]
        # Ports of the oldest files have no ids: their ids are counted.
        port = self._ports.get((line, place.holder.get("id")), self._ports.get((line, None)))
        if port is None:
            return int(line)
        dims = [child for child in port if child.tag == "dim"]
        return self._markup.line_of(dims[place.dim])
