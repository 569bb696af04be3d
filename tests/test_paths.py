"""Tests are at the path of what they test, and begin with the name of its module or of its package."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).parent

PACKAGE = TESTS.parent / "ir_exec"

OF_THE_WHOLE = frozenset(["conformance", "fuzz", "helpers", "mutate", "mutations"])
"""Folders of tests that are about no single module."""


def test_tests_mirror_package_paths() -> None:
    misplaced = [
        str(path.relative_to(TESTS))
        for path in sorted(TESTS.rglob("test_*.py"))
        if path.parent != TESTS and OF_THE_WHOLE.isdisjoint(path.relative_to(TESTS).parts)
        if not _is_in_place(path)
    ]
    assert misplaced == []


def _is_in_place(path: Path) -> bool:
    folder = PACKAGE / path.relative_to(TESTS).parent
    if not folder.is_dir():
        return False
    names = [folder.name, *(file.stem for file in folder.iterdir())]
    about = path.stem.removeprefix("test_")
    return any(about == name or about.startswith(f"{name}_") for name in names)
