"""Examples in Markdown: taken out, run, and compared with what they show."""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import shlex
from typing import Any

from click.testing import CliRunner

from ir_exec.cli import main

__all__ = ["blocks", "check_console", "check_python"]


def blocks(text: str) -> list[tuple[str, str]]:
    """Language and content of every code block."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def check_console(block: str) -> None:
    """Each `$ ir-exec` line prints what stands below it; `...` stands for anything."""
    for example in re.split(r"^\$ ir-exec ", block, flags=re.MULTILINE)[1:]:
        arguments, _, shown = example.partition("\n")
        result = CliRunner().invoke(main, shlex.split(arguments))
        assert not result.exception or isinstance(result.exception, SystemExit)
        if shown.strip():
            printed = "\n".join(line.rstrip() for line in result.output.strip().splitlines())
            assert doctest.OutputChecker().check_output(shown.strip(), printed, doctest.ELLIPSIS), printed


def check_python(block: str, namespace: dict[str, Any]) -> None:
    """The block prints what the comments behind its prints say."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block, "example", "exec"), namespace)
    expected = re.findall(r"print\(.*\)  # (.*)", block)
    assert printed.getvalue().splitlines()[: len(expected)] == expected, block
