"""The ONNX graph that receives lowered nodes: names, constants, nested graphs and model-local functions."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ir_exec.onnx.export.carriers import is_carried, onnx_code, to_carrier
from ir_exec.onnx.export.kernel_types import kernel_type, result_type
from ir_exec.types import Array, ElementType

if TYPE_CHECKING:
    from onnx import GraphProto, NodeProto, TensorProto, ValueInfoProto

__all__ = ["DOMAIN", "INLINE_BYTES", "StoredTensor", "Writer", "WriterScope", "free_names", "raw_bytes", "rename"]

DOMAIN = "ir_exec"
"""The domain of model-local functions."""

INLINE_BYTES = 2**10
"""Maximum bytes of a constant inside the message; larger ones are read when the file is written."""


@dataclass(frozen=True, eq=False)
class StoredTensor:
    """A constant of the graph whose elements are read on demand.

    Attributes:
        code: Its TensorProto.DataType.
        read: Returns the elements, sub-byte types one per byte.
        release: Called with them after they are written; None if no memory needs to be released.
        read_packed: Returns the bytes of elements of 4 bits, two in a byte; None if they must be packed.
        is_computed: The elements are computed from others of the model: `read` returns a new array.
    """

    name: str
    code: int
    shape: tuple[int, ...]
    read: Callable[[], Array]
    release: Callable[[Array], None] | None = None
    read_packed: Callable[[], Array] | None = None
    is_computed: bool = False


@dataclass
class WriterScope:
    """A graph or function body under construction."""

    nodes: list[NodeProto] = field(default_factory=list)


class Writer:
    """Collects nodes, constants, functions and the types of every tensor.

    Attributes:
        opset: The opset of the standard domain.
        target: "" or "openvino" for any runtime, "onnxruntime" for its custom operators and model-local functions.
        finite: NaN and infinities in windows may differ from IR, if keeping them needs separate passes.
        int8: Layers between FakeQuantize will be computed with integers of 8 bits: constants stay integers, and levels
            that are nearly multiples of a step become multiples of it.
        reserved: Names preferred by values of the model.
        source: The metadata of the nodes that are emitted.
    """

    def __init__(self, opset: int, target: str = "", *, finite: bool = False, int8: bool = False) -> None:
        self.opset = opset
        self.target = target
        self.finite = finite
        self.int8 = int8
        self.codes: dict[str, int] = {}
        self.tensors: dict[str, StoredTensor] = {}
        self.small: dict[str, TensorProto] = {}
        self.functions: dict[str, Any] = {}
        self.domains: set[str] = set()
        self.scope = WriterScope()
        self.source: Mapping[str, str] = {}
        self.reserved: set[str] = set()
        self._taken: set[str] = set()
        self._node_names: set[str] = set()
        self._counts: Counter[str] = Counter()
        self._constants: dict[tuple[int, tuple[int, ...], bytes], str] = {}
        self._function_names: dict[str, str] = {}

    def unique(self, name: str) -> str:
        """The name for a tensor, or an unused variation of it."""
        return self._unique(name or "value", self._taken)

    def fresh(self, name: str) -> str:
        """A name for a tensor that is not a value of the model."""
        unique_name = self.unique(name)
        while unique_name in self.reserved:
            unique_name = self.unique(name)
        return unique_name

    def node_name(self, name: str) -> str:
        """The name for a node, or an unused variation of it."""
        return self._unique(name or "node", self._node_names)

    def _unique(self, name: str, used_names: set[str]) -> str:
        candidate = name
        while candidate in used_names:
            self._counts[name] += 1
            candidate = f"{name}_{self._counts[name]}"
        used_names.add(candidate)
        return candidate

    def code(self, element_type: ElementType) -> int:
        """The TensorProto.DataType of an element type or of its carrier."""
        return onnx_code(element_type, self.opset)

    def constant(self, array: Array, name: str) -> str:
        """The name of a tensor with these elements; equal small tensors share a name."""
        elements = to_carrier(np.asarray(array), self.opset)
        code = self.code(ElementType.of(elements))
        if elements.nbytes > INLINE_BYTES and elements.dtype != object:
            return self.store_tensor(name, code, elements.shape, lambda: elements)
        content = repr(elements.tolist()).encode() if elements.dtype == object else elements.tobytes()
        key = (code, elements.shape, content)
        if key not in self._constants:
            unique = self.fresh(name)
            self.small[unique] = _tensor(unique, elements, code)
            self.codes[unique] = code
            self._constants[key] = unique
        return self._constants[key]

    def default(self, name: str, array: Array) -> None:
        """Give an input of the graph a default."""
        elements = to_carrier(array, self.opset)
        self.small[name] = _tensor(name, elements, self.codes[name])

    def element_constant(
        self,
        name: str,
        element_type: ElementType,
        shape: tuple[int, ...],
        read: Callable[[], Array],
        release: Callable[[Array], None] | None = None,
        read_packed: Callable[[], Array] | None = None,
        *,
        is_computed: bool = False,
    ) -> str:
        """The name of a tensor of an element type of IR, whose elements are read on demand."""
        size = math.prod(shape) * element_type.bits // 8
        if size <= INLINE_BYTES or element_type is ElementType.string:
            unique = self.unique(name)
            elements = to_carrier(read(), self.opset)
            self.small[unique] = _tensor(unique, elements, self.code(ElementType.of(elements)))
            self.codes[unique] = self.small[unique].data_type
            return unique
        if is_carried(element_type, self.opset):
            return self.store_tensor(name, self.code(element_type), shape, lambda: to_carrier(read(), self.opset))
        code = self.code(element_type)
        return self.store_tensor(name, code, shape, read, release, read_packed, is_computed=is_computed)

    def store_tensor(
        self,
        name: str,
        code: int,
        shape: tuple[int, ...],
        read: Callable[[], Array],
        release: Callable[[Array], None] | None = None,
        read_packed: Callable[[], Array] | None = None,
        *,
        is_computed: bool = False,
    ) -> str:
        """The name of a tensor whose elements are read on demand."""
        unique = self.unique(name)
        self.tensors[unique] = StoredTensor(unique, code, tuple(shape), read, release, read_packed, is_computed)
        self.codes[unique] = code
        return unique

    def node(
        self,
        operator: str,
        inputs: Sequence[str],
        outputs: Sequence[str],
        *,
        name: str,
        domain: str = "",
        attributes: Mapping[str, Any],
    ) -> None:
        """Append a node unchanged."""
        from onnx import helper

        proto = helper.make_node(operator, list(inputs), list(outputs), name=name, domain=domain)
        for key, value in attributes.items():
            if value is not None:
                proto.attribute.append(_attribute(key, value))
        for key, text in self.source.items():
            proto.metadata_props.add(key=key, value=text)
        if domain:
            self.domains.add(domain)
        self.scope.nodes.append(proto)

    def emit(
        self,
        operator: str,
        inputs: Sequence[str],
        count: int,
        *,
        name: str,
        domain: str = "",
        codes: Sequence[int] | None = None,
        attributes: Mapping[str, Any],
    ) -> tuple[str, ...]:
        """Append a node, with casts if no kernel supports the types; the names of its outputs.

        Args:
            codes: The types of the outputs, if they differ from the types implied by the operator.
        """
        names = list(inputs)
        first = next((self.codes.get(name, 0) for name in names if name), 0)
        shared = first
        if operator == "Where":
            shared = self.codes.get(names[1], 0)
        kernel = kernel_type(operator, shared) if not domain else shared
        if kernel != shared:
            # The condition of Where has a different type.
            own = range(1, len(names)) if operator == "Where" else range(len(names))
            for i in own:
                if names[i] and self.codes.get(names[i]) == shared:
                    names[i] = self.cast(names[i], kernel, name)
        outputs = tuple(self.fresh(f"{name}/{operator}") for _ in range(count))
        if codes is None:
            codes = [(None if domain else result_type(operator, position)) or shared for position in range(count)]
        self.node(
            operator, names, outputs, name=self.node_name(f"{name}/{operator}"), domain=domain, attributes=attributes
        )
        for output, code in zip(outputs, codes, strict=True):
            self.codes[output] = kernel if code == shared else code
        if kernel != shared:
            return tuple(
                self.cast(output, shared, name) if code == shared else output
                for output, code in zip(outputs, codes, strict=True)
            )
        return outputs

    def cast(self, value: str, code: int, name: str) -> str:
        """The tensor as this TensorProto.DataType, by ONNX's Cast; the tensor itself if it has this type."""
        if self.codes.get(value) == code:
            return value
        output = self.fresh(f"{name}/Cast")
        self.node("Cast", [value], [output], name=self.node_name(f"{name}/Cast"), attributes={"to": code})
        self.codes[output] = code
        return output

    @contextmanager
    def derived_from(self, source: Mapping[str, str]) -> Iterator[None]:
        """Give the nodes that are emitted in the block these entries of metadata, or else those of the block around."""
        outer = self.source
        self.source = source or outer
        try:
            yield
        finally:
            self.source = outer

    @contextmanager
    def inside(self) -> Iterator[WriterScope]:
        """Write nodes to a separate graph."""
        outer = self.scope
        self.scope = WriterScope()
        try:
            yield self.scope
        finally:
            self.scope = outer

    def graph(
        self, name: str, scope: WriterScope, inputs: Sequence[ValueInfoProto], outputs: Sequence[ValueInfoProto]
    ) -> GraphProto:
        """A graph for the attribute of a node."""
        from onnx import helper

        return helper.make_graph(scope.nodes, name, list(inputs), list(outputs))

    def function(
        self, name: str, scope: WriterScope, outputs: Sequence[str], *, node_name: str, layer_inputs: Sequence[str]
    ) -> None:
        """Append one node that calls the nodes of a scope as a model-local function; equal functions are shared.

        The inputs are the outer tensors that the scope reads. Small constants other than `layer_inputs` become part of
        the function.
        """
        from onnx import helper

        constants = [
            fromkey
            for fromkey in dict.fromkeys(free_names(scope.nodes))
            if fromkey in self.small and fromkey not in layer_inputs
        ]
        scope.nodes[:0] = [_constant_node(self.small[tensor_name]) for tensor_name in constants]
        computed = {tensor_name for node in scope.nodes for tensor_name in node.output}
        inputs = [fromkey for fromkey in dict.fromkeys(free_names(scope.nodes)) if fromkey not in computed]
        renamed = {tensor_name: f"in{number}" for number, tensor_name in enumerate(inputs)}
        for number, tensor_name in enumerate(
            dict.fromkeys(tensor_name for node in scope.nodes for tensor_name in node.output if tensor_name)
        ):
            renamed[tensor_name] = f"t{number}"
        nodes = [_copy_renamed(node, renamed) for node in scope.nodes]
        domains = {"", *used_domains(scope.nodes)}
        imports = [helper.make_opsetid(domain, self.opset if not domain else 1) for domain in sorted(domains)]
        parameters = [renamed.get(input, input) for input in inputs]
        result = [renamed[output] for output in outputs]
        function_proto = helper.make_function(DOMAIN, "", parameters, result, nodes, imports)
        digest = hashlib.sha256(function_proto.SerializeToString(deterministic=True)).hexdigest() + name
        if digest not in self._function_names:
            unique, number = name, 1
            while unique in self.functions:
                number += 1
                unique = f"{name}_{number}"
            function_proto.name = unique
            self.functions[unique] = function_proto
            self._function_names[digest] = unique
        self.node(self._function_names[digest], inputs, outputs, name=node_name, domain=DOMAIN, attributes={})


