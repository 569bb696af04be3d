"""Ranks of inputs: a scalar for a vector, or a vector for a scalar, is a warning if onnxruntime refuses it."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import defs, helper

from ir_exec import check_model, compile_model
from ir_exec.onnx.checking.constraint_table import CONSTRAINTS
from ir_exec.onnx.lowering.registry import MICROSOFT
from ir_exec.onnx.reading.signatures import find_signature, operators_of
from ir_exec.types import Array, ElementType
from tests.onnx.files import model

SCALAR, VECTOR = "Constant<value_int = {}>()", "Constant<value_ints = [{}]>()"
NUMBER, NUMBERS = "Constant<value_float = {}>()", "Constant<value_floats = [{}]>()"

AXES = (13, 18)
"""The versions in which axes of reductions became inputs."""

REDUCTIONS = [
    (f"y = {name}(x, {SCALAR.format(0)})", max(AXES) if name != "ReduceSum" else min(AXES), "axes")
    for name in (
        *("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax"),
        *("ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"),
    )
]

WARNED: list[tuple[str, int, str]] = [
    *REDUCTIONS,
    (f"y, z = TopK(x, {SCALAR.format(2)})", 21, "K"),
    (f"y = Squeeze(w, {SCALAR.format(0)})", 21, "axes"),
    (f"y = Range({VECTOR.format(0)}, {SCALAR.format(4)}, {SCALAR.format(1)})", 21, "start"),
    (f"y = Range({SCALAR.format(0)}, {VECTOR.format(4)}, {SCALAR.format(1)})", 21, "limit"),
    (f"y = Range({SCALAR.format(0)}, {SCALAR.format(4)}, {VECTOR.format(1)})", 21, "delta"),
    (f"y = DFT(r, {VECTOR.format(3)})", 20, "dft_length"),
    (f"y = DFT(r, , {VECTOR.format(1)})", 20, "axis"),
    ("s = Constant<value = int64[1,1] {0}>() y = CumProd(x, s)", 26, "axis"),
    ("s = Constant<value = int64[1,1] {0}>() y = Trilu(x, s)", 21, "k"),
    ("s = Constant<value = int64[1,1] {2}>() y, z = TopK(x, s)", 21, "K"),
    (f"y = HannWindow({VECTOR.format(4)})", 21, "size"),
    (f"y = HammingWindow({VECTOR.format(4)})", 21, "size"),
    (f"y = BlackmanWindow({VECTOR.format(4)})", 21, "size"),
]
"""Nodes, the opset, and the input that has another rank than ONNX's text requires."""

CLEAN: list[tuple[str, int]] = [
    (f"y = Clip(x, {NUMBERS.format(0.5)})", 21),
    (f"y = Clip(x, , {NUMBERS.format(0.5)})", 21),
    (f"y = Pad(x, {VECTOR.format('1, 0, 0, 1')}, {NUMBERS.format(0.5)})", 21),
    (f"y = CumProd(x, {VECTOR.format(0)})", 26),
    (f"y = Unsqueeze(x, {SCALAR.format(0)})", 21),
    (f"y = CumSum(x, {VECTOR.format(0)})", 21),
    (f"y = Trilu(x, {VECTOR.format(1)})", 21),
    (f"y = Expand(w, {SCALAR.format(4)})", 21),
    ("s = Constant<value = int64[1,2] {2, 3}>() y = ConstantOfShape(s)", 21),
    ("s = Constant<value = int64[1,2] {3, 4}>() y = Expand(x, s)", 21),
    ("s = Constant<value = float[1,2] {1.0, 2.0}>() y = Resize(x, , s)", 19),
    (f"y, z = TopK(x, {VECTOR.format(2)})", 21),
    (f"y = ReduceSum(x, {VECTOR.format(0)})", 21),
    (f"y = Range({SCALAR.format(0)}, {SCALAR.format(4)}, {SCALAR.format(1)})", 21),
]
"""Nodes that onnxruntime runs; ONNX's text requires other ranks of some."""

INPUTS = "float[3,4] x, float[1,4] w, float[1,4,1] r"


def make_model(node: str, opset: int) -> onnx.ModelProto:
    """The model of a node, with its constants as further nodes."""
    nodes: list[str] = []
    while "Constant<" in node and not node.startswith("s = "):
        before, _, after = node.rpartition("Constant<")
        text, _, tail = after.partition("()")
        name = f"c{len(nodes)}"
        nodes.append(f"{name} = Constant<{text}()")
        node = f"{before}{name}{tail}"
    return model(f"g ({INPUTS}) => (y) {{ {' '.join(nodes)} {node} }}", opset=opset)


def feed() -> dict[str, Array]:
    numbers = np.linspace(0.1, 1, 12, dtype=np.float32)
    return {"x": numbers.reshape(3, 4), "w": numbers[:4].reshape(1, 4), "r": numbers[:4].reshape(1, 4, 1)}


