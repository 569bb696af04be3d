"""The documentation site: every example of its tutorials and explanations is run, and what stands in tables is so."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from ir_exec.cli.config import Config
from ir_exec.ops.base import registry
from tests.helpers.examples import blocks, check_console, run_example

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.glob("tutorials/*.md"), *DOCS.glob("explanation/*.md")])
WITH_EXAMPLES = [page for page in PAGES if re.search(r"^```(python|console)$", page.read_text("utf-8"), re.MULTILINE)]


def test_tutorials_have_examples() -> None:
    assert {page.name for page in DOCS.glob("tutorials/*.md")} <= {page.name for page in WITH_EXAMPLES}


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=lambda page: page.stem)
def test_the_examples(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "samples").symlink_to(ROOT / "samples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    names: dict[str, Any] = {}
    for language, block in blocks(page.read_text("utf-8")):
        if language == "console":
            with monkeypatch.context() as process:  # a command is a process of its own: what it registers ends with it
                process.setattr(registry, "EXTENSIONS", dict(registry.EXTENSIONS))
                check_console(block)
        elif language == "python":
            expected, printed = run_example(block, names)
            assert printed[: len(expected)] == expected, block


def test_every_setting_is_in_the_table() -> None:
    told = re.findall(r"^\| `([\w-]+)` \|", (DOCS / "reference" / "settings.md").read_text("utf-8"), re.MULTILINE)
    assert told == [field.alias or name for name, field in Config.model_fields.items()]


def test_every_picture_is_shown() -> None:
    text = "".join(page.read_text("utf-8") for page in DOCS.rglob("*.md"))
    shown = set(re.findall(r"!\[[^]]+\]\([./]*pictures/([\w.]+)\)", text))
    assert shown == {path.name for path in (DOCS / "pictures").iterdir() if path.suffix in (".png", ".svg")}
