"""From pydantic's errors about a file to faults with line and layer, and to data without them.

The path of an error leads through the plain data that the reader made: `("layers", 3, "outputs", 0, "dims", 1)`.
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

__all__ = ["Plain", "mended", "shown"]

Plain: TypeAlias = dict[str, Any]
"""The content of an element by the names of its model's fields; numbers are text still."""

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
"""What stands for a field that is missing or unreadable; what has no such field is left out."""

_OPTIONAL = frozenset(("axis", "start", "end", "stride", "part_size"))


class _Place(NamedTuple):
    """What an error is about: a field, or one of the dims, of the element whose content is `holder`.

    items, position: the list that holds the element, and its place there; no list holds a net.
    layer: the layer that it is, or is in.
    """

    tag: str
    holder: Plain
    field: str
    dim: int | None
    items: list[Plain]
    position: int
    layer: Plain


def mended(plain: Plain, errors: Sequence[ErrorDetails], markup: Markup) -> list[IRError]:
    """The faults that the errors are; `plain` is valid afterwards."""
    lines = _Lines(markup)
    told: list[tuple[Code, str, Location]] = []
    places = [_place(plain, error["loc"]) for error in errors]
    for error, place in zip(errors, places, strict=True):
        is_missing = place.dim is None and place.holder.get(place.field) is None
        message = _missing(place) if is_missing else _unreadable(place, is_id=error["type"] == "id")
        layer = place.layer
        location = Location(plain["path"], lines.of(place), layer.get("id"), layer.get("name"), layer.get("type"))
        told.append((Code.missing_markup if is_missing else Code.unreadable_number, message, location))
    unwanted: dict[int, tuple[list[Plain], set[int]]] = {}
    for error, place in zip(errors, places, strict=True):
        if not _mend(place, is_id=error["type"] == "id"):
            unwanted.setdefault(id(place.items), (place.items, set()))[1].add(place.position)
    for items, indices in unwanted.values():
        items[:] = [item for index, item in enumerate(items) if index not in indices]
    # Ids have one spelling only now, when all of them were mended.
    return [
        ParseError(message, code=code, location=replace(location, layer_id=_one_spelling(place.layer.get("id"))))
        for (code, message, location), place in zip(told, places, strict=True)
    ]


def shown(text: str | None) -> str:
    """The text as a message quotes it: broken files hold texts of any length."""
    text = text or ""
    return repr(text if len(text) <= 40 else text[:40] + "...")


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


def _missing(place: _Place) -> str:
    if place.field in _ELEMENTS:
        return f"<{place.tag}> has no <{place.field}>"
    return f"<{place.tag}> has no attribute {_attribute(place)}"


def _unreadable(place: _Place, *, is_id: bool) -> str:
    if place.dim is not None:
        text = place.holder["dims"][place.dim]
        return f"dim {place.dim} of port {place.holder.get('id')}, {shown(text)}, is no integer of 64 bits"
    text = shown(place.holder[place.field])
    if place.tag == "net":
        return f"the version {text} is no integer of 64 bits"
    if is_id:
        what = {"layer": "the layer's id", "port": "a port's id"}.get(place.tag) or _attribute(place)
        return f"{what} is {text}, not a number from 0 on"
    return f"{_attribute(place)} is {text}, which is no integer of 64 bits"


def _attribute(place: _Place) -> str:
    """The name in the file."""
    return place.field.replace("_", "-") if place.tag == "edge" else place.field


def _mend(place: _Place, *, is_id: bool) -> bool:
    """Whether the field could be made valid without the element being left out."""
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
    """The lines of what is wrong; only dims, whose lines nobody else asks for, have to be looked for."""

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
        # Ports of the oldest files have no ids: theirs are counted.
        port = self._ports.get((line, place.holder.get("id")), self._ports.get((line, None)))
        if port is None:
            return int(line)
        dims = [child for child in port if child.tag == "dim"]
        return self._markup.line_of(dims[place.dim])
