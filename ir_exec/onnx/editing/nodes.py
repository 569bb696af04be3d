"""New nodes of an ONNX graph, with their constants and their positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import GraphError
from ir_exec.onnx.editing.attributes import (
    array_like,
    declared_attributes,
    make_attribute,
    require_operator,
    tensor_of,
)
from ir_exec.onnx.editing.lowered_types import infer_by_lowering
from ir_exec.onnx.editing.removal import position_of
from ir_exec.onnx.editing.scopes import GraphScope, ScopeFinder
from ir_exec.onnx.editing.sources import OnnxSource
from ir_exec.onnx.editing.types import declared_types
from ir_exec.onnx.lowering.registry import NEWEST_VERSIONS, STANDARD, canonical_domain
from ir_exec.onnx.reading.functions import schema_of
from ir_exec.onnx.reading.order import in_order, needed_names
from ir_exec.types import Array

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto, TypeProto

__all__ = ["NodeMaker", "NodeText", "add_node"]


class NodeText(NamedTuple):
    """A new node.

    Attributes:
        operator: `Clip`, or `com.microsoft.Gelu` for an operator of another domain.
        inputs: Numbers, lists and arrays, which become constants, and names of values.
        attributes: The attributes by name.
    """

    operator: str
    inputs: Sequence[Any] = ()
    attributes: Mapping[str, Any] = {}


class NodeMaker:
    """Maker of nodes for a model that is being edited."""

    def __init__(self, source: OnnxSource, proto: ModelProto, finder: ScopeFinder) -> None:
        self._source = source
        self._proto = proto
        self._finder = finder

    def make_node(
        self, scope: GraphScope, text: NodeText, own_inputs: Sequence[str], name: str, outputs: Sequence[str]
    ) -> NodeProto:
        """Return a new node that reads some values, and the further inputs of the text."""
        from onnx import NodeProto

        domain, _, operator = text.operator.rpartition(".")
        node = NodeProto(op_type=operator, domain=domain, name=name, input=own_inputs, output=outputs)
        self.import_domain(scope, domain)
        require_operator(node, scope.opsets, self._proto.functions)
        types = declared_attributes(node, scope.opsets, self._proto.functions)
        for attribute, value in text.attributes.items():
            node.attribute.append(make_attribute(node, attribute, value, types))
        for value in text.inputs:
            is_name = isinstance(value, str)
            node.input.append(self._visible(scope, value) if is_name else self._constant(scope, node, value))
        return node

    def _visible(self, scope: GraphScope, name: str) -> str:
        """Return the name of a value that a node of this scope can read."""
        owner, inner = self._finder.find(name)
        value = owner.value(inner)
        outer: GraphScope | None = scope
        while outer is not None and outer.content is not owner.content:
            outer = outer.outer
        if outer is None:
            raise GraphError(f"{name!r} is a value of another body, which the node cannot read")
        return value

    def _constant(self, scope: GraphScope, node: NodeProto, value: Any) -> str:
        """Add a constant for the next input of a node, of the type that its operator expects, and return its name."""
        array = value if isinstance(value, np.ndarray) else self._array_for(scope, node, value)
        name = scope.unused_name(f"{node.name or node.op_type}_{len(node.input)}")
        if scope.is_function:
            from onnx import NodeProto, helper

            constant = NodeProto(op_type="Constant", output=[name])
            constant.attribute.append(helper.make_attribute("value", tensor_of("", array)))
            scope.nodes.insert(0, constant)
        else:
            scope.content.initializer.append(tensor_of(name, array))
        scope.forget_nodes()
        return name

    def _array_for(self, scope: GraphScope, node: NodeProto, value: Any) -> Array:
        from onnx import TensorProto

        array = np.asarray(value)
        schema = schema_of(canonical_domain(node.domain), node.op_type, scope.opsets.get(node.domain, 0))
        if schema is not None and schema.inputs:
            position = min(len(node.input), len(schema.inputs) - 1)
            expected = schema.inputs[position]
            if len(expected.types) == 1:
                (only,) = expected.types
                code = dict(TensorProto.DataType.items()).get(only.removeprefix("tensor(").removesuffix(")").upper())
                if code:
                    return array_like(code, value)
            if expected.type_str != schema.inputs[0].type_str:
                return array.astype(np.float32) if array.dtype.kind == "f" else array
        declared = self.type_of(node.input[0]) if node.input else None
        element_type = 0 if declared is None else declared.tensor_type.elem_type
        if element_type:
            return array_like(element_type, value)
        return array.astype(np.float32) if array.dtype.kind == "f" else array

    def type_of(self, name: str) -> TypeProto | None:
        """Return the declared or inferred type of a value; None if it is unknown."""
        declared = declared_types(self._proto).get(name)
        if declared is None or not declared.tensor_type.elem_type:
            return infer_by_lowering(self._source, self._proto).get(name, declared)
        return declared

    def import_domain(self, scope: GraphScope, domain: str) -> None:
        """Import a domain that the model or the function does not import yet."""
        domain = canonical_domain(domain)
        if domain in scope.opsets or domain == STANDARD:
            return
        version = NEWEST_VERSIONS.get(domain, 1)
        owner = scope.content if scope.is_function else self._proto
        entry = owner.opset_import.add()
        entry.domain, entry.version = domain, version
        scope.opsets[domain] = version


def add_node(scope: GraphScope, node: NodeProto, position: int) -> None:
    """Add a node at a position, or later after the sources of its inputs; nodes that read it follow."""
    scope.nodes.insert(position, node)
    scope.forget_nodes()
    produced = scope.producers
    sources = [position_of(scope, produced[name]) for name in needed_names(node) if name in produced]
    if all(source < position for source in sources):
        return
    available = {*scope.input_names, *scope.initializers}
    names = {name for item in scope.nodes for name in needed_names(item)} - produced.keys()
    errors: list[Any] = []
    order = [item for _, item in in_order(list(scope.nodes), available | names, errors.append)]
    cycles = [error for error in errors if error.code == Code.cycle]
    if cycles:
        raise cycles[0]
    copies = [type(node).FromString(item.SerializeToString()) for item in order]
    del scope.nodes[:]
    scope.nodes.extend(copies)
    scope.forget_nodes()
