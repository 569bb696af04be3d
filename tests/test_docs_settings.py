"""Every block of YAML, JSON and TOML in the documents is read by the tool that it is for, or fits its schema."""

from __future__ import annotations

import json
import re
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema
import pytest
import yaml

from ir_exec.cli.config import read_config
from ir_exec.engines.registry import GROUP
from tests.helpers.published_schemas import published_schema

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^( *)```(ya?ml|json|toml)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A block of a page, without the indent of a list."""

    page: str
    line: int
    language: str
    text: str


def blocks() -> list[Block]:
    all_blocks = []
    for page in PAGES:
        text = page.read_text("utf-8")
        for match in BLOCK.finditer(text):
            lines = [line.removeprefix(match[1]) for line in match[3].splitlines(keepends=True)]
            line = text.count("\n", 0, match.start()) + 1
            all_blocks.append(Block(str(page.relative_to(ROOT)), line, match[2], "".join(lines)))
    return all_blocks


BLOCKS = blocks()


def require_schema(name: str, document: Any) -> None:
    rules = published_schema(name)
    validator = jsonschema.validators.validator_for(rules)(rules)
    assert [error.message for error in validator.iter_errors(document)] == []


def require_yaml(document: Any) -> None:
    """A file of pre-commit, a workflow of GitHub, or the jobs of GitLab."""
    assert isinstance(document, dict), "a file is a mapping, not one of its lists"
    if "repos" in document:
        require_schema("pre-commit-config.json", document)
    elif "jobs" in document:
        # YAML 1.1 reads the key `on` as a truth value.
        require_schema("github-workflow.json", {"on" if key is True else key: value for key, value in document.items()})
    else:
        assert document
        assert all("script" in job for job in document.values())
        require_schema("gitlab-ci.json", document)


def require_toml(text: str, folder: Path) -> None:
    """Settings of ir_exec, or the entry points of a package."""
    content = tomllib.loads(text)
    if "project" in content:
        groups = content["project"]["entry-points"]
        assert list(groups) == [GROUP]
        for group, points in groups.items():
            assert all(EntryPoint(name, value, group).attr for name, value in points.items())
        return
    path = folder / ("pyproject.toml" if "tool" in content else "ir-exec.toml")
    path.write_text(text, "utf-8")
    settings = read_config(str(path))
    assert settings.model_fields_set


def test_every_tool_has_blocks() -> None:
    texts = "".join(block.text for block in BLOCKS)
    assert {block.language for block in BLOCKS} >= {"yaml", "toml"}
    assert all(key in texts for key in ("repos:", "jobs:", "script:", "[tool.ir-exec]", "[project.entry-points"))


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: f"{block.page}:{block.line}")
def test_the_tool_reads_it(block: Block, tmp_path: Path) -> None:
    if block.language == "json":
        json.loads(block.text)
    elif block.language == "toml":
        require_toml(block.text, tmp_path)
    else:
        require_yaml(yaml.safe_load(block.text))


@pytest.mark.parametrize(
    "text", ["- repo: https://example.org/hooks\n  rev: v1\n  hooks: []\n", "repos: 3\n", "jobs: {a: 1}\n"]
)
def test_a_block_that_no_tool_reads(text: str) -> None:
    with pytest.raises(AssertionError):
        require_yaml(yaml.safe_load(text))
