"""Caches on the engine: the values of every step by plain loops, the bytes that are copied, and states of users."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import ir_exec
from ir_exec import build
from ir_exec.build import Value
from ir_exec.engines.cached import CachedPart
from ir_exec.engines.compiled import EngineModel
from ir_exec.runtime import growing, state
from ir_exec.types import Array, ElementType

KEY_HEADS = 2
SIZE = 16
ROW_BYTES = 2 * KEY_HEADS * SIZE * 4
RANDOM = np.random.default_rng(5)


def make_decoder(
    *,
    group: int = 1,
    mask: str = "f32",
    beams: bool = True,
    target: str = "constant",
    shown: bool = False,
    real: str = "f32",
) -> ir_exec.Model:
    """Attention to a cache of keys and one of values."""
    heads = KEY_HEADS * group
    query = build.parameter([None, heads, None, SIZE], real, name="query")
    new = {name: build.parameter([None, KEY_HEADS, None, SIZE], real, name=name) for name in ("key", "value")}
    masks = [] if mask == "none" else [build.parameter([None, 1, None, None], mask, name="mask")]
    order = build.parameter([None], "i32", name="beams")
    sinks, present, shapes = [], [], []
    for name, elements in new.items():
        initial = build.convert(build.constant(np.zeros((1, KEY_HEADS, 0, SIZE), np.float32)), real)
        past = build.read_value(initial, name, shape=[None, KEY_HEADS, None, SIZE])
        source = build.gather(past, order, np.array(0)) if beams else past
        cache = build.concat([source, elements], 2)
        sinks.append(build.assign(cache, name))
        shapes += [build.shape_of(source), build.shape_of(cache)]
        present.append(repeat_heads(cache, group, target))
    output = build.scaled_dot_product_attention(query, *present, *masks, causal=False)
    results = [build.result(output, name="output"), build.result(build.concat(shapes, 0), name="shapes")]
    if shown:
        results.append(build.result(present[0], name="keys"))
    if not beams:
        results.append(build.result(build.shape_of(order), name="unused"))
    return build.model(results, sinks=sinks)


def repeat_heads(cache: Value, group: int, target: str) -> Value:
    if group == 1:
        return cache
    sizes: Any = np.array([1, 1, group, 1, 1])
    if target == "computed":
        shape = build.shape_of(cache)
        parts = [build.gather(shape, np.array([axis]), np.array(0)) for axis in range(4)]
        sizes = build.concat([parts[0], np.array([KEY_HEADS]), np.array([group]), parts[2], np.array([SIZE])], 0)
    repeated = build.broadcast(build.unsqueeze(cache, np.array([2])), sizes, mode="bidirectional")
    return build.reshape(repeated, np.array([0, KEY_HEADS * group, -1, SIZE]), special_zero=True)


class Reference:
    """The attention in plain loops over all elements that were appended."""

    def __init__(self) -> None:
        self.keys: Array | None = None
        self.values: Array | None = None

    def step(self, feed: dict[str, Array], group: int) -> Array:
        order = feed["beams"]
        self.keys = self._append(self.keys, feed["key"], order)
        self.values = self._append(self.values, feed["value"], order)
        query, mask = feed["query"], feed.get("mask")
        output = np.zeros(query.shape, np.float64)
        for b, h, i in np.ndindex(*query.shape[:3]):
            keys, values = self.keys[b, h // group], self.values[b, h // group]
            scores = keys.astype(np.float64) @ query[b, h, i] / SIZE**0.5
            if mask is not None:
                row = mask[min(b, len(mask) - 1), 0, i]
                scores = np.where(row, scores, -np.inf) if mask.dtype == bool else scores + row
            weights = np.exp(scores - scores.max())
            output[b, h, i] = weights @ values / weights.sum()
        return output

    @staticmethod
    def _append(cache: Array | None, new: Array, order: Array) -> Array:
        return new if cache is None else np.concatenate([cache[order], new], 2)


def draw(length: int, count: int, *, batch: int = 1, group: int = 1, mask: str = "f32", order: Any = None) -> Any:
    """The inputs of a step that appends `count` elements to `length` ones."""
    shape = (batch, KEY_HEADS, count, SIZE)
    feed = {name: RANDOM.standard_normal(shape).astype(np.float32) for name in ("key", "value")}
    feed["query"] = RANDOM.standard_normal((batch, KEY_HEADS * group, count, SIZE)).astype(np.float32)
    feed["beams"] = np.array(list(range(batch)) if order is None else order, np.int32)
    allowed = RANDOM.random((batch, 1, count, length + count)) < 0.7
    allowed[..., -1] = True
    if mask == "boolean":
        feed["mask"] = allowed
    elif mask == "f32":
        feed["mask"] = np.where(allowed, RANDOM.random(allowed.shape), np.finfo(np.float32).min).astype(np.float32)
    return feed


def compile_on_engine(model: ir_exec.Model) -> EngineModel:
    compiled = ir_exec.compile_model(model, engine="onnxruntime")
    assert isinstance(compiled, EngineModel)
    return compiled


def cached_parts(compiled: EngineModel) -> list[CachedPart]:
    return [step for split in compiled._splits for step in split.steps if isinstance(step, CachedPart)]


@pytest.fixture
def plain_runs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One entry for each run whose caches are not in memory with room."""
    runs: list[int] = []
    run = CachedPart._run_plain

    def count(self: CachedPart, *arguments: Any) -> Any:
        runs.append(1)
        return run(self, *arguments)

    monkeypatch.setattr(CachedPart, "_run_plain", count)
    return runs


