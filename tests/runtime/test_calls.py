"""The model that fits the inputs of calls, and their arrays in its order."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ir_exec
from ir_exec import EvaluationError, Model
from ir_exec.runtime.calls import bind_calls
from tests.helpers.facts import coded, naming
from tests.helpers.network_text import NetworkText

PACKAGE = Path(ir_exec.__file__).parent
ROWS = np.full((2, 3), 2, np.float32)


def complete() -> Model:
    net = NetworkText()
    net.result(net.op("Add", net.parameter("2,3"), net.parameter("2,3")))
    file = net.file()
    return ir_exec.read_model(file.xml, weights=file.weights)


def dependent() -> Model:
    """A model whose layers depend on the value of an input."""
    parser = pytest.importorskip("onnx.parser")
    text = """<ir_version: 9, opset_import: ["" : 26]>
        products (float[N, 3] x, int64 axis) => (float[N, 3] y) { y = CumProd(x, axis) }"""
    return ir_exec.read_model(parser.parse_model(text).SerializeToString())


def test_a_complete_model_fits_all_calls() -> None:
    model = complete()
    left, right = (port.name for port in model.inputs)
    bound = bind_calls(model, [ROWS, ROWS * 2], {right: ROWS * 4, left: ROWS * 3})
    assert bound.model is model
    assert [[float(array[0, 0]) for array in arrays] for arrays in bound.calls] == [[2, 4], [6, 8]]
    assert (bound.depends, bound.summary) == ({}, None)


def test_input_dependent_layers_are_complete_for_calls() -> None:
    bound = bind_calls(dependent(), [ROWS, 1], {"x": ROWS * 2, "axis": 1})
    assert not bound.model.is_partial
    assert bound.depends == {"axis": "value 1"}
    assert bound.summary is not None
    outputs = [ir_exec.compile_model(bound.model)(arrays)["y"] for arrays in bound.calls]
    np.testing.assert_array_equal(outputs, [np.cumprod(ROWS, 1), np.cumprod(ROWS * 2, 1)])


def test_calls_of_different_models_are_an_error() -> None:
    with pytest.raises(EvaluationError, match=naming("axis"), check=coded("IR705")):
        bind_calls(dependent(), [ROWS, 0], [ROWS, 1])


def test_shapes_determine_dependent_layers_only() -> None:
    model = complete()
    assert model.determine({0: "2,3"}) is model
    assert not model.given
    model.require_complete()
    partial = dependent()
    assert partial.determine({}) is partial
    assert partial.is_partial
    with pytest.raises(ir_exec.IRError, match=naming("CumProd"), check=coded("IR901")):
        partial.require_complete()


def test_only_the_runtime_asks_for_the_model_of_a_call() -> None:
    users = {
        path.relative_to(PACKAGE).parts[0]
        for path in PACKAGE.rglob("*.py")
        if ".specializer" in path.read_text(encoding="utf-8")
    }
    assert users == {"model.py", "runtime"}
