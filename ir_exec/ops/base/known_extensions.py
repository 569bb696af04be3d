"""Operators of extensions that ir_exec runs itself, and the modules of their classes, which stand far above.

They are named by strings, as readers are: a network without them imports nothing of them.
"""

from __future__ import annotations

__all__ = ["EXTENSION_MODULES", "EXTENSION_VERSIONS", "INTERNAL"]

EXTENSION_VERSIONS = frozenset({"extension", "openvino_tokenizers", "ie_internal_opset"})
"""The versions that files give these layers."""

_TYPES = {
    "ir_exec.text.ops.internal": ("RMS",),
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

INTERNAL = {
    "fullyconnected": "a product with weights",
    "fullyconnectedcompressed": "a product with compressed weights",
    "gateddeltanet": "linear attention with a gated delta rule",
    "gathercompressed": "a gather from compressed weights",
    "glu": "a gated linear unit",
    "groupqueryattention": "attention with shared keys and values, and their cache",
    "moe": "a mixture of experts",
    "pagedattentionextension": "attention over pages of a cache",
    "placeholder": "a missing input",
    "rms": "a root mean square normalization",
    "rope": "rotary position embedding",
    "selectivessm": "a selective state space model",
    "swishcpu": "a Swish",
}
"""Operators that OpenVINO's runtime makes when it compiles a network, in lower case, and what they are."""
