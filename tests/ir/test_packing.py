"""Packed elements, against a model that works bit by bit and against OpenVINO's reading of the same bytes."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir_exec.errors import WeightsError
from ir_exec.ir import CURRENT_ORDER, BitOrder, decode, encode, packed_size, read_document
from ir_exec.types import Array, ElementType
from tests.helpers.ir_files import RELU, constant

BYTES = bytes([0x1B, 0xD2, 0x71])
NIBBLES = ("u4", "i4", "nf4", "f4e2m1")
PACKED = ("u1", "u2", "u3", "u6", *NIBBLES)
OLD_ORDER = BitOrder(high_nibble_first=True, high_pair_first=True)


def codes(array: Array) -> list[int]:
    """The bits of each element as a number."""
    bits = ElementType.of(array).bits
    return [int(byte) & 2**bits - 1 for byte in np.ascontiguousarray(array).view(np.uint8).reshape(-1)]


def bit(data: bytes, index: int) -> int:
    """Bit `index` of the bytes, the highest bit of each byte first."""
    return data[index // 8] >> (7 - index % 8) & 1


def number(bits: list[int]) -> int:
    """A number from its bits, the highest first."""
    return int("".join(map(str, bits)), 2)


def element(name: str, data: bytes, index: int, order: BitOrder) -> int:
    """The bits of one element, each looked up by itself."""
    if name == "u3":
        group = data[index // 8 * 3 : index // 8 * 3 + 3]
        within = index % 8
        return number([bit(group, 16 + within), bit(group, 2 * within), bit(group, 2 * within + 1)])
    if name == "u6":
        group = data[index // 4 * 3 : index // 4 * 3 + 3]
        within = index % 4
        high = [bit(group, 16 + 2 * within + k) for k in range(2)]
        return number(high + [bit(group, 4 * within + k) for k in range(4)])
    bits = ElementType[name].bits
    in_a_byte = 8 // bits
    high_first = name == "u1" or (order.high_pair_first if name == "u2" else order.high_nibble_first)
    position = index % in_a_byte if high_first else in_a_byte - 1 - index % in_a_byte
    return number([bit(data, index // in_a_byte * 8 + position * bits + k) for k in range(bits)])


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("u1", [0, 0, 0, 1, 1, 0, 1, 1]),
        ("u2", [3, 2, 1, 0, 2, 0, 1, 3, 1, 0, 3, 1]),
        ("u4", [11, 1, 2, 13, 1, 7]),
        ("u3", [0, 5, 6, 7, 3, 1, 0, 6]),
        ("u6", [17, 59, 13, 18]),
    ],
)
def test_known_bytes(name: str, first: list[int]) -> None:
    assert codes(decode(ElementType[name], (len(first),), BYTES))[: len(first)] == first


def test_values_of_small_floats_and_integers() -> None:
    assert decode(ElementType.i4, (6,), BYTES).astype(np.int32).tolist() == [-5, 1, 2, -3, 1, 7]
    assert decode(ElementType.f4e2m1, (4,), bytes([0x10, 0xF7])).astype(np.float32).tolist() == [0, 0.5, 6, -6]
    exponents = decode(ElementType.f8e8m0, (3,), bytes([0, 127, 254])).astype(np.float64).tolist()
    assert exponents == [2.0**-127, 1, 2.0**127]
    assert decode(ElementType.bf16, (2,), bytes([0x80, 0x3F, 0x00, 0xC0])).astype(np.float32).tolist() == [1, -2]


@settings(max_examples=60)
@given(st.sampled_from(PACKED), st.sampled_from([CURRENT_ORDER, OLD_ORDER]), st.integers(0, 70), st.data())
def test_decode_is_the_bit_by_bit_model(name: str, order: BitOrder, count: int, data: st.DataObject) -> None:
    size = packed_size(ElementType[name], count)
    stored = data.draw(st.binary(min_size=size, max_size=size))
    array = decode(ElementType[name], (count,), stored, order)
    assert codes(array) == [element(name, stored, index, order) for index in range(count)]


@settings(max_examples=60)
@given(st.sampled_from(PACKED), st.sampled_from([CURRENT_ORDER, OLD_ORDER]), st.lists(st.integers(0, 63), max_size=70))
def test_encode_is_the_bit_by_bit_model(name: str, order: BitOrder, values: list[int]) -> None:
    expected = [value % 2 ** ElementType[name].bits for value in values]
    raw = np.array(expected, np.uint8)
    if name == "i4":
        raw = np.where(raw > 7, raw + 240, raw).astype(np.uint8)
    stored = encode(raw.view(ElementType[name].dtype), order)
    assert len(stored) == packed_size(ElementType[name], len(values))
    assert [element(name, stored, index, order) for index in range(len(values))] == expected
    fewer_bits = sum(bin(byte).count("1") for byte in stored)
    assert fewer_bits == sum(bin(value).count("1") for value in expected), "bits that hold no value are zero"


def test_chunks_join_without_a_seam() -> None:
    generator = np.random.default_rng(0)
    for name in PACKED:
        element_type = ElementType[name]
        count = 1_200_001 * 8 // element_type.bits
        stored = generator.integers(0, 256, packed_size(element_type, count), np.uint8).tobytes()
        array = decode(element_type, (count,), stored)
        for index in (0, 393_215, 393_216, 524_287, 524_288, count // 2, count - 1):
            assert codes(array[index : index + 1]) == [element(name, stored, index, CURRENT_ORDER)]


@pytest.mark.parametrize("name", [element_type.name for element_type in ElementType if element_type.bits >= 8])
def test_whole_bytes_lie_little_endian(name: str) -> None:
    element_type = ElementType[name]
    stored = bytes(range(1, 17)) if name != "boolean" else bytes([0, 1] * 8)
    array = decode(element_type, (2, -1), stored)
    assert array.dtype == element_type.dtype
    assert array.view(np.uint8).tobytes() == stored
    assert encode(array) == stored
    if np.issubdtype(array.dtype, np.integer):
        assert int(array.flat[0]) == int.from_bytes(stored[: array.itemsize], "little")


def test_bytes_at_odd_addresses() -> None:
    stored = np.frombuffer(b"\0" + np.arange(4, dtype="<f4").tobytes(), np.uint8)
    aligned = np.zeros(64, np.uint8)
    start = -aligned.ctypes.data % 8
    for shift in range(4):
        aligned[start + shift : start + shift + 16] = stored[1:]
        assert decode(ElementType.f32, (2, 2), aligned[start + shift : start + shift + 16]).tolist() == [[0, 1], [2, 3]]


@pytest.mark.parametrize("largest", [1, 2, 3, 128, 255])
def test_every_byte_but_zero_is_true(largest: int) -> None:
    array = decode(ElementType.boolean, (4,), bytes([0, 1, 0, largest]))
    assert array.dtype == np.bool_
    assert array.view(np.uint8).tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("u1", {0: 0, 1: 1, 8: 1, 9: 2}),
        ("u2", {1: 1, 4: 1, 5: 2}),
        ("u3", {0: 0, 1: 3, 8: 3, 9: 6}),
        ("u4", {1: 1, 2: 1, 3: 2}),
        ("u6", {1: 3, 4: 3, 5: 6}),
        ("bf16", {3: 6}),
        ("i64", {3: 24}),
        ("boolean", {3: 3}),
    ],
)
def test_sizes(name: str, sizes: dict[int, int]) -> None:
    assert {count: packed_size(ElementType[name], count) for count in sizes} == sizes


@pytest.mark.parametrize("name", PACKED)
def test_empty_and_scalar(name: str) -> None:
    element_type = ElementType[name]
    assert decode(element_type, (0, 3), b"").shape == (0, 3)
    scalar = decode(element_type, (), BYTES[: packed_size(element_type, 1)])
    assert scalar.shape == ()
    assert codes(decode(element_type, (), encode(scalar))) == codes(scalar)


def in_openvino(name: str, count: int, stored: bytes) -> list[float]:
    """The results of OpenVINO for Const -> Convert to f32."""
    ov = pytest.importorskip("openvino")
    core = ov.Core()
    text = constant(name, ElementType[name].precision, str(count), len(stored))
    model = core.read_model(text.encode(), ov.Tensor(np.frombuffer(stored, np.uint8)))
    result: list[float] = core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})([])[0].tolist()
    return result


@pytest.mark.parametrize("name", [*PACKED, "f8e4m3", "f8e5m2", "i8", "u16", "f16", "bf16", "i64"])
def test_openvino_reads_the_same(name: str) -> None:
    pytest.importorskip("openvino")
    element_type = ElementType[name]
    generator = np.random.default_rng(7)
    # A count that leaves bits over in the last byte, or values over in the last group of three bytes.
    count = 27 if element_type.bits < 8 else 24
    # Small high bytes: no NaN, nothing that f32 rounds.
    top = 256 if element_type.bits <= 8 else 64
    stored = generator.integers(0, top, packed_size(element_type, count), np.uint8)
    if name.startswith("f8"):
        stored &= 0x77
    elif name == "i64":
        stored.reshape(-1, 8)[:, 3:] = 0
    decoded = in_openvino(name, count, stored.tobytes())
    array = decode(element_type, (count,), stored.tobytes())
    if name == "nf4":
        # The table of values rises with the code.
        assert np.argsort(decoded, kind="stable").tolist() == np.argsort(codes(array), kind="stable").tolist()
        assert len(set(decoded)) == len(set(codes(array)))
    elif array.dtype.fields:
        assert decoded == codes(array)
    else:
        assert decoded == array.astype(np.float32).tolist()


@pytest.mark.parametrize(
    ("version", "order"),
    [
        ("2022.3.0-9052-9752fafe8eb", OLD_ORDER),
        ("2023.3.0-13775-ceeafaf64f3", OLD_ORDER),
        ("2024.0.0-14509-34caeefd078", BitOrder(high_pair_first=True)),
        ("2025.2.0-19140-c01cd93e24d", BitOrder(high_pair_first=True)),
        ("2025.3.0-19807-44526285f24", CURRENT_ORDER),
        ("2026.4.1-22982-e213a147257", CURRENT_ORDER),
        ("unknown", CURRENT_ORDER),
    ],
)
def test_the_writer_tells_the_order(version: str, order: BitOrder) -> None:
    document = read_document(re.sub(r'value="[^"]*"', f'value="{version}"', RELU).encode())
    assert document is not None
    assert BitOrder.of(document) == order


@pytest.mark.parametrize("version", ["2024.0", "2025.2"])
def test_files_between_the_two_changes(version: str) -> None:
    """Pairs of bits are in the old order, halves of bytes in the new one."""
    document = read_document(re.sub(r'value="[^"]*"', f'value="{version}"', RELU).encode())
    assert document is not None
    order = BitOrder.of(document)
    assert codes(decode(ElementType.u4, (4,), BYTES, order)) == [11, 1, 2, 13]
    assert codes(decode(ElementType.u2, (4,), BYTES[:1], order)) == [0, 1, 2, 3]
    assert encode(decode(ElementType.u2, (4,), BYTES[:1], order), order) == BYTES[:1]


def test_old_files() -> None:
    assert codes(decode(ElementType.u4, (6,), BYTES, OLD_ORDER)) == [1, 11, 13, 2, 7, 1]
    assert codes(decode(ElementType.u2, (4,), BYTES[:1], OLD_ORDER)) == [0, 1, 2, 3]
    assert codes(decode(ElementType.u1, (8,), BYTES[:1], OLD_ORDER)) == [0, 0, 0, 1, 1, 0, 1, 1]


STRINGS = np.array([["", "a"], ["über", "\0日本"]], object)


def test_strings() -> None:
    stored = encode(STRINGS)
    assert stored == np.array([4, 0, 0, 1, 6, 13], "<i4").tobytes() + "aüber\0日本".encode()
    assert decode(ElementType.string, (2, 2), stored).tolist() == STRINGS.tolist()
    assert decode(ElementType.string, (2, 2), (b"x" + stored)[1:]).tolist() == STRINGS.tolist()
    assert decode(ElementType.string, (), encode(np.array("x", object))).item() == "x"


@settings(max_examples=60)
@given(st.lists(st.text(max_size=5), max_size=6))
def test_strings_come_back(strings: list[str]) -> None:
    array = np.array(strings, object)
    assert decode(ElementType.string, array.shape, encode(array)).tolist() == strings


def test_strings_that_openvino_writes(tmp_path: Path) -> None:
    ov = pytest.importorskip("openvino")
    path = tmp_path / "m.xml"
    strings = [["", "a"], ["über", "日本"]]
    node = ov.op.Constant(ov.Tensor(np.array(strings)))
    ov.save_model(ov.Model([ov.opset15.result(node)], [], "m"), path, compress_to_fp16=False)
    stored = path.with_suffix(".bin").read_bytes()
    array = decode(ElementType.string, (2, 2), stored)
    assert array.tolist() == strings
    assert encode(array) == stored


def words(*numbers: int) -> bytes:
    return np.array(numbers, "<i4").tobytes()


@pytest.mark.parametrize(
    "stored",
    [
        b"",
        b"\1\0\0",
        words(2),
        words(2, 0),
        words(2, 0, 1),
        words(3, 0, 1, 2) + b"ab",
        words(-1, 0, 1, 2) + b"ab",
        words(2**31 - 1, 0, 1, 2) + b"ab",
        words(2, 1, 1, 2) + b"ab",
        words(2, 0, 2, 1) + b"ab",
        words(2, 0, -1, 2) + b"ab",
        words(2, 0, 1, 3) + b"ab",
        words(2, 0, 1, 2) + b"a\xff",
        words(2, 0, 1, 2) + "ü".encode(),
    ],
)
def test_damaged_strings(stored: bytes) -> None:
    with pytest.raises(WeightsError) as caught:
        decode(ElementType.string, (2,), stored)
    assert caught.value.code == "IR206"


@settings(max_examples=50)
@given(st.binary(max_size=40), st.sampled_from([(), (0,), (1,), (2,), (2, 2), (10**12,)]))
def test_random_strings_raise_nothing_but_WeightsError(stored: bytes, shape: tuple[int, ...]) -> None:
    try:
        array = decode(ElementType.string, shape, stored)
    except WeightsError:
        return
    assert array.size == math.prod(shape)