def run_in_onnxruntime(proto: onnx.ModelProto) -> list[Any]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return list(session.run(None, feed()))


@pytest.mark.parametrize("row", WARNED, ids=lambda row: f"{row[0].partition('= ')[2].partition('(')[0]}-{row[2]}")
def test_rank_refused_by_onnxruntime_is_a_warning(row: tuple[str, int, str]) -> None:
    node, opset, port = row
    proto = make_model(node, opset)
    diagnostics = [
        diagnostic for diagnostic in check_model(proto.SerializeToString()).diagnostics if diagnostic.severity != "info"
    ]
    assert [(diagnostic.code, diagnostic.severity, diagnostic.location.port) for diagnostic in diagnostics] == [
        ("IR501", "warning", port)
    ]
    with pytest.raises(Exception):  # noqa: B017  # of many kinds
        run_in_onnxruntime(proto)
    assert compile_model(proto.SerializeToString())(feed())[0].size


@pytest.mark.parametrize("row", CLEAN, ids=lambda row: row[0])
def test_rank_accepted_by_onnxruntime_is_clean(row: tuple[str, int]) -> None:
    proto = make_model(*row)
    assert not [
        diagnostic for diagnostic in check_model(proto.SerializeToString()).diagnostics if diagnostic.severity != "info"
    ]
    expected = run_in_onnxruntime(proto)[0]
    output = compile_model(proto.SerializeToString())(feed())[0]
    assert output.shape == expected.shape
    np.testing.assert_allclose(output, expected, rtol=1e-5, atol=1e-6)


QUANTIZED = "float s, uint8 z, float[2] t, uint8[2] u"
CONVOLVED = f"uint8[1,2,3,3] x, uint8[2,2,1,1] w, {QUANTIZED}"
MULTIPLIED = f"uint8[2,3] x, uint8[3,2] w, {QUANTIZED}"
PADS = "p = Constant<value_ints = [{}]>()"

ERRORS: list[tuple[str, str, str, str]] = [
    # inputs, nodes, code, port
    ("float[3,4] x", f"{PADS.format('-5, 0, 1, 0')} y = Pad(x, p)", "IR505", "pads"),
    (
        "float[3,4] x",
        f"{PADS.format('-2, -3')} a = Constant<value_ints = [-1]>() y = Pad(x, p, , a)",
        "IR505",
        "pads",
    ),
    ("float[3,N] x", f'{PADS.format("0, 0, -4, 0")} y = Pad<mode = "edge">(x, p)', "IR505", "pads"),
    (CONVOLVED, "y = QLinearConv(x, s, z, w, s, z, t, z)", "IR502", "y_scale"),
    (CONVOLVED, "y = QLinearConv(x, s, z, w, s, z, s, u)", "IR502", "y_zero_point"),
    (MULTIPLIED, "y = QLinearMatMul(x, s, z, w, s, z, t, z)", "IR502", "y_scale"),
    (MULTIPLIED, "y = QLinearMatMul(x, s, z, w, s, z, s, u)", "IR502", "y_zero_point"),
]


@pytest.mark.parametrize("row", ERRORS, ids=lambda row: row[1].rpartition("= ")[2])
def test_contradictions_are_errors(row: tuple[str, str, str, str]) -> None:
    """No runtime takes them."""
    inputs, nodes, code, port = row
    proto = model(f"g ({inputs}) => (y) {{ {nodes} }}", opset=21)
    (diagnostic,) = check_model(proto.SerializeToString()).errors
    assert (diagnostic.code, diagnostic.location.port) == (code, port)
    arrays = {}
    for declared in proto.graph.input:
        dtype = helper.tensor_dtype_to_np_dtype(declared.type.tensor_type.elem_type)
        arrays[declared.name] = np.ones([dim.dim_value or 4 for dim in declared.type.tensor_type.shape.dim], dtype)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    with pytest.raises(Exception):  # noqa: B017  # of many kinds
        onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(
            None, arrays
        )


KINDS = ("scale", "zero_point")

PER_TENSOR = [
    *(f"com.microsoft.{name}(x, {{}})" for name in ("QLinearSigmoid", "QLinearLeakyRelu", "QLinearGlobalAveragePool")),
    "com.microsoft.QLinearAveragePool<kernel_shape = [1, 1]>(x, {})",
    "com.microsoft.QLinearConv(x, s, z, w, s, z, {1})",
]


