"""Layers between FakeQuantize in integers of 8 bits, in the form that onnxruntime's optimizer fuses.

Data are u8 with one scale, weights are i8 with a scale for each channel, and biases are i32. The results differ from
those in f32 where rounding to integers or the order of sums does: by a level of the next FakeQuantize.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ir_exec.engines.int8.graph import EditedGraph
from ir_exec.engines.int8.layers import convert_convolutions, convert_products
from ir_exec.engines.int8.saturation import saturates
from ir_exec.engines.int8.values import move_clips, move_copies, remove_roundings

if TYPE_CHECKING:
    from ir_exec.onnx.export.lower import Exported

__all__ = ["convert_layers", "saturates"]


def convert_layers(exported: Exported) -> tuple[Exported, int]:
    """Rewrite the model in place, and return it with the number of layers in integers that multiply."""
    if all(node.op_type != "QuantizeLinear" for node in exported.proto.graph.node):
        return exported, 0
    graph = EditedGraph(exported)
    remove_roundings(graph)
    move_clips(graph)
    move_copies(graph)
    count = convert_convolutions(graph) + convert_products(graph)
    return replace(exported, tensors=graph.finish()), count
