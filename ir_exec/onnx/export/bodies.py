"""The graphs inside ONNX nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ir_exec.graph import BodyGraph
from ir_exec.onnx.export.node import ExportNode
from ir_exec.onnx.export.writer import WriterScope

if TYPE_CHECKING:
    from onnx import GraphProto

__all__ = ["copy_outputs", "lower_branch"]


def lower_branch(node: ExportNode, body: BodyGraph, results: Sequence[int], lifts: Sequence[bool]) -> GraphProto:
    """Return the graph of a body without inputs.

    Args:
        results: The Result of the body for each output of the graph.
        lifts: Outputs that become vectors of one element.
    """
    assert body.ties is not None
    lowerer = node.lowerer
    for tie in body.ties.inputs:
        if tie.position is not None:
            lowerer.names[body.graph.parameters[tie.parameter].outputs[0]] = node.inputs[tie.position]
    with node.writer.inside() as scope:
        lowerer.nodes(body.graph)
        names = [lowerer.names[body.graph.results[result].values_in[0]] for result in results]
        names = [node.reshape(name, [1]) if lift else name for name, lift in zip(names, lifts, strict=True)]
        outputs = [lowerer.plain_info(name) for name in copy_outputs(node, scope, names)]
        return node.writer.graph(f"{node.name}/{body.name}", scope, [], outputs)


def copy_outputs(node: ExportNode, scope: WriterScope, names: Sequence[str]) -> list[str]:
    """Return names for the outputs of a body; outer values and repeated ones are copied."""
    computed = {name for proto in scope.nodes for name in proto.output}
    outputs: list[str] = []
    for name in names:
        outputs.append(name if name in computed and name not in outputs else node.emit("Identity", name))
    return outputs
