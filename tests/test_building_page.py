"""Every example of docs/building.md is run, in its order, and what it shows is what comes out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from ir_exec.build import Editor
from tests.helpers.examples import blocks, check_console, run_example

PAGE = (Path(__file__).parent.parent / "docs" / "building.md").read_text(encoding="utf-8")


def test_the_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    namespace: dict[str, Any] = {}
    found = blocks(PAGE)
    for language, block in found:
        if language == "console":
            check_console(block)
        elif language == "python":
            expected, printed = run_example(block, namespace)
            assert printed[: len(expected)] == expected, block
    assert {language for language, _ in found} == {"console", "python"}
    assert len(found) >= 9


def test_every_method_of_the_editor_is_told() -> None:
    methods = {name for name in vars(Editor) if not name.startswith("_")}
    table = PAGE.split("| method |")[1].split("\n\n")[0]
    told = [name for row in table.splitlines() for name in re.findall(r"`(\w+)\(", row.partition(" | ")[0])]
    assert sorted(told) == sorted(methods)
