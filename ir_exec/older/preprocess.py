"""`<pre-process>`: a mean to subtract from an input, a number or an image for each channel, and a scale.

The Inference Engine computed (input - mean) / scale before the network, if every channel has a mean.
"""

from __future__ import annotations

import numpy as np

from ir_exec import build
from ir_exec.build import Value
from ir_exec.build.values import new_layer
from ir_exec.codes import Code
from ir_exec.errors import IRError, Location, ParseError
from ir_exec.ir import RtInfo, Weights
from ir_exec.ir.older_document import OlderDocument, OlderLayer
from ir_exec.older.call import parsed_precision
from ir_exec.ops.infrastructure.values import Const
from ir_exec.types import ElementType, Shape

__all__ = ["preprocessed_input", "subtract_mean"]


def preprocessed_input(document: OlderDocument) -> OlderLayer | None:
    """The input of `<pre-process>`: the one that it names, else the first of rank 4, else the first one."""
    tree = document.pre_process
    if tree is None:
        return None
    inputs = [layer for layer in document.layers if layer.type.lower() == "input" and layer.outputs]
    reference_name = tree.attributes.get("reference-layer-name", "").strip()
    if reference_name:
        return next((layer for layer in inputs if layer.name == reference_name), None)
    images = [layer for layer in inputs if len(layer.outputs[0].dims) == 4]
    return next(iter(images or inputs), None)


def subtract_mean(tree: RtInfo, value: Value, weights: Weights | None) -> Value:
    """The input with the mean subtracted; the input itself if there is no mean.

    Raises:
        IRError: With the line.
    """
    channels = [child for child in tree.children if child.name == "channel"]
    means = [mean for channel in channels if (mean := channel.child("mean")) is not None]
    if not means:
        return value
    name = value.layer.name
    dims = value.shape.static if value.shape.is_static else ()
    count = _channel_count(dims)
    if len(means) != count:
        raise ParseError(
            "<pre-process> has means for",
            actual=len(means),
            detail="channels",
            expected=count,
            reason=f"the channels of input {name!r}",
            code=Code.missing_markup,
            location=Location(line=tree.line),
        )
    ordered = _by_channel(channels)
    if all("size" in mean.attributes for mean in means):
        offset = _images([_mean(channel) for channel in ordered], tree, dims, weights)
    else:
        offset = _spread([_number(_mean(channel), "value") for channel in ordered], dims)
    data = value if value.element_type is ElementType.f32 else build.convert(value, ElementType.f32)
    centered = build.subtract(data, offset, name=f"{name}/Subtract")
    scale_elements = [channel.child("scale") for channel in ordered]
    scales = [1.0 if scale is None else _number(scale, "value") for scale in scale_elements]
    if any(scale != 1 for scale in scales):
        centered = build.divide(centered, _spread(scales, dims), name=f"{name}/Divide")
    return centered


def _channel_count(dims: tuple[int, ...]) -> int:
    """The number of channels, as in the Inference Engine: dims of rank 3 have no batch."""
    if len(dims) < 2:
        raise ParseError(
            "the input of <pre-process> has rank", actual=len(dims), expected="2 or more", code=Code.wrong_rank
        )
    return dims[{2: 1, 3: 0, 4: 1}.get(len(dims), 2 if len(dims) == 5 else 1)]


def _by_channel(channels: list[RtInfo]) -> list[RtInfo]:
    last = -1
    placed = []
    for channel in channels:
        last = _integer(channel, "id", last + 1)
        placed.append((last, channel))
    return [channel for _, channel in sorted(placed, key=lambda entry: entry[0]) if channel.child("mean") is not None]


def _mean(channel: RtInfo) -> RtInfo:
    mean = channel.child("mean")
    assert mean is not None, "channels without a mean are left out"
    return mean


def _number(element: RtInfo, name: str, default: float | None = None) -> float:
    text = element.attributes.get(name)
    try:
        if text is None and default is not None:
            return default
        number = float(text or "")
        if not np.isfinite(number):
            raise ValueError
    except ValueError:
        raise ParseError(
            f"{name} of <{element.name}> is",
            actual=repr((text or "")[:40]),
            expected="a number",
            code=Code.unreadable_number,
            location=Location(line=element.line),
        ) from None
    return number


def _integer(element: RtInfo, name: str, default: int | None = None) -> int:
    number = _number(element, name, default)
    if not abs(number) < 2**63:
        raise ParseError(
            f"{name} of <{element.name}> is",
            actual=f"{number:g}",
            expected="a 64-bit integer",
            code=Code.unreadable_number,
            location=Location(line=element.line),
        )
    return int(number)


def _spread(numbers: list[float], dims: tuple[int, ...]) -> Value:
    """A number for each channel, as a constant that broadcasts to the input."""
    shape = [1] * len(dims)
    shape[{2: 1, 3: 0, 4: 1}.get(len(dims), 2)] = len(numbers)
    with np.errstate(over="ignore"):
        return build.constant(np.asarray(numbers, np.float32).reshape(shape))


def _images(means: list[RtInfo], tree: RtInfo, dims: tuple[int, ...], weights: Weights | None) -> Value:
    """The mean images of all channels, [channels, height, width]."""
    element_type = parsed_precision(tree.attributes.get("mean-precision")) or ElementType.f32
    parts = []
    for mean in means:
        offset, size = _integer(mean, "offset"), _integer(mean, "size")
        shape = Shape((1, *dims[-2:]))
        location = Location(line=mean.line)
        try:
            if weights is not None:
                weights.check(element_type, shape.static, offset, size)
            elif offset < 0 or size < 0:
                raise ParseError(
                    "the offset and the size are",
                    actual=f"{offset} and {size}",
                    expected="0 or more",
                    code=Code.constant_offset,
                )
        except IRError as error:
            raise error.located(location) from None
        op = Const(element_type=element_type, shape=shape, offset=offset, size=size)
        attributes = {
            "element_type": element_type.name,
            "shape": ",".join(map(str, shape)),
            "offset": str(offset),
            "size": str(size),
        }
        constant = new_layer("Const", op, (), [op.infer(weights=weights)], attributes=attributes)
        parts.append(constant.outputs[0])
    image = build.concat(parts, 0)
    return build.convert(image, ElementType.f32) if element_type is not ElementType.f32 else image
