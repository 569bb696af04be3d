"""Operators of extensions that ir_exec runs itself, and the modules of their classes, which stand far above.

They are named by strings, as readers are: a network without them imports nothing of them.
"""

from __future__ import annotations

__all__ = ["EXTENSION_MODULES", "EXTENSION_VERSIONS"]

EXTENSION_VERSIONS = frozenset({"extension", "openvino_tokenizers"})
"""The versions that files give these layers."""

_TYPES = {
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
