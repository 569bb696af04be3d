"""AdaptiveAvgPool and AdaptiveMaxPool."""

from __future__ import annotations

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case
from tests.helpers.window_cases import data_of

TOLERANCE = {"f64": 1e-6, "f32": 1e-6, "f16": 2e-3, "bf16": 2e-2}


def adaptive(
    type: str,
    data: Array | tuple[int, ...],
    counts: tuple[int, ...],
    element_type: str = "f32",
    constants: tuple[int, ...] = (1,),
    index: str | None = "i32",
    counts_kind: str = "int64",
    **fields: object,
) -> Case:
    array = data_of(data, element_type) if isinstance(data, tuple) else data
    attributes = {"index_element_type": index} if type == "AdaptiveMaxPool" and index else {}
    tolerance = TOLERANCE.get(ElementType.of(array).name, 0.0) if type == "AdaptiveAvgPool" else 0.0
    outputs = 2 if type == "AdaptiveMaxPool" else 1
    defaults: dict[str, object] = {"rtol": tolerance, "atol": tolerance, "outputs": outputs}
    inputs = (array, np.array(counts, counts_kind))
    return Case(type, 8, inputs, attributes, constants, **defaults | fields)  # type: ignore[arg-type]  # as a caller


CASES: list[Case] = []

for type in ("AdaptiveAvgPool", "AdaptiveMaxPool"):
    CASES += [adaptive(type, (2, 3, 7), (count,)) for count in (1, 2, 3, 7, 10)]
    CASES += [adaptive(type, (2, 3, 5, 6), counts) for counts in [(1, 1), (2, 3), (4, 5), (5, 6), (7, 2)]]
    CASES += [adaptive(type, (1, 2, 4, 5, 6), counts) for counts in [(1, 1, 1), (3, 2, 4), (5, 5, 7)]]
    CASES += [adaptive(type, (2, 3, 5, 6), (2, 4), constants=()), adaptive(type, (1, 2, 1, 1), (2, 3))]
    CASES += [adaptive(type, (2, 3, 5, 6), (2, 4), counts_kind="int32")]
CASES += [
    adaptive("AdaptiveAvgPool", (1, 2, 4, 4), (2, 3), element_type)
    for element_type in ("f64", "f16", "bf16", "i8", "u8", "i32")
]
CASES += [
    adaptive(
        "AdaptiveMaxPool",
        data_of((1, 2, 4, 4), element_type).astype("f4").astype(ElementType[element_type].dtype),
        (2, 3),
    )
    for element_type in ("f64", "f16", "bf16")
]
CASES += [
    adaptive(
        "AdaptiveMaxPool",
        np.array([[[[1, 5, 5], [5, 0, 9]]]], np.float32),
        (1, 2),
        index=index,
        expected=(np.array([[[[5, 9]]]], np.float32), np.array([[[[1, 5]]]], np.int64)),
        oracle="nobody",
        note="by hand; OpenVINO's plugin refuses i64, which indices are where nothing is said",
    )
    for index in ("i64", None)
]
