"""Anonymization: a model with the same structure, without its original names and weights."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from ir_exec.errors import IRError
from ir_exec.graph import build_graph
from ir_exec.infer import infer_types
from ir_exec.ir import NO_RT_INFO, Body, Document, Layer, Port, PortMapEntry, RtInfo, Weights, encode
from ir_exec.model import Loaded, Model
from ir_exec.ops.base.attributes import Field
from ir_exec.ops.base.registry import resolve
from ir_exec.ops.infrastructure.values import Const
from ir_exec.types import BOOLEAN, STRING, Array, ElementType, element_types

__all__ = ["TRIED_SEEDS", "anonymous", "constants_of_inference", "is_weight", "other_input", "redrawn"]

TRIED_SEEDS = 3
"""Maximum anonymous models that are tried until one fails."""

_RECORDS = element_types("u1 u3 u6 nf4")

_KEPT_INFO = frozenset(
    {"decompression", "precise", "layout", "old_api_map_order", "old_api_map_element_type", "nonconvertible_divide"}
)
"""Entries of rt_info of layers and ports that OpenVINO uses."""

_PLAIN_VALUE = re.compile(
    r"[-+0-9., ]*|\[([A-Za-z?]|\.\.\.)(,([A-Za-z?]|\.\.\.))*\]|[a-z]{1,4}[0-9]{1,2}|boolean|dynamic"
)
"""Values of these entries that contain no names: numbers, layouts with dims of one letter, element types."""

_RELEASE = re.compile(r"[0-9]{4}(\.[0-9]+)+(-[0-9]+-[0-9a-f]+)?")

_PLAIN_ATTRIBUTE = re.compile(r"[-+0-9.,eE?\[\] ]*|true|false", re.IGNORECASE)
"""Values of attributes without a class: numbers, shapes and booleans."""

_PURPOSES = frozenset({"current_iteration", "execution_condition"})

_LEAST_PACKED = 16
"""Minimum elements of a vector of bytes that is neither a shape nor a list of axes."""

_LEAST_PRINTABLE = 0.8
"""Minimum share of printable characters in a text. Vocabularies also contain single bytes and control characters."""

_LETTERS = np.frombuffer(b"bcdfghjklmnpqrstvwxz", np.uint8)
"""The letters of random texts. Without vowels they are no words."""

_QUANTILES = 256

_LARGEST_KEPT_WIDTH = 8
"""Maximum bits of integers that are replaced: wider integers are indices, sizes and ids."""


def anonymous(model: Model, *, seed: int = 0, weights: bool = True) -> Model:
    """Return a copy of a model with different names and weights, and the same layers and shapes.

    Names of the model, of layers, tensors and variables become `layer7`, `tensor7`, `variable0`, and other attributes
    of free text are replaced, too. Of rt_info, only the release that wrote the file and entries without names remain.
    The types and the names of attributes of layers remain, also those of custom operators.

    Args:
        weights: If True, floats, integers of up to 8 bits and strings are drawn from `seed`, with the distribution of
            each constant (see `redrawn`). Numbers whose values inference needs (shapes, axes, sizes) and wider
            integers (indices) remain. Texts never remain, so vocabularies and patterns are others.
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

    def new(self, prefix: str, name: str) -> str:
        if (prefix, name) not in self._names:
            count = self._counts.get(prefix, 0)
            self._names[prefix, name] = f"{prefix}{count}"
            self._counts[prefix] = count + 1
        return self._names[prefix, name]

    def document(self, document: Document) -> Document:
        info = tuple(_release(child) for child in document.rt_info.children if child.name == "Runtime_version")
        return Document(
            name="network",
            version=document.version,
            layers=tuple(map(self.layer, document.layers)),
            edges=document.edges,
            rt_info=RtInfo(name="rt_info", children=info) if info else NO_RT_INFO,
        )

    def layer(self, layer: Layer) -> Layer:
        return layer.changed(
            name=self.new("layer", layer.name),
            data=dict(self.attributes(layer)),
            inputs=tuple(map(self.port, layer.inputs)),
            outputs=tuple(map(self.port, layer.outputs)),
            bodies=tuple(map(self.body, layer.bodies)),
            output_names=tuple(self.new("tensor", name) for name in layer.output_names),
            rt_info=_plain(layer.rt_info),
        )

    def attributes(self, layer: Layer) -> Iterator[tuple[str, str]]:
        """Yield the attributes: fields of free text are renamed, texts without a field are omitted.

        Of layers without a class, all texts are renamed.
        """
        fields = _fields_of(layer)
        for name, text in layer.data.items():
            field = None if fields is None else fields.get(name)
            is_plain = _PLAIN_ATTRIBUTE.fullmatch(text) is not None or _is_element_type(text)
            if (field is not None and field.steps) or (field is None and is_plain) or not text:
                yield name, text
            elif field is not None or fields is None:
                yield name, self.new(name.removesuffix("_id"), text)

    def port(self, port: Port) -> Port:
        precision = port.precision
        return port.changed(
            precision=precision if precision is not None and _is_element_type(precision) else None,
            names=tuple(self.new("tensor", name) for name in port.names),
            rt_info=_plain(port.rt_info),
        )

    def body(self, body: Body) -> Body:
        return body.changed(
            layers=tuple(map(self.layer, body.layers)),
            port_map=tuple(map(_remove_names, body.port_map)),
            rt_info=NO_RT_INFO,
        )


