"""Convert, ConvertLike, ConvertPromoteTypes, StringTensorPack, StringTensorUnpack."""

from __future__ import annotations

from typing import Any

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case

WHOLE = ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"]
SMALL = ["u1", "u2", "u3", "u4", "i4", "u6"]
WIDE_FLOATS = ["f16", "f32", "f64"]

FRACTIONS = [
    0.0,
    -0.0,
    0.4,
    0.5,
    0.9,
    1.0,
    1.5,
    2.5,
    -0.4,
    -0.9,
    -1.0,
    -1.5,
    -2.5,
    7.9,
    8.0,
    15.9,
    100.7,
    -100.7,
    127.6,
]
BEYOND_BYTES = [128.5, 200.3, 255.9, 256.3, 300.5, -128.5, -129.0, -200.3, -300.5, 32768.7, 65503.0]
BEYOND_I32 = [
    2147483647.0,
    2147483648.0,
    9e9,
    1e18,
    1e19,
    2e19,
    3e38,
    -2147483648.0,
    -3e9,
    -1e19,
    np.nan,
    np.inf,
    -np.inf,
]
"""Values that OpenVINO's reference kernels convert as C++ does on x86, where C++ itself leaves it open."""

INTEGERS = [0, 1, 2, 3, 7, 8, 15, 16, 63, 64, 100, 127, 128, 129, 255, 256, 1000, 32767, 32768, 65535, 65536, 70000]
LONG_INTEGERS = [2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, -(2**31) - 1, -(2**63)]
NEGATIVE = [-1, -2, -8, -9, -100, -128, -129, -32769, -(2**31)]


def codes(element_type: str, values: list[int] | range) -> Array:
    """Elements of a type of a byte or less from their bits."""
    bits = np.array(list(values), np.uint8)
    if element_type == "i4":
        bits = ((bits ^ 8) - 8).astype(np.uint8)
    return bits.view(ElementType[element_type].dtype)


def every_code(element_type: str) -> Array:
    return codes(element_type, range(2 ** ElementType[element_type].bits))


def values_of(type_name: str) -> Array:
    """Values that try this type in every way."""
    element_type = ElementType[type_name]
    if type_name == "boolean":
        return np.array([True, False, True])
    if element_type.bits < 8 or type_name.startswith("f8"):
        return every_code(type_name)
    if element_type.is_float:
        with np.errstate(all="ignore"):
            return np.array(FRACTIONS + BEYOND_BYTES + BEYOND_I32).astype(element_type.dtype)
    limits = np.iinfo(element_type.dtype)
    fitting = [value for value in INTEGERS + LONG_INTEGERS + NEGATIVE if limits.min <= value <= limits.max]
    return np.array(fitting, element_type.dtype)


def to(target: str, data: Array, **fields: object) -> Case:
    fields = {"oracle": "reference", **fields}
    return Case("Convert", 1, (data,), {"destination_type": target}, **fields)  # type: ignore[arg-type]  # as a caller


def exact(element_type: str) -> Array:
    """Values that are equal in every float: no rounding is required."""
    values = np.array([0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 112, 128])
    if ElementType[element_type].is_float:
        values = np.concatenate([values, values / -64.0])
    return values.astype(ElementType[element_type].dtype)


# Integers and floats among each other, values that do not fit included.
CASES = [
    to(target, values_of(source))
    for source in [*WHOLE, *WIDE_FLOATS, "boolean"]
    for target in [*WHOLE, *WIDE_FLOATS, "boolean"]
    if source != target
    # A vector of f32 becomes u32 in another way than its last elements do, and i32 ends at the largest f16.
    and (source, target) not in {("f32", "u32"), ("i32", "f16"), ("f16", "u32")}
]
CASES += [
    to("u32", np.array(FRACTIONS + BEYOND_BYTES, np.float32)),
    to("u32", np.array(FRACTIONS + BEYOND_BYTES, np.float16)),
    to("u32", np.array([2147483648.0, 3e9, 4294967040.0], np.float32)),
    to("f16", values_of("i32"), oracle="plugin", note="beyond f16 are infinities"),
    to("f64", np.array([1.1, -2.2]), note="nothing to do"),
]

