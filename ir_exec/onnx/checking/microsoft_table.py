"""The inputs and constraints of onnxruntime's operators, from its document of contrib operators.

An input is `name:variable`, with `?` if it is optional and `*` if it repeats; inputs of one variable have equal types.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

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

__all__ = ["OPERATORS", "DeclaredInput", "Signature", "parameters", "signature"]


_NAMES = """
    Attention AttnLSTM BeamSearch BiasAdd BiasDropout BiasGelu BiasSoftmax BiasSplitGelu BifurcationDetector
    BitmaskBiasDropout BitmaskDropout BranchwiseRMSNorm CDist CausalConvWithState ComplexMul ComplexMulConj
    ConvStateReplay ConvTransposeWithDynamicPads CropAndResize DecoderAttention DecoderMaskedMultiHeadAttention
    DecoderMaskedSelfAttention DequantizeBFP DequantizeLinear DequantizeWithOrder DynamicQuantizeLSTM
    DynamicQuantizeMatMul DynamicSparseAttention DynamicTimeWarping EPContext EmbedLayerNormalization EngramGate
    ExpandDims FastGelu FusedConv FusedGemm FusedMatMul FusedMatMulActivation GatedAdd GatedDeltaNet
    GatedDeltaNetStateReplay GatedRMSNorm GatedRelativePositionBias GatherBlockQuantized GatherND GatherPacked
    Gelu GemmFastGelu GemmFloat8 GemmaRotaryEmbedding GreedySearch GridSample GroupNorm GroupQueryAttention
    HyperConnectionLowRankMix HyperConnectionPostMix HyperConnectionPreMix Inverse Irfft IsAllFinite
    LinearAttention LinearAttentionGate LongformerAttention MRotaryEmbedding Mamba2Verify
    MatMulBlockQuantizedFp4Weight MatMulBlockQuantizedFp8Weight MatMulBnb4 MatMulFpQ4 MatMulInteger16
    MatMulIntegerToFloat MatMulNBits MatMulNBitsMlp MatMulNBitsQLoRA MatMulNBitsQkv MatMulPacked MaxpoolWithMask
    MoE MoEGroupRouter MoEPacked MulInteger MultiHeadAttention MurmurHash3 NGramHashMapping NGramRepeatBlock
    NhwcConv NhwcFusedConv NhwcMaxPool PackedAttention PackedMultiHeadAttention PackedSparseAttentionIndexer
    PackedSparseAttentionIndexerMerge Pad PagedAttention QAttention QEmbedLayerNormalization QGemm QLinearAdd
    QLinearAveragePool QLinearConcat QLinearConv QLinearGlobalAveragePool QLinearLeakyRelu QLinearMul
    QLinearReduceMean QLinearSigmoid QLinearSoftmax QLinearWhere QMoE QOrderedAttention QOrderedGelu
    QOrderedLayerNormalization QOrderedLongformerAttention QOrderedMatMul QuantizeBFP QuantizeLinear
    QuantizeWithOrder QuickGelu RMSNormRotary Range ReduceSumInteger RelativePositionBias RemovePadding
    RestorePadding Rfft RotaryEmbedding RouterGateUpProj SampleOp Sampling ScaledSiLU
    SimplifiedLayerNormalization SkipGroupNorm SkipLayerNormalization SkipSimplifiedLayerNormalization Snpe
    SparseAttention SparseAttentionIndexer SparsePagedAttention SparseToDenseMatMul SpeculativePrefixCommit
    SwiGLU Tokenizer TorchEmbedding TransposeMatMul Trilu UnfoldTensor Unique VarlenCausalConvWithState
    VarlenNGramHashMapping WhisperBeamSearch WordConvEmbedding
