"""Constraints of ONNX's operators on their inputs and attributes: the code and the input of each violation."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import defs, numpy_helper

from ir_exec import IRError, check_model, compile_model
from ir_exec.onnx.checking.constraint_table import CONSTRAINTS
from ir_exec.onnx.checking.ml_constraint_table import ML_CONSTRAINTS
from tests.onnx.files import model

X = "float[2,3,4,5] x"

ROWS: list[tuple[str, int, str, str, str, str | None]] = [
    # inputs, opset, nodes, code, operator, port
    (X, 13, "y = Mod(x, x)", "IR302", "Mod", None),
    (X, 13, "y = LpNormalization<p = 3>(x)", "IR302", "LpNormalization", None),
    (X, 18, "y, z = Split<axis = 2>(x)", "IR106", "Split", None),
    (f"{X}, int64[2] s", 18, "y, z = Split<axis = 2, num_outputs = 2>(x, s)", "IR106", "Split", None),
    (X, 18, "y, z = Split<axis = 2, num_outputs = 3>(x)", "IR302", "Split", None),
    (X, 13, "y = Gemm(x, x)", "IR501", "Gemm", "A"),
    ("float[2,3] x, float[4,5] w", 13, "y = Gemm(x, w)", "IR502", "Gemm", "B"),
    (
        "float16[2,3,4] x, float[3] s",
        13,
        "y = BatchNormalization(x, s, s, s, s)",
        "IR402",
        "BatchNormalization",
        "scale",
    ),
    (f"{X}, float[3,1] s", 13, "y = BatchNormalization(x, s, s, s, s)", "IR501", "BatchNormalization", "scale"),
    (f"{X}, float[4] s", 11, "y = Resize(x, , s)", "IR106", "Resize", "roi"),
    (
        f"{X}, float[4] s",
        13,
        'y = Resize<coordinate_transformation_mode = "tf_crop_and_resize">(x, , s)',
        "IR106",
        "Resize",
        "roi",
    ),
    (X, 13, "y = Resize(x)", "IR106", "Resize", None),
    (X, 13, 'y = Einsum<equation = "ij->ij">(x)', "IR501", "Einsum", None),
    (X, 13, 'y = Einsum<equation = "bi,bi->b">(x)', "IR302", "Einsum", None),
    ("float[3,4] x, int64[1,2] i, float[1] u", 13, "y = ScatterND(x, i, u)", "", "", None),
    ("float[3,4] x, int64[1,2] i, float[1,4] u", 13, "y = ScatterND(x, i, u)", "IR501", "ScatterND", "updates"),
    ("float[3,4] x, int64[1,3] i, float[1] u", 13, "y = ScatterND(x, i, u)", "IR502", "ScatterND", "indices"),
    ("float[3,4] x, int64[1,3] i", 13, "y = GatherND(x, i)", "IR502", "GatherND", "indices"),
    ("float[3,4] x, int64[3] i", 13, "y = GatherElements(x, i)", "IR501", "GatherElements", "indices"),
    (
        "float[3,4] x, int64[1,2] i, float[1,3] u",
        13,
        "y = ScatterElements(x, i, u)",
        "IR502",
        "ScatterElements",
        "updates",
    ),
    ("float[3,4] x", 13, "i = Constant<value_ints = [3]>() y = Gather(x, i)", "IR701", "Gather", "indices"),
    ("float[3,4] x", 13, "i = Constant<value_ints = [-4]>() y = Gather(x, i)", "IR701", "Gather", "indices"),
    (
        "float[3] x",
        13,
        "i = Constant<value_ints = [3]>() y = GatherElements(x, i)",
        "IR701",
        "GatherElements",
        "indices",
    ),
    ("float[3,4] x", 13, "i = Constant<value_ints = [0,4]>() y = GatherND(x, i)", "IR701", "GatherND", "indices"),
    (
        "float[3] x, float[1] u",
        13,
        "i = Constant<value_ints = [3]>() y = ScatterElements(x, i, u)",
        "IR701",
        "ScatterElements",
        "indices",
    ),
    (
        "float[3] x, float u",
        13,
        "i = Constant<value_ints = [-4]>() y = ScatterND(x, i, u)",
        "IR701",
        "ScatterND",
        "indices",
    ),
    (
        "float[1,6,4] b, float[1,1,6] s, int64[1] m",
        13,
        "t = Constant<value_floats = [1.5]>() y = NonMaxSuppression(b, s, m, t)",
        "IR704",
        "NonMaxSuppression",
        "iou_threshold",
    ),
    ("float[6,4] b, float[1,1,6] s", 13, "y = NonMaxSuppression(b, s)", "IR501", "NonMaxSuppression", "boxes"),
    ("float[1,6,4] b, float[1,1,5] s", 13, "y = NonMaxSuppression(b, s)", "IR502", "NonMaxSuppression", "boxes"),
    (X, 13, "y = DepthToSpace<blocksize = 0>(x)", "IR302", "DepthToSpace", None),
    (X, 13, 'y = DepthToSpace<blocksize = 1, mode = "RCD">(x)', "IR302", "DepthToSpace", None),
    (f"{X}, float[3,3,1,1] w", 13, "y = Conv<group = 0>(x, w)", "IR302", "Conv", None),
    (f"{X}, float[3,3,1,1] w", 13, 'y = Conv<auto_pad = "SAME">(x, w)', "IR302", "Conv", None),
    (f"{X}, float[3,3,1] w", 13, "y = Conv(x, w)", "IR501", "Conv", "W"),
    (f"{X}, float[3,3,1,1] w", 13, "y = Conv<strides = [1]>(x, w)", "IR302", "Conv", None),
    (f"{X}, float[3,3,1,1] w, float[2] b", 13, "y = Conv(x, w, b)", "IR502", "Conv", "B"),
    (X, 13, "y = MaxPool<kernel_shape = [0,1]>(x)", "IR302", "MaxPool", None),
    ("int32[2] x", 13, 'y = BitShift<direction = "UP">(x, x)', "IR302", "BitShift", None),
    (f"{X}, float s, int8[3] z", 13, "y = QuantizeLinear(x, s, z)", "IR502", "QuantizeLinear", "y_zero_point"),
    ("int8[3] x, float s, uint8 z", 13, "y = DequantizeLinear(x, s, z)", "IR402", "DequantizeLinear", "x_zero_point"),
    ("int8[2,2] x, uint8 z", 13, "y = MatMulInteger(x, x, z)", "IR402", "MatMulInteger", "a_zero_point"),
    (X, 13, "y = Transpose<perm = [0,1,1,3]>(x)", "IR302", "Transpose", None),
    (X, 13, "y = Transpose<perm = [0,1]>(x)", "IR302", "Transpose", None),
    (f"{X}, float[2] v, float[2] d", 13, "y = OneHot(x, d, v)", "IR502", "OneHot", "depth"),
    ("float[2] x, int32[2] i", 13, "y = Concat<axis = 0>(x, i)", "IR402", "Concat", "inputs[1]"),
    ("bool[2] c, float[2] x, double[2] z", 16, "y = Where(c, x, z)", "IR402", "Where", "Y"),
    ("float[2] x", 13, "y, z = Relu(x)", "IR114", "Relu", None),
    (
        "float[4,1,3] x, float[1,8,3] w, float[1,8,2] r",
        14,
        'y = LSTM<hidden_size = 2, direction = "both">(x, w, r)',
        "IR302",
        "LSTM",
        None,
    ),
    (
        "float[4,1,3] x, float[1,8,4] w, float[1,8,2] r",
        14,
        "y = LSTM<hidden_size = 2>(x, w, r)",
        "IR502",
        "LSTM",
        "W",
    ),
    ("float[2,1] x, int64 s", 13, "y = Expand(x, s)", "IR501", "Expand", "shape"),
    (f"{X}, float[3,3,1,1] w", 13, "y = Conv<pads = [-1,0,0,0]>(x, w)", "IR302", "Conv", None),
    (f"{X}, float[3,3,1,1] w", 13, "y = ConvTranspose<pads = [0,0,0,-1]>(x, w)", "IR302", "ConvTranspose", None),
    (X, 13, "y = MaxPool<kernel_shape = [2,2], pads = [0,-1,0,0]>(x)", "IR302", "MaxPool", None),
    (X, 13, "y = AveragePool<kernel_shape = [2,2], pads = [0,-1,0,0]>(x)", "IR302", "AveragePool", None),
    ("float[1,8,3] x", 20, "y = DFT(x)", "IR502", "DFT", "input"),
    ("float[1,8,1] x, int64[2] n", 20, "y = DFT(x, n)", "IR502", "DFT", "dft_length"),
    ("float[8] x, int64 f, float[4] w", 17, "y = STFT(x, f, w)", "IR501", "STFT", "signal"),
    ("float[1,2,4,8] x, float[9,4] c", 23, "y = RotaryEmbedding(x, c, c, x)", "IR501", "RotaryEmbedding", None),
    ("float[1,2,4,8] q, float[1,4,8] k", 23, "y = Attention(q, k, k)", "IR501", "Attention", "K"),
    ("float[1,2,4,8] q", 23, "y = Attention(q, q, q, , q)", "IR106", "Attention", "past_value"),
    (
        "float[1,3,5] x, float[4,1,2] w",
        27,
        "y, z = CausalConvWithState(x, w)",
        "IR502",
        "CausalConvWithState",
        "weight",
    ),
    (
        "float[1,2,4] q",
        27,
        'y, z = LinearAttention<q_num_heads = 1, kv_num_heads = 1, update_rule = "none">(q, q, q)',
        "IR302",
        "LinearAttention",
        None,
    ),
    ("float[2,2] x", 6, "y = Gemm(x, x)", "IR106", "Gemm", "C"),
    ("float[2,2] x", 17, "y = ai.onnx.ml.OneHotEncoder<zeros = 1>(x)", "IR106", "OneHotEncoder", None),
    ("float[2,2] x", 17, 'y = ai.onnx.ml.Normalizer<norm = "L3">(x)', "IR302", "Normalizer", None),
    (
        "float[2,2] x",
        17,
        """y = ai.onnx.ml.TreeEnsembleRegressor<n_targets = 1, nodes_treeids = [0, 0], nodes_nodeids = [0],
            nodes_featureids = [0], nodes_modes = ["LEAF"], nodes_values = [0.0], nodes_truenodeids = [0],
            nodes_falsenodeids = [0], target_ids = [0], target_treeids = [0], target_nodeids = [0],
            target_weights = [1.0]>(x)""",
        "IR302",
        "TreeEnsembleRegressor",
        None,
    ),
    (
        "int64 n, float[2,3] x",
        16,
        """y = Loop<body = b (int64 i, bool c, double[2,3] a) => (bool d, double[2,3] e)
            { d = Identity(c) e = Identity(a) }>(n, , x)""",
        "IR606",
        "Loop",
        None,
    ),
    (
        "int64 n, float[2,3] x",
        16,
        """y = Loop<body = b (int32 i, bool c, float[2,3] a) => (bool d, float[2,3] e)
            { d = Identity(c) e = Identity(a) }>(n, , x)""",
        "IR606",
        "Loop",
        None,
    ),
    (
        "float[2] i, float[3,2] x",
        16,
        """y, z = Scan<num_scan_inputs = 1, body = b (float[2] a, float[3] e)
            => (float[2] c, float[3] d) { c = Identity(a) d = Identity(e) }>(i, x)""",
        "IR606",
        "Scan",
        None,
    ),
    (
        "float[2,3] x",
        17,
        """s = SequenceConstruct(x, x) m = SequenceMap<body = b (double[2,3] a) => (double[2,3] c)
            { c = Identity(a) }>(s) y = ConcatFromSequence<axis = 0>(m)""",
        "IR606",
        "SequenceMap",
        None,
    ),
    (
        "float[2] i, float[3,2] x",
        16,
        """y, z = Scan<num_scan_inputs = 1, scan_input_directions = [2], body = b (float[2] a, float[2] e)
            => (float[2] c, float[2] d) { c = Add(a, e) d = Identity(c) }>(i, x)""",
        "IR302",
        "Scan",
        None,
    ),
]


def make_model(inputs: str, opset: int, nodes: str) -> onnx.ModelProto:
    return model(f"g ({inputs}) => (y) {{ {nodes} }}", opset=opset, further='"ai.onnx.ml" : 3')


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[4]}-{row[3]}-{row[1]}")
def test_a_violation_is_one_error_at_the_node(row: tuple[str, int, str, str, str, str | None]) -> None:
    inputs, opset, nodes, code, operator, port = row
    proto = make_model(inputs, opset, nodes)
    diagnostics = [
        diagnostic for diagnostic in check_model(proto.SerializeToString()).diagnostics if diagnostic.severity != "info"
    ]
    if not code:
        assert not diagnostics
        return
    assert [(diagnostic.code, diagnostic.severity, diagnostic.location.layer_type) for diagnostic in diagnostics] == [
        (code, "error", operator)
    ]
    if port is not None:
        assert diagnostics[0].location.port == port
    with pytest.raises(IRError) as caught:
        compile_model(proto.SerializeToString())
    assert caught.value.code == code


VALID: list[tuple[str, int, str]] = [
    ("float[2] x", 28, "y = Mod(x, x)"),
    # The definition of this version misspells its default direction.
    ("float[2,1,3] x, float[1,6,3] w, float[1,6,2] r", 1, "y = GRU<hidden_size = 2>(x, w, r)"),
    ("float[2] x", 13, "y = Mod<fmod = 1>(x, x)"),
    ("int32[2] x", 13, "y = Mod(x, x)"),
    (X, 13, "y, z = Split<axis = 2>(x)"),
    (X, 18, "y, z = Split<axis = 2, num_outputs = 2>(x)"),
    ("float[2,3] x, float[5,2] w, float[5] c", 13, "y = Gemm<transA = 1, transB = 1>(x, w, c)"),
    ("float[2,3] x", 13, "i = Constant<value_ints = [-3,2]>() y = Gather<axis = 1>(x, i)"),
    ("float[2,3] x", 13, 'y = Einsum<equation = "...i->...">(x)'),
    ("float[2,3] x", 13, 'y = Einsum<equation = "i j">(x)'),
    ("int8[3] x, float s, int8[1] z", 21, "y = DequantizeLinear(x, s, z)"),
    ("float[2,3] x", 13, "y, z = TopK(x, k) k = Constant<value_ints = [0]>()"),
    ("float[2,1] x", 13, "s = Constant<value_int = 3>() y = Expand(x, s)"),
    ("float[1,8,2] x", 20, "y = DFT(x)"),
    (
        "int64 n, float[2,3] x",
        16,
        """y = Loop<body = b (int64 i, bool c, float[n,3] a) => (bool d, float[n,3] e)
            { d = Identity(c) e = Identity(a) }>(n, , x)""",
    ),
    (f"{X}, float[3,3,1,1] w", 13, 'y = Conv<auto_pad = "">(x, w)'),
]


@pytest.mark.parametrize("row", VALID, ids=lambda row: row[2])
def test_what_the_text_allows_is_clean(row: tuple[str, int, str]) -> None:
    inputs, opset, nodes = row
    proto = make_model(inputs, opset, nodes)
    assert not check_model(proto.SerializeToString()).errors


@pytest.mark.parametrize("row", [row for row in ROWS if row[3]], ids=lambda row: f"{row[4]}-{row[3]}-{row[1]}")
def test_onnxruntime_or_onnx_refuses_the_same(row: tuple[str, int, str, str, str, str | None]) -> None:
    """On loading of the file, or on running it."""
    inputs, opset, nodes, *_ = row
    proto = make_model(inputs, opset, nodes)
    with pytest.raises(Exception):  # noqa: B017  # of many kinds
        _run(proto)


def _run(proto: onnx.ModelProto) -> Any:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    onnx.shape_inference.infer_shapes(proto, check_type=True, strict_mode=True)
    feed = {}
    for declared in proto.graph.input:
        dtype = onnx.helper.tensor_dtype_to_np_dtype(declared.type.tensor_type.elem_type)
        shape = [dim.dim_value for dim in declared.type.tensor_type.shape.dim]
        feed[declared.name] = np.zeros(shape, dtype)
    return session.run(None, feed)


def test_each_constraint_is_of_an_operator_of_onnx() -> None:
    assert all(defs.has(name) for name in CONSTRAINTS)
    assert all(defs.has(name, "ai.onnx.ml") for name in ML_CONSTRAINTS)


def test_shape_changed_by_loop_is_a_warning() -> None:
    """onnxruntime runs it."""
    nodes = """y = Loop<body = b (int64 i, bool c, float[2] a) => (bool d, float[2,3] e)
        { d = Identity(c) e = Identity(a) }>(n, , x)"""
    (diagnostic,) = check_model(make_model("int64 n, float[2,3] x", 16, nodes).SerializeToString()).diagnostics
    assert (diagnostic.code, diagnostic.severity, diagnostic.location.layer_type) == ("IR606", "warning", "Loop")


def test_constraints_hold_in_functions_with_the_attributes_of_their_calls() -> None:
    function = """<domain: "own", opset_import: ["" : 17]> F <p> (a) => (b) { b = LpNormalization<p : int = @p>(a) }"""
    for p, count in ((2, 0), (3, 1)):
        body = f"g (float[2,3] x) => (y) {{ y = own.F<p = {p}>(x) }}"
        proto = model(body, further='"own" : 1', functions=function)
        assert len(check_model(proto.SerializeToString()).errors) == count


def test_an_initializer_is_a_constant_too() -> None:
    proto = model("g (float[3] x) => (y) { y = Gather(x, i) }")
    proto.graph.initializer.append(numpy_helper.from_array(np.array([5]), "i"))
    (diagnostic,) = check_model(proto.SerializeToString()).errors
    assert (diagnostic.code, diagnostic.location.port) == ("IR701", "indices")


def test_ports_are_the_inputs_of_the_onnx_operator() -> None:
    """Not those of the layers that it became."""
    proto = model("g (float[4] x) => (y) { a, b, y = Split(x) }")
    (diagnostic,) = check_model(proto.SerializeToString()).errors
    assert (diagnostic.code, diagnostic.location.port) == ("IR505", "input")
