"""Running whole networks: what callers bring, what they get, and what happens in between."""

import numpy as np
import pytest

import ir_exec
from tests.helpers.facts import fault_with, mentions, naming
from tests.helpers.ir_text import layer, net, parameter, port, result
from tests.helpers.network_text import NetworkText


def binary(id, type="Add", dims=(-1, 3), element_type="f32"):
    ports = [port(0, element_type, dims), port(1, element_type, dims)]
    return layer(id, type, name=f"node{id}", inputs=ports, outputs=[port(2, element_type, dims)])


def sum_network(element_type="f32", dims=(-1, 3)):
    """y = x + w"""
    return net(
        [
            parameter(0, element_type, dims, "x"),
            parameter(1, element_type, dims, "w"),
            binary(2, dims=dims, element_type=element_type),
            result(3, element_type, dims),
        ],
        [(0, 0, 2, 0), (1, 0, 2, 1), (2, 2, 3, 0)],
    )


X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture(scope="module")
def compiled_sum():
    return ir_exec.compile_model(sum_network())


@pytest.mark.parametrize(
    "inputs", [{"x": X, "w": X}, {0: X, 1: X}, {"w": X, 0: X}, [X, X], (X, X), {"x": X.tolist(), "w": X.tolist()}]
)
def test_inputs_by_name_by_position_and_in_order(compiled_sum, inputs):
    np.testing.assert_array_equal(compiled_sum(inputs)[0], 2 * X)


def test_results_are_a_mapping_by_name_and_position(compiled_sum):
    result = compiled_sum([X, X])
    assert len(result) == 1
    assert list(result) == ["node2"]
    assert result["node2"] is result[0]
    assert result["layer3"] is result[0]
    assert dict(result).keys() == {"node2"}
    assert "nothing" not in result
    with pytest.raises(KeyError):
        result["nothing"]
    with pytest.raises(IndexError):
        result[1]
    with pytest.raises(TypeError):
        result["node2"] = X


@pytest.mark.parametrize(
    ("inputs", "error", "code", "words"),
    [
        ([X], ir_exec.EvaluationError, "IR705", mentions(2, "x", "w", 1)),
        (None, ir_exec.EvaluationError, "IR705", mentions("x", "w")),
        ({"x": X}, ir_exec.EvaluationError, "IR705", mentions("w")),
        ({"x": X, "v": X}, ir_exec.EvaluationError, "IR705", mentions("v", "x", "w")),
        ({"x": X, 0: X, "w": X}, ir_exec.EvaluationError, "IR705", mentions("x")),
        (3, ir_exec.EvaluationError, "IR705", mentions("int")),
        ("xw", ir_exec.EvaluationError, "IR705", mentions("str")),
        ([X, X[0]], ir_exec.ShapeError, "IR506", mentions("w", "[3]", "[?,3]")),
        ([X, X[:, :2]], ir_exec.ShapeError, "IR506", mentions("[2,2]")),
        ([X, X.astype(np.int64)], ir_exec.ElementTypeError, "IR403", mentions("int64", "f32")),
        ([X, X.astype(str)], ir_exec.ElementTypeError, "IR403", mentions("f32")),
        ([X, [[1, 2], [3]]], ir_exec.EvaluationError, "IR705", mentions("w", "ValueError")),
        ([X, {"a": 1}], ir_exec.ElementTypeError, "IR403", mentions("f32")),
        ([X, X.astype(np.complex64)], ir_exec.ElementTypeError, "IR403", mentions("complex64")),
        ([X, np.zeros((4, 3), np.float32)], ir_exec.ShapeError, "IR504", mentions("node2", "[2,3]", "[4,3]", 2, 4)),
    ],
)
def test_misfit_is_refused_with_reason(compiled_sum, inputs, error, code, words):
    with pytest.raises(error) as caught:
        compiled_sum(inputs)
    assert caught.value.code == code
    assert str(caught.value) == words


@pytest.mark.parametrize("dtype", [np.float16, np.int8, np.uint16, np.bool_])
def test_lossless_cast_is_made(compiled_sum, dtype):
    ones = np.ones((1, 3), dtype)
    result = compiled_sum([ones, ones])[0]
    assert result.dtype == np.float32
    assert result.tolist() == [[2, 2, 2]]


