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
    """output = |data|"""

def acos(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = arccos data, in radians"""

def acosh(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = arcosh data"""

def adaptive_avg_pool(
    data: Input,
    output_shape: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """The mean of each window"""

def adaptive_max_pool(
    data: Input,
    output_shape: Input,
    *,
    index_element_type: ElementTypeLike = "i64",
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[Iterable[str]] = (),
) -> tuple[Value, Value]:
    """The greatest element of each window, and its index in the flattened spatial axes: the first of equal ones."""

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
    """output = a + b"""

def asin(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = arcsin data, in radians"""

def asinh(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = arsinh data."""

def atan(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = arctan data, in radians."""

def atanh(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = artanh data"""

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
    """AvgPool-14 with dilated windows."""

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
    """output[b, c, ...] = (data[b, c, ...] - mean[c]) / sqrt(variance[c] + epsilon) * gamma[c] + beta[c]."""

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
    """Blocks from the batch axis laid out in space"""

def bgr_to_nv12(
    image: Input,
    *,
    single_plane: bool = True,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[Iterable[str]] = (),
) -> tuple[Value, Value]:
    """RGBtoNV12-17 for channels in the order B, G, R."""

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
    """Convolution of bits, of which 1 counts as 1 and 0 as -1"""

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
    """output = a and b, bit by bit"""

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
    """output = a · 2^b: the bits of a shifted to the left by b"""

def bitwise_not(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = data with every bit inverted"""

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
    """output = a or b, bit by bit"""

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
    """output = a / 2^b, rounded down: the bits of a shifted to the right by b."""

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
    """output = a exclusive or b, bit by bit"""

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
    """data repeated so that it fills `target_shape`."""

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
    """The number of the bucket that each element falls into: how many of the boundaries lie below it."""

def ceiling(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = the least integer that is not below data."""

def clamp(
    data: Input,
    min: float,
    max: float,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = min(max(data, min), max)."""

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
    """An image put together from its patches, which are added up where they overlap: the reverse of im2col."""

def concat(
    inputs: Sequence[Input],
    axis: int,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """The inputs one after the other along `axis`, which counts from the end if it is negative."""

def convert(
    data: Input,
    destination_type: ElementTypeLike,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = data, converted to `destination_type`"""

def convert_like(
    data: Input,
    like: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = data, converted as by Convert to the element type of `like`."""

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
    """Both inputs, converted to the type that their element types promote to."""

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
    """output[b, o, i] = sum over c and k of data[b, c, i * stride + k * dilation - pad] * filters[o, c, k]."""

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
    """output[b, o, i * stride + k * dilation - pad] += data[b, c, i] * filters[c, o, k], from zeros on."""

def cos(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = cos data, of radians."""

def cosh(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = cosh data."""

def ctc_greedy_decoder(
    data: Input,
    sequence_mask: Input,
    *,
    ctc_merge_repeated: bool = True,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """The labels of the most probable path, the last class being the blank"""

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
    """The labels of the most probable path, -1 behind the last one, and their number."""

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
    """-log of the probability of all paths with these labels"""

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
    """output[j] = the sum of data[0] to data[j] along the axis."""

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
    """A convolution of windows whose elements are moved by offsets and multiplied with a mask."""

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
    """Regions of interest pooled to one size, every bin from a channel of its own and moved by offsets."""

def depth_to_space(
    data: Input,
    mode: Literal["blocks_first", "depth_first"],
    *,
    block_size: int = 1,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """Blocks from the axis of depth laid out in space."""

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
    """The objects that an SSD detector finds: prior boxes moved as predicted, without those that overlap a better one."""

def dft(
    data: Input,
    axes: Input,
    signal_size: Input | None = None,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output[m] = sum over j of data[j] * exp(-2 pi i m j / S), along every one of `axes` with its S numbers."""

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
    """output = a / b"""

def einsum(
    inputs: Sequence[Input],
    equation: str,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """The sum of products that `equation` describes, such as `ij,jk->ik`."""

def elu(
    data: Input,
    alpha: float,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = data where it is positive, else alpha · (e^data - 1)."""

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
    """EmbeddingBagOffsetsSum-3 with `reduction` mean too, of rows without weights"""

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
    """output[i] = sum of emb_table[indices[j]] * per_sample_weights[j] over offsets[i] <= j < offsets[i + 1]."""

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
    """EmbeddingBagPackedSum-3 with `reduction` mean too, of rows without weights"""

def embedding_bag_packed_sum(
    emb_table: Input,
    indices: Input,
    per_sample_weights: Input | None = None,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output[i] = sum over j of emb_table[indices[i, j]] * per_sample_weights[i, j]."""

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
    """output[i] = sum of emb_table[indices[j]] * per_sample_weights[j] over all j with segment_ids[j] = i."""

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
    """output = whether a equals b."""

def erf(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = 2/√π · ∫ exp(-t²) dt from 0 to data."""

def erfinv(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = the y with erf(y) = data"""

def exp(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = e^data."""

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
    """The objects that a Detectron model finds: regions moved as predicted, without those that overlap a better one."""

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
    """Anchors moved as predicted, without those that overlap a better one, for one image."""

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
    """Prior boxes shifted to every point of a grid over an image."""

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
    """ROIAlign with the mean of each bin, each region in the level of a pyramid that fits its size."""

def experimental_detectron_topk_rois(
    input_rois: Input,
    rois_probs: Input,
    *,
    max_rois: int = 0,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """The boxes of the highest probabilities, the highest first."""

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
    """output[b, (kh, kw, c), i, j] = data[b, c, i * strides[0] + kh * rates[0], j * strides[1] + kw * rates[1]]."""

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
    """output[..., i, i + diagonal_index] = 1, all other elements 0."""

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
    """output = (converted(data * scale - shift) + shift) / scale, where converted is to an 8-bit float and back."""

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
    * (output_high - output_low) + output_low
    """

def floor(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = the greatest integer that is not above data."""

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
    """output = a - b · floor(a / b): the remainder with the sign of b, as in Python."""

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
    """Gather-7 with any index allowed: a negative one counts from the end, one out of range gives zeros."""

def gather_elements(
    data: Input,
    indices: Input,
    axis: int,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output[i, j, k] = data[i, indices[i, j, k], k], shown for axis 1 of rank 3."""

def gather_nd(
    data: Input,
    indices: Input,
    *,
    batch_dims: int = 0,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """Slices or elements that tuples choose: output[p, i] = data[p, *indices[p, i]]"""

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
    """The whole beams of a beam search, from the token of every step and the beam from which it went on."""

def gelu(
    data: Input,
    *,
    approximation_mode: Literal["erf", "tanh"] = "erf",
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = data · Φ(data), where Φ is the distribution function of the standard normal distribution."""

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
    """Anchors moved as predicted, without those that overlap a better one, for each image."""

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
    """output = a > b."""

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
    """output = a ≥ b."""

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
    """output[n, c, i, j] = data[n, c] sampled at the position (x, y) = grid[n, i, j]."""

def grn(
    data: Input,
    bias: float,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = data / sqrt(the sum of its squares over all channels + bias)."""

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
    """Convolution of groups of channels, each with filters of its own."""

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
    """The transposed convolution of groups of channels, each with filters of its own."""

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
    """output = (data - mean) / sqrt(variance + epsilon) * scale + bias."""

def grouped_matmul(
    mat_a: Input,
    mat_b: Input,
    offsets: Input | None = None,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """A product of matrices for each of G groups, with right sides that are stored transposed."""

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
    """H' = (1 - z) ."""

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
    """H' = (1 - z) ."""

def hard_sigmoid(
    data: Input,
    alpha: Input,
    beta: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = max(0, min(1, alpha · data + beta))."""

def hsigmoid(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = min(max(data + 3, 0), 6) / 6."""

def hswish(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = data · min(max(data + 3, 0), 6) / 6."""

def i420_to_bgr(
    y: Input,
    u: Input | None = None,
    v: Input | None = None,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """I420toRGB-8 with the channels in the order B, G, R."""

def i420_to_rgb(
    y: Input,
    u: Input | None = None,
    v: Input | None = None,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """NV12toRGB-8 with U and V in planes of their own."""

def identity(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = data."""

def idft(
    data: Input,
    axes: Input,
    signal_size: Input | None = None,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output[m] = 1 / S * sum over j of data[j] * exp(2 pi i m j / S): the inverse of DFT, with its inputs."""

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
    """A tensor resampled along some of its axes."""

def inverse(
    data: Input,
    *,
    adjoint: bool = False,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """The inverse of every matrix: output @ data = 1"""

def irdft(
    data: Input,
    axes: Input,
    signal_size: Input | None = None,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """The inverse of RDFT: real numbers from the first half of their transform along the last of `axes`."""

def is_finite(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = whether data is neither infinite nor NaN."""

def is_inf(
    data: Input,
    *,
    detect_negative: bool = True,
    detect_positive: bool = True,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = whether data is -inf (with `detect_negative`) or +inf (with `detect_positive`)"""

def is_nan(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = whether data is NaN."""

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
    """The signal whose frames have these transforms: the inverse of STFT with transpose_frames."""

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
    """output = a < b."""

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
    """output = a ≤ b."""

def log(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = ln data"""

def log_softmax(
    data: Input,
    *,
    axis: int = 1,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = data - ln(sum of exp(data) along the axis): the logarithm of SoftMax."""

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
    """output = a and b."""

def logical_not(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = not data"""

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
    """output = a or b."""

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
    """output = whether a and b differ."""

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
    """output = data / (bias + alpha / size**n * sum of the squares around the element)**beta, n the number of axes."""

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
    """C' = f ."""

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
    """C' = f ."""

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
    """output[..., i, j] = sum over k of a[..., i, k] * b[..., k, j]."""

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
    """Scores decay the more, the more better boxes of the class overlap."""

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
    """MaxPool-8 with the further rounding_type `ceil_torch`."""

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
    """output = the greater of a and b"""

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
    """output = the lesser of a and b"""

def mish(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = data · tanh(ln(1 + e^data))."""

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
    """output = a - b · trunc(a / b): the remainder with the sign of a, as in C."""

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
    """Of the boxes of one class that overlap the best is kept."""

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
    """Indices of classes, num_samples of them drawn for every row of probs."""

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
    """output = a · b"""

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
    """output = data - mean, divided by the deviation if `normalize_variance`."""

def negative(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = -data"""

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
    """NonMaxSuppression-9 of rotated boxes, without soft suppression."""

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
    """The best boxes of each class, without those that overlap a better one."""

def non_zero(
    data: Input,
    *,
    output_type: ElementTypeLike = "i64",
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """The indices of the elements that are not 0: one column for each, in row-major order"""

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
    """output = data / sqrt(the sum of its squares along the axes, eps added to it or at least eps)."""

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
    """output = whether a differs from b."""

def nv12_to_bgr(
    y: Input,
    uv: Input | None = None,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """NV12toRGB-8 with the channels in the order B, G, R."""

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
    """output[i, .., c, j, ..] = on_value where indices[i, .., j, ..] is c, else off_value."""

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
    """Elements added around a tensor, or removed from its ends."""

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
    """output = a to the power of b"""

def prelu(
    data: Input,
    slope: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = data where it is not negative, else slope · data."""

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
    """At every point of a grid boxes of several sizes and aspect ratios"""

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
    """At every point of a grid boxes of given widths and heights"""

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
    """The regions where objects may be: anchors moved as predicted, without those that overlap a better one."""

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
    """Regions of interest pooled to one size, every bin from channels of its own (position-sensitive)."""

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
    """Numbers from minval on and below maxval, all equally likely."""

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
    """start, start + step, start + 2 * step, ..."""

def rdft(
    data: Input,
    axes: Input,
    signal_size: Input | None = None,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """The DFT of real numbers."""

def reduce_l1(
    data: Input,
    axes: Input,
    *,
    keep_dims: bool = False,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """The sum of the magnitudes."""

def reduce_l2(
    data: Input,
    axes: Input,
    *,
    keep_dims: bool = False,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """The square root of the sum of the squares, that of integers rounded towards zero."""

def reduce_logical_and(
    data: Input,
    axes: Input,
    *,
    keep_dims: bool = False,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """Whether all elements are true"""

def reduce_logical_or(
    data: Input,
    axes: Input,
    *,
    keep_dims: bool = False,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """Whether any element is true"""

def reduce_max(
    data: Input,
    axes: Input,
    *,
    keep_dims: bool = False,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """The greatest element"""

def reduce_mean(
    data: Input,
    axes: Input,
    *,
    keep_dims: bool = False,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """The mean of the elements, that of integers rounded towards zero"""

def reduce_min(
    data: Input,
    axes: Input,
    *,
    keep_dims: bool = False,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """The least element"""

def reduce_prod(
    data: Input,
    axes: Input,
    *,
    keep_dims: bool = False,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """The product of the elements"""

def reduce_sum(
    data: Input,
    axes: Input,
    *,
    keep_dims: bool = False,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """The sum of the elements"""

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
    """The output of a YOLO detector after the logistic function and, with `do_softmax`, a softmax over its classes."""

def relu(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = data where it is positive, else 0."""

def reorg_yolo(
    data: Input,
    stride: Sequence[int],
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """Places of a block of space moved into channels (space to depth), in the order of YOLO v2."""

def reshape(
    data: Input,
    shape: Input,
    special_zero: bool,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """The elements of data, in their order, in the shape that the input `shape` holds."""

def reverse(
    data: Input,
    axis: Input,
    mode: Literal["index", "mask"],
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """Elements in reverse order along some axes."""

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
    """output[b, s] = data[b, seq_lengths[b] - 1 - s] for s < seq_lengths[b], else data[b, s]"""

def rgb_to_nv12(
    image: Input,
    *,
    single_plane: bool = True,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[Iterable[str]] = (),
) -> tuple[Value, Value]:
    """Y = 0.257 R + 0.504 G + 0.098 B + 16, U = -0.148 R - 0.291 G + 0.439 B + 128,
    V = 0.439 R - 0.368 G - 0.071 B + 128
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
    """H' = f(x * w^T + H * r^T + b), with f = tanh where `activations` says nothing else."""

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
    """H' = f(x * w^T + H * r^T + b) along a sequence, with f = tanh where `activations` says nothing else."""

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
    """Regions of interest pooled to one size"""

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
    """Rotated regions of interest pooled to one size"""

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
    """Regions of interest pooled to one size."""

def roll(
    data: Input,
    shift: Input,
    axes: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """Elements move by `shift` along each of `axes`"""

def round(
    data: Input,
    *,
    mode: Literal["half_away_from_zero", "half_to_even"] = "half_to_even",
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = the integer nearest to data."""

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
    """output = softmax(query @ transposed key * scale + attention_mask) @ value."""

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
    """ScatterElementsUpdate-3 with a reduction of all updates to an element and, with `use_init_val`, what data holds."""

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
    """ScatterNDUpdate-4 with a reduction of all updates to a place and what data holds there."""

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
    """output[p, indices[i], r] = updates[p, i, r]: i all axes of indices, p those of data up to `axis`, r those behind."""

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
    """output[p, i]: the index for inserting values[p, i] into sorted_sequence[p, :]"""

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
    """output[i, ...] = the greatest of data[j, ...] over all j with segment_ids[j] = i."""

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
    """output = then where cond is true, else_ where it is false, all three broadcast together."""

def selu(
    data: Input,
    alpha: Input,
    lambda_: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = lambda · data where data is positive, else lambda · alpha · (e^data - 1)."""

def shape_of(
    data: Input,
    *,
    output_type: ElementTypeLike = "i64",
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = the shape of data, as a vector of the type `output_type`: i64 (the default) or i32"""

def shuffle_channels(
    data: Input,
    *,
    axis: int = 1,
    group: int = 1,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """Channels in another order: that of the transposed matrix of `group` rows in which they stand in their own order."""

def sigmoid(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = 1 / (1 + e^-data)."""

def sign(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = -1, 0 or 1 as data is negative, zero or positive"""

def sin(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = sin data, of radians."""

def sinh(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = sinh data."""

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
    """output = data[start:stop:step] along the axes that `axes` names, by default the first ones."""

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
    """output = data, with output[start:stop:step] = updates"""

def softmax(
    data: Input,
    *,
    axis: int = 1,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = exp(data) / (sum of exp(data) along the axis)."""

def softplus(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = ln(1 + e^data)."""

def softsign(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = data / (1 + |data|)."""

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
    """Zeros added to the ends of the spatial axes"""

def space_to_depth(
    data: Input,
    mode: Literal["blocks_first", "depth_first"],
    *,
    block_size: int = 1,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """Blocks in space laid along the axis of depth."""

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
    """A sparse matrix with `default_value` in the first column of every empty row."""

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
    """`num_splits` equal parts of data along an axis."""

def sqrt(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = √data"""

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
    """output = (a - b)²"""

def squeeze(
    data: Input,
    axes: Input | None = None,
    *,
    allow_axis_skip: bool = False,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """As Squeeze-1"""

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
    """The transforms of the frames of a signal: output[t] = RDFT of `signal[t * frame_step :][: frame_size]` * window."""

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
    """output = data[begin:end:stride], position by position as in an index of NumPy."""

def string_tensor_pack(
    begins: Input,
    ends: Input,
    symbols: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output[i] = the bytes symbols[begins[i]:ends[i]] as text."""

def string_tensor_unpack(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[Iterable[str]] = (),
) -> tuple[Value, Value, Value]:
    """data[i] = the bytes symbols[begins[i]:ends[i]] as text: strings become bytes, the reverse of StringTensorPack."""

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
    """output = a - b"""

def swish(
    data: Input,
    beta: Input | None = None,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = data / (1 + e^-(beta · data))."""

def tan(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = tan data, of radians."""

def tanh(
    data: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """output = tanh data."""

def tile(
    data: Input,
    repeats: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """data repeated along each axis as often as `repeats` says."""

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
    """The k greatest or least elements along an axis."""

def transpose(
    arg: Input,
    input_order: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """arg with its axes in another order: output.shape[i] = arg.shape[input_order[i]]."""

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
    """The distinct elements of data, or its distinct slices along an axis."""

def unsqueeze(
    data: Input,
    axes: Input,
    *,
    opset: str | int | None = None,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """Inserts dims of size 1 into the shape of data, so that they stand at `axes` of the output."""

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
    """Parts of data along an axis, of the lengths in `split_lengths`, of which one may be -1: what the others leave."""

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
    """output = whether a and b differ: the other name of LogicalXor in opset1."""
