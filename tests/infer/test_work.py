"""Multiply-adds, counted without a run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ir_exec
from ir_exec.infer import Work, count_work, infer_types
from ir_exec.model import load
from tests.conformance.build import IRFile
from tests.helpers.ir_text import layer, net, parameter, port, result
from tests.helpers.network_text import NetworkText, Output, tied_input, tied_output

NETWORKS = Path(__file__).parents[1] / "networks"


def work(file: IRFile) -> Work:
    model = ir_exec.read_model(file.xml, file.weights)
    return count_work(model.graph, model.types, model.weights)


def one_layer(type: str, *shapes: str, opset: int = 1, **attributes: object) -> Work:
    text = NetworkText()
    text.result(text.op(type, *map(text.parameter, shapes), opset=opset, **attributes))
    return work(text.file())


CONVOLUTION = {"strides": "1,1", "dilations": "1,1", "pads_begin": "0,0", "pads_end": "0,0"}


@pytest.mark.parametrize(
    ("type", "opset", "shapes", "attributes", "expected"),
    [
        ("MatMul", 1, ["2,3,4", "4,5"], {}, 2 * 3 * 5 * 4),
        ("MatMul", 1, ["4,3", "5,4"], {"transpose_a": "true", "transpose_b": "true"}, 3 * 5 * 4),
        ("MatMul", 1, ["4", "4"], {"transpose_a": "true"}, 4),
        ("Convolution", 1, ["1,3,8,8", "6,3,3,3"], CONVOLUTION, 6 * 6 * 6 * 3 * 9),
        ("Convolution", 1, ["1,3,8,8", "6,3,3,3"], {**CONVOLUTION, "strides": "2,2"}, 6 * 3 * 3 * 3 * 9),
        ("GroupConvolution", 1, ["1,6,8,8", "6,1,1,3,3"], CONVOLUTION, 6 * 6 * 6 * 9),
        ("ConvolutionBackpropData", 1, ["1,3,4,4", "3,5,2,2"], CONVOLUTION, 3 * 16 * 5 * 4),
        ("GroupConvolutionBackpropData", 1, ["1,4,3,3", "2,2,5,2,2"], CONVOLUTION, 4 * 9 * 5 * 4),
        ("DeformableConvolution", 8, ["1,2,4,4", "1,8,3,3", "3,2,2,2"], CONVOLUTION, 3 * 9 * 2 * 4),
        ("Einsum", 7, ["2,3,4", "4,5"], {"equation": "bij,jk->bik"}, 2 * 3 * 5 * 4),
        ("Einsum", 7, ["3,4", "3,4"], {"equation": "...j,...j->"}, 3 * 4),
        ("Einsum", 7, ["3,4"], {"equation": "ij->i"}, 0),
        ("ScaledDotProductAttention", 13, ["1,2,3,4", "1,2,5,4", "1,2,5,6"], {"causal": "false"}, 2 * 3 * 5 * (4 + 6)),
        ("GRUCell", 3, ["2,3", "2,4", "12,3", "12,4", "12"], {"hidden_size": 4}, 2 * 12 * (3 + 4)),
        ("Add", 1, ["2,3", "2,3"], {}, 0),
    ],
)
def test_one_layer(type: str, opset: int, shapes: list[str], attributes: dict[str, object], expected: int) -> None:
    assert one_layer(type, *shapes, opset=opset, **attributes) == Work(expected, is_exact=True)


def test_unknown_layers_count_zero() -> None:
    text = NetworkText()
    text.result(text.op("Relu", text.op("Mystery", text.parameter("2,3"))))
    file = text.file()
    loaded = load(file.xml, file.weights, report=lambda error: None)
    assert loaded is not None
    types = infer_types(loaded.graph)
    assert count_work(loaded.graph, types, None) == Work(0)


def test_layers_without_an_edge_count_nothing() -> None:
    product = layer(2, "MatMul", inputs=[port(0, dims=(2, 3)), port(1, dims=(3, 4))], outputs=[port(2, dims=(2, 4))])
    xml = net([parameter(0, dims=(2, 3)), product, result(3, dims=(2, 4))], [(0, 0, 2, 0), (2, 2, 3, 0)])
    loaded = load(xml, report=lambda error: None)
    assert loaded is not None
    assert count_work(loaded.graph, infer_types(loaded.graph), None) == Work(0)


def test_a_sequence() -> None:
    text = NetworkText()
    inputs = [text.parameter(shape) for shape in ("2,7,3", "2,1,4")]
    inputs += [text.const(np.array([7, 7])), *map(text.parameter, ("1,12,3", "1,12,4", "1,12"))]
    outputs = text.outputs(2, "GRUSequence", *inputs, opset=5, hidden_size=4, direction="forward")
    text.result(outputs[0])
    assert work(text.file()) == Work(2 * 7 * 12 * (3 + 4))


def test_open_dims_count_with_their_least_size() -> None:
    assert one_layer("MatMul", "?,4", "4,5") == Work(20, is_exact=False)
    assert one_layer("MatMul", "3..8,4", "4,5") == Work(60, is_exact=False)
    assert one_layer("MatMul", "...", "4,5") == Work(0, is_exact=False)
    assert one_layer("Add", "?", "?") == Work(0, is_exact=False)


def product(enclosing: NetworkText, shape: str) -> tuple[NetworkText, Output, int]:
    """A body: the product of its Parameter and a constant, [3,3]; its Parameter and its Result."""
    body = NetworkText(enclosing)
    parameter = body.parameter(shape)
    result = body.result(body.op("MatMul", parameter, body.const(np.ones((3, 3), np.float32))))
    return body, parameter, result


@pytest.mark.parametrize(("length", "expected"), [("5", Work(5 * 2 * 9)), ("?", Work(2 * 9, is_exact=False))])
def test_a_loop_over_parts(length: str, expected: Work) -> None:
    text = NetworkText()
    body, parameter, result = product(text, "1,2,3")
    ties = [tied_input(0, parameter, axis=0, start=0, end=-1, stride=1, part_size=1), tied_output(1, result)]
    text.result(text.loop(1, "TensorIterator", [text.parameter(f"{length},2,3")], body, ties)[0])
    assert work(text.file()) == expected


@pytest.mark.parametrize(("trips", "expected"), [(7, Work(7 * 2 * 9)), (None, Work(2 * 9, is_exact=False))])
def test_a_loop_of_so_many_trips(trips: int | None, expected: Work) -> None:
    text = NetworkText()
    body, parameter, result = product(text, "?,3")
    goes_on = body.result(body.parameter("", "boolean"))
    count = text.parameter("", "i64") if trips is None else text.const(np.array(trips))
    inputs = [count, text.const(np.array(True)), text.parameter("2,3")]
    ties = [
        tied_input(2, parameter),
        tied_input(1, Output(goes_on - 1, 0)),
        tied_output(-1, goes_on, purpose="execution_condition"),
        tied_output(3, result),
    ]
    text.result(text.loop(1, "Loop", inputs, body, ties)[0])
    assert work(text.file()) == expected


def test_costlier_branch_counts() -> None:
    model = ir_exec.read_model(NETWORKS / "script_if.xml")
    assert count_work(model.graph, model.types, model.weights) == Work(3 * 8 * 8)
