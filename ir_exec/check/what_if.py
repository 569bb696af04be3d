"""The model with other input shapes: the layers that do not accept them, and the causes.

Every type is inferred twice, with the input shapes of the file and with the new shapes. Layers that fail only with the
new shapes are reported. The cause is the pattern of a Reshape that drops or moves the change, or else a constant with
an old dim. The search goes upwards from the inputs of the layer that fails with the new shapes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from ir_exec.check.blame import Blame
from ir_exec.check.findings import Findings
from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, IRError
from ir_exec.graph import Graph, Node, Value
from ir_exec.hints import suggested
from ir_exec.infer import Types, infer_types, inferred_or_declared
from ir_exec.ir import Weights
from ir_exec.model import ShapeLike, as_shape, numbered
from ir_exec.types import Dim, Shape, TensorType

__all__ = ["InputShapes", "check_shapes", "given_types", "join_shapes", "parse_shapes"]

InputShapes: TypeAlias = Mapping[str | int, ShapeLike] | Mapping[str, ShapeLike] | Mapping[str, Shape] | str
"""Shapes by name or position of the inputs, or text that `parse_shapes` reads."""

_ITEM = re.compile(r"\s*(?P<name>[^\[\]]*?)\s*\[(?P<dims>[^\[\]]*)\]\s*(?:,|$)")

_BARE = re.compile(r"\s*[-\d?.]+\s*(,|$)")
"""The first dim of a shape without brackets and name."""

_BRACKETED = re.compile(r"\s*\[[^\[\]]*\]\s*")


def parse_shapes(text: str) -> dict[str, Shape]:
    """Parse shapes of inputs in the syntax of OpenVINO's tools, `x[1..10,3,?,?],y[2]`, or as `x=1,3`, `x=[1,3]`.

    The name is "" if it is omitted, `[1,3]` or `1,3`.

    Returns:
        The shapes by name.

    Raises:
        ShapeError: For other text.
        EvaluationError: IR705 for other text.
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
            raise EvaluationError(
                f"{text!r} is not a list of input shapes",
                expected="a form like x[1..8,3,?,?],y[2]",
                code=Code.unknown_input,
            )
        name = match["name"].removesuffix("=").rstrip()
        if name in shapes:
            raise EvaluationError(f"input {name!r} has two shapes", expected="one", code=Code.unknown_input)
        shapes[name] = as_shape(f"[{match['dims']}]")
        position = match.end()
    return shapes


def given_types(graph: Graph, shapes: InputShapes | None, batch: int | None) -> dict[Value, TensorType]:
    """The types of the inputs whose shape is changed.

    Args:
        batch: The new size of the dim N if the file declares the layout of an input, else of its first dim. An input of
            rank 1 without a layout is changed only if its dim is dynamic.

    Raises:
        EvaluationError: IR705 if there is no such input.
    """
    if not (shapes is None or isinstance(shapes, (str, Mapping))):
        raise EvaluationError(
            "shapes are of type",
            actual=type(shapes).__name__,
            expected="a mapping, or text such as x[1..8,3],y[2]",
            code=Code.unknown_input,
        )
    if not (batch is None or (isinstance(batch, int) and batch >= 0)):
        raise EvaluationError("batch is", actual=repr(batch), expected="a whole number >= 0", code=Code.unknown_input)
    types: dict[Value, TensorType] = {}
    if batch is not None:
        for node in graph.parameters:
            value = node.outputs[0]
            shape = _with_batch(node, batch)
            if shape is not None:
                types[value] = TensorType(value.declared.element_type, shape)
    requested = parse_shapes(shapes) if isinstance(shapes, str) else shapes or {}
    for key, shape_like in requested.items():
        value = _input(graph, key)
        types[value] = TensorType(_declared_type(value.node).element_type, as_shape(shape_like))
    return types


def _input(graph: Graph, key: str | int) -> Value:
    nodes = graph.parameters
    if isinstance(key, int) and 0 <= key < len(nodes):
        return nodes[key].outputs[0]
    if key == "" and len(nodes) == 1:
        return nodes[0].outputs[0]
    for node in nodes:
        if node.outputs and key in (node.name, *node.outputs[0].names):
            return node.outputs[0]
    if (position := numbered(key, len(nodes))) is not None:
        return nodes[position].outputs[0]
    names = ", ".join(node.name for node in nodes) or "none"
    if key == "":
        raise EvaluationError(f"a shape has no input name; the inputs are: {names}", code=Code.unknown_input)
    hint = suggested(key, (node.name for node in nodes)) if isinstance(key, str) else None
    raise EvaluationError(f"there is no input {key!r}; the inputs are: {names}", code=Code.unknown_input, hint=hint)