# bf16: the plugin rounds as IEEE 754 does, the reference kernels do not.
CASES += [to("bf16", values_of(source), oracle="plugin", wide_vectors=True) for source in ("f16", "f32")]
CASES += [to("bf16", exact(source)) for source in [*WHOLE, "f64", "boolean"]]
CASES += [
    to(target, values_of("bf16")) for target in ["i8", "u8", "i16", "i32", "i64", "u64", "f16", "f32", "f64", "boolean"]
]

# Integers of less than a byte.
CASES += [to(target, every_code(source)) for source in SMALL for target in ["i8", "i32", "f16", "f32", "boolean"]]
CASES += [to(target, values_of(source)) for target in SMALL for source in ["u8", "i64", "f32", "boolean"]]
CASES += [to(target, every_code(source)) for source in SMALL for target in (SMALL[SMALL.index(source) - 1],)]

# 8-bit floats.
CASES += [
    to(target, every_code(source))
    for source in ("f8e4m3", "f8e5m2")
    for target in ["f16", "f32", "bf16", "u8", "i32", "boolean"]
]
CASES += [
    to(target, values_of(source)) for target in ("f8e4m3", "f8e5m2") for source in ["f16", "f32", "f64", "bf16", "i32"]
]
CASES += [
    to("f8e5m2", every_code("f8e4m3")),
    to("f8e4m3", every_code("f8e5m2")),
    to("f8e4m3", every_code("u4")),
    to("u4", every_code("f8e4m3")),
    to("f8e4m3", np.array([448, 463.9, 464, 464.1, 480, 500, 2**-9, 2**-10, 3 * 2.0**-10], np.float32)),
    to("f8e5m2", np.array([57344, 61439, 61440, 65536, 2.0**-16, 2.0**-17, 3 * 2.0**-17], np.float32)),
]
MANTISSAS = np.array([1, 1.25, 1.4999, 1.5, 1.5001, 1.75, 1.9999])
CASES += [to(target, every_code("f8e8m0")) for target in ("f16", "f32", "bf16")]
CASES += [to("f8e8m0", values_of(source)) for source in ("f16", "f32", "bf16")]
CASES += [
    to("f8e8m0", (np.exp2(np.arange(-20, 20))[:, None] * MANTISSAS).astype(np.float32)),
    to(
        "f8e8m0",
        np.array([1e-45, 1e-40, 5e-39, 2.0**-127, 8e-39, 8.9e-39, 1e-38, 2.0**-126, 1.7e-38, 3.4e38], np.float32),
    ),
]

# 4-bit floats.
STEPS = np.linspace(-1.2, 1.2, 97)
CASES += [to(target, every_code("nf4")) for target in ("f16", "f32")]
CASES += [to(target, every_code("nf4"), oracle="plugin") for target in ("i8", "u8", "u4", "i4")]
CASES += [to("nf4", np.concatenate([STEPS, values_of("f16")]).astype(np.float16))]
CASES += [
    to("nf4", np.concatenate([STEPS, values_of("f32")]).astype(ElementType[element_type].dtype), oracle="plugin")
    for element_type in ("f32", "bf16")
]
CASES += [to(target, every_code("f4e2m1")) for target in ("f16", "f32", "bf16")]
CASES += [to(target, every_code("f4e2m1"), oracle="plugin") for target in ("i8", "u8", "u4", "i4")]
CASES += [
    to("f4e2m1", np.concatenate([STEPS * 6, values_of(element_type)]).astype(ElementType[element_type].dtype))
    for element_type in ("f16", "f32", "bf16")
]

