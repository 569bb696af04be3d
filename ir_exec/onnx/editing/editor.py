"""Editing of an ONNX model: changes of names, attributes, constants, shapes and nodes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, GraphError
from ir_exec.hints import suggested
from ir_exec.onnx.editing.attributes import (
    array_like,
    data_type_of,
    declared_attributes,
    make_attribute,
    require_operator,
    tensor_of,
)
from ir_exec.onnx.editing.checking import check_edit
from ir_exec.onnx.editing.lowered_types import infer_by_lowering
from ir_exec.onnx.editing.scopes import GraphScope, ScopeFinder
from ir_exec.onnx.editing.sources import OnnxSource
from ir_exec.onnx.editing.storage import write_edited
from ir_exec.onnx.editing.types import (
    Dims,
    affected_declarations,
    declared_types,
    dims_of,
    infer_declarations,
    set_dims,
    update_declarations,
    without_declarations,
)
from ir_exec.onnx.lowering.registry import NEWEST_VERSIONS, STANDARD, canonical_domain
from ir_exec.onnx.reading.functions import schema_of
from ir_exec.onnx.reading.order import in_order, needed_names
from ir_exec.types import Array

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto, TypeProto, ValueInfoProto

__all__ = ["NodeText", "OnnxEditor"]

_TRACES = ("stack_trace",)
"""Endings of the keys of metadata with the source lines of a node."""


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
        declared = self._type_of(value)
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
        node = self._make_node(scope, text._replace(inputs=inputs), [before], scope.unused_name(operator), [output])
        position = 0 if producer is None else 1 + _position(scope, producer)
        self._add_node(scope, node, position)
        self._mark(scope, [before, output])
        return self

    def replace(self, name: str, text: NodeText) -> Self:
        """Replace a node; the new one has its name and outputs, and the attributes that both operators have.

        Without further inputs it reads the inputs of the replaced node, otherwise the first one and these.
        """
        scope, name = self._finder.find(name)
        former = scope.node(name)
        probe = type(former)(op_type=text.operator.rpartition(".")[2], domain=text.operator.rpartition(".")[0])
        self._import_domain(scope, probe.domain)
        types = declared_attributes(probe, scope.opsets, self._proto.functions)
        schema = schema_of(canonical_domain(probe.domain), probe.op_type, scope.opsets.get(probe.domain, 0))
        most = len(former.input) if schema is None else schema.max_input
        own = list(former.input)[:1] if text.inputs else list(former.input)[:most]
        node = self._make_node(scope, text, own, former.name, list(former.output))
        node.doc_string = former.doc_string
        node.metadata_props.extend(former.metadata_props)
        written = {attribute.name for attribute in node.attribute}
        for attribute in former.attribute:
            is_shared = types is None or types.get(attribute.name, None) is not None
            if is_shared and attribute.name not in written and _is_same_type(attribute, types):
                node.attribute.append(attribute)
        dropped = [value for value in former.input if value not in node.input]
        position = _position(scope, former)
        del scope.nodes[position]
        scope.forget_nodes()
        self._add_node(scope, node, position)
        self._prune(scope, dropped)
        self._mark(scope, node.output)
        return self

    def remove(self, name: str) -> Self:
        """Remove a node, whose readers read its first input, or an unread input or initializer.

        Nodes and initializers that only it read are removed, too.
        """
        scope, name = self._finder.find(name)
        nodes = scope.nodes_named(name)
        if not nodes:
            self._remove_value(scope, scope.value(name))
            return self
        node = scope.node(name)
        outputs = [output for output in node.output if output]
        used = [output for output in outputs if scope.readers(output) or output in scope.output_names]
        source = next((value for value in node.input if value), None)
        if used and (len(used) > 1 or used[0] != node.output[0] or source is None):
            raise GraphError(
                f"node {scope.path + name!r} has",
                actual=f"{len(node.input)} inputs and {len(used)} outputs that are read",
                expected="one output, and an input to replace it",
            )
        dropped = [value for value in needed_names(node) if value != source or not used]
        position = _position(scope, node)
        if used and source is not None:
            self._bypass(scope, node, used[0], source, position)
        else:
            del scope.nodes[position]
            scope.forget_nodes()
        self._prune(scope, dropped)
        self._mark(scope, used if source is None else [*used, source])
        return self

    def _bypass(self, scope: GraphScope, node: NodeProto, output: str, source: str, position: int) -> None:
        """Remove a node, and let the readers of its output read its input; outputs of graphs keep their names."""
        if output not in scope.output_names:
            readers = list(scope.readers(output))
            del scope.nodes[position]
            scope.read_instead(readers, output, source)
            _forget_declaration(scope, output)
            return
        producer = scope.producers.get(source)
        if producer is not None and source not in scope.output_names:
            del scope.nodes[position]
            scope.forget_nodes()
            _forget_declaration(scope, source)
            producer.output[:] = [output if name == source else name for name in producer.output]
            scope.read_instead(list(scope.readers(source)), source, output)
            return
        # An output cannot have the name of an input or of another output.
        identity = type(node)(op_type="Identity", name=node.name, input=[source], output=[output])
        node.CopyFrom(identity)
        scope.forget_nodes()

    def _remove_value(self, scope: GraphScope, value: str) -> None:
        if scope.readers(value) or value in scope.output_names:
            raise GraphError(f"{scope.path + value!r} is read", expected="a node, or an unread input or initializer")
        if scope.is_function or scope.outer is not None:
            raise GraphError(f"{scope.path + value!r} is an input of a body or function, which keeps its inputs")
        for declared in list(scope.content.input):
            if declared.name == value:
                scope.content.input.remove(declared)
        self._drop_initializer(scope, value)

    def _prune(self, scope: GraphScope, values: Sequence[str]) -> None:
        """Remove the nodes and initializers that only a removed node read."""
        pending = list(values)
        while pending:
            value = pending.pop()
            if not value or scope.readers(value) or value in scope.output_names or not scope.has_value(value):
                continue
            if value in scope.initializers:
                if value not in scope.input_names:
                    self._drop_initializer(scope, value)
                continue
            node = scope.producers.get(value)
            if node is None or any(scope.readers(name) or name in scope.output_names for name in node.output if name):
                continue
            pending += needed_names(node)
            for name in node.output:
                _forget_declaration(scope, name)
            del scope.nodes[_position(scope, node)]
            scope.forget_nodes()

    def _drop_initializer(self, scope: GraphScope, name: str) -> None:
        for tensors in (scope.content.initializer, scope.content.sparse_initializer):
            for position in reversed(range(len(tensors))):
                tensor = tensors[position]
                if (tensor if tensor.DESCRIPTOR.name == "TensorProto" else tensor.values).name == name:
                    del tensors[position]
        _forget_declaration(scope, name)
        scope.forget_nodes()

    def strip(self, parts: Sequence[Literal["doc-strings", "stack-traces"]]) -> Self:
        """Remove documentation, and metadata of nodes with the source lines of the exporter."""
        _strip(self._proto, "doc-strings" in parts, "stack-traces" in parts)
        return self

    def _make_node(
        self, scope: GraphScope, text: NodeText, own_inputs: Sequence[str], name: str, outputs: Sequence[str]
    ) -> NodeProto:
        """Return a new node that reads some values, and the further inputs of the text."""
        from onnx import NodeProto

        domain, _, operator = text.operator.rpartition(".")
        node = NodeProto(op_type=operator, domain=domain, name=name, input=own_inputs, output=outputs)
        self._import_domain(scope, domain)
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
        declared = self._type_of(node.input[0]) if node.input else None
        element_type = 0 if declared is None else declared.tensor_type.elem_type
        if element_type:
            return array_like(element_type, value)
        return array.astype(np.float32) if array.dtype.kind == "f" else array

    def _type_of(self, name: str) -> TypeProto | None:
        """Return the declared or inferred type of a value; None if it is unknown."""
        declared = declared_types(self._proto).get(name)
        if declared is None or not declared.tensor_type.elem_type:
            return infer_by_lowering(self.source, self._proto).get(name, declared)
        return declared

    def _import_domain(self, scope: GraphScope, domain: str) -> None:
        """Import a domain that the model or the function does not import yet."""
        domain = canonical_domain(domain)
        if domain in scope.opsets or domain == STANDARD:
            return
        version = NEWEST_VERSIONS.get(domain, 1)
        owner = scope.content if scope.is_function else self._proto
        entry = owner.opset_import.add()
        entry.domain, entry.version = domain, version
        scope.opsets[domain] = version

    def _add_node(self, scope: GraphScope, node: NodeProto, position: int) -> None:
        """Add a node at a position, or later after the sources of its inputs; nodes that read it follow."""
        scope.nodes.insert(position, node)
        scope.forget_nodes()
        produced = scope.producers
        sources = [_position(scope, produced[name]) for name in needed_names(node) if name in produced]
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


def _position(scope: GraphScope, node: NodeProto) -> int:
    return next(position for position, candidate in enumerate(scope.nodes) if candidate is node)


def _is_same_type(attribute: Any, types: Mapping[str, str] | None) -> bool:
    declared = (types or {}).get(attribute.name, "")
    return not declared or attribute.AttributeType.Name(attribute.type) == declared


def _forget_declaration(scope: GraphScope, name: str) -> None:
    """Remove the declared type of a value that no longer exists."""
    declarations = scope.content.value_info
    for position in reversed(range(len(declarations))):
        if declarations[position].name == name:
            del declarations[position]
            scope.forget_nodes()


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
