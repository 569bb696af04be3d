"""The values of a network by name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ir_exec import EvaluationError
from ir_exec.debug.values.entries import Entry, find
from tests.helpers.facts import facts, naming


def entry(name: str, type: str = "Add", *, id: str | None = None, **parts: object) -> Entry:
    return replace(Entry((), id or name, name, type), **parts)  # type: ignore[arg-type]  # any fields


def test_finding_by_name() -> None:
    entries = [
        entry("x", scope=("loop", "body"), names=("inner",)),
        entry("s", "Split", port=1, ports=2),
        entry("a", names=("t",)),
    ]
    for name, path in (
        ("t", "a"),
        ("a", "a"),
        ("s:1", "s:1"),
        ("loop/body/x", "loop/body/x"),
        ("inner", "loop/body/x"),
    ):
        assert find(entries, name).path == path
    with pytest.raises(EvaluationError, match=naming("loop/body/y")) as caught:
        find(entries, "loop/body/y")
    assert facts(caught.value.hint) == ["loop/body/x"]
