"""The network with other input shapes: which layers cannot take them, and why.

Every type is inferred twice, with the input shapes of the file and with the new ones. A layer that fails only with the
new ones is reported. The cause is the pattern of a Reshape that drops or moves the change (`stray.py`), or else a
constant that holds an old dim; it is searched upwards from the inputs of the layer that did not follow the new shapes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ir_exec.check.findings import Findings
from ir_exec.check.stray import FARTHEST, path_down, stray
from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, IRError, Location
from ir_exec.graph import Graph, Node, Value
from ir_exec.infer import Types, infer_types, inferred_or_declared
from ir_exec.ir import Weights
from ir_exec.model import ShapeLike, as_shape
from ir_exec.ops.infrastructure.values import Const
from ir_exec.types import Dim, Shape, TensorType

__all__ = ["InputShapes", "check_shapes", "given_types", "join_shapes", "parse_shapes"]

InputShapes: TypeAlias = Mapping[str | int, ShapeLike] | Mapping[str, ShapeLike] | Mapping[str, Shape] | str
"""Shapes by name or position of the inputs, or text that `parse_shapes` reads."""

_MOST_LAYERS_OF_A_PATH = 8

_ITEM = re.compile(r"\s*(?P<name>[^\[\]]*?)\s*\[(?P<dims>[^\[\]]*)\]\s*(?:,|$)")

_BARE = re.compile(r"\s*[-\d?.]+\s*(,|$)")
"""The first dim of a shape without brackets and without a name."""

_BRACKETED = re.compile(r"\s*\[[^\[\]]*\]\s*")


def parse_shapes(text: str) -> dict[str, Shape]:
    """The shapes of inputs by name, in the syntax of OpenVINO's tools, `x[1..10,3,?,?],y[2]`, or as `x=1,3`, `x=[1,3]`.

    The name may be left out, `[1,3]` or `1,3`; it is "" then. Raises ShapeError or EvaluationError (IR705) for other
    text.
    """
    alone, equals, dims = text.rpartition("=")
    if "[" not in dims and (equals or _BARE.match(dims)):
        return {alone.strip(): as_shape(dims)}
    shapes: dict[str, Shape] = {}
    position = 0
    while position < len(text):
        match = _ITEM.match(text, position)
        if match is None and equals and _BRACKETED.fullmatch(dims):
            return {alone.strip(): as_shape(dims.strip())}
        if match is None:
            message = f"{text!r} does not name inputs with their dims, as x[1..8,3,?,?],y[2] does"
            raise EvaluationError(message, code=Code.unknown_input)
        name = match["name"].removesuffix("=").rstrip()
        if name in shapes:
            raise EvaluationError(f"input {name!r} is given two shapes", code=Code.unknown_input)
        shapes[name] = as_shape(f"[{match['dims']}]")
        position = match.end()
    return shapes


def given_types(graph: Graph, shapes: InputShapes | None, batch: int | None) -> dict[Value, TensorType]:
    """The types of the inputs that get another shape. Raises EvaluationError IR705 if there is no such input.

    batch: the new size of the dim N where the file gives the layout of an input, else of its first dim. An input of
        rank 1 without a layout gets it only if its dim is unknown.
    """
    if not (shapes is None or isinstance(shapes, (str, Mapping))):
        message = f"expected shapes as a mapping or as text, x[1..8,3],y[2], found {type(shapes).__name__}"
        raise EvaluationError(message, code=Code.unknown_input)
    if not (batch is None or (isinstance(batch, int) and batch >= 0)):
        raise EvaluationError(f"batch is {batch!r}, expected a whole number from 0 on", code=Code.unknown_input)
    given: dict[Value, TensorType] = {}
    if batch is not None:
        for node in graph.parameters:
            value = node.outputs[0]
            shape = _with_batch(node, batch)
            if shape is not None:
                given[value] = TensorType(value.declared.element_type, shape)
    wanted = parse_shapes(shapes) if isinstance(shapes, str) else shapes or {}
    for key, shape_like in wanted.items():
        value = _input(graph, key)
        given[value] = TensorType(_declared(value.node).element_type, as_shape(shape_like))
    return given


def _input(graph: Graph, key: str | int) -> Value:
    nodes = graph.parameters
    if isinstance(key, int) and 0 <= key < len(nodes):
        return nodes[key].outputs[0]
    if key == "" and len(nodes) == 1:
        return nodes[0].outputs[0]
    for node in nodes:
        if node.outputs and key in (node.name, *node.outputs[0].names):
            return node.outputs[0]
    names = ", ".join(node.name for node in nodes) or "none"
    if key == "":
        raise EvaluationError(f"a shape without a name, and the inputs are: {names}", code=Code.unknown_input)
    raise EvaluationError(f"there is no input {key!r}; the inputs are: {names}", code=Code.unknown_input)


def _declared(node: Node) -> TensorType:
    """The type in the attributes of a Parameter; its port may declare less."""
    element_type, shape = getattr(node.op, "element_type", None), getattr(node.op, "shape", None)
    declared = node.outputs[0].declared
    return TensorType(element_type or declared.element_type, declared.shape if shape is None else shape)


def _with_batch(node: Node, batch: int) -> Shape | None:
    if not node.outputs:
        return None
    dims = _declared(node).shape.dims
    if not dims:
        return None
    axis: int | None = 0 if len(dims) > 1 or not dims[0].is_static else None
    layout = _layout(node)
    if layout is not None:
        axis = layout.index("N") if "N" in layout and len(layout) == len(dims) else None
    if axis is None:
        return None
    return Shape([Dim(batch) if index == axis else dim for index, dim in enumerate(dims)])


def _layout(node: Node) -> list[str] | None:
    """The names of the dims of an input, `[N,C,H,W]`, if the file gives them."""
    for tree in (node.layer.rt_info, *(port.rt_info for port in node.layer.outputs)):
        for child in tree.children:
            if child.attributes.get("name") == "layout" and "layout" in child.attributes:
                return [name.strip() for name in child.attributes["layout"].strip("[] ").split(",")]
    return None


def join_shapes(texts: Iterable[str]) -> dict[str, Shape]:
    """The shapes in several texts; raises as `parse_shapes` does, and where an input gets two shapes."""
    shapes: dict[str, Shape] = {}
    for text in texts:
        for name, shape in parse_shapes(text).items():
            if name in shapes:
                raise EvaluationError(f"input {name!r} is given two shapes", code=Code.unknown_input)
            shapes[name] = shape
    return shapes


def check_shapes(graph: Graph, weights: Weights | None, given: Mapping[Value, TensorType], findings: Findings) -> Types:
    """Report every layer that fails with the new input shapes and not with the old ones; returns the new types."""
    return infer_types(graph, weights=weights, given=given, settle=_OldAndNew(graph, weights, given, findings).settle)


class _OldAndNew:
    """The types with the old and with the new shapes, side by side.

    before, after: those of every value, by its number; `after` is as `before` until the value is reached.
    """

    def __init__(
        self, graph: Graph, weights: Weights | None, given: Mapping[Value, TensorType], findings: Findings
    ) -> None:
        self._findings = findings
        self._given_sizes = {dim.lo for type in given.values() for dim in type.shape.dims or () if dim.is_static}
        self._failed_before: set[tuple[str | None, str]] = set()
        self.before: Types = infer_types(graph, weights=weights, settle=self._settle_before)
        self.after: Types = list(self.before)

    def _settle_before(self, node: Node, inferred: list[TensorType] | None, faults: list[IRError]) -> list[TensorType]:
        self._failed_before.update((fault.location.layer_id, fault.message) for fault in faults)
        return inferred_or_declared(node, inferred, faults)

    def settle(self, node: Node, inferred: list[TensorType] | None, faults: list[IRError]) -> list[TensorType]:
        """The types with the new shapes; reports the faults that the old shapes do not bring about."""
        faults = [
            fault
            for fault in faults
            if (fault.location.layer_id, fault.message) not in self._failed_before and fault.code != Code.internal_error
        ]
        if faults and not self._findings.is_faulty(node):
            cause = None if node.bodies else self._cause(node)
            for fault in faults:
                if cause is not None:
                    path = tuple(one.location for one in cause.path)
                    fault = fault.changed(hint=cause.sentence(node), related=path)
                self._findings(fault)
        if inferred is None:
            inferred = [self._unknown(node, value) for value in node.outputs]
        for value, type in zip(node.outputs, inferred, strict=False):
            self.after[value.number] = type
        return inferred

    def _unknown(self, node: Node, value: Value) -> TensorType:
        """The type of an output that could not be inferred: its dims are unknown if an input has changed."""
        before = self.before[value.number]
        if not any(one is not None and self._has_changed(one) for one in node.inputs):
            return before.without_values()
        rank = before.rank
        return TensorType(before.element_type, Shape.unknown() if rank is None else Shape.of_rank(rank))

    def _has_changed(self, value: Value) -> bool:
        return self.before[value.number].shape != self.after[value.number].shape

    def _cause(self, node: Node) -> _Cause | None:
        """The constant or input that most likely explains why the layer fails, if any does."""
        lost = stray(node, self.before, self.after)
        if lost is not None:
            return _Cause(lost.path, lost.size, self._shown(lost.path[0]))
        inputs = [value for value in node.inputs if value is not None]
        suspects = self._suspects(inputs)
        ranked = [found for value in inputs for found in self._sources(value, suspects)]
        return min(ranked, key=lambda found: found[0])[1] if ranked else None

    def _suspects(self, inputs: list[Value]) -> set[int]:
        """Sizes that may contradict the new shapes: old ones that were replaced, and those that only one input has,
        without the sizes that the new shapes bring."""
        old = {size for value in inputs if self._has_changed(value) for size in self._replaced(value)}
        present = [self._static_sizes(self.after, value) for value in inputs]
        alone = {size for sizes in present for size in sizes if sum(size in other for other in present) == 1}
        return (old | alone) - self._given_sizes - {1}

    def _static_sizes(self, types: Types, value: Value) -> set[int]:
        return {dim.lo for dim in types[value.number].shape.dims or () if dim.is_static}

    def _replaced(self, value: Value) -> set[int]:
        """The old sizes of the dims of a value that have changed."""
        before, after = self.before[value.number].shape.dims, self.after[value.number].shape.dims
        if before is None or after is None or len(before) != len(after):
            return set()
        return {old.lo for old, new in zip(before, after, strict=True) if old.is_static and old != new}

    def _sources(self, value: Value, suspects: set[int]) -> list[tuple[tuple[int, int], _Cause]]:
        """Constants and inputs above a value, each with a rank, lowest first: those that hold a suspected size come
        before the others, which count only if nothing between them and the layer has changed."""
        found = []
        reached: dict[Node, Node | None] = {value.node: None}
        has_changed = {value.node: self._has_changed(value)}
        order = [value.node]
        for distance, node in enumerate(order):
            if distance > FARTHEST:
                break
            if isinstance(node.op, Const) or (node.op_class.is_parameter and not has_changed[node]):
                hit = self._sizes(node) & suspects
                if hit or not has_changed[node]:
                    kind = (0 if hit else 4) + (2 if node.op_class.is_parameter else 0) + has_changed[node]
                    cause = _Cause(path_down(node, reached), min(hit) if hit else None, self._shown(node))
                    found.append(((kind, distance), cause))
            for above in node.inputs:
                if above is not None and above.node not in reached:
                    reached[above.node] = node
                    has_changed[above.node] = has_changed[node] or self._has_changed(above)
                    order.append(above.node)
        return found

    def _sizes(self, node: Node) -> set[int]:
        """The sizes that a constant or an input brings in: its dims, and the elements of a short integer constant."""
        type = self.before[node.outputs[0].number]
        sizes = {dim.lo for dim in type.shape.dims or () if dim.is_static}
        if isinstance(node.op, Const) and type.element_type.is_integer and type.shape.size.hi <= 16:
            value = type.value
            sizes |= set() if value is None else {int(element) for element in np.ravel(value)}
        return sizes

    def _shown(self, node: Node) -> str:
        type = self.before[node.outputs[0].number]
        if isinstance(node.op, Const) and type.element_type.is_integer and type.shape.size.hi <= 16:
            value = type.value
            if value is not None:
                return f"= {np.asarray(value).tolist()}".replace(" ", "").replace("=", "= ")
        return f"{type.element_type}{type.shape}"


@dataclass(frozen=True)
class _Cause:
    """Why a layer fails.

    path: from the constant, or the input, down to the layer before the one that fails.
    size: the dim that it holds; None if that is not known. shown: its value, or its type.
    """

    path: list[Node]
    size: int | None
    shown: str

    def sentence(self, node: Node) -> str:
        source = self.path[0]
        what = "the shape" if self.size is None else f"dim {self.size}"
        if source.op_class.is_parameter:
            text = f"{what} is that of {_name(source)} {self.shown}, which was given no other shape"
        else:
            text = f"{what} is fixed by {_name(source)} {self.shown}"
        steps = [_name(one) for one in (*self.path[1:], node)]
        if len(steps) > _MOST_LAYERS_OF_A_PATH:
            left_out = len(steps) - _MOST_LAYERS_OF_A_PATH + 1
            steps = [*steps[:3], f"{left_out} more", *steps[-4:]]
        return f"{text}; from there to {' -> '.join(steps)}"


def _name(node: Node) -> str:
    return str(Location(layer_id=node.id, layer_name=node.name, layer_type=node.type))
