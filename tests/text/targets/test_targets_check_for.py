"""Files, folders that are pipelines, and folders that are none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import ir_exec
from ir_exec import build
from ir_exec.cli import main
from ir_exec.text.targets import TARGETS, Target, check_for
from tests.text.model_folders import pipeline
from tests.text.targets.folders import find_diagnostics, severities


def network(path: Path, *dims: int | None) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    parameter = build.parameter(ir_exec.Shape(list(dims)), name="x")
    build.model(build.result(build.relu(parameter), name="y")).save(path)
    return path


def files_of(path: Path, target: Target) -> list[str]:
    return sorted(Path(report.path or "").relative_to(path).as_posix() for report in check_for(path, target))


@pytest.mark.parametrize("target", ["npu", "gpu"])
def test_folder_without_pipeline(target: Target, tmp_path: Path) -> None:
    network(tmp_path / "one.xml", None, 3)
    network(tmp_path / "sound.xml", 1, 3)
    network(tmp_path / "below" / "deeper" / "two.xml", None, 3)
    network(tmp_path / ".hidden" / "three.xml", None, 3)
    assert files_of(tmp_path, target) == ["below/deeper/two.xml", "one.xml"]
    alone = [
        diagnostic.message
        for file in ("one.xml", "below/deeper/two.xml")
        for diagnostic in find_diagnostics(tmp_path / file, target)
    ]
    assert sorted(diagnostic.message for diagnostic in find_diagnostics(tmp_path, target)) == sorted(alone)


def test_genai_does_not_know_such_a_folder(tmp_path: Path) -> None:
    network(tmp_path / "below" / "one.xml", 1, 3)
    assert severities(tmp_path, "genai") == ["info"]
    assert files_of(tmp_path, "genai") == ["below"]


@pytest.mark.parametrize("target", TARGETS)
def test_an_empty_folder(target: Target, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("", "utf-8")
    assert find_diagnostics(tmp_path, target) == []


def test_a_pipeline_below(tmp_path: Path) -> None:
    pipeline(tmp_path / "model")
    network(tmp_path / "one.xml", None, 3)
    assert files_of(tmp_path, "npu") == ["model/openvino_model.xml", "one.xml"]


def test_other_networks_of_a_pipeline(tmp_path: Path) -> None:
    folder = pipeline(tmp_path / "model")
    network(folder / "openvino_reward_model.xml", None, 3)
    assert files_of(folder, "gpu") == ["openvino_reward_model.xml"]
    assert files_of(folder, "npu") == ["openvino_model.xml", "openvino_reward_model.xml"]


def test_a_folder_of_unreadable_files(tmp_path: Path) -> None:
    (tmp_path / "one.xml").write_text("<net", "utf-8")
    assert severities(tmp_path, "gpu") == ["info"]


def test_other_files_that_end_in_xml(tmp_path: Path) -> None:
    (tmp_path / "layout.xml").write_text("<resources/>", "utf-8")
    assert find_diagnostics(tmp_path, "gpu") == []
    assert severities(tmp_path / "layout.xml", "gpu") == ["info"]


def test_a_part_alone(tmp_path: Path) -> None:
    network(tmp_path / "openvino_model.xml", None, 3)
    assert severities(tmp_path, "npu") == ["error"]


def test_a_file_elsewhere(tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    path = network(tmp_path / "below" / "one.xml", None, 3)
    assert severities(f"file://{path}", "npu") == ["error"]
    assert severities(f"file://{tmp_path}", "npu") == ["error"]


def test_the_bin_stands_for_the_xml(tmp_path: Path) -> None:
    path = network(tmp_path / "one.xml", None, 3)
    assert severities(path.with_suffix(".bin"), "npu") == ["error"]


def test_parts_of_a_diffusion_pipeline(tmp_path: Path) -> None:
    parts = {"unet": ["diffusers", "UNet2DConditionModel"], "_class_name": "StableDiffusionPipeline"}
    (tmp_path / "model_index.json").write_text(json.dumps(parts), "utf-8")
    network(tmp_path / "unet" / "openvino_model.xml", None, 3)
    (tmp_path / "unet" / "config.json").write_text("{}", "utf-8")
    assert severities(tmp_path, "npu") == ["error"]
    assert severities(tmp_path, "genai") == []
    (tmp_path / "model_index.json").write_text(json.dumps(parts | {"_class_name": "OtherPipeline"}), "utf-8")
    assert severities(tmp_path, "genai") == ["info"]


def test_the_command(tmp_path: Path) -> None:
    path = network(tmp_path / "net.xml", None, 3)
    result = CliRunner().invoke(main, ["check", str(path), "--for", "npu", "--format", "json"])
    assert result.exit_code == 1
    (file,) = json.loads(result.stdout)["files"]
    (diagnostic,) = [diagnostic for diagnostic in file["diagnostics"] if diagnostic["code"] == "IR811"]
    assert set(diagnostic["source"]) == {"title", "release", "url"}
    text = CliRunner().invoke(main, ["check", str(path), "--for", "npu"]).stdout
    assert diagnostic["source"]["url"] in text
    assert diagnostic["source"]["release"] in text
    assert CliRunner().invoke(main, ["check", str(path), "--for", "gpu"]).exit_code == 0
    assert CliRunner().invoke(main, ["check", str(path), "--for", "tpu"]).exit_code == 2


@pytest.mark.parametrize("output", ["sarif", "github", "html"])
def test_the_source_in_other_formats(output: str, tmp_path: Path) -> None:
    path = network(tmp_path / "net.xml", None, 3)
    text = CliRunner().invoke(main, ["check", str(path), "--for", "npu", "--format", output]).stdout
    assert "npu-device.html" in text


def test_what_two_targets_share_comes_once(tmp_path: Path) -> None:
    folder = pipeline(tmp_path / "model")
    path = folder / "openvino_model.xml"
    path.write_text(path.read_text("utf-8").replace('"beam_idx"', '"beams"'), "utf-8")
    result = CliRunner().invoke(main, ["check", str(folder), "--for", "npu", "--for", "genai", "--format", "json"])
    errors = [diagnostic for file in json.loads(result.stdout)["files"] for diagnostic in file["diagnostics"]]
    assert len([error for error in errors if error["code"] == "IR811" and error["severity"] == "error"]) == 1


def test_the_command_over_a_folder(tmp_path: Path) -> None:
    network(tmp_path / "one.xml", None, 3)
    network(tmp_path / "below" / "two.xml", None, 3)
    result = CliRunner().invoke(main, ["check", str(tmp_path), "--for", "npu", "--for", "gpu", "--format", "json"])
    files = json.loads(result.stdout)["files"]
    counts = [sum(diagnostic["code"] == "IR811" for diagnostic in file["diagnostics"]) for file in files]
    assert counts == [2, 2]


@pytest.mark.parametrize(
    ("release", "parts"),
    [
        ("2022.1", {"openvino_reward_model.xml", "openvino_tokenizer.xml", "openvino_detokenizer.xml"}),
        ("2024.1", {"openvino_tokenizer.xml", "openvino_detokenizer.xml"}),
        ("2026.4", set()),
    ],
)
def test_a_release_that_lacks_operators(release: str, parts: set[str], tmp_path: Path) -> None:
    folder = pipeline(tmp_path / "model")
    x = build.parameter([2, 3], name="x")
    build.model(build.result(build.is_nan(x), name="y")).save(folder / "openvino_reward_model.xml")
    result = CliRunner().invoke(main, ["check", str(folder), "--target", release, "--format", "json"])
    files = json.loads(result.stdout)["files"]
    newer = {
        Path(file["path"]).name for file in files for diagnostic in file["diagnostics"] if diagnostic["code"] == "IR119"
    }
    assert parts <= newer
    assert newer - parts <= {"openvino_model.xml"}