def test_numbers_of_python_must_fit_the_element_type():
    compiled_sum = ir_exec.compile_model(sum_network("i8"))
    assert compiled_sum([[[100, 1, -1]], [[1, 1, 1]]])[0].tolist() == [[101, 2, 0]]
    with pytest.raises(ir_exec.ElementTypeError, match=naming("x", "i8")):
        compiled_sum([[[200, 1, 1]], [[1, 1, 1]]])
    with pytest.raises(ir_exec.ElementTypeError, match=naming("x", "i8")):
        compiled_sum([[[0.5, 1, 1]], [[1, 1, 1]]])


def test_arrays_of_caller_are_neither_written_nor_returned():
    identity = net([parameter(0, "f32", (-1, 3), "x"), result(1, "f32", (-1, 3))], [(0, 0, 1, 0)])
    data = X.copy()
    data.flags.writeable = False
    outputs = ir_exec.compile_model(identity)([data])
    assert not np.shares_memory(outputs[0], data)
    outputs[0][:] = -1
    np.testing.assert_array_equal(data, X)


def test_strided_and_read_only_arrays_work(compiled_sum):
    wide = np.zeros((2, 6), np.float32)
    wide[:, ::2] = X
    strided = wide[:, ::2]
    strided.flags.writeable = False
    np.testing.assert_array_equal(compiled_sum([strided, X[::-1]])[0], X + X[::-1])


def test_outputs_do_not_share_memory_with_each_other():
    twice = net(
        [parameter(0, "f32", (3,), "x"), parameter(1, "f32", (3,), "w"), binary(2, dims=(3,)), result(3), result(4)],
        [(0, 0, 2, 0), (1, 0, 2, 1), (2, 2, 3, 0), (2, 2, 4, 0)],
    )
    outputs = ir_exec.compile_model(twice)([X[0], X[0]])
    assert len(outputs) == 2
    assert len(set(outputs)) == 2
    outputs[0][:] = -1
    assert outputs[1].tolist() == [0, 2, 4]


def test_observers_see_every_layer_with_its_arrays(compiled_sum):
    seen = []
    compiled_sum([X, X], observe=lambda node, inputs, outputs: seen.append((node.type, len(inputs), outputs[0].shape)))
    assert seen == [("Add", 2, (2, 3))]


def test_layer_error_names_it():
    gather = layer(
        2,
        "GatherElements",
        name="pick",
        opset="opset6",
        data='axis="0"',
        inputs=[port(0), port(1, "i64")],
        outputs=[port(2)],
    )
    xml = net(
        [parameter(0, "f32", (-1, 3), "x"), parameter(1, "i64", (-1, 3), "i"), gather, result(3)],
        [(0, 0, 2, 0), (1, 0, 2, 1), (2, 2, 3, 0)],
    )
    with pytest.raises(ir_exec.EvaluationError) as caught:
        ir_exec.compile_model(xml)([X, np.array([[0, 5, 0]])])
    location = caught.value.location
    assert (location.layer_id, location.layer_name, location.layer_type, location.port) == (
        "2",
        "pick",
        "GatherElements",
        "indices",
    )
    assert location.line == xml[: xml.index(b'name="pick"')].count(b"\n") + 1
    assert caught.value.code == "IR701"


def test_unknown_operators_are_refused_together():
    strange = [layer(i, "Strange", opset="extension", inputs=[port(0)], outputs=[port(1)]) for i in (1, 2)]
    odd = layer(3, "Odd", opset="extension", inputs=[port(0)], outputs=[port(1)])
    xml = net([parameter(0), *strange, odd, result(4)], [(0, 0, 1, 0), (1, 1, 2, 0), (2, 1, 3, 0), (3, 1, 4, 0)])
    model = ir_exec.read_model(xml)
    with pytest.raises(ir_exec.UnsupportedError) as caught:
        ir_exec.compile_model(model)
    assert "Odd (extension): 1 layer" in str(caught.value)
    assert "Strange (extension): 2 layers" in str(caught.value)


def test_tensor_over_budget_is_refused_in_advance():
    dims = (1000, 1000, 1000)
    xml = net(
        [
            parameter(0, "f32", (1000, 1, 1000), "x"),
            parameter(1, "f32", (1, 1000, 1), "w"),
            binary(2, dims=dims),
            result(3),
        ],
        [(0, 0, 2, 0), (1, 0, 2, 1), (2, 2, 3, 0)],
    )
    compiled_sum = ir_exec.compile_model(xml, max_memory=10**8)
    with pytest.raises(ir_exec.ResourceError, match=naming("100,000,000", "4,000,000,000")) as caught:
        compiled_sum([np.zeros((1000, 1, 1000), np.float32), np.zeros((1, 1000, 1), np.float32)])
    assert caught.value.location.layer_id == "2"


