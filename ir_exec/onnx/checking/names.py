"""Checks of names and versions of an ONNX file against the rules in ONNX's docs/IR.md.

Files that onnxruntime rejects are errors; files that it runs although ONNX forbids them are warnings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from ir_exec.codes import Code
from ir_exec.errors import GraphError, InvalidAttributeError, IRError, ParseError, Severity, ShapeError
from ir_exec.onnx.lowering.registry import canonical_domain
from ir_exec.onnx.reading.order import place_of
from ir_exec.onnx.reading.tensors import tensor_type_of
from ir_exec.types import Shape

if TYPE_CHECKING:
    from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto

__all__ = ["check_names"]

_NEWEST_IR = 14
"""The newest IR version of ONNX at the time of writing; the package onnx may support a newer one."""

_Key: TypeAlias = tuple[str, str, str]


def check_names(model: ModelProto, report: Callable[[IRError], None]) -> frozenset[str]:
    """The domains whose operators the file uses by its own imports, not by those of a function; reports faults of its
    IR version and its names.

    IR005: the IR version. IR124: names shared by two values, initializers or functions. IR127: names shared by two
    nodes. IR128: names of a body shared by a value of an enclosing graph. IR302: repeated attributes. IR606:
    initializers that contradict the declaration of an input.
    """
    domains: set[str] = set()
    for error in _of_model(model, domains):
        report(error)
    return frozenset(domains)


def _of_model(model: ModelProto, domains: set[str]) -> Iterator[IRError]:
    """Yield the faults of a model, and add to the domains."""
    yield from _of_version(model)
    called: set[_Key] = set()
    yield from _of_graph(model.graph, frozenset(), called)
    functions: dict[_Key, FunctionProto] = {}
    for function in model.functions:
        key = (canonical_domain(function.domain), function.name, function.overload)
        if functions.setdefault(key, function) is not function:
            yield _repeated_name(f"two functions have the name {function.name!r}")
    domains |= {key[0] for key in called - functions.keys()}
    # A function that is never called has no effect.
    checked: set[_Key] = set()
    while called & functions.keys() - checked:
        for key in sorted(called & functions.keys() - checked):
            checked.add(key)
            function = functions[key]
            for name in _doubles(function.input):
                yield _repeated_name(f"two inputs of the function {function.name!r} have the name {name!r}", "warning")
            inner: set[_Key] = set()
            yield from _of_nodes(function.node, set(function.input), frozenset(), inner)
            imported = {canonical_domain(entry.domain) for entry in function.opset_import}
            domains |= {key[0] for key in inner - functions.keys()} - imported
            called |= inner


def _of_version(model: ModelProto) -> Iterator[IRError]:
    from onnx import IR_VERSION

    newest = max(_NEWEST_IR, IR_VERSION)
    if not model.HasField("ir_version"):
        yield ParseError("the file has no IR version", code=Code.ir_version)
    elif model.ir_version > newest:
        yield ParseError(
            "the IR version of ONNX is", actual=model.ir_version, expected=f"1 to {newest}", code=Code.ir_version
        )
    elif model.ir_version < 1:
        yield ParseError(
            "the IR version of ONNX is",
            actual=model.ir_version,
            expected=f"1 to {newest}",
            code=Code.ir_version,
            severity="warning",
        )


def _of_graph(graph: GraphProto, outer: frozenset[str], called: set[_Key]) -> Iterator[IRError]:
    """The faults of a graph or body.

    Args:
        outer: The names of enclosing graphs that exist before its node.
    """
    inputs = {declared.name: declared for declared in graph.input}
    initializers = [*graph.initializer, *(sparse.values for sparse in graph.sparse_initializer)]
    for name in _doubles(declared.name for declared in graph.input):
        yield _repeated_name(f"two inputs of the graph have the name {name!r}")
    for name in _doubles(initializer.name for initializer in initializers):
        yield _repeated_name(f"two initializers have the name {name!r}; the last one is used", "warning")
    for tensor in graph.initializer:
        if tensor.name in inputs:
            yield from _of_default(tensor, inputs[tensor.name])
    own = inputs.keys() | {initializer.name for initializer in initializers}
    for name in sorted(own & outer):
        yield _shadowed_name(name)
    yield from _of_nodes(graph.node, set(own), outer, called)


def _of_default(tensor: TensorProto, declared: ValueInfoProto) -> Iterator[IRError]:
    """IR606 if an initializer does not have the type that the input of its name declares."""
    tensor_type = declared.type.tensor_type
    if declared.type.WhichOneof("value") != "tensor_type" or not tensor_type.elem_type:
        return
    shape, actual_shape = tensor_type_of(declared.type).shape, Shape(tuple(tensor.dims))
    if tensor_type.elem_type != tensor.data_type or (shape & actual_shape) is None:
        message = f"the input {tensor.name!r} is declared as {tensor_type_of(declared.type)}"
        yield ShapeError(f"{message}, but its initializer has shape {actual_shape}", code=Code.value_info)


def _of_nodes(
    nodes: Iterable[NodeProto], names: set[str], outer: frozenset[str], called: set[_Key]
) -> Iterator[IRError]:
    """The faults of the nodes of a graph, a body or a function.

    Args:
        names: The names that exist before them.
    """
    seen: dict[str, int] = {}
    for position, node in enumerate(nodes):
        called.add((canonical_domain(node.domain), node.op_type, node.overload))
        location = place_of(node, position)
        if node.name and seen.setdefault(node.name, position) != position:
            message = f"node {seen[node.name]} of the graph has the same name"
            yield GraphError(message, code=Code.repeated_node_name, location=location)
        for name in _doubles(attribute.name for attribute in node.attribute):
            message = f"attribute {name} is given twice"
            yield InvalidAttributeError(message, code=Code.invalid_attribute, location=location)
        for attribute in node.attribute:
            for graph in (*attribute.graphs, *((attribute.g,) if attribute.HasField("g") else ())):
                yield from (fault.located(location) for fault in _of_graph(graph, outer | names, called))
        for name in filter(None, node.output):
            if name in names:
                yield _repeated_name(f"another value of the graph has the name {name!r}").located(location)
            elif name in outer:
                yield _shadowed_name(name, "error").located(location)
            names.add(name)


def _doubles(names: Iterable[str]) -> list[str]:
    """Names that occur more than once."""
    seen: set[str] = set()
    return list(dict.fromkeys([name for name in names if name in seen or seen.add(name)]))  # type: ignore[func-returns-value]


def _repeated_name(message: str, severity: Severity = "error") -> GraphError:
    return GraphError(message, code=Code.repeated_value_name, severity=severity)


def _shadowed_name(name: str, severity: Severity = "warning") -> GraphError:
    message = f"a value of the body has the name {name!r} of a value of the enclosing graph"
    return GraphError(message, code=Code.shadowed_name, severity=severity)