def _constant_node(tensor: TensorProto) -> NodeProto:
    from onnx import helper

    value = type(tensor)()
    value.CopyFrom(tensor)
    value.name = ""
    return helper.make_node("Constant", [], [tensor.name], value=value)


def free_names(nodes: Iterable[NodeProto]) -> Iterator[str]:
    """The tensors that nodes read, and the outer tensors that graphs inside them read."""
    for node in nodes:
        yield from (name for name in node.input if name)
        for attribute in node.attribute:
            for graph in (*attribute.graphs, *((attribute.g,) if attribute.HasField("g") else ())):
                own = {port.name for port in graph.input} | {name for inner in graph.node for name in inner.output}
                yield from (name for name in free_names(graph.node) if name not in own)
                yield from (port.name for port in graph.output if port.name not in own)


def used_domains(nodes: Iterable[NodeProto]) -> Iterator[str]:
    """The domains of nodes, and of the nodes of graphs inside them."""
    for node in nodes:
        yield node.domain
        for attribute in node.attribute:
            for graph in (*attribute.graphs, *((attribute.g,) if attribute.HasField("g") else ())):
                yield from used_domains(graph.node)


def _copy_renamed(node: NodeProto, names: Mapping[str, str]) -> NodeProto:
    copied = type(node)()
    copied.CopyFrom(node)
    rename(copied, names)
    copied.name = ""
    # The call of the function has the source, and functions of equal layers are shared.
    del copied.metadata_props[:]
    return copied


