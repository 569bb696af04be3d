"""A folder as people find it: a small language model with a cache, its tokenizers and its settings."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ir_exec import Model, build
from ir_exec.types import Array

__all__ = ["IMAGE", "ROWS", "declare", "encoder_decoder", "language_model", "pipeline", "speech", "vision"]

TOKENIZERS = Path(__file__).parent / "tokenizers"
ROWS = len(json.loads((TOKENIZERS / "llama3.json").read_text("utf-8"))["model"]["vocab"])

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "bos_token_id": 0,
    "eos_token_id": 1,
    "hidden_size": 8,
    "model_type": "llama",
    "num_attention_heads": 2,
    "num_hidden_layers": 1,
    "num_key_value_heads": 2,
    "vocab_size": ROWS,
}


IMAGE = ROWS - 1
"""The token that stands for a part of an image."""


def language_model(seed: int = 0, projection: Callable[[build.Value], build.Value] | None = None) -> Model:
    """One layer of attention over a cache of keys and values, with heads of four channels.

    projection: applied to states of eight channels before the logits.
    """
    draw = np.random.default_rng(seed)
    tokens = build.parameter([None, None], "i64", name="input_ids")
    mask = build.parameter([None, None], "i64", name="attention_mask")
    beams = build.parameter([None], "i32", name="beam_idx")
    table = draw.normal(size=(ROWS, 8)).astype(np.float32)
    hidden = build.gather(table, tokens, 0)
    past = []
    for name in ("key", "value"):
        weights = draw.normal(size=(8, 8)).astype(np.float32) / 3
        heads = build.transpose(
            build.reshape(build.matmul(hidden, weights), [0, 0, 2, 4], special_zero=True), [0, 2, 1, 3]
        )
        variable = f"past_key_values.0.{name}present.0.{name}"
        start = build.broadcast(np.float32(0), build.concat([build.shape_of(beams), [2, 0, 4]], 0))
        state = build.read_value(start, variable, shape=[None, 2, None, 4], element_type="f32")
        extended = build.concat([build.gather(state, beams, 0), heads], 2)
        past.append((extended, build.assign(extended, variable)))
    query = build.transpose(build.reshape(hidden, [0, 0, 2, 4], special_zero=True), [0, 2, 1, 3])
    bias = build.multiply(build.subtract(build.convert(build.unsqueeze(mask, [1, 2]), "f32"), 1.0), 1e4)
    (keys, _), (values, _) = past
    attended = build.scaled_dot_product_attention(query, keys, values, bias, np.float32(1), causal=False)
    mixed = build.transpose(attended, [0, 2, 1, 3])
    states = build.add(hidden, build.reshape(mixed, [0, 0, 8], special_zero=True))
    states = states if projection is None else projection(states)
    logits = build.matmul(states, table, transpose_b=True)
    return build.model(build.result(logits, name="logits"), sinks=[node for _, node in past])


def pipeline(folder: Path) -> Path:
    """Write all the files into the folder."""
    folder.mkdir(exist_ok=True)
    language_model().save(folder / "openvino_model.xml")
    for part in ("tokenizer", "detokenizer"):
        for ending in ("xml", "bin"):
            shutil.copy(TOKENIZERS / f"llama3_{part}.{ending}", folder / f"openvino_{part}.{ending}")
    shutil.copy(TOKENIZERS / "llama3.json", folder / "tokenizer.json")
    settings = {
        "config.json": CONFIG,
        "generation_config.json": {"bos_token_id": 0, "eos_token_id": [1, 2]},
        "tokenizer_config.json": {"bos_token": "<|begin_of_text|>", "eos_token": "<|end_of_text|>"},
    }
    for name, content in settings.items():
        (folder / name).write_text(json.dumps(content, indent=1), "utf-8")
    (folder / "chat_template.jinja").write_text("{% for one in messages %}{{ one['content'] }}{% endfor %}", "utf-8")
    return folder


def _table() -> Array:
    return np.random.default_rng(5).normal(size=(ROWS, 8)).astype(np.float32)


def _masked_mean(states: build.Node, mask: build.Node) -> build.Node:
    weights = build.convert(build.unsqueeze(mask, [2]), "f32")
    total = build.reduce_sum(build.multiply(states, weights), [1], keep_dims=True)
    return build.divide(total, build.reduce_sum(weights, [1], keep_dims=True))


def _decoder() -> Model:
    """The running sum of the tokens, and the mean of the states that are no padding."""
    tokens = build.parameter([None, None], "i64", name="decoder_input_ids")
    states = build.parameter([None, None, 8], "f32", name="encoder_hidden_states")
    mask = build.parameter([None, None], "i64", name="encoder_attention_mask")
    summed = build.cum_sum(build.gather(_table(), tokens, 0), 1)
    hidden = build.add(summed, build.multiply(_masked_mean(states, mask), 20.0))
    return build.model(build.result(build.matmul(hidden, _table(), transpose_b=True), name="logits"))


def encoder_decoder(folder: Path) -> Path:
    """Write the files of a model that reads tokens and writes others."""
    pipeline(folder)
    (folder / "openvino_model.xml").unlink()
    tokens = build.parameter([None, None], "i64", name="input_ids")
    mask = build.parameter([None, None], "i64", name="attention_mask")
    states = build.gather(_table(), tokens, 0)
    encoded = build.add(states, _masked_mean(states, mask))
    build.model(build.result(encoded, name="last_hidden_state")).save(folder / "openvino_encoder_model.xml")
    _decoder().save(folder / "openvino_decoder_model.xml")
    _write(folder, "config.json", CONFIG | {"model_type": "t5", "architectures": ["T5ForConditionalGeneration"]})
    _write(folder, "generation_config.json", {"decoder_start_token_id": 5, "pad_token_id": 1, "eos_token_id": 1})
    return folder


def speech(folder: Path) -> Path:
    """Write the files of a model that reads a log-mel spectrogram of 8 bands, of at most one second."""
    encoder_decoder(folder)
    features = build.parameter([None, 8, 100], "f32", name="input_features")
    states = build.transpose(features, [0, 2, 1])
    build.model(build.result(states, name="last_hidden_state")).save(folder / "openvino_encoder_model.xml")
    _write(folder, "config.json", CONFIG | {"model_type": "whisper", "max_target_positions": 12})
    settings = {"feature_extractor_type": "WhisperFeatureExtractor", "feature_size": 8, "chunk_length": 1}
    _write(folder, "preprocessor_config.json", settings)
    return folder


def vision(folder: Path) -> Path:
    """Write the files of a model that reads images of 2 x 4 pixels with two channels, a token for each row."""
    pipeline(folder)
    (folder / "openvino_model.xml").unlink()
    tokens = build.parameter([None, None], "i64", name="input")
    build.model(build.gather(_table(), tokens, 0)).save(folder / "openvino_text_embeddings_model.xml")
    pixels = build.parameter([None, 2, 2, 4], "f32", name="pixel_values")
    rows = build.reshape(build.transpose(pixels, [0, 2, 1, 3]), [0, 0, 8], special_zero=True)
    build.model(rows).save(folder / "openvino_vision_embeddings_model.xml")
    states = build.parameter([None, None, 8], "f32", name="inputs_embeds")
    logits = build.matmul(build.cum_sum(states, 1), _table(), transpose_b=True)
    build.model(build.result(logits, name="logits")).save(folder / "openvino_language_model.xml")
    _write(folder, "config.json", CONFIG | {"model_type": "llava", "image_token_index": IMAGE})
    return folder


def _write(folder: Path, name: str, content: object) -> None:
    (folder / name).write_text(json.dumps(content), "utf-8")


def declare(path: Path, **values: str) -> None:
    """Add what NNCF writes about weights to the rt_info of a file."""
    text = path.read_text("utf-8").rstrip()
    assert text.endswith("</net>")
    values_in_xml = "".join(f'<{name} value="{value}"/>' for name, value in values.items())
    info = f"<nncf><weight_compression>{values_in_xml}</weight_compression></nncf>"
    before = text.removesuffix("</net>").rstrip()
    if before.endswith("</rt_info>"):
        text = before.removesuffix("</rt_info>") + info + "</rt_info></net>"
    else:
        text = before + f"<rt_info>{info}</rt_info></net>"
    path.write_text(text, "utf-8")
