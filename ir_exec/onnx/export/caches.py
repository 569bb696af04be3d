"""Caches of decoders: values of variables to which a run appends elements that only attention reads.

Exporters write a cache as ReadValue, Gather by the indices of beams, Concat with the new elements, and Assign. Heads of
keys and values for several heads of queries are repeated by Unsqueeze, Broadcast and Reshape. Attention reads the old
and the new elements apart, so no run copies a cache, and a cache may be memory with room for more elements.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ir_exec.graph import Graph, Node, Value
from ir_exec.onnx.export.fusible import readers_of
from ir_exec.ops.base.registry import canonical
from ir_exec.ops.infrastructure.values import Parameter
from ir_exec.types import ElementType, TensorType

__all__ = ["BEAM_AXIS", "GROWING_AXIS", "CachedAttention", "Caches", "DecoderCache", "find_caches"]

BEAM_AXIS = 0
GROWING_AXIS = 2
"""The axis of a cache [B, H, S, E] along which elements are appended."""


_WIDENED = frozenset({ElementType.f32, ElementType.f16, ElementType.bf16})
"""The element types that are computed in f32."""


@dataclass(frozen=True, eq=False)
class DecoderCache:
    """A cache of one variable.

    Attributes:
        past: The Parameter's value with the old elements.
        beams: The Parameter's value with the indices of beams; None if no layer reorders the cache.
        reorder: The Gather by beams.
        append: The Concat.
    """

    variable_id: str
    past: Value
    beams: Value | None
    reorder: Node | None
    append: Node

    @property
    def new(self) -> Value:
        """The elements that a run appends."""
        return self.append.values_in[1]

    @property
    def present(self) -> Value:
        """The old and the new elements."""
        return self.append.outputs[0]


@dataclass(frozen=True, eq=False)
class CachedAttention:
    """An attention whose keys and values are caches.

    Attributes:
        group: The heads of queries for each head of keys and values.
    """

    key: DecoderCache
    value: DecoderCache
    group: int


@dataclass(frozen=True, eq=False)
class Caches:
    """The caches of a graph.

    Attributes:
        attentions: The attentions, by their nodes.
        shapes: The ShapeOf layers of caches: the cache, and True for the shape with the new elements.
        repeated: The layers that repeat heads for these attentions.
        checks: The target shapes [B, H, G, S, E] of layers that repeat heads. In a run B and S must be 1, or those of
            the caches with their new elements.
    """

    entries: tuple[DecoderCache, ...]
    attentions: Mapping[Node, CachedAttention]
    shapes: Mapping[Node, tuple[DecoderCache, bool]]
    repeated: frozenset[Node]
    checks: tuple[Value, ...]

    @property
    def nodes(self) -> set[Node]:
        """The layers of the caches and of the attention to them."""
        own = {node for cache in self.entries for node in (cache.reorder, cache.append) if node is not None}
        return own | set(self.attentions) | set(self.shapes) | self.repeated


@dataclass
class _Readers:
    """The layers that read a cache.

    Attributes:
        group: The heads of queries for each head, by the attention and the position of its input.
    """

    group: dict[tuple[Node, int], int] = field(default_factory=dict)
    shapes: dict[Node, bool] = field(default_factory=dict)
    repeated: set[Node] = field(default_factory=set)
    targets: list[Value] = field(default_factory=list)


def find_caches(
    graph: Graph,
    types: Mapping[Value, TensorType],
    pasts: Mapping[Value, str],
    presents: Mapping[Value, str],
    *,
    is_wide: bool,
) -> Caches | None:
    """The caches of a graph; None if it has none.

    Args:
        pasts: The values of Parameters that are values of variables, with the ids of the variables.
        presents: The values that only variables read outside the graph, with the ids of the variables.
        is_wide: 16-bit floats are computed in f32.
    """
    element_types = _WIDENED if is_wide else frozenset({ElementType.f32})
    finder = _Finder(types, readers_of(graph), presents, element_types)
    candidates = {
        cache: readers for past, id in pasts.items() if (match := finder.match(past, id)) for cache, readers in [match]
    }
    while True:
        attentions = _pair(candidates)
        complete = {
            cache: readers
            for cache, readers in candidates.items()
            if readers.group and all(node in attentions for node, _ in readers.group)
        }
        if len(complete) == len(candidates):
            break
        candidates = complete
    if not candidates:
        return None
    return Caches(
        tuple(candidates),
        attentions,
        {
            node: (cache, is_present)
            for cache, readers in candidates.items()
            for node, is_present in readers.shapes.items()
        },
        frozenset(node for readers in candidates.values() for node in readers.repeated),
        tuple(dict.fromkeys(target for readers in candidates.values() for target in readers.targets)),
    )


def _pair(candidates: Mapping[DecoderCache, _Readers]) -> dict[Node, CachedAttention]:
    """The attentions whose keys and values are caches with equal groups of heads."""
    inputs: dict[Node, dict[int, tuple[DecoderCache, int]]] = {}
    for cache, readers in candidates.items():
        for (node, position), group in readers.group.items():
            inputs.setdefault(node, {})[position] = (cache, group)
    attentions = {}
    for node, pair in inputs.items():
        if len(pair) == 2 and pair[1][1] == pair[2][1]:
            attentions[node] = CachedAttention(pair[1][0], pair[2][0], pair[1][1])
    return attentions


class _Finder:
    """The search for caches."""

    def __init__(
        self,
        types: Mapping[Value, TensorType],
        readers: Mapping[Value, list[Node]],
        presents: Mapping[Value, str],
        element_types: frozenset[ElementType],
    ) -> None:
        self._element_types = element_types
        self._types = types
        self._readers = readers
        self._presents = presents

    def match(self, past: Value, variable_id: str) -> tuple[DecoderCache, _Readers] | None:
        """The cache of a variable and its readers; None for other variables."""
        type = self._types[past]
        dims = type.shape.dims
        if type.element_type not in self._element_types or dims is None or len(dims) != 4:
            return None
        if dims[GROWING_AXIS].is_static or not (dims[1].is_static and dims[3].is_static and dims[1].lo and dims[3].lo):
            return None
        readers = _Readers()
        value, beams, reorder = past, None, None
        gathers = [node for node in self._readers.get(past, ()) if canonical(node.type) == "Gather"]
        if gathers:
            reorder = gathers[0]
            if len(self._readers[past]) > 1 or not self._reorders_beams(reorder):
                return None
            value, beams = reorder.outputs[0], reorder.values_in[1]
        append = None
        for node in self._readers.get(value, ()):
            if canonical(node.type) == "ShapeOf":
                readers.shapes[node] = False
            elif append is None and self._appends(node, value) and self._presents.get(node.outputs[0]) == variable_id:
                append = node
            else:
                return None
        if append is None or not self._follow(append.outputs[0], dims[1].lo, readers):
            return None
        return DecoderCache(variable_id, past, beams, reorder, append), readers

    def _reorders_beams(self, gather: Node) -> bool:
        """Return True for a Gather of slices along the axis of beams by an input of the graph."""
        indices, axis = gather.values_in[1:3]
        if not isinstance(indices.node.op, Parameter) or self._types[indices].rank != 1:
            return False
        return self._constant(axis) == [BEAM_AXIS] and not vars(gather.op).get("batch_dims")

    def _appends(self, node: Node, value: Value) -> bool:
        if canonical(node.type) != "Concat" or len(node.values_in) != 2 or node.values_in[0] is not value:
            return False
        return vars(node.op)["axis"] in (GROWING_AXIS, GROWING_AXIS - 4) and node.values_in[1] is not value

    def _follow(self, present: Value, heads: int, readers: _Readers) -> bool:
        """Collect the readers of a cache with new elements; False if others than attention read it."""
        for node in self._readers.get(present, ()):
            type_name = canonical(node.type)
            if node.op is not None and node.op.is_result:
                continue
            if type_name == "ShapeOf":
                readers.shapes[node] = True
            elif type_name == "Unsqueeze" and node.values_in[0] is present:
                if not self._follow_repeated(node, heads, readers):
                    return False
            elif not self._add_attention(node, present, heads, 1, readers):
                return False
        return True

    def _follow_repeated(self, unsqueeze: Node, heads: int, readers: _Readers) -> bool:
        """Collect the readers of repeated heads: Unsqueeze, Broadcast, Reshape."""
        if self._constant(unsqueeze.values_in[1]) not in ([2], [-3]):
            return False
        readers.repeated.add(unsqueeze)
        for broadcast in self._readers.get(unsqueeze.outputs[0], ()):
            if canonical(broadcast.type) != "Broadcast" or len(broadcast.values_in) != 2:
                return False
            own, dims = (self._types[value].shape.dims for value in (unsqueeze.outputs[0], broadcast.outputs[0]))
            if own is None or dims is None or len(dims) != 5 or broadcast.values_in[0] is not unsqueeze.outputs[0]:
                return False
            if not dims[2].is_static or (dims[1], dims[4]) != (own[1], own[4]):
                return False
            if vars(broadcast.op)["mode"] not in ("numpy", "bidirectional"):
                return False
            readers.repeated.add(broadcast)
            target = self._constant(broadcast.values_in[1])
            if target is None:
                readers.targets.append(broadcast.values_in[1])
            elif target[BEAM_AXIS] != 1 or target[3] != 1:
                return False
            for reshape in self._readers.get(broadcast.outputs[0], ()):
                if not self._joins_heads(reshape, heads * dims[2].lo, dims[4].lo):
                    return False
                readers.repeated.add(reshape)
                joined = reshape.outputs[0]
                for node in self._readers.get(joined, ()):
                    if not self._add_attention(node, joined, heads, dims[2].lo, readers):
                        return False
        return True

    def _joins_heads(self, reshape: Node, heads: int, size: int) -> bool:
        """Return True for a Reshape to [B, heads, S, size] that keeps B."""
        if canonical(reshape.type) != "Reshape" or not vars(reshape.op)["special_zero"]:
            return False
        target = self._constant(reshape.values_in[1])
        return target is not None and target in ([0, heads, -1, size], [0, -1, 0, size], [0, heads, 0, size])

    def _add_attention(self, node: Node, value: Value, heads: int, group: int, readers: _Readers) -> bool:
        if canonical(node.type) != "ScaledDotProductAttention" or vars(node.op)["causal"] or None in node.inputs:
            return False
        if len(node.inputs) > 5 or node.values_in.count(value) != 1 or value not in node.values_in[1:3]:
            return False
        query = self._types[node.values_in[0]].shape.dims
        if query is None or len(query) != 4 or not query[1].is_static or query[1].lo != heads * group:
            return False
        if not query[3].is_static or not query[3].lo:
            return False
        if len(node.inputs) > 3 and self._types[node.values_in[3]].rank is None:
            return False
        readers.group[node, node.values_in.index(value)] = group
        return True

    def _constant(self, value: Value) -> list[int] | None:
        """The elements of an integer value that is known before a run."""
        array = self._types[value].value
        if array is None:
            return None
        return [int(element) for element in array.reshape(-1)]
