"""Layers whose types show in the run alone: what has been found right is not inferred again."""

from __future__ import annotations

import numpy as np
import pytest

import ir_exec
from ir_exec.errors import IRError
from ir_exec.graph import Node
from ir_exec.ops.arithmetic.binary import Add
from ir_exec.ops.shape import Reshape
from ir_exec.plan.dynamic_kernel import DynamicKernel
from tests.helpers.facts import naming
from tests.helpers.network_text import NetworkText


def node_of(type: str, second: str = "f32", **attributes: object) -> Node:
    net = NetworkText()
    net.result(net.op(type, net.parameter(), net.parameter(element_type=second), **attributes))
    return next(node for node in ir_exec.read_model(net.file().xml).graph.nodes if node.type == type)


def ones(*shape: int) -> np.ndarray:
    return np.ones(shape, np.float32)


def test_types_of_similar_arrays_are_inferred_once(monkeypatch: pytest.MonkeyPatch) -> None:
    inferred = []
    infer = Add.infer
    monkeypatch.setattr(Add, "infer", lambda self, *types: inferred.append(types) or infer(self, *types))
    node = node_of("Add")
    assert node.op is not None
    inferred.clear()
    checked = DynamicKernel(node, node.op, {}, node.op.evaluate, better=True)
    for _ in range(3):
        assert checked(ones(2, 3), ones(3)).tolist() == [[2] * 3] * 2
    assert len(inferred) == 1
    assert checked(ones(4, 3), ones(3)).shape == (4, 3)
    assert len(inferred) == 2
    for _ in range(2):
        with pytest.raises(IRError, match=naming("[4,3]", "[2]")):
            checked(ones(4, 3), ones(2))
    assert checked(ones(4, 3), ones(3)).shape == (4, 3)


def test_recurring_arrays_are_not_inferred_again(monkeypatch: pytest.MonkeyPatch) -> None:
    node = node_of("Add")
    assert node.op is not None
    checked = DynamicKernel(node, node.op, {}, node.op.evaluate, better=True, fixed={1: ones(3)})
    for rows in range(1, 9):
        assert checked(ones(rows, 3), ones(3)).shape == (rows, 3)
    monkeypatch.setattr(Add, "infer", lambda self, *types: pytest.fail("inferred again"))
    for _ in range(2):
        for rows in range(8, 0, -1):
            assert checked(ones(rows, 3), ones(3)).tolist() == [[2] * 3] * rows


def test_remembered_array_types_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ir_exec.plan.dynamic_kernel.REMEMBERED", 2)
    monkeypatch.setattr("ir_exec.plan.size_rules.MOST_RULES", 0)
    inferred = []
    infer = Add.infer
    node = node_of("Add")
    assert node.op is not None
    monkeypatch.setattr(Add, "infer", lambda self, *types: inferred.append(types) or infer(self, *types))
    checked = DynamicKernel(node, node.op, {}, node.op.evaluate, better=True)
    for rows, count in ((1, 1), (2, 2), (1, 2), (3, 3), (1, 4), (3, 4)):
        checked(ones(rows), ones(rows))
        assert len(inferred) == count, rows


def test_relevant_values_are_compared() -> None:
    node = node_of("Reshape", "i64", special_zero="true")
    assert isinstance(node.op, Reshape)
    checked = DynamicKernel(node, node.op, {}, node.op.evaluate, better=True)
    for _ in range(2):
        for pattern in ([2, 3], [3, 2]):
            assert checked(ones(6), np.array(pattern)).shape == tuple(pattern)
        with pytest.raises(IRError):
            checked(ones(6), np.array([4, 2]))


def test_values_of_open_network_may_change_between_runs() -> None:
    net = NetworkText()
    x, pattern = net.parameter("?"), net.parameter("?", "i64")
    shaped = net.op("Reshape", net.op("ReLU", x), pattern, special_zero="false")
    net.result(net.op("MatMul", shaped, net.op("Tanh", shaped), transpose_b="true"))
    file = net.file()
    compiled = ir_exec.compile_model(file.xml, weights=file.weights)
    data = np.arange(12, dtype=np.float32)
    for shape in ([3, 4], [3, 4], [4, 3], [2, 6], [2, 6], [3, 4], [1, 2, 6], [1, 2, 6]):
        matrix = data.reshape(shape)
        actual = compiled([data, np.array(shape)])[0]
        np.testing.assert_allclose(actual, matrix @ np.tanh(matrix).swapaxes(-1, -2), rtol=1e-6)
