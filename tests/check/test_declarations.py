"""Comparison of two types of one value."""

from __future__ import annotations

import pytest

from ir_exec import check_model
from ir_exec.check.declarations import contradiction, difference, fits, merge_types
from ir_exec.codes import Code
from ir_exec.types import ElementType, Shape, TensorType
from tests.helpers.facts import mentions
from tests.helpers.ir_text import const, layer, net, parameter, port, result

KIND, RANK, DIMS = Code.declared_element_type, Code.declared_rank, Code.declared_dims


def type_of(text: str) -> TensorType:
    element_type, _, dims = text.partition("[")
    return TensorType(ElementType[element_type], Shape.parse(dims.removesuffix("]")))


@pytest.mark.parametrize(
    ("declared", "actual"),
    [
        ("f32[2,3]", "f32[2,3]"),
        ("f32[2,?]", "f32[2,3]"),
        ("f32[2,3]", "f32[2,?]"),
        ("f32[...]", "f32[2,3]"),
        ("f32[2,3]", "f32[...]"),
        ("dynamic[2,3]", "f32[2,3]"),
        ("f32[2,3]", "dynamic[2,3]"),
        # Ranges that share a size, be it the last of one and the first of the other.
        ("f32[1..4]", "f32[4..8]"),
        ("f32[4..8]", "f32[1..4]"),
        ("f32[4]", "f32[4..8]"),
        ("f32[8]", "f32[4..8]"),
        ("f32[4..]", "f32[1..4]"),
        ("f32[]", "f32[]"),
    ],
)
def test_types_that_fit(declared: str, actual: str) -> None:
    assert fits(type_of(declared), type_of(actual))


@pytest.mark.parametrize(
    ("declared", "actual", "code", "message"),
    [
        ("f32[2,3]", "f16[2,3]", KIND, mentions("f16", "f32")),
        ("f32[2,3]", "f16[2,4]", KIND, mentions("f16", "f32", 1, 4, 3)),
        ("f32[...]", "f16[2]", KIND, mentions("f16", "f32")),
        ("f32[2,3]", "f16[2]", KIND, mentions("f16", "f32", 1, 2)),
        ("f32[2,3]", "f32[2]", RANK, mentions(1, 2)),
        ("f32[]", "f32[1]", RANK, mentions(1, 0)),
        ("f32[2,3]", "f32[2,4]", DIMS, mentions(1, 4, 3)),
        ("dynamic[2,3]", "f32[1,4]", DIMS, mentions(0, 1, 2, 1, 4, 3)),
        ("f32[1..3]", "f32[4..8]", DIMS, mentions(0, 4, 8, 1, 3)),
        ("f32[4..8]", "f32[3]", DIMS, mentions(0, 3, 4, 8)),
        ("f32[9]", "f32[10..]", DIMS, mentions(0, 10, 9)),
        ("f32[?,9..]", "f32[5,8]", DIMS, mentions(1, 8, 9)),
    ],
)
def test_types_that_contradict_each_other(declared: str, actual: str, code: Code, message: mentions) -> None:
    types = type_of(declared), type_of(actual)
    assert not fits(*types)
    assert not fits(*reversed(types))
    assert contradiction(*types) == code
    assert difference(*types) == message


@pytest.mark.parametrize(
    ("chosen", "other", "expected"),
    [
        ("f32[2,?]", "f32[?,3]", "f32[2,3]"),
        ("dynamic[...]", "f16[2,?]", "f16[2,?]"),
        ("f32[...]", "f16[2]", "f32[2]"),
        ("dynamic[2]", "f16[...]", "f16[2]"),
        # Where they contradict each other the chosen one holds.
        ("f32[2,?]", "f16[5,3]", "f32[2,3]"),
        ("f32[2,?]", "f32[5]", "f32[2,?]"),
        ("f32[1..6]", "f32[4..8]", "f32[4..6]"),
    ],
)
def test_partial_types_complement_each_other(chosen: str, other: str, expected: str) -> None:
    assert merge_types(type_of(chosen), type_of(other)) == type_of(expected)


DIMS = (1, 1, 4, 4)
OUT = (1, 1, 2, 2)


