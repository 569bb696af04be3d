"""Examples of documents: extracted from the Markdown, run, and compared with the output that they show."""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import shlex
from typing import Any

from click.testing import CliRunner

from ir_exec.cli import main

__all__ = ["blocks", "blocks_of", "check_console", "run_example"]


def blocks(text: str) -> list[tuple[str, str]]:
    """Language and content of every code block."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def blocks_of(text: str, language: str) -> list[str]:
    """The content of every code block in a language."""
    return [content for block_language, content in blocks(text) if block_language == language]


def check_console(block: str) -> None:
    """Each `$ ir-exec` line prints the lines below it; `...` matches anything."""
    for example in re.split(r"^\$ ir-exec ", block, flags=re.MULTILINE)[1:]:
        arguments, _, shown = example.partition("\n")
        result = CliRunner().invoke(main, shlex.split(arguments))
        assert not result.exception or isinstance(result.exception, SystemExit)
        if shown.strip():
            printed = "\n".join(line.rstrip() for line in result.output.strip().splitlines())
            assert doctest.OutputChecker().check_output(shown.strip(), printed, doctest.ELLIPSIS), printed


def run_example(block: str, names: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The comments after a block's prints, and the lines that it prints; `names` holds its variables."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block, "example", "exec"), names)
    expected: list[str] = re.findall(r"print\(.*\)  # (.*)", block)
    return expected, printed.getvalue().splitlines()
