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
    """

    name: str
    code: int
    shape: tuple[int, ...]
    read: Callable[[], Array]
    release: Callable[[Array], None] | None = None


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
        reserved: Names preferred by values of the model.
    """

    def __init__(self, opset: int, target: str = "", *, finite: bool = False) -> None:
        self.opset = opset
        self.target = target
        self.finite = finite
        self.codes: dict[str, int] = {}
        self.tensors: dict[str, StoredTensor] = {}
        self.small: dict[str, TensorProto] = {}
        self.functions: dict[str, Any] = {}
        self.domains: set[str] = set()
        self.scope = WriterScope()
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
        found = self.unique(name)
        while found in self.reserved:
            found = self.unique(name)
        return found

    def node_name(self, name: str) -> str:
        """The name for a node, or an unused variation of it."""
        return self._unique(name or "node", self._node_names)

    def _unique(self, name: str, taken: set[str]) -> str:
        found = name
        while found in taken:
            self._counts[name] += 1
            found = f"{name}_{self._counts[name]}"
        taken.add(found)
        return found

    def code(self, element_type: ElementType) -> int:
        """The TensorProto.DataType of an element type or of its carrier."""
        return onnx_code(element_type, self.opset)

    def constant(self, array: Array, name: str) -> str:
        """The name of a tensor with these elements; equal small tensors share a name."""
        held = to_carrier(np.asarray(array), self.opset)
        code = self.code(ElementType.of(held))
        if held.nbytes > INLINE_BYTES and held.dtype != object:
            return self.stored(name, code, held.shape, lambda: held)
        content = repr(held.tolist()).encode() if held.dtype == object else held.tobytes()
        key = (code, held.shape, content)
        if key not in self._constants:
            unique = self.fresh(name)
            self.small[unique] = _tensor(unique, held, code)
            self.codes[unique] = code
            self._constants[key] = unique
        return self._constants[key]

    def default(self, name: str, array: Array) -> None:
        """Give an input of the graph a default."""
        held = to_carrier(array, self.opset)
        self.small[name] = _tensor(name, held, self.codes[name])

    def element_constant(
        self,
        name: str,
        kind: ElementType,
        shape: tuple[int, ...],
        read: Callable[[], Array],
        release: Callable[[Array], None] | None = None,
    ) -> str:
        """The name of a tensor of an element type of IR, whose elements are read on demand."""
        size = math.prod(shape) * kind.bits // 8
        if size <= INLINE_BYTES or kind is ElementType.string:
            unique = self.unique(name)
            held = to_carrier(read(), self.opset)
            self.small[unique] = _tensor(unique, held, self.code(ElementType.of(held)))
            self.codes[unique] = self.small[unique].data_type
            return unique
        if is_carried(kind, self.opset):
            return self.stored(name, self.code(kind), shape, lambda: to_carrier(read(), self.opset))
        return self.stored(name, self.code(kind), shape, read, release)

    def stored(
        self,
        name: str,
        code: int,
        shape: tuple[int, ...],
        read: Callable[[], Array],
        release: Callable[[Array], None] | None = None,
    ) -> str:
        """The name of a tensor whose elements are read on demand."""
        unique = self.unique(name)
        self.tensors[unique] = StoredTensor(unique, code, tuple(shape), read, release)
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
            for place in own:
                if names[place] and self.codes.get(names[place]) == shared:
                    names[place] = self.cast(names[place], kernel, name)
        outputs = tuple(self.fresh(f"{name}/{operator}") for _ in range(count))
        if codes is None:
            codes = [(None if domain else result_type(operator, position)) or shared for position in range(count)]
        self.node(
            operator, names, outputs, name=self.node_name(f"{name}/{operator}"), domain=domain, attributes=attributes
        )
        for one, code in zip(outputs, codes, strict=True):
            self.codes[one] = kernel if code == shared else code
        if kernel != shared:
            return tuple(
                self.cast(one, shared, name) if code == shared else one
                for one, code in zip(outputs, codes, strict=True)
            )
        return outputs

    def cast(self, value: str, code: int, name: str) -> str:
        """The tensor as this TensorProto.DataType, by ONNX's Cast; the tensor itself if it has this type."""
        if self.codes.get(value) == code:
            return value
        found = self.fresh(f"{name}/Cast")
        self.node("Cast", [value], [found], name=self.node_name(f"{name}/Cast"), attributes={"to": code})
        self.codes[found] = code
        return found

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
        self, name: str, scope: WriterScope, outputs: Sequence[str], *, node_name: str, given: Sequence[str]
    ) -> None:
        """Append one node that calls the nodes of a scope as a model-local function; equal functions are shared.

        The inputs are the outer tensors that the scope reads. Small constants other than `given` become part of the
        function.
        """
        from onnx import helper

        held = [
            fromkey
            for fromkey in dict.fromkeys(free_names(scope.nodes))
            if fromkey in self.small and fromkey not in given
        ]
        scope.nodes[:0] = [_constant_node(self.small[one]) for one in held]
        made = {one for node in scope.nodes for one in node.output}
        inputs = [fromkey for fromkey in dict.fromkeys(free_names(scope.nodes)) if fromkey not in made]
        renamed = {one: f"in{place}" for place, one in enumerate(inputs)}
        for place, one in enumerate(dict.fromkeys(one for node in scope.nodes for one in node.output if one)):
            renamed[one] = f"t{place}"
        nodes = [_renamed(node, renamed) for node in scope.nodes]
        domains = {"", *used_domains(scope.nodes)}
        imports = [helper.make_opsetid(domain, self.opset if not domain else 1) for domain in sorted(domains)]
        given = [renamed.get(input, input) for input in inputs]
        result = [renamed[output] for output in outputs]
        made_function = helper.make_function(DOMAIN, "", given, result, nodes, imports)
        digest = hashlib.sha256(made_function.SerializeToString(deterministic=True)).hexdigest() + name
        if digest not in self._function_names:
            unique, place = name, 1
            while unique in self.functions:
                place += 1
                unique = f"{name}_{place}"
            made_function.name = unique
            self.functions[unique] = made_function
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
        yield from (one for one in node.input if one)
        for attribute in node.attribute:
            for graph in (*attribute.graphs, *((attribute.g,) if attribute.HasField("g") else ())):
                own = {one.name for one in graph.input} | {one for inner in graph.node for one in inner.output}
                yield from (name for name in free_names(graph.node) if name not in own)
                yield from (one.name for one in graph.output if one.name not in own)


