"""Places of tokens in a text."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from ir_exec import compile_model, read_model
from ir_exec.cli import main
from ir_exec.text.folders.folder import read_part
from ir_exec.text.generation.generating import load
from ir_exec.text.tokenizers.offsets import batch_offsets, byte_offsets
from tests.text.make import ROOT
from tests.text.model_folders import pipeline

TOKENIZERS = ROOT / "tests" / "text" / "tokenizers"


def bytes_of_tokens(family: str, text: str, added: tuple[int, int] = (0, 0)) -> list[bytes | None]:
    """The bytes of the text that each token stands for."""
    path = str(TOKENIZERS / f"{family}_tokenizer.xml")
    ids = compile_model(read_model(path))([[text]])["input_ids"][0].tolist()
    spans = byte_offsets(read_part("tokenizer", path), text, ids, added)
    assert len(spans) == len(ids)
    data = text.encode()
    return [None if span is None else data[slice(*span)] for span in spans]


@pytest.mark.parametrize("text", ["The layer's  shape\n", "Größe 漢字 e\u0301 \U0001f600!", "", "<|eot_id|> in it"])
def test_bytes_of_byte_pair_encoding_are_the_text(text: str) -> None:
    parts = bytes_of_tokens("llama3", text, (1, 0))
    assert parts[0] == b""
    assert b"".join(part or b"" for part in parts) == text.encode()


def test_words_with_their_case_and_accents() -> None:
    text = "The LÄYER, of  Shapes"
    parts = [part for part in bytes_of_tokens("wordpiece", text, (1, 1)) if part]
    assert b"".join(parts).decode() == text.replace(" ", "")


def test_inserted_leading_spaces() -> None:
    parts = bytes_of_tokens("llama2", "a layer", (1, 0))
    assert b"".join(part or b"" for part in parts) == b"a layer"


def test_bytes_to_fall_back_on() -> None:
    parts = bytes_of_tokens("llama2", "a\u16a0b", (1, 0))
    assert b"".join(byte or b"" for byte in parts) == "a\u16a0b".encode()
    assert parts[-4:-1] == [bytes([byte]) for byte in "\u16a0".encode()]


def test_missing_text_ends_the_offsets() -> None:
    parts = bytes_of_tokens("wordpiece", "layer \u16a0 shape", (1, 1))
    assert parts[1] is not None
    assert parts[-2] is None
    assert parts[-1] == b""


def test_offsets_of_a_pipeline(tmp_path: Path) -> None:
    loaded = load(pipeline(tmp_path / "model"))
    offsets = loaded.offsets("a layer")
    assert offsets[0] == (0, 0)
    assert offsets[-1] is not None
    assert offsets[-1][1] == len("a layer")
    assert len(offsets) == len(loaded.encode("a layer"))
    (tmp_path / "model" / "openvino_tokenizer.xml").unlink()
    assert load(tmp_path / "model").offsets("a layer", [1, 2]) == [None, None]


def test_offsets_in_the_report_of_a_run() -> None:
    path = str(TOKENIZERS / "llama3_tokenizer.xml")
    result = CliRunner().invoke(main, ["run", path, "--input", "a layer", "--format", "json"])
    assert result.exit_code == 0, result.output
    (row,) = json.loads(result.stdout)["token_offsets"]
    assert row[0] == [0, 0]
    assert row[-1][1] == len("a layer")
    other = CliRunner().invoke(main, ["run", str(ROOT / "samples" / "gnn_step.xml"), "--format", "json", "--seed", "1"])
    assert json.loads(other.stdout)["token_offsets"] is None


def test_padding_of_a_batch_has_no_place() -> None:
    path = str(TOKENIZERS / "llama3_tokenizer.xml")
    ids = np.array([[0, 33, 1, 1], [0, 33, 34, 35]])
    offsets = batch_offsets(path, ["x", "xyz"], ids, np.array([[1, 1, 0, 0], [1, 1, 1, 1]]), [0])
    assert offsets is not None
    assert offsets[0][2:] == [None, None]
    assert batch_offsets(str(ROOT / "samples" / "gnn_step.xml"), ["x"], ids[:1], None, [0]) is None
