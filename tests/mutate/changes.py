"""The changes that can be made in a module: the place, and the replacement."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha1
from keyword import iskeyword
from pathlib import PurePosixPath
from typing import Any, Final

__all__ = ["Change", "changes_of", "recognize_changes"]

COMPARISONS: Final[dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}

ARITHMETIC: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
}

_PAIRS: Final = (
    ("any", "all"),
    ("min", "max"),
    ("minimum", "maximum"),
    ("argmin", "argmax"),
    ("floor", "ceil"),
    ("zeros", "ones"),
    ("logical_and", "logical_or"),
    ("lo", "hi"),
    ("float32", "float16"),
    ("float64", "float32"),
    ("int64", "int32"),
    ("int32", "int16"),
    ("uint64", "uint32"),
    ("uint8", "int8"),
    ("intp", "int32"),
    ("f32", "f16"),
    ("i64", "i32"),
)

NAMES: Final[dict[str, str]] = {**{b: a for a, b in reversed(_PAIRS)}, **dict(_PAIRS)}
"""Functions, types and fields that are easily taken one for the other."""

_SYMMETRIC: Final = (
    "min max minimum maximum clip add multiply logical_and logical_or logical_xor equal not_equal array_equal isclose "
    "gcd lcm logaddexp hypot may_share_memory shares_memory broadcast_shapes"
)
SYMMETRIC: Final = frozenset(_SYMMETRIC.split())
"""Functions whose first two arguments may be swapped."""

UNTESTED: Final = frozenset({"hint", "doc", "strict", "nanoseconds"})
"""Keywords with text for people, state what holds anyway (`zip(..., strict=True)`), or only foretell how long
work takes."""

SPEED: Final = "thresholds"
"""The module of what is worth its time: its numbers, and what is compared with them, choose between ways to the same
result. What a choice leads to is changed as everything else is."""

STATEMENTS: Final = (ast.Expr, ast.AugAssign, ast.Raise, ast.Return, ast.Continue, ast.Break, ast.Delete)
"""Operands and statements that can be left out."""


@dataclass(frozen=True)
class Change:
    """One change: the bytes from `start` to `end` of the file are replaced by `text`.

    key: the module, the function, the original and the replacement; other changes of the file leave it as
        it is. Where a function has the same change in several places they are numbered.
    shape: equal for this change of this function under any names of the module, the function and in it.
    """

    path: str
    where: str
    before: str
    after: str
    start: int
    end: int
    text: str
    line: int
    shape: str
    number: int = 1

    @property
    def key(self) -> str:
        number = f" #{self.number}" if self.number > 1 else ""
        return f"{self.path} {self.where}: {self.before} -> {self.after}{number}"

    def apply_to(self, source: bytes) -> bytes:
        return source[: self.start] + self.text.encode() + source[self.end :]


def changes_of(path: str, source: str) -> list[Change]:
    """All changes of a module in the order of their places, without those that give what is there already."""
    if PurePosixPath(path).stem == SPEED:
        return []
    finder = _Finder(path, source)
    finder.visit(ast.parse(source))
    counts: Counter[str] = Counter()
    numbered = []
    for change in sorted(finder.found, key=lambda candidate: (candidate.start, candidate.end)):
        counts[change.key] += 1
        numbered.append(replace(change, number=counts[change.key]))
    return numbered


def recognize_changes(listed: Mapping[str, str], changes: Iterable[Change]) -> dict[str, Change]:
    """The changes that a list names: by their keys, or by their shapes where no change has the key any more.

    listed: the shapes by the keys. A shape that several changes have names none of them.
    """
    by_key = {change.key: change for change in changes}
    by_shape: dict[str, list[Change]] = {}
    for change in by_key.values():
        if change.key not in listed:
            by_shape.setdefault(change.shape, []).append(change)
    matches = {}
    for key, shape in listed.items():
        same = [by_key[key]] if key in by_key else by_shape.get(shape, [])
        if len(same) == 1:
            matches[key] = same[0]
    return matches


class _Finder(ast.NodeVisitor):
    def __init__(self, path: str, source: str) -> None:
        self.path = path
        self.found: list[Change] = []
        self._source = source.encode()
        self._starts = [0]
        for line in self._source.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self._names: list[str] = []
        self._scopes: list[_Scope] = []

    def visit(self, node: ast.AST) -> None:
        if _is_of_speed(node):
            return
        for other in _replacements(node):
            self._add(node, other)
        super().visit(node)

    # Names a place, and leaves out what only people and type checkers read.

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if any(_name_of(decorator) == "overload" for decorator in node.decorator_list):
            return
        self._names.append(node.name)
        self._scopes.append(_Scope(node))
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.visit(default)
        self._body(node.body, is_whole=True)
        self._scopes.pop()
        self._names.pop()

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._names.append(node.name)
        for decorator in node.decorator_list:
            if isinstance(decorator, ast.Call) and _name_of(decorator.func) not in ("dataclass", "dataclass_transform"):
                self.visit(decorator)
        self._body(node.body)
        self._names.pop()

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        if not any(isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets):
            self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        if _name_of(node.test) == "TYPE_CHECKING":
            return
        self._condition(node.test)
        self.visit(node.test)
        self._body(node.body)
        self._body(node.orelse)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._condition(node.test)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for test in node.ifs:
            self._add(test, ast.Constant(True))
        self.generic_visit(node)

    def visit_Module(self, node: ast.Module) -> None:
        self._scopes.append(_Scope(node))
        self._body(node.body)
        self._scopes.pop()

    def visit_For(self, node: ast.For) -> None:
        self.visit(node.iter)
        self._body(node.body)
        self._body(node.orelse)

    def visit_While(self, node: ast.While) -> None:
        self.visit(node.test)
        self._body(node.body)

    def visit_With(self, node: ast.With) -> None:
        for item in node.items:
            self.visit(item.context_expr)
        self._body(node.body)

    def visit_Try(self, node: ast.Try) -> None:
        for body in (node.body, node.orelse, node.finalbody, *(handler.body for handler in node.handlers)):
            self._body(body)

    def visit_Match(self, node: ast.Match) -> None:
        self.visit(node.subject)
        for case in node.cases:
            self.visit(case.pattern)
            if case.guard is not None:
                self._condition(case.guard)
                self.visit(case.guard)
            self._body(case.body)

    def visit_Raise(self, node: ast.Raise) -> None:
        """Left out as a whole (`_body`); its message is for people."""

    def visit_Assert(self, node: ast.Assert) -> None:
        """States what type checkers cannot see."""

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg not in UNTESTED:
            self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Text for people."""

    def visit_Import(self, node: ast.Import) -> None: ...
    def visit_ImportFrom(self, node: ast.ImportFrom) -> None: ...

    def _condition(self, test: ast.expr) -> None:
        if _is_of_speed(test):
            return
        for value in (True, False):
            self._add(test, ast.Constant(value))

    def _body(self, body: list[ast.stmt], *, is_whole: bool = False) -> None:
        """is_whole: this is all of a function, whose last `return` is never missed."""
        for number, statement in enumerate(body):
            is_result = is_whole and statement is body[-1] and isinstance(statement, ast.Return)
            if number == 0 and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                continue  # the docstring
            if self._can_go(statement) and not is_result:
                self._add(statement, ast.Pass())
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                continue  # the docstring of a constant
            self.visit(statement)

    def _can_go(self, statement: ast.stmt) -> bool:
        if isinstance(statement, ast.Assign):
            return all(isinstance(target, (ast.Attribute, ast.Subscript)) for target in statement.targets)
        if isinstance(statement, ast.Expr):
            return not isinstance(statement.value, ast.Constant)
        return isinstance(statement, STATEMENTS)

    def _add(self, node: ast.AST, other: ast.AST) -> None:
        before, after = _short(node), _short(other)
        text = ast.unparse(other)
        if isinstance(node, ast.expr) and not isinstance(node, (ast.Slice, ast.keyword)):
            text = f"({text})"
        if before != after:
            where = ".".join(self._names) or "the module"
            start = self._offset(node.lineno, node.col_offset)
            end = self._offset(node.end_lineno, node.end_col_offset)
            shape = self._scopes[-1].shape(node, text)
            self.found.append(Change(self.path, where, before, after, start, end, text, node.lineno, shape))

    def _offset(self, line: int, column: int) -> int:
        return self._starts[line - 1] + column


