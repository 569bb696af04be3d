"""Rules of traced inferences: what they predict for other sizes is what inference gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import ir_exec
from ir_exec.errors import IRError, raise_error
from ir_exec.infer import infer_outputs
from ir_exec.ops import Op
from ir_exec.ops.arithmetic.binary import Add
from ir_exec.plan.dynamic_kernel import DynamicKernel
from ir_exec.plan.memory import byte_size
from ir_exec.plan.size_rules import SizeRules, trace_rule
from ir_exec.types import Array, TensorType
from ir_exec.types.traced_size import SizeTrace, TracedSize
from tests.conformance.case import Case
from tests.conformance.checks import families, table
from tests.conformance.ours import operator
from tests.helpers.facts import naming
from tests.helpers.network_text import NetworkText

NOT_TRACED = {"convolution.binary"}


def ones(*shape: int) -> Array:
    return np.ones(shape, np.float32)


def infer_bytes(op: Op, types: list[TensorType]) -> int:
    outputs = infer_outputs(op, types, {}, raise_error) or []
    return sum([byte_size(type) for type in outputs])


def expected_bytes(op: Op, arrays: Sequence[Array]) -> int | None:
    """The bytes of an ordinary inference, None for one that fails."""
    try:
        return infer_bytes(op, [TensorType.of(array) for array in arrays])
    except IRError:
        return None


def resize_arrays(arrays: Sequence[Array], varying: list[int]) -> Iterator[list[Array]]:
    """Yield the arrays with one axis of one varying array, or of all, longer or shorter, and with other values."""
    for change in (1, -1, 3):
        for axis in range(max([arrays[position].ndim for position in varying], default=0)):
            for chosen in (*([position] for position in varying), varying):
                yield [_resize(array, axis, change) if at in chosen else array for at, array in enumerate(arrays)]
        for position in varying:
            array = arrays[position]
            if array.dtype.kind in "iu" and array.dtype.itemsize >= 4:
                yield [*arrays[:position], array + array.dtype.type(abs(change)), *arrays[position + 1 :]]


def _resize(array: Array, axis: int, change: int) -> Array:
    if axis >= array.ndim or array.shape[axis] + change < 0:
        return array
    shape = (*array.shape[:axis], array.shape[axis] + change, *array.shape[axis + 1 :])
    return np.resize(array, shape) if array.size else np.zeros(shape, array.dtype)


@pytest.mark.parametrize("family", families())
def test_predictions_are_those_of_inference(family: Any) -> None:
    applied = 0
    for case in table(family):
        try:
            op = operator(case)
        except IRError:
            continue
        if op.infer_context or op.varies_outputs:
            continue
        applied += apply_to_other_sizes(op, case)
    assert bool(applied) == (family not in NOT_TRACED)


def apply_to_other_sizes(op: Op, case: Case) -> int:
    """Compare the rule of a case with inference for other sizes, and return the number of predictions."""
    fixed = {position: TensorType.of(case.inputs[position]) for position in case.constants}
    rule = trace_rule(case.inputs, fixed, lambda types: infer_bytes(op, types))
    if rule is None:
        return 0
    assert rule.evaluate(*case.inputs) == expected_bytes(op, case.inputs), case
    applied = 0
    varying = [position for position in range(len(case.inputs)) if position not in fixed]
    for arrays in resize_arrays(case.inputs, varying):
        predicted = rule.evaluate(*arrays)
        assert predicted in (-1, expected_bytes(op, arrays)), (case, [array.shape for array in arrays])
        applied += predicted >= 0
    return applied


@pytest.mark.parametrize(
    ("type_name", "shapes", "count"),
    [
        ("Add", [[lambda n: (1, 4, n), lambda n: (4, 1)]], 3),
        ("MatMul", [[lambda n: (2, 1, n), lambda n: (2, n, 8)]], 3),
    ],
)
def test_three_inferences_for_all_sizes(
    monkeypatch: pytest.MonkeyPatch, type_name: str, shapes: list[list[Any]], count: int
) -> None:
    checked, inferred = make_kernel(monkeypatch, type_name)
    for size in range(5, 60):
        for arrays in shapes:
            checked(*[ones(*shape(size)) for shape in arrays])
    assert len(inferred) == count


def make_kernel(
    monkeypatch: pytest.MonkeyPatch, type_name: str, **attributes: object
) -> tuple[DynamicKernel, list[Any]]:
    """A kernel of an operator of two inputs, and the list of the inferences that it makes."""
    net = NetworkText()
    net.result(net.op(type_name, net.parameter(), net.parameter(), **attributes))
    node = next(node for node in ir_exec.read_model(net.file().xml).graph.nodes if node.type == type_name)
    assert node.op is not None
    inferred: list[Any] = []
    infer = type(node.op).infer
    monkeypatch.setattr(type(node.op), "infer", lambda self, *types: inferred.append(types) or infer(self, *types))
    return DynamicKernel(node, node.op, {}, node.op.evaluate, better=True), inferred


def test_faults_of_other_sizes_are_still_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    checked, _ = make_kernel(monkeypatch, "Add")
    for size in range(5, 20):
        assert checked(ones(2, size), ones(size)).shape == (2, size)
    with pytest.raises(IRError, match=naming("[2,7]", "[6]")):
        checked(ones(2, 7), ones(6))
    assert checked(ones(2, 7), ones(1)).shape == (2, 7)


def test_rule_contradicted_by_inference_is_dropped() -> None:
    """Sizes of an inference that hides its branches from the trace."""

    def infer(types: list[TensorType]) -> int:
        size: Any = types[0].shape[0].lo
        is_large = (size.value if isinstance(size, TracedSize) else size) > 6
        return size * 4 if is_large else size * 8

    rules = SizeRules({}, infer)
    rules.verify([ones(3)], 24)
    assert rules.trace([ones(4)]) is not None
    assert rules.match([ones(5)]) is None
    assert rules.trace([ones(7)]) is None
    rules.verify([ones(7)], 28)
    assert rules.match([ones(5)]) is None
    assert rules.trace([ones(6)]) is None


def test_traced_size_cannot_become_an_ordinary_integer() -> None:
    size = TracedSize(SizeTrace(), 3, "s0[0]", is_natural=True)
    for use in (int, hash, float, range, np.zeros, lambda size: [0, 1, 2, 3][size], lambda size: size == 1.5):
        with pytest.raises(TypeError):
            use(size)


def test_recorded_comparisons_hold_for_the_traced_sizes() -> None:
    trace = SizeTrace()
    size, other = (TracedSize(trace, value, f"s0[{axis}]", is_natural=True) for axis, value in enumerate((3, 8)))
    assert not size > other
    assert max(size, 5) == 5
    assert (other % size) + (other // 2) - size * 2 == 0
    assert not -size + 3
    assert all(eval(guard, {"s0": (3, 8)}) for guard in trace.guards)
    assert not all(eval(guard, {"s0": (8, 3)}) for guard in trace.guards)


def test_certain_comparisons_are_not_recorded() -> None:
    trace = SizeTrace()
    size = TracedSize(trace, 3, "s0[0]", is_natural=True)
    assert size >= 0
    assert size + 1 > -1
    assert size == size  # equal expressions
    assert not trace.guards


def test_repeated_sizes_have_kernels_for_their_types(monkeypatch: pytest.MonkeyPatch) -> None:
    checked, _ = make_kernel(monkeypatch, "Add")
    selected: list[Any] = []
    kernel = Add.kernel
    monkeypatch.setattr(
        Add, "kernel", lambda self, *types, **options: selected.append(types) or kernel(self, *types, **options)
    )
    for size in range(2, 20):
        checked(ones(size), ones(size))
    assert not selected
    for _ in range(4):
        checked(ones(30), ones(30))
    assert len(selected) == 1
