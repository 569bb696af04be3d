"""Compression of weights without data: constants of floats become codes with layers that expand them, named as in NNCF.

The uses are reports before and after a quantization, and tests of runtimes; NNCF has the methods that keep accuracy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import partial
from math import prod

import numpy as np

from ir_exec.build.constants import constant
from ir_exec.build.edit import Editor
from ir_exec.build.functions import function_for
from ir_exec.build.values import Value
from ir_exec.build.weight_formats import FORMATS, EncodedWeight, encode
from ir_exec.errors import EvaluationError, GraphError
from ir_exec.graph import Node
from ir_exec.graph.compressed import find_compressed_weights
from ir_exec.graph.weight_encodings import WeightEncoding
from ir_exec.hints import suggested
from ir_exec.ir import RtInfo
from ir_exec.ir.packing import packed_size
from ir_exec.model import Loaded, Model
from ir_exec.ops.base.inputs import selects_slices
from ir_exec.ops.infrastructure.values import Const
from ir_exec.report.text import list_names
from ir_exec.types import Array, ElementType, convert

__all__ = [
    "SHORT_NAMES",
    "Compression",
    "PlainWeightConstant",
    "StoredWeight",
    "compress_weights",
    "plain_weights",
]

SHORT_NAMES = {"int8": "int8_asym", "int4": "int4_asym"}
"""Formats for names without a range."""

_CODES = "/codes"
"""The suffix of a constant of codes while the weight still has its name."""

_KEPT = ("keep", "f32")
_BACKUP = "int8_asym"
_FLOATS = (ElementType.f32, ElementType.f16, ElementType.bf16)


@dataclass(frozen=True)
class PlainWeightConstant:
    """A constant of floats that products, convolutions or Gathers read as their weight.

    Attributes:
        reader: The first reader, which reads it at its input `port`.
        axes: The axes along which a reader sums; the last one is split into groups.
        last: The position of the last reader among all layers.
    """

    node: Node
    reader: Node
    port: int
    axes: tuple[int, ...]
    last: int

    @property
    def name(self) -> str:
        """The name of the constant."""
        return self.node.name

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the constant."""
        return self.constant.shape.static

    @property
    def constant(self) -> Const:
        """The operator of the constant."""
        assert isinstance(self.node.op, Const)
        return self.node.op

    @property
    def channels(self) -> int:
        """The length of the axis that is split into groups."""
        return self.shape[self.axes[-1]]

    @property
    def has_groups(self) -> bool:
        """Return True if groups of elements may share a scale: not in filters."""
        return len(self.axes) == 1


@dataclass(frozen=True)
class Compression:
    """Settings of a compression of weights.

    "keep" leaves a weight unchanged.

    Attributes:
        format: A name of `FORMATS`, "int8", "int4", or "f16".
        group_size: Elements that share a scale; -1 for whole rows; None for the default of the format.
        ratio: The fraction of the elements of inner layers with a 4-bit format; the others get int8_asym.
        all_layers: Use 4-bit formats for embeddings and the last layer too.
        layers: Formats by patterns of constant names; they take precedence.
    """

    format: str = "int8"
    group_size: int | None = None
    ratio: float = 1.0
    all_layers: bool = False
    layers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class StoredWeight:
    """A weight after compression.

    Attributes:
        format: "keep" for an unchanged one.
        note: The reason for another format.
    """

    name: str
    format: str
    group_size: int | None
    elements: int
    bytes_before: int
    bytes: int
    note: str | None = None


