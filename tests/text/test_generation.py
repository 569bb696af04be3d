"""Text from a folder: the tokens are those that OpenVINO's logits give when each text is computed as a whole."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import ir_exec
from ir_exec import EvaluationError, GraphError, Model, build
from ir_exec.cli import main
from ir_exec.text.generation import Pipeline, load
from ir_exec.types import Array
from tests.text.folders import language_model, pipeline
from tests.text.openvino import OpenVINO

PROMPT = [0, 45, 120, 7]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pipeline(tmp_path_factory.mktemp("generation") / "model")


@pytest.fixture(scope="module")
def loaded(folder: Path) -> Pipeline:
    return load(folder)


def test_tokens_are_the_likeliest_of_openvino(folder: Path, loaded: Pipeline, openvino: OpenVINO) -> None:
    ids = list(PROMPT)
    for _ in range(6):
        inputs: list[Array] = [np.array([ids]), np.ones((1, len(ids)), np.int64), np.zeros(1, np.int32)]
        (logits,) = openvino.run(folder / "openvino_model.xml", inputs)
        ids.append(int(logits[0, -1].argmax()))
    found = loaded.generate(PROMPT, max_new_tokens=6, ignore_eos=True, keep_logits=True)
    assert list(found.ids) == ids[len(PROMPT) :]
    assert found.logits is not None
    assert found.logits.shape == (6, logits.shape[-1])
    assert (found.stopped_by, found.prompt_ids) == ("length", tuple(PROMPT))


def test_text_is_that_of_the_tokens(loaded: Pipeline) -> None:
    pieces: list[str] = []
    found = loaded.generate("a layer", max_new_tokens=5, ignore_eos=True, on_text=pieces.append)
    assert found.prompt_ids == tuple(loaded.encode("a layer"))
    assert found.text == loaded.decode(found.ids) == "".join(pieces)


def test_the_end_token_ends_it(folder: Path, tmp_path: Path) -> None:
    plain = load(folder).generate(PROMPT, max_new_tokens=4, ignore_eos=True)
    other = pipeline(tmp_path / "model")
    (other / "generation_config.json").write_text(json.dumps({"eos_token_id": plain.ids[-1]}), "utf-8")
    found = load(other).generate(PROMPT, max_new_tokens=4)
    expected = plain.ids[: plain.ids.index(plain.ids[-1]) + 1]
    assert (found.ids, found.stopped_by) == (expected, "end token")


def test_draws_come_again_with_their_seed(loaded: Pipeline) -> None:
    settings: dict[str, Any] = {"max_new_tokens": 8, "ignore_eos": True, "temperature": 2.0, "top_k": 50, "top_p": 0.9}
    found = [loaded.generate(PROMPT, seed=seed, **settings).ids for seed in (1, 1, 2)]
    assert found[0] == found[1] != found[2]
    assert (
        loaded.generate(PROMPT, **settings | {"top_k": 1}).ids
        == loaded.generate(PROMPT, max_new_tokens=8, ignore_eos=True).ids
    )


def without_state(model: Model) -> Model:
    """The network without a cache: all tokens are computed for each new one."""
    draw = np.random.default_rng(5)
    tokens = build.parameter([None, None], "i64", name="input_ids")
    table = draw.normal(size=(500, 8)).astype(np.float32)
    hidden = build.cum_sum(build.gather(table, tokens, 0), 1)
    return build.model(build.result(build.matmul(hidden, table, transpose_b=True), name="logits"))


def with_past(model: Model) -> Model:
    """The same with the sum of the tokens before as an input and an output."""
    draw = np.random.default_rng(5)
    tokens = build.parameter([None, None], "i64", name="input_ids")
    past = build.parameter([None, 1, None, 8], "f32", name="past_key_values.0.key")
    table = draw.normal(size=(500, 8)).astype(np.float32)
    new = build.unsqueeze(build.gather(table, tokens, 0), 1)
    whole = build.concat([past, new], 2)
    count = build.gather(build.shape_of(tokens), [1], 0)
    hidden = build.squeeze(build.slice(build.cum_sum(whole, 2), build.negative(count), [2**31], [1], [2]), [1])
    logits = build.matmul(hidden, table, transpose_b=True)
    return build.model([build.result(logits, name="logits"), build.result(whole, name="present.0.key")])


def test_a_cache_in_inputs_and_outputs_gives_the_same(folder: Path, tmp_path: Path) -> None:
    found = []
    for make in (without_state, with_past):
        other = pipeline(tmp_path / make.__name__)
        make(language_model()).save(other / "openvino_model.xml")
        found.append(load(other).generate(PROMPT, max_new_tokens=6, ignore_eos=True).ids)
    assert found[0] == found[1]


def test_a_chat_by_its_template(loaded: Pipeline) -> None:
    pytest.importorskip("jinja2")
    assert loaded.chat([{"role": "user", "content": "a "}, {"role": "user", "content": "b"}]) == "a b"
    assert loaded.encode("a b", special_tokens=False) == loaded.encode("a b")[1:]


@pytest.mark.parametrize(
    ("arguments", "codes"),
    [
        ({"temperature": -1.0}, "IR704"),
        ({"top_p": 0.0}, "IR704"),
    ],
)
def test_settings_that_cannot_be(loaded: Pipeline, arguments: dict[str, Any], codes: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        loaded.generate(PROMPT, **arguments)
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


def test_inputs_that_are_not_known(tmp_path: Path) -> None:
    other = pipeline(tmp_path / "model")
    extra = build.parameter([1], "f32", name="temperature_of_the_room")
    tokens = build.parameter([None, None], "i64", name="input_ids")
    logits = build.add(build.convert(build.unsqueeze(tokens, [2]), "f32"), extra)
    build.model(build.result(logits, name="logits")).save(other / "openvino_model.xml")
    with pytest.raises(EvaluationError) as caught:
        load(other).generate(PROMPT)
    assert caught.value.code == "IR705"
    given = {"temperature_of_the_room": np.zeros(1, np.float32)}
    assert load(other).generate(PROMPT, inputs=given, max_new_tokens=2).ids == (0, 0)


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


def test_an_engine_gives_the_same_tokens(folder: Path, loaded: Pipeline) -> None:
    pytest.importorskip("onnxruntime")
    fast = load(folder, partial(ir_exec.compile_model, engine="onnxruntime"))
    expected = loaded.generate(PROMPT, max_new_tokens=6, ignore_eos=True).ids
    assert fast.generate(PROMPT, max_new_tokens=6, ignore_eos=True).ids == expected
