"""JUnit XML, accepted by most CI services as test results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from lxml import etree

from ir_exec.printable import printable, printable_lines

__all__ = ["JUnitCase", "JUnitOutcome", "JUnitSuite", "junit_text"]


OutcomeTag: TypeAlias = Literal["failure", "error", "skipped"]


@dataclass(frozen=True, slots=True)
class JUnitOutcome:
    """The outcome of a test case that did not pass.

    Attributes:
        message: The reason, in a line.
        text: The details.
        type: The kind of failure, such as the code of a rule.
    """

    tag: OutcomeTag
    message: str
    text: str = ""
    type: str | None = None


@dataclass(frozen=True, slots=True)
class JUnitCase:
    """A test case.

    Attributes:
        classname: The group of the case.
        file: The path of the tested file.
        outcome: None for a case that passed.
        output: Further text about the case.
    """

    classname: str
    name: str
    file: str | None = None
    outcome: JUnitOutcome | None = None
    output: str = ""


@dataclass(frozen=True, slots=True)
class JUnitSuite:
    """A test suite."""

    name: str
    cases: Sequence[JUnitCase]


def junit_text(suites: Iterable[JUnitSuite]) -> str:
    """Return suites as XML without a line end after the last element.

    Characters that XML does not allow, and others that are not visible, are escaped as in text reports: `\\x1b`.
    """
    suites = list(suites)
    cases = [case for suite in suites for case in suite.cases]
    root = etree.Element("testsuites", {"tests": str(len(cases)), **_counts(cases, ("failure", "error"))})
    for suite in suites:
        counts = {"tests": str(len(suite.cases)), **_counts(suite.cases, ("failure", "error", "skipped"))}
        element = etree.SubElement(root, "testsuite", {"name": printable(suite.name), **counts})
        for case in suite.cases:
            _add_case(element, case)
    etree.indent(root)
    text: str = etree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}'


_COUNTERS: dict[OutcomeTag, str] = {"failure": "failures", "error": "errors", "skipped": "skipped"}


def _counts(cases: Sequence[JUnitCase], tags: Sequence[OutcomeTag]) -> dict[str, str]:
    outcomes = [case.outcome.tag for case in cases if case.outcome is not None]
    return {_COUNTERS[tag]: str(outcomes.count(tag)) for tag in tags}


def _add_case(suite: etree._Element, case: JUnitCase) -> None:
    attributes = {"classname": case.classname, "name": case.name}
    if case.file is not None:
        attributes["file"] = case.file
    element = etree.SubElement(suite, "testcase", {name: printable(text) for name, text in attributes.items()})
    outcome = case.outcome
    if outcome is not None:
        attributes = {"message": printable_lines(outcome.message)}
        if outcome.type is not None:
            attributes["type"] = printable(outcome.type)
        etree.SubElement(element, outcome.tag, attributes).text = printable_lines(outcome.text) or None
    if case.output:
        etree.SubElement(element, "system-out").text = printable_lines(case.output)
