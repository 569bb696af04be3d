"""Indices of ONNX out of range are errors, also where the operator of IR gives zeros; and stay so in written IR."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from ir_exec import EvaluationError, check_model, compile_model, read_model
from tests.onnx.files import model

TABLE = np.arange(12, dtype=np.float32).reshape(4, 3)

GATHER = "g (float[4,3] x, int64[n] i) => (float[n,3] y) { y = Gather(x, i) }"


def run(proto: onnx.ModelProto, *inputs: Any) -> Any:
    return compile_model(proto.SerializeToString())(list(inputs))[0]


def assert_refused(proto: onnx.ModelProto, *inputs: Any) -> None:
    with pytest.raises(EvaluationError) as caught:
        run(proto, *inputs)
    assert caught.value.code == "IR701"


@pytest.mark.parametrize("index", [4, 99, -5])
def test_gather(index: int) -> None:
    proto = model(GATHER)
    assert run(proto, TABLE, np.array([0, -4, 3])).tolist() == TABLE[[0, -4, 3]].tolist()
    assert_refused(proto, TABLE, np.array([0, index]))
    # Of one index, and of many: both have separate paths.
    assert_refused(model(GATHER.replace("int64[n]", "int64").replace("[n,3]", "[3]")), TABLE, np.array(index))
    assert_refused(proto, TABLE, np.array([*range(4)] * 5000 + [index]))


@pytest.mark.parametrize("index", [4, -5])
def test_written_ir_keeps_the_difference(tmp_path: Path, index: int) -> None:
    path = tmp_path / "model.xml"
    read_model(model(GATHER).SerializeToString()).save(path)
    with pytest.raises(EvaluationError) as caught:
        compile_model(path)([TABLE, np.array([index])])
    assert caught.value.code == "IR701"
    assert check_model(path).ok
    openvino = pytest.importorskip("openvino")
    compiled = openvino.Core().compile_model(path, "CPU")
    output = compiled([TABLE, np.array([0, -1])])[0]
    assert output.tolist() == TABLE[[0, -1]].tolist()


def test_constant_index_is_found_by_the_checker() -> None:
    body = "g (float[4,3] x) => (float[1,3] y) { i = Constant<value_ints = [4]>() y = Gather(x, i) }"
    faults = [
        (diagnostic.severity, diagnostic.code)
        for diagnostic in check_model(model(body).SerializeToString()).diagnostics
    ]
    assert faults == [("error", "IR701")]
    inside = body.replace("[4]>", "[-4]>")
    assert not check_model(model(inside).SerializeToString()).diagnostics


def test_shape_index_error_survives_folding() -> None:
    body = """g (float[4,3] x) => (int64 y) {
        s = Shape(x) i = Constant<value_int = 2>() y = Gather(s, i)
    }"""
    proto = model(body)
    assert [
        (diagnostic.severity, diagnostic.code) for diagnostic in check_model(proto.SerializeToString()).diagnostics
    ] == [("error", "IR701")]
    assert_refused(proto, TABLE)


@pytest.mark.parametrize("further", ["", ", w"])
@pytest.mark.parametrize("type", ["SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"])
def test_losses(type: str, further: str) -> None:
    weights = ", float[3] w" if further else ""
    proto = model(f"g (float[2,3] x, int64[2] t{weights}) => (float y) {{ y = {type}(x, t{further}) }}")
    inputs = [TABLE[:2], np.array([0, 2]), *([np.ones(3, np.float32)] if further else [])]
    run(proto, *inputs)
    inputs[1] = np.array([0, 3])
    assert_refused(proto, *inputs)


@pytest.mark.parametrize("position", [0, 1])
def test_embeddings(position: int) -> None:
    names = ["ids", "segments", "words", "positions", "kinds", "gamma", "beta"]
    arrays = [np.array([[1, 3]], np.int32), np.array([[0, 1]], np.int32), TABLE, TABLE, TABLE[:2], TABLE[0], TABLE[1]]
    graph = helper.make_graph(
        [helper.make_node("EmbedLayerNormalization", names, ["y", "mask"], domain="com.microsoft")],
        "g",
        [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for name, array in zip(names, arrays, strict=True)
        ],
        [helper.make_empty_tensor_value_info("y")],
    )
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    proto = helper.make_model(graph, opset_imports=imports, ir_version=9)
    run(proto, *arrays)
    arrays[position] = np.array([[0, 4]], np.int32)
    assert_refused(proto, *arrays)


def test_elements_of_lists() -> None:
    proto = model("""g (float[2] a, float[2] b, int64 p) => (float[2] y) {
        s = SequenceConstruct(a, b) y = SequenceAt(s, p)
    }""")
    pair = [np.zeros(2, np.float32), np.ones(2, np.float32)]
    assert run(proto, *pair, np.array(-1)).tolist() == [1, 1]
    assert_refused(proto, *pair, np.array(2))
    assert_refused(proto, *pair, np.array(-3))


def test_conditions_that_hold_behind_the_end() -> None:
    proto = model("g (float[4,3] x, bool[n] c) => (float[m,3] y) { y = Compress<axis = 0>(x, c) }")
    assert run(proto, TABLE, np.array([False, True])).tolist() == [TABLE[1].tolist()]
    assert run(proto, TABLE, np.array([False, True, False, False, False])).tolist() == [TABLE[1].tolist()]
    assert_refused(proto, TABLE, np.array([False, True, False, False, True]))


@pytest.mark.parametrize("index", [-1, 4])
@pytest.mark.parametrize("name", ["i", "s", "p"])
def test_embeddings_count_from_the_front(name: str, index: int) -> None:
    """Like onnxruntime, which refuses negative indices too."""
    nodes = "y, m = com.microsoft.EmbedLayerNormalization(i, s, w, w, w, g, g, , p)"
    body = f"g (int32[1,2] i, int32[1,2] s, int32[1,2] p, float[4,3] w, float[3] g) => (y) {{ {nodes} }}"
    proto = model(body, further='"com.microsoft" : 1')
    feed = {letter: np.array([[0, index if letter == name else 3]], np.int32) for letter in "isp"}
    assert_refused(proto, *feed.values(), TABLE, np.ones(3, np.float32))
    feed[name][0, 1] = 1
    assert np.isfinite(run(proto, *feed.values(), TABLE, np.ones(3, np.float32))).all()


@pytest.mark.parametrize("index", [-1, 2])
def test_crops_are_of_images_counted_from_the_front(index: int) -> None:
    nodes = "y = com.microsoft.CropAndResize(x, r, b, c)"
    body = f"g (float[2,1,4,4] x, float[1,4] r, int32[1] b, int32[2] c) => (y) {{ {nodes} }}"
    regions = np.array([[0, 0, 1, 1]], np.float32), np.array([index], np.int32), np.array([2, 2], np.int32)
    assert_refused(model(body, further='"com.microsoft" : 1'), np.ones((2, 1, 4, 4), np.float32), *regions)


def test_negative_constant_index_is_named() -> None:
    nodes = "b = Constant<value_ints = [-1]>() h = Cast<to = 6>(b) y = com.microsoft.CropAndResize(x, r, h, c)"
    body = f"g (float[2,1,4,4] x, float[1,4] r, int32[2] c) => (y) {{ {nodes} }}"
    (diagnostic,) = check_model(model(body, further='"com.microsoft" : 1').SerializeToString()).errors
    assert (diagnostic.code, diagnostic.location.port) == ("IR701", "batch_indices")
