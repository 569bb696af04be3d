"""Evidence that the weights belong to another model: their size, impossible integers, and implausible floats.

Evidence is collected only after another failure, without cost for correct files. Small integer constants are read
according to their use (axes, shapes, orders, indices). Of float constants, only the first elements are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import IRError, Location, WeightsError
from ir_exec.graph import Graph, Node
from ir_exec.ir import Weights
from ir_exec.ops.infrastructure.values import Const
from ir_exec.types import Array, ElementType

__all__ = ["OWNER_HINT", "explained_by_weights", "foreign_weights"]

OWNER_HINT = "check that this .bin belongs to this .xml"

Role: TypeAlias = Literal["axes", "order", "shape", "count", "place"]

_ROLES: dict[str, Role] = {
    **dict.fromkeys(("axis", "axes", "axes_mapping"), "axes"),
    "input_order": "order",
    **dict.fromkeys(("shape", "target_shape", "target_spatial_shape", "output_shape", "batch_shape"), "shape"),
    **dict.fromkeys(("sizes", "scales_or_sizes", "signal_size", "output_size", "kernel_size", "dense_shape"), "count"),
    **dict.fromkeys(("repeats", "split_lengths", "block_shape", "pads_begin", "pads_end"), "count"),
    **dict.fromkeys(("crops_begin", "crops_end", "k", "depth", "num_segments", "num_rows", "num_columns"), "count"),
    **dict.fromkeys(("begin", "end", "start", "stop", "stride", "step", "shift", "indices", "trip_count"), "place"),
}
"""The meaning of an operator's integer inputs, by the name of the input."""

_LARGEST_ROLE = 1024
"""Maximum bytes of an integer constant that is examined."""

_MOST_AXES = 64
"""The limit of NumPy, far above any model."""

_LARGEST_COUNT = 2**31
_MOST_ELEMENTS = 2**50
_OPEN_ENDS = 2**20
"""Numbers this close to the ends of i32 and i64 mean "to the end", as do powers of ten."""

_SAMPLED_CONSTANTS = 128
_SAMPLED_ELEMENTS = 512
_FEW = 16
"""A constant of fewer floats may contain the limits of its type on purpose."""

_HUGE = {ElementType.f16: 2048.0, ElementType.bf16: 1e15, ElementType.f32: 1e15, ElementType.f64: 1e60}
_TINY = {ElementType.f16: 0.0, ElementType.bf16: 1e-30, ElementType.f32: 1e-30, ElementType.f64: 1e-100}
"""The range of magnitudes of trained weights."""

_ODD_SHARE = 0.1
"""Minimum fraction of implausible elements in a constant that is not considered floats."""


@dataclass(slots=True)
class _Evidence:
    """The evidence of the constants against the weights.

    Attributes:
        impossible: Values that no model has, by the layers that read them.
        wrong: Values that contradict the declarations of the layers.
        read: The examined integer constants.
        odd: The number of sampled float constants that are implausible.
        floats: The number of sampled float constants.
    """

    end: int
    size: int
    impossible: list[tuple[Node, str]] = field(default_factory=list)
    wrong: int = 0
    read: int = 0
    odd: int = 0
    floats: int = 0

    @property
    def is_enough(self) -> bool:
        count, wrong = len(self.impossible), len(self.impossible) + self.wrong
        if self.end == self.size:
            # Sizes of different models are rarely equal: damage, or a fault of an exporter, is as likely.
            return 2 * count >= max(self.read, 2) or (self.floats >= 4 and 2 * self.odd >= self.floats)
        if count or (self.odd and 5 * self.odd >= self.floats):
            return True
        # Weights that were only truncated have no wrong values; a few bytes after the end mean little.
        is_far = not self.end <= self.size <= 2 * self.end
        return wrong >= (1 if is_far else 2) and 2 * wrong >= self.read


