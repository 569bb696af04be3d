"""Folders with several networks: encoders of text and speech, embeddings of images."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ir_exec import IRError
from ir_exec.text.generation.generating import load
from tests.text.model_folders import IMAGE, encoder_decoder, language_model, pipeline, speech, vision

PROMPT = [0, 45, 120, 7]
TABLE = np.random.default_rng(5).normal(size=(500, 8)).astype(np.float32)


def code_of(folder: Path, prompt: list[int], **arguments: object) -> str:
    with pytest.raises(IRError) as caught:
        load(folder).generate(prompt, max_new_tokens=2, **arguments)  # type: ignore[arg-type]  # of any kind
    return str(caught.value.code)


def test_an_encoder_reads_the_prompt(tmp_path: Path) -> None:
    folder = encoder_decoder(tmp_path / "model")
    states = TABLE[PROMPT] + TABLE[PROMPT].mean(0)
    summed, expected = TABLE[5].copy(), []
    for _ in range(6):
        expected.append(int(((summed + 20 * states.mean(0)) @ TABLE.T).argmax()))
        summed += TABLE[expected[-1]]
    generation = load(folder).generate(PROMPT, max_new_tokens=6, ignore_eos=True)
    assert (list(generation.ids), list(generation.prompt_ids)) == (expected, PROMPT)


def test_a_batch_of_prompts_for_an_encoder(tmp_path: Path) -> None:
    loaded = load(encoder_decoder(tmp_path / "model"))
    rows = [PROMPT, [9], [30, 60, 90, 120, 150, 180]]
    generations = loaded.generate_batch(rows, max_new_tokens=5, ignore_eos=True)
    assert [generation.ids for generation in generations] == [
        loaded.generate(row, max_new_tokens=5, ignore_eos=True).ids for row in rows
    ]
    assert len({generation.ids for generation in generations}) == 3


def test_missing_encoder_or_decoder(tmp_path: Path) -> None:
    for name in ("encoder", "decoder"):
        folder = encoder_decoder(tmp_path / name)
        (folder / f"openvino_{name}_model.xml").unlink()
        assert code_of(folder, PROMPT) == "IR801"


def test_speech_from_samples_and_from_features(tmp_path: Path) -> None:
    loaded = load(speech(tmp_path / "model"))
    samples = np.sin(np.arange(9000) * 0.3)
    features = loaded.features(samples)
    assert features.shape == (1, 8, 100)
    from_samples = loaded.generate(audio=samples, max_new_tokens=4, ignore_eos=True)
    from_features = loaded.generate(inputs={"input_features": features}, max_new_tokens=4, ignore_eos=True)
    assert from_samples.ids == from_features.ids
    hidden = TABLE[5] + 20 * features[0].mean(1)
    assert from_samples.ids[0] == int((hidden @ TABLE.T).argmax())
    # Tokens as prompt are those with which the decoder begins.
    begun = loaded.generate([7, 8], audio=samples, max_new_tokens=1, ignore_eos=True)
    assert begun.ids[0] == int(((hidden - TABLE[5] + TABLE[7] + TABLE[8]) @ TABLE.T).argmax())


def test_speech_ends_where_the_decoder_does(tmp_path: Path) -> None:
    loaded = load(speech(tmp_path / "model"))
    generation = loaded.generate(audio=np.zeros(100), max_new_tokens=50, ignore_eos=True)
    assert (len(generation.ids), generation.stopped_by) == (11, "context")


def test_speech_without_audio(tmp_path: Path) -> None:
    folder = speech(tmp_path / "model")
    assert code_of(folder, []) == "IR705"
    (folder / "preprocessor_config.json").unlink()
    assert code_of(folder, [], audio=np.zeros(100)) == "IR801"


def test_images_take_the_places_of_their_tokens(tmp_path: Path) -> None:
    folder = vision(tmp_path / "model")
    pixels = np.random.default_rng(0).normal(size=(2, 2, 2, 4)).astype(np.float32)
    prompt = [3, IMAGE, IMAGE, 4, IMAGE, IMAGE]
    generation = load(folder).generate(prompt, inputs={"pixel_values": pixels}, max_new_tokens=1, ignore_eos=True)
    hidden = TABLE[3] + TABLE[4] + pixels.transpose(0, 2, 1, 3).reshape(-1, 8).sum(0)
    assert generation.ids[0] == int((hidden @ TABLE.T).argmax())
    # One token for an image becomes as many as it has embeddings.
    short = load(folder).generate(
        [3, IMAGE, 4, IMAGE], inputs={"pixel_values": pixels}, max_new_tokens=1, ignore_eos=True
    )
    assert (short.prompt_ids, short.ids) == (tuple(prompt), generation.ids)


def test_a_prompt_as_embeddings(tmp_path: Path) -> None:
    folder = vision(tmp_path / "model")
    states = TABLE[[3, 9, 4]][None]
    generation = load(folder).generate(inputs={"inputs_embeds": states}, max_new_tokens=3, ignore_eos=True)
    assert generation.ids == load(folder).generate([3, 9, 4], max_new_tokens=3, ignore_eos=True).ids


def test_images_that_do_not_fit(tmp_path: Path) -> None:
    folder = vision(tmp_path / "model")
    pixels = np.zeros((1, 2, 2, 4), np.float32)
    assert code_of(folder, [3, 4], inputs={"pixel_values": pixels}) == "IR704"
    assert code_of(folder, [IMAGE] * 3, inputs={"pixel_values": pixels}) == "IR704"
    assert code_of(folder, [3], inputs={"pixel_valves": pixels}) == "IR705"
    language_model().save(folder / "openvino_vision_embeddings_merger_model.xml")
    assert code_of(folder, [IMAGE, IMAGE], inputs={"pixel_values": pixels}) == "IR900"
    (folder / "openvino_text_embeddings_model.xml").unlink()
    assert code_of(folder, [3]) == "IR801"


def test_a_task_for_a_model_of_text(tmp_path: Path) -> None:
    for make in (pipeline, encoder_decoder):
        assert code_of(make(tmp_path / make.__name__), PROMPT, task="translate") == "IR704"


def test_arrays_that_no_network_takes(tmp_path: Path) -> None:
    assert code_of(pipeline(tmp_path / "model"), PROMPT, inputs={"pixel_values": np.zeros(1)}) == "IR705"
