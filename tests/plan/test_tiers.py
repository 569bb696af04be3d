"""How much a plan is changed: "auto" leaves weights as the file has them, "full" packs them."""

from __future__ import annotations

import numpy as np
import pytest

import ir_exec
from ir_exec import EvaluationError, build


def network() -> ir_exec.Model:
    weights = np.random.default_rng(3).normal(size=(512, 512)).astype(np.float32)
    data = build.parameter([64, 512], name="x")
    return build.model(build.result(build.matmul(data, weights), name="y"))


def made_by(optimize: object) -> set[str | None]:
    compiled = ir_exec.compile_model(network(), optimize=optimize)
    compiled({"x": np.ones((64, 512), np.float32)})
    return {layer.made_by for layer in compiled.explain().layers}


def test_weights_are_packed_for_many_runs_alone() -> None:
    assert "prepack_weights" in made_by("full")
    assert "prepack_weights" in made_by(True)
    assert "prepack_weights" not in made_by("auto")
    assert "prepack_weights" not in made_by(False)


def test_all_give_the_same_up_to_rounding() -> None:
    data = np.random.default_rng(4).normal(size=(64, 512)).astype(np.float32)
    found = [ir_exec.compile_model(network(), optimize=one)({"x": data})["y"] for one in (False, "auto", "full")]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_allclose(found[0], found[2], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("optimize", ["none", 2, None])
def test_other_words_are_refused(optimize: object) -> None:
    with pytest.raises(EvaluationError) as caught:
        ir_exec.compile_model(network(), optimize=optimize)  # type: ignore[arg-type]
    assert caught.value.code == "IR704"
