"""Tokens of other runtimes against ours."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from ir_exec import EvaluationError
from ir_exec.cli import main
from ir_exec.text.generation import comparing
from ir_exec.text.generation.comparing import compare_tokens
from ir_exec.text.generation.generating import Pipeline, load
from tests.text.model_folders import encoder_decoder, pipeline

PROMPT = [0, 45, 120, 7]


@pytest.fixture(scope="module")
def text_pipeline(tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    return load(pipeline(tmp_path_factory.mktemp("comparing") / "model"))


@pytest.fixture(scope="module")
def ours(text_pipeline: Pipeline) -> list[int]:
    return list(text_pipeline.generate(PROMPT, max_new_tokens=5, ignore_eos=True).ids)


@pytest.mark.skipif(find_spec("openvino") is None, reason="OpenVINO is not installed")
def test_tokens_of_openvino(text_pipeline: Pipeline, ours: list[int]) -> None:
    comparison = compare_tokens(text_pipeline, "openvino", PROMPT, count=5)
    assert (comparison.equal, comparison.first, comparison.trials) == (True, None, ())
    assert list(comparison.theirs) == list(comparison.ours) == ours


def test_settings_of_the_folder(text_pipeline: Pipeline, ours: list[int], tmp_path: Path) -> None:
    other = pipeline(tmp_path / "model")
    (other / "generation_config.json").write_text(json.dumps({"eos_token_id": 1, "repetition_penalty": 50.0}), "utf-8")
    penalized = load(other).generate(PROMPT, max_new_tokens=5, ignore_eos=True)
    assert list(penalized.ids) != ours
    # Files hold what a runtime gave that follows the settings.
    tokens = store(tmp_path, {"prompt_ids": PROMPT, "ids": list(penalized.ids)})
    assert compare_tokens(load(other), tokens, []).first is None
    plain = compare_tokens(load(other), store(tmp_path, {"ids": ours}), PROMPT).first
    assert plain is not None
    assert np.isfinite([plain.margin, plain.gap]).all()
    if find_spec("openvino") is not None:
        comparison = compare_tokens(load(other), "openvino", PROMPT, count=5)
        assert (comparison.first, list(comparison.ours)) == (None, ours)


def test_a_model_with_an_encoder(tmp_path: Path) -> None:
    other = load(encoder_decoder(tmp_path / "model"))
    ids = list(other.generate(PROMPT, max_new_tokens=4, ignore_eos=True).ids)
    assert compare_tokens(other, store(tmp_path, {"prompt_ids": PROMPT, "ids": ids}), []).first is None
    wrong = [*ids[:2], (ids[2] + 1) % 500, ids[3]]
    first = compare_tokens(other, store(tmp_path, {"prompt_ids": PROMPT, "ids": wrong}), []).first
    assert first is not None
    assert (first.position, first.ours) == (2, ids[2])
    assert first.margin >= first.gap > 0


def store(folder: Path, content: object) -> str:
    path = folder / "tokens.json"
    path.write_text(json.dumps(content), "utf-8")
    return str(path)


def test_the_first_token_that_differs(text_pipeline: Pipeline, ours: list[int], tmp_path: Path) -> None:
    other = (ours[2] + 1) % 500
    comparison = compare_tokens(text_pipeline, store(tmp_path, {"ids": [*ours[:2], other, *ours[3:]]}), PROMPT)
    assert comparison.first is not None
    assert (comparison.first.position, comparison.first.ours, comparison.first.theirs) == (2, ours[2], other)
    assert comparison.first.margin >= comparison.first.gap > 0
    assert not comparison.equal


def test_files_of_tokens(text_pipeline: Pipeline, ours: list[int], tmp_path: Path) -> None:
    for content in ({"prompt_ids": PROMPT, "ids": ours}, {"prompt_ids": PROMPT, "ids": PROMPT + ours}):
        assert compare_tokens(text_pipeline, store(tmp_path, content), []).first is None
    for content in ({"tokens": ours}, "text", [1.5]):
        with pytest.raises(EvaluationError) as caught:
            compare_tokens(text_pipeline, store(tmp_path, content), PROMPT)
        assert caught.value.code == "IR704"
    with pytest.raises(EvaluationError):
        compare_tokens(text_pipeline, str(tmp_path / "none.json"), PROMPT)


@pytest.mark.parametrize("reference", ["transformers", "other"])
def test_references_that_cannot_be(text_pipeline: Pipeline, reference: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        compare_tokens(text_pipeline, reference, PROMPT)
    assert caught.value.code == "IR704"


def test_missing_runtime_is_reported(text_pipeline: Pipeline) -> None:
    if find_spec("openvino_genai") is not None:
        pytest.skip("openvino_genai is installed")
    with pytest.raises(EvaluationError) as caught:
        compare_tokens(text_pipeline, "genai", PROMPT)
    assert caught.value.code == "IR700"


def test_the_command(text_pipeline: Pipeline, ours: list[int], tmp_path: Path) -> None:
    folder = text_pipeline.folder.path
    right, wrong = tmp_path / "right.json", tmp_path / "wrong.json"
    right.write_text(json.dumps({"prompt_ids": PROMPT, "ids": ours}), "utf-8")
    wrong.write_text(json.dumps({"prompt_ids": PROMPT, "ids": [(ours[0] + 1) % 500]}), "utf-8")
    assert CliRunner().invoke(main, ["compare", folder, "--with", str(right)]).exit_code == 0
    result = CliRunner().invoke(main, ["compare", folder, "--with", str(wrong), "--format", "json"])
    assert result.exit_code == 1
    assert json.loads(result.stdout)["first"]["position"] == 0
    assert CliRunner().invoke(main, ["compare", folder, "--with", str(wrong)]).exit_code == 1
    assert CliRunner().invoke(main, ["compare", folder, "--with", "openvino"]).exit_code == 2
    assert CliRunner().invoke(main, ["compare", folder]).exit_code == 2


@pytest.mark.skipif(find_spec("openvino") is None, reason="OpenVINO is not installed")
def test_the_layer_at_a_token(text_pipeline: Pipeline) -> None:
    # Nothing differs here, so that no layer is named.
    assert comparing.layer_at_token(text_pipeline, PROMPT, "CPU", 60.0) is None
