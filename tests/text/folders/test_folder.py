"""Folders whose settings are of any type, and whose files are not files."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from ir_exec import IRError
from ir_exec.cli import main
from ir_exec.codes import Code
from ir_exec.runtime import compile_model
from ir_exec.text.folders import folder as folder_module
from ir_exec.text.folders import vocabulary_rules
from ir_exec.text.folders.checking import check_folder
from ir_exec.text.folders.describing import facts_of_folder
from ir_exec.text.folders.folder import Folder, open_folder
from ir_exec.text.folders.pipeline_rules import faults_of
from ir_exec.text.folders.vocabularies import entries_of
from ir_exec.text.generation.generating import Pipeline
from ir_exec.text.generation.limits import require_prompt
from ir_exec.text.generation.speech import start_tokens
from ir_exec.text.targets import TARGETS, check_for
from ir_exec.text.targets.pipelines import in_genai
from tests.helpers.facts import coded
from tests.text.model_folders import pipeline

VALUES: list[Any] = [
    *[None, True, 0, -1, 1, 10**30, 1.5, -0.5, float("inf"), "", "text", "\ud800"],
    *[[], [1], ["a"], [[]], [{}], [None], {}, {"a": 1}, {"content": 3}, {"id": []}, [[1, 2]], [["a", 1]], [{"id": 1}]],
]
"""A value of every type that JSON has."""

KEYS = {
    "config.json": [
        *["architectures", "model_type", "vocab_size", "hidden_size", "n_embd", "embedding_size", "num_hidden_layers"],
        *["num_key_value_heads", "layer_types", "max_position_embeddings", "n_positions", "text_config"],
        *[
            "bos_token_id",
            "eos_token_id",
            "pad_token_id",
            "image_token_id",
            "forced_decoder_ids",
            "word_embed_proj_dim",
        ],
        *["decoder_start_token_id", "max_target_positions"],
    ],
    "generation_config.json": [
        *[
            "eos_token_id",
            "bos_token_id",
            "pad_token_id",
            "num_beams",
            "lang_to_id",
            "task_to_id",
            "forced_decoder_ids",
        ],
        *["max_new_tokens", "bad_words_ids", "suppress_tokens", "temperature", "decoder_start_token_id", "language"],
    ],
    "tokenizer_config.json": ["bos_token", "eos_token", "pad_token", "unk_token", "chat_template"],
    "tokenizer.json": ["model", "added_tokens"],
    "processor_config.json": ["chat_template", "feature_extractor"],
    "chat_template.json": ["chat_template"],
    "preprocessor_config.json": ["sampling_rate", "feature_extractor_type"],
    "openvino_config.json": ["a"],
    "special_tokens_map.json": ["a"],
}


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pipeline(tmp_path_factory.mktemp("folder") / "model")


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "model"))


def use(folder: Path) -> set[str]:
    """The codes that all users of a folder report; every exception is an IRError."""
    reports = check_folder(folder)
    assert reports is not None
    codes = {diagnostic.code for report in reports for diagnostic in report.diagnostics}
    opened = open_folder(folder)
    assert opened is not None
    for target in TARGETS:
        list(check_for(folder, target))
    return codes | use_settings(opened)


def use_settings(folder: Folder) -> set[str]:
    """The codes that the users of settings report, without those that read models."""
    codes = {fault.code for fault in faults_of(folder)}
    facts_of_folder(folder).model_dump_json()
    codes |= {fault.code for fault in in_genai(folder)}
    loaded = Pipeline(folder, compile_model)
    audio = np.zeros(10, np.float32)
    steps: list[Callable[[], Any]] = [loaded.settings, lambda: loaded.end_tokens, lambda: loaded.features(audio)]
    steps.append(lambda: start_tokens(folder, 0, lambda _: audio, None, None))
    steps.append(lambda: require_prompt(folder, [1, 2], {}))
    for step in steps:
        try:
            step()
        except IRError as error:
            codes.add(error.code)
    return codes


@pytest.mark.parametrize("file", KEYS)
def test_settings_of_any_type(file: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder / file
    content = json.loads(path.read_text("utf-8")) if path.exists() else {}
    opened = open_folder(folder)
    assert opened is not None
    # The models do not change, and reading them takes most of the time.
    monkeypatch.setattr(folder_module, "read_part", lambda name, _: opened.parts[name])
    tokens = {name: entries_of(part) for name, part in opened.parts.items()}
    monkeypatch.setattr(
        vocabulary_rules, "entries_of", lambda part: tokens.get(part.name) if part is not None else None
    )
    for key in KEYS[file]:
        for value in VALUES:
            path.write_text(json.dumps(content | {key: value}), "utf-8")
            changed = open_folder(folder)
            assert changed is not None
            assert Code.internal_error not in use_settings(changed), (key, value)


@pytest.mark.parametrize(
    ("file", "key", "value"),
    [
        ("config.json", "architectures", 1),
        ("config.json", "architectures", [1]),
        ("config.json", "architectures", "LlamaForCausalLM"),
        ("config.json", "model_type", ["llama"]),
        ("config.json", "text_config", []),
        ("tokenizer.json", "model", 3),
        ("chat_template.json", "chat_template", {}),
    ],
)
def test_values_of_an_impossible_type_are_named(file: str, key: str, value: Any, folder: Path) -> None:
    path = folder / file
    content = json.loads(path.read_text("utf-8")) if path.exists() else {}
    path.write_text(json.dumps(content | {key: value}, indent=1), "utf-8")
    reports = check_folder(folder)
    assert reports is not None
    (diagnostic,) = [
        diagnostic
        for report in reports
        for diagnostic in report.diagnostics
        if diagnostic.code == Code.unreadable_settings
    ]
    assert (diagnostic.severity, diagnostic.location.path) == ("error", str(path))
    assert f'"{key}"' in path.read_text("utf-8").splitlines()[(diagnostic.location.line or 0) - 1]


def test_null_means_unset(folder: Path) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({"architectures": None, "model_type": None}), "utf-8")
    assert Code.unreadable_settings not in use(folder)


FILES = ["config.json", "tokenizer.json", "chat_template.jinja", "generation_config.json", "tokenizer_config.json"]


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("what", ["folder", "pipe", "device", "missing link"])
def test_irregular_files(file: str, what: str, folder: Path) -> None:
    path = folder / file
    path.unlink()
    if what == "folder":
        path.mkdir()
    elif what == "pipe":
        if not hasattr(os, "mkfifo"):
            pytest.skip("the system has no pipes in folders")
        os.mkfifo(path)
    elif what == "device":
        path.symlink_to(os.devnull)
    else:
        path.symlink_to(folder / "missing")
    reports = check_folder(folder)
    assert reports is not None
    assert (Code.unreadable_settings, str(path)) in {
        (diagnostic.code, diagnostic.location.path) for report in reports for diagnostic in report.diagnostics
    }
    assert Code.internal_error not in use(folder)
    result = CliRunner().invoke(main, ["check", str(folder)])
    assert result.exit_code == 1, result.output


@pytest.mark.parametrize("file", ["openvino_model.xml", "openvino_model.bin", "openvino_tokenizer.xml"])
@pytest.mark.parametrize("what", ["folder", "pipe"])
def test_irregular_models(file: str, what: str, folder: Path) -> None:
    path = folder / file
    path.unlink()
    if what == "folder":
        path.mkdir()
    elif hasattr(os, "mkfifo"):
        os.mkfifo(path)
    assert Code.internal_error not in use(folder)


def test_deep_settings(folder: Path) -> None:
    for content in ('{"a":' + "[" * 100_000 + "]" * 100_000 + "}", '{"a": ' + "9" * 5000 + "}", "[" * 100_000):
        (folder / "config.json").write_text(content, "utf-8")
        assert Code.unreadable_settings in use(folder)


def test_tokens_with_single_surrogates(folder: Path) -> None:
    path = folder / "tokenizer.json"
    content = json.loads(path.read_text("utf-8"))
    content["model"]["vocab"] = dict(zip(("\ud800", "\udc80", "a\ud83d\ude00", "a"), range(4), strict=True))
    path.write_text(json.dumps(content), "utf-8")
    assert Code.vocabularies_differ in use(folder)


def test_links_to_a_folder_above(folder: Path) -> None:
    (folder / "model_index.json").write_text("{}", "utf-8")
    for name in ("a", "b"):
        (folder / name).symlink_to(folder, target_is_directory=True)
    opened = open_folder(folder)
    assert opened is not None
    assert len(opened.below) == 2


def test_a_folder_that_cannot_be_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str) -> list[str]:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "listdir", refuse)
    with pytest.raises(IRError, check=coded(Code.unreadable_path, path=str(folder))):
        open_folder(folder)
