"""The plan that a run takes, and that the choice changes no result."""

from __future__ import annotations

import gc
from collections.abc import Mapping
from typing import Any
from weakref import ReferenceType, ref

import numpy as np
import pytest

import ir_exec
from ir_exec.errors import ShapeError
from ir_exec.ops.matrix.matmul import MatMul
from ir_exec.plan import planner as choosing
from ir_exec.plan.planner import Plans
from ir_exec.plan.records import Plan
from ir_exec.types import Array, TensorType
from tests.helpers.network_text import NetworkText
from tests.plan.test_memory import PATHS

F32, I64 = np.dtype(np.float32), np.dtype(np.int64)


def compiled_of(net: NetworkText, max_memory: int | None = None) -> ir_exec.CompiledModel:
    file = net.file()
    return ir_exec.compile_model(file.xml, weights=file.weights, max_memory=max_memory)


class Made:
    """Plans of no steps, and a record of the types for which they were made."""

    def __init__(self, live: int = 100, budget: int = 10**6) -> None:
        self.types: list[str] = []
        self.plans = Plans(self.make, budget)
        self._live = live

    def make(self, types: list[TensorType]) -> Plan:
        # Two threads that plan at once would mix up the open plan and its inputs.
        assert self.plans.planning.locked()
        self.types.append(" ".join(map(str, types)))
        return Plan([], [], [], [self._live], self._live)

    def get(self, *shapes: tuple[int, ...]) -> list[str]:
        """Run by a plan, and return the types for which plans were made for it."""
        before = len(self.types)
        self.plans.get([(F32, shape) for shape in shapes])
        return self.types[before:]


def test_the_same_shapes_are_planned_once() -> None:
    recorder = Made()
    assert recorder.get((1, 3), (2,)) == ["f32[1,3] f32[2]"]
    assert recorder.get((1, 3), (2,)) == []


def test_new_shapes_take_open_plan_then_exact_plan() -> None:
    recorder = Made()
    recorder.get((1, 3), (2,))
    assert recorder.get((1, 4), (2,)) == ["f32[1,?] f32[2]"]
    assert recorder.get((1, 5), (2,)) == []
    assert recorder.get((1, 5), (3,)) == ["f32[1,?] f32[?]"]
    assert recorder.get((1, 4), (2,)) == ["f32[1,4] f32[2]"]
    assert recorder.get((1, 4), (2,)) == []
    assert recorder.get((1, 6), (2,)) == []


def test_other_ranks_and_dtypes_are_planned() -> None:
    recorder = Made()
    recorder.get((1, 3))
    assert recorder.get((1, 3, 1)) == ["f32[1,3,1]"]
    recorder.plans.get([(I64, (1, 4))])
    assert recorder.types[-1] == "i64[1,4]"


def test_much_larger_inputs_take_the_open_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "SMALL", 0)
    recorder = Made()
    recorder.get((10,))
    assert recorder.get((20,)) == ["f32[?]"]
    assert recorder.get((21,)) == ["f32[21]"]
    assert recorder.get((42,)) == []


def test_small_plan_does_not_inflate_larger_plan(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(choosing, "SMALL", 0)
    recorder = Made()
    recorder.get((100, 3), (2,))
    recorder.plans.exact([(F32, (1, 3)), (F32, (2,))])
    assert recorder.get((90, 3), (2,)) == ["f32[?,3] f32[2]"]


def test_scarce_memory_plans_every_run() -> None:
    recorder = Made(live=100, budget=1000)
    recorder.get((10,))
    assert recorder.get((11,)) == ["f32[11]"]


def test_no_more_plans_are_kept_than_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "MAX_PLANS", 2)
    recorder = Made()
    recorder.get((1,))
    recorder.get((2,))
    for size in (3, 4):
        recorder.get((size,))
        recorder.get((size,))
    assert recorder.get((1,)) == []
    assert recorder.types == ["f32[1]", "f32[?]", "f32[3]", "f32[4]"]
    # Forgotten as a plan, and as a set of shapes that came lately.
    assert recorder.get((2,)) == []


