"""Pad."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case

MODES = ["constant", "edge", "reflect", "symmetric"]
ELEMENT_TYPES = ["boolean", "bf16", "f16", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]
ELEMENT_TYPES += ["f8e4m3", "f8e5m2", "f8e8m0"]

WORKED_DATA = np.arange(1, 13, dtype=np.float32).reshape(3, 4)
CUBE = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
FIVE = np.arange(1, 6, dtype=np.float32)


def _typed_values(name: str, shape: tuple[int, ...]) -> Array:
    """Different values of any element type."""
    element_type = ElementType[name]
    codes = np.arange(1, 1 + int(np.prod(shape)), dtype=np.uint8)
    if element_type.bits == 8 and element_type.is_float:
        return codes.view(element_type.dtype).reshape(shape)
    return codes.astype(element_type.dtype).reshape(shape)


def _pad(
    data: Array,
    begin: Sequence[int],
    end: Sequence[int],
    mode: str = "constant",
    value: object = None,
    *,
    opset: int = 12,
    is_constant: bool = True,
    index: type[np.generic] = np.int64,
    expected: object = None,
    note: str = "",
    oracle: Literal["plugin", "reference"] = "plugin",
) -> Case:
    inputs = [data, np.array(begin, index), np.array(end, index)]
    if value is not None:
        inputs.append(np.asarray(value, data.dtype))
    outputs = None if expected is None else (np.array(expected, data.dtype),)
    # The plugin takes 0 for a pad_value that is no constant.
    constants = (1, 2, 3)[: len(inputs) - 1] if is_constant else (3,)[: len(inputs) - 3]
    return Case(
        "Pad", opset, tuple(inputs), {"pad_mode": mode}, constants=constants, expected=outputs, note=note, oracle=oracle
    )


POSITIVE = {
    "constant": [
        [0, 1, 2, 3, 4, 0, 0, 0],
        [0, 5, 6, 7, 8, 0, 0, 0],
        [0, 9, 10, 11, 12, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 0, 0],
    ],
    "edge": [
        [1, 1, 2, 3, 4, 4, 4, 4],
        [5, 5, 6, 7, 8, 8, 8, 8],
        [9, 9, 10, 11, 12, 12, 12, 12],
        [9, 9, 10, 11, 12, 12, 12, 12],
        [9, 9, 10, 11, 12, 12, 12, 12],
    ],
    "reflect": [
        [2, 1, 2, 3, 4, 3, 2, 1],
        [6, 5, 6, 7, 8, 7, 6, 5],
        [10, 9, 10, 11, 12, 11, 10, 9],
        [6, 5, 6, 7, 8, 7, 6, 5],
        [2, 1, 2, 3, 4, 3, 2, 1],
    ],
    "symmetric": [
        [1, 1, 2, 3, 4, 4, 3, 2],
        [5, 5, 6, 7, 8, 8, 7, 6],
        [9, 9, 10, 11, 12, 12, 11, 10],
        [9, 9, 10, 11, 12, 12, 11, 10],
        [5, 5, 6, 7, 8, 8, 7, 6],
    ],
}
MIXED = {
    "constant": [[0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0], [2, 3, 4, 0, 0, 0], [6, 7, 8, 0, 0, 0]],
    "edge": [[2, 3, 4, 4, 4, 4], [2, 3, 4, 4, 4, 4], [2, 3, 4, 4, 4, 4], [6, 7, 8, 8, 8, 8]],
    "reflect": [[10, 11, 12, 11, 10, 9], [6, 7, 8, 7, 6, 5], [2, 3, 4, 3, 2, 1], [6, 7, 8, 7, 6, 5]],
    "symmetric": [[6, 7, 8, 8, 7, 6], [2, 3, 4, 4, 3, 2], [2, 3, 4, 4, 3, 2], [6, 7, 8, 8, 7, 6]],
}

PADS: list[tuple[Array, Sequence[int], Sequence[int]]] = [
    (FIVE, [0], [0]),
    (FIVE, [4], [4]),
    (FIVE, [-2], [-1]),
    (FIVE, [-2], [3]),
    (FIVE, [3], [-4]),
    (FIVE, [-3], [-2]),
    (CUBE, [1, 2, 0], [1, 0, 3]),
    (CUBE, [0, -1, 2], [0, 2, -3]),
    (CUBE, [1, 0, 0], [-2, 0, 0]),
]

CASES: list[Case] = [
    *(
        _pad(WORKED_DATA, [0, 1], [2, 3], mode, opset=opset, expected=POSITIVE[mode], note="specification, positive")
        for opset in (1, 12)
        for mode in MODES
    ),
    *(
        _pad(WORKED_DATA, [-1, -1], [-1, -1], mode, expected=[[6, 7]], note="specification, negative pads")
        for mode in MODES
    ),
    *(_pad(WORKED_DATA, [2, -1], [-1, 3], mode, expected=MIXED[mode], note="specification, mixed") for mode in MODES),
    *(
        _pad(*pads, mode, opset=opset, is_constant=is_constant)
        for opset, is_constant in ((1, True), (12, True), (12, False))
        for mode in MODES
        for pads in PADS
    ),
    *(_pad(CUBE, [1, 0, 2], [0, 1, -1], "constant", 7.5, opset=opset) for opset in (1, 12)),
    _pad(CUBE, [1, 0, 2], [0, 1, -1], "constant", 7.5, is_constant=False),
    *(_pad(FIVE, [1], [2], mode, 7.5, note="pad_value without effect") for mode in MODES[1:]),
    *(_pad(FIVE, [1], [2], index=index) for index in (np.int8, np.int16, np.int32, np.uint8, np.uint32, np.uint64)),
    _pad(FIVE[:0], [1], [2], value=3),
    _pad(CUBE[:, :0], [0, 0, 1], [0, 0, 0], "edge"),
    _pad(CUBE[:, :0], [1, 2, 1], [0, 0, 0], "constant", 1),
    _pad(np.array(5, np.float32), [], [], oracle="reference"),
    Case(
        "Pad",
        12,
        (FIVE, np.array([1]), np.array([2]), np.array(7.5, np.float32)),
        {"pad_mode": "constant"},
        oracle="reference",
        note="nothing known",
    ),
    _pad(FIVE[:1], [3], [2], "edge"),
    _pad(FIVE[:1], [1], [1], "symmetric"),
    _pad(FIVE[:2], [1], [1], "reflect"),
    Case("Pad", 12, (FIVE, np.array([1]), np.array([2])), {"pad_mode": "constant"}, (1,), note="pads_end unknown"),
    Case("Pad", 12, (FIVE, np.array([1]), np.array([2])), {"pad_mode": "constant"}, (2,), note="pads_begin unknown"),
    *(
        _pad(_typed_values(name, (2, 3)), [1, 0], [0, 2], mode)
        for mode in ("constant", "reflect")
        for name in ELEMENT_TYPES[:12]
    ),
    *(_pad(_typed_values(name, (2, 3)), [1, 0], [0, 2], "constant", _typed_values(name, ())) for name in ELEMENT_TYPES),
    # Beyond the axis OpenVINO's plugin writes outside of its memory; below 0 it refuses what the specification makes 0.
    *(
        Case(
            "Pad",
            12,
            (WORKED_DATA[0], np.array([begin]), np.array([end])),
            {"pad_mode": mode},
            constants=(1, 2),
            expected=(np.array(expected, np.float32),),
            oracle="nobody" if begin + 4 + end < 0 else "reference",
            dynamic=False,
            note="beyond the axis",
        )
        for mode, begin, end, expected in [
            ("constant", -6, 8, [0, 0, 0, 0, 0, 0]),
            ("edge", -6, 8, [4, 4, 4, 4, 4, 4]),
            ("reflect", -6, 3, [1]),
            ("symmetric", -6, 4, [2, 1]),
            ("constant", 8, -6, [0, 0, 0, 0, 0, 0]),
            ("edge", 8, -6, [1, 1, 1, 1, 1, 1]),
            *((mode, -3, -3, []) for mode in MODES),
        ]
    ),
    Case(
        "Pad",
        12,
        (np.array([["a", "b"]], object), np.array([0, 1]), np.array([1, -1])),
        {"pad_mode": "constant"},
        constants=(1, 2),
        expected=(np.array([["", "a"], ["", ""]], object),),
        note="strings",
    ),
    Case(
        "Pad",
        12,
        (np.array(["a", "b"], object), np.array([1]), np.array([1]), np.array("text", object)),
        {"pad_mode": "constant"},
        constants=(1, 2, 3),
        note="strings",
    ),
]
