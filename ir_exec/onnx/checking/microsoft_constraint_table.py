"""The constraints of the operators of com.microsoft, by name, from onnxruntime's document of contrib operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from ir_exec.onnx.checking.constraints import (
    Constraint,
    at_least,
    each_at_least,
    elements,
    least_rank,
    one_of,
    output_for,
    positive,
    rank,
    same_rank,
    same_shape,
    same_size,
    scalars,
    together,
)

__all__ = ["MICROSOFT_CONSTRAINTS"]

_EXPERTS: Sequence[Constraint] = (
    *(rank(f"fc{layer}_experts_weights", 3) for layer in (1, 2, 3)),
    *(rank(f"fc{layer}_experts_bias", 2) for layer in (1, 2, 3)),
    same_size("fc2_experts_weights", 0, "fc1_experts_weights", 0),
    same_size("fc3_experts_weights", 0, "fc1_experts_weights", 0),
    same_size("fc1_experts_weights", 0, "router_probs", 1),
)
"""Layers of experts: weights [experts, outputs, inputs], biases [experts, outputs]."""


def _parameters_of(*tensors: str) -> list[str]:
    """The names of the scales and zero points of tensors."""
    return [f"{tensor}_{parameter}" for tensor in tensors for parameter in ("scale", "zero_point")]


def _per_tensor(*tensors: str) -> list[Constraint]:
    """The scales and zero points of tensors have one element."""
    return [elements(name, 1) for name in _parameters_of(*tensors)]


MICROSOFT_CONSTRAINTS: Mapping[str, Sequence[Constraint]] = MappingProxyType(
    {
        "Attention": [
            rank("input", 3),
            rank("weights", 2),
            rank("bias", 1),
            rank("past", 5),
            rank("attention_bias", 4),
            rank("mask_index", 1, 2, 3, 4),
            positive("num_heads"),
            same_size("weights", 0, "input", 2),
            same_size("bias", 0, "weights", 1),
            one_of("unidirectional", 0, 1),
            output_for("past", 1, "present"),
        ],
        "BiasAdd": [rank("X", 3), rank("bias", 1), same_size("bias", 0, "X", 2), same_shape("skip", "X")],
        "BiasGelu": [rank("B", 1), same_size("B", 0, "A", -1)],
        "BiasSplitGelu": [rank("X", 3), rank("bias", 1)],
        "CDist": [rank("A", 2), rank("B", 2), same_size("B", 1, "A", 1)],
        "CausalConvWithState": [
            rank("input", 3),
            rank("weight", 3),
            rank("bias", 1),
            rank("past_state", 3),
            same_size("bias", 0, "weight", 0),
            one_of("activation", "none", "silu", "swish"),
        ],
        "CropAndResize": [
            rank("X", 4),
            rank("rois", 2),
            rank("batch_indices", 1),
            elements("crop_size", 2),
            each_at_least("crop_size", 1),
            one_of("mode", "bilinear", "nearest"),
        ],
        "DynamicQuantizeLSTM": [
            rank("X", 3),
            rank("W", 3),
            rank("R", 3),
            one_of("direction", "forward", "reverse", "bidirectional"),
        ],
        "EmbedLayerNormalization": [
            rank("input_ids", 2),
            rank("segment_ids", 2),
            same_shape("segment_ids", "input_ids"),
            rank("word_embedding", 2),
            rank("position_embedding", 2),
            rank("segment_embedding", 2),
            rank("gamma", 1),
            rank("beta", 1),
            rank("mask", 2),
            same_size("position_embedding", 1, "word_embedding", 1),
            same_size("segment_embedding", 1, "word_embedding", 1),
            same_size("gamma", 0, "word_embedding", 1),
            same_size("beta", 0, "word_embedding", 1),
            together("segment_ids", "segment_embedding"),
        ],
        "FastGelu": [rank("bias", 1), same_size("bias", 0, "X", -1)],
        "FusedConv": [
            positive("kernel_shape", "strides", "dilations", "group"),
            same_rank("W", "X"),
            rank("B", 1),
            same_size("B", 0, "W", 0),
        ],
        "FusedGemm": [rank("A", 2), rank("B", 2), rank("C", 0, 1, 2)],
        "GatedAdd": [same_shape("Y", "X")],
        "GatedRMSNorm": [rank("scale", 1)],
        "GridSample": [same_rank("Grid", "X")],
        "GroupNorm": [rank("X", 4), rank("gamma", 1), rank("beta", 1), positive("groups"), one_of("activation", 0, 1)],
        "GroupQueryAttention": [
            rank("query", 3),
            rank("key", 3),
            rank("value", 3),
            rank("past_key", 4),
            rank("past_value", 4),
            positive("num_heads", "kv_num_heads"),
            together("past_key", "past_value"),
            together("key", "value"),
            together("cos_cache", "sin_cache"),
            rank("cos_cache", 2),
            same_shape("sin_cache", "cos_cache"),
            elements("total_sequence_length", 1),
            rank("attention_bias", 4),
        ],
        "Inverse": [least_rank("X", 2), same_size("X", -1, "X", -2)],
        "LinearAttention": [
            rank("query", 3),
            rank("past_state", 4),
            positive("q_num_heads", "kv_num_heads"),
            one_of("update_rule", "linear", "gated", "delta", "gated_delta"),
        ],
        "LinearAttentionGate": [rank("dt_bias", 1), rank("decay_scale", 1), same_shape("b", "a")],
        "MatMulBlockQuantizedFp4Weight": [
            rank("B", 2),
            rank("weight_scale", 2),
            positive("block_size"),
            rank("bias", 1),
        ],
        "MatMulBlockQuantizedFp8Weight": [
            rank("B", 2),
            rank("b_scale", 2),
            positive("block_size"),
            elements("a_scale", 1),
            rank("bias", 1),
        ],
        "MatMulBnb4": [positive("K", "N"), one_of("quant_type", 0, 1), at_least("block_size", 16)],
        "MatMulFpQ4": [elements("B_shape", 2)],
        "MatMulNBits": [positive("K", "N"), one_of("bits", 2, 4, 8), at_least("block_size", 16), rank("bias", 1)],
        "MoE": [rank("input", 2, 3), rank("router_probs", 2), positive("k"), *_EXPERTS],
        "MultiHeadAttention": [
            rank("query", 3, 5),
            rank("key", 3, 4, 5),
            rank("value", 3, 4),
            rank("bias", 1),
            rank("key_padding_mask", 1, 2, 3),
            rank("attention_bias", 4),
            rank("past_key", 4),
            rank("past_value", 4),
            positive("num_heads"),
            together("past_key", "past_value"),
        ],
        "NhwcConv": [positive("kernel_shape", "strides", "dilations", "group"), same_rank("W", "X"), rank("B", 1)],
        "NhwcMaxPool": [positive("kernel_shape", "strides", "dilations"), at_least("pads", 0), least_rank("x", 3)],
        "QAttention": [
            rank("input", 3),
            rank("weight", 2),
            rank("bias", 1),
            positive("num_heads"),
            elements("input_scale", 1),
            same_size("weight", 0, "input", 2),
            same_size("bias", 0, "weight", 1),
            rank("past", 5),
            output_for("past", 1, "present"),
        ],
        "QGemm": _per_tensor("a", "y"),
        "QLinearAdd": [*_per_tensor("A", "B", "C"), *scalars(*_parameters_of("A", "B", "C"))],
        "QLinearAveragePool": [*_per_tensor("x", "y"), *scalars(*_parameters_of("x", "y"))],
        "QLinearConv": _per_tensor("x", "y"),
        "QLinearGlobalAveragePool": _per_tensor("x", "y"),
        "QLinearLeakyRelu": _per_tensor("X", "Y"),
        "QLinearMul": [*_per_tensor("A", "B", "C"), *scalars(*_parameters_of("A", "B", "C"))],
        "QLinearReduceMean": [elements("data_scale", 1), elements("reduced_scale", 1), one_of("keepdims", 0, 1)],
        "QLinearSigmoid": _per_tensor("X", "Y"),
        "QMoE": [rank("input", 2, 3), rank("router_probs", 2), positive("k"), *_EXPERTS],
        "RotaryEmbedding": [
            rank("input", 3, 4),
            rank("position_ids", 0, 1, 2),
            rank("cos_cache", 2),
            same_shape("sin_cache", "cos_cache"),
        ],
        "SkipGroupNorm": [
            rank("X", 4),
            rank("gamma", 1),
            rank("beta", 1),
            rank("bias", 1),
            positive("groups"),
            one_of("activation", 0, 1),
        ],
        "SkipLayerNormalization": [
            rank("input", 2, 3),
            rank("skip", 2, 3),
            rank("gamma", 1),
            rank("beta", 1),
            rank("bias", 1),
            same_size("gamma", 0, "input", -1),
            same_size("beta", 0, "input", -1),
            same_size("bias", 0, "input", -1),
        ],
        "SkipSimplifiedLayerNormalization": [
            rank("input", 2, 3),
            rank("skip", 2, 3),
            rank("gamma", 1),
            rank("bias", 1),
            same_size("gamma", 0, "input", -1),
            same_size("bias", 0, "input", -1),
        ],
        "SparseAttention": [
            rank("query", 3),
            rank("key", 3),
            rank("value", 3),
            rank("past_key", 4),
            same_shape("past_value", "past_key"),
            rank("block_row_indices", 2),
            rank("block_col_indices", 2),
            same_size("block_col_indices", 0, "block_row_indices", 0),
            elements("total_sequence_length", 1),
            rank("key_total_sequence_lengths", 1),
            together("key", "value"),
            together("cos_cache", "sin_cache"),
            positive("num_heads", "kv_num_heads", "sparse_block_size"),
        ],
    }
)
