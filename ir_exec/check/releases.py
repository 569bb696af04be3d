"""Which release of OpenVINO reads a file, and what in the file demands it.

`releases.json` says in which release each opset, element type and IR version first appeared, and where that is from.
"""

from __future__ import annotations

import json
import pkgutil
import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple, Self

from ir_exec.check.report import Demand, Requirement
from ir_exec.errors import GraphError, IRError, Location
from ir_exec.ir import Document, Layer

__all__ = ["Release", "newer_than", "requirement"]

_OPSET = re.compile(r"opset(\d{1,2})")
_TYPE_ATTRIBUTES = ("element_type", "destination_type", "variable_type", "output_type", "index_element_type")


class Release(NamedTuple):
    """A release of OpenVINO; they compare by age."""

    year: int
    number: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """`2023.1`, or a longer version that begins so. Raises ValueError for anything else."""
        match = re.fullmatch(r"(20\d\d)\.(\d{1,2})([.\-].*)?", text.strip())
        if match is None:
            raise ValueError(f"{text!r} is not a release of OpenVINO, as 2023.1 is")
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.year}.{self.number}"


class _Need(NamedTuple):
    release: Release
    what: str
    location: Location


def requirement(document: Document, version: int) -> Requirement:
    """The least release that reads the file, and what demands it, each thing once with the first layer that has it.

    version: the IR version of the file, which the document may not say any more.
    """
    newest = Release(0, 0)
    found: dict[str, list[Location]] = {}
    for need in _needs(document, version):
        if need.release > newest:
            newest, found = need.release, {}
        if need.release == newest:
            found.setdefault(need.what, []).append(need.location)
    demands = tuple(Demand(what=what, count=len(places), location=places[0]) for what, places in sorted(found.items()))
    return Requirement(release=str(newest), demands=demands)


def newer_than(target: Release, document: Document, version: int) -> Iterator[IRError]:
    """IR119 for every layer, and for the file itself, where the target does not read it."""
    for release, what, location in _needs(document, version):
        if release > target:
            message = f"{what} needs OpenVINO {release}, and the target is {target}"
            yield GraphError(message, code="IR119", location=location)


def _needs(document: Document, version: int) -> Iterator[_Need]:
    table = _table()
    file = Location(path=document.path)
    yield _Need(table.ir_versions[version], f"IR version {version}", file)
    for layer in document.all_layers():
        location = Location(document.path, layer.line, layer.id, layer.name, layer.type)
        match = _OPSET.fullmatch(layer.version or "")
        release = table.opsets.get(int(match[1])) if match is not None else None
        if release is not None:
            yield _Need(release, f"{layer.type} of {layer.version}", location)
        for kind in dict.fromkeys(_element_types(layer)):
            if kind in table.element_types:
                yield _Need(table.element_types[kind], f"element type {kind}", location)


def _element_types(layer: Layer) -> Iterable[str]:
    yield from (layer.data[name].lower() for name in _TYPE_ATTRIBUTES if name in layer.data)
    yield from (port.precision.lower() for port in layer.outputs if port.precision is not None)


class _Table(NamedTuple):
    ir_versions: dict[int, Release]
    opsets: dict[int, Release]
    element_types: dict[str, Release]


@cache
def _table() -> _Table:
    text = pkgutil.get_data("ir_exec.check", "releases.json")
    assert text is not None, "the table is part of the package"
    table: dict[str, Any] = json.loads(text)
    return _Table(
        {int(key): Release.parse(value) for key, value in table["ir_versions"].items()},
        {int(key): Release.parse(value) for key, value in table["opsets"].items()},
        {key: Release.parse(value) for key, value in table["element_types"].items()},
    )
