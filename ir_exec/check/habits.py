"""Wrong declarations that old writers made as a habit, and on which nothing depends: they are no more than warnings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ir_exec.check.ends import End
from ir_exec.codes import Code
from ir_exec.errors import Severity
from ir_exec.graph import Node, Value
from ir_exec.types import ElementType, TensorType

__all__ = ["joined_types", "severity_at_reader", "severity_at_source"]

_WRITTEN_AS_F32 = {("DetectionOutput", 0), ("MaxPool", 1)}
"""Outputs that Model Optimizer, POT and NNCF declare as f32 whatever they are: boxes of f16 networks, and indices."""


def joined_types(node: Node) -> dict[Value, TensorType]:
    """Values in the bodies of a layer that it joins over the iterations, with the type of the joined output."""
    joined = {}
    for body in node.bodies:
        for tie in body.ties.outputs if body.ties is not None else ():
            values = body.graph.results[tie.result].values_in
            if tie.part is not None and tie.position is not None and values:
                joined[values[0]] = node.outputs[tie.position].declared
    return joined


def severity_at_source(
    value: Value, readers: Sequence[End], code: Code, joined: Mapping[Value, TensorType]
) -> Severity:
    """How bad it is that an output is declared as another type than the layer gives.

    joined: of values in a body, the type of the output that the layer around it joins from them; Model Optimizer
        declares it inside as well.
    """
    if code == Code.declared_element_type:
        is_habit = value.declared.element_type is ElementType.f32 and _place(value) in _WRITTEN_AS_F32
        return "warning" if is_habit or not readers else "error"
    return "warning" if code == Code.declared_dims and joined.get(value) == value.declared else "error"


def severity_at_reader(reader: End) -> Severity:
    """How bad it is that an input is declared as another type than its value has.

    Ports of Results have no precision in files of version 10, and no layer depends on what else they declare.
    """
    return "warning" if reader.node.op_class.is_result and reader.port.precision is None else "error"


def _place(value: Value) -> tuple[str, int]:
    node = value.node
    return (node.op_class.type_name if node.op is not None else node.type), value.position
