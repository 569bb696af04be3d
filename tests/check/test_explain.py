"""What is made from the catalogue: explanations, the page of rules, and the examples that it gives."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ir_exec import check_model
from ir_exec.check import RULES, explain, find_rule, rules_page
from ir_exec.codes import Code
from tests.check.test_bad import TARGETS

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
    """The wrong example stands in a file that breaks the rule; with the right one in its place the file keeps it."""
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
        codes.append({found.code for found in report.diagnostics})
    assert code in codes[0]
    assert code not in codes[1]