@pytest.mark.parametrize("group", [1, 3])
@pytest.mark.parametrize("mask", ["f32", "boolean", "none"])
@pytest.mark.parametrize("target", ["constant", "computed"])
def test_every_step_equals_loops(group: int, mask: str, target: str, plain_runs: list[int]) -> None:
    compiled = compile_on_engine(make_decoder(group=group, mask=mask, target=target))
    (part,) = cached_parts(compiled)
    assert {cache.variable_id for cache in part.caches.entries} == {"key", "value"}
    request, reference, length = compiled.create_infer_request(), Reference(), 0
    for count in (5, 1, 1, 70, 2, 1):
        feed = draw(length, count, group=group, mask=mask)
        results = request.infer(feed)
        np.testing.assert_allclose(results["output"], reference.step(feed, group), rtol=1e-4, atol=1e-5)
        past, present = [1, KEY_HEADS, length, SIZE], [1, KEY_HEADS, length + count, SIZE]
        assert results["shapes"].tolist() == [*past, *present] * 2
        length += count
        np.testing.assert_array_equal(request.query_state()[0].state.data, reference.keys)
    assert not plain_runs


@pytest.mark.parametrize("group", [1, 2])
def test_scores_are_products_without_a_factor(group: int, tmp_path: Path) -> None:
    """onnxruntime's kernel for one query requires the factor 1; two products of keys, two of values."""
    path = tmp_path / "optimized.onnx"
    options = {"optimized_model_filepath": str(path)}
    ir_exec.compile_model(make_decoder(group=group), engine="onnxruntime", options=options)
    nodes = onnx.load(str(path)).graph.node
    products = [node for node in nodes if node.op_type == "FusedMatMul"]
    assert len(products) == 2
    assert [attribute.f for node in products for attribute in node.attribute if attribute.name == "alpha"] == [1, 1]
    assert sum(node.op_type == "MatMul" for node in nodes) == 2


