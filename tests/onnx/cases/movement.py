"""Operators that move elements, and those of shapes."""

from __future__ import annotations

import numpy as np

from tests.onnx.cases.values import floats, i64, integers
from tests.onnx.runtime import LEFT_OUT, Node, rows

__all__ = ["CASES"]

DATA = floats(3, 4, 5)
EMPTY = floats(0, 4)


def _gathers() -> list[Node]:
    nodes: list[Node] = []
    for index in (i64(0, 2, -1), np.array(1), np.array([[0, -3]]), i64(), integers(0, 3, 2, 2, dtype=np.int32)):
        nodes += rows("Gather", (1, 11, 13), (DATA, index), axis=[LEFT_OUT, 1, -1])
    nodes += rows("Gather", (13,), (EMPTY, i64()), (integers(0, 9, 4, dtype=np.uint8), i64(-1, 0)))
    inner = integers(-3, 3, 2, 4, 5)
    nodes += rows("GatherElements", (11, 13), (DATA, inner), axis=[LEFT_OUT, 0, -3])
    nodes += rows("GatherElements", (13,), (DATA, integers(-5, 5, 3, 4, 7)), axis=[-1])
    nodes += rows("GatherElements", (13,), (EMPTY, i64().reshape(0, 2)), axis=[1])
    nodes += rows(
        "GatherND", (11, 12, 13), (DATA, integers(-3, 3, 2, 2)), (DATA, i64(1)), (DATA, integers(0, 3, 2, 1, 3))
    )
    nodes += rows("GatherND", (12, 13), (DATA, integers(0, 4, 3, 2, 1)), batch_dims=[1])
    for opset in (9, 10, 11, 13, 16, 18):
        name = "Scatter" if opset < 11 else "ScatterElements"
        updates = floats(3, 2, 5, seed=1)
        nodes += rows(name, (opset,), (DATA, np.tile(np.array([[1], [3]]), (3, 1, 5)), updates), axis=[1, -2])
    kinds = {16: ["none", "add", "mul"], 18: ["none", "add", "mul", "max", "min"]}
    for opset, chosen in kinds.items():
        index = np.tile(np.array([[1], [-1]]), (3, 1, 5))
        nodes += rows("ScatterElements", (opset,), (DATA, index, floats(3, 2, 5, seed=1)), axis=[1], reduction=chosen)
        same = np.array([[0], [0], [2]])
        nodes += rows("ScatterND", (opset,), (DATA, same, floats(3, 4, 5, seed=1)), reduction=chosen[1:])
    nodes += rows(
        "ScatterND",
        (11, 13),
        (DATA, np.array([[0, 1], [-1, 2]]), floats(2, 5)),
        (DATA, np.zeros((0, 2), np.int64), floats(0, 5)),
    )
    return nodes


