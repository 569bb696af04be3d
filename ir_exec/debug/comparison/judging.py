"""Verdict of a comparison, based on the outputs and on gross errors of layers.

Values that were not compared do not count as equal. `decide` is the only place that makes a verdict: the exit code and
the reports in every format follow its record.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from math import isfinite

from ir_exec.debug.comparison.metrics import Difference, Settings
from ir_exec.debug.comparison.records import (
    ComparedLayer,
    ComparedOutput,
    Decision,
    FailOn,
    LayerFault,
    OutputStatus,
    Verdict,
)
from ir_exec.debug.comparison.references.reference import Reference
from ir_exec.debug.comparison.report_text import Comparison, first_line
from ir_exec.debug.comparison.tolerances import least_error, relative_step
from ir_exec.debug.comparison.value_comparer import ValueComparer
from ir_exec.debug.comparison.variation import Variation
from ir_exec.debug.traces.walk import Where
from ir_exec.debug.values.entries import Entry, Key
from ir_exec.graph import Node, Value
from ir_exec.model import Model
from ir_exec.ops.infrastructure.values import Const
from ir_exec.types import ElementType

__all__ = ["decide", "elements_not_compared", "is_gross", "judged_outputs", "verdict_of"]


_SEVERITY: dict[OutputStatus, int] = {
    "equal": 0,
    "close": 1,
    "not compared": 2,
    "step": 3,
    "unmatched": 4,
    "different": 5,
}


def judged_outputs(
    model: Model,
    partners: Mapping[Key, Entry],
    values: ValueComparer,
    on_steps: Collection[tuple[Where, str, int]],
    spread: Mapping[str, Difference],
) -> list[ComparedOutput]:
    """Return each output of a model with its worst call.

    Args:
        partners: The reference's values, by the model's values.
        values: The errors of the outputs, after the last call.
        on_steps: Layers that differ only on steps and in ties.
        spread: As in Reference.
    """
    judged = []
    for result, port in zip(model.graph.results, model.outputs, strict=True):
        value = result.values_in[0]
        key: Key = ((), value.node.id, value.position)
        partner = partners.get(key)
        results = []
        for call in range(1, values.call + 1):
            error = values.output_errors.get((key, call))
            status: OutputStatus
            if error is None:
                status = "unmatched"
            elif not error.is_within:
                status = "step" if (Where(), value.node.id, call) in on_steps else "different"
            elif error.elements and not error.compared:
                status = "not compared"
            else:
                status = "close" if error.max_abs else "equal"
            results.append((_SEVERITY[status], 0.0 if error is None else error.beyond, -call, status, error))
        _, _, negative, status, error = max(results, key=lambda result: result[:3])
        judged.append(
            ComparedOutput(
                name=port.name,
                path=value.node.name + (f":{value.position}" if len(value.node.outputs) > 1 else ""),
                partner=None if partner is None else partner.path or None,
                element_type=str(port.element_type),
                shape=values.output_shapes.get(key),
                status=status,
                error=error,
                visible=values.visible_errors.get((key, -negative)),
                spread=spread.get(port.name),
                is_explained=(key, -negative) in values.explained,
                call=-negative,
            )
        )
    return judged


def elements_not_compared(model: Model, outputs: Sequence[ComparedOutput], layers: Sequence[ComparedLayer]) -> int:
    """Return the number of elements of outputs that cannot show a difference: they are not finite on either side.

    Outputs of integers and booleans count if they depend only on values that are not finite.
    """
    dead = {layer.layer_id for layer in layers if layer.untested == "not finite" and not layer.iterations}
    count = 0
    for result, output in zip(model.graph.results, outputs, strict=True):
        if output.error is None:
            continue
        element_type = ElementType.parse(output.element_type or "dynamic")
        is_dead = not element_type.is_float and dead and _follows_from(result.values_in[0], dead)
        count += output.error.elements if is_dead else output.error.not_finite
    return count


def _follows_from(value: Value, dead: Collection[str]) -> bool:
    """Return True if the nearest upstream floating-point values all come from these layers."""
    if value.node.id in dead:
        return True
    pending, seen, has_dead_source = [source.node for source in value.node.values_in], set[Node](), False
    while pending:
        node = pending.pop()
        if node in seen or isinstance(node.op, Const):
            continue
        seen.add(node)
        if node.id in dead:
            has_dead_source = True
        elif not node.values_in or any(output.declared.element_type.is_float for output in node.outputs):
            return False
        else:
            pending += [source.node for source in node.values_in]
    return has_dead_source


def verdict_of(
    outputs: Sequence[ComparedOutput],
    layers: Sequence[ComparedLayer],
    faults: Sequence[LayerFault],
    not_compared: int,
    reference: Reference,
    is_on_steps: Callable[[ComparedLayer], bool],
    fail_on: FailOn,
    variation: Variation | None = None,
) -> Verdict:
    """Return the verdict: the first of these cases that applies. If the reference has no outputs, its values decide.

    Args:
        faults: The wrong layers. Those with a gross error count even if no output differs.
        not_compared: The number of elements of outputs that are not finite on either side; 0 if these count as
            compared.
        variation: The values that vary between the reference's runs, if it was repeated.
    """
    matched = [output for output in outputs if output.status != "unmatched"]
    has_values_only = not matched and reference.is_filtered
    partnered = [layer for layer in layers if layer.partner is not None] if has_values_only else []
    errors = [layer.carried for layer in partnered if layer.carried is not None]
    are_blind = any(error.elements for error in errors) and not any(error.compared for error in errors)
    agree = not faults and all(layer.is_within or is_on_steps(layer) for layer in partnered)
    differ = [output for output in matched if output.status == "different"]
    is_its_own = all(
        output.is_within_spread or (output.visible is not None and output.visible.is_within) for output in differ
    )
    is_its_own = is_its_own or any(layer.status == "reference" for layer in layers)
    if variation is not None:
        is_its_own = is_its_own or all(variation.find_layer(output.path) is not None for output in differ)
    # A fault before which the reference has no values may be where the reference contradicts itself.
    is_its_own = is_its_own and not any(fault.is_certain for fault in faults)
    elements = sum(output.error.elements for output in matched if output.error is not None)
    is_blind = not_compared > 0 and any(output.status == "not compared" for output in matched)
    cases: tuple[tuple[bool, Verdict], ...] = (
        (reference.failure is not None, "not compared" if reference.is_refused else "failed"),
        (has_values_only and are_blind, "not compared"),
        (has_values_only, "equal" if agree else "different"),
        (len(matched) < len(outputs) and not reference.is_filtered, "different"),
        (bool(differ), "reference" if is_its_own else "different"),
        (bool(_failing(faults, "different in a layer", fail_on)), "different in a layer"),
        (variation is not None and variation.verdict == "varies", "reference"),
        (is_blind or 0 < elements <= not_compared, "not compared"),
    )
    return next((verdict for applies, verdict in cases if applies), "equal")


def decide(report: Comparison, verdict: Verdict, fail_on: FailOn) -> Comparison:
    """Return a report with its verdict.

    Args:
        verdict: The verdict of the whole model. Layers that are wrong alone on a device may change it.
    """
    failing = _failing(report.faults, verdict, fail_on)
    isolation = report.isolation
    counts_alone = fail_on == "layers" and verdict in ("equal", "not compared")
    if counts_alone and isolation is not None and isolation.verdict not in ("right", "carried"):
        parts = [*isolation.of_status("wrong", "refused", "crashed"), *isolation.fusions]
        alone = [path for part in parts for path in part.layers] or [layer.path for layer in report.layers[-1:]]
        verdict, failing = ("different in a layer", alone) if alone else (verdict, failing)
    decision = Decision(verdict=verdict, line="", fail_on=fail_on, failing=tuple(dict.fromkeys(failing)))
    decided = report.model_copy(update={"verdict": verdict, "equal": verdict == "equal", "decision": decision})
    return decided.model_copy(update={"decision": decision.model_copy(update={"line": first_line(decided)})})


def _failing(faults: Sequence[LayerFault], verdict: Verdict, fail_on: FailOn) -> list[str]:
    """Return the paths of the wrong layers that explain a verdict."""
    counting = () if verdict in ("equal", "reference") else faults
    return [fault.path for fault in counting if fault.is_gross or fail_on == "layers" or verdict == "different"]


_BEYOND_ROUNDING = 4
"""Minimum error of a gross fault relative to the tolerance, for references other than ir_exec itself."""


def is_gross(
    error: Difference,
    element_type: str | None,
    settings: Settings,
    *,
    is_chain: bool = False,
    is_constant: bool = False,
) -> bool:
    """Return True if no rounding explains the own error of a wrong layer.

    Args:
        error: A difference that is beyond the tolerance of the layer.
        element_type: The element type of the layer's value.
        settings: The tolerances of the caller count, and whether ir_exec runs both sides.
        is_chain: True if the error includes those of layers without a value in the reference.
        is_constant: True for a constant, whose elements are rounded one by one.
    """
    declared = ElementType.dynamic if element_type is None else ElementType.parse(element_type)
    if error.problem is not None or not declared.is_float:
        return True
    ours, reference = error.ours, error.reference
    if not isinstance(ours, float) or not isinstance(reference, float):
        return True
    gap, size = abs(ours - reference), abs(reference)
    if not isfinite(gap):
        return True
    asked = [tolerance for tolerance in (settings.user_tolerance, *settings.outputs.values()) if tolerance is not None]
    if any(gap <= tolerance.atol + tolerance.rtol * size for tolerance in asked):
        return False
    factor = 1 if settings.is_same_engine else _BEYOND_ROUNDING
    allowed = factor * (error.atol + error.rtol * size)
    if is_constant and settings.is_same_engine and settings.weights is not None:
        return gap > relative_step([settings.weights]) * size + _LEAST_F16
    least = _least_gross(declared, settings, is_chain=is_chain)
    return gap > max(least * (_signal(error) + size), allowed if isfinite(allowed) else 0.0)


_LEAST_F16 = 2.0**-24
"""Smallest number of f16."""


def _least_gross(element_type: ElementType, settings: Settings, *, is_chain: bool) -> float:
    """Return the relative error that rounding does not explain."""
    if settings.floor is not None and settings.weights is None:
        return settings.floor
    if not settings.is_same_engine:
        return least_error([element_type] if settings.computes_in is None else [element_type, settings.computes_in])
    # The precisions of the files differ.
    short = settings.weights or ElementType.f16
    return least_error([short]) if is_chain else 2 * relative_step([short])


def _signal(error: Difference) -> float:
    """Return the root mean square of the reference's elements; 0 if they are all zero."""
    return 0.0 if error.sqnr_db is None else float(error.rmse) * 10 ** (float(error.sqnr_db) / 20)
