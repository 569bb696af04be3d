"""Breaks files and reports the findings of the checker."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

from lxml import etree

from ir_exec import Report, check_model
from tests.conformance.networks import networks
from tests.mutations.kinds import Element
from tests.mutations.meanings import MUTATIONS

__all__ = ["OF_BODIES", "WITH_BODIES", "Outcome", "outcomes"]

TRIES = 4
"""The number of draws of a category of fault for a file before the file counts as having no place for it."""

WITH_BODIES = ("script_if", "script_loop_seq", "beam_search_gathertree")
"""The networks that have some."""

OF_BODIES = frozenset(name for name in MUTATIONS if "body" in name or name.startswith(("port_map", "back_edge")))
"""The kinds that break something in bodies, or in what ties them to their layers."""


@dataclass(frozen=True)
class Outcome:
    """One broken file: the layers of which one is at fault, and the layers that have errors."""

    mutation: str
    network: str
    expected: tuple[tuple[str | None, str | None], ...]
    reported: tuple[tuple[str | None, str | None], ...]
    report: Report

    @property
    def is_right(self) -> bool:
        """One layer has errors, and it is at fault."""
        layers = set(self.reported)
        return len(layers) == 1 and layers <= set(self.expected)

    def __str__(self) -> str:
        return f"{self.mutation} in {self.network}: expected one of {self.expected}\n{self.report}"


def outcomes(mutation: str, names: Sequence[str]) -> Iterator[Outcome]:
    """The file of each name broken in this way, where it has a place for it."""
    for number, name in enumerate(names):
        random = Random(f"{mutation} {name} {number}")
        for _ in range(TRIES):
            net = deepcopy(_tree(networks()[name]))
            try:
                broken = MUTATIONS[mutation](net, random)
            except (IndexError, ValueError):
                break  # nothing to choose from
            if broken is not None:
                yield _outcome(mutation, name, net, broken)
                break


def _outcome(mutation: str, name: str, net: Element, broken: Element | list[Element]) -> Outcome:
    expected = tuple(
        (element.get("id"), element.get("name")) for element in (broken if isinstance(broken, list) else [broken])
    )
    report = check_model(etree.tostring(net), weights=networks()[name].with_suffix(".bin"))
    reported = tuple((error.location.layer_id, error.location.layer_name) for error in report.errors)
    return Outcome(mutation, name, expected, reported, report)


@cache
def _tree(path: Path) -> Element:
    return etree.parse(path).getroot()
