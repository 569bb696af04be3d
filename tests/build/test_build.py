"""Networks built in Python: types as one builds, errors at the line, what is run, saved and read."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import ir_exec
from ir_exec import build
from ir_exec.codes import Code
from ir_exec.extension import unregister_op
from tests.helpers.facts import coded, naming


def run(model, **inputs):
    return list(ir_exec.compile_model(model)(inputs).values())


def test_types_are_inferred_as_one_builds():
    x = build.parameter([None, 4], name="x")
    hidden = build.matmul(x, np.ones((4, 3), np.float32))
    assert str(hidden.type) == "f32[?,3]"
    size = build.gather(build.shape_of(x), [0], 0)
    assert build.reshape(x, build.concat([size, [2, 2]], 0), special_zero=False).shape == [None, 2, 2]


def test_wrong_shape_names_the_layer():
    x = build.parameter([2, 4])
    with pytest.raises(ir_exec.ShapeError, match=naming("inputs[1]", "joined")):
        build.concat([x, build.parameter([5, 5, 5])], axis=0, name="joined")
    with pytest.raises(ir_exec.ShapeError, match=naming("7")):
        build.gather(x, [0], 7)


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda x: build.softmax(x, axs=1), Code.unknown_attribute),
        (lambda x: build.reshape(x, [8]), Code.missing_attribute),
        (lambda x: build.softmax(x, axis="first"), Code.invalid_attribute),
        (lambda x: build.matmul(x), Code.wrong_number_of_inputs),
        (lambda x: build.relu(x, x), Code.wrong_number_of_inputs),
        (lambda x: build.op("Gathr", x), Code.unknown_type),
        (lambda x: build.op("Gather", x, opset="opset99"), Code.unknown_opset),
        (lambda x: build.logical_and(x, x), Code.element_type_not_taken),
    ],
)
def test_wrong_calls(make, code):
    with pytest.raises(ir_exec.IRError) as caught:
        make(build.parameter([2, 4]))
    assert caught.value.code == code


def test_constants_take_the_type_of_other_inputs():
    x = build.parameter([2], "f16")
    assert build.add(x, 0.5).element_type is ir_exec.ElementType.f16
    assert build.add([1.0, 2.0], x).element_type is ir_exec.ElementType.f16
    assert build.add(x, np.array([0.5, 1.5])).element_type is ir_exec.ElementType.f16
    counted = build.parameter([2], "i32")
    assert build.add(counted, 1).element_type is ir_exec.ElementType.i32
    with pytest.raises(ir_exec.ElementTypeError, match=naming("float32", "i32")):
        build.add(counted, 0.5)
    assert build.gather(x, 1, 0).shape == []


def test_chosen_opset_selects_operator_version():
    x = build.parameter([2, 3])
    old = build.op("Gather", x, [0], 1, opset=1)
    assert (old.layer.version, build.gather(x, [0], 1, opset="opset7").layer.version) == ("opset1", "opset7")
    with pytest.raises(ir_exec.InvalidAttributeError, match="batch_dims"):
        build.gather(x, [0], 1, opset=1, batch_dims=1)


def test_several_outputs_are_a_tuple():
    x = build.parameter([2, 6])
    parts = build.split(x, 1, num_splits=3, tensor_names=[["a"], ["b"]])
    assert [part.shape for part in parts] == [[2, 2]] * 3
    model = build.model(parts)
    assert [port.name for port in model.outputs][:2] == ["a", "b"]
    with pytest.raises(TypeError, match=naming("ReLU", "f32[2,6]")):
        first, second = build.relu(x)  # noqa: RUF059  # never bound


def test_models_run_and_survive_saving(tmp_path):
    x = build.parameter([None, 4], name="x")
    y = build.result(build.relu(build.subtract(x, [0.0, 1.0, 2.0, 3.0])), name="y")
    model = build.model(y, name="small")
    data = np.arange(8, dtype=np.float32).reshape(2, 4)
    expected = np.array([[0, 0, 0, 0], [4, 4, 4, 4]], np.float32)
    assert np.array_equal(run(model, x=data)[0], expected)
    model.save(tmp_path / "small.xml")
    again = ir_exec.read_model(tmp_path / "small.xml")
    assert (again.name, again.inputs, again.outputs) == ("small", model.inputs, model.outputs)
    assert np.array_equal(run(again, x=data)[0], expected)
    assert ir_exec.check_model(tmp_path / "small.xml").errors == ()


def test_bodies_of_if_read_outer_values():
    x = build.parameter([2], name="x")
    flag = build.greater(build.reduce_sum(x, [0]), 3)
    y = build.if_(flag, lambda: build.multiply(x, build.constant(np.float32(10))), lambda: x)
    model = build.model(y)
    assert np.array_equal(run(model, x=np.array([1, 5], np.float32))[0], [10, 50])
    assert np.array_equal(run(model, x=np.array([1, 1], np.float32))[0], [1, 1])


def test_a_loop_carries_and_collects():
    x = build.parameter([2], name="x")
    total, steps = build.loop(
        4,
        None,
        lambda i, sum: (None, [build.add(sum, x)], [build.unsqueeze(sum, 0)]),
        carried=[np.zeros(2, np.float32)],
    )
    assert (total.shape, steps.shape) == ([2], [4, 2])
    last, all_steps = run(build.model([total, steps]), x=np.array([1, 2], np.float32))
    assert np.array_equal(last, [4, 8])
    assert np.array_equal(all_steps[:, 0], [0, 1, 2, 3])


def test_types_of_carried_values_widen():
    x = build.parameter([1], name="x")
    (grown,) = build.loop(3, None, lambda i, seen: (None, [build.concat([seen, x], 0)], []), carried=[x])
    assert str(grown.shape) == "[1..]"
    assert np.array_equal(run(build.model(grown), x=np.array([7], np.float32))[0], [7, 7, 7, 7])


def test_nested_loops_read_outer_values():
    x = build.parameter([2], name="x")
    two = build.constant(np.float32(2))

    def inner(i, value):
        return None, [build.add(value, build.multiply(x, two))], []

    def outer(i, value):
        return None, list(build.loop(2, None, inner, carried=[value])), []

    (y,) = build.loop(3, None, outer, carried=[np.zeros(2, np.float32)])
    assert np.array_equal(run(build.model(y), x=np.array([1, 2], np.float32))[0], [12, 24])


def test_an_iterator_takes_parts():
    x = build.parameter([3, 2], name="x")
    last, parts = build.tensor_iterator(
        lambda before, part: ([build.add(before, part)], [build.Collected(build.negative(part), axis=0)]),
        carried=[np.zeros((1, 2), np.float32)],
        sliced=[build.Sliced(x, axis=0)],
    )
    data = np.arange(6, dtype=np.float32).reshape(3, 2)
    result = run(build.model([last, parts]), x=data)
    assert np.array_equal(result[0], [[6, 9]])
    assert np.array_equal(result[1], -data)


def test_body_value_cannot_leave_its_body():
    x = build.parameter([2], name="x")
    values = []
    build.if_(build.constant(True), lambda: values.append(build.relu(x)) or values[0], lambda: x)
    with pytest.raises(ir_exec.GraphError, check=coded("IR100")):
        build.model(values[0])


def test_variables_keep_values_between_runs():
    x = build.parameter([2], name="x")
    total = build.add(build.read_value(np.zeros(2, np.float32), "total"), x)
    model = build.model(build.result(total, name="total"), sinks=[build.assign(total, "total")])
    request = ir_exec.compile_model(model).create_infer_request()
    request.infer({"x": np.array([1, 2], np.float32)})
    assert np.array_equal(next(iter(request.infer({"x": np.array([1, 2], np.float32)}).values())), [2, 4])


def test_names_that_would_collide():
    x = build.parameter([2], name="x")
    first = build.relu(x, name="same", tensor_names=["t"])
    model = build.model(build.add(first, build.relu(first, name="same")))
    assert [node.name for node in model.graph.nodes if node.type == "ReLU"] == ["same", "same_1"]
    with pytest.raises(ir_exec.GraphError, match=naming("t", "same", "Exp")):
        build.model(build.add(first, build.exp(first, tensor_names=["t"])))
    with pytest.raises(ir_exec.GraphError, match=naming("Parameter", "x")):
        build.model(build.add(x, build.parameter([2], name="x", tensor_names=["other"])))


def test_attributes_required_by_openvino_are_written(tmp_path):
    x = build.parameter([1, 2, 6, 5], name="x")
    windows = {"kernel": [2, 3], "strides": [2, 1], "pads_begin": [0, 1], "pads_end": [0, 1]}
    model = build.model([build.avg_pool(x, exclude_pad=True, **windows)])
    model.save(tmp_path / "pool.xml")
    layer = next(
        layer for layer in ir_exec.read_model(tmp_path / "pool.xml").document.layers if layer.type == "AvgPool"
    )
    assert layer.data["dilations"] == "1,1"
    data = np.random.default_rng(0).standard_normal((1, 2, 6, 5), np.float32)
    openvino = pytest.importorskip("openvino")
    expected = openvino.Core().compile_model(tmp_path / "pool.xml", "CPU")([data])[0]
    np.testing.assert_allclose(ir_exec.compile_model(model)([data])[0], expected, rtol=1e-6)


def test_large_constants_are_not_copied():
    large = np.ones((256, 256), np.float32)
    value = build.constant(large)
    assert np.shares_memory(value.constant, large)
    model = build.model(build.add(build.parameter([1]), value))
    (constant,) = (node for node in model.graph.nodes if node.type == "Const")
    assert np.shares_memory(constant.op.evaluate(weights=model.weights), large)


def test_built_network_passes_check():
    x = build.parameter([2, 3], name="x")
    gathered = build.gather_elements(x, build.constant(np.array([[0, -1, 5], [0, 0, 0]])), axis=1, name="odd")
    model = build.model(build.result(gathered, name="y"))
    report = ir_exec.check_model(model)
    assert [error.code for error in report.errors] == [Code.index_out_of_range]
    assert 'layer 2 "odd"' in str(report.errors[0])
    sound = build.model(build.result(build.relu(x), name="y"))
    assert ir_exec.check_model(sound).ok
    assert ir_exec.check_model(sound, shapes="x[1..4,?]").outputs == {"y": "f32[1..4,?]"}
    assert ir_exec.check_model(sound.reshape({"x": "?,3"})).diagnostics[0].code == Code.unbounded_dim


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_built_networks_can_be_copied(copied):
    x = build.parameter([2], name="x")
    (y,) = build.loop(2, None, lambda i, sum: (None, [build.add(sum, [1.0, 2.0])], []), carried=[x])
    model = copied(build.model(build.result(y, name="y")))
    assert run(model, x=np.zeros(2, np.float32))[0].tolist() == [2, 4]
    more = build.Editor(model).insert("y", lambda y: build.multiply(y, [1.0, 10.0])).model()
    assert run(more, x=np.zeros(2, np.float32))[0].tolist() == [2, 40]


def test_unused_input_keeps_its_position():
    x, unread = build.parameter([2], name="x"), build.parameter([3], "i64", name="unread")
    model = build.model(build.result(build.relu(x), name="y"), [unread, x])
    assert [port.name for port in model.inputs] == ["unread", "x"]
    with pytest.raises(ir_exec.GraphError, match=naming("x")):
        build.model(build.relu(x), [unread])


def test_random_layers_of_equal_attributes_draw_their_own_numbers():
    first, other = (
        build.random_uniform([4], 0.0, 1.0, output_type="f32", global_seed=1, op_seed=2, name=name) for name in "ab"
    )
    assert first.layer.op is not other.layer.op
    assert build.relu(first).layer.op is build.relu(other).layer.op


def test_outputs_whose_number_only_the_caller_knows():
    x, lengths = build.parameter("?,4", name="x"), build.parameter("?", "i64", name="lengths")
    with pytest.raises(ir_exec.GraphError, match=naming("3")):
        build.variadic_split(x, 0, lengths)
    parts = build.variadic_split(x, 0, lengths, outputs=2)
    assert [part.shape for part in parts] == [[None, 4]] * 2
    assert len(build.variadic_split(x, 1, [1, 3])) == 2
    assert len(build.split(x, 1, num_splits=1)) == 1
    with pytest.raises(ir_exec.GraphError, match=naming("2", "3")):
        build.split(x, 1, num_splits=2, outputs=3)


def test_a_result_may_be_read_like_its_value():
    x = build.parameter([2], name="x")
    y = build.result(build.relu(x), name="y")
    assert build.exp(y).layer.inputs[0].layer.type == "ReLU"


@pytest.mark.parametrize(
    ("data", "element_type", "expected"),
    [
        (1, None, "i64[]"),
        (1.5, None, "f32[]"),
        (True, None, "boolean[]"),
        ("a", None, "string[]"),
        ([], None, "i64[0]"),
        ([[1, 2], [3, 4]], "u8", "u8[2,2]"),
        ([1, 2.5], None, "f32[2]"),
        (np.float64(1), None, "f64[]"),
        (np.arange(3), np.float16, "f16[3]"),
        (["a", "b"], "string", "string[2]"),
        (2**63, "u64", "u64[]"),
        (np.zeros((0, 2), np.float32), None, "f32[0,2]"),
        ([-8, 7], "i4", "i4[2]"),
        (np.ones((2, 3), np.float32).T, None, "f32[3,2]"),
    ],
)
def test_constants(data, element_type, expected):
    value = build.constant(data, element_type)
    assert str(value.type) == expected
    assert not value.constant.flags.writeable


@pytest.mark.parametrize(
    ("data", "element_type", "told"),
    [
        (1.5, "i32", naming("float32", "i32")),
        (300, "u8", naming("int64", "u8")),
        (-1, "u8", naming("int64", "u8")),
        ("a", "f32", naming("object", "f32")),
        (1, "string", naming("int64", "string")),
        (1, "f33", naming("f33")),
        ([[1], [1, 2]], None, naming("list")),
        (np.array([1j]), None, naming("complex128")),
        (object(), None, naming("object")),
    ],
)
def test_invalid_constants(data, element_type, told):
    with pytest.raises(ir_exec.IRError, match=told):
        build.constant(data, element_type)


def test_small_constants_keep_their_inferred_values():
    axes = np.array([1])
    x = build.parameter([2, 3], name="x")
    model = build.model(build.reduce_max(x, axes))
    axes[0] = 0
    assert run(model, x=np.arange(6, dtype=np.float32).reshape(2, 3))[0].tolist() == [2, 5]


def test_bodies_built_in_threads_do_not_mix():
    def run_loop(size):
        x = build.parameter([size], name="x")
        (y,) = build.loop(2, None, lambda i, sum: (None, [build.add(sum, x)], []), carried=[x])
        return run(build.model(y), x=np.full(size, size, np.float32))[0].tolist()

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(run_loop, range(1, 9))) == [[3 * size] * size for size in range(1, 9)]


def test_operators_of_a_users_own(tmp_path):
    class Scale(ir_exec.Op):
        inputs = (ir_exec.In("data"),)

        factor: float
        shifted: bool = False

        def infer(self, data):
            return data.without_values()

        def evaluate(self, data):
            return data * np.float32(self.factor)

    x = build.parameter([2], name="x")
    with pytest.raises(ir_exec.GraphError, match=naming("Scale")):
        build.op("Scale", x, factor=2.0)
    ir_exec.register_op("Scale", version="mine")(Scale)
    try:
        y = build.op("Scale", x, factor=2.0)
        assert build.op("Scale", x, factor=2.0, opset="mine").layer.version == y.layer.version == "mine"
        with pytest.raises(ir_exec.InvalidAttributeError, match=naming("factor", "shifted")):
            build.op("Scale", x, fctor=2.0)
        model = build.model(build.result(y, name="y"))
        model.save(tmp_path / "scaled.xml")
        again = ir_exec.read_model(tmp_path / "scaled.xml")
        assert run(again, x=np.array([1, 2], np.float32))[0].tolist() == [2, 4]
        assert again.document.layers[1].data == {"factor": "2.0", "shifted": "false"}
    finally:
        unregister_op("Scale", "mine")
