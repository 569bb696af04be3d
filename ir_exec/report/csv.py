"""Rows as CSV text."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["csv_text"]


def csv_text(rows: Sequence[Mapping[str, Any]], columns: Sequence[str] = ()) -> str:
    """Return rows as CSV text with a header; lines end with `\\n`.

    Args:
        columns: The first columns. Other keys of the rows follow in the order of their first occurrence.
    """
    names = list(dict.fromkeys((*columns, *(name for row in rows for name in row)))) or ["layer_id"]
    line = io.StringIO()
    # With this line end the module quotes both `\r` and `\n` in cells.
    writer = csv.DictWriter(line, names, lineterminator="\r\n")
    lines = []
    for row in (dict(zip(names, names, strict=True)), *rows):
        writer.writerow(row)
        lines.append(line.getvalue().removesuffix("\r\n"))
        line.seek(0)
        line.truncate()
    return "\n".join(lines) + "\n"
