"""New input shapes: every type follows, and what cannot be leaves the model as it was."""

import pytest

import ir_exec
from tests.helpers.facts import naming
from tests.helpers.ir_text import layer, net, parameter, port, result


def model(dims=(-1, 3)):
    add = layer(2, "Add", name="sum", inputs=[port(0), port(1)], outputs=[port(2)])
    return ir_exec.read_model(
        net(
            [parameter(0, "f32", dims, "x"), parameter(1, "f32", dims, "w"), add, result(3)],
            [(0, 0, 2, 0), (1, 0, 2, 1), (2, 2, 3, 0)],
        )
    )


@pytest.mark.parametrize(
    "shape",
    ["2,3", [2, 3], (2, 3), ir_exec.Shape([2, 3]), [ir_exec.Dim(2), 3]],
    ids=["text", "list", "tuple", "Shape", "Dim"],
)
def test_shapes_in_every_form(shape):
    network = model()
    assert network.reshape({"x": shape, 1: shape}) is network
    assert network.inputs[0].shape == [2, 3]
    assert network.outputs[0].shape == [2, 3]


def test_intervals_are_carried_on():
    network = model().reshape({"x": "2..8,3", "w": "4..9,?"})
    assert str(network.outputs[0].shape) == "[4..8,3]"


def test_contradiction_names_layer_and_keeps_model():
    network = model()
    with pytest.raises(ir_exec.ShapeError) as caught:
        network.reshape({"x": [2, 3], "w": [2, 4]})
    assert caught.value.location.layer_name == "sum"
    assert network.inputs[0].shape == [None, 3]
    assert network.outputs[0].shape == [None, 3]


@pytest.mark.parametrize(
    ("shapes", "error", "words"),
    [
        ({"y": [1]}, ir_exec.EvaluationError, naming("y", "x", "w")),
        ({7: [1]}, ir_exec.EvaluationError, naming(7)),
        ([2, 3], ir_exec.EvaluationError, naming(2)),
        ({"x": "two"}, ir_exec.ShapeError, naming("two")),
        ({"x": [-7]}, ir_exec.ShapeError, naming("[-7]")),
    ],
)
def test_senseless_shapes_are_refused(shapes, error, words):
    with pytest.raises(error, match=words):
        model().reshape(shapes)


def test_one_shape_is_enough_for_one_input():
    network = ir_exec.read_model(net([parameter(0, "f32", (-1,), "x"), result(1)], [(0, 0, 1, 0)]))
    assert network.reshape([5]).outputs[0].shape == [5]
    assert ir_exec.compile_model(network)([[1, 2, 3, 4, 5]])[0].shape == (5,)
    with pytest.raises(ir_exec.ShapeError):
        ir_exec.compile_model(network)([[1, 2]])
