"""The tokens with which a speech model begins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from ir_exec import EvaluationError
from ir_exec.text.folders.folder import Folder, SettingsFile
from ir_exec.text.generation.speech import start_tokens
from ir_exec.types import Array

MANY = {
    "lang_to_id": {"<|en|>": 10, "<|de|>": 11},
    "task_to_id": {"transcribe": 20, "translate": 21},
    "no_timestamps_token_id": 30,
}


def folder(settings: dict[str, Any]) -> Folder:
    return Folder("model", "speech", {}, {"generation_config.json": SettingsFile("g.json", settings)}, None)


def logits(tokens: Sequence[int]) -> Array:
    """German is likelier than English, and something else the likeliest."""
    assert list(tokens) == [1]
    scores = np.zeros(40, np.float32)
    scores[[11, 5]] = 1, 2
    return scores


@pytest.mark.parametrize(
    ("settings", "language", "task", "expected"),
    [
        ({}, None, None, [1]),
        (MANY, None, None, [1, 11, 30]),
        (MANY, "en", None, [1, 10, 20, 30]),
        (MANY, "<|EN|>", "translate", [1, 10, 21, 30]),
        (MANY, None, "translate", [1, 11, 21, 30]),
        (MANY | {"language": "en", "task": "translate"}, None, None, [1, 10, 21, 30]),
        (MANY | {"forced_decoder_ids": [[1, None], [2, 20]]}, None, None, [1, 11, 20, 30]),
        (MANY | {"forced_decoder_ids": [[1, 10], [2, 21], [3, 30]]}, None, None, [1, 10, 21, 30]),
        ({"forced_decoder_ids": [[1, 30]], "no_timestamps_token_id": 30}, None, None, [1, 30]),
    ],
)
def test_start_tokens(settings: dict[str, Any], language: str | None, task: str | None, expected: list[int]) -> None:
    assert start_tokens(folder(settings), 1, logits, language, task) == expected


@pytest.mark.parametrize(("language", "task"), [("xx", None), (None, "sing")])
def test_features_missing_in_the_model(language: str | None, task: str | None) -> None:
    with pytest.raises(EvaluationError) as caught:
        start_tokens(folder(MANY), 1, logits, language, task)
    assert caught.value.code == "IR704"
