"""Texts and identifiers of Python and Markdown files, and the wordings of `patterns.toml` in them."""

from __future__ import annotations

import ast
import json
import re
import sys
import tomllib
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PATTERNS = Path(__file__).with_name("patterns.toml")
BASELINE = Path(__file__).with_name("baseline.json")
KINDS = ("message", "hint", "help", "docstring", "comment", "prose", "identifier")
CHECKED = ("ir_exec", "tests", "docs", "benchmarks", "README.md", "CHANGELOG.md", "CONTRIBUTING.md")
"""Files and folders that have a baseline."""

IN_TESTS = ("docstring", "comment", "prose", "identifier")
"""The kinds that are looked for in tests, where other strings are data."""

Baseline = dict[str, dict[str, dict[str, int]]]


@dataclass(frozen=True)
class Text:
    """A text for people: its kind, its first line in the file, and the lines of the literals that make it up."""

    kind: str
    content: str
    line: int
    source: tuple[str, ...] = ()


@dataclass(frozen=True)
class Finding:
    """A wording to replace."""

    path: str
    line: int
    kind: str
    pattern: str
    wording: str
    advice: str

    @property
    def area(self) -> str:
        """The package, folder or file that the baseline counts it for."""
        parts = Path(self.path).parts
        depth = 2 if parts[0] == "ir_exec" and len(parts) > 2 else 1
        return "/".join(parts[:depth])

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.kind}, {self.pattern}: \u201c{self.wording}\u201d -> {self.advice}"


@dataclass(frozen=True)
class Pattern:
    """A wording to replace, the kinds of texts it is looked for in, and the advice."""

    name: str
    find: re.Pattern[str]
    kinds: tuple[str, ...]
    advice: str


@dataclass(frozen=True)
class Identifiers:
    """The names of values and functions that do not describe them.

    Attributes:
        vague: Names that fit any value.
        participles: Participles that do not end with "ed".
        terms: Participles that are terms of the field.
    """

    vague: frozenset[str]
    participles: frozenset[str]
    terms: frozenset[str]

    def pattern_of(self, name: str, *, is_function: bool) -> str | None:
        """Return the pattern that a name matches, or None."""
        word = name.strip("_")
        if word in self.vague:
            return "vague name"
        if is_function and word not in self.terms and (re.fullmatch("[a-z]+ed", word) or word in self.participles):
            return "participle"
        return None


@cache
def identifiers() -> Identifiers:
    """Return the names to replace."""
    content = tomllib.loads(PATTERNS.read_text("utf-8"))["identifiers"]
    return Identifiers(*(frozenset(content[key]) for key in ("vague", "participles", "terms")))


@cache
def settings() -> tuple[list[Pattern], int, tuple[str, ...]]:
    """Return the patterns, the longest sentence in words, and the generated files."""
    content = tomllib.loads(PATTERNS.read_text("utf-8"))
    patterns = [
        Pattern(
            entry["name"], re.compile(entry["find"], re.IGNORECASE), tuple(entry.get("kinds", KINDS)), entry["write"]
        )
        for entry in content["pattern"]
    ]
    return patterns, content["settings"]["longest"], tuple(content["settings"]["generated"])


def findings(paths: Sequence[str] = ()) -> list[Finding]:
    """Return the findings in files and folders below the root, by default in all that are checked."""
    result: list[Finding] = []
    for path in _files(paths or CHECKED):
        read = texts_of_markdown if path.suffix == ".md" else texts_of_python
        name = path.relative_to(ROOT).as_posix()
        source = path.read_text("utf-8")
        for text in read(source):
            if not name.startswith("tests/") or text.kind in IN_TESTS:
                result += _findings_in(name, text)
        if path.suffix == ".py":
            result += _identifiers_in(name, source)
    return sorted(result, key=lambda finding: (finding.path, finding.line, finding.pattern))


def _files(paths: Iterable[str]) -> Iterator[Path]:
    generated = settings()[2]
    for name in paths:
        start = (ROOT / name).resolve()
        for path in [start] if start.is_file() else sorted(start.rglob("*")):
            relative = path.relative_to(ROOT).as_posix()
            if path.suffix in (".py", ".md") and not relative.startswith(generated):
                yield path


