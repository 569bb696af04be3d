"""Logical operators."""

from __future__ import annotations

from itertools import product

import numpy as np

from ir_exec.types import ElementType
from tests.helpers.logic_cases import case, truth

LOGICAL = ("LogicalAnd", "LogicalOr", "LogicalXor", "Xor")
AXIS = "auto_broadcast.auto_broadcast_axis"
SHAPES = [((2, 3, 4), (4,)), ((3, 1), (2, 1, 4)), ((), ()), ((), (2, 3)), ((0, 3), (1, 3)), ((1,), (1, 1))]


MODES = (
    ({"auto_broadcast": "none"}, (2, 3), (2, 3)),
    ({"auto_broadcast": "numpy"}, (2, 1), (3,)),
    ({"auto_broadcast": "pdpd", AXIS: -1}, (2, 3, 4), (3, 4)),
)
PDPD = (
    ({"auto_broadcast": "pdpd", AXIS: 1}, (2, 3, 4), (3,)),
    ({"auto_broadcast": "pdpd"}, (2, 3, 4), (2, 3)),
    ({"auto_broadcast": "pdpd", AXIS: 0}, (2, 3, 4), (2, 1)),
)
"""Unsupported by the plugin, or computed with broadcasting of NumPy."""

CASES = [case(type, 1, truth((3, 4), 1), truth((3, 4), 2)) for type in LOGICAL]
CASES += [case(type, 1, truth(a, 1), truth(b, 2)) for type, (a, b) in product(("LogicalAnd", "Xor"), SHAPES)]
CASES += [
    case(type, 1, truth(a, 1), truth(b, 2), attributes=attributes)
    for type, (attributes, a, b) in product(LOGICAL, MODES)
]
CASES += [
    case(type, 1, truth(a, 1), truth(b, 2), attributes=attributes, oracle="reference")
    for type, (attributes, a, b) in product(LOGICAL, PDPD)
]

CASES += [case("LogicalNot", 1, truth(shape, 1)) for shape in ((3, 4), (), (1,), (0, 2))]
CASES += [
    case("LogicalNot", 1, np.array([0, 1, 5, 0], ElementType[element_type].dtype))
    for element_type in ("i32", "u8", "f32", "i64")
]
