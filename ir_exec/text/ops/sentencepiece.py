"""Operators that run a SentencePiece model with the package `sentencepiece`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, ShapeError
from ir_exec.kernels.limits import MemoryMeter, current_limits
from ir_exec.kernels.matching import MatchTimer, find_spans
from ir_exec.kernels.strings import encode_text, join_strings
from ir_exec.ops.base import In, Op
from ir_exec.ops.base.shapes import require_rank
from ir_exec.text.libraries import library
from ir_exec.text.ops.base import (
    STRINGS,
    GrowingVector,
    TextOp,
    bytes_of,
    kept_with,
    strings_of,
    strings_type,
    text_op,
)
from ir_exec.text.tokenizers.patterns import compile_pattern
from ir_exec.types import Array, Dim, ElementType, Shape, TensorType

__all__ = ["SentencepieceDetokenizer", "SentencepieceStreamDetokenizer", "SentencepieceTokenizer"]

_TOKEN_BYTES = 64
"""Bytes that SentencePiece takes for a byte of a text, and for a token in a list."""

_INDEX_BYTES = 40
"""Bytes of the row and the column of a token, also while they are computed."""

_SPECIAL = ("special_begins", "special_ends", "special_chars", "special_ids")


@text_op("SentencepieceTokenizer")
class SentencepieceTokenizer(TextOp):
    """The tokens of every text by a SentencePiece model, as a sparse tensor.

    Source: openvino_tokenizers, sentence_piece.cpp.

    Inputs:
        model_chars: u8, the serialized model.
        text: Strings; or text_begins, text_ends, text_chars.
        special_begins: Special tokens, at which texts are split first.
        special_ends: Special tokens, at which texts are split first.
        special_chars: Special tokens, at which texts are split first.
        special_ids: Special tokens, at which texts are split first.

    Attributes:
        nbest_size: Random sampling, for nbest_size other than 0 and 1.
        alpha: The smoothing of random sampling.
        add_bos: Add the start token.
        add_eos: Add the end token.
        reverse: Reverse the order of the tokens.

    Outputs:
        outputs: i64 indices [tokens, 2], i32 tokens, i64 shape.
    """

    generations = (
        ("model_chars", "text"),
        ("model_chars", "text_begins", "text_ends", "text_chars"),
        ("model_chars", "text", *_SPECIAL),
        ("model_chars", "text_begins", "text_ends", "text_chars", *_SPECIAL),
    )
    any_kind = frozenset({"text"})
    outputs = ("indices", "tokens", "shape")
    deterministic = False
    algorithm = "SentencePiece"

    nbest_size: int = 0
    alpha: float = 1.0
    add_bos: bool = False
    add_eos: bool = False
    reverse: bool = False

    def infer_inputs(self, *, model_chars: TensorType, **others: TensorType | None) -> Any:
        require_rank(model_chars, 1, "model_chars")
        text = others["text"]
        if text is not None and text.element_type not in (ElementType.string, ElementType.dynamic):
            raise ShapeError("text is", actual=text.element_type, expected="string", port="text")
        indices = TensorType(ElementType.i64, Shape([Dim.any(), 2]))
        tokens = TensorType(ElementType.i32, Shape([Dim.any()]))
        return indices, tokens, TensorType(ElementType.i64, Shape([2]))

    def evaluate_inputs(self, *, model_chars: Array, **others: Any) -> Any:
        model = _processor(model_chars)
        encode = self._encoder(model)
        texts = _texts(others)
        if others["special_begins"] is not None:
            encode = self._with_special_tokens(encode, model, others, MatchTimer(sum(map(len, texts)), None))
        else:
            encode = self._with_ends(encode, model)
        meter = MemoryMeter()
        tokens, lengths = GrowingVector(meter), GrowingVector(meter)
        for text in texts:
            current_limits().require(_TOKEN_BYTES * len(text))
            row = encode(text)
            meter.add(_INDEX_BYTES * len(row))
            tokens.extend(row)
            lengths.append(len(row))
        counts = lengths.array().astype(np.int64)
        rows = np.repeat(np.arange(len(texts)), counts)
        columns = np.arange(len(tokens)) - np.repeat(np.cumsum(counts) - counts, counts)
        shape = np.array([len(texts), counts.max(initial=0)], np.int64)
        return np.stack([rows, columns], axis=-1), tokens.array(), shape

    def _encoder(self, model: Any) -> Callable[[bytes], list[int]]:
        if self.nbest_size in (0, 1):
            return lambda text: list(model.encode(text.decode("utf-8", "replace"), out_type=int))
        settings = {"enable_sampling": True, "nbest_size": self.nbest_size, "alpha": self.alpha}
        return lambda text: list(model.encode(text.decode("utf-8", "replace"), out_type=int, **settings))

    def _with_ends(self, encode: Callable[[bytes], list[int]], model: Any) -> Callable[[bytes], list[int]]:
        def encode_with_ends(text: bytes) -> list[int]:
            tokens = encode(text)
            first = [model.bos_id()] if self.add_bos else []
            last = [model.eos_id()] if self.add_eos else []
            return [*first, *tokens, *last][:: -1 if self.reverse else 1]

        return encode_with_ends

    def _with_special_tokens(
        self, encode: Callable[[bytes], list[int]], model: Any, others: dict[str, Any], timer: MatchTimer
    ) -> Callable[[bytes], list[int]]:
        names = strings_of(others["special_begins"], others["special_ends"], others["special_chars"], "special_begins")
        ids = dict(zip(names, others["special_ids"].ravel().tolist(), strict=False))
        search = compile_pattern(b"|".join([_quote(name) for name in names]))

        def encode_with_special_tokens(text: bytes) -> list[int]:
            tokens: list[int] = []
            position = 0
            string = text.decode("utf-8", "surrogateescape")
            spans = iter(find_spans(search, string, timer) if names else ())
            for start, end in zip(spans, spans, strict=True):
                if position < start:
                    tokens += self._part(encode, model, string[position:start])
                tokens.append(ids[string[start:end].encode("utf-8", "surrogateescape")])
                position = end
            if position < len(string):
                tokens += self._part(encode, model, string[position:])
            tokens += [model.eos_id()] if self.add_eos else []
            return tokens[::-1] if self.reverse else tokens

        return encode_with_special_tokens

    def _part(self, encode: Callable[[bytes], list[int]], model: Any, text: str) -> list[int]:
        """The tokens of a text between special tokens; as in OpenVINO, each begins with bos."""
        tokens = encode(text.encode("utf-8", "surrogateescape"))
        return [model.bos_id(), *tokens] if self.add_bos else tokens


def _quote(name: bytes) -> bytes:
    """A pattern for a special token; a token of letters only must begin or end a word."""
    quoted = re.sub(rb"[.^$*+?()\[\]{}|\\]", rb"\\\g<0>", name)
    return rb"\b" + quoted + b"|" + quoted + rb"\b" if name.isalpha() else quoted


def _texts(others: dict[str, Any]) -> list[bytes]:
    if others["text"] is not None:
        return list(map(encode_text, others["text"].ravel().tolist()))
    return strings_of(others["text_begins"], others["text_ends"], others["text_chars"], "text_begins")


def _processor(model: Array) -> Any:
    """The model; EvaluationError (IR704) for bytes that SentencePiece cannot read."""

    def load() -> Any:
        sentencepiece = library("sentencepiece", "a SentencePiece model")
        try:
            return sentencepiece.SentencePieceProcessor(model_proto=bytes_of(model))
        except (RuntimeError, OSError, ValueError) as error:
            message = f"SentencePiece cannot read the model: {error}"
            raise EvaluationError(message, code=Code.bad_value, port="model_chars") from None

    return kept_with([model], "sentencepiece", load)


class _Detokenizer(Op):
    inputs = (
        In("model_chars", types=frozenset({ElementType.u8})),
        In("tokens", types=frozenset({ElementType.i32})),
    )
    outputs = STRINGS

    def infer(self, model_chars: TensorType, tokens: TensorType) -> Any:
        require_rank(model_chars, 1, "model_chars")
        require_rank(tokens, 2, "tokens")
        return strings_type(Shape([tokens.shape[0] if tokens.rank is not None else Dim.any()]))


@text_op("SentencepieceDetokenizer")
class SentencepieceDetokenizer(_Detokenizer):
    """The text of each row of tokens by a SentencePiece model; unknown tokens are omitted.

    Source: openvino_tokenizers, sentence_piece.cpp.

    Inputs:
        model_chars: u8, the serialized model.
        tokens: i32, [batch, length].

    Outputs:
        outputs: Strings, [batch].
    """

    def evaluate(self, model_chars: Array, tokens: Array) -> Any:
        model = _processor(model_chars)
        size = model.get_piece_size()
        rows = [[token for token in row if 0 <= token < size] for row in tokens.tolist()]
        return join_strings((model.decode(row).encode("utf-8", "surrogateescape") for row in rows), (len(rows),))


@text_op("SentencepieceStreamDetokenizer")
class SentencepieceStreamDetokenizer(_Detokenizer):
    """Concatenation of the vocabulary entries of each row of tokens, with U+2581 for spaces; `<0xNN>` become bytes.

    Source: openvino_tokenizers, sentence_piece.cpp.

    Inputs:
        model_chars: u8, the serialized model.
        tokens: i32, [batch, length].

    Outputs:
        outputs: Strings, [batch].
    """

    def evaluate(self, model_chars: Array, tokens: Array) -> Any:
        model = _processor(model_chars)
        size = model.get_piece_size()
        rows = ((_piece(model, token) for token in row if 0 <= token < size) for row in tokens.tolist())
        return join_strings((_join_pieces(row) for row in rows), (len(tokens),))


def _join_pieces(pieces: Iterable[bytes]) -> bytes:
    meter, joined = MemoryMeter(), bytearray()
    for piece in pieces:
        meter.add(2 * len(piece) + 1)
        joined += piece
    return bytes(joined)


def _piece(model: Any, token: int) -> bytes:
    piece: str = model.id_to_piece(token)
    byte = re.fullmatch(r"<0x([0-9A-F]{2})>", piece)
    return bytes.fromhex(byte[1]) if byte else piece.encode("utf-8", "surrogateescape")
