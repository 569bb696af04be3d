"""Python's collector of cyclic garbage: the library leaves it alone, and a check leaves nothing to it."""

from __future__ import annotations

import ast
import gc
from pathlib import Path

import pytest

import ir_exec

PACKAGE = Path(ir_exec.__file__).parent


@pytest.mark.broad
def test_a_check_leaves_nothing_to_the_collector() -> None:
    path = Path(__file__).parent / "networks" / "script_loop_seq.xml"
    ir_exec.check_model(path)  # modules that are imported leave garbage
    gc.disable()
    try:
        gc.collect()
        ir_exec.check_model(path)
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_only_the_command_line_sets_the_collector() -> None:
    files = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "gc"
        if node.attr != "collect"
    }
    assert files == {"cli/process.py"}
