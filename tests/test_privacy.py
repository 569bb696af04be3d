"""Tests use the package as others do: they reach into no private name of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent

OF_OTHERS = frozenset(
    [
        "_Element",
        "_asdict",
        "_default_value",
        "_exit",
        "_fields",
        "_lru_cache_wrapper",
        "_make",
        "_replace",
        "_repr_html_",
    ]
)
"""Names of Python, lxml, onnxruntime and IPython that begin with an underscore and are meant to be used."""


@pytest.mark.parametrize("folder", sorted({path.parent for path in TESTS.rglob("*.py")}), ids=lambda path: path.name)
def test_no_private_name_is_used(folder: Path) -> None:
    violations = [
        f"{path.relative_to(TESTS)}:{line}: {name}"
        for path in sorted(folder.glob("*.py"))
        for line, name in _private(ast.parse(path.read_text("utf-8")))
        if name not in OF_OTHERS
    ]
    assert violations == []


def _private(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="self" | "cls")):
                continue
            case ast.Attribute(attr=name):
                parts = [name]
            case ast.ImportFrom(module=str(module), names=names) if module.startswith("ir_exec"):
                parts = [name.name for name in names]
            case ast.Call(func=ast.Attribute(attr="setattr"), args=[_, ast.Constant(value=str(name)), *_]):
                parts = [name]
            case ast.Call(func=ast.Name(id="getattr" | "setattr"), args=[_, ast.Constant(value=str(name)), *_]):
                parts = [name]
            case ast.Subscript(value=ast.Call(func=ast.Name(id="vars")), slice=ast.Constant(value=str(name))):
                parts = [name]
            case ast.Constant(value=str(path)) if path.startswith(("ir_exec.", "tests.")) and " " not in path:
                parts = path.split(".")
            case _:
                continue
        for name in parts:
            if name.startswith("_") and not name.startswith("__"):
                yield node.lineno, name
