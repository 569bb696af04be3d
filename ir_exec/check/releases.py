"""Which release of OpenVINO reads a file, and what in the file demands it.

`releases.json` says in which release each opset, element type and IR version first appeared, and where that is from.
"""

from __future__ import annotations

import json
import pkgutil
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple, Self

from ir_exec.check.report import Demand, Requirement
from ir_exec.errors import GraphError, IRError, Location
from ir_exec.ir import Document, Layer

__all__ = ["Release", "newer_than", "requirement"]

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
    """A release, and what demands it: the opset or an element type of a layer; the IR version where there is none."""

    release: Release
    layer: Layer | None
    element_type: str | None

    def what(self, version: int) -> str:
        if self.layer is None:
            return f"IR version {version}"
        return (
            f"{self.layer.type} of {self.layer.version}"
            if self.element_type is None
            else (f"element type {self.element_type}")
        )

    def location(self, path: str | None) -> Location:
        layer = self.layer
        return Location(path) if layer is None else Location(path, layer.line, layer.id, layer.name, layer.type)


def requirement(document: Document, version: int) -> Requirement:
    """The least release that reads the file, and what demands it, each thing once with the first layer that has it.

    version: the IR version of the file, which the document may not say any more.
    """
    newest = Release(0, 0)
    found: list[_Need] = []
    for need in _needs(document, version):
        if need.release > newest:
            newest, found = need.release, []
        if need.release == newest:
            found.append(need)
    places: dict[str, list[_Need]] = {}
    for need in found:
        places.setdefault(need.what(version), []).append(need)
    demands = tuple(
        Demand(what=what, count=len(needs), location=needs[0].location(document.path))
        for what, needs in sorted(places.items())
    )
    return Requirement(release=str(newest), demands=demands)


def newer_than(target: Release, document: Document, version: int) -> Iterator[IRError]:
    """IR119 for every layer, and for the file itself, where the target does not read it."""
    for need in _needs(document, version):
        if need.release > target:
            message = f"{need.what(version)} needs OpenVINO {need.release}, and the target is {target}"
            yield GraphError(message, code="IR119", location=need.location(document.path))


def _needs(document: Document, version: int) -> Iterator[_Need]:
    table = _table()
    yield _Need(table.ir_versions[version], None, None)
    for layer in document.all_layers():
        release = table.opsets.get(layer.version or "")
        if release is not None:
            yield _Need(release, layer, None)
        kinds = {port.precision for port in layer.outputs}
        kinds.update(layer.data[name] for name in _TYPE_ATTRIBUTES if name in layer.data)
        for kind in sorted({kind.lower() for kind in kinds if kind is not None} & table.element_types.keys()):
            yield _Need(table.element_types[kind], layer, kind)


class _Table(NamedTuple):
    ir_versions: dict[int, Release]
    opsets: dict[str, Release]
    element_types: dict[str, Release]


@cache
def _table() -> _Table:
    text = pkgutil.get_data("ir_exec.check", "releases.json")
    assert text is not None, "the table is part of the package"
    table: dict[str, Any] = json.loads(text)
    return _Table(
        {int(key): Release.parse(value) for key, value in table["ir_versions"].items()},
        {f"opset{key}": Release.parse(value) for key, value in table["opsets"].items()},
        {key: Release.parse(value) for key, value in table["element_types"].items()},
    )