# More elements than there are codes, which are looked up then.
MANY = np.arange(700)
CASES += [
    to("f16", codes("u4", [int(code) for code in MANY % 16]).reshape(7, 100), oracle="plugin"),
    to("f16", codes("i4", [int(code) for code in MANY % 16]).reshape(7, 100), oracle="plugin"),
    to("f32", codes("nf4", [int(code) for code in MANY % 16]).reshape(7, 100), oracle="plugin"),
    to("f32", codes("f8e4m3", [int(code) for code in MANY % 256]).reshape(7, 100), oracle="plugin"),
    to("f16", MANY.astype(np.int8).reshape(7, 100), oracle="plugin"),
    to("i32", MANY.reshape(7, 100), oracle="plugin"),
    to("f32", (MANY / 8).astype(np.float16).reshape(7, 100), oracle="plugin"),
]

# Shapes.
CASES += [
    to("i32", np.full(shape, 2.5, np.float32), oracle="plugin") for shape in [(), (1,), (0,), (2, 0, 3), (2, 3, 1)]
]
CASES += [to("u4", np.array(17, np.int32)), to("f32", codes("u1", [1]).reshape(()))]

CASES += [
    Case("ConvertLike", 1, (np.array([1.5, -2.5, 3], np.float32), like))
    for like in [np.zeros((2, 2), np.int32), np.zeros((), np.uint8), np.zeros(0, np.float16), np.zeros(1, np.float32)]
]
CASES += [Case("ConvertLike", 1, (np.array([[0, 1, 5]], np.int64), np.array([True])), constants={1})]


def promote(a: Array, b: Array, unsafe: bool = False, scalars: bool = False, **attributes: object) -> Case:
    all_attributes = {"promote_unsafe": unsafe, "pytorch_scalar_promotion": scalars, **attributes}
    return Case("ConvertPromoteTypes", 14, (a, b), all_attributes, outputs=2)


def ones(element_type: str, *shape: int) -> Array:
    return np.ones(shape, ElementType[element_type].dtype)


CASES += [
    promote(ones("f16", 2, 3), ones("f32", 3)),
    promote(ones("i8", 2), ones("f32", 2)),
    promote(ones("i32", 2), ones("u8", 2)),
    promote(ones("i32", 2), ones("u16", 2)),
    promote(ones("boolean", 2), ones("u8", 2)),
    promote(ones("f32", 2), ones("boolean")),
    promote(ones("i16", 2), ones("i64", 1)),
    promote(ones("u8", 2), ones("u16", 1)),
    promote(ones("f32", 2), ones("f32")),
    promote(ones("i16", 2, 3), ones("u32", 3), unsafe=True),
    promote(ones("i16", 2, 3), ones("u64", 3), unsafe=True),
    promote(ones("i16", 2, 3), ones("u64", 3), unsafe=True, u64_integer_promotion_target="i32"),
    promote(ones("i8", 2), ones("u8", 2), unsafe=True),
    promote(ones("f16", 2), ones("i64", 2), unsafe=True),
    promote(ones("f16", 2), ones("bf16", 2), unsafe=True),
    promote(ones("i64"), ones("u8", 2), unsafe=True, scalars=True),
    promote(ones("u8", 2), ones("i8"), unsafe=True, scalars=True),
    promote(ones("u8", 2), ones("u8"), scalars=True),
    promote(ones("i16", 2), ones("u8"), scalars=True),
    promote(ones("f16"), ones("i8", 2), scalars=True),
    promote(ones("f32"), ones("f16", 2), unsafe=True, scalars=True),
    promote(ones("i16", 2), ones("i32", 2), scalars=True),
    promote(ones("f16"), ones("bf16", 2), scalars=True),
    promote(ones("u16"), ones("i8", 2), scalars=True),
    Case("ConvertPromoteTypes", 14, (ones("f32", 2), ones("f16", 2)), outputs=2),
]


def strings(*texts: str, shape: tuple[int, ...] | None = None) -> Array:
    array = np.empty(len(texts), object)
    array[:] = texts
    return array if shape is None else array.reshape(shape)


def bytes_of(text: str) -> Array:
    return np.frombuffer(text.encode(), np.uint8)


