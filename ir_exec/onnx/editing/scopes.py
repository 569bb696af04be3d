"""A graph, a body or a function of an ONNX file during editing: its nodes and values by name, and who reads them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, GraphError
from ir_exec.hints import suggested
from ir_exec.onnx.lowering.registry import canonical_domain
from ir_exec.onnx.reading.order import name_of, needed_names

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto, TensorProto

__all__ = ["GraphScope", "ScopeFinder", "bodies_of", "find_scope", "model_scope", "rename_inputs"]


class NodeBody(NamedTuple):
    """A body of a node, with the name of its attribute; `branches[1]` for one of several bodies."""

    name: str
    graph: GraphProto


def bodies_of(node: NodeProto) -> Iterator[NodeBody]:
    """Yield the bodies of a node."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield NodeBody(attribute.name, attribute.g)
        for position, graph in enumerate(attribute.graphs):
            yield NodeBody(f"{attribute.name}[{position}]", graph)


class GraphScope:
    """The nodes and values of a graph.

    Attributes:
        content: The GraphProto or FunctionProto.
        path: The prefix of its names in messages, `loop/body/` for a body.
        outer: The scope that contains the node of a body; None for the graph of a model and for functions.
        opsets: The imported versions by domain.
    """

    def __init__(
        self,
        content: Any,
        path: str,
        opsets: dict[str, int],
        outer: GraphScope | None = None,
        holder: NodeProto | None = None,
    ) -> None:
        self.content = content
        self.path = path
        self.opsets = opsets
        self.outer = outer
        self.holder = holder
        self._bodies: dict[tuple[int, str], GraphScope] = {}

    @property
    def is_function(self) -> bool:
        return bool(self.content.DESCRIPTOR.name == "FunctionProto")

    @property
    def nodes(self) -> Any:
        """The nodes, as a list of the message."""
        return self.content.node

    @cached_property
    def _nodes_by_name(self) -> dict[str, list[NodeProto]]:
        index: dict[str, list[NodeProto]] = {}
        for node in self.nodes:
            if node.name:
                index.setdefault(node.name, []).append(node)
        return index

    @cached_property
    def producers(self) -> dict[str, NodeProto]:
        """The nodes by the names of their outputs."""
        return {name: node for node in self.nodes for name in node.output if name}

    @cached_property
    def _readers(self) -> dict[str, list[NodeProto]]:
        index: dict[str, list[NodeProto]] = {}
        for node in self.nodes:
            for name in needed_names(node):
                index.setdefault(name, []).append(node)
        return index

    @cached_property
    def initializers(self) -> dict[str, TensorProto]:
        """The initializers by name, those of sparse tensors without their indices."""
        if self.is_function:
            return {}
        tensors = {tensor.name: tensor for tensor in self.content.initializer}
        return tensors | {sparse.values.name: sparse.values for sparse in self.content.sparse_initializer}

    @cached_property
    def input_names(self) -> dict[str, None]:
        """The names of the inputs, those of initializers included."""
        inputs = self.content.input
        return dict.fromkeys(inputs if self.is_function else (declared.name for declared in inputs))

    @property
    def output_names(self) -> dict[str, None]:
        """The names of the outputs."""
        outputs = self.content.output
        return dict.fromkeys(outputs if self.is_function else (declared.name for declared in outputs))

    def forget_nodes(self) -> None:
        """Build the indexes anew, and those of outer scopes, after nodes or initializers were added or removed."""
        for name in ("_nodes_by_name", "producers", "_readers", "initializers", "input_names", "_body_names"):
            vars(self).pop(name, None)
        vars(self).pop("_declarations", None)
        self._bodies.clear()
        if self.outer is not None:
            self.outer.forget_nodes()

    @cached_property
    def _body_names(self) -> set[str]:
        """The names of values that bodies of the nodes define."""
        return {name for node in self.nodes for body in bodies_of(node) for name in _defined_names(body.graph)}

    @cached_property
    def _declarations(self) -> dict[str, list[Any]]:
        """The inputs, outputs, declared values and initializers by name."""
        declared = [*self.content.value_info]
        if not self.is_function:
            declared += [*self.content.input, *self.content.output, *self.content.initializer]
            declared += [sparse.values for sparse in self.content.sparse_initializer]
        index: dict[str, list[Any]] = {}
        for entry in declared:
            index.setdefault(entry.name, []).append(entry)
        return index

    def with_name(self, name: str) -> list[NodeProto]:
        """Return the nodes with this name, without those that have only an output of this name."""
        return list(self._nodes_by_name.get(name, ()))

    def readers(self, name: str) -> list[NodeProto]:
        """Return the nodes that read a value, in their bodies, too."""
        return self._readers.get(name, [])

    def has_value(self, name: str) -> bool:
        """Return True if the scope itself defines a value of this name."""
        return name in self.producers or name in self.initializers or name in self.input_names

    def has_name(self, name: str) -> bool:
        """Return True if a value or a node has this name."""
        return self.has_value(name) or name in self._nodes_by_name

    def nodes_named(self, name: str) -> list[NodeProto]:
        """Return the nodes with this name, or with an output of this name if there are none."""
        producer = self.producers.get(name)
        return self._nodes_by_name.get(name) or ([] if producer is None else [producer])

    def names(self) -> Iterator[str]:
        """Yield the names of values and nodes, with their path."""
        for index in (self.input_names, self.initializers, self.producers, self._nodes_by_name):
            yield from (self.path + name for name in index)

    def node(self, name: str) -> NodeProto:
        """Return the node with this name, or with an output of this name.

        Raises:
            EvaluationError: IR705 if there is none.
            GraphError: If several nodes have the name.
        """
        matches = self.nodes_named(name)
        if len(matches) > 1:
            message = f"{len(matches)} nodes are named {self.path + name!r}"
            raise GraphError(message, code=Code.duplicate_layer_name, hint="name an output of the node")
        if not matches:
            nodes = dict.fromkeys(self.path + name_of(node) for node in self.nodes)
            hint = suggested(self.path + name, nodes) or suggested(self.path + name, self.names())
            raise EvaluationError(f"there is no node {self.path + name!r}", code=Code.unknown_input, hint=hint)
        return matches[0]

    def value(self, name: str) -> str:
        """Return the name of the value with this name: a value, `node`, or `node:1` for one of several outputs.

        Raises:
            EvaluationError: IR705 if there is none.
            GraphError: For a node with several outputs.
        """
        if self.has_value(name):
            return name
        if self.outer is not None and not self._nodes_by_name.get(name):
            scope: GraphScope | None = self.outer
            while scope is not None:
                if scope.has_value(name):
                    return name
                scope = scope.outer
        owner, _, position = name.rpartition(":")
        if owner and position.isdecimal() and owner in self._nodes_by_name:
            node = self.node(owner)
            if int(position) < len(node.output) and node.output[int(position)]:
                return str(node.output[int(position)])
        if name not in self._nodes_by_name:
            hint = suggested(self.path + name, self.names())
            raise EvaluationError(f"there is no value {self.path + name!r}", code=Code.unknown_input, hint=hint)
        outputs = [output for output in self.node(name).output if output]
        if len(outputs) != 1:
            message = f"the node {self.path + name!r} has {len(outputs)} outputs, expected one"
            raise GraphError(message, hint=f"name one of them: {', '.join(outputs[:5])}" if outputs else None)
        return str(outputs[0])

    def body_scopes(self, node: NodeProto) -> Iterator[tuple[str, GraphScope]]:
        """Yield the scopes of the bodies of a node, by the names of their attributes."""
        for name, graph in bodies_of(node):
            key = (id(node), name)
            if key not in self._bodies:
                path = f"{self.path}{name_of(node)}/{name}/"
                self._bodies[key] = GraphScope(graph, path, self.opsets, self, node)
            yield name, self._bodies[key]

    def unused_name(self, name: str) -> str:
        """Return the name, or a similar one that no value or node of this scope, of outer scopes and bodies has."""
        number, candidate = 0, name
        while self._is_taken(candidate):
            number += 1
            candidate = f"{name}_{number}"
        return candidate

    def _is_taken(self, name: str) -> bool:
        if self.outer is not None and self.outer._is_taken(name):
            return True
        return self.has_name(name) or name in self._body_names

    def rename_value(self, old: str, new: str) -> None:
        """Rename a value of this scope everywhere."""
        self._rename_definition(old, new)
        self._bodies.clear()
        outer = self.outer
        while outer is not None:
            vars(outer).pop("_body_names", None)
            outer = outer.outer
        producer = self.producers.pop(old, None)
        if producer is not None:
            producer.output[:] = [new if name == old else name for name in producer.output]
            self.producers[new] = producer
        readers = self._readers.pop(old, [])
        for node in readers:
            rename_inputs(node, old, new)
        if readers:
            self._readers[new] = readers
        for index in (self.initializers, self.input_names):
            if old in index:
                index[new] = index.pop(old)  # type: ignore[assignment]  # two dictionaries of different values

    def _rename_definition(self, old: str, new: str) -> None:
        """Rename a value in declarations."""
        if self.is_function:
            for names in (self.content.input, self.content.output):
                names[:] = [new if name == old else name for name in names]
        else:
            for annotation in self.content.quantization_annotation:
                if annotation.tensor_name == old:
                    annotation.tensor_name = new
                for entry in annotation.quant_parameter_tensor_names:
                    if entry.value == old:
                        entry.value = new
        declarations = self._declarations.pop(old, [])
        for declared in declarations:
            declared.name = new
        if declarations:
            self._declarations.setdefault(new, []).extend(declarations)

    def rename_node(self, node: NodeProto, new: str) -> None:
        """Rename a node."""
        matches = self._nodes_by_name.get(node.name, [])
        if node in matches:
            matches.remove(node)
            if not matches:
                del self._nodes_by_name[node.name]
        node.name = new
        self._nodes_by_name.setdefault(new, []).append(node)
        for key in [key for key in self._bodies if key[0] == id(node)]:
            del self._bodies[key]

    def read_instead(self, readers: list[NodeProto], old: str, new: str) -> None:
        """Let these nodes read another value."""
        for node in readers:
            rename_inputs(node, old, new)
        self.forget_nodes()


