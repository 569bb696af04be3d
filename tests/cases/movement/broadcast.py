"""Elements repeated until a shape is filled."""

from __future__ import annotations

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case
from tests.helpers.values import ints, iota

KINDS = ["boolean", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64"]
INDEX_KINDS = ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"]


def oracle_of(shape: tuple[int, ...], target: tuple[int, ...]) -> dict[str, object]:
    """The oracle of a case: the plugin crashes on scalars that stay scalars, and makes a target of 0 a 1; both crash on
    empty data with only its shape to report.
    """
    if 0 in shape:
        output = np.zeros(np.broadcast_shapes(shape, target), np.float32)
        return {"oracle": "nobody", "expected": (output,)}
    return {"oracle": "reference" if not target or 0 in target else "plugin"}


def broadcast(
    opset: int, data: Array, target: Array, mode: str | None = None, *mapping: Array, **fields: object
) -> Case:
    attributes = {} if mode is None else {"mode": mode}
    attributes |= fields.pop("attributes", {})  # type: ignore[arg-type]  # as a caller gives them
    fields = {"constants": {1, 2} if mapping else {1}, **fields}
    return Case("Broadcast", opset, (data, target, *mapping), attributes, **fields)  # type: ignore[arg-type]  # as a caller


NUMPY = [
    ((16, 1, 1), (1, 16, 5, 5)),
    ((3,), (2, 3)),
    ((3,), (3,)),
    ((1,), (4,)),
    ((), ()),
    ((), (2, 3)),
    ((2, 1, 3), (2, 5, 3)),
    ((1, 3), (0, 3)),
    ((1,), (0,)),
    ((0,), (2, 0)),
    ((1, 1, 1), (2, 3, 4)),
]
BIDIRECTIONAL = [
    *NUMPY,
    ((16, 1, 1), (1, 1, 5, 5)),
    ((2, 3), (3,)),
    ((3,), (3, 1)),
    ((2, 1), (4,)),
    ((3,), ()),
    ((3,), (1,)),
    ((2, 3, 4), (1, 3, 1)),
    ((0,), (1,)),
]
EXPLICIT = [
    ((16,), (1, 16, 5, 5), (1,)),
    ((5, 4), (1, 5, 4, 6), (1, 2)),
    ((3,), (3, 2), (0,)),
    ((3,), (2, 3), (1,)),
    ((1,), (2, 3), (0,)),
    ((2, 1), (2, 3, 4), (0, 2)),
    ((2, 3), (2, 3), (0, 1)),
    ((2, 4), (2, 3, 4), (0, 2)),
    ((), (2, 3), ()),
    ((), (1, 3), (0,)),
    ((0,), (2, 0), (1,)),
]
PDPD = [
    ((5,), (5,)),
    ((2, 1), (2, 3)),
    ((2, 3), (1, 3)),
    ((1, 3), (2, 3)),
    ((2, 3, 4), (2, 3, 4)),
    ((1,), (4,)),
]

CASES = [
    broadcast(opset, iota(3, 1, element_type=element_type), ints(2, 3, 4), "numpy")
    for opset in (1, 3)
    for element_type in KINDS
]
CASES += [
    # The plugin reads i8 and u8 targets beyond their end.
    broadcast(
        3,
        iota(3),
        ints(2, 3, element_type=element_type),
        "numpy",
        oracle="reference" if element_type in ("i8", "u8") else "plugin",
    )
    for element_type in INDEX_KINDS
    if element_type != "i64"
]
for opset in (1, 3):
    CASES += [
        broadcast(opset, iota(*shape), ints(*target), "numpy", **oracle_of(shape, target)) for shape, target in NUMPY
    ]
    CASES += [
        broadcast(opset, iota(*shape), ints(*target), "explicit", ints(*mapping), **oracle_of(shape, target))
        for shape, target, mapping in EXPLICIT
    ]
    CASES += [
        broadcast(opset, iota(3), ints(2, 3)),
        broadcast(opset, iota(3), ints(2, 3), constants=()),
        broadcast(opset, iota(3), ints(2, 3, 2), "explicit", ints(1), constants=(), oracle="reference"),
        broadcast(
            opset,
            iota(3),
            ints(2, 3, 2),
            "explicit",
            ints(1, element_type="i32"),
            constants={2},
            oracle="reference",
        ),
        broadcast(opset, iota(3), ints(2, 3, 2), "none", ints(1), note="explicit as OpenVINO writes it"),
    ]
CASES += [
    broadcast(3, iota(*shape), ints(*target), "bidirectional", **oracle_of(shape, target))
    for shape, target in BIDIRECTIONAL
]
CASES += [
    broadcast(3, iota(2, 1), ints(4), "bidirectional", constants=()),
    broadcast(3, iota(2, 3), ints(2, 3), "BIDIRECTIONAL"),
    broadcast(1, iota(3), ints(2, 3), "explicit", note="without a mapping"),
    broadcast(1, iota(3), ints(2, 3), "numpy", ints(0), note="with a mapping that is not used"),
]
# OpenVINO needs a third input here, of which it makes nothing.
CASES += [broadcast(3, iota(*shape), ints(*target), "pdpd") for shape, target in PDPD]
CASES += [broadcast(1, iota(*shape), ints(*target), "pdpd", ints(0)) for shape, target in PDPD]
CASES += [
    broadcast(1, iota(3, 4), ints(2, 3, 4), "pdpd", ints(0), attributes={"mode.auto_broadcast_axis": 1}),
    broadcast(1, iota(3, 1), ints(2, 3, 4), "pdpd", ints(0), attributes={"mode.auto_broadcast_axis": 1}),
    broadcast(3, iota(3, 4), ints(2, 3, 4), "pdpd", attributes={"mode.mode.axis": 1}),
    broadcast(3, iota(3, 1), ints(2, 3, 4), "pdpd", attributes={"mode.mode.axis": 1}),
    broadcast(3, iota(3, 1), ints(2, 3, 4), "pdpd", attributes={"mode.mode.axis": -1}),
]


def tile(data: Array, repeats: Array, **fields: object) -> Case:
    return Case("Tile", 1, (data, repeats), **{"constants": {1}, **fields})  # type: ignore[arg-type]  # as a caller


CASES += [tile(iota(2, 3, element_type=element_type), ints(2, 2)) for element_type in KINDS]
CASES += [tile(iota(2, 3), ints(1, 2, element_type=element_type)) for element_type in INDEX_KINDS]
CASES += [
    tile(iota(2, 3, 4), ints(1, 2, 3)),
    tile(iota(2, 3, 4), ints(5, 1, 2, 3)),
    tile(iota(5, 2, 3, 4), ints(1, 2, 3)),
    tile(iota(2, 3), ints(5)),
    tile(iota(2, 3), ints(), oracle="reference", note="the plugin makes up values"),
    tile(iota(2, 3), ints(1, 1)),
    tile(iota(2, 3), ints(0, 1)),
    tile(iota(3), ints(-1), note="less than none are none"),
    tile(iota(), ints(2)),
    tile(iota(), ints(), oracle="nobody", expected=(iota(),), note="both crash"),
    tile(iota(0, 2), ints(2, 3)),
    tile(iota(2, 3), ints(2, 1), constants=()),
    tile(iota(2, 3), ints(2, 1, 1), constants=()),
]

# Types that OpenVINO does not repeat: the answer is known all the same.
for element_type in ("u1", "u2", "u3", "u4", "i4", "u6", "nf4", "f4e2m1", "f8e4m3", "f8e5m2", "f8e8m0", "string"):
    if element_type == "string":
        row = np.array(["a", "bc"], object)
    else:
        row = np.array([1, 0], np.uint8).view(ElementType[element_type].dtype)
    CASES += [
        broadcast(3, row, ints(2, 2), "numpy", expected=(np.array([row, row]),), oracle="nobody"),
        tile(row, ints(2), expected=(np.concatenate([row, row]),), oracle="nobody"),
    ]