def pack(
    begins: Any, ends: Any, symbols: str, *, element_type: str = "i64", constants: tuple[int, ...] = (), **more: Any
) -> Case:
    index = ElementType[element_type].dtype
    inputs = (np.array(begins, index), np.array(ends, index), bytes_of(symbols))
    return Case("StringTensorPack", 15, inputs, constants=constants, **more)


SPECIFIED = {"note": "specification"}

CASES += [
    pack([0, 5], [5, 13], "IntelOpenVINO", expected=(strings("Intel", "OpenVINO"),), **SPECIFIED),
    pack(
        [0, 3, 3, 8, 9],
        [3, 3, 8, 9, 13],
        "OMZGenAI 2024",
        expected=(strings("OMZ", "", "GenAI", " ", "2024"),),
        **SPECIFIED,
    ),
    pack([0, 8], [1, 9], "123456789", expected=(strings("1", "9"),), **SPECIFIED),
    pack(
        [[0, 5], [13, 16]],
        [[5, 13], [16, 21]],
        "IntelOpenVINOOMZGenAI",
        expected=(strings("Intel", "OpenVINO", "OMZ", "GenAI", shape=(2, 2)),),
        **SPECIFIED,
    ),
    pack([0, 5], [5, 13], "IntelOpenVINO", element_type="i32"),
    pack([5, 0], [13, 5], "IntelOpenVINO"),
    pack([0, 0, 1], [3, 3, 2], "abc"),
    pack([0, 3], [3, 1], "abc", note="an end before its begin"),
    pack([0, 4, 7], [4, 7, 11], "éß日本x"),
    pack([[[0]]], [[[3]]], "abc"),
    pack([0, 0], [0, 0], ""),
    pack(np.zeros((0,)), np.zeros((0,)), "abc"),
    pack(np.zeros((2, 0)), np.zeros((2, 0)), "abc"),
    pack(1, 3, "abc"),
    *[
        pack([0, 5], [5, 13], "IntelOpenVINO", element_type=element_type, constants=constants)
        for element_type in ("i32", "i64")
        for constants in ((0,), (1,), (2,), (0, 1))
    ],
    pack(
        [0, 5],
        [5, 13],
        "IntelOpenVINO",
        constants=(0, 1, 2),
        expected=(strings("Intel", "OpenVINO"),),
        oracle="nobody",
        note="the plugin cannot fold it",
    ),
]


def unpack(data: Array, *, constants: tuple[int, ...] = (), **more: Any) -> Case:
    return Case("StringTensorUnpack", 15, (data,), constants=constants, outputs=3, **more)


def unpack_strings(begins: Any, ends: Any, symbols: str) -> tuple[Array, ...]:
    return np.array(begins, np.int32), np.array(ends, np.int32), bytes_of(symbols)


CASES += [
    unpack(strings("Intel", "OpenVINO"), expected=unpack_strings([0, 5], [5, 13], "IntelOpenVINO"), **SPECIFIED),
    unpack(
        strings("OMZ", "", "GenAI", " ", "2024"),
        expected=unpack_strings([0, 3, 3, 8, 9], [3, 3, 8, 9, 13], "OMZGenAI 2024"),
        **SPECIFIED,
    ),
    unpack(
        strings("Intel", "OpenVINO", "OMZ", "GenAI", shape=(2, 2)),
        expected=unpack_strings([[0, 5], [13, 16]], [[5, 13], [16, 21]], "IntelOpenVINOOMZGenAI"),
        **SPECIFIED,
    ),
    *[
        unpack(data, constants=constants)
        for constants in ((), (0,))
        for data in (
            strings("a", "é", "日本", "🙂"),
            strings("one"),
            strings(""),
            strings("", "", ""),
            strings("scalar", shape=()),
            strings("a b", "\t", "x" * 300, "", shape=(2, 1, 2)),
        )
    ],
    unpack(strings(shape=(0,))),
    unpack(strings(shape=(3, 0))),
]