def _findings_in(path: str, text: Text) -> Iterator[Finding]:
    joined, starts = _join_lines(text.content)
    patterns, longest, _ = settings()
    for pattern in patterns:
        if text.kind not in pattern.kinds:
            continue
        if pattern.name == "long sentence":
            matches = _long_sentences(joined, longest)
        else:
            matches = [(match.start(), match.group()) for match in pattern.find.finditer(joined)]
        for offset, wording in matches:
            wording = wording[:70].strip()
            yield Finding(path, _line(text, starts, offset, wording), text.kind, pattern.name, wording, pattern.advice)


def _identifiers_in(path: str, source: str) -> Iterator[Finding]:
    names = identifiers()
    for identifier, line, is_function in identifiers_of_python(source):
        pattern = names.pattern_of(identifier, is_function=is_function)
        if pattern == "vague name":
            yield Finding(path, line, "identifier", pattern, identifier, "the noun of the field for what the value is")
        elif pattern == "participle":
            yield Finding(path, line, "identifier", pattern, identifier, "a verb and its object, or a noun")


def _line(text: Text, starts: list[int], offset: int, wording: str) -> int:
    """Return the line of a wording: joined literals have separate lines in the source only."""
    line_numbers = [number for number, line in enumerate(text.source) if wording.split(" ")[0] in line]
    return text.line + (line_numbers[0] if line_numbers else bisect_right(starts, offset) - 1)


def _join_lines(content: str) -> tuple[str, list[int]]:
    """Return the text on one line, and the offset at which each of its lines starts there."""
    joined, starts = "", []
    for line in content.split("\n"):
        starts.append(len(joined))
        words = " ".join(line.split())
        joined += words + " " if words else ""
    return joined, starts


def _long_sentences(text: str, longest: int) -> list[tuple[int, str]]:
    return [
        (match.start(), match.group())
        for match in re.finditer(r"[^.!?:]+(?:[.!?:](?!\s)[^.!?:]*)*", text)
        if len(re.findall(r"[^\W\d_][\w'-]*", match.group())) > longest
    ]


# Python


