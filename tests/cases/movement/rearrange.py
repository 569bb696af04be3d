"""Operators that rearrange blocks of images and channels."""

from __future__ import annotations

from math import prod

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case
from tests.helpers.values import ints

KINDS = ("f32", "f16", "bf16", "i8", "u8", "i32", "i64")


def iota(*shape: int, element_type: str = "f32") -> Array:
    """Every element another number, as far as the type goes."""
    return (np.arange(prod(shape)) % 100).reshape(shape).astype(ElementType[element_type].dtype)


CASES: list[Case] = []

# ShuffleChannels; opset2 has none.
for opset in (1, 3):
    CASES += [
        Case("ShuffleChannels", opset, (iota(*shape),), attributes)
        for shape, attributes in (
            ((2, 12), {"group": 3}),
            ((2, 12, 3), {"group": 4, "axis": 1}),
            ((2, 12, 3), {"axis": -2, "group": 12}),
            ((6,), {"axis": 0, "group": 2}),
            ((2, 3, 8, 2), {"axis": 2, "group": 2}),
            ((2, 3, 2, 8), {"axis": -1, "group": 8}),
            ((1, 4, 1, 1), {}),
            ((2, 1), {"axis": 1, "group": 1}),
        )
    ]
CASES += [Case("ShuffleChannels", 3, (iota(2, 6, element_type=element_type),), {"group": 2}) for element_type in KINDS]
CASES += [
    Case("ShuffleChannels", 3, (iota(0, 6),), {"group": 2}, oracle="nobody", expected=(iota(0, 6),)),
]  # fmt: skip

# DepthToSpace and SpaceToDepth
for mode in ("blocks_first", "depth_first"):
    CASES += [
        Case("DepthToSpace", 1, (iota(*shape),), {"mode": mode, "block_size": size})
        for shape, size in (
            ((1, 4, 5), 2),
            ((2, 6, 1), 3),
            ((1, 8, 2, 3), 2),
            ((2, 18, 1, 3), 3),
            ((2, 3, 2, 3), 1),
            ((1, 16, 2, 1, 3), 2),
            ((1, 27, 1, 2, 1), 3),
        )
    ]
    CASES += [
        Case("SpaceToDepth", 1, (iota(*shape),), {"mode": mode, "block_size": size})
        for shape, size in (
            ((1, 2, 6), 2),
            ((2, 1, 6), 3),
            ((1, 2, 4, 6), 2),
            ((2, 3, 3, 6), 3),
            ((2, 3, 2, 3), 1),
            ((1, 2, 4, 2, 6), 2),
            ((1, 1, 3, 6, 3), 3),
        )
    ]
    for element_type in KINDS:
        CASES += [
            Case("DepthToSpace", 1, (iota(1, 4, 1, 2, element_type=element_type),), {"mode": mode, "block_size": 2}),
            Case("SpaceToDepth", 1, (iota(1, 1, 2, 4, element_type=element_type),), {"mode": mode, "block_size": 2}),
        ]
    CASES += [
        Case("DepthToSpace", 1, (iota(1, 2, 2, 2),), {"mode": mode}, oracle="nobody",
             expected=(iota(1, 2, 2, 2),), note="the default of OpenVINO is 0, which it refuses"),
        Case("DepthToSpace", 1, (iota(0, 4, 1, 2),), {"mode": mode, "block_size": 2}, oracle="nobody",
             expected=(iota(0, 1, 2, 4),)),
        Case("SpaceToDepth", 1, (iota(1, 2, 0, 4),), {"mode": mode, "block_size": 2}, oracle="nobody",
             expected=(iota(1, 8, 0, 2),)),
        Case("DepthToSpace", 1, (np.array([[["a"], ["b"]]], object),), {"mode": mode, "block_size": 2},
             oracle="nobody", expected=(np.array([[["a", "b"]]], object),)),
    ]  # fmt: skip

