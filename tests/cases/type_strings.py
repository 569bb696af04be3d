"""StringTensorPack and StringTensorUnpack."""

from __future__ import annotations

from typing import Any

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case


def strings(*texts: str, shape: tuple[int, ...] | None = None) -> Array:
    array = np.empty(len(texts), object)
    array[:] = texts
    return array if shape is None else array.reshape(shape)


def bytes_of(text: str) -> Array:
    return np.frombuffer(text.encode(), np.uint8)


def pack(
    begins: Any, ends: Any, symbols: str, *, kind: str = "i64", constants: tuple[int, ...] = (), **more: Any
) -> Case:
    index = ElementType[kind].dtype
    inputs = (np.array(begins, index), np.array(ends, index), bytes_of(symbols))
    return Case("StringTensorPack", 15, inputs, constants=constants, **more)


SPECIFIED = {"note": "specification"}

CASES = [
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
    pack([0, 5], [5, 13], "IntelOpenVINO", kind="i32"),
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
        pack([0, 5], [5, 13], "IntelOpenVINO", kind=kind, constants=constants)
        for kind in ("i32", "i64")
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


def unpacked(begins: Any, ends: Any, symbols: str) -> tuple[Array, ...]:
    return np.array(begins, np.int32), np.array(ends, np.int32), bytes_of(symbols)


CASES += [
    unpack(strings("Intel", "OpenVINO"), expected=unpacked([0, 5], [5, 13], "IntelOpenVINO"), **SPECIFIED),
    unpack(
        strings("OMZ", "", "GenAI", " ", "2024"),
        expected=unpacked([0, 3, 3, 8, 9], [3, 3, 8, 9, 13], "OMZGenAI 2024"),
        **SPECIFIED,
    ),
    unpack(
        strings("Intel", "OpenVINO", "OMZ", "GenAI", shape=(2, 2)),
        expected=unpacked([[0, 5], [13, 16]], [[5, 13], [16, 21]], "IntelOpenVINOOMZGenAI"),
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
