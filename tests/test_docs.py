"""What the documents for contributors name is there."""

from __future__ import annotations

import json
import re
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import pytest
from click import Context

from ir_exec.cli import main

ROOT = Path(__file__).resolve().parent.parent

# A path of a folder or a file of this repository, in code or in a code block; not a page of the specification.
PATH = re.compile(r"(?<![\w/.-])((?:ir_exec|tests|docs|benchmarks|samples|schemas|\.ci)/[\w./-]*)")


def paths_in(document: str) -> list[str]:
    return sorted({path.rstrip(".") for path in PATH.findall((ROOT / document).read_text("utf-8"))})


@pytest.mark.parametrize("document", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_every_path_is_there(document: str) -> None:
    paths = paths_in(document)
    assert len(paths) > 5
    assert [path for path in paths if not (ROOT / path).exists()] == []


PAGES = [ROOT / "README.md", ROOT / "benchmarks" / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
COMMAND = re.compile(r"(?:^|`|\$ |- run: |- )ir-exec ([a-z-]+)([^`\n]*)", re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_and_option_is_there(page: Path) -> None:
    missing = []
    for name, rest in COMMAND.findall(page.read_text("utf-8")):
        command = main.get_command(Context(main), name)
        known = {option for parameter in command.params for option in parameter.opts} if command else set()
        named = re.findall(r"(?<!\S)(--[a-z][a-z0-9-]*)", rest.split(" | ")[0])
        missing += [f"{name} {option}" for option in named if option not in known | {"--help"}]
        missing += [] if command else [name]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_in_lists_stays_in_them(page: Path) -> None:
    """MkDocs takes four spaces for what belongs to an item; with fewer, the items behind it become text."""
    assert re.findall(r"^ {1,3}```.*$", page.read_text("utf-8"), re.MULTILINE) == []


def test_every_benchmark_is_there() -> None:
    text = "".join(page.read_text("utf-8") for page in PAGES)
    named = set(re.findall(r"\bbenchmarks\.([a-z_]+)", text))
    scripts = {path.stem for path in (ROOT / "benchmarks").glob("*.py") if "def main" in path.read_text("utf-8")}
    assert named == scripts


GROUPS = {
    "networks of large matrix products, warm": ("encoder 1 x 128", "bert_tiny", "bert_tiny_fp16"),
    "language models that decode with a cache, warm": (
        *("gpt2_with_past", "gpt2_with_past, 64 tokens"),
        *("llama_stateful", "llama_with_past", "llama_with_past, 64 tokens"),
    ),
    "convolutional networks, warm": (
        *("ResNet-50 224", "MobileNet-v2 224", "conv_zoo", "mobilenet_v2_dynamic", "resnet18", "unet_diffusion"),
    ),
}
"""What the README says together: rows of `benchmarks/results/networks.json`."""


def test_the_figures_of_the_readme_are_those_of_the_results() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    rows = {
        "cold": "| from the start of a process to the first output | {:.2f} times as fast |",
        "gather_scatter": "| gather and scatter, 15 elements to 64 Mi | {:.2f} times as fast |",
        "memory": "| memory at the peak, gathers, scatters and exported networks | {:.1f} times less |",
    }
    for name, row in rows.items():
        result = json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text("utf-8"))
        assert row.format(result["geometric_mean"]) in readme
    memory = {name: row for name, row in results("memory").items() if not name.endswith(("elements", "tokens"))}
    large = [row["ratio"] for row in memory.values() if row["ours"] >= 20e6]
    said = f"| memory at the peak, networks that take 20 MB and more | {geometric_mean(large):.1f} times less |"
    assert said in readme
    models = results("llm")
    said = f"{models['u4, memory']['ratio']:.1f} (u4) and {models['f16, memory']['ratio']:.1f} (f16) times less |"
    assert f'| memory of a language model of 1.1 billion weights, `weights="keep"` | {said}' in readme


@pytest.mark.parametrize("group", GROUPS)
def test_the_ranges_of_the_readme_are_those_of_the_results(group: str) -> None:
    networks = results("networks")
    ratios = [networks[name]["ratio"] for name in GROUPS[group]]
    least, most = (f"{round(ratio * 20) / 20:g}" for ratio in (min(ratios), max(ratios)))
    assert f"| {group} | {least} to {most} times as fast |" in (ROOT / "README.md").read_text("utf-8")


def results(name: str) -> dict[str, dict[str, Any]]:
    """The rows of a benchmark by their names."""
    found = json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text("utf-8"))
    return {row["name"]: row for row in found["rows"]}