def findings_of(xml: bytes) -> list[tuple[str, Code, str | None]]:
    return [
        (diagnostic.severity, diagnostic.code, diagnostic.location.layer_id)
        for diagnostic in check_model(xml, weights=bytes(64)).diagnostics
        if diagnostic.severity != "info"
    ]


def max_pool(indices: str, *, opset: str = "opset8", read: bool = False) -> bytes:
    """MaxPool, whose indices are i64; read: a Convert takes them."""
    data = 'strides="2,2" pads_begin="0,0" pads_end="0,0" kernel="2,2" rounding_type="floor"'
    outputs = [port(1, dims=OUT), port(2, indices, OUT)]
    layers = [
        parameter(0, dims=DIMS),
        layer(1, "MaxPool", opset=opset, data=data, inputs=[port(0, dims=DIMS)], outputs=outputs),
        result(2, dims=OUT),
    ]
    ends = [(0, 0, 1, 0), (1, 1, 2, 0)]
    if read:
        convert = layer(
            3, "Convert", data='destination_type="i32"', inputs=[port(0, indices, OUT)], outputs=[port(1, "i32", OUT)]
        )
        layers += [convert, result(4, "i32", OUT)]
        ends += [(1, 2, 3, 0), (3, 1, 4, 0)]
    return net(layers, ends)


@pytest.mark.parametrize("read", [False, True])
def test_indices_of_max_pool_as_f32(read: bool) -> None:
    assert findings_of(max_pool("f32", read=read)) == [("warning", Code.declared_element_type, "1")]
    assert findings_of(max_pool("i64", read=read)) == []


def test_wrong_index_type_is_reported_when_read() -> None:
    assert findings_of(max_pool("u8")) == [("warning", Code.declared_element_type, "1")]
    assert ("error", Code.declared_element_type, "1") in findings_of(max_pool("u8", read=True))


def test_the_pooled_values_are_not_excused() -> None:
    xml = max_pool("i64").replace(b'<port id="1" precision="FP32">', b'<port id="1" precision="I64">')
    assert ("error", Code.declared_element_type, "1") in findings_of(xml)


def detection_output(element_type: str, declared: str) -> bytes:
    data = (
        'num_classes="2" keep_top_k="3" nms_threshold="0.5" code_type="caffe.PriorBoxParameter.CENTER_SIZE" top_k="3"'
    )
    data += ' share_location="1" normalized="1" confidence_threshold="0.1" background_label_id="0"'
    shapes = [(1, 12), (1, 6), (1, 2, 12)]
    inputs = [parameter(index, element_type, shape) for index, shape in enumerate(shapes)]
    ports = [port(index, element_type, shape) for index, shape in enumerate(shapes)]
    boxes = layer(3, "DetectionOutput", data=data, inputs=ports, outputs=[port(3, declared, (1, 1, 3, 7))])
    ends = [*((index, 0, 3, index) for index in range(3)), (3, 3, 4, 0)]
    return net([*inputs, boxes, result(4, declared, (1, 1, 3, 7))], ends)


def test_boxes_of_f16_networks_as_f32() -> None:
    assert findings_of(detection_output("f16", "f32")) == [("warning", Code.declared_element_type, "3")]
    assert findings_of(detection_output("f16", "f16")) == []
    assert ("error", Code.declared_element_type, "3") in findings_of(detection_output("f32", "f16"))


def concatenating_loop(inner: tuple[int, ...], outer: tuple[int, ...], axis: str = 'axis="0"') -> bytes:
    """A TensorIterator over three rows; the ReLU inside declares `inner`, the TensorIterator `outer`."""
    body_layers = [
        parameter(0, dims=(1, 2)),
        layer(1, "ReLU", inputs=[port(0, dims=(1, 2))], outputs=[port(1, dims=inner)]),
        result(2, dims=inner),
    ]
    inside = net(body_layers, [(0, 0, 1, 0), (1, 1, 2, 0)]).decode()
    body = inside[inside.index("<layers>") : inside.index("</net>")]
    ties = '<input axis="0" external_port_id="0" internal_layer_id="0"/>'
    ties += f'<output {axis} external_port_id="1" internal_layer_id="2"/>'
    inner_text = f"<port_map>{ties}</port_map><body>{body}</body>"
    loop = layer(1, "TensorIterator", inputs=[port(0, dims=(3, 2))], outputs=[port(1, dims=outer)], inner=inner_text)
    return net([parameter(0, dims=(3, 2)), loop, result(2, dims=outer)], [(0, 0, 1, 0), (1, 1, 2, 0)])