"""

OPERATORS = frozenset(_NAMES.split())
"""The operators of com.microsoft in onnxruntime 1.32."""


class Signature(NamedTuple):
    """An operator: inputs, element types of their variables, the maximum number of outputs, and constraints."""

    inputs: str
    types: str
    outputs: int
    constraints: Sequence[Constraint] = ()


class DeclaredInput(NamedTuple):
    """An input.

    Attributes:
        kinds: The names of the accepted element types; empty for all.
    """

    name: str
    variable: str
    is_required: bool
    is_variadic: bool
    kinds: frozenset[str]


_SETS: Mapping[str, str] = MappingProxyType(
    {
        "float": "bf16|f16|f32|f64",
        "short": "bf16|f16|f32",
        "wide": "f16|f32|f64",
        "byte": "i8|u8",
    }
)


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


def signature(type: str) -> Signature | None:
    """The signature of an operator of com.microsoft; None for an unknown one."""
    return _SIGNATURES.get(type)


@cache
def parameters(type: str) -> tuple[DeclaredInput, ...]:
    """The inputs of an operator of com.microsoft; none for an unknown one."""
    known = _SIGNATURES.get(type)
    if known is None:
        return ()
    types = dict(one.split("=") for one in known.types.split())
    found = []
    for one in known.inputs.split():
        name, _, variable = one.rstrip("?*").partition(":")
        kinds = types.get(variable, variable if variable[0].islower() else "")
        members = frozenset(_SETS.get(kinds, kinds).split("|")) - {""}
        found.append(DeclaredInput(name, variable, not one.endswith(("?", "*")), one.endswith("*"), members))
    return tuple(found)


_SIGNATURES: Mapping[str, Signature] = MappingProxyType(
    {
        "Attention": Signature(
            "input:T weights:T bias:T? mask_index:M? past:T? attention_bias:T? past_sequence_length:M?",
            "T=short M=i32",
            2,
            [
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
        ),
        "BiasAdd": Signature(
            "X:T bias:T skip:T",
            "T=f16|f32",
            1,
            [rank("X", 3), rank("bias", 1), same_size("bias", 0, "X", 2), same_shape("skip", "X")],
        ),
        "BiasGelu": Signature("A:T B:T", "T=float", 1, [rank("B", 1), same_size("B", 0, "A", -1)]),
        "BiasSoftmax": Signature("data:T bias:T", "T=wide", 1),
        "BiasSplitGelu": Signature("X:T bias:T", "T=f16|f32", 1, [rank("X", 3), rank("bias", 1)]),
        "CDist": Signature("A:T B:T", "T=f32|f64", 1, [rank("A", 2), rank("B", 2), same_size("B", 1, "A", 1)]),
        "CausalConvWithState": Signature(
            "input:T weight:T bias:T? past_state:T?",
            "T=short",
            3,
            [
                rank("input", 3),
                rank("weight", 3),
                rank("bias", 1),
                rank("past_state", 3),
                same_size("bias", 0, "weight", 0),
                one_of("activation", "none", "silu", "swish"),
            ],
        ),
        "CropAndResize": Signature(
            "X:T1 rois:T1 batch_indices:T2 crop_size:T2",
            "T1=wide T2=i32",
            1,
            [
                rank("X", 4),
                rank("rois", 2),
                rank("batch_indices", 1),
                elements("crop_size", 2),
                each_at_least("crop_size", 1),
                one_of("mode", "bilinear", "nearest"),
            ],
        ),
        "DequantizeLinear": Signature("x:T1 x_scale:T2 x_zero_point:T1?", "T1=i16|i32|i8|i4|u16|u8|u4 T2=f16|f32", 1),
        "DynamicQuantizeLSTM": Signature(
            "X:T W:T2 R:T2 B:T? sequence_lens:T1? initial_h:T? initial_c:T? P:T? W_scale:T "
            "W_zero_point:T2 R_scale:T R_zero_point:T2",
            "T=f32 T1=i32 T2=byte",
            3,
            [rank("X", 3), rank("W", 3), rank("R", 3), one_of("direction", "forward", "reverse", "bidirectional")],
        ),
        "DynamicQuantizeMatMul": Signature("A:T1 B:T2 b_scale:T1 b_zero_point:T2? bias:T1?", "T1=f32 T2=byte", 1),
        "EmbedLayerNormalization": Signature(
            "input_ids:T1 segment_ids:T1? word_embedding:T position_embedding:T segment_embedding:T? "
            "gamma:T beta:T mask:T1? position_ids:T1?",
            "T1=i32 T=f16|f32",
            3,
            [
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
        ),
        "ExpandDims": Signature("X:T axis:i32", "", 1),
        "FastGelu": Signature("X:T bias:T?", "T=float", 1, [rank("bias", 1), same_size("bias", 0, "X", -1)]),
        "FusedConv": Signature(
            "X:T W:T B:T? Z:T?",
            "T=wide",
            1,
            [
                positive("kernel_shape", "strides", "dilations", "group"),
                same_rank("W", "X"),
                rank("B", 1),
                same_size("B", 0, "W", 0),
            ],
        ),
        "FusedGemm": Signature(
            "A:T B:T C:T?", "T=f16|f32|f64|i32|i64|u32|u64", 1, [rank("A", 2), rank("B", 2), rank("C", 0, 1, 2)]
        ),
        "FusedMatMul": Signature("A:T B:T", "T=float", 1),
        "GatedAdd": Signature("X:T Y:T gate:T gate_weight:T?", "T=short", 1, [same_shape("Y", "X")]),
        "GatedRMSNorm": Signature("X:T scale:T gate:T", "T=short", 1, [rank("scale", 1)]),
        "GatherBlockQuantized": Signature(
            "data:T1 indices:Tind scales:T2 zero_points:T1?",
            "T1=f4e2m1|f8e4m3|float8e4m3fnuz|f8e5m2|float8e5m2fnuz|i4|u4|u8 T2=short Tind=i32|i64",
            1,
            [],
        ),
        "Gelu": Signature("X:T", "T=float", 1),
        "GridSample": Signature("X:T1 Grid:T1", "", 1, [same_rank("Grid", "X")]),
        "GroupNorm": Signature(
            "X:T gamma:M beta:M",
            "T=f16|f32 M=f16|f32",
            1,
            [rank("X", 4), rank("gamma", 1), rank("beta", 1), positive("groups"), one_of("activation", 0, 1)],
        ),
        "GroupQueryAttention": Signature(
            "query:T key:T? value:T? past_key:T_CACHE? past_value:T_CACHE? seqlens_k:M "
            "total_sequence_length:M cos_cache:T? sin_cache:T? position_ids:i64? attention_bias:T? "
            "head_sink:T? k_scale:T_KV_SCALE? v_scale:T_KV_SCALE? q_norm_weight:T? k_norm_weight:T? "
            "query_seqlens:M?",
            "T=short T_CACHE=bf16|f16|f32|f8e4m3|i8|u8 T_KV_SCALE=f32 M=i32",
            4,
            [
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
        ),
        "Inverse": Signature("X:T", "T=wide", 1, [least_rank("X", 2), same_size("X", -1, "X", -2)]),
        "LinearAttention": Signature(
            "query:T key:T value:T past_state:S? decay:T? beta:T?",
            "T=short S=short",
            2,
            [
                rank("query", 3),
                rank("past_state", 4),
                positive("q_num_heads", "kv_num_heads"),
                one_of("update_rule", "linear", "gated", "delta", "gated_delta"),
            ],
        ),
        "LinearAttentionGate": Signature(
            "a:T dt_bias:TF decay_scale:TF b:T?",
            "T=short TF=f32",
            2,
            [rank("dt_bias", 1), rank("decay_scale", 1), same_shape("b", "a")],
        ),
        "MatMulBlockQuantizedFp4Weight": Signature(
            "A:T B:T1 weight_scale:T2 weight_scale_2:T3 input_scale:T3? bias:T?",
            "T=bf16|f16 T1=u8 T2=u8 T3=f32",
            1,
            [rank("B", 2), rank("weight_scale", 2), positive("block_size"), rank("bias", 1)],
        ),
        "MatMulBlockQuantizedFp8Weight": Signature(
            "A:T B:T1 b_scale:T2 a_scale:T2? bias:T?",
            "T=bf16|f16 T1=f8e4m3 T2=f32",
            1,
            [rank("B", 2), rank("b_scale", 2), positive("block_size"), elements("a_scale", 1), rank("bias", 1)],
        ),
        "MatMulBnb4": Signature(
            "A:T1 B:T2 absmax:T1",
            "T1=short T2=u8",
            1,
            [positive("K", "N"), one_of("quant_type", 0, 1), at_least("block_size", 16)],
        ),
        "MatMulFpQ4": Signature("A:T1 B:T2 B_shape:T3", "T1=f32 T2=u8 T3=i64", 1, [elements("B_shape", 2)]),
        "MatMulIntegerToFloat": Signature(
            "A:T1 B:T2 a_scale:T3 b_scale:T3 a_zero_point:T1? b_zero_point:T2? bias:T3?",
            "T1=byte T2=byte T3=f16|f32",
            1,
        ),
        "MatMulNBits": Signature(
            "A:T1 B:T2 scales:T1 zero_points:T3? g_idx:T4? bias:T1?",
            "T1=short T2=u8 T3=bf16|f16|f32|u8 T4=i32",
            1,
            [positive("K", "N"), one_of("bits", 2, 4, 8), at_least("block_size", 16), rank("bias", 1)],
        ),
        "MoE": Signature(
            "input:T router_probs:T fc1_experts_weights:T fc1_experts_bias:T? fc2_experts_weights:T "
            "fc2_experts_bias:T? fc3_experts_weights:T? fc3_experts_bias:T?",
            "T=short",
            1,
            [rank("input", 2, 3), rank("router_probs", 2), positive("k"), *_EXPERTS],
        ),
        "MultiHeadAttention": Signature(
            "query:T key:T? value:T? bias:T? key_padding_mask:M? attention_bias:T? past_key:T? "
            "past_value:T? past_sequence_length:M? cache_indirection:M?",
            "T=short M=i32",
            4,
            [
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
        ),
        "NhwcConv": Signature(
            "X:T W:T B:T?",
            "T=wide",
            1,
            [positive("kernel_shape", "strides", "dilations", "group"), same_rank("W", "X"), rank("B", 1)],
        ),
        "NhwcMaxPool": Signature(
            "x:T",
            "T=byte",
            1,
            [positive("kernel_shape", "strides", "dilations"), at_least("pads", 0), least_rank("x", 3)],
        ),
        "QAttention": Signature(
            "input:T1 weight:T2 bias:T3 input_scale:T3 weight_scale:T3 mask_index:T4? input_zero_point:T1? "
            "weight_zero_point:T2? past:T3?",
            "T1=byte T2=byte T3=f16|f32 T4=i32",
            2,
            [
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
        ),
        "QGemm": Signature(
            "A:TA a_scale:T a_zero_point:TA B:TB b_scale:T b_zero_point:TB C:TC? y_scale:T? y_zero_point:TYZ?",
            "T=f32 TA=byte TB=byte TC=i32 TYZ=byte",
            1,
            _per_tensor("a", "y"),
        ),
        "QLinearAdd": Signature(
            "A:T A_scale:f32 A_zero_point:T? B:T B_scale:f32 B_zero_point:T? C_scale:f32 C_zero_point:T?",
            "T=byte",
            1,
            [*_per_tensor("A", "B", "C"), *scalars(*_parameters_of("A", "B", "C"))],
        ),
        "QLinearAveragePool": Signature(
            "X:T x_scale:f32 x_zero_point:T? y_scale:f32 y_zero_point:T?",
            "T=byte",
            1,
            [*_per_tensor("x", "y"), *scalars(*_parameters_of("x", "y"))],
        ),
        "QLinearConcat": Signature("Y_scale:TF Y_zero_point:T8 inputs:TV*", "T8=byte TF=f32 TV=f32|i8|u8", 1),
        "QLinearConv": Signature(
            "x:T1 x_scale:f32 x_zero_point:T1 w:T2 w_scale:f32 w_zero_point:T2 y_scale:f32 y_zero_point:T3 B:T4?",
            "T1=byte T2=byte T3=byte T4=i32",
            1,
            _per_tensor("x", "y"),
        ),
        "QLinearGlobalAveragePool": Signature(
            "X:T x_scale:f32 x_zero_point:T y_scale:f32 y_zero_point:T", "T=byte", 1, _per_tensor("x", "y")
        ),
        "QLinearLeakyRelu": Signature(
            "X:T X_scale:f32 X_zero_point:T? Y_scale:f32 Y_zero_point:T?", "T=byte", 1, _per_tensor("X", "Y")
        ),
        "QLinearMul": Signature(
            "A:T A_scale:f32 A_zero_point:T? B:T B_scale:f32 B_zero_point:T? C_scale:f32 C_zero_point:T?",
            "T=byte",
            1,
            [*_per_tensor("A", "B", "C"), *scalars(*_parameters_of("A", "B", "C"))],
        ),
        "QLinearReduceMean": Signature(
            "data:T data_scale:f32 data_zero_point:T? reduced_scale:f32 reduced_zero_point:T?",
            "T=byte",
            1,
            [elements("data_scale", 1), elements("reduced_scale", 1), one_of("keepdims", 0, 1)],
        ),
        "QLinearSigmoid": Signature(
            "X:T X_scale:f32 X_zero_point:T? Y_scale:f32 Y_zero_point:T?", "T=byte", 1, _per_tensor("X", "Y")
        ),
        "QLinearSoftmax": Signature("X:T X_scale:f32 x_zero_point:T? y_scale:f32 y_zero_point:T", "T=byte", 1),
        "QLinearWhere": Signature(
            "condition:B X:T x_scale:TF x_zero_point:T Y:T y_scale:TF y_zero_point:T z_scale:TF z_zero_point:T",
            "B=boolean TF=f32 T=byte",
            1,
        ),
        "QMoE": Signature(
            "input:T router_probs:T fc1_experts_weights:T1 fc1_scales:T2? fc1_experts_bias:T? "
            "fc2_experts_weights:T1 fc2_scales:T2? fc2_experts_bias:T? fc3_experts_weights:T1? fc3_scales:T2? "
            "fc3_experts_bias:T? fc1_zero_points:T1? fc2_zero_points:T1? fc3_zero_points:T1? router_weights:T? "
            "fc1_global_scale:T4? fc2_global_scale:T4? fc1_act_scale:T4? fc2_act_scale:T4? "
            "fc1_act_block_scale:T2? fc2_act_block_scale:T2?",
            "T=short T1=f8e4m3|u8 T2=bf16|f16|f32|f8e4m3|f8e8m0 T4=f32",
            1,
            [rank("input", 2, 3), rank("router_probs", 2), positive("k"), *_EXPERTS],
        ),
        "QuantizeLinear": Signature("x:T1 y_scale:T1 y_zero_point:T2?", "T1=f16|f32 T2=i16|i8|i4|u16|u8|u4", 1),
        "QuickGelu": Signature("X:T", "T=float", 1),
        "RotaryEmbedding": Signature(
            "input:T position_ids:M cos_cache:T sin_cache:T",
            "T=short M=i64",
            1,
            [
                rank("input", 3, 4),
                rank("position_ids", 0, 1, 2),
                rank("cos_cache", 2),
                same_shape("sin_cache", "cos_cache"),
            ],
        ),
        "SkipGroupNorm": Signature(
            "X:T gamma:M beta:M skip:T bias:T?",
            "T=f16|f32 M=f16|f32",
            2,
            [
                rank("X", 4),
                rank("gamma", 1),
                rank("beta", 1),
                rank("bias", 1),
                positive("groups"),
                one_of("activation", 0, 1),
            ],
        ),
        "SkipLayerNormalization": Signature(
            "input:T skip:T gamma:T beta:T? bias:T?",
            "T=short",
            4,
            [
                rank("input", 2, 3),
                rank("skip", 2, 3),
                rank("gamma", 1),
                rank("beta", 1),
                rank("bias", 1),
                same_size("gamma", 0, "input", -1),
                same_size("beta", 0, "input", -1),
                same_size("bias", 0, "input", -1),
            ],
        ),
        "SkipSimplifiedLayerNormalization": Signature(
            "input:T skip:T gamma:T bias:T?",
            "T=short",
            4,
            [
                rank("input", 2, 3),
                rank("skip", 2, 3),
                rank("gamma", 1),
                rank("bias", 1),
                same_size("gamma", 0, "input", -1),
                same_size("bias", 0, "input", -1),
            ],
        ),
        "SparseAttention": Signature(
            "query:T key:T? value:T? past_key:T past_value:T block_row_indices:M block_col_indices:M "
            "total_sequence_length:M key_total_sequence_lengths:M cos_cache:T? sin_cache:T?",
            "T=short M=i32",
            3,
            [
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
        ),
        "TransposeMatMul": Signature("A:T B:T", "T=float", 1),
        "Unique": Signature("x:T", "", 3),
    }
)
