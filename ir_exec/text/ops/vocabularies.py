"""Operators that look up strings and tokens in a vocabulary."""

from __future__ import annotations

from typing import Any

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import ElementTypeError
from ir_exec.kernels.limits import current_limits
from ir_exec.kernels.strings import join_strings
from ir_exec.ops.base import In, Op
from ir_exec.ops.base.attributes import Ints
from ir_exec.ops.base.shapes import require_one_element, require_rank
from ir_exec.text.ops.base import (
    RAGGED_STRINGS,
    STRINGS,
    TextOp,
    kept_with,
    ragged_type,
    require_vector,
    strings_of,
    strings_type,
    text_op,
    vector,
)
from ir_exec.types import Array, Dim, ElementType, Shape, TensorType

__all__ = ["ByteFallback", "VocabDecoder", "VocabEncoder"]

VOCABULARY = ("vocab_begins", "vocab_ends", "vocab_chars")

_TOKEN_BYTES = 96
"""Bytes of a token in lists: its number, its text, and the begin and end of its row."""


@text_op("VocabEncoder")
class VocabEncoder(TextOp):
    """The value of every string in a vocabulary; `default` for unknown strings.

    The first of equal keys is used.

    Source: openvino_tokenizers, vocab_encoder.cpp.

    Args:
        values: i32 or i64.

    Inputs:
        begins: Strings.
        ends: Strings.
        chars: Strings.
        vocab_begins: The keys.
        vocab_ends: The keys.
        vocab_chars: The keys.
        default: One element of the same type.

    Outputs:
        output: The shape of begins and the type of values.
    """

    generations = ((*STRINGS, *VOCABULARY, "values", "default"),)
    any_kind = frozenset({"values", "default"})
    algorithm = "whole words"
    token_input = "values"

    def infer_inputs(self, *, begins: TensorType, chars: TensorType, values: TensorType, **others: TensorType) -> Any:
        require_vector(chars, "chars")
        require_one_element(others["default"], "default")
        if values.element_type not in (ElementType.i32, ElementType.i64, ElementType.dynamic):
            raise ElementTypeError(
                "values is",
                actual=values.element_type,
                expected="i32 or i64",
                code=Code.element_type_not_taken,
                port="values",
            )
        return TensorType(values.element_type, begins.shape)

    def evaluate_inputs(
        self, *, begins: Array, ends: Array, chars: Array, values: Array, default: Array, **vocabulary: Array
    ) -> Array:
        arrays = [vocabulary[name] for name in VOCABULARY]

        def make_table() -> dict[bytes, int]:
            keys = strings_of(arrays[0], arrays[1], arrays[2], "vocab_begins")
            return dict(zip(keys[::-1], values.ravel().tolist()[::-1][-len(keys) :] if keys else [], strict=False))

        table = kept_with([*arrays, values], "encoder", make_table)
        missing = default.ravel()[0]
        current_limits().require(_TOKEN_BYTES * begins.size)
        tokens = [table.get(text, missing) for text in strings_of(begins, ends, chars)]
        return np.array(tokens, values.dtype).reshape(begins.shape)


@text_op("VocabDecoder")
class VocabDecoder(Op):
    """The text of every token; an empty string for skipped and unknown tokens.

    Source: openvino_tokenizers, vocab_decoder.cpp.

    Inputs:
        tokens: i32, [batch, length].
        vocab_begins: Strings, whose index is their token.
        vocab_ends: Strings, whose index is their token.
        vocab_chars: Strings, whose index is their token.
        skipped: i32, a vector; by default the attribute skip_tokens.

    Outputs:
        outputs: Ragged strings, a row for each batch entry. A row without tokens contains one empty string.
    """

    inputs = (
        In("tokens", types=frozenset({ElementType.i32})),
        In("vocab_begins", types=frozenset({ElementType.i32})),
        In("vocab_ends", types=frozenset({ElementType.i32})),
        In("vocab_chars", types=frozenset({ElementType.u8})),
        In("skipped", types=frozenset({ElementType.i32}), optional=True),
    )
    outputs = RAGGED_STRINGS

    skip_tokens: Ints = ()

    def infer(
        self,
        tokens: TensorType,
        vocab_begins: TensorType,
        vocab_ends: TensorType,
        vocab_chars: TensorType,
        skipped: TensorType | None = None,
    ) -> Any:
        require_rank(tokens, 2, "tokens")
        require_rank(vocab_chars, 1, "vocab_chars")
        batch = tokens.shape[0] if tokens.rank is not None else Dim.any()
        rows = ragged_type(Shape([batch]), ElementType.i32)[:2]
        return *rows, *strings_type(Shape([Dim.any()]))

    def evaluate(
        self, tokens: Array, vocab_begins: Array, vocab_ends: Array, vocab_chars: Array, skipped: Array | None = None
    ) -> Any:
        arrays = [vocab_begins, vocab_ends, vocab_chars]
        texts = kept_with(arrays, "decoder", lambda: strings_of(vocab_begins, vocab_ends, vocab_chars, "vocab_begins"))
        left_out = set(self.skip_tokens if skipped is None else skipped.ravel().tolist())
        batch, length = tokens.shape
        current_limits().require(_TOKEN_BYTES * (tokens.size + batch))
        strings = [
            texts[token] if 0 <= token < len(texts) and token not in left_out else b""
            for token in tokens.ravel().tolist()
        ]
        if not length:
            strings = [b""] * batch
        step = max(length, 1)
        begins = [step * row for row in range(batch)]
        return vector(begins), vector([begin + step for begin in begins]), *join_strings(strings, (len(strings),))


@text_op("ByteFallback")
class ByteFallback(TextOp):
    """Replacement of strings `<0xNN>` by the byte NN.

    OpenVINO replaces all other strings of six characters in angle brackets, such as `<mask>`, by the byte 255; here
    they are unchanged, as in Hugging Face's tokenizers.

    Source: openvino_tokenizers, byte_fallback.cpp.

    Outputs:
        begins: Strings.
        ends: Strings.
        chars: Strings.
    """

    generations = (STRINGS,)
    outputs = STRINGS

    def infer_inputs(self, *, begins: TensorType, ends: TensorType, chars: TensorType) -> Any:
        require_vector(chars, "chars")
        return strings_type(begins.shape)

    def evaluate_inputs(self, *, begins: Array, ends: Array, chars: Array) -> Any:
        bytes_by_text = {b"<0x%02X>" % byte: bytes([byte]) for byte in range(256)}
        strings = strings_of(begins, ends, chars)
        return join_strings((bytes_by_text.get(text, text) for text in strings), begins.shape)
