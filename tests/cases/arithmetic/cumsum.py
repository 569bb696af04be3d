"""CumSum."""

from __future__ import annotations

from itertools import product

import numpy as np

from ir_exec.types import Array
from tests.conformance.case import Case
from tests.helpers.values import array_of

NUMBERS = ["bf16", "f16", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]

_random = np.random.default_rng(7)
HOLES = _random.integers(-2, 3, (3, 4, 2)).astype(np.float32)


FIVE = np.array([1, 2, 3, 4, 5], np.float32)
SUMS = {
    (False, False): [1, 3, 6, 10, 15],
    (True, False): [0, 1, 3, 6, 10],
    (False, True): [15, 14, 12, 9, 5],
    (True, True): [14, 12, 9, 5, 0],
}


def _cumsum(
    data: Array, axis: int, exclusive: bool = False, reverse: bool = False, *, is_constant: bool = True
) -> Case:
    attributes = {"exclusive": exclusive, "reverse": reverse}
    return Case("CumSum", 3, (data, np.array(axis)), attributes, constants=(1,) if is_constant else ())


CASES: list[Case] = []

CASES += [
    *(
        Case(
            "CumSum",
            3,
            (FIVE, np.array(0)),
            {"exclusive": int(exclusive), "reverse": int(reverse)},
            constants=(1,),
            expected=(np.array(sums, np.float32),),
            note="specification",
        )
        for (exclusive, reverse), sums in SUMS.items()
    ),
    *(
        _cumsum(HOLES, axis, exclusive, reverse)
        for axis in (0, 1, 2, -1, -3)
        for exclusive, reverse in product((False, True), repeat=2)
    ),
    _cumsum(HOLES, 1, is_constant=False),
    _cumsum(HOLES[:, :0], 1, True, True),
    _cumsum(HOLES[:0], 1, True),
    _cumsum(FIVE[:1], 0, True),
    Case("CumSum", 3, (HOLES, np.array(-2, np.int32)), constants=(1,)),
    Case("CumSum", 3, (FIVE, np.array([0])), constants=(1,), oracle="reference", note="an axis of one element"),
    Case("CumSum", 3, (HOLES,), expected=(np.cumsum(HOLES, 0),), oracle="nobody", note="without axis OpenVINO throws"),
    *(
        Case("CumSum", 3, (array_of([[1, 2, 3], [4, 5, 6]], element_type), np.array(1)), {}, (1,))
        for element_type in NUMBERS
    ),
    *(_cumsum(HOLES > 1, axis, exclusive, reverse) for axis in (0, 1) for exclusive, reverse in SUMS),
    # Adding in the short type itself would stay at 2048.
    Case("CumSum", 3, (np.ones(3000, np.float16), np.array(0)), constants=(1,)),
    Case(
        "CumSum",
        3,
        (array_of(np.ones(600), "bf16"), np.array(0)),
        constants=(1,),
        expected=(array_of(range(1, 601), "bf16"),),
        oracle="nobody",
        note="the plugin stays at 256",
    ),
    Case("CumSum", 3, (np.array([100, 100, 100, -1], np.int8), np.array(0)), constants=(1,), note="wraps"),
    Case("CumSum", 3, (np.array([200, 100, 1], np.uint8), np.array(0)), {"reverse": True}, (1,), note="wraps"),
    Case("CumSum", 3, (np.array([2**31 - 1, 1, 5], np.int32), np.array(0)), constants=(1,), note="wraps"),
]
