"""Every example of docs/debugging.md is run, in its order, and what it shows is what comes out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.helpers.examples import blocks, check_console, run_example

ROOT = Path(__file__).parent.parent


def test_the_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "samples").symlink_to(ROOT / "samples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    namespace: dict[str, Any] = {}
    found = blocks((ROOT / "docs" / "debugging.md").read_text())
    for language, block in found:
        if language == "console":
            check_console(block)
        elif language == "python":
            expected, printed = run_example(block, namespace)
            assert printed[: len(expected)] == expected, block
    assert {language for language, _ in found} >= {"console", "python"}
    assert len(found) >= 10
