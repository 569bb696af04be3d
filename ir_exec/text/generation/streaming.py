"""Streaming of text during generation."""

from __future__ import annotations

from collections.abc import Callable, Sequence

__all__ = ["TextStream"]


class TextStream:
    """Passes on new text once its characters are complete and it cannot be the start of a stop string.

    Args:
        decode: Converts tokens to text.
        on_text: Called with new text.
        stop_strings: Not passed on, nor any text after them.
    """

    def __init__(
        self, decode: Callable[[Sequence[int]], str], on_text: Callable[[str], None], stop_strings: Sequence[str] = ()
    ) -> None:
        self._decode = decode
        self._on_text = on_text
        self._stop_strings = stop_strings
        self._ids: list[int] = []
        self._passed = ""

    def add(self, token: int) -> None:
        """Add a token, and pass on the text that is complete."""
        self._ids.append(token)
        text = self._decode(self._ids)
        if not text.endswith("\ufffd") and text.startswith(self._passed):
            self._pass(text, len(text) - self._count_undecided(text))

    def end(self) -> None:
        """Pass on the remaining text."""
        if self._ids:
            text = self._decode(self._ids)
            self._pass(text, len(text))

    def _pass(self, text: str, end: int) -> None:
        stops = [at for string in self._stop_strings if (at := text.find(string)) >= 0]
        end = min([end, *stops])
        if end > len(self._passed):
            self._on_text(text[len(self._passed) : end])
            self._passed = text[:end]

    def _count_undecided(self, text: str) -> int:
        """The number of characters at the end that may begin a stop string."""
        sizes = [
            size for string in self._stop_strings for size in range(1, len(string)) if text.endswith(string[:size])
        ]
        return max(sizes, default=0)