def _declared_type(node: Node) -> TensorType:
    """The type in the attributes of a Parameter; the declaration of its port may be less complete."""
    element_type, shape = getattr(node.op, "element_type", None), getattr(node.op, "shape", None)
    declared = node.outputs[0].declared
    return TensorType(element_type or declared.element_type, declared.shape if shape is None else shape)


def _with_batch(node: Node, batch: int) -> Shape | None:
    if not node.outputs:
        return None
    dims = _declared_type(node).shape.dims
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
    """The names of the dims of an input, `[N,C,H,W]`, if the file declares a layout."""
    for tree in (node.layer.rt_info, *(port.rt_info for port in node.layer.outputs)):
        for child in tree.children:
            if child.attributes.get("name") == "layout" and "layout" in child.attributes:
                return [name.strip() for name in child.attributes["layout"].strip("[] ").split(",")]
    return None


def join_shapes(texts: Iterable[str]) -> dict[str, Shape]:
    """Parse the shapes in several texts.

    Raises:
        IRError: The errors of `parse_shapes`, also if an input has two shapes.
    """
    shapes: dict[str, Shape] = {}
    for text in texts:
        for name, shape in parse_shapes(text).items():
            if name in shapes:
                raise EvaluationError(f"input {name!r} has two shapes", expected="one", code=Code.unknown_input)
            shapes[name] = shape
    return shapes


def check_shapes(
    graph: Graph, weights: Weights | None, new_types: Mapping[Value, TensorType], findings: Findings
) -> Types:
    """Report every layer that fails with the new input shapes but not with the old ones, and return the new types."""
    return infer_types(
        graph, weights=weights, overrides=new_types, settle=_OldAndNew(graph, weights, new_types, findings).settle
    )


class _OldAndNew:
    """The types with the old and with the new shapes.

    Attributes:
        before: The types with the old shapes, of every value by number.
        after: The types with the new shapes; equal to `before` for values that have not been reached.
    """

    def __init__(
        self, graph: Graph, weights: Weights | None, new_types: Mapping[Value, TensorType], findings: Findings
    ) -> None:
        self._findings = findings
        sizes = {dim.lo for type in new_types.values() for dim in type.shape.dims or () if dim.is_static}
        self._failed_before: set[tuple[str | None, str]] = set()
        self.before: Types = infer_types(graph, weights=weights, settle=self._settle_before)
        self.after: Types = list(self.before)
        self._blame = Blame(self.before, self.after, sizes)

    def _settle_before(self, node: Node, inferred: list[TensorType] | None, faults: list[IRError]) -> list[TensorType]:
        self._failed_before.update((fault.location.layer_id, fault.message) for fault in faults)
        return inferred_or_declared(node, inferred, faults)

    def settle(self, node: Node, inferred: list[TensorType] | None, faults: list[IRError]) -> list[TensorType]:
        """Report the faults that only the new shapes cause, and return the types with the new shapes."""
        faults = [
            fault
            for fault in faults
            if (fault.location.layer_id, fault.message) not in self._failed_before and fault.code != Code.internal_error
        ]
        if faults and not self._findings.is_faulty(node):
            cause = None if node.bodies else self._blame.cause(node)
            for fault in faults:
                if cause is not None:
                    path = tuple(step.location for step in cause.path)
                    fault = fault.changed(hint=cause.sentence(node), related=path)
                self._findings(fault)
        if inferred is None:
            inferred = [self._unknown(node, value) for value in node.outputs]
        for value, type in zip(node.outputs, inferred, strict=False):
            self.after[value.number] = type
        return inferred

    def _unknown(self, node: Node, value: Value) -> TensorType:
        """The type of an output that could not be inferred: its dims are dynamic if an input has changed."""
        before = self.before[value.number]
        if not any(input is not None and self._blame.has_changed(input) for input in node.inputs):
            return before.without_values()
        rank = before.rank
        return TensorType(before.element_type, Shape.unknown() if rank is None else Shape.of_rank(rank))
