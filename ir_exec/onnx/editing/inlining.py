"""Calls of functions of an ONNX file, replaced by the nodes of the functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from ir_exec.onnx.editing.scopes import bodies_of
from ir_exec.onnx.lowering.registry import canonical_domain
from ir_exec.onnx.reading.order import name_of

if TYPE_CHECKING:
    from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto

__all__ = ["calls_of", "count_nodes", "inline_calls"]

_Key: TypeAlias = "tuple[str, str, str]"


def inline_calls(proto: ModelProto) -> ModelProto:
    """Return a copy of a model with the nodes of functions instead of their calls, also in bodies and functions.

    Nodes and values inside of a function are named `call/name`, as are the layers of the lowered model. Calls remain if
    the function calls itself, or imports another version of a domain than the model.
    """
    inlined = type(proto)()
    inlined.CopyFrom(proto)
    inliner = _Inliner(proto)
    inliner.change_graph(inlined.graph)
    if not any(inliner.function_of(node) is not None for node in _nodes_of(inlined.graph)):
        del inlined.functions[:]
    return inlined


def calls_of(proto: ModelProto, function: str) -> Iterator[str]:
    """Yield the names of the nodes of the graph that call a function.

    Args:
        function: `name`, `name:overload`, or either after its domain and a dot.
    """
    inliner = _Inliner(proto)
    for node in proto.graph.node:
        called = inliner.function_of(node)
        if called is not None:
            name = f"{called.name}:{called.overload}" if called.overload else called.name
            if function in (name, f"{called.domain}.{name}"):
                yield name_of(node)


def count_nodes(proto: ModelProto) -> int:
    """Return the number of nodes except for Constants, those of bodies and of called functions included."""
    return _Inliner(proto).count(proto.graph.node)


def _nodes_of(graph: GraphProto) -> Iterator[NodeProto]:
    for node in graph.node:
        yield node
        for body in bodies_of(node):
            yield from _nodes_of(body.graph)


class _Inliner:
    def __init__(self, proto: ModelProto) -> None:
        keys = [_key(function.domain, function.name, function.overload) for function in proto.functions]
        self._functions = dict(zip(keys, proto.functions, strict=True))
        self._counts: dict[_Key, int] = {}
        self._names = {declared.name for declared in proto.graph.input}
        for node in _nodes_of(proto.graph):
            self._names.update((node.name, *node.output))
        self._opsets = _versions(proto.opset_import)

    def function_of(self, node: NodeProto) -> FunctionProto | None:
        return self._functions.get(_key(node.domain, node.op_type, node.overload))

    def change_graph(self, graph: GraphProto, above: frozenset[_Key] = frozenset()) -> None:
        """Replace the calls of a graph and of its bodies.

        Args:
            above: The functions that contain the graph.
        """
        expanded = [inner for node in graph.node for inner in self._expand(node, above)]
        copies = [type(node).FromString(node.SerializeToString()) for node in expanded]
        del graph.node[:]
        graph.node.extend(copies)

    def _expand(self, node: NodeProto, above: frozenset[_Key]) -> Iterator[NodeProto]:
        """Yield a node with expanded bodies, or the nodes of the function that it calls."""
        function = self.function_of(node)
        key = _key(node.domain, node.op_type, node.overload)
        if function is None or key in above or not self._has_same_versions(function):
            for body in bodies_of(node):
                self.change_graph(body.graph, above)
            yield node
            return
        names = dict.fromkeys(function.input, "") | dict(zip(function.input, node.input, strict=False))
        ends = list(zip(function.output, node.output, strict=False))
        # An output that is an input as well has two names outside.
        aliases = [(names[inner], outer) for inner, outer in ends if inner in names]
        names |= {inner: outer for inner, outer in ends if outer and inner not in names}
        attributes = {attribute.name: attribute for attribute in (*function.attribute_proto, *node.attribute)}
        prefix = self._prefix(node, function)
        for inner in function.node:
            copy = type(inner)()
            copy.CopyFrom(inner)
            copy.name = f"{prefix}{name_of(inner)}"
            _rename(copy, names, prefix)
            _bind(copy, attributes)
            yield from self._expand(copy, above | {key})
        for source, target in aliases:
            if source and target:
                yield type(node)(op_type="Identity", name=f"{prefix}{target}", input=[source], output=[target])

    def _prefix(self, node: NodeProto, function: FunctionProto) -> str:
        """Return a prefix with which the names of a call are unique."""
        names = [name for inner in function.node for name in (name_of(inner), *inner.output)]
        prefix = f"{name_of(node)}/"
        while any(f"{prefix}{name}" in self._names for name in names):
            prefix = f"{prefix.removesuffix('/')}_/"
        self._names.update(f"{prefix}{name}" for name in names)
        return prefix

    def count(self, nodes: Iterable[NodeProto]) -> int:
        """Return the number of nodes except for Constants, those of bodies and of called functions included."""
        total = 0
        for node in nodes:
            function = self.function_of(node)
            key = _key(node.domain, node.op_type, node.overload)
            if function is not None and key not in self._counts:
                self._counts[key] = 1  # in a function that calls itself
                self._counts[key] = self.count(function.node)
            total += (node.op_type != "Constant") if function is None else self._counts[key]
            total += sum(self.count(body.graph.node) for body in bodies_of(node))
        return total

    def _has_same_versions(self, function: FunctionProto) -> bool:
        versions = _versions(function.opset_import)
        return all(self._opsets.get(domain, version) == version for domain, version in versions.items())


def _key(domain: str, name: str, overload: str) -> _Key:
    return canonical_domain(domain), name, overload


def _versions(imports: Iterable[Any]) -> dict[str, int]:
    return {canonical_domain(entry.domain): entry.version for entry in imports}


def _rename(node: NodeProto, names: Mapping[str, str], prefix: str) -> None:
    """Rename the values of a node of a function, and those of its bodies."""

    def new(name: str) -> str:
        return names.get(name, f"{prefix}{name}") if name else ""

    node.input[:] = [new(name) for name in node.input]
    node.output[:] = [new(name) for name in node.output]
    for body in bodies_of(node):
        _rename_graph(body.graph, names, prefix)


def _rename_graph(graph: GraphProto, names: Mapping[str, str], prefix: str) -> None:
    own = {declared.name for declared in graph.input} | {tensor.name for tensor in graph.initializer}
    own |= {sparse.values.name for sparse in graph.sparse_initializer}
    own |= {name for node in graph.node for name in node.output}
    inner = {name: new for name, new in names.items() if name not in own}
    named = [*graph.input, *graph.output, *graph.value_info, *graph.initializer]
    for declared in (*named, *(sparse.values for sparse in graph.sparse_initializer)):
        declared.name = inner.get(declared.name, f"{prefix}{declared.name}")
    for node in graph.node:
        _rename(node, inner, prefix)


def _bind(node: NodeProto, attributes: Mapping[str, AttributeProto]) -> None:
    """Replace references to attributes of a function by their values; references without a value are removed."""
    bound: list[AttributeProto] = []
    for attribute in node.attribute:
        if not attribute.ref_attr_name:
            bound.append(attribute)
            continue
        value = attributes.get(attribute.ref_attr_name)
        if value is not None:
            copy = type(value)()
            copy.CopyFrom(value)
            copy.name = attribute.name
            bound.append(copy)
    copies = [type(attribute).FromString(attribute.SerializeToString()) for attribute in bound]
    del node.attribute[:]
    node.attribute.extend(copies)
    for body in bodies_of(node):
        for inner in body.graph.node:
            _bind(inner, attributes)