def _joins() -> list[Node]:
    nodes: list[Node] = []
    three = (DATA, floats(3, 1, 5), floats(3, 0, 5))
    nodes += rows("Concat", (4, 11, 13), three, three[:1], axis=[1])
    nodes += rows("Concat", (11, 13), three, axis=[-2])
    nodes += rows("Split", (2, 11), (DATA,), axis=[1, 1], split=[LEFT_OUT, [1, 3]], outputs=2)
    nodes += rows("Split", (11,), (DATA,), axis=[-2], split=[LEFT_OUT, [4, 0]], outputs=2)
    nodes += rows("Split", (13,), (DATA, i64(1, 3)), (DATA,), axis=[1, -2], constants=(1,), outputs=2)
    nodes += rows("Split", (18,), (DATA,), axis=[2], num_outputs=[3], outputs=3)
    nodes += rows(
        "Split", (18,), (floats(7),), num_outputs=[3, 4], outputs=3, where=lambda num_outputs: num_outputs == 3
    )
    nodes += rows(
        "Expand",
        (8, 13),
        (floats(3, 1), i64(2, 1, 4)),
        (floats(3, 1), i64(1)),
        (floats(), i64(0, 2)),
        (floats(2), i64()),
    )
    nodes += rows("Expand", (8, 13), (floats(2, 1), np.array(4)), constants=(1,))
    nodes += rows("Tile", (6, 13), (floats(2, 3), i64(2, 1)), (floats(2, 3), i64(0, 2)), (floats(), i64()))
    for mode in ("constant", "reflect", "edge"):
        nodes += rows("Pad", (2,), (floats(3, 4),), pads=[[1, 2, 0, 1]], mode=[mode])
        nodes += rows("Pad", (11, 13), (floats(3, 4), i64(1, 2, 0, 1)), mode=[mode])
    nodes += rows("Pad", (2,), (floats(3, 4),), pads=[[1, -2, 0, 1], [0, 0, 0, 0]], value=[1.5])
    nodes += rows(
        "Pad", (11, 13), (floats(3, 4), i64(1, -2, 0, 1), np.array(2, np.float32)), (floats(0, 4), i64(1, 0, 1, 0))
    )
    nodes += rows("Pad", (13,), (integers(0, 9, 3), i64(1, 2), np.array(7)))
    nodes += rows("Pad", (18, 19), (floats(3, 4), i64(1, 2, 0, 1)), mode=["wrap"])
    nodes += rows(
        "Pad",
        (18, 19),
        (floats(3, 4), i64(1, 2), None, i64(-1)),
        (floats(3, 4, 2), i64(1, 0, 0, 1), None, i64(2, 0)),
        mode=["constant", "edge"],
    )
    nodes += rows("Pad", (19, 21), (floats(3, 4), i64(1, 2, 0, 1)), mode=["wrap"])
    return nodes