@pytest.mark.parametrize("node", PER_TENSOR)
@pytest.mark.parametrize("parameters", ["t, z, s, z", "s, u, s, z", "s, z, t, z", "s, z, s, u"])
def test_quantization_per_tensor_of_microsoft(node: str, parameters: str) -> None:
    first, second = parameters[:4], parameters[6:]
    call = node.format(parameters, second)
    if "QLinearConv" in node:
        call = call.replace("x, s, z", f"x, {first}", 1)
    proto = model(f"g ({CONVOLVED}) => (y) {{ y = {call} }}", further='"com.microsoft" : 1')
    (diagnostic,) = check_model(proto.SerializeToString()).errors
    assert (diagnostic.code, diagnostic.location.port) in [
        ("IR502", f"{x}_{suffix}") for x in "xXyY" for suffix in KINDS
    ]
    arrays = {
        declared.name: np.ones(
            [dim.dim_value for dim in declared.type.tensor_type.shape.dim],
            np.float32 if declared.name in "st" else np.uint8,
        )
        for declared in proto.graph.input
    }
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    with pytest.raises(Exception):  # noqa: B017  # of many kinds
        onnxruntime.InferenceSession(proto.SerializeToString(), options).run(None, arrays)


@pytest.mark.parametrize("pads", ["-3, 0, 0, 0", "-5, 0, 2, 0", "-2, -4, -1, 0"])
def test_pads_leaving_no_element_are_clean(pads: str) -> None:
    proto = make_model(f"y = Pad(x, {VECTOR.format(pads)})", 21)
    assert not check_model(proto.SerializeToString()).errors
    assert compile_model(proto.SerializeToString())(feed())[0].size == 0


def test_pads_of_old_versions_are_attributes() -> None:
    proto = model("g (float[3,4] x) => (y) { y = Pad<pads = [-5, 0, 1, 0]>(x) }", opset=2)
    (diagnostic,) = check_model(proto.SerializeToString()).errors
    assert (diagnostic.code, diagnostic.location.layer_type) == ("IR505", "Pad")


def test_negative_sizes_of_crop_and_resize() -> None:
    text = """g (float[1,1,4,4] x, float[1,4] r, int32[1] b) => (y) {
        c = Constant<value_ints = [2, -2]>() d = Cast<to = 6>(c) y = com.microsoft.CropAndResize(x, r, b, d) }"""
    (diagnostic,) = check_model(model(text, further='"com.microsoft" : 1').SerializeToString()).errors
    assert (diagnostic.code, diagnostic.location.port) == ("IR704", "crop_size")


def test_condition_of_qlinear_where_is_boolean() -> None:
    text = """g (bool[2] c, uint8[2] a, float s, uint8 z) => (y) {
        y = com.microsoft.QLinearWhere(c, a, s, z, a, s, z, s, z) }"""
    assert not check_model(model(text, further='"com.microsoft" : 1').SerializeToString()).diagnostics


ONLY_OF_ONNX = {"float8e4m3fnuz", "float8e5m2fnuz", "f4e2m1"}


def test_types_of_microsoft_are_element_types() -> None:
    """A misspelled one would be a warning for every file."""
    element_types = {element_type.name for element_type in ElementType} | ONLY_OF_ONNX
    for operator in operators_of(MICROSOFT):
        signature = find_signature(MICROSOFT, operator, 1)
        assert signature is not None
        for declared in signature.inputs:
            assert declared.kinds <= element_types, (operator, declared)


TEXT_OF_SCALARS = ("scalar", "0-D")


def test_scalars_of_the_text_are_declared_or_accepted() -> None:
    """onnxruntime accepts vectors of one element for the accepted ones."""
    accepted = {"Gemm", "LinearAttention", "ConstantOfShape", "SequenceAt", "SequenceErase", "SequenceInsert"}
    accepted |= {"SplitToSequence", "ConvInteger", "MatMulInteger", "Pad"}
    for schema in defs.get_all_schemas():
        if schema.domain or schema.name in accepted:
            continue
        names = [input.name for input in schema.inputs if any(word in input.description for word in TEXT_OF_SCALARS)]
        assert not names or schema.name in CONSTRAINTS, (schema.name, names)


@pytest.mark.parametrize(("outside", "inside"), [("bool[1]", "bool"), ("bool", "bool[1]")])
def test_condition_of_different_rank_is_a_warning(outside: str, inside: str) -> None:
    text = f"""g (int64 n, {outside} c, float[2] x) => (y) {{ y = Loop<body = b (int64 i, {inside} d, float[2] v)
        => ({inside} e, float[2] w) {{ e = Identity(d) w = Neg(v) }}>(n, c, x) }}"""
    proto = model(text)
    (diagnostic,) = check_model(proto.SerializeToString()).diagnostics
    assert (diagnostic.code, diagnostic.severity, diagnostic.location.layer_type) == ("IR606", "warning", "Loop")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    with pytest.raises(Exception):  # noqa: B017  # of many kinds
        onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    condition = np.ones((1,) if outside == "bool[1]" else (), bool)
    values = compile_model(proto.SerializeToString())([np.array(3), condition, np.ones(2, np.float32)])[0]
    assert values.tolist() == [-1, -1]
