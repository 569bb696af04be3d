"""The time of packing of weights: "auto" keeps packed ones after a few runs, "full" at once, and no bit changes."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import ir_exec
from ir_exec import EvaluationError, build
from ir_exec.plan.passes.conv_weights import PackedFilters
from ir_exec.plan.passes.prepack import PackedMatrices
from ir_exec.runtime.compiled import Optimize
from ir_exec.tuning import thresholds
from ir_exec.tuning.machine import pretend
from ir_exec.types import Array

RANDOM = np.random.default_rng(3)
ROWS = RANDOM.standard_normal((64, 512), np.float32)
IMAGES = RANDOM.standard_normal((1, 48, 28, 30), np.float32)
MATRIX = RANDOM.standard_normal((512, 610), np.float32)
FILTERS = RANDOM.standard_normal((40, 48, 3, 3), np.float32)
LATER = thresholds.RUNS_BEFORE_PACKING


@pytest.fixture(autouse=True)
def packing() -> Iterator[None]:
    """Pack as on a processor with AVX-512."""
    with pretend(has_small_kernels=True):
        yield


def network(*, transpose_b: bool = False, open_sizes: bool = False) -> ir_exec.Model:
    """A product with 512 x 610 elements, of which 34 columns fill no panel, and a convolution."""
    rows = build.parameter([-1 if open_sizes else 64, 512], name="rows")
    images = build.parameter([1, 48, *([-1, -1] if open_sizes else [28, 30])], name="images")
    matrix = MATRIX.T.copy() if transpose_b else MATRIX
    steps = {"strides": [1, 1], "dilations": [1, 1], "pads_begin": [1, 1], "pads_end": [1, 1]}
    product = build.matmul(rows, matrix, transpose_b=transpose_b)
    return build.model([product, build.convolution(images, build.constant(FILTERS), **steps)])


def outputs(compiled: ir_exec.CompiledModel) -> list[Array]:
    return [np.array(array) for array in compiled({"rows": ROWS, "images": IMAGES}).values()]


def are_packed(compiled: ir_exec.CompiledModel) -> set[bool]:
    constants = compiled.executor.compiler.constants
    packed = constants.packed if constants is not None else ()
    matrices = [matrix for part in packed if isinstance(part, PackedMatrices) for matrix in part.packed_matrices]
    filters = [filters for part in packed if isinstance(part, PackedFilters) for filters in part.transformed]
    return {constant.is_packed for constant in [*matrices, *filters]}


def test_weights_are_packed_at_once_later_or_never() -> None:
    tiers: list[Optimize] = ["full", True, "auto", False]
    compiled = [ir_exec.compile_model(network(), optimize=tier) for tier in tiers]
    packed_states = []
    for compiled_model in compiled:
        outputs(compiled_model)
        packed_states.append(are_packed(compiled_model))
        for _ in range(LATER):
            outputs(compiled_model)
        packed_states.append(are_packed(compiled_model))
    assert packed_states == [{True}, {True}, {True}, {True}, {False}, {True}, set(), set()]


@pytest.mark.parametrize("open_sizes", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_every_run_gives_the_same_bits(transpose_b: bool, open_sizes: bool) -> None:
    model = network(transpose_b=transpose_b, open_sizes=open_sizes)
    expected = outputs(ir_exec.compile_model(model, optimize="full"))
    compiled = ir_exec.compile_model(model, optimize="auto")
    for _ in range(LATER + 2):
        for actual, array in zip(outputs(compiled), expected, strict=True):
            assert_array_equal(actual, array)
    plain = outputs(ir_exec.compile_model(model, optimize=False))
    for array, other in zip(expected, plain, strict=True):
        assert_allclose(array, other, rtol=1e-4, atol=2e-4)


def test_a_long_inner_axis_gives_the_same_bits() -> None:
    inner = build.parameter([40, 3100], name="rows")
    matrix = RANDOM.standard_normal((3100, 300), np.float32)
    model = build.model(build.matmul(inner, matrix))
    data = RANDOM.standard_normal((40, 3100), np.float32)
    compiled, full = [ir_exec.compile_model(model, optimize=mode) for mode in ("auto", "full")]
    assert_array_equal(compiled([data])[0], full([data])[0])
    assert are_packed(compiled) == {False}
    assert are_packed(full) == {True}


def test_concurrent_calls_during_packing() -> None:
    reference = outputs(ir_exec.compile_model(network(), optimize="full"))
    for _ in range(4):
        compiled = ir_exec.compile_model(network(), optimize="auto")
        with ThreadPoolExecutor(4) as pool:
            runs = list(pool.map(outputs, [compiled] * 4 * LATER))
        assert are_packed(compiled) == {True}
        for run_outputs in runs:
            for array, expected in zip(run_outputs, reference, strict=True):
                assert_array_equal(array, expected)


def test_observed_call_is_no_run() -> None:
    compiled = ir_exec.compile_model(network(), optimize="auto")
    for _ in range(LATER + 2):
        compiled({"rows": ROWS, "images": IMAGES}, observe=lambda *_: None)
    assert are_packed(compiled) <= {False}


def test_packed_weights_count_in_max_memory() -> None:
    model = network()
    sizes = [ir_exec.compile_model(model, optimize=mode).memory_plan() for mode in ("auto", "full", False)]
    assert sizes[0] == sizes[1]
    assert sizes[0].constants == MATRIX.nbytes + FILTERS.nbytes * 16 // 9
    assert sizes[0].peak == sizes[2].peak


def test_a_run_without_room_for_packed_weights_does_without(tmp_path: Path) -> None:
    # The file is large enough to be mapped.
    data, matrix = np.ones((2500, 512), np.float32), RANDOM.standard_normal((512, 2000), np.float32)
    build.model(build.matmul(build.parameter([2500, 512]), matrix)).save(tmp_path / "network.xml")
    tensors = 4 * 2500 * 2000
    packed_states = []
    for max_memory in (tensors + matrix.nbytes, tensors + matrix.nbytes // 2):
        compiled = ir_exec.compile_model(tmp_path / "network.xml", max_memory=max_memory, optimize="full")
        assert_allclose(compiled([data])[0], data @ matrix, rtol=1e-4, atol=2e-4)
        packed_states.append(are_packed(compiled))
    assert packed_states == [{True}, set()]


@pytest.mark.parametrize("optimize", ["none", 2, None])
def test_other_words_are_refused(optimize: object) -> None:
    with pytest.raises(EvaluationError) as caught:
        ir_exec.compile_model(network(), optimize=optimize)  # type: ignore[arg-type]
    assert caught.value.code == "IR704"