def rename(node: NodeProto, names: Mapping[str, str]) -> None:
    for ports in (node.input, node.output):
        for i, old_name in enumerate(ports):
            ports[i] = names.get(old_name, old_name)
    for attribute in node.attribute:
        for graph in (*attribute.graphs, *((attribute.g,) if attribute.HasField("g") else ())):
            for inner in graph.node:
                rename(inner, names)
            for declared in (*graph.output, *graph.input):
                declared.name = names.get(declared.name, declared.name)


def _tensor(name: str, array: Array, code: int) -> TensorProto:
    from onnx import TensorProto, helper

    if array.dtype == object:
        texts: list[Any] = [str(element) for element in array.ravel()]
        return helper.make_tensor(name, TensorProto.STRING, array.shape, texts)
    proto = TensorProto(name=name, data_type=code, raw_data=bytes(raw_bytes(array)))
    proto.dims.extend(array.shape)
    return proto


def raw_bytes(array: Array) -> bytes | memoryview:
    """The elements in the format of `raw_data`: little-endian, sub-byte types packed, the first lowest."""
    element_type = ElementType.of(array)
    flat = np.ascontiguousarray(array).reshape(-1)
    if element_type.bits >= 8:
        view: memoryview = flat.view(np.uint8).data
        return view
    fields = flat.view(np.uint8) & (2**element_type.bits - 1)
    count = 8 // element_type.bits
    fields = np.concatenate([fields, np.zeros(-len(fields) % count, np.uint8)]).reshape(-1, count)
    packed: bytes = (fields << (np.arange(count, dtype=np.uint8) * element_type.bits)).sum(1, dtype=np.uint8).tobytes()
    return packed


def _attribute(key: str, value: Any) -> Any:
    from onnx import AttributeProto, helper

    if isinstance(value, (list, tuple)) and not value:
        return AttributeProto(name=key, type=AttributeProto.INTS)
    if isinstance(value, bool):
        value = int(value)
    if isinstance(value, (np.integer, np.floating)):
        value = value.item()
    return helper.make_attribute(key, value)
