"""The catalogue and the code base agree on what can be reported."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import ir_exec
from ir_exec import check_model
from ir_exec.check import GROUPS, RULES, Diagnostic, explain, find_rule, rules_page
from ir_exec.check.catalogue import CATALOGUE
from ir_exec.check.rules import rule_of
from ir_exec.codes import Code
from ir_exec.errors import IRError, Severity
from tests.check.test_check_bad import TARGETS

SOURCES = Path(ir_exec.__file__).parent
FILES = [file for file in sorted(SOURCES.rglob("*.py")) if file != SOURCES / "codes.py"]


def test_every_code_is_in_the_catalogue_once() -> None:
    assert sorted(rule.code for rule in CATALOGUE) == list(Code)


def test_codes_in_sources_are_in_the_catalog() -> None:
    files_by_code = {code: file for file in FILES for code in re.findall(r"\bIR\d{3}\b", file.read_text("utf-8"))}
    assert not {code: str(file) for code, file in files_by_code.items() if code not in RULES}


def test_every_rule_is_reported_somewhere() -> None:
    raising = [file for file in FILES if file.parent.name != "catalogue"]
    text = "\n".join(file.read_text("utf-8") for file in raising)
    assert [code for code in Code if not re.search(rf"\bCode\.{code.name}\b", text)] == []


def test_codes_are_named_at_their_raise() -> None:
    assert not [str(file) for file in FILES if re.search(r"""["']IR\d{3}["']""", file.read_text("utf-8"))]


def test_rule_has_the_name_of_its_code() -> None:
    for code, rule in RULES.items():
        assert rule.code is Code(code)
        assert rule.name.replace("-", "_") == rule.code.name
        assert re.fullmatch(r"\d+\.\d+\.\d+", rule.code.since)


def test_names_are_unique_and_groups_known() -> None:
    names = [rule.name for rule in RULES.values()]
    assert len(set(names)) == len(names)
    for rule in RULES.values():
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.name)
        assert rule.group in GROUPS.values()
        assert rule.summary.endswith(".")


@pytest.mark.parametrize(
    ("code", "raised", "reported"),
    [
        (Code.declared_dims, "error", "error"),
        (Code.declared_dims, "warning", "warning"),  # the place that found it may know that it is harmless
        (Code.unknown_attribute, "error", "warning"),  # and never reports more than the rule
        (Code.operator_not_implemented, "error", "info"),
        ("IR998", "error", "error"),
    ],
)
def test_the_milder_severity_counts(code: str, raised: Severity, reported: Severity) -> None:
    assert Diagnostic.of(IRError("text", code=code, severity=raised)).severity == reported


def test_unknown_code_has_no_rule() -> None:
    assert rule_of("IR998").name == "unspecified"


ROOT = Path(__file__).parents[2]
BAD = ROOT / "tests" / "bad"


def is_markup(text: str) -> bool:
    return text.startswith("<") and "   (" not in text


EXAMPLES = [code for code, rule in RULES.items() if rule.in_files and is_markup(rule.bad) and is_markup(rule.good)]


def test_the_page_is_current() -> None:
    page = (ROOT / "docs" / "rules.md").read_text("utf-8")
    assert page == rules_page(), "run: ir-exec explain --page > docs/rules.md"


def test_the_page_has_every_code_once() -> None:
    headings = re.findall(r"^### (IR\d{3}) ", rules_page(), re.MULTILINE)
    assert headings == sorted(Code)


@pytest.mark.parametrize("code", RULES)
def test_every_rule_is_explained(code: str) -> None:
    rule = RULES[code]
    assert rule.bad != rule.good
    assert rule.why.endswith(".")
    text = explain(rule)
    assert text.startswith(f"{code} {rule.name} ({rule.severity})\n")
    for part in (rule.summary, rule.why, rule.bad.split("\n")[0], rule.good.split("\n")[0]):
        assert part in text


def test_rules_are_found_by_code_and_by_name() -> None:
    for text in ("IR601", "ir601", "declared-dims", "Declared_Dims", " IR601 "):
        assert find_rule(text) is RULES["IR601"]
    assert find_rule("IR6") is None


def test_most_examples_are_markup() -> None:
    assert len(EXAMPLES) >= 20


@pytest.mark.parametrize("code", EXAMPLES)
def test_examples_break_the_rule_and_keep_it(code: str) -> None:
    """The wrong example is in a file that breaks the rule; with the right one in its place the file keeps it."""
    rule = RULES[code]
    pattern = re.compile(r"\s*".join(map(re.escape, rule.bad.split("\n"))).replace(r"\ ", r"\s*"))
    files = [path for path in sorted(BAD.glob(f"{code}-*.xml")) if pattern.search(path.read_text("utf-8"))]
    assert files, "no file of the rule holds the example"
    raw = files[0].read_text("utf-8")
    weights = files[0].with_suffix(".bin")
    mended, count = pattern.subn(lambda _: rule.good, raw, count=1)
    assert count == 1
    codes = []
    for text in (raw, mended):
        report = check_model(
            text.encode(), weights=weights if weights.exists() else None, target=TARGETS.get(files[0].stem)
        )
        codes.append({diagnostic.code for diagnostic in report.diagnostics})
    assert code in codes[0]
    assert code not in codes[1]
