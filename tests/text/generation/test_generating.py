"""Text from a folder: the tokens are those that OpenVINO's logits give when each text is computed as a whole."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import ir_exec
from ir_exec import EvaluationError, GraphError, Model, WeightsError, build
from ir_exec.cli import main
from ir_exec.text.generation.generating import Pipeline, load
from ir_exec.types import Array
from tests.text.model_folders import language_model, pipeline
from tests.text.openvino import OpenVINO

PROMPT = [0, 45, 120, 7]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pipeline(tmp_path_factory.mktemp("generation") / "model")


@pytest.fixture(scope="module")
def text_pipeline(folder: Path) -> Pipeline:
    return load(folder)


def test_tokens_are_the_likeliest_of_openvino(folder: Path, text_pipeline: Pipeline, openvino: OpenVINO) -> None:
    ids = list(PROMPT)
    for _ in range(6):
        inputs: list[Array] = [np.array([ids]), np.ones((1, len(ids)), np.int64), np.zeros(1, np.int32)]
        (logits,) = openvino.run(folder / "openvino_model.xml", inputs)
        ids.append(int(logits[0, -1].argmax()))
    generation = text_pipeline.generate(PROMPT, max_new_tokens=6, ignore_eos=True, keep_logits=True)
    assert list(generation.ids) == ids[len(PROMPT) :]
    assert generation.logits is not None
    assert generation.logits.shape == (6, logits.shape[-1])
    assert (generation.stopped_by, generation.prompt_ids) == ("length", tuple(PROMPT))


def test_text_equals_its_tokens(text_pipeline: Pipeline) -> None:
    pieces: list[str] = []
    generation = text_pipeline.generate("a layer", max_new_tokens=5, ignore_eos=True, on_text=pieces.append)
    assert generation.prompt_ids == tuple(text_pipeline.encode("a layer"))
    assert generation.text == text_pipeline.decode(generation.ids) == "".join(pieces)


def test_the_end_token_ends_it(folder: Path, tmp_path: Path) -> None:
    plain = load(folder).generate(PROMPT, max_new_tokens=4, ignore_eos=True)
    other = pipeline(tmp_path / "model")
    (other / "generation_config.json").write_text(json.dumps({"eos_token_id": plain.ids[-1]}), "utf-8")
    generation = load(other).generate(PROMPT, max_new_tokens=4)
    expected = plain.ids[: plain.ids.index(plain.ids[-1]) + 1]
    assert (generation.ids, generation.stopped_by) == (expected, "end token")


def test_draws_come_again_with_their_seed(text_pipeline: Pipeline) -> None:
    settings: dict[str, Any] = {"max_new_tokens": 8, "ignore_eos": True, "temperature": 2.0, "top_k": 50, "top_p": 0.9}
    draws = [text_pipeline.generate(PROMPT, seed=seed, **settings).ids for seed in (1, 1, 2)]
    assert draws[0] == draws[1] != draws[2]
    assert (
        text_pipeline.generate(PROMPT, **settings | {"top_k": 1}).ids
        == text_pipeline.generate(PROMPT, max_new_tokens=8, ignore_eos=True).ids
    )


def without_state(model: Model) -> Model:
    """The network without a cache: all tokens are computed for each new one."""
    draw = np.random.default_rng(5)
    tokens = build.parameter([None, None], "i64", name="input_ids")
    table = draw.normal(size=(500, 8)).astype(np.float32)
    hidden = build.cum_sum(build.gather(table, tokens, 0), 1)
    return build.model(build.result(build.matmul(hidden, table, transpose_b=True), name="logits"))


def with_past(model: Model) -> Model:
    """The network with the sum of the tokens before as an input and an output."""
    draw = np.random.default_rng(5)
    tokens = build.parameter([None, None], "i64", name="input_ids")
    past = build.parameter([None, 1, None, 8], "f32", name="past_key_values.0.key")
    table = draw.normal(size=(500, 8)).astype(np.float32)
    new = build.unsqueeze(build.gather(table, tokens, 0), 1)
    extended = build.concat([past, new], 2)
    count = build.gather(build.shape_of(tokens), [1], 0)
    hidden = build.squeeze(build.slice(build.cum_sum(extended, 2), build.negative(count), [2**31], [1], [2]), [1])
    logits = build.matmul(hidden, table, transpose_b=True)
    return build.model([build.result(logits, name="logits"), build.result(extended, name="present.0.key")])


def test_a_cache_in_inputs_and_outputs_gives_the_same(folder: Path, tmp_path: Path) -> None:
    ids = []
    for make in (without_state, with_past):
        other = pipeline(tmp_path / make.__name__)
        make(language_model()).save(other / "openvino_model.xml")
        ids.append(load(other).generate(PROMPT, max_new_tokens=6, ignore_eos=True).ids)
    assert ids[0] == ids[1]


def test_a_chat_by_its_template(text_pipeline: Pipeline) -> None:
    pytest.importorskip("jinja2")
    assert text_pipeline.chat([{"role": "user", "content": "a "}, {"role": "user", "content": "b"}]) == "a b"
    assert text_pipeline.encode("a b", special_tokens=False) == text_pipeline.encode("a b")[1:]


@pytest.mark.parametrize(
    ("arguments", "codes"),
    [
        ({"temperature": -1.0}, "IR704"),
        ({"top_p": 0.0}, "IR704"),
    ],
)
def test_settings_that_cannot_be(text_pipeline: Pipeline, arguments: dict[str, Any], codes: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        text_pipeline.generate(PROMPT, **arguments)
    assert caught.value.code == codes


def test_folders_that_cannot_generate(tmp_path: Path) -> None:
    with pytest.raises(GraphError) as caught:
        load(tmp_path)
    assert caught.value.code == "IR801"
    other = pipeline(tmp_path / "model")
    (other / "openvino_tokenizer.xml").unlink()
    with pytest.raises(GraphError) as caught:
        load(other).generate("text")
    assert caught.value.code == "IR801"
    assert load(other).generate(PROMPT, max_new_tokens=1).ids


def test_unknown_inputs(tmp_path: Path) -> None:
    other = pipeline(tmp_path / "model")
    extra = build.parameter([1], "f32", name="temperature_of_the_room")
    tokens = build.parameter([None, None], "i64", name="input_ids")
    logits = build.add(build.convert(build.unsqueeze(tokens, [2]), "f32"), extra)
    build.model(build.result(logits, name="logits")).save(other / "openvino_model.xml")
    with pytest.raises(EvaluationError) as caught:
        load(other).generate(PROMPT)
    assert caught.value.code == "IR705"
    inputs = {"temperature_of_the_room": np.zeros(1, np.float32)}
    assert load(other).generate(PROMPT, inputs=inputs, max_new_tokens=2).ids == (0, 0)


def pipeline_with_settings(folder: Path, **settings: Any) -> Pipeline:
    """A folder whose generation_config.json has these settings."""
    other = pipeline(folder)
    (other / "generation_config.json").write_text(json.dumps({"eos_token_id": 1} | settings), "utf-8")
    return load(other)


def test_the_settings_of_the_folder_hold(text_pipeline: Pipeline, tmp_path: Path) -> None:
    plain = text_pipeline.generate(PROMPT, max_new_tokens=8, ignore_eos=True).ids
    other = pipeline_with_settings(
        tmp_path / "model", repetition_penalty=50.0, max_new_tokens=8, do_sample=True, temperature=9.0
    )
    ids = other.generate(PROMPT, ignore_eos=True).ids
    # No token of the prompt comes again, and nothing is drawn.
    assert len(ids) == len({*ids, *PROMPT}) - len(set(PROMPT)) == 8
    assert other.generate(PROMPT, ignore_eos=True, seed=5).ids == ids
    assert other.generate(PROMPT, ignore_eos=True, repetition_penalty=1.0).ids == plain
    drawn = [other.generate(PROMPT, ignore_eos=True, do_sample=True, seed=seed).ids for seed in (5, 5, 6)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_several_end_tokens(text_pipeline: Pipeline) -> None:
    plain = text_pipeline.generate(PROMPT, max_new_tokens=6, ignore_eos=True).ids
    generation = text_pipeline.generate(PROMPT, max_new_tokens=6, eos_token_id=[499, plain[0]])
    assert (generation.ids, generation.stopped_by) == (plain[:1], "end token")
    later = text_pipeline.generate(PROMPT, max_new_tokens=6, eos_token_id=[499, plain[0]], min_new_tokens=3)
    assert len(later.ids) >= 3
    assert not {499, plain[0]} & set(later.ids[:3])


def test_stop_strings(text_pipeline: Pipeline) -> None:
    plain = text_pipeline.generate("a layer", max_new_tokens=6, ignore_eos=True, repetition_penalty=9.0)
    assert plain.text is not None
    stop = plain.text[2:4]
    pieces: list[str] = []
    settings: dict[str, Any] = {"ignore_eos": True, "repetition_penalty": 9.0, "stop_strings": ["never", stop]}
    generation = text_pipeline.generate("a layer", max_new_tokens=6, on_text=pieces.append, **settings)
    assert generation.stopped_by == "stop string"
    assert generation.text == plain.text[: plain.text.index(stop)] == "".join(pieces)
    assert generation.ids == plain.ids[: len(generation.ids)]


def test_a_batch_of_prompts(text_pipeline: Pipeline) -> None:
    prompts: list[str | list[int]] = ["a layer", PROMPT, [9], "The shapes of a network"]
    settings: dict[str, Any] = {"max_new_tokens": 6, "eos_token_id": [1, 2]}
    for more in ({}, {"do_sample": True, "seed": 4, "top_k": 20}):
        batch = text_pipeline.generate_batch(prompts, **settings, **more)
        alone = [text_pipeline.generate(prompt, **settings, **more) for prompt in prompts]
        assert [generation.ids for generation in batch] == [generation.ids for generation in alone]
        assert [generation.text for generation in batch] == [generation.text for generation in alone]
        assert [generation.prompt_ids for generation in batch] == [generation.prompt_ids for generation in alone]
    assert text_pipeline.generate_batch([]) == []


def test_a_batch_for_a_network_without_a_mask(tmp_path: Path) -> None:
    other = pipeline(tmp_path / "model")
    without_state(language_model()).save(other / "openvino_model.xml")
    text_pipeline = load(other)
    batch = text_pipeline.generate_batch([PROMPT, [9]], max_new_tokens=3, ignore_eos=True)
    alone = [text_pipeline.generate(row, max_new_tokens=3, ignore_eos=True) for row in (PROMPT, [9])]
    assert [generation.ids for generation in batch] == [generation.ids for generation in alone]


def test_batch_with_nan_padding(tmp_path: Path) -> None:
    other = pipeline(tmp_path / "model")
    draw = np.random.default_rng(5)
    table = draw.normal(size=(500, 8)).astype(np.float32)
    tokens = build.parameter([None, None], "i64", name="input_ids")
    mask = build.parameter([None, None], "i64", name="attention_mask")
    weights = build.log(build.subtract(build.multiply(build.convert(mask, "f32"), 2.0), 1.0))
    hidden = build.cum_sum(build.add(build.gather(table, tokens, 0), build.unsqueeze(weights, [2])), 1)
    logits = build.matmul(hidden, table, transpose_b=True)
    build.model(build.result(logits, name="logits")).save(other / "openvino_model.xml")
    text_pipeline = load(other)
    batch = text_pipeline.generate_batch([PROMPT, [9]], max_new_tokens=3, ignore_eos=True)
    alone = [text_pipeline.generate(row, max_new_tokens=3, ignore_eos=True) for row in (PROMPT, [9])]
    assert [generation.ids for generation in batch] == [generation.ids for generation in alone]


def test_settings_in_invalid_json(tmp_path: Path) -> None:
    other = pipeline(tmp_path / "model")
    (other / "generation_config.json").write_text("{", "utf-8")
    with pytest.raises(GraphError) as caught:
        load(other).generate(PROMPT)
    assert caught.value.code == "IR810"


@pytest.mark.parametrize(
    ("prompt", "code"),
    [([], "IR704"), ([0, 500], "IR701"), ([-1], "IR701"), ([5] * 21, "IR704"), ([2**40], "IR701")],
    ids=["empty", "above", "below", "long", "huge"],
)
def test_prompts_that_cannot_be(prompt: list[int], code: str, tmp_path: Path) -> None:
    other = pipeline(tmp_path / "model")
    config = json.loads((other / "config.json").read_text("utf-8"))
    (other / "config.json").write_text(json.dumps(config | {"max_position_embeddings": 20}), "utf-8")
    text_pipeline = load(other)
    for generate in (text_pipeline.generate, lambda tokens: text_pipeline.generate_batch([[0], tokens])):
        with pytest.raises(EvaluationError) as caught:
            generate(prompt)  # type: ignore[operator]  # both take a prompt
        assert caught.value.code == code
    generation = text_pipeline.generate([5] * 18, max_new_tokens=9, ignore_eos=True)
    assert (len(generation.ids), generation.stopped_by) == (2, "context")


def test_truncated_weights(tmp_path: Path) -> None:
    other = pipeline(tmp_path / "model")
    weights = other / "openvino_model.bin"
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(WeightsError) as caught:
        load(other).generate(PROMPT)
    assert caught.value.code == "IR202"
    tokenizer = other / "openvino_tokenizer.bin"
    tokenizer.write_bytes(tokenizer.read_bytes()[:100])
    with pytest.raises(WeightsError) as caught:
        load(other).encode("text")
    assert caught.value.code == "IR202"


def test_nan_logits(tmp_path: Path) -> None:
    other = pipeline(tmp_path / "model")
    tokens = build.parameter([None, None], "i64", name="input_ids")
    logits = build.log(build.negative(build.convert(build.unsqueeze(tokens, [2]), "f32")))
    build.model(build.result(logits, name="logits")).save(other / "openvino_model.xml")
    with pytest.raises(EvaluationError) as caught:
        load(other).generate([3, 4])
    assert caught.value.code == "IR704"


@pytest.mark.parametrize(
    "template",
    [
        "{{ raise_exception('roles must alternate') }}",
        "{% for %}",
        "{{ messages[5].role }}",
        "{{ 1 / 0 }}",
        "{{ [].pop() }}",
    ],
)
def test_templates_that_fail(template: str, tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    other = pipeline(tmp_path / "model")
    (other / "chat_template.jinja").write_text(template, "utf-8")
    with pytest.raises(EvaluationError) as caught:
        load(other).chat([{"role": "user", "content": "a"}])
    assert caught.value.code == "IR704"
    assert caught.value.location.path == str(other / "chat_template.jinja")


def test_settings_of_the_wrong_type(tmp_path: Path) -> None:
    with pytest.raises(EvaluationError) as caught:
        pipeline_with_settings(tmp_path / "model", repetition_penalty="much").generate(PROMPT)
    assert caught.value.code == "IR704"


def test_options_of_the_command(folder: Path, tmp_path: Path) -> None:
    arguments = ["generate", str(folder), "--ignore-eos", "--format", "json", "--max-new-tokens", "4"]

    def record(*more: str) -> Any:
        result = CliRunner().invoke(main, [*arguments, *more])
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    first, penalized = record("--ids", "0,45,120,7"), record("--ids", "0,45,120,7", "--repetition-penalty", "50")
    assert len(set(penalized["ids"])) == 4 != len(set(first["ids"]))
    logits = tmp_path / "logits.npz"
    batch = record("--ids", "0,45,120,7", "--ids", "9", "--logits", str(logits))
    assert batch["generations"][0]["ids"] == first["ids"]
    with np.load(logits) as stored:
        assert stored["ids.1"].tolist() == batch["generations"][1]["ids"]
    drawn = [record("--prompt", "a", "--sample", "--seed", seed)["ids"] for seed in ("1", "1", "2")]
    assert drawn[0] == drawn[1] != drawn[2]
    ended = record("--ids", "0,45,120,7", "--eos", str(first["ids"][0]), "--stop", "never")
    assert ended["ids"] == first["ids"]
    for wrong in (
        ["--ids", "1", "--eos", "a"],
        ["--ids", "1", "--prompt", "a"],
        ["--audio", "a.wav", "--ids", "1", "--ids", "2"],
    ):
        assert CliRunner().invoke(main, [*arguments, *wrong]).exit_code == 2
    missing = CliRunner().invoke(main, [*arguments, "--ids", "1", "--inputs", str(tmp_path / "none.npz")])
    assert missing.exit_code == 2
    assert CliRunner().invoke(main, [*arguments, "--ids", "99999"]).exit_code == 1
    assert CliRunner().invoke(main, [*arguments, "--ids", "1", "--top-p", "7"]).exit_code == 1


def test_the_command(folder: Path, tmp_path: Path) -> None:
    logits = tmp_path / "logits.npz"
    arguments = ["generate", str(folder), "--ids", "0,45,120,7", "--max-new-tokens", "3", "--ignore-eos"]
    result = CliRunner().invoke(main, [*arguments, "--format", "json", "--logits", str(logits)])
    record = json.loads(result.stdout)
    assert record["prompt_ids"] == PROMPT
    assert len(record["ids"]) == 3
    with np.load(logits) as stored:
        assert stored["logits"].argmax(1).tolist() == record["ids"] == stored["ids"].tolist()
    text = CliRunner().invoke(main, arguments)
    assert text.stdout.rstrip("\n") == record["text"]
    assert CliRunner().invoke(main, ["generate", str(folder)]).exit_code == 2
    assert CliRunner().invoke(main, ["generate", str(folder), "--ids", "a"]).exit_code == 2


def test_an_engine_gives_the_same_tokens(folder: Path, text_pipeline: Pipeline) -> None:
    pytest.importorskip("onnxruntime")
    fast = load(folder, partial(ir_exec.compile_model, engine="onnxruntime"))
    expected = text_pipeline.generate(PROMPT, max_new_tokens=6, ignore_eos=True).ids
    assert fast.generate(PROMPT, max_new_tokens=6, ignore_eos=True).ids == expected


@pytest.mark.parametrize("prompts", [1, 2])
def test_control_characters_of_a_vocabulary_are_not_printed(prompts: int, tmp_path: Path) -> None:
    """Letters of the vocabulary become escape sequences, bells and commands of CI services."""
    folder = pipeline(tmp_path / "model")
    (data,) = re.findall(
        r'element_type="u8" shape="\d{4}" offset="(\d+)" size="(\d+)"', _detokenizer(folder, "xml").read_text()
    )
    start, size = map(int, data)
    stored = bytearray(_detokenizer(folder, "bin").read_bytes())
    table = bytes.maketrans(b"aeiortn", b"\x1b\x07:\x08\x7f\n\r")
    stored[start : start + size] = stored[start : start + size].translate(table)
    _detokenizer(folder, "bin").write_bytes(stored)
    arguments = ["generate", str(folder), "--max-new-tokens", "60", "--ignore-eos", "--temperature", "100"]
    arguments += [f"--ids={number},45,120,7" for number in range(prompts)]
    raw = CliRunner().invoke(main, [*arguments, "--format", "json"])
    assert raw.exit_code == 0, raw.output
    record = json.loads(raw.stdout)
    text = "".join(entry["text"] for entry in (record["generations"] if prompts > 1 else [record]))
    assert {"\x1b", "\x07", "\x7f"} <= set(text)
    result = CliRunner().invoke(main, arguments)
    assert all(char.isprintable() or char in "\n\t" for char in result.stdout)
    assert not any(line.lstrip().startswith("::") for line in result.stdout.splitlines())
    assert all(char.isprintable() for char in raw.stdout.replace("\n", ""))


def _detokenizer(folder: Path, ending: str) -> Path:
    return folder / f"openvino_detokenizer.{ending}"


def test_zero_replaces_number_of_file(folder: Path, tmp_path: Path) -> None:
    arguments = ["generate", str(folder), "--ids", "0,45", "--max-new-tokens", "1"]
    result = CliRunner().invoke(main, [*arguments, "--repetition-penalty", "0"])
    assert result.exit_code == 1
    assert "repetition_penalty" in result.output
    other = pipeline(tmp_path / "model")
    (other / "generation_config.json").write_text(json.dumps({"temperature": 2.0, "min_new_tokens": 5}), "utf-8")
    result = CliRunner().invoke(main, ["generate", str(other), *arguments[2:], "--temperature", "0", "--sample"])
    assert result.exit_code == 0, result.output
