"""Sizes in files that no array can have: a ResourceError with the node, never a fault of ir_exec."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import ir_exec
from ir_exec import IRError
from tests.onnx.files import model

HUGE = 2**62

NODES = {
    "sizes of Resize": (
        f"s = Constant<value_ints = [1, 1, {HUGE}, 4]>() "
        'y = Resize<mode = "nearest", coordinate_transformation_mode = "pytorch_half_pixel">(x, , , s)'
    ),
    "sizes of a linear Resize": (
        f"s = Constant<value_ints = [1, 1, 4, {HUGE}]>() "
        'y = Resize<mode = "linear", coordinate_transformation_mode = "half_pixel_symmetric">(x, , , s)'
    ),
    "scales of Resize": (
        'y = Resize<mode = "cubic", antialias = 1>(x, , s) s = Constant<value_floats = [1.0, 1.0, 1e17, 1.0]>()'
    ),
    "dims of ConstantOfShape": f"s = Constant<value_ints = [{HUGE}, {HUGE}]>() y = ConstantOfShape(s)",
    "dims of Expand": f"s = Constant<value_ints = [{HUGE}, {HUGE}, 1, 1, 4, 4]>() y = Expand(x, s)",
    "repeats of Tile": f"s = Constant<value_ints = [{HUGE}, 1, 1, {HUGE}]>() y = Tile(x, s)",
    "axes of Expand": f"s = Constant<value_ints = [{', '.join(['1'] * 61)}, 1, 1, 4, 4]>() y = Expand(x, s)",
    "axes of Unsqueeze": f"a = Constant<value_ints = [{', '.join(map(str, range(61)))}]>() y = Unsqueeze(x, a)",
    "pads": f"p = Constant<value_ints = [0, 0, 0, 0, 0, 0, {HUGE}, {HUGE}]>() y = Pad(x, p)",
    "an end of Range": (
        f"a = Constant<value_int = 0>() b = Constant<value_int = {HUGE}>() c = Constant<value_int = 1>() "
        "y = Range(a, b, c)"
    ),
    "the depth of OneHot": (
        f"d = Constant<value_int = {HUGE}>() i = Cast<to = 7>(x) v = Constant<value_floats = [0.0, 1.0]>() "
        "y = OneHot(i, d, v)"
    ),
    "the size of a window": f"s = Constant<value_int = {HUGE}>() y = HannWindow(s)",
}


@pytest.mark.parametrize("name", NODES)
def test_sizes_beyond_the_limits(name: str) -> None:
    proto = model(f"g (float[1,1,4,4] x) => (y) {{ {NODES[name]} }}", opset=18)
    report = ir_exec.check_model(proto.SerializeToString())
    assert "IR999" not in {diagnostic.code for diagnostic in report.diagnostics}
    with pytest.raises(IRError) as caught:
        ir_exec.compile_model(proto.SerializeToString())([np.ones((1, 1, 4, 4), np.float32)])
    assert caught.value.code != "IR999"


def _with_initializer(dims: list[int]) -> onnx.ModelProto:
    proto = model("g (float[1] x) => (y) { y = Add(x, w) }")
    tensor = numpy_helper.from_array(np.zeros(0 if 0 in dims else 1, np.float32), "w")
    del tensor.dims[:]
    tensor.dims.extend(dims)
    proto.graph.initializer.append(tensor)
    return proto


@pytest.mark.parametrize("dims", [[1] * 65, [0, 2**40, 2**40]], ids=["axes", "bytes"])
def test_initializers_beyond_array_limits(dims: list[int]) -> None:
    proto = _with_initializer(dims)
    assert {diagnostic.code for diagnostic in ir_exec.check_model(proto.SerializeToString()).errors} == {"IR006"}
    with pytest.raises(IRError):
        ir_exec.read_model(proto.SerializeToString())


@pytest.mark.parametrize("dims", [[1] * 65, [0, 2**40, 2**40]], ids=["axes", "bytes"])
def test_sparse_initializers_beyond_array_limits(dims: list[int]) -> None:
    proto = model("g (float[1] x) => (y) { y = Add(x, w) }")
    values = helper.make_tensor("w", onnx.TensorProto.FLOAT, [0], [])
    indices = helper.make_tensor("w_indices", onnx.TensorProto.INT64, [0], [])
    proto.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, dims))
    assert {diagnostic.code for diagnostic in ir_exec.check_model(proto.SerializeToString()).errors} == {"IR006"}
    with pytest.raises(IRError):
        ir_exec.read_model(proto.SerializeToString())
