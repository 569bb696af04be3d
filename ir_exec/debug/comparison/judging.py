"""Verdict of a comparison, based on the outputs; values that were not compared do not count as equal."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

from ir_exec.debug.comparison.metrics import Difference
from ir_exec.debug.comparison.report import ComparedLayer, ComparedOutput, LayerFault, OutputStatus, Verdict
from ir_exec.debug.traces.walk import Where
from ir_exec.debug.values.entries import Entry, Key
from ir_exec.graph import Node, Value
from ir_exec.model import Model
from ir_exec.ops.infrastructure.values import Const
from ir_exec.types import ElementType

__all__ = ["elements_not_compared", "fits", "judged_outputs", "verdict_of"]


class _Judged(Protocol):
    """The attributes of a reference that a verdict depends on."""

    failure: str | None
    is_refused: bool
    is_partial: bool


_SEVERITY: dict[OutputStatus, int] = {
    "equal": 0,
    "close": 1,
    "not compared": 2,
    "step": 3,
    "unmatched": 4,
    "different": 5,
}


def fits(layer: ComparedLayer) -> bool:
    """Return True if the error that reached a layer is within the tolerance."""
    return layer.carried is not None and layer.carried.is_within


def judged_outputs(
    model: Model,
    partners: Mapping[Key, Entry],
    errors: Mapping[tuple[Key, int], Difference | None],
    visible: Mapping[tuple[Key, int], Difference],
    shapes: Mapping[Key, tuple[int, ...]],
    on_steps: Collection[tuple[Where, str, int]],
    calls: int,
) -> list[ComparedOutput]:
    """Return each output of a model with its worst call.

    Args:
        partners: The reference's values, by the model's values.
        errors: The difference of each output from the reference's, by its value and the call, counted from 1.
        visible: The difference from the reference's answer with its intermediate values as outputs, if that differs.
        shapes: The shapes of the outputs, by value.
        on_steps: Layers that differ only on steps and in ties.
        calls: The number of compared calls.
    """
    found = []
    for result, port in zip(model.graph.results, model.outputs, strict=True):
        value = result.values_in[0]
        key: Key = ((), value.node.id, value.position)
        partner = partners.get(key)
        results = []
        for call in range(1, calls + 1):
            error = errors.get((key, call))
            status = _status(error, (Where(), value.node.id, call) in on_steps)
            results.append((_SEVERITY[status], 0.0 if error is None else error.beyond, -call, status, error))
        _, _, negative, status, error = max(results, key=lambda one: one[:3])
        found.append(
            ComparedOutput(
                name=port.name,
                path=value.node.name + (f":{value.position}" if len(value.node.outputs) > 1 else ""),
                partner=None if partner is None else partner.path or None,
                element_type=str(port.element_type),
                shape=shapes.get(key),
                status=status,
                error=error,
                visible=visible.get((key, -negative)),
                call=-negative,
            )
        )
    return found


def _status(error: Difference | None, is_on_steps: bool) -> OutputStatus:
    if error is None:
        return "unmatched"
    if not error.is_within:
        return "step" if is_on_steps else "different"
    if error.elements and not error.compared:
        return "not compared"
    return "close" if error.max_abs else "equal"


def elements_not_compared(model: Model, outputs: Sequence[ComparedOutput], layers: Sequence[ComparedLayer]) -> int:
    """Return the number of elements of outputs that cannot show a difference: they are not finite on either side.

    Outputs of integers and booleans count if they depend only on values that are not finite.
    """
    dead = {layer.layer_id for layer in layers if layer.untested == "not finite" and not layer.iterations}
    count = 0
    for result, one in zip(model.graph.results, outputs, strict=True):
        if one.error is None:
            continue
        kind = ElementType.parse(one.element_type or "dynamic")
        is_dead = not kind.is_float and dead and _follows_from(result.values_in[0], dead)
        count += one.error.elements if is_dead else one.error.not_finite
    return count


def _follows_from(value: Value, dead: Collection[str]) -> bool:
    """Return True if the nearest upstream floating-point values all come from these layers."""
    if value.node.id in dead:
        return True
    pending, seen, found = [one.node for one in value.node.values_in], set[Node](), False
    while pending:
        node = pending.pop()
        if node in seen or isinstance(node.op, Const):
            continue
        seen.add(node)
        if node.id in dead:
            found = True
        elif not node.values_in or any(one.declared.element_type.is_float for one in node.outputs):
            return False
        else:
            pending += [one.node for one in node.values_in]
    return found


def verdict_of(
    outputs: Sequence[ComparedOutput],
    layers: Sequence[ComparedLayer],
    faults: Sequence[LayerFault],
    not_compared: int,
    reference: _Judged,
    is_on_steps: Callable[[ComparedLayer], bool],
) -> Verdict:
    """Return the verdict. If the reference has no outputs, its other values decide.

    Args:
        not_compared: The number of elements of outputs that are not finite on either side; 0 if these count as
            compared.
    """
    if reference.failure is not None:
        return "not compared" if reference.is_refused else "failed"
    matched = [one for one in outputs if one.status != "unmatched"]
    if not matched and reference.is_partial:
        known = [layer for layer in layers if layer.partner is not None]
        compared = sum(layer.carried.compared for layer in known if layer.carried is not None)
        if known and not compared and any(layer.carried.elements for layer in known if layer.carried is not None):
            return "not compared"
        return "equal" if not faults and all(fits(one) or is_on_steps(one) for one in known) else "different"
    if len(matched) < len(outputs) and not reference.is_partial:
        return "different"
    differ = [one for one in matched if one.status == "different"]
    if differ:
        is_its_own = all(one.visible is not None and one.visible.is_within for one in differ)
        is_its_own = is_its_own or any(layer.status == "reference" for layer in layers)
        return "reference" if is_its_own and not faults else "different"
    elements = sum(one.error.elements for one in matched if one.error is not None)
    is_blind = not_compared and any(one.status == "not compared" for one in matched)
    return "not compared" if is_blind or (elements and not_compared >= elements) else "equal"