def rename_inputs(node: NodeProto, old: str, new: str) -> None:
    """Let a node and its bodies read another value."""
    if old in node.input:
        node.input[:] = [new if name == old else name for name in node.input]
    for _, graph in bodies_of(node):
        _rename_free(graph, old, new)


def _rename_free(graph: GraphProto, old: str, new: str) -> None:
    """Rename a value of an outer graph in a body."""
    if _defines_itself(graph, old):
        return
    for output in graph.output:
        if output.name == old:
            output.name = new
    for node in graph.node:
        rename_inputs(node, old, new)


def _defines_itself(graph: GraphProto, name: str) -> bool:
    return (
        any(declared.name == name for declared in graph.input)
        or any(tensor.name == name for tensor in graph.initializer)
        or any(sparse.values.name == name for sparse in graph.sparse_initializer)
        or any(name in node.output for node in graph.node)
    )


def _defined_names(graph: GraphProto) -> Iterator[str]:
    """Yield the names of values that a graph and its bodies define."""
    yield from (entry.name for entry in (*graph.input, *graph.initializer))
    yield from (sparse.values.name for sparse in graph.sparse_initializer)
    for node in graph.node:
        yield from node.output
        for body in bodies_of(node):
            yield from _defined_names(body.graph)


def model_scope(proto: ModelProto) -> GraphScope:
    """Return the scope of the graph of a model."""
    opsets = {canonical_domain(entry.domain): entry.version for entry in proto.opset_import}
    return GraphScope(proto.graph, "", opsets)


