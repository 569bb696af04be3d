"""The layers of a comparison by the nodes of the ONNX file that they were made from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from ir_exec.debug.comparison.records import ComparedLayer, LayerFault
from ir_exec.debug.comparison.report_text import Comparison, first_line
from ir_exec.onnx.lowering.layer_names import node_of_layer

__all__ = ["add_nodes"]

_Layer = TypeVar("_Layer", ComparedLayer, LayerFault)


def add_nodes(report: Comparison, operators: Mapping[str, str]) -> Comparison:
    """Return a report with the nodes of its layers, and its first line with nodes instead of layers.

    A layer without a value in the reference is no other suspect if it belongs to the node of the fault.

    Args:
        operators: The operators of the nodes by their names.
    """
    layers = tuple([_add_node(layer, operators) for layer in report.layers])
    faults = tuple([_merge_layers(_add_node(fault, operators), operators) for fault in report.faults])
    first = next((fault for fault in faults if _is_same(fault, report.first_fault)), report.first_fault)
    changed = report.model_copy(update={"layers": layers, "faults": faults, "first_fault": first})
    if report.decision is None:
        return changed
    decision = report.decision.model_copy(update={"line": first_line(changed)})
    return changed.model_copy(update={"decision": decision})


def _add_node(layer: _Layer, operators: Mapping[str, str]) -> _Layer:
    node = node_of_layer(layer.path, operators)
    return layer if node is None else layer.model_copy(update={"node": node, "operator": operators[node]})


def _merge_layers(fault: LayerFault, operators: Mapping[str, str]) -> LayerFault:
    """Return a fault without suspects that belong to its node."""
    if fault.node is None or not fault.includes:
        return fault
    others = tuple([path for path in fault.includes if node_of_layer(path, operators) != fault.node])
    unseen = max(fault.unseen - len(fault.includes) + len(others), 0)
    is_certain = fault.is_certain or not (others or unseen)
    return fault.model_copy(update={"includes": others, "unseen": unseen, "is_certain": is_certain})


def _is_same(fault: LayerFault, other: LayerFault | None) -> bool:
    return other is not None and (fault.path, fault.layer_id, fault.call) == (other.path, other.layer_id, other.call)
