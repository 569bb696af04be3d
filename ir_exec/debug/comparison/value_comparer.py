"""Comparison of a value of a model with that of the reference: errors, tolerance, status, and second answers.

A reference whose methods of computing a layer disagree cannot decide whether that layer is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ir_exec.debug.comparison.metrics import (
    Difference,
    Settings,
    Tolerance,
    difference,
    no_difference,
    same_bits,
)
from ir_exec.debug.comparison.records import MOST_INCLUDED, ComparedLayer, Status
from ir_exec.debug.comparison.references.reference import Adviser, IRReference, Reference, TraceReference
from ir_exec.debug.comparison.rounded import ROUNDED, RoundedWeights
from ir_exec.debug.comparison.tolerances import SAME_ENGINE, cancelling_terms
from ir_exec.debug.precision.activations import RangeCounter, range_line
from ir_exec.debug.precision.partners import FoldedWeights
from ir_exec.debug.precision.weights import QuantizedNote, QuantizedWeight, weight_line
from ir_exec.debug.traces.walk import Visit
from ir_exec.debug.values.entries import Entry, Key
from ir_exec.graph import Node
from ir_exec.ops.infrastructure.values import Const, Parameter
from ir_exec.runtime.precision import as_declared
from ir_exec.types import Array, ElementType

__all__ = [
    "Advice",
    "ValueComparer",
    "advice_of",
    "compression_tolerance",
    "computed_type",
    "find_agreements",
    "floor_of",
]

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


_OTHER_LAYERS = 10 * SAME_ENGINE
"""Maximum error if layers of one file have no partner in the other: a fused layer sums in another order."""


def floor_of(
    reference: Reference,
    ours: Sequence[Entry],
    theirs: Sequence[Entry],
    partners: Mapping[Key, Entry],
    folded: FoldedWeights,
    conversions: Collection[Key],
) -> float | None:
    """Return the maximum error of a value relative to its root mean square.

    Args:
        conversions: Conversions of constants in the reference that need no partner.

    Returns:
        None if another program computes the reference, or if the precisions of the files differ.
    """
    is_trace, is_file = isinstance(reference, TraceReference), isinstance(reference, IRReference)
    has_same_types = is_trace or (is_file and _short_types(ours) == _short_types(theirs))
    if not has_same_types or folded.has_other_formats:
        return None
    used = {partner.key for partner in partners.values()}
    is_same = all(entry.key in partners for entry in ours)
    is_same = is_same and all(entry.key in used or entry.key in conversions for entry in theirs)
    return SAME_ENGINE if is_same or is_trace else _OTHER_LAYERS  # a trace lacks only values that did not occur


def _short_types(entries: Sequence[Entry]) -> set[str]:
    """Return the element types of constants that round more than f32."""
    kinds = {entry.element_type for entry in entries if entry.is_constant and entry.element_type is not None}
    return {
        element_type
        for element_type in kinds
        if ElementType.parse(element_type).is_float and ElementType.parse(element_type).bits < 32
    }


_MOST_SIGMAS = 4
"""Maximum error of an element of an output, in standard deviations: 1 of 16,000 elements exceeds it."""

_MOST_EXPLAINED = 0.5
"""Maximum error of an output that a compression explains, relative to the root mean square of the output."""


def compression_tolerance(weights: Sequence[QuantizedWeight]) -> Tolerance | None:
    """Return the tolerance of outputs that follows from the errors of the compressed weights of one side.

    Each weight adds noise with the signal-to-noise ratio of the weight, and the noises of the weights are independent.

    Returns:
        None without compressed weights, or if one has an error that its format does not explain.
    """
    if not weights or any(weight.is_fault for weight in weights):
        return None
    ratios = [10 ** (-float(weight.error.sqnr_db) / 20) for weight in weights if weight.error.sqnr_db is not None]
    most = min(_MOST_SIGMAS * math.sqrt(sum(ratio * ratio for ratio in ratios)), _MOST_EXPLAINED)
    return Tolerance(rtol=most, rms=most) if most else None


class ValueComparer:
    """Compares values with those of the reference, and records the errors of the model's outputs.

    Args:
        settings: The settings of the current call, adapted to rounded weights.
        is_wide: True if 16-bit floats are computed in f32.

    Attributes:
        call: The number of the current call.
        quantized: Compressed weights, by the keys of their expanded values.
        output_errors: The errors of the outputs, by call.
        visible_errors: The errors of the outputs, by call.
        explained: The outputs with an error that only the compression of the weights explains, by call.
        output_shapes: Their shapes.
        ranges: The ranges of FakeQuantize layers, by key.
    """

    def __init__(
        self,
        reference: Reference,
        partners: Mapping[Key, Entry],
        settings: Settings,
        folded: FoldedWeights,
        *,
        is_wide: bool,
    ) -> None:
        self._reference = reference
        self._partners = partners
        self._folded = folded
        self._is_wide = is_wide
        self.settings = settings
        self.call = 0
        self.quantized: Mapping[Key, QuantizedWeight] = {}
        self.output_errors: dict[tuple[Key, int], Difference | None] = {}
        self.visible_errors: dict[tuple[Key, int], Difference] = {}
        self.explained: set[tuple[Key, int]] = set()
        self.output_shapes: dict[Key, tuple[int, ...]] = {}
        self.rounded = RoundedWeights()
        self.ranges: dict[Key, RangeCounter] = {}

    def differs(self, call: int) -> bool:
        """Return True if an output is beyond its tolerance in this call."""
        errors = [error for (_, number), error in self.output_errors.items() if number == call]
        return any(error is not None and not error.is_within for error in errors)

    def is_same(self, ours: Array, theirs: Array) -> bool:
        """Return True if the reference's value is equal, directly or after rounding to the 16-bit type of the file."""
        may_round = self._is_wide and ours.dtype != theirs.dtype and ours.shape == theirs.shape
        return same_bits(ours, theirs) or (may_round and same_bits(as_declared(ours, ElementType.of(theirs)), theirs))

    def compare_output(
        self,
        visit: Visit,
        entry: Entry,
        ours: Array,
        theirs: Array | None,
        own_output: Array | None,
        inputs: Sequence[Array] | None,
        includes: tuple[str, ...],
    ) -> tuple[ComparedLayer, bool]:
        layer: dict[str, Any] = {
            "layer_id": entry.layer_id,
            "layer_name": entry.layer_name,
            "path": visit.path,
            "type": visit.node.type,
            "element_type": ElementType.of(ours).name,
            "shape": ours.shape,
            "iterations": visit.where.iterations,
            "call": self.call,
        }
        output = (entry.key, self.call)
        if entry.output:
            self.output_shapes[entry.key] = ours.shape
        if theirs is None:
            if entry.output:
                self.output_errors[output] = None
            note_of_part = self._folded.parts.get(entry.key)
            layer |= {"status": "unmatched" if note_of_part is None else "skipped", "note": note_of_part}
            return ComparedLayer(**layer), own_output is ours
        settings = self.settings
        kinds = ElementType.of(ours), computed_type(theirs)
        same = self.is_same(ours, theirs)
        terms = partial(cancelling_terms, visit.node, visit.inputs)
        if same:
            carried = no_difference(ours, theirs, settings.metrics)
        else:
            carried = difference(ours, theirs, settings.carried_tolerance(kinds, visit.node), settings.metrics, terms)
        own = None
        if own_output is not None and not isinstance(visit.node.op, Parameter):
            own = carried
            if own_output is not ours or not same:
                tolerance = self._own_tolerance(visit.node, inputs or (), kinds, includes)
                own_terms = partial(cancelling_terms, visit.node, inputs or ())
                own = difference(own_output, theirs, tolerance, settings.metrics, own_terms)
        if entry.output:
            plain = self._reference.output(self._partners[entry.key].key)
            tolerance = settings.outputs.get(entry.key, settings.carried_tolerance(kinds, visit.node))
            error = carried
            if not same and entry.key in settings.outputs:
                error = difference(ours, theirs, tolerance, settings.metrics)
            if plain is not None and not same_bits(plain, theirs):
                self.visible_errors[output] = error
                error = difference(ours, plain, tolerance, settings.metrics, terms)
            if not error.is_within and entry.key not in settings.outputs and settings.user_tolerance is None:
                error = self._apply_compression_tolerance(output, ours, theirs if plain is None else plain, error)
            self.output_errors[output] = error
        status: Status = "equal" if same else "close" if carried.is_within else "carried"
        if own is not None and not own.is_within:
            status = "wrong"
            if isinstance(visit.node.op, Const) and self._is_rounded(visit.node.op, entry, ours, theirs, own):
                status = "close"
                own = carried = difference(ours, theirs, ROUNDED, settings.metrics)
        partner = self._partners[entry.key]
        note = self._make_quantized_note(visit, entry, own_output, inputs)
        if note is not None and own_output is not None:
            own = difference(own_output, theirs, ROUNDED, settings.metrics)
            carried = own if own_output is ours else carried
            status = "wrong" if note.is_fault else "close" if carried.is_within else "carried"
            layer["note"] = note.text
        judgment = {
            "status": status,
            "own": own,
            "carried": carried,
            "partner": partner.path or None,
            "includes": includes[-MOST_INCLUDED:] if status == "wrong" else (),
        }
        return ComparedLayer(**layer, **judgment), same

    def _apply_compression_tolerance(
        self, output: tuple[Key, int], ours: Array, theirs: Array, error: Difference
    ) -> Difference:
        """Return the error of an output, within the tolerance if the compression of the weights explains it."""
        tolerance = compression_tolerance(list(self.quantized.values())) if self.settings.is_same_engine else None
        if tolerance is None:
            return error
        explained = difference(ours, theirs, tolerance, self.settings.metrics)
        if not explained.is_within:
            return error
        self.explained.add(output)
        return explained

    def _make_quantized_note(
        self, visit: Visit, entry: Entry, own_output: Array | None, inputs: Sequence[Array] | None
    ) -> QuantizedNote | None:
        """Return a note on a compressed weight or a range of FakeQuantize; None for all other values."""
        weight = self.quantized.get(entry.key)
        if weight is not None:
            return QuantizedNote(weight_line(weight), weight.is_fault)
        levels = getattr(visit.node.op, "levels", None)
        if entry.key not in self._folded.passed or levels is None or own_output is None:
            return None
        counter = self.ranges.setdefault(entry.key, RangeCounter(entry.path, entry.layer_id, int(levels)))
        unexplained = counter.add(visit.inputs if inputs is None else inputs, own_output)
        return QuantizedNote(range_line(counter.result()), unexplained > 0)

    def _is_rounded(self, constant: Const, entry: Entry, ours: Array, theirs: Array, own: Difference) -> bool:
        """Return True for rounded weights of the reference, and adapt the tolerances to the shorter type."""
        partner_type = self._partners[entry.key].element_type
        stored = constant.element_type, None if partner_type is None else ElementType.parse(partner_type)
        is_rounded = self.settings.user_tolerance is None and self.rounded.add(entry.key, ours, theirs, own, stored)
        self.settings = replace(self.settings, weights=self.rounded.element_type)
        return is_rounded

    def _own_tolerance(
        self, node: Node, inputs: Sequence[Array], kinds: Sequence[ElementType], includes: Sequence[str]
    ) -> Tolerance:
        """Return the tolerance of a layer's result for the reference's inputs.

        Bodies of a layer may contain rounded weights, whose effect does not count as an own error.
        """
        if node.bodies and self.settings.weights is not None:
            return self.settings.carried_tolerance(kinds)
        return self.settings.chain_tolerance(kinds) if includes else self.settings.own_tolerance(node, inputs, kinds)
