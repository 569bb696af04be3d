"""Pooling and convolution: windows that move over images."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.onnx.cases.values import floats, integers
from tests.onnx.runtime import LEFT_OUT, Node, rows

__all__ = ["CASES"]

IMAGE = (floats(2, 3, 7, 8),)
SIGNAL = (floats(1, 2, 9),)


def _pools() -> list[Node]:
    nodes: list[Node] = []
    tables: tuple[tuple[str, tuple[int, ...], dict[str, Any]], ...] = (
        ("AveragePool", (7, 11, 19, 22), {"count_include_pad": [0, 1]}),
        ("MaxPool", (8, 11, 12, 22), {}),
    )
    for name, opsets, more in tables:
        for pads in ([0, 0, 0, 0], [1, 0, 1, 1], [1, 1, 1, 1]):
            nodes += rows(
                name, opsets[:2], IMAGE, kernel_shape=[[3, 2]], strides=[LEFT_OUT, [2, 3]], pads=[pads], **more
            )
            nodes += rows(
                name, opsets[1:], IMAGE, kernel_shape=[[3, 3]], strides=[[2, 2]], pads=[pads], ceil_mode=[0, 1], **more
            )
        nodes += rows(
            name, opsets[1:], IMAGE, kernel_shape=[[2, 2]], strides=[[2, 2]], pads=[[1, 1, 1, 1]], ceil_mode=[1], **more
        )
        nodes += rows(
            name,
            opsets[1:],
            IMAGE,
            kernel_shape=[[2, 3]],
            strides=[[1, 1], [2, 2]],
            auto_pad=["SAME_UPPER", "SAME_LOWER", "VALID"],
        )
        nodes += rows(name, opsets[2:], SIGNAL, kernel_shape=[[3]], strides=[[2]], dilations=[[2]], ceil_mode=[0, 1])
        nodes += rows(name, opsets[-1:], (floats(1, 2, 4, 5, 4),), kernel_shape=[[2, 3, 2]], pads=[[0, 1, 0, 0, 1, 1]])
    nodes += rows("MaxPool", (8, 12), IMAGE, kernel_shape=[[2, 2]], strides=[[2, 2]], storage_order=[0], outputs=2)
    nodes += rows(
        "MaxPool",
        (12,),
        IMAGE,
        kernel_shape=[[3, 3]],
        pads=[[1, 1, 1, 1]],
        storage_order=[0, 1],
        outputs=2,
    )
    nodes += rows("MaxPool", (12,), (integers(-99, 99, 1, 2, 5, 5, dtype=np.int8),), kernel_shape=[[2, 2]])
    for name in ("GlobalAveragePool", "GlobalMaxPool"):
        nodes += rows(name, (1,), IMAGE, SIGNAL, (floats(1, 2, 3, 4, 2),))
    nodes += rows("GlobalLpPool", (2,), IMAGE, p=[LEFT_OUT, 1, 3])
    nodes += rows(
        "LpPool",
        (11, 18),
        IMAGE,
        kernel_shape=[[3, 2]],
        strides=[[2, 1]],
        pads=[[0, 0, 0, 0], [1, 0, 1, 1]],
        p=[1, 2, 3],
    )
    return nodes


def _convolutions() -> list[Node]:
    nodes: list[Node] = []
    weights = floats(4, 3, 3, 2, seed=1)
    for constants in ((), (1, 2)):
        nodes += rows(
            "Conv",
            (1, 11, 22),
            (*IMAGE, weights),
            (*IMAGE, weights, floats(4)),
            constants=constants,
            pads=[LEFT_OUT, [1, 0, 2, 1]],
            strides=[LEFT_OUT, [2, 1]],
        )
    nodes += rows(
        "Conv",
        (11,),
        (*IMAGE, weights),
        kernel_shape=[[3, 2]],
        auto_pad=["SAME_UPPER", "SAME_LOWER", "VALID"],
        strides=[LEFT_OUT, [2, 2]],
    )
    nodes += rows("Conv", (11,), (*IMAGE, floats(6, 1, 2, 2)), group=[3], dilations=[LEFT_OUT, [2, 3]])
    nodes += rows("Conv", (11,), (*SIGNAL, floats(3, 2, 3)), (floats(0, 2, 9), floats(3, 2, 3)), pads=[[1, 1]])
    nodes += rows("Conv", (11,), (floats(1, 2, 4, 4, 4), floats(3, 2, 2, 2, 2), floats(3)))
    back = floats(3, 2, 3, 2, seed=1)
    for constants in ((), (1, 2)):
        nodes += rows(
            "ConvTranspose",
            (1, 11, 22),
            (*IMAGE, back),
            (*IMAGE, back, floats(2)),
            constants=constants,
            pads=[LEFT_OUT, [1, 0, 2, 1]],
            strides=[LEFT_OUT, [2, 3]],
        )
    nodes += rows(
        "ConvTranspose", (11,), (*IMAGE, back), strides=[[2, 3]], output_padding=[[1, 2]], dilations=[LEFT_OUT, [2, 1]]
    )
    nodes += rows(
        "ConvTranspose",
        (11,),
        (*IMAGE, back),
        strides=[[2, 2]],
        auto_pad=["SAME_UPPER", "SAME_LOWER", "VALID"],
        constants=(1,),
    )
    nodes += rows("ConvTranspose", (11,), (*IMAGE, back), strides=[[2, 2]], output_shape=[[15, 16], [14, 17]])
    nodes += rows("ConvTranspose", (11,), (floats(1, 4, 3, 3), floats(4, 2, 2, 2)), group=[2], strides=[[2, 2]])
    nodes += rows("ConvTranspose", (11,), (*SIGNAL, floats(2, 3, 3)), strides=[[2]], pads=[[1, 0]])
    return nodes


CASES = [*_pools(), *_convolutions()]