class _Scope:
    """A function, or a module, without its names: these are numbered in the order in which they come."""

    def __init__(self, node: ast.AST) -> None:
        self._node = node
        self._numbers: dict[str, str] = {}

    def shape(self, node: ast.AST, text: str) -> str:
        """A digest of the scope and of the replacement of one of its nodes."""
        content = (self._text, self._positions[id(node)], self._without_names(text))
        return sha1(repr(content).encode(), usedforsecurity=False).hexdigest()[:12]

    @cached_property
    def _text(self) -> str:
        return self._without_names(ast.unparse(self._node))

    @cached_property
    def _positions(self) -> dict[int, int]:
        return {id(node): number for number, node in enumerate(ast.walk(self._node))}

    def _without_names(self, text: str) -> str:
        return _NAME.sub(self._number, text)

    def _number(self, match: re.Match[str]) -> str:
        name = match[0]
        return name if iskeyword(name) else self._numbers.setdefault(name, f"n{len(self._numbers)}")


_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*|(?<=\.)[A-Za-z_]\w*")


def _replacements(node: ast.AST) -> Iterator[ast.AST]:
    """The replacements of this node alone."""
    match node:
        case ast.Compare(ops=ops):
            for i, op in enumerate(ops):
                for other in COMPARISONS[type(op)]:
                    yield _copy(node, ops=[*ops[:i], other(), *ops[i + 1 :]])
        case ast.BoolOp(op=op, values=values):
            yield _copy(node, op=ast.Or() if isinstance(op, ast.And) else ast.And())
            for i in range(len(values)):
                others = values[:i] + values[i + 1 :]
                yield others[0] if len(others) == 1 else _copy(node, values=others)
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert(), operand=operand):
            yield operand
        case ast.BinOp(op=op) if type(op) in ARITHMETIC and not _is_text(node):
            yield _copy(node, op=ARITHMETIC[type(op)]())
        case ast.AugAssign(op=op) if type(op) in ARITHMETIC:
            yield _copy(node, op=ARITHMETIC[type(op)]())
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(value=int() | float() as value):
            yield ast.Constant(value + 1)
            yield ast.Constant(value - 1)
        case ast.Name(id=name) if name in NAMES:
            yield _copy(node, id=NAMES[name])
        case ast.Attribute(attr=name) if name in NAMES and isinstance(node.ctx, ast.Load):
            yield _copy(node, attr=NAMES[name])
        case ast.Subscript(slice=ast.Slice() as cut):
            if cut.lower is not None:
                yield _copy(node, slice=_copy(cut, lower=None))
            if cut.upper is not None:
                yield _copy(node, slice=_copy(cut, upper=None))
        case ast.Call(func=called, args=[first, second, *others]):
            if not isinstance(first, ast.Starred) and not isinstance(second, ast.Starred):
                yield from () if _name_of(called) in SYMMETRIC else (_copy(node, args=[second, first, *others]),)
            yield from _without_keywords(node)
        case ast.Call(keywords=[_, *_]):
            yield from _without_keywords(node)


def _without_keywords(call: ast.Call) -> Iterator[ast.AST]:
    for i, keyword in enumerate(call.keywords):
        if keyword.arg not in (None, *UNTESTED):
            yield _copy(call, keywords=call.keywords[:i] + call.keywords[i + 1 :])


def _is_of_speed(node: ast.AST) -> bool:
    """Return True if this compares something with a number of `thresholds`."""
    if not isinstance(node, ast.Compare):
        return False
    sides = (part for side in (node.left, *node.comparators) for part in ast.walk(side))
    return any(isinstance(side, ast.Attribute) and _name_of(side.value) == SPEED for side in sides)


def _is_text(node: ast.BinOp) -> bool:
    """Return True if a sum or an alternative is one of texts, or of types."""
    sides = (node.left, node.right)
    return any(
        isinstance(side, ast.JoinedStr)
        or (isinstance(side, ast.Constant) and isinstance(side.value, (str, type(None))))
        for side in sides
    )


def _copy(node: ast.AST, **fields: Any) -> Any:
    return type(node)(**{**dict(ast.iter_fields(node)), **fields})


def _name_of(node: ast.AST) -> str | None:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None


def _short(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 100 else f"{text[:60]} ... {text[-35:]}"
