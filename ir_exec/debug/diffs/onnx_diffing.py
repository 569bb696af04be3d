"""Differences between two ONNX files, as ONNX: nodes, constants, inputs, outputs, opsets, functions and metadata.

Nothing is lowered to IR, so the files may be invalid, damaged, or have unknown operators.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ir_exec.debug.comparison.metrics import Difference, Tolerance, difference, same_bits
from ir_exec.debug.diffs.onnx_digests import OnnxConstant, attribute_key, is_equal_constant
from ir_exec.debug.diffs.onnx_matching import Matching, OnnxSide, body_pairs, match_graphs
from ir_exec.debug.diffs.report import Change, ChangedLayer, Differences, NetworkDiff, UnmatchedLayer
from ir_exec.errors import IRError
from ir_exec.onnx.editing.sources import OnnxSource
from ir_exec.onnx.lowering.registry import canonical_domain, shown_domain
from ir_exec.onnx.reading.listing import attribute_text, operator_name, plain_name, type_text
from ir_exec.onnx.reading.tensors import array_of
from ir_exec.types import Array

if TYPE_CHECKING:
    from onnx import FunctionProto, NodeProto, TensorProto

__all__ = ["diff_onnx"]


def diff_onnx(
    a: str | os.PathLike[str] | bytes, b: str | os.PathLike[str] | bytes, *, metadata: bool = False
) -> NetworkDiff:
    """Find the differences between two ONNX files; damaged files are compared as far as they can be read.

    Args:
        metadata: Also compare doc strings and metadata of nodes.

    Raises:
        IRError: For a file of which no node can be read.
    """
    sources = OnnxSource(a, is_lenient=True), OnnxSource(b, is_lenient=True)
    differences = _OnnxDiff(sources, metadata)
    differences.compare()
    return differences.report(_name_of(sources[0]), _name_of(sources[1]), "node")


def _name_of(source: OnnxSource) -> str:
    return source.path or plain_name(source.proto.graph.name)


class _OnnxDiff(Differences):
    """A comparison of the headers, graphs and functions of two files."""

    def __init__(self, sources: tuple[OnnxSource, OnnxSource], metadata: bool) -> None:
        super().__init__()
        self._a, self._b = sources
        self._metadata = metadata

    def compare(self) -> None:
        self._compare_headers()
        self._compare_graphs(self._a.proto.graph, self._b.proto.graph, "", {})
        self._compare_functions()

    def _compare_headers(self) -> None:
        a, b = self._a.proto, self._b.proto
        # The header of a damaged file may be missing.
        is_damaged = not (self._a.damage is None and self._b.damage is None)
        for side, source in (("a", self._a), ("b", self._b)):
            if source.damage is not None:
                self.order.append(f"{side} is damaged, compared up to the damage: {source.damage.message}")
        for name in ("ir_version", "producer_name", "producer_version", "domain", "model_version", "doc_string"):
            if not is_damaged or (a.HasField(name) and b.HasField(name)):
                self._add_line(name.replace("_", " "), getattr(a, name), getattr(b, name))
        if not is_damaged or (a.graph.name and b.graph.name):
            self._add_line("graph name", a.graph.name, b.graph.name)
        if not is_damaged or (len(a.opset_import) and len(b.opset_import)):
            self._add_entries("opset", _opsets(a.opset_import), _opsets(b.opset_import))
        if not is_damaged or (len(a.metadata_props) and len(b.metadata_props)):
            self._add_entries("metadata", _metadata(a), _metadata(b))

    def _add_line(self, what: str, before: object, after: object) -> None:
        if before != after:
            self.order.append(f"{what}: {_text_of(before)} -> {_text_of(after)}")

    def _add_entries(self, what: str, before: Mapping[str, object], after: Mapping[str, object]) -> None:
        for key in sorted({*before, *after}):
            self._add_line(f"{what} {key}", before.get(key), after.get(key))

    def _compare_functions(self) -> None:
        a, b = (
            {_function_name(function): function for function in source.proto.functions} for source in (self._a, self._b)
        )
        for name in [name for name in a if name not in b]:
            self.removed.append(_function_entry(name, a[name]))
        for name in [name for name in b if name not in a]:
            self.added.append(_function_entry(name, b[name]))
        for name in [name for name in a if name in b]:
            left, right = a[name], b[name]
            self._add_entries(f"opset of {name}", _opsets(left.opset_import), _opsets(right.opset_import))
            for what, before, after in (
                ("inputs", left.input, right.input),
                ("outputs", left.output, right.output),
                ("attributes", left.attribute, right.attribute),
            ):
                if len(before) != len(after) or (what == "attributes" and list(before) != list(after)):
                    self._add_line(f"{what} of {name}", ", ".join(before), ", ".join(after))
            self._compare_graphs(left, right, f"{name}/", {})

    def _compare_graphs(self, a: Any, b: Any, scope: str, outer: Mapping[str, str]) -> None:
        mine, theirs = OnnxSide(self._a, a), OnnxSide(self._b, b)
        matching = match_graphs(mine, theirs, outer)
        self._compare_ends(matching, scope)
        self._compare_constants(matching, scope)
        touched = self._touched_inputs(matching)
        partners = set(matching.nodes.values())
        for index, (position, node) in enumerate(mine.nodes):
            if index not in matching.nodes:
                self.removed.append(_entry(mine, position, node, scope))
        for index, (position, node) in enumerate(theirs.nodes):
            if index not in partners:
                self.added.append(_entry(theirs, position, node, scope))
        for index in mine.order():
            node = mine.nodes[index][1]
            is_below = not touched.isdisjoint(map(plain_name, node.input))
            if index not in matching.nodes or self._compare_nodes(matching, index, scope, is_below) or is_below:
                touched |= set(map(plain_name, node.output))

    def _touched_inputs(self, matching: Matching) -> set[str]:
        """Return the inputs and constants whose types or values differ."""
        changed = {layer.path for layer in self.changed}
        return {name for name in (*matching.a.inputs, *matching.a.constants) if name in changed}

    def _compare_ends(self, matching: Matching, scope: str) -> None:
        a, b = matching.a, matching.b
        paired = [matching.values[name] for name in a.inputs if name in matching.values]
        others = set(paired)
        if paired != [name for name in b.inputs if name in others]:
            self.order.append("the order of the inputs" + (f" of {scope.rstrip('/')}" if scope else ""))
        for name in a.inputs:
            if name not in matching.values:
                self.removed.append(_end_entry("input", name, a.types.get(name), scope))
                continue
            other = matching.values[name]
            changes = [*_name_change(name, other), *_type_change("type", a.types.get(name), b.types.get(other))]
            self._add("input", name, other, scope, changes)
        for name in b.inputs:
            if name not in others:
                self.added.append(_end_entry("input", name, b.types.get(name), scope))
        self._compare_outputs(matching, scope)

    def _compare_outputs(self, matching: Matching, scope: str) -> None:
        a, b = matching.a, matching.b
        types_a, types_b = _output_types(a), _output_types(b)
        partners = {name: matching.partner(name) for name in a.outputs}
        left = [name for name in a.outputs if partners[name] not in b.outputs]
        right = [name for name in b.outputs if name not in set(partners.values())]
        if len(a.outputs) == len(b.outputs):
            # An output with another source is changed, not removed and added.
            for name, other in zip(a.outputs, b.outputs, strict=True):
                if name in left and other in right:
                    partners[name] = other
                    left.remove(name)
                    right.remove(other)
                    if not scope or name in a.producers or other in b.producers:
                        self._add("output", name, other, scope, [Change(what="source", before=name, after=other)])
        self.removed += [_end_entry("output", name, types_a.get(name), scope) for name in left]
        self.added += [_end_entry("output", name, types_b.get(name), scope) for name in right]
        partners_in_order = [partners[name] for name in a.outputs if partners[name] in b.outputs]
        if partners_in_order != [name for name in b.outputs if name in set(partners_in_order)]:
            self.order.append("the order of the outputs" + (f" of {scope.rstrip('/')}" if scope else ""))
        for name, partner in partners.items():
            if partner is not None and partner in b.outputs:
                types = types_a.get(name), types_b.get(partner)
                self._add("output", name, partner, scope, [*_name_change(name, partner), *_type_change("type", *types)])

    def _add(
        self,
        type: str,
        name: str,
        other: str,
        scope: str,
        changes: Sequence[Change],
        constant: Difference | None = None,
        positions: tuple[int, int] = (-1, -1),
    ) -> bool:
        """Add a change, or count an element as unchanged, and return True for a change."""
        if not changes and constant is None:
            self.unchanged += type not in ("input", "output")
            return False
        ids = [str(position) if position >= 0 else "" for position in positions]
        self.changed.append(
            ChangedLayer(
                path=scope + name,
                path_b=scope + other,
                type=type,
                layer_id=ids[0],
                layer_id_b=ids[1],
                changes=tuple(changes),
                constant=constant,
            )
        )
        return True

    def _compare_constants(self, matching: Matching, scope: str) -> None:
        a, b = matching.a.constants, matching.b.constants
        partners = set(matching.values.values())
        self.removed += [_constant_entry(a[name], scope) for name in a if name not in matching.values]
        self.added += [_constant_entry(b[name], scope) for name in b if name not in partners]
        for name, other in matching.values.items():
            if name not in a or other not in b:
                continue
            left, right = a[name], b[other]
            changes = [] if _is_generated(name) and _is_generated(other) else list(_name_change(name, other))
            if _stored_as(left) != _stored_as(right):
                changes.append(Change(what="stored as", before=_stored_as(left), after=_stored_as(right)))
            types = [_tensor_type(constant.tensor) for constant in (left, right) if constant.tensor is not None]
            if len(types) == 2 and types[0] != types[1]:
                changes.append(Change(what="type", before=types[0], after=types[1]))
            constant = None
            messages = left.message, right.message
            if all(message.DESCRIPTOR.name == "AttributeProto" for message in messages):
                texts = [attribute_text(message) for message in messages]
                if messages[0].name != messages[1].name or texts[0] != texts[1]:
                    changes.append(Change(what=f"attribute {messages[1].name}", before=texts[0], after=texts[1]))
            elif not is_equal_constant(self._a, left, self._b, right):
                constant = self._constant_difference(left, right)
            self._add(_stored_as(left), name, other, scope, changes, constant, (left.position, right.position))

    def _constant_difference(self, left: OnnxConstant, right: OnnxConstant) -> Difference | None:
        """Return the difference of two constants that are not equal; None if their data cannot be read."""
        if left.tensor is None or right.tensor is None:
            return Difference(problem="the values differ")
        try:
            mine, theirs = _array(self._a, left.tensor), _array(self._b, right.tensor)
        except (IRError, OSError, ValueError):
            self.not_compared += 1
            return None
        if same_bits(mine, theirs):
            # Equal elements in another encoding.
            return None
        if mine.shape != theirs.shape:
            return Difference(problem=f"shapes {list(mine.shape)} and {list(theirs.shape)} differ")
        if (mine.dtype.kind == "O") != (theirs.dtype.kind == "O"):
            return Difference(problem="only one side has strings")
        return difference(theirs, mine, Tolerance())

    def _compare_nodes(self, matching: Matching, index: int, scope: str, is_below: bool) -> bool:
        """Compare two nodes and their bodies, and return True if they differ."""
        (position, a), other = matching.a.nodes[index], matching.nodes[index]
        position_b, b = matching.b.nodes[other]
        changes = [*self._own_changes(a, b), *_input_changes(matching, a, b), *_output_changes(a, b)]
        types = [] if matching.a.content.DESCRIPTOR.name == "FunctionProto" else list(_value_changes(matching, a, b))
        name, name_b = _shown_name(a), _shown_name(b)
        operator = operator_name(plain_name(a.domain), plain_name(a.op_type))
        if types and not changes and is_below:
            self.consequences.append(
                ChangedLayer(
                    path=scope + name,
                    path_b=scope + name_b,
                    type=operator,
                    layer_id=str(position),
                    layer_id_b=str(position_b),
                    changes=tuple(types),
                )
            )
            differs = False
        else:
            differs = self._add(operator, name, name_b, scope, [*changes, *types], None, (position, position_b))
        before = len(self.changed) + len(self.added) + len(self.removed)
        for body, left, right in body_pairs(a, b):
            self._compare_graphs(left, right, f"{scope}{name}/{body}/", matching.all_values())
        return differs or len(self.changed) + len(self.added) + len(self.removed) > before

    def _own_changes(self, a: NodeProto, b: NodeProto) -> Iterator[Change]:
        operators = [operator_name(plain_name(node.domain), plain_name(node.op_type)) for node in (a, b)]
        overloads = [plain_name(node.overload) for node in (a, b)]
        if operators[0] != operators[1]:
            yield Change(what="operator", before=operators[0], after=operators[1])
        if overloads[0] != overloads[1]:
            yield Change(what="overload", before=overloads[0], after=overloads[1])
        before, after = plain_name(a.name), plain_name(b.name)
        if before and after and before != after and not (_is_generated(before) and _is_generated(after)):
            yield Change(what="name", before=before, after=after)
        mine, theirs = ({plain_name(entry.name): entry for entry in node.attribute} for node in (a, b))
        for name in sorted({*mine, *theirs}):
            yield from self._attribute_change(name, mine.get(name), theirs.get(name))
        if self._metadata:
            if a.doc_string != b.doc_string:
                yield Change(what="doc string", before=plain_name(a.doc_string), after=plain_name(b.doc_string))
            entries = _metadata(a), _metadata(b)
            for key in sorted({*entries[0], *entries[1]}):
                if entries[0].get(key) != entries[1].get(key):
                    yield Change(what=f"metadata {key}", before=entries[0].get(key), after=entries[1].get(key))

    def _attribute_change(self, name: str, left: Any, right: Any) -> Iterator[Change]:
        if left is not None and right is not None:
            has_bodies = left.HasField("g") or len(left.graphs)
            if has_bodies and (right.HasField("g") or len(right.graphs)):
                return  # compared as graphs
            if attribute_key(self._a, left) == attribute_key(self._b, right):
                return
        texts = [None if entry is None else attribute_text(entry) for entry in (left, right)]
        if texts[0] == texts[1]:
            texts = [
                f"{text} (other values)" if entry is right else text
                for text, entry in zip(texts, (left, right), strict=True)
            ]
        yield Change(what=f"attribute {name}", before=texts[0], after=texts[1])


def _input_changes(matching: Matching, a: NodeProto, b: NodeProto) -> Iterator[Change]:
    for position in range(max(len(a.input), len(b.input))):
        left, right = (plain_name(node.input[position]) if position < len(node.input) else "" for node in (a, b))
        is_defined = left in matching.outer or (matching.a.defines(left) and matching.b.defines(right))
        # A missing definition is reported where it is missing.
        is_undefined = left == right and not is_defined
        if not is_undefined and (matching.partner(left) if left else "") != right:
            yield Change(what=f"input {position}", before=left or None, after=right or None)


def _output_changes(a: NodeProto, b: NodeProto) -> Iterator[Change]:
    if len(a.output) != len(b.output):
        yield Change(what="outputs", before=str(len(a.output)), after=str(len(b.output)))
    for position, (left, right) in enumerate(zip(a.output, b.output, strict=False)):
        names = plain_name(left), plain_name(right)
        if names[0] != names[1] and not (_is_generated(names[0]) and _is_generated(names[1])):
            yield Change(what=f"name of output {position}", before=names[0] or None, after=names[1] or None)


def _value_changes(matching: Matching, a: NodeProto, b: NodeProto) -> Iterator[Change]:
    """Yield the changes of declared types of the values of two nodes, if both files declare them."""
    for position, (left, right) in enumerate(zip(a.output, b.output, strict=False)):
        names = plain_name(left), plain_name(right)
        types = [_declared_type(side, name) for side, name in zip((matching.a, matching.b), names, strict=True)]
        if None not in types:
            yield from _type_change("output" if len(a.output) == 1 else f"output {position}", *types)


def _declared_type(side: OnnxSide, name: str) -> Any:
    declared = vars(side).get("declared")
    if declared is None:
        declared = {plain_name(entry.name): entry.type for entry in side.content.value_info}
        vars(side)["declared"] = declared
    return declared.get(name)


def _output_types(side: OnnxSide) -> dict[str, Any]:
    if side.content.DESCRIPTOR.name == "FunctionProto":
        return {}
    return {plain_name(declared.name): declared.type for declared in side.content.output}


def _type_change(what: str, left: Any, right: Any) -> Iterator[Change]:
    before, after = (
        None if declared is None or not declared.WhichOneof("value") else type_text(declared)
        for declared in (left, right)
    )
    if before != after:
        yield Change(what=what, before=before, after=after)


def _name_change(before: str, after: str) -> Iterator[Change]:
    if before != after:
        yield Change(what="name", before=before, after=after)


_GENERATED = re.compile(r"(.*[/.:_])?([A-Z]\w*_)?\d+|(.*/)?[A-Z][A-Za-z]+(_\d+)?(_output_\d+)?")


def _is_generated(name: str) -> bool:
    """Return True for a name that an exporter numbered: `123`, `Conv_12`, `/layer/Conv_output_0`, `onnx::MatMul_45`."""
    return _GENERATED.fullmatch(name) is not None


def _shown_name(node: NodeProto) -> str:
    return plain_name(node.name or next((name for name in node.output if name), ""))


def _stored_as(constant: OnnxConstant) -> str:
    return "initializer" if constant.node is None else "Constant"


def _array(source: OnnxSource, tensor: TensorProto) -> Array:
    return array_of(source.tensor_with_data(tensor), source.folder)


def _entry(side: OnnxSide, position: int, node: NodeProto, scope: str) -> UnmatchedLayer:
    types = _output_types(side) | {name: _declared_type(side, name) for name in map(plain_name, node.output)}
    outputs = [types.get(name) for name in map(plain_name, node.output)]
    return UnmatchedLayer(
        layer_id=str(position),
        path=scope + _shown_name(node),
        type=operator_name(plain_name(node.domain), plain_name(node.op_type)),
        opset=None,
        outputs=tuple([type_text(declared) for declared in outputs if declared is not None]),
        inputs=tuple(map(plain_name, node.input)),
    )


def _constant_entry(constant: OnnxConstant, scope: str) -> UnmatchedLayer:
    tensor = constant.tensor
    if tensor is None:
        text = () if constant.node is None else (attribute_text(constant.message),)
    else:
        text = (_tensor_type(tensor),)
    return UnmatchedLayer(
        layer_id=str(constant.position) if constant.node is not None else "",
        path=scope + constant.name,
        type=_stored_as(constant),
        opset=None,
        outputs=text,
        inputs=(),
    )


def _tensor_type(tensor: TensorProto) -> str:
    from onnx import TensorProto

    is_known = tensor.data_type in TensorProto.DataType.values()
    name = TensorProto.DataType.Name(tensor.data_type).lower() if is_known else str(tensor.data_type)
    return f"{name}[{','.join(map(str, tensor.dims))}]"


def _end_entry(type: str, name: str, declared: Any, scope: str) -> UnmatchedLayer:
    text = () if declared is None or not declared.WhichOneof("value") else (type_text(declared),)
    return UnmatchedLayer(layer_id="", path=scope + name, type=type, opset=None, outputs=text, inputs=())


def _function_name(function: FunctionProto) -> str:
    name = operator_name(plain_name(function.domain), plain_name(function.name))
    return f"{name}:{plain_name(function.overload)}" if function.overload else name


def _function_entry(name: str, function: FunctionProto) -> UnmatchedLayer:
    return UnmatchedLayer(
        layer_id="",
        path=name,
        type="function",
        opset=None,
        outputs=(f"{len(function.node)} nodes",),
        inputs=tuple(map(plain_name, function.input)),
    )


def _opsets(entries: Any) -> dict[str, object]:
    return {shown_domain(canonical_domain(plain_name(entry.domain))): entry.version for entry in entries}


def _metadata(message: Any) -> dict[str, str]:
    return {plain_name(entry.key): plain_name(entry.value) for entry in message.metadata_props}


def _text_of(value: object) -> str:
    text = plain_name(value) if isinstance(value, (str, bytes)) else str(value)
    return "(none)" if value is None or text == "" else text if len(text) < 100 else f"{text[:97]}..."