def _cuts() -> list[Node]:
    nodes: list[Node] = []
    nodes += rows("Slice", (1,), (DATA,), starts=[[1, -3]], ends=[[3, 9999]], axes=[LEFT_OUT, [0, 2], [-1, 1]])
    bounds = [
        (i64(1), i64(3)),
        (i64(0, -2), i64(9, -1), i64(0, 2)),
        (i64(-1), i64(-99), i64(1), i64(-1)),
        (i64(4, 0), i64(0, 4), i64(-1, 1), i64(-2, 3)),
        (i64(2), i64(2), i64(0)),
        (i64(2**31), i64(2**62), i64(0)),
        (i64(-(2**62)), i64(2), i64(2), i64(1)),
        (i64(2**62), i64(-(2**63)), i64(0), i64(-1)),
    ]
    nodes += rows("Slice", (10, 11, 13), *[(DATA, *bound) for bound in bounds])
    nodes += rows("Slice", (13,), *[(DATA, *bound) for bound in bounds], constants=(1, 2, 3, 4))
    nodes += rows("Slice", (13,), (DATA, *(bound.astype(np.int32) for bound in bounds[1])), (EMPTY, i64(0), i64(3)))
    nodes += rows("Transpose", (1, 13), (DATA,), perm=[LEFT_OUT, [0, 1, 2], [2, 0, 1]])
    nodes += rows("Transpose", (13,), (floats(),), (EMPTY,))
    for shape in (i64(-1), i64(0, -1), i64(5, 3, 4), i64(0, 0, 0), i64(1, -1, 0), i64(60, 1)):
        nodes += rows("Reshape", (5, 13, 14), (DATA, shape), (DATA, shape), constants=(1,))
        nodes += rows("Reshape", (14,), (DATA, shape))
    nodes += rows("Reshape", (5, 14), (EMPTY, i64(0, 2)), (EMPTY, i64(4, 0)), (floats(1), i64()), (EMPTY, i64(-1)))
    nodes += rows("Reshape", (14,), (EMPTY, i64(3, 0)), (EMPTY, i64(0, 7)), allowzero=[1])
    nodes += rows("Flatten", (1, 9, 11, 13), (DATA,), (floats(2, 3, 2, 2),), axis=[LEFT_OUT, 0, 2, 3])
    nodes += rows("Flatten", (11, 13), (DATA,), axis=[-1, -3])
    nodes += rows("Flatten", (13,), (EMPTY,), (floats(3),), axis=[0, 1])
    ones = floats(1, 3, 1)
    nodes += rows("Squeeze", (1, 11), (ones,), axes=[LEFT_OUT, [0], [0, 2]])
    nodes += rows("Squeeze", (11,), (ones,), axes=[[-1]])
    nodes += rows("Squeeze", (13, 21), (ones,), (ones, i64(0)), (ones, i64(-1, 0)), constants=(1,))
    nodes += rows("Unsqueeze", (1, 11), (floats(3, 2),), (floats(),), axes=[[0], [0, 1]])
    nodes += rows("Unsqueeze", (11,), (floats(3, 2),), axes=[[-1], [3, 1], [-4, 1]])
    nodes += rows(
        "Unsqueeze", (13, 21), (floats(3, 2), i64(0)), (floats(3, 2), i64(-1, 0)), (floats(), i64(0, 1)), constants=(1,)
    )
    nodes += rows("Unsqueeze", (13, 21), (floats(3, 2), i64()), (floats(), i64()), constants=(1,))
    nodes += rows("Unsqueeze", (13,), (floats(3, 2), i64()))
    nodes += rows("DepthToSpace", (1, 11, 13), (floats(2, 8, 2, 3),), blocksize=[2])
    nodes += rows("DepthToSpace", (11, 13), (floats(2, 8, 2, 3),), blocksize=[2], mode=["DCR", "CRD"])
    nodes += rows("SpaceToDepth", (1, 13), (floats(2, 3, 4, 6),), blocksize=[2])
    nodes += rows("ReverseSequence", (10,), (floats(4, 3, 2), i64(1, 4, 2)), batch_axis=[1], time_axis=[0])
    nodes += rows("ReverseSequence", (10,), (floats(3, 4), i64(1, 4, 2)), batch_axis=[0], time_axis=[1])
    nodes += rows("Compress", (9, 11), (DATA, np.array([True, False, True])), axis=[LEFT_OUT, 0, 1])
    nodes += rows("Compress", (11,), (DATA, np.array([False, True])), axis=[-1])
    nodes += rows("Trilu", (14,), (DATA,), (DATA, np.array(1)), (DATA, np.array(-7)), (floats(2, 0),), upper=[0, 1])
    nodes += rows("Identity", (1, 13, 16), (DATA,), (EMPTY,), (floats(),))
    return nodes


def _shapes() -> list[Node]:
    nodes = list(rows("Shape", (1, 13, 15), (DATA,), (floats(),), (EMPTY,)))
    nodes += rows("Shape", (15, 21), (DATA,), start=[LEFT_OUT, 1, -2, 7], end=[LEFT_OUT, 2, -1, -9])
    nodes += rows("Size", (1, 13), (DATA,), (floats(),), (EMPTY,))
    nodes += rows("ConstantOfShape", (9, 20), (i64(2, 3),), (i64(),), (i64(0, 2),))
    nodes += rows(
        "Range", (11,), *[tuple(np.array(value, dtype) for value in (1, 10, 3)) for dtype in (np.int64, np.float32)]
    )
    nodes += rows("Range", (11,), (np.array(5), np.array(-4), np.array(-3)), (np.array(5), np.array(5), np.array(1)))
    nodes += rows(
        "OneHot",
        (9, 11),
        (i64(0, 2, -1, 7), np.array(4), floats(2)),
        (i64(1), i64(3), integers(0, 9, 2)),
        axis=[LEFT_OUT, 0],
    )
    nodes += rows("EyeLike", (9, 22), (floats(3, 4),), k=[LEFT_OUT, 1, -2], dtype=[LEFT_OUT, 7])
    nodes += rows("NonZero", (9, 13), (integers(0, 2, 3, 4),), (integers(0, 2, 3, dtype=bool),), (floats(0, 2),))
    return nodes


CASES = [*_gathers(), *_joins(), *_cuts(), *_shapes()]