def used_domains(nodes: Iterable[NodeProto]) -> Iterator[str]:
    """The domains of nodes, and of the nodes of graphs inside them."""
    for node in nodes:
        yield node.domain
        for attribute in node.attribute:
            for graph in (*attribute.graphs, *((attribute.g,) if attribute.HasField("g") else ())):
                yield from used_domains(graph.node)


def _renamed(node: NodeProto, names: Mapping[str, str]) -> NodeProto:
    copied = type(node)()
    copied.CopyFrom(node)
    rename(copied, names)
    copied.name = ""
    return copied


def rename(node: NodeProto, names: Mapping[str, str]) -> None:
    for ports in (node.input, node.output):
        for place, one in enumerate(ports):
            ports[place] = names.get(one, one)
    for attribute in node.attribute:
        for graph in (*attribute.graphs, *((attribute.g,) if attribute.HasField("g") else ())):
            for inner in graph.node:
                rename(inner, names)
            for declared in (*graph.output, *graph.input):
                declared.name = names.get(declared.name, declared.name)


def _tensor(name: str, held: Array, code: int) -> TensorProto:
    from onnx import TensorProto, helper

    if held.dtype == object:
        texts: list[Any] = [str(one) for one in held.ravel()]
        return helper.make_tensor(name, TensorProto.STRING, held.shape, texts)
    proto = TensorProto(name=name, data_type=code, raw_data=bytes(raw_bytes(held)))
    proto.dims.extend(held.shape)
    return proto


def raw_bytes(held: Array) -> bytes | memoryview:
    """The elements in the format of `raw_data`: little-endian, sub-byte types packed, the first lowest."""
    kind = ElementType.of(held)
    flat = np.ascontiguousarray(held).reshape(-1)
    if kind.bits >= 8:
        view: memoryview = flat.view(np.uint8).data
        return view
    fields = flat.view(np.uint8) & (2**kind.bits - 1)
    count = 8 // kind.bits
    fields = np.concatenate([fields, np.zeros(-len(fields) % count, np.uint8)]).reshape(-1, count)
    packed: bytes = (fields << (np.arange(count, dtype=np.uint8) * kind.bits)).sum(1, dtype=np.uint8).tobytes()
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
