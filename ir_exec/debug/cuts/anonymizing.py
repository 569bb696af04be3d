"""Anonymization: a model with the same structure, without its original names and weights."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from ir_exec.graph import build_graph
from ir_exec.infer import infer_types
from ir_exec.ir import NO_RT_INFO, Body, Document, Layer, Port, RtInfo, Weights, encode
from ir_exec.model import Loaded, Model
from ir_exec.ops.infrastructure.values import Const
from ir_exec.types import BOOLEAN, STRING, Array, ElementType, element_types

__all__ = ["anonymous", "redrawn"]

_RECORDS = element_types("u1 u3 u6 nf4")

_KEPT_INFO = frozenset(
    {"decompression", "precise", "layout", "old_api_map_order", "old_api_map_element_type", "nonconvertible_divide"}
)
"""Entries of rt_info of layers and ports that OpenVINO uses and that contain no names."""

_QUANTILES = 256

_LARGEST_KEPT_WIDTH = 8
"""Maximum bits of integers that are replaced: wider integers are indices, sizes and ids."""


def anonymous(model: Model, *, seed: int = 0, weights: bool = True) -> Model:
    """Return a copy of a model with different names and weights, and the same layers and shapes.

    Names of the model, of layers, tensors and variables become `layer7`, `tensor7`, `variable0`. Of rt_info, only the
    release that wrote the file and entries without names remain.

    Args:
        weights: If True, floats, integers of up to 8 bits and strings are drawn from `seed`, with the distribution of
            each constant (see `redrawn`). Constants whose values inference needs (shapes, axes, sizes) and wider
            integers (indices) remain.
    """
    document = _Renamer().document(model.document)
    stored = model.weights
    if weights and stored is not None:
        document, stored = _with_other_weights(model, document, stored, seed)
    return Model(Loaded(document, build_graph(document, stored), stored, document))


class _Renamer:
    """Maps each name to a new one, the same one for every occurrence."""

    def __init__(self) -> None:
        self._names: dict[tuple[str, str], str] = {}
        self._counts: dict[str, int] = {}

    def new(self, kind: str, name: str) -> str:
        if (kind, name) not in self._names:
            count = self._counts.get(kind, 0)
            self._names[kind, name] = f"{kind}{count}"
            self._counts[kind] = count + 1
        return self._names[kind, name]

    def document(self, document: Document) -> Document:
        info = tuple(child for child in document.rt_info.children if child.name == "Runtime_version")
        return Document(
            name="network",
            version=document.version,
            layers=tuple(map(self.layer, document.layers)),
            edges=document.edges,
            rt_info=RtInfo(name="rt_info", children=info) if info else NO_RT_INFO,
        )

    def layer(self, layer: Layer) -> Layer:
        data = dict(layer.data)
        if "variable_id" in data:
            data["variable_id"] = self.new("variable", data["variable_id"])
        return layer.changed(
            name=self.new("layer", layer.name),
            data=data,
            inputs=tuple(map(self.port, layer.inputs)),
            outputs=tuple(map(self.port, layer.outputs)),
            bodies=tuple(map(self.body, layer.bodies)),
            output_names=tuple(self.new("tensor", name) for name in layer.output_names),
            rt_info=_plain(layer.rt_info),
        )

    def port(self, port: Port) -> Port:
        return port.changed(names=tuple(self.new("tensor", name) for name in port.names), rt_info=_plain(port.rt_info))

    def body(self, body: Body) -> Body:
        return body.changed(layers=tuple(map(self.layer, body.layers)), rt_info=NO_RT_INFO)


def _plain(info: RtInfo) -> RtInfo:
    kept = tuple(child for child in info.children if child.attributes.get("name") in _KEPT_INFO)
    return RtInfo(name=info.name, children=kept) if kept else NO_RT_INFO


class _Noting:
    """Weights that record the offsets that are read."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self.read_offsets: set[int] = set()

    def read(self, element_type: ElementType, shape: tuple[int, ...], offset: int, size: int) -> Array:
        self.read_offsets.add(offset)
        return self._weights.read(element_type, shape, offset, size)


def _with_other_weights(model: Model, document: Document, weights: Weights, seed: int) -> tuple[Document, Weights]:
    used = _Noting(weights)
    infer_types(model.graph, weights=used, given=model.given)
    made: dict[tuple[int, int, str], int] = {}
    stored = bytearray()
    for node in model.graph.all_nodes(unreachable=True):
        if not isinstance(node.op, Const) or node.op.offset in used.read_offsets:
            continue
        array = node.op.evaluate(weights=weights)
        key = (node.op.offset, node.op.size, str(node.op.element_type))
        if key not in made and _is_weight(array):
            made[key] = weights.size + len(stored)
            # The offset is part of the seed: adding or removing a constant does not change the others.
            content = encode(redrawn(array, np.random.default_rng((seed, node.op.offset))), weights.order)
            stored += content + bytes(max(node.op.size - len(content), 0))
    layers = tuple(_moved(document.layers, made))
    return document.changed(layers=layers), weights.appended(bytes(stored))


def _is_weight(array: Array) -> bool:
    kind = ElementType.of(array)
    return kind not in BOOLEAN and (kind.is_float or kind in STRING or kind.bits <= _LARGEST_KEPT_WIDTH)


def _moved(layers: Iterable[Layer], made: dict[tuple[int, int, str], int]) -> Iterator[Layer]:
    for layer in layers:
        data = layer.data
        if layer.is_constant and data.get("offset", "").isdecimal() and data.get("size", "").isdecimal():
            kind = str(ElementType.parse(data.get("element_type", "")))
            place = made.get((int(data["offset"]), int(data["size"]), kind))
            if place is not None:
                layer = layer.changed(data={**data, "offset": str(place)})
        bodies = tuple(body.changed(layers=tuple(_moved(body.layers, made))) for body in layer.bodies)
        yield layer.changed(bodies=bodies) if bodies else layer


def redrawn(array: Array, random: np.random.Generator) -> Array:
    """Return a random array with the element type, shape and distribution of an array.

    Zeros, NaN and infinities keep their number and move to random positions; other floats are drawn between 256
    quantiles. Integers are drawn from the existing values with their frequencies. Strings are random letters of the
    same lengths.
    """
    kind = ElementType.of(array)
    if kind in STRING:
        return _other_strings(array, random)
    if kind in _RECORDS or not kind.is_float:
        flat = array.reshape(-1)
        return flat[random.integers(0, max(flat.size, 1), flat.size)].reshape(array.shape)
    numbers = array.astype(np.float64).reshape(-1)
    special = ~np.isfinite(numbers) | (numbers == 0)
    drawn = numbers[special]
    finite = numbers[~special]
    if finite.size:
        quantiles = np.quantile(finite, np.linspace(0, 1, min(_QUANTILES, finite.size) + 1))
        fresh = np.interp(random.random(finite.size), np.linspace(0, 1, quantiles.size), quantiles)
        drawn = np.concatenate([drawn, fresh])
    with np.errstate(all="ignore"):
        return random.permutation(drawn).astype(array.dtype).reshape(array.shape)


def _other_strings(array: Array, random: np.random.Generator) -> Array:
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    made = np.empty(array.size, object)
    for place, text in enumerate(array.reshape(-1)):
        made[place] = "".join(random.choice(letters, len(text)))
    return made.reshape(array.shape)