def compress_weights(
    model: Model, compression: Compression, importance: Mapping[str, Array] | None = None
) -> tuple[Model, tuple[StoredWeight, ...]]:
    """Return a model with compressed weights, and a record of each weight.

    Args:
        importance: Weights of the errors of each channel, by names of constants, such as the mean square of the
            activations that it is multiplied by. They determine the scales and the choice of layers for 8 bits.

    Raises:
        EvaluationError: For unknown formats and groups that fit no weight.
        GraphError: For a model without weights.
    """
    weights = plain_weights(model)
    if not weights or model.weights is None:
        hint = "check that MatMul, Gather or convolutions read constants of floats with at least two axes"
        raise GraphError(f"{model.name!r} has no weights to compress", hint=hint)
    chosen = _Choice(model, weights, compression, importance or {}).formats()
    editor = Editor(model)
    stored = []
    for weight in weights:
        name, note = chosen[weight.name]
        array = weight.constant.evaluate(weights=model.weights)
        before = packed_size(weight.constant.element_type, array.size)
        if name not in _KEPT and not np.isfinite(convert(array, ElementType.f32)).all():
            name, note = "keep", "NaN or infinite elements"
        if name in _KEPT:
            stored.append(StoredWeight(weight.name, "keep", None, array.size, before, before, note))
            continue
        if name == "f16":
            _put_f16(editor, weight, array)
            stored.append(StoredWeight(weight.name, "f16", None, array.size, before, 2 * array.size, note))
            continue
        encoding = FORMATS[name]
        group = _group_of(weight, encoding, compression)
        encoded = encode(
            convert(array, ElementType.f32), weight.axes, encoding, group, _spread(weight, (importance or {}))
        )
        editor.replace(weight.name, partial(_chain, weight, encoded))
        editor.rename_layer(f"{weight.name}{_CODES}", weight.name)
        stored.append(StoredWeight(weight.name, name, group, array.size, before, 0, note))
    compressed = _add_settings(editor.model(), compression, stored)
    described = {weight.codes.name: weight for weight in find_compressed_weights(compressed.graph).values()}
    return compressed, tuple(
        [
            record if record.format in ("keep", "f16") else replace(record, bytes=described[record.name].stored_bytes)
            for record in stored
        ]
    )


def plain_weights(model: Model) -> tuple[PlainWeightConstant, ...]:
    """Return the weights of a model that can be compressed, without bodies, in the order of their readers."""
    weights: dict[Node, PlainWeightConstant] = {}
    refused: set[Node] = set()
    names: dict[str, int] = {}
    for node in (*model.graph.nodes, *model.graph.unreachable):
        names[node.name] = names.get(node.name, 0) + 1
    for position, node in enumerate(model.graph.nodes):
        for port, value in enumerate(node.inputs):
            source = None if value is None else _constant_of(value.node)
            if source is None or names[source.name] > 1:
                continue
            axes = _summed_axes(node, port, source, model)
            if axes is None:
                continue
            if source in weights and weights[source].axes != axes:
                refused.add(source)
            first = weights.get(source, PlainWeightConstant(source, node, port, axes, position))
            weights[source] = replace(first, last=position)
    return tuple([weight for node, weight in weights.items() if node not in refused])


def _constant_of(node: Node) -> Node | None:
    """Return the constant of floats of a layer: the layer itself, or the input of a Convert."""
    if node.op_class.is_conversion and node.values_in:
        node = node.values_in[0].node
    is_weight = isinstance(node.op, Const) and node.op.element_type in _FLOATS and node.op.shape.is_static
    return node if is_weight and isinstance(node.op, Const) and len(node.op.shape.static) >= 2 else None


def _summed_axes(node: Node, port: int, source: Node, model: Model) -> tuple[int, ...] | None:
    """Return the axes of a weight along which its reader sums; None for readers without weights."""
    assert isinstance(source.op, Const)
    rank = len(source.op.shape.static)
    if node.op is None or not prod(source.op.shape.static):
        return None
    if selects_slices(node.op.inputs) and port == 0 and rank == 2 and len(node.inputs) > 2:
        axis = node.inputs[2]
        op = None if axis is None else axis.node.op
        if isinstance(op, Const) and model.weights is not None and not op.evaluate(weights=model.weights).any():
            return (1,)
    return node.op.weight_axes(port, rank)


