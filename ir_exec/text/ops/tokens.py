"""Operators that convert strings to tokens: byte pairs, WordPiece, longest entries, unigram."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError
from ir_exec.kernels.limits import MemoryMeter, check_time, current_limits
from ir_exec.ops.base.attributes import NonNegative
from ir_exec.text.ops.base import (
    I32,
    RAGGED_STRINGS,
    GrowingVector,
    TextOp,
    kept_with,
    ragged_type,
    require_vector,
    rows_of,
    strings_of,
    text_op,
)
from ir_exec.text.tokenizers.byte_pairs import BytePairs
from ir_exec.text.tokenizers.longest_entries import LongestEntry
from ir_exec.text.tokenizers.unigram import Unigram
from ir_exec.types import Array, TensorType

__all__ = ["BPETokenizer", "TrieTokenizer", "UnigramTokenizer", "WordpieceTokenizer"]

VOCABULARY = ("vocab_begins", "vocab_ends", "vocab_chars")


class Tokenizer(TextOp):
    """Base class of tokenizers: a row of the output is the tokens of all strings of the row.

    Outputs:
        outputs: i32, begins and ends of the rows, and the tokens.
    """

    outputs = ("begins", "ends", "tokens")

    def infer_inputs(self, *, ragged_begins: TensorType, chars: TensorType, **others: TensorType | None) -> Any:
        require_vector(chars, "chars")
        for name, tensor in others.items():
            if name.endswith("_chars"):
                require_vector(tensor, name)
        return ragged_type(ragged_begins.shape, I32)

    def evaluate_inputs(
        self, *, ragged_begins: Array, ragged_ends: Array, begins: Array, ends: Array, chars: Array, **vocabulary: Any
    ) -> Any:
        strings = strings_of(begins, ends, chars)
        rows = rows_of(ragged_begins, ragged_ends, len(strings))
        tokens_of = self.tokenizer(vocabulary)
        meter = MemoryMeter()
        tokens, row_begins, row_ends = (GrowingVector(meter) for _ in range(3))
        pending: list[int] = []
        for first, last in rows:
            row_begins.append(len(tokens))
            for index in range(first, last):
                pending += tokens_of(strings[index])
                if len(pending) >= _PENDING:
                    tokens.extend(pending)
                    pending.clear()
            tokens.extend(pending)
            pending.clear()
            row_ends.append(len(tokens))
        shape = ragged_begins.shape
        return row_begins.array(shape), row_ends.array(shape), tokens.array()

    def tokenizer(self, vocabulary: dict[str, Any]) -> Callable[[bytes], Sequence[int]]:
        """Return the function that computes the tokens of a string."""
        raise NotImplementedError


_PENDING = 2**10
"""Tokens that are appended at once."""

_TOKEN_BYTES = 9
"""Bytes of a token in a list, with its reserve."""

_CHECKED = 2**6 - 1
"""Tokens of a text after which time and memory are checked."""


def _check_list(tokens: Sequence[int]) -> None:
    current_limits().require(_TOKEN_BYTES * len(tokens))
    check_time()


_ADDED = ("added_begins", "added_ends", "added_chars", "added_ids")
_MERGES = ("merge_begins", "merge_ends", "merge_chars")
_RIGHT = ("right_begins", "right_ends", "right_chars")


@text_op("BPETokenizer")
class BPETokenizer(Tokenizer):
    """Byte pair encoding: adjacent tokens are merged, in the order of the merge rules.

    First the text is split into the longest entries that are not the result of a rule. Bytes without an entry are the
    token `<0xNN>` with `byte_fallback`, else `unk_token`, else omitted.

    Source: openvino_tokenizers, bpe_tokenizer.cpp.

    Inputs:
        ragged_begins: Ragged strings.
        ragged_ends: Ragged strings.
        chars: Ragged strings.
        vocab_begins: Strings, whose index is their token.
        vocab_ends: Strings, whose index is their token.
        vocab_chars: Strings, whose index is their token.
        merge_begins: The rules, `left right`; or their left sides (14 and 18 inputs; right_begins, right_ends and
            right_chars are the right sides).
        merge_ends: Like `merge_begins`.
        merge_chars: Like `merge_begins`.
        added_begins: Additional tokens (15 and 18 inputs).
        added_ends: Like `added_begins`.
        added_chars: Like `added_begins`.
        added_ids: Like `added_begins`.

    Attributes:
        fuse_unk: Ignored, as in OpenVINO: unknown tokens are not merged.
        suffix_indicator: Not used here.
        end_suffix: Text that is appended to strings (`</w>`).
        cache_capacity: Not used here.

    Outputs:
        begins: Ragged strings.
        ends: Ragged strings.

    Raises:
        IRError: IR704 for a rule with a side or result that is not a token.
    """

    generations = (
        (*RAGGED_STRINGS, *VOCABULARY, *_MERGES),
        (*RAGGED_STRINGS, *VOCABULARY, *_MERGES, *_RIGHT),
        (*RAGGED_STRINGS, *VOCABULARY, *_MERGES, *_ADDED),
        (*RAGGED_STRINGS, *VOCABULARY, *_MERGES, *_RIGHT, *_ADDED),
    )
    algorithm = "byte pair encoding"

    unk_token: str = ""
    fuse_unk: bool = False
    suffix_indicator: str = ""
    end_suffix: str = ""
    byte_fallback: bool = False
    cache_capacity: NonNegative = 20000

    def tokenizer(self, vocabulary: dict[str, Any]) -> Callable[[bytes], Sequence[int]]:
        arrays = [vocabulary[name] for name in (*VOCABULARY, *_MERGES, *_RIGHT, *_ADDED)]
        return kept_with(arrays, self, lambda: self._byte_pairs(vocabulary)).tokens

    def _byte_pairs(self, inputs: dict[str, Any]) -> BytePairs:
        vocabulary = {text: token for token, text in enumerate(_strings(inputs, "vocab"))}
        left = _strings(inputs, "merge")
        if inputs["right_begins"] is None:
            halves = [rule.partition(b" ") for rule in left]
            # Without a space, both sides are the complete rule.
            rules = [(first, last if space else first) for first, space, last in halves]
        else:
            rules = list(zip(left, _strings(inputs, "right"), strict=False))
        if inputs["added_begins"] is not None:
            added = dict(zip(_strings(inputs, "added")[::-1], inputs["added_ids"].ravel().tolist()[::-1], strict=False))
            vocabulary = added | vocabulary
        try:
            return BytePairs(vocabulary, rules, self.unk_token.encode(), self.end_suffix.encode(), self.byte_fallback)
        except KeyError as error:
            message = f"a merge needs the token {error.args[0]!r}, which the vocabulary does not contain"
            raise EvaluationError(message, code=Code.bad_value, port="merge_chars") from None


def _strings(inputs: dict[str, Any], name: str) -> list[bytes]:
    begins, ends, chars = (inputs[f"{name}_{part}"] for part in ("begins", "ends", "chars"))
    return strings_of(begins, ends, chars, f"{name}_begins")


@text_op("WordpieceTokenizer")
class WordpieceTokenizer(Tokenizer):
    """WordPiece: the longest prefix of every word in the vocabulary, then the longest continuations.

    Source: openvino_tokenizers, wordpiece_tokenizer.cpp.

    Inputs:
        ragged_begins: Ragged strings, words.
        ragged_ends: Ragged strings, words.
        chars: Ragged strings, words.
        vocab_begins: Strings, whose index is their token; continuations begin with `suffix_indicator`.
        vocab_ends: Like `vocab_begins`.
        vocab_chars: Like `vocab_begins`.
        unknown: An integer, the token of words that are not a sequence of entries, or have more than
            `max_bytes_per_word` bytes.

    Outputs:
        begins: Ragged strings, words.
        ends: Ragged strings, words.
    """

    generations = ((*RAGGED_STRINGS, *VOCABULARY, "unknown"),)
    any_kind = frozenset({"unknown"})
    algorithm = "WordPiece"

    suffix_indicator: str = "##"
    max_bytes_per_word: int = 100

    def tokenizer(self, vocabulary: dict[str, Any]) -> Callable[[bytes], Sequence[int]]:
        arrays = [vocabulary[name] for name in VOCABULARY]
        first, further = kept_with(arrays, self, lambda: self._entries(vocabulary))
        unknown = int(vocabulary["unknown"].ravel()[0])

        def tokens(text: bytes) -> list[int]:
            if len(text) > self.max_bytes_per_word:
                return [unknown]
            token, at = first.find(text, 0)
            ids = [token]
            while token >= 0 and at < len(text):
                if not len(ids) & _CHECKED:
                    _check_list(ids)
                token, at = further.find(text, at)
                ids.append(token)
            return ids if token >= 0 else [unknown]

        return tokens

    def _entries(self, vocabulary: dict[str, Any]) -> tuple[LongestEntry, LongestEntry]:
        mark = self.suffix_indicator.encode()
        first, further = {}, {}
        for token, text in enumerate(_strings(vocabulary, "vocab")):
            if text.startswith(mark):
                further[text[len(mark) :]] = token
            else:
                first[text] = token
        return LongestEntry(first), LongestEntry(further)


@text_op("TrieTokenizer")
class TrieTokenizer(Tokenizer):
    """The longest entries of the vocabulary from left to right, as in RWKV.

    Source: openvino_tokenizers, trie_tokenizer.cpp.

    Inputs:
        ragged_begins: Ragged strings.
        ragged_ends: Ragged strings.
        chars: Ragged strings.
        vocab_begins: Strings.
        vocab_ends: Strings.
        vocab_chars: Strings.
        ids: i32, their tokens.

    Outputs:
        begins: Ragged strings.
        ends: Ragged strings.

    Raises:
        IRError: IR704 for text without an entry, for which OpenVINO does not terminate.
    """

    generations = ((*RAGGED_STRINGS, *VOCABULARY, "ids"),)
    algorithm = "longest entries"
    token_input = "ids"

    def tokenizer(self, vocabulary: dict[str, Any]) -> Callable[[bytes], Sequence[int]]:
        def make_trie() -> LongestEntry:
            ids = vocabulary["ids"].ravel().tolist()
            return LongestEntry(dict(zip(_strings(vocabulary, "vocab"), ids, strict=False)))

        entries = kept_with([vocabulary[name] for name in (*VOCABULARY, "ids")], "trie", make_trie)

        def tokens(text: bytes) -> list[int]:
            ids: list[int] = []
            at = 0
            while at < len(text):
                if len(ids) & _CHECKED == _CHECKED:
                    _check_list(ids)
                token, end = entries.find(text, at)
                if end == at:
                    message = f"no entry of the vocabulary matches the text at byte {at}, {text[at]:#04x}"
                    raise EvaluationError(message, code=Code.bad_value, port="vocab_chars")
                ids.append(token)
                at = end
            return ids

        return tokens


@text_op("UnigramTokenizer")
class UnigramTokenizer(Tokenizer):
    """The entries with the greatest total score (a unigram language model, with the Viterbi algorithm).

    Characters without an entry are `unk_token_id`; consecutive ones are merged.

    Source: openvino_tokenizers, unigram_tokenizer.cpp.

    Inputs:
        ragged_begins: Ragged strings.
        ragged_ends: Ragged strings.
        chars: Ragged strings.
        vocab_begins: Strings, whose index is their token.
        vocab_ends: Strings, whose index is their token.
        vocab_chars: Strings, whose index is their token.
        scores: f32.

    Attributes:
        byte_fallback: Not used by OpenVINO.
        fuse_unk: Not used by OpenVINO.
        min_score: Not used by OpenVINO.

    Outputs:
        begins: Ragged strings.
        ends: Ragged strings.
    """

    generations = ((*RAGGED_STRINGS, *VOCABULARY, "scores"),)
    algorithm = "unigram"
    any_kind: ClassVar[frozenset[str]] = frozenset({"scores"})

    byte_fallback: bool = False
    unk_token_id: int = 0
    fuse_unk: bool = False
    min_score: float = 0.0

    def tokenizer(self, vocabulary: dict[str, Any]) -> Callable[[bytes], Sequence[int]]:
        def make_model() -> Unigram:
            scores = vocabulary["scores"].ravel().astype(np.float32)
            texts = _strings(vocabulary, "vocab")
            if len(texts) != len(scores):
                raise EvaluationError(
                    "the entries and scores of the vocabulary are",
                    actual=f"{len(texts)} and {len(scores)}",
                    expected="equal numbers",
                    code=Code.bad_value,
                    port="scores",
                )
            return Unigram(texts, scores, self.unk_token_id)

        return kept_with([vocabulary[name] for name in (*VOCABULARY, "scores")], self, make_model).tokens
