"""Faults that do not stop any pass: unused layers, duplicate names and ids, truncated weights, odd constants, constants
that overlap, and operators that no release of openvino_tokenizers has.

Odd constants contain NaN, infinities or clipped f16 values. Duplicate names include names that OpenVINO rejects:
colliding inputs and outputs of version 10, and repeated rt_info.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from ir_exec.check.declarations import End
from ir_exec.check.releases import EXTENSION, first_release, tokenizer_types
from ir_exec.codes import Code
from ir_exec.errors import GraphError, IRError, Location, Severity, WeightsError
from ir_exec.graph import Graph, Node
from ir_exec.hints import suggested
from ir_exec.ir import Document, Edge, Layer, Port, RtInfo, Weights
from ir_exec.ops.infrastructure.values import Const
from ir_exec.types import Array, ElementType, convert

__all__ = [
    "LARGEST_BY_DEFAULT",
    "all_graphs",
    "colliding_names",
    "constants",
    "cut_off_weights",
    "duplicate_names",
    "duplicate_port_ids",
    "layers_in_doubt",
    "odd_constants",
    "overlapping_constants",
    "repeated_rt_info",
    "unknown_tokenizer_operators",
    "unreachable_layers",
    "unreferenced_weights",
]


def all_graphs(graph: Graph) -> Iterator[Graph]:
    """The graph and the graphs of all bodies in it."""
    yield graph
    for node in (*graph.nodes, *graph.unreachable):
        for body in node.bodies:
            yield from all_graphs(body.graph)


def layers_in_doubt(layers: Sequence[Layer], edges: Sequence[Edge]) -> Iterator[Layer]:
    """Layers with a shared or unreadable id, and layers that edges connect to them or to ids that do not exist.

    If a layer has the id of another layer, its own edges dangle, and the edges of the other layer are ambiguous.
    """
    counts = Counter(layer.id for layer in layers)
    odd = {id for id, count in counts.items() if count > 1 or not id.isdigit()}
    if odd:
        ends = [(edge.from_layer, edge.to_layer) for edge in edges]
        doubtful = odd | {id for pair in ends for id in pair if id not in counts}
        doubtful |= {id for pair in ends if doubtful.intersection(pair) for id in pair}
        yield from (layer for layer in layers if layer.id in doubtful)
    for layer in layers:
        for body in layer.bodies:
            yield from layers_in_doubt(body.layers, body.edges)


def unreachable_layers(graph: Graph) -> Iterator[IRError]:
    """IR109 for each layer that is never computed."""
    for node in graph.unreachable:
        message = "no Result or Assign depends on this layer: it is never computed"
        yield GraphError(message, code=Code.unreachable_layer).located(node.location)


def duplicate_names(graph: Graph) -> Iterator[IRError]:
    """IR110 for each layer with the name of an earlier layer, IR111 for each repeated tensor name.

    Only inputs and outputs of a model are selected by name; for repeated names of other values the severity is info.
    """
    nodes = [*graph.nodes, *graph.unreachable]
    names = [name for node in nodes for value in node.outputs for name in value.names]
    if _all_differ(names) and _all_differ([node.name for node in nodes]):
        return
    layers: dict[str, Node] = {}
    asked = _ends(graph)
    tensors: dict[str, Node] = {}
    for node in sorted(nodes, key=lambda node: node.layer.line):
        first = layers.setdefault(node.name, node)
        if first is not node and node.name:
            message = f"layer {first.id} ({first.type}) of line {first.layer.line} has the same name"
            yield GraphError(message, code=Code.duplicate_layer_name).located(node.location)
        for position, port in enumerate(node.layer.outputs):
            for name in dict.fromkeys(port.names):
                if name not in tensors:
                    tensors[name] = node
                    continue
                first = tensors[name]
                if name == node.name == first.name:
                    continue  # In version 10 tensors are named after layers, whose names may repeat.
                message = f'an output of layer {first.id} "{first.name}" has the same tensor name {name!r}'
                location = End(node, position, is_output=True).location
                severity: Severity = "warning" if {node.id, first.id} <= asked else "info"
                yield GraphError(message, code=Code.duplicate_tensor_name, severity=severity, location=location)


def _all_differ(names: list[str]) -> bool:
    return len(names) == len(set(names))


def _ends(graph: Graph) -> set[str]:
    """The ids of the layers that produce the inputs and outputs of a model."""
    outputs = [value.node.id for node in graph.results for value in node.inputs if value is not None]
    return {*outputs, *(node.id for node in graph.parameters)}


def duplicate_port_ids(graph: Graph) -> Iterator[IRError]:
    """IR115 for each input port with the id of an earlier input of its layer; likewise for outputs."""
    for node in (*graph.nodes, *graph.unreachable):
        for direction, ports in (("input", node.layer.inputs), ("output", node.layer.outputs)):
            if len(ports) < 2 or _all_differ([port.id for port in ports]):
                continue
            seen: set[str] = set()
            for port in ports:
                if port.id in seen:
                    message = f"two {direction} ports have the id {port.id}"
                    location = replace(node.location, line=port.line, port=port.id)
                    yield GraphError(message, code=Code.duplicate_port_id, location=location)
                seen.add(port.id)


def cut_off_weights(graph: Graph, weights: Weights) -> IRError | None:
    """One IR202 for all constants past the end of truncated weights.

    None for fewer than two such constants. None as well if all constants together need far less than the required file
    size: their offsets are wrong then.
    """
    nodes = constants(graph)
    beyond = [node for node in nodes if _end(node) > weights.size and not _is_empty(node)]
    if len(beyond) < 2:
        return None
    needed = max(map(_end, beyond))
    covered = sum(size for _, size in {(node.op.offset, node.op.size) for node in nodes if isinstance(node.op, Const)})
    if covered < needed / 2:
        return None
    first = min(beyond, key=lambda node: node.layer.line)
    message = (
        f"the weights end at byte {weights.size:,} of {needed:,}: {len(beyond)} of {len(nodes)} constants extend past "
        "the end; this one is the first"
    )
    hint = "check that this .bin belongs to this .xml and was copied completely"
    return WeightsError(message, code=Code.weights_short, hint=hint).located(first.location)


def overlapping_constants(graph: Graph, is_faulty: Callable[[Node], bool]) -> Iterator[IRError]:
    """IR213 for each constant whose bytes are also part of those of another constant; equal ranges are shared.

    The smaller of two constants is reported, since a wrong offset usually concerns an axis or a shape.

    Args:
        is_faulty: Return True for a layer with an error. An error of a reader makes the overlap an error.
    """
    pairs = list(_overlaps(constants(graph)))
    readers: dict[Node, list[Node]] = {}
    for node in (node for inner in all_graphs(graph) for node in inner.nodes) if pairs else ():
        for value in node.values_in:
            readers.setdefault(value.node, []).append(node)
    for node, other in pairs:
        assert isinstance(node.op, Const), "only constants are compared"
        assert isinstance(other.op, Const), "only constants are compared"
        message = (
            f"bytes {node.op.offset:,} to {node.op.offset + node.op.size:,} overlap those of constant {other.id} "
            f'"{other.name}", {other.op.offset:,} to {other.op.offset + other.op.size:,}'
        )
        severity: Severity = "error" if any(map(is_faulty, readers.get(node, ()))) else "warning"
        hint = "check the offset and the size of this constant"
        error = WeightsError(
            message, expected="separate bytes", code=Code.overlapping_constants, severity=severity, hint=hint
        )
        yield error.located(node.location)


def _overlaps(nodes: Sequence[Node]) -> Iterator[tuple[Node, Node]]:
    """Pairs of constants with some common bytes, the smaller one first; it is in no other pair."""
    ranges: dict[tuple[int, int], Node] = {}
    for node in sorted(nodes, key=lambda node: node.layer.line):
        if isinstance(node.op, Const) and node.op.size > 0 and not _is_empty(node):
            ranges.setdefault((node.op.offset, node.op.offset + node.op.size), node)
    last: tuple[int, int] | None = None
    reported: set[Node] = set()
    for start, end in sorted(ranges):
        if last is not None and start < last[1]:
            pair = sorted([last, (start, end)], key=lambda bounds: (bounds[1] - bounds[0], ranges[bounds].layer.line))
            smaller, larger = (ranges[bounds] for bounds in pair)
            if reported.isdisjoint((smaller, larger)):
                reported.add(smaller)
                yield smaller, larger
        if last is None or end > last[1]:
            last = start, end


def unknown_tokenizer_operators(graph: Graph, document: Document) -> Iterator[IRError]:
    """IR116 for each operator of the extension in a tokenizer that no release of openvino_tokenizers has."""
    nodes = [node for inner in all_graphs(graph) for node in (*inner.nodes, *inner.unreachable)]
    extended = [node for node in nodes if node.layer.version == EXTENSION]
    unknown = [node for node in extended if node.op is None and first_release(node.type, EXTENSION) is None]
    is_tokenizer = document.rt_info.child(_TOKENIZERS_VERSION) is not None or len(unknown) < len(extended)
    for node in unknown if is_tokenizer else ():
        message = f"no release of openvino_tokenizers has an operator {node.type}"
        hint = suggested(node.type, tokenizer_types())
        yield GraphError(message, code=Code.unknown_type, hint=hint).located(node.location)


_TOKENIZERS_VERSION = "openvino_tokenizers_version"
"""The entry of rt_info that openvino_tokenizers writes."""


def unreferenced_weights(graph: Graph, weights: Weights) -> Iterator[IRError]:
    """IR207 if the weights continue after the last byte that a constant uses."""
    end = max(map(_end, constants(graph)), default=0)
    spare = weights.size - end
    if spare > 0:
        message = f"no constant uses the last {spare:,} of {weights.size:,} bytes of the weights"
        hint = "check that this .bin belongs to this .xml" if spare > end else None
        location = Location(path=weights.path)
        yield WeightsError(message, code=Code.unreferenced_weights, hint=hint, location=location)


def constants(graph: Graph) -> list[Node]:
    """All constants, including unreachable ones and constants of bodies."""
    nodes = [node for inner in all_graphs(graph) for node in (*inner.nodes, *inner.unreachable)]
    return [node for node in nodes if isinstance(node.op, Const)]


def _end(node: Node) -> int:
    assert isinstance(node.op, Const), "only constants have an offset and a size"
    return node.op.offset + node.op.size


def _is_empty(node: Node) -> bool:
    return isinstance(node.op, Const) and node.op.shape.size.lo == 0


_KNOWN = frozenset(
    (
        *("decompression", "fused_names", "layout", "memory_type", "old_api_map_element_type", "old_api_map_order"),
        *("precise", "preprocessing", "primitives_priority"),
    )
)
"""The attributes of `<rt_info>` that OpenVINO 2026.4 rejects if they are repeated."""


def repeated_rt_info(document: Document) -> Iterator[IRError]:
    """IR120 for each rt_info attribute that a layer or one of its ports repeats with the same version.

    OpenVINO does not read the rt_info of version 10.
    """
    if document.version < 11:
        return
    for layer in document.all_layers():
        holders: tuple[Layer | Port, ...] = (layer, *layer.inputs, *layer.outputs)
        for holder in holders:
            if len(holder.rt_info.children) > 1:
                yield from _repeated_attributes(holder.rt_info, layer, document.path)


def _repeated_attributes(tree: RtInfo, layer: Layer, path: str | None) -> Iterator[IRError]:
    seen: set[tuple[str, str | None]] = set()
    for mark in tree.children:
        key = mark.attributes.get("name", ""), mark.attributes.get("version")
        if mark.name != "attribute" or key[0] not in _KNOWN:
            continue
        if key in seen:
            message = f"<rt_info> contains the attribute {key[0]} of version {key[1]} twice"
            location = Location(path, mark.line, layer.id, layer.name, layer.type)
            yield GraphError(message, expected="one", code=Code.repeated_rt_info, location=location)
        seen.add(key)


def colliding_names(document: Document) -> Iterator[IRError]:
    """IR121 for each input and output of version 10 with the name of another one, by OpenVINO's rules.

    The names of an input or output are the tensor names of its port, and the name of the layer, followed by the number
    of the output if the layer has several. None of these may be a name of another input or output.
    """
    if document.version > 10:
        return
    layers = {layer.id: layer for layer in reversed(document.layers)}
    inputs = [(layer, layer.outputs[0]) for layer in document.layers if layer.is_parameter and len(layer.outputs) == 1]
    outputs = list(_outputs(document, layers))
    renamed = Counter(name for layer in document.layers for port in layer.outputs for name in set(port.names))
    # OpenVINO renames the second of two values with the same tensor name, so this is not a collision.
    owners = {name: layer for layer, port in inputs for name in port.names if renamed[name] == 1}
    said: set[str] = set()
    for layer, port, _ in outputs:
        for name in port.names:
            if renamed[name] == 1 and name in owners and layer.id not in said:
                said.add(layer.id)
                yield _collision(f"the tensor name {name!r}", owners[name], layer, document.path)
            owners.setdefault(name, layer)
    own = [(layer, port, name) for layer, port, name in outputs] + [(layer, port, layer.name) for layer, port in inputs]
    for layer, port, name in own:
        other = owners.setdefault(name, layer)
        if other is not layer and name not in port.names:
            yield _collision(f"the name {name!r}", other, layer, document.path)


def _outputs(document: Document, layers: dict[str, Layer]) -> Iterator[tuple[Layer, Port, str]]:
    """The layer, the port and the name of every output, in the order of the Results."""
    sources = {edge.to_layer: (edge.from_layer, edge.from_port) for edge in document.edges}
    for result in document.layers:
        if not result.is_result or result.id not in sources:
            continue
        layer_id, port_id = sources[result.id]
        layer = layers.get(layer_id)
        for index, port in enumerate(layer.outputs if layer is not None else ()):
            if layer is not None and port.id == port_id:
                yield layer, port, layer.name if len(layer.outputs) == 1 else f"{layer.name}.{index}"


def _collision(name: str, other: Layer, layer: Layer, path: str | None) -> IRError:
    if other is layer:
        message, expected = f"two inputs or outputs have the value with {name}", "one"
    else:
        message = f'layer {other.id} "{other.name}" ({other.type}) has {name} as well'
        expected = "unique names"
    location = Location(path, layer.line, layer.id, layer.name, layer.type)
    hint = "rename it: version 10 identifies inputs and outputs by the names of layers and tensors"
    return GraphError(message, expected=expected, code=Code.colliding_names, hint=hint, location=location)


LARGEST_BY_DEFAULT = 2**20
"""Maximum bytes of a constant that is scanned by default: biases and small matrices, not the bulk of a model."""

MOST_BY_DEFAULT = 2**26
"""Maximum bytes that are scanned by default in total: a small .xml may refer to bytes of a large .bin many times."""

_CHUNK = 2**20
"""Elements scanned in one step, which bounds the memory of the scan."""

_CARRIERS: dict[ElementType, np.dtype[Any]] = {
    ElementType.f16: np.dtype(np.uint16),
    ElementType.bf16: np.dtype(np.uint16),
    ElementType.f32: np.dtype(np.float32),
    ElementType.f64: np.dtype(np.float64),
}
"""The dtype with which the bytes are scanned; 16-bit floats are tested by their bits, which is much faster."""

_PEEKED = 64
_LEAST_UNIFORM = 64
_LARGE_UNIFORM = 1024
"""Minimum elements of a weight of equal elements that is reported, and reported as a warning."""

_NEAR_MEAN = 0.01
"""Maximum difference from 1 of the sum of the weights of a mean."""

_EXPONENT = {ElementType.f16: 0x7C00, ElementType.bf16: 0x7F80}
_LARGEST_F16 = 0x7BFF
_MAGNITUDE = 0x7FFF


@dataclass(slots=True)
class _Counts:
    """Counts of suspicious elements.

    Attributes:
        is_uniform: True if all elements are equal.
        first: The bytes of the first element; None for a constant without elements.
    """

    nans: int = 0
    infinities: int = 0
    saturated: int = 0
    is_uniform: bool = True
    first: bytes | None = None


def odd_constants(
    graph: Graph, weights: Weights, *, everything: bool, skip: Callable[[Node], bool]
) -> Iterator[IRError]:
    """IR208 to IR210, IR214 and IR215 for constants of floats; bytes that several constants share are scanned once.

    Args:
        everything: Scan constants of every size.
        skip: Returns True if the bytes of a node are known to be missing.
    """
    seen: dict[tuple[ElementType, int, int], _Counts] = {}
    left = MOST_BY_DEFAULT
    summed = count_summed_elements(graph)
    for node in constants(graph):
        op = node.op
        assert isinstance(op, Const), "constants have no other operator"
        if op.element_type not in _CARRIERS or not op.shape.is_static or skip(node):
            continue
        key = (op.element_type, op.offset, op.size)
        if key not in seen:
            if not everything and op.size > min(LARGEST_BY_DEFAULT, left):
                continue
            left -= op.size
            seen[key] = _count(weights, op)
        for error in _faults(seen[key], op):
            yield error.located(node.location)
        if node in summed and seen[key].is_uniform and seen[key].first is not None:
            for error in _find_uniform(seen[key].first or b"", op, summed[node]):
                yield error.located(node.location)


def _count(weights: Weights, op: Const) -> _Counts:
    counts = _Counts()
    carrier = _CARRIERS[op.element_type]
    size = op.size - op.size % carrier.itemsize
    first: Array | None = None
    for start in range(0, size, _CHUNK * carrier.itemsize):
        stored = weights.slice(op.offset + start, min(size - start, _CHUNK * carrier.itemsize))
        if len(stored) % carrier.itemsize:
            break  # truncated weights, which are reported elsewhere
        elements = np.frombuffer(stored, carrier)
        if not elements.size:
            break
        if first is None:
            first = elements[:1]
            counts.first = first.tobytes()
        # Most constants differ in their first elements.
        is_equal = counts.is_uniform and bool((elements[:_PEEKED] == first).all())
        counts.is_uniform = is_equal and bool((elements == first).all())
        _add(counts, elements, op.element_type)
    return counts


def _add(counts: _Counts, elements: Array, element_type: ElementType) -> None:
    if element_type not in _EXPONENT:
        if not np.isfinite(elements).all():
            counts.nans += int(np.count_nonzero(np.isnan(elements)))
            counts.infinities += int(np.count_nonzero(np.isinf(elements)))
        return
    exponent = _EXPONENT[element_type]
    magnitudes = elements & np.uint16(_MAGNITUDE)
    largest = int(magnitudes.max())
    if largest >= exponent:
        counts.nans += int(np.count_nonzero(magnitudes > exponent))
        counts.infinities += int(np.count_nonzero(magnitudes == exponent))
    if element_type is ElementType.f16 and largest >= _LARGEST_F16:
        counts.saturated += int(np.count_nonzero(magnitudes == _LARGEST_F16))


def _faults(counts: _Counts, op: Const) -> Iterator[IRError]:
    if not (counts.nans or counts.infinities or counts.saturated):
        return
    total = op.shape.size.lo
    if counts.nans:
        yield WeightsError(f"{_of(counts.nans, total)} NaN", code=Code.nan_in_weights, severity="warning")
    if counts.infinities:
        yield WeightsError(f"{_of(counts.infinities, total)} infinite", code=Code.infinity_in_weights)
    if counts.saturated and not counts.is_uniform:
        message = f"{_of(counts.saturated, total)} 65504 or -65504, the limits of f16"
        hint = "check if the conversion to f16 clipped larger weights"
        yield WeightsError(message, code=Code.saturated_f16, severity="warning", hint=hint)


def count_summed_elements(graph: Graph) -> dict[Node, int]:
    """The constants that layers read as weights, with the number of products that an output sums."""
    summed: dict[Node, int] = {}
    for node in graph.all_nodes():
        for position, value in enumerate(node.inputs):
            if value is None or node.op is None:
                continue
            source = value.node
            if source.op_class.is_conversion and source.values_in:
                source = source.values_in[0].node
            if not isinstance(source.op, Const) or not source.op.shape.is_static:
                continue
            shape = source.op.shape.static
            axes = node.op.weight_axes(position, len(shape))
            if axes is not None and len(shape) > 1:
                summed[source] = prod([shape[axis] for axis in axes])
    return summed


def _find_uniform(first: bytes, op: Const, summed: int) -> Iterator[IRError]:
    """IR214 and IR215 for a weight of equal elements; a mean and a sum have such weights on purpose."""
    total = op.shape.size.lo
    value = float(convert(np.frombuffer(first, op.element_type.dtype), ElementType.f32)[0])
    if total < _LEAST_UNIFORM or not np.isfinite(value):
        return
    severity: Severity = "warning" if total >= _LARGE_UNIFORM else "info"
    hint = "compare the weights with those of the checkpoint: ir-exec diff MODEL CHECKPOINT"
    if value == 0:
        message = f"all {total:,} elements of a weight are 0"
        yield WeightsError(message, code=Code.zero_weights, severity=severity, hint=hint)
    elif value != 1 and abs(value * summed - 1) > _NEAR_MEAN:
        message = f"all {total:,} elements of a weight are {value:.6g}"
        yield WeightsError(message, code=Code.constant_weights, severity=severity, hint=hint)


def _of(count: int, total: int) -> str:
    return f"{count:,} of {total:,} elements {'is' if count == 1 else 'are'}"
