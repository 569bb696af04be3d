"""Tokens of two folders of one model."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import ir_exec
from ir_exec.build import Editor
from ir_exec.cli import main
from ir_exec.errors import EvaluationError, IRError
from ir_exec.text.generation.comparing import compare_tokens
from ir_exec.text.generation.generating import load
from tests.helpers.facts import mentions
from tests.text.model_folders import TOKENIZERS, pipeline

PROMPT = [210, 435, 480, 143]
"""Tokens that the folders of `exports` continue differently."""


@pytest.fixture(scope="module")
def exports(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A folder in f32, and another one with weights in int4."""
    folder = tmp_path_factory.mktemp("exports")
    plain, compressed = pipeline(folder / "plain"), pipeline(folder / "compressed")
    paths = [str(folder / "openvino_model.xml") for folder in (plain, compressed)]
    arguments = ["edit", paths[0], "--weights", "int4", "--group-size", "8", "-o", paths[1], "--force"]
    assert CliRunner().invoke(main, arguments).exit_code == 0
    return plain, compressed


def test_compressed_folder(exports: tuple[Path, Path]) -> None:
    plain, compressed = exports
    comparison = compare_tokens(load(compressed), str(plain), PROMPT, count=4)
    first = comparison.first
    assert first is not None
    tokens = [list(load(folder).generate(PROMPT, max_new_tokens=4, ignore_eos=True).ids) for folder in exports]
    assert [list(comparison.theirs), list(comparison.ours)] == tokens
    assert first.position == next(i for i in range(4) if tokens[0][i] != tokens[1][i])

    # The margins are those of the logits of each model for the tokens before.
    before = [*PROMPT, *comparison.ours[: first.position]]
    margins = []
    for folder, mine, other in ((compressed, first.ours, first.theirs), (plain, first.theirs, first.ours)):
        decoder, _ = load(folder).decoder(before)
        logits = decoder.next_logits(before)
        margins.append(float(logits[mine] - logits[other]))
    assert [first.margin, first.their_margin] == pytest.approx(margins, rel=1e-4)

    # The layer is that of the weight whose compression alone changes the logits most.
    report = ir_exec.debug.quantization_report(
        compressed / "openvino_model.xml",
        plain / "openvino_model.xml",
        [load(plain).decoder(before)[0].first_inputs(before)],
    )
    assert comparison.layer == report.layers[0].layers[0]
    assert compare_tokens(load(plain), str(compressed), PROMPT, count=4).layer == comparison.layer


def test_wrong_layer(exports: tuple[Path, Path], tmp_path: Path) -> None:
    plain, _ = exports
    wrong = tmp_path / "wrong"
    shutil.copytree(plain, wrong)
    editor = Editor(ir_exec.read_model(plain / "openvino_model.xml"))
    attention = next(node for node in editor.model().graph.nodes if node.type == "ScaledDotProductAttention")
    editor.set_attribute(attention.name, "causal", True)
    editor.model().save(wrong / "openvino_model.xml")
    for seed in range(20):
        ids = [int(token) for token in np.random.default_rng(seed).integers(3, 500, 6)]
        comparison = compare_tokens(load(wrong), str(plain), ids, count=4)
        if comparison.first is not None:
            assert comparison.layer == attention.name
            return
    raise AssertionError("no prompt shows the fault")


def test_equal_folders(exports: tuple[Path, Path]) -> None:
    comparison = compare_tokens(load(exports[0]), str(exports[0]), PROMPT, count=3)
    assert (comparison.equal, comparison.first, comparison.layer, comparison.notes) == (True, None, None, ())


def test_settings_that_explain_the_difference(exports: tuple[Path, Path], tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(exports[0], other)
    (other / "generation_config.json").write_text(json.dumps({"eos_token_id": 1, "repetition_penalty": 50.0}), "utf-8")
    comparison = compare_tokens(load(exports[0]), str(other), [0, 45, 120, 7], count=5)
    assert comparison.first is not None
    assert comparison.explanation is not None
    assert comparison.layer is None


def test_tokenizers_that_differ(exports: tuple[Path, Path], tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(exports[0], other)
    text = "Hello world"
    expected = load(exports[0]).encode(text)
    for ending in ("xml", "bin"):
        shutil.copy(TOKENIZERS / f"byte_level_tokenizer.{ending}", other / f"openvino_tokenizer.{ending}")
    assert load(other).encode(text) != expected
    comparison = compare_tokens(load(exports[0]), str(other), text, count=1)
    assert list(comparison.prompt_ids) == expected
    assert len(comparison.notes) == 1


def test_the_command(exports: tuple[Path, Path]) -> None:
    plain, compressed = map(str, exports)
    options = ["--ids", ",".join(map(str, PROMPT)), "--max-new-tokens", "4"]
    result = CliRunner().invoke(main, ["compare", compressed, "--with", plain, *options])
    comparison = compare_tokens(load(compressed), plain, PROMPT, count=4)
    assert comparison.first is not None
    assert result.exit_code == 1
    assert result.stdout == mentions(str(comparison.first.ours), str(comparison.first.theirs), comparison.layer or "?")
    assert CliRunner().invoke(main, ["compare", plain, "--with", plain, *options]).exit_code == 0


def test_references_that_are_no_folders(exports: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(IRError) as error:
        compare_tokens(load(exports[0]), str(tmp_path), PROMPT)
    assert error.value.code == "IR801"
    for reference in ("none", "transformers"):
        with pytest.raises(EvaluationError) as refused:
            compare_tokens(load(exports[0]), reference, PROMPT)
        assert refused.value.hint is not None
        assert "ref.json" in refused.value.hint