def explained_by_weights(error: IRError, graph: Graph, weights: Weights | None, *, is_running: bool = False) -> IRError:
    """The error, or an error about weights of another model if there is evidence.

    A hint is added if only the constants of the layer are implausible, or if the weights have another size.

    Args:
        is_running: True for an error of a run; its inputs are a more likely cause than the size of the weights.
    """
    if weights is None or error.code == Code.foreign_weights or error.location.layer_id is None:
        return error
    evidence = _evidence(graph, weights)
    if evidence is None:
        return error
    location = replace(error.location, port=None)
    if evidence.is_enough:
        explanation = _error(evidence, weights)
        return explanation.changed(related=(location, *(other for other in explanation.related if other != location)))
    if any(node.location == location for node, _ in evidence.impossible):
        hint = OWNER_HINT
    elif (
        not is_running and evidence.end != evidence.size and any(_reads_constant(node) for node in _at(graph, location))
    ):
        hint = f"{OWNER_HINT} {_sizes(evidence)}"
    else:
        return error
    return error.changed(hint=f"{error.hint}; {hint}" if error.hint else hint)


def _at(graph: Graph, location: Location) -> Iterator[Node]:
    return (node for node in graph.all_nodes(unreachable=True) if node.location == location)


def _reads_constant(node: Node) -> bool:
    return any(isinstance(value.node.op, Const) for value in node.values_in)


def _sizes(evidence: _Evidence) -> str:
    return f"the constants end at byte {evidence.end:,}, the file at {evidence.size:,}"


def foreign_weights(graph: Graph, weights: Weights) -> WeightsError | None:
    """The error IR211 for constants that the layers of a model cannot use; None without enough evidence."""
    evidence = _evidence(graph, weights)
    return _error(evidence, weights) if evidence is not None and evidence.is_enough else None


def _evidence(graph: Graph, weights: Weights) -> _Evidence | None:
    nodes = list(graph.all_nodes(unreachable=True))
    constants = [node.op for node in nodes if isinstance(node.op, Const) and node.op.shape.is_static]
    if not constants:
        return None
    evidence = _Evidence(_end_of_constants(constants, weights), weights.file_size)
    _look_at_integers(nodes, weights, evidence)
    _look_at_floats(constants, weights, evidence)
    return evidence


def _end_of_constants(constants: Sequence[Const], weights: Weights) -> int:
    """The end of the last constant of the file, without appended ones."""
    ends = (op.offset + op.size for op in constants if op.shape.size.lo and not weights.is_appended(op.offset))
    return max(ends, default=0)


def _error(evidence: _Evidence, weights: Weights) -> WeightsError:
    parts = []
    if evidence.impossible:
        node, text = evidence.impossible[0]
        share = f"{len(evidence.impossible)} of {evidence.read} axes, shapes and indices are impossible"
        parts.append(f'{share} ({text} of layer {node.id} "{node.name}")')
    elif evidence.wrong:
        parts.append(f"{evidence.wrong} of {evidence.read} axes and shapes contradict the layers that read them")
    if evidence.odd:
        parts.append(
            f"{evidence.odd} of {evidence.floats} float constants consist mostly of NaN, denormal or huge numbers"
        )
    if evidence.end != evidence.size:
        parts.append(_sizes(evidence))
    message = "the weights do not belong to this model: " + "; ".join(parts)
    places = tuple(dict.fromkeys(node.location for node, _ in evidence.impossible))[:3]
    location = Location(path=weights.path)
    return WeightsError(message, code=Code.foreign_weights, hint=OWNER_HINT, location=location, related=places)


def _look_at_integers(nodes: Sequence[Node], weights: Weights, evidence: _Evidence) -> None:
    seen: set[tuple[Node, Role]] = set()
    for node in nodes:
        for position, value in enumerate(node.inputs):
            op = None if value is None else value.node.op
            if value is None or not isinstance(op, Const) or not op.element_type.is_integer or node.op is None:
                continue
            role = _ROLES.get(node.op.input_name(position))
            if role is None or op.size > _LARGEST_ROLE or (value.node, role) in seen:
                continue
            array = _read(op, weights)
            if array is None or not array.size:
                continue
            seen.add((value.node, role))
            evidence.read += 1
            text = _impossible(array, role)
            if text is not None:
                evidence.impossible.append((node, f"{node.op.input_name(position)} {text}"))
            elif _is_wrong(array, role, node):
                evidence.wrong += 1


