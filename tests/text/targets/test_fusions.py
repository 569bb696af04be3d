"""Missed fusions as findings of `check --for`, and Whisper on NPUs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ir_exec.model import Model
from ir_exec.text.targets import Target
from tests.fusions.networks import compress, decoder, rms
from tests.text.model_folders import pipeline, speech
from tests.text.targets.folders import find_diagnostics


def warnings_of(model: Model, path: Path, target: Target) -> list[str | None]:
    model.save(path / "model.xml")
    diagnostics = find_diagnostics(path / "model.xml", target)
    return [diagnostic.location.layer_name for diagnostic in diagnostics if diagnostic.severity == "warning"]


@pytest.mark.parametrize(
    ("model", "target", "layers"),
    [
        (decoder(), "cpu", []),
        (decoder(), "genai", []),
        (decoder(in_parts=True), "cpu", ["attention"]),
        (decoder(in_parts=True), "genai", ["attention", None]),
        (decoder(extra_reader=True), "cpu", ["present_key"]),
        (decoder(mask_reader=True), "genai", ["float_mask"]),
        (compress(element_type="f8e4m3"), "cpu", ["product"]),
        (rms(epsilon="input"), "cpu", []),
    ],
)
def test_warnings(model: Model, target: Target, layers: list[str | None], tmp_path: Path) -> None:
    assert warnings_of(model, tmp_path, target) == layers


def test_pipeline_without_state_has_one_error(tmp_path: Path) -> None:
    folder = pipeline(tmp_path / "model")
    decoder(in_parts=True).save(folder / "openvino_model.xml")
    severities = [diagnostic.severity for diagnostic in find_diagnostics(folder, "genai")]
    assert severities.count("error") == 0
    assert severities.count("warning") == 2


def set_release(folder: Path, release: str | None) -> None:
    path = folder / "openvino_decoder_model.xml"
    text = path.read_text("utf-8")
    entry = "" if release is None else f'<optimum><transformers_version value="{release}"/></optimum>'
    head, tail = text.rsplit("</rt_info>", 1)
    path.write_text(f"{head}{entry}</rt_info>{tail}", "utf-8")


@pytest.mark.parametrize(
    ("release", "expected"), [("4.52.4", ["warning"]), ("5.3.0", ["warning"]), ("5.5.4", []), (None, ["info"])]
)
def test_whisper_on_npu(release: str | None, expected: list[str], tmp_path: Path) -> None:
    folder = speech(tmp_path / "model")
    settings = json.loads((folder / "config.json").read_text("utf-8"))
    settings["architectures"] = ["WhisperForConditionalGeneration"]
    (folder / "config.json").write_text(json.dumps(settings), "utf-8")
    set_release(folder, release)
    diagnostics = [diagnostic for diagnostic in find_diagnostics(folder, "npu") if "4222" in str(diagnostic.source)]
    assert [diagnostic.severity for diagnostic in diagnostics] == expected
