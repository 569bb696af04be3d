"""Attributes that no exporter writes end in errors of ours, or in values."""

from __future__ import annotations

from random import Random

import numpy as np
import onnx
import pytest

from ir_exec import IRError, compile_model
from ir_exec.codes import Code
from ir_exec.onnx.lowering.registry import registered
from tests.onnx.fuzz import fault, from_signatures, from_tables, without_bodies
from tests.onnx.runtime import Node, model_of_node, node

IMAGE = np.ones((1, 2, 4, 4), np.float32)


def test_every_version_that_a_signature_makes() -> None:
    random = Random(38)
    faults = [fault(from_signatures(version, random)) for version in without_bodies()]
    assert [fault for fault in faults if fault is not None] == []
    assert len(faults) > 0.9 * len(registered())


def test_nodes_of_the_tables_with_something_changed() -> None:
    faults = [fault(table) for table in from_tables(Random(38), 300)]
    assert [fault for fault in faults if fault is not None] == []


@pytest.mark.parametrize(
    "case",
    [
        *[node("LpPool", IMAGE, opset=18, kernel_shape=[2, 2], p=p) for p in (0, -1)],
        *[node("LpPool", IMAGE, opset=1, kernel_shape=[2, 2], p=p) for p in (0.0, -1.0, float("nan"), float("inf"))],
        *[node("GlobalLpPool", IMAGE, opset=2, p=p) for p in (0, -1)],
        *[node("GlobalLpPool", IMAGE, opset=1, p=p) for p in (0.0, float("nan"))],
        node("LpPool", IMAGE, opset=18, kernel_shape=[2, 2, 2], ceil_mode=1),
        *[node("Add", np.ones((2, 3)), np.ones(3), opset=6, axis=axis, broadcast=1) for axis in (-(2**63), 2**62, 3)],
        node("Col2Im", np.ones((1, 4, 4)), np.array(4), np.array([2, 2]), opset=18),
        node("MaxUnpool", IMAGE, np.zeros((1, 2, 4, 4), np.int64), opset=11, kernel_shape=[2, 2], pads=[2**62] * 4),
        node("LinearRegressor", np.ones((1, 2), np.float32), opset=1, domain="ai.onnx.ml", targets=2**62),
    ],
    ids=str,
)
def test_meaningless_node_is_refused(case: Node) -> None:
    proto: onnx.ModelProto = model_of_node(case, dynamic=False)
    with pytest.raises(IRError) as caught:
        compile_model(proto.SerializeToString())({f"x{at}": array for at, array in enumerate(case.inputs)})
    assert caught.value.code != Code.internal_error