def test_joined_dims_declared_inside_of_a_loop() -> None:
    assert findings_of(concatenating_loop((1, 2), (3, 2))) == []
    assert findings_of(concatenating_loop((3, 2), (3, 2))) == [("warning", Code.declared_dims, "1")]
    assert ("error", Code.declared_dims, "1") in findings_of(concatenating_loop((4, 2), (3, 2)))
    assert ("error", Code.declared_dims, "1") in findings_of(concatenating_loop((3, 2), (3, 2), axis=""))


@pytest.mark.parametrize(("precision", "severity"), [("", "warning"), (' precision="FP32"', "error")])
def test_dims_at_a_result_without_a_precision(precision: str, severity: str) -> None:
    odd = layer(2, "Result", inputs=[f'<port id="0"{precision}><dim>7</dim></port>'])
    relu = layer(1, "ReLU", inputs=[port(0, dims=(2, 3))], outputs=[port(1, dims=(2, 3))])
    xml = net([parameter(0, dims=(2, 3)), relu, odd], [(0, 0, 1, 0), (1, 1, 2, 0)])
    assert findings_of(xml) == [(severity, Code.declared_rank, "2")]


def test_dims_at_another_layer_without_a_precision() -> None:
    odd = layer(1, "ReLU", inputs=['<port id="0"><dim>7</dim></port>'], outputs=[port(1, dims=(2, 3))])
    xml = net([parameter(0, dims=(2, 3)), odd, result(2, dims=(2, 3))], [(0, 0, 1, 0), (1, 1, 2, 0)])
    assert ("error", Code.declared_rank, "1") in findings_of(xml)


def test_faulty_reader_gives_no_scalar_hint() -> None:
    """A sum to a scalar that reads itself: what its data was declared as is not what the others read."""
    total = layer(
        2, "ReduceSum", data='keep_dims="0"', inputs=[port(0, dims=(3, 8)), port(1, "i32", (2,))], outputs=[port(2)]
    )
    relu = layer(3, "ReLU", inputs=[port(0)], outputs=[port(1)])
    layers = [parameter(0, dims=(3, 8)), parameter(1, "i32", (2,)), total, relu, result(4)]
    report = check_model(net(layers, [(2, 2, 2, 0), (1, 0, 2, 1), (2, 2, 3, 0), (3, 1, 4, 0)]))
    assert [error.code for error in report.errors] == [Code.cycle]


def test_self_reading_layer_has_no_output_type() -> None:
    data = [port(0, dims=(3,)), port(1, "i32"), port(2, "i32")]
    gather = layer(3, "Gather", opset="opset8", inputs=data, outputs=[port(3)])
    unsqueeze = layer(4, "Unsqueeze", inputs=[port(0), port(1, "i32")], outputs=[port(2, dims=(1,))])
    layers = [parameter(0, dims=(3,)), const(1, "i32", (), 0, 4), const(2, "i32", (), 0, 4), gather, unsqueeze]
    ends = [(3, 3, 3, 0), (1, 0, 3, 1), (2, 0, 3, 2), (3, 3, 4, 0), (1, 0, 4, 1), (4, 2, 5, 0)]
    report = check_model(net([*layers, result(5, dims=(1,))], ends), weights=bytes(4))
    assert [error.code for error in report.errors] == [Code.cycle]


def test_unreadable_result_still_exists() -> None:
    relu = layer(1, "ReLU", inputs=[port(0, dims=(3,))], outputs=[port(1, dims=(3,))])
    xml = net([parameter(0, dims=(3,)), relu, result(2, dims=(3,))], [(0, 0, 1, 0), (1, 1, 2, 0)]).decode()
    report = check_model(xml.replace('type="Result" version="opset1"', 'type="Result"').encode())
    assert [error.code for error in report.errors] == [Code.missing_markup]
