"""The context of the function of a layer type: attributes, blobs and declarations of the layer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import prod

from ir_exec import build
from ir_exec.build import Value
from ir_exec.build.values import BuiltLayer, new_layer
from ir_exec.codes import Code
from ir_exec.errors import IRError, Location, UnsupportedError, WeightsError
from ir_exec.ir import Weights, packed_size
from ir_exec.ir.older_document import Blob, OlderLayer
from ir_exec.older.attributes import LayerAttributes
from ir_exec.ops.infrastructure.values import Const
from ir_exec.types import STRING, ElementType, Shape

__all__ = ["LayerCall", "OlderNetwork", "PortKey", "parsed_precision"]

PortKey = tuple[str, str]
"""The ids of a layer and of one of its ports."""

_MOST_DIM = 2**62

_PRECISIONS = {"q78": ElementType.i16, "bin": ElementType.u1}


def parsed_precision(text: str | None) -> ElementType | None:
    """The element type of a `precision`; None for none, UNSPECIFIED and MIXED.

    Raises:
        UnsupportedError: For others.
    """
    if text is None or text.upper() in ("", "UNSPECIFIED", "MIXED", "CUSTOM"):
        return None
    alias = _PRECISIONS.get(text.lower())
    try:
        element_type = alias or ElementType.parse(text)
        if element_type is ElementType.dynamic or element_type in STRING:
            raise ValueError
    except ValueError:
        raise UnsupportedError(f"unknown precision {text[:40]!r}", code=Code.element_type_not_taken) from None
    return element_type


@dataclass(slots=True)
class OlderNetwork:
    """A network as values of the builder.

    Attributes:
        values: The values by the ports that produce them.
        inputs: The Parameters.
        ends: The values without readers, with their names.
        sinks: Assigns.
    """

    values: dict[PortKey, Value] = field(default_factory=dict)
    inputs: list[Value] = field(default_factory=list)
    ends: list[tuple[str, Value]] = field(default_factory=list)
    sinks: list[Value] = field(default_factory=list)


class LayerCall(LayerAttributes):
    """A layer that is lowered.

    Args:
        lower_body: Lowers the network of a body, with values for its input ports.
        lines: The lines of layers that are made for elements inside the layer.
        warn: Reports a warning.
    """

    def __init__(
        self,
        layer: OlderLayer,
        version: int,
        network_precision: str | None,
        weights: Weights | None,
        warn: Callable[[IRError], None],
        lower_body: Callable[..., OlderNetwork],
        lines: dict[BuiltLayer, int],
    ) -> None:
        super().__init__(layer.data)
        self.layer = layer
        self.version = version
        self.lower_body = lower_body
        self.lines = lines
        self._warn = warn
        self._network_precision = network_precision
        self._weights = weights
        self._blobs: Mapping[str, Blob] = {blob.name: blob for blob in layer.blobs}

    @property
    def location(self) -> Location:
        """The location of the layer for messages."""
        return Location(None, self.layer.line, self.layer.id, self.layer.name, self.layer.type)

    def warn(self, warning: IRError) -> None:
        """Report a warning about the layer."""
        self._warn(warning)

    def declared_dims(self, position: int = 0) -> tuple[int, ...] | None:
        """The dims that the file declares for an output; None if it declares none or impossible ones."""
        if position >= len(self.layer.outputs):
            return None
        dims = self.layer.outputs[position].dims
        return dims if dims and min(dims) >= 0 else None

    @property
    def precision(self) -> ElementType | None:
        """The precision of the first output: of the port, the layer, or the network, whichever is declared first."""
        port = self.layer.outputs[0].precision if self.layer.outputs else None
        return (
            parsed_precision(port)
            or parsed_precision(self.layer.precision)
            or parsed_precision(self._network_precision)
        )

    def precision_of(self, position: int) -> ElementType | None:
        """The precision that the file declares for an output."""
        port = self.layer.outputs[position].precision if position < len(self.layer.outputs) else None
        return parsed_precision(port) or parsed_precision(self.layer.precision)

    def has_blob(self, name: str) -> bool:
        """Return True if the layer has a blob of this name."""
        return name in self._blobs

    def blob_count(self, name: str) -> int:
        """The number of elements in the bytes of a blob."""
        blob = self._blob(name)
        element_type = self._element_type_of(blob)
        return blob.size // (element_type.bits // 8) if element_type.bits >= 8 else blob.size * 8 // element_type.bits

    def blob(
        self, name: str, *dims: int, element_type: ElementType | None = None, may_be_longer: bool = False
    ) -> Value:
        """A constant of these dims from the bytes of a blob; f16 becomes f32.

        The bytes are not read.

        Raises:
            WeightsError: IR204 if there are fewer bytes than the dims need, or more unless `may_be_longer`.
        """
        blob = self._blob(name)
        stored = element_type or self._element_type_of(blob)
        location = Location(line=blob.line or None, port=name)
        shape = [dim for dim in dims if not 0 <= dim <= _MOST_DIM]
        if shape or not 0 <= prod(dims) <= _MOST_DIM:
            raise WeightsError(
                "the constant has the dims",
                actual=list(dims),
                expected="valid sizes",
                code=Code.constant_offset,
                location=location,
            )
        needed = packed_size(stored, prod(dims))
        if blob.size < needed or (blob.size > needed and not may_be_longer):
            message = f"{stored}{list(dims)} takes {needed} bytes, but the size of {name} is {blob.size}"
            raise WeightsError(message, code=Code.constant_size, location=location)
        value = self._constant(blob, stored, dims, location)
        return build.convert(value, ElementType.f32) if stored is ElementType.f16 else value

    def _constant(self, blob: Blob, element_type: ElementType, dims: tuple[int, ...], location: Location) -> Value:
        weights = self._weights
        if blob.offset < 0:
            raise WeightsError(
                "the offset is", actual=blob.offset, expected="0 or more", code=Code.constant_offset, location=location
            )
        if weights is not None:
            try:
                weights.check(element_type, dims, blob.offset, blob.size)
            except WeightsError:
                weights = None  # reported by the graph
        op = Const(element_type=element_type, shape=Shape(dims), offset=blob.offset, size=blob.size)
        fields = {"shape": ",".join(map(str, dims)), "offset": str(blob.offset), "size": str(blob.size)}
        attributes = {"element_type": element_type.name, **fields}
        name = f"{self.layer.name}/{blob.name}"
        constant = new_layer("Const", op, (), [op.infer(weights=weights)], name=name, attributes=attributes)
        self.lines[constant] = blob.line
        return constant.outputs[0]

    def _blob(self, name: str) -> Blob:
        blob = self._blobs.get(name)
        if blob is None:
            raise WeightsError(f"the layer has no blob {name}", code=Code.missing_markup)
        return blob

    def _element_type_of(self, blob: Blob) -> ElementType:
        element_type = parsed_precision(blob.precision) or self.precision
        if element_type is None:
            raise WeightsError(f"the file declares no precision for {blob.name}", code=Code.missing_markup)
        return element_type
