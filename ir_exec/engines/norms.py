"""Root mean square normalization as one node: x / sqrt(mean(x * x) + epsilon) * scale.

Exporters write the reciprocal of the root, which onnxruntime's own fusion does not recognize.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
from onnx import NodeProto, TensorProto, helper, numpy_helper

from ir_exec.onnx.export.writer import free_names

if TYPE_CHECKING:
    from ir_exec.onnx.export.lower import Exported

__all__ = ["fuse_norms"]

_FLOATS = frozenset({TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16})


def fuse_norms(exported: Exported) -> Exported:
    """Rewrite the graph of the model in place, and return the model."""
    _NormFuser(exported).rewrite()
    return exported


class _NormFuser:
    """The rewriting of one graph."""

    def __init__(self, exported: Exported) -> None:
        self._graph = exported.proto.graph
        self._nodes = list(self._graph.node)
        self._value_shapes = exported.shapes
        self._outputs = {output.name for output in self._graph.output}
        self._constants = {tensor.name: tensor for tensor in self._graph.initializer}
        self._shapes = {name: tensor.shape for name, tensor in exported.tensors.items()}
        self._shapes |= {name: tuple(tensor.dims) for name, tensor in self._constants.items()}
        self._producers = {name: node for node in self._nodes for name in node.output}
        self._reads = Counter(free_names(self._nodes))
        self._readers = {name: node for node in self._nodes for name in node.input}
        self._removed: set[int] = set()
        self._replaced: dict[int, NodeProto] = {}

    def rewrite(self) -> None:
        for node in self._nodes:
            if node.op_type == "Sqrt":
                self._fuse(node)
        if not self._replaced:
            return
        rewritten = [self._replaced.get(id(node), node) for node in self._nodes if id(node) not in self._removed]
        copies = []
        for node in rewritten:
            copy = NodeProto()
            copy.CopyFrom(node)
            copies.append(copy)
        del self._graph.node[:]
        self._graph.node.extend(copies)

    def _fuse(self, root: NodeProto) -> None:
        """Replace the nodes around a root, if they normalize a value of rank 3 along its last axis."""
        addition = self._only_producer(root.input[0], "Add")
        if addition is None:
            return
        epsilon, mean_name = self._number(addition.input[1]), addition.input[0]
        if epsilon is None:
            epsilon, mean_name = self._number(addition.input[0]), addition.input[1]
        mean = self._only_producer(mean_name, "GlobalAveragePool")
        square = None if mean is None else self._only_producer(mean.input[0], "Pow", "Mul")
        if epsilon is None or mean is None or square is None:
            return
        x = square.input[0]
        is_square = square.input[1] == x if square.op_type == "Mul" else self._number(square.input[1]) == 2
        shape = self._value_shapes.get(x)
        if not is_square or shape is None or shape.rank != 3 or not shape[-1].is_static:
            return
        inner = [root, addition, mean, square]
        quotient = self._only_reader(root.output[0], "Div")
        if quotient is None or quotient.input[1] != root.output[0]:
            return
        last = quotient
        if quotient.input[0] != x:
            product = self._only_reader(quotient.output[0], "Mul")
            if self._number(quotient.input[0]) != 1 or product is None or x not in product.input:
                return
            inner.append(quotient)
            last = product
        self._replace(x, shape[-1].lo, epsilon, inner, last)

    def _replace(self, x: str, size: int, epsilon: float, inner: list[NodeProto], last: NodeProto) -> None:
        scaled = self._only_reader(last.output[0], "Mul")
        scale = "" if scaled is None else next((name for name in scaled.input if name != last.output[0]), "")
        if scaled is not None and self._shapes.get(self._uncast(scale)) == (size,):
            inner.append(last)
            last = scaled
        else:
            scale = self._add_ones(size)
        fused = helper.make_node(
            "SimplifiedLayerNormalization",
            [x, scale],
            [last.output[0]],
            name=f"{last.name}/SimplifiedLayerNormalization",
            axis=-1,
            epsilon=epsilon,
        )
        self._removed |= {id(node) for node in inner}
        self._replaced[id(last)] = fused

    def _add_ones(self, size: int) -> str:
        name = f"ones/{size}"
        while name in self._producers or (name in self._shapes and name not in self._constants):
            name += "_"
        if name not in self._constants:
            tensor = numpy_helper.from_array(np.ones(size, np.float32), name)
            self._graph.initializer.append(tensor)
            self._constants[name] = tensor
        return name

    def _uncast(self, name: str) -> str:
        """The constant of 16-bit floats that is cast to a value; the value itself for others."""
        producer = self._producers.get(name)
        if producer is None or producer.op_type != "Cast":
            return name
        to = next(attribute.i for attribute in producer.attribute if attribute.name == "to")
        return self._uncast(producer.input[0]) if to == TensorProto.FLOAT else name

    def _number(self, name: str) -> float | None:
        """The only element of a constant of f32, or of 16-bit floats that are cast to f32."""
        tensor = self._constants.get(self._uncast(name))
        if tensor is None or tensor.data_type not in _FLOATS:
            return None
        if name in self._constants and tensor.data_type != TensorProto.FLOAT:
            return None
        array = numpy_helper.to_array(tensor)
        return float(array.reshape(-1)[0]) if array.size == 1 else None

    def _only_producer(self, name: str, *types: str) -> NodeProto | None:
        """The node of one of these types that computes a value with one reader."""
        node = self._producers.get(name)
        is_match = node is not None and node.op_type in types and self._reads[name] == 1 and name not in self._outputs
        return node if is_match else None

    def _only_reader(self, name: str, operator: str) -> NodeProto | None:
        """The only reader of a value, of this type."""
        node = self._readers.get(name)
        is_match = (
            node is not None and node.op_type == operator and self._reads[name] == 1 and name not in self._outputs
        )
        return node if is_match else None
