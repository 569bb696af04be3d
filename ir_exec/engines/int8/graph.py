"""An ONNX graph that is edited: producers, readers and constants of its tensors."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import NodeProto, TensorProto, helper, numpy_helper

from ir_exec.onnx.export.writer import INLINE_BYTES, StoredTensor, free_names
from ir_exec.types import Array, Shape

if TYPE_CHECKING:
    from ir_exec.onnx.export.lower import Exported

__all__ = ["Constant", "EditedGraph", "get_attribute"]

CUSTOM = "com.microsoft"
_FLOATS = frozenset({TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16})


@dataclass(frozen=True)
class Constant:
    """A constant whose elements are read on demand.

    Attributes:
        code: Its TensorProto.DataType.
        name: The tensor that stores it; empty for a form of one that is not stored.
    """

    code: int
    shape: tuple[int, ...]
    read: Callable[[], Array]
    name: str = ""

    @property
    def size(self) -> int:
        return math.prod(self.shape)


class EditedGraph:
    """The graph of an exported model. Tensors that graphs inside nodes read are outputs like those of the model.

    Attributes:
        shapes: The shapes of the tensors that are values of the IR model.
    """

    def __init__(self, exported: Exported) -> None:
        self._exported = exported
        self._graph = exported.proto.graph
        self.nodes = [_copy(node) for node in self._graph.node]
        self.shapes = dict(exported.shapes)
        self._constants: dict[str, Constant] = {
            name: Constant(tensor.code, tensor.shape, tensor.read, name)
            for name, tensor in exported.tensors.items()
            if tensor.read_packed is None
        }
        for tensor in self._graph.initializer:
            self._constants[tensor.name] = Constant(tensor.data_type, tuple(tensor.dims), _reader(tensor), tensor.name)
        self._tensors = dict(exported.tensors)
        self._removed: set[int] = set()
        self._pinned = {output.name for output in self._graph.output} | _read_inside(self.nodes)
        self._producers = {name: node for node in self.nodes for name in node.output if name}
        self._readers: dict[str, list[NodeProto]] = {}
        for node in self.nodes:
            for name in dict.fromkeys(filter(None, node.input)):
                self._readers.setdefault(name, []).append(node)
        self._names = {*self._producers, *self._readers, *self._constants}
        self._float_inputs = {
            port.name for port in self._graph.input if port.type.tensor_type.elem_type == TensorProto.FLOAT
        }
        self._node_names = {node.name for node in self.nodes}
        self._names |= {port.name for port in (*self._graph.input, *self._graph.output)}

    def of_type(self, *operators: str) -> list[NodeProto]:
        """The nodes of these operators of the standard domain, in order."""
        return [
            node
            for node in self.nodes
            if node.op_type in operators and not node.domain and id(node) not in self._removed
        ]

    def producer(self, name: str, *operators: str) -> NodeProto | None:
        """The node of one of these operators of the standard domain that computes a tensor; None for other tensors."""
        node = self._producers.get(name)
        if node is None or node.domain or (operators and node.op_type not in operators):
            return None
        return node

    def readers(self, name: str) -> list[NodeProto]:
        """The nodes that read a tensor, each once."""
        return list(self._readers.get(name, ()))

    def only_reader(self, name: str, *operators: str) -> NodeProto | None:
        """The only reader of a tensor that is no output, if it is one of these operators of the standard domain."""
        readers = self.readers(name)
        if len(readers) != 1 or name in self._pinned:
            return None
        reader = readers[0]
        is_match = reader.op_type in operators and not reader.domain and list(reader.input).count(name) == 1
        return reader if is_match else None

    def is_read(self, name: str) -> bool:
        """Return True for an output, and for a tensor that a node reads."""
        return name in self._pinned or bool(self._readers.get(name))

    def is_float(self, name: str) -> bool:
        """Return True for constants and inputs of the model of f32."""
        constant = self.constant(name)
        return name in self._float_inputs or (constant is not None and constant.code == TensorProto.FLOAT)

    def is_output(self, name: str) -> bool:
        """Return True for an output of the model, and for a tensor that a graph inside a node reads."""
        return name in self._pinned

    def constant(self, name: str) -> Constant | None:
        """A stored constant; None for other tensors."""
        return None if name in self._producers else self._constants.get(name)

    def numbers(self, name: str) -> Array | None:
        """The elements of a constant of floats, which may be cast to another float type, in f32; None for others."""
        node = self.producer(name, "Cast")
        while node is not None:
            name = node.input[0]
            node = self.producer(name, "Cast")
        constant = self.constant(name)
        return constant.read().astype(np.float32) if constant is not None and constant.code in _FLOATS else None

    def shape(self, name: str) -> Shape | None:
        """The shape of a value of the IR model or a constant; None for other tensors."""
        constant = self.constant(name)
        return Shape(constant.shape) if constant is not None else self.shapes.get(name)

    def rank(self, name: str) -> int | None:
        """The rank of a tensor of which `shape` is known; None for other tensors."""
        shape = self.shape(name)
        return None if shape is None else shape.rank

    def add_constant(self, array: Array, name: str) -> str:
        """Add a constant, and return its name."""
        array = np.ascontiguousarray(array) if array.ndim else np.asarray(array)
        return self.store(Constant(helper.np_dtype_to_tensor_dtype(array.dtype), array.shape, lambda: array), name)

    def store(self, constant: Constant, name: str) -> str:
        """Store a constant, and return its name; one that is stored keeps its name."""
        if constant.name:
            return constant.name
        unique = self.unique(name)
        itemsize = helper.tensor_dtype_to_np_dtype(constant.code).itemsize
        if constant.size * itemsize <= INLINE_BYTES:
            self._graph.initializer.append(numpy_helper.from_array(constant.read(), unique))
        else:
            self._tensors[unique] = StoredTensor(unique, constant.code, constant.shape, constant.read)
        self._constants[unique] = Constant(constant.code, constant.shape, constant.read, unique)
        return unique

    def unique(self, name: str) -> str:
        """The name for a tensor, or an unused variation of it."""
        return _reserve(name, self._names)

    def add(
        self, operator: str, inputs: Sequence[str], output: str, name: str, *, domain: str = "", **attributes: Any
    ) -> str:
        """Add a node with one output, and return the name of the output, by default a new one."""
        result = output or self.unique(f"{name}/{operator}")
        attributes = {key: value for key, value in attributes.items() if value is not None}
        node = helper.make_node(
            operator, list(inputs), [result], name=_reserve(name, self._node_names), domain=domain, **attributes
        )
        self.nodes.append(node)
        self._producers[result] = node
        self._names.add(result)
        for source in dict.fromkeys(filter(None, inputs)):
            self._readers.setdefault(source, []).append(node)
        if domain and all(entry.domain != domain for entry in self._exported.proto.opset_import):
            self._exported.proto.opset_import.append(helper.make_opsetid(domain, 1))
        return result

    def set_input(self, node: NodeProto, position: int, name: str) -> None:
        """Let a node read another tensor."""
        old = node.input[position] if position < len(node.input) else ""
        while position >= len(node.input):
            node.input.append("")
        node.input[position] = name
        if old and old not in node.input:
            self._readers[old] = [reader for reader in self._readers[old] if reader is not node]
        if all(reader is not node for reader in self._readers.setdefault(name, [])):
            self._readers[name].append(node)

    def set_output(self, node: NodeProto, position: int, name: str) -> None:
        """Let a node compute a tensor that another node computed."""
        self._producers.pop(node.output[position], None)
        node.output[position] = name
        self._producers[name] = node

    def redirect(self, source: str, target: str, readers: Iterable[NodeProto] | None = None) -> None:
        """Let the readers of a tensor read another one of the same shape."""
        if source in self.shapes:
            self.shapes.setdefault(target, self.shapes[source])
        for reader in self.readers(source) if readers is None else readers:
            for position, name in enumerate(reader.input):
                if name == source:
                    self.set_input(reader, position, target)

    def remove(self, node: NodeProto) -> None:
        """Remove a node; its outputs have no readers, or another producer."""
        if id(node) in self._removed:
            return
        self._removed.add(id(node))
        for name in set(node.input):
            if name:
                self._readers[name] = [reader for reader in self._readers[name] if reader is not node]
        for name in node.output:
            if self._producers.get(name) is node:
                del self._producers[name]

    def finish(self) -> dict[str, StoredTensor]:
        """Write the nodes to the model in order, without unused ones, and return its stored constants."""
        nodes = self.in_order()
        used = {*self._pinned, *free_names(nodes)}
        del self._graph.node[:]
        self._graph.node.extend(nodes)
        return {name: tensor for name, tensor in self._tensors.items() if name in used}

    def in_order(self) -> list[NodeProto]:
        """The nodes on which the outputs depend, each after those that compute its inputs."""
        ordered: list[NodeProto] = []
        seen: set[int] = set()
        positions = {id(node): position for position, node in enumerate(self.nodes)}
        roots = [self._producers[name] for name in self._pinned if name in self._producers]
        stack = [(node, False) for node in sorted(roots, key=lambda node: -positions[id(node)])]
        while stack:
            node, is_complete = stack.pop()
            if is_complete:
                ordered.append(node)
                continue
            if id(node) in seen:
                continue
            seen.add(id(node))
            stack.append((node, True))
            sources = {id(source): source for name in free_names([node]) if (source := self._producers.get(name))}
            stack += [(source, False) for source in sorted(sources.values(), key=lambda source: -positions[id(source)])]
        return ordered


def _reserve(name: str, names: set[str]) -> str:
    """Add the name, or an unused variation of it, to the names, and return it."""
    number, candidate = 0, name
    while candidate in names:
        number += 1
        candidate = f"{name}_{number}"
    names.add(candidate)
    return candidate


def get_attribute(node: NodeProto, name: str, default: Any = None) -> Any:
    """The value of an attribute."""
    for attribute in node.attribute:
        if attribute.name == name:
            return helper.get_attribute_value(attribute)
    return default


def _reader(tensor: TensorProto) -> Callable[[], Array]:
    return lambda: numpy_helper.to_array(tensor)


def _copy(node: NodeProto) -> NodeProto:
    copy = NodeProto()
    copy.CopyFrom(node)
    return copy


def _read_inside(nodes: Iterable[NodeProto]) -> set[str]:
    """The tensors that graphs inside nodes read."""
    return {name for node in nodes if node.attribute for name in set(free_names([node])) - set(node.input)}
