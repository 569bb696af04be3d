"""The documentation site: the examples of every page run, and its tables of settings and pictures are complete."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from ir_exec.build import Editor
from ir_exec.cli.config import Config
from ir_exec.ops.base import registry
from tests.helpers.examples import blocks, check_console, run_example

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
EXAMPLE = re.compile(r"^```(python|console)$", re.MULTILINE)
ELSEWHERE = {"coming-from-openvino.md": "test_pages", "extensions.md": "test_extension", "ci.md": "test_ci_files"}
"""Pages whose examples need more than the samples, and the module that runs them."""
WITH_EXAMPLES = [
    page
    for page in sorted(DOCS.rglob("*.md"))
    if page.name not in ELSEWHERE and EXAMPLE.search(page.read_text("utf-8"))
]


def test_tutorials_have_examples() -> None:
    assert set(DOCS.glob("tutorials/*.md")) <= set(WITH_EXAMPLES)


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=lambda page: page.relative_to(DOCS).with_suffix("").as_posix())
def test_the_examples(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = page.read_text("utf-8")
    if "import dask" in text:
        pytest.importorskip("dask.array", reason="Dask is not installed")
    (tmp_path / "samples").symlink_to(ROOT / "samples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    names: dict[str, Any] = {}
    for language, block in blocks(text):
        if language == "console":
            with monkeypatch.context() as process:  # a command is a process: its registrations end with it
                process.setattr(registry, "EXTENSIONS", dict(registry.EXTENSIONS))
                check_console(block)
        elif language == "python":
            expected, printed = run_example(block, names)
            assert printed[: len(expected)] == expected, block


def test_every_setting_is_in_the_table() -> None:
    listed = re.findall(r"^\| `([\w-]+)` \|", (DOCS / "reference" / "settings.md").read_text("utf-8"), re.MULTILINE)
    assert listed == [field.alias or name for name, field in Config.model_fields.items()]


def test_every_schema_is_described() -> None:
    named = set(re.findall(r"`(schemas/[\w.-]+)`", (DOCS / "reference" / "schemas.md").read_text("utf-8")))
    assert named == {f"schemas/{path.name}" for path in (ROOT / "schemas").iterdir()}


def test_editor_methods_are_in_the_table() -> None:
    methods = {name for name in vars(Editor) if not name.startswith("_")}
    rows = re.findall(r"^\| (`[^|]*) \|", (DOCS / "building.md").read_text("utf-8"), re.MULTILINE)
    listed = {name for row in rows for name in re.findall(r"`(\w+)\(", row)}
    assert methods - listed == set()


def test_every_picture_is_shown() -> None:
    text = "".join(page.read_text("utf-8") for page in DOCS.rglob("*.md"))
    shown = set(re.findall(r"!\[[^]]+\]\([./]*pictures/([\w.]+)\)", text))
    assert shown == {path.name for path in (DOCS / "pictures").iterdir() if path.suffix in (".png", ".svg")}
