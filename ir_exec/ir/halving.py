"""Documents with weights stored as f16 and converted on use."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ir_exec.ir.array_weights import reserve_offset
from ir_exec.ir.document import Body, Document, Edge, Layer, Port, RtInfo, source_info
from ir_exec.ir.weights import Weights
from ir_exec.types import Array, ElementType

__all__ = ["HalfWeights", "with_f16_weights"]

_LEAST = 32
"""Minimum elements of a constant for storing it as f16."""

_F16_MAX = 65504.0

_MARK = RtInfo(
    name="rt_info", children=(RtInfo(name="attribute", attributes={"name": "decompression", "version": "0"}),)
)
"""The mark by which OpenVINO recognizes such a conversion and keeps the weights compressed."""


class HalfWeights:
    """The bytes of constants; floats to compress are converted to f16 on access."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._originals: dict[int, _Original] = {}

    def halve(self, original: _Original) -> int | None:
        """The offset of a constant as f16; None if it is small, or f16 cannot represent one of its elements."""
        if not _fits(self._weights.read(*original)):
            return None
        offset = reserve_offset(original.elements * 2)
        self._originals[offset] = original
        return offset

    def slice(self, offset: int, size: int) -> memoryview:
        """The bytes at `offset`, of one constant at a time."""
        original = self._originals.get(offset)
        if original is None:
            return self._weights.slice(offset, size)
        stored = self._weights.read(*original).astype("<f2")
        return stored.reshape(-1).view(np.uint8).data[:size]


class _Original(NamedTuple):
    """A constant in the weights."""

    element_type: ElementType
    shape: tuple[int, ...]
    offset: int
    size: int

    @property
    def elements(self) -> int:
        return int(np.prod(self.shape))


def _fits(array: Array) -> bool:
    """Return True if f16 can represent every element, except for rounding. NaN fails both comparisons."""
    return array.size >= _LEAST and bool(array.min() >= -_F16_MAX) and bool(array.max() <= _F16_MAX)


def with_f16_weights(document: Document, weights: Weights) -> tuple[Document, HalfWeights]:
    """The document with every constant of f32 and f64, in bodies too, as f16 with a Convert, and its bytes.

    A constant with an element that f16 cannot represent is kept. Conversion occurs when bytes are read, so only one
    constant at a time is in memory.
    """
    halving = _Halving(document, weights)
    layers, edges = halving.network(document.layers, document.edges)
    return document.model_copy(update={"layers": layers, "edges": edges}), halving.weights


class _Halving:
    def __init__(self, document: Document, weights: Weights) -> None:
        self._next_id = max((int(layer.id) for layer in document.all_layers()), default=-1) + 1
        self.weights = HalfWeights(weights)

    def network(self, layers: tuple[Layer, ...], edges: tuple[Edge, ...]) -> tuple[tuple[Layer, ...], tuple[Edge, ...]]:
        network_layers: list[Layer] = []
        added: list[Edge] = []
        converted: dict[str, str] = {}
        for layer in layers:
            parts = self._parts(layer)
            network_layers += parts
            if len(parts) > 1:
                stored, conversion = parts
                converted[conversion.id] = conversion.outputs[0].id
                added.append(_edge(stored, conversion))
        moved = [
            edge.model_copy(update={"from_port": converted[edge.from_layer]}) if edge.from_layer in converted else edge
            for edge in edges
        ]
        return tuple(network_layers), (*moved, *added)

    def _body(self, body: Body) -> Body:
        layers, edges = self.network(body.layers, body.edges)
        return body.model_copy(update={"layers": layers, "edges": edges})

    def _parts(self, layer: Layer) -> list[Layer]:
        """A constant of f16 and the conversion that replaces the layer; else the layer itself."""
        if layer.bodies:
            return [layer.model_copy(update={"bodies": tuple([self._body(body) for body in layer.bodies])})]
        data = layer.data
        if not layer.is_constant or data.get("element_type") not in ("f32", "f64"):
            return [layer]
        shape = tuple([int(dim) for dim in data["shape"].split(",") if dim.strip()])
        original = _Original(ElementType[data["element_type"]], shape, int(data["offset"]), int(data["size"]))
        offset = self.weights.halve(original)
        if offset is None:
            return [layer]
        (port,) = layer.outputs
        short = Port(id="0", precision=ElementType.f16.precision, dims=port.dims)
        half = {**data, "element_type": "f16", "offset": str(offset), "size": str(original.elements * 2)}
        stored = {"id": str(self._next_id), "name": f"{layer.name}_compressed", "data": half, "outputs": (short,)}
        self._next_id += 1
        conversion = {
            "type": "Convert",
            "version": "opset1",
            "data": {"destination_type": original.element_type.name},
            "inputs": (short,),
            "outputs": (port.model_copy(update={"id": "1"}),),
            "rt_info": _MARK if not layer.source_entries else source_info(layer.source_entries, _MARK),
        }
        return [layer.model_copy(update=stored), layer.model_copy(update=conversion)]


def _edge(stored: Layer, conversion: Layer) -> Edge:
    return Edge(
        from_layer=stored.id,
        from_port=stored.outputs[0].id,
        to_layer=conversion.id,
        to_port=conversion.inputs[0].id,
    )