def test_every_set_of_shapes_gets_its_own_plan(compiled_sum):
    for rows in (1, 2, 5, 2):
        ones = np.ones((rows, 3), np.float32)
        assert compiled_sum([ones, ones])[0].shape == (rows, 3)
    assert compiled_sum([np.ones((0, 3), np.float32), np.ones((0, 3), np.float32)])[0].shape == (0, 3)


def test_declared_input_shapes_are_not_inferred_again(monkeypatch):
    parameters = [parameter(0, "f32", (2, 3), "x"), parameter(1, "f32", (2, 3), "y")]
    xml = net([*parameters, binary(2, dims=(2, 3)), result(3)], [(0, 0, 2, 0), (1, 0, 2, 1), (2, 2, 3, 0)])
    compiled_sum = ir_exec.compile_model(xml)
    monkeypatch.setattr("ir_exec.plan.compiler.infer_types", None)
    ones = np.ones((2, 3), np.float32)
    assert compiled_sum([ones, ones])[0].shape == (2, 3)


def test_observer_sees_unread_outputs():
    """Without one the places of the maxima are left out, as they have no reader."""
    text = NetworkText()
    pool = {"strides": "1,1", "dilations": "1,1", "pads_begin": "0,0", "pads_end": "0,0", "kernel": "2,2"}
    values, _ = text.outputs(2, "MaxPool", text.parameter("1,1,3,3"), opset=8, axis=0, **pool)
    text.result(values)
    file = text.file()
    seen = []
    image = [np.arange(9, dtype=np.float32).reshape(1, 1, 3, 3)]
    compiled_sum = ir_exec.compile_model(file.xml)
    for _ in range(2):
        compiled_sum(image)
        compiled_sum(image, observe=lambda node, inputs, outputs: seen.append([array.tolist() for array in outputs]))
    assert seen == [[[[[[4, 5], [7, 8]]]]] * 2] * 2


class Broken:
    """An array of a library that fails when NumPy requests it."""

    def __array__(self, *args, **kwargs):
        raise RuntimeError("the device is gone")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"threads": "2"}, fault_with("threads", actual="'2'", expected=mentions(1))),
        ({"threads": 1.5}, fault_with("threads", actual="1.5", expected=mentions(1))),
        ({"threads": True}, fault_with("threads", actual="True", expected=mentions(1))),
        ({"max_memory": float("nan")}, fault_with("max_memory", actual="nan", expected=mentions(0))),
        ({"max_memory": -1}, fault_with("max_memory", actual=-1, expected="0 or more")),
        ({"max_memory": "1G"}, fault_with("max_memory", actual="'1G'", expected=mentions(0))),
        ({"max_memory": [1]}, fault_with("max_memory", actual=mentions(), expected=mentions(0))),
        ({"max_seconds": float("nan")}, fault_with("max_seconds", actual="nan", expected=mentions(0))),
        ({"max_seconds": 0}, fault_with("max_seconds", actual=0, expected=mentions(0))),
        ({"max_seconds": "1"}, fault_with("max_seconds", actual="'1'", expected=mentions(0))),
        ({"weights": "other.bin"}, fault_with(expected="None")),
        (
            {"weight_mode": "other.bin"},
            fault_with("weight_mode", actual="'other.bin'", expected="'auto', 'expand' or 'keep'"),
        ),
    ],
)
def test_options_of_the_wrong_kind(arguments, words):
    with pytest.raises(ir_exec.EvaluationError) as caught:
        ir_exec.compile_model(ir_exec.read_model(sum_network()), **arguments)
    assert caught.value == words
    assert caught.value.code == "IR704"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda compiled_sum: compiled_sum([X, Broken()]), fault_with("w", "RuntimeError")),
        (lambda compiled_sum: compiled_sum([X, X], observe=5), fault_with("observe", actual=5, expected="a function")),
        (lambda compiled_sum: compiled_sum.memory_plan(5), fault_with(actual="int", expected=mentions())),
        (lambda compiled_sum: compiled_sum({(1, 2): X}), fault_with(1, 2)),
    ],
)
def test_arguments_of_the_wrong_kind(compiled_sum, call, words):
    with pytest.raises(ir_exec.EvaluationError) as caught:
        call(compiled_sum)
    assert caught.value == words
    assert caught.value.code in ("IR704", "IR705")


def test_integer_may_be_written_as_float():
    assert ir_exec.compile_model(sum_network(), max_memory=1e9, threads=np.int64(1))([X, X])[0].shape == X.shape
