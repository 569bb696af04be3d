"""The values of a network by name."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace
from pathlib import Path

import pytest

import ir_exec
from ir_exec import EvaluationError
from ir_exec.debug.values.entries import Entry, entries_of, find
from tests.helpers.facts import facts, naming

SAMPLES = Path(__file__).parents[3] / "samples"


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


def test_entries_of_a_model_are_listed_once() -> None:
    model = ir_exec.read_model(SAMPLES / "bert.xml")
    assert entries_of(model) is entries_of(model)
    reference = weakref.ref(model)
    del model
    gc.collect()
    assert reference() is None
