"""JUnit XML: valid for every text, with counts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from ir_exec.report.junit import JUnitCase, JUnitOutcome, JUnitSuite, junit_text

ANY_TEXT = st.text(st.characters(exclude_categories=()))

VISIBLE = st.text(st.characters(exclude_categories=("C", "Z", "M", "Lm", "Lo"), include_characters="\"'<>& \\é"))


def parse(*cases: JUnitCase, name: str = "suite") -> etree._Element:
    return etree.fromstring(junit_text([JUnitSuite(name, cases)]).encode())


@pytest.mark.parametrize("start", [0, *range(0x2000, 0x2100, 0x80), 0xD780, 0xDC00, 0xFD80, 0xFF80, 0x1FF80, 0x10FF80])
def test_every_character_makes_valid_xml(start: int) -> None:
    for code in range(start, min(start + 0x100, 0x110000)):
        text = f"a{chr(code)}b"
        outcome = JUnitOutcome("failure", text, text, type=text)
        (suite,) = parse(JUnitCase(text, text, file=text, outcome=outcome, output=text), name=text)
        (case,) = suite
        assert str(case.get("name")).isprintable()
        assert [str(child.tag) for child in case] == ["failure", "system-out"]
        for shown in (case.get("classname"), case.get("file"), case[0].get("message"), case[0].text, case[1].text):
            assert str(shown)[0] == "a"
            assert str(shown)[-1] == "b"


@given(ANY_TEXT, ANY_TEXT)
def test_any_text_makes_valid_xml(name: str, text: str) -> None:
    root = parse(JUnitCase(name, name, outcome=JUnitOutcome("error", text, text), output=text), name=name)
    assert len(root[0]) == 1


@given(VISIBLE, VISIBLE)
def test_visible_text_is_read_back(name: str, text: str) -> None:
    lines = f"{text}\n{text}"
    case = JUnitCase(name, name, file=name, outcome=JUnitOutcome("failure", lines, lines, type=name), output=lines)
    ((element,),) = parse(case, name=name)
    assert dict(element.attrib) == {"classname": name, "name": name, "file": name}
    failure, output = element
    assert dict(failure.attrib) == {"message": lines, "type": name}
    assert failure.text == output.text == lines


def test_counts() -> None:
    tags = ("failure", "failure", "error", "skipped", "skipped", "skipped", None)
    outcomes = [None if tag is None else JUnitOutcome(tag, "m") for tag in tags]
    suites = [
        JUnitSuite("a", [JUnitCase("c", str(number), outcome=outcome) for number, outcome in enumerate(outcomes)]),
        JUnitSuite("b", []),
    ]
    root = etree.fromstring(junit_text(suites).encode())
    assert dict(root.attrib) == {"tests": "7", "failures": "2", "errors": "1"}
    assert [dict(suite.attrib) for suite in root] == [
        {"name": "a", "tests": "7", "failures": "2", "errors": "1", "skipped": "3"},
        {"name": "b", "tests": "0", "failures": "0", "errors": "0", "skipped": "0"},
    ]
    assert len(root.findall("testsuite/testcase/skipped")) == 3


def test_passed_case_is_empty() -> None:
    ((case,),) = parse(JUnitCase("c", "n"))
    assert (dict(case.attrib), len(case), case.text) == ({"classname": "c", "name": "n"}, 0, None)
