"""Choosing tokens by logits. `logits.json` has what transformers makes of random ones (`tests/text/processors.py`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ir_exec import EvaluationError
from ir_exec.text.generation.sampling import Chooser, GenerationSettings, settings_from

CASES = json.loads((Path(__file__).parents[1] / "logits.json").read_text("utf-8"))
LOGITS = np.array([1.0, -2.0, 3.0, 0.5, 2.5], np.float32)


@pytest.mark.parametrize("case", CASES, ids=[" ".join(case["settings"]) for case in CASES])
def test_scores_are_those_of_transformers(case: dict[str, Any]) -> None:
    settings = settings_from("generation_config.json", case["settings"]).with_options({"do_sample": True})
    scores = Chooser(settings).scores(case["ids"], case["prompt"], np.array(case["logits"], np.float32))
    expected = [-np.inf if value is None else value for value in case["scores"]]
    np.testing.assert_allclose(scores, np.array(expected, np.float32), rtol=1e-6)


def test_draw_frequencies_match_probabilities() -> None:
    choose = Chooser(GenerationSettings(do_sample=True, temperature=2.0), seed=3)
    counts = np.bincount([choose([0], 1, LOGITS) for _ in range(4000)], minlength=5) / 4000
    weights = np.exp(LOGITS / 2)
    np.testing.assert_allclose(counts, weights / weights.sum(), atol=0.03)


def test_a_seed_gives_the_same_draws() -> None:
    settings = GenerationSettings(do_sample=True)

    def draw(seed: int) -> list[int]:
        choose = Chooser(settings, seed)
        return [choose([0], 1, LOGITS) for _ in range(20)]

    assert draw(1) == draw(1) != draw(2)


def test_repeated_tokens_are_penalized_by_count() -> None:
    settings = GenerationSettings(presence_penalty=1.0, frequency_penalty=0.25)
    # The prompt does not count.
    scores = Chooser(settings).scores([2, 4, 0, 0, 3], 2, LOGITS)
    np.testing.assert_allclose(scores, LOGITS - np.array([1.5, 0, 0, 1.25, 0], np.float32))


def test_forced_tokens_of_a_decoder_with_an_encoder() -> None:
    settings = GenerationSettings(forced_bos_token_id=3, forced_eos_token_id=1, max_new_tokens=4)
    choose = Chooser(settings, has_encoder=True)
    assert [choose([0, *new], 1, LOGITS) for new in ([], [3], [3, 2], [3, 2, 2])] == [3, 2, 2, 1]
    assert Chooser(settings)([0], 1, LOGITS) == 2


def test_end_tokens_are_forbidden_before_the_fewest() -> None:
    settings = settings_from("f", {"eos_token_id": [2, 4], "min_new_tokens": 2})
    choose = Chooser(settings)
    assert [choose([1, *new], 1, LOGITS) for new in ([], [0], [0, 0])] == [0, 0, 2]


def test_a_file_of_settings() -> None:
    settings = settings_from(
        "f",
        {"do_sample": True, "temperature": 0.5, "top_k": None, "eos_token_id": 7, "stop_strings": "x", "num_beams": 4},
    )
    assert settings == GenerationSettings(temperature=0.5, eos_token_id=(7,), stop_strings=("x",))
    assert settings.with_options({"do_sample": True}).temperature == 0.5
    assert settings.with_options({"temperature": 0.2}).do_sample
    assert not settings.with_options({"temperature": 0.0}).do_sample


@pytest.mark.parametrize(
    "settings",
    [
        {"temperature": -1.0},
        {"temperature": "hot"},
        {"temperature": float("nan")},
        {"top_k": -1},
        {"top_k": 2.5},
        {"top_k": True},
        {"top_p": 0.0},
        {"top_p": 1.5},
        {"min_p": 2},
        {"repetition_penalty": 0},
        {"no_repeat_ngram_size": -2},
        {"min_new_tokens": -1},
        {"max_new_tokens": -1},
        {"eos_token_id": "end"},
        {"eos_token_id": [1, "2"]},
        {"bad_words_ids": [1]},
        {"stop_strings": [""]},
        {"stop_strings": [1]},
        {"presence_penalty": float("inf")},
    ],
    ids=str,
)
def test_values_that_cannot_be(settings: dict[str, Any]) -> None:
    with pytest.raises(EvaluationError) as caught:
        settings_from("generation_config.json", settings).with_options({"do_sample": True})
    assert caught.value.code == "IR704"


def test_unused_draw_values() -> None:
    settings = settings_from("generation_config.json", {"top_k": -1, "top_p": 0.0})
    assert Chooser(settings)([0], 1, LOGITS) == 2
    with pytest.raises(EvaluationError):
        GenerationSettings().with_options({"temperature": -1.0})
    with pytest.raises(EvaluationError):
        GenerationSettings().with_options({"top_p": 2.0, "temperature": 0.0})


def test_options_that_do_not_exist() -> None:
    with pytest.raises(EvaluationError) as caught:
        GenerationSettings().with_options({"top_q": 1})  # type: ignore[typeddict-unknown-key]  # that is tested
    assert caught.value.code == "IR704"


def test_nan_logits() -> None:
    with pytest.raises(EvaluationError) as caught:
        Chooser(GenerationSettings())([0], 1, np.array([1, np.nan], np.float32))
    assert caught.value.code == "IR704"


def test_nothing_left_to_choose() -> None:
    for settings in (GenerationSettings(suppress_tokens=(0, 1, 2, 3, 4)), GenerationSettings(no_repeat_ngram_size=1)):
        with pytest.raises(EvaluationError) as caught:
            Chooser(settings)([0, 1, 2, 3, 4], 5, LOGITS)
        assert caught.value.code == "IR704"


def test_tokens_outside_the_vocabulary_are_left_alone() -> None:
    settings = GenerationSettings(suppress_tokens=(-1, 99), repetition_penalty=2.0)
    np.testing.assert_array_equal(Chooser(settings).scores([99], 1, LOGITS), LOGITS)
