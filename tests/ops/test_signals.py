"""Fourier transforms: errors, partly known inputs, and transforms that undo each other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir_exec.errors import EvaluationError, ShapeError
from ir_exec.ops import Op
from ir_exec.ops.signals import DFT, IDFT, IRDFT, ISTFT, RDFT, STFT
from ir_exec.types import Array, ElementType, TensorType
from tests.helpers.drawing import draw_wider
from tests.helpers.facts import fault_with, mentions
from tests.helpers.operators import assert_holds
from tests.helpers.values import between, constant, make_type


def number(value: int) -> TensorType:
    return TensorType.of(np.array(value))


VECTOR = make_type("?", ElementType.i64)
SCALAR = make_type("", ElementType.i64)


@pytest.mark.parametrize(
    ("operator", "types", "expected"),
    [
        (DFT(), (make_type("?,5,2"), constant([1])), "?,5,2"),
        (DFT(), (make_type("3,5,?"), VECTOR), "3,5,2"),
        (DFT(), (make_type("3,5,2"), VECTOR, VECTOR), "?,?,2"),
        (DFT(), (make_type("3,5,2"), constant([1]), make_type("1", ElementType.i64)), "3,?,2"),
        (DFT(), (make_type("3,5,2"), constant([0, 1]), between([2, -1], [4, -1])), "2..4,5,2"),
        (DFT(), (make_type("..."), constant([0])), "..."),
        (RDFT(), (make_type("3,?"), constant([0, 1])), "3,?,2"),
        (RDFT(), (make_type("3,2..9"), constant([0, 1])), "3,2..5,2"),
        (RDFT(), (make_type("3,2..9"), constant([1, 0])), "2,2..9,2"),
        (RDFT(), (make_type("3,4"), VECTOR), "?,?,2"),
        (RDFT(), (make_type("3,4"), constant([1]), between([3], [9])), "3,2..5,2"),
        (IRDFT(), (make_type("3,2..9,2"), constant([0, 1])), "3,2..16"),
        (IRDFT(), (make_type("3,?,2"), constant([1])), "3,?"),
        (IRDFT(), (make_type("3,5,2"), constant([0, 1]), constant([-1, -1])), "3,8"),
        (IRDFT(), (make_type("3,5,2"), constant([0, 1]), between([-1, -1], [7, 3])), "..7,..8"),
    ],
)
def test_partly_known_transforms(operator: Op, types: tuple[TensorType, ...], expected: str) -> None:
    assert operator.infer(*types) == make_type(expected)


@pytest.mark.parametrize(
    ("operator", "types", "code", "fault"),
    [
        (DFT(), (make_type("2"), VECTOR), "IR501", fault_with("data", "[2]", actual=1, expected="2 or more")),
        (RDFT(), (make_type(""), VECTOR), "IR501", fault_with("data", "[]", actual=0, expected="1 or more")),
        (
            IDFT(),
            (make_type("3,4"), VECTOR),
            "IR502",
            fault_with("axis", "data", actual="4 and 2", expected="equal dims"),
        ),
        (DFT(), (make_type("3,5,2"), constant([2])), "IR503", fault_with(actual=2, expected="-2 to 1")),
        (
            DFT(),
            (make_type("3,5,2"), constant([0, -2])),
            "IR503",
            fault_with(actual="[0, 0]", expected="distinct axes"),
        ),
        (
            DFT(),
            (make_type("3,2"), make_type("2", ElementType.i64)),
            "IR505",
            fault_with("axes", actual=2, expected="at most 1"),
        ),
        (
            RDFT(),
            (make_type("3"), constant([])),
            "IR505",
            fault_with(actual="empty", expected=mentions()),
        ),
        (
            DFT(),
            (make_type("3,5,2"), constant([1]), constant([-2])),
            "IR505",
            fault_with("signal_size[0]", actual=-2, expected=mentions(-1, 0)),
        ),
        (
            DFT(),
            (make_type("3,5,2"), constant([1]), constant([1, 2])),
            "IR502",
            fault_with("signal_size", actual="1 and 2", expected="equal dims"),
        ),
    ],
)
def test_errors_of_transforms(operator: Op, types: tuple[TensorType, ...], code: str, fault: fault_with) -> None:
    with pytest.raises(ShapeError) as error:
        operator.infer(*types)
    assert (error.value.code, error.value) == (code, fault)


@pytest.mark.parametrize(
    ("operator", "axes", "sizes", "port"),
    [
        (DFT(), [2], [1], "axes"),
        (DFT(), [0, 0], [1, 1], "axes"),
        (IRDFT(), [], [], None),
        (DFT(), [0], [-2], "signal_size"),
    ],
)
def test_errors_of_a_run(operator: Op, axes: list[int], sizes: list[int], port: str | None) -> None:
    with pytest.raises(EvaluationError) as error:
        operator.evaluate(np.ones((3, 5, 2), np.float32), np.array(axes, np.int64), np.array(sizes, np.int64))
    assert (error.value.code, error.value.location.port) == ("IR704", port)


@st.composite
def transforms(draw: st.DrawFn) -> tuple[Array, Array]:
    shape = draw(st.lists(st.integers(1, 7), min_size=1, max_size=3))
    axes = draw(st.permutations(range(len(shape))))[: draw(st.integers(1, len(shape)))]
    data = np.random.default_rng(draw(st.integers(0, 2**32))).normal(size=(*shape, 2)).astype(np.float32)
    return data, np.array([axis - draw(st.sampled_from([0, len(shape)])) for axis in axes])


@settings(max_examples=40)
@given(transforms())
def test_an_inverse_restores_the_data(drawn: tuple[Array, Array]) -> None:
    data, axes = drawn
    np.testing.assert_allclose(IDFT().evaluate(DFT().evaluate(data, axes), axes), data, atol=1e-5)
    real = data[..., 0]
    size = np.array([real.shape[axis] for axis in axes])
    np.testing.assert_allclose(IRDFT().evaluate(RDFT().evaluate(real, axes), axes, size), real, atol=1e-5)


@settings(max_examples=40)
@given(st.data())
def test_inferred_shapes_hold_the_output(draw: st.DataObject) -> None:
    data, axes = draw.draw(transforms())
    sizes = np.array(draw.draw(st.lists(st.integers(-1, 6), min_size=len(axes), max_size=len(axes))), np.int64)
    operator = draw.draw(st.sampled_from([DFT(), IDFT(), IRDFT(), RDFT()]))
    data = data[..., 0] if isinstance(operator, RDFT) else data
    types = [
        TensorType(ElementType.f32, draw.draw(st.composite(draw_wider)(data.shape))),
        *[draw.draw(st.sampled_from([type_, type_.without_values()])) for type_ in map(TensorType.of, (axes, sizes))],
    ]
    assert_holds(operator, types, [data, axes, sizes])


FRAMES = (make_type("?"), SCALAR, SCALAR)


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        ((make_type("2,20"), make_type("?"), number(6), number(3)), "2,5,4,2"),
        ((make_type("8..20"), make_type("?"), number(6), number(3)), "1..5,4,2"),
        ((make_type("?"), make_type("?"), number(6), number(3)), "1..,4,2"),
        ((make_type("2,20"), make_type("?"), SCALAR, number(3)), "2,?,?,2"),
        ((make_type("..."), *FRAMES), "..."),
    ],
)
def test_partly_known_frames(types: tuple[TensorType, ...], expected: str) -> None:
    assert STFT(transpose_frames=False).infer(*types) == make_type(expected)


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        ((make_type("2,4,5,2"), make_type("?"), number(6), number(3)), "2,18"),
        ((make_type("4,2..5,2"), make_type("?"), number(6), number(3)), "9..18"),
        ((make_type("?,?,?"), make_type("?"), number(6), number(3)), "6.."),
        ((make_type("?,?,?"), *FRAMES), "?"),
        ((make_type("?,?,?"), *FRAMES, number(7)), "7"),
        ((make_type("2,?,?,?"), *FRAMES, between([3], [8])), "2,3..8"),
    ],
)
def test_partly_known_signals(types: tuple[TensorType, ...], expected: str) -> None:
    assert ISTFT(center=False, normalized=False).infer(*types) == make_type(expected)


@pytest.mark.parametrize(
    ("operator", "types", "code", "fault"),
    [
        (STFT(), (make_type("1,2,3"), *FRAMES), "IR501", fault_with("signal", "[1,2,3]", actual=3, expected="1 or 2")),
        (
            STFT(),
            (make_type("9"), make_type("2,2"), SCALAR, SCALAR),
            "IR501",
            fault_with("window", "[2,2]", actual=2, expected=1),
        ),
        (
            STFT(),
            (make_type("9"), make_type("?"), constant([3]), SCALAR),
            "IR501",
            fault_with("frame_size", "[1]", actual=1, expected=0),
        ),
        (
            STFT(),
            (make_type("9"), make_type("?"), number(0), SCALAR),
            "IR505",
            fault_with("frame_size", actual=0, expected="1 or more"),
        ),
        (
            STFT(),
            (make_type("9"), make_type("?"), SCALAR, number(-1)),
            "IR505",
            fault_with("frame_step", actual=-1, expected="1 or more"),
        ),
        (
            STFT(),
            (make_type("9"), make_type("4"), number(3), SCALAR),
            "IR505",
            fault_with("window", actual=4, expected="1 to frame_size, which is 3"),
        ),
        (
            STFT(),
            (make_type("9"), make_type("0"), SCALAR, SCALAR),
            "IR505",
            fault_with("window", actual=0, expected="1 to frame_size"),
        ),
        (
            STFT(),
            (make_type("4..9"), make_type("?"), number(10), SCALAR),
            "IR505",
            fault_with("frame_size", actual=10, expected=mentions(4, 9)),
        ),
        (ISTFT(), (make_type("1,2"), *FRAMES), "IR501", fault_with("data", "[1,2]", actual=2, expected="3 or 4")),
        (
            ISTFT(),
            (make_type("5,4,2"), make_type("?"), number(6), SCALAR),
            "IR502",
            fault_with("axis", -3, "data", "frame_size", 2, 1, actual="5 and 4", expected="equal dims"),
        ),
        (
            ISTFT(),
            (make_type("?,4,2"), *FRAMES, number(-3)),
            "IR505",
            fault_with("signal_length", actual=-3, expected="0 or more"),
        ),
        (
            ISTFT(),
            (make_type("?,4,2"), *FRAMES, constant([1, 2])),
            "IR502",
            fault_with("signal_length", actual="[2]", expected="one element"),
        ),
    ],
)
def test_errors_of_frames(operator: Op, types: tuple[TensorType, ...], code: str, fault: fault_with) -> None:
    with pytest.raises(ShapeError) as error:
        operator.infer(*types)
    assert (error.value.code, error.value) == (code, fault)


@pytest.mark.parametrize(
    ("window", "size", "step", "port"), [(3, 9, 1, "frame_size"), (3, 2, 1, "window"), (3, 4, 0, "frame_step")]
)
def test_frames_that_only_the_run_knows(window: int, size: int, step: int, port: str) -> None:
    arrays = (np.ones(8, np.float32), np.ones(window, np.float32), np.array(size), np.array(step))
    with pytest.raises(EvaluationError) as error:
        STFT(transpose_frames=True).evaluate(*arrays)
    assert (error.value.code, error.value.location.port) == ("IR704", port)


@pytest.mark.parametrize(("length", "results", "port"), [(-1, 4, "signal_length"), (9, 5, "data")])
def test_signals_that_only_the_run_knows(length: int, results: int, port: str) -> None:
    data = np.ones((results, 3, 2), np.float32)
    with pytest.raises(EvaluationError) as error:
        ISTFT(center=False).evaluate(data, np.ones(6, np.float32), np.array(6), np.array(2), np.array(length))
    assert (error.value.code, error.value.location.port) == ("IR704", port)


@settings(max_examples=30)
@given(st.integers(1, 9), st.integers(1, 5), st.integers(0, 5), st.booleans(), st.integers(0, 2**32))
def test_frames_give_the_signal_back(size: int, step: int, more: int, batch: bool, seed: int) -> None:
    random = np.random.default_rng(seed)
    step = min(step, size)
    length = size + more * step
    signal = random.normal(size=(2, length) if batch else (length,)).astype(np.float32)
    window = random.uniform(0.5, 1, size).astype(np.float32)
    frames = STFT(transpose_frames=True).evaluate(signal, window, np.array(size), np.array(step))
    restored = ISTFT(center=False, normalized=False).evaluate(frames, window, np.array(size), np.array(step))
    np.testing.assert_allclose(restored, signal, atol=1e-5)


def test_no_frames_give_silence_of_one_frame() -> None:
    data = np.ones((2, 4, 0, 2), np.float32)
    result = ISTFT(center=False).evaluate(data, np.ones(6, np.float32), np.array(6), np.array(2))
    assert result.tolist() == [[0] * 6] * 2
