"""Layers between FakeQuantize in integers of 8 bits, in the form that onnxruntime's optimizer fuses.

Data are u8 with one scale, weights are i8 with a scale for each channel, and biases are i32. The results differ from
those in f32 where rounding to integers or the order of sums does: by a level of the next FakeQuantize.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ir_exec.engines.int8.graph import EditedGraph
from ir_exec.engines.int8.layers import convert_convolutions, convert_products, expand_weights
from ir_exec.engines.int8.saturation import saturates
from ir_exec.engines.int8.values import move_clips, move_copies, move_quantizers, remove_casts

if TYPE_CHECKING:
    from ir_exec.onnx.export.lower import Exported

__all__ = ["convert_layers", "has_quantized_values", "saturates"]


def convert_layers(exported: Exported, saturates: Callable[[], bool], *, is_wide: bool) -> tuple[Exported, int]:
    """Rewrite the model in place, and return it with the number of convolutions and products of integers.

    Args:
        saturates: Returns True if sums of products of u8 and i8 saturate; weights are then u8.
        is_wide: If true, 16-bit floats are computed in f32.
    """
    if not has_quantized_values(exported):
        return exported, 0
    graph = EditedGraph(exported)
    if is_wide:
        remove_casts(graph)
    move_quantizers(graph)
    move_clips(graph)
    move_copies(graph)
    is_unsigned = saturates()
    convolutions = convert_convolutions(graph, is_unsigned=is_unsigned)
    count = len(convolutions) + convert_products(graph, is_unsigned=is_unsigned)
    expand_weights(graph, convolutions)
    return replace(exported, tensors=graph.finish()), count


def has_quantized_values(exported: Exported) -> bool:
    """Return True if values of the model are quantized, other than constants."""
    return any(node.op_type == "QuantizeLinear" for node in exported.proto.graph.node)
