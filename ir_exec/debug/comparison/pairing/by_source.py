"""Candidates for pairs of layers by the modules and lines that they were exported from.

Exporters name, split and fold layers differently, but write the same paths of modules. In a module with the same number
of layers of a type on both sides, these layers are candidates in their order; the innermost modules are first. The
layers of one module may be in another one on the other side, such as a convolution with a folded normalization.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence

from ir_exec.debug.values.entries import Entry
from ir_exec.ops.base.registry import type_key

__all__ = ["pairs_of_sources"]


def pairs_of_sources(ours: Sequence[Entry], theirs: Sequence[Entry]) -> Iterator[list[tuple[Entry, Entry]]]:
    """Yield the candidates of each line of a module, then of each module, the innermost modules first.

    Values that were paired in the meantime must be skipped by the caller.
    """
    sides = [[entry for entry in side if _module_of(entry)] for side in (ours, theirs)]
    if not all(sides):
        return
    steps = [{step for entry in side for step in _module_of(entry).split(".")} for side in sides]
    paths = [
        {entry.key: _without_numbers(_module_of(entry), own, other) for entry in side}
        for side, own, other in zip(sides, steps, steps[::-1], strict=True)
    ]
    lines, modules = ([_ModuleMembers(), _ModuleMembers()] for _ in range(2))
    for side, (entries, path_of) in enumerate(zip(sides, paths, strict=True)):
        for entry in entries:
            parts = path_of[entry.key].split(".")
            if entry.source is not None and entry.source.file is not None:
                lines[side].add((*parts, entry.source.file_and_line), entry)
            for size in range(1, len(parts) + 1):
                modules[side].add(tuple(parts[:size]), entry)
    for mine, others in (lines, modules):
        shared = [path for path in mine.members if path in others.members]
        for path in sorted(shared, key=len, reverse=True):
            yield _candidates(mine.members[path], others.members[path])


class _ModuleMembers:
    """Values by the paths of modules, each value also at the modules that contain its own."""

    def __init__(self) -> None:
        self.members: dict[tuple[str, ...], list[Entry]] = defaultdict(list)

    def add(self, path: tuple[str, ...], entry: Entry) -> None:
        self.members[path].append(entry)


def _candidates(ours: Sequence[Entry], theirs: Sequence[Entry]) -> list[tuple[Entry, Entry]]:
    mine, others = _by_type(ours), _by_type(theirs)
    if _count_computing(mine) != _count_computing(others):
        return []
    shared = [(values, others[key]) for key, values in mine.items() if len(values) == len(others.get(key, ()))]
    return [pair for values, partners in shared for pair in zip(values, partners, strict=True)]


def _by_type(entries: Sequence[Entry]) -> dict[Hashable, list[Entry]]:
    groups: dict[Hashable, list[Entry]] = defaultdict(list)
    for entry in entries:
        groups[type_key(entry.type), entry.port, entry.ports].append(entry)
    return groups


def _count_computing(groups: Mapping[Hashable, Sequence[Entry]]) -> dict[Hashable, int]:
    """Return the numbers of layers that compute values by type; a folded scale changes the values of others."""
    return {key: len(values) for key, values in groups.items() if not values[0].op_class.is_data_movement}


def _module_of(entry: Entry) -> str:
    return "" if entry.source is None else entry.source.module or ""


def _without_numbers(module: str, own: set[str], other: set[str]) -> str:
    """Return the path without the numbers of repeated calls: `shared_1` is `shared` if the other side has only this."""
    steps = []
    for step in module.split("."):
        base, _, number = step.rpartition("_")
        is_call = number.isdigit() and step not in other and base in other and base in own
        steps.append(base if is_call else step)
    return ".".join(steps)
