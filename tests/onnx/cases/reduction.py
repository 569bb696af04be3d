"""Reductions, orders, normalization and products of matrices."""

from __future__ import annotations

import numpy as np

from tests.onnx.cases.values import floats, i64, integers, positive
from tests.onnx.runtime import LEFT_OUT, Node, rows

__all__ = ["CASES"]

DATA = positive(2, 3, 4)
WHOLE = integers(-9, 9, 2, 3, 4, dtype=np.int32)
ORDERLESS = np.random.default_rng(5).permutation(24).reshape(2, 3, 4).astype(np.float32)
TIES = integers(0, 3, 3, 5, dtype=np.float32)


def _reductions() -> list[Node]:
    nodes: list[Node] = []
    names = ("Sum", "Mean", "Prod", "Max", "Min", "L1", "L2", "LogSum", "LogSumExp", "SumSquare")
    for name in names:
        opsets = (1, 11, 13) if name == "Sum" else (1, 11, 13, 18)
        by_attribute = tuple(opset for opset in opsets if opset < (13 if name == "Sum" else 18))
        nodes += rows(f"Reduce{name}", by_attribute, (DATA,), axes=[LEFT_OUT, [1], [0, 2]], keepdims=[LEFT_OUT, 0])
        nodes += rows(f"Reduce{name}", (11,), (DATA,), axes=[[-1], [-3, 2]], keepdims=[0])
        by_input = (13, 18) if name == "Sum" else (18,)
        axes = [(DATA,), (DATA, i64(1)), (DATA, i64(-1, 0)), (DATA, i64()), (floats(),)]
        nodes += rows(f"Reduce{name}", by_input, *axes, keepdims=[0, 1], constants=(1,), noop_with_empty_axes=[0, 1])
        if name not in ("LogSum", "LogSumExp", "L2"):
            nodes += rows(f"Reduce{name}", by_input[-1:], (WHOLE, i64(1)), constants=(1,))
    for name in ("Sum", "Prod"):
        nodes += rows(f"Reduce{name}", (18,), (floats(2, 0, 3), i64(1)), constants=(1,), keepdims=[0, 1])
    for name in ("ArgMax", "ArgMin"):
        nodes += rows(name, (1, 11, 13), (ORDERLESS,), (TIES,), axis=[LEFT_OUT, 1], keepdims=[LEFT_OUT, 0])
        nodes += rows(name, (12, 13), (TIES,), (WHOLE,), axis=[-1], select_last_index=[0, 1])
    return nodes


def _orders() -> list[Node]:
    nodes = list(rows("TopK", (1,), (ORDERLESS,), axis=[LEFT_OUT, 1], k=[2], outputs=2))
    nodes += rows("TopK", (10,), (ORDERLESS, i64(2)), axis=[LEFT_OUT, 0], outputs=2)
    nodes += rows(
        "TopK",
        (11, 24),
        (ORDERLESS, i64(2)),
        (TIES, i64(3)),
        (WHOLE, i64(0)),
        axis=[LEFT_OUT, -2],
        largest=[0, 1],
        outputs=2,
    )
    nodes += rows(
        "CumSum", (11, 14), (DATA, np.array(1)), (DATA, np.array(-1)), (WHOLE, i64(0)), exclusive=[0, 1], reverse=[0, 1]
    )
    nodes += rows("Unique", (11,), (integers(0, 4, 3, 4),), (TIES,), sorted=[LEFT_OUT, 0], outputs=4)
    nodes += rows("Unique", (11,), (integers(0, 2, 5, 2),), axis=[0, -1], outputs=4)
    return nodes


