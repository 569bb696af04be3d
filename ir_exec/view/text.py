"""Texts of files as a page shows them: printable, and no longer than a person reads."""

from __future__ import annotations

from collections.abc import Sequence

from ir_exec.printable import printable

__all__ = ["LONGEST_NAME", "LONGEST_SOURCE", "shown", "source_of_layers"]

LONGEST_NAME = 400
"""Characters of a name, an attribute, or a line."""

LONGEST_SOURCE = 6000
"""Characters of the source of a layer."""


def shown(text: str, most: int = LONGEST_NAME) -> str:
    """The text without characters that are not seen, cut where it is too long: `aaa... (1,048,576 characters)`."""
    if len(text) <= most:
        return printable(text)
    return f"{printable(text[:most])}... ({len(text):,} characters)"


def source_of_layers(raw: bytes, lines: Sequence[int]) -> dict[int, str]:
    """For each line on which a layer begins its element, up to its end or its first body."""
    text = raw.decode("utf-8", "replace").split("\n")
    found: dict[int, str] = {}
    starts = sorted({line for line in lines if 0 < line <= len(text)})
    for start, following in zip(starts, [*starts[1:], len(text) + 1], strict=True):
        taken: list[str] = []
        length = 0
        margin = len(text[start - 1]) - len(text[start - 1].lstrip())
        # A layer without others inside ends before the next one begins, or where its element does.
        for line in text[start - 1 : max(following - 1, start)]:
            length += len(line) + 1
            taken.append(shown(line[min(margin, len(line) - len(line.lstrip())) :].rstrip("\r").replace("\t", "    ")))
            if "</layer>" in line:
                break
            if length > LONGEST_SOURCE:
                taken.append("...")
                break
        found[start] = "\n".join(taken)
    return found
