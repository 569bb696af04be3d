"""RegionYolo and ReorgYolo."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case
from tests.helpers.values import uniform


# RegionYolo.
def region(shape: tuple[int, ...], **attributes: Any) -> Case:
    all_attributes = {"axis": 1, "end_axis": 3, "coords": 4, "num": 2, "classes": 3, "do_softmax": True, **attributes}
    return Case("RegionYolo", 1, (uniform(shape, -3, 3, 3),), all_attributes, rtol=1e-5, atol=1e-6)


CASES: list[Case] = []

CASES += [
    region((1, 16, 3, 5)),
    region((2, 16, 3, 5)),
    region((2, 16, 2, 2), axis=-3, end_axis=-1),
    region((2, 16, 2, 2), axis=2, end_axis=3),
    region((2, 16, 2, 2), axis=0, end_axis=3),
    region((2, 16, 2, 2), axis=1, end_axis=1),
    region((2, 24, 2, 2), num=3),
    region((1, 20, 2, 3), num=2),
    region((1, 16, 2, 3), do_softmax=False, mask=(0, 1)),
    region((2, 24, 2, 3), do_softmax=False, mask=(3, 4, 5), num=6),
    region((1, 24, 2, 3), do_softmax=False, mask=(0, 1)),
    region((1, 6, 2, 3), do_softmax=False, mask=0, classes=1),
    region((1, 12, 2, 3), coords=2),
    region((1, 8, 1, 1), num=1),
    region((1, 16, 3, 5), anchors=(1.08, 1.19, 3.42, 4.41)),
]
for element_type, tolerance in (("f16", 1e-3), ("bf16", 1e-2)):
    for attributes in ({}, {"do_softmax": False, "mask": (0, 1)}):
        rows = region((2, 16, 2, 3), **attributes)
        typed = (rows.inputs[0].astype(ElementType[element_type].dtype),)
        CASES.append(Case("RegionYolo", 1, typed, rows.attributes, rtol=tolerance, atol=tolerance))


KINDS = ("f32", "f16", "bf16", "i8", "u8", "i32", "i64")


def iota(*shape: int, element_type: str = "f32") -> Array:
    """Every element another number, as far as the type goes."""
    return (np.arange(prod(shape)) % 100).reshape(shape).astype(ElementType[element_type].dtype)


# ReorgYolo; C need not be a multiple of the square of the stride.
for opset in (1, 2):
    CASES += [
        Case("ReorgYolo", opset, (iota(*shape),), {"stride": stride})
        for shape, stride in (
            ((1, 4, 2, 2), 2),
            ((2, 8, 4, 6), 2),
            ((2, 9, 3, 6), 3),
            ((1, 6, 2, 2), 2),
            ((2, 7, 2, 4), 2),
            ((1, 2, 3, 3), 1),
            ((1, 4, 2, 2), (2, 1)),
        )
    ]
CASES += [
    Case("ReorgYolo", 2, (iota(1, 4, 2, 2, element_type=element_type),), {"stride": 2})
    for element_type in KINDS
    if element_type != "f32"
]
