"""Pairs of nodes, constants and inputs of two ONNX graphs: by structure, with names as a guide.

Exporters number names anew when a node is added, so equal names may belong to different nodes. Nodes are paired by
everything that precedes them, then by everything that follows them, then by paired neighbors, and by names last.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ir_exec.debug.diffs.onnx_digests import (
    OnnxConstant,
    digest_of,
    form_of,
    hash_parts,
    is_equal_constant,
    node_key,
    operator_of,
)
from ir_exec.onnx.editing.scopes import bodies_of
from ir_exec.onnx.editing.sources import OnnxSource
from ir_exec.onnx.lowering.registry import canonical_domain
from ir_exec.onnx.reading.listing import plain_name
from ir_exec.onnx.reading.order import in_order, needed_names

if TYPE_CHECKING:
    from onnx import NodeProto

__all__ = ["Matching", "OnnxSide", "body_pairs", "match_graphs"]

_CONSTANT_VALUES = ("value_float", "value_floats", "value_int", "value_ints", "value_string", "value_strings")


class OnnxSide:
    """A graph, a body or a function of one of two files.

    Attributes:
        inputs: The names of the inputs that are no initializers.
        constants: The constants by name.
        nodes: The other nodes, with their positions in the file.
    """

    def __init__(self, source: OnnxSource, content: Any) -> None:
        self.source = source
        self.content = content
        is_function = content.DESCRIPTOR.name == "FunctionProto"
        self.constants: dict[str, OnnxConstant] = {}
        if not is_function:
            for tensor in content.initializer:
                name = plain_name(tensor.name)
                self.constants[name] = OnnxConstant(name, tensor, tensor)
            for sparse in content.sparse_initializer:
                name = plain_name(sparse.values.name)
                self.constants[name] = OnnxConstant(name, sparse, None)
        self.nodes: list[tuple[int, NodeProto]] = []
        for position, node in enumerate(content.node):
            constant = _constant_of(node, position)
            if constant is None:
                self.nodes.append((position, node))
            else:
                self.constants[constant.name] = constant
        self.inputs = [plain_name(name if is_function else name.name) for name in content.input]
        self.inputs = [name for name in self.inputs if name not in self.constants]
        self.outputs = [plain_name(name if is_function else name.name) for name in content.output]
        self.types = {} if is_function else {plain_name(declared.name): declared.type for declared in content.input}
        self.producers = {
            plain_name(name): (index, port)
            for index, (_, node) in enumerate(self.nodes)
            for port, name in enumerate(node.output)
            if name
        }
        self.readers: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for index, (_, node) in enumerate(self.nodes):
            for port, name in enumerate(node.input):
                if name:
                    self.readers[plain_name(name)].append((index, port))
            for name in self.list_captured(index):
                self.readers[name].append((index, -1))
        self.keys = [node_key(self.source, node) for _, node in self.nodes]

    def defines(self, name: str) -> bool:
        """Return True for an input, a constant or an output of a node."""
        return name in self.producers or name in self.constants or name in self.inputs

    def list_captured(self, index: int) -> list[str]:
        """Return the names that the bodies of a node read."""
        node = self.nodes[index][1]
        if not any(True for _ in bodies_of(node)):
            return []
        return sorted(map(plain_name, needed_names(node) - set(node.input)))

    def order(self) -> list[int]:
        """Return the positions of the nodes, each after the sources of its inputs; nodes in a cycle are last."""
        indices = {id(node): index for index, (_, node) in enumerate(self.nodes)}
        nodes = [node for _, node in self.nodes]
        produced = {name for node in nodes for name in node.output}
        available = {name for node in nodes for name in needed_names(node)} - produced
        order = [indices[id(node)] for _, node in in_order(nodes, available, lambda error: None)]
        ordered = set(order)
        return [*order, *(index for index in range(len(nodes)) if index not in ordered)]


def _constant_of(node: NodeProto, position: int) -> OnnxConstant | None:
    if node.op_type != "Constant" or canonical_domain(node.domain) or len(node.output) != 1 or len(node.attribute) != 1:
        return None
    (attribute,) = node.attribute
    name = plain_name(node.output[0])
    if attribute.HasField("t"):
        return OnnxConstant(name, attribute.t, attribute.t, node, position)
    return OnnxConstant(name, attribute, None, node, position) if attribute.name in _CONSTANT_VALUES else None


@dataclass
class Matching:
    """The pairs of two graphs.

    Attributes:
        nodes: The position in `nodes` of the second graph by that of the first.
        values: Names of inputs and constants of the second graph by those of the first.
        outer: Names of values of the enclosing graphs of the second graph by those of the first.
    """

    a: OnnxSide
    b: OnnxSide
    outer: Mapping[str, str]
    nodes: dict[int, int] = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=dict)

    def partner(self, name: str) -> str | None:
        """Return the value of the second graph for a value of the first; None for an unpaired one."""
        if name in self.values:
            return self.values[name]
        location = self.a.producers.get(name)
        if location is None:
            return self.outer.get(name)
        index = self.nodes.get(location[0])
        if index is None:
            return None
        outputs = self.b.nodes[index][1].output
        return plain_name(outputs[location[1]]) if location[1] < len(outputs) else None

    def all_values(self) -> dict[str, str]:
        """Return all paired values, for bodies."""
        pairs = {**self.outer, **self.values}
        for name in self.a.producers:
            partner = self.partner(name)
            if partner is not None:
                pairs[name] = partner
        return pairs


def match_graphs(a: OnnxSide, b: OnnxSide, outer: Mapping[str, str]) -> Matching:
    """Pair the inputs, constants and nodes of two graphs.

    Args:
        outer: Paired values of the enclosing graphs, by the names in the first file.
    """
    matching = Matching(a, b, outer)
    _match_inputs(matching)
    _match_constants(matching)
    pairing = _NodePairing(matching)
    pairing.by_labels()
    while pairing.by_neighbors() or pairing.by_names() or _match_constants_of_nodes(matching):
        pass
    pairing.by_changed_operators()
    _match_constants_of_nodes(matching)
    return matching


def _match_inputs(matching: Matching) -> None:
    a, b = matching.a, matching.b
    partners = set(b.inputs)
    matching.values |= {name: name for name in a.inputs if name in partners}
    left = [name for name in a.inputs if name not in matching.values]
    right = [name for name in b.inputs if name not in set(matching.values.values())]
    if len(a.inputs) == len(b.inputs):
        for name, other in zip(a.inputs, b.inputs, strict=True):
            if name in left and other in right:
                matching.values[name] = other
    elif len(left) == len(right):
        matching.values |= zip(left, right, strict=True)


def _match_constants(matching: Matching) -> None:
    """Pair constants of equal name and value, then of equal value, then of equal name and dims."""
    a, b = matching.a.constants, matching.b.constants
    used = set()
    for name, constant in a.items():
        other = b.get(name)
        if other is not None and is_equal_constant(matching.a.source, constant, matching.b.source, other):
            matching.values[name] = name
            used.add(name)
    left = [name for name in a if name not in matching.values]
    right = [name for name in b if name not in used]
    by_digest: dict[Hashable, list[str]] = defaultdict(list)
    # Digests read the data, which is not needed if one side has no candidates.
    for name in right if left else ():
        by_digest[digest_of(matching.b.source, b[name])].append(name)
    for name in left if right else ():
        candidates = by_digest.get(digest_of(matching.a.source, a[name]), [])
        if candidates:
            matching.values[name] = candidates.pop(0)
            used.add(matching.values[name])
    for name in left:
        if name not in matching.values and name in b and name not in used and form_of(a[name]) == form_of(b[name]):
            matching.values[name] = name
            used.add(name)


def _match_constants_of_nodes(matching: Matching) -> bool:
    """Pair the remaining constants that paired nodes read at the same position, and return True if there are any."""
    a, b = matching.a, matching.b
    used = set(matching.values.values())
    is_changed = False
    for index, other in matching.nodes.items():
        for left, right in zip(a.nodes[index][1].input, b.nodes[other][1].input, strict=False):
            name, partner = plain_name(left), plain_name(right)
            if name in a.constants and name not in matching.values and partner in b.constants and partner not in used:
                matching.values[name] = partner
                used.add(partner)
                is_changed = True
    return is_changed


class _NodePairing:
    def __init__(self, matching: Matching) -> None:
        self._matching = matching
        self._a, self._b = matching.a, matching.b
        self._nodes = matching.nodes
        self._used: set[int] = set()
        self._paired_values: set[str] = set()

    def _pair(self, index: int, other: int) -> None:
        self._nodes[index] = other
        self._used.add(other)

    def _open(self) -> tuple[list[int], list[int]]:
        left = [index for index in range(len(self._a.nodes)) if index not in self._nodes]
        return left, [index for index in range(len(self._b.nodes)) if index not in self._used]

    def by_labels(self) -> None:
        """Pair nodes with equal predecessors, then with equal successors."""
        partners = {other: name for name, other in self._matching.values.items()}
        partners_of_outer = {other: name for name, other in self._matching.outer.items()}
        forward = (
            _forward_labels(self._a, lambda name: name if name in self._matching.values else self._outer_key(name)),
            _forward_labels(self._b, lambda name: partners.get(name) or partners_of_outer.get(name)),
        )
        self._by_keys(*forward)
        self._by_keys(_backward_labels(self._a), _backward_labels(self._b))

    def _outer_key(self, name: str) -> str | None:
        return name if name in self._matching.outer else None

    def _by_keys(self, left: Sequence[Hashable], right: Sequence[Hashable]) -> bool:
        """Pair open nodes of equal keys, those of equal names first, and return True if there are any."""
        groups: dict[Hashable, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        open_left, open_right = self._open()
        for index in open_left:
            if left[index] is not None:
                groups[left[index]][0].append(index)
        for index in open_right:
            if right[index] is not None:
                groups[right[index]][1].append(index)
        count = len(self._nodes)
        for mine, theirs in groups.values():
            if not mine or not theirs:
                continue
            by_name = {_name(self._b, other): other for other in reversed(theirs)}
            unnamed = []
            for index in mine:
                other = by_name.get(_name(self._a, index))
                if other is not None and other not in self._used:
                    self._pair(index, other)
                else:
                    unnamed.append(index)
            for index, other in zip(unnamed, [other for other in theirs if other not in self._used], strict=False):
                self._pair(index, other)
        return len(self._nodes) > count

    def by_neighbors(self) -> bool:
        """Pair open nodes of one operator whose inputs, or whose readers, are paired."""
        count = len(self._nodes)
        self._paired_values = set(self._matching.values.values())
        for is_strict in (True, False):
            self._by_keys(
                [self._input_key(self._a, index, is_strict, True) for index in range(len(self._a.nodes))],
                [self._input_key(self._b, index, is_strict, False) for index in range(len(self._b.nodes))],
            )
            self._by_keys(
                [self._reader_key(self._a, index, is_strict, True) for index in range(len(self._a.nodes))],
                [self._reader_key(self._b, index, is_strict, False) for index in range(len(self._b.nodes))],
            )
        return len(self._nodes) > count

    def _input_key(self, side: OnnxSide, index: int, is_strict: bool, is_first: bool) -> Hashable | None:
        if (index in self._nodes) if is_first else (index in self._used):
            return None
        node = side.nodes[index][1]
        names = [plain_name(name) for name in node.input]
        partners = [self._matching.partner(name) if is_first else self._own(name) for name in names]
        if not any(partners):
            return None
        return (side.keys[index] if is_strict else operator_of(node), *partners)

    def _own(self, name: str) -> str | None:
        """Return a value of the second graph if it is paired."""
        location = self._b.producers.get(name)
        if location is not None:
            return name if location[0] in self._used else None
        if name in self._b.constants or name in self._b.inputs:
            return name if name in self._paired_values else None
        return name

    def _reader_key(self, side: OnnxSide, index: int, is_strict: bool, is_first: bool) -> Hashable | None:
        if (index in self._nodes) if is_first else (index in self._used):
            return None
        node = side.nodes[index][1]
        readers: list[tuple[int, int, int]] = []
        for port, name in enumerate(node.output):
            for reader, position in side.readers.get(plain_name(name), ()):
                other = self._nodes.get(reader) if is_first else reader if reader in self._used else None
                if other is not None:
                    readers.append((port, other, position))
            if plain_name(name) in side.outputs and len(self._a.outputs) == len(self._b.outputs):
                readers.append((port, -1, side.outputs.index(plain_name(name))))
        if not readers:
            return None
        return (side.keys[index] if is_strict else operator_of(node), *sorted(readers))

    def by_names(self) -> bool:
        """Pair open nodes of equal name and operator."""
        return self._by_keys(
            [(_name(self._a, index), operator_of(node)) for index, (_, node) in enumerate(self._a.nodes)],
            [(_name(self._b, index), operator_of(node)) for index, (_, node) in enumerate(self._b.nodes)],
        )

    def by_changed_operators(self) -> None:
        """Pair open nodes of different operators that have the same name, or the same inputs and readers."""
        self._by_keys(
            [_name(self._a, index) for index in range(len(self._a.nodes))],
            [_name(self._b, index) for index in range(len(self._b.nodes))],
        )
        self._by_keys(
            [self._context_key(self._a, index, True) for index in range(len(self._a.nodes))],
            [self._context_key(self._b, index, False) for index in range(len(self._b.nodes))],
        )

    def _context_key(self, side: OnnxSide, index: int, is_first: bool) -> Hashable | None:
        inputs = self._input_key(side, index, False, is_first)
        readers = self._reader_key(side, index, False, is_first)
        if not isinstance(inputs, tuple) or not isinstance(readers, tuple):
            return None
        return (inputs[1] if len(inputs) > 1 else None, readers[1:])


def _name(side: OnnxSide, index: int) -> str:
    node = side.nodes[index][1]
    return plain_name(node.name or next((name for name in node.output if name), ""))


def _forward_labels(side: OnnxSide, key_of: Callable[[str], str | None]) -> list[Hashable]:
    """Return a label of each node for its operator, its attributes and all that precedes it.

    Args:
        key_of: Returns equal keys for paired inputs, constants and values of enclosing graphs; None for others.
    """
    labels: dict[str, bytes] = {}

    def label(name: str) -> bytes:
        if name in labels:
            return labels[name]
        key = key_of(name)
        if key is None and name in side.constants:
            return hash_parts("constant", *map(str, form_of(side.constants[name])))
        return hash_parts("value", key or ("" if name in side.producers else "?"))

    by_node: list[Hashable] = [b""] * len(side.nodes)
    for index in side.order():
        node = side.nodes[index][1]
        sources = [label(plain_name(name)) if name else b"" for name in node.input]
        captured = sorted(label(name) for name in side.list_captured(index))
        own = hash_parts(side.keys[index], *sources, b"|", *captured)
        by_node[index] = own
        for port, name in enumerate(node.output):
            labels[plain_name(name)] = hash_parts(own, str(port))
    return by_node


def _backward_labels(side: OnnxSide) -> list[Hashable]:
    """Return a label of each node for its operator, its attributes and all that follows it."""
    labels: list[bytes] = [b""] * len(side.nodes)
    ends = {name: position for position, name in enumerate(side.outputs)}
    for index in reversed(side.order()):
        parts = []
        for port, name in enumerate(side.nodes[index][1].output):
            readers = side.readers.get(plain_name(name), ())
            parts += [hash_parts(str(port), labels[reader], str(position)) for reader, position in readers]
            if plain_name(name) in ends:
                parts.append(hash_parts(str(port), "output", str(ends[plain_name(name)])))
        labels[index] = hash_parts(side.keys[index], *sorted(parts))
    return list(labels)


def body_pairs(a: NodeProto, b: NodeProto) -> Iterator[tuple[str, Any, Any]]:
    """Yield the bodies of two nodes in attributes of the same name."""
    others = {body.name: body.graph for body in bodies_of(b)}
    for name, graph in bodies_of(a):
        if name in others:
            yield name, graph, others[name]