def _read(op: Const, weights: Weights) -> Array | None:
    try:
        return op.evaluate(weights=weights)
    except IRError:
        return None  # past the end


def _impossible(array: Array, role: Role) -> str | None:
    """A description of a value that is impossible for readers of this role; None for possible ones."""
    values = [int(value) for value in array.reshape(-1)]
    are_axes = role in ("axes", "order")
    for value in values:
        limit = _MOST_AXES if are_axes else _LARGEST_COUNT >> (3 if array.dtype.itemsize == 4 else 0)
        if abs(value) > limit and (are_axes or not _is_open_end(value)):
            return str(value)
    elements = 1
    for value in values:
        elements *= max(value, 1)
    return _format_values(values) if role == "shape" and elements > _MOST_ELEMENTS else None


def _format_values(values: list[int]) -> str:
    text = ", ".join(map(str, values[:6]))
    return f"[{text}, ...]" if len(values) > 6 else f"[{text}]"


def _is_open_end(value: int) -> bool:
    size = abs(value)
    ends = (2**31, 2**32, 2**62, 2**63)
    return any(abs(size - end) <= _OPEN_ENDS for end in ends) or set(str(size)[1:]) <= {"0"} or set(str(size)) == {"9"}


def _is_wrong(array: Array, role: Role, node: Node) -> bool:
    """Return True if values contradict the ranks and dims that their reader declares."""
    values = [int(value) for value in array.reshape(-1)]
    data = node.declared_inputs[0].shape.dims if node.declared_inputs else None
    output = node.outputs[0].declared.shape.dims if node.outputs else None
    if role == "order":
        return sorted(values) != list(range(len(values)))
    if role == "axes":
        rank = max((len(dims) for dims in (data, output) if dims is not None), default=_MOST_AXES)
        return any(not -rank <= value < rank for value in values)
    if role == "shape" and output is not None:
        pairs = zip(values, output, strict=False)
        return len(values) != len(output) or any(value > 0 and not dim.lo <= value for value, dim in pairs)
    return role == "count" and min(values) < -1


def _look_at_floats(constants: Sequence[Const], weights: Weights, evidence: _Evidence) -> None:
    kinds = {(op.offset, op.size): op for op in constants if op.element_type in _HUGE and op.shape.size.lo}
    chosen = list(kinds.values())[:: max(1, len(kinds) // _SAMPLED_CONSTANTS)]
    for op in chosen:
        for sample in _sample(op, weights):
            if sample.size < _FEW and not _TINY[op.element_type]:
                continue  # a few f16 may be anything
            evidence.floats += 1
            evidence.odd += _is_odd(sample, op.element_type)


def _sample(op: Const, weights: Weights) -> Iterator[Array]:
    """The first elements of a constant, as far as the weights contain them."""
    width = op.element_type.dtype.itemsize
    count = min(op.shape.size.lo, _SAMPLED_ELEMENTS, max(0, weights.size - op.offset) // width)
    if count and op.size >= count * width:
        stored = weights.read(op.element_type, (count,), op.offset, count * width)
        yield stored.astype(np.float64 if op.element_type is ElementType.f64 else np.float32)


def _is_odd(sample: Array, element_type: ElementType) -> bool:
    """Return True if a fraction of the elements cannot result from training or arithmetic."""
    bits = sample.view(f"u{sample.itemsize}")
    with np.errstate(all="ignore"):
        sizes = np.abs(sample)
        tiny = (sizes > 0) & (sizes < _TINY[element_type])
        if sample.size < _FEW:
            # Failed training results in the default NaN of the processor.
            payload = bits & ((1 << (22 if sample.itemsize == 4 else 51)) - 1)
            return bool((tiny | (np.isnan(sample) & (payload != 0))).any())
        odd = bits[tiny | ~(sizes <= _HUGE[element_type])]
    # Masks repeat one such number.
    return odd.size >= _ODD_SHARE * sample.size and len(np.unique(odd)) >= 4
