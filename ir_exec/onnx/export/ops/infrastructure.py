"""Lowerings of the folder infrastructure; the graph itself handles Parameter, Const and Result."""

from __future__ import annotations

import re

import numpy as np

from ir_exec.errors import UnsupportedError
from ir_exec.onnx.export.node import ExportNode
from ir_exec.onnx.export.registry import Outputs, export
from ir_exec.ops.infrastructure.values import Assign, Assign3, Const, Parameter, ReadValue, ReadValue3, Result


@export(Parameter, Const, Result)
def port(node: ExportNode) -> Outputs:
    return node.emit("Identity", *node.inputs)


@export(ReadValue, ReadValue3, inline=True)
def read_value(node: ExportNode) -> Outputs:
    _check_place(node)
    past = _declare_past(node)
    return node.emit("Identity", past)


@export(Assign, Assign3, inline=True)
def assign(node: ExportNode) -> Outputs:
    _check_place(node)
    _declare_present(node)
    return node.emit("Identity", node.inputs[0])


def _check_place(node: ExportNode) -> None:
    """Raise UnsupportedError for a variable in a body: an input of the graph has one value for all iterations."""
    if node.lowerer.depth > 1:
        reason = "it is in a body, but an input and an output of the graph cannot change between iterations"
        raise UnsupportedError(reason)


def _declare_past(node: ExportNode) -> str:
    """Return the input that represents a variable; a small constant initial value is its default."""
    lowerer, writer, id = node.lowerer, node.writer, node.op.variable_id
    name, present = lowerer.states.get(id, ("", ""))
    if name:
        return name
    name = lowerer.state_names[id][0]
    type = node.out_types[0].without_values()
    writer.codes[name] = writer.code(type.element_type)
    lowerer.states[id] = (name, present)
    lowerer.state_inputs.append(lowerer.value_info(name, type, dims=re.sub(r"\W+", "_", name)))
    if not node.has(0):
        shape = [dim.lo if dim.is_static else 0 for dim in type.shape.dims or ()]
        initial = None if type.shape.dims is None else np.zeros(shape, type.element_type.dtype)
    else:
        initial = node.known(0)
    if initial is not None:
        writer.default(name, initial)
        lowerer.notes[f"initial {id}"] = "the default of the input"
    elif node.has(0):
        lowerer.notes[f"initial {id}"] = f"the value of {node.inputs[0]}, of shape {node.types[0].shape}"
        lowerer.initial[id] = node.inputs[0]
    return name


def _declare_present(node: ExportNode) -> None:
    """Append the output with the value of a variable for the next run."""
    lowerer, writer, id = node.lowerer, node.writer, node.op.variable_id
    name = lowerer.state_names[id][1]
    writer.node("Identity", node.inputs[:1], [name], name=name, attributes={})
    writer.codes[name] = writer.codes[node.inputs[0]]
    lowerer.states[id] = (lowerer.states.get(id, ("", ""))[0], name)
    lowerer.state_outputs.append(lowerer.value_info(name, node.types[0]))
