"""The lowering of attention to caches: scores of the old and of the new elements, one Softmax, and two sums.

Inputs of the graph describe memory with room, in which the old elements of all caches are the first ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ir_exec.graph import Node, Value
from ir_exec.onnx.export.caches import CachedAttention, Caches, DecoderCache
from ir_exec.onnx.export.graph_lowerer import GraphLowerer
from ir_exec.types import ElementType

if TYPE_CHECKING:
    from onnx import ValueInfoProto

__all__ = ["CacheLowerer"]

_DOMAIN = "com.microsoft"


@dataclass
class CacheLowerer:
    """Lowers the nodes of caches.

    Attributes:
        caches: The caches of the graph.
        inputs: The names of additional inputs: the number of old elements [1], the elements of the memory [1], and the
            padding of the old elements [2].
    """

    caches: Caches
    lowerer: GraphLowerer
    inputs: tuple[str, ...] = ()
    _shared: dict[Any, str] = field(default_factory=dict)

    def declare(self) -> list[ValueInfoProto]:
        """Name the additional inputs, and return their declarations."""
        from onnx import helper

        writer, code = self.lowerer.writer, self.lowerer.writer.code(ElementType.i64)
        sizes = {"cache.length": 1, "cache.capacity": 1, "cache.padding": 2}
        self.inputs = tuple([writer.fresh(name) for name in sizes])
        for name in self.inputs:
            writer.codes[name] = code
        return [
            helper.make_tensor_value_info(name, code, [size])
            for name, size in zip(self.inputs, sizes.values(), strict=True)
        ]

    def lower(self, node: Node) -> list[str] | None:
        """Return the names of the outputs of a node of a cache; None for other nodes."""
        names = self.lowerer.names
        for cache in self.caches.entries:
            if node is cache.reorder:
                return [names[cache.past]]
            if node is cache.append:
                return [names[cache.new]]
        if node in self.caches.repeated:
            return [names[node.values_in[0]]]
        if node in self.caches.shapes:
            return [self._shape(node, *self.caches.shapes[node])]
        attention = self.caches.attentions.get(node)
        return None if attention is None else [self._attend(node, attention)]

    def emit_checks(self) -> list[ValueInfoProto]:
        """Emit outputs with the target shapes that runs check, and return their declarations."""
        from onnx import helper

        writer, declarations = self.lowerer.writer, []
        for value in self.caches.checks:
            source = self.lowerer.names[value]
            name = writer.fresh("cache.target")
            writer.node("Identity", [source], [name], name=writer.node_name(name), attributes={})
            declarations.append(helper.make_tensor_value_info(name, writer.codes[source], [5]))
        return declarations

    def _emit(
        self,
        operator: str,
        *inputs: str,
        name: str = "cache",
        code: int | None = None,
        domain: str = "",
        **attributes: Any,
    ) -> str:
        """Emit a node without casts: 16-bit floats are f32 in the session."""
        writer = self.lowerer.writer
        output = writer.fresh(f"{name}/{operator}")
        node_name = writer.node_name(f"{name}/{operator}")
        writer.node(operator, inputs, [output], name=node_name, domain=domain, attributes=attributes)
        writer.codes[output] = writer.codes[inputs[0]] if code is None else code
        return output

    def _split(self, value: str, sizes: str, name: str) -> tuple[str, str]:
        """Split a value in two along the last axis."""
        writer = self.lowerer.writer
        first, second = writer.fresh(f"{name}/Split"), writer.fresh(f"{name}/Split")
        node_name = writer.node_name(f"{name}/Split")
        writer.node("Split", [value, sizes], [first, second], name=node_name, attributes={"axis": -1})
        writer.codes[first] = writer.codes[second] = writer.codes[value]
        return first, second

    def _ints(self, *numbers: int) -> str:
        return self.lowerer.writer.constant(np.array(numbers, np.int64), "cache")

    def _number(self, number: float) -> str:
        return self.lowerer.writer.constant(np.array(number, np.float32), "cache")

    @property
    def _i64(self) -> int:
        return self.lowerer.writer.code(ElementType.i64)

    def _once(self, key: Any, operator: str, *inputs: str, **attributes: Any) -> str:
        """The output of a node that all attentions share."""
        if key not in self._shared:
            self._shared[key] = self._emit(operator, *inputs, **attributes)
        return self._shared[key]

    @property
    def _new_length(self) -> str:
        """The number of new elements [1]."""
        names = self.lowerer.names
        # Some cache has its new elements already, because a reader of its present elements is lowered.
        new = next(names[cache.new] for cache in self.caches.entries if cache.new in names)
        return self._once("added", "Shape", new, code=self._i64, start=2, end=3)

    @property
    def _total(self) -> str:
        """The number of old and new elements [1]."""
        return self._once("total", "Add", self.inputs[0], self._new_length)

    def _shape(self, node: Node, cache: DecoderCache, is_present: bool) -> str:
        memory, length = self.lowerer.names[cache.past], self._total if is_present else self.inputs[0]
        before = self._emit("Shape", memory, name=node.name, code=self._i64, start=0, end=2)
        after = self._emit("Shape", memory, name=node.name, code=self._i64, start=3)
        shape = self._emit("Concat", before, length, after, name=node.name, axis=0)
        element_type = self.lowerer.type_of(node.outputs[0]).element_type
        if element_type is ElementType.i64:
            return shape
        return self.lowerer.writer.cast(shape, self.lowerer.writer.code(element_type), node.name)

    def _attend(self, node: Node, attention: CachedAttention) -> str:
        names, name = self.lowerer.names, node.name
        query = self._scale(node)
        heads = self._static(node.values_in[0], 1)
        key_heads = heads // attention.group
        key, value = attention.key, attention.value
        if attention.group > 1:
            query = self._emit(
                "Reshape", query, self._ints(0, key_heads, -1, self._static(node.values_in[0], 3)), name=name
            )
        scores = [
            self._emit("FusedMatMul", query, keys, name=name, domain=_DOMAIN, transB=1)
            for keys in (names[key.past], names[key.new])
        ]
        joined = self._emit("Concat", *scores, name=name, axis=-1)
        if attention.group > 1:
            joined = self._emit("Reshape", joined, self._scores_shape(heads), name=name)
        masked = self._emit("Add", joined, self._mask(node), name=name)
        shares = self._emit("Softmax", masked, name=name, axis=-1)
        if attention.group > 1:
            shares = self._emit("Reshape", shares, self._scores_shape(key_heads), name=name)
        old, new = self._split(shares, self._score_sizes, name)
        sums = [
            self._emit("MatMul", share, values, name=name)
            for share, values in ((old, names[value.past]), (new, names[value.new]))
        ]
        output = self._emit("Add", *sums, name=name)
        if attention.group > 1:
            output = self._emit("Reshape", output, self._ints(0, heads, -1, self._static(value.past, 3)), name=name)
        return output

    def _static(self, value: Value, axis: int) -> int:
        return self.lowerer.type_of(value).shape.dims[axis].lo  # type: ignore[index]  # find_caches requires the rank

    def _scale(self, node: Node) -> str:
        """The query multiplied by the scale.

        A constant scale is a vector: onnxruntime merges scalars into the product, which then takes twice the time for
        one query.
        """
        query, size = self.lowerer.names[node.values_in[0]], self._static(node.values_in[0], 3)
        factor = np.array(size**-0.5, np.float32)
        if len(node.inputs) > 4:
            constant = self.lowerer.type_of(node.values_in[4]).value
            if constant is None:
                scale = self._emit("Reshape", self.lowerer.names[node.values_in[4]], self._ints(), name=node.name)
                return self._emit("Mul", query, scale, name=node.name)
            factor = constant.reshape(-1)[0]
        if factor == 1:
            return query
        vector = self.lowerer.writer.constant(np.full(size, factor, np.float32), "cache")
        return self._emit("Mul", query, vector, name=node.name)

    @property
    def _score_sizes(self) -> str:
        return self._once("score sizes", "Concat", self.inputs[1], self._new_length, axis=0)

    def _scores_shape(self, heads: int) -> str:
        """[B, heads, rows, memory + new elements] for scores of other heads and rows."""
        columns = self._once("columns", "Add", self.inputs[1], self._new_length)
        return self._once(("scores", heads), "Concat", self._ints(0, heads, -1), columns, axis=0)

    def _mask(self, node: Node) -> str:
        """The mask of the scores of the memory and of the new elements, with -inf for the room of the memory."""
        value = node.values_in[3] if len(node.inputs) > 3 else None
        if ("mask", value) in self._shared:
            return self._shared["mask", value]
        lowerer = self.lowerer
        if value is None:
            mask = self._number(0)
        else:
            mask = lowerer.names[value]
            if lowerer.type_of(value).element_type is ElementType.boolean:
                code = lowerer.writer.code(ElementType.f32)
                mask = self._emit("Where", mask, self._number(0), self._number(-np.inf), name=node.name, code=code)
        mask = self._emit("Expand", mask, self._total, name=node.name)
        sizes = self._once("mask sizes", "Concat", self.inputs[0], self._new_length, axis=0)
        old, new = self._split(mask, sizes, node.name)
        padded = self._emit("Pad", old, self.inputs[2], self._number(-np.inf), self._ints(-1), name=node.name)
        self._shared["mask", value] = self._emit("Concat", padded, new, name=node.name, axis=-1)
        return self._shared["mask", value]
