"""Tables of operator names and comparisons with them, outside the modules that define operators.

Facts about an operator are declared in its class. A table of names elsewhere repeats them, and the two disagree
sooner or later. `python -m tests.helpers.operator_names` lists what is left, `--lower` writes smaller counts.
"""

from __future__ import annotations

import ast
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

import click

import ir_exec
from ir_exec.ops.base.registry import names_of_types, provided_extensions

__all__ = ["COUNTS", "HOMES", "Use", "count_comparisons", "find_excess", "find_uses", "find_uses_in", "load_counts"]

PACKAGE = Path(ir_exec.__file__).parent

COUNTS = Path(__file__).with_name("operator_names.json")
"""The number of comparisons by file. It may only shrink."""

HOMES = ("ops", "onnx/ops", "onnx/export/ops", "older", "text/ops", "fusions/transformations")
"""The folders in which operators are defined, converted, lowered and fused by OpenVINO: a name is the subject."""

Category: TypeAlias = Literal["tables", "comparisons"]

_PREFIXES = frozenset(["endswith", "startswith"])


class Use(NamedTuple):
    """A table of operator names, or a comparison with one.

    Attributes:
        path: The file below `ir_exec`.
        owner: The variable that a table is assigned to, else the function that contains the use.
    """

    category: Category
    path: str
    line: int
    owner: str
    names: tuple[str, ...]

    def __str__(self) -> str:
        return f"ir_exec/{self.path}:{self.line}: {self.category} {self.owner}: {', '.join(self.names[:6])}"


@cache
def _operator_names() -> frozenset[str]:
    """The types of the registry, the second spelling of constants, and the types of extensions with a class."""
    extensions = {cls.type_name for _, cls in provided_extensions()}
    return frozenset({*names_of_types(), "Constant", *extensions})


def find_uses() -> list[Use]:
    """Every use in the package outside `HOMES`."""
    uses = []
    for file in sorted(PACKAGE.rglob("*.py")):
        path = file.relative_to(PACKAGE).as_posix()
        if not path.startswith(tuple(f"{home}/" for home in HOMES)):
            uses += find_uses_in(file.read_text("utf-8"), path)
    return uses


def find_uses_in(source: str, path: str = "") -> list[Use]:
    """The uses in the source of a module, by line."""
    tree = ast.parse(source)
    uses = list(_visit(tree, path, "<module>"))
    return sorted(uses, key=lambda use: (use.line, use.category))


def _visit(tree: ast.AST, path: str, owner: str) -> Iterator[Use]:
    """Yield the uses below a node of the syntax tree; a compared collection is no table."""
    compared = {operand: names for operand in _operands(tree) if (names := list(_names_of(operand)))}
    if compared:
        yield Use("comparisons", path, _line(tree), owner, tuple(chain.from_iterable(compared.values())))
    elif _is_table(tree):
        yield Use("tables", path, _line(tree), owner, tuple(_names_in(_keys_of(tree))))
    match tree:
        case ast.FunctionDef(name=name) | ast.AnnAssign(target=ast.Name(id=name)):
            owner = name
        case ast.Assign(targets=[ast.Name(id=name)]):
            owner = name
    for child in ast.iter_child_nodes(tree):
        if child not in compared:
            yield from _visit(child, path, owner)


def _line(tree: ast.AST) -> int:
    return int(getattr(tree, "lineno", 0))


def _operands(tree: ast.AST) -> list[ast.expr]:
    """The expressions that a node compares; types of ONNX nodes are no operators of the registry."""
    match tree:
        case ast.Compare(left=ast.Attribute(attr="op_type")):
            return []
        case ast.Compare(left=left, comparators=comparators):
            return [left, *comparators]
        case ast.MatchValue(value=value):
            return [value]
        case ast.Call(func=ast.Attribute(attr=attr), args=arguments) if attr in _PREFIXES:
            return arguments
    return []


def _names_of(tree: ast.expr) -> Iterator[str]:
    """Yield the operator names of an operand: a string, a literal collection of strings, or `frozenset([...])`."""
    match tree:
        case ast.Constant(value=str() as text) if text in _operator_names():
            yield text
        case ast.Tuple(elts=elements) | ast.List(elts=elements) | ast.Set(elts=elements):
            for element in elements:
                yield from _names_of(element)
        case ast.Call(func=ast.Name(id="frozenset" | "set" | "tuple" | "list"), args=[argument]):
            yield from _names_of(argument)


def _keys_of(tree: ast.AST) -> list[str | None]:
    """The keys of a dict or the elements of a collection; the first member of those that are tuples."""
    match tree:
        case ast.Dict(keys=keys):
            elements: Iterable[ast.expr | None] = keys
        case ast.Tuple(elts=elts) | ast.List(elts=elts) | ast.Set(elts=elts):
            elements = elts
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str() as text), attr="split")):
            return list(text.split())
        case _:
            return []
    return [_first_text(element) for element in elements if element is not None]


def _first_text(tree: ast.expr) -> str | None:
    match tree:
        case ast.Constant(value=str() as text) | ast.Tuple(elts=[ast.Constant(value=str() as text), *_]):
            return text
    return None


def _is_table(tree: ast.AST) -> bool:
    """Return True for a collection with at least two keys, half of them operator names."""
    keys = _keys_of(tree)
    count = len(_names_in(keys))
    return count >= 2 and 2 * count >= len(keys)


def _names_in(keys: list[str | None]) -> list[str]:
    return [key for key in keys if key in _operator_names()]


def count_comparisons(uses: Iterable[Use]) -> dict[str, int]:
    """The number of comparisons by file."""
    return dict(sorted(Counter(use.path for use in uses if use.category == "comparisons").items()))


def load_counts() -> dict[str, int]:
    content: dict[str, int] = json.loads(COUNTS.read_text("utf-8"))
    return content


def find_excess(counts: dict[str, int], uses: Iterable[Use]) -> list[Use]:
    """The comparisons in files that have more of them than `counts` allows."""
    comparisons = [use for use in uses if use.category == "comparisons"]
    actual = count_comparisons(comparisons)
    return [use for use in comparisons if actual[use.path] > counts.get(use.path, 0)]


def _lower_counts() -> None:
    """Write smaller counts where there are fewer comparisons now."""
    before, actual = load_counts(), count_comparisons(find_uses())
    lowered = {path: min(count, before[path]) for path, count in actual.items() if path in before}
    COUNTS.write_text(json.dumps(lowered, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    if "--lower" in sys.argv:
        _lower_counts()
    for use in find_uses():
        click.echo(use)
    totals = Counter(use.category for use in find_uses())
    click.echo(f"{totals['tables']} tables, {totals['comparisons']} comparisons", err=True)
