"""Forms that onnxruntime's optimizer fuses, in place of the forms in IR files; and removal of unused nodes.

Its patterns require biases and scales as vectors: products and sums then become Gemm, and the nodes around a mean
become LayerNormalization, BiasGelu or SkipLayerNormalization. Converters to IR write biases and scales with the rank of
the data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from ir_exec.graph import Graph, Node, Value
from ir_exec.onnx.export.writer import free_names
from ir_exec.ops.base.elementwise import Binary
from ir_exec.ops.infrastructure.values import Const
from ir_exec.types import TensorType

if TYPE_CHECKING:
    from onnx import NodeProto

__all__ = ["OPTIONAL_OUTPUTS", "merge_scales", "prune_nodes", "readers_of", "vector_shape"]

OPTIONAL_OUTPUTS = frozenset({"MaxPool", "Dropout", "LayerNormalization", "LSTM", "GRU", "RNN", "BatchNormalization"})
"""Operators that may omit their last outputs."""


def readers_of(graph: Graph) -> dict[Value, list[Node]]:
    """The nodes that read each value."""
    readers: dict[Value, list[Node]] = {}
    for node in graph.nodes:
        for value in node.values_in:
            readers.setdefault(value, []).append(node)
    return readers


def vector_shape(
    node: Node, op: Const, readers: Mapping[Value, list[Node]], types: Mapping[Value, TensorType]
) -> tuple[int, ...] | None:
    """The shape [n] for a constant [1, ..., 1, n] that is only broadcast to values of its rank or more; else None."""
    shape = op.shape.static
    if len(shape) < 2 or shape[-1] == 1 or any(size != 1 for size in shape[:-1]):
        return None
    return shape[-1:] if _is_broadcast(node.outputs[0], len(shape), readers, types) else None


def _is_broadcast(
    value: Value, rank: int, readers: Mapping[Value, list[Node]], types: Mapping[Value, TensorType]
) -> bool:
    for reader in readers.get(value, ()):
        if reader.op_class.is_conversion:
            if not _is_broadcast(reader.outputs[0], rank, readers, types):
                return False
            continue
        others = [types.get(operand, operand.declared).rank for operand in reader.values_in if operand is not value]
        # Inputs of lower rank are aligned at the last axis.
        is_numpy = isinstance(reader.op, Binary) and reader.op.auto_broadcast == "numpy"
        if not is_numpy or not others or any((other or 0) < rank for other in others):
            return False
    return bool(readers.get(value))


def prune_nodes(nodes: Sequence[NodeProto], outputs: Collection[str], *, domain: str) -> list[NodeProto]:
    """The nodes on which the outputs depend, and the nodes of a domain, without unused optional outputs."""
    required_names = set(outputs)
    retained: list[NodeProto] = []
    for node in reversed(nodes):
        if node.domain != domain and required_names.isdisjoint(node.output):
            continue
        is_optional = not node.domain and node.op_type in OPTIONAL_OUTPUTS
        while is_optional and len(node.output) > 1 and node.output[-1] not in required_names:
            del node.output[-1]
        required_names.update(free_names([node]))
        retained.append(node)
    return retained[::-1]


def merge_scales(
    nodes: Sequence[NodeProto], shapes: Mapping[str, Sequence[int]], outputs: Collection[str]
) -> list[NodeProto]:
    """The nodes with each scale and bias after a LayerNormalization merged into it.

    Args:
        shapes: The shapes of the constants.
        outputs: Names that must remain.
    """
    readers = Counter(name for node in nodes for name in free_names([node]))
    by_input = {name: node for node in nodes for name in node.input}
    cast = {node.output[0]: node.input[0] for node in nodes if node.op_type == "Cast"}
    removed: set[int] = set()
    moved: dict[int, NodeProto] = {}

    def behind(name: str, operator: str, size: Sequence[int]) -> tuple[NodeProto, str] | None:
        """The only reader of a value if it is this operator with a constant vector of this size, and the vector."""
        reader = by_input.get(name)
        if name in outputs or readers[name] != 1 or reader is None or reader.op_type != operator:
            return None
        other = next((operand for operand in reader.input if operand != name), "")
        shape = shapes.get(cast.get(other, other))
        return None if shape is None or list(shape) != list(size) else (reader, other)

    for node in nodes:
        if node.op_type != "LayerNormalization" or len(node.input) != 2 or node.domain:
            continue
        size = shapes.get(node.input[1], ())
        scaled = behind(node.output[0], "Mul", size)
        if scaled is None:
            continue
        last, node.input[1] = scaled
        shifted = behind(last.output[0], "Add", size)
        removed |= {id(node), id(last)}
        if shifted is not None:
            last, bias = shifted
            node.input.append(bias)
        node.output[0] = last.output[0]
        moved[id(last)] = node
    return [moved.get(id(node), node) for node in nodes if id(node) not in removed or id(node) in moved]
