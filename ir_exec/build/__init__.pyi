# Made by `python -m tests.build.stub` from the registry of operators: the newest version of each.

from collections.abc import Iterable, Sequence
from typing import Literal

from ir_exec.build.bodies import (
    Collected as Collected,
    Sliced as Sliced,
    if_ as if_,
    loop as loop,
    tensor_iterator as tensor_iterator,
)
from ir_exec.build.constants import (
    ElementTypeLike as ElementTypeLike,
    Input as Input,
    constant as constant,
    parameter as parameter,
)
from ir_exec.build.edit import (
    Editor as Editor,
)
from ir_exec.build.network import (
    model as model,
    result as result,
)
from ir_exec.build.operators import (
    op as op,
)
from ir_exec.build.values import (
    Value as Value,
)
from ir_exec.build.operators import (
    assign as assign,
    read_value as read_value,
)
from ir_exec.model import ShapeLike as ShapeLike

def abs(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = |data|; the lowest integer of a signed type wraps to itself.

    Specification: arithmetic/abs-1.

    Args:
        data: Any shape, any numeric type.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data.
    """

def acos(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = arccos data, in radians; NaN beyond [-1, 1].

    Specification: arithmetic/acos-1.

    Args:
        data: Any shape, any numeric type.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data.
    """

def acosh(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = arcosh data; NaN below 1.

    Specification: arithmetic/acosh-3.

    Args:
        data: Any shape, any numeric type.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data.
    """

def adaptive_avg_pool(
    data: Input,
    output_shape: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """The mean of each window; means of integers are rounded to the nearest, ties to even.

    Window i of n along an axis covers elements floor(i * size / n) to ceil((i + 1) * size / n) - 1.

    Specification: pooling/adaptive-avg-pool-8, which has float types only; integers are an extension of OpenVINO.

    Args:
        data: [batch, channels, spatial...], any numeric type.
        output_shape: A vector of integers, the number of windows on each spatial axis.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: [batch, channels, windows...], the type of data.

    Raises:
        IRError: IR501 for a rank of data other than 3, 4, 5 and of output_shape other than 1, IR502 for another length
            of output_shape, IR505 and IR704 for a negative number of windows, IR704 for windows without elements.
    """

def adaptive_max_pool(
    data: Input,
    output_shape: Input,
    *,
    index_element_type: ElementTypeLike = "i64",
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[Iterable[str]] = (),
) -> tuple[Value, Value]:
    """The greatest element of each window, and its index in the flattened spatial axes: the first of equal ones.

    Window i of n along an axis covers elements floor(i * size / n) to ceil((i + 1) * size / n) - 1.

    Specification: pooling/adaptive-max-pool-8.

    Args:
        data: [batch, channels, spatial...], any numeric type.
        output_shape: A vector of integers, the number of windows on each spatial axis.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: [batch, channels, windows...], the type of data.
        indices: The shape of output, the type `index_element_type`: i64 (the default) or i32.

    Raises:
        IRError: IR501 for a rank of data other than 3, 4, 5 and of output_shape other than 1, IR502 for another length
            of output_shape, IR505 and IR704 for a negative number of windows, IR704 for windows without elements.
    """

def add(
    a: Input,
    b: Input,
    *,
    auto_broadcast: Literal["none", "numpy", "pdpd"] = "numpy",
    axis: int = 0,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = a + b; integers wrap.

    Specification: arithmetic/add-1.

    Source: the page broadcast-rules.

    Args:
        a: Any shape, any numeric type.
        b: The element type of a, a shape that broadcasts with the shape of a.
        auto_broadcast: `numpy`, `none` (the shapes are equal; `explicit` is a synonym), or `pdpd`: the first dim of b
            is aligned with dim `axis` of a.
        axis: For `pdpd`; -1 aligns the last dim of b with the last of a. The default is 0, as in OpenVINO; the
            specification declares -1.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The type of a, the shape that a and b broadcast to.

    Raises:
        IRError: IR501 and IR502 for shapes that differ with `none`, IR504 for shapes that do not broadcast, IR503 for
            an axis that a does not have.
    """

def asin(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = arcsin data, in radians; NaN beyond [-1, 1].

    Specification: arithmetic/asin-1.

    Args:
        data: Any shape, any numeric type.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data.
    """

def asinh(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = arsinh data.

    Specification: arithmetic/asinh-3.

    Args:
        data: Any shape, any numeric type.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data.
    """

def atan(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = arctan data, in radians.

    Specification: arithmetic/atan-1.

    Args:
        data: Any shape, any numeric type.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data.
    """

def atanh(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = artanh data; ±inf at ±1, NaN beyond.

    Specification: arithmetic/atanh-3.

    Args:
        data: Any shape, any numeric type.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data.
    """

def avg_pool(
    data: Input,
    strides: Sequence[int],
    kernel_sizes: Sequence[int],
    exclude_pad: bool,
    *,
    pads_begin: Sequence[int] = (),
    pads_end: Sequence[int] = (),
    auto_pad: Literal["explicit", "same_lower", "same_upper", "valid"] = "explicit",
    rounding_type: Literal["ceil", "ceil_torch", "floor"] = "floor",
    dilations: Sequence[int] = (),
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """AvgPool-14 with dilated windows.

    Means of integers are rounded to the nearest, ties to even.

    strides, pads_begin and pads_end have one value for each spatial axis.

    Specification: pooling/avg-pool-16.

    Args:
        data: [batch, channels, spatial...], any numeric type.
        strides: The distance between neighboring windows.
        exclude_pad: Padding is excluded from the mean, and a window that covers only padding gives 0; if false, padding
            counts as zeros. Without any pads, elements of the last window beyond the data are excluded, as in OpenVINO.
        pads_begin: Padding before each axis if auto_pad is `explicit`, the default; a negative number removes elements.
        pads_end: Padding after each axis if auto_pad is `explicit`; a negative number removes elements.
        auto_pad: `valid` is no padding; `same_upper` and `same_lower` are ceil(size / stride) windows with the padding
            that they need, an odd element at the end or at the beginning.
        rounding_type: A last window that extends beyond the padded data is omitted (`floor`, the default) or included
            (`ceil`); `ceil_torch` includes it unless it begins in the padding at the end.
        dilations: The distance between neighboring elements, by default 1.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: [batch, channels, windows...], the type of data.

    Raises:
        IRError: Also IR505 for `exclude-pad` with windows of padding only.
            IR501 for ranks other than 3, 4, 5, IR505 for attributes whose length is not the number of spatial axes
            and for windows larger than the padded data.
    """

def batch_norm_inference(
    data: Input,
    gamma: Input,
    beta: Input,
    mean: Input,
    variance: Input,
    epsilon: float,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output[b, c, ...] = (data[b, c, ...] - mean[c]) / sqrt(variance[c] + epsilon) * gamma[c] + beta[c].

    Specification: normalization/batch-norm-inference-5.

    Args:
        data: [batch, channels, ...], any float type.
        gamma: [channels], of the same type.
        beta: Like `gamma`.
        mean: Like `gamma`.
        variance: Like `gamma`.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The shape and the type of data.

    Raises:
        IRError: IR501 for data of rank 0 or 1 and other inputs that are not vectors, IR502 if the channels differ.
    """

def batch_to_space(
    data: Input,
    block_shape: Input,
    crops_begin: Input,
    crops_end: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """Blocks moved from the batch axis to the spatial axes, whose ends are then cropped.

    Specification: movement/batch-to-space-2.

    Args:
        data: [batch, D1, D2, ...], rank 2 or more, any type.
        block_shape: A vector of integers, one for each axis of data, the first one 1.
        crops_begin: A vector of integers, one for each axis of data, the first one 0.
        crops_end: Like `crops_begin`.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: [batch / product of block_shape, D1 * block_shape[1] - crops_begin[1] - crops_end[1], ...], the type of
            data.

    Raises:
        IRError: IR501 and IR502 for other shapes, IR505 for numbers out of range, a batch that is not a multiple of the
            product, or crops larger than the axis. IR505 also for a first element of block_shape other than 1, or of
            crops other than 0, for which OpenVINO's outputs differ from the inferred shape.
    """

def bgr_to_nv12(
    image: Input,
    *,
    single_plane: bool = True,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[Iterable[str]] = (),
) -> tuple[Value, Value]:
    """RGBtoNV12-17 for channels in the order B, G, R.

    Specification: image/bgr-to-nv12-17.

    Args:
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.
    """

def binary_convolution(
    data: Input,
    filters: Input,
    mode: Literal["xnor-popcount"],
    pad_value: float,
    *,
    strides: Sequence[int] = (),
    pads_begin: Sequence[int] = (),
    pads_end: Sequence[int] = (),
    auto_pad: Literal["explicit", "same_lower", "same_upper", "valid"] = "explicit",
    dilations: Sequence[int] = (),
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """Convolution of bits: 1 counts as 1, 0 as -1, padding as the bit pad_value.

    The specification requires strides, dilations and pads; as in OpenVINO they are 1, 1 and 0 in a file without them.

    strides, pads_begin and pads_end have one value for each spatial axis.

    Specification: convolution/binary-convolution-1. OpenVINO's CPU plugin reads the bits of each byte of the filters in
    reverse order, needs a multiple of eight channels, and omits padding with pad_value 0 from the sum; this class does
    not.

    Args:
        data: [batch, channels, height, width] of zeros and ones, any numeric type; values above 0 count as 1.
        filters: [outputs, channels, kernel height, kernel width], u1 (or numbers, as data).
        strides: The distance between neighboring windows.
        pads_begin: Padding before each axis if auto_pad is `explicit`, the default; a negative number removes elements.
        pads_end: Padding after each axis if auto_pad is `explicit`; a negative number removes elements.
        auto_pad: `valid` is no padding; `same_upper` and `same_lower` are ceil(size / stride) windows with the padding
            that they need, an odd element at the end or at the beginning.
        dilations: The distance between neighboring elements of a window.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: [batch, outputs, windows...], the type of data.

    Raises:
        IRError: IR501 for ranks other than 4, IR502 where the channels differ, IR505 as Convolution.
    """

def bitwise_and(
    a: Input,
    b: Input,
    *,
    auto_broadcast: Literal["none", "numpy", "pdpd"] = "numpy",
    axis: int = 0,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = a and b, bit by bit; of booleans the logical operator.

    Specification: bitwise/bitwise-and-13.

    Source: the page broadcast-rules.

    Args:
        a: Any shape, any integer or boolean type.
        b: The element type of a, a shape that broadcasts with the shape of a.
        auto_broadcast: `numpy`, `none` (the shapes are equal; `explicit` is a synonym), or `pdpd`: the first dim of b
            is aligned with dim `axis` of a.
        axis: For `pdpd`; -1 aligns the last dim of b with the last of a. The default is 0, as in OpenVINO; the
            specification declares -1.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The type of a, the shape that a and b broadcast to.

    Raises:
        IRError: IR501 and IR502 for shapes that differ with `none`, IR504 for shapes that do not broadcast, IR503 for
            an axis that a does not have.
    """

def bitwise_left_shift(
    a: Input,
    b: Input,
    *,
    auto_broadcast: Literal["none", "numpy", "pdpd"] = "numpy",
    axis: int = 0,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = a · 2^b: the bits of a shifted to the left by b; bits shifted out are lost.

    Specification: bitwise/bitwise-left-shift-15.

    Source: the page broadcast-rules.

    Args:
        a: Any integer type.
        b: The element type of a, a shape that broadcasts with the shape of a.
        auto_broadcast: `numpy`, `none` (the shapes are equal; `explicit` is a synonym), or `pdpd`: the first dim of b
            is aligned with dim `axis` of a.
        axis: For `pdpd`; -1 aligns the last dim of b with the last of a. The default is 0, as in OpenVINO; the
            specification declares -1.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The type of a, the shape that a and b broadcast to.

    Raises:
        IRError: IR704 for a shift by a negative number of bits or by the width of the type or more, which the
            specification leaves to the hardware; and the errors of Binary.
            IR501 and IR502 for shapes that differ with `none`, IR504 for shapes that do not broadcast, IR503 for
            an axis that a does not have.
    """

def bitwise_not(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = data with every bit inverted; of booleans the logical operator.

    Specification: bitwise/bitwise-not-13.

    Args:
        data: Any shape, any integer type or boolean.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data.
    """

def bitwise_or(
    a: Input,
    b: Input,
    *,
    auto_broadcast: Literal["none", "numpy", "pdpd"] = "numpy",
    axis: int = 0,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = a or b, bit by bit; of booleans the logical operator.

    Specification: bitwise/bitwise-or-13.

    Source: the page broadcast-rules.

    Args:
        a: Any shape, any integer or boolean type.
        b: The element type of a, a shape that broadcasts with the shape of a.
        auto_broadcast: `numpy`, `none` (the shapes are equal; `explicit` is a synonym), or `pdpd`: the first dim of b
            is aligned with dim `axis` of a.
        axis: For `pdpd`; -1 aligns the last dim of b with the last of a. The default is 0, as in OpenVINO; the
            specification declares -1.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The type of a, the shape that a and b broadcast to.

    Raises:
        IRError: IR501 and IR502 for shapes that differ with `none`, IR504 for shapes that do not broadcast, IR503 for
            an axis that a does not have.
    """

def bitwise_right_shift(
    a: Input,
    b: Input,
    *,
    auto_broadcast: Literal["none", "numpy", "pdpd"] = "numpy",
    axis: int = 0,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = a / 2^b, rounded down: the bits of a shifted to the right by b.

    Specification: bitwise/bitwise-right-shift-15.

    Source: the page broadcast-rules.

    Args:
        a: Any integer type.
        b: The element type of a, a shape that broadcasts with the shape of a.
        auto_broadcast: `numpy`, `none` (the shapes are equal; `explicit` is a synonym), or `pdpd`: the first dim of b
            is aligned with dim `axis` of a.
        axis: For `pdpd`; -1 aligns the last dim of b with the last of a. The default is 0, as in OpenVINO; the
            specification declares -1.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The type of a, the shape that a and b broadcast to.

    Raises:
        IRError: IR704 for a shift by a negative number of bits or by the width of the type or more, which the
            specification leaves to the hardware; and the errors of Binary.
            IR501 and IR502 for shapes that differ with `none`, IR504 for shapes that do not broadcast, IR503 for
            an axis that a does not have.
    """

def bitwise_xor(
    a: Input,
    b: Input,
    *,
    auto_broadcast: Literal["none", "numpy", "pdpd"] = "numpy",
    axis: int = 0,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = a exclusive or b, bit by bit; of booleans the logical operator.

    Specification: bitwise/bitwise-xor-13.

    Source: the page broadcast-rules.

    Args:
        a: Any shape, any integer or boolean type.
        b: The element type of a, a shape that broadcasts with the shape of a.
        auto_broadcast: `numpy`, `none` (the shapes are equal; `explicit` is a synonym), or `pdpd`: the first dim of b
            is aligned with dim `axis` of a.
        axis: For `pdpd`; -1 aligns the last dim of b with the last of a. The default is 0, as in OpenVINO; the
            specification declares -1.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The type of a, the shape that a and b broadcast to.

    Raises:
        IRError: IR501 and IR502 for shapes that differ with `none`, IR504 for shapes that do not broadcast, IR503 for
            an axis that a does not have.
    """

def broadcast(
    data: Input,
    target_shape: Input,
    axes_mapping: Input | None = None,
    *,
    axis: int = 0,
    mode: Literal["bidirectional", "explicit", "none", "numpy", "pdpd"] = "numpy",
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """data repeated to fill `target_shape`.

    The axis of pdpd, again an extension of OpenVINO, has another name in the file. Only explicit has axes_mapping, and
    requires it.

    Specification: movement/broadcast-3.

    Args:
        data: Any shape, any type.
        target_shape: A vector of integers.
        axes_mapping: Optional, a vector of integers.
        mode: As in Broadcast-1, and `bidirectional`: data and the target are broadcast together as in NumPy.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The type of data.

    Raises:
        IRError: Also IR106 for a missing axes_mapping, or one that the mode does not allow.
            IR501 for a target_shape or axes_mapping that is not a vector, IR503 for axes that are out of range or
            do not rise, IR504 for data that does not broadcast, IR505 for a negative size; IR704 for faults found only
            in the run.
    """

def bucketize(
    data: Input,
    buckets: Input,
    *,
    output_type: ElementTypeLike = "i64",
    with_right_bound: bool = True,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """The number of the bucket that each element falls into: the number of boundaries below it.

    NaN falls into the first bucket or, without `with_right_bound`, into the last one.

    Specification: condition/bucketize-3.

    Args:
        data: Any shape, any numeric type.
        buckets: The boundaries, a sorted vector, any numeric type. A boundary that equals the element belongs to the
            bucket below it (`with_right_bound`) or above it.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The shape of data, element type `output_type`.
    """

def ceiling(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = the least integer that is not below data.

    Specification: arithmetic/ceiling-1.

    Args:
        data: Any shape, any numeric type.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data.
    """

def clamp(
    data: Input,
    min: float,
    max: float,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = min(max(data, min), max). For integers `min` is rounded up and `max` down.

    Specification: activation/clamp-1.

    Args:
        data: Any shape, any numeric type.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data.

    Raises:
        IRError: IR302 where min is above max, or one of them is NaN.
    """

def col2im(
    data: Input,
    output_size: Input,
    kernel_size: Input,
    *,
    strides: Sequence[int] = (1, 1),
    dilations: Sequence[int] = (1, 1),
    pads_begin: Sequence[int] = (0, 0),
    pads_end: Sequence[int] = (0, 0),
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """An image composed of its patches, which are summed where they overlap: the reverse of im2col.

    L, the number of patches, is the product over both spatial axes of (output_size + pads_begin + pads_end - dilation *
    (kernel_size - 1) - 1) // stride + 1.

    Floats shorter than f32 are summed in f32, integers wrap.

    Specification: movement/col2im-15.

    Args:
        data: [N, C * product of kernel_size, L], or without N, any numeric type.
        output_size: Two integers, i32 or i64.
        kernel_size: Two integers, i32 or i64.
        strides: 1 by default.
        dilations: 1 by default.
        pads_begin: 0 by default.
        pads_end: 0 by default.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: [N, C, *output_size], or without N, the type of data.

    Raises:
        IRError: IR501 and IR502 for other shapes, IR505 for sizes, channels and patches that do not match.
    """

def concat(
    inputs: Sequence[Input],
    axis: int,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """The inputs concatenated along `axis`, which counts from the end if it is negative.

    Specification: movement/concat-1.

    Args:
        inputs: At least one, of rank 1 or more and of one type; only their sizes along the axis may differ.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Their type.

    Raises:
        IRError: IR501 for ranks that differ, IR502 for other unequal sizes, IR503 for an axis out of range.
    """

def convert(
    data: Input,
    destination_type: ElementTypeLike,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = data, converted to `destination_type` by the rules of `ir_exec.types.conversion`.

    The specification does not define the conversion of values that the new type cannot represent. Where OpenVINO's
    reference kernels and its CPU plugin differ, the result is as in C++: integers wrap, and an f64 is not converted to
    an integer via f32. Floats become f8e4m3 and f8e5m2 via f16, rounded twice, as in OpenVINO: 0.7813114 becomes 0.75,
    not 0.8125. A Cast of ONNX, which rounds once, is lowered with the correction.

    Specification: type/convert-1.

    Args:
        data: Any shape, any numeric type or boolean.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The shape of data; it may alias data.

    Raises:
        IRError: IR401 for a destination_type that is neither numeric nor boolean.
    """

def convert_like(
    data: Input,
    like: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = data, converted as in Convert to the element type of `like`.

    Specification: type/convert-like-1.

    Args:
        data: Any shape, any numeric type or boolean.
        like: Any shape; only its type is used.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The shape of data; it may alias data.

    Raises:
        IRError: IR401 for a type of like that is neither numeric nor boolean.
    """

def convert_promote_types(
    input_0: Input,
    input_1: Input,
    *,
    promote_unsafe: bool = False,
    pytorch_scalar_promotion: bool = False,
    u64_integer_promotion_target: ElementTypeLike = "f32",
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[Iterable[str]] = (),
) -> tuple[Value, Value]:
    """Both inputs, converted to the type that their element types promote to.

    A float wins over an integer, an integer over a boolean. Of two floats or two integers the wider wins; a signed and
    an unsigned integer become a signed one that includes both, or `u64_integer_promotion_target` (f32 by default) if
    there is none. pytorch_scalar_promotion (false by default): of two floats or two integers, one of them a scalar, the
    type of the other wins.

    Specification: type/convert-promote-types-14.

    Args:
        input_0: Any shapes.
        input_1: Any shapes.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output_0: The shapes of the inputs; they may alias the inputs.
        output_1: As `output_0`.

    Raises:
        IRError: IR402 for a promotion that may lose values without `promote_unsafe` (false by default); as in OpenVINO,
            even if a type wider than both could represent them.
    """

def convolution(
    data: Input,
    filters: Input,
    *,
    strides: Sequence[int] = (),
    pads_begin: Sequence[int] = (),
    pads_end: Sequence[int] = (),
    auto_pad: Literal["explicit", "same_lower", "same_upper", "valid"] = "explicit",
    dilations: Sequence[int] = (),
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output[b, o, i] = sum over c and k of data[b, c, i * stride + k * dilation - pad] * filters[o, c, k].

    i and k are indices of one, two or three spatial axes. Floats shorter than f32 are multiplied in f32. Integers are
    exact: 8 bits saturate, longer ones wrap.

    The specification requires strides, dilations and pads; as in OpenVINO they are 1, 1 and 0 in a file without them.

    strides, pads_begin and pads_end have one value for each spatial axis.

    Specification: convolution/convolution-1.

    Args:
        data: [batch, channels, spatial...], any numeric type.
        filters: [outputs, channels, kernel...], the type of data.
        strides: The distance between neighboring windows.
        pads_begin: Padding before each axis if auto_pad is `explicit`, the default; a negative number removes elements.
        pads_end: Padding after each axis if auto_pad is `explicit`; a negative number removes elements.
        auto_pad: `valid` is no padding; `same_upper` and `same_lower` are ceil(size / stride) windows with the padding
            that they need, an odd element at the end or at the beginning.
        dilations: The distance between neighboring elements of a window.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: [batch, outputs, windows...], the type of data.

    Raises:
        IRError: IR501 for ranks that differ or are not 3, 4 or 5, IR502 where the channels differ, IR505 for attributes
            of another length and for windows larger than the padded data.
    """

def convolution_backprop_data(
    data: Input,
    filters: Input,
    output_shape: Input | None = None,
    *,
    strides: Sequence[int] = (),
    pads_begin: Sequence[int] = (),
    pads_end: Sequence[int] = (),
    auto_pad: Literal["explicit", "same_lower", "same_upper", "valid"] = "explicit",
    dilations: Sequence[int] = (),
    output_padding: Sequence[int] = (),
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output[b, o, i * stride + k * dilation - pad] += data[b, c, i] * filters[c, o, k], starting at 0.

    i and k are indices of one, two or three spatial axes. Floats shorter than f32 are multiplied in f32. Integers are
    exact: 8 bits saturate, longer ones wrap.

    A spatial axis of the output has `(size - 1) * stride + extent - pads_begin - pads_end + output_padding` elements
    (extent: of the dilated kernel), or the size in output_shape.

    Pads are 0 unless auto_pad is `explicit`. With output_shape and `same_upper` or `same_lower` they are the
    difference, with an odd element at the beginning or at the end. output_padding is 0 by default. Elements that no
    filter reaches are 0.

    In the specification, pads of `explicit` are ignored if output_shape is given, and `valid` shifts the output as
    `same_lower` does. As in OpenVINO, these pads are applied and the output is not shifted.

    The specification requires strides, dilations and pads; as in OpenVINO they are 1, 1 and 0 in a file without them.

    strides, pads_begin and pads_end have one value for each spatial axis.

    Specification: convolution/convolution-backprop-data-1.

    Args:
        data: [batch, channels, spatial...], any numeric type.
        filters: [channels, outputs, kernel...], the type of data.
        output_shape: Optional, an integer for each spatial axis.
        strides: The distance between neighboring windows.
        pads_begin: Padding before each axis if auto_pad is `explicit`, the default; a negative number removes elements.
        pads_end: Padding after each axis if auto_pad is `explicit`; a negative number removes elements.
        auto_pad: `valid` is no padding; `same_upper` and `same_lower` are ceil(size / stride) windows with the padding
            that they need, an odd element at the end or at the beginning.
        dilations: The distance between neighboring elements of a window.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: [batch, outputs, spatial...], the type of data.

    Raises:
        IRError: IR501 for ranks that differ or are not 3, 4 or 5, IR502 where the channels differ or output_shape has
            another length, IR505 for attributes of another length and for negative sizes, IR704 for a wrong
            output_shape.
    """

def cos(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = cos data, with data in radians.

    Specification: arithmetic/cos-1.

    Args:
        data: Any shape, any numeric type.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data.
    """

def cosh(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = cosh data.

    Specification: arithmetic/cosh-1.

    Args:
        data: Any shape, any numeric type.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data.
    """

def ctc_greedy_decoder(
    data: Input,
    sequence_mask: Input,
    *,
    ctc_merge_repeated: bool = True,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """The labels of the most probable path, the last class being the blank; -1 after the last label.

    Specification: sequence/ctc-greedy-decoder-1.

    Args:
        data: [T, N, C], steps, sequences and classes, any float type.
        sequence_mask: [T, N], any float type; a sequence ends at its first 0.
        ctc_merge_repeated: A run of one class is one label.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: [N, T, 1, 1], the type of data.
    """

def ctc_greedy_decoder_seq_len(
    data: Input,
    sequence_length: Input,
    blank_index: Input | None = None,
    *,
    merge_repeated: bool = True,
    classes_index_type: ElementTypeLike = "i32",
    sequence_length_type: ElementTypeLike = "i32",
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[Iterable[str]] = (),
) -> tuple[Value, Value]:
    """The labels of the most probable path, -1 after the last one, and their number.

    Specification: sequence/ctc-greedy-decoder-seq-len-6.

    Args:
        data: [N, T, C], sequences, steps and classes, any float type.
        sequence_length: [N], 0 to T.
        blank_index: One class, by default the last one.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        decoded_classes: The labels, [N, T], of `classes_index_type`.
        decoded_length: Their numbers, [N], of `sequence_length_type`. With merge_repeated a run of one class is one
            label.

    Raises:
        IRError: IR704 for a length outside of 0 to T.
    """

def ctc_loss(
    logits: Input,
    logit_length: Input,
    labels: Input,
    label_length: Input,
    blank_index: Input | None = None,
    *,
    preprocess_collapse_repeated: bool = False,
    ctc_merge_repeated: bool = True,
    unique: bool = False,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """-log of the probability of all paths with these labels; the classes of a step have probabilities softmax(logits).

    First preprocess_collapse_repeated merges runs of equal labels, and `unique` keeps only the first of all equal ones.
    Without ctc_merge_repeated repeated classes of a path are not merged.

    Specification: sequence/ctc-loss-4.

    Args:
        logits: [N, T, C], sequences, steps and classes, any float type.
        logit_length: [N], at most T.
        labels: [N, T], the first label_length of them count.
        label_length: [N], at most logit_length.
        blank_index: A scalar, by default the last class.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: [N], the type of logits; infinity if no path has the labels.

    Raises:
        IRError: IR701 for a label out of range, and for the blank among labels; IR704 for lengths out of range.
    """

def cum_sum(
    data: Input,
    axis: Input | None = None,
    *,
    exclusive: bool = False,
    reverse: bool = False,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output[j] = the sum of data[0] to data[j] along the axis.

    The specification has numeric types only; as in OpenVINO, data may also be boolean, which PyTorch exporters write
    for packed sequences: a sum is then true if one of its elements is.

    Specification: arithmetic/cumsum-3.

    Args:
        data: Rank 1 or more, any numeric type.
        axis: A scalar of i32 or i64, by default 0; as in OpenVINO it may also be a vector of one element.
        exclusive: The sum ends at data[j - 1], and is 0 for the first element; false by default.
        reverse: Sums begin at the end of the axis; false by default.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data; integers wrap.

    Raises:
        IRError: IR501 for data that is a scalar, IR501 and IR502 for an axis of another shape, IR503 and IR704 for an
            axis that data does not have.
    """

def deformable_convolution(
    data: Input,
    offsets: Input,
    filters: Input,
    mask: Input | None = None,
    *,
    strides: Sequence[int] = (),
    pads_begin: Sequence[int] = (),
    pads_end: Sequence[int] = (),
    auto_pad: Literal["explicit", "same_lower", "same_upper", "valid"] = "explicit",
    dilations: Sequence[int] = (),
    group: int = 1,
    deformable_group: int = 1,
    bilinear_interpolation_pad: bool = False,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """A convolution of windows whose elements are moved by offsets and multiplied by a mask.

    output[b, o, i] = sum over c and k of sample[b, c, k, i] * filters[o, c, k].

    sample[b, c, k, i] is data[b, c] at `i * stride + k * dilation - pad + offset`. The offset of element k of window i
    is offsets[b, 2 * k] along the height and offsets[b, 2 * k + 1] along the width; k counts through the kernel row by
    row, after all elements of the preceding groups.

    A sample between four elements of the data is interpolated bilinearly; one outside of the data is 0. In the
    specification, a sample less than one element outside counts as on the border; in OpenVINO, and here, this holds
    only after the last element of an axis.

    The specification requires strides, dilations and pads; as in OpenVINO they are 1, 1 and 0 in a file without them.

    strides, pads_begin and pads_end have one value for each spatial axis.

    Specification: convolution/deformable-convolution-8.

    Args:
        data: [batch, channels, height, width], any numeric type.
        offsets: [batch, 2 * deformable_group * kernel, windows...], any numeric type.
        filters: [outputs, channels / group, kernel...], the type of data.
        mask: Optional, [batch, deformable_group * kernel, windows...], any numeric type: the factor of element k of
            window i.
        strides: The distance between neighboring windows.
        pads_begin: Padding before each axis if auto_pad is `explicit`, the default; a negative number removes elements.
        pads_end: Padding after each axis if auto_pad is `explicit`; a negative number removes elements.
        auto_pad: `valid` is no padding; `same_upper` and `same_lower` are ceil(size / stride) windows with the padding
            that they need, an odd element at the end or at the beginning.
        dilations: The distance between neighboring elements of a window.
        group: The number of channel groups with separate filters, 1 by default.
        deformable_group: The number of channel groups with separate offsets, 1 by default.
        bilinear_interpolation_pad: A sample less than one element outside of the data is interpolated with surrounding
            zeros; false by default.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: [batch, outputs, windows...], the type of data.

    Raises:
        IRError: IR501 for ranks other than 4, IR502 for dims that do not match each other or the groups, IR505 as
            Convolution.
    """

def deformable_psroi_pooling(
    data: Input,
    rois: Input,
    offsets: Input | None = None,
    *,
    spatial_scale: float,
    output_dim: int,
    group_size: int = 1,
    mode: Literal["bilinear_deformable"] = "bilinear_deformable",
    spatial_bins_x: int = 1,
    spatial_bins_y: int = 1,
    trans_std: float = 1.0,
    part_size: int = 1,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """Regions of interest pooled to one size, every bin from a separate channel and moved by offsets.

    The region goes from x1, y1, rounded, to one after x2, y2, rounded, all times `spatial_scale` less 0.5, and is
    divided into bins. Each bin is moved by offset * trans_std times the size of the region, with the offsets of its
    cell. It is the mean of spatial_bins_y x spatial_bins_x points, starting at its corner, in channel [output channel,
    row of bins, column of bins]; points more than half an element outside are ignored, and a bin without points is 0.

    Specification: detection/deformable-psroi-pooling-1.

    Args:
        data: [N, C, H, W].
            [N, C, H, W], C at least output_dim * group_size², floats.
        rois: [NUM_ROIS, 5].
            [NUM_ROIS, 5], floats.
        offsets: [NUM_ROIS, 2 * classes, part_size, part_size], floats, x and y for each class of output channels; the
            classes are equally large.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: [NUM_ROIS, output_dim, group_size, group_size], the type of data.

    Raises:
        IRError: IR502, IR505 for channels or offsets that do not match, IR701 for an image out of range.
    """

def depth_to_space(
    data: Input,
    mode: Literal["blocks_first", "depth_first"],
    *,
    block_size: int = 1,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """Blocks moved from the axis of depth to the spatial axes.

    Specification: movement/depth-to-space-1.

    Args:
        data: [batch, depth, D1, ..., DK], any type, K spatial axes, at least one.
        mode: The order of a block along the axis of depth. With `depth_first` the elements of one channel are adjacent,
            with `blocks_first` the elements of one position in the block.
        block_size: The size of a block along each spatial axis, by default 1.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: [batch, depth / block_size ** K, D1 * block_size, ..., DK * block_size], the type of data.

    Raises:
        IRError: IR505 for a depth that is not a multiple of block_size ** K.
            IR501 for a rank below 3.
    """

def detection_output(
    box_logits: Input,
    class_preds: Input,
    proposals: Input,
    aux_class_preds: Input | None = None,
    aux_box_preds: Input | None = None,
    *,
    keep_top_k: Sequence[int],
    nms_threshold: float,
    background_label_id: int = 0,
    top_k: int = -1,
    variance_encoded_in_target: bool = False,
    code_type: Literal[
        "caffe.PriorBoxParameter.CENTER_SIZE", "caffe.PriorBoxParameter.CORNER"
    ] = "caffe.PriorBoxParameter.CORNER",
    share_location: bool = True,
    confidence_threshold: float = 0.0,
    clip_after_nms: bool = False,
    clip_before_nms: bool = False,
    decrease_label_id: bool = False,
    normalized: bool = False,
    input_height: int = 1,
    input_width: int = 1,
    objectness_score: float = 0.0,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """The objects found by an SSD detector: prior boxes moved as predicted, after non-maximum suppression.

    Candidates are the best `top_k` boxes of each class with a score above `confidence_threshold`. Boxes that overlap a
    higher-scored one by more than `nms_threshold` are removed, and the best `keep_top_k` of the others are kept for
    each image, class by class. With `decrease_label_id` each prior counts only for its best class other than 0, and the
    class ids of the output are decreased by one.

    As in OpenVINO, priors in pixels are divided by the size of the image a second time when they move twice.
    Specification: detection/detectionoutput-8.

    Args:
        box_logits: Floating, [N, num_priors * num_loc_classes * 4], the moves of the prior boxes, for each class if not
            `share_location`.
        class_preds: The type of box_logits, [N, num_priors * num_classes].
        proposals: Floating, [1 or N, 1 or 2, num_priors * 4], the prior boxes (x0, y0, x1, y1) and, if not
            `variance_encoded_in_target`, factors of their moves. If not `normalized`, priors have 5 numbers, the first
            of which is -1 after the last prior, and coordinates are pixels of an image of input_width and input_height.
        aux_class_preds: Like class_preds and box_logits, [N, num_priors * 2] and the shape of box_logits; they move the
            priors a first time. A prior contains no object if the second of its two numbers is below
            `objectness_score`.
        aux_box_preds: Like `aux_class_preds`.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The type of box_logits, [1, 1, n, 7], rows of image, class, score and box; -1 ends them, and the rest is
            zeros. n is N * keep_top_k, or N * top_k * num_classes for a keep_top_k of -1, or else N * num_classes *
            num_priors.
    """

def dft(
    data: Input,
    axes: Input,
    signal_size: Input | None = None,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output[m] = sum over j of data[j] * exp(-2 pi i m j / S), along every one of `axes` with its S numbers.

    Specification: signals/dft-7.

    Args:
        data: A float type, shape [..., 2].
        axes: A vector of different axes; negative ones count from the end, the last axis of complex data is not
            counted.
        signal_size: A vector with the number of values to transform along each axis, -1 for the axis size. A longer
            axis is truncated, a shorter one padded with zeros.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data, with the sizes of signal_size. f16 and bf16 are computed in f32. Without axes the output is
            data.
    """

def divide(
    a: Input,
    b: Input,
    *,
    auto_broadcast: Literal["none", "numpy", "pdpd"] = "numpy",
    axis: int = 0,
    m_pythondiv: bool = True,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = a / b; the quotient of integers is rounded towards zero.

    Specification: arithmetic/divide-1, by which quotients of integers are rounded down with `m_pythondiv`, the default.
    OpenVINO does so while it infers shapes, and in a run with `pdpd`, except for 8 bits; elsewhere its CPU plugin
    rounds towards zero for any value of the attribute. This class follows OpenVINO.

    Source: the page broadcast-rules.

    Args:
        a: Any numeric type.
        b: The element type of a, a shape that broadcasts with the shape of a.
        auto_broadcast: `numpy`, `none` (the shapes are equal; `explicit` is a synonym), or `pdpd`: the first dim of b
            is aligned with dim `axis` of a.
        axis: For `pdpd`; -1 aligns the last dim of b with the last of a. The default is 0, as in OpenVINO; the
            specification declares -1.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The type of a, the shape that a and b broadcast to.

    Raises:
        IRError: IR704 for an integer divided by zero, and those of Binary.
            IR501 and IR502 for shapes that differ with `none`, IR504 for shapes that do not broadcast, IR503 for
            an axis that a does not have.
    """

def einsum(
    inputs: Sequence[Input],
    equation: str,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """The sum of products that `equation` describes, such as `ij,jk->ik`.

    A label that occurs twice in one input selects the diagonal of these axes. The axes of a label in several inputs are
    equal, or 1 and broadcast. Floats shorter than f32 are summed in f32. Integers are exact: 8 bits saturate, longer
    ones wrap.

    Specification: matrix/einsum-7. OpenVINO's implicit output keeps a label that repeats within one input, with which
    its runtime fails; as specified, it is omitted here (`ii` is the trace).

    Args:
        inputs: As many as the equation has subscripts, one numeric type.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The type of the inputs.

    Raises:
        IRError: IR106 for another number of inputs, IR302 for a bad equation, IR501 for a rank that does not match its
            subscript, IR502 for axes of a diagonal that differ, IR504 for axes that do not broadcast.
    """

def elu(
    data: Input,
    alpha: float,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = data where it is positive, else alpha · (e^data - 1).

    Specification: activation/elu-1.

    Args:
        data: Any shape, any numeric type; the specification has floats only, OpenVINO takes all.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data.
    """

def embedding_bag_offsets(
    emb_table: Input,
    indices: Input,
    offsets: Input,
    default_index: Input | None = None,
    per_sample_weights: Input | None = None,
    *,
    reduction: Literal["mean", "sum"] = "sum",
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """EmbeddingBagOffsetsSum-3 with `reduction` mean, for rows without weights; means of integers are truncated.

    Bags that are ranges of `indices`; `offsets` is the beginning of each. `reduction` is as in `_Packed`.

    Specification: sparse/embedding-bag-offsets-15.

    Args:
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Raises:
        IRError: IR302 for weights with means.
    """

def embedding_bag_offsets_sum(
    emb_table: Input,
    indices: Input,
    offsets: Input,
    default_index: Input | None = None,
    per_sample_weights: Input | None = None,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output[i] = sum of emb_table[indices[j]] * per_sample_weights[j] over offsets[i] <= j < offsets[i + 1].

    Sums of integers wrap.

    Bags that are ranges of `indices`; `offsets` is the beginning of each. `reduction` is as in `_Packed`.

    Specification: sparse/embedding-bag-offsets-sum-3.

    Args:
        emb_table: [num_emb, ...], any numeric type of 8 bits and more.
        indices: [num_indices].
        offsets: [batch], ascending, at most num_indices.
        default_index: A scalar, the row for bags without elements; they are zeros if it is -1 or missing.
        per_sample_weights: The shape of indices, the type of emb_table; by default ones.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: [batch, ...], the type of emb_table.

    Raises:
        IRError: IR701 for an index or an offset out of range.
    """

def embedding_bag_packed(
    emb_table: Input,
    indices: Input,
    per_sample_weights: Input | None = None,
    *,
    reduction: Literal["mean", "sum"] = "sum",
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """EmbeddingBagPackedSum-3 with `reduction` mean, for rows without weights; means of integers are truncated.

    Bags with equal numbers of elements; `reduction` is a field only if the operator has the attribute.

    Specification: sparse/embedding-bag-packed-15.

    Args:
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Raises:
        IRError: IR302 for weights with means.
    """

def embedding_bag_packed_sum(
    emb_table: Input,
    indices: Input,
    per_sample_weights: Input | None = None,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output[i] = sum over j of emb_table[indices[i, j]] * per_sample_weights[i, j].

    Sums of integers wrap.

    Bags with equal numbers of elements; `reduction` is a field only if the operator has the attribute.

    Specification: sparse/embedding-bag-packed-sum-3.

    Args:
        emb_table: [num_emb, ...], any numeric type of 8 bits and more.
        indices: [batch, indices_per_bag].
        per_sample_weights: The shape of indices, the type of emb_table; by default ones.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: [batch, ...], the type of emb_table.

    Raises:
        IRError: IR701 for an index out of range.
    """

def embedding_segments_sum(
    emb_table: Input,
    indices: Input,
    segment_ids: Input,
    num_segments: Input,
    default_index: Input | None = None,
    per_sample_weights: Input | None = None,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output[i] = sum of emb_table[indices[j]] * per_sample_weights[j] over all j with segment_ids[j] = i.

    Sums of integers wrap.

    Specification: sparse/embedding-segments-sum-3.

    Args:
        emb_table: [num_emb, ...], any numeric type of 8 bits and more.
        indices: [num_indices], the segments in any order.
        segment_ids: [num_indices], the segments in any order.
        num_segments: A scalar.
        default_index: A scalar, the row for segments without elements; they are zeros if it is -1 or missing.
        per_sample_weights: The shape of indices, the type of emb_table; by default ones.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: [num_segments, ...], the type of emb_table.

    Raises:
        IRError: IR701 for an index out of range, and for a segment id out of range (OpenVINO ignores such elements);
            IR704 for a negative num_segments.
    """

def equal(
    a: Input,
    b: Input,
    *,
    auto_broadcast: Literal["none", "numpy", "pdpd"] = "numpy",
    axis: int = 0,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = a equals b.

    Specification: comparison/equal-1.

    Source: the page broadcast-rules.

    Args:
        a: Any element type.
        b: The element type of a, a shape that broadcasts with the shape of a.
        auto_broadcast: `numpy`, `none` (the shapes are equal; `explicit` is a synonym), or `pdpd`: the first dim of b
            is aligned with dim `axis` of a.
        axis: For `pdpd`; -1 aligns the last dim of b with the last of a. The default is 0, as in OpenVINO; the
            specification declares -1.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Boolean, the shape that a and b broadcast to.

    Raises:
        IRError: IR501 and IR502 for shapes that differ with `none`, IR504 for shapes that do not broadcast, IR503 for
            an axis that a does not have.
    """

def erf(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = 2/√π · ∫ exp(-t²) dt from 0 to data.

    Specification: arithmetic/erf-1.

    Args:
        data: Any shape, any numeric type.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data.
    """

def erfinv(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = the y with erf(y) = data; ±inf at ±1, NaN beyond.

    Specification: arithmetic/erfinv-17.

    Args:
        data: Any shape, any float type.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data.
    """

def exp(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = e^data.

    Specification: activation/exp-1.

    Args:
        data: Any shape, any numeric type.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data.
    """

def experimental_detectron_detection_output(
    input_rois: Input,
    input_deltas: Input,
    input_scores: Input,
    input_im_info: Input,
    score_threshold: float,
    nms_threshold: float,
    num_classes: int,
    post_nms_count: int,
    max_detections_per_image: int,
    max_delta_log_wh: float,
    deltas_weights: Sequence[float],
    *,
    class_agnostic_box_regression: bool = False,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[Iterable[str]] = (),
) -> tuple[Value, Value, Value]:
    """The objects that a Detectron model finds: regions moved as predicted, after non-maximum suppression.

    Class 0 is the background. Candidates have a score above `score_threshold`. Boxes that overlap a higher-scored
    box of their class by more than `nms_threshold` are removed. The best `post_nms_count` of each class are kept, class
    by class; if these are too many, the best of all classes are kept. As in OpenVINO, boxes are clipped at the first
    row and column of the image only, and class_agnostic_box_regression has no effect.

    Specification: detection/experimental-detectron-detection-output-6.

    Args:
        input_rois: Floating, [n, 4], boxes (x0, y0, x1, y1) in pixels.
        input_deltas: The type of input_rois, [n, num_classes * 4], how each moves for each class: its center by so many
            widths and heights, and the logarithms of its growth, at most max_delta_log_wh, all divided by
            `deltas_weights`.
        input_scores: [n, num_classes].
        input_im_info: [1, 3], not used.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        boxes: [max_detections_per_image, 4], filled up with zeros, which the specification leaves open.
        classes: i32, [max_detections_per_image], of the boxes.
        scores: [max_detections_per_image], of the boxes.
    """

def experimental_detectron_generate_proposals_single_image(
    im_info: Input,
    anchors: Input,
    deltas: Input,
    scores: Input,
    min_size: float,
    nms_threshold: float,
    pre_nms_count: int,
    post_nms_count: int,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[Iterable[str]] = (),
) -> tuple[Value, Value]:
    """Anchors moved as predicted, after non-maximum suppression, for one image.

    Boxes are clipped to the image; those smaller than `min_size` get the score 0. Of the best
    `pre_nms_count` boxes, those that overlap a higher-scored one by more than `nms_threshold` are removed. As in
    OpenVINO, a box from 2 to 4 is 3 wide when it moves and when its size is compared, and 2 wide in overlaps.

    Specification: detection/experimental-detectron-generate-proposals-single-image-6.

    Args:
        im_info: Floating, [3], height and width of the image and a scale that is not used.
        anchors: The type of im_info, [height * width * A, 4], boxes (x0, y0, x1, y1).
        deltas: [A * 4, height, width], how each anchor moves: its center by so many widths and heights, and the
            logarithms of its growth, at most log(1000 / 16).
        scores: [A, height, width].
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        rois: [post_nms_count, 4], the best first, filled up with zeros.
        roi_scores: Their scores, [post_nms_count], filled up with zeros.
    """

def experimental_detectron_prior_grid_generator(
    priors: Input,
    feature_map: Input,
    im_data: Input,
    *,
    flatten: bool = False,
    h: int = 0,
    w: int = 0,
    stride_x: float = 0.0,
    stride_y: float = 0.0,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """Prior boxes shifted to every point of a grid over an image.

    The points are at (index + 0.5) times `stride_x` and `stride_y`, or if these are 0 times the image's width and
    height over the grid's. `h` and `w` are the height and width of the grid, those of feature_map if they are 0; the
    size of the output is that of feature_map, and the rest is filled with zeros, which the specification leaves open.
    `flatten` is false by default, as in OpenVINO; the specification has true.

    Specification: detection/experimental-detectron-prior-grid-generator-6.

    Args:
        priors: Floating, [n, 4], boxes (x0, y0, x1, y1) around 0.
        feature_map: [N, C, height, width]; only its sizes count.
        im_data: [N, C, image height, image width]; only its sizes count.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The type of priors, [height * width * n, 4], or [height, width, n, 4] without `flatten`.
    """

def experimental_detectron_roi_feature_extractor(
    rois: Input,
    pyramid: Sequence[Input],
    output_size: int,
    sampling_ratio: int,
    pyramid_scales: Sequence[int],
    *,
    aligned: bool = False,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[Iterable[str]] = (),
) -> tuple[Value, Value]:
    """ROIAlign with the mean of each bin, each region in the level of a pyramid that fits its size.

    A region of width w and height h belongs to level floor(2 + log2(sqrt(w * h) / 224 + 1e-6)), clipped to the existing
    levels; a region without area gives zeros. The specification has the rois in the order of their levels in the second
    output, OpenVINO in the order of the input.

    Specification: detection/experimental-detectron-roi-feature-extractor-6.

    Args:
        rois: Floating, [n, 4], boxes (x0, y0, x1, y1) in pixels of the image.
        pyramid: The type of rois, one tensor [1, C, height, width] for each level, one pixel of which covers
            `pyramid_scales` pixels of the image.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        roi_features: [n, C, output_size, output_size].
        roi_boxes: rois as they are.

    Raises:
        IRError: IR704 for a region with more than 2^22 sampling points.
    """

def experimental_detectron_topk_rois(
    input_rois: Input,
    rois_probs: Input,
    *,
    max_rois: int = 0,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """The boxes of the highest probabilities, the highest first.

    Specification: sort/experimental-detectron-top-krois-6.

    Args:
        input_rois: Floating, [n, 4].
        rois_probs: The type of input_rois, [n].
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The type of input_rois, [max_rois, 4]; equal probabilities are ordered by index, and missing boxes are
            zeros; the specification does not define either.
    """

def extract_image_patches(
    data: Input,
    sizes: Sequence[int],
    strides: Sequence[int],
    rates: Sequence[int],
    auto_pad: Literal["same_lower", "same_upper", "valid"],
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output[b, (kh, kw, c), i, j] = data[b, c, i * strides[0] + kh * rates[0], j * strides[1] + kw * rates[1]].

    Specification: movement/extract-image-patches-3.

    Args:
        data: [batch, depth, rows, columns], any type.
        sizes: Two numbers, for rows and columns.
        strides: Like `sizes`.
        rates: Like `sizes`.
        auto_pad: With `same_upper` and `same_lower` there are ceil(size / stride) patches along an axis, and zeros are
            added at both ends; an odd zero is added at the end (`same_upper`) or at the beginning (`same_lower`). With
            `valid`, only complete patches count. If none fits, OpenVINO may count one that begins within the image and
            reads zeros outside.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: [batch, sizes[0] * sizes[1] * depth, rows of patches, columns of patches], the type of data.

    Raises:
        IRError: IR501 for another rank.
    """

def eye(
    num_rows: Input,
    num_columns: Input,
    diagonal_index: Input,
    batch_shape: Input | None = None,
    *,
    output_type: ElementTypeLike,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output[..., i, i + diagonal_index] = 1, all other elements 0.

    Specification: generation/eye-9.

    Args:
        num_rows: i32 or i64, a scalar or one element.
        num_columns: Like `num_rows`.
        diagonal_index: i32 or i64, a scalar or one element. A negative diagonal is below the main one; a matrix without
            the diagonal is all zeros.
        batch_shape: Optional, a vector of i32 or i64, the dims before the matrix.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Shape batch_shape + [num_rows, num_columns], the type `output_type`: numeric, or boolean, an extension
            of OpenVINO to the specification.

    Raises:
        IRError: IR501 and IR502 for inputs of other shapes, IR505 and IR704 for a negative size.
    """

def fake_convert(
    data: Input,
    scale: Input,
    shift: Input | None = None,
    *,
    destination_type: Literal["f8e4m3", "f8e5m2"],
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = (converted(data * scale - shift) + shift) / scale, where converted means to an 8-bit float and back.

    As in OpenVINO, numbers are converted via f16, and so rounded twice. Too large numbers become the largest finite
    value; NaN remains NaN.

    Specification: quantization/fake-convert-13.

    Args:
        data: Any shape, f16, bf16 or f32.
        scale: The type of data, and a shape that broadcasts to the shape of data.
        shift: Like scale, of the same shape; by default 0.
        destination_type: `f8e4m3` or `f8e5m2`.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data.

    Raises:
        IRError: IR504 for a scale that does not broadcast to data, IR501 and IR502 for another shape of shift.
    """

def fake_quantize(
    data: Input,
    input_low: Input,
    input_high: Input,
    output_low: Input,
    output_high: Input,
    levels: int,
    *,
    auto_broadcast: Literal["explicit", "none", "numpy", "pdpd"] = "numpy",
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """Values rounded to one of `levels` between limits.

    output = round((data - input_low) / (input_high - input_low) * (levels - 1)) / (levels - 1)
    * (output_high - output_low) + output_low; ties are rounded to even.

    data up to the lesser of input_low and input_high becomes output_low, data above the greater one output_high.

    Floats shorter than f32 are quantized in f32, integers in f64 and rounded.

    Specification: quantization/fake-quantize-1, in which data has a float type; integers are an extension of OpenVINO.
    The mode pdpd is treated as numpy, which broadcasts a superset of shapes.

    Args:
        data: Any shape, any numeric type.
        input_low: Numeric, as in OpenVINO of any type; a shape that broadcasts to the shape of data.
        input_high: Like `input_low`.
        output_low: Like `input_low`.
        output_high: Like `input_low`.
        levels: 2 or more.
        auto_broadcast: `numpy` (the default), or `none`: the limits have the shape of data.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data.

    Raises:
        IRError: IR504 for limits that do not broadcast to data, IR501 and IR502 for other shapes with `none`.
    """

def floor(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = the greatest integer that is not above data.

    Specification: arithmetic/floor-1.

    Args:
        data: Any shape, any numeric type.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data.
    """

def floor_mod(
    a: Input,
    b: Input,
    *,
    auto_broadcast: Literal["none", "numpy", "pdpd"] = "numpy",
    axis: int = 0,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = a - b · floor(a / b): the remainder with the sign of b, as in Python.

    Specification: arithmetic/floormod-1.

    Source: the page broadcast-rules.

    Args:
        a: Any numeric type.
        b: The element type of a, a shape that broadcasts with the shape of a.
        auto_broadcast: `numpy`, `none` (the shapes are equal; `explicit` is a synonym), or `pdpd`: the first dim of b
            is aligned with dim `axis` of a.
        axis: For `pdpd`; -1 aligns the last dim of b with the last of a. The default is 0, as in OpenVINO; the
            specification declares -1.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The type of a, the shape that a and b broadcast to.

    Raises:
        IRError: IR704 for an integer divided by zero, and those of Binary.
            IR501 and IR502 for shapes that differ with `none`, IR504 for shapes that do not broadcast, IR503 for
            an axis that a does not have.
    """

def gather(
    data: Input,
    indices: Input,
    axis: Input,
    *,
    batch_dims: int = 0,
    out_of_range: Literal["error"] | None = None,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """Gather-7 with any index allowed: a negative one counts from the end, one out of range gives zeros.

    output[p, q, i, r] = data[p, q, indices[p, i], r]: p are the batch axes, q the axes before `axis`, r the axes after
    it.

    A Gather with the attribute batch_dims.

    output[p, q, i, r] = data[p, q, indices[p, i], r]: p are batch axes, q axes before `axis`, r axes after it.

    Specification: movement/gather-8.

    Args:
        data: Any element type, rank 1 or more.
        indices: Integers, any rank.
        axis: One integer, a scalar or of shape [1], not less than batch_dims.
        batch_dims: 0 or more, or negative to count from the end of the shape of indices.
        out_of_range: An attribute of ir_exec, which OpenVINO ignores. With "error" an index out of range is an error,
            as ONNX requires for its Gather; Gather-7 cannot express this, because OpenVINO gives zeros for its negative
            indices. For strings, the empty string is used as zero.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The element type of data, shape data.shape[:axis] + indices.shape[batch_dims:] + data.shape[axis + 1:].

    Raises:
        IRError: IR701 for an index out of range if `out_of_range` is "error".
    """

def gather_elements(
    data: Input,
    indices: Input,
    axis: int,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output[i, j, k] = data[i, indices[i, j, k], k], shown for axis 1 of rank 3.

    A negative index counts from the end, as OpenVINO does; the specification expects indices of 0 or more.

    Specification: movement/gather-elements-6.

    Args:
        data: Any element type, rank 1 or more.
        indices: i32 or i64, the shape of data except on `axis`.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The element type of data, the shape of indices.

    Raises:
        IRError: IR701 for an index out of range.
    """

def gather_nd(
    data: Input,
    indices: Input,
    *,
    batch_dims: int = 0,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """Slices or elements selected by tuples: output[p, i] = data[p, *indices[p, i]]; the batch axes p are kept.

    The first `batch_dims` axes of data and indices are equal (the specification would broadcast them, OpenVINO never
    did).

    output[p, i] = data[p, *indices[p, i]]: p are the batch axes, i all other axes of indices except the last.

    Specification: movement/gather-nd-8.

    Args:
        data: Any element type, rank 1 or more.
        indices: Integers, rank 1 or more; tuples are along the last axis and have at most rank(data) - batch_dims
            elements.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The element type of data, shape indices.shape[:-1] + data.shape[batch_dims + indices.shape[-1]:].

    Raises:
        IRError: IR701 for an index out of range, where OpenVINO's CPU plugin reads arbitrary memory.
    """

def gather_tree(
    step_ids: Input,
    parent_ids: Input,
    max_seq_len: Input,
    end_token: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """The complete beams of a beam search, from the token and the parent beam of every step.

    All inputs have one element type.

    A beam is followed back from the last step of its sequence; after its first end_token it holds only end_token. A
    sequence of no steps is all end_token, where OpenVINO's CPU plugin leaves the output unchanged.

    Specification: movement/gather-tree-1.

    Args:
        step_ids: Integer values of any numeric type except u1, u3, u6 and nf4, shape [MAX_TIME, BATCH_SIZE,
            BEAM_WIDTH].
        parent_ids: Like `step_ids`.
        max_seq_len: Shape [BATCH_SIZE].
        end_token: A scalar.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like step_ids.

    Raises:
        IRError: IR701 for a parent that is not a beam, if it is followed.
    """

def gelu(
    data: Input,
    *,
    approximation_mode: Literal["erf", "tanh"] = "erf",
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = data · Φ(data), where Φ is the distribution function of the standard normal distribution.

    Specification: activation/gelu-7.

    Args:
        data: Any shape, any float type.
        approximation_mode: `erf`, the default, is Φ(x) = (1 + erf(x / √2)) / 2; `tanh` approximates it by (1 +
            tanh(√(2/π) · (x + 0.044715 x³))) / 2.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data.
    """

def generate_proposals(
    im_info: Input,
    anchors: Input,
    boxesdeltas: Input,
    scores: Input,
    min_size: float,
    nms_threshold: float,
    pre_nms_count: int,
    post_nms_count: int,
    *,
    normalized: bool = True,
    nms_eta: float = 1.0,
    roi_num_type: ElementTypeLike = "i64",
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[Iterable[str]] = (),
) -> tuple[Value, Value, Value]:
    """Anchors moved as predicted, after non-maximum suppression, for each image.

    Boxes are clipped to the image. Of the best `pre_nms_count`, boxes smaller than `min_size` times the scale are
    removed, then boxes that overlap a higher-scored one by more than `nms_threshold`. The best `post_nms_count` are
    kept. A threshold above one half is multiplied by `nms_eta` for each box that is kept; OpenVINO supports only 1 for
    nms_eta. If not `normalized`, coordinates are in pixels, and a box from 2 to 4 is 3 wide.

    Specification: detection/generate-proposals-9.

    Args:
        im_info: Floating, [N, 3] or [N, 4], height and width of the image and one scale, or one of each.
        anchors: Floating, [height, width, A, 4], boxes (x0, y0, x1, y1).
        boxesdeltas: Floating, [N, A * 4, height, width], how each anchor moves: its center by so many widths and
            heights, and the logarithms of its growth, at most log(1000 / 16).
        scores: Floating, [N, A, height, width].
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        rpnrois: The type of im_info, [n, 4], image by image, the best first.
        rpnscores: The type of im_info, [n].
        rpnroisnum: `roi_num_type`, [N], the number of boxes of each image.
    """

def greater(
    a: Input,
    b: Input,
    *,
    auto_broadcast: Literal["none", "numpy", "pdpd"] = "numpy",
    axis: int = 0,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = a > b.

    Specification: comparison/greater-1.

    Source: the page broadcast-rules.

    Args:
        a: Any shape, any integer or boolean type.
        b: The element type of a, a shape that broadcasts with the shape of a.
        auto_broadcast: `numpy`, `none` (the shapes are equal; `explicit` is a synonym), or `pdpd`: the first dim of b
            is aligned with dim `axis` of a.
        axis: For `pdpd`; -1 aligns the last dim of b with the last of a. The default is 0, as in OpenVINO; the
            specification declares -1.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Boolean, the shape that a and b broadcast to.

    Raises:
        IRError: IR501 and IR502 for shapes that differ with `none`, IR504 for shapes that do not broadcast, IR503 for
            an axis that a does not have.
    """

def greater_equal(
    a: Input,
    b: Input,
    *,
    auto_broadcast: Literal["none", "numpy", "pdpd"] = "numpy",
    axis: int = 0,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = a ≥ b.

    Specification: comparison/greater-equal-1.

    Source: the page broadcast-rules.

    Args:
        a: Any shape, any integer or boolean type.
        b: The element type of a, a shape that broadcasts with the shape of a.
        auto_broadcast: `numpy`, `none` (the shapes are equal; `explicit` is a synonym), or `pdpd`: the first dim of b
            is aligned with dim `axis` of a.
        axis: For `pdpd`; -1 aligns the last dim of b with the last of a. The default is 0, as in OpenVINO; the
            specification declares -1.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Boolean, the shape that a and b broadcast to.

    Raises:
        IRError: IR501 and IR502 for shapes that differ with `none`, IR504 for shapes that do not broadcast, IR503 for
            an axis that a does not have.
    """

def grid_sample(
    data: Input,
    grid: Input,
    *,
    align_corners: bool = False,
    mode: Literal["bicubic", "bilinear", "nearest"] = "bilinear",
    padding_mode: Literal["border", "reflection", "zeros"] = "zeros",
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output[n, c, i, j] = data[n, c] sampled at the position (x, y) = grid[n, i, j].

    The specification's page exchanges the two meanings of align_corners; this class follows OpenVINO. As in OpenVINO's
    CPU plugin, integers of 8 bits are rounded and saturate, and others are truncated.

    Specification: image/grid-sample-9.

    Args:
        data: [N, C, H, W], any numeric type.
        grid: [N, H_out, W_out, 2], any float type.
        align_corners: The positions -1 and 1 are the centers of the first and the last element; otherwise, the default,
            their outer edges.
        mode: `bilinear` (the default), `bicubic` with the parameter -0.75, or `nearest`, with ties to the even index.
        padding_mode: Elements outside of data are `zeros` (the default), the nearest on the `border`, or their
            `reflection` at it.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: [N, C, H_out, W_out], the type of data.

    Raises:
        IRError: IR501 for other ranks, IR502 for a grid of another batch or without pairs, IR704 if data has no
            elements to sample.
    """

def grn(
    data: Input,
    bias: float,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = data / sqrt(the sum of its squares over all channels + bias).

    Specification: normalization/grn-1.

    Args:
        data: [batch, channels, ...] of rank 2, 3 or 4, any float type.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data.

    Raises:
        IRError: IR501 for other ranks.
    """

def group_convolution(
    data: Input,
    filters: Input,
    *,
    strides: Sequence[int] = (),
    pads_begin: Sequence[int] = (),
    pads_end: Sequence[int] = (),
    auto_pad: Literal["explicit", "same_lower", "same_upper", "valid"] = "explicit",
    dilations: Sequence[int] = (),
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """Convolution of groups of channels, each with separate filters.

    Group g convolves channels g * C to g * C + C - 1 of the data with filters[g] to the outputs g * O to
    g * O + O - 1. With one channel in each group that is a depthwise convolution.

    The specification requires strides, dilations and pads; as in OpenVINO they are 1, 1 and 0 in a file without them.

    strides, pads_begin and pads_end have one value for each spatial axis.

    Specification: convolution/group-convolution-1.

    Args:
        data: [batch, groups * C, spatial...], any numeric type.
        filters: [groups, O, C, kernel...], the type of data.
        strides: The distance between neighboring windows.
        pads_begin: Padding before each axis if auto_pad is `explicit`, the default; a negative number removes elements.
        pads_end: Padding after each axis if auto_pad is `explicit`; a negative number removes elements.
        auto_pad: `valid` is no padding; `same_upper` and `same_lower` are ceil(size / stride) windows with the padding
            that they need, an odd element at the end or at the beginning.
        dilations: The distance between neighboring elements of a window.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: [batch, groups * O, windows...], the type of data.

    Raises:
        IRError: As Convolution; IR502 if data does not have groups * C channels.
    """

def group_convolution_backprop_data(
    data: Input,
    filters: Input,
    output_shape: Input | None = None,
    *,
    strides: Sequence[int] = (),
    pads_begin: Sequence[int] = (),
    pads_end: Sequence[int] = (),
    auto_pad: Literal["explicit", "same_lower", "same_upper", "valid"] = "explicit",
    dilations: Sequence[int] = (),
    output_padding: Sequence[int] = (),
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """The transposed convolution of groups of channels, each with separate filters.

    A spatial axis of the output has `(size - 1) * stride + extent - pads_begin - pads_end + output_padding` elements
    (extent: of the dilated kernel), or the size in output_shape.

    Pads are 0 unless auto_pad is `explicit`. With output_shape and `same_upper` or `same_lower` they are the
    difference, with an odd element at the beginning or at the end. output_padding is 0 by default. Elements that no
    filter reaches are 0.

    In the specification, pads of `explicit` are ignored if output_shape is given, and `valid` shifts the output as
    `same_lower` does. As in OpenVINO, these pads are applied and the output is not shifted.

    The specification requires strides, dilations and pads; as in OpenVINO they are 1, 1 and 0 in a file without them.

    strides, pads_begin and pads_end have one value for each spatial axis.

    Specification: convolution/group-convolution-backprop-data-1.

    Args:
        data: [batch, groups * C, spatial...], any numeric type.
        filters: [groups, C, O, kernel...], the type of data.
        output_shape: Optional, an integer for each spatial axis.
        strides: The distance between neighboring windows.
        pads_begin: Padding before each axis if auto_pad is `explicit`, the default; a negative number removes elements.
        pads_end: Padding after each axis if auto_pad is `explicit`; a negative number removes elements.
        auto_pad: `valid` is no padding; `same_upper` and `same_lower` are ceil(size / stride) windows with the padding
            that they need, an odd element at the end or at the beginning.
        dilations: The distance between neighboring elements of a window.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: [batch, groups * O, spatial...], the type of data.

    Raises:
        IRError: As ConvolutionBackpropData; IR502 if data does not have groups * C channels.
    """

def group_normalization(
    data: Input,
    scale: Input,
    bias: Input,
    num_groups: int,
    epsilon: float,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = (data - mean) / sqrt(variance + epsilon) * scale + bias.

    Mean and variance are taken over a group of channels in one batch; scale and bias are per channel.

    Specification: normalization/group-normalization-12.

    Args:
        data: [batch, channels, ...], any float type.
        scale: [channels], any float types: as in OpenVINO, they may differ from the type of data.
        bias: Like `scale`.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data.

    Raises:
        IRError: IR501 for data of rank 0 or 1 and other inputs that are not vectors, IR502 if the channels differ or
            are not a multiple of num_groups.
    """

def grouped_matmul(
    mat_a: Input,
    mat_b: Input,
    offsets: Input | None = None,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """A product of matrices for each of G groups, with transposed right sides.

    mat_a of shape [G, M, K]: output[g] = mat_a[g] @ mat_b[g].T, of shape [G, M, N].
    mat_a of shape [rows, K], the concatenated rows of all groups: output[start:end] = mat_a[start:end] @ mat_b[g].T
    with start = offsets[g - 1] (0 for the first group) and end = offsets[g]; of shape [rows, N]. Rows after the last
    group are 0.

    Sums are as in MatMul.

    The specification of some releases also has a product of two matrices of rank 2, and a fourth input with a bias;
    OpenVINO 2026.4 rejects both, and so does this class.

    Specification: matrix/grouped-matmul-17.

    Args:
        mat_a: [G, M, K] or [rows, K], any numeric type.
        mat_b: [G, N, K], the type of mat_a.
        offsets: i32 or i64, [G], the ends of the groups, non-decreasing; required if mat_a has rank 2, ignored
            elsewhere.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The type of mat_a.

    Raises:
        IRError: IR501 for other ranks, IR502 for sizes that differ, IR505 for missing offsets, IR701 for offsets that
            decrease or exceed the rows.
    """

def gru_cell(
    x: Input,
    initial_hidden_state: Input,
    w: Input,
    r: Input,
    b: Input | None = None,
    *,
    hidden_size: int,
    activations: Sequence[Literal["relu", "sigmoid", "tanh"]] = ("sigmoid", "tanh"),
    activations_alpha: Sequence[float] = (),
    activations_beta: Sequence[float] = (),
    clip: float = 0.0,
    linear_before_reset: bool = False,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """H' = (1 - z) . h + z . H, with the gates z, r and h; see `GRU` for their formulas.

    The gates are z (update), r (reset) and h (candidate), in this order:

    z = f(x * wz^T + H * rz^T + bz)
    r = f(x * wr^T + H * rr^T + br)
    h = g(x * wh^T + (r . H) * rh^T + bh), or with linear_before_reset
    h = g(x * wh^T + r . (H * rh^T + b4) + bh), where b4 is a fourth block of b
    H' = (1 - z) . h + z . H

    The rows of the gates follow each other in the order of the formulas.

    The size of the state is taken from the inputs. The attribute hidden_size counts only for an LSTMCell whose inputs
    do not determine the size, as in OpenVINO.

    Specification: sequence/gru-cell-3.

    Args:
        x: [batch_size, input_size], a float type, shared by the other inputs.
        initial_hidden_state: [batch_size, hidden_size].
        w: [gates * hidden_size, input_size].
            As in OpenVINO, it may have a different float type.
        r: [gates * hidden_size, hidden_size].
        b: [gates * hidden_size], by default zeros.
            With linear_before_reset it has four blocks of hidden_size elements: for z, r and h, and for H * rh^T.
        activations: relu, sigmoid or tanh for each of the functions f, g and h in the formulas. None of these has
            parameters, so `activations_alpha` and `activations_beta` have no effect.
        clip: The arguments of the gates' functions are clipped to -clip .. clip; 0, negative numbers and infinity mean
            no clipping.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The state after the step, like initial_hidden_state.

    Raises:
        IRError: IR501 for a wrong rank, IR502 for dims that contradict each other, IR505 for rows that do not divide
            into gates.
    """

def gru_sequence(
    x: Input,
    initial_hidden_state: Input,
    sequence_lengths: Input,
    w: Input,
    r: Input,
    b: Input,
    hidden_size: int,
    direction: Literal["bidirectional", "forward", "reverse"],
    *,
    activations: Sequence[Literal["relu", "sigmoid", "tanh"]] = ("sigmoid", "tanh"),
    activations_alpha: Sequence[float] = (),
    activations_beta: Sequence[float] = (),
    clip: float = 0.0,
    linear_before_reset: bool = False,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[Iterable[str]] = (),
) -> tuple[Value, Value]:
    """H' = (1 - z) . h + z . H along a sequence, with the gates z, r and h; see `GRU` for their formulas.

    The gates are z (update), r (reset) and h (candidate), in this order:

    z = f(x * wz^T + H * rz^T + bz)
    r = f(x * wr^T + H * rr^T + br)
    h = g(x * wh^T + (r . H) * rh^T + bh), or with linear_before_reset
    h = g(x * wh^T + r . (H * rh^T + b4) + bh), where b4 is a fourth block of b
    H' = (1 - z) . h + z . H

    The rows of the gates are in the order of the formulas.

    The direction `reverse` begins at the end of each sequence; `bidirectional` has it as its second direction. After
    the end of a sequence y is 0, and the states are unchanged; states of a sequence without steps are 0, as in
    OpenVINO. The size of the states is taken from the inputs; the attribute hidden_size is ignored, as in OpenVINO.

    Specification: sequence/gru-sequence-5.

    Args:
        x: [batch_size, seq_length, input_size], a float type, shared by all inputs except the lengths.
        initial_hidden_state: [batch_size, num_directions, hidden_size].
        sequence_lengths: [batch_size], integers, 0 to seq_length.
        w: [num_directions, gates * hidden_size, input_size].
        r: [num_directions, gates * hidden_size, hidden_size].
        b: [num_directions, gates * hidden_size].
            With linear_before_reset it has four blocks of hidden_size elements in each direction: for z, r and h, and
            for H * rh^T.
        activations: relu, sigmoid or tanh for each of the functions f, g and h in the formulas. None of these has
            parameters, so `activations_alpha` and `activations_beta` have no effect.
        clip: The arguments of the gates' functions are clipped to -clip .. clip; 0, negative numbers and infinity mean
            no clipping.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        y: The hidden states after all steps, [batch_size, num_directions, seq_length, hidden_size].
        hidden_state: The last hidden state, like initial_hidden_state.

    Raises:
        IRError: IR501 for a wrong rank, IR502 for dims that contradict each other, IR505 for rows that do not divide
            into gates, IR704 for a length that is negative or greater than seq_length.
    """

def hard_sigmoid(
    data: Input,
    alpha: Input,
    beta: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = max(0, min(1, alpha · data + beta)).

    All inputs have one numeric type; the specification has floats only, OpenVINO takes all.

    Specification: activation/hard-sigmoid-1.

    Args:
        data: Any shape.
        alpha: A scalar.
        beta: Like `alpha`.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data.

    Raises:
        IRError: IR501 for an alpha or a beta that is not a scalar.
    """

def hsigmoid(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = min(max(data + 3, 0), 6) / 6.

    Specification: activation/hsigmoid-5.

    Args:
        data: Any shape, any numeric type.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data.
    """

def hswish(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = data · min(max(data + 3, 0), 6) / 6.

    Specification: activation/hswish-4.

    Args:
        data: Any shape, any numeric type.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data.
    """

def i420_to_bgr(
    y: Input,
    u: Input | None = None,
    v: Input | None = None,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """I420toRGB-8 with the channels in the order B, G, R.

    Values are u8 or floats from 0 to 255; H and W are even.

    Specification: image/i420-to-bgr-8.

    Args:
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Raises:
        IRError: IR501, IR502 and IR505 for planes of wrong ranks or sizes, or that do not match.
    """

def i420_to_rgb(
    y: Input,
    u: Input | None = None,
    v: Input | None = None,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """NV12toRGB-8 with U and V in separate planes.

    Values are u8 or floats from 0 to 255; H and W are even.

    Specification: image/i420-to-rgb-8.

    Args:
        y: [N, H, W, 1].
        u: [N, H/2, W/2, 1], the type of y. Or y alone, [N, 1.5 H, W, 1], in which the planes of U and V follow the rows
            of Y.
        v: Like `u`.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: [N, H, W, 3], the type of y.

    Raises:
        IRError: Also IR106 for y and u without v.
            IR501, IR502 and IR505 for planes of wrong ranks or sizes, or that do not match.
    """

def identity(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = data.

    Specification: activation/identity-16.

    Args:
        data: Any shape, any type.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data; it may alias data.
    """

def idft(
    data: Input,
    axes: Input,
    signal_size: Input | None = None,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output[m] = 1 / S * sum over j of data[j] * exp(2 pi i m j / S): the inverse of DFT, with its inputs.

    Specification: signals/idft-7.

    Args:
        data: A float type, shape [..., 2].
        axes: A vector of different axes; negative ones count from the end, the last axis of complex data is not
            counted.
        signal_size: A vector with the number of values to transform along each axis, -1 for the axis size. A longer
            axis is truncated, a shorter one padded with zeros.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data, with the sizes of signal_size. f16 and bf16 are computed in f32. Without axes the output is
            data.
    """

def interpolate(
    image: Input,
    scales_or_sizes: Input,
    axes: Input | None = None,
    *,
    shape_calculation_mode: Literal["scales", "sizes"],
    mode: Literal["bicubic_pillow", "bilinear_pillow", "cubic", "linear", "linear_onnx", "nearest"],
    coordinate_transformation_mode: Literal[
        "align_corners", "asymmetric", "half_pixel", "pytorch_half_pixel", "tf_half_pixel_for_nn"
    ] = "half_pixel",
    nearest_mode: Literal["ceil", "floor", "round_prefer_ceil", "round_prefer_floor", "simple"] = "round_prefer_floor",
    antialias: bool = False,
    pads_begin: Sequence[int] = (),
    pads_end: Sequence[int] = (),
    cube_coeff: float = -0.75,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """A tensor resampled along some of its axes.

    First, pads_begin and pads_end zeros are added to the ends of the axes of data (missing values are 0). Then the axes
    in `axes`, by default all, are resampled to sizes, or to floor(size * scale), according to `shape_calculation_mode`.
    Sizes, scales and axes are vectors, with at least one size or scale for each axis.

    OpenVINO's sizes from scales are f32, with 1e-6 added to the scale; an axis that keeps its size keeps its elements,
    for any coordinate mode. The specification does not define integers: as in OpenVINO's CPU plugin, they are rounded
    to the nearest, ties to even (away from zero for pillow), and saturate. The plugin treats linear of fewer than five
    axes as linear_onnx, without antialiasing; this class follows the specification and OpenVINO's reference kernel.

    Specification: image/interpolate-11.

    Args:
        image: Rank 1 or more; f16, bf16, f32, f64, i8, u8, i32 or i64.
        scales_or_sizes: A vector, f16, bf16 or f32 if shape_calculation_mode is `scales`, i32, i64, u32 or u64 if it is
            `sizes`.
        axes: Optional, one of the latter types.
        mode: `nearest` takes the nearest element, by nearest_mode. `linear` and `linear_onnx` weight the neighbors by
            distance; they differ only beyond the ends. `cubic` weights four neighbors by Keys' cubic with a =
            cube_coeff. `bilinear_pillow` and `bicubic_pillow` resize as the Pillow library does.
        coordinate_transformation_mode: The position in data of an element of the output, `half_pixel` by default; it is
            not used for pillow.
        nearest_mode: The rounding of positions for `nearest`, `round_prefer_floor` by default.
        antialias: Widens the filter for a smaller output, for linear only; false by default.
        cube_coeff: The parameter of `cubic`, -0.75 by default. For pillow it is -0.5: OpenVINO's preprocessing leaves
            the attribute at its default, and its CPU plugin uses -0.5.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The type of data.

    Raises:
        IRError: IR401 and IR501 for sizes, scales and axes of another type or rank, IR503 for an axis that data does
            not have, IR505 for a scale that is negative or not finite, a negative size, or too few of them, IR704 for
            an output with elements from empty data.
    """

def inverse(
    data: Input,
    *,
    adjoint: bool = False,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """The inverse of every matrix: output @ data = 1; with `adjoint` (false by default) its transpose.

    As specified, everything is computed in f32.

    The specification does not define the result for a singular matrix. As in OpenVINO, elimination continues with the
    pivot 0, and the output holds infinities and NaN.

    Specification: matrix/inverse-14.

    Args:
        data: Any float type, shape [..., N, N].
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data.

    Raises:
        IRError: IR501 for a rank below 2, IR502 for matrices that are not square.
    """

def irdft(
    data: Input,
    axes: Input,
    signal_size: Input | None = None,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """The inverse of RDFT: real numbers from the first half of their transform along the last of `axes`.

    Along the last of `axes` the size M of data means 2 * (M - 1) values unless signal_size is given. At least one axis
    is required.

    OpenVINO's CPU plugin rejects -1 for that axis; the specification and this class do not.
    Specification: signals/irdft-9. If signal_size is not known, OpenVINO's shape inference keeps the sizes of all axes
    except the last; here they are dynamic.

    Args:
        data: A float type, shape [..., 2].
        axes: A vector of different axes; negative ones count from the end, the last axis of complex data is not
            counted.
        signal_size: A vector with the number of values to transform along each axis, -1 for the axis size. A longer
            axis is truncated, a shorter one padded with zeros.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The element type of data, without the last axis of data. f16 and bf16 are computed in f32.
    """

def is_finite(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = data is neither infinite nor NaN.

    A boolean for every element of a tensor of floats.

    Specification: comparison/isfinite-10.

    Args:
        data: Any shape, any float type.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Boolean, the shape of data.
    """

def is_inf(
    data: Input,
    *,
    detect_negative: bool = True,
    detect_positive: bool = True,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = data is -inf (with `detect_negative`) or +inf (with `detect_positive`); both count by default.

    A boolean for every element of a tensor of floats.

    Specification: comparison/isinf-10.

    Args:
        data: Any shape, any float type.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Boolean, the shape of data.
    """

def is_nan(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = data is NaN.

    A boolean for every element of a tensor of floats.

    Specification: comparison/isnan-10.

    Args:
        data: Any shape, any float type.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Boolean, the shape of data.
    """

def istft(
    data: Input,
    window: Input,
    frame_size: Input,
    frame_step: Input,
    signal_length: Input | None = None,
    *,
    center: bool = False,
    normalized: bool = False,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """The inverse of STFT with transpose_frames: the signal with these transforms of its frames.

    Every frame is the IRDFT of data[..., t, :] times window. Overlapping frames are summed and divided by the sum of
    the squares of window there; the quotient is 0 if that sum is 0.

    OpenVINO crashes for a negative signal_length, and ignores 0; here a negative one is an error, and 0 gives an empty
    signal, as in OpenVINO's shape inference.

    Specification: signals/istft-16.

    Args:
        data: A float type, shape [frame_size // 2 + 1, frames, 2] or [batch, frame_size // 2 + 1, frames, 2].
        window: The type of data, at most frame_size long, padded with zeros on both sides if it is shorter.
        frame_size: A scalar.
        frame_step: Like `frame_size`.
        signal_length: A scalar or a vector of one element, the length of the output, which is truncated or padded with
            zeros; by default (frames - 1) * frame_step + frame_size, for `center` less by frame_size, rounded down to
            an even number.
        center: The signal was padded with frame_size // 2 elements on both sides, which are removed.
        normalized: data was divided by sqrt(frame_size).
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The type of data, shape [length] or [batch, length]. f16 and bf16 are computed in f32.

    Raises:
        IRError: IR502 or IR505, IR704 at run time.
    """

def less(
    a: Input,
    b: Input,
    *,
    auto_broadcast: Literal["none", "numpy", "pdpd"] = "numpy",
    axis: int = 0,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = a < b.

    Specification: comparison/less-1.

    Source: the page broadcast-rules.

    Args:
        a: Any shape, any integer or boolean type.
        b: The element type of a, a shape that broadcasts with the shape of a.
        auto_broadcast: `numpy`, `none` (the shapes are equal; `explicit` is a synonym), or `pdpd`: the first dim of b
            is aligned with dim `axis` of a.
        axis: For `pdpd`; -1 aligns the last dim of b with the last of a. The default is 0, as in OpenVINO; the
            specification declares -1.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Boolean, the shape that a and b broadcast to.

    Raises:
        IRError: IR501 and IR502 for shapes that differ with `none`, IR504 for shapes that do not broadcast, IR503 for
            an axis that a does not have.
    """

def less_equal(
    a: Input,
    b: Input,
    *,
    auto_broadcast: Literal["none", "numpy", "pdpd"] = "numpy",
    axis: int = 0,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = a ≤ b.

    Specification: comparison/lessequal-1.

    Source: the page broadcast-rules.

    Args:
        a: Any shape, any integer or boolean type.
        b: The element type of a, a shape that broadcasts with the shape of a.
        auto_broadcast: `numpy`, `none` (the shapes are equal; `explicit` is a synonym), or `pdpd`: the first dim of b
            is aligned with dim `axis` of a.
        axis: For `pdpd`; -1 aligns the last dim of b with the last of a. The default is 0, as in OpenVINO; the
            specification declares -1.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Boolean, the shape that a and b broadcast to.

    Raises:
        IRError: IR501 and IR502 for shapes that differ with `none`, IR504 for shapes that do not broadcast, IR503 for
            an axis that a does not have.
    """

def log(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = ln data; -inf for 0, NaN for negative data.

    Specification: arithmetic/log-1.

    Args:
        data: Any shape, any numeric type.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data.
    """

def log_softmax(
    data: Input,
    *,
    axis: int = 1,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = data - ln(sum of exp(data) along the axis): the logarithm of SoftMax.

    Specification: activation/log-soft-max-5.

    Args:
        data: Rank 1 or more, any float type; as in OpenVINO, a scalar counts as a vector of one element.
        axis: 1 by default.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data.

    Raises:
        IRError: IR503 for an axis that data does not have.
    """

def logical_and(
    a: Input,
    b: Input,
    *,
    auto_broadcast: Literal["none", "numpy", "pdpd"] = "numpy",
    axis: int = 0,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = a and b.

    Specification: logical/logical-and-1.

    Source: the page broadcast-rules.

    Args:
        a: Any shape, any boolean type.
        b: The element type of a, a shape that broadcasts with the shape of a.
        auto_broadcast: `numpy`, `none` (the shapes are equal; `explicit` is a synonym), or `pdpd`: the first dim of b
            is aligned with dim `axis` of a.
        axis: For `pdpd`; -1 aligns the last dim of b with the last of a. The default is 0, as in OpenVINO; the
            specification declares -1.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The type of a, the shape that a and b broadcast to.

    Raises:
        IRError: IR501 and IR502 for shapes that differ with `none`, IR504 for shapes that do not broadcast, IR503 for
            an axis that a does not have.
    """

def logical_not(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = not data; for numbers, 1 for 0 and 0 for all others.

    Specification: logical/logical-not-1.

    Args:
        data: Any shape; boolean, or a numeric type, an extension of OpenVINO to the specification.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data.
    """

def logical_or(
    a: Input,
    b: Input,
    *,
    auto_broadcast: Literal["none", "numpy", "pdpd"] = "numpy",
    axis: int = 0,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = a or b.

    Specification: logical/logical-or-1.

    Source: the page broadcast-rules.

    Args:
        a: Any shape, any boolean type.
        b: The element type of a, a shape that broadcasts with the shape of a.
        auto_broadcast: `numpy`, `none` (the shapes are equal; `explicit` is a synonym), or `pdpd`: the first dim of b
            is aligned with dim `axis` of a.
        axis: For `pdpd`; -1 aligns the last dim of b with the last of a. The default is 0, as in OpenVINO; the
            specification declares -1.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The type of a, the shape that a and b broadcast to.

    Raises:
        IRError: IR501 and IR502 for shapes that differ with `none`, IR504 for shapes that do not broadcast, IR503 for
            an axis that a does not have.
    """

def logical_xor(
    a: Input,
    b: Input,
    *,
    auto_broadcast: Literal["none", "numpy", "pdpd"] = "numpy",
    axis: int = 0,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = a differs from b.

    Specification: logical/logical-xor-1.

    Source: the page broadcast-rules.

    Args:
        a: Any shape, any boolean type.
        b: The element type of a, a shape that broadcasts with the shape of a.
        auto_broadcast: `numpy`, `none` (the shapes are equal; `explicit` is a synonym), or `pdpd`: the first dim of b
            is aligned with dim `axis` of a.
        axis: For `pdpd`; -1 aligns the last dim of b with the last of a. The default is 0, as in OpenVINO; the
            specification declares -1.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The type of a, the shape that a and b broadcast to.

    Raises:
        IRError: IR501 and IR502 for shapes that differ with `none`, IR504 for shapes that do not broadcast, IR503 for
            an axis that a does not have.
    """

def lrn(
    data: Input,
    axes: Input,
    alpha: float,
    beta: float,
    bias: float,
    size: int,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = data / (bias + alpha / size**n * sum of the squares near the element)**beta, n the number of axes.

    The sum includes the element and all at most (size - 1) // 2 away along each of the axes.

    Specification: normalization/lrn-1, in which `size / 2` elements on each side count; as in OpenVINO, there is one
    less for even sizes. OpenVINO's CPU plugin supports only axis 1 or all axes after it, and truncates bias to an
    integer; this class does neither.

    Args:
        data: Any shape, any float type.
        axes: A vector of integers.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The shape and the type of data.

    Raises:
        IRError: IR501 for axes that are not a vector, IR503 and IR701 for axes that data does not have.
    """

def lstm_cell(
    x: Input,
    initial_hidden_state: Input,
    initial_cell_state: Input,
    w: Input,
    r: Input,
    b: Input | None = None,
    *,
    hidden_size: int,
    activations: Sequence[Literal["relu", "sigmoid", "tanh"]] = ("sigmoid", "tanh", "tanh"),
    activations_alpha: Sequence[float] = (),
    activations_beta: Sequence[float] = (),
    clip: float = 0.0,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[Iterable[str]] = (),
) -> tuple[Value, Value]:
    """C' = f . C + i . c and H' = o . h(C'), with the gates f, i, c and o; see `LSTM` for their formulas.

    hidden_state is H', cell_state is C'. Specification: sequence/lstm-cell-1.

    The gates are f (forget), i (input), c (candidate) and o (output), in this order:

    f = f(x * wf^T + H * rf^T + bf)
    i = f(x * wi^T + H * ri^T + bi)
    c = g(x * wc^T + H * rc^T + bc)
    o = f(x * wo^T + H * ro^T + bo)
    C' = f . C + i . c
    H' = o . h(C')

    The rows of the gates follow each other in the order of the formulas.

    The size of the state is taken from the inputs. The attribute hidden_size counts only for an LSTMCell whose inputs
    do not determine the size, as in OpenVINO.

    Args:
        x: [batch_size, input_size], a float type, shared by the other inputs.
        initial_hidden_state: [batch_size, hidden_size].
        initial_cell_state: For an LSTM, [batch_size, hidden_size].
        w: [gates * hidden_size, input_size].
        r: [gates * hidden_size, hidden_size].
        b: [gates * hidden_size], by default zeros.
        activations: relu, sigmoid or tanh for each of the functions f, g and h in the formulas. None of these has
            parameters, so `activations_alpha` and `activations_beta` have no effect.
        clip: The arguments of the gates' functions are clipped to -clip .. clip; 0, negative numbers and infinity mean
            no clipping.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        hidden_state: The hidden state after the step, like initial_hidden_state.
        cell_state: The cell state after the step, like initial_cell_state.

    Raises:
        IRError: IR501 for a wrong rank, IR502 for dims that contradict each other, IR505 for rows that do not divide
            into gates.
    """

def lstm_sequence(
    x: Input,
    initial_hidden_state: Input,
    initial_cell_state: Input,
    sequence_lengths: Input,
    w: Input,
    r: Input,
    b: Input,
    hidden_size: int,
    direction: Literal["bidirectional", "forward", "reverse"],
    *,
    activations: Sequence[Literal["relu", "sigmoid", "tanh"]] = ("sigmoid", "tanh", "tanh"),
    activations_alpha: Sequence[float] = (),
    activations_beta: Sequence[float] = (),
    clip: float = 0.0,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[Iterable[str]] = (),
) -> tuple[Value, Value, Value]:
    """C' = f . C + i . c and H' = o . h(C') along a sequence; see `LSTM` for the gates f, i, c and o.

    The gates are f (forget), i (input), c (candidate) and o (output), in this order:

    f = f(x * wf^T + H * rf^T + bf)
    i = f(x * wi^T + H * ri^T + bi)
    c = g(x * wc^T + H * rc^T + bc)
    o = f(x * wo^T + H * ro^T + bo)
    C' = f . C + i . c
    H' = o . h(C')

    The rows of the gates are in the order of the formulas.

    The direction `reverse` begins at the end of each sequence; `bidirectional` has it as its second direction. After
    the end of a sequence y is 0, and the states are unchanged; states of a sequence without steps are 0, as in
    OpenVINO. The size of the states is taken from the inputs; the attribute hidden_size is ignored, as in OpenVINO.

    Specification: sequence/lstm-sequence-5.

    Args:
        x: [batch_size, seq_length, input_size], a float type, shared by all inputs except the lengths.
        initial_hidden_state: [batch_size, num_directions, hidden_size].
        initial_cell_state: For an LSTM, [batch_size, num_directions, hidden_size].
        sequence_lengths: [batch_size], integers, 0 to seq_length.
        w: [num_directions, gates * hidden_size, input_size].
        r: [num_directions, gates * hidden_size, hidden_size].
        b: [num_directions, gates * hidden_size].
        activations: relu, sigmoid or tanh for each of the functions f, g and h in the formulas. None of these has
            parameters, so `activations_alpha` and `activations_beta` have no effect.
        clip: The arguments of the gates' functions are clipped to -clip .. clip; 0, negative numbers and infinity mean
            no clipping.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        y: The hidden states after all steps, [batch_size, num_directions, seq_length, hidden_size].
        hidden_state: The last hidden state, like initial_hidden_state.
        cell_state: The last cell state, like initial_cell_state.

    Raises:
        IRError: IR501 for a wrong rank, IR502 for dims that contradict each other, IR505 for rows that do not divide
            into gates, IR704 for a length that is negative or greater than seq_length.
    """

def matmul(
    a: Input,
    b: Input,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output[..., i, j] = sum over k of a[..., i, k] * b[..., k, j].

    The axes before the last two are batches, broadcast as in NumPy. A vector `a` is one row, a vector `b` one column;
    their axis of size 1 is not in the output. Floats shorter than f32 are multiplied in f32. Integers are exact: 8 bits
    saturate, longer ones wrap.

    Specification: matrix/matmul-1. Booleans, for which + is "or", are an extension of OpenVINO to it.

    Args:
        a: Rank 1 or more, one numeric type or boolean.
        b: Like `a`.
        transpose_a: The last two axes of a are exchanged first, unless it is a vector; false by default.
        transpose_b: The last two axes of b are exchanged first, unless it is a vector; false by default.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The type of a.

    Raises:
        IRError: IR501 for a scalar, IR502 if a does not have as many columns as b has rows, IR504 where batches do not
            broadcast.
    """

def matrix_nms(
    boxes: Input,
    scores: Input,
    *,
    sort_result_type: Literal["classid", "none", "score"] = "none",
    sort_result_across_batch: bool = False,
    output_type: ElementTypeLike = "i64",
    score_threshold: float = 0.0,
    nms_top_k: int = -1,
    keep_top_k: int = -1,
    background_class: int = -1,
    normalized: bool = True,
    decay_function: Literal["gaussian", "linear"] = "linear",
    gaussian_sigma: float = 2.0,
    post_threshold: float = 0.0,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[Iterable[str]] = (),
) -> tuple[Value, Value, Value]:
    """Boxes whose scores decay with the overlap with higher-scored boxes of their class.

    Boxes with scores above `post_threshold` are kept. If not `normalized`, coordinates are in pixels, and a box from
    2 to 4 is 3 wide.

    Within a batch element rows are in descending order of their scores; as in OpenVINO, `sort_result_type` classid has
    an effect only together with `sort_result_across_batch`.

    Specification: sort/matrix-non-max-suppression-8, where the attribute sort_result_type is called sort_result.

    Args:
        boxes: bf16, f16, f32 or f64, [num_batches, num_boxes, 4], rows of two corners (x, y, x, y), the lesser first.
        scores: The type of boxes, [num_batches, num_classes, num_boxes]; candidates are those above `score_threshold`.
            A score is multiplied by the minimum of the decays caused by boxes j with higher scores: (1 - iou) /
            (1 - worst[j]) for `decay_function` linear, exp((worst[j]**2 - iou**2) * gaussian_sigma) for gaussian.
            worst[j] is the maximum overlap of j with a box of a higher score.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        selected_outputs: The element type of boxes, [n, 6], rows of class, score and box.
        selected_indices: `output_type`, [n, 1], the index of each box in the flattened boxes.
        selected_num: `output_type`, [num_batches], the number of rows of each batch element. At most `nms_top_k`
            candidates of each class and `keep_top_k` boxes of each batch element are kept, none of `background_class`.
    """

def max_pool(
    data: Input,
    strides: Sequence[int],
    kernel_sizes: Sequence[int],
    *,
    pads_begin: Sequence[int] = (),
    pads_end: Sequence[int] = (),
    auto_pad: Literal["explicit", "same_lower", "same_upper", "valid"] = "explicit",
    rounding_type: Literal["ceil", "ceil_torch", "floor"] = "floor",
    dilations: Sequence[int] = (),
    index_element_type: ElementTypeLike = "i64",
    axis: int = 0,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[Iterable[str]] = (),
) -> tuple[Value, Value]:
    """MaxPool-8 with the further rounding_type `ceil_torch`.

    The greatest element of each window, as in MaxPool-1, and its index.

    strides, pads_begin and pads_end have one value for each spatial axis.

    Specification: pooling/max-pool-14.

    Args:
        data: [batch, channels, spatial...], any numeric type.
        strides: The distance between neighboring windows.
        pads_begin: Padding before each axis if auto_pad is `explicit`, the default; a negative number removes elements.
        pads_end: Padding after each axis if auto_pad is `explicit`; a negative number removes elements.
        auto_pad: `valid` is no padding; `same_upper` and `same_lower` are ceil(size / stride) windows with the padding
            that they need, an odd element at the end or at the beginning.
        rounding_type: A last window that extends beyond the padded data is omitted (`floor`, the default) or included
            (`ceil`); `ceil_torch` includes it unless it begins in the padding at the end.
        dilations: The distance between neighboring elements of a window, by default 1.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: [batch, channels, windows...], the type of data.
        indices: The shape of output, the type `index_element_type`, i64 (the default) or i32: the index of the element,
            the first of equal ones, in data flattened starting at axis `axis` (by default 0). For a window without
            elements it is the first of its channel.

    Raises:
        IRError: Also IR503 for an axis that data does not have.
            IR501 for ranks other than 3, 4, 5, IR505 for attributes whose length is not the number of spatial axes
            and for windows larger than the padded data.
    """

def maximum(
    a: Input,
    b: Input,
    *,
    auto_broadcast: Literal["none", "numpy", "pdpd"] = "numpy",
    axis: int = 0,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = the greater of a and b; NaN where either is.

    Specification: arithmetic/maximum-1.

    Source: the page broadcast-rules.

    Args:
        a: Any shape, any numeric type.
        b: The element type of a, a shape that broadcasts with the shape of a.
        auto_broadcast: `numpy`, `none` (the shapes are equal; `explicit` is a synonym), or `pdpd`: the first dim of b
            is aligned with dim `axis` of a.
        axis: For `pdpd`; -1 aligns the last dim of b with the last of a. The default is 0, as in OpenVINO; the
            specification declares -1.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The type of a, the shape that a and b broadcast to.

    Raises:
        IRError: IR501 and IR502 for shapes that differ with `none`, IR504 for shapes that do not broadcast, IR503 for
            an axis that a does not have.
    """

def minimum(
    a: Input,
    b: Input,
    *,
    auto_broadcast: Literal["none", "numpy", "pdpd"] = "numpy",
    axis: int = 0,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = the lesser of a and b; NaN where either is.

    Specification: arithmetic/minimum-1.

    Source: the page broadcast-rules.

    Args:
        a: Any shape, any numeric type.
        b: The element type of a, a shape that broadcasts with the shape of a.
        auto_broadcast: `numpy`, `none` (the shapes are equal; `explicit` is a synonym), or `pdpd`: the first dim of b
            is aligned with dim `axis` of a.
        axis: For `pdpd`; -1 aligns the last dim of b with the last of a. The default is 0, as in OpenVINO; the
            specification declares -1.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The type of a, the shape that a and b broadcast to.

    Raises:
        IRError: IR501 and IR502 for shapes that differ with `none`, IR504 for shapes that do not broadcast, IR503 for
            an axis that a does not have.
    """

def mish(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = data · tanh(ln(1 + e^data)).

    Specification: activation/mish-4.

    Args:
        data: Any shape, any float type.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data.
    """

def mod(
    a: Input,
    b: Input,
    *,
    auto_broadcast: Literal["none", "numpy", "pdpd"] = "numpy",
    axis: int = 0,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = a - b · trunc(a / b): the remainder with the sign of a, as in C.

    Specification: arithmetic/mod-1.

    Source: the page broadcast-rules.

    Args:
        a: Any numeric type.
        b: The element type of a, a shape that broadcasts with the shape of a.
        auto_broadcast: `numpy`, `none` (the shapes are equal; `explicit` is a synonym), or `pdpd`: the first dim of b
            is aligned with dim `axis` of a.
        axis: For `pdpd`; -1 aligns the last dim of b with the last of a. The default is 0, as in OpenVINO; the
            specification declares -1.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The type of a, the shape that a and b broadcast to.

    Raises:
        IRError: IR704 for an integer divided by zero, and those of Binary.
            IR501 and IR502 for shapes that differ with `none`, IR504 for shapes that do not broadcast, IR503 for
            an axis that a does not have.
    """

def multiclass_nms(
    boxes: Input,
    scores: Input,
    roisnum: Input | None = None,
    *,
    sort_result_type: Literal["classid", "none", "score"] = "none",
    sort_result_across_batch: bool = False,
    output_type: ElementTypeLike = "i64",
    score_threshold: float = 0.0,
    nms_top_k: int = -1,
    keep_top_k: int = -1,
    background_class: int = -1,
    normalized: bool = True,
    iou_threshold: float = 0.0,
    nms_eta: float = 1.0,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[Iterable[str]] = (),
) -> tuple[Value, Value, Value]:
    """The best of overlapping boxes of each class.

    Either all classes share their boxes, [num_batches, num_boxes, 4] and [num_batches, num_classes, num_boxes]; or, if
    roisnum is given, each class has its own boxes, [num_classes, num_boxes, 4] and [num_classes, num_boxes], and the
    boxes of all batch elements are concatenated; roisnum (i32 or i64, [num_batches]) is the number of each. Indices in
    selected_indices then count box by box and within a box class by class.

    Candidates have a score not below `score_threshold`. An overlap not below `iou_threshold` removes a box, as in
    OpenVINO (the specification has "above"); a threshold above one half is multiplied by `nms_eta` at each kept box. If
    not `normalized`, coordinates are in pixels, and a box from 2 to 4 is 3 wide. Rows are batch by batch in descending
    order of their scores, or class by class for `sort_result_type` classid; with `sort_result_across_batch` all rows
    are sorted together.

    Specification: sort/multiclass-non-max-suppression-9, where the attribute sort_result_type is called sort_result.

    Args:
        boxes: bf16, f16, f32 or f64, rows of two corners (x, y, x, y), the lesser first.
        scores: The type of boxes.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        selected_outputs: The element type of boxes, [n, 6], rows of class, score and box.
        selected_indices: `output_type`, [n, 1], the index of each box in the flattened boxes.
        selected_num: `output_type`, [num_batches], the number of rows of each batch element. At most `nms_top_k`
            candidates of each class and `keep_top_k` boxes of each batch element are kept, none of `background_class`.

    Raises:
        IRError: IR704 if the sum of roisnum is greater than the number of boxes. A negative number counts as 0.
    """

def multinomial(
    probs: Input,
    num_samples: Input,
    convert_type: ElementTypeLike,
    with_replacement: bool,
    log_probs: bool,
    *,
    global_seed: int = 0,
    op_seed: int = 0,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """Indices of classes, num_samples drawn for every row of probs.

    A number x from 0 to 1 selects the first class whose cumulative probability is x or more; without replacement, the
    probability of that class is then removed. As in OpenVINO's CPU plugin, the numbers are those of the C++ Mersenne
    twister with the seed sequence (global_seed, op_seed; both 0 by default), divided by 2**32 - 1 in f32, every run
    starts with the same state, and probabilities are f32 too (in the plugin bf16 for bf16 probs). The specification
    requires f64. If both seeds are 0, every run gives different classes.

    Specification: generation/multinomial-13.

    Args:
        probs: A float type, shape [batch, classes]: probabilities up to a common factor, or with `log_probs` their
            logarithms; not negative, not all 0.
        num_samples: An integer, a scalar or a vector of one element. Without `with_replacement` no class is drawn
            twice.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Shape [batch, num_samples], type `convert_type` (i32 or i64).

    Raises:
        IRError: IR501 for probs of another rank, IR505 and IR704 for a negative num_samples, IR704 if no class is left
            to draw, for which the plugin leaves the output unchanged.
    """

def multiply(
    a: Input,
    b: Input,
    *,
    auto_broadcast: Literal["none", "numpy", "pdpd"] = "numpy",
    axis: int = 0,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = a · b; integers wrap.

    Specification: arithmetic/multiply-1.

    Source: the page broadcast-rules.

    Args:
        a: Any shape, any numeric type.
        b: The element type of a, a shape that broadcasts with the shape of a.
        auto_broadcast: `numpy`, `none` (the shapes are equal; `explicit` is a synonym), or `pdpd`: the first dim of b
            is aligned with dim `axis` of a.
        axis: For `pdpd`; -1 aligns the last dim of b with the last of a. The default is 0, as in OpenVINO; the
            specification declares -1.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The type of a, the shape that a and b broadcast to.

    Raises:
        IRError: IR501 and IR502 for shapes that differ with `none`, IR504 for shapes that do not broadcast, IR503 for
            an axis that a does not have.
    """

def mvn(
    data: Input,
    axes: Input,
    eps: float,
    normalize_variance: bool,
    eps_mode: Literal["inside_sqrt", "outside_sqrt"],
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = data - mean, divided by the deviation if `normalize_variance`.

    Mean and variance are taken along `axes`. The deviation is sqrt(variance + eps) or sqrt(variance) + eps, according
    to `eps_mode`.

    Specification: normalization/mvn-6.

    Args:
        data: Any shape, any float type.
        axes: A vector of integers.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The shape and the type of data.

    Raises:
        IRError: IR501 for axes that are not a vector, IR503 for axes that data does not have, IR505 for more axes than
            data has.
    """

def negative(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = -data; integers wrap.

    Specification: arithmetic/negative-1.

    Args:
        data: Any shape, any numeric type.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data.
    """

def nms_rotated(
    boxes: Input,
    scores: Input,
    max_output_boxes_per_class: Input,
    iou_threshold: Input,
    score_threshold: Input,
    *,
    sort_result_descending: bool = True,
    output_type: ElementTypeLike = "i64",
    clockwise: bool = True,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[Iterable[str]] = (),
) -> tuple[Value, Value, Value]:
    """NonMaxSuppression-9 of rotated boxes, without soft suppression.

    The other inputs and the outputs are as for NonMaxSuppression-9, but no input is optional. An overlap above
    iou_threshold removes a box. Overlaps are exact to the last digits of f32; OpenVINO finds the corners of the common
    polygon in f32 and may lose one.

    Suppression with three outputs; see NonMaxSuppression9.

    numbers: the inputs max_output_boxes_per_class, iou_threshold, score_threshold and soft_nms_sigma, if the operator
    has them and they are present in the layer.

    Specification: sort/nms-rotated-13.

    Args:
        boxes: Floating, [num_batches, num_boxes, 5], rows of (center x, center y, width, height, angle in radians); the
            angle is clockwise, or counterclockwise if not `clockwise`, with y pointing down.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.
    """

def non_max_suppression(
    boxes: Input,
    scores: Input,
    max_output_boxes_per_class: Input | None = None,
    iou_threshold: Input | None = None,
    score_threshold: Input | None = None,
    soft_nms_sigma: Input | None = None,
    *,
    sort_result_descending: bool = True,
    box_encoding: Literal["center", "corner"] = "corner",
    output_type: ElementTypeLike = "i64",
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[Iterable[str]] = (),
) -> tuple[Value, Value, Value]:
    """The best boxes of each class, after non-maximum suppression.

    Rows are in descending order of their scores, equal ones by their indices; with `sort_result_descending` false class
    by class.

    With a soft_nms_sigma above 0 overlaps do not remove boxes but lower their scores by exp(-iou**2 / (2 * sigma)).
    As in OpenVINO, a box is a candidate if its score is above score_threshold, and an overlap not below iou_threshold
    removes it; the specification has "not below" for the scores and "above" for the overlaps.

    NonMaxSuppression of version 5 or later.

    Suppression with three outputs; see NonMaxSuppression9.

    NonMaxSuppression of any version: boxes with sides parallel to the axes.

    numbers: the inputs max_output_boxes_per_class, iou_threshold, score_threshold and soft_nms_sigma, if the operator
    has them and they are present in the layer.

    Specification: sort/non-max-suppression-9.

    Args:
        boxes: Floating, [num_batches, num_boxes, 4], as two opposite corners (y, x, y, x), or with `box_encoding`
            center as (center x, center y, width, height).
        scores: Floating, [num_batches, num_classes, num_boxes].
        max_output_boxes_per_class: A scalar or one element, by default 0.
        iou_threshold: Like `max_output_boxes_per_class`.
        score_threshold: Like `max_output_boxes_per_class`.
        soft_nms_sigma: Like `max_output_boxes_per_class`.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        selected_indices: `output_type`, [n, 3], rows of batch, class and box.
        selected_scores: f32, [n, 3], rows of batch, class and score.
        valid_outputs: `output_type`, [1], n.
    """

def non_zero(
    data: Input,
    *,
    output_type: ElementTypeLike = "i64",
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """The indices of the elements that are not 0: one column for each, in row-major order; NaN is not 0.

    As in OpenVINO, a scalar that is not 0 gives [[0]], one that is 0 gives an empty output of shape [0, 0] (of shape
    [1, 0] in its CPU plugin).

    Specification: condition/nonzero-3.

    Args:
        data: Any shape, no strings.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: `output_type`, shape [rank of data, number of elements that are not 0].
    """

def normalize_l2(
    data: Input,
    axes: Input,
    eps: float,
    eps_mode: Literal["add", "max"],
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = data / sqrt(the sum of its squares along the axes, eps added to it or at least eps).

    Without axes every element except 0 becomes 1.

    Specification: normalization/normalize-l2-1.

    Args:
        data: Any shape, any float type.
        axes: A scalar or a vector of integers.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The shape and the type of data.

    Raises:
        IRError: IR501 for axes that are neither a scalar nor a vector, IR503 and IR701 for axes that data does not
            have.
    """

def not_equal(
    a: Input,
    b: Input,
    *,
    auto_broadcast: Literal["none", "numpy", "pdpd"] = "numpy",
    axis: int = 0,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = a differs from b.

    Specification: comparison/notequal-1.

    Source: the page broadcast-rules.

    Args:
        a: Any element type.
        b: The element type of a, a shape that broadcasts with the shape of a.
        auto_broadcast: `numpy`, `none` (the shapes are equal; `explicit` is a synonym), or `pdpd`: the first dim of b
            is aligned with dim `axis` of a.
        axis: For `pdpd`; -1 aligns the last dim of b with the last of a. The default is 0, as in OpenVINO; the
            specification declares -1.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Boolean, the shape that a and b broadcast to.

    Raises:
        IRError: IR501 and IR502 for shapes that differ with `none`, IR504 for shapes that do not broadcast, IR503 for
            an axis that a does not have.
    """

def nv12_to_bgr(
    y: Input,
    uv: Input | None = None,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """NV12toRGB-8 with the channels in the order B, G, R.

    Values are u8 or floats from 0 to 255; H and W are even.

    Specification: image/nv12-to-bgr-8.

    Args:
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Raises:
        IRError: IR501, IR502 and IR505 for planes of wrong ranks or sizes, or that do not match.
    """

def nv12_to_rgb(
    y: Input,
    uv: Input | None = None,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """An image in RGB from brightness Y and color U, V.

    R = 1.164 (Y - 16) + 1.596 (V - 128), G = 1.164 (Y - 16) - 0.391 (U - 128) - 0.813 (V - 128),
    B = 1.164 (Y - 16) + 2.018 (U - 128).

    Values are u8 or floats from 0 to 255; H and W are even.

    Specification: image/nv12-to-rgb-8.

    Args:
        y: [N, H, W, 1].
        uv: [N, H/2, W/2, 2], the type of y. Or y alone, [N, 1.5 H, W, 1], in which H/2 rows of alternating U and V
            follow the rows of Y.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: [N, H, W, 3], the type of y.

    Raises:
        IRError: IR501, IR502 and IR505 for planes of wrong ranks or sizes, or that do not match.
    """

def one_hot(
    indices: Input,
    depth: Input,
    on_value: Input,
    off_value: Input,
    axis: int,
    *,
    negative_indices_mode: Literal["ignore_negative", "normalize"] = "ignore_negative",
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output[i, .., c, j, ..] = on_value where indices[i, .., j, ..] is c, else off_value.

    Specification: sequence/one-hot-16.

    Args:
        indices: Integers, any shape.
        depth: A scalar, the size of the new axis `axis` of the output.
        on_value: A scalar of one element type, which is the output's. A negative depth is an error.
        off_value: Like `on_value`.
        negative_indices_mode: `normalize` counts negative indices from the end of the new axis, `ignore_negative` gives
            off_value for them, as for all indices out of range.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.
    """

def pad(
    data: Input,
    pads_begin: Input,
    pads_end: Input,
    pad_value: Input | None = None,
    *,
    pad_mode: Literal["constant", "edge", "reflect", "symmetric"],
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """Elements added at the ends of axes, or removed there.

    Elements removed at the other end are copied too.

    Specification: movement/pad-12.

    Args:
        data: Any shape, any type.
        pads_begin: A vector of integers, one for each axis of data; a negative one removes elements.
        pads_end: Like `pads_begin`.
        pad_value: A scalar of the type of data, only for the mode `constant`; by default 0, or "".
        pad_mode: The added elements. `constant`: pad_value. `edge`: copies of the element at this end, which must
            exist. `reflect`: the elements in reverse order without the one at this end, at most `dim - 1`. `symmetric`:
            the elements in reverse order including it, at most `dim`.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Dims `max(pads_begin + dim + pads_end, 0)`, the type of data; it may alias data.

    Raises:
        IRError: IR501 and IR502 for inputs of other shapes, IR402 for a pad_value of another type, IR505 and IR704 for
            more pads than the mode can add.
    """

def power(
    a: Input,
    b: Input,
    *,
    auto_broadcast: Literal["none", "numpy", "pdpd"] = "numpy",
    axis: int = 0,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = a to the power of b; 1 where b is 0.

    Integers wrap, and their negative powers are rounded towards zero: only those of 1 and -1 are not 0. A negative
    float to the power of a fraction is NaN.

    Specification: arithmetic/power-1. OpenVINO computes integers in floats, and its overflows are undefined.

    Source: the page broadcast-rules.

    Args:
        a: Any numeric type.
        b: The element type of a, a shape that broadcasts with the shape of a.
        auto_broadcast: `numpy`, `none` (the shapes are equal; `explicit` is a synonym), or `pdpd`: the first dim of b
            is aligned with dim `axis` of a.
        axis: For `pdpd`; -1 aligns the last dim of b with the last of a. The default is 0, as in OpenVINO; the
            specification declares -1.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The type of a, the shape that a and b broadcast to.

    Raises:
        IRError: IR704 for the integer 0 to a negative power, and those of Binary.
            IR501 and IR502 for shapes that differ with `none`, IR504 for shapes that do not broadcast, IR503 for
            an axis that a does not have.
    """

def prelu(
    data: Input,
    slope: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = data where it is not negative, else slope · data.

    The specification has one float type for both; OpenVINO accepts any two numeric types, and so does this class: f16
    and bf16 are multiplied in f32, integers by floats in f64, rounded to the nearest.

    Specification: activation/prelu-1.

    Args:
        data: Any shape.
        slope: A vector with a slope for each channel (axis 1 of data), else any shape that broadcasts to the shape of
            data.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data.

    Raises:
        IRError: IR504 for a slope that does not broadcast to data, which OpenVINO either repeats or rejects.
    """

def prior_box(
    output_size: Input,
    image_size: Input,
    *,
    variance: Sequence[float] = (),
    min_size: Sequence[float] = (),
    max_size: Sequence[float] = (),
    aspect_ratio: Sequence[float] = (),
    flip: bool = False,
    clip: bool = False,
    step: float = 0.0,
    offset: float = 0.0,
    scale_all_sizes: bool = True,
    fixed_ratio: Sequence[float] = (),
    fixed_size: Sequence[float] = (),
    density: Sequence[float] = (),
    min_max_aspect_ratios_order: bool = True,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """Boxes of several sizes and aspect ratios at every point of a grid; see `_Priors` for inputs and output.

    The points are at (index + offset) * step; for a `step` of 0 they cover the image evenly. At each point there are:
    - for each `fixed_size` boxes of every `fixed_ratio` (without these a square, and boxes of every `aspect_ratio`),
      density * density of each, shifted against one another and clipped to the image;
    - for each `min_size` a square, a square of the geometric mean of it and its `max_size`, and boxes of every
      `aspect_ratio`, with `flip` also of its reciprocal. Without `min_max_aspect_ratios_order` the mean comes last.

    Without `scale_all_sizes`, sizes and step are fractions of the image's height (step -1: the height over that of the
    grid), and only the last size has boxes of other ratios, which have the first size. With `clip` all boxes are
    clipped to the image.

    The size of the output counts neither boxes of min_size in addition to boxes of fixed_size nor repeated ratios; as
    in OpenVINO, excess boxes are omitted at the end.

    Specification: detection/prior-box-8.

    Args:
        output_size: Integers, [2], height and width of the grid and of the image.
        image_size: Like `output_size`.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: f32, [2, 4 * height * width * priors per point]; the first row holds the boxes (x0, y0, x1, y1) as
            fractions of the image, point by point, the second row four `variance` for each box, 0.1 if none is given.

    Raises:
        IRError: IR704 for sizes below 0.
    """

def prior_box_clustered(
    output_size: Input,
    image_size: Input,
    *,
    variance: Sequence[float] = (),
    width: Sequence[float] = (),
    height: Sequence[float] = (),
    clip: bool = True,
    step: float = 0.0,
    step_w: float = 0.0,
    step_h: float = 0.0,
    offset: float = 0.0,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """Boxes of given widths and heights at every point of a grid; see `_Priors` for inputs and output.

    The points are at (index + offset) * step, `step_w` and `step_h` or `step` for both; if all are 0 the points
    cover the image evenly. With `clip` boxes are clipped to the image. Without width and height there are no boxes, as
    in OpenVINO; the specification has one of width and height 1.

    Specification: detection/prior-box-clustered-1.

    Args:
        output_size: Integers, [2], height and width of the grid and of the image.
        image_size: Like `output_size`.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: f32, [2, 4 * height * width * priors per point]; the first row holds the boxes (x0, y0, x1, y1) as
            fractions of the image, point by point, the second row four `variance` for each box, 0.1 if none is given.

    Raises:
        IRError: IR704 for sizes below 0.
    """

def proposal(
    class_probs: Input,
    bbox_deltas: Input,
    image_shape: Input,
    base_size: int,
    pre_nms_topn: int,
    post_nms_topn: int,
    nms_thresh: float,
    feat_stride: int,
    min_size: int,
    ratio: Sequence[float],
    scale: Sequence[float],
    *,
    clip_before_nms: bool = True,
    clip_after_nms: bool = False,
    normalize: bool = False,
    box_size_scale: float = 1.0,
    box_coordinate_scale: float = 1.0,
    framework: Literal["", "tensorflow"] = "",
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[Iterable[str]] = (),
) -> tuple[Value, Value]:
    """The regions of possible objects: anchors moved as predicted, after non-maximum suppression.

    An anchor of width sqrt(base_size**2 / ratio) and ratio times that height, both times a scale, is placed every
    feat_stride pixels. Boxes smaller than min_size times the scale of the image get the score 0. Of the best
    pre_nms_topn boxes, those that overlap a higher-scored one by more than nms_thresh are removed. `clip_before_nms`
    and `clip_after_nms` clip boxes to the image, and `normalize` divides them by its size. As in OpenVINO, the
    `framework` tensorflow exchanges x and y, and height and width, and a box from 2 to 4 is 2 wide instead of 3.

    Specification: detection/proposal-4.

    Args:
        class_probs: Floating, [N, 2 * A, H, W], scores of background and then of objects, A being ratios times scales.
        bbox_deltas: Floating, [N, 4 * A, H, W], how each anchor moves: its center by so many widths and heights, and
            the logarithms of its growth.
        image_shape: Floating, height, width and one scale, or one of each.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        rois: The type of class_probs, [N * post_nms_topn, 5], rows of image and box (x0, y0, x1, y1), the best first;
            -1 ends the rows of an image, and the rest is zeros.
        probs: The scores, [N * post_nms_topn].

    Raises:
        IRError: IR704 for a size or a scale of the image out of range.
    """

def psroi_pooling(
    data: Input,
    rois: Input,
    spatial_scale: float,
    output_dim: int,
    *,
    group_size: int = 1,
    mode: Literal["average", "bilinear"] = "average",
    spatial_bins_x: int = 1,
    spatial_bins_y: int = 1,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """Regions of interest pooled to one size, every bin from separate channels (position-sensitive).

    average: C = output_dim * group_size²; the region from x1, y1, rounded, to one after x2, y2, rounded, times
    `spatial_scale`, is divided into bins that may share elements; a bin is the mean of its elements in channel [output
    channel, row of bins, column of bins], 0 without elements.

    bilinear: C = spatial_bins_x * spatial_bins_y * output_dim; the corners times `spatial_scale` are fractions of the
    image, 0 being its first element and 1 its last. The region is divided into spatial_bins_y rows of spatial_bins_x
    cells; in each, group_size² points from corner to corner are interpolated in channel [cell, output channel], 0
    outside, and a bin is the mean over all cells.

    What the specification leaves open is as in OpenVINO's CPU plugin.

    Specification: detection/psroi-pooling-1.

    Args:
        data: [N, C, H, W].
            [N, C, H, W], floats.
        rois: [NUM_ROIS, 5].
            [NUM_ROIS, 5], floats.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: [NUM_ROIS, output_dim, group_size, group_size].

    Raises:
        IRError: IR502 for a wrong number of channels, IR701 for an image out of range.
    """

def random_uniform(
    shape: Input,
    minval: Input,
    maxval: Input,
    output_type: ElementTypeLike,
    *,
    global_seed: int = 0,
    op_seed: int = 0,
    alignment: Literal["pytorch", "tensorflow"] = "tensorflow",
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """Uniformly distributed numbers from minval to below maxval.

    As in OpenVINO's CPU plugin, tensorflow continues from run to run, advanced by 256 blocks of four for every element
    drawn before, until `reset_state`; pytorch gives the same values in every run. The plugin draws f16, f64 and i64 as
    f32 and i32; the specification, OpenVINO's reference kernel and this class do not. In a model that is computed in
    f32, however, f16 and bf16 are drawn as f32. Elsewhere bf16 is as in the plugin: computed in f32 and rounded once,
    and for pytorch one half or more is rounded up if the last bit kept is odd, and down if it is even.

    The specification does not define which of two 32-bit numbers is the higher half of an i64: in OpenVINO the first
    for pytorch, the second for tensorflow.

    Specification: generation/random-uniform-8.

    Args:
        shape: A vector of i32 or i64, the shape of the output.
        minval: One element, of the type `output_type`.
        maxval: Like `minval`.
        alignment: `tensorflow`, the default, draws from Philox-4x32-10 with global_seed as key and op_seed as upper
            half of the counter; `pytorch` draws from the Mersenne twister of global_seed. If both seeds are 0, the
            default, every run gives different values.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The type `output_type`: f16, bf16, f32, f64, i32 or i64.

    Raises:
        IRError: IR402 for limits of another type, IR505 and IR704 for a minval that is not less than maxval and for a
            negative size.
    """

def range(
    start: Input,
    stop: Input,
    step: Input,
    output_type: ElementTypeLike,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """start, start + step, start + 2 * step, ... before stop, in the element type `output_type`.

    The specification does not define a step of 0. OpenVINO's CPU plugin keeps the fractions of inputs that are not
    constants, and counts as if the signs agreed if step leads away from stop; the specification, OpenVINO's shape
    inference and this class do not.

    Specification: generation/range-4.

    Args:
        start: A scalar of any numeric types; for an integer output their fractions are truncated first.
        stop: Like `start`.
        step: Like `start`.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: A vector of the type `output_type`; empty if step leads away from stop.

    Raises:
        IRError: IR501 for an input that is not a scalar, IR505 and IR704 for a step of 0 and infinite numbers or NaN.
    """

def rdft(
    data: Input,
    axes: Input,
    signal_size: Input | None = None,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """The DFT of real numbers. Along the last of `axes` the output has S // 2 + 1 numbers: the others are conjugates.

    Specification: signals/rdft-9. If signal_size is not known, OpenVINO's shape inference keeps the sizes of all axes
    except the last; here they are dynamic.

    Args:
        data: A float type, rank 1 or more.
        axes: A vector of different axes; negative ones count from the end, the last axis of complex data is not
            counted.
        signal_size: A vector with the number of values to transform along each axis, -1 for the axis size. A longer
            axis is truncated, a shorter one padded with zeros.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The element type of data, shape [..., 2]. f16 and bf16 are computed in f32. At least one axis is
            required.
    """

def reduce_l1(
    data: Input,
    axes: Input,
    *,
    keep_dims: bool = False,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """The sum of the magnitudes.

    Specification: reduction/reduce-l1-4. There the reduction along no axes is the identity; as in OpenVINO, it returns
    magnitudes.

    Args:
        data: Any shape, any numeric type (boolean for the logical reductions).
        axes: A scalar or a vector of integers; negative ones count from the end, repeated ones count once, as in
            OpenVINO. Without axes, every element is reduced separately.
        keep_dims: Reduced axes are kept with size 1; by default they are removed.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The element type of data.

    Raises:
        IRError: IR501 for axes of rank 2 or more, IR503 and IR701 for an axis that data does not have.
    """

def reduce_l2(
    data: Input,
    axes: Input,
    *,
    keep_dims: bool = False,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """The square root of the sum of the squares, rounded towards zero for integers.

    Specification: reduction/reduce-l2-4. There the reduction along no axes is the identity; as in OpenVINO, it returns
    magnitudes.

    Args:
        data: Any shape, any numeric type (boolean for the logical reductions).
        axes: A scalar or a vector of integers; negative ones count from the end, repeated ones count once, as in
            OpenVINO. Without axes, every element is reduced separately.
        keep_dims: Reduced axes are kept with size 1; by default they are removed.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The element type of data.

    Raises:
        IRError: IR501 for axes of rank 2 or more, IR503 and IR701 for an axis that data does not have.
    """

def reduce_logical_and(
    data: Input,
    axes: Input,
    *,
    keep_dims: bool = False,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """The logical "and" of the elements; true for no elements.

    Specification: reduction/reduce-logical-and-1.

    Args:
        data: Any shape, any numeric type (boolean for the logical reductions).
        axes: A scalar or a vector of integers; negative ones count from the end, repeated ones count once, as in
            OpenVINO. Without axes, every element is reduced separately.
        keep_dims: Reduced axes are kept with size 1; by default they are removed.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The element type of data.

    Raises:
        IRError: IR501 for axes of rank 2 or more, IR503 and IR701 for an axis that data does not have.
    """

def reduce_logical_or(
    data: Input,
    axes: Input,
    *,
    keep_dims: bool = False,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """The logical "or" of the elements; false for no elements.

    Specification: reduction/reduce-logical-or-1.

    Args:
        data: Any shape, any numeric type (boolean for the logical reductions).
        axes: A scalar or a vector of integers; negative ones count from the end, repeated ones count once, as in
            OpenVINO. Without axes, every element is reduced separately.
        keep_dims: Reduced axes are kept with size 1; by default they are removed.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The element type of data.

    Raises:
        IRError: IR501 for axes of rank 2 or more, IR503 and IR701 for an axis that data does not have.
    """

def reduce_max(
    data: Input,
    axes: Input,
    *,
    keep_dims: bool = False,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """The greatest element; for no elements minus infinity, or the lowest value of a type without infinity.

    NaN among the elements gives NaN; in OpenVINO this depends on its place.

    Specification: reduction/reduce-max-1. It does not define the reduction of no elements; ONNX has infinity, and
    OpenVINO infinity or the lowest finite value, depending on its kernel.

    Args:
        data: Any shape, any numeric type (boolean for the logical reductions).
        axes: A scalar or a vector of integers; negative ones count from the end, repeated ones count once, as in
            OpenVINO. Without axes, every element is reduced separately.
        keep_dims: Reduced axes are kept with size 1; by default they are removed.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The element type of data.

    Raises:
        IRError: IR501 for axes of rank 2 or more, IR503 and IR701 for an axis that data does not have.
    """

def reduce_mean(
    data: Input,
    axes: Input,
    *,
    keep_dims: bool = False,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """The mean of the elements, rounded towards zero for integers; 0 for no elements, as in OpenVINO.

    Specification: reduction/reduce-mean-1.

    Args:
        data: Any shape, any numeric type (boolean for the logical reductions).
        axes: A scalar or a vector of integers; negative ones count from the end, repeated ones count once, as in
            OpenVINO. Without axes, every element is reduced separately.
        keep_dims: Reduced axes are kept with size 1; by default they are removed.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The element type of data.

    Raises:
        IRError: IR501 for axes of rank 2 or more, IR503 and IR701 for an axis that data does not have.
    """

def reduce_min(
    data: Input,
    axes: Input,
    *,
    keep_dims: bool = False,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """The least element; for no elements infinity, or the greatest value of a type without infinity.

    NaN among the elements gives NaN; in OpenVINO this depends on its place.

    Specification: reduction/reduce-min-1. It does not define the reduction of no elements; ONNX has infinity, and
    OpenVINO infinity or the greatest finite value, depending on its kernel.

    Args:
        data: Any shape, any numeric type (boolean for the logical reductions).
        axes: A scalar or a vector of integers; negative ones count from the end, repeated ones count once, as in
            OpenVINO. Without axes, every element is reduced separately.
        keep_dims: Reduced axes are kept with size 1; by default they are removed.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The element type of data.

    Raises:
        IRError: IR501 for axes of rank 2 or more, IR503 and IR701 for an axis that data does not have.
    """

def reduce_prod(
    data: Input,
    axes: Input,
    *,
    keep_dims: bool = False,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """The product of the elements; 1 for no elements. Integers of 8 bits saturate, others wrap.

    Specification: reduction/reduce-prod-1.

    Args:
        data: Any shape, any numeric type (boolean for the logical reductions).
        axes: A scalar or a vector of integers; negative ones count from the end, repeated ones count once, as in
            OpenVINO. Without axes, every element is reduced separately.
        keep_dims: Reduced axes are kept with size 1; by default they are removed.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The element type of data.

    Raises:
        IRError: IR501 for axes of rank 2 or more, IR503 and IR701 for an axis that data does not have.
    """

def reduce_sum(
    data: Input,
    axes: Input,
    *,
    keep_dims: bool = False,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """The sum of the elements; 0 for no elements. Integers of 8 bits saturate, others wrap.

    Specification: reduction/reduce-sum-1.

    Args:
        data: Any shape, any numeric type (boolean for the logical reductions).
        axes: A scalar or a vector of integers; negative ones count from the end, repeated ones count once, as in
            OpenVINO. Without axes, every element is reduced separately.
        keep_dims: Reduced axes are kept with size 1; by default they are removed.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The element type of data.

    Raises:
        IRError: IR501 for axes of rank 2 or more, IR503 and IR701 for an axis that data does not have.
    """

def region_yolo(
    data: Input,
    axis: int,
    coords: int,
    classes: int,
    end_axis: int,
    num: int,
    *,
    anchors: Sequence[float] = (),
    do_softmax: bool = False,
    mask: Sequence[int] = (),
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """The output of a YOLO detector after the logistic function and, with `do_softmax`, a softmax over its classes.

    With `do_softmax` there are `num` regions: the logistic function is applied to the first two numbers of a region and
    its confidence, a softmax to its classes; further channels are unchanged, and the axes from `axis` to `end_axis` are
    flattened. Without it there are as many regions as `mask` has values, the logistic function is applied to the
    classes too, and further channels are omitted. anchors have no effect.

    `do_softmax` is false by default, as in OpenVINO; the specification has true.
    Specification: detection/region-yolo-1.

    Args:
        data: Floating, [N, regions * (coords + classes + 1), H, W].
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The type of data.
    """

def relu(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = data where it is positive, else 0.

    Specification: activation/relu-1.

    Args:
        data: Any shape, any numeric type.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data.
    """

def reorg_yolo(
    data: Input,
    stride: Sequence[int],
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """Places of a block of space moved into channels (space to depth), in the order of YOLO v2.

    Element [n, c, h, w] of an output in the shape [N, C, H, W] is element [n, c % K, h * stride + c // K // stride, w *
    stride + c // K % stride] of data read as [N, K, H * stride, W * stride], K = C // stride². Only the first of
    several strides is used, as in OpenVINO.

    Specification: detection/reorg-yolo-1.

    Args:
        data: [N, C, H, W], C at least stride², H and W multiples of stride.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: [N, C * stride², H / stride, W / stride].
    """

def reshape(
    data: Input,
    shape: Input,
    special_zero: bool,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """The elements of data, in their order, in the shape given by the input `shape`.

    As in OpenVINO, -1 is 1 next to a 0 for data without elements, and inference treats a size that may be 0 as a size,
    not as a copy. With a copied dim, OpenVINO accepts sizes whose product is wrong, and reads beyond the tensor; here
    this is an error.

    Specification: shape/reshape-1.

    Args:
        data: Any shape, any type.
        shape: A vector of integers; one may be -1, for the remaining size. With `special_zero` a 0 is replaced by the
            dim of data at the same position, otherwise it means 0 elements.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The type of data; it may alias data.

    Raises:
        IRError: IR501 for a shape that is not a vector, IR505 and IR704 for one that does not match data.
    """

def reverse(
    data: Input,
    axis: Input,
    mode: Literal["index", "mask"],
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """Elements in reverse order along some axes.

    Specification: movement/reverse-1.

    Args:
        data: Any shape, any type.
        axis: In the mode `index` a vector of integers, negative ones counted from the end, and a repeated axis reversed
            once; in the mode `mask` a boolean for each axis.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data; it may alias data.

    Raises:
        IRError: IR401 for an axis of the wrong type for the mode, IR501 and IR502 for another shape, IR503 and IR704
            for an axis that data does not have.
    """

def reverse_sequence(
    data: Input,
    seq_lengths: Input,
    *,
    batch_axis: int = 0,
    seq_axis: int = 1,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output[b, s] = data[b, seq_lengths[b] - 1 - s] for s < seq_lengths[b], else data[b, s]; shown for axes 0 and 1.

    The specification requires lengths from 1 to the size of seq_axis; 0, which reverses nothing, is an extension of
    OpenVINO.

    Specification: movement/reverse-sequence-1.

    Args:
        data: Rank 2 or more, any type. batch_axis (0 by default) and seq_axis (1 by default) must differ.
        seq_lengths: A vector of any numeric type, a number for each element of the batch; fractions are truncated.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data.

    Raises:
        IRError: IR501 and IR502 for other shapes, IR503 for an axis that data does not have or for equal axes, IR704
            for another length.
    """

def rgb_to_nv12(
    image: Input,
    *,
    single_plane: bool = True,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[Iterable[str]] = (),
) -> tuple[Value, Value]:
    """Brightness Y and color U, V of an image in RGB.

    Y = 0.257 R + 0.504 G + 0.098 B + 16, U = -0.148 R - 0.291 G + 0.439 B + 128,
    V = 0.439 R - 0.368 G - 0.071 B + 128; U and V, clipped and rounded, are the means of each 2x2 pixels.

    The specification does not define how pixels share U and V; the mean follows OpenVINO's reference kernel. The CPU
    plugin has no such operator.

    Specification: image/rgb-to-nv12-17.

    Args:
        image: [N, H, W, 3], u8 or floats.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        y: The type of image, [N, H, W, 1]. With `single_plane`, the default, it is the only output, [N, 1.5 H, W, 1],
            in which H/2 rows of alternating U and V follow the rows of Y.
        uv: The type of image, [N, H/2, W/2, 2].

    Raises:
        IRError: IR501, IR502 and IR505 for an image of another rank or size.
    """

def rnn_cell(
    x: Input,
    initial_hidden_state: Input,
    w: Input,
    r: Input,
    b: Input | None = None,
    *,
    hidden_size: int,
    activations: Sequence[Literal["relu", "sigmoid", "tanh"]] = ("tanh",),
    activations_alpha: Sequence[float] = (),
    activations_beta: Sequence[float] = (),
    clip: float = 0.0,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """H' = f(x * w^T + H * r^T + b), with f = tanh unless `activations` names another function.

    H' = f(x * w^T + H * r^T + b).

    The rows of the gates follow each other in the order of the formulas.

    The size of the state is taken from the inputs. The attribute hidden_size counts only for an LSTMCell whose inputs
    do not determine the size, as in OpenVINO.

    Specification: sequence/rnn-cell-3. A cell without b is an extension of OpenVINO.

    Args:
        x: [batch_size, input_size], a float type, shared by the other inputs.
        initial_hidden_state: [batch_size, hidden_size].
        w: [gates * hidden_size, input_size].
        r: [gates * hidden_size, hidden_size].
        b: [gates * hidden_size], by default zeros.
        activations: relu, sigmoid or tanh for each of the functions f, g and h in the formulas. None of these has
            parameters, so `activations_alpha` and `activations_beta` have no effect.
        clip: The arguments of the gates' functions are clipped to -clip .. clip; 0, negative numbers and infinity mean
            no clipping.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The state after the step, like initial_hidden_state.

    Raises:
        IRError: IR501 for a wrong rank, IR502 for dims that contradict each other, IR505 for rows that do not divide
            into gates.
    """

def rnn_sequence(
    x: Input,
    initial_hidden_state: Input,
    sequence_lengths: Input,
    w: Input,
    r: Input,
    b: Input,
    hidden_size: int,
    direction: Literal["bidirectional", "forward", "reverse"],
    *,
    activations: Sequence[Literal["relu", "sigmoid", "tanh"]] = ("tanh",),
    activations_alpha: Sequence[float] = (),
    activations_beta: Sequence[float] = (),
    clip: float = 0.0,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[Iterable[str]] = (),
) -> tuple[Value, Value]:
    """H' = f(x * w^T + H * r^T + b) along a sequence, with f = tanh unless `activations` names another function.

    H' = f(x * w^T + H * r^T + b).

    The rows of the gates are in the order of the formulas.

    The direction `reverse` begins at the end of each sequence; `bidirectional` has it as its second direction. After
    the end of a sequence y is 0, and the states are unchanged; states of a sequence without steps are 0, as in
    OpenVINO. The size of the states is taken from the inputs; the attribute hidden_size is ignored, as in OpenVINO.

    Specification: sequence/rnn-sequence-5.

    Args:
        x: [batch_size, seq_length, input_size], a float type, shared by all inputs except the lengths.
        initial_hidden_state: [batch_size, num_directions, hidden_size].
        sequence_lengths: [batch_size], integers, 0 to seq_length.
        w: [num_directions, gates * hidden_size, input_size].
        r: [num_directions, gates * hidden_size, hidden_size].
        b: [num_directions, gates * hidden_size].
        activations: relu, sigmoid or tanh for each of the functions f, g and h in the formulas. None of these has
            parameters, so `activations_alpha` and `activations_beta` have no effect.
        clip: The arguments of the gates' functions are clipped to -clip .. clip; 0, negative numbers and infinity mean
            no clipping.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        y: The hidden states after all steps, [batch_size, num_directions, seq_length, hidden_size].
        hidden_state: The last hidden state, like initial_hidden_state.

    Raises:
        IRError: IR501 for a wrong rank, IR502 for dims that contradict each other, IR505 for rows that do not divide
            into gates, IR704 for a length that is negative or greater than seq_length.
    """

def roi_align(
    data: Input,
    rois: Input,
    batch_indices: Input,
    pooled_h: int,
    pooled_w: int,
    sampling_ratio: int,
    spatial_scale: float,
    mode: Literal["avg", "max"],
    *,
    aligned_mode: Literal["asymmetric", "half_pixel", "half_pixel_for_nn"] = "asymmetric",
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """Regions of interest pooled to one size; see `_Align` and `_ROIAlign`.

    The `aligned_mode` asymmetric is ROIAlign-3. With half_pixel_for_nn corners are moved by -0.5 after they are
    multiplied by `spatial_scale`, with half_pixel also by 0.5 before, and boxes may be of any size. A box of size 0
    gives 0 if `sampling_ratio` is 0; the mean of OpenVINO's CPU plugin is then NaN. Specification:
    detection/roi-align-9.

    Points are interpolated between four elements; points beyond the last element, and up to one element before the
    first, count as on it. A bin is the mean of its points, or the greatest of them and zero, as in OpenVINO; the
    specification has no zero.

    Points more than one element outside the image count as zero. Everything is computed in f32 (f64 for f64).

    Args:
        data: [N, C, H, W], floats.
        rois: [NUM_ROIS, numbers of a box], the type of data.
            x1, y1, x2, y2.
        batch_indices: [NUM_ROIS], the index of the image of each box.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: [NUM_ROIS, C, pooled_h, pooled_w], the type of data. A box is divided into pooled_h x pooled_w bins.
            Each bin has `sampling_ratio` x `sampling_ratio` sampling points; if that is 0, as many as it has elements,
            rounded up.

    Raises:
        IRError: IR701 for a batch index out of range, where OpenVINO's CPU plugin leaves the output unchanged; IR704
            for a box with more than 2^22 sampling points.
    """

def roi_align_rotated(
    data: Input,
    rois: Input,
    batch_indices: Input,
    pooled_h: int,
    pooled_w: int,
    sampling_ratio: int,
    spatial_scale: float,
    *,
    clockwise_mode: bool = False,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """Rotated regions of interest pooled to one size; see `_Align`.

    Center and size are multiplied by `spatial_scale`, the center is then moved by -0.5; the box is rotated
    counterclockwise, or clockwise with `clockwise_mode`. Points are interpolated as in ROIAlign; a bin is the mean of
    its points.

    Points more than one element outside the image count as zero. Everything is computed in f32 (f64 for f64).

    Specification: detection/roi-align-rotated-15.

    Args:
        data: [N, C, H, W], floats.
        rois: [NUM_ROIS, numbers of a box], the type of data.
            x and y of the center, width, height, angle in radians.
        batch_indices: [NUM_ROIS], the index of the image of each box.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: [NUM_ROIS, C, pooled_h, pooled_w], the type of data. A box is divided into pooled_h x pooled_w bins.
            Each bin has `sampling_ratio` x `sampling_ratio` sampling points; if that is 0, as many as it has elements,
            rounded up.

    Raises:
        IRError: IR701 for a batch index out of range, where OpenVINO's CPU plugin leaves the output unchanged; IR704
            for a box with more than 2^22 sampling points.
    """

def roi_pooling(
    data: Input,
    rois: Input,
    spatial_scale: float,
    pooled_h: int,
    pooled_w: int,
    *,
    method: Literal["bilinear", "max"] = "max",
    output_size: Sequence[int] = (),
    output_roi: Sequence[int] = (),
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """Regions of interest pooled to one size.

    max: the corners times `spatial_scale`, rounded, are the first and the last element of the region, which has at
    least one; it is divided into bins that may share elements, and a bin is its greatest element, or 0 without
    elements.

    bilinear: corners are fractions of the image, 0 being its first element and 1 its last; pooled_h x pooled_w points
    from corner to corner are interpolated (a single one is in the middle), and are 0 outside.

    `output_size` and `output_roi`, which OpenVINO writes in addition to `pooled_h` and `pooled_w`, have no effect.

    Specification: detection/roi-pooling-1.

    Args:
        data: [N, C, H, W].
            [N, C, H, W], floats.
        rois: [NUM_ROIS, 5].
            [NUM_ROIS, 5], the type of data.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: [NUM_ROIS, C, pooled_h, pooled_w].

    Raises:
        IRError: IR701 for an image out of range.
    """

def roll(
    data: Input,
    shift: Input,
    axes: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """Elements move by `shift` along each of `axes`; elements that leave at one end return at the other.

    Specification: movement/roll-7.

    Args:
        data: Any shape, any type.
        shift: i32 or i64, a scalar for all axes, or a vector as long as axes.
        axes: i32 or i64, a scalar or a vector; negative ones count from the end, and the shifts of an axis that occurs
            several times are summed.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data.

    Raises:
        IRError: IR501 and IR502 for other shapes, IR503 and IR704 for an axis that data does not have.
    """

def round(
    data: Input,
    *,
    mode: Literal["half_away_from_zero", "half_to_even"] = "half_to_even",
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = the integer nearest to data.

    Specification: arithmetic/round-5.

    Args:
        data: Any shape, any numeric type.
        mode: The choice between two equally near integers: the even one (`half_to_even`, the default) or the one
            farther from zero (`half_away_from_zero`).
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data.
    """

def scaled_dot_product_attention(
    query: Input,
    key: Input,
    value: Input,
    attention_mask: Input | None = None,
    scale: Input | None = None,
    sink: Input | None = None,
    *,
    causal: bool,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = softmax(query @ transposed key * scale + attention_mask) @ value.

    With L queries and S keys; the batches N, ... broadcast.

    Specification: sequence/scaled-dot-product-attention; the sink is an extension of OpenVINO since 2025.4.

    Args:
        query: [N, ..., L, E], a float type.
        key: [N, ..., S, E], the type of query.
        value: [N, ..., S, Ev], the type of query.
        attention_mask: Added to the scores [N, ..., L, S], to which it broadcasts, or boolean, where false masks a pair
            out; rank 2 or more, or a scalar. Ignored if `causal`, which masks all keys after the query's position.
        scale: One element; by default 1 / sqrt(E).
        sink: One more score for each query, which counts in the sum of the softmax and has no value; the rank of query,
            last axis 1.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: [N, ..., L, Ev] of the element type of query; NaN for a query whose keys are all masked, 0 without keys.

    Raises:
        IRError: IR402 for a mask of another float type, IR501, IR502, IR504 for wrong ranks and shapes.
    """

def scatter_elements_update(
    data: Input,
    indices: Input,
    updates: Input,
    axis: Input,
    *,
    reduction: Literal["max", "mean", "min", "none", "prod", "sum"] = "none",
    use_init_val: bool = True,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """ScatterElementsUpdate-3 with a reduction of all updates to an element.

    With `use_init_val` the reduction includes the element of data.

    On booleans sum and max are "or", prod and min are "and", and there is no mean. Integers wrap around. The mean of
    integers is rounded down, as specified; OpenVINO's CPU plugin rounds towards zero, and wraps the sums of 8-bit
    types, which are exact here. A NaN among the updates leaves min and max unchanged, as in OpenVINO.

    output[i, indices[i, j, k], k] = updates[i, j, k], shown for axis 1 of rank 3.

    Specification: movement/scatter-elements-update-12.

    Args:
        data: Any element type, with a reduction a numeric or boolean one except u1, u3, u6 and nf4; rank 1 or more.
        indices: Integers, the rank of data and, except on `axis`, at most its sizes; a negative one counts from the
            end.
        updates: The element type of data, the shape of indices.
        axis: One integer, a scalar or of shape [1].
        reduction: `none` (the last update wins), sum, prod, min, max or mean. Without `use_init_val` only the updates
            are reduced; elements without updates are always those of data.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The element type and shape of data.

    Raises:
        IRError: IR401 for an element type that the reduction does not support, IR701 for an index out of range, IR704
            for an axis out of range.
    """

def scatter_nd_update(
    data: Input,
    indices: Input,
    updates: Input,
    *,
    reduction: Literal["max", "min", "none", "prod", "sub", "sum"] = "none",
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """ScatterNDUpdate-4 with a reduction of all updates to a place and the element of data there.

    On booleans sum and max are "or", prod and min are "and", sub is "exclusive or". Integers wrap around. A NaN among
    the updates leaves min and max unchanged, as in OpenVINO.

    output[*indices[i]] = updates[i], i are all axes of indices except the last.

    Specification: movement/scatter-nd-update-15.

    Args:
        data: Any element type, with a reduction a numeric or boolean one except u1, u3, u6 and nf4; rank 1 or more.
        indices: i32 or i64, rank 1 or more, a negative one counts from the end; tuples are along the last axis and have
            at most rank(data) elements.
        updates: The element type of data, shape indices.shape[:-1] + data.shape[indices.shape[-1]:], or any one element
            if this is the shape of a scalar.
        reduction: `none` (the last update wins), sum, sub, prod, min or max.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The element type and shape of data.

    Raises:
        IRError: IR401 for an element type that the reduction does not support, IR701 for an index out of range.
    """

def scatter_update(
    data: Input,
    indices: Input,
    updates: Input,
    axis: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output[p, indices[i], r] = updates[p, i, r]: i are axes of indices, p axes before `axis`, r axes after it.

    Specification: movement/scatter-update-3.

    Args:
        data: Any element type, rank 1 or more.
        indices: Integers, any rank.
        updates: The element type of data, shape data.shape[:axis] + indices.shape + data.shape[axis + 1:].
        axis: One integer, a scalar or of shape [1].
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The element type and shape of data. Of updates to the same place the last one wins.

    Raises:
        IRError: IR701 for an index out of range and, as the specification requires, for a negative one; IR704 for an
            axis out of range.
    """

def search_sorted(
    sorted_sequence: Input,
    values: Input,
    *,
    right_mode: bool = False,
    output_type: ElementTypeLike = "i64",
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output[p, i]: the index for inserting values[p, i] into sorted_sequence[p, :]; p are all axes except the last.

    The index is before equal elements or, with `right_mode`, after them. NaN is inserted at index 0.

    Specification: sort/search-sorted-15, where `right_mode` is called `right`, and `output_type` is missing.

    Args:
        sorted_sequence: Rank 1 or more, ascending along the last axis; a vector is for values of any shape.
        values: The type of sorted_sequence and, except for the last axis, its dims.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The shape of values, element type `output_type`.

    Raises:
        IRError: IR501 for a scalar and for ranks that differ, IR502 for dims that differ.
    """

def segment_max(
    data: Input,
    segment_ids: Input,
    num_segments: Input | None = None,
    *,
    fill_mode: Literal["lowest", "zero"],
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output[i, ...] = the greatest of data[j, ...] over all j with segment_ids[j] = i.

    Specification: arithmetic/segment-max-16.

    Args:
        data: Rank 1 or more, any numeric type.
        segment_ids: A vector as long as the first axis of data, ascending, 0 or more.
        num_segments: A scalar, greater than every segment id; by default one more than the last segment id.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: [num_segments, ...], the type of data. A segment without elements is 0 (`fill_mode` zero) or the lowest
            finite value of the type (lowest).

    Raises:
        IRError: IR501 for data that is a scalar; IR701 for a segment id out of range, where OpenVINO ignores the
            element; IR704 for segment ids that do not rise, and for a negative num_segments.
    """

def select(
    cond: Input,
    then: Input,
    else_: Input,
    *,
    auto_broadcast: Literal["none", "numpy", "pdpd"] = "numpy",
    axis: int = 0,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = then where cond is true, else_ where it is false, all three broadcast together.

    With numpy broadcasting `cond` may also have the largest shape, as in OpenVINO. With pdpd broadcasting the first
    axis of `else_` and of `cond` is axis `axis` of `then`, by default 0.

    Specification: condition/select-1.

    Args:
        cond: Boolean.
        then: Any type, the same for both and output.
        else_: Like `then`.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Raises:
        IRError: IR504 where the shapes do not broadcast; IR501 and IR502 where they differ and `auto_broadcast` is
            none.
    """

def selu(
    data: Input,
    alpha: Input,
    lambda_: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = lambda · data where data is positive, else lambda · alpha · (e^data - 1).

    All inputs have one float type.

    Specification: activation/selu-1.

    Args:
        data: Any shape.
        alpha: One element; the specification has vectors, OpenVINO takes any shape.
        lambda_: Like `alpha`.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data.

    Raises:
        IRError: IR505 for an alpha or a lambda that does not have one element.
    """

def shape_of(
    data: Input,
    *,
    output_type: ElementTypeLike = "i64",
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = the shape of data, as a vector of the type `output_type`: i64 (the default) or i32; empty for a scalar.

    Specification: shape/shape-of-3.

    Args:
        data: Any shape, any type.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.
    """

def shuffle_channels(
    data: Input,
    *,
    axis: int = 1,
    group: int = 1,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """Channels in the order of a transposed matrix, whose `group` rows hold them in their original order.

    Specification: movement/shuffle-channels-1.

    Args:
        data: Rank 1 or more, any type; its size along `axis` (1 by default) is a multiple of `group` (1 by default).
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data.

    Raises:
        IRError: IR503 for an axis that data does not have, IR505 for a size that is not a multiple of group.
    """

def sigmoid(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = 1 / (1 + e^-data).

    Specification: activation/sigmoid-1.

    Args:
        data: Any shape, any numeric type.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data.
    """

def sign(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = -1, 0 or 1 as data is negative, zero or positive; NaN for NaN.

    Specification: arithmetic/sign-1.

    Args:
        data: Any shape, any numeric type.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data.
    """

def sin(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = sin data, with data in radians.

    Specification: arithmetic/sin-1.

    Args:
        data: Any shape, any numeric type.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data.
    """

def sinh(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = sinh data.

    Specification: arithmetic/sinh-1.

    Args:
        data: Any shape, any numeric type.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data.
    """

def slice(
    data: Input,
    start: Input,
    stop: Input,
    step: Input,
    axes: Input | None = None,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = data[start:stop:step] along the axes that `axes` names, by default the first ones.

    The specification refers to Python's slices. As in OpenVINO, there is one deviation, which affects the shape of the
    output: a backward slice that starts before the axis starts at its first element.

    Specification: movement/slice-8.

    Args:
        data: Rank 1 or more, any type.
        start: A vector of integers.
        stop: A vector of integers of the length of `start`.
        step: A vector of integers of the length of `start`.
        axes: Optional, a vector of distinct integers of that length.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The type and the rank of data; it may alias data.

    Raises:
        IRError: IR501 and IR502 for other shapes, IR503 for axes out of range or duplicates, IR505 for a step of 0;
            IR704 for faults found only in the run.
    """

def slice_scatter(
    data: Input,
    updates: Input,
    start: Input,
    stop: Input,
    step: Input,
    axes: Input | None = None,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = data, with output[start:stop:step] = updates; the slice is defined as in `Slice`.

    Specification: movement/slice-scatter-15.

    Args:
        data: Rank 1 or more, any type.
        updates: The shape of the slice; as in OpenVINO, other types are converted to the type of data.
        start: As in Slice.
        stop: As in Slice.
        step: As in Slice.
        axes: As in Slice.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data.

    Raises:
        IRError: As Slice; IR402 for a mix of numbers and strings, IR501, IR502 and IR704 for updates of another shape.
    """

def softmax(
    data: Input,
    *,
    axis: int = 1,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = exp(data) / (sum of exp(data) along the axis).

    A slice of -inf alone becomes NaN, as does one that holds +inf or NaN.
    Specification: activation/softmax-8.

    Args:
        data: Rank 1 or more, any float type; as in OpenVINO, a scalar counts as a vector of one element.
        axis: 1 by default.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data.

    Raises:
        IRError: IR503 for an axis that data does not have.
    """

def softplus(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = ln(1 + e^data).

    Specification: activation/softplus-4.

    Args:
        data: Any shape, any float type.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data.
    """

def softsign(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = data / (1 + |data|).

    Specification: activation/softsign-9.

    Args:
        data: Any shape, any float type.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data.
    """

def space_to_batch(
    data: Input,
    block_shape: Input,
    pads_begin: Input,
    pads_end: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """Zeros added to the ends of the spatial axes, and blocks then moved to the batch axis.

    Specification: movement/space-to-batch-2.

    Args:
        data: [batch, D1, D2, ...], rank 2 or more, any type.
        block_shape: A vector of integers, one for each axis of data, the first one 1.
        pads_begin: A vector of integers (as in OpenVINO, possibly of another type), one for each axis of data, the
            first one 0.
        pads_end: Like `pads_begin`.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: [batch * product of block_shape, (D1 + pads_begin[1] + pads_end[1]) / block_shape[1], ...], the type of
            data.

    Raises:
        IRError: IR501 and IR502 for other shapes, IR505 for numbers out of range, or a padded size that is not a
            multiple of the block. IR505 also for a first element of block_shape other than 1, or of pads other than 0,
            for which OpenVINO's outputs differ from the inferred shape.
    """

def space_to_depth(
    data: Input,
    mode: Literal["blocks_first", "depth_first"],
    *,
    block_size: int = 1,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """Blocks moved from the spatial axes to the axis of depth.

    Specification: movement/space-to-depth-1.

    Args:
        data: [batch, depth, D1, ..., DK], any type, K spatial axes, at least one.
        mode: The order of a block along the axis of depth. With `depth_first` the elements of one channel are adjacent,
            with `blocks_first` the elements of one position in the block.
        block_size: The size of a block along each spatial axis, by default 1.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: [batch, depth * block_size ** K, D1 / block_size, ..., DK / block_size], the type of data.

    Raises:
        IRError: IR505 for a spatial size that is not a multiple of block_size.
            IR501 for a rank below 3.
    """

def sparse_fill_empty_rows(
    values: Input,
    dense_shape: Input,
    indices: Input,
    default_value: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[Iterable[str]] = (),
) -> tuple[Value, Value, Value]:
    """A sparse matrix with `default_value` in the first column of every empty row.

    Specification: sparse/fill-empty-rows-16.

    Args:
        values: [M], any element type.
        dense_shape: [2], rows and columns.
        indices: [M, 2], row and column of every value.
        default_value: A scalar; as in OpenVINO, any type is converted to that of values.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output_indices: [n, 2], the type of indices, sorted by row and column, equal ones in their order.
        output_values: [n], the type of values, in the order of output_indices.
        empty_row_indicator: Boolean, [rows], true for each row that was empty.

    Raises:
        IRError: IR402 for a mix of numbers and strings; IR701 for a row or a column that the matrix does not have,
            which OpenVINO's CPU plugin accepts.
    """

def split(
    data: Input,
    axis: Input,
    num_splits: int,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[Iterable[str]] = (),
    outputs: int | None = None,
) -> tuple[Value, ...]:
    """`num_splits` equal slices of data along an axis.

    Specification: movement/split-1.

    Args:
        data: Any shape, any type.
        axis: An integer, a scalar; counts from the end if it is negative.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.
        outputs: The number of outputs.

    Returns:
        outputs: The type of data; they may alias it.

    Raises:
        IRError: IR501 for an axis that is not a scalar, IR503 and IR704 for one that data does not have, IR505 and
            IR704 for a size that is not a multiple of num_splits.
    """

def sqrt(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = √data; NaN for negative data.

    Specification: arithmetic/sqrt-1.

    Args:
        data: Any shape, any numeric type.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data.
    """

def squared_difference(
    a: Input,
    b: Input,
    *,
    auto_broadcast: Literal["none", "numpy", "pdpd"] = "numpy",
    axis: int = 0,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = (a - b)²; integers wrap.

    Specification: arithmetic/squared-difference-1.

    Source: the page broadcast-rules.

    Args:
        a: Any shape, any numeric type.
        b: The element type of a, a shape that broadcasts with the shape of a.
        auto_broadcast: `numpy`, `none` (the shapes are equal; `explicit` is a synonym), or `pdpd`: the first dim of b
            is aligned with dim `axis` of a.
        axis: For `pdpd`; -1 aligns the last dim of b with the last of a. The default is 0, as in OpenVINO; the
            specification declares -1.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The type of a, the shape that a and b broadcast to.

    Raises:
        IRError: IR501 and IR502 for shapes that differ with `none`, IR504 for shapes that do not broadcast, IR503 for
            an axis that a does not have.
    """

def squeeze(
    data: Input,
    axes: Input | None = None,
    *,
    allow_axis_skip: bool = False,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """Squeeze-1 with the attribute `allow_axis_skip`.

    allow_axis_skip (false by default): a dim at one of `axes` that may be 1 makes the rank dynamic.

    Specification: shape/squeeze-15.

    Args:
        data: Any shape, any type.
        axes: Optional; integers, a scalar or a vector, negative ones counted from the end.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The type of data; it may alias data.

    Raises:
        IRError: IR501 for axes of rank 2 or more, IR503 for an axis that data does not have.
    """

def stft(
    signal: Input,
    window: Input,
    frame_size: Input,
    frame_step: Input,
    *,
    transpose_frames: bool = False,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """The transforms of the frames of a signal: output[t] = RDFT of `signal[t * frame_step :][: frame_size]` * window.

    Specification: signals/stft-15.

    Args:
        signal: A float type, shape [length] or [batch, length].
        window: The type of signal, at most frame_size long, padded with zeros on both sides if it is shorter.
        frame_size: A scalar, i32 or i64.
        frame_step: Like `frame_size`.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The type of signal, shape [frames, frame_size // 2 + 1, 2] after the batch, with the first two axes
            exchanged by `transpose_frames`; frames = (length - frame_size) // frame_step + 1. f16 and bf16 are computed
            in f32.

    Raises:
        IRError: IR505 or IR704 for a frame that is longer than the signal or shorter than the window.
    """

def strided_slice(
    data: Input,
    begin: Input,
    end: Input,
    stride: Input | None = None,
    *,
    begin_mask: Sequence[int] = (),
    end_mask: Sequence[int] = (),
    new_axis_mask: Sequence[int] = (),
    shrink_axis_mask: Sequence[int] = (),
    ellipsis_mask: Sequence[int] = (),
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = data[begin:end:stride], position by position as in an index of NumPy.

    A position whose bit is set in `ellipsis_mask` is `...`, in `new_axis_mask` `np.newaxis`, in `shrink_axis_mask` the
    single index `begin`, which must be within the axis; if several are set, the first of these applies. A bit in
    `begin_mask` or `end_mask` means that the slice begins or ends with the axis. Missing bits are 0.

    As in OpenVINO, and unlike the specification, a backward slice with its bit in end_mask includes the first element,
    as `data[::-1]` does. As specified, and unlike OpenVINO, masks may have any length, and a bit in begin_mask makes a
    shrunken axis select its first element.

    Specification: movement/strided-slice-1.

    Args:
        data: Any shape, any type.
        begin: A vector of integers.
        end: A vector of the length of begin.
        stride: Optional, a vector of the length of begin, 1 by default.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The type of data; it may alias data.

    Raises:
        IRError: IR501 and IR502 for other shapes and for more positions than data has axes, IR505 and IR704 for a
            stride of 0, IR701 for a single index that is out of range.
    """

def string_tensor_pack(
    begins: Input,
    ends: Input,
    symbols: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output[i] = the bytes symbols[begins[i]:ends[i]] as text.

    Bytes that are not UTF-8 become the surrogates of Python's `surrogateescape`; StringTensorUnpack converts them back
    to the original bytes.

    As in OpenVINO's kernel, strings may be in any order; its shape inference rejects constant begins or ends that
    decrease.

    Specification: type/string-tensor-pack-15.

    Args:
        begins: i32 or i64, one type and one shape.
        ends: Like `begins`.
        symbols: A vector of u8, UTF-8.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Strings, the shape of begins. A string that ends before it begins is empty.

    Raises:
        IRError: IR501 and IR502 for other shapes, IR701 for a begin or an end beyond symbols.
    """

def string_tensor_unpack(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[Iterable[str]] = (),
) -> tuple[Value, Value, Value]:
    """data[i] = the bytes symbols[begins[i]:ends[i]] as text: strings become bytes, the reverse of StringTensorPack.

    Specification: type/string-tensor-unpack-15.

    Args:
        data: Strings, any shape.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        begins: i32, the shape of data.
        ends: i32, the shape of data.
        symbols: A vector of u8, the concatenated UTF-8 of all strings.
    """

def subtract(
    a: Input,
    b: Input,
    *,
    auto_broadcast: Literal["none", "numpy", "pdpd"] = "numpy",
    axis: int = 0,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = a - b; integers wrap.

    Specification: arithmetic/subtract-1.

    Source: the page broadcast-rules.

    Args:
        a: Any shape, any numeric type.
        b: The element type of a, a shape that broadcasts with the shape of a.
        auto_broadcast: `numpy`, `none` (the shapes are equal; `explicit` is a synonym), or `pdpd`: the first dim of b
            is aligned with dim `axis` of a.
        axis: For `pdpd`; -1 aligns the last dim of b with the last of a. The default is 0, as in OpenVINO; the
            specification declares -1.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The type of a, the shape that a and b broadcast to.

    Raises:
        IRError: IR501 and IR502 for shapes that differ with `none`, IR504 for shapes that do not broadcast, IR503 for
            an axis that a does not have.
    """

def swish(
    data: Input,
    beta: Input | None = None,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = data / (1 + e^-(beta · data)).

    Specification: activation/swish-4.

    Args:
        data: Any shape, any float type.
        beta: A scalar of the type of data, by default 1.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data.

    Raises:
        IRError: IR501 for a beta that is not a scalar.
    """

def tan(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = tan data, with data in radians.

    Specification: arithmetic/tan-1.

    Args:
        data: Any shape, any numeric type.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data.
    """

def tanh(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = tanh data.

    Specification: arithmetic/tanh-1.

    Args:
        data: Any shape, any numeric type.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: Like data.
    """

def tile(
    data: Input,
    repeats: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """data repeated along each axis `repeats` times.

    The shorter of repeats and the shape of data gets ones in front.

    Specification: movement/tile-1.

    Args:
        data: Any shape, any type.
        repeats: A vector of integers; as in OpenVINO, negative ones count as 0.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The type of data.

    Raises:
        IRError: IR501 for repeats that are not a vector.
    """

def topk(
    data: Input,
    k: Input,
    axis: int,
    mode: Literal["max", "min"],
    sort: Literal["index", "none", "value"],
    *,
    index_element_type: ElementTypeLike = "i32",
    stable: bool = False,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[Iterable[str]] = (),
) -> tuple[Value, Value]:
    """The k greatest or least elements along an axis.

    Equal elements are ordered by index. The specification does not define the order for `sort` none, which is by value
    here, or the order of NaN, which follows all numbers in both modes.

    Specification: sort/top-k-11.

    Args:
        data: Rank 1 or more.
        k: A scalar, from 0 to the size of `axis`.
        axis: The axis along which k elements are selected; counts from the end if it is negative.
        mode: `max` for the greatest elements, `min` for the least.
        sort: The order of the selected elements: by `value`, by `index` as in data, or `none`.
        index_element_type: The type of indices, i32 (the default) or i64.
        stable: Requires the order of equal elements that all versions have here; not allowed with `sort` none.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        values: The element type of data, size k on `axis`.
        indices: `index_element_type`, the indices of the values on that axis of data, in the shape of values.
    """

def transpose(
    arg: Input,
    input_order: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """arg with its axes in another order: output.shape[i] = arg.shape[input_order[i]].

    Specification: movement/transpose-1.

    Args:
        arg: Any shape, any type.
        input_order: A vector of integers, a permutation of the axes, counted from 0; an empty one reverses the axes.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The type of arg; it may alias arg.

    Raises:
        IRError: IR501 for an order that is not a vector, IR503 and IR704 for one that is not a permutation of the axes.
    """

def unique(
    data: Input,
    axis: Input | None = None,
    *,
    sorted: bool = True,
    index_element_type: ElementTypeLike = "i64",
    count_element_type: ElementTypeLike = "i64",
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[Iterable[str]] = (),
) -> tuple[Value, Value, Value, Value]:
    """The distinct elements of data, or its distinct slices along an axis.

    NaN differs from every value, including NaN.

    If an axis may be empty, so may the output; OpenVINO's intervals omit this case. OpenVINO's CPU plugin does not
    merge some equal slices, and loses first occurrences and counts of 8-bit elements.

    Specification: movement/unique-10.

    Args:
        data: Any shape, any type.
        axis: Optional; i32 or i64, a scalar or a vector of one element.
        index_element_type: The type of first and inverse, i64 (the default) or i32.
        count_element_type: The type of counts, i64 (the default) or i32.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        unique: The type of data; a vector, or data with only the distinct slices; in ascending order if `sorted`, the
            default, else in the order of first occurrence.
        first: The index of the first occurrence of each, in flattened data or on the axis.
        inverse: For each element or slice of data, its index in unique.
        counts: The occurrences of each.

    Raises:
        IRError: IR501 and IR502 for an axis of another shape, IR503 and IR704 for one that data does not have.
    """

def unsqueeze(
    data: Input,
    axes: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """Insert dims of size 1 into the shape of data, at `axes` of the output.

    Duplicates are ignored. As in OpenVINO, an axis given as 4 and as -1 is inserted once, but counts twice in the rank
    that negative axes refer to.

    Specification: shape/unsqueeze-1.

    Args:
        data: Any shape, any type.
        axes: Integers, a scalar or a vector; negative ones count from the end of the output's shape.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The type of data; it may alias data.

    Raises:
        IRError: IR501 for axes of rank 2 or more, IR503 for an axis out of range, IR505 for no axes.
    """

def variadic_split(
    data: Input,
    axis: Input,
    split_lengths: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[Iterable[str]] = (),
    outputs: int | None = None,
) -> tuple[Value, ...]:
    """Slices of data along an axis, with lengths in `split_lengths`; one length may be -1 for the remaining elements.

    Specification: movement/variadic-split-1.

    Args:
        data: Any shape, any type.
        axis: An integer, a scalar or a vector of one element; counts from the end if it is negative.
        split_lengths: A vector of integers.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.
        outputs: The number of outputs.

    Returns:
        outputs: The type of data; they may alias it.

    Raises:
        IRError: IR501 for an axis or split_lengths of another shape, IR503 and IR704 for an axis that data does not
            have, IR505 and IR704 for negative lengths and for a sum other than the size of the axis.
    """

def xor(
    a: Input,
    b: Input,
    *,
    auto_broadcast: Literal["none", "numpy", "pdpd"] = "numpy",
    axis: int = 0,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = a differs from b: the other name of LogicalXor in opset1.

    Specification: logical/logical-xor-1.

    Source: the page broadcast-rules.

    Args:
        a: Any shape, any boolean type.
        b: The element type of a, a shape that broadcasts with the shape of a.
        auto_broadcast: `numpy`, `none` (the shapes are equal; `explicit` is a synonym), or `pdpd`: the first dim of b
            is aligned with dim `axis` of a.
        axis: For `pdpd`; -1 aligns the last dim of b with the last of a. The default is 0, as in OpenVINO; the
            specification declares -1.
        opset: The opset, such as `opset8`, whose version of the operator is used; by default the newest version.
        name: The name of the layer.
        tensor_names: The names of its output; a list of names for each of several outputs.

    Returns:
        output: The type of a, the shape that a and b broadcast to.

    Raises:
        IRError: IR501 and IR502 for shapes that differ with `none`, IR504 for shapes that do not broadcast, IR503 for
            an axis that a does not have.
    """
