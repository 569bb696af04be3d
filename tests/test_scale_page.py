"""Every example of docs/scale.md is run, in its order, and what it shows is what comes out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.helpers.examples import blocks, check_console, run_example

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")


def test_the_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("dask.array", reason="Dask is not installed")
    (tmp_path / "samples").symlink_to(ROOT / "samples", target_is_directory=True)
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {}
    found = blocks(PAGE)
    for language, block in found:
        if language == "console":
            check_console(block)
        else:
            expected, printed = run_example(block, namespace)
            assert printed[: len(expected)] == expected, block
    assert [language for language, _ in found] == ["python", "console", "python"]
