"""Damaged files give errors of ours, and take little memory."""

from __future__ import annotations

from pathlib import Path

import pytest

import ir_exec
from ir_exec.errors import IRError
from tests.onnx.damage import FILES, copies, fault


@pytest.mark.broad(keep=4)
@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_damaged_copies(path: Path) -> None:
    for name, raw in copies(path, 12):
        assert fault(raw) is None, name


def test_most_copies_cannot_be_read() -> None:
    """So that the others are damaged where it matters too."""
    refused = 0
    damaged = list(copies(FILES[0], 40))
    for _, raw in damaged:
        try:
            ir_exec.read_model(raw)
        except IRError:
            refused += 1
    assert len({name.split("-")[0] for name, _ in damaged}) > 6
    assert len(damaged) / 2 < refused < len(damaged)


def test_the_same_copies_each_time() -> None:
    assert list(copies(FILES[0], 10)) == list(copies(FILES[0], 10))
