"""The numbers about speed and memory: each is read by some kernel, and by its name in `costs`."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import ir_exec
from ir_exec.kernels import costs

PACKAGE = Path(ir_exec.__file__).parent


def test_every_number_is_read_where_it_can_be_replaced() -> None:
    modules = [path for path in PACKAGE.rglob("*.py") if path != Path(costs.__file__)]
    text = "\n".join(path.read_text(encoding="utf-8") for path in modules)
    assert {name for name in vars(costs) if name.isupper()} == set(re.findall(r"\bcosts\.([A-Z_]+)", text))
    assert "from ir_exec.kernels.costs import" not in text


def test_no_number_is_read_while_modules_are_imported() -> None:
    # Bodies of functions are read when they are called; their defaults and decorators, and classes, on import.
    for path in (path for path in PACKAGE.rglob("*.py") if "costs." in path.read_text(encoding="utf-8")):
        pending: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
        while pending:
            node = pending.pop()
            is_number = (
                isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "costs"
            )
            assert not is_number, f"{path}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                pending += [node.args, *node.decorator_list]
            else:
                pending += ast.iter_child_nodes(node)
