"""Examples of documents: taken out of the Markdown, run, and compared with what they say they print."""

from __future__ import annotations

import contextlib
import io
import re
from typing import Any

__all__ = ["blocks_of", "run_example"]


def blocks_of(text: str, language: str) -> list[str]:
    """The content of every code block in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def run_example(block: str, names: dict[str, Any]) -> tuple[list[str], list[str]]:
    """What the comments behind a block's prints say, and the lines that it prints; `names` holds its variables."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block, "example", "exec"), names)
    expected: list[str] = re.findall(r"print\(.*\)  # (.*)", block)
    return expected, printed.getvalue().splitlines()
