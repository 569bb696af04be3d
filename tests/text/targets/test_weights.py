"""Weight formats for the pipeline on NPUs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.text.model_folders import declare, language_model, pipeline
from tests.text.targets.folders import find_diagnostics, four_bits, severities


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        ({"group": 128}, []),
        ({"group": None}, []),
        ({"group": None, "experts": 4}, []),
        ({"group": 128, "experts": 4}, []),
        ({"group": 64}, ["warning"]),
        ({"group": 32, "experts": 4}, ["warning"]),
        ({"group": 1}, ["warning"]),
        ({"kind": "u4", "zero_point": 3}, ["warning"]),
        ({"kind": "u4", "zero_point": 8}, ["info"]),
        ({"kind": "u4"}, []),
        ({"kind": "i4", "zero_point": 2}, ["warning"]),
        ({"kind": "u4", "zero_point": 3, "group": 32}, ["warning", "warning"]),
        ({"kind": "nf4", "group": None}, ["info"]),
        ({"kind": "nf4", "group": 128}, ["warning"]),
        ({"kind": "f4e2m1", "group": 32}, ["warning"]),
    ],
    ids=str,
)
def test_formats(stored: dict[str, Any], expected: list[str], tmp_path: Path) -> None:
    folder = pipeline(tmp_path / "model")
    language_model(projection=four_bits(**stored)).save(folder / "openvino_model.xml")
    assert severities(folder, "npu") == expected
    is_known_to_gpus = stored.get("kind", "i4") in ("i4", "u4")
    assert severities(folder, "gpu") == ([] if is_known_to_gpus else ["info"])
    assert severities(folder, "genai") == []


def test_weights_without_four_bits(tmp_path: Path) -> None:
    assert severities(pipeline(tmp_path / "model"), "npu") == ["warning"]


@pytest.mark.parametrize(("ratio", "expected"), [("1.0", 0), ("1", 0), ("0.8", 1), ("most", 1)])
def test_a_ratio_in_rt_info(ratio: str, expected: int, tmp_path: Path) -> None:
    folder = pipeline(tmp_path / "model")
    path = folder / "openvino_model.xml"
    language_model(projection=four_bits()).save(path)
    declare(path, ratio=ratio)
    assert severities(folder, "npu") == ["warning"] * expected


def test_the_layer_is_named(tmp_path: Path) -> None:
    folder = pipeline(tmp_path / "model")
    language_model(projection=four_bits(group=64)).save(folder / "openvino_model.xml")
    (diagnostic,) = find_diagnostics(folder, "npu")
    assert diagnostic.location.layer_type == "Const"
    assert diagnostic.source is not None
    assert diagnostic.source.title == "OpenVINO GenAI on NPU"
