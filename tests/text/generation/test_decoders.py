"""Decoders by what they take and keep: masks and positions of batches, embeddings, images, convolutions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ir_exec import EvaluationError, Model, build, compile_model
from ir_exec.text.generation.decoders import Decoder
from ir_exec.types import Array
from tests.text.model_folders import ROWS, language_model

DRAW = np.random.default_rng(3)
TABLE = DRAW.normal(size=(30, 4)).astype(np.float32)


class Spy:
    """Runs nothing, and keeps the inputs of each call."""

    def __init__(self, model: Model) -> None:
        self.calls: list[Mapping[str, Array]] = []
        self._names = [port.name for port in model.outputs]

    def __call__(self, inputs: Mapping[str, Array]) -> Any:
        self.calls.append(inputs)
        first = next(iter(inputs.values()))

        class Outputs(dict[str, Array]):
            def names(self) -> list[tuple[str, ...]]:
                return [(name,) for name in self]

        return Outputs(dict.fromkeys(self._names, np.zeros((len(first), 1, 30), np.float32)))

    def reset_state(self) -> None:
        self.calls.clear()


def taking(**inputs: tuple[list[int | None], str]) -> Model:
    """A network with these inputs, which keeps five columns of a convolution in a variable."""
    ports = [build.parameter(shape, element_type, name=name) for name, (shape, element_type) in inputs.items()]
    name = "cache_params.past.conv.0"
    state = build.read_value(np.zeros((1, 5), np.float32), name, shape=[None, 5], element_type="f32")
    results = [build.result(state, name="logits"), *[build.result(port, name=f"out.{port.name}") for port in ports]]
    return build.model(results, sinks=[build.assign(state, name)])


def calls(model: Model, steps: list[list[list[int]]], **options: Any) -> list[Mapping[str, Array]]:
    """The inputs of the network for these tokens."""
    spies: list[Spy] = []

    def compile(network: Model) -> Spy:
        spies.append(Spy(network))
        return spies[-1]

    decoder = Decoder(model, compile, **options)
    for rows in steps:
        decoder.next_logits_of(rows)
    return spies[0].calls


IDS = {"input_ids": ([None, None], "i64"), "attention_mask": ([None, None], "i64")}


def test_padding_is_on_the_left() -> None:
    model = taking(**IDS, position_ids=([None, None], "i64"), beam_idx=([None], "i32"))
    first, second = calls(model, [[[5, 6, 7], [8]], [[9], [10]]], pad_token=2)
    assert first["input_ids"].tolist() == [[5, 6, 7], [2, 2, 8]]
    assert first["attention_mask"].tolist() == [[1, 1, 1], [0, 0, 1]]
    assert first["position_ids"].tolist() == [[0, 1, 2], [0, 0, 0]]
    assert first["beam_idx"].tolist() == [0, 1]
    assert second["input_ids"].tolist() == [[9], [10]]
    assert second["attention_mask"].tolist() == [[1, 1, 1, 1], [0, 0, 1, 1]]
    assert second["position_ids"].tolist() == [[3], [1]]


def test_networks_with_convolutions() -> None:
    model = taking(**IDS, cache_position=([None], "i64"))
    for is_short, expected in ((True, [[1]]), (False, [[1, 1, 1]])):
        first, second = calls(model, [[[5, 6]], [[9]]], is_mask_short=is_short)
        assert first["cache_position"].tolist() == [0, 1, 2, 3, 4]
        assert second["cache_position"].tolist() == [2]
        assert second["attention_mask"].tolist() == expected


def test_positions_with_an_axis_for_each_direction() -> None:
    model = taking(**IDS, position_ids=([3, None, None], "i64"))
    first, second = calls(model, [[[5, 6]], [[9]]])
    assert first["position_ids"].tolist() == [[[0, 1]]] * 3
    assert second["position_ids"].tolist() == [[[2]]] * 3
    positions = np.array([[[0, 1, 1]], [[0, 1, 2]], [[0, 4, 1]]])
    first, second = calls(model, [[[5, 6, 7]], [[9]]], fixed={"position_ids": positions})
    assert first["position_ids"].tolist() == positions.tolist()
    assert second["position_ids"].tolist() == [[[5]]] * 3


def test_networks_that_take_no_padding() -> None:
    def compile(network: Model) -> Spy:
        return Spy(network)

    assert not Decoder(taking(**IDS), compile).takes_padding
    assert Decoder(language_model(), compile).takes_padding
    assert not Decoder(embeddings_model(), compile, embed=embed).takes_padding


def test_logits_of_the_last_token_alone() -> None:
    tokens = build.parameter([None, None], "i64", name="input_ids")
    last = build.reshape(build.gather(TABLE, build.gather(tokens, [-1], 1), 0), [-1, 4], special_zero=False)
    decoder = Decoder(build.model(build.result(last, name="logits")), compile_model)
    np.testing.assert_array_equal(decoder.next_logits([3, 9]), TABLE[9])


def test_logits_of_a_shape_that_cannot_be() -> None:
    tokens = build.parameter([None, None], "i64", name="input_ids")
    flat = build.reshape(build.convert(tokens, "f32"), [-1], special_zero=False)
    decoder = Decoder(build.model(build.result(flat, name="logits")), compile_model)
    with pytest.raises(EvaluationError) as caught:
        decoder.next_logits([3])
    assert caught.value.code == "IR704"


@pytest.mark.parametrize(
    "fixed", [{"inputs_embeds": TABLE}, {"position_ids": np.arange(3)}, {"attention_mask": np.array([["a"]])}], ids=list
)
def test_inputs_of_the_prompt_that_cannot_be(fixed: dict[str, Array]) -> None:
    with pytest.raises(EvaluationError) as caught:
        Decoder(language_model(), compile_model, fixed=fixed)
    assert caught.value.code == "IR704"


def embeddings_model() -> Model:
    """Logits of embeddings: their running sum, times the table."""
    states = build.parameter([None, None, 4], "f32", name="inputs_embeds")
    kinds = build.parameter([None, None], "i64", name="token_type_ids")
    summed = build.add(build.cum_sum(states, 1), build.convert(build.unsqueeze(kinds, [2]), "f32"))
    return build.model(build.result(build.matmul(summed, TABLE, transpose_b=True), name="logits"))


def embed(tokens: Array) -> Array:
    return TABLE[tokens]


def test_embeddings_of_images_take_the_places_of_their_tokens() -> None:
    images = DRAW.normal(size=(2, 4)).astype(np.float32)
    decoder = Decoder(embeddings_model(), compile_model, embed=embed, images=images, image_token=29)
    logits = decoder.all_logits([1, 29, 29, 2])
    states = np.stack([TABLE[1], images[0], images[1], TABLE[2]]).cumsum(0) + np.array([[0], [1], [1], [0]])
    np.testing.assert_allclose(logits, states @ TABLE.T, rtol=1e-5)
    more = decoder.next_logits([3])
    np.testing.assert_allclose(more, (states[-1] + TABLE[3]) @ TABLE.T, rtol=1e-4, atol=1e-5)


def test_images_and_their_tokens_must_be_as_many() -> None:
    decoder = Decoder(embeddings_model(), compile_model, embed=embed, images=TABLE[:3], image_token=29)
    with pytest.raises(EvaluationError) as caught:
        decoder.next_logits([1, 29, 2])
    assert caught.value.code == "IR704"


def test_embeddings_of_the_prompt_may_be_given() -> None:
    embeddings = DRAW.normal(size=(1, 3, 4)).astype(np.float32)
    decoder = Decoder(embeddings_model(), compile_model, embed=embed, fixed={"inputs_embeds": embeddings})
    np.testing.assert_allclose(decoder.next_logits([]), embeddings[0].sum(0) @ TABLE.T, rtol=1e-5)
    np.testing.assert_allclose(
        decoder.next_logits([7]), (embeddings[0].sum(0) + TABLE[7]) @ TABLE.T, rtol=1e-4, atol=1e-5
    )


def test_batch_equals_single_texts(tmp_path: Path) -> None:
    model = language_model()
    rows = [[3, 9, 27, 81], [5], [7, 49]]
    alone = [Decoder(model, compile_model).next_logits(row) for row in rows]
    decoder = Decoder(model, compile_model)
    logits = decoder.next_logits_of(rows)
    assert logits.shape == (3, ROWS)
    np.testing.assert_allclose(logits, np.stack(alone), rtol=1e-4, atol=1e-5)