class _Choice:
    """The choice of a format for each weight."""

    def __init__(
        self,
        model: Model,
        weights: Sequence[PlainWeightConstant],
        compression: Compression,
        importance: Mapping[str, Array],
    ) -> None:
        self._model = model
        self._weights = weights
        self._compression = compression
        self._importance = importance
        self._default = _full_name(compression.format)
        self._layers = {pattern: _full_name(name) for pattern, name in compression.layers.items()}
        unused = [layer for layer in self._layers if not any(fnmatchcase(weight.name, layer) for weight in weights)]
        if unused:
            message = f"no weight matches the name {unused[0]!r}"
            raise EvaluationError(message, hint=suggested(unused[0], [weight.name for weight in weights]))
        if not 0 <= compression.ratio <= 1:
            raise EvaluationError("the ratio is", actual=compression.ratio, expected="a number from 0 to 1")
        group = compression.group_size
        if group is not None and group != -1 and group < 1:
            raise EvaluationError("the group size is", actual=group, expected="a positive number, or -1 for whole rows")

    def formats(self) -> dict[str, tuple[str, str | None]]:
        """Return the format of each weight by its name, with a note if it differs from the requested one."""
        format_of: dict[str, tuple[str, str | None]] = {}
        for weight in self._weights:
            requested = next(
                (name for pattern, name in self._layers.items() if fnmatchcase(weight.name, pattern)), None
            )
            if requested is not None:
                format_of[weight.name] = requested, None
        left = [weight for weight in self._weights if weight.name not in format_of]
        if self._default in FORMATS and FORMATS[self._default].bits == 4:
            inner = left if self._compression.all_layers else self._inner(left)
            for weight in left:
                if weight not in inner:
                    reason = "filter" if not weight.has_groups else "embedding or last layer"
                    format_of[weight.name] = _BACKUP, reason
            for weight in self._sensitive(inner):
                format_of[weight.name] = _BACKUP, "the most sensitive, by --ratio"
        for weight in left:
            format_of.setdefault(weight.name, (self._default, None))
        self._check_groups(format_of)
        return format_of

    def _inner(self, weights: Sequence[PlainWeightConstant]) -> list[PlainWeightConstant]:
        """Return the weights of all products but the last one; all weights if there are no others."""
        last = max(weight.last for weight in self._weights)
        rows = [weight for weight in weights if weight.has_groups]
        inner = [weight for weight in rows if not selects_slices(weight.reader.op_class.inputs)]
        return [weight for weight in inner if weight.last != last] or rows

    def _sensitive(self, weights: Sequence[PlainWeightConstant]) -> list[PlainWeightConstant]:
        """Return the weights for 8 bits: those with the largest loss in 4 bits."""
        total = sum(prod(weight.shape) for weight in weights)
        left = (1 - self._compression.ratio) * total
        if left < 1:
            return []
        losses = {weight.name: self._loss(weight) for weight in weights}
        chosen = []
        for weight in sorted(weights, key=lambda weight: -losses[weight.name]):
            if left <= 0:
                break
            chosen.append(weight)
            left -= prod(weight.shape)
        return chosen

    def _loss(self, weight: PlainWeightConstant) -> float:
        """Return the noise of a format in a weight, relative to its power, weighted by the importance of channels."""
        assert self._model.weights is not None
        array = convert(weight.constant.evaluate(weights=self._model.weights), ElementType.f32)
        encoding = FORMATS[self._default]
        group = _fitting(weight, encoding, self._compression.group_size)
        restored = encode(array, weight.axes, encoding, group).expand()
        spread = _spread(weight, self._importance)
        importance = np.float32(1) if spread is None else spread
        power = float((importance * array**2).sum(dtype=np.float64))
        return float((importance * (restored - array) ** 2).sum(dtype=np.float64)) / power if power else 0.0

    def _check_groups(self, formats: dict[str, tuple[str, str | None]]) -> None:
        """Give weights with rows that no group divides the backup format; raises if no weight is left."""
        size = self._compression.group_size
        wrong, right = [], 0
        for weight in self._weights:
            name, _ = formats[weight.name]
            encoding = FORMATS.get(name)
            if encoding is None or encoding.group_size is None or not weight.has_groups:
                continue
            requested = size if size is not None else encoding.group_size
            if requested == -1 or weight.channels % requested == 0:
                right += 1
            elif size is not None:
                wrong.append(weight)
        if wrong and not right:
            lengths = sorted({weight.channels for weight in wrong})
            shown = list_names([*map(str, lengths)], 6, is_counted=False)
            divisor = int(np.gcd.reduce(lengths))
            message = f"the group size {size} divides the rows of no weight: the rows have {shown} elements"
            raise EvaluationError(
                message, hint=f"use --group-size {divisor}, which divides all of them, or -1 for whole rows"
            )
        for weight in wrong:
            note = f"rows of {weight.channels} elements are not divisible into groups of {size}"
            formats[weight.name] = _BACKUP, note


def _full_name(name: str) -> str:
    full_name = SHORT_NAMES.get(name, name)
    if full_name not in FORMATS and full_name not in ("f16", *_KEPT):
        choices = ("int8", "int4", "f16", *FORMATS, "keep")
        raise EvaluationError(
            "the format of weights is",
            actual=repr(name),
            expected=f"one of {', '.join(choices)}",
            hint=suggested(name, choices),
        )
    return full_name


