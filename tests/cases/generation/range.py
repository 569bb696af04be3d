"""Range."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ir_exec.types import ElementType
from tests.conformance.case import Case
from tests.helpers.values import scalar

RANGE_TYPES = ["bf16", "f16", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]


def _range(
    start: float,
    stop: float,
    step: float,
    kinds: str | tuple[str, str, str] = "i64",
    output: str | None = None,
    *,
    is_constant: bool = True,
    expected: object = None,
    oracle: Literal["plugin", "reference", "nobody"] = "plugin",
    note: str = "",
) -> Case:
    """Range-4 where `output` is given, else Range-1."""
    start_kind, stop_kind, step_kind = (kinds,) * 3 if isinstance(kinds, str) else kinds
    element_type = ElementType[output or start_kind]
    return Case(
        "Range",
        1 if output is None else 4,
        (scalar(start, start_kind), scalar(stop, stop_kind), scalar(step, step_kind)),
        {} if output is None else {"output_type": output},
        constants=(0, 1, 2) if is_constant else (),
        expected=None if expected is None else (np.array(expected).astype(element_type.dtype),),
        oracle=oracle,
        # OpenVINO adds up in the output's type, in an order that depends on its threads.
        rtol={"bf16": 8e-3, "f16": 2e-3, "f32": 1e-6, "f64": 1e-6}.get(element_type.name, 0),
        atol={"bf16": 8e-3, "f16": 2e-3, "f32": 1e-6, "f64": 1e-6}.get(element_type.name, 0),
        note=note,
    )


BOUNDS = [(2, 23, 3), (23, 2, -3), (5, 2, 1), (2, 5, -1), (0, 0, 1), (0, 3, 100), (0, -3, -100), (-5, 5, 1), (7, 8, 1)]
FRACTIONS = [(1, 2.5, 0.5), (0, 1, 0.1), (5, 0, -0.7), (-1, 1, 0.25), (1, 1, 0.5), (0, 1e-3, 1e-4)]

CASES: list[Case] = [
    *(
        case
        for output in (None, "i32")
        for case in (
            _range(2, 23, 3, output=output, expected=[2, 5, 8, 11, 14, 17, 20], note="specification, example 1"),
            _range(23, 2, -3, output=output, expected=[23, 20, 17, 14, 11, 8, 5], note="specification, example 2"),
        )
    ),
    _range(1, 2.5, 0.5, "f32", "f32", expected=[1.0, 1.5, 2.0], note="specification, example 3"),
    *(
        _range(*bounds, "i64", output, is_constant=is_constant)
        for bounds in BOUNDS
        for output in (None, "i64")
        for is_constant in (True,)
    ),
    # The plugin continues from 2 to 5 in steps of -1 where they are no constants.
    *(
        _range(*bounds, "i32", output, is_constant=False, oracle="reference")
        for bounds in BOUNDS
        for output in (None, "i32")
    ),
    *(_range(*bounds, "f32", output) for bounds in FRACTIONS for output in (None, "f32")),
    *(_range(*bounds, "f32", output, is_constant=False) for bounds in FRACTIONS[:4] for output in (None, "f32")),
    *(_range(1, 9, 2, element_type) for element_type in RANGE_TYPES),
    *(_range(1, 9, 2, element_type, is_constant=False) for element_type in RANGE_TYPES),
    *(_range(1, 9, 2, "i64", element_type) for element_type in RANGE_TYPES),
    *(_range(0.5, 3, 0.25, element_type) for element_type in ("bf16", "f16", "f64")),
    *(_range(0, 1, 0.1, element_type, element_type) for element_type in ("bf16", "f16", "f64")),
    *(
        _range(1, 4, 1, kinds, output)
        for kinds, output in [
            (("i32", "f32", "f64"), "f32"),
            (("u8", "i64", "i8"), "i32"),
            (("f16", "f32", "i64"), "f16"),
            (("f32", "f32", "f32"), "u8"),
        ]
    ),
    # Where they are no constants the plugin keeps the fractions.
    *(
        _range(*bounds, "f32", "i32", oracle="reference", is_constant=is_constant)
        for bounds in [(1.9, 5.9, 1.9), (-1.9, -5.9, -1.9), (0.9, 3.1, 1.0)]
        for is_constant in (True, False)
    ),
    _range(250, 260, 2, ("i64", "i64", "i64"), "u8", oracle="reference", expected=[250, 252, 254, 0, 2], note="wraps"),
]
