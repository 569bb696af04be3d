"""Paths, links, commands, options and benchmarks that the documents name exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click import Context

from benchmarks import report
from ir_exec.cli import main

ROOT = Path(__file__).resolve().parent.parent

# A path of a folder or a file of this repository, in code or in a code block; not a page of the specification.
PATH = re.compile(r"(?<![\w/.-])((?:ir_exec|tests|docs|benchmarks|samples|schemas|\.ci)/[\w./-]*)")


def paths_in(document: str) -> list[str]:
    return sorted({path.rstrip(".") for path in PATH.findall((ROOT / document).read_text("utf-8"))})


@pytest.mark.parametrize("document", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_paths_exist(document: str) -> None:
    paths = paths_in(document)
    assert len(paths) > 5
    assert [path for path in paths if not (ROOT / path).exists()] == []


PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted(page for folder in ("benchmarks", "docs", "samples") for page in (ROOT / folder).rglob("*.md")),
]
COMMAND = re.compile(r"(?:^|`|\$ |- run: |- )ir-exec ([a-z-]+)([^`\n]*)", re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_and_options_exist(page: Path) -> None:
    missing = []
    for name, usage in COMMAND.findall(page.read_text("utf-8")):
        command = main.get_command(Context(main), name)
        options = {option for parameter in command.params for option in parameter.opts} if command else set()
        named = re.findall(r"(?<!\S)(--[a-z][a-z0-9-]*)", usage.split(" | ")[0])
        missing += [f"{name} {option}" for option in named if option not in options | {"--help"}]
        missing += [] if command else [name]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_in_lists_stays_in_them(page: Path) -> None:
    """MkDocs requires four spaces for the content of an item."""
    assert re.findall(r"^ {1,3}```.*$", page.read_text("utf-8"), re.MULTILINE) == []


LINK = re.compile(r"\]\((?!https?:|#)([^)\s#]+)(?:#([^)]*))?\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file(page: Path) -> None:
    text = re.sub(r"^```.*?^```$|`[^`\n]*`", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    missing = [name for name, _ in LINK.findall(text) if not (page.parent / name).exists()]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_benchmark_is_a_script(page: Path) -> None:
    named = set(re.findall(r"python -m benchmarks\.([a-z_]+)", page.read_text("utf-8")))
    assert [name for name in named if not (ROOT / "benchmarks" / f"{name}.py").exists()] == []


def test_benchmark_tables_match_report() -> None:
    again = "write them again: python -m benchmarks.report"
    assert report.PAGE.read_text("utf-8") == report.page(), again
    assert (text := report.README.read_text("utf-8")) == report.readme(text), again
