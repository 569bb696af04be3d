"""Editing of an ONNX model: changes of names, attributes, constants, shapes and nodes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, GraphError
from ir_exec.hints import suggested
from ir_exec.onnx.editing.attributes import (
    array_like,
    data_type_of,
    declared_attributes,
    make_attribute,
    tensor_of,
)
from ir_exec.onnx.editing.checking import check_edit
from ir_exec.onnx.editing.lowered_types import infer_by_lowering
from ir_exec.onnx.editing.nodes import NodeMaker, NodeText, add_node
from ir_exec.onnx.editing.removal import position_of, prune, remove_node, remove_value
from ir_exec.onnx.editing.scopes import GraphScope, ScopeFinder
from ir_exec.onnx.editing.sources import OnnxSource
from ir_exec.onnx.editing.storage import write_edited
from ir_exec.onnx.editing.types import (
    Dims,
    affected_declarations,
    dims_of,
    infer_declarations,
    set_dims,
    update_declarations,
    without_declarations,
)
from ir_exec.onnx.lowering.registry import canonical_domain
from ir_exec.onnx.reading.functions import schema_of

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto, ValueInfoProto

__all__ = ["NodeText", "OnnxEditor"]

_TRACES = ("stack_trace",)
"""Endings of the keys of metadata with the source lines of a node."""


class OnnxEditor:
    """Edits an ONNX model that stays ONNX: everything without an edit keeps its bytes.

    ```python
    editor = OnnxEditor("model.onnx")
    editor.rename("input.1", "image").insert("logits", NodeText("Softmax", attributes={"axis": 1}))
    editor.save("edited.onnx")
    ```

    Nodes are named by their names or outputs, values by their names, by nodes with one output, or `node:1`; in the body
    of a Loop, Scan or If by `loop/body/name`, `if/then_branch/name`; in a function by `function/name`.

    Methods raise EvaluationError (IR705) for names that do not exist, GraphError for edits that are impossible for a
    node, InvalidAttributeError for unknown attributes and values, and UnsupportedError for unknown operators.

    Args:
        source: A path, the content of a file, or an opened file.
    """

    def __init__(self, source: OnnxSource | str | os.PathLike[str] | bytes) -> None:
        self.source = source = source if isinstance(source, OnnxSource) else OnnxSource(source)
        self._proto = type(source.proto)()
        self._proto.CopyFrom(source.proto)
        self._finder = ScopeFinder(self._proto)
        self._changed: set[str] = set()
        self._are_reshaped = False

    @property
    def _root(self) -> GraphScope:
        return self._finder.root

    @property
    def _maker(self) -> NodeMaker:
        return NodeMaker(self.source, self._proto, self._finder)

    @property
    def input_names(self) -> list[str]:
        """The names of the inputs that have no initializer."""
        return [str(declared.name) for declared in self._inputs()]

    def proto(self) -> ModelProto:
        """Return the edited message, in which declared types follow the edits.

        Raises:
            GraphError: With the first error that `check` finds in it, but not in the source.
        """
        names = affected_declarations(self._proto, self._changed)
        without_types = without_declarations(self._proto, names) if names else self._proto
        is_valid = check_edit(self.source, without_types)
        if names:
            inferred = infer_declarations(without_types) if is_valid else infer_by_lowering(self.source, without_types)
            update_declarations(self._proto, names, inferred, are_reshaped=self._are_reshaped)
            self._finder = ScopeFinder(self._proto)
        self._changed, self._are_reshaped = set(), False
        return self._proto

    def save(self, path: str | os.PathLike[str], *, external_data: Literal["in", "out"] | None = None) -> list[str]:
        """Write the edited model. Files with external data are copied if it is written to another folder.

        Args:
            external_data: Move tensors into the file, or to a file next to it.

        Returns:
            The paths of the written files.

        Raises:
            GraphError: As for `proto`.
            IRError: IR009 for files that cannot be written; then nothing is written.
        """
        return write_edited(self.source, self.proto(), path, external_data=external_data)

    def rename(self, old: str, new: str) -> Self:
        """Rename the values and the nodes with this name; in a body, `new` is the name without the path."""
        scope, old = self._finder.find(old)
        if not new:
            raise GraphError("the new name is empty", expected="a name")
        nodes = scope.with_name(old)
        is_value = scope.has_value(old)
        if not is_value and not nodes:
            old, is_value = scope.value(old), True
        if (is_value and scope.unused_name(new) != new) or (nodes and scope.has_name(new)):
            raise GraphError(f"the name {scope.path + new!r} is taken", code=Code.duplicate_layer_name)
        if is_value:
            scope.rename_value(old, new)
            self._changed = {new if name == old else name for name in self._changed}
        for node in nodes:
            scope.rename_node(node, new)
        return self

    def set_attribute(self, node: str, attribute: str, value: Any) -> Self:
        """Set an attribute of a node; a text is parsed as the type of the attribute."""
        scope, name = self._finder.find(node)
        target = scope.node(name)
        types = declared_attributes(target, scope.opsets, self._proto.functions)
        self._put_attribute(target, attribute, value, types)
        self._mark(scope, target.output)
        return self

    def _put_attribute(self, node: NodeProto, name: str, value: Any, types: Mapping[str, str] | None) -> None:
        replacement = make_attribute(node, name, value, types)
        for attribute in node.attribute:
            if attribute.name == name:
                attribute.CopyFrom(replacement)
                return
        node.attribute.append(replacement)

    def set_constant(self, name: str, value: Any) -> Self:
        """Replace the elements of an initializer or of a Constant; numbers and lists get its element type."""
        scope, name = self._finder.find(name)
        tensor = scope.initializers.get(name)
        node = None if tensor is not None else next(iter(scope.nodes_named(name)), None)
        if tensor is None and node is None:
            tensor = scope.initializers.get(scope.value(name))
        if tensor is not None:
            array = value if isinstance(value, np.ndarray) else array_like(tensor.data_type, value)
            replacement = tensor_of(tensor.name, array)
            replacement.doc_string = tensor.doc_string
            replacement.metadata_props.extend(tensor.metadata_props)
            tensor.CopyFrom(replacement)
            for declared in () if scope.is_function else scope.content.input:
                if declared.name == tensor.name:
                    declared.type.tensor_type.elem_type = tensor.data_type
                    set_dims(declared.type, tuple(tensor.dims))
            self._mark(scope, [tensor.name])
            return self
        if node is None or node.op_type != "Constant" or len(node.attribute) != 1:
            actual = "a value" if node is None else node.op_type
            raise GraphError(f"{scope.path + name!r} is", actual=actual, expected="an initializer or a Constant")
        (attribute,) = node.attribute
        if attribute.HasField("t"):
            array = value if isinstance(value, np.ndarray) else array_like(attribute.t.data_type, value)
            attribute.t.CopyFrom(tensor_of(attribute.t.name, array))
        else:
            self._put_attribute(node, attribute.name, value, None)
        self._mark(scope, node.output)
        return self

    def reshape(self, shapes: Mapping[str, Dims]) -> Self:
        """Declare the dims of inputs."""
        for name, dims in shapes.items():
            declared = self._input(name)
            set_dims(declared.type, dims)
            self._changed.add(declared.name)
            self._are_reshaped = True
        return self

    def set_batch(self, batch: int | str) -> Self:
        """Set the first dim of all inputs that have dims."""
        shapes = {str(declared.name): dims_of(declared.type) for declared in self._inputs()}
        if not any(shapes.values()):
            raise GraphError("no input declares dims", expected="a first dim for the batch")
        return self.reshape({name: (batch, *dims[1:]) for name, dims in shapes.items() if dims})

    def retype(self, element_types: Mapping[str, str]) -> Self:
        """Declare the element types of inputs: `f16` or `float16`."""
        for name, element_type in element_types.items():
            declared = self._input(name)
            declared.type.tensor_type.elem_type = data_type_of(element_type)
            self._changed.add(declared.name)
        return self

    def add_output(self, name: str) -> Self:
        """Make a value an output of the graph, too."""
        scope, name = self._finder.find(name)
        if scope is not self._root:
            message = f"{scope.path + name!r} is a value of a body or function, and cannot be an output"
            raise GraphError(message)
        value = scope.value(name)
        if value in scope.output_names:
            raise GraphError(f"{value!r} is an output already", code=Code.duplicate_layer_name)
        declared = self._maker.type_of(value)
        output = self._proto.graph.output.add()
        output.name = value
        scope.forget_nodes()
        if declared is not None:
            output.type.CopyFrom(declared)
        return self

    def insert(self, name: str, text: NodeText) -> Self:
        """Insert a node after a value: it reads the value, and the readers of the value read its output.

        The output of the new node has the name of the value, unless the value is an input or an initializer.
        """
        scope, name = self._finder.find(name)
        value = scope.value(name)
        if not scope.has_value(value):
            raise GraphError(f"{value!r} is not defined in {scope.path!r}")
        operator = text.operator.rpartition(".")[2]
        producer = scope.producers.get(value)
        if producer is not None:
            before = scope.unused_name(f"{value}_before_{operator}")
            producer.output[:] = [before if output == value else output for output in producer.output]
            output = value
        else:
            if value in scope.output_names:
                raise GraphError(f"{value!r} is an input and an output of the graph", expected="an output of a node")
            before, output = value, scope.unused_name(f"{value}_{operator}")
            readers = scope.readers(value)
            scope.read_instead(readers, value, output)
        scope.forget_nodes()
        # New inputs that name the value itself read it before the new node.
        inputs = [before if text_input == value else text_input for text_input in text.inputs]
        node = self._maker.make_node(
            scope, text._replace(inputs=inputs), [before], scope.unused_name(operator), [output]
        )
        position = 0 if producer is None else 1 + position_of(scope, producer)
        add_node(scope, node, position)
        self._mark(scope, [before, output])
        return self

    def replace(self, name: str, text: NodeText) -> Self:
        """Replace a node; the new one has its name and outputs, and the attributes that both operators have.

        Without further inputs it reads the inputs of the replaced node, otherwise the first one and these.
        """
        scope, name = self._finder.find(name)
        former = scope.node(name)
        probe = type(former)(op_type=text.operator.rpartition(".")[2], domain=text.operator.rpartition(".")[0])
        self._maker.import_domain(scope, probe.domain)
        types = declared_attributes(probe, scope.opsets, self._proto.functions)
        schema = schema_of(canonical_domain(probe.domain), probe.op_type, scope.opsets.get(probe.domain, 0))
        most = len(former.input) if schema is None else schema.max_input
        own = list(former.input)[:1] if text.inputs else list(former.input)[:most]
        node = self._maker.make_node(scope, text, own, former.name, list(former.output))
        node.doc_string = former.doc_string
        node.metadata_props.extend(former.metadata_props)
        written = {attribute.name for attribute in node.attribute}
        for attribute in former.attribute:
            is_shared = types is None or types.get(attribute.name, None) is not None
            if is_shared and attribute.name not in written and _is_same_type(attribute, types):
                node.attribute.append(attribute)
        dropped = [value for value in former.input if value not in node.input]
        position = position_of(scope, former)
        del scope.nodes[position]
        scope.forget_nodes()
        add_node(scope, node, position)
        prune(scope, dropped)
        self._mark(scope, node.output)
        return self

    def remove(self, name: str) -> Self:
        """Remove a node, whose readers read its first input, or an unread input or initializer.

        Nodes and initializers that only it read are removed, too.
        """
        scope, name = self._finder.find(name)
        nodes = scope.nodes_named(name)
        if not nodes:
            remove_value(scope, scope.value(name))
            return self
        self._mark(scope, remove_node(scope, scope.node(name)))
        return self

    def strip(self, parts: Sequence[Literal["doc-strings", "stack-traces"]]) -> Self:
        """Remove documentation, and metadata of nodes with the source lines of the exporter."""
        _strip(self._proto, "doc-strings" in parts, "stack-traces" in parts)
        return self

    def _mark(self, scope: GraphScope, names: Sequence[str]) -> None:
        """Note values with new types; values of a body affect those of the node with the body."""
        inner = scope
        while inner.outer is not None and inner.holder is not None:
            names = list(inner.holder.output)
            inner = inner.outer
        if inner.is_function:
            # Every call of the function may have new types.
            name = inner.content.name
            names = [value for node in self._root.nodes if node.op_type == name for value in node.output]
        self._changed.update(name for name in names if name)

    def _inputs(self) -> list[ValueInfoProto]:
        """Return the inputs that have no initializer."""
        return [declared for declared in self._proto.graph.input if declared.name not in self._root.initializers]

    def _input(self, name: str) -> ValueInfoProto:
        for declared in self._inputs():
            if declared.name == name:
                return declared
        names = [str(declared.name) for declared in self._inputs()]
        message = f"there is no input {name!r}; the inputs are: {', '.join(names) or 'none'}"
        raise EvaluationError(message, code=Code.unknown_input, hint=suggested(name, names))


def _is_same_type(attribute: Any, types: Mapping[str, str] | None) -> bool:
    declared = (types or {}).get(attribute.name, "")
    return not declared or attribute.AttributeType.Name(attribute.type) == declared


def _strip(message: Any, strips_documentation: bool, strips_traces: bool) -> None:
    names = message.DESCRIPTOR.fields_by_name
    if strips_documentation and "doc_string" in names:
        message.ClearField("doc_string")
    if strips_traces and "metadata_props" in names and message.metadata_props:
        retained = [entry for entry in message.metadata_props if not entry.key.endswith(_TRACES)]
        if len(retained) < len(message.metadata_props):
            copies = [type(entry).FromString(entry.SerializeToString()) for entry in retained]
            del message.metadata_props[:]
            message.metadata_props.extend(copies)
    for field, value in message.ListFields():
        if field.message_type is not None:
            for part in value if field.is_repeated else (value,):
                _strip(part, strips_documentation, strips_traces)
