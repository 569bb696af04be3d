"""Convolutions, with weights [output, input / group, kernel] in blobs or inputs.

There are two spellings of windows: `kernel="3,5"` with `strides`, `pads_begin`, `pads_end` and `dilations`, the slowest
axis first, and `kernel-x`, `kernel-y`, `stride-x`, `pad-x`, `pad-y`, `pad-r`, `pad-b`, `dilation-x`. The end pads
default to the begin pads. Source: ConvolutionValidator and DeconvolutionValidator of the Inference Engine.
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

from ir_exec import build
from ir_exec.build import Value
from ir_exec.codes import Code
from ir_exec.errors import InvalidAttributeError, ShapeError, WeightsError
from ir_exec.older.call import LayerCall
from ir_exec.older.registry import older_layer
from ir_exec.older.values import as_floats, dims_of, reshape_to
from ir_exec.types import ElementType

__all__ = ["Windows", "windows_of"]

_AUTO_PADS = {"": "explicit", "none": "explicit", "notset": "explicit", "explicit": "explicit"} | {
    "valid": "valid",
    "same_upper": "same_upper",
    "same_lower": "same_lower",
}


class Windows(NamedTuple):
    """The windows along the spatial axes.

    Attributes:
        has_pads_end: The file declares end pads.
    """

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    pads_begin: tuple[int, ...]
    pads_end: tuple[int, ...]
    dilations: tuple[int, ...]
    auto_pad: str
    has_pads_end: bool


def windows_of(layer: LayerCall, rank: int) -> Windows:
    """The windows of a layer over `rank` spatial axes.

    Raises:
        InvalidAttributeError: For a different number of sizes.
    """
    auto_pad = layer.choice("auto_pad", _AUTO_PADS, "none")
    if layer.has("kernel"):
        zeros, ones = (0,) * rank, (1,) * rank
        begin: tuple[int, ...] = layer.integers("pads_begin", zeros)
        sizes: list[tuple[int, ...]] = [
            layer.integers("kernel"),
            layer.integers("strides", ones),
            begin,
            layer.integers("pads_end", begin),
        ]
        sizes.append(layer.integers("dilations", ones))
        has_end = layer.has("pads_end")
    else:
        kernel = (layer.integer("kernel-y"), layer.integer("kernel-x"))
        begin = (layer.integer("pad-y", 0), layer.integer("pad-x", 0))
        end = (layer.integer("pad-b", begin[0]), layer.integer("pad-r", begin[1]))
        strides = (layer.integer("stride-y", 1) or 1, layer.integer("stride-x", 1) or 1)
        dilations = (layer.integer("dilation-y", 1), layer.integer("dilation-x", 1))
        sizes = [kernel, strides, begin, end, dilations]
        has_end = layer.has("pad-r", "pad-b")
    for name, values in zip(("kernel", "strides", "pads_begin", "pads_end", "dilations"), sizes, strict=True):
        if len(values) != rank:
            raise InvalidAttributeError(
                f"{name} has",
                actual=len(values),
                detail="sizes",
                expected=rank,
                reason="one for each spatial axis",
                code=Code.invalid_attribute,
            )
        if min(values, default=1) < (0 if "pads" in name else 1):
            raise InvalidAttributeError(
                f"{name} contains",
                actual=min(values),
                expected=f"{0 if 'pads' in name else 1} or more",
                code=Code.invalid_attribute,
            )
    kernel_sizes, strides_of, pads_begin, pads_end, dilations_of = sizes
    return Windows(kernel_sizes, strides_of, pads_begin, pads_end, dilations_of, auto_pad, has_end)


def _spatial(data: Value) -> int:
    dims = dims_of(data)
    if len(dims) < 3:
        raise ShapeError("the input has rank", actual=len(dims), expected="3 or more", code=Code.wrong_rank)
    return len(dims) - 2


def _groups(layer: LayerCall, channels: int, output: int) -> int:
    group = layer.integer("group", 1)
    if group < 1 or channels % group or output % group or output < 1:
        raise ShapeError(
            "group is",
            actual=group,
            expected=f"a divisor of {channels} input and {output} output channels",
            code=Code.dims_differ,
        )
    return group


def _attributes(windows: Windows) -> dict[str, Any]:
    return {
        "strides": windows.strides,
        "pads_begin": windows.pads_begin,
        "pads_end": windows.pads_end,
        "dilations": windows.dilations,
        "auto_pad": windows.auto_pad,
    }


def _add_bias(layer: LayerCall, product: Value, data: Value, biases: Value | None, output: int) -> Value:
    ones = (1,) * (len(dims_of(data)) - 2)
    if biases is not None:
        return build.add(product, reshape_to(as_floats(biases), 1, -1, *ones))
    return build.add(product, layer.blob("biases", 1, output, *ones)) if layer.has_blob("biases") else product


def _weights(layer: LayerCall, weights: Value | None, dims: tuple[int, ...]) -> Value:
    """The filters, from an input or from the blob."""
    if weights is None:
        return layer.blob("weights", *dims)
    actual = dims_of(weights)
    if prod(actual) != prod(dims):
        raise WeightsError("the weights have dims", actual=list(actual), expected=list(dims), code=Code.constant_size)
    return as_floats(weights) if actual == dims else reshape_to(as_floats(weights), *dims)


def _fit_windows(windows: Windows, dims: tuple[int, ...], declared: tuple[int, ...] | None) -> Windows:
    """The windows with end pads that match the declared output, if the file has no end pads.

    Runtimes of that time used the declared output, and computed the end pads from it.
    """
    if windows.has_pads_end or windows.auto_pad != "explicit" or declared is None or len(declared) != len(dims):
        return windows
    end = []
    for axis in range(len(windows.kernel)):
        reach = (windows.kernel[axis] - 1) * windows.dilations[axis] + 1
        needed = (declared[axis + 2] - 1) * windows.strides[axis] + reach - dims[axis + 2] - windows.pads_begin[axis]
        declared_pad = windows.pads_end[axis]
        # A difference of more than one stride from the declared output is a fault of the file.
        end.append(
            needed
            if needed >= 0 and declared_pad - needed < windows.strides[axis] and needed <= declared_pad
            else declared_pad
        )
    return windows._replace(pads_end=tuple(end))


@older_layer("Convolution")
def convolution(layer: LayerCall, data: Value, weights: Value | None = None, biases: Value | None = None) -> Value:
    """Cross-correlation with a bias for each output channel."""
    data = as_floats(data)
    dims = dims_of(data)
    windows = _fit_windows(windows_of(layer, _spatial(data)), dims, layer.declared_dims())
    output = layer.integer("output")
    group = _groups(layer, dims[1], output)
    if group == 1:
        filters = _weights(layer, weights, (output, dims[1], *windows.kernel))
        product = build.convolution(data, filters, **_attributes(windows))
    else:
        filters = _weights(layer, weights, (group, output // group, dims[1] // group, *windows.kernel))
        product = build.group_convolution(data, filters, **_attributes(windows))
    return _add_bias(layer, product, data, biases, output)


@older_layer("Deconvolution")
def deconvolution(layer: LayerCall, data: Value, weights: Value | None = None, biases: Value | None = None) -> Value:
    """Transposed convolution; weights are [input, output / group, kernel], as in Caffe."""
    data = as_floats(data)
    dims = dims_of(data)
    windows = windows_of(layer, _spatial(data))
    output = layer.integer("output")
    group = _groups(layer, dims[1], output)
    attributes = _attributes(windows)
    declared = layer.declared_dims()
    shape = None
    if windows.auto_pad != "explicit" and declared is not None and len(declared) == len(dims):
        shape = build.constant([*declared[2:]], ElementType.i64)
    if group == 1:
        filters = _weights(layer, weights, (dims[1], output, *windows.kernel))
        product = build.convolution_backprop_data(data, filters, shape, **attributes)
    else:
        filters = _weights(layer, weights, (group, dims[1] // group, output // group, *windows.kernel))
        product = build.group_convolution_backprop_data(data, filters, shape, **attributes)
    return _add_bias(layer, product, data, biases, output)


@older_layer("DeformableConvolution")
def deformable_convolution(
    layer: LayerCall, data: Value, offsets: Value, weights: Value | None = None, biases: Value | None = None
) -> Value:
    """A convolution whose taps are moved by an input."""
    data = as_floats(data)
    dims = dims_of(data)
    windows = windows_of(layer, _spatial(data))
    output = layer.integer("output")
    group = _groups(layer, dims[1], output)
    filters = _weights(layer, weights, (output, dims[1] // group, *windows.kernel))
    deformable = layer.integer("deformable_group", 1)
    groups: dict[str, Any] = {"group": group, "deformable_group": deformable}
    product = build.deformable_convolution(data, offsets, filters, **_attributes(windows), **groups)
    return _add_bias(layer, product, data, biases, output)


@older_layer("BinaryConvolution")
def binary_convolution(layer: LayerCall, data: Value, weights: Value | None = None) -> Value:
    """A convolution of -1 and 1 with binary weights.

    Source: BinaryConvolutionValidator.
    """
    data = as_floats(data)
    dims = dims_of(data)
    windows = windows_of(layer, _spatial(data))
    output = layer.integer("output")
    _groups(layer, dims[1], output)
    if layer.integer("group", 1) != 1:
        raise InvalidAttributeError(
            "group differs from 1", expected="1 for a binary convolution", code=Code.invalid_attribute
        )
    shape = (output, dims[1], *windows.kernel)
    filters = layer.blob("weights", *shape, element_type=ElementType.u1) if weights is None else weights
    attributes: dict[str, Any] = {
        "mode": layer.text("mode", "xnor-popcount"),
        "pad_value": layer.number("pad_value", 0.0),
    }
    return build.binary_convolution(data, filters, **attributes, **_attributes(windows))
