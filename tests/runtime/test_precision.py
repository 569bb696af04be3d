"""Networks of 16-bit floats: computed in f32, rounded where they declare it, or computed in their own types."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import ir_exec
from ir_exec import build
from ir_exec.extension import Op, register_op
from ir_exec.graph import Node
from ir_exec.ops import In
from ir_exec.ops.base import registry
from ir_exec.runtime.precision import AS_IN_FILE, run_as_f32
from ir_exec.types import Array, ElementType, Shape, TensorType, element_types
from tests.conformance.build import IRFile
from tests.conformance.networks import arrays, networks
from tests.helpers.facts import naming
from tests.helpers.network_text import NetworkText, Output, tied_input, tied_output
from tests.helpers.short_floats import in_short_floats

SHORT = ("f16", "bf16")
NETWORKS = networks()

both = pytest.mark.parametrize("element_type", SHORT)

LOST = {"f16": 2048.0, "bf16": 256.0}
"""A number to which a half added in the type gives the number itself, and one in f32 does not."""


def of(element_type: str, *values: float) -> Array:
    return np.array(values).astype(ElementType[element_type].dtype)


def compile_file(file: IRFile, **options: Any) -> ir_exec.CompiledModel:
    return ir_exec.compile_model(ir_exec.read_model(file.xml, weights=file.weights), **options)


def outputs(file: IRFile, **options: Any) -> list[Array]:
    return list(compile_file(file, **options)(list(file.inputs)).values())


def plus_minus(net: NetworkText, x: Output, element_type: str) -> Output:
    """x + LOST - LOST, which is x where it is computed in f32."""
    lost = net.const(of(element_type, LOST[element_type]))
    return net.op("Subtract", net.op("Add", x, lost), lost)


@both
def test_values_are_computed_in_f32_and_returned_in_output_type(element_type: str) -> None:
    net = NetworkText()
    net.result(plus_minus(net, net.parameter("1", element_type), element_type))
    file = net.file(of(element_type, 0.5))
    (result,) = outputs(file)
    assert ElementType.of(result) is ElementType[element_type]
    assert result.tolist() == [0.5]


@both
def test_precision_file_rounds_after_every_layer(element_type: str) -> None:
    net = NetworkText()
    net.result(plus_minus(net, net.parameter("1", element_type), element_type))
    (result,) = outputs(net.file(of(element_type, 0.5)), precision="file")
    assert ElementType.of(result) is ElementType[element_type]
    assert result.tolist() == [0]


@both
def test_outputs_are_rounded_to_their_type(element_type: str) -> None:
    net = NetworkText()
    x = net.parameter("1", element_type)
    net.result(net.op("Add", x, net.const(of(element_type, LOST[element_type]))))
    (result,) = outputs(net.file(of(element_type, 0.5)))
    assert ElementType.of(result) is ElementType[element_type]
    assert result.tolist() == [LOST[element_type]]


@both
def test_convert_rounds(element_type: str) -> None:
    net = NetworkText()
    net.result(
        net.op("Convert", net.op("Convert", net.parameter("1"), destination_type=element_type), destination_type="f32")
    )
    file = net.file(of("f32", LOST[element_type] + 0.5))
    assert [output.tolist() for output in outputs(file)] == [[LOST[element_type]]]


@both
@pytest.mark.parametrize("type", ["Convert", "ConvertLike"])
def test_conversion_to_same_type_is_removed(type: str, element_type: str) -> None:
    net = NetworkText()
    x = net.parameter("1", element_type)
    lost = net.const(of(element_type, LOST[element_type]))
    sums = net.op("Add", x, lost)
    same = (
        net.op("ConvertLike", sums, x)
        if type == "ConvertLike"
        else net.op("Convert", sums, destination_type=element_type)
    )
    net.result(net.op("Subtract", same, lost))
    assert outputs(net.file(of(element_type, 0.5)))[0].tolist() == [0.5]


@both
def test_convert_like_rounds_to_the_type_of_the_file(element_type: str) -> None:
    net = NetworkText()
    data, like = net.parameter("1"), net.parameter("?", element_type)
    net.result(net.op("Convert", net.op("ConvertLike", data, like), destination_type="f32"))
    run = compile_file(net.file())
    for length in (0, 1, 2, 3):
        (result,) = run(
            [of("f32", LOST[element_type] + 0.5), np.zeros(length, ElementType[element_type].dtype)]
        ).values()
        assert result.tolist() == [LOST[element_type]]


def test_one_short_float_is_rounded_to_the_other() -> None:
    net = NetworkText()
    x = net.parameter("1", "f16")
    net.result(net.op("Convert", net.op("Convert", x, destination_type="bf16"), destination_type="f32"))
    assert outputs(net.file(of("f16", 257)))[0].tolist() == [256]


@both
@pytest.mark.parametrize("opset", [3, 6])
def test_variables_keep_values_of_their_type(element_type: str, opset: int) -> None:
    """state + 0.5 is the output and the new state."""
    net = NetworkText()
    x = net.parameter("1", element_type)
    declared = {"variable_type": element_type, "variable_shape": "1"} if opset == 6 else {}
    state = net.op(
        "ReadValue", net.const(of(element_type, LOST[element_type])), opset=opset, variable_id="v", **declared
    )
    total = net.op("Add", state, x)
    net.op("Assign", total, opset=opset, variable_id="v")
    net.result(net.op("Convert", total, destination_type="f32"))
    run = compile_file(net.file())
    x_value = of(element_type, 0.5)
    assert run([x_value])[0].tolist() == [LOST[element_type] + 0.5]
    assert run([x_value])[0].tolist() == [LOST[element_type] + 0.5]
    run.reset_state()
    assert run([x_value])[0].tolist() == [LOST[element_type] + 0.5]


def test_variable_without_initial_value_is_zeros() -> None:
    net = NetworkText()
    state = net.op("ReadValue", opset=6, variable_id="v", variable_type="f16", variable_shape="2")
    total = net.op("Add", state, net.parameter("2", "f16"))
    net.op("Assign", total, opset=6, variable_id="v")
    net.result(total)
    run = compile_file(net.file())
    assert [run([of("f16", 1, 2)])[0].tolist() for _ in range(2)] == [[1, 2], [2, 4]]


@both
def test_layers_that_name_a_type_make_f32(element_type: str) -> None:
    """Numbers from 0 to 2^12, of which short floats hold a part."""
    net = NetworkText()
    ends = [net.const(np.array(value, np.int32)) for value in (0, 2**12, 1)]
    numbers = net.op("Range", *ends, opset=4, output_type=element_type)
    net.result(net.op("Convert", numbers, destination_type="i32"))
    (result,) = outputs(net.file())
    assert result.tolist() == list(range(2**12))
    assert outputs(net.file(), precision="file")[0].tolist() != list(range(2**12))


def draw_twice(element_type: str) -> Array:
    net = NetworkText()
    low, high = net.const(of(element_type, 0)), net.const(of(element_type, 1))
    numbers = net.op(
        "RandomUniform",
        net.const(np.array([50])),
        low,
        high,
        opset=8,
        output_type=element_type,
        global_seed=1,
        op_seed=2,
    )
    net.result(net.op("Convert", numbers, destination_type="f32"))
    run = compile_file(net.file())
    return np.concatenate([run([])[0] for _ in range(2)])


@both
def test_random_numbers_are_those_of_f32(element_type: str) -> None:
    np.testing.assert_array_equal(draw_twice(element_type), draw_twice("f32"))


@both
def test_observers_see_computed_values(element_type: str) -> None:
    net = NetworkText()
    net.result(plus_minus(net, net.parameter("1", element_type), element_type))
    seen: list[tuple[str, str]] = []

    def observe(node: Node, inputs: list[Array], outputs: list[Array]) -> None:
        seen.append((node.type, ElementType.of(outputs[0]).name))

    compile_file(net.file())([of(element_type, 0.5)], observe=observe)
    assert seen == [("Add", "f32"), ("Subtract", "f32")]


@both
def test_bodies_of_loops_are_computed_in_f32(element_type: str) -> None:
    """Three times + 0.5, starting at LOST; the body also converts a constant like its Parameter."""
    net = NetworkText()
    start = net.parameter("1", element_type)
    body = NetworkText(net)
    running = body.parameter("1", element_type)
    half = body.op("ConvertLike", body.const(of("f64", 0.5)), running)
    total = body.result(body.op("Add", running, half))
    going = body.result(body.const(np.array(True)))
    (output,) = net.loop(
        1,
        "Loop",
        [net.const(np.array(3)), net.const(np.array(True)), start],
        body,
        [tied_input(2, running), tied_output(3, total), tied_output(-1, going, purpose="execution_condition")],
        [(total, running)],
    )
    net.result(net.op("Convert", output, destination_type="f32"))
    assert outputs(net.file(of(element_type, LOST[element_type])))[0].tolist() == [LOST[element_type] + 1.5]


@both
def test_a_conversion_in_a_body_rounds(element_type: str) -> None:
    """The body converts 1/3 of f32 like a Parameter whose type comes from the outer network alone."""
    net = NetworkText()
    x, like = net.parameter("1"), net.parameter("2", element_type)
    body = NetworkText(net)
    data, some = body.parameter("1"), body.parameter("...", "dynamic")
    done = body.result(body.op("ConvertLike", data, some))
    (output,) = net.loop(
        1, "TensorIterator", [x, like], body, [tied_input(0, data), tied_input(1, some), tied_output(2, done)]
    )
    net.result(net.op("Convert", output, destination_type="f32"))
    third = of("f32", 1 / 3)
    (result,) = outputs(net.file(third, of(element_type, 1, 2)))
    assert result.tolist() == third.astype(ElementType[element_type].dtype).astype(np.float32).tolist()


@both
@pytest.mark.parametrize("condition", [True, False])
def test_branches_are_computed_in_f32(element_type: str, condition: bool) -> None:
    net = NetworkText()
    chosen, x = net.parameter("", "boolean"), net.parameter("1", element_type)
    bodies = []
    for sign in (1, -1):
        body = NetworkText(net)
        parameter = body.parameter("1", element_type)
        bodies.append(
            (body, parameter, body.result(body.op("Multiply", parameter, body.const(of(element_type, sign)))))
        )
    inputs = [chosen, net.op("Add", x, net.const(of(element_type, LOST[element_type])))]
    ties = [[tied_input(1, parameter), tied_output(2, done)] for _, parameter, done in bodies]
    (output,) = net.branch(1, inputs, bodies[0][0], ties[0], bodies[1][0], ties[1])
    net.result(net.op("Convert", output, destination_type="f32"))
    expected = LOST[element_type] + 0.5
    (result,) = outputs(net.file(np.array(condition), of(element_type, 0.5)))
    assert result.tolist() == [expected if condition else -expected]


# In bf16 some Converts of the others round: of weights of f16, of the steps of a diffusion.
@pytest.mark.broad(keep=16)
@pytest.mark.parametrize(
    ("name", "element_type"),
    [(name, "f16") for name in NETWORKS]
    + [(name, "bf16") for name in ("conv_zoo", "gnn_gcn_gat", "lstm", "matrix_ops", "script_if")],
)
def test_short_float_network_equals_rounded_f32_weights(name: str, element_type: str) -> None:
    """The network in f32 with weights that short floats hold; outputs differ by one rounding."""
    file, rounded = in_short_floats(NETWORKS[name], element_type)
    model = ir_exec.read_model(file.xml, weights=file.weights)
    inputs = arrays(NETWORKS[name], "inputs")
    assert inputs is not None
    short = [array.astype(port.element_type.dtype) for array, port in zip(inputs, model.inputs, strict=True)]
    actual = ir_exec.compile_model(model)(short)
    wide = [array.astype(original.dtype) for array, original in zip(short, inputs, strict=True)]
    reference = ir_exec.compile_model(NETWORKS[name], weights=rounded)(wide)
    for index in range(len(reference)):
        expected = reference[index].astype(actual[index].dtype)
        assert actual[index].shape == expected.shape
        if expected.dtype == np.float32 or reference[index].dtype != np.float32:
            np.testing.assert_array_equal(actual[index], expected)
            continue
        ours, theirs = actual[index].astype(np.float64), expected.astype(np.float64)
        last_place = {"f16": 2.0**-10, "bf16": 2.0**-7}[element_type]
        np.testing.assert_allclose(ours, theirs, rtol=last_place, atol=1e-5 * np.abs(theirs).max(initial=0))


def weighted_file(count: int, element_type: str) -> IRFile:
    """x * w1 * w2 ..., with weights of 64 KiB of 16-bit floats each, which all come before the products."""
    net = NetworkText()
    x = net.parameter("32768", element_type)
    random = np.random.default_rng(0)
    constants = [net.const(random.uniform(0.5, 2, 2**15).astype(ElementType[element_type].dtype)) for _ in range(count)]
    for constant in constants:
        x = net.op("Multiply", x, constant)
    net.result(x)
    return net.file(of(element_type, *np.ones(2**15)))


@both
def test_expanded_weights_take_twice_their_bytes_and_kept_ones_none(element_type: str) -> None:
    file = weighted_file(4, element_type)
    expanded, compact = compile_file(file), compile_file(file, weight_mode="keep")
    np.testing.assert_array_equal(expanded(list(file.inputs))[0], compact(list(file.inputs))[0])
    assert expanded.memory_plan().constants == 4 * 2**17
    plan = compact.memory_plan()
    assert plan.constants == 0
    # One weight at a time, the value before it and the value after it.
    assert plan.peak <= 3 * 2**17


def test_kept_constant_as_output() -> None:
    net = NetworkText()
    weights = np.arange(2**13).astype(np.float16)
    constant = net.const(weights)
    net.result(constant)
    net.result(net.op("Add", constant, constant))
    first, second = outputs(net.file(), weight_mode="keep")
    np.testing.assert_array_equal(first, weights)
    np.testing.assert_array_equal(second, weights + weights)


def test_other_precision_keeps_weights() -> None:
    file = weighted_file(2, "f16")
    run = compile_file(file, precision="file")
    run(list(file.inputs))
    assert run.memory_plan().constants == 0


@pytest.mark.parametrize("precision", ["f16", "F32", "", None, 32])
def test_another_precision_is_refused(precision: Any) -> None:
    net = NetworkText()
    net.result(net.parameter("1"))
    with pytest.raises(ir_exec.EvaluationError, match=naming("f32", "file")) as error:
        compile_file(net.file(), precision=precision)
    assert error.value.code == "IR704"


def test_a_pickle_keeps_the_precision() -> None:
    net = NetworkText()
    net.result(plus_minus(net, net.parameter("1", "f16"), "f16"))
    copy = pickle.loads(pickle.dumps(compile_file(net.file(), precision="file")))
    assert copy([of("f16", 0.5)])[0].tolist() == [0]


def test_inputs_keep_their_declared_type() -> None:
    net = NetworkText()
    net.result(net.op("ReLU", net.parameter("1", "f16")))
    run = compile_file(net.file())
    assert run([[0.5]])[0].dtype == np.float16
    with pytest.raises(ir_exec.ElementTypeError, match=naming("complex64", "f16")):
        run([np.array([0.5j], np.complex64)])


def test_results_share_no_memory_with_inputs() -> None:
    net = NetworkText()
    x = net.parameter("2", "f16")
    for _ in range(2):
        net.result(x)
    data = of("f16", 1, 2)
    first, other = compile_file(net.file())([data]).values()
    first[:] = 0
    assert data.tolist() == other.tolist() == [1, 2]


def test_open_type_input_keeps_its_type() -> None:
    net = NetworkText()
    net.result(plus_minus(net, net.parameter("1", "dynamic"), "f16"))
    (result,) = outputs(net.file(of("f16", 0.5)))
    assert result.dtype == np.float16
    assert result.tolist() == [0]


def test_operators_of_short_floats_take_f32() -> None:
    short = element_types(SHORT)
    for cls in registry.registered():
        for input in cls.inputs:
            assert not input.types & short or ElementType.f32 in input.types, f"{cls.__name__}.{input.name}"


class Lowered(Op):
    """data - 2048, of f16 or f32; the result is always f16."""

    inputs = (In("data", types=element_types("f16 f32")),)

    def infer(self, data: TensorType) -> TensorType:
        return TensorType(ElementType.f16, data.shape)

    def evaluate(self, data: Array) -> Array:
        return (data - np.float32(2048)).astype(np.float16)


class OnlyShort(Op):
    """data + data of f16 alone, and whether it was f16."""

    inputs = (In("data", types=element_types("f16")),)
    outputs = ("output", "is_short")

    def infer(self, data: TensorType) -> tuple[TensorType, TensorType]:
        return data.without_values(), TensorType(ElementType.boolean, Shape([]))

    def evaluate(self, data: Array) -> tuple[Array, Array]:
        return data + data, np.array(data.dtype == np.float16)


@pytest.mark.usefixtures("forgotten_extensions")
@pytest.mark.parametrize("dim", ["1", "?"])
def test_custom_operators_get_f32_by_default(dim: str) -> None:
    register_op("Lowered", version="extension")(Lowered)
    register_op("OnlyShort", version="extension")(OnlyShort)
    net = NetworkText()
    x = net.op("Add", net.parameter(dim, "f16"), net.const(of("f16", LOST["f16"])))
    lowered = net.op("Lowered", x, opset=1)
    double, is_short = net.outputs(2, "OnlyShort", x, opset=1)
    net.result(net.op("Convert", net.op("Add", lowered, x), destination_type="f32"))
    net.result(net.op("Convert", net.op("Add", double, x), destination_type="f32"))
    net.result(is_short)
    file = net.file(of("f16", 1))
    xml = file.xml
    for name in (b"Lowered", b"OnlyShort"):
        xml = xml.replace(b'type="%b" version="opset1"' % name, b'type="%b" version="extension"' % name)
    # 2049 is no f16: the operator that takes nothing else got 2048, the other layers continue with 2049.
    result = outputs(IRFile(xml, file.weights, file.inputs))
    assert [array.tolist() for array in result] == [[1 + 2049], [4096 + 2049], True]


class Turned(Op):
    """The elements of data in reverse order."""

    inputs = (In("data"),)
    is_data_movement = True

    def infer(self, data: TensorType) -> TensorType:
        return data.without_values()

    def evaluate(self, data: Array) -> Array:
        return data[::-1].copy()


@pytest.mark.usefixtures("forgotten_extensions")
@pytest.mark.parametrize("is_mover", [True, False])
def test_an_operator_of_users_may_be_data_movement(is_mover: bool) -> None:
    register_op("Turned", version="extension")(type("Turned", (Turned,), {"is_data_movement": is_mover}))
    model = build.model([build.op("Turned", build.parameter([2], "f16"), opset="extension")])
    assert (run_as_f32(model) is AS_IN_FILE) is is_mover
    (result,) = ir_exec.compile_model(model)([of("f16", 0.1, 0.2)]).values()
    assert np.array_equal(result, of("f16", 0.2, 0.1))


@pytest.mark.parametrize(("reduction", "is_as_in_file"), [("none", True), ("sum", False)])
def test_data_movement_network_of_16_bit_floats_runs_as_stored(reduction: str, is_as_in_file: bool) -> None:
    data = build.parameter([2, 3], "f16")
    moved = build.scatter_elements_update(
        build.transpose(data, [1, 0]), [[0, 0]], build.slice(data, [0, 0], [1, 2], [1, 1]), 0, reduction=reduction
    )
    model = build.model([build.concat([moved, moved], 0)])
    assert (run_as_f32(model) is AS_IN_FILE) is is_as_in_file
    assert (run_as_f32(build.model([build.relu(moved)])) is AS_IN_FILE) is False
    array = np.arange(6, dtype=np.float16).reshape(2, 3) + np.float16(0.1)
    expected = array.T.copy()
    expected[0] = array[0, :2] if reduction == "none" else expected[0] + array[0, :2]
    actual = ir_exec.compile_model(model)([array])[0]
    assert actual.dtype == np.float16
    assert np.array_equal(actual, np.concatenate([expected, expected]))


@pytest.mark.parametrize("precision", ["f32", "file"])
@both
def test_padding_is_lowest_value_of_file_type(element_type: str, precision: Any) -> None:
    lowest = float({"f16": -65504.0, "bf16": -3.3895313892515355e38}[element_type])
    x = build.parameter([1, 1, 3], element_type, name="x")
    twice = build.add(x, x)
    segments = build.segment_max(build.squeeze(twice, [0, 1]), np.array([0, 0, 2]), np.array(4), fill_mode="lowest")
    pooled, _ = build.max_pool(
        twice,
        strides=[1],
        pads_begin=[3],
        pads_end=[0],
        kernel_sizes=[2],
        dilations=[1],
        auto_pad="explicit",
        rounding_type="floor",
        index_element_type="i64",
        axis=0,
    )
    model = build.model([build.result(segments), build.result(pooled)], [x])
    data = of(element_type, 1.0, 2.0, -np.inf).reshape(1, 1, 3)
    actual = ir_exec.compile_model(model, precision=precision)([data])
    assert actual[0].astype(np.float64).tolist() == [4.0, lowest, -np.inf, lowest]
    assert actual[1].astype(np.float64).ravel().tolist() == [lowest, lowest, 2.0, 4.0, 4.0]


def test_no_class_is_made_for_a_network() -> None:
    """Operators that replace others repeat the facts of their classes, without additional classes."""
    data = build.parameter([1, 2, 6, 6], "f16", name="x")
    pooled = build.op(
        "MaxPool", data, strides=[2, 2], dilations=[1, 1], kernel=[2, 2], pads_begin=[0, 0], pads_end=[0, 0]
    )
    converted = build.op("Convert", pooled[0], destination_type="f16")
    model = build.model([pooled[1], build.op("Add", converted, np.array([2], np.float16))])
    classes = set(Op.__subclasses__())
    ops = run_as_f32(model).ops
    assert {node.type for node in ops} >= {"MaxPool", "Const"}
    (pool,) = [(node, op) for node, op in ops.items() if node.type == "MaxPool"]
    assert pool[0].op is not None
    assert [pool[1].output_name(position) for position in (0, 1)] == [
        pool[0].op.output_name(position) for position in (0, 1)
    ]
    assert (pool[1].outputs, pool[1].fills_with_lowest) == (pool[0].op.outputs, True)
    assert set(Op.__subclasses__()) == classes
