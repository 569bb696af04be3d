"""SDPAToPagedAttention: attention with a cache in blocks, for the pipelines of OpenVINO GenAI.

OpenVINO 2026.4, src/core/src/pass/sdpa_to_paged_attention.cpp and
src/common/transformations/src/transformations/sdpa_to_paged_attention. The conversion fails as a whole if the model has
no variables, no attention operator or no token input, and if a layer that remains reads `beam_idx` or `attention_mask`,
which it removes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ir_exec.fusions.network import FusionGraph
from ir_exec.fusions.records import FusionTarget, MissedFusion
from ir_exec.fusions.transformation import Matches, Transformation, as_missed, openvino_source
from ir_exec.fusions.transformations.states import has_cached_keys
from ir_exec.graph import Node, Value
from ir_exec.plan.patterns import Match, Mismatch, NodePattern, anything, constant, explain, number, one_of, op

__all__ = ["PAGED_ATTENTION"]

_TOKEN_INPUTS = ("input_ids", "inputs_embeds")
_REMOVED_INPUTS = ("beam_idx", "attention_mask")
_CACHE_INPUT = "past_key"
"""A part of the names of inputs that hold a cache."""

_SOFTMAX = ("Softmax", "SoftMax")
_WITH_SDPA = "export with the attention implementation sdpa"
_STATEFUL = "export without --disable-stateful"
_WITH_PAST = "export with --task text-generation-with-past"


def _has_static_heads(match: Match, value: Value) -> bool:
    """Return True if the number of heads and their size are static."""
    dims = match.graph.type(value).shape.dims
    if dims is None or len(dims) < 3 or not dims[-1].is_static:
        return False
    return dims[-3].is_static or any(match.graph.kind(node) == "Broadcast" for node in match.nodes)


def _is_scalar(match: Match, value: Value) -> bool:
    return match.graph.type(value).shape in ([], [1])


def _present(name: str) -> NodePattern:
    """The keys or values of all positions: those of the state and the new ones."""
    selected = op("Gather", op("ReadValue"), anything(), anything())
    past = one_of(op("Transpose", selected, anything()), selected, op("Parameter"))
    current = anything(f"current_{name}")
    return one_of(op("Concat", past, current), op("VariadicSplit", op("Concat", past, current), anything(), anything()))


def _heads(present: NodePattern) -> NodePattern:
    """The heads of grouped queries, repeated for all queries of a group."""

    def slice_twice(value: NodePattern) -> NodePattern:
        return one_of(
            op("StridedSlice|Slice", op("StridedSlice|Slice", value, more_inputs=True), more_inputs=True), value
        )

    wide = slice_twice(op("Unsqueeze|Reshape", slice_twice(present), anything()))
    repeated = op("Broadcast", wide, anything())
    shaped = one_of(op("Reshape", repeated, anything()), repeated)
    turned = op("Transpose", one_of(shaped, present), anything())
    return one_of(turned, shaped, op("Reshape", present, anything()), present).where(
        "a static number and size of heads", _has_static_heads
    )


_ATTENTION = op(
    "ScaledDotProductAttention",
    anything("query"),
    _heads(_present("key")),
    _heads(_present("value")),
    anything("mask"),
    more_inputs=True,
)
_PATTERN = _ATTENTION.where("a scale of one element", lambda match, value: _has_scalar_scale(match, value))


def _has_scalar_scale(match: Match, value: Value) -> bool:
    inputs = match.node(value).values_in
    return len(inputs) < 5 or _is_scalar(match, inputs[4])


_PAST_LENGTH = op(
    "Gather", op("ShapeOf", op("Gather", op("ReadValue"), anything(), anything())), constant("index"), anything()
)
_TOTAL_LENGTH = op(
    "Gather",
    op("ShapeOf", op("Concat", op("Gather", op("ReadValue"), anything(), anything()), anything())),
    number("index"),
    anything(),
)
_LENGTHS = one_of(_PAST_LENGTH, _TOTAL_LENGTH)
_CONVOLUTION = op(
    "GroupConvolution",
    op("Concat", op("Gather", op("ReadValue"), anything(), anything()), anything("current")),
    constant("filters"),
)
"""A causal convolution with its last inputs as state, which becomes PagedCausalConv1D."""
_TOKENS = op("Gather", anything(), anything(), anything())
_POSITIONS = op("Gather", anything(), anything("positions") + constant("offset"), anything())
_EMBEDDINGS = op("Add", one_of(op("MatMul", _TOKENS, anything()), _TOKENS), _POSITIONS)
"""Embeddings of tokens and of positions, which are replaced by the input `position_ids`."""


def _find(graph: FusionGraph, target: FusionTarget) -> Matches:
    tokens = [name for name in _TOKEN_INPUTS if _parameter(graph, name) is not None]
    attention = [node for node in graph.nodes if graph.kind(node) == "ScaledDotProductAttention"]
    if not graph.has_variables and not (tokens and _is_decoder(graph, attention)):
        return Matches()  # not a decoder: an encoder has no cache either
    reason = _rejection(graph, tokens, attention)
    if reason is not None:
        return Matches(missed=(reason,), fails=True)
    matches: dict[Node, Match] = {}
    missed = []
    for node in attention:
        result = explain(_PATTERN, graph, node)
        if isinstance(result, Match):
            matches[node] = result
        elif isinstance(result, Mismatch) and _is_self_attention(graph, node):
            missed.append(as_missed(result))
    remaining = [_removed_input(reader, name) for reader, name in _readers_of_removed_inputs(graph, matches)]
    roots = tuple(node.outputs[0] for node in matches)
    return Matches(roots, tuple(matches.values()), (*missed, *remaining[:1]), fails=bool(remaining))


def _is_decoder(graph: FusionGraph, attention: list[Node]) -> bool:
    """Return True for a model without variables that has its cache as inputs, or masks later tokens."""
    return _has_cache_inputs(graph) or any(getattr(node.op, "causal", False) for node in attention)


def _has_cache_inputs(graph: FusionGraph) -> bool:
    names = (name for node in graph.nodes if graph.kind(node) == "Parameter" for name in node.outputs[0].names)
    return any(_CACHE_INPUT in name for name in names)


def _rejection(graph: FusionGraph, tokens: list[str], attention: list[Node]) -> MissedFusion | None:
    """The reason for the failure of the conversion before it searches attention."""
    if not graph.has_variables:
        hint = _STATEFUL if _has_cache_inputs(graph) else _WITH_PAST
        return MissedFusion(layer="", expected="a model with variables", actual="no variables", hint=hint)
    if not attention:
        return MissedFusion(
            layer="",
            expected="ScaledDotProductAttention",
            actual="no such layer",
            hint=_WITH_SDPA if any(graph.kind(node) in _SOFTMAX for node in graph.nodes) else None,
        )
    if not tokens:
        return MissedFusion(layer="", expected="an input input_ids or inputs_embeds", actual="no such input")
    return None


def _is_self_attention(graph: FusionGraph, node: Node) -> bool:
    """Return True unless keys and values are those of an encoder, which are not converted."""
    return has_cached_keys(graph, node)


def _removed_input(reader: Node, name: str) -> MissedFusion:
    return MissedFusion(
        layer=reader.name,
        expected=f"no reader of the input {name} but converted attention",
        actual=f'{reader.type} "{reader.name}" reads it',
    )


def _parameter(graph: FusionGraph, name: str) -> Node | None:
    """The input with a tensor name."""
    for node in graph.nodes:
        if graph.kind(node) == "Parameter" and name in node.outputs[0].names:
            return node
    return None


def _readers_of_removed_inputs(graph: FusionGraph, converted: dict[Node, Match]) -> Iterator[tuple[Node, str]]:
    """Layers that read inputs that the conversion removes, and that the outputs still depend on."""
    removed = {_parameter(graph, name): name for name in _REMOVED_INPUTS}
    positions = _replaced_positions(graph)
    current: list[Node] = [node for node in graph.nodes if graph.kind(node) == "Result"]
    seen = set(current)
    while current:
        node = current.pop()
        for value in _remaining_inputs(graph, node, converted):
            source = graph.producer(value)
            if source is None or value in positions:
                continue
            if source in removed:
                yield node, removed[source]
            elif source not in seen:
                seen.add(source)
                current.append(source)


def _remaining_inputs(graph: FusionGraph, node: Node, converted: dict[Node, Match]) -> Iterable[Value]:
    """The inputs that a node has after the conversion."""
    match = converted.get(node)
    if match is not None:
        return [match.values[name] for name in ("query", "current_key", "current_value")]
    if graph.kind(node) == "GroupConvolution":
        convolution = explain(_CONVOLUTION, graph, node)
        return [convolution.values["current"]] if isinstance(convolution, Match) else node.values_in
    if graph.kind(node) == "Gather" and isinstance(explain(_LENGTHS, graph, node), Match):
        return []
    return node.values_in


def _replaced_positions(graph: FusionGraph) -> set[Value]:
    """The positions of embeddings that are replaced by the input of the conversion."""
    positions = set()
    for node in graph.nodes:
        if graph.kind(node) == "Add":
            match = explain(_EMBEDDINGS, graph, node)
            if isinstance(match, Match):
                positions.add(match.values["positions"])
    return positions


PAGED_ATTENTION = Transformation(
    name="PagedAttention",
    targets=frozenset({"genai"}),
    source=openvino_source("SDPAToPagedAttention", "src/core/src/pass/sdpa_to_paged_attention.cpp"),
    find=_find,
    loss="no continuous batching and no prefix caching: the pipeline falls back to the stateful model",
)
