"""Element types of onnxruntime's CPU kernels, for operators with fewer types than ONNX's definition allows.

Inputs of other types are cast to a type that represents all of their values, and results are cast back.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

__all__ = ["KERNEL_TYPES", "kernel_type", "result_type"]

_CODES = {
    "f32": 1,
    "u8": 2,
    "i8": 3,
    "u16": 4,
    "i16": 5,
    "i32": 6,
    "i64": 7,
    "string": 8,
    "boolean": 9,
    "f16": 10,
    "f64": 11,
    "u32": 12,
    "u64": 13,
    "bf16": 16,
    "f8e4m3": 17,
    "f8e5m2": 19,
    "u4": 21,
    "i4": 22,
    "f4e2m1": 23,
    "f8e8m0": 24,
    "u2": 25,
}

_MOVED = "f32 u8 i8 u16 i16 i32 i64 string boolean f16 f64 u32 u64 bf16"

_TYPES = {
    "Abs": "f32 u8 i8 u16 i16 i32 i64 f16 f64 u32 u64",
    "Acos": "f32 f16",
    "Acosh": "f32 f16",
    "Add": "f32 i32 i64 f16 f64",
    "ArgMax": "f32 u8 i8 i32 i64 f16 f64",
    "ArgMin": "f32 u8 i8 i32 i64 f16 f64",
    "Asin": "f32 f16",
    "Asinh": "f32 f16",
    "Atan": "f32 f16",
    "Atanh": "f32 f16",
    "AveragePool": "f32 f16",
    "BatchNormalization": "f32 f16",
    "Ceil": "f32 f16 f64",
    "Col2Im": "f32 f16",
    "Concat": _MOVED,
    "Conv": "f32 f16",
    "ConvTranspose": "f32 f16",
    "Cosh": "f32 f16",
    "CumSum": "f32 i32 i64 f16 f64",
    "DFT": "f32 f16 f64",
    "DepthToSpace": "f32 u8 i8 f16 f64",
    "Det": "f32 f16",
    "Div": "f32 i32 i64 f16 f64 u64",
    "Einsum": "f32 i32 i64 f16 f64",
    "Elu": "f32 f16",
    "Equal": "f32 u8 i8 u16 i16 i32 i64 string boolean f16 f64 u32 u64",
    "Erf": "f32 f16",
    "Exp": "f32 f16 f64",
    "Expand": "f32 u8 i8 u16 i16 i32 i64 string boolean f16 f64 u32 u64",
    "Floor": "f32 f16 f64",
    "Gather": _MOVED,
    "GatherElements": _MOVED,
    "GatherND": _MOVED,
    "Gelu": "f32 f16",
    "GlobalAveragePool": "f32 f16",
    "GlobalLpPool": "f32 f16",
    "GlobalMaxPool": "f32 f16",
    "Greater": "f32 u8 i8 u16 i16 i32 i64 f16 f64 u32 u64",
    "GreaterOrEqual": "f32 u8 i8 u16 i16 i32 i64 f16 f64 u32 u64",
    "GridSample": "f32 f16",
    "GroupNormalization": "f32 f16 f64",
    "HardSigmoid": "f32 f16",
    "HardSwish": "f32 f16",
    "Identity": "f32 u8 i8 u16 i16 i32 i64 string boolean f16 f64 u32 u64 bf16 f8e4m3 f8e5m2",
    "InstanceNormalization": "f32 f16",
    "LRN": "f32 f16",
    "LeakyRelu": "f32 f16",
    "Less": "f32 u8 i8 u16 i16 i32 i64 f16 f64 u32 u64",
    "LessOrEqual": "f32 u8 i8 u16 i16 i32 i64 f16 f64 u32 u64",
    "Log": "f32 f16 f64",
    "LogSoftmax": "f32 f16 f64",
    "LpPool": "f32 f16",
    "MatMul": "f32 i32 i64 f16 f64 u32 u64",
    "Max": "f32 u8 i8 i32 i64 f16 f64 u32 u64",
    "Min": "f32 u8 i8 i32 i64 f16 f64 u32 u64",
    "Mod": "f32 u8 i8 u16 i16 i32 i64 f16 f64 u32 u64",
    "Mul": "f32 i32 i64 f16 f64",
    "Neg": "f32 i8 i16 i32 i64 f16 f64",
    "NonZero": "f32 u8 i32 i64 boolean f16",
    "OneHot": "f32 i64 f16",
    "PRelu": "f32 f16",
    "Pad": "f32 u8 i8 i32 i64 boolean f16 f64 u32 u64 bf16",
    "Pow": "f32 i32 i64 f16 f64",
    "Reciprocal": "f32 f16 f64",
    "ReduceL1": "f32 i32 i64 f16 f64",
    "ReduceL2": "f32 i32 i64 f16 f64",
    "ReduceLogSum": "f32 i32 i64 f16 f64 u32 u64",
    "ReduceLogSumExp": "f32 i32 i64 f16 f64",
    "ReduceMax": "f32 u8 i8 i32 i64 boolean f16 f64",
    "ReduceMean": "f32 i32 i64 f16 f64",
    "ReduceMin": "f32 u8 i8 i32 i64 boolean f16 f64",
    "ReduceProd": "f32 i32 i64 f16 f64",
    "ReduceSum": "f32 i32 i64 f16 f64",
    "ReduceSumSquare": "f32 i32 i64 f16 f64",
    "Relu": "f32 i8 i32 f16 f64",
    "Reshape": "f32 u8 i8 u16 i16 i32 i64 string boolean f16 f64 u32 u64 bf16 f8e4m3 f8e5m2",
    "Resize": "f32 u8 i8 i32 f16",
    "ReverseSequence": "f32 u8 i8 u16 i16 i32 i64 string boolean f16 f64 u32 u64",
    "ScatterElements": _MOVED,
    "ScatterND": _MOVED,
    "Selu": "f32 f16",
    "Sigmoid": "f32 f16 f64",
    "Sinh": "f32 f16",
    "Slice": _MOVED,
    "Softmax": "f32 f16 f64",
    "Softplus": "f32 f16",
    "SpaceToDepth": "f32 u8 i8 f16 f64",
    "Split": _MOVED,
    "Sqrt": "f32 f16 f64",
    "Squeeze": "f32 u8 i8 u16 i16 i32 i64 string boolean f16 f64 u32 u64 bf16",
    "Sub": "f32 i32 i64 f16 f64",
    "Tan": "f32 f16",
    "Tanh": "f32 f16 f64",
    "Tile": "f32 u8 i8 u16 i16 i32 i64 string boolean f16 f64 u32 u64",
    "TopK": "f32 u8 i8 i16 i32 i64 f16 f64",
    "Transpose": _MOVED,
    "Trilu": "f32 i32 i64 boolean f16 f64",
    "Unique": "f32 i8 i64 string f16 f64",
    "Unsqueeze": "f32 u8 i8 u16 i16 i32 i64 string boolean f16 f64 u32 u64 bf16",
    "Where": "f32 u8 i8 i32 i64 string f16 f64 u32",
}
"""Queried from onnxruntime 1.32, with sums, products and quotients restricted to the kernels of 1.18.

