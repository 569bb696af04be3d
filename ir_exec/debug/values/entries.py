"""Values of a model by name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias
from weakref import WeakKeyDictionary

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, SourceLine
from ir_exec.graph import Graph, Node
from ir_exec.hints import suggested
from ir_exec.infer import Types
from ir_exec.ir import Weights, split_names
from ir_exec.ir.sources import CodeLocation
from ir_exec.model import Model
from ir_exec.ops import Op
from ir_exec.ops.base.registry import newest
from ir_exec.ops.infrastructure.values import Const, Parameter
from ir_exec.types import ElementType

__all__ = [
    "Entry",
    "Key",
    "class_of_type",
    "conversions_of_constants",
    "entries_of",
    "find",
    "holder_names",
]

OperatorClass: TypeAlias = type[Op]

Key = tuple[tuple[str, ...], str, int]
"""A value of a model: the scope and the id of its layer, and the position of the output."""


_FEW_BYTES = 256
"""Maximum bytes of constants such as axes and shapes."""


@dataclass(frozen=True)
class Entry:
    """A value that can be compared.

    Attributes:
        scope: Names of the enclosing layers and bodies.
        port: The position of the output among `ports` outputs.
        names: Its tensor names.
        fused: Names of the layers that were fused into this layer.
        shape: The declared shape; None if unknown.
        output: True for an output of the model.
        sources: The values that the layer reads; None if unknown, as in files of arrays.
        attributes: The attributes in the file, for a layer that reads constants.
        numbers: The elements of a small integer constant.
        place: The position of an output of the model among the outputs, if known.
        source: The line of Python that the layer was exported from.
    """

    scope: tuple[str, ...]
    layer_id: str
    layer_name: str
    type: str
    port: int = 0
    ports: int = 1
    names: tuple[str, ...] = ()
    fused: tuple[str, ...] = ()
    element_type: str | None = None
    shape: str | None = None
    output: bool = False
    sources: tuple[Key | None, ...] | None = None
    attributes: tuple[tuple[str, str], ...] = ()
    numbers: tuple[int, ...] | None = None
    place: int | None = None
    source: SourceLine | None = None

    @cached_property
    def key(self) -> Key:
        return self.scope, self.layer_id, self.port

    @cached_property
    def path(self) -> str:
        """`loop/body/name`, with the position of the output if there are several."""
        return "/".join((*self.scope, self.layer_name)) + (f":{self.port}" if self.ports > 1 else "")

    @cached_property
    def op_class(self) -> OperatorClass:
        return class_of_type(self.type)

    @property
    def is_constant(self) -> bool:
        return issubclass(self.op_class, Const)

    @property
    def is_quantization(self) -> bool:
        """True for layers that round values to a few levels."""
        return self.op_class.steps == "levels"

    @property
    def is_end(self) -> bool:
        """True for inputs and outputs of the model."""
        return self.is_input or self.output

    @property
    def is_input(self) -> bool:
        return self.op_class.is_parameter and not self.scope


def class_of_type(type_name: str) -> OperatorClass:
    """Return the newest class of a type; Op itself for types of other software."""
    return newest(type_name) or Op


def holder_names(name: str, layer_id: str) -> tuple[str, str]:
    """Return the names that a layer may have in the paths of its bodies, as in `Graph.holder_names`."""
    return name, f"{name}#{layer_id}"


_entries_by_model: WeakKeyDictionary[Model, tuple[Entry, ...]] = WeakKeyDictionary()


def entries_of(model: Model) -> tuple[Entry, ...]:
    """Return every value of a model in the order of computation; values of bodies precede the outputs of their layer.

    The parts of a comparison share one tuple for a model.
    """
    entries = _entries_by_model.get(model)
    if entries is None:
        entries = _entries_by_model[model] = tuple(_entries(model.graph, (), model.types, model.weights, model.sources))
    return entries


def _entries(
    graph: Graph,
    scope: tuple[str, ...],
    types: Types | None,
    weights: Weights | None,
    sources_of_nodes: Mapping[Node, CodeLocation],
) -> Iterator[Entry]:
    """Yield the values of a graph and its bodies.

    Args:
        types: Inferred types; None in bodies, which use declared types.
    """
    outputs = {result.values_in[0]: position for position, result in reversed([*enumerate(graph.results)]) if not scope}
    output_names: dict[object, list[str]] = defaultdict(list)
    for result in graph.results if not scope else ():
        output_names[result.values_in[0]] += [*result.layer.output_names, result.name]
    holders = graph.holder_names()
    for node in graph.nodes:
        for body in node.bodies:
            yield from _entries(body.graph, (*scope, holders[node], body.name), None, weights, sources_of_nodes)
        location = sources_of_nodes.get(node)
        source = None if location is None else location.summary
        takes_constants = any(_is_constant(value.node) for value in node.values_in)
        attributes = tuple(sorted(node.layer.data.items())) if takes_constants else ()
        sources = tuple([None if input is None else (scope, input.node.id, input.position) for input in node.inputs])
        infos = [child.attributes for child in node.layer.rt_info.children]
        fused = [split_names(info.get("value")) for info in infos if info.get("name") == "fused_names"]
        for value in node.outputs:
            type = value.declared if types is None else types[value.number]
            operator_type = (
                "Const" if isinstance(node.op, Const) else "Parameter" if isinstance(node.op, Parameter) else node.type
            )
            yield Entry(
                scope=scope,
                layer_id=node.id,
                layer_name=node.name,
                type=operator_type,
                port=value.position,
                ports=len(node.outputs),
                names=tuple(dict.fromkeys((*value.names, *output_names[value]))),
                fused=fused[0] if fused else (),
                element_type=str(node.op.element_type if isinstance(node.op, Const) else type.element_type),
                shape=str(type.shape),
                output=value in outputs,
                sources=sources,
                attributes=attributes,
                numbers=_numbers(node.op, weights) if isinstance(node.op, Const) else None,
                place=outputs.get(value),
                source=source,
            )


def _is_constant(node: Node) -> bool:
    """Return True for a constant or the conversion of a constant."""
    if node.op_class.is_conversion and node.values_in:
        node = node.values_in[0].node
    return isinstance(node.op, Const)


def _numbers(constant: Const, weights: Weights | None) -> tuple[int, ...] | None:
    is_whole = constant.element_type in (ElementType.i64, ElementType.i32)
    is_small = is_whole and constant.size <= _FEW_BYTES and constant.shape.is_static
    return tuple(constant.evaluate(weights=weights).reshape(-1).tolist()) if is_small and weights is not None else None


def conversions_of_constants(entries: Sequence[Entry]) -> Iterator[tuple[Entry, Entry]]:
    """Yield each conversion of a constant between floating-point types, and that constant."""
    constants = {entry.key: entry for entry in entries if entry.is_constant and _is_float(entry)}
    for entry in entries:
        if entry.op_class.is_conversion and entry.sources and _is_float(entry):
            source = constants.get(entry.sources[0]) if entry.sources[0] is not None else None
            if source is not None:
                yield entry, source


def _is_float(entry: Entry) -> bool:
    return entry.element_type is not None and ElementType.parse(entry.element_type).is_float


def find(entries: Sequence[Entry], name: str) -> Entry:
    """Return the value with this tensor name, path (`loop/body/name`, `split:1`) or layer name.

    Raises:
        EvaluationError: If there is no such value; the message lists similar names.
    """
    for test in (
        lambda entry: name in entry.names and not entry.scope,
        lambda entry: name in entry.names,
        lambda entry: name == entry.path,
        lambda entry: name == "/".join((*entry.scope, entry.layer_name)),
        lambda entry: name == entry.layer_name,
    ):
        for entry in entries:
            if test(entry):
                return entry
    names = [text for entry in entries for text in (*entry.names, entry.path)]
    raise EvaluationError(f"there is no layer or tensor {name!r}", code=Code.unknown_input, hint=suggested(name, names))
