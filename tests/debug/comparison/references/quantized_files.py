"""Quantized ONNX files of many kinds, with inputs: what converters and onnxruntime's tools write."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from ir_exec.types import Array

__all__ = ["KINDS", "write_kind"]

Tensors = dict[str, Any]
Nodes = list[onnx.NodeProto]
Kind = tuple[Nodes, Tensors, dict[str, Array]]
"""Nodes from the inputs to "y", constants, and inputs."""

MICROSOFT = "com.microsoft"
RANDOM = np.random.default_rng(7)
SEEDED = RANDOM.bit_generator.state


def _node(operator: str, inputs: str, outputs: str, *, domain: str = "", **attributes: Any) -> onnx.NodeProto:
    names = [name if name != "-" else "" for name in inputs.split()]
    return helper.make_node(operator, names, outputs.split(), domain=domain, **attributes)


def _floats(*shape: int) -> Array:
    return RANDOM.standard_normal(shape).astype(np.float32)


def _scale(value: float | Array) -> Array:
    return np.float32(value)


def _activations(*shape: int) -> dict[str, Array]:
    return {"x": _floats(*shape)}


def _pair(name: str, source: str, target: str, **attributes: Any) -> Nodes:
    """QuantizeLinear and DequantizeLinear of a value."""
    constants = f"{name}_scale {name}_zero"
    return [
        _node("QuantizeLinear", f"{source} {constants}", f"{target}_q", **attributes),
        _node("DequantizeLinear", f"{target}_q {constants}", target, **attributes),
    ]


def _range(name: str, element_type: Any, scale: float = 0.05, zero: int = 0) -> Tensors:
    return {f"{name}_scale": _scale(scale), f"{name}_zero": np.array(zero, element_type)}


def qdq_matmul(element_type: Any = np.uint8, zero: int = 128) -> Kind:
    weight = np.clip(np.rint(_floats(32, 16) / 0.02), -127, 127).astype(np.int8)
    nodes = _pair("a", "x", "xd")
    nodes += [_node("DequantizeLinear", "w ws wz", "wd"), _node("MatMul", "xd wd", "m"), *_pair("b", "m", "y")]
    constants = {"w": weight, "ws": _scale(0.02), "wz": np.int8(0)}
    return (
        nodes,
        constants | _range("a", element_type, 0.03, zero) | _range("b", element_type, 0.2, zero),
        _activations(8, 32),
    )


def qdq_matmul_i16() -> Kind:
    nodes, constants, inputs = qdq_matmul(np.int16, 0)
    constants |= _range("a", np.int16, 1e-4) | _range("b", np.int16, 1e-3)
    return nodes, constants, inputs


def qdq_conv() -> Kind:
    weight = np.clip(np.rint(_floats(8, 4, 3, 3) * 60), -127, 127).astype(np.int8)
    nodes = _pair("a", "x", "xd")
    nodes += [
        _node("DequantizeLinear", "w ws wz", "wd", axis=0),
        _node("Conv", "xd wd bias", "c", pads=[1, 1, 1, 1]),
        _node("Relu", "c", "r"),
        *_pair("b", "r", "y"),
    ]
    scales = (0.004 + 0.004 * RANDOM.random(8)).astype(np.float32)
    constants = {"w": weight, "ws": scales, "wz": np.zeros(8, np.int8), "bias": _floats(8)}
    return (
        nodes,
        constants | _range("a", np.uint8, 0.03, 128) | _range("b", np.uint8, 0.05, 0),
        _activations(2, 4, 9, 9),
    )


def qdq_f8() -> Kind:
    zero = np.zeros((), ml_dtypes.float8_e4m3fn)
    nodes = [*_pair("a", "x", "xd"), _node("MatMul", "xd w", "y")]
    return nodes, {"a_scale": _scale(0.5), "a_zero": zero, "w": _floats(16, 8)}, _activations(4, 16)


def weight_i8() -> Kind:
    weight = RANDOM.integers(-127, 127, (64, 16)).astype(np.int8)
    nodes = [_node("DequantizeLinear", "w ws", "wd", axis=1), _node("MatMul", "x wd", "y")]
    scales = (0.01 * RANDOM.random(16) + 0.001).astype(np.float32)
    return nodes, {"w": weight, "ws": scales}, _activations(4, 64)


def weight_i4_blocks() -> Kind:
    weight = RANDOM.integers(-8, 8, (64, 16)).astype(ml_dtypes.int4)
    nodes = [_node("DequantizeLinear", "w ws", "wd", axis=0, block_size=32), _node("MatMul", "x wd", "y")]
    return nodes, {"w": weight, "ws": (0.1 * RANDOM.random((2, 16))).astype(np.float32)}, _outliers(4, 64)


def weight_u4_channels() -> Kind:
    weight = RANDOM.integers(0, 16, (64, 16)).astype(ml_dtypes.uint4)
    nodes = [_node("DequantizeLinear", "w ws wz", "wd", axis=1), _node("MatMul", "x wd", "y")]
    constants = {"w": weight, "ws": (0.1 * RANDOM.random(16)).astype(np.float32)}
    return nodes, constants | {"wz": np.full(16, 7, ml_dtypes.uint4)}, _activations(4, 64)


def _outliers(rows: int, columns: int) -> dict[str, Array]:
    """Activations of which one channel needs most of the range, as in language models."""
    matrix = _floats(rows, columns)
    matrix[:, 5] *= 1000
    return {"x": matrix}


def qlinear_matmul() -> Kind:
    nodes = [
        _node("QuantizeLinear", "x a_scale a_zero", "q"),
        _node("QLinearMatMul", "q a_scale a_zero w w_scale w_zero b_scale b_zero", "m"),
        _node("DequantizeLinear", "m b_scale b_zero", "y"),
    ]
    constants = {"w": RANDOM.integers(0, 256, (32, 16)).astype(np.uint8)}
    constants |= _range("a", np.uint8, 0.03, 128) | _range("w", np.uint8, 0.01, 121) | _range("b", np.uint8, 0.2, 128)
    return nodes, constants, _activations(8, 32)


def qlinear_conv() -> Kind:
    nodes = [
        _node("QuantizeLinear", "x a_scale a_zero", "q"),
        _node("QLinearConv", "q a_scale a_zero w w_scale w_zero b_scale b_zero bias", "c", strides=[2, 2]),
        _node("DequantizeLinear", "c b_scale b_zero", "y"),
    ]
    constants = {"w": RANDOM.integers(-127, 127, (6, 3, 3, 3)).astype(np.int8)}
    constants["bias"] = RANDOM.integers(-500, 500, 6).astype(np.int32)
    constants |= _range("a", np.uint8, 0.03, 128) | _range("w", np.int8, 0.01) | _range("b", np.uint8, 0.1, 128)
    return nodes, constants, _activations(1, 3, 11, 11)


def integer_matmul() -> Kind:
    nodes = [
        _node("DynamicQuantizeLinear", "x", "q qs qz"),
        _node("MatMulInteger", "q w qz wz", "m"),
        _node("Cast", "m", "f", to=TensorProto.FLOAT),
        _node("Mul", "qs ws", "s"),
        _node("Mul", "f s", "y"),
    ]
    weight = RANDOM.integers(-127, 127, (32, 8)).astype(np.int8)
    return nodes, {"w": weight, "wz": np.int8(0), "ws": _scale(0.01)}, _activations(4, 32)


def integer_conv() -> Kind:
    nodes = [
        _node("DynamicQuantizeLinear", "x", "q qs qz"),
        _node("ConvInteger", "q w qz wz", "c"),
        _node("Cast", "c", "f", to=TensorProto.FLOAT),
        _node("Mul", "f qs", "y"),
    ]
    weight = RANDOM.integers(0, 255, (4, 3, 3, 3)).astype(np.uint8)
    return nodes, {"w": weight, "wz": np.uint8(128)}, _activations(1, 3, 8, 8)


def microsoft_add() -> Kind:
    nodes = [
        _node("QuantizeLinear", "x a_scale a_zero", "q"),
        _node("QLinearAdd", "q a_scale a_zero w w_scale w_zero b_scale b_zero", "m", domain=MICROSOFT),
        _node("DequantizeLinear", "m b_scale b_zero", "y"),
    ]
    constants = {"w": RANDOM.integers(0, 256, (16,)).astype(np.uint8)}
    constants |= _range("a", np.uint8, 0.03, 128) | _range("w", np.uint8, 0.01, 121) | _range("b", np.uint8, 0.05, 128)
    return nodes, constants, _activations(8, 16)


def microsoft_sigmoid() -> Kind:
    nodes = [
        _node("QuantizeLinear", "x a_scale a_zero", "q"),
        _node("QLinearSigmoid", "q a_scale a_zero b_scale b_zero", "m", domain=MICROSOFT),
        _node("DequantizeLinear", "m b_scale b_zero", "y"),
    ]
    constants = _range("a", np.uint8, 0.03, 128) | _range("b", np.uint8, 1 / 256, 0)
    return nodes, constants, _activations(8, 16)


def microsoft_pool() -> Kind:
    nodes = [
        _node("QuantizeLinear", "x a_scale a_zero", "q"),
        _node("QLinearGlobalAveragePool", "q a_scale a_zero b_scale b_zero", "m", domain=MICROSOFT, channels_last=0),
        _node("DequantizeLinear", "m b_scale b_zero", "y"),
    ]
    constants = _range("a", np.uint8, 0.03, 128) | _range("b", np.uint8, 0.005, 128)
    return nodes, constants, _activations(2, 4, 6, 6)


def microsoft_gemm() -> Kind:
    nodes = [
        _node("QuantizeLinear", "x a_scale a_zero", "q"),
        _node("QGemm", "q a_scale a_zero w w_scale w_zero bias", "y", domain=MICROSOFT, transB=1),
    ]
    constants = {"w": RANDOM.integers(0, 256, (8, 32)).astype(np.uint8)}
    constants["bias"] = RANDOM.integers(-900, 900, 8).astype(np.int32)
    return nodes, constants | _range("a", np.uint8, 0.03, 128) | _range("w", np.uint8, 0.01, 121), _activations(8, 32)


def microsoft_dynamic_matmul() -> Kind:
    nodes = [_node("DynamicQuantizeMatMul", "x w ws wz", "y", domain=MICROSOFT)]
    constants = {"w": RANDOM.integers(0, 256, (32, 8)).astype(np.uint8), "ws": _scale(0.01), "wz": np.uint8(128)}
    return nodes, constants, _activations(4, 32)


def microsoft_integer_to_float() -> Kind:
    nodes = [
        _node("DynamicQuantizeLinear", "x", "q qs qz"),
        _node("MatMulIntegerToFloat", "q w qs ws qz wz", "y", domain=MICROSOFT),
    ]
    constants = {"w": RANDOM.integers(-127, 127, (32, 8)).astype(np.int8), "ws": _scale(0.01), "wz": np.int8(0)}
    return nodes, constants, _activations(4, 32)


def matmul_nbits(bits: int = 4, level: int | None = None) -> Kind:
    sizes = {"K": 64, "N": 16, "bits": bits, "block_size": 32}
    levels = {} if level is None else {"accuracy_level": level}
    nodes = [_node("MatMulNBits", "x w ws", "y", domain=MICROSOFT, **sizes, **levels)]
    weight = RANDOM.integers(0, 256, (16, 2, 4 * bits)).astype(np.uint8)
    return nodes, {"w": weight, "ws": (RANDOM.random((16, 2)) * 0.1).astype(np.float32)}, _outliers(3, 64)


def matmul_nbits_level_4() -> Kind:
    return matmul_nbits(4, 4)


def matmul_nbits_level_1() -> Kind:
    return matmul_nbits(4, 1)


def matmul_nbits_8() -> Kind:
    return matmul_nbits(8)


def matmul_nbits_chain() -> Kind:
    """Two products, of which the second allows activations of 8 bits."""
    nodes, constants, inputs = matmul_nbits(4, 1)
    sizes = {"K": 16, "N": 8, "bits": 4, "block_size": 16, "accuracy_level": 4}
    nodes[0].output[0] = "first"
    nodes += [
        _node("Relu", "first", "r"),
        _node("MatMulNBits", "r v vs", "second", domain=MICROSOFT, **sizes),
        _node("Tanh", "second", "y"),
    ]
    constants["v"] = RANDOM.integers(0, 256, (8, 1, 8)).astype(np.uint8)
    constants["vs"] = (RANDOM.random((8, 1)) * 0.001).astype(np.float32)
    return nodes, constants, inputs


def matmul_bnb4() -> Kind:
    nodes = [_node("MatMulBnb4", "x w absmax", "y", domain=MICROSOFT, K=64, N=16, quant_type=1, block_size=64)]
    constants = {"w": RANDOM.integers(0, 256, 512).astype(np.uint8), "absmax": RANDOM.random(16).astype(np.float32)}
    return nodes, constants, _activations(3, 64)


def gather_blocks() -> Kind:
    sizes = {"gather_axis": 0, "quantize_axis": 1, "block_size": 32}
    nodes = [_node("GatherBlockQuantized", "w x ws", "y", domain=MICROSOFT, **sizes)]
    weight = RANDOM.integers(-8, 8, (10, 64)).astype(ml_dtypes.int4)
    inputs: dict[str, Array] = {"x": np.array([[1, 3], [9, 0]], np.int64)}
    return nodes, {"w": weight, "ws": RANDOM.random((10, 2)).astype(np.float32)}, inputs


def refused_k() -> Kind:
    """The number of elements of TopK must be a vector for onnxruntime."""
    nodes = [_node("Shape", "x", "s"), _node("Gather", "s i", "k"), _node("TopK", "x k", "y j", axis=0)]
    return nodes, {"i": np.array(0)}, _activations(3, 4)


def refused_zero() -> Kind:
    """onnxruntime has no QuantizeLinear from f64."""
    nodes = [_node("Cast", "x", "d", to=TensorProto.DOUBLE), _node("Softsign", "d", "e")]
    nodes += [_node("Cast", "e", "f", to=TensorProto.FLOAT), *_pair("a", "f", "y")]
    return nodes, _range("a", np.uint8, 0.01, 128), _activations(3, 4)


KINDS: dict[str, Callable[[], Kind]] = {
    make_model.__name__: make_model
    for make_model in (
        qdq_matmul,
        qdq_matmul_i16,
        qdq_conv,
        qdq_f8,
        weight_i8,
        weight_i4_blocks,
        weight_u4_channels,
        qlinear_matmul,
        qlinear_conv,
        integer_matmul,
        integer_conv,
        microsoft_add,
        microsoft_sigmoid,
        microsoft_pool,
        microsoft_gemm,
        microsoft_dynamic_matmul,
        microsoft_integer_to_float,
        matmul_nbits,
        matmul_nbits_level_1,
        matmul_nbits_level_4,
        matmul_nbits_8,
        matmul_nbits_chain,
        matmul_bnb4,
        gather_blocks,
        refused_k,
        refused_zero,
    )
}


def write_kind(name: str, folder: Path) -> tuple[Path, dict[str, Array]]:
    """Write the file of a kind, and return its path and inputs."""
    RANDOM.bit_generator.state = SEEDED
    nodes, constants, inputs = KINDS[name]()
    ends = [
        helper.make_tensor_value_info(end, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for end, array in inputs.items()
    ]
    graph = helper.make_graph(
        nodes,
        name,
        ends,
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.asarray(array), constant) for constant, array in constants.items()],
    )
    imports = [helper.make_opsetid("", 21), helper.make_opsetid(MICROSOFT, 1)]
    path = folder / f"{name}.onnx"
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=10), path)
    return path, inputs
