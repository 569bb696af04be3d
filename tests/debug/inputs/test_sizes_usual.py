"""Sizes of dynamic dims that are tried first."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from ir_exec import Model, build
from ir_exec.cli import main
from ir_exec.debug.inputs.drawing import drawn_inputs
from ir_exec.model import ModelPort


def decoder(ids: int, mask: int, past: int | None = 4) -> Model:
    """A decoder's inputs, of any rank."""
    inputs = [
        build.parameter([None] * ids, "i64", name="input_ids"),
        build.parameter([None] * mask, "i64", name="attention_mask"),
    ]
    if past is not None:
        inputs.append(build.parameter([None, 2, None, 4][:past], "f32", name="past_key_values.0.key"))
    table = build.constant(np.ones((7, 4), np.float32))
    ends = [build.gather(table, inputs[0], 0), *map(build.abs, inputs[1:])]
    return build.model([build.result(end, name=f"y{position}") for position, end in enumerate(ends)])


@pytest.mark.parametrize("ids", range(4))
@pytest.mark.parametrize("mask", range(5))
@pytest.mark.parametrize("past", [None, 3, 4])
def test_tokens_and_masks_of_any_rank_are_drawn(ids: int, mask: int, past: int | None) -> None:
    arrays = drawn_inputs(decoder(ids, mask, past), 0)
    assert (arrays["input_ids"].ndim, arrays["attention_mask"].ndim) == (ids, mask)


@pytest.mark.parametrize("ids", [1, 2])
def test_row_mask_length_is_past_plus_tokens(ids: int) -> None:
    arrays = drawn_inputs(decoder(ids, 2), 0)
    past = arrays["past_key_values.0.key"].shape[2]
    assert arrays["attention_mask"].shape[1] == past + arrays["input_ids"].shape[-1]


def test_rank_1_tokens_with_rank_3_mask(tmp_path: Path) -> None:
    path = tmp_path / "model.xml"
    decoder(1, 3).save(path)
    result = CliRunner().invoke(main, ["run", str(path)])
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("shape", [[1] * 65, [0, 2**40, 2**40]])
def test_impossible_shapes_are_an_error(shape: list[int]) -> None:
    from ir_exec.debug.inputs.roles import draw
    from ir_exec.errors import ResourceError
    from ir_exec.types import ElementType, Shape

    port = ModelPort("x", frozenset(["x"]), ElementType.f32, Shape(shape))
    with pytest.raises(ResourceError):
        draw(port, None, np.random.default_rng(0))
