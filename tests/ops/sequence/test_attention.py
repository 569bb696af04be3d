"""ScaledDotProductAttention: errors, dynamic shapes, and work in blocks of queries."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from ir_exec.errors import ElementTypeError, ShapeError
from ir_exec.kernels import attention
from ir_exec.ops.sequence.attention import ScaledDotProductAttention
from ir_exec.types import Array, ElementType, Shape, TensorType
from tests.helpers.chunks import in_chunks
from tests.helpers.facts import fault_with
from tests.helpers.values import make_type


def infer(*shapes: str, causal: bool = False) -> TensorType:
    return ScaledDotProductAttention(causal=causal).infer(*map(make_type, shapes))


@pytest.mark.parametrize(
    ("shapes", "code", "port", "fault"),
    [
        (["4,8", "2,5,8", "2,5,6"], "IR501", "query", fault_with("query", "[4,8]", actual=2, expected="3 or more")),
        (["2,4,8", "2,5,8", "5,6"], "IR501", "value", fault_with("[5,6]", actual=2, expected="3 or more")),
        (
            ["2,4,8", "2,5,7", "2,5,6"],
            "IR502",
            "key",
            fault_with("axis", "query", "key", actual="8 and 7", expected="equal dims"),
        ),
        (
            ["2,4,8", "2,1,8", "2,5,6"],
            "IR502",
            "value",
            fault_with("axis", "key", actual="1 and 5", expected="equal dims"),
        ),
        (["2,4,8", "3,5,8", "2,5,6"], "IR504", None, fault_with("[2]", "[3]", 2, 3)),
        (
            ["2,4,8", "2,5,8", "2,5,6", "5"],
            "IR501",
            "attention_mask",
            fault_with("attention_mask", "[5]", actual=1, expected="0, or 2 or more"),
        ),
        (
            ["2,4,8", "2,5,8", "2,5,6", "4,4"],
            "IR504",
            "attention_mask",
            fault_with("attention_mask", "[4,4]", "scores", "[...,4,5]"),
        ),
        (
            ["2,4,8", "2,1,8", "2,1,6", "4,5"],
            "IR504",
            "attention_mask",
            fault_with("attention_mask", "[4,5]", "scores", "[...,4,1]"),
        ),
        (["2,4,8", "2,5,8", "2,5,6", "", "2"], "IR505", "scale", fault_with("[2]", actual=2, expected=1)),
        (["2,4,8", "2,5,8", "2,5,6", "", "1,1"], "IR501", "scale", fault_with("[1,1]", actual=2, expected="0 or 1")),
        (
            ["2,4,8", "2,5,8", "2,5,6", "", "", "2,1"],
            "IR501",
            "sink",
            fault_with("sink", "[2,1]", actual=2, expected="rank(query) = 3"),
        ),
        (
            ["2,4,8", "2,5,8", "2,5,6", "", "", "2,4,2"],
            "IR504",
            "sink",
            fault_with("sink", actual="[2,4,2]", expected="[2,4,1]"),
        ),
        (
            ["1,4,8", "1,5,8", "1,5,6", "", "", "7,1,1"],
            "IR504",
            "sink",
            fault_with("sink", actual="[7,1,1]", expected="[1,4,1]"),
        ),
    ],
)
def test_shapes_that_do_not_fit(shapes: list[str], code: str, port: str | None, fault: fault_with) -> None:
    with pytest.raises(ShapeError) as error:
        infer(*shapes)
    assert (error.value.code, error.value.location.port, error.value) == (code, port, fault)


def test_mask_is_boolean_or_query_type() -> None:
    types = [make_type("2,4,8"), make_type("2,5,8"), make_type("2,5,6")]
    with pytest.raises(ElementTypeError) as error:
        ScaledDotProductAttention(causal=True).infer(*types, make_type("4,5", ElementType.f16))
    fault = fault_with("attention_mask", "query", actual="f16", expected="boolean or f32")
    assert (error.value.code, error.value) == ("IR402", fault)
    output_type = ScaledDotProductAttention(causal=False).infer(*types, make_type("4,5", ElementType.boolean))
    assert output_type == make_type("2,4,6")


# What OpenVINO 2026.4.1 infers.
@pytest.mark.parametrize(
    ("shapes", "expected"),
    [
        (["...", "2,5,8", "2,5,6"], "..."),
        (["2,4,8", "...", "2,5,6"], "2,4,6"),
        (["2,4,8", "2,5,8", "..."], "2,4,?"),
        (["2,4,8", "2,5,8", "2,5,6", "..."], "2,4,6"),
        (["?,?,?", "2,5,8", "?,5,?", "4,5"], "2,4,?"),
        (["?,?,?", "2,5,8", "?,5,?", "?,?"], "2,?,?"),
        (["1..4,?,8", "2..8,5,8", "?,5,6", "1,?"], "2..8,?,6"),
        (["2,4,8", "2,5,8", "2,5,6", "4,5", "?", "?,?,?"], "2,4,6"),
        (["1,3,4,8", "7,3,5,8", "1,3,5,6", "4,5", "", "7,3,1,1"], "7,3,4,6"),
        (["2,1,8", "2,5,8", "2,5,6", "4,5", "", "2,4,1"], "2,4,6"),
    ],
)
def test_dynamic_shapes(shapes: list[str], expected: str) -> None:
    assert infer(*shapes).shape == Shape.parse(expected)


def _plain(query: Array, key: Array, value: Array, mask: Array, sink: Array) -> Array:
    """One query at a time, in f64, from the pseudo-code of the specification and with the sink as one more score."""
    output = np.zeros((*query.shape[:-1], value.shape[-1]))
    for index in np.ndindex(query.shape[:-1]):
        batch, row = index[:-1], index[-1]
        scores = [float(query[index] @ vector) / np.sqrt(query.shape[-1]) for vector in key[batch]] + mask[row]
        weights = np.exp([*scores, sink[(*batch, 0, 0)]])
        output[index] = (weights / weights.sum())[:-1] @ value[batch]
    return output


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("scores_at_once", [1, 7, 25, 70, 10**6])
@pytest.mark.parametrize("chunk", [5, 30, 10**6])
def test_pieces_change_nothing(
    monkeypatch: pytest.MonkeyPatch, scores_at_once: int, chunk: int, *, causal: bool
) -> None:
    generator = np.random.default_rng(0)
    query, key, value = (generator.standard_normal((2, size, 4)) for size in (7, 5, 5))
    mask, sink = generator.standard_normal((7, 5)), generator.standard_normal((2, 1, 1))
    shut_out = np.arange(5) > np.arange(7)[:, np.newaxis]
    expected = _plain(query, key, value, np.where(shut_out, -np.inf, 0.0) if causal else mask, sink)
    in_chunks(monkeypatch, "WORKING_ELEMENTS", scores_at_once)
    in_chunks(monkeypatch, "CHUNK_ELEMENTS", chunk)
    in_chunks(monkeypatch, "FEW_LINES", 2)
    operator = ScaledDotProductAttention(causal=causal)
    actual = operator.evaluate(query, key, value, mask, np.array(0.5), sink)
    assert np.allclose(actual, expected, rtol=1e-12, atol=1e-12)


def test_sink_may_have_batches_of_value_only() -> None:
    generator = np.random.default_rng(0)
    query, key, value = (generator.standard_normal((batch, size, 4)) for batch, size in ((1, 3), (1, 5), (2, 5)))
    sink, no_mask = generator.standard_normal((2, 1, 1)), np.zeros((3, 5))
    expected = _plain(query.repeat(2, 0), key.repeat(2, 0), value, no_mask, sink)
    actual = ScaledDotProductAttention(causal=False).evaluate(query, key, value, np.array(0.0), np.array(0.5), sink)
    assert np.allclose(actual, expected, rtol=1e-12, atol=1e-12)


def test_scores_in_memory_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    exponentiate = attention.exponentiate
    in_chunks(monkeypatch, "WORKING_ELEMENTS", 1000)
    monkeypatch.setattr(
        attention,
        "exponentiate",
        lambda scores, *args, **kwargs: sizes.append(scores.size) or exponentiate(scores, *args, **kwargs),
    )
    query = np.zeros((2, 64, 4), np.float32)
    ScaledDotProductAttention(causal=False).evaluate(query, query, query)
    assert sum(sizes) == 2 * 64 * 64
    assert max(sizes) <= 1000


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    ("query", "key", "value", "expected"),
    [
        ((2, 3, 4), (2, 0, 4), (2, 0, 5), (2, 3, 5)),
        ((2, 0, 4), (2, 3, 4), (2, 3, 5), (2, 0, 5)),
        ((2, 3, 4), (2, 6, 4), (2, 6, 0), (2, 3, 0)),
        ((0, 3, 4), (0, 6, 4), (1, 6, 5), (0, 3, 5)),
        ((3, 4), (0, 4), (0, 5), (3, 5)),
    ],
    ids=["no keys", "no queries", "no values", "no batch", "no keys of rank 2"],
)
def test_attention_to_nothing_is_0(
    query: tuple[int, ...],
    key: tuple[int, ...],
    value: tuple[int, ...],
    expected: tuple[int, ...],
    dtype: type,
    *,
    causal: bool,
) -> None:
    arrays = [np.ones(shape, dtype) for shape in (query, key, value)]
    actual = ScaledDotProductAttention(causal=causal).evaluate(*arrays)
    assert (actual.shape, actual.dtype) == (expected, dtype)
    assert not actual.any()


def test_vectors_of_no_elements_attend_to_all_alike() -> None:
    value = np.array([[[1, 2], [3, 6]]], np.float32)
    result = ScaledDotProductAttention(causal=False).evaluate(np.ones((1, 3, 0)), np.ones((1, 2, 0)), value)
    assert result.tolist() == [[[2, 4]] * 3]


def test_fully_masked_query_gives_nan() -> None:
    query = np.ones((1, 2, 4), np.float32)
    with np.errstate(all="ignore"):
        result = ScaledDotProductAttention(causal=False).evaluate(
            query, query, query, np.array([[False, False], [True, False]])
        )
    assert np.isnan(result[0, 0]).all()
    assert result[0, 1].tolist() == [1] * 4


@pytest.mark.broad
def test_memory_stays_bounded_for_long_sequences() -> None:
    """Of 8,192 queries and keys the scores alone would take 268 MB."""
    length = 8192
    random = np.random.default_rng(0)
    query, key, value = (random.standard_normal((1, 1, length, 8)).astype(np.float32) for _ in range(3))
    tracemalloc.start()
    result = ScaledDotProductAttention(causal=False).evaluate(query, key, value)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 120 * 2**20
    row = query[0, 0, -1].astype(np.float64) @ key[0, 0].astype(np.float64).T / np.sqrt(8)
    weights = np.exp(row - row.max())
    np.testing.assert_allclose(result[0, 0, -1], weights @ value[0, 0] / weights.sum(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("length", [0.3, 3.0, 300.0])
@pytest.mark.parametrize("masking", ["none", "boolean", "added", "causal"])
def test_scores_of_short_and_of_long_vectors(length: float, masking: str) -> None:
    # Short vectors need no greatest score; those of 300 have scores of which no exponential exists.
    random = np.random.default_rng(5)
    query, key, value = [random.standard_normal((12, 40, 8)).astype(np.float32) for _ in range(3)]
    query *= np.float32(length)
    scores = query.astype(np.float64) @ key.astype(np.float64).swapaxes(1, 2) / np.sqrt(8)
    allowed = random.random((40, 40)) < 0.5
    allowed[:, 0] = True
    added = np.where(allowed, 0.0, np.finfo(np.float32).min).astype(np.float32)
    added[3] = np.finfo(np.float32).min
    if masking == "boolean":
        scores = np.where(allowed, scores, -np.inf)
    elif masking == "added":
        # Compared with the lowest f32 a score is negligible: a row of these alone is even.
        scores = np.where(allowed, scores, -np.inf)
        scores[:, 3] = 0
    elif masking == "causal":
        scores = np.where(np.tri(40, dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    expected = weights / weights.sum(-1, keepdims=True) @ value
    masks = {"boolean": [allowed], "added": [added]}.get(masking, [])
    actual = ScaledDotProductAttention(causal=masking == "causal").evaluate(query, key, value, *masks)
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=2e-5)


def test_vectors_with_nan() -> None:
    query = np.full((12, 40, 4), 0.5, np.float32)
    query[0, 7, 2] = np.nan
    result = ScaledDotProductAttention(causal=False).evaluate(query, np.full_like(query, 0.5), np.ones_like(query))
    assert np.isnan(result[0, 7]).all()
    assert np.array_equal(np.delete(result, 7, axis=1), np.ones((12, 39, 4), np.float32))


@pytest.mark.parametrize("masking", ["causal", "boolean", "added", "padding"])
def test_masks_in_pieces(monkeypatch: pytest.MonkeyPatch, masking: str) -> None:
    in_chunks(monkeypatch, "CHUNK_ELEMENTS", 100)
    in_chunks(monkeypatch, "FEW_LINES", 4)
    random = np.random.default_rng(0)
    query, key, value = [random.standard_normal((48, 20, 4)).astype(np.float32) for _ in range(3)]
    seen = np.tri(20, dtype=bool)
    if masking == "padding":
        seen = np.arange(20)[np.newaxis] < 13
    mask = seen if masking in ("boolean", "padding") else np.where(seen, 0, -1e9).astype(np.float32)
    weights = np.where(seen, np.exp(query @ key.swapaxes(1, 2) / 2), 0)
    expected = weights / weights.sum(-1, keepdims=True) @ value
    operator = ScaledDotProductAttention(causal=masking == "causal")
    actual = operator.evaluate(query, key, value, *[] if masking == "causal" else [mask])
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)
    if masking == "causal":
        value[:, 13:] = np.inf
        with np.errstate(all="ignore"):
            actual = operator.evaluate(query, key, value)
        np.testing.assert_allclose(actual[:, :4], expected[:, :4], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mask", [np.float32(0), np.float32(2), np.True_])
@pytest.mark.parametrize("causal", [False, True])
def test_a_scalar_mask_of_many_pieces(monkeypatch: pytest.MonkeyPatch, mask: np.generic, *, causal: bool) -> None:
    in_chunks(monkeypatch, "CHUNK_ELEMENTS", 400)
    in_chunks(monkeypatch, "FEW_LINES", 4)
    random = np.random.default_rng(0)
    vectors = [random.standard_normal((48, 20, 4)).astype(np.float32) for _ in range(3)]
    operator = ScaledDotProductAttention(causal=causal)
    result = operator.evaluate(*vectors, np.array(mask))
    # One number is added to all scores of a query.
    np.testing.assert_allclose(result, operator.evaluate(*vectors), rtol=1e-5, atol=1e-6)