def _fields_of(layer: Layer) -> Mapping[str, Field] | None:
    """Return the fields of the operator by attribute, None for a layer without a class."""
    try:
        return {field.attribute: field for field in resolve(layer.type, layer.version or "").fields()}
    except IRError:
        return None


def _remove_names(entry: PortMapEntry) -> PortMapEntry:
    port, purpose = entry.internal_port_id, entry.purpose
    return entry.changed(
        internal_port_id=port if port is not None and port.isdecimal() else None,
        purpose=purpose if purpose in _PURPOSES else None,
    )


def _release(info: RtInfo) -> RtInfo:
    match = _RELEASE.match(info.attributes.get("value", ""))
    return RtInfo(name=info.name, attributes={} if match is None else {"value": match[0]})


def _is_element_type(text: str) -> bool:
    try:
        ElementType.parse(text)
    except ValueError:
        return False
    return True


def _plain(info: RtInfo) -> RtInfo:
    children = [
        RtInfo(name="attribute", attributes=child.attributes)
        for child in info.children
        if child.attributes.get("name") in _KEPT_INFO and _has_plain_values(child.attributes)
    ]
    return RtInfo(name="rt_info", children=tuple(children)) if children else NO_RT_INFO


def _has_plain_values(attributes: Mapping[str, str]) -> bool:
    values = {key: text for key, text in attributes.items() if key != "name"}
    return values.keys() <= _KEPT_INFO | {"version", "value"} and all(map(_PLAIN_VALUE.fullmatch, values.values()))


