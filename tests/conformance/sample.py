"""Selection of the rows that the plain command replays in every form; `--rest` and `--complete` replay the others.

A row is in the sample of its table if it has a feature that no earlier row of the sample has: a version of an operator,
an attribute with a text, the element type of an input, a rank, the inputs that are constants, who answers for OpenVINO.
The order of rows is that of their digests, so that a new row changes the sample of its own table alone, and as little
as possible there.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from functools import cache

import pytest
from _pytest.mark import ParameterSet

from ir_exec.ops import resolve
from ir_exec.types import ElementType
from tests.conformance.case import Case
from tests.conformance.checks import TOGETHER, families, table

__all__ = ["each_chunk", "each_chunk_of_a_part", "each_part", "features", "found_in", "part", "sample"]

Feature = tuple[object, ...]


def features(case: Case) -> Iterator[Feature]:
    """Features in which rows of one operator differ; numbers in attributes count as equal."""
    operator = resolve(case.type, f"opset{case.opset}")
    version = (operator.type_name, operator.since)
    yield version
    for name, text in case.attribute_texts().items():
        yield (*version, name, re.sub(r"[-+.\d]+(e[-+]?\d+)?", "0", text))
    for position, array in enumerate(case.inputs):
        # Further inputs are those of variadic operators.
        yield (*version, min(position, 8), ElementType.of(array))
    yield (*version, "rank", case.inputs[0].ndim if case.inputs else None)
    yield (*version, "constants", *sorted(case.constants))
    yield (*version, "answers", case.oracle, case.expected is None, case.dynamic)


@cache
def sample(family: str) -> frozenset[int]:
    """The positions of the sampled rows of a table."""
    rows = table(family)
    order = sorted(range(len(rows)), key=lambda i: hashlib.sha256(str(rows[i]).encode()).digest())
    seen: set[Feature] = set()
    chosen = set()
    for position in order:
        row_features = set(features(rows[position]))
        if not row_features <= seen:
            seen |= row_features
            chosen.add(position)
    return frozenset(chosen)


def each_chunk() -> list[ParameterSet]:
    """All rows of all tables, some neighbors at a time, as parameters of a test."""
    return [
        pytest.param(rows, id=f"{family}-{number}")
        for family in families()
        for number, rows in enumerate(_chunks(table(family)))
    ]


def each_chunk_of_a_part() -> list[ParameterSet]:
    """Chunks of the samples, which the plain command runs."""
    return [
        pytest.param(rows, id=f"{part_of.id}-{number}", marks=part_of.marks)
        for part_of in each_part()
        for number, rows in enumerate(_chunks(part(*part_of.values)))
    ]


def _chunks(rows: list[Case]) -> list[list[Case]]:
    return [rows[start : start + TOGETHER] for start in range(0, len(rows), TOGETHER)]


def found_in(rows: list[Case], check: Callable[[Case], list[str]]) -> str:
    """Faults of the rows; empty without faults."""
    return "\n".join("\n    ".join([str(case), *faults]) for case in rows if (faults := check(case)))


def each_part() -> list[ParameterSet]:
    """A table and whether its sample is meant or its other rows, as parameters of tests that go through many rows."""
    return [
        pytest.param(family, is_sampled, id=family if is_sampled else f"{family}-rest", marks=marks)
        for family in families()
        for is_sampled, marks in ((True, []), (False, [pytest.mark.rest]))
        if is_sampled or len(sample(family)) < len(table(family))
    ]


def part(family: str, is_sampled: bool) -> list[Case]:
    """The sampled rows of a table, or its others."""
    return [case for position, case in enumerate(table(family)) if (position in sample(family)) is is_sampled]
