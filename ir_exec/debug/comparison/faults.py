"""Wrong layers of a comparison: how gross the error is, and whether the layer itself can be blamed."""

from __future__ import annotations

from collections.abc import Mapping

from ir_exec.debug.comparison.judging import is_gross
from ir_exec.debug.comparison.known import LayerFindings, Place, Takers
from ir_exec.debug.comparison.metrics import Settings
from ir_exec.debug.comparison.records import ComparedLayer, LayerFault
from ir_exec.graph import Node
from ir_exec.ops.infrastructure.values import Const, Parameter

__all__ = ["fault_of", "moves_values"]

COMPENSATED = "other layers compensate the difference: the outputs agree"


def moves_values(node: Node) -> bool:
    """Return True for a layer whose outputs are elements of its inputs, except for a constant."""
    return node.op is not None and node.op.is_data_movement and not isinstance(node.op, Const)


def fault_of(
    layer_key: Place,
    layer: ComparedLayer,
    node: Node,
    findings: Mapping[Place, LayerFindings],
    takers: Takers,
    settings: Settings,
    *,
    is_confirmed: bool,
    is_compensated: bool,
    is_faulty_weight: bool,
) -> LayerFault:
    """Return the fault of a wrong layer.

    Args:
        findings: All layers of the comparison.
        is_confirmed: True if a second answer of the reference agrees with its first one, and not with the model.
        is_compensated: True if the outputs agree because other layers compensate the difference.
        is_faulty_weight: True for a compressed weight with an error that its format does not explain.
    """
    # Only another file or a second answer shows that a layer that moves values has moved them elsewhere.
    is_blamed = settings.is_same_engine or is_confirmed or not moves_values(node)
    unseen = 0 if is_faulty_weight else _unseen_before(layer_key, node, findings)
    is_certain = is_faulty_weight or (is_blamed and not layer.includes and not unseen)
    own = layer.own
    # The value of the run agrees, so the reference has not computed its own from these inputs.
    is_compensated |= _agrees_again(layer)
    gross = is_faulty_weight
    if own is not None and not is_compensated:
        is_constant = isinstance(node.op, Const)
        gross |= is_gross(own, layer.element_type, settings, is_chain=bool(layer.includes), is_constant=is_constant)
    note = "; ".join(filter(None, (COMPENSATED if is_compensated else None, layer.note)))
    return LayerFault(
        layer_id=layer.layer_id,
        layer_name=layer.layer_name,
        path=layer.path,
        type=layer.type,
        own=own,
        carried=layer.carried,
        call=layer.call,
        includes=layer.includes,
        taken_by=takers(layer_key) if isinstance(node.op, Const) else (),
        is_gross=gross,
        is_certain=is_certain,
        unseen=unseen,
        note=note or None,
    )


def _agrees_again(layer: ComparedLayer) -> bool:
    """Return True if the value of the run agrees with the reference, and its result for the reference's inputs not."""
    if layer.own is None or layer.carried is None or not layer.carried.is_within:
        return False
    return layer.own.problem is not None or layer.own.max_abs > 2 * layer.carried.max_abs


def _unseen_before(layer_key: Place, node: Node, findings: Mapping[Place, LayerFindings]) -> int:
    """Return the number of layers between this one and the nearest values of the reference.

    Constants of integers, such as axes and shapes, belong to the layer that reads them.
    """
    scope, _ = layer_key
    pending, seen = [node], {node}
    while pending:
        for value in pending.pop().values_in:
            source = value.node
            layer_findings = findings.get((scope, source.id))
            is_unseen = layer_findings is not None and layer_findings.layer.status in ("unmatched", "skipped")
            if source in seen or not is_unseen or isinstance(source.op, Parameter):
                continue
            if isinstance(source.op, Const) and not source.op.element_type.is_float:
                continue
            seen.add(source)
            pending.append(source)
    return len(seen) - 1
