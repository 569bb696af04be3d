"""A class name occurs once in the package: a name, in code or in a trace, identifies the class."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import ir_exec

PACKAGE = Path(ir_exec.__file__).parent


def test_a_class_name_occurs_once() -> None:
    names = Counter(
        node.name
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ClassDef)
    )
    assert [name for name, count in names.items() if count > 1] == []
