"""Second answers of a reference for a layer beyond its tolerance, which may show a fault of the reference.

A reference whose methods of computing a layer disagree cannot decide whether that layer is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from ir_exec.debug.comparison.metrics import difference
from ir_exec.debug.comparison.references.reference import Adviser, Reference
from ir_exec.debug.comparison.tolerances import Tolerance
from ir_exec.graph import Node
from ir_exec.types import Array, ElementType

__all__ = ["Advice", "advice_of", "computed_type", "find_agreements"]

_ADVISERS: Mapping[str, str] = MappingProxyType(
    {
        "kernel": "OpenVINO's reference kernel",
        "alone": "OpenVINO, given this layer alone,",
        "evaluator": "onnx's reference implementation",
    }
)


class Advice(NamedTuple):
    """Result of comparing the reference's second answers with both sides.

    Attributes:
        note: The side that each second answer agrees with.
        is_reference: True if one agrees with the model.
        confirms: True if one agrees with the reference's run of the model, and none with the model.
    """

    note: str | None = None
    is_reference: bool = False
    confirms: bool = False


def advice_of(
    reference: Reference,
    node: Node,
    inputs: Sequence[Array],
    position: int,
    own_output: Array,
    expected: Array | None,
    tolerance: Tolerance,
    partners: Sequence[str | None],
    *,
    is_chain: bool,
) -> Advice:
    """Compute a layer with the reference's other methods, and compare the results with both sides.

    One side is `own_output`, the other the value in the reference's run of the complete model.

    Args:
        inputs: The inputs from which `own_output` was computed.
        partners: The names of the layer's outputs in the reference.
        is_chain: True if `own_output` is the result of several layers.
    """
    # OpenVINO computes a layer of IR alone. Other references compute a layer or a node of the reference, which may
    # differ from the model's layer and include the layers before it.
    is_own_layer = isinstance(reference, Adviser) and reference.fuses and not reference.shares_names
    if not isinstance(reference, Adviser) or expected is None or (is_chain and is_own_layer):
        return Advice()
    return find_agreements(reference.opinions(node, inputs, partners), position, own_output, expected, tolerance)


def find_agreements(
    opinions: Mapping[str, Sequence[Array | None]],
    position: int,
    own_output: Array,
    expected: Array,
    tolerance: Tolerance,
) -> Advice:
    """Return the side that each second answer agrees with, omitting those that agree with both or neither."""
    notes, agree, confirm = [], False, False
    for who, arrays in opinions.items():
        array = arrays[position] if position < len(arrays) else None
        if array is None:
            continue
        sides = {"ir_exec": own_output, "its run of the model": expected}
        agrees = [name for name, side in sides.items() if difference(array, side, tolerance).is_within]
        if len(agrees) == 1:
            notes.append(f"{_ADVISERS.get(who, who)} agrees with {agrees[0]}")
            agree |= agrees[0] == "ir_exec"
            confirm |= agrees[0] != "ir_exec"
    return Advice("; ".join(notes) or None, agree, confirm and not agree)


def computed_type(array: Array) -> ElementType:
    """Return the type in which an array was computed: f32 for an f64 array whose elements are all f32 numbers.

    OpenVINO's plugins compute f64 in f32.
    """
    element_type = ElementType.of(array)
    if element_type is ElementType.f64 and array.size and bool((array == array.astype(np.float32)).all()):
        return ElementType.f32
    return element_type
