"""Second opinions on a layer that is beyond its tolerance: is it this network's fault, or the reference's?

A reference that computes a layer in several ways and does not agree with itself is no judge of that layer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from ir_exec.debug.comparison.metrics import difference
from ir_exec.debug.comparison.tolerances import Tolerance
from ir_exec.debug.references.reference import Adviser, Reference
from ir_exec.graph import Node
from ir_exec.types import Array, ElementType

__all__ = ["Advice", "advice_of", "computed_type", "judged"]

_ADVISERS: Mapping[str, str] = MappingProxyType(
    {
        "kernel": "OpenVINO's reference kernel",
        "alone": "OpenVINO, given this layer alone,",
        "evaluator": "onnx's reference implementation",
    }
)


class Advice(NamedTuple):
    """note: whom each other way of the reference agrees with. is_reference: whether one agrees with this network."""

    note: str | None = None
    is_reference: bool = False


def advice_of(
    reference: Reference,
    node: Node,
    inputs: Sequence[Array],
    position: int,
    made: Array,
    wanted: Array | None,
    tolerance: Tolerance,
    partners: Sequence[str | None],
    *,
    is_chain: bool,
) -> Advice:
    """Ask the reference for other ways to compute a layer, and compare them with both sides.

    inputs: those from which `made` was computed. wanted: the value of the reference's run of the whole network.
    partners: the names of the layer's outputs in the reference. is_chain: whether `made` is what several layers make.
    """
    # A reference that fuses layers computes our layer alone; others compute a layer of their own, which may be several.
    if not isinstance(reference, Adviser) or wanted is None or (is_chain and reference.fuses):
        return Advice()
    return judged(reference.opinions(node, inputs, partners), position, made, wanted, tolerance)


def judged(
    opinions: Mapping[str, Sequence[Array | None]], position: int, made: Array, wanted: Array, tolerance: Tolerance
) -> Advice:
    """Say whom each opinion agrees with; one that agrees with both or with neither says nothing."""
    notes, agree = [], False
    for who, arrays in opinions.items():
        array = arrays[position] if position < len(arrays) else None
        if array is None:
            continue
        sides = {"ir_exec": made, "its run of the network": wanted}
        agrees = [name for name, side in sides.items() if difference(array, side, tolerance).is_within]
        if len(agrees) == 1:
            notes.append(f"{_ADVISERS[who]} agrees with {agrees[0]}")
            agree |= agrees[0] == "ir_exec"
    return Advice("; ".join(notes) or None, agree)


def computed_type(array: Array) -> ElementType:
    """Return the type in which an array was computed: f32 for f64 that holds no digit beyond f32.

    OpenVINO's plugins compute f64 in f32.
    """
    kind = ElementType.of(array)
    if kind is ElementType.f64 and array.size and bool((array == array.astype(np.float32)).all()):
        return ElementType.f32
    return kind
