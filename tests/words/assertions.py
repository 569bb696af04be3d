"""Sentences in the assertions of tests: literals with three or more plain words in a row.

Assertions compare classes, codes, places, names and numbers (`tests/helpers/facts.py`), and messages can be reworded.
Text that the test file itself contains elsewhere, such as the message of an error that the test raises, is no finding.
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from ir_exec.debug.comparison.records import Verdict
from tests.words.lint import ROOT

__all__ = [
    "SENTENCES",
    "Sentence",
    "counts_by_file",
    "excess_by_file",
    "load_sentences",
    "lower_sentences",
    "sentences",
    "sentences_of",
]

SENTENCES = Path(__file__).with_name("sentences.json")
"""The number of findings by file. It may only shrink."""

PLAIN_WORDS = re.compile(r"(?<![\w'`/.-])[a-z]+(?: +[a-z]+){2,}(?![\w(=])")
COMPARED = (ast.In, ast.NotIn, ast.Eq, ast.NotEq)
VERDICTS = frozenset(get_args(Verdict))
"""Values of an attribute."""
SEARCHES = frozenset(["count", "endswith", "find", "fullmatch", "index", "match", "search", "startswith"])
"""Methods of strings and functions of `re` that look for their argument."""


@dataclass(frozen=True)
class Sentence:
    """A sentence of a message or a page in an assertion."""

    path: str
    line: int
    words: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: “{self.words}” -> compare the class, the code, the place, names and numbers"


def sentences(paths: Iterable[str] = ("tests",)) -> list[Sentence]:
    """Return the findings in the Python files of folders below the root."""
    files = [file for path in paths for file in sorted((ROOT / path).rglob("*.py"))]
    return [
        Sentence(file.relative_to(ROOT).as_posix(), line, words)
        for file in files
        for line, words in sentences_of(file.read_text("utf-8"))
    ]


def sentences_of(source: str) -> list[tuple[int, str]]:
    """Return the line and the words of each finding in the source of a test file."""
    tree = ast.parse(source)
    compared = {id(literal): literal for literal in _compared_literals(tree)}
    own = "\n".join(literal.value for literal in _literals(tree) if id(literal) not in compared)
    matches = []
    for literal in compared.values():
        words = PLAIN_WORDS.search(literal.value)
        if words and words.group() not in own and literal.value not in VERDICTS:
            matches.append((literal.lineno, words.group()))
    return sorted(matches)


def _literals(tree: ast.AST) -> Iterator[ast.Constant]:
    """Yield the string literals of a tree, without those whose facts only are compared."""
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id == "facts":
        return
    if isinstance(tree, ast.Constant) and isinstance(tree.value, str):
        yield tree
    for child in ast.iter_child_nodes(tree):
        yield from _literals(child)


def _compared_literals(tree: ast.Module) -> Iterator[ast.Constant]:
    """Yield the literals in comparisons, and those of the parameters and variables in them."""
    for node in ast.walk(tree):
        for part in _sides(node):
            yield from _literals(part)
        if isinstance(node, ast.FunctionDef):
            names = {name for inner in ast.walk(node) for part in _sides(inner) for name in _names(part)}
            for decorator in node.decorator_list:
                yield from _parameters(decorator, names)
            for inner in ast.walk(node):
                match inner:
                    case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant() | ast.JoinedStr()) if (
                        name in names
                    ):
                        yield from _literals(inner.value)


def _sides(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the expressions of a node that are looked for in a text."""
    match node:
        case ast.keyword(arg="match"):
            yield node.value
        case ast.Compare() if any(isinstance(operator, COMPARED) for operator in node.ops):
            yield from [node.left, *node.comparators]
        case ast.Call(func=ast.Attribute(attr=name)) if name in SEARCHES:
            yield from node.args


def _names(tree: ast.AST) -> Iterator[str]:
    """Yield the names of a tree, without those whose facts only are compared."""
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id == "facts":
        return
    if isinstance(tree, ast.Name):
        yield tree.id
    for child in ast.iter_child_nodes(tree):
        yield from _names(child)


def _parameters(decorator: ast.expr, names: set[str]) -> Iterator[ast.Constant]:
    """Yield the literals of `pytest.mark.parametrize` for parameters of these names."""
    match decorator:
        case ast.Call(func=ast.Attribute(attr="parametrize"), args=[parameters, values, *_]):
            described = ast.literal_eval(parameters)
            columns = described.replace(",", " ").split() if isinstance(described, str) else list(described)
            rows = values.elts if isinstance(values, ast.List | ast.Tuple) else []
            for row in rows:
                cells = _cells(row) if len(columns) > 1 else [row]
                for column, cell in zip(columns, cells, strict=False):
                    if column in names:
                        yield from _literals(cell)


def _cells(row: ast.expr) -> list[ast.expr]:
    match row:
        case ast.Call(args=cells):
            return cells
        case ast.Tuple(elts=cells) | ast.List(elts=cells):
            return cells
    return []


def counts_by_file(entries: Iterable[Sentence]) -> dict[str, int]:
    return dict(sorted(Counter(entry.path for entry in entries).items()))


def load_sentences() -> dict[str, int]:
    content: dict[str, int] = json.loads(SENTENCES.read_text("utf-8")) if SENTENCES.exists() else {}
    return content


def lower_sentences() -> None:
    """Write smaller counts where there are fewer findings now."""
    before, now = load_sentences(), counts_by_file(sentences())
    lowered = {path: min(count, before.get(path, 0)) for path, count in now.items() if path in before}
    SENTENCES.write_text(json.dumps(lowered, indent=1) + "\n", "utf-8")


def excess_by_file(baseline: dict[str, int], entries: list[Sentence]) -> list[Sentence]:
    """Return the findings of files that have more of them than the baseline."""
    now = counts_by_file(entries)
    return [entry for entry in entries if now[entry.path] > baseline.get(entry.path, 0)]