def test_only_the_oldest_plan_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "MAX_PLANS", 3)
    recorder = Made()
    for size in (1, 2, 3, 4):
        recorder.plans.exact([(F32, (size,))])
    assert recorder.types == ["f32[1]", "f32[2]", "f32[3]", "f32[4]"]
    for size in (2, 3, 4):
        assert recorder.get((size,)) == []
    recorder.plans.exact([(F32, (1,))])
    assert recorder.types[4:] == ["f32[1]"]


@pytest.mark.parametrize("threads", [1, 2])
def test_growing_cache_equals_separate_plans(threads: int) -> None:
    path = PATHS["llama_int4_asym"]
    model = ir_exec.read_model(path)
    compiled = ir_exec.compile_model(model, threads=threads)
    with np.load(path.with_suffix(".inputs.npz")) as stored:
        data = [stored[f"in{i}"] for i in range(len(stored.files))]
    for length in (5, 2, 3, 4, 3):
        inputs = [array[:, :length] if array.ndim == 2 else array for array in data]
        alone = ir_exec.compile_model(model, threads=threads)(inputs)
        for actual, expected in zip(compiled(inputs).values(), alone.values(), strict=True):
            assert np.array_equal(actual, expected)


def test_open_plan_names_rejecting_layer() -> None:
    net = NetworkText()
    a, b = net.parameter("?,3"), net.parameter("?,3")
    net.result(net.op("Add", a, b))
    compiled = compiled_of(net)
    for rows in (1, 2):
        compiled([np.ones((rows, 3), np.float32)] * 2)
    with pytest.raises(ShapeError) as raised:
        compiled([np.ones((2, 3), np.float32), np.ones((3, 3), np.float32)])
    assert (raised.value.code, raised.value.location.layer_type) == ("IR504", "Add")


def test_the_budget_holds_in_the_open_plan() -> None:
    net = NetworkText()
    data = net.parameter("?")
    net.result(net.op("Tile", net.op("NonZero", data, opset=3, output_type="i64"), net.const(np.array([1, 1000]))))
    compiled = compiled_of(net, max_memory=10**6)
    for size in (10, 11):
        compiled([np.ones(size, np.float32)])
    with pytest.raises(ir_exec.ResourceError):
        compiled([np.ones(200, np.float32)])


@pytest.mark.parametrize(
    ("type", "attributes", "second", "expected"),
    [
        ("Reshape", {"special_zero": "false"}, [3, 2], (3, 2)),
        ("Unsqueeze", {}, [0], (1, 2, 3)),
        ("Tile", {}, [2, 1], (4, 3)),
    ],
)
def test_run_values_may_decide_a_shape(
    type: str, attributes: dict[str, str], second: list[int], expected: tuple[int, ...]
) -> None:
    net = NetworkText()
    data, numbers = net.parameter("2,3"), net.parameter(str(len(second)), "i64")
    net.result(net.op(type, data, numbers, **attributes))
    file = net.file(np.zeros((2, 3), np.float32), np.array(second))
    assert ir_exec.compile_model(file.xml, weights=file.weights)(file.inputs)[0].shape == expected


def test_constant_is_arranged_once_and_released_with_network(monkeypatch: pytest.MonkeyPatch) -> None:
    arranged: list[ReferenceType[Array]] = []
    arrange = MatMul.with_constants

    def watch_arrange(self: MatMul, constants: Mapping[int, Array]) -> Any:
        kernel: Any = arrange(self, constants)
        arranged.append(ref(kernel.args[0]))
        return kernel

    monkeypatch.setattr(MatMul, "with_constants", watch_arrange)
    net = NetworkText()
    net.result(net.op("MatMul", net.parameter("?,3"), net.const(np.ones((4, 3), np.float32)), transpose_b="true"))
    compiled = compiled_of(net)
    for rows in (1, 2, 3, 2):
        assert compiled([np.ones((rows, 3), np.float32)])[0].tolist() == [[3] * 4] * rows
    assert len(arranged) == 1
    del compiled
    gc.collect()
    assert arranged[0]() is None