# BatchToSpace and SpaceToBatch: shape, block_shape, cut off or added at the beginning and at the end.
BLOCKS: list[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = [
    ((10, 2), (1, 5), (0, 2), (0, 0)),
    ((4, 2, 3), (1, 2, 2), (0, 1, 0), (0, 0, 1)),
    ((6, 1, 2, 3), (1, 1, 3, 2), (0, 0, 2, 1), (0, 0, 0, 2)),
    ((48, 3, 3, 1, 3), (1, 2, 4, 3, 1), (0, 0, 1, 0, 0), (0, 0, 1, 0, 0)),
    ((3, 2, 2), (1, 1, 1), (0, 0, 0), (0, 0, 0)),
    ((2, 3, 2), (1, 1, 1), (0, 1, 0), (0, 1, 0)),
    ((4, 1, 2), (1, 1, 4), (0, 0, 4), (0, 0, 3)),
]
for constant_positions in ((1, 2, 3), (1,), ()):
    CASES += [
        Case(
            "BatchToSpace",
            2,
            (iota(*shape), *(ints(*values) for values in (block, begin, end))),
            constants=set(constant_positions),
        )
        for shape, block, begin, end in BLOCKS
    ]
SPACES: list[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = [
    ((2, 8), (1, 5), (0, 2), (0, 0)),
    ((1, 4, 6), (1, 2, 3), (0, 1, 0), (0, 1, 3)),
    ((1, 2, 4, 3), (1, 1, 3, 2), (0, 0, 2, 1), (0, 0, 0, 2)),
    ((2, 6, 10, 3, 3), (1, 2, 4, 3, 1), (0, 0, 1, 0, 0), (0, 0, 1, 0, 0)),
    ((3, 2, 2), (1, 1, 1), (0, 0, 0), (0, 0, 0)),
    ((3, 2, 2), (1, 1, 1), (0, 2, 0), (0, 0, 1)),
    ((1, 1, 8), (1, 1, 4), (0, 0, 0), (0, 0, 0)),
]
for constant_positions in ((1, 2, 3), (1,), ()):
    CASES += [
        Case(
            "SpaceToBatch",
            2,
            (iota(*shape), *(ints(*values) for values in (block, begin, end))),
            constants=set(constant_positions),
        )
        for shape, block, begin, end in SPACES
    ]
for element_type in KINDS:
    numbers = (ints(1, 2, 1, element_type="i32"), ints(0, 1, 0, element_type="i32"), ints(0, 0, 1, element_type="i32"))
    CASES += [
        Case("BatchToSpace", 2, (iota(2, 2, 3, element_type=element_type), *numbers), constants={1, 2, 3}),
        Case("SpaceToBatch", 2, (iota(2, 3, 3, element_type=element_type), *numbers), constants={1, 2, 3}),
    ]
CASES += [
    Case("BatchToSpace", 2, (iota(0, 2), ints(1, 2), ints(0, 1), ints(0, 0)), constants={1, 2, 3},
         oracle="nobody", expected=(iota(0, 3),)),
    Case("BatchToSpace", 2, (iota(4, 0), ints(1, 2), ints(0, 0), ints(0, 0)), constants={1, 2, 3},
         oracle="nobody", expected=(iota(2, 0),)),
    Case("SpaceToBatch", 2, (iota(2, 0), ints(1, 2), ints(0, 1), ints(0, 1)), constants={1, 2, 3},
         oracle="nobody", expected=(np.zeros((4, 1), np.float32),)),
    Case("SpaceToBatch", 2, (np.array([["a"]], object), ints(1, 2), ints(0, 1), ints(0, 0)), constants={1, 2, 3},
         oracle="nobody", expected=(np.array([[""], ["a"]], object),)),
]  # fmt: skip


def patches(shape: tuple[int, ...], sizes: object, strides: object, rates: object, pad: str, **fields: object) -> Case:
    attributes = {"sizes": sizes, "strides": strides, "rates": rates, "auto_pad": pad}
    return Case("ExtractImagePatches", 3, (iota(*shape),), attributes, **fields)  # type: ignore[arg-type]  # as a caller


# ExtractImagePatches
for pad in ("valid", "same_upper", "same_lower"):
    CASES += [
        patches(shape, sizes, strides, rates, pad)
        for shape, sizes, strides, rates in (
            ((1, 1, 10, 10), (3, 3), (5, 5), (1, 1)),
            ((1, 1, 10, 10), (4, 4), (8, 8), (1, 1)),
            ((1, 1, 10, 10), (4, 4), (9, 9), (1, 1)),
            ((1, 1, 10, 10), (3, 3), (5, 5), (2, 2)),
            ((1, 2, 5, 5), (2, 2), (3, 3), (1, 1)),
            ((2, 3, 4, 6), (3, 2), (2, 3), (1, 2)),
            ((2, 3, 4, 6), (1, 1), (1, 1), (1, 1)),
            ((1, 1, 3, 7), (2, 4), (1, 1), (2, 1)),
            ((1, 1, 7, 2), (1, 2), (3, 1), (4, 1)),
        )
    ]
CASES += [
    patches((1, 1, 4, 6), (5, 3), (3, 3), (1, 1), "valid"),
    patches((1, 1, 4, 6), (6, 3), (3, 3), (1, 1), "valid"),
    patches((1, 2, 0, 6), (3, 3), (3, 3), (1, 1), "valid"),
    patches((1, 1, 2, 6), (3, 3), (3, 3), (1, 1), "valid"),
]
image = np.arange(1, 101, dtype=np.float32).reshape(1, 1, 10, 10)
CASES += [
    Case("ExtractImagePatches", 3, (image,),
         {"sizes": "3,3", "strides": "5,5", "rates": "1,1", "auto_pad": "valid"},
         expected=(np.array([[1, 6, 51, 56], [2, 7, 52, 57], [3, 8, 53, 58], [11, 16, 61, 66], [12, 17, 62, 67],
                             [13, 18, 63, 68], [21, 26, 71, 76], [22, 27, 72, 77], [23, 28, 73, 78]],
                            np.float32).reshape(1, 9, 2, 2),), note="example 1"),
]  # fmt: skip


def fold(
    shape: tuple[int, ...], size: tuple[int, int], kernel: tuple[int, int], element_type: str = "f32", **fields: object
) -> Case:
    attributes: dict[str, object] = {"strides": (1, 1), "dilations": (1, 1), "pads_begin": (0, 0), "pads_end": (0, 0)}
    attributes |= {name: fields.pop(name) for name in list(fields) if name in attributes}
    fields = {"constants": {1, 2}, **fields}
    inputs = (iota(*shape, element_type=element_type), ints(*size), ints(*kernel))
    return Case("Col2Im", 15, inputs, attributes, **fields)  # type: ignore[arg-type]  # as a caller


# Col2Im
CASES += [
    fold((4, 6), (3, 4), (2, 2)),
    fold((1, 4, 6), (3, 4), (2, 2)),
    fold((3, 12, 225), (16, 16), (2, 2), note="example 1"),
    fold((1, 27, 49), (16, 16), (3, 3), dilations=(2, 2), pads_begin=(1, 1), pads_end=(1, 1), strides=(2, 2)),
    fold((2, 12, 1296), (32, 32), (2, 2), dilations=(2, 2), pads_begin=(3, 3), pads_end=(3, 3), note="example 3"),
    fold((2, 6, 16), (5, 7), (2, 3), strides=(2, 3), pads_begin=(1, 2), pads_end=(2, 3)),
    fold((2, 12, 6), (7, 9), (2, 3), strides=(3, 2), dilations=(4, 2), pads_begin=(0, 0), pads_end=(1, 0)),
    fold((1, 3, 4), (2, 2), (1, 1)),
    fold((1, 3, 1), (5, 5), (1, 1), strides=(7, 7)),
    fold((1, 4, 6), (3, 4), (2, 2), "i32"),
    fold((1, 4, 6), (3, 4), (2, 2), "i8"),
    fold((1, 4, 6), (3, 4), (2, 2), "i64"),
    fold((1, 4, 6), (3, 4), (2, 2), "u8"),
    fold((1, 4, 6), (3, 4), (2, 2), "f16", rtol=1e-3),
    fold((1, 4, 6), (3, 4), (2, 2), "bf16", rtol=1e-2),
    fold((1, 4, 6), (3, 4), (2, 2), constants=()),
    fold((1, 4, 6), (3, 4), (2, 2), constants={1}),
    fold((1, 4, 6), (3, 4), (2, 2), constants={2}),
]  # fmt: skip
CASES += [
    Case("SpaceToBatch", 2, (iota(2, 3, 3), ints(1, 2, 1), ints(0, 1, 0, element_type="i32"),
                             ints(0, 0, 1, element_type="u8")),
         constants={1, 2, 3}),
]  # fmt: skip
