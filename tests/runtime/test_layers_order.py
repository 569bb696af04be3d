"""The order of layers in runs layer by layer."""

from __future__ import annotations

import numpy as np

from ir_exec import read_model
from ir_exec.debug.traces.walk import Visit, Walker
from ir_exec.model import Model
from ir_exec.types import Array
from tests.helpers.network_text import NetworkText

COUNT = 4
X = np.ones((1, 4), np.float32)


def decompressing_first() -> Model:
    """Return a chain of products, in a file with all decompressing layers before the first product."""
    net = NetworkText()
    weights = []
    for number in range(COUNT):
        codes = net.op("Convert", net.const(np.full((4, 4), number, np.uint8)), destination_type="f32")
        weights.append(net.op("Multiply", codes, net.const(np.full((1, 1), 0.5, np.float32))))
    y = net.parameter("1,4")
    for weight in weights:
        y = net.op("MatMul", y, weight, transpose_a="false", transpose_b="true")
    net.result(y)
    net.result(weights[0])
    file = net.file()
    return read_model(file.xml, file.weights)


def test_weights_are_decompressed_right_before_their_readers() -> None:
    model = decompressing_first()
    order: list[str] = []
    live: set[int] = set()
    most = 0

    def visit(visit: Visit) -> None:
        nonlocal most
        order.append(visit.node.type)
        live.update(value.number for value in visit.node.outputs if visit.node.type == "Multiply")
        most = max(most, len(live))
        live.difference_update(visit.dying)

    Walker(model).run([X], visit)
    # The first weight is an output.
    assert most == 2
    assert [name for name in order if name in ("Multiply", "MatMul")] == ["Multiply", "MatMul"] * COUNT
    assert len(order) == sum(not node.op.is_result for node in model.graph.nodes if node.op is not None)


def test_the_order_changes_no_value() -> None:
    values: dict[str, Array] = {}
    model = decompressing_first()
    y, weight = Walker(model).run([X], lambda visit: values.update({visit.path: visit.outputs[0]}))
    expected = X
    for number in range(COUNT):
        expected = expected @ np.full((4, 4), number * 0.5, np.float32).T
    assert y.tolist() == expected.tolist()
    assert weight.tolist() == np.zeros((4, 4)).tolist()
    assert len(values) == 5 * COUNT + 1
