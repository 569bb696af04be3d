"""The thresholds: few, each with its reason, each read by some kernel where it can be replaced."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import ir_exec
from ir_exec.tuning import thresholds

PACKAGE = Path(ir_exec.__file__).parent
SOURCE = Path(thresholds.__file__)
NAMES = {name for name in vars(thresholds) if name.isupper()}


def test_thresholds_are_few_with_reasons() -> None:
    assert len(NAMES) <= 40
    body = ast.parse(SOURCE.read_text(encoding="utf-8")).body
    for node, behind in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.Assign):
            reason = behind.value if isinstance(behind, ast.Expr) else None
            assert isinstance(reason, ast.Constant), ast.unparse(node)
            assert len(str(reason.value)) > 80, ast.unparse(node)


def test_every_one_is_read_by_its_name() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py") if path != SOURCE)
    assert set(re.findall(r"\bthresholds\.([A-Z_]+)", text)) == NAMES
    assert "from ir_exec.tuning.thresholds import" not in text


def test_thresholds_are_not_read_on_import() -> None:
    # Bodies of functions are read when they are called; their defaults and decorators, and classes, on import.
    for path in (path for path in PACKAGE.rglob("*.py") if "thresholds." in path.read_text(encoding="utf-8")):
        pending: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
        while pending:
            node = pending.pop()
            is_read = (
                isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "thresholds"
            )
            assert not is_read, f"{path}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                pending += [node.args, *node.decorator_list]
            elif not isinstance(node, ast.Lambda):
                pending += ast.iter_child_nodes(node)


def test_no_test_sets_one_but_for_the_size_of_chunks() -> None:
    tests = Path(__file__).parent.parent
    setting = {
        path.relative_to(tests).as_posix()
        for path in tests.rglob("*.py")
        if path != Path(__file__)
        and re.search(r"setattr\(\s*thresholds\b|vars\(thresholds\)\.update", path.read_text("utf-8"))
    }
    # One makes chunks small, the other one proves that no threshold changes a value.
    assert setting == {"helpers/chunks.py", "conformance/numbers.py"}
