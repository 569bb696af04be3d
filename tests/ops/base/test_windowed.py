"""Windows: intervals as OpenVINO infers them."""

from __future__ import annotations

from itertools import product

import pytest

from ir_exec.ops import Op
from ir_exec.types import ElementType, Shape, TensorType
from tests.conformance.build import IRFile
from tests.conformance.oracle import Oracle, Refused
from tests.helpers.ir_text import layer, net, port
from tests.helpers.operators import infer_types, make


def openvino(oracle: Oracle, operator: Op, opset: int, attributes: dict[str, object], shapes: list[str]) -> list[Shape]:
    """The shapes of the outputs that OpenVINO infers for inputs of these shapes."""
    count, last = len(shapes), len(operator.outputs)
    layers = [
        layer(i, "Parameter", data=f'shape="{shape}" element_type="f32"', outputs=[port(0)])
        for i, shape in enumerate(shapes)
    ]
    data = " ".join(f'{name}="{value}"' for name, value in attributes.items())
    inputs, outputs = [port(i) for i in range(count)], [port(count + i) for i in range(last)]
    operator_type = operator.type_name
    layers.append(
        layer(count, operator_type, name="layer", opset=f"opset{opset}", data=data, inputs=inputs, outputs=outputs)
    )
    layers += [layer(count + 1 + i, "Result", inputs=[port(0)]) for i in range(last)]
    edges = [(i, 0, count, i) for i in range(count)] + [(count, count + i, count + 1 + i, 0) for i in range(last)]
    answer = oracle.types(IRFile(net(layers, edges), b"", ()))
    assert not isinstance(answer, Refused), answer.reason
    return [output.shape for node in answer if node.name == "layer" for output in node.outputs]


DATA = ["?,?,?,?", "1..3,4,5..9,7..", "2,4,..6,3..30", "2,4,9,1..8", "2,4,7,8", "..."]
STEPS: list[dict[str, object]] = [
    {"strides": "1,1", "pads_begin": "0,0", "pads_end": "0,0"},
    {"strides": "2,3", "pads_begin": "1,0", "pads_end": "0,2"},
    {"strides": "3,2", "pads_begin": "0,0", "pads_end": "0,0", "auto_pad": "same_upper"},
    {"strides": "2,2", "pads_begin": "1,1", "pads_end": "1,1", "auto_pad": "valid"},
]


@pytest.mark.broad
@pytest.mark.parametrize("type", ["Convolution", "GroupConvolution", "ConvolutionBackpropData"])
def test_intervals_of_convolutions(type: str, oracle: Oracle) -> None:
    filters = {
        "Convolution": ["3,4,3,2", "?,?,?,?", "1..3,..9,2..4,3", "..."],
        "GroupConvolution": ["2,3,2,3,2", "?,?,?,?,?", "1..3,5,2,2..4,3", "2,?,2,..2,1", "..."],
        "ConvolutionBackpropData": ["4,3,3,2", "?,?,?,?", "..9,1..3,2..4,3", "..."],
    }
    for data, kernel, steps, dilations in product(DATA, filters[type], STEPS, ["1,1", "2,1"]):
        attributes = steps | {"dilations": dilations}
        if type == "ConvolutionBackpropData":
            attributes |= {"output_padding": "0,1"}
        operator = make(type, 1, **attributes)
        types = [TensorType(ElementType.f32, Shape.parse(text)) for text in (data, kernel)]
        expected = openvino(oracle, operator, 1, attributes, [data, kernel])
        assert [output.shape for output in infer_types(operator, *types)] == expected, (data, kernel, attributes)


@pytest.mark.parametrize(("type", "opset"), [("MaxPool", 1), ("MaxPool", 14), ("AvgPool", 14), ("AvgPool", 16)])
def test_intervals_of_pooling(type: str, opset: int, oracle: Oracle) -> None:
    rounding = ["floor", "ceil"] + (["ceil_torch"] if opset > 1 else [])
    for data, steps, mode in product(DATA, STEPS, rounding):
        attributes = steps | {"kernel": "3,2", "rounding_type": mode}
        attributes |= {"exclude-pad": "false"} if type == "AvgPool" else {}
        attributes |= {"dilations": "1,1"} if opset != 1 else {}
        operator = make(type, opset, **attributes)
        actual = [output.shape for output in infer_types(operator, TensorType(ElementType.f32, Shape.parse(data)))]
        assert actual == openvino(oracle, operator, opset, attributes, [data]), (data, attributes)
