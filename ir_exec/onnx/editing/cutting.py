"""Parts of an ONNX model between values, as ONNX models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, GraphError, UnsupportedError
from ir_exec.onnx.editing.scopes import GraphScope, ScopeFinder, bodies_of
from ir_exec.onnx.editing.types import declared_types, type_of_tensor
from ir_exec.onnx.lowering.registry import canonical_domain
from ir_exec.onnx.reading.order import needed_names

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto, TensorProto, TypeProto

__all__ = ["OnnxPart", "PartGraph", "cut_between", "make_part"]


@dataclass(frozen=True)
class OnnxPart:
    """A part of a model.

    Attributes:
        proto: The model of the part.
        inputs: The names of its inputs.
        outputs: The names of its outputs.
        scope: The path of the body that it is from, `loop/body/`; "" for the graph of the model.
    """

    proto: ModelProto
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    scope: str = ""


class PartGraph:
    """The nodes of a graph or body that parts can have, with those of outer graphs that depend on constants only.

    Attributes:
        scopes: The scopes of the graph and of enclosing graphs, the outermost first.
        constant: The values that follow from initializers and Constants.
    """

    def __init__(self, proto: ModelProto, scope: GraphScope) -> None:
        self.proto = proto
        self.scope = scope
        scopes = [scope]
        while scopes[-1].outer is not None:
            scopes.append(scopes[-1].outer)
        self.scopes = scopes[::-1]
        self.constant = _constant_values(self.scopes)
        self.nodes: list[NodeProto] = []
        for outer in self.scopes[:-1]:
            self.nodes += [node for node in outer.nodes if self.constant.issuperset(filter(None, node.output))]
        self.own_nodes: list[NodeProto] = list(scope.nodes)
        self.nodes += self.own_nodes
        self.producers = {name: node for node in self.nodes for name in node.output if name}
        self.needed = {id(node): needed_names(node) for node in self.nodes}

    def sources(self, node: NodeProto) -> Iterator[NodeProto]:
        """Yield the nodes whose outputs a node reads."""
        for name in self.needed[id(node)]:
            producer = self.producers.get(name)
            if producer is not None:
                yield producer

    def needed_nodes(self, values: Iterable[str], stops: Iterable[str] = ()) -> list[NodeProto]:
        """Return the nodes that values depend on, up to the values `stops`, in the order of the file."""
        ends = set(stops)
        pending = [name for name in values if name not in ends]
        selected: set[int] = set()
        while pending:
            node = self.producers.get(pending.pop())
            if node is not None and id(node) not in selected:
                selected.add(id(node))
                pending += self.needed[id(node)] - ends
        return [node for node in self.nodes if id(node) in selected]

    def dependent_nodes(self, values: Iterable[str]) -> set[int]:
        """Return the ids of the nodes that depend on one of these values."""
        readers: dict[str, list[NodeProto]] = {}
        for node in self.nodes:
            for name in self.needed[id(node)]:
                readers.setdefault(name, []).append(node)
        pending = list(values)
        dependent: set[int] = set()
        while pending:
            for node in readers.pop(pending.pop(), ()):
                dependent.add(id(node))
                pending += node.output
        return dependent

    def initializers(self) -> Iterator[tuple[str, Any]]:
        """Yield the initializers by name, of outer graphs, too."""
        for scope in self.scopes:
            yield from scope.initializers.items()

    def close_over_constants(self, nodes: Sequence[NodeProto], stops: Iterable[str] = ()) -> list[NodeProto]:
        """Return these nodes with the nodes that compute their constant inputs, in the order of the file."""
        read = {name for node in nodes for name in self.needed[id(node)]} & self.constant
        selected = {id(node) for node in nodes}
        selected |= {id(node) for node in self.needed_nodes(read - set(stops))}
        return [node for node in self.nodes if id(node) in selected]


def _constant_values(scopes: Sequence[GraphScope]) -> set[str]:
    constant: set[str] = set()
    for scope in scopes:
        constant |= scope.initializers.keys()
        for node in scope.nodes:
            is_pure = node.op_type not in _RANDOM and constant.issuperset(needed_names(node))
            if is_pure and not any(_has_random(body.graph) for body in bodies_of(node)):
                constant.update(name for name in node.output if name)
    return constant


_RANDOM = ("RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Bernoulli", "Multinomial")
"""Operators whose values do not follow from their inputs."""


def _has_random(graph: Any) -> bool:
    return any(
        node.op_type in _RANDOM or any(_has_random(body.graph) for body in bodies_of(node)) for node in graph.node
    )


def cut_between(
    proto: ModelProto,
    starts: Sequence[str],
    ends: Sequence[str],
    infer: Callable[[], Mapping[str, TypeProto]] | None = None,
) -> OnnxPart:
    """Return the part of a model between values.

    It consists of the nodes that depend on `starts` and that `ends` depend on. Other values that they read become
    inputs, unless they follow from constants.

    Args:
        starts: Names of values or nodes, `node:1` for one of several outputs, `loop/body/name` in a body. All values of
            a node with several outputs are meant.
        ends: Names of the same form in the same graph or body; without any, the outputs that depend on `starts`.
        infer: Returns types of values that the file does not declare.

    Raises:
        EvaluationError: IR705 for names that do not exist or without nodes between them.
        UnsupportedError: For an input of unknown element type.
    """
    finder = ScopeFinder(proto)
    scopes: dict[str, GraphScope] = {}
    values_of: dict[str, list[str]] = {}
    for name in (*starts, *ends):
        scope, inner = finder.find(name)
        scopes[scope.path] = scope
        values_of[name] = _values(scope, inner)
    if len(scopes) > 1:
        first, other = list(scopes)[:2]
        message = f"the names are in different bodies, {first!r} and {other!r}"
        raise EvaluationError(message, expected="values of the same body", code=Code.unknown_input)
    scope = next(iter(scopes.values()))
    if scope.is_function:
        hint = "name the node that calls the function"
        raise GraphError(f"{scope.path!r} is a function, and has no values of its own", hint=hint)
    graph = PartGraph(proto, scope)
    begin = list(dict.fromkeys(value for name in starts for value in values_of[name]))
    end = list(dict.fromkeys(value for name in ends for value in values_of[name]))
    both = [value for value in begin if value in end]
    if both:
        raise EvaluationError(f"{both[0]!r} is both start and end of the cut", code=Code.unknown_input)
    dependent = graph.dependent_nodes(begin)
    if not ends:
        end = [name for name in scope.output_names if name in graph.producers]
        end = [name for name in end if id(graph.producers[name]) in dependent and name not in begin]
        if not end:
            raise EvaluationError(f"no output depends on {begin[0]!r}", code=Code.unknown_input)
    nodes = graph.needed_nodes(end, begin)
    if begin:
        nodes = [node for node in nodes if id(node) in dependent]
        chosen = {name for node in nodes for name in node.output}
        _require_dependence(begin, end, chosen, {name for node in nodes for name in graph.needed[id(node)]})
    elif not nodes:
        raise EvaluationError(f"{end[0]!r} is not computed", code=Code.unknown_input)
    return make_part(graph, nodes, end, starts=begin, infer=infer)


def _values(scope: GraphScope, name: str) -> list[str]:
    nodes = [] if scope.has_value(name) else scope.nodes_named(name)
    if len(nodes) == 1:
        outputs = [output for output in nodes[0].output if output]
        if outputs:
            return outputs
    return [scope.value(name)]


def _require_dependence(starts: Sequence[str], ends: Sequence[str], computed: set[str], read: set[str]) -> None:
    for value in ends:
        if value not in computed:
            names = " or ".join(map(repr, starts[:3]))
            raise EvaluationError(f"{value!r} does not depend on {names}", code=Code.unknown_input)
    for value in starts:
        if value not in read:
            names = " or ".join(map(repr, ends[:3]))
            raise EvaluationError(f"{names} does not depend on {value!r}", code=Code.unknown_input)


def make_part(
    graph: PartGraph,
    nodes: Sequence[NodeProto],
    outputs: Sequence[str],
    *,
    starts: Sequence[str] = (),
    folded: Mapping[str, TensorProto] | None = None,
    infer: Callable[[], Mapping[str, TypeProto]] | None = None,
) -> OnnxPart:
    """Return the model of some nodes: values that they read become inputs, unless they follow from constants.

    Args:
        outputs: Values of the nodes.
        starts: Values that become inputs first.
        folded: Values that become initializers instead of being computed by their nodes.
        infer: As for `cut_between`.

    Raises:
        UnsupportedError: For an input of unknown element type.
    """
    proto, scope = graph.proto, graph.scope
    folded = folded or {}
    selected = graph.close_over_constants(nodes, [*starts, *folded])
    produced = {name for node in selected for name in node.output if name} - {*starts, *folded}
    read = {name: None for node in selected for name in sorted(graph.needed[id(node)])}
    tensors = {**dict(graph.initializers()), **folded}
    open_values = [name for name in read if name not in produced and name not in tensors and name not in starts]
    order = {name: position for position, name in enumerate(scope.input_names)}
    open_values.sort(key=lambda name: order.get(name, len(order)))
    inputs = [*starts, *open_values]
    part = type(proto)()
    part.CopyFrom(proto)
    body = part.graph
    for field in ("node", "initializer", "sparse_initializer", "input", "output", "value_info"):
        body.ClearField(field)
    body.ClearField("quantization_annotation")
    if scope.outer is not None:
        body.name = scope.content.name or body.name
    body.node.extend(selected)
    for node in body.node:
        # A node with several outputs may compute a start, too, which now is an input.
        for position, name in enumerate(node.output):
            if name in starts or name in folded:
                node.output[position] = scope.unused_name(f"{name}_not_read")
    tensor_names = [name for name in tensors if name in read and name not in inputs]
    tensor_names += [name for name in outputs if name in tensors and name not in read]
    _copy_tensors(body, [tensors[name] for name in tensor_names if name not in folded], graph)
    body.initializer.extend([folded[name] for name in tensor_names if name in folded])
    types = _Types(graph, infer)
    declared_inputs = {declared.name: declared for declared in scope.content.input}
    for name in inputs:
        if name in declared_inputs and declared_inputs[name].type.WhichOneof("value"):
            body.input.append(declared_inputs[name])
        else:
            types.add(body.input.add(), name, is_required=True)
    if scope.outer is None:
        # Initializers of old IR versions are inputs, too.
        body.input.extend([declared_inputs[name] for name in tensor_names if name in declared_inputs])
    declared_outputs = {declared.name: declared for declared in scope.content.output}
    for name in outputs:
        if name in declared_outputs and declared_outputs[name].type.WhichOneof("value"):
            body.output.append(declared_outputs[name])
        else:
            types.add(body.output.add(), name, is_required=False)
    inner = (produced | set(tensor_names)) - set(outputs)
    body.value_info.extend([declared for declared in scope.content.value_info if declared.name in inner])
    body.quantization_annotation.extend(
        [entry for entry in scope.content.quantization_annotation if entry.tensor_name in inner | {*inputs, *outputs}]
    )
    _drop_functions(part)
    return OnnxPart(part, tuple(inputs), tuple(outputs), scope.path)


def _copy_tensors(body: Any, tensors: Sequence[Any], graph: PartGraph) -> None:
    names = {tensor.name for tensor in tensors}
    for outer in graph.scopes:
        body.initializer.extend([tensor for tensor in outer.content.initializer if tensor.name in names])
        sparse = [tensor for tensor in outer.content.sparse_initializer if tensor.values.name in names]
        body.sparse_initializer.extend(sparse)


class _Types:
    """The types of values of a part, as declared or inferred; inference runs only if a declaration is missing."""

    def __init__(self, graph: PartGraph, infer: Callable[[], Mapping[str, TypeProto]] | None) -> None:
        self._graph = graph
        self._infer = infer
        self._declared = dict(declared_types(graph.proto))
        self._declared |= {name: type_of_tensor(tensor) for name, tensor in graph.initializers()}
        for node in graph.nodes:
            tensors = [attribute.t for attribute in node.attribute if attribute.HasField("t")]
            if node.op_type == "Constant" and tensors:
                self._declared.setdefault(node.output[0], type_of_tensor(tensors[0]))
        if graph.scope.outer is not None:
            content = graph.scope.content
            for declared in (*content.value_info, *content.output, *content.input):
                self._declared[declared.name] = declared.type
        self._inferred: Mapping[str, TypeProto] | None = None

    def add(self, target: Any, name: str, *, is_required: bool) -> None:
        """Declare a value."""
        target.name = name
        declared = self._find(name)
        if declared is not None:
            target.type.CopyFrom(declared)
        elif is_required:
            message = f"the element type of {name!r} is unknown"
            raise UnsupportedError(message, expected="a declaration of the value", code=Code.unsupported)

    def _find(self, name: str) -> TypeProto | None:
        declared = self._declared.get(name)
        if declared is not None and _is_typed(declared):
            return declared
        if self._inferred is None:
            self._inferred = {} if self._infer is None else self._infer()
        return self._inferred.get(name, declared)


def _is_typed(declared: TypeProto) -> bool:
    field = declared.WhichOneof("value")
    return field is not None and (field != "tensor_type" or bool(declared.tensor_type.elem_type))


def _drop_functions(part: ModelProto) -> None:
    """Remove the functions that no node of the part calls."""
    functions = {(canonical_domain(f.domain), f.name, f.overload): f for f in part.functions}
    if not functions:
        return
    called: set[tuple[str, str, str]] = set()
    pending: list[Any] = list(part.graph.node)
    while pending:
        node = pending.pop()
        pending += [inner for body in bodies_of(node) for inner in body.graph.node]
        key = (canonical_domain(node.domain), node.op_type, node.overload)
        if key in functions and key not in called:
            called.add(key)
            pending += functions[key].node
    retained = [type(f).FromString(f.SerializeToString()) for key, f in functions.items() if key in called]
    if len(retained) < len(part.functions):
        del part.functions[:]
        part.functions.extend(retained)