def _normal() -> list[Node]:
    nodes: list[Node] = []
    for name in ("Softmax", "LogSoftmax", "Hardmax"):
        nodes += rows(name, (1, 11, 13), (ORDERLESS / 7,), (floats(2, 3),), axis=[LEFT_OUT, 1])
        nodes += rows(name, (11, 13), (ORDERLESS / 7,), axis=[0, -1, -2])
    image, row = floats(2, 4, 3, 3), floats(4)
    nodes += rows(
        "BatchNormalization",
        (7, 9, 14, 15),
        (image, row, floats(4, seed=1), floats(4, seed=2), positive(4)),
        epsilon=[LEFT_OUT, 0.1],
    )
    nodes += rows(
        "InstanceNormalization",
        (6, 22),
        (image, row, floats(4, seed=1)),
        (floats(2, 4, 5), row, row),
        epsilon=[LEFT_OUT, 0.1],
    )
    nodes += rows(
        "LayerNormalization",
        (17,),
        (DATA, floats(4), floats(4, seed=1)),
        (DATA, floats(4)),
        axis=[LEFT_OUT, -1, 2],
        epsilon=[LEFT_OUT, 0.1],
        outputs=3,
    )
    nodes += rows("LayerNormalization", (13, 17), (DATA, floats(3, 4)), axis=[1, -2])
    nodes += rows("GroupNormalization", (18,), (image, floats(2), floats(2, seed=1)), num_groups=[2])
    nodes += rows("GroupNormalization", (21,), (image, row, floats(4, seed=1)), num_groups=[1, 2, 4])
    nodes += rows("RMSNormalization", (23,), (DATA, floats(4)), axis=[LEFT_OUT, -1])
    nodes += rows("LpNormalization", (1, 22), (DATA,), axis=[LEFT_OUT, 1], p=[LEFT_OUT, 1])
    nodes += rows("MeanVarianceNormalization", (9, 13), (image,), axes=[LEFT_OUT, [0, 2, 3], [-1]])
    # With an even size onnxruntime refuses, and ONNX's reference forgets channels beyond the size of the batch.
    nodes += rows("LRN", (1, 13), (floats(4, 4, 3, 2),), size=[1, 2, 3, 4], alpha=[LEFT_OUT, 0.5], bias=[LEFT_OUT, 2.0])
    return nodes


def _products() -> list[Node]:
    nodes: list[Node] = []
    pairs = [
        ((2, 3), (3, 4)),
        ((3,), (3, 4)),
        ((2, 3), (3,)),
        ((3,), (3,)),
        ((5, 1, 2, 3), (4, 3, 2)),
        ((0, 3), (3, 2)),
        ((2, 0), (0, 2)),
    ]
    arrays = [(floats(*a), floats(*b, seed=1)) for a, b in pairs]
    nodes += rows("MatMul", (1, 9, 13), *arrays)
    nodes += rows("MatMul", (13,), *[(a.astype(np.int32), b.astype(np.int32)) for a, b in arrays[:3]])
    a, b = floats(3, 2), floats(3, 4, seed=1)
    nodes += rows(
        "Gemm",
        (7, 9, 11, 13),
        (a, b, floats(2, 4)),
        (a, b, floats(4)),
        (a, b, floats(2, 1)),
        transA=[1],
        alpha=[LEFT_OUT, 0.5],
        beta=[LEFT_OUT, 2.0],
    )
    nodes += rows("Gemm", (11, 13), (a, b.T.copy()), (a, b.T.copy(), floats()), transA=[1], transB=[1])
    nodes += rows(
        "MatMulInteger",
        (10,),
        (
            integers(0, 255, 2, 3, dtype=np.uint8),
            integers(0, 255, 3, 4, dtype=np.uint8),
            np.array(3, np.uint8),
            np.array(7, np.uint8),
        ),
    )
    for equation, shapes in {
        "ij,jk->ik": ((2, 3), (3, 4)),
        "bij,bjk": ((2, 2, 3), (2, 3, 4)),
        "...ij,...jk->...ik": ((2, 1, 2, 3), (5, 3, 4)),
        "ii->i": ((3, 3),),
        "ij->": ((2, 3),),
        "i,j->ji": ((2,), (3,)),
    }.items():
        nodes += rows("Einsum", (12,), tuple(floats(*shape) for shape in shapes), equation=[equation])
    nodes += rows("Det", (11, 22), (floats(3, 3),), (floats(2, 4, 4),))
    return nodes


CASES = [*_reductions(), *_orders(), *_normal(), *_products()]
