"""The description of a folder: its weights, and where rt_info and the graph differ."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ir_exec.cli import main
from ir_exec.text.folders.describing import FolderFacts, facts_of_folder
from ir_exec.text.folders.folder import open_folder
from tests.text.model_folders import declare, language_model, pipeline
from tests.text.targets.folders import four_bits

DECLARED = {"mode": "int4_sym", "group_size": "128", "ratio": "1.0"}


def facts(folder: Path) -> FolderFacts:
    opened = open_folder(folder)
    assert opened is not None
    return facts_of_folder(opened)


def quantized_folder(folder: Path, **stored: Any) -> Path:
    pipeline(folder)
    language_model(projection=four_bits(**stored)).save(folder / "openvino_model.xml")
    return folder


@pytest.mark.parametrize(
    ("stored", "row"),
    [
        ({}, ("i4", 128, True)),
        ({"group": None}, ("i4", None, True)),
        ({"group": None, "experts": 4}, ("i4", None, True)),
        ({"group": 32, "experts": 4}, ("i4", 32, True)),
        ({"element_type": "u4", "zero_point": 3}, ("u4", 128, False)),
        ({"element_type": "u4", "zero_point": 8}, ("u4", 128, True)),
    ],
    ids=str,
)
def test_formats_of_weights(stored: dict[str, Any], row: tuple[str, int | None, bool], tmp_path: Path) -> None:
    described = facts(quantized_folder(tmp_path / "model", **stored))
    rows = [(weight.format, weight.group_size, weight.symmetric) for weight in described.weights]
    assert row in rows
    assert ("f32", None, None) in rows
    assert sum(weight.share for weight in described.weights) == pytest.approx(1)
    assert described.differences == {}


@pytest.mark.parametrize(
    ("stored", "declared", "count"),
    [
        ({}, {}, 0),
        ({"group": None}, {"group_size": "-1"}, 0),
        ({"element_type": "u4", "zero_point": 3}, {"mode": "int4_asym"}, 0),
        ({"group": 32}, {}, 1),
        ({"group": None}, {}, 1),
        ({"element_type": "u4", "zero_point": 3}, {}, 1),
        ({}, {"mode": "int4_asym"}, 1),
        ({}, {"mode": "nf4"}, 1),
        ({}, {"ratio": "0.5"}, 1),
        ({"element_type": "u4", "zero_point": 3, "group": 32}, {"ratio": "0.5"}, 3),
        ({}, {"mode": "a_new_mode"}, 0),
        ({}, {"ratio": "all", "group_size": "large"}, 0),
    ],
    ids=str,
)
def test_differences(stored: dict[str, Any], declared: dict[str, str], count: int, tmp_path: Path) -> None:
    folder = quantized_folder(tmp_path / "model", **stored)
    declare(folder / "openvino_model.xml", **(DECLARED | declared))
    assert [len(lines) for lines in facts(folder).differences.values()] == ([count] if count else [])


def test_the_command(tmp_path: Path) -> None:
    folder = quantized_folder(tmp_path / "model", group=32)
    declare(folder / "openvino_model.xml", **DECLARED)
    shown = json.loads(CliRunner().invoke(main, ["inspect", str(folder), "--format", "json"]).stdout)
    (text,) = shown["differences"]["model"]
    assert text in CliRunner().invoke(main, ["inspect", str(folder)]).stdout
    assert ("i4", 32, True) in [
        (entry["format"], entry["group_size"], entry["symmetric"]) for entry in shown["weights"]
    ]
