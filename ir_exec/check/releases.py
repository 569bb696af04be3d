"""The oldest release of OpenVINO that reads a file, and the features of the file that require it.

`releases.json` contains all releases, and the first release of each opset, element type, IR version and so on, with its
source. Opsets grow for a few releases: `operators` lists operators that were added later, or earlier, than the release
in `opsets`. `extensions` lists the operators of openvino_tokenizers, which has the same release numbers as OpenVINO.
`attributes`, `inputs` and `extension_inputs` list features that operators did not support at first; older releases
reject these, or ignore them and compute different values.
"""

from __future__ import annotations

import json
import pkgutil
import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple, Self

from ir_exec.check.report import Demand, Requirement
from ir_exec.codes import Code
from ir_exec.errors import GraphError, IRError, Location
from ir_exec.ir import Document, Layer
from ir_exec.ops.base.registry import canonical, newest
from ir_exec.types import ElementType

__all__ = [
    "EXTENSION",
    "Release",
    "first_release",
    "known_releases",
    "newer_than",
    "requirement",
    "target_release",
    "tokenizer_types",
]

_TYPE_ATTRIBUTES = frozenset(("element_type", "destination_type", "variable_type", "output_type", "index_element_type"))

_LONGEST = 1_000
"""Maximum length of attributes that are matched: some patterns take time quadratic in the length."""


