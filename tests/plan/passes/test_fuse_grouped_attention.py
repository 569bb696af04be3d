"""Attention to repeated heads of keys and values, which the plan does not repeat."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ir_exec
from ir_exec import build
from ir_exec.build import Value
from ir_exec.types import Array

RANDOM = np.random.default_rng(2)
GROUPS = 3


def repeat_heads(x: Value, *, axis: int = 2, heads: int = 2 * GROUPS) -> Value:
    apart = build.unsqueeze(x, np.array([axis]))
    counts = [1] * 5
    counts[axis] = GROUPS
    spread = build.broadcast(apart, np.array(counts), mode="bidirectional")
    return build.reshape(spread, np.array([0, heads, -1, 4]), special_zero=True)


def make_model(
    *, mask: list[int | None] | None, causal: bool = False, axis: int = 2, both: bool = True
) -> ir_exec.Model:
    query = build.parameter([None, 2 * GROUPS, None, 4], "f32", name="query")
    key = build.parameter([None, 2, None, 4], "f32", name="key")
    value = build.parameter([None, 2 if both else 2 * GROUPS, None, 4], "f32", name="value")
    inputs = [build.relu(query), repeat_heads(key, axis=axis), repeat_heads(value, axis=axis) if both else value]
    if mask is not None:
        inputs.append(build.parameter(mask, "f32", name="mask"))
    return build.model(build.result(build.scaled_dot_product_attention(*inputs, causal=causal)))


def attend(query: Array, key: Array, value: Array, mask: Array | None, causal: bool) -> Array:
    """Attention of each head alone, in f64; a causal one ignores the mask."""
    query = np.maximum(query, 0).astype(np.float64)
    output = np.zeros(query.shape)
    masks = np.zeros((1, 1, 1, 1)) if mask is None or causal else mask.reshape((1,) * (4 - mask.ndim) + mask.shape)
    masks = np.broadcast_to(masks, (*query.shape[:3], key.shape[2]))
    for batch, head in np.ndindex(*query.shape[:2]):
        scores = query[batch, head] @ key[batch, head // GROUPS].T.astype(np.float64) / 2 + masks[batch, head]
        if causal:
            scores[np.triu_indices(len(scores), 1, scores.shape[1])] = -np.inf
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        values = value[batch, head // GROUPS if value.shape[1] == 2 else head]
        output[batch, head] = weights / weights.sum(-1, keepdims=True) @ values
    return output


def run_sizes(
    model: ir_exec.Model, mask: list[int | None] | None, *, causal: bool = False, both: bool = True
) -> list[Any]:
    """Run other sizes in a row, compare them with attention of each head, and return the steps of the last plan."""
    compiled = ir_exec.compile_model(model)
    for size in range(3, 14):
        batch, length = 1 + size % 3, 1 + size % 4
        inputs = {
            "query": RANDOM.standard_normal((batch, 2 * GROUPS, length, 4), np.float32),
            "key": RANDOM.standard_normal((batch, 2, size, 4), np.float32),
            "value": RANDOM.standard_normal((batch, 2 if both else 2 * GROUPS, size, 4), np.float32),
        }
        if mask is not None:
            sizes = [dim or full for dim, full in zip(mask, (batch, 1, length, size)[-len(mask) :], strict=True)]
            inputs["mask"] = RANDOM.standard_normal(sizes).astype(np.float32)
        expected = attend(*[inputs[name] for name in ("query", "key", "value")], inputs.get("mask"), causal)
        np.testing.assert_allclose(compiled(inputs)[0], expected, rtol=2e-5, atol=2e-5)
    (plan,) = [plan for plans in compiled.executor.sized_plans.values() for plan in plans.traced[:1]]
    return plan.steps


@pytest.mark.parametrize("mask", [None, [None, 1, None, None], [None, 1, 1, None], [None, None]])
@pytest.mark.parametrize("causal", [False, True])
def test_heads_are_not_repeated(mask: list[int | None] | None, causal: bool) -> None:
    steps = run_sizes(make_model(mask=mask, causal=causal), mask, causal=causal)
    types = [step.node.type for step in steps]
    assert types == ["ReLU", "ScaledDotProductAttention"]
    assert steps[1].made_by == "fuse_grouped_attention"


def test_masks_of_each_head_need_repeated_heads() -> None:
    mask: list[int | None] = [1, 2 * GROUPS, None, None]
    steps = run_sizes(make_model(mask=mask), mask)
    assert "fuse_grouped_attention" not in [step.made_by for step in steps]


def test_repeated_keys_alone_stay_repeated() -> None:
    steps = run_sizes(make_model(mask=None, both=False), None, both=False)
    assert "Broadcast" in [step.node.type for step in steps]


def test_heads_repeated_in_another_order_stay_repeated() -> None:
    """Unsqueeze before the axis of heads: the whole list of heads is repeated, not each head."""
    compiled = ir_exec.compile_model(make_model(mask=None, axis=1))
    for size in range(3, 14):
        query, key, value = (RANDOM.standard_normal((1, heads, size, 4), np.float32) for heads in (2 * GROUPS, 2, 2))
        order = [0, 2, 4, 1, 3, 5]
        expected = attend(query[:, order], key, value, None, causal=False)
        output = compiled({"query": query, "key": key, "value": value})[0]
        np.testing.assert_allclose(output[:, order], expected, rtol=2e-5, atol=2e-5)


def test_repeated_heads_with_another_reader_are_repeated_for_it() -> None:
    query = build.parameter([1, 2 * GROUPS, None, 4], "f32", name="query")
    key = build.parameter([1, 2, None, 4], "f32", name="key")
    repeated = repeat_heads(key)
    attended = build.scaled_dot_product_attention(query, repeated, repeated, causal=False)
    compiled = ir_exec.compile_model(build.model([build.result(attended), build.result(build.relu(repeated))]))
    for size in range(3, 14):
        inputs = {
            "query": RANDOM.standard_normal((1, 2 * GROUPS, 2, 4), np.float32),
            "key": RANDOM.standard_normal((1, 2, size, 4), np.float32),
        }
        outputs = compiled(inputs)
        assert np.array_equal(outputs[1], np.maximum(np.repeat(inputs["key"], GROUPS, 1), 0))
        query_of_run = inputs["query"].astype(np.float64)
        scores = query_of_run @ np.repeat(inputs["key"], GROUPS, 1).swapaxes(-1, -2) / 2
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        expected = weights / weights.sum(-1, keepdims=True) @ np.repeat(inputs["key"], GROUPS, 1)
        np.testing.assert_allclose(outputs[0], expected, rtol=2e-5, atol=2e-5)
