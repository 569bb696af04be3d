"""Byte pair encoding of words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import pairwise

from ir_exec.kernels.limits import check_time, current_limits
from ir_exec.text.tokenizers.longest_entries import LongestEntry

__all__ = ["BytePairs"]

_REMEMBERED = 2**16
"""Maximum number of words whose tokens are cached: words of a language recur."""

_LONGEST_REMEMBERED = 64

_SYMBOL_BYTES = 320
"""Bytes of a symbol while a word is merged: its neighbors, and its entry in the queue of pairs."""

_CHECKED = 2**10 - 1
"""The time is checked at steps without these bits."""

_FOUND = 2**6 - 1
"""The time is checked after so many symbols."""


class BytePairs:
    """Tokenizer of words by rules that merge neighboring tokens.

    Args:
        vocabulary: The token of each text.
        rules: Pairs of texts in the order of their priority; both texts and their concatenation must be in the
            vocabulary (KeyError).
        unknown: The text of the token for bytes that no entry begins with.
        suffix: Text that is appended to each word.
        byte_fallback: Use the tokens `<0xNN>` before `unknown`.
    """

    def __init__(
        self,
        vocabulary: Mapping[bytes, int],
        rules: Sequence[tuple[bytes, bytes]],
        unknown: bytes,
        suffix: bytes,
        byte_fallback: bool,
    ) -> None:
        self._suffix = suffix
        self._unknown = vocabulary.get(unknown, -1)
        self._bytes = [vocabulary.get(b"<0x%02X>" % byte, -1) if byte_fallback else -1 for byte in range(256)]
        self._rules: dict[tuple[int, int], tuple[int, int]] = {}
        merge_results = set()
        for rank, (left, right) in enumerate(rules):
            merged = left + right
            self._rules[vocabulary[left], vocabulary[right]] = rank, vocabulary[merged]
            merge_results.add(merged)
        self._first = LongestEntry({text: token for text, token in vocabulary.items() if text not in merge_results})
        self._kept: dict[bytes, tuple[int, ...]] = {}

    def tokens(self, text: bytes) -> tuple[int, ...]:
        """Return the tokens of a word.

        Raises:
            ResourceError: If the word exceeds the memory budget or the time limit of the run.
        """
        ids = self._kept.get(text)
        if ids is None:
            current_limits().require(_SYMBOL_BYTES * (len(text) + len(self._suffix)))
            ids = tuple(self._merge_symbols(self._symbols(text + self._suffix)))
            if len(text) <= _LONGEST_REMEMBERED and len(self._kept) < _REMEMBERED:
                self._kept[text] = ids
        return ids

    def _symbols(self, text: bytes) -> list[int]:
        """The tokens before merging."""
        symbols: list[int] = []
        at = 0
        while at < len(text):
            if len(symbols) & _FOUND == _FOUND:
                check_time()
            token, end = self._first.find(text, at)
            if end == at:
                token, end = self._bytes[text[at]], at + 1
                token = self._unknown if token < 0 else token
            if token >= 0:
                symbols.append(token)
            at = end
        return symbols

    def _merge_symbols(self, symbols: list[int]) -> list[int]:
        """The tokens after all merges: in order of rank; of equal ranks, the pair that existed first."""
        rules = self._rules
        following = [*range(1, len(symbols)), -1]
        previous = list(range(-1, len(symbols) - 1))
        # The rank, the creation step of the pair, its two positions, and the merged token.
        waiting = [
            (rule[0], position, position, position + 1, rule[1])
            for position, pair in enumerate(pairwise(symbols))
            if (rule := rules.get(pair)) is not None
        ]
        heapify(waiting)
        alive = [True] * len(symbols)
        step = len(symbols) - 1
        first_place = 0
        while waiting:
            if not len(waiting) & _CHECKED:
                check_time()
            _, _, left, right, merged = heappop(waiting)
            if not (alive[left] and alive[right]):
                continue
            position = len(symbols)
            before, after = previous[left], following[right]
            symbols.append(merged)
            alive[left] = alive[right] = False
            alive.append(True)
            previous.append(before)
            following.append(after)
            step += 1
            if before < 0:
                first_place = position
            else:
                following[before] = position
                if (rule := rules.get((symbols[before], merged))) is not None:
                    heappush(waiting, (rule[0], step, before, position, rule[1]))
            if after >= 0:
                previous[after] = position
                if (rule := rules.get((merged, symbols[after]))) is not None:
                    heappush(waiting, (rule[0], step, position, after, rule[1]))
        tokens = []
        position = first_place if symbols else -1
        while position >= 0:
            tokens.append(symbols[position])
            position = following[position]
        return tokens
