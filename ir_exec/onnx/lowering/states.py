"""Pairs of inputs and outputs that form a state: they become ReadValue and Assign.

The message is changed before the conversion: a node of a private domain replaces the input, another one reads the
output. All later code therefore sees only the remaining inputs and outputs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ir_exec import build
from ir_exec.build import Value
from ir_exec.codes import Code
from ir_exec.errors import GraphError, UnsupportedError
from ir_exec.onnx.reading.order import needed_names
from ir_exec.onnx.reading.tensors import is_narrow, tensor_type_of
from ir_exec.types import Dim, Shape

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto, TypeProto, ValueInfoProto

__all__ = ["DOMAIN", "NOTE", "Pair", "make_states", "named_pairs", "noted_pairs", "state_value"]

DOMAIN = "ir_exec.state"
"""The domain of the nodes that represent the ends of variables."""

NOTE = "ir_exec.state."
"""The prefix of the keys of `metadata_props` with the states of a file."""

_PREFIXES = (("past_key_values", "present_key_values"), ("past_key_values", "present"), ("past", "present"))
"""The prefixes of states in the names of inputs and outputs, by exporter."""


class Pair(NamedTuple):
    """An input and an output that form one variable.

    Attributes:
        past: The name of the input; "" for a variable that is only assigned.
        present: The name of the output; "" for a variable that is only read.
        initial: The tensor with the initial value of the variable; "" for the default of the input, or else zeros.
    """

    id: str
    past: str
    present: str
    initial: str = ""


def noted_pairs(proto: ModelProto) -> list[Pair]:
    """The states that the export of an IR model recorded in the file, if the graph still has them."""
    pairs = []
    inputs = {port.name for port in proto.graph.input}
    outputs = {port.name for port in proto.graph.output}
    tensors = {name for node in proto.graph.node for name in node.output}
    tensors |= {tensor.name for tensor in proto.graph.initializer} | inputs
    for entry in proto.metadata_props:
        if not entry.key.startswith(NOTE):
            continue
        past, present, tensor = _parse_note(entry.value)
        is_there = bool(past or present) and past in {*inputs, ""} and present in {*outputs, ""}
        if is_there and tensor in {*tensors, ""}:
            pairs.append(Pair(entry.key.removeprefix(NOTE), past, present, tensor))
    return pairs


def _parse_note(text: str) -> tuple[str, str, str]:
    """The input, the output and the initial value in a note; empty names if it was modified."""
    try:
        note: Any = json.loads(text)
    except (ValueError, RecursionError):
        return "", "", ""
    if not isinstance(note, dict):
        return "", "", ""
    past, present, tensor = (str(note.get(key, "")) for key in ("past", "present", "tensor"))
    return past, present, tensor


def named_pairs(proto: ModelProto) -> list[Pair]:
    """The inputs and outputs with names and types of a state: `past_key_values.0.key`, `present.0.key`."""
    outputs = {port.name: port for port in proto.graph.output}
    pairs: list[Pair] = []
    for declared in proto.graph.input:
        for before, after in _PREFIXES:
            suffix = declared.name.removeprefix(before)
            present = outputs.get(after + suffix)
            if suffix == declared.name or present is None or _variable_fault(declared, present) is not None:
                continue
            pairs.append(Pair(suffix.lstrip("._") or declared.name, declared.name, present.name))
            break
    ids = [pair.id for pair in pairs]
    return [pair if ids.count(pair.id) == 1 else pair._replace(id=pair.past) for pair in pairs]


def make_states(proto: ModelProto, pairs: Iterable[Pair]) -> None:
    """Change a message to make pairs of its inputs and outputs variables.

    Raises:
        GraphError: For a name that the graph does not have or that occurs in two pairs.
        UnsupportedError: For a pair of different types.
    """
    pairs = list(pairs)
    if not pairs:
        return
    graph = proto.graph
    inputs = {port.name: port for port in graph.input}
    outputs = {port.name: port for port in graph.output}
    _check(pairs, inputs, outputs)
    others = [port for name, port in inputs.items() if name not in {pair.past for pair in pairs}]
    stored = {tensor.name for tensor in graph.initializer}
    reads: list[NodeProto] = []
    before: list[NodeProto] = []
    assigns: list[NodeProto] = []
    for index, pair in enumerate(pairs):
        if pair.past:
            initial = pair.initial
            if not initial and pair.past in stored:
                initial = f"{DOMAIN}/{index}/initial"
                next(tensor for tensor in graph.initializer if tensor.name == pair.past).name = initial
            elif not initial:
                initial, initial_nodes = _empty(inputs[pair.past], others, f"{DOMAIN}/{index}")
                before += initial_nodes
            type = _variable_type(inputs[pair.past], outputs.get(pair.present))
            reads.append(_node("ReadValue", [initial], pair.past, pair, type))
        if pair.present:
            assigns.append(_node("Assign", [pair.present], f"{DOMAIN}/{index}/assigned", pair))
    for ports, names in (
        (graph.input, {pair.past for pair in pairs}),
        (graph.output, {pair.present for pair in pairs}),
    ):
        for index in reversed(range(len(ports))):
            if ports[index].name in names:
                del ports[index]
    first = _above([read.input[0] for read in reads], [*before, *graph.node])
    graph.node.extend([*before, *reads, *assigns])
    pasts = {pair.past for pair in pairs}
    graph.node.sort(key=lambda node: _rank(node, first, pasts))
    proto.opset_import.add(domain=DOMAIN, version=1)


def _rank(node: NodeProto, first: set[str], pasts: set[str]) -> int:
    """The rank of a node in the order: initial values first, then variables, then all other nodes."""
    if node.domain == DOMAIN:
        return 1 if node.output[0] in pasts else 3
    return 0 if not first.isdisjoint(node.output) else 2


def _above(names: Iterable[str], nodes: Sequence[NodeProto]) -> set[str]:
    """The tensors from which nodes compute these, including these themselves."""
    makers = {name: node for node in nodes for name in node.output if name}
    pending, needed = list(names), set[str]()
    while pending:
        name = pending.pop()
        if name in makers and name not in needed:
            needed.add(name)
            pending += needed_names(makers[name])
    return needed


def _check(pairs: Sequence[Pair], inputs: dict[str, ValueInfoProto], outputs: dict[str, ValueInfoProto]) -> None:
    seen: set[str] = set()
    for pair in pairs:
        for name, ports, what in ((pair.past, inputs, "input"), (pair.present, outputs, "output")):
            if name and name not in ports:
                message = f"the state {pair.id!r} refers to the {what} {name!r}, which does not exist"
                raise GraphError(message, code=Code.unknown_input, hint=f"it has {', '.join(sorted(ports)) or 'none'}")
            if name and f"{what} {name}" in seen:
                message = f"the {what} {name!r} belongs to two states"
                raise GraphError(message, code=Code.duplicate_tensor_name)
            seen.add(f"{what} {name}")
        if pair.past and pair.present:
            fault = _variable_fault(inputs[pair.past], outputs[pair.present])
            if fault is not None:
                raise fault


def _variable_fault(past: ValueInfoProto, present: ValueInfoProto) -> UnsupportedError | None:
    """The error for an input and an output that cannot form a variable; None if they can."""
    text = f"{past.name!r} and {present.name!r} cannot form a state"
    for port in (past, present):
        if port.type.WhichOneof("value") != "tensor_type" or is_narrow(port.type.tensor_type.elem_type):
            return UnsupportedError(f"{text}: the type of {port.name!r} is not supported for variables of IR")
    own, new = tensor_type_of(past.type), tensor_type_of(present.type)
    if own.element_type is not new.element_type:
        types = f"{own.element_type} and {new.element_type}"
        return UnsupportedError(f"{text}: the element types are", actual=types, expected="equal types")
    if own.shape.rank is not None and new.shape.rank is not None and own.shape.rank != new.shape.rank:
        shapes = f"{own.shape} and {new.shape}"
        return UnsupportedError(f"{text}: the shapes are", actual=shapes, expected="shapes of equal rank")
    return None


def _variable_type(past: ValueInfoProto, present: ValueInfoProto | None) -> TypeProto:
    """The type of a variable: dims that differ between the input and the output are dynamic."""
    type = past.type
    merged = type.__class__()
    merged.CopyFrom(type)
    if present is None or not merged.tensor_type.HasField("shape"):
        return merged
    if not present.type.tensor_type.HasField("shape"):
        merged.tensor_type.ClearField("shape")
        return merged
    for own, new in zip(merged.tensor_type.shape.dim, present.type.tensor_type.shape.dim, strict=True):
        if own.HasField("dim_value") and not (new.HasField("dim_value") and new.dim_value == own.dim_value):
            own.Clear()
    return merged


def _empty(past: ValueInfoProto, others: Sequence[ValueInfoProto], prefix: str) -> tuple[str, list[NodeProto]]:
    """The nodes that create the zeros of a state without an initial value, and the name of the zeros.

    A dynamic dim with a name that occurs in an input has its size; the first dim, the batch, always has the size of an
    input's batch; others are 0.
    """
    from onnx import TensorProto, helper

    if not past.type.tensor_type.HasField("shape"):
        hint = "give the input a default, or declare its shape"
        raise UnsupportedError(
            f"the rank of the state {past.name!r} is unknown, and it has no initial value", hint=hint
        )
    nodes: list[NodeProto] = []

    def integers(values: Sequence[int], name: str) -> str:
        tensor = helper.make_tensor(name, TensorProto.INT64, [len(values)], list(values))
        nodes.append(helper.make_node("Constant", [], [name], value=tensor))
        return name

    sizes = []
    for axis, dim in enumerate(past.type.tensor_type.shape.dim):
        origin = None if dim.HasField("dim_value") else _axis_of(dim.dim_param, axis, others)
        name = f"{prefix}/{axis}"
        if origin is None:
            sizes.append(integers([max(dim.dim_value, 0)], name))
            continue
        source, at = origin
        nodes.append(helper.make_node("Shape", [source], [f"{name}/shape"]))
        nodes.append(helper.make_node("Gather", [f"{name}/shape", integers([at], f"{name}/at")], [name]))
        sizes.append(name)
    shape = f"{prefix}/shape"
    if sizes:
        nodes.append(helper.make_node("Concat", sizes, [shape], axis=0))
    else:
        integers([], shape)
    zero = TensorProto(data_type=past.type.tensor_type.elem_type, dims=[1])
    zero.raw_data = bytes(max(tensor_type_of(past.type).element_type.bits // 8, 1))
    nodes.append(helper.make_node("ConstantOfShape", [shape], [f"{prefix}/initial"], value=zero))
    return f"{prefix}/initial", nodes


def _axis_of(param: str, axis: int, others: Sequence[ValueInfoProto]) -> tuple[str, int] | None:
    """The input, and its axis, with a dynamic dim of this name."""
    for port in others:
        if port.type.WhichOneof("value") != "tensor_type":
            continue
        for position, dim in enumerate(port.type.tensor_type.shape.dim):
            is_batch = axis == 0 and position == 0 and not param and not dim.HasField("dim_value")
            if is_batch or (param and dim.dim_param == param):
                return port.name, position
    return None


def _node(type: str, inputs: Sequence[str], output: str, pair: Pair, tensor: TypeProto | None = None) -> NodeProto:
    from onnx import helper

    node = helper.make_node(type, inputs, [output], name=f"{pair.past if tensor is not None else pair.present}/{type}")
    node.domain = DOMAIN
    node.attribute.append(helper.make_attribute("variable_id", pair.id))
    if tensor is not None:
        node.attribute.append(helper.make_attribute("type", tensor))
    return node


def state_value(node: NodeProto, inputs: Sequence[object], sinks: list[Value]) -> Value:
    """The ReadValue or the Assign of a node made by `make_states`; an Assign is also added to the sinks."""
    (value,) = inputs
    id = node.attribute[0].s.decode()
    if not isinstance(value, Value):
        raise UnsupportedError(f"the type of the state {id!r} is not supported in IR")
    if node.op_type == "Assign":
        sinks.append(build.assign(value, id))
        return sinks[-1]
    shape = tensor_type_of(node.attribute[1].tp).shape
    return build.read_value(value, id, shape=_with(shape, value.shape), element_type=value.element_type)


def _with(shape: Shape, initial: Shape) -> Shape:
    """The shape of a variable: dims that differ from the initial value are dynamic."""
    if shape.dims is None or initial.dims is None or len(shape.dims) != len(initial.dims):
        return Shape.unknown() if shape.dims is None else shape
    return Shape(
        [
            own if not own.is_static or not first.is_static or own == first else Dim.any()
            for own, first in zip(shape.dims, initial.dims, strict=True)
        ]
    )
