"""Pooling, whose output dims depend on a rounding mode that many files do not declare.

Caffe rounds up, and so does the Inference Engine unless `rounding_type` is `floor`; a last window that starts past the
input and its begin pads is omitted. If an old file declares no rounding, the declared output decides; runtimes of that
time used it unchecked. Source: PoolingValidator, ie_pool_shape_infer.hpp, mkldnn_pooling_node.cpp.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ir_exec import build
from ir_exec.build import Value
from ir_exec.codes import Code
from ir_exec.errors import InvalidAttributeError, ShapeError
from ir_exec.older.call import LayerCall
from ir_exec.older.ops.convolution import Windows, windows_of
from ir_exec.older.registry import older_layer
from ir_exec.older.values import as_floats, dims_of

__all__: list[str] = []

_METHODS = {"max": "max", "avg": "avg", "ave": "avg", "average": "avg"}
_CAFFE_METHODS = {"caffe.poolingparameter.max": "max", "caffe.poolingparameter.ave": "avg"}


@older_layer("Pooling")
def pooling(layer: LayerCall, data: Value, _size: Value | None = None) -> Value:
    """The maximum or the mean of each window."""
    data = as_floats(data)
    dims = dims_of(data)
    if len(dims) < 3:
        raise ShapeError("the input has rank", actual=len(dims), expected="3 or more", code=Code.wrong_rank)
    windows, method = _windows(layer, len(dims) - 2)
    rounding = _current_rounding(_rounding(layer, windows, dims), windows, dims)
    attributes: dict[str, Any] = {
        "strides": windows.strides,
        "kernel_sizes": windows.kernel,
        "pads_begin": windows.pads_begin,
        "pads_end": windows.pads_end,
        "auto_pad": windows.auto_pad,
        "rounding_type": rounding,
        "opset": 14 if rounding == "ceil_torch" else 1,
    }
    if method == "max":
        pooled: Any = build.max_pool
        outputs: Value | Sequence[Value] = pooled(data, **attributes)
        return outputs if isinstance(outputs, Value) else outputs[0]
    return build.avg_pool(data, exclude_pad=layer.flag("exclude-pad", False), **attributes)


def _windows(layer: LayerCall, rank: int) -> tuple[Windows, str]:
    """The windows, and max or avg; the third spelling is from Caffe's own layer."""
    if not layer.has("kernel", "kernel-x") and layer.has("kernel_size", "kernel_h", "kernel_w") and rank == 2:
        kernel = _pair(layer, "kernel_{}", "kernel_size", None)
        strides, pads = _pair(layer, "stride_{}", "stride", 1), _pair(layer, "pad_{}", "pad", 0)
        method = layer.choice("pool", _CAFFE_METHODS, "caffe.PoolingParameter.MAX")
        if min(*kernel, *strides) < 1 or min(pads) < 0:
            raise InvalidAttributeError(
                "a window has size", actual=0, expected="1 or more", code=Code.invalid_attribute
            )
        return Windows(kernel, strides, pads, (0, 0), (1, 1), "explicit", False), method
    return windows_of(layer, rank)._replace(dilations=(1,) * rank), layer.choice("pool-method", _METHODS, "max")


def _pair(layer: LayerCall, name: str, both: str, default: int | None) -> tuple[int, int]:
    def read(letter: str) -> int:
        value = layer.integer(name.format(letter), 0)
        if value:
            return value
        return layer.integer(both) if default is None else layer.integer(both, default)

    return read("h"), read("w")


def _rounding(layer: LayerCall, windows: Windows, dims: tuple[int, ...]) -> str:
    """floor or ceil: from the file, else as declared by the output, else ceil. With `auto_pad` both are equal."""
    if windows.auto_pad != "explicit":
        return "floor"
    for name in ("rounding_type", "rounding-type"):
        if layer.has(name):
            return layer.choice(name, {"floor": "floor", "ceil": "ceil", "ceil_torch": "ceil_torch"})
    declared = layer.declared_dims()
    if declared is not None and len(declared) == len(dims):
        fits = {
            name: all(
                _size(windows, axis, dims[axis + 2], up=name == "ceil") == declared[axis + 2]
                for axis in range(len(windows.kernel))
            )
            for name in ("ceil", "floor")
        }
        if fits["floor"] and not fits["ceil"]:
            return "floor"
    return "ceil"


def _current_rounding(rounding: str, windows: Windows, dims: tuple[int, ...]) -> str:
    """The rounding mode of current operators that omits a last window starting past the input, as Caffe does."""
    axes = range(len(windows.kernel))
    expected = [_size(windows, axis, dims[axis + 2], up=True) for axis in axes]
    if rounding != "ceil" or all(_rounded_up(windows, axis, dims[axis + 2]) == expected[axis] for axis in axes):
        return rounding
    down = [_size(windows, axis, dims[axis + 2], up=False) for axis in axes]
    return "floor" if down == expected else "ceil_torch"


def _rounded_up(windows: Windows, axis: int, size: int) -> int:
    left = size + windows.pads_begin[axis] + windows.pads_end[axis] - windows.kernel[axis]
    return 1 - (-left // windows.strides[axis])


def _size(windows: Windows, axis: int, size: int, *, up: bool) -> int:
    begin, end = windows.pads_begin[axis], windows.pads_end[axis]
    left, stride = size + begin + end - windows.kernel[axis], windows.strides[axis]
    count = _rounded_up(windows, axis, size) if up else 1 + left // stride
    return count - (up and (count - 1) * stride >= size + begin)