The keys are ONNX operators: kernels belong to onnxruntime, and the operators of IR know nothing of them. Inputs of one
operator have one type; operators that support all types are missing.
"""


def _set(names: str) -> frozenset[int]:
    return frozenset(_CODES[name] for name in names.split())


KERNEL_TYPES: Mapping[str, frozenset[int]] = MappingProxyType({name: _set(types) for name, types in _TYPES.items()})
"""The types of the inputs that the kernels of an operator accept, as `TensorProto.DataType`."""

_WIDER: Mapping[int, tuple[int, ...]] = {
    _CODES[name]: tuple(_CODES[wider] for wider in types.split())
    for name, types in {
        "boolean": "u8 i32 i64",
        "u8": "i32 i64",
        "i8": "i32 i64",
        "u16": "i32 i64 f32",
        "i16": "i32 i64 f32",
        "i32": "i64 f64",
        "u32": "i64",
        "u64": "i64",
        "f16": "f32",
        "bf16": "f32",
        "f8e4m3": "f32",
        "f8e5m2": "f32",
        "u4": "u8 i32 i64",
        "i4": "i8 i32 i64",
        "f4e2m1": "f32",
        "f8e8m0": "f32",
        "u2": "u8 i32 i64",
    }.items()
}


def kernel_type(operator: str, code: int) -> int:
    """The type to which inputs of this type are cast for an operator: their own, or a wider one."""
    allowed = KERNEL_TYPES.get(operator)
    if allowed is None or code in allowed:
        return code
    return next((wider for wider in _WIDER.get(code, ()) if wider in allowed), code)


@lru_cache(maxsize=2**10)
def result_type(operator: str, position: int) -> int | None:
    """The type of an output if it is the same for all inputs; None for other outputs, and for unknown operators."""
    from onnx import TensorProto, defs

    if not defs.has(operator):
        return None
    outputs = defs.get_schema(operator).outputs
    types = outputs[position].types if position < len(outputs) else set()
    match = re.fullmatch(r"tensor\((\w+)\)", min(types)) if len(types) == 1 else None
    return None if match is None else int(TensorProto.DataType.Value(match[1].upper()))