class _Noting:
    """Weights that record the offsets that are read."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self.read_offsets: set[int] = set()

    def read(self, element_type: ElementType, shape: tuple[int, ...], offset: int, size: int) -> Array:
        self.read_offsets.add(offset)
        return self._weights.read(element_type, shape, offset, size)


def constants_of_inference(model: Model) -> frozenset[str]:
    """Return the names of the constants whose values inference needs: shapes, axes, sizes."""
    if model.weights is None:
        return frozenset()
    used = _Noting(model.weights)
    infer_types(model.graph, weights=used, overrides=model.given)
    return frozenset(
        name
        for node in model.graph.all_nodes(unreachable=True)
        if isinstance(node.op, Const) and node.op.offset in used.read_offsets
        for name in (node.name, *node.outputs[0].names)
    )


def _with_other_weights(model: Model, document: Document, weights: Weights, seed: int) -> tuple[Document, Weights]:
    used = _Noting(weights)
    infer_types(model.graph, weights=used, overrides=model.given)
    offsets: dict[tuple[int, int, str], int] = {}
    stored = bytearray()
    for node in model.graph.all_nodes(unreachable=True):
        if not isinstance(node.op, Const):
            continue
        key = (node.op.offset, node.op.size, str(node.op.element_type))
        if key in offsets:
            continue
        array = node.op.evaluate(weights=weights)
        if _is_text(array) or _is_packed(array) or (node.op.offset not in used.read_offsets and is_weight(array)):
            # The offset is part of the seed: adding or removing a constant does not change the others.
            array = redrawn(array, np.random.default_rng((seed, node.op.offset)))
        # All constants are stored again, because bytes after the elements of one may be anything.
        content = encode(array, weights.order) if node.op.element_type.is_known else b""
        offsets[key] = len(stored)
        stored += content + bytes(max(node.op.size - len(content), 0))
    layers = tuple(_move_constants(document.layers, offsets))
    return document.changed(layers=layers), Weights.of_bytes(bytes(stored), order=weights.order)


def is_weight(array: Array) -> bool:
    """Return True for floats, integers of up to 8 bits and strings, without booleans."""
    element_type = ElementType.of(array)
    return element_type not in BOOLEAN and (
        element_type.is_float or element_type in STRING or element_type.bits <= _LARGEST_KEPT_WIDTH
    )


def _is_packed(array: Array) -> bool:
    """Return True for a vector of u8 that is too long for a shape or axes: bytes in any encoding."""
    return array.dtype == np.uint8 and array.ndim == 1 and array.size >= _LEAST_PACKED


def _is_text(array: Array) -> bool:
    """Return True for strings, and for a vector of u8 with the UTF-8 of text, as tokenizers store it."""
    if array.dtype == object:
        return True
    if array.dtype != np.uint8 or array.ndim != 1:
        return False
    text = array.tobytes().decode("utf-8", "surrogateescape")
    return sum(char.isprintable() or char.isspace() for char in text) >= _LEAST_PRINTABLE * len(text)


def _move_constants(layers: Iterable[Layer], offsets: dict[tuple[int, int, str], int]) -> Iterator[Layer]:
    for layer in layers:
        data = layer.data
        if layer.is_constant and data.get("offset", "").isdecimal() and data.get("size", "").isdecimal():
            element_type = str(ElementType.parse(data.get("element_type", "")))
            offset = offsets.get((int(data["offset"]), int(data["size"]), element_type))
            if offset is not None:
                layer = layer.changed(data={**data, "offset": str(offset)})
        bodies = tuple(body.changed(layers=tuple(_move_constants(body.layers, offsets))) for body in layer.bodies)
        yield layer.changed(bodies=bodies) if bodies else layer


def redrawn(array: Array, random: np.random.Generator) -> Array:
    """Return a random array with the element type, shape and distribution of an array.

    Zeros, NaN and infinities keep their number and move to random positions; other floats are drawn between 256
    quantiles. Integers are drawn from the existing values with their frequencies. Strings, and texts in u8, are random
    letters of the same lengths.
    """
    element_type = ElementType.of(array)
    if element_type in STRING:
        return _other_strings(array, random)
    if _is_text(array):
        return random.choice(_LETTERS, array.size)
    if element_type in _RECORDS or not element_type.is_float:
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


def other_input(array: Array, random: np.random.Generator) -> Array:
    """Return an input with another value of the same distribution; wide integers and booleans remain."""
    element_type = ElementType.of(array)
    stays = element_type in BOOLEAN or (not element_type.is_float and element_type.bits > 8)
    return array if stays else redrawn(array, random)


def _other_strings(array: Array, random: np.random.Generator) -> Array:
    texts = np.empty(array.size, object)
    for position, text in enumerate(array.reshape(-1)):
        texts[position] = random.choice(_LETTERS, len(text)).tobytes().decode("ascii")
    return texts.reshape(array.shape)
