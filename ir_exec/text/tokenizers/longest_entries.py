"""Lookup of the longest entry of a vocabulary."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["LongestEntry"]


class LongestEntry:
    """Finds the longest entry at a position of a text."""

    def __init__(self, entries: Mapping[bytes, int]) -> None:
        self._entries = dict(entries)
        lengths: dict[int, set[int]] = {}
        for text in entries:
            if text:
                lengths.setdefault(text[0], set()).add(len(text))
        self._lengths = {first: sorted(text_lengths, reverse=True) for first, text_lengths in lengths.items()}

    def find(self, text: bytes, at: int) -> tuple[int, int]:
        """Return the token of the longest entry that begins at `at`, and its end; -1 and `at` if there is none."""
        if at < len(text):
            entries, left = self._entries, len(text) - at
            for length in self._lengths.get(text[at], ()):
                if length <= left:
                    token = entries.get(text[at : at + length])
                    if token is not None:
                        return token, at + length
        return -1, at