def _function_scopes(proto: ModelProto) -> Iterator[tuple[str, GraphScope]]:
    """Yield the scopes of the functions by their names, with and without their domains."""
    for function in proto.functions:
        opsets = {canonical_domain(entry.domain): entry.version for entry in function.opset_import}
        name = f"{function.name}:{function.overload}" if function.overload else function.name
        scope = GraphScope(function, f"{name}/", opsets)
        yield name, scope
        yield f"{function.domain}.{name}", scope


class ScopeFinder:
    """Finds the scope of a name: `name` in the graph, `loop/body/name` in a body, `function/name` in a function."""

    def __init__(self, proto: ModelProto) -> None:
        self.proto = proto
        self.root = model_scope(proto)

    @cached_property
    def functions(self) -> dict[str, GraphScope]:
        return dict(_function_scopes(self.proto))

    def find(self, name: str) -> tuple[GraphScope, str]:
        """Return the scope that a name belongs to, and the name in it.

        Raises:
            EvaluationError: IR705 if nothing has the name.
        """
        match = find_scope(self.root, name)
        for function, scope in self.functions.items() if match is None else ():
            if match is None and name.startswith(f"{function}/"):
                match = find_scope(scope, name[len(function) + 1 :])
        if match is None:
            names = [
                *self._all_names(self.root),
                *(text for scope in self.functions.values() for text in scope.names()),
            ]
            hint = suggested(name, names)
            raise EvaluationError(f"there is no node or value {name!r}", code=Code.unknown_input, hint=hint)
        return match

    def _all_names(self, scope: GraphScope) -> Iterator[str]:
        yield from scope.names()
        for node in scope.nodes:
            for _, body in scope.body_scopes(node):
                yield from self._all_names(body)


def find_scope(scope: GraphScope, name: str) -> tuple[GraphScope, str] | None:
    """Return the scope, this one or a body in it, that a name belongs to, and the name in it; None without one."""
    owner, _, position = name.rpartition(":")
    if scope.has_name(name) or (owner and position.isdecimal() and scope.has_name(owner)):
        return scope, name
    parts = [name[:position] for position, character in enumerate(name) if character == "/"]
    for part in parts:
        for node in scope.nodes_named(part):
            for attribute, body in scope.body_scopes(node):
                start = f"{part}/{attribute}/"
                if name.startswith(start):
                    match = find_scope(body, name[len(start) :])
                    if match is not None:
                        return match
    return None
