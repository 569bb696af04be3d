"""Which module has the operators of which types.

A network uses few of the operators there are, and a process that runs one waits for every module that it imports. So a
module is imported when the first of its types is looked up. Every module that registers operators stands here, with
every type that it registers; tests/ops/test_families.py compares the table with the modules.
"""

from __future__ import annotations

__all__ = ["FAMILIES"]

FAMILIES = {
    "activation": (
        "Clamp Elu Gelu HSigmoid HSwish HardSigmoid Mish PReLU ReLU Selu Sigmoid SoftPlus SoftSign Swish Tanh"
    ),
    "arithmetic": "Add Divide FloorMod Maximum Minimum Mod Multiply Power SquaredDifference Subtract",
    "attention": "ScaledDotProductAttention",
    "broadcast": "Broadcast Tile",
    "class_nms": "MatrixNms MulticlassNms",
    "color": "BGRtoNV12 I420toBGR I420toRGB NV12toBGR NV12toRGB RGBtoNV12",
    "comparison": "Equal Greater GreaterEqual IsFinite IsInf IsNaN Less LessEqual NotEqual",
    "control": "If Loop TensorIterator",
    "convert": "Convert ConvertLike ConvertPromoteTypes Identity",
    "convolution": "Convolution GroupConvolution",
    "convolution_special": "BinaryConvolution DeformableConvolution",
    "create": "OneHot Range",
    "decoding": "CTCGreedyDecoder CTCGreedyDecoderSeqLen CTCLoss",
    "deconvolution": "ConvolutionBackpropData GroupConvolutionBackpropData",
    "detection": "DetectionOutput RegionYolo",
    "detectron": (
        "ExperimentalDetectronDetectionOutput ExperimentalDetectronPriorGridGenerator "
        "ExperimentalDetectronROIFeatureExtractor ExperimentalDetectronTopKROIs"
    ),
    "einsum": "Einsum",
    "gather": "Gather GatherElements GatherND GatherTree",
    "interpolate": "Interpolate",
    "join": "Concat Split VariadicSplit",
    "linear_algebra": "Eye GroupedMatMul Inverse",
    "logic": (
        "BitwiseAnd BitwiseLeftShift BitwiseNot BitwiseOr BitwiseRightShift BitwiseXor LogicalAnd LogicalNot "
        "LogicalOr LogicalXor Xor"
    ),
    "lookup": "Bucketize SearchSorted",
    "math": (
        "Abs Acos Acosh Asin Asinh Atan Atanh Ceiling Cos Cosh Erf ErfInv Exp Floor Log Negative Round Sign "
        "Sin Sinh Sqrt Tan"
    ),
    "matmul": "MatMul",
    "nms": "NMSRotated NonMaxSuppression",
    "normalization": "LogSoftmax MVN SoftMax",
    "normalization_spatial": "BatchNormInference GRN GroupNormalization LRN NormalizeL2",
    "pad": "Pad",
    "pooling": "AvgPool MaxPool",
    "pooling_adaptive": "AdaptiveAvgPool AdaptiveMaxPool",
    "priors": "PriorBox PriorBoxClustered",
    "proposals": "ExperimentalDetectronGenerateProposalsSingleImage GenerateProposals Proposal",
    "quantize": "FakeConvert FakeQuantize",
    "random": "Multinomial RandomUniform",
    "rearrange": (
        "BatchToSpace Col2Im DepthToSpace ExtractImagePatches ReorgYolo ShuffleChannels SpaceToBatch SpaceToDepth"
    ),
    "recurrent_cells": "GRUCell LSTMCell RNNCell",
    "recurrent_sequences": "GRUSequence LSTMSequence RNNSequence",
    "reduction": (
        "ReduceL1 ReduceL2 ReduceLogicalAnd ReduceLogicalOr ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum"
    ),
    "reorder": "Reverse ReverseSequence Roll",
    "roi_pooling": "DeformablePSROIPooling PSROIPooling ROIPooling",
    "sampling": "GridSample ROIAlign ROIAlignRotated",
    "scatter": "ScatterElementsUpdate ScatterNDUpdate ScatterUpdate",
    "search": "CumSum NonZero TopK Unique",
    "segments": (
        "EmbeddingBagOffsets EmbeddingBagOffsetsSum EmbeddingBagPacked EmbeddingBagPackedSum EmbeddingSegmentsSum "
        "SegmentMax SparseFillEmptyRows"
    ),
    "select": "Select",
    "shape": "Reshape ShapeOf Squeeze Transpose Unsqueeze",
    "signal": "DFT IDFT IRDFT ISTFT RDFT STFT",
    "slice": "Slice SliceScatter StridedSlice",
    "sources": "Assign Const Parameter ReadValue Result",
    "text": "StringTensorPack StringTensorUnpack",
}
"""Types by the name of their module in ir_exec.ops."""
