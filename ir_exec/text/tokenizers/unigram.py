"""Tokens of a unigram language model: the path with the best score."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ir_exec.kernels.limits import check_time, current_limits
from ir_exec.types import Array

__all__ = ["Unigram"]

_PENALTY = np.float32(10)
"""The difference of the score of unknown characters from the worst entry, as in SentencePiece."""

_POSITION_BYTES = 112
"""Bytes of a position of the text: its score, where its best path came from, and by which token."""

_CHECKED = 2**8 - 1
"""The time is checked at steps without these bits."""

_WIDTHS = [1] * 12 + [2, 2, 3, 4]
"""The number of bytes of a character by the upper four bits of its first byte."""


class Unigram:
    """Tokenizer by a vocabulary with scores, f32."""

    def __init__(self, texts: Sequence[bytes], scores: Array, unknown: int) -> None:
        self._unknown = unknown
        self._scores = list(scores)
        self._unknown_score = (scores.min() if scores.size else np.float32(0)) - _PENALTY
        self._tokens = {text: token for token, text in reversed(list(enumerate(texts))) if text}
        lengths: dict[int, set[int]] = {}
        for text in self._tokens:
            lengths.setdefault(text[0], set()).add(len(text))
        self._lengths = {first: sorted(text_lengths) for first, text_lengths in lengths.items()}

    def tokens(self, text: bytes) -> list[int]:
        """Return the tokens of a text; consecutive unknown tokens are merged.

        Raises:
            ResourceError: If the text exceeds the memory budget or the time limit of the run.
        """
        size = len(text)
        current_limits().require(_POSITION_BYTES * size)
        steps = 0
        nothing = np.float32(-np.inf)
        best: list[np.float32] = [nothing] * (size + 1)
        came_from, by = [-1] * (size + 1), [self._unknown] * (size + 1)
        best[0], came_from[0] = np.float32(0), 0
        tokens, scores = self._tokens, self._scores
        at = 0
        while at < size:
            steps += 1
            if not steps & _CHECKED:
                check_time()
            here = best[at]
            width = min(_WIDTHS[text[at] >> 4], size - at)
            if came_from[at] < 0:
                # No path ends within a character.
                at += width
                continue
            has_character = False
            for length in self._lengths.get(text[at], ()):
                if at + length > size:
                    break
                token = tokens.get(text[at : at + length])
                if token is None:
                    continue
                has_character = has_character or length == width
                score = scores[token] + here
                end = at + length
                if came_from[end] < 0 or score > best[end]:
                    best[end], came_from[end], by[end] = score, at, token
            if not has_character:
                score, end = self._unknown_score + here, at + width
                if came_from[end] < 0 or score > best[end]:
                    best[end], came_from[end], by[end] = score, at, self._unknown
            at += width
        return self._walked_back(size, came_from, by)

    def _walked_back(self, size: int, came_from: list[int], by: list[int]) -> list[int]:
        tokens: list[int] = []
        at = size
        while at > 0:
            token = by[at]
            if not (token == self._unknown and tokens and tokens[-1] == self._unknown):
                tokens.append(token)
            at = came_from[at]
        return tokens[::-1]
