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

    data: any shape, any numeric type. output: as data.
    Specification: arithmetic/abs-1.
    """

def acos(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = arccos data, in radians; NaN beyond [-1, 1].

    data: any shape, any numeric type. output: as data.
    Specification: arithmetic/acos-1.
    """

def acosh(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = arcosh data; NaN below 1.

    data: any shape, any numeric type. output: as data.
    Specification: arithmetic/acosh-3.
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

    Specification: pooling/adaptive-avg-pool-8, which has float types only; integers are an extension of OpenVINO.
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

    indices: the shape of output, the type `index_element_type`: i64 (the default) or i32.
    Specification: pooling/adaptive-max-pool-8.
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

    a, b: one element type, shapes that broadcast together. Specification: arithmetic/add-1.
    """

def asin(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = arcsin data, in radians; NaN beyond [-1, 1].

    data: any shape, any numeric type. output: as data.
    Specification: arithmetic/asin-1.
    """

def asinh(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = arsinh data.

    data: any shape, any numeric type. output: as data.
    Specification: arithmetic/asinh-3.
    """

def atan(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = arctan data, in radians.

    data: any shape, any numeric type. output: as data.
    Specification: arithmetic/atan-1.
    """

def atanh(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = artanh data; ±inf at ±1, NaN beyond.

    data: any shape, any numeric type. output: as data.
    Specification: arithmetic/atanh-3.
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
    """AvgPool-14 with dilated windows. dilations: the distance between neighbouring elements, by default 1.

    Specification: pooling/avg-pool-16.
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

    data: [batch, channels, ...], any float type. gamma, beta, mean, variance: [channels], of the same type.
    output: the shape and the type of data.
    Errors: IR501 for data of rank 0 or 1 and other inputs that are not vectors, IR502 if the channels differ.
    Specification: normalization/batch-norm-inference-5.
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

    data: [batch, D1, D2, ...], rank 2 or more, any type. block_shape, crops_begin, crops_end: vectors of integers, one
    for each axis of data, the first ones 1, 0 and 0. output: [batch / product of block_shape, D1 * block_shape[1] -
    crops_begin[1] - crops_end[1], ...], the type of data.

    Errors: IR501 and IR502 for other shapes, IR505 for numbers out of range, a batch that is not a multiple of the
    product, or crops larger than the axis; also for other first numbers, for which OpenVINO's outputs differ from the
    inferred shape.
    Specification: movement/batch-to-space-2.
    """

def bgr_to_nv12(
    image: Input,
    *,
    single_plane: bool = True,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[Iterable[str]] = (),
) -> tuple[Value, Value]:
    """RGBtoNV12-17 for channels in the order B, G, R. Specification: image/bgr-to-nv12-17."""

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

    data: [batch, channels, height, width] of zeros and ones, any numeric type; values above 0 count as 1.
    filters: [outputs, channels, kernel height, kernel width], u1 (or numbers, as data). output: [batch, outputs,
    windows...], the type of data.
    Errors: IR501 for ranks other than 4, IR502 where the channels differ, IR505 as Convolution.
    Specification: convolution/binary-convolution-1. OpenVINO's CPU plugin reads the bits of each byte of the filters in
    reverse order, needs a multiple of eight channels, and omits padding with pad_value 0 from the sum; this class does
    not.
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

    a, b: one element type, shapes that broadcast together. Specification: bitwise/bitwise-and-13.
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
    """

def bitwise_not(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = data with every bit inverted; of booleans the logical operator.

    data: any shape, any integer type or boolean. output: as data.
    Specification: bitwise/bitwise-not-13.
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

    a, b: one element type, shapes that broadcast together. Specification: bitwise/bitwise-or-13.
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

    a, b: one element type, shapes that broadcast together. Specification: bitwise/bitwise-xor-13.
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

    mode: as in Broadcast-1, and `bidirectional`: data and the target are broadcast together as in NumPy. The axis of
    pdpd, again an extension of OpenVINO, has another name in the file. Only explicit has axes_mapping, and requires it.

    Errors: also IR106 for a missing axes_mapping, or one that the mode does not allow.
    Specification: movement/broadcast-3.
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

    data: any shape. buckets: the boundaries, a sorted vector. Both have any numeric type. A boundary that equals the
    element belongs to the bucket below it (`with_right_bound`) or above it. NaN falls into the first bucket or, without
    `with_right_bound`, into the last one.
    output: the shape of data, element type `output_type`. Specification: condition/bucketize-3.
    """

def ceiling(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = the least integer that is not below data.

    data: any shape, any numeric type. output: as data.
    Specification: arithmetic/ceiling-1.
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

    data: any shape, any numeric type. output: as data.
    Errors: IR302 where min is above max, or one of them is NaN.
    Specification: activation/clamp-1.
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

    data: [N, C * product of kernel_size, L], or without N, any numeric type. L, the number of patches, is the
    product over both spatial axes of (output_size + pads_begin + pads_end - dilation * (kernel_size - 1) - 1) // stride
    + 1. output_size, kernel_size: two integers each, i32 or i64. output: [N, C, *output_size], or without N, the type
    of data. strides and dilations are 1, pads 0 by default.

    Floats shorter than f32 are summed in f32, integers wrap.
    Errors: IR501 and IR502 for other shapes, IR505 for sizes, channels and patches that do not match.
    Specification: movement/col2im-15.
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

    inputs: at least one, of rank 1 or more and of one type; only their sizes along the axis may differ. output: their
    type.
    Errors: IR501 for ranks that differ, IR502 for other unequal sizes, IR503 for an axis out of range. Specification:
    movement/concat-1.
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

    data: any shape, any numeric type or boolean. output: the shape of data; it may alias data.

    The specification does not define the conversion of values that the new type cannot represent. Where OpenVINO's
    reference kernels and its CPU plugin differ, the result is as in C++: integers wrap, and an f64 is not converted to
    an integer via f32. Floats become f8e4m3 and f8e5m2 via f16, rounded twice, as in OpenVINO: 0.7813114 becomes 0.75,
    not 0.8125. A Cast of ONNX, which rounds once, is lowered with the correction.

    Errors: IR401 for a destination_type that is neither numeric nor boolean. Specification: type/convert-1.
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

    data: any shape, any numeric type or boolean. like: any shape; only its type is used. output: the shape of data; it
    may alias data.
    Errors: IR401 for a type of like that is neither numeric nor boolean. Specification: type/convert-like-1.
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

    input_0, input_1: any shapes. output_0, output_1: the shapes of the inputs; they may alias the inputs.
    Errors: IR402 for a promotion that may lose values without `promote_unsafe` (false by default); as in OpenVINO, even
    if a type wider than both could represent them.
    Specification: type/convert-promote-types-14.
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

    data: [batch, channels, spatial...], any numeric type. filters: [outputs, channels, kernel...], the type of data.
    output: [batch, outputs, windows...], the type of data.
    Errors: IR501 for ranks that differ or are not 3, 4 or 5, IR502 where the channels differ, IR505 for attributes of
    another length and for windows larger than the padded data.
    Specification: convolution/convolution-1.
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

    data: [batch, channels, spatial...], any numeric type. filters: [channels, outputs, kernel...], the type of data.
    output_shape: optional, an integer for each spatial axis. output: [batch, outputs, spatial...], the type of data.
    Errors: IR501 for ranks that differ or are not 3, 4 or 5, IR502 where the channels differ or output_shape has
    another length, IR505 for attributes of another length and for negative sizes, IR704 for a wrong output_shape.
    Specification: convolution/convolution-backprop-data-1.
    """

def cos(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = cos data, of radians.

    data: any shape, any numeric type. output: as data.
    Specification: arithmetic/cos-1.
    """

def cosh(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = cosh data.

    data: any shape, any numeric type. output: as data.
    Specification: arithmetic/cosh-1.
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

    data: [T, N, C], steps, sequences and classes. sequence_mask: [T, N]; a sequence ends at its first 0. Both have
    float types, possibly different; the output, [N, T, 1, 1], has the type of data. With ctc_merge_repeated a run of
    one class is one label. Specification: sequence/ctc-greedy-decoder-1.
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

    data: [N, T, C], sequences, steps and classes, any float type. sequence_length: [N], 0 to T. blank_index: one class,
    by default the last one. decoded_classes: the labels, [N, T], of `classes_index_type`. decoded_length: their
    numbers, [N], of `sequence_length_type`. With merge_repeated a run of one class is one label.
    Errors: IR704 for a length outside of 0 to T. Specification: sequence/ctc-greedy-decoder-seq-len-6.
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

    logits: [N, T, C], sequences, steps and classes, any float type. logit_length: [N], at most T. labels: [N, T], the
    first label_length of them: [N], at most logit_length. blank_index: a scalar, by default the last class. output:
    [N], the type of logits; infinity if no path has the labels.

    First preprocess_collapse_repeated merges runs of equal labels, and `unique` keeps only the first of all equal ones.
    Without ctc_merge_repeated repeated classes of a path are not merged.

    Errors: IR701 for a label out of range, and for the blank among labels; IR704 for lengths out of range.
    Specification: sequence/ctc-loss-4.
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

    exclusive: the sum ends at data[j - 1], and is 0 for the first element. reverse: sums begin at the end of the axis.
    Both are false by default.

    data: rank 1 or more, any numeric type. The specification has numeric types only; as in OpenVINO, data may also be
    boolean, which PyTorch exporters write for packed sequences: a sum is then true if one of its elements is. axis: a
    scalar of i32 or i64, by default 0; as in OpenVINO it may also be a vector of one element. output: as data; integers
    wrap.
    Errors: IR501 for data that is a scalar, IR501 and IR502 for an axis of another shape, IR503 and IR704 for an axis
    that data does not have.
    Specification: arithmetic/cumsum-3.
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

    mask: optional, [batch, deformable_group * kernel, windows...], any numeric type: the factor of element k of window
    i. bilinear_interpolation_pad: a sample less than one element outside of the data is interpolated with surrounding
    zeros; false by default.

    Specification: convolution/deformable-convolution-8.
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

    data: [N, C, H, W], C at least output_dim * group_size². rois: [NUM_ROIS, 5]. offsets: [NUM_ROIS, 2 * classes,
    part_size, part_size], x and y for each class of output channels; the classes are equally large. All are floats.
    output: [NUM_ROIS, output_dim, group_size, group_size], the type of data.
    The region goes from x1, y1, rounded, to one after x2, y2, rounded, all times `spatial_scale` less 0.5, and is
    divided into bins. Each bin is moved by offset * trans_std times the size of the region, with the offsets of its
    cell. It is the mean of spatial_bins_y x spatial_bins_x points, starting at its corner, in channel [output channel,
    row of bins, column of bins]; points more than half an element outside are ignored, and a bin without points is 0.

    Errors: IR502, IR505 for channels or offsets that do not match, IR701 for an image out of range.
    Specification: detection/deformable-psroi-pooling-1.
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

    output: [batch, depth / block_size ** K, D1 * block_size, ..., DK * block_size], the type of data.
    Errors: IR505 for a depth that is not a multiple of block_size ** K. Specification: movement/depth-to-space-1.
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

    box_logits: floating, [N, num_priors * num_loc_classes * 4], how the prior boxes move, for each class if not
    `share_location`. class_preds: the type of box_logits, [N, num_priors * num_classes]. proposals: floating, [1 or N,
    1 or 2, num_priors * 4], the prior boxes (x0, y0, x1, y1) and, if not `variance_encoded_in_target`, factors of their
    moves; if not `normalized`, priors have 5 numbers, the first of them -1 at the end, and count pixels of an image of
    input_width and input_height. aux_class_preds, aux_box_preds: as class_preds and box_logits, [N, num_priors * 2] and
    the shape of box_logits; they move the priors a first time, and mark priors without any object: the second of the
    two numbers is below `objectness_score`.
    output: the type of box_logits, [1, 1, n, 7], rows of image, class, score and box; -1 ends them, and the rest is
    zeros. n is N * keep_top_k, or N * top_k * num_classes for a keep_top_k of -1, or else N * num_classes * num_priors.

    Candidates have a score above `confidence_threshold`, the best `top_k` of each class; boxes are removed that overlap
    a better one by more than `nms_threshold`, and the best `keep_top_k` of the others are kept for each image, class by
    class. With `decrease_label_id` each prior counts only for its best class other than 0, and the classes of the
    output are one less.

    As in OpenVINO, priors that count pixels are divided by the size of the image a second time when they move twice.
    Specification: detection/detectionoutput-8.
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

    data: a float type, shape [..., 2]. output: like data, with the sizes of signal_size. f16 and bf16 are computed in
    f32. Without axes the output is data.

    Specification: signals/dft-7.
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

    a, b: one numeric type, shapes that broadcast together. output: that type.
    Errors: IR704 for an integer divided by zero, and those of Binary.
    Specification: arithmetic/divide-1, by which quotients of integers are rounded down with `m_pythondiv`, the default.
    OpenVINO does so while it infers shapes, and in a run with `pdpd`, except for 8 bits; elsewhere its CPU plugin
    rounds towards zero for any value of the attribute. This class follows OpenVINO.
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

    inputs: as many as the equation has subscripts, one numeric type. output: that type.
    Errors: IR106 for another number of inputs, IR302 for a bad equation, IR501 for a rank that does not match its
    subscript, IR502 for axes of a diagonal that differ, IR504 for axes that do not broadcast.
    Specification: matrix/einsum-7. OpenVINO's implicit output keeps a label that repeats within one input, with which
    its runtime fails; as specified, it is omitted here (`ii` is the trace).
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

    data: any shape, any numeric type; the specification has floats only, OpenVINO takes all. output: as data.
    Specification: activation/elu-1.
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

    Errors: IR302 for weights with means. Specification: sparse/embedding-bag-offsets-15.
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

    emb_table: [num_emb, ...], any numeric type of 8 bits and more. indices: [num_indices]. offsets: [batch], ascending,
    at most num_indices. default_index: a scalar, the row for bags without elements; they are zeros if it is -1 or
    missing. per_sample_weights: the shape of indices, the type of emb_table; by default ones.
    output: [batch, ...], the type of emb_table. Sums of integers wrap.
    Errors: IR701 for an index or an offset out of range. Specification: sparse/embedding-bag-offsets-sum-3.
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

    Errors: IR302 for weights with means. Specification: sparse/embedding-bag-packed-15.
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

    emb_table: [num_emb, ...], any numeric type of 8 bits and more. indices: [batch, indices_per_bag].
    per_sample_weights: the shape of indices, the type of emb_table; by default ones.
    output: [batch, ...], the type of emb_table. Sums of integers wrap.
    Errors: IR701 for an index out of range. Specification: sparse/embedding-bag-packed-sum-3.
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

    emb_table: [num_emb, ...], any numeric type of 8 bits and more. indices, segment_ids: [num_indices], the segments
    in any order. num_segments: a scalar. default_index: a scalar, the row for segments without elements; they are zeros
    if it is -1 or missing. per_sample_weights: the shape of indices, the type of emb_table; by default ones. output:
    [num_segments, ...], the type of emb_table. Sums of integers wrap.
    Errors: IR701 for an index out of range, and for a segment id out of range (OpenVINO ignores such elements); IR704
    for a negative num_segments. Specification: sparse/embedding-segments-sum-3.
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

    a, b: one element type, any, and shapes that broadcast together. output: boolean.
    Specification: comparison/equal-1.
    """

def erf(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = 2/√π · ∫ exp(-t²) dt from 0 to data.

    data: any shape, any numeric type. output: as data.
    Specification: arithmetic/erf-1.
    """

def erfinv(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = the y with erf(y) = data; ±inf at ±1, NaN beyond.

    data: any shape, any float type. output: as data.
    Specification: arithmetic/erfinv-17.
    """

def exp(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = e^data.

    data: any shape, any numeric type. output: as data.
    Specification: activation/exp-1.
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

    input_rois: floating, [n, 4], boxes (x0, y0, x1, y1) in pixels. input_deltas: the type of input_rois, [n,
    num_classes * 4], how each moves for each class: its centre by so many widths and heights, and the logarithms of its
    growth, at most max_delta_log_wh, all divided by `deltas_weights`. input_scores: [n, num_classes]. input_im_info:
    [1, 3], not used.
    Outputs: boxes [max_detections_per_image, 4], their classes i32 and their scores [max_detections_per_image], filled
    up with zeros, which the specification leaves open.

    Class 0 is the background. Candidates have a score above `score_threshold`; boxes are removed that overlap a better
    one of their class by more than `nms_threshold`, and the best `post_nms_count` of each class are kept, class by
    class, or if these are too many the best of all. As in OpenVINO, boxes are clipped at the first row and column of
    the image only, and class_agnostic_box_regression changes nothing.

    Specification: detection/experimental-detectron-detection-output-6.
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

    im_info: floating, [3], height and width of the image and a scale that is not used. anchors: the type of im_info,
    [height * width * A, 4], boxes (x0, y0, x1, y1). deltas: [A * 4, height, width], how each anchor moves: its centre
    by so many widths and heights, and the logarithms of its growth, at most log(1000 / 16). scores: [A, height, width].
    rois: [post_nms_count, 4], the best first. roi_scores: theirs, [post_nms_count]. Both are filled up with zeros.

    Boxes are clipped to the image; those smaller than `min_size` get the score 0. Of the best
    `pre_nms_count` those are removed that overlap a better one by more than `nms_threshold`. As in OpenVINO, a box from
    2 to 4 is 3 wide when it moves and when its size is compared, and 2 wide when its overlaps are.

    Specification: detection/experimental-detectron-generate-proposals-single-image-6.
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

    priors: floating, [n, 4], boxes (x0, y0, x1, y1) around 0. feature_map: [N, C, height, width], im_data: [N, C, image
    height, image width]; only their sizes count. output: the type of priors, [height * width * n, 4], or [height,
    width, n, 4] without `flatten`.
    The points are at (index + 0.5) times `stride_x` and `stride_y`, or if these are 0 times the image's width and
    height over the grid's. `h` and `w` are the height and width of the grid, those of feature_map if they are 0; the
    size of the output is that of feature_map, and the rest is filled with zeros, which the specification leaves open.
    `flatten` is false by default, as in OpenVINO; the specification has true.

    Specification: detection/experimental-detectron-prior-grid-generator-6.
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

    rois: floating, [n, 4], boxes (x0, y0, x1, y1) in pixels of the image. pyramid: the type of rois, one tensor [1, C,
    height, width] for each level, one pixel of which covers `pyramid_scales` pixels of the image. roi_features: [n,
    C, output_size, output_size]. roi_boxes: rois as they are.
    A region of width w and height h belongs to level floor(2 + log2(sqrt(w * h) / 224 + 1e-6)), clipped to the existing
    levels; a region without area gives zeros. The specification has the rois in the order of their levels in the second
    output, OpenVINO in the order of the input.

    Errors: IR704 for a region with more than 2^22 sampling points.
    Specification: detection/experimental-detectron-roi-feature-extractor-6.
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

    input_rois: floating, [n, 4]. rois_probs: the type of input_rois, [n]. output: the type of input_rois, [max_rois,
    4]; equal probabilities are ordered by index, and missing boxes are zeros; the specification does not define either.

    Specification: sort/experimental-detectron-top-krois-6.
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

    data: [batch, depth, rows, columns], any type. output: [batch, sizes[0] * sizes[1] * depth, rows of patches, columns
    of patches], the type of data. sizes, strides, rates: two numbers each, for rows and columns. auto_pad: with
    `same_upper` and `same_lower` there are ceil(size / stride) patches along an axis, and zeros are added at both ends,
    an odd one at the end or at the beginning. With `valid` only complete patches count. If none fits, OpenVINO may
    count one that begins within the image and reads zeros outside.

    Errors: IR501 for another rank. Specification: movement/extract-image-patches-3.
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

    num_rows, num_columns, diagonal_index: i32 or i64, scalars or vectors of one element. A negative diagonal is below
    the main one; a matrix without the diagonal is all zeros. batch_shape: optional, a vector of i32 or i64, the dims
    before the matrix. output: shape batch_shape + [num_rows, num_columns], the type `output_type`: numeric, or boolean,
    an extension of OpenVINO to the specification.

    Errors: IR501 and IR502 for inputs of other shapes, IR505 and IR704 for a negative size.
    Specification: generation/eye-9.
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

    destination_type: `f8e4m3` or `f8e5m2`. As in OpenVINO, numbers are converted via f16, and so rounded twice. Too
    large numbers become the largest finite value; NaN remains NaN.

    data: any shape, f16, bf16 or f32. scale: the type of data, and a shape that broadcasts to the shape of data. shift:
    as scale, of the same shape; by default 0. output: as data.
    Errors: IR504 for a scale that does not broadcast to data, IR501 and IR502 for another shape of shift.
    Specification: quantization/fake-convert-13.
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
    """output = round((data - input_low) / (input_high - input_low) * (levels - 1)) / (levels - 1)
    * (output_high - output_low) + output_low; ties are rounded to even.

    data up to the lesser of input_low and input_high becomes output_low, data above the greater one output_high.

    data: any shape, any numeric type. input_low, input_high, output_low, output_high: numeric, as in OpenVINO of any
    type; a shape that broadcasts to the shape of data. levels: 2 or more. auto_broadcast: `numpy` (the default), or
    `none`: the limits have the shape of data. output: as data. Floats shorter than f32 are quantized in f32, integers
    in f64 and rounded.
    Errors: IR504 for limits that do not broadcast to data, IR501 and IR502 for other shapes with `none`.
    Specification: quantization/fake-quantize-1, in which data has a float type; integers are an extension of OpenVINO.
    The mode pdpd is treated as numpy, which broadcasts a superset of shapes.
    """

def floor(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = the greatest integer that is not above data.

    data: any shape, any numeric type. output: as data.
    Specification: arithmetic/floor-1.
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

    a, b: one numeric type, shapes that broadcast together. output: that type.
    Specification: arithmetic/floormod-1.
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

    data: any element type, rank 1 or more. indices: integers, any rank. axis: one integer, a scalar or of shape [1],
    not less than batch_dims. batch_dims: 0 or more, or negative to count from the end of the shape of indices.
    output: the element type of data, shape data.shape[:axis] + indices.shape[batch_dims:] + data.shape[axis + 1:].

    out_of_range: an attribute of ir_exec, which OpenVINO ignores. With "error" an index out of range is an error, as
    ONNX requires for its Gather; Gather-7 cannot express this, because OpenVINO gives zeros for its negative indices.
    For strings, the empty string is used as zero. Specification: movement/gather-8.
    Errors: IR701 for an index out of range if `out_of_range` is "error".
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

    data: any element type, rank 1 or more. indices: i32 or i64, the shape of data except on `axis`.
    output: the element type of data, the shape of indices.

    A negative index counts from the end, as OpenVINO does; the specification expects indices of 0 or more.
    Errors: IR701 for an index out of range. Specification: movement/gather-elements-6.
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

    data: any element type, rank 1 or more. indices: integers, rank 1 or more; tuples are along the last axis and have
    at most rank(data) - batch_dims elements. The first `batch_dims` axes of both are equal (the specification would
    broadcast them, OpenVINO never did).
    output: the element type of data, shape indices.shape[:-1] + data.shape[batch_dims + indices.shape[-1]:].

    Errors: IR701 for an index out of range, where OpenVINO's CPU plugin reads arbitrary memory.
    Specification: movement/gather-nd-8.
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

    step_ids, parent_ids: integer values of any numeric type except u1, u3, u6 and nf4, shape
    [MAX_TIME, BATCH_SIZE, BEAM_WIDTH]. max_seq_len: shape [BATCH_SIZE]. end_token: a scalar. All have one element
    type. output: like step_ids.
    A beam is followed back from the last step of its sequence; after its first end_token it holds only end_token. A
    sequence of no steps is all end_token, where OpenVINO's CPU plugin leaves the output unchanged.

    Errors: IR701 for a parent that is not a beam, if it is followed. Specification: movement/gather-tree-1.
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

    approximation_mode: `erf`, the default, is Φ(x) = (1 + erf(x / √2)) / 2; `tanh` approximates it by (1 + tanh(√(2/π)
    · (x + 0.044715 x³))) / 2.

    data: any shape, any float type. output: as data.
    Specification: activation/gelu-7.
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

    im_info: floating, [N, 3] or [N, 4], height and width of the image and one scale, or one of each. anchors:
    floating, [height, width, A, 4], boxes (x0, y0, x1, y1). boxesdeltas: floating, [N, A * 4, height, width], how each
    anchor moves: its centre by so many widths and heights, and the logarithms of its growth, at most log(1000 / 16).
    scores: floating, [N, A, height, width].
    rpnrois: the type of im_info, [n, 4], image by image, the best first. rpnscores: the type of im_info, [n].
    rpnroisnum: `roi_num_type`, [N], the number of boxes of each image.

    Boxes are clipped to the image. Of the best `pre_nms_count` those are removed that are smaller than `min_size` times
    the scale, and then those that overlap a better one by more than `nms_threshold`; the best `post_nms_count` are
    kept. A threshold above one half is multiplied by `nms_eta` at each box that is kept; OpenVINO supports no nms_eta
    but 1. If not `normalized`, coordinates count pixels, and a box from 2 to 4 is 3 wide.

    Specification: detection/generate-proposals-9.
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

    a, b: one element type, shapes that broadcast together. Specification: comparison/greater-1.
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

    a, b: one element type, shapes that broadcast together. Specification: comparison/greater-equal-1.
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

    data: [N, C, H, W], any numeric type. grid: [N, H_out, W_out, 2], any float type. output: [N, C, H_out, W_out], the
    type of data.

    align_corners: the positions -1 and 1 are the centres of the first and the last element; otherwise, the default,
    their outer edges. mode: `bilinear` (the default), `bicubic` with the parameter -0.75, or `nearest`, with ties to
    the even index. padding_mode: elements outside of data are `zeros` (the default), the nearest on the `border`, or
    their `reflection` at it.

    The specification's page exchanges the two meanings of align_corners; this class follows OpenVINO. As in OpenVINO's
    CPU plugin, integers of 8 bits are rounded and saturate, and others are truncated.

    Errors: IR501 for other ranks, IR502 for a grid of another batch or without pairs, IR704 if data has no elements to
    sample. Specification: image/grid-sample-9.
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

    data: [batch, channels, ...] of rank 2, 3 or 4, any float type. output: as data.
    Errors: IR501 for other ranks.
    Specification: normalization/grn-1.
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

    data: [batch, groups * C, spatial...], any numeric type. filters: [groups, O, C, kernel...], the type of data.
    output: [batch, groups * O, windows...], the type of data.
    Errors: as Convolution; IR502 if data does not have groups * C channels.
    Specification: convolution/group-convolution-1.
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

    data: [batch, groups * C, spatial...], any numeric type. filters: [groups, C, O, kernel...], the type of data.
    output_shape: optional, an integer for each spatial axis. output: [batch, groups * O, spatial...], the type of data.
    Errors: as ConvolutionBackpropData; IR502 if data does not have groups * C channels.
    Specification: convolution/group-convolution-backprop-data-1.
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

    data: [batch, channels, ...], any float type. scale, bias: [channels], any float types: as in OpenVINO, they may
    differ from the type of data. output: as data.
    Errors: IR501 for data of rank 0 or 1 and other inputs that are not vectors, IR502 if the channels differ or are not
    a multiple of num_groups. Specification: normalization/group-normalization-12.
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

    mat_a, mat_b: one numeric type; mat_b of shape [G, N, K]. offsets: i32 or i64, [G], the ends of the groups,
    non-decreasing; required if mat_a has rank 2, ignored elsewhere. output: the type of mat_a. Sums are as in MatMul.

    The specification of some releases also has a product of two matrices of rank 2, and a fourth input with a bias;
    OpenVINO 2026.4 rejects both, and so does this class.

    Errors: IR501 for other ranks, IR502 for sizes that differ, IR505 for missing offsets, IR701 for offsets that
    decrease or exceed the rows. Specification: matrix/grouped-matmul-17.
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
    """H' = (1 - z) . h + z . H, with the gates z, r and h; `GRU` has their formulas.

    b: with linear_before_reset it has four blocks of hidden_size elements: for z, r and h, and for H * rh^T.
    w: as in OpenVINO, it may have a different float type.

    Specification: sequence/gru-cell-3.
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
    """H' = (1 - z) . h + z . H along a sequence, with the gates z, r and h; `GRU` has their formulas.

    b: with linear_before_reset it has four blocks of hidden_size elements in each direction: for z, r and h, and for H
    * rh^T.

    Specification: sequence/gru-sequence-5.
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

    data: any shape. alpha, beta: scalars. All of one numeric type; the specification has floats only, OpenVINO takes
    all. output: as data.
    Errors: IR501 for an alpha or a beta that is not a scalar.
    Specification: activation/hard-sigmoid-1.
    """

def hsigmoid(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = min(max(data + 3, 0), 6) / 6.

    data: any shape, any numeric type. output: as data.
    Specification: activation/hsigmoid-5.
    """

def hswish(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = data · min(max(data + 3, 0), 6) / 6.

    data: any shape, any numeric type. output: as data.
    Specification: activation/hswish-4.
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
    """I420toRGB-8 with the channels in the order B, G, R. Specification: image/i420-to-bgr-8."""

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

    y: [N, H, W, 1]. u, v: [N, H/2, W/2, 1], the type of y. Or y alone, [N, 1.5 H, W, 1], in which the planes of U and V
    follow the rows of Y. output: [N, H, W, 3], the type of y.
    Errors: also IR106 for y and u without v.
    Specification: image/i420-to-rgb-8.
    """

def identity(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = data.

    data: any shape, any type. output: as data; it may alias data.
    Specification: activation/identity-16.
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

    image: rank 1 or more; f16, bf16, f32, f64, i8, u8, i32 or i64. scales_or_sizes: a vector, f16, bf16 or f32 if
    shape_calculation_mode is `scales`, i32, i64, u32 or u64 if it is `sizes`. axes: optional, one of the latter types.
    Specification: image/interpolate-11.
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

    data: any float type, shape [..., N, N]. output: as data. As specified, everything is computed in f32.

    The specification does not define the result for a singular matrix. As in OpenVINO, elimination continues with the
    pivot 0, and the output holds infinities and NaN.

    Errors: IR501 for a rank below 2, IR502 for matrices that are not square. Specification: matrix/inverse-14.
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

    data: a float type, shape [..., 2]. output: the element type of data, without the last axis of data. f16 and bf16
    are computed in f32. Along the last of `axes` the size M of data means 2 * (M - 1) values unless signal_size is
    given. At least one axis is required.

    OpenVINO's CPU plugin rejects -1 for that axis; the specification and this class do not.
    Specification: signals/irdft-9. If signal_size is not known, OpenVINO's shape inference keeps the sizes of all axes
    except the last; here they are dynamic.
    """

def is_finite(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = data is neither infinite nor NaN.

    data: any shape, any float type. output: boolean, the shape of data.
    Specification: comparison/isfinite-10.
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

    data: any shape, any float type. output: boolean, the shape of data.
    Specification: comparison/isinf-10.
    """

def is_nan(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = data is NaN.

    data: any shape, any float type. output: boolean, the shape of data.
    Specification: comparison/isnan-10.
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
    the squares of window there; the quotient is 0 if that sum is 0. `normalized`: data was divided by sqrt(frame_size).
    `center`: the signal was padded with frame_size // 2 elements on both sides, which are removed.

    data: a float type, shape [frame_size // 2 + 1, frames, 2] or [batch, frame_size // 2 + 1, frames, 2]. window: that
    type, at most frame_size long, padded with zeros on both sides if it is shorter. frame_size, frame_step: scalars.
    signal_length: a scalar or a vector of one element, the length of the output, which is truncated or padded with
    zeros; by default (frames - 1) * frame_step + frame_size, for `center` less by frame_size, rounded down to an even
    number.
    output: the type of data, shape [length] or [batch, length]. f16 and bf16 are computed in f32.

    OpenVINO crashes for a negative signal_length, and ignores 0; here a negative one is an error, and 0 gives an empty
    signal, as in OpenVINO's shape inference.
    Errors: IR502 or IR505, IR704 at run time. Specification: signals/istft-16.
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

    a, b: one element type, shapes that broadcast together. Specification: comparison/less-1.
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

    a, b: one element type, shapes that broadcast together. Specification: comparison/lessequal-1.
    """

def log(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = ln data; -inf for 0, NaN for negative data.

    data: any shape, any numeric type. output: as data.
    Specification: arithmetic/log-1.
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

    a, b: one element type, shapes that broadcast together. Specification: logical/logical-and-1.
    """

def logical_not(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = not data; for numbers, 1 for 0 and 0 for all others.

    data: any shape; boolean, or a numeric type, an extension of OpenVINO to the specification. output: as
    data.
    Specification: logical/logical-not-1.
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

    a, b: one element type, shapes that broadcast together. Specification: logical/logical-or-1.
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

    a, b: one element type, shapes that broadcast together. Specification: logical/logical-xor-1.
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

    data: any shape, any float type. axes: a vector of integers. output: the shape and the type of data.
    Errors: IR501 for axes that are not a vector, IR503 and IR701 for axes that data does not have.
    Specification: normalization/lrn-1, in which `size / 2` elements on each side count; as in OpenVINO, there is one
    less for even sizes. OpenVINO's CPU plugin supports only axis 1 or all axes after it, and truncates bias to an
    integer; this class does neither.
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
    """C' = f . C + i . c and H' = o . h(C'), with the gates f, i, c and o; `LSTM` has their formulas.

    hidden_state is H', cell_state is C'. Specification: sequence/lstm-cell-1.
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
    """C' = f . C + i . c and H' = o . h(C') along a sequence, with the gates f, i, c and o; `LSTM` has their formulas.

    Specification: sequence/lstm-sequence-5.
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
    their axis of size 1 is not in the output. transpose_a, transpose_b: the last two axes are exchanged first, but not
    those of vectors; false by default. Floats shorter than f32 are multiplied in f32. Integers are exact: 8 bits
    saturate, longer ones wrap.

    a, b: rank 1 or more, one numeric type or boolean. output: that type.
    Errors: IR501 for a scalar, IR502 if a does not have as many columns as b has rows, IR504 where batches do
    not broadcast.
    Specification: matrix/matmul-1. Booleans, for which + is "or", are an extension of OpenVINO to it.
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
    """Boxes with scores that decay with the overlap of better boxes of the class.

    boxes: bf16, f16, f32 or f64, [num_batches, num_boxes, 4], rows of two corners (x, y, x, y), the lesser first.
    scores: the type of boxes, [num_batches, num_classes, num_boxes]; candidates are those above `score_threshold`.
    A score is multiplied by the least decay that any better box j causes: (1 - iou) / (1 - worst[j]) for
    `decay_function` linear, exp((worst[j]**2 - iou**2) * gaussian_sigma) for gaussian, worst[j] being the greatest
    overlap of j with a box that is better than j. Boxes with scores above `post_threshold` are kept. If not
    `normalized`, coordinates count pixels, and a box from 2 to 4 is 3 wide.

    Within a batch element rows are in descending order of their scores; as in OpenVINO, `sort_result_type` classid has
    an effect only together with `sort_result_across_batch`.

    Specification: sort/matrix-non-max-suppression-8, where the attribute sort_result_type is called sort_result.
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

    Specification: pooling/max-pool-14.
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

    a, b: one element type, shapes that broadcast together. Specification: arithmetic/maximum-1.
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

    a, b: one element type, shapes that broadcast together. Specification: arithmetic/minimum-1.
    """

def mish(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = data · tanh(ln(1 + e^data)).

    data: any shape, any float type. output: as data.
    Specification: activation/mish-4.
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

    a, b: one numeric type, shapes that broadcast together. output: that type.
    Specification: arithmetic/mod-1.
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

    boxes: bf16, f16, f32 or f64, rows of two corners (x, y, x, y), the lesser first. scores: the type of boxes. Either
    all classes share their boxes, [num_batches, num_boxes, 4] and [num_batches, num_classes, num_boxes]; or, if roisnum
    is given, each class has its own boxes, [num_classes, num_boxes, 4] and [num_classes, num_boxes], and the boxes of
    all batch elements are concatenated; roisnum (i32 or i64, [num_batches]) is the number of each. Indices in
    selected_indices then count box by box and within a box class by class.

    Candidates have a score not below `score_threshold`. An overlap not below `iou_threshold` removes a box, as in
    OpenVINO (the specification has "above"); a threshold above one half is multiplied by `nms_eta` at each kept box. If
    not `normalized`, coordinates count pixels, and a box from 2 to 4 is 3 wide. Rows are batch by batch in descending
    order of their scores, or class by class for `sort_result_type` classid; with `sort_result_across_batch` all rows
    are sorted together.

    Errors: IR704 if the sum of roisnum is greater than the number of boxes. A negative number counts as 0.
    Specification: sort/multiclass-non-max-suppression-9, where the attribute sort_result_type is called sort_result.
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

    probs: a float type, shape [batch, classes]: probabilities up to a common factor, or with `log_probs` their
    logarithms; not negative, not all 0. num_samples: an integer, a scalar or a vector of one element. Without
    `with_replacement` no class is drawn twice. output: shape [batch, num_samples], the type `convert_type`, i32 or i64.

    A number x from 0 to 1 selects the first class whose cumulative probability is x or more; without replacement, the
    probability of that class is then removed. As in OpenVINO's CPU plugin, the numbers are those of the C++ Mersenne
    twister with the seed sequence (global_seed, op_seed; both 0 by default), divided by 2**32 - 1 in f32, every run
    starts with the same state, and probabilities are f32 too (in the plugin bf16 for bf16 probs). The specification
    requires f64. If both seeds are 0, every run gives different classes.

    Errors: IR501 for probs of another rank, IR505 and IR704 for a negative num_samples, IR704 if no class is left to
    draw, for which the plugin leaves the output unchanged. Specification: generation/multinomial-13.
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

    a, b: one element type, shapes that broadcast together. Specification: arithmetic/multiply-1.
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

    data: any shape, any float type. axes: a vector of integers. output: the shape and the type of data.
    Errors: IR501 for axes that are not a vector, IR503 for axes that data does not have, IR505 for more axes than data
    has.
    Specification: normalization/mvn-6.
    """

def negative(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = -data; integers wrap.

    data: any shape, any numeric type. output: as data.
    Specification: arithmetic/negative-1.
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

    boxes: floating, [num_batches, num_boxes, 5], rows of (centre x, centre y, width, height, angle in radians); the
    angle is clockwise, or counterclockwise if not `clockwise`, with y pointing down. The other inputs and the outputs
    are as for NonMaxSuppression-9, but no input is optional. An overlap above iou_threshold removes a box. Overlaps
    are exact to the last digits of f32; OpenVINO finds the corners of the common polygon in f32 and may lose one.

    Specification: sort/nms-rotated-13.
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

    boxes: floating, [num_batches, num_boxes, 4], as two opposite corners (y, x, y, x), or with `box_encoding` center as
    (centre x, centre y, width, height). scores: floating, [num_batches, num_classes, num_boxes].
    max_output_boxes_per_class, iou_threshold, score_threshold, soft_nms_sigma: scalars or one element, by default 0.
    selected_indices: `output_type`, [n, 3], rows of batch, class and box. selected_scores: f32, [n, 3], rows of batch,
    class and score. valid_outputs: `output_type`, [1], n. Rows are in descending order of their scores, equal ones by
    their indices; with `sort_result_descending` false class by class.

    With a soft_nms_sigma above 0 overlaps do not remove boxes but lower their scores by exp(-iou**2 / (2 * sigma)).
    As in OpenVINO, a box is a candidate if its score is above score_threshold, and an overlap not below iou_threshold
    removes it; the specification has "not below" for the scores and "above" for the overlaps.

    Specification: sort/non-max-suppression-9.
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

    data: any shape, no strings. output: `output_type`, shape [rank of data, number of elements that are not 0].

    As in OpenVINO, a scalar that is not 0 gives [[0]], one that is 0 gives an empty output of shape [0, 0] (of shape
    [1, 0] in its CPU plugin).

    Specification: condition/nonzero-3.
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

    data: any shape, any float type. axes: a scalar or a vector of integers. output: the shape and the type of data.
    Errors: IR501 for axes that are neither a scalar nor a vector, IR503 and IR701 for axes that data does not have.
    Specification: normalization/normalize-l2-1.
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

    a, b: one element type, any, and shapes that broadcast together. output: boolean.
    Specification: comparison/notequal-1.
    """

def nv12_to_bgr(
    y: Input,
    uv: Input | None = None,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """NV12toRGB-8 with the channels in the order B, G, R. Specification: image/nv12-to-bgr-8."""

def nv12_to_rgb(
    y: Input,
    uv: Input | None = None,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """R = 1.164 (Y - 16) + 1.596 (V - 128), G = 1.164 (Y - 16) - 0.391 (U - 128) - 0.813 (V - 128),
    B = 1.164 (Y - 16) + 2.018 (U - 128).

    y: [N, H, W, 1]. uv: [N, H/2, W/2, 2], the type of y. Or y alone, [N, 1.5 H, W, 1], in which H/2 rows of alternating
    U and V follow the rows of Y. output: [N, H, W, 3], the type of y.
    Specification: image/nv12-to-rgb-8.
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

    negative_indices_mode: `normalize` counts negative indices from the end of the new axis, `ignore_negative` gives
    off_value for them, as for all indices out of range.

    Specification: sequence/one-hot-16.
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

    Specification: movement/pad-12.
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

    a, b: one numeric type, shapes that broadcast together. output: that type.
    Errors: IR704 for the integer 0 to a negative power, and those of Binary.
    Specification: arithmetic/power-1. OpenVINO computes integers in floats, and its overflows are undefined.
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

    data: any shape. slope: a vector with a slope for each channel (axis 1 of data), else any shape that broadcasts to
    the shape of data. The specification has one float type for both; OpenVINO accepts any two numeric types, and so
    does this class: f16 and bf16 are multiplied in f32, integers by floats in f64, rounded to the nearest. output: like
    data.
    Errors: IR504 for a slope that does not broadcast to data, which OpenVINO either repeats or rejects.
    Specification: activation/prelu-1.
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

    class_probs: floating, [N, 2 * A, H, W], scores of background and then of objects, A being ratios times scales.
    bbox_deltas: floating, [N, 4 * A, H, W], how each anchor moves: its centre by so many widths and heights, and the
    logarithms of its growth. image_shape: floating, height, width and one scale, or one of each.
    rois: the type of class_probs, [N * post_nms_topn, 5], rows of image and box (x0, y0, x1, y1), the best first; -1
    ends the rows of an image, and the rest is zeros. probs: the scores, [N * post_nms_topn].

    An anchor of width sqrt(base_size**2 / ratio) and ratio times that height, both times a scale, is placed every
    feat_stride pixels. Boxes smaller than min_size times the scale of the image get the score 0. Of the best
    pre_nms_topn those are removed that overlap a better one by more than nms_thresh. `clip_before_nms` and
    `clip_after_nms` clip boxes to the image, and `normalize` divides them by its size. As in OpenVINO, `framework`
    tensorflow exchanges x and y, and height and width, and a box from 2 to 4 is 2 wide instead of 3.

    Errors: IR704 for a size or a scale of the image out of range. Specification: detection/proposal-4.
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

    data: [N, C, H, W]. rois: [NUM_ROIS, 5]. Both are floats. output: [NUM_ROIS, output_dim, group_size, group_size].
    average: C = output_dim * group_size²; the region from x1, y1, rounded, to one after x2, y2, rounded, times
    `spatial_scale`, is divided into bins that may share elements; a bin is the mean of its elements in channel
    [output channel, row of bins, column of bins], 0 without elements.
    bilinear: C = spatial_bins_x * spatial_bins_y * output_dim; the corners times `spatial_scale` are fractions of the
    image, 0 being its first element and 1 its last. The region is divided into spatial_bins_y rows of spatial_bins_x
    cells; in each, group_size² points from corner to corner are interpolated in channel [cell, output channel], 0
    outside, and a bin is the mean over all cells.

    What the specification leaves open is as in OpenVINO's CPU plugin.
    Errors: IR502 for a wrong number of channels, IR701 for an image out of range.
    Specification: detection/psroi-pooling-1.
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

    shape: a vector of i32 or i64, the shape of the output. minval, maxval: one element each, of the type `output_type`.
    output: the type `output_type`: f16, bf16, f32, f64, i32 or i64.

    alignment: `tensorflow`, the default, draws from Philox-4x32-10 with global_seed as key and op_seed as upper half of
    the counter; `pytorch` draws from the Mersenne twister of global_seed. If both seeds are 0, the default, every run
    gives different values. As in OpenVINO's CPU plugin, tensorflow continues from run to run, advanced by 256 blocks of
    four for every element drawn before, until `reset_state`; pytorch gives the same values in every run. The plugin
    draws f16, f64 and i64 as f32 and i32; the specification, OpenVINO's reference kernel and this class do not. In a
    model that is computed in f32, however, f16 and bf16 are drawn as f32. Elsewhere bf16 is as in the plugin: computed
    in f32 and rounded once, and for pytorch one half or more is rounded up if the last bit kept is odd, and down if it
    is even.

    The specification does not define which of two 32-bit numbers is the higher half of an i64: in OpenVINO the first
    for pytorch, the second for tensorflow.

    Errors: IR402 for limits of another type, IR505 and IR704 for a minval that is not less than maxval and for a
    negative size. Specification: generation/random-uniform-8.
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

    start, stop, step: scalars of any numeric types; for an integer output their fractions are truncated first. output:
    a vector of the type `output_type`; empty if step leads away from stop.

    The specification does not define a step of 0. OpenVINO's CPU plugin keeps the fractions of inputs that are not
    constants, and counts as if the signs agreed if step leads away from stop; the specification, OpenVINO's shape
    inference and this class do not.

    Specification: generation/range-4.
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

    data: a float type, rank 1 or more. output: the element type of data, shape [..., 2]. f16 and bf16 are computed in
    f32. At least one axis is required.

    Specification: signals/rdft-9. If signal_size is not known, OpenVINO's shape inference keeps the sizes of all axes
    except the last; here they are dynamic.
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

    Specification: reduction/reduce-max-1. It does not define the reduction of no elements; ONNX has infinity, and
    OpenVINO infinity or the lowest finite value, depending on its kernel.
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

    Specification: reduction/reduce-min-1. It does not define the reduction of no elements; ONNX has infinity, and
    OpenVINO infinity or the greatest finite value, depending on its kernel.
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

    data: floating, [N, regions * (coords + classes + 1), H, W]. output: the type of data.

    With `do_softmax` there are `num` regions: the logistic function is applied to the first two numbers of a region and
    its confidence, a softmax to its classes; further channels are unchanged, and the axes from `axis` to `end_axis` are
    flattened. Without it there are as many regions as `mask` has values, the logistic function is applied to the
    classes too, and further channels are omitted. anchors have no effect.

    `do_softmax` is false by default, as in OpenVINO; the specification has true.
    Specification: detection/region-yolo-1.
    """

def relu(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = data where it is positive, else 0.

    data: any shape, any numeric type. output: as data.
    Specification: activation/relu-1.
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

    data: [N, C, H, W], C at least stride², H and W multiples of stride. output: [N, C * stride², H / stride,
    W / stride]. Element [n, c, h, w] of an output in the shape [N, C, H, W] is element [n, c % K, h * stride +
    c // K // stride, w * stride + c // K % stride] of data read as [N, K, H * stride, W * stride], K = C // stride².
    Only the first of several strides is used, as in OpenVINO. Specification: detection/reorg-yolo-1.
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

    data: any shape, any type. shape: a vector of integers; one may be -1, for the remaining size. With `special_zero` a
    0 is replaced by the dim of data at the same position, otherwise it means 0 elements. output: the type of data; it
    may alias data.

    As in OpenVINO, -1 is 1 next to a 0 for data without elements, and inference treats a size that may be 0 as a size,
    not as a copy. With a copied dim, OpenVINO accepts sizes whose product is wrong, and reads beyond the tensor; here
    this is an error.

    Errors: IR501 for a shape that is not a vector, IR505 and IR704 for one that does not match data.
    Specification: shape/reshape-1.
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

    data: any shape, any type. axis: in the mode `index` a vector of integers, negative ones counted from the end, and a
    repeated axis reversed once; in the mode `mask` a boolean for each axis. output: as data; it may alias data.
    Errors: IR401 for an axis of the wrong type for the mode, IR501 and IR502 for another shape, IR503 and IR704 for an
    axis that data does not have.
    Specification: movement/reverse-1.
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

    data: rank 2 or more, any type. batch_axis (0 by default) and seq_axis (1 by default) must differ. seq_lengths: a
    vector of any numeric type, a number for each element of the batch; fractions are truncated. output: as data.

    The specification requires lengths from 1 to the size of seq_axis; 0, which reverses nothing, is an extension of
    OpenVINO.

    Errors: IR501 and IR502 for other shapes, IR503 for an axis that data does not have or for equal axes, IR704 for
    another length.
    Specification: movement/reverse-sequence-1.
    """

def rgb_to_nv12(
    image: Input,
    *,
    single_plane: bool = True,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[Iterable[str]] = (),
) -> tuple[Value, Value]:
    """Y = 0.257 R + 0.504 G + 0.098 B + 16, U = -0.148 R - 0.291 G + 0.439 B + 128,
    V = 0.439 R - 0.368 G - 0.071 B + 128; U and V, clipped and rounded, are the means of each 2x2 pixels.

    image: [N, H, W, 3], u8 or floats. With `single_plane`, the default, one output, [N, 1.5 H, W, 1], in which H/2 rows
    of alternating U and V follow the rows of Y; otherwise y: [N, H, W, 1], and uv: [N, H/2, W/2, 2]. All are of the
    type of image.
    The specification does not define how pixels share U and V; the mean follows OpenVINO's reference kernel. The CPU
    plugin has no such operator.
    Errors: IR501, IR502 and IR505 for an image of another rank or size. Specification: image/rgb-to-nv12-17.
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

    Specification: sequence/rnn-cell-3. A cell without b is an extension of OpenVINO.
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

    Specification: sequence/rnn-sequence-5.
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

    rois: x and y of the centre, width, height, angle in radians. Centre and size are multiplied by `spatial_scale`, the
    centre is then moved by -0.5; the box is rotated counterclockwise, or clockwise with `clockwise_mode`. Points are
    interpolated as in ROIAlign; a bin is the mean of its points.
    Specification: detection/roi-align-rotated-15.
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

    data: [N, C, H, W], floats. rois: [NUM_ROIS, 5], the type of data. output: [NUM_ROIS, C, pooled_h, pooled_w].
    max: the corners times `spatial_scale`, rounded, are the first and the last element of the region, which has at
    least one; it is divided into bins that may share elements, and a bin is its greatest element, or 0 without
    elements.
    bilinear: corners are fractions of the image, 0 being its first element and 1 its last; pooled_h x pooled_w points
    from corner to corner are interpolated (a single one is in the middle), and are 0 outside.

    `output_size` and `output_roi`, which OpenVINO writes in addition to `pooled_h` and `pooled_w`, have no effect.
    Errors: IR701 for an image out of range. Specification: detection/roi-pooling-1.
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

    data: any shape, any type. shift: i32 or i64, a scalar for all axes, or a vector as long as axes. axes: i32 or i64,
    a scalar or a vector; negative ones count from the end, and the shifts of an axis that occurs several times are
    summed.
    output: as data.
    Errors: IR501 and IR502 for other shapes, IR503 and IR704 for an axis that data does not have.
    Specification: movement/roll-7.
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

    mode: the choice between two equally near integers: the even one (`half_to_even`, the default) or the one farther
    from zero (`half_away_from_zero`).

    data: any shape, any numeric type. output: as data.
    Specification: arithmetic/round-5.
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

    With L queries and S keys:
    query [N, ..., L, E], key [N, ..., S, E], value [N, ..., S, Ev]: one float type; the batches N, ... broadcast.
    attention_mask: added to the scores [N, ..., L, S], to which it broadcasts, or boolean, where false masks a pair
        out; rank 2 or more, or a scalar. Ignored if `causal`, which masks all keys after the query's position. scale:
        one element; by default 1 / sqrt(E).
    sink: one more score for each query, which counts in the sum of the softmax and has no value; the rank of query,
        last axis 1.
    output: [N, ..., L, Ev] of the element type of query; NaN for a query whose keys are all masked, 0 without keys.

    Errors: IR402 for a mask of another float type, IR501, IR502, IR504 for wrong ranks and shapes. Specification:
    sequence/scaled-dot-product-attention; the sink is an extension of OpenVINO since 2025.4.
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

    reduction: none (the last update wins), sum, prod, min, max or mean. Without `use_init_val` only the updates are
    reduced; elements without updates are always those of data.

    data: any element type, with a reduction a numeric or boolean one except u1, u3, u6 and nf4; rank 1 or more.
    indices: integers, the rank of data and, except on `axis`, at most its sizes; a negative one counts from the end.
    updates: the element type of data, the shape of indices. axis: one integer, a scalar or of shape [1].
    output: the element type and shape of data.

    On booleans sum and max are "or", prod and min are "and", and there is no mean. Integers wrap around. The mean of
    integers is rounded down, as specified; OpenVINO's CPU plugin rounds towards zero, and wraps the sums of 8-bit
    types, which are exact here. A NaN among the updates leaves min and max unchanged, as in OpenVINO.
    Errors: IR401 for an element type that the reduction does not support, IR701 for an index out of range, IR704 for an
    axis out of range. Specification: movement/scatter-elements-update-12.
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

    reduction: none (the last update wins), sum, sub, prod, min or max.

    data: any element type, with a reduction a numeric or boolean one except u1, u3, u6 and nf4; rank 1 or more.
    indices: i32 or i64, rank 1 or more, a negative one counts from the end; tuples are along the last axis and have at
    most rank(data) elements. updates: the element type of data, shape indices.shape[:-1] +
    data.shape[indices.shape[-1]:], or any one element if this is the shape of a scalar.
    output: the element type and shape of data.

    On booleans sum and max are "or", prod and min are "and", sub is "exclusive or". Integers wrap around. A NaN among
    the updates leaves min and max unchanged, as in OpenVINO.
    Errors: IR401 for an element type that the reduction does not support, IR701 for an index out of range.
    Specification: movement/scatter-nd-update-15.
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

    data: any element type, rank 1 or more. indices: integers, any rank. axis: one integer, a scalar or of shape [1].
    updates: the element type of data, shape data.shape[:axis] + indices.shape + data.shape[axis + 1:].
    output: the element type and shape of data. Of updates to the same place the last one wins.

    Errors: IR701 for an index out of range and, as the specification requires, for a negative one; IR704 for an axis
    out of range. Specification: movement/scatter-update-3.
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

    sorted_sequence: rank 1 or more, ascending along the last axis; a vector is for values of any shape. values: the
    type of sorted_sequence and, except for the last axis, its dims. output: the shape of values, element type
    `output_type`.
    Errors: IR501 for a scalar and for ranks that differ, IR502 for dims that differ.
    Specification: sort/search-sorted-15, where `right_mode` is called `right`, and `output_type` is missing.
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

    data: rank 1 or more, any numeric type. segment_ids: a vector as long as the first axis of data, ascending, 0 or
    more.
    num_segments: a scalar, greater than every segment id; by default one more than the last segment id.
    output: [num_segments, ...], the type of data. A segment without elements is 0 (`fill_mode` zero) or the
    lowest finite value of the type (lowest).

    Errors: IR501 for data that is a scalar; IR701 for a segment id out of range, where OpenVINO ignores the
    element; IR704 for segment ids that do not rise, and for a negative num_segments.
    Specification: arithmetic/segment-max-16.
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

    cond: boolean. then, else_: any type, the same for both and output.

    Errors: IR504 where the shapes do not broadcast; IR501 and IR502 where they differ and `auto_broadcast` is none.
    Specification: condition/select-1.
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

    data: any shape. alpha, lambda: one element each; the specification has vectors, OpenVINO takes any shape. All of
    one float type. output: as data.
    Errors: IR505 for an alpha or a lambda that does not have one element.
    Specification: activation/selu-1.
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

    data: any shape, any type.

    Specification: shape/shape-of-3.
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

    data: rank 1 or more, any type; its size along `axis` (1 by default) is a multiple of `group` (1 by default).
    output: as data.
    Errors: IR503 for an axis that data does not have, IR505 for a size that is not a multiple of group.
    Specification: movement/shuffle-channels-1.
    """

def sigmoid(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = 1 / (1 + e^-data).

    data: any shape, any numeric type. output: as data.
    Specification: activation/sigmoid-1.
    """

def sign(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = -1, 0 or 1 as data is negative, zero or positive; NaN for NaN.

    data: any shape, any numeric type. output: as data.
    Specification: arithmetic/sign-1.
    """

def sin(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = sin data, of radians.

    data: any shape, any numeric type. output: as data.
    Specification: arithmetic/sin-1.
    """

def sinh(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = sinh data.

    data: any shape, any numeric type. output: as data.
    Specification: arithmetic/sinh-1.
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

    data: rank 1 or more, any type. start, stop, step: vectors of integers of one length. axes: optional, a vector of
    distinct integers of that length. output: the type and the rank of data; it may alias data.

    The specification refers to Python's slices. As in OpenVINO, there is one deviation, which affects the shape of the
    output: a backward slice that starts before the axis starts at its first element.

    Errors: IR501 and IR502 for other shapes, IR503 for axes out of range or duplicates, IR505 for a step of 0; IR704
    for faults found only in the run.
    Specification: movement/slice-8.
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

    data: rank 1 or more, any type. updates: the shape of the slice; as in OpenVINO, other types are converted to the
    type of data. start, stop, step, axes: as in Slice. output: as data.
    Errors: as Slice; IR402 for a mix of numbers and strings, IR501, IR502 and IR704 for updates of
    another shape.
    Specification: movement/slice-scatter-15.
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
    """

def softplus(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = ln(1 + e^data).

    data: any shape, any float type. output: as data.
    Specification: activation/softplus-4.
    """

def softsign(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = data / (1 + |data|).

    data: any shape, any float type. output: as data.
    Specification: activation/softsign-9.
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

    data: [batch, D1, D2, ...], rank 2 or more, any type. block_shape, pads_begin, pads_end: vectors of integers (as in
    OpenVINO, possibly of three types), one for each axis of data, the first ones 1, 0 and 0. output: [batch * product
    of block_shape, (D1 + pads_begin[1] + pads_end[1]) / block_shape[1], ...], the type of data.

    Errors: IR501 and IR502 for other shapes, IR505 for numbers out of range, or a padded size that is not a multiple of
    the block; also for other first numbers, for which OpenVINO's outputs differ from the inferred shape.
    Specification: movement/space-to-batch-2.
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

    output: [batch, depth * block_size ** K, D1 / block_size, ..., DK / block_size], the type of data.
    Errors: IR505 for a spatial size that is not a multiple of block_size. Specification: movement/space-to-depth-1.
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

    values: [M], any element type. dense_shape: [2], rows and columns. indices: [M, 2], row and column of every value.
    default_value: a scalar; as in OpenVINO, any type is converted to that of values.
    output_indices: [n, 2], the type of indices, and output_values: [n], the type of values, sorted by row and column,
    equal ones in their order. empty_row_indicator: boolean, [rows], true for each row that was empty.
    Errors: IR402 for a mix of numbers and strings; IR701 for a row or a column that the matrix does not have, which
    OpenVINO's CPU plugin accepts.
    Specification: sparse/fill-empty-rows-16.
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

    data: any shape, any type. axis: an integer, a scalar; counts from the end if it is negative. outputs: the type of
    data; they may alias it.
    Errors: IR501 for an axis that is not a scalar, IR503 and IR704 for one that data does not have, IR505 and IR704 for
    a size that is not a multiple of num_splits.
    Specification: movement/split-1.
    """

def sqrt(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = √data; NaN for negative data.

    data: any shape, any numeric type. output: as data.
    Specification: arithmetic/sqrt-1.
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

    a, b: one element type, shapes that broadcast together. Specification: arithmetic/squared-difference-1.
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

    signal: a float type, shape [length] or [batch, length]. window: that type, at most frame_size long, padded with
    zeros on both sides if it is shorter. frame_size, frame_step: scalars, i32 or i64.
    output: the type of signal, shape [frames, frame_size // 2 + 1, 2] after the batch, with the first two axes
    exchanged by `transpose_frames`; frames = (length - frame_size) // frame_step + 1. f16 and bf16 are computed in f32.

    Errors: IR505 or IR704 for a frame that is longer than the signal or shorter than the window.
    Specification: signals/stft-15.
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

    data: any shape, any type. begin, end, stride: vectors of integers of one length; stride is optional, 1 by default.
    output: the type of data; it may alias data.

    As in OpenVINO, and unlike the specification, a backward slice with its bit in end_mask includes the first element,
    as `data[::-1]` does. As specified, and unlike OpenVINO, masks may have any length, and a bit in begin_mask makes a
    shrunken axis select its first element.

    Errors: IR501 and IR502 for other shapes and for more positions than data has axes, IR505 and IR704 for a stride of
    0, IR701 for a single index that is out of range.
    Specification: movement/strided-slice-1.
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

    begins, ends: i32 or i64, one type and one shape. symbols: a vector of u8, UTF-8. output: strings, the shape of
    begins. A string that ends before it begins is empty. Bytes that are not UTF-8 become the surrogates of Python's
    `surrogateescape`; StringTensorUnpack converts them back to the original bytes.

    As in OpenVINO's kernel, strings may be in any order; its shape inference rejects constant begins or ends that
    decrease.

    Errors: IR501 and IR502 for other shapes, IR701 for a begin or an end beyond symbols.
    Specification: type/string-tensor-pack-15.
    """

def string_tensor_unpack(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[Iterable[str]] = (),
) -> tuple[Value, Value, Value]:
    """data[i] = the bytes symbols[begins[i]:ends[i]] as text: strings become bytes, the reverse of StringTensorPack.

    data: strings, any shape. begins, ends: i32, the shape of data. symbols: a vector of u8, the concatenated UTF-8 of
    all strings.
    Specification: type/string-tensor-unpack-15.
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

    a, b: one element type, shapes that broadcast together. Specification: arithmetic/subtract-1.
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

    data: any shape, any float type. beta: a scalar of that type, by default 1. output: as data.
    Errors: IR501 for a beta that is not a scalar.
    Specification: activation/swish-4.
    """

def tan(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = tan data, of radians.

    data: any shape, any numeric type. output: as data.
    Specification: arithmetic/tan-1.
    """

def tanh(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = tanh data.

    data: any shape, any numeric type. output: as data.
    Specification: arithmetic/tanh-1.
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

    data: any shape, any type. repeats: a vector of integers; as in OpenVINO, negative ones count as 0. The shorter of
    repeats and the shape of data gets ones in front. output: the type of data.
    Errors: IR501 for repeats that are not a vector.
    Specification: movement/tile-1.
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

    `stable` requires the order of equal elements that all versions have here; it is not allowed with `sort` none.

    Specification: sort/top-k-11.
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

    arg: any shape, any type. input_order: a vector of integers, a permutation of the axes, counted from 0; an empty one
    reverses the axes. output: the type of arg; it may alias arg.
    Errors: IR501 for an order that is not a vector, IR503 and IR704 for one that is not a permutation of the axes.
    Specification: movement/transpose-1.
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

    data: any shape, any type. axis: optional; i32 or i64, a scalar or a vector of one element. unique: the type of
    data; a vector, or data with only the distinct slices; in ascending order if `sorted`, the default, else in the
    order of first occurrence. first: the index of the first occurrence of each, in flattened data or on the axis.
    inverse: for each element or slice of data, its index in unique. counts: the occurrences of each. first and inverse
    are of the type `index_element_type`, counts of `count_element_type`: i64 (the default) or i32. NaN differs from
    every value, including NaN.

    If an axis may be empty, so may the output; OpenVINO's intervals omit this case. OpenVINO's CPU plugin does not
    merge some equal slices, and loses first occurrences and counts of 8-bit elements.

    Errors: IR501 and IR502 for an axis of another shape, IR503 and IR704 for one that data does not have.
    Specification: movement/unique-10.
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

    data: any shape, any type. axes: integers, a scalar or a vector; negative ones count from the end of the output's
    shape. output: the type of data; it may alias data.

    Duplicates are ignored. As in OpenVINO, an axis given as 4 and as -1 is inserted once, but counts twice in the rank
    that negative axes refer to.

    Errors: IR501 for axes of rank 2 or more, IR503 for an axis out of range, IR505 for no axes.
    Specification: shape/unsqueeze-1.
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

    data: any shape, any type. axis: an integer, a scalar or a vector of one element; counts from the end if it is
    negative. split_lengths: a vector of integers. outputs: the type of data; they may alias it.
    Errors: IR501 for an axis or split_lengths of another shape, IR503 and IR704 for an axis that data does not have,
    IR505 and IR704 for negative lengths and for a sum other than the size of the axis.
    Specification: movement/variadic-split-1.
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

    a, b: one element type, shapes that broadcast together. Specification: logical/logical-xor-1.
    """
