"""The content of an ONNX file without its tensors: versions, inputs, outputs, nodes and initializers, with types."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from ir_exec.errors import UnsupportedError
from ir_exec.onnx.lowering.registry import STANDARD, canonical_domain, shown_domain
from ir_exec.onnx.reading.order import name_of
from ir_exec.onnx.reading.tensors import element_type_of
from ir_exec.report.text import shorten

if TYPE_CHECKING:
    from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, TypeProto

__all__ = ["ListedNode", "ListedTensor", "Listing", "attribute_text", "operator_name", "plain_name", "type_text"]

_MOST_SHOWN = 16
"""Maximum elements of a list, and characters of a text divided by 4, in the value of an attribute."""

_MOST_DEPTH = 64
"""Maximum nesting of listed bodies."""


class ListedTensor(NamedTuple):
    """An initializer.

    Attributes:
        external: The file next to the model with its data, None if the data is in the model.
    """

    name: str
    element_type: str
    dims: tuple[int, ...]
    bytes: int
    external: str | None

    @property
    def type(self) -> str:
        return f"{self.element_type}[{','.join(map(str, self.dims))}]"

    @property
    def elements(self) -> int:
        return prod(self.dims)


class ListedNode(NamedTuple):
    """A node.

    Attributes:
        name: Its own, or the name of its first output.
        body: The names of the enclosing nodes.
    """

    name: str
    type: str
    domain: str
    attributes: dict[str, str]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    body: tuple[str, ...] = ()

    @property
    def operator(self) -> str:
        return operator_name(self.domain, self.type)


class Listing:
    """The content of a model.

    Args:
        path: Its file; tensors inside it may remain on disk.
    """

    def __init__(self, proto: ModelProto, path: str) -> None:
        graph = proto.graph
        self.ir_version: int = proto.ir_version
        self.opsets = {shown_domain(canonical_domain(entry.domain)): entry.version for entry in proto.opset_import}
        self.producer = " ".join(filter(None, (proto.producer_name, proto.producer_version)))
        self.domain: str = proto.domain
        self.model_version: int = proto.model_version
        self.graph_name: str = graph.name
        self.metadata: int = len(proto.metadata_props)
        self.functions = {
            operator_name(function.domain, function.name): len(function.node) for function in proto.functions
        }
        own = os.path.basename(path)
        self.initializers = [_listed_tensor(tensor, own) for tensor in graph.initializer]
        self.initializers += [_listed_tensor(sparse.values, own) for sparse in graph.sparse_initializer]
        initialized = {tensor.name for tensor in self.initializers}
        self.inputs = {
            declared.name: type_text(declared.type) for declared in graph.input if declared.name not in initialized
        }
        self.outputs = {declared.name: type_text(declared.type) for declared in graph.output}
        self.nodes = list(_nodes(graph))
        self._types = {
            declared.name: type_text(declared.type) for declared in (*graph.value_info, *graph.input, *graph.output)
        }
        self._types |= {tensor.name: tensor.type for tensor in self.initializers}

    @property
    def operators(self) -> list[tuple[str, int]]:
        """The operators and their numbers of nodes, in bodies too, the most frequent first."""
        counts = Counter(node.operator for node in self.nodes)
        return sorted(counts.items(), key=lambda item: (-item[1], item[0]))

    def type_of(self, name: str, inferred: Mapping[str, str]) -> str:
        """The type of a value: as declared in the file, else as inferred; "" if unknown."""
        return self._types.get(name) or inferred.get(name, "")

    def find_by_name(self, name: str) -> list[ListedNode]:
        """The nodes with this name, or with an output of this name."""
        return [node for node in self.nodes if node.name == name] or [
            node for node in self.nodes if name in node.outputs
        ]


def plain_name(name: str | bytes) -> str:
    """Return a name of a file as text; names that are not UTF-8 are bytes."""
    return name if isinstance(name, str) else name.decode(errors="backslashreplace")


def operator_name(domain: str, type: str) -> str:
    """The name of an operator in lists: `Conv`, `com.microsoft.FusedMatMul`."""
    domain = canonical_domain(domain)
    return type if domain == STANDARD else f"{domain}.{type}"


def type_text(declared: TypeProto) -> str:
    """A type as declared in the file, with the names of dims: `f32[N,3,224,224]`, `sequence(f32[...])`."""
    field = declared.WhichOneof("value")
    if field == "sequence_type":
        return f"sequence({type_text(declared.sequence_type.elem_type)})"
    if field == "optional_type":
        return f"optional({type_text(declared.optional_type.elem_type)})"
    if field != "tensor_type":
        return (field or "").removesuffix("_type")
    tensor = declared.tensor_type
    if not tensor.HasField("shape"):
        return f"{_element_type(tensor.elem_type)}[...]"
    dims = [
        str(dim.dim_value) if dim.HasField("dim_value") else plain_name(dim.dim_param) or "?"
        for dim in tensor.shape.dim
    ]
    return f"{_element_type(tensor.elem_type)}[{','.join(dims)}]"


def _element_type(code: int) -> str:
    """The name of an element type as in IR, or as in ONNX if IR does not have it."""
    from onnx import TensorProto

    try:
        return str(element_type_of(code))
    except UnsupportedError:
        return TensorProto.DataType.Name(code).lower() if code in TensorProto.DataType.values() else str(code)


def _listed_tensor(tensor: TensorProto, own: str) -> ListedTensor:
    external = None
    if tensor.data_location == tensor.EXTERNAL:
        location = next((entry.value for entry in tensor.external_data if entry.key == "location"), "")
        external = None if location == own else location
    return ListedTensor(tensor.name, _element_type(tensor.data_type), tuple(tensor.dims), _size(tensor), external)


def _size(tensor: TensorProto) -> int:
    """The bytes of the elements, for strings the bytes of the texts."""
    if tensor.string_data:
        return sum(map(len, tensor.string_data))
    try:
        bits = element_type_of(tensor.data_type).bits
    except UnsupportedError:
        bits = 8
    return int((prod(tensor.dims) * bits + 7) // 8)


def _nodes(graph: GraphProto, enclosing: tuple[str, ...] = ()) -> Iterator[ListedNode]:
    for node in graph.node:
        yield _node(node, enclosing)
        if len(enclosing) < _MOST_DEPTH:
            for body in _bodies(node):
                yield from _nodes(body, (*enclosing, name_of(node)))


def _bodies(node: NodeProto) -> Iterator[GraphProto]:
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def _node(node: NodeProto, enclosing: tuple[str, ...]) -> ListedNode:
    attributes = {attribute.name: attribute_text(attribute) for attribute in node.attribute}
    domain = shown_domain(canonical_domain(node.domain))
    return ListedNode(name_of(node), node.op_type, domain, attributes, tuple(node.input), tuple(node.output), enclosing)


def attribute_text(attribute: AttributeProto) -> str:
    """The value of an attribute in lists, shortened: `1,2`, `f32[64,3,7,7]`."""
    from onnx import AttributeProto

    if attribute.ref_attr_name:
        return f"@{plain_name(attribute.ref_attr_name)}"
    match AttributeProto.AttributeType.Name(attribute.type):
        case "INT":
            return str(attribute.i)
        case "FLOAT":
            return f"{attribute.f:.9g}"
        case "STRING":
            return _cut(attribute.s.decode(errors="replace"))
        case "INTS":
            return _list(map(str, attribute.ints), len(attribute.ints))
        case "FLOATS":
            return _list((f"{value:.9g}" for value in attribute.floats), len(attribute.floats))
        case "STRINGS":
            return _list((string.decode(errors="replace") for string in attribute.strings), len(attribute.strings))
        case "TENSOR":
            return _listed_tensor(attribute.t, "").type
        case "SPARSE_TENSOR":
            dims = ",".join(map(str, attribute.sparse_tensor.dims))
            return f"sparse {_element_type(attribute.sparse_tensor.values.data_type)}[{dims}]"
        case "TYPE_PROTO":
            return type_text(attribute.tp)
        case "GRAPH":
            return f"graph {plain_name(attribute.g.name)!r}, {len(attribute.g.node)} nodes"
        case name:
            return str(name).lower()


def _list(texts: Iterable[str], count: int) -> str:
    shown = [text for text, _ in zip(texts, range(_MOST_SHOWN), strict=False)]
    return _cut(",".join(shown)) + (f",... {count} in all" if count > _MOST_SHOWN else "")


def _cut(text: str) -> str:
    return shorten(text, 4 * _MOST_SHOWN)
