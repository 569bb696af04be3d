"""Faults planted into a folder, one at a time: the rule and the file at fault."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ir_exec.cli import main
from ir_exec.text.folders.checking import check_folder
from tests.text.model_folders import TOKENIZERS, pipeline

MODEL, TOKENIZER, DETOKENIZER = (f"openvino_{name}.xml" for name in ("model", "tokenizer", "detokenizer"))


def codes_by_file(folder: Path) -> list[tuple[str, str]]:
    """The code and the file of each finding, in their order."""
    reports = check_folder(folder)
    assert reports is not None
    return sorted(
        (diagnostic.code, Path(report.path or "").relative_to(folder).as_posix())
        for report in reports
        for diagnostic in report.diagnostics
    )


def change_file(file: str, pattern: str, text: str, count: int = 0) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / file
        before = path.read_text("utf-8")
        after = re.sub(pattern, text, before, count=count)
        assert after != before
        path.write_text(after, "utf-8")

    return change


def setting(file: str, **values: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / file
        path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | values), "utf-8")

    return change


def remove_files(*files: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        for file in files:
            (folder / file).unlink()

    return change


def replace_files(family: str, *parts: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        for part in parts:
            for ending in ("xml", "bin"):
                shutil.copy(TOKENIZERS / f"{family}_{part}.{ending}", folder / f"openvino_{part}.{ending}")

    return change


def swap_weights(folder: Path) -> None:
    first, second = folder / "openvino_tokenizer.bin", folder / "openvino_model.bin"
    content = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(content)


FAULTS: dict[str, tuple[Callable[[Path], None], set[tuple[str, str]]]] = {
    "no model": (remove_files(MODEL, "openvino_model.bin"), {("IR801", ".")}),
    "no tokenizer": (remove_files(TOKENIZER), {("IR801", ".")}),
    "no detokenizer": (remove_files(DETOKENIZER), {("IR801", ".")}),
    "no settings": (remove_files("config.json"), {("IR801", ".")}),
    "no settings of generation": (remove_files("generation_config.json"), {("IR801", ".")}),
    "weights of each other": (swap_weights, {("IR802", MODEL), ("IR802", TOKENIZER)}),
    "another tokenizer": (replace_files("unigram", "tokenizer"), {("IR803", TOKENIZER), ("IR803", DETOKENIZER)}),
    "another detokenizer": (replace_files("byte_level", "detokenizer"), {("IR803", DETOKENIZER)}),
    "a size of the vocabulary": (setting("config.json", vocab_size=32000), {("IR803", "config.json")}),
    "an end token": (setting("generation_config.json", eos_token_id=7), {("IR804", "generation_config.json")}),
    "an end token of the settings": (setting("config.json", eos_token_id=7), {("IR804", "config.json")}),
    "an end token of the tokenizer": (
        change_file(TOKENIZER, r'(<eos_token_id value=)"\d+"', r'\1"9"'),
        {("IR804", TOKENIZER)},
    ),
    "a first token": (setting("tokenizer_config.json", bos_token="<|eot_id|>"), {("IR804", "tokenizer_config.json")}),
    "a first token without an id": (
        setting("tokenizer_config.json", bos_token="<s>"),
        {("IR804", "tokenizer_config.json")},
    ),
    "a token beyond the vocabulary": (setting("config.json", pad_token_id=99999), {("IR804", "config.json")}),
    "a renamed input": (change_file(MODEL, '"attention_mask"', '"mask"'), {("IR805", MODEL)}),
    "renamed tokens": (change_file(MODEL, '"input_ids"', '"ids"'), {("IR805", MODEL)}),
    "renamed beams": (change_file(MODEL, '"beam_idx"', '"beams"'), {("IR805", MODEL)}),
    "a renamed output": (change_file(MODEL, '"logits"', '"scores"'), {("IR805", MODEL)}),
    "a renamed output of the tokenizer": (change_file(TOKENIZER, '"attention_mask', '"mask'), {("IR805", TOKENIZER)}),
    "an input of another type": (change_file(MODEL, 'element_type="i64"', 'element_type="i32"', 1), {("IR805", MODEL)}),
    "two variables of one id": (
        change_file(MODEL, r"0\.valuepresent\.0\.value", "0.keypresent.0.key"),
        {("IR806", MODEL)},
    ),
    "a variable alone": (change_file(MODEL, r"past_key_values\.0\.value", "other"), {("IR806", MODEL)}),
    "no template": (remove_files("chat_template.jinja"), {("IR807", ".")}),
    "a broken template": (
        change_file("chat_template.jinja", "{% endfor %}", ""),
        {("IR807", "chat_template.jinja")},
    ),
    "another template": (
        setting("tokenizer_config.json", chat_template="{{ messages }}"),
        {("IR807", "tokenizer_config.json")},
    ),
    "another release": (
        change_file(TOKENIZER, r'(<openvino_version value=)"[^"]*"', r'\1"2024.6.0-1"'),
        {("IR808", DETOKENIZER)},
    ),
    "another library": (
        change_file(DETOKENIZER, r'(<transformers_version value=)"[^"]*"', r'\1"4.1.0"'),
        {("IR808", DETOKENIZER)},
    ),
    "another size": (setting("config.json", hidden_size=16), {("IR809", "config.json")}),
    "other heads": (setting("config.json", num_key_value_heads=1), {("IR809", "config.json")}),
    "other layers": (setting("config.json", num_hidden_layers=2), {("IR809", "config.json")}),
    "another architecture": (setting("config.json", architectures=["BertModel"]), {("IR809", "config.json")}),
    "no JSON": (change_file("config.json", "}", ",}"), {("IR810", "config.json")}),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_found_and_placed(fault: str, tmp_path: Path) -> None:
    plant, expected = FAULTS[fault]
    folder = pipeline(tmp_path / "model")
    plant(folder)
    assert expected <= set(codes_by_file(folder))


def test_a_sound_folder_has_no_findings(tmp_path: Path) -> None:
    assert codes_by_file(pipeline(tmp_path / "model")) == []


def test_other_folders_are_no_pipelines(tmp_path: Path) -> None:
    assert check_folder(tmp_path) is None
    assert check_folder(Path(__file__)) is None


def test_a_diffusion_pipeline_needs_its_folders(tmp_path: Path) -> None:
    folder = tmp_path / "diffusion"
    folder.mkdir()
    parts = {"_class_name": "Diffusion", "unet": ["diffusers", "UNet"], "vae": [None, None], "text": ["x", "y"]}
    (folder / "model_index.json").write_text(json.dumps(parts), "utf-8")
    pipeline(folder / "unet")
    assert codes_by_file(folder) == [("IR801", "model_index.json")]


def test_the_command_reports_by_file(tmp_path: Path) -> None:
    folder = pipeline(tmp_path / "model")
    plant, _ = FAULTS["an end token"]
    plant(folder)
    result = CliRunner().invoke(main, ["check", str(folder), "--format", "json"])
    assert result.exit_code == 1
    files = {
        Path(file["path"]).name: [diagnostic["code"] for diagnostic in file["diagnostics"]]
        for file in json.loads(result.stdout)["files"]
    }
    assert files["generation_config.json"] == ["IR804"]
    assert {MODEL, TOKENIZER, DETOKENIZER} <= files.keys()
