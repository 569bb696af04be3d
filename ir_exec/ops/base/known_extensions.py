"""Operators of extensions that ir_exec runs itself, and the modules of their classes, which stand far above.

They are named by strings, as readers are: a network without them imports nothing of them.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["EXTENSION_MODULES", "EXTENSION_VERSIONS", "InternalOperator", "internal_operator"]

EXTENSION_VERSIONS = frozenset({"extension", "openvino_tokenizers", "ie_internal_opset"})
"""The versions that files give these layers."""

_TYPES = {
    "ir_exec.text.ops.grouped_attention": ("GroupQueryAttention",),
    "ir_exec.text.ops.internal": ("GLU", "RMS", "RoPE"),
    "ir_exec.text.ops.normalization": ("CaseFold", "CharsMapNormalization", "NormalizeUnicode", "RegexNormalization"),
    "ir_exec.text.ops.ragged": (
        "CombineSegments",
        "FuzeRagged",
        "RaggedTensorPack",
        "RaggedToDense",
        "RaggedToRagged",
        "RaggedToSparse",
        "Truncate",
    ),
    "ir_exec.text.ops.recurrences": ("GatedDeltaNet", "SelectiveSSM"),
    "ir_exec.text.ops.sentencepiece": (
        "SentencepieceDetokenizer",
        "SentencepieceStreamDetokenizer",
        "SentencepieceTokenizer",
    ),
    "ir_exec.text.ops.splitting": ("BytesToChars", "CharsToBytes", "RegexSplit", "SpecialTokensSplit"),
    "ir_exec.text.ops.strings": (
        "ContribStringJoin",
        "ContribStringSplit",
        "EqualStr",
        "NumericToString",
        "StringTensorPack",
        "StringTensorUnpack",
        "StringToHashBucket",
        "UTF8Validate",
    ),
    "ir_exec.text.ops.tokens": ("BPETokenizer", "TrieTokenizer", "UnigramTokenizer", "WordpieceTokenizer"),
    "ir_exec.text.ops.vocabularies": ("ByteFallback", "VocabDecoder", "VocabEncoder"),
}

EXTENSION_MODULES = {name.lower(): module for module, names in _TYPES.items() for name in names}
"""The module of each type, by its name in lower case."""

_INTERNAL = {
    "batchgathermatmul": "products with the weights of chosen experts",
    "batchgathermatmulcompressed": "products with compressed weights of chosen experts",
    "causalmaskpreprocess": "the mask of causal attention",
    "dynamicquantize": "a quantization with scales of the run",
    "fullyconnected": "a product with weights",
    "fullyconnectedcompressed": "a product with compressed weights",
    "fullyconnectedquantized": "a product with quantized weights",
    "gateddeltanet": "linear attention with a gated delta rule",
    "gathercompressed": "a gather from compressed weights",
    "glu": "a gated linear unit",
    "groupqueryattention": "attention with shared keys and values, and their cache",
    "indirectgemm": "a product with a cache whose rows are chosen",
    "indirectsdpa": "attention over a cache whose rows are chosen",
    "kvcache": "a cache of keys or values",
    "kvcachecompressed": "a compressed cache of keys or values",
    "llmmlp": "the feed-forward network of a language model",
    "moe": "a mixture of experts",
    "moecompressed": "a mixture of experts with compressed weights",
    "pakvreorder": "a copy of blocks in a cache of pages",
    "pagedattentionextension": "attention over pages of a cache",
    "pagedcausalconv1d": "a causal convolution over pages of a cache",
    "pagedgateddeltanet": "linear attention over pages of a cache",
    "pagedselectivessm": "a selective state space model over pages of a cache",
    "placeholder": "a missing input",
    "powerstatic": "a scale, a shift and a power",
    "qkvprojection": "the projections of an attention",
    "readkvcache": "a read of a cache of keys or values",
    "readvalue": "a read of a variable",
    "readvalues": "a read of several variables",
    "readvaluewithsubgraph": "a read of a variable with the layers of its first value",
    "rms": "a root mean square normalization",
    "rope": "rotary position embedding",
    "scaleddotproductattentionwithkvcache": "attention with its cache",
    "sdpa": "attention",
    "selectivessm": "a selective state space model",
    "subgraph": "several element-wise layers",
    "swiglu": "a gated linear unit",
    "swishcpu": "a Swish",
}
"""Operators that OpenVINO makes for itself, in lower case, and what they are."""

_CORE = frozenset(
    {
        "gateddeltanet",
        "groupqueryattention",
        "moe",
        "moecompressed",
        "pakvreorder",
        "pagedattentionextension",
        "pagedcausalconv1d",
        "pagedgateddeltanet",
        "pagedselectivessm",
        "selectivessm",
    }
)
"""Those that its core has, under the version `extension`, which is that of other extensions too."""

_OPSETS = {
    "cpu_plugin_opset": "OpenVINO's CPU plugin",
    "gpu_opset": "OpenVINO's GPU plugin",
    "ie_internal_opset": "OpenVINO's transformations",
    "SnippetsOpset": "OpenVINO's code generator for the CPU",
}
"""Opsets whose operators exist in compiled models alone, and what has them."""

_HINTS = {
    "groupqueryattention": "OpenVINO makes it of the operator of ONNX: read the ONNX file instead",
    "pagedattentionextension": "a transformation for continuous batching makes it: save the model before it",
}
_COMPILED = "the file holds a compiled or transformed model: save the model before it is compiled"


class InternalOperator(NamedTuple):
    """An operator that OpenVINO makes for itself: a name for it, and what to do with a file that holds it."""

    description: str
    hint: str


def internal_operator(key: str, version: str) -> InternalOperator | None:
    """The operator of this type, in lower case, where OpenVINO writes it and does not read it; else None."""
    owner = "OpenVINO's core" if version == "extension" and key in _CORE else _OPSETS.get(version)
    if owner is None:
        return None
    what = f", {_INTERNAL[key]}" if key in _INTERNAL else ""
    return InternalOperator(f"an internal operator of {owner}{what}", _HINTS.get(key, _COMPILED))