def _group_of(weight: PlainWeightConstant, encoding: WeightEncoding, compression: Compression) -> int | None:
    if encoding.group_size is None or not weight.has_groups:
        return None
    return _fitting(weight, encoding, compression.group_size)


def _fitting(weight: PlainWeightConstant, encoding: WeightEncoding, size: int | None) -> int | None:
    """Return the group size: the requested or default one, halved until it divides the rows."""
    if size == -1 or not weight.has_groups:
        return None
    group = encoding.group_size if size is None else size
    while group is not None and group > 1 and weight.channels % group:
        group //= 2
    return None if group is None or group <= 1 else group


def _spread(weight: PlainWeightConstant, importance: Mapping[str, Array]) -> Array | None:
    """Return the importance of the channels of a weight as an array that broadcasts to it."""
    channel_importance = importance.get(weight.name)
    if channel_importance is None:
        return None
    axis = weight.axes[0]
    if channel_importance.shape != (weight.shape[axis],):
        return None
    shape = [1] * len(weight.shape)
    shape[axis] = weight.shape[axis]
    # Channels without activations get a small importance: an error there may matter for other inputs.
    floor = np.float32(1e-3) * channel_importance.mean(dtype=np.float64).astype(np.float32) + np.float32(1e-30)
    return np.asarray((channel_importance + floor).reshape(shape), np.float32)


def _chain(weight: PlainWeightConstant, encoded: EncodedWeight) -> Value:
    """Return the layers that expand a weight, with NNCF's names."""
    name, element_type = weight.name, encoded.scale_type if encoded.scale_type is ElementType.f32 else ElementType.f16
    to, multiply = function_for("Convert"), function_for("Multiply")
    codes = constant(convert(encoded.codes, encoded.encoding.element_type), name=f"{name}{_CODES}")
    value: Value = to(codes, element_type.name)
    if encoded.zero is not None:
        zero = constant(convert(encoded.zero, encoded.encoding.element_type), name=f"{name}/zero_point")
        value = function_for("Subtract")(value, to(zero, element_type.name), name=f"{name}/zero_point/subtract")
    scale = constant(convert(encoded.scale, encoded.scale_type), name=f"{name}/scale")
    if encoded.scale_type is ElementType.f8e8m0:
        scale = to(scale, element_type.name)
    before = f"{name}/fq_weights_{weight.port}"
    value = multiply(value, scale, name=before)
    if encoded.group_size is not None:
        shape = np.array(encoded.shape, np.int64)
        value = function_for("Reshape")(value, shape, special_zero=False, name=f"{before}/reshape")
    target = weight.constant.element_type
    if target is not element_type:
        value = to(value, target.name, name=f"{before}/convert")
    return value


def _put_f16(editor: Editor, weight: PlainWeightConstant, array: Array) -> None:
    if weight.constant.element_type is ElementType.f16:
        return
    most = np.finfo(np.float16).max
    half = np.clip(convert(array, ElementType.f32), -most, most).astype(np.float16)
    to = function_for("Convert")
    target_name = weight.constant.element_type.name
    editor.replace(weight.name, lambda: to(constant(half, name=f"{weight.name}_compressed"), target_name))


def _add_settings(model: Model, compression: Compression, stored: Sequence[StoredWeight]) -> Model:
    """Return the model with the settings in its rt_info."""
    values = {
        "mode": SHORT_NAMES.get(compression.format, compression.format),
        "group_size": next((str(record.group_size) for record in stored if record.group_size is not None), "-1"),
        "ratio": str(compression.ratio),
        "all_layers": str(compression.all_layers),
        "backup_mode": _BACKUP,
    }
    entries = [RtInfo(name=name, attributes={"value": value}) for name, value in values.items()]
    compressed = RtInfo(name="weight_compression", children=tuple(entries))
    note = RtInfo(name="ir_exec", children=(compressed,))
    document = model.current_document()
    other_entries = tuple([child for child in document.rt_info.children if child.name != "ir_exec"])
    info = document.rt_info.model_copy(update={"children": (*other_entries, note)})
    document = document.model_copy(update={"rt_info": info})
    return Model(Loaded(document, model.graph, model.weights, document), model.types)