class Release(NamedTuple):
    """A release of OpenVINO; releases are ordered by age."""

    year: int
    number: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse `2023.1`, or a longer version that starts with a release.

        Raises:
            ValueError: For anything else.
        """
        match = re.fullmatch(r"(20\d\d)\.(\d{1,2})([.\-].*)?", text.strip())
        if match is None:
            raise ValueError(f"{text!r} is not a release of OpenVINO, expected a form like 2023.1")
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.year}.{self.number}"


EXTENSION = "extension"
"""The opset of operators of openvino_tokenizers."""

_OLDEST_VERSION = 10
_LAST_OLDER = Release(2022, 1)
"""The first release without the reader of versions 2 to 7, and the oldest version that it reads."""


def known_releases() -> list[Release]:
    """The releases of OpenVINO, oldest first."""
    return [
        Release(year, number) for year, (first, last) in _table().years.items() for number in range(first, last + 1)
    ]


def target_release(text: str) -> Release:
    """Parse a release that files are checked against.

    Raises:
        ValueError: For text that is not a release, and for a release that OpenVINO does not have.
    """
    release = Release.parse(text)
    if release not in known_releases():
        ranges = (f"{year}.{first} to {year}.{last}" for year, (first, last) in _table().years.items())
        raise ValueError(f"OpenVINO has no release {release}, expected one of {', '.join(ranges)}")
    return release


def first_release(type_name: str, opset: str) -> Release | None:
    """The first release that reads this operator of this opset; None if it is unknown."""
    table = _table()
    return table.operators.get((canonical(type_name), opset)) or table.opsets.get(opset)


def tokenizer_types() -> list[str]:
    """The operators of all releases of openvino_tokenizers, as files spell them."""
    return [name for name, opset in _table().operators if opset == EXTENSION]


class _Need(NamedTuple):
    """A release, and the feature that requires it."""

    release: Release
    what: str


def _location(layer: Layer | None, path: str | None) -> Location:
    return Location(path) if layer is None else Location(path, layer.line, layer.id, layer.name, layer.type)


def requirement(document: Document, version: int) -> Requirement:
    """The oldest release that reads the file, and the features that require it, each with the first layer that has it.

    Args:
        version: The IR version of the file; the document may have been upgraded since.
    """
    newest = Release(0, 0)
    places: dict[str, list[Layer | None]] = {}
    for layer, needs in _needs(document, version):
        for release, what in needs:
            if release > newest:
                newest, places = release, {}
            if release == newest:
                places.setdefault(what, []).append(layer)
    demands = tuple(
        Demand(what=what, count=len(layers), location=_location(layers[0], document.path))
        for what, layers in sorted(places.items())
    )
    return Requirement(release=str(newest), demands=demands)


def newer_than(target: Release, document: Document, version: int) -> Iterator[IRError]:
    """IR119 for every layer, and for the file itself, that the target does not read."""
    if version < _OLDEST_VERSION:
        if target >= _LAST_OLDER:
            message = f"OpenVINO has not read IR version {version} since {_LAST_OLDER}, but the target is {target}"
            yield GraphError(message, code=Code.newer_than_target, location=Location(document.path))
        return
    for layer, needs in _needs(document, version):
        need = max(needs, key=lambda need: need.release, default=None)
        if need is not None and need.release > target:
            message = f"{need.what} needs OpenVINO {need.release}, but the target is {target}"
            yield GraphError(message, code=Code.newer_than_target, location=_location(layer, document.path))


def _needs(document: Document, version: int) -> Iterator[tuple[Layer | None, Sequence[_Need]]]:
    """The needs of each layer; first the need of the file for its IR version, without a layer."""
    table = _table()
    yield None, [_Need(table.ir_versions[version], f"IR version {version}")]
    told: dict[tuple[str, str | None], tuple[list[_Need], list[_Novelty]]] = {}
    for layer in document.all_layers():
        key = (layer.type, layer.version)
        facts = told.get(key)
        if facts is None:
            facts = told[key] = _of_operator(layer.type, layer.version or "")
        needs, novelties = facts
        kinds = [port.precision for port in layer.outputs]
        kinds += [text for name, text in layer.data.items() if name in _element_type_attributes(layer.type)]
        if new_types := _new_types(frozenset(kinds)):
            needs = [*needs, *new_types]
        for port in layer.outputs or layer.inputs:
            # Empty constants were always read; the input of a Result counts as its output.
            if 0 in port.dims and not layer.is_constant:
                needs = [*needs, _Need(table.dim_of_0, "a dim of 0")]
                break
        for novelty in novelties:
            if (what := novelty.found_in(layer)) is not None:
                needs = [*needs, _Need(novelty.release, what)]
        yield layer, needs


@lru_cache(maxsize=2**10)
def _element_type_attributes(type_name: str) -> frozenset[str]:
    """The attributes that name the element type of a value, in contrast to a type to whose precision it is rounded."""
    cls = newest(type_name)
    others = () if cls is None else [field.attribute for field in cls.fields() if not field.is_element_type]
    return _TYPE_ATTRIBUTES.difference(others)


def _of_operator(type_name: str, opset: str) -> tuple[list[_Need], list[_Novelty]]:
    """The needs of all layers of an operator, and the novelties that only some layers have."""
    release = first_release(type_name, opset)
    owner = "openvino_tokenizers" if opset == EXTENSION else opset
    needs = [] if release is None else [_Need(release, f"{type_name} of {owner}")]
    return needs, _table().novelties.get(canonical(type_name), [])


@lru_cache(maxsize=2**10)
def _new_types(spellings: frozenset[str | None]) -> list[_Need]:
    """The needs of element types that the first release did not support."""
    table = _table().element_types
    names = {spelling.lower() for spelling in spellings if spelling is not None}
    return [_Need(table[name], f"element type {name}") for name in sorted(names & table.keys())]


class _Novelty(NamedTuple):
    """A feature that was added to an operator later.

    It is a value of an attribute, an element type of the first input, or a number of inputs.
    """

    release: Release
    opsets: frozenset[str]
    attribute: str = ""
    pattern: str = ""
    element_type: str = ""
    input_count: int | None = None

    def found_in(self, layer: Layer) -> str | None:
        """The description of the feature if the layer has it; None for other layers."""
        if self.opsets and layer.version not in self.opsets:
            return None
        if self.attribute:
            value = layer.data.get(self.attribute)
            if value is None or len(value) > _LONGEST:
                return None
            is_new = re.fullmatch(self.pattern, value.replace(" ", ""), re.IGNORECASE)
            return f"{self.attribute}={value!r} of {layer.type}" if is_new else None
        if self.element_type:
            precisions = [port.precision for port in layer.inputs[:1]]
            return f"{layer.type} of {self.element_type}" if precisions == [_precision(self.element_type)] else None
        if len(layer.inputs) != self.input_count:
            return None
        return f"{layer.type} with {self.input_count} inputs" if self.input_count else f"{layer.type} without inputs"


def _precision(element_type: str) -> str:
    return ElementType.parse(element_type).precision


class _Table(NamedTuple):
    years: dict[int, tuple[int, int]]
    ir_versions: dict[int, Release]
    opsets: dict[str, Release]
    operators: dict[tuple[str, str], Release]
    element_types: dict[str, Release]
    dim_of_0: Release
    novelties: dict[str, list[_Novelty]]


@cache
def _table() -> _Table:
    text = pkgutil.get_data("ir_exec.check", "releases.json")
    assert text is not None, "the table is part of the package"
    table: dict[str, Any] = json.loads(text)
    novelties: dict[str, list[_Novelty]] = {}
    for entry in (*table["attributes"], *table["inputs"], *table["extension_inputs"]):
        opsets = frozenset(f"opset{number}" for number in entry.get("opsets", ()))
        told = {key: entry[key] for key in ("attribute", "pattern", "element_type", "input_count") if key in entry}
        for name in entry["types"]:
            novelty = _Novelty(Release.parse(entry["release"]), opsets, **told)
            novelties.setdefault(name, []).append(novelty)
    return _Table(
        {int(year): (first, last) for year, (first, last) in table["releases"].items()},
        {int(key): Release.parse(value) for key, value in table["ir_versions"].items()},
        {f"opset{key}": Release.parse(value) for key, value in table["opsets"].items()},
        {
            (name, f"opset{entry['opset']}"): Release.parse(entry["release"])
            for entry in table["operators"]
            for name in entry["types"]
        }
        | {
            (canonical(name), EXTENSION): Release.parse(entry["release"])
            for entry in table["extensions"]
            for name in entry["types"]
        },
        {key: Release.parse(value) for key, value in table["element_types"].items()},
        Release.parse(table["dim_of_0"]),
        novelties,
    )