def texts_of_python(source: str) -> Iterator[Text]:
    """Yield the docstrings, comments, help texts, hints and other strings of three words and more."""
    nodes = list(ast.walk(ast.parse(source)))
    lines = source.splitlines()
    documents = _docstrings(nodes)
    inside: set[int] = set()
    kinds: dict[int, str] = {}
    strings: list[ast.expr] = []
    for node in nodes:
        if isinstance(node, ast.keyword) and node.arg in ("help", "short_help", "epilog", "hint"):
            text_kind = "hint" if node.arg == "hint" else "help"
            kinds |= {id(part): text_kind for part in ast.walk(node.value)}
        elif isinstance(node, ast.JoinedStr):
            inside |= {id(part) for part in ast.walk(node) if part is not node}
            strings.append(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            strings.append(node)
    strings = [node for node in strings if id(node) not in inside]
    for node in strings:
        content = _content(node)
        if id(node) in documents:
            yield Text(documents[id(node)], content, node.lineno)
        elif len(re.findall(r"[^\W\d_]{2,}", content)) >= 3 and not _is_code(content):
            literals = tuple(lines[node.lineno - 1 : node.end_lineno])
            yield Text(kinds.get(id(node), "message"), content, node.lineno, literals)
    yield from _comments(lines, strings)


def identifiers_of_python(source: str) -> Iterator[tuple[str, int, bool]]:
    """Yield the names that functions, parameters and assignments define: name, line, and True for functions."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node.lineno, True
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno, False
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno, False


def _content(node: ast.expr) -> str:
    """Return the text of a string, `{}` for each value of an f-string."""
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    assert isinstance(node, ast.Constant)
    return str(node.value)


def _is_code(content: str) -> bool:
    """Return True for texts of programs: HTML, SQL, patterns, paths."""
    return bool(re.search(r"</|/>|\\[wdsb]|\(\?|^[\w./-]+$|[{;]\s*\n", content))


def _docstrings(nodes: Iterable[ast.AST]) -> dict[int, str]:
    """Return the kinds of docstrings by the id of their constants: those of commands are help texts."""
    kinds_by_id: dict[int, str] = {}
    for node in nodes:
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        is_command = any("command" in ast.dump(decorator) for decorator in getattr(node, "decorator_list", []))
        for statement in body:
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                kinds_by_id[id(statement.value)] = "help" if is_command and statement is body[0] else "docstring"
    return kinds_by_id


def _comments(lines: Sequence[str], strings: Iterable[ast.expr]) -> Iterator[Text]:
    """Yield comments, those of neighbouring lines joined. A `#` inside a string starts none."""
    spans: dict[int, list[tuple[int, int]]] = {}
    for node in strings:
        last = node.end_lineno or node.lineno
        for row in range(node.lineno, last + 1):
            start = node.col_offset if row == node.lineno else 0
            spans.setdefault(row, []).append((start, (node.end_col_offset or 0) if row == last else sys.maxsize))
    block: list[str] = []
    first = end = 0
    for row, line in enumerate(lines, 1):
        if "#" not in line:
            continue
        starts = (match.start() for match in re.finditer("#", line))
        column = next((at for at in starts if not _is_within(line, at, spans.get(row, ()))), None)
        if column is None:
            continue
        content = re.sub(r"\s*\b(type: ignore|noqa|fmt: |ruff: )\S*", "", line[column:].lstrip("#: "))
        if block and row == end + 1 and not line[:column].strip():
            block.append(content)
        else:
            if block:
                yield Text("comment", "\n".join(block), first)
            block, first = [content], row
        end = row
    if block:
        yield Text("comment", "\n".join(block), first)


def _is_within(line: str, column: int, spans: Iterable[tuple[int, int]]) -> bool:
    """Return True if a column of a line is in a span of bytes, as the syntax tree counts them."""
    offset = len(line[:column].encode())
    return any(start <= offset < end for start, end in spans)


# Markdown


def texts_of_markdown(source: str) -> Iterator[Text]:
    """Yield paragraphs, items, cells of tables and headings, without code and addresses."""
    lines: list[str] = []
    start = 1
    fenced = False
    for number, line in enumerate([*source.splitlines(), ""], 1):
        is_fence = re.match(r"\s*(```|~~~)", line) is not None
        is_apart = is_fence or fenced or not line.strip() or re.match(r"\s*([-*+]|\d+\.|#+|>|\|)\s", line)
        if is_apart and lines:
            yield Text("prose", "\n".join(lines), start)
            lines = []
        if is_fence:
            fenced = not fenced
        elif not fenced and line.strip():
            content = _plain(line)
            if line.lstrip().startswith("|"):
                for cell in content.split("|"):
                    yield Text("prose", cell, number)
            else:
                start = start if lines else number
                lines.append(content)


def _plain(line: str) -> str:
    line = re.sub(r"`[^`]*`", "`code`", line)
    line = re.sub(r"\]\([^)]*\)", "]", line)
    return re.sub(r"https?://\S+|<[^>]*>|^\s*([-*+]|\d+\.|#+|>)\s+", "", line).replace("**", "")


# The baseline


def counts(all_findings: Iterable[Finding]) -> Baseline:
    """Return the number of findings by area, kind and pattern."""
    result: Baseline = {}
    for (area, text_kind, pattern), count in sorted(
        Counter((finding.area, finding.kind, finding.pattern) for finding in all_findings).items()
    ):
        result.setdefault(area, {}).setdefault(text_kind, {})[pattern] = count
    return result


def load_baseline() -> Baseline:
    content: Baseline = json.loads(BASELINE.read_text("utf-8")) if BASELINE.exists() else {}
    return content


def write_baseline(baseline: Baseline) -> None:
    BASELINE.write_text(json.dumps(baseline, indent=1, sort_keys=True) + "\n", "utf-8")


def lower_counts(baseline: Baseline, all_findings: Iterable[Finding]) -> Baseline:
    """Return the baseline with smaller counts where there are fewer findings now; it never grows."""
    now = counts(all_findings)
    result: Baseline = {}
    for area, kinds in now.items():
        for text_kind, patterns in kinds.items():
            for pattern, count in patterns.items():
                before = baseline.get(area, {}).get(text_kind, {}).get(pattern, 0) if baseline else count
                if least := min(before, count):
                    result.setdefault(area, {}).setdefault(text_kind, {})[pattern] = least
    return result


def excess(baseline: Baseline, all_findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings of every area, kind and pattern that has more of them than the baseline."""
    now = counts(all_findings)
    return [
        finding
        for finding in all_findings
        if now[finding.area][finding.kind][finding.pattern]
        > baseline.get(finding.area, {}).get(finding.kind, {}).get(finding.pattern, 0)
    ]
