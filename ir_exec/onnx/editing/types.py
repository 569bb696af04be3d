"""Declared types of an edited ONNX model: dims of inputs, and declarations that an edit has made wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from ir_exec.codes import Code
from ir_exec.errors import InvalidAttributeError, ShapeError
from ir_exec.onnx.editing.scopes import bodies_of
from ir_exec.onnx.editing.sources import data_span
from ir_exec.onnx.reading.order import needed_names

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto, TensorProto, TypeProto, ValueInfoProto

__all__ = [
    "Dims",
    "affected_declarations",
    "declared_types",
    "dims_of",
    "infer_declarations",
    "parse_dims",
    "parse_shapes",
    "set_dims",
    "type_of_tensor",
    "update_declarations",
    "without_declarations",
]

Dims: TypeAlias = "tuple[int | str | None, ...]"
"""Sizes, names of dynamic axes, and None for unknown dims."""

_SHAPE = re.compile(r"(?P<name>.*?)\s*\[(?P<dims>[^\[\]]*)\]\s*", re.DOTALL)

_MOST_DIM = 2**63


def parse_shapes(texts: Iterable[str], inputs: Sequence[str]) -> dict[str, Dims]:
    """Parse shapes of inputs: `x[batch,3,?,224]`, `x=1,3`, and `1,3` for the only input.

    Raises:
        InvalidAttributeError: For other texts.
    """
    shapes: dict[str, Dims] = {}
    for text in texts:
        for part in re.split(r"(?<=\])\s*,", text):
            match = _SHAPE.fullmatch(part)
            name, dims = (match["name"], match["dims"]) if match else part.rpartition("=")[::2]
            if not name:
                if len(inputs) != 1:
                    message = f"the shape {part!r} has no name, expected NAME[...]: the model has {len(inputs)} inputs"
                    raise InvalidAttributeError(message, code=Code.bad_value)
                name = inputs[0]
            shapes[name] = parse_dims(dims)
    return shapes


def parse_dims(text: str) -> Dims:
    """Parse dims: a size, a name, or `?` for an unknown dim.

    Raises:
        InvalidAttributeError: For bounds, which ONNX does not have, and for other texts.
    """
    dims: list[int | str | None] = []
    for part in text.split(",") if text.strip() else ():
        dim = part.strip()
        if dim in ("?", "-1"):
            dims.append(None)
        elif dim.isascii() and dim.isdecimal() and int(dim) < _MOST_DIM:
            dims.append(int(dim))
        elif dim and ".." not in dim and not dim[0].isdigit() and not dim.startswith("-") and dim.isprintable():
            dims.append(dim)
        else:
            raise InvalidAttributeError(
                "a dim is", actual=repr(dim), expected="a size, a name or ?, without bounds", code=Code.bad_value
            )
    return tuple(dims)


def dims_of(declared: TypeProto) -> Dims | None:
    """Return the declared dims of a tensor; None for an unknown rank and for other types."""
    if declared.WhichOneof("value") != "tensor_type" or not declared.tensor_type.HasField("shape"):
        return None
    dims = declared.tensor_type.shape.dim
    return tuple([dim.dim_value if dim.HasField("dim_value") else dim.dim_param or None for dim in dims])


def set_dims(declared: TypeProto, dims: Dims) -> None:
    """Declare the dims of a tensor; dims that do not change keep their denotation.

    Raises:
        ShapeError: For lists, maps and other types without dims.
    """
    if declared.WhichOneof("value") not in (None, "tensor_type"):
        raise ShapeError("only tensors have a shape", code=Code.bad_value)
    shape = declared.tensor_type.shape
    shape.SetInParent()
    if len(shape.dim) != len(dims):
        del shape.dim[:]
    for position, dim in enumerate(dims):
        entry = shape.dim[position] if position < len(shape.dim) else shape.dim.add()
        denotation = entry.denotation
        entry.Clear()
        if denotation:
            entry.denotation = denotation
        if isinstance(dim, int):
            entry.dim_value = dim
        elif dim is not None:
            entry.dim_param = dim


def infer_declarations(proto: ModelProto) -> dict[str, TypeProto]:
    """Return the types of the values of the graph, as ONNX's shape inference finds them, with the names of dims.

    Args:
        proto: A valid model: for invalid nodes, ONNX's inference may end the process.
    """
    from onnx import ModelProto, shape_inference

    copy = ModelProto()
    copy.CopyFrom(proto)
    for tensor in copy.graph.initializer:
        if data_span(tensor) is not None:
            # Inference reads no values of large tensors.
            tensor.ClearField("external_data")
            entry = tensor.external_data.add()
            entry.key, entry.value = "location", "data"
    try:
        inferred = shape_inference.infer_shapes(copy, data_prop=True)
    except Exception:
        # Its exceptions are of several classes, and not every valid file is accepted.
        inferred = copy
    declarations = (*inferred.graph.input, *inferred.graph.value_info, *inferred.graph.output)
    return {declared.name: declared.type for declared in declarations if declared.type.WhichOneof("value")}


def without_declarations(proto: ModelProto, names: Collection[str]) -> ModelProto:
    """Return a copy in which these values and outputs have no declared types."""
    copy = type(proto)()
    copy.CopyFrom(proto)
    _retain_declarations(copy.graph, lambda declared: declared.name not in names)
    for output in copy.graph.output:
        if output.name in names:
            output.ClearField("type")
    return copy


def _retain_declarations(graph: GraphProto, is_retained: Callable[[ValueInfoProto], bool]) -> None:
    retained = [declared for declared in graph.value_info if is_retained(declared)]
    if len(retained) < len(graph.value_info):
        copies = [type(declared).FromString(declared.SerializeToString()) for declared in retained]
        del graph.value_info[:]
        graph.value_info.extend(copies)


def type_of_tensor(tensor: TensorProto) -> TypeProto:
    """Return the type of a tensor as a declaration."""
    from onnx import TypeProto

    declared = TypeProto()
    declared.tensor_type.elem_type = tensor.data_type
    set_dims(declared, tuple(tensor.dims))
    return declared


def affected_declarations(proto: ModelProto, changed: Collection[str]) -> set[str]:
    """Return the declared values and outputs that depend on values with new types.

    Args:
        changed: Inputs with new types, and outputs of edited nodes.
    """
    graph = proto.graph
    return {declared.name for declared in (*graph.value_info, *graph.output)} & _dependents(graph, changed)


def update_declarations(
    proto: ModelProto, names: Collection[str], inferred: Mapping[str, TypeProto], *, are_reshaped: bool
) -> None:
    """Replace the declarations of outputs and values that an edit has made wrong; others are unchanged.

    Args:
        names: The values and outputs whose declarations may be wrong.
        inferred: The inferred types.
        are_reshaped: The dims of inputs were changed. Then declarations that inference does not confirm are removed.
    """
    graph = proto.graph
    dropped = set()
    for declared in graph.value_info:
        if declared.name not in names:
            continue
        actual = inferred.get(declared.name)
        if are_reshaped and (actual is None or _has_open_dims(actual)):
            dropped.add(declared.name)
        elif actual is not None and _contradicts(declared.type, actual, are_reshaped):
            declared.type.CopyFrom(_without_generated_names(actual))
    _retain_declarations(graph, lambda declared: declared.name not in dropped)
    for output in graph.output:
        if output.name not in names:
            continue
        actual = inferred.get(output.name)
        if actual is None:
            if are_reshaped and output.type.HasField("tensor_type"):
                output.type.tensor_type.ClearField("shape")
        elif _contradicts(output.type, actual, are_reshaped):
            output.type.CopyFrom(_without_generated_names(actual))
    for node in graph.node if are_reshaped else ():
        if any(name in names for name in node.output):
            _forget_declarations(node)


def _forget_declarations(node: NodeProto) -> None:
    """Remove the declared types of values in bodies, whose shapes may have changed."""
    for _, graph in bodies_of(node):
        del graph.value_info[:]
        for inner in graph.node:
            _forget_declarations(inner)


def _dependents(graph: GraphProto, changed: Collection[str]) -> set[str]:
    """Return the values, and all values that depend on them."""
    readers: dict[str, list[NodeProto]] = {}
    for node in graph.node:
        for name in needed_names(node):
            readers.setdefault(name, []).append(node)
    affected = set(changed)
    pending = list(affected)
    while pending:
        for node in readers.pop(pending.pop(), ()):
            outputs = {name for name in node.output if name} - affected
            affected |= outputs
            pending += outputs
    return affected


def _contradicts(declared: TypeProto, actual: TypeProto, are_reshaped: bool) -> bool:
    if declared.WhichOneof("value") != actual.WhichOneof("value"):
        return True
    if declared.WhichOneof("value") != "tensor_type":
        return bool(declared.SerializeToString() != actual.SerializeToString())
    element_type = actual.tensor_type.elem_type
    if element_type and declared.tensor_type.elem_type != element_type:
        return True
    before, after = dims_of(declared), dims_of(actual)
    if before is None or after is None:
        return are_reshaped and before != after
    if len(before) != len(after):
        return True
    for left, right in zip(before, after, strict=True):
        if isinstance(left, int) and isinstance(right, int) and left != right:
            return True
        if are_reshaped and left != right:
            return True
    return False


def _has_open_dims(declared: TypeProto) -> bool:
    dims = dims_of(declared)
    return dims is None or any(dim is None or _is_generated(dim) for dim in dims)


def _is_generated(dim: int | str | None) -> bool:
    """Return True for a name that shape inference gives to an unknown dim."""
    return isinstance(dim, str) and dim.startswith("unk__")


def _without_generated_names(declared: TypeProto) -> TypeProto:
    copy = type(declared)()
    copy.CopyFrom(declared)
    dims = dims_of(copy)
    if dims is not None:
        set_dims(copy, tuple([None if _is_generated(dim) else dim for dim in dims]))
    return copy


def declared_types(proto: ModelProto) -> Mapping[str, TypeProto]:
    """Return the types that the graph declares for inputs, outputs, values and initializers."""
    graph = proto.graph
    types = {tensor.name: type_of_tensor(tensor) for tensor in graph.initializer}
    return types | {declared.name: declared.type for declared in (*graph.value_info, *graph.output, *graph.input)}