@pytest.mark.parametrize("beams", [True, False])
def test_steps_copy_new_elements_only(beams: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    copy = growing.copy_elements
    monkeypatch.setattr(
        growing, "copy_elements", lambda target, source: (sizes.append(source.nbytes), copy(target, source))
    )
    request = compile_on_engine(make_decoder(beams=beams)).create_infer_request()
    request.infer(draw(0, 100))
    sizes.clear()
    for length in range(100, 140):
        request.infer(draw(length, 1))
    assert sum(sizes) == 40 * ROW_BYTES


def test_other_beams(plain_runs: list[int]) -> None:
    request, reference = compile_on_engine(make_decoder(group=2)).create_infer_request(), Reference()
    for length, count, order in ((0, 4, [0, 0, 0]), (4, 1, [0, 1, 2]), (5, 1, [2, 2, 0]), (6, 1, [1, 0])):
        feed = draw(length, count, batch=len(order), group=2, order=order)
        output = request.infer(feed)["output"]
        np.testing.assert_allclose(output, reference.step(feed, 2), rtol=1e-4, atol=1e-5)
    assert not plain_runs


def test_beams_outside_the_cache(plain_runs: list[int]) -> None:
    """Gather defines zeros for them."""
    model = make_decoder()
    request, interpreted = compile_on_engine(model).create_infer_request(), ir_exec.compile_model(model).session()
    for feed in (draw(0, 4), draw(4, 1, batch=2, order=[0, 1])):
        np.testing.assert_allclose(request.infer(feed)["output"], interpreted(feed)["output"], rtol=1e-4, atol=1e-5)
    assert plain_runs


def test_arrays_of_earlier_steps_never_change() -> None:
    request = compile_on_engine(make_decoder()).create_infer_request()
    states = []
    for length in range(80):
        request.infer(draw(length, 1))
        value = request.query_state()[1].state.data
        states.append((value, value.copy()))
        assert not value.flags.writeable
    for value, copy in states:
        np.testing.assert_array_equal(value, copy)


def test_states_of_users(plain_runs: list[int]) -> None:
    request, reference = compile_on_engine(make_decoder()).create_infer_request(), Reference()
    request.infer(draw(0, 9))
    reference.keys, reference.values = (
        RANDOM.standard_normal((1, KEY_HEADS, 30, SIZE)).astype(np.float32) for _ in "kv"
    )
    for variable in request.query_state():
        variable.state = reference.keys if variable.name == "key" else reference.values
    for length in (30, 31):
        feed = draw(length, 1)
        np.testing.assert_allclose(request.infer(feed)["output"], reference.step(feed, 1), rtol=1e-4, atol=1e-5)
    request.reset_state()
    feed = draw(0, 3)
    np.testing.assert_allclose(request.infer(feed)["output"], Reference().step(feed, 1), rtol=1e-4, atol=1e-5)
    assert not plain_runs


def test_one_state_of_a_user_in_other_memory(plain_runs: list[int]) -> None:
    request, reference = compile_on_engine(make_decoder()).create_infer_request(), Reference()
    feed = draw(0, 300)
    request.infer(feed)
    reference.step(feed, 1)
    reference.keys = RANDOM.standard_normal((1, KEY_HEADS, 300, SIZE)).astype(np.float32)
    request.query_state()[0].state = reference.keys
    feed = draw(300, 1)
    np.testing.assert_allclose(request.infer(feed)["output"], reference.step(feed, 1), rtol=1e-4, atol=1e-5)
    assert not plain_runs


def test_caches_of_different_lengths_are_an_error(plain_runs: list[int]) -> None:
    request = compile_on_engine(make_decoder()).create_infer_request()
    request.infer(draw(0, 9))
    request.query_state()[0].state = np.zeros((1, KEY_HEADS, 4, SIZE), np.float32)
    with pytest.raises(ir_exec.IRError):
        request.infer(draw(9, 1))
    assert plain_runs


def test_requests_have_separate_caches() -> None:
    compiled = compile_on_engine(make_decoder())
    requests = [(compiled.create_infer_request(), Reference()) for _ in range(2)]
    for length in range(3):
        for request, reference in requests:
            feed = draw(length, 1)
            np.testing.assert_allclose(request.infer(feed)["output"], reference.step(feed, 1), rtol=1e-4, atol=1e-5)


def test_snapshots_continue_separately() -> None:
    compiled = compile_on_engine(make_decoder())
    session, reference = compiled.session(), Reference()
    feed = draw(0, 5)
    session(feed)
    reference.step(feed, 1)
    snapshot = session.snapshot()
    other = compiled.session()
    other.restore(snapshot)
    for branch in (session, other):
        continued = Reference()
        continued.keys, continued.values = reference.keys, reference.values
        for length in (5, 6):
            feed = draw(length, 1)
            np.testing.assert_allclose(branch(feed)["output"], continued.step(feed, 1), rtol=1e-4, atol=1e-5)


def test_observed_runs_continue_on_the_engine() -> None:
    compiled = compile_on_engine(make_decoder())
    session, reference = compiled.session(), Reference()
    for length in range(6):
        feed = draw(length, 1)
        observe = (lambda *_: None) if length % 2 else None
        output = session(feed, observe=observe)["output"]
        np.testing.assert_allclose(output, reference.step(feed, 1), rtol=1e-4, atol=1e-5)


def test_caches_that_are_outputs_are_whole() -> None:
    compiled = compile_on_engine(make_decoder(shown=True))
    assert not cached_parts(compiled)
    session, reference = compiled.session(), Reference()
    for length in range(3):
        feed = draw(length, 1)
        results = session(feed)
        np.testing.assert_allclose(results["output"], reference.step(feed, 1), rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(results["keys"], reference.keys)


@pytest.mark.parametrize("real", ["f16", "bf16"])
@pytest.mark.parametrize("group", [1, 2])
def test_caches_of_16_bits_are_not_converted_as_a_whole(real: str, group: int, monkeypatch: pytest.MonkeyPatch) -> None:
    model = make_decoder(real=real, mask="boolean", group=group)
    compiled, dtype = compile_on_engine(model), ElementType[real].dtype
    assert cached_parts(compiled)
    session, reference = compiled.session(), Reference()
    converted: list[int] = []
    convert = state.convert_by_chunks
    monkeypatch.setattr(
        state, "convert_by_chunks", lambda value, *to: (converted.append(value.nbytes), convert(value, *to))[1]
    )
    for length, count in ((0, 100), (100, 1), (101, 1), (102, 1)):
        feed = draw(length, count, mask="boolean", group=group)
        feed |= {name: feed[name].astype(dtype) for name in ("query", "key", "value")}
        converted.clear()
        output = session(feed)["output"]
        wide = {name: array.astype(np.float32) if array.dtype == dtype else array for name, array in feed.items()}
        expected = reference.step(wide, group)
        np.testing.assert_allclose(output.astype(np.float64), expected, rtol=1e-2, atol=1e-2)
        if length:
            # The new keys and values, to their type and to f32.
            assert sum(converted) == ROW_BYTES + ROW_BYTES // 2
    value = session.state["key"]
    assert value is not None
    assert value.dtype == dtype
    np.testing.assert_array_equal(value.astype(np.float32), reference.keys)
    other = compiled.session()
    other.restore(session.snapshot())
    assert all(array.dtype == dtype for array in session.snapshot().values.values())
    feed |= draw(103, 1, mask="boolean", group=group)
    feed |= {name: feed[name].astype(dtype) for name in ("query", "key", "value")}
    np.testing.assert_array_equal(other(feed)["output"], session(feed)["output"])
    observed = session({**feed, "mask": np.ones((1, 1, 1, 105), bool)}, observe=lambda *_: None)["output"]
    assert observed.shape == feed["query"].shape
    assert session.state["key"].shape[2] == 105  # type: ignore[union-attr]  # it has a value
