"""Selection of the reported findings, and findings hidden by a baseline."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ir_exec import Report, check_model
from ir_exec.check import Baseline, Selection, code_prefix
from tests.helpers.facts import naming

BAD = Path(__file__).parents[1] / "bad"
MIXED = check_model(BAD / "many-independent-faults.xml")


def codes(report: Report) -> list[str]:
    return [diagnostic.code for diagnostic in report.diagnostics]


@pytest.mark.parametrize(
    ("text", "prefix"),
    [
        ("IR601", "IR601"),
        ("ir6", "IR6"),
        ("declared-dims", "IR601"),
        ("shapes", "IR5"),
        ("declared against inferred", "IR6"),
        ("element-types", "IR4"),
        ("all", "IR"),
    ],
)
def test_what_people_write(text: str, prefix: str) -> None:
    assert code_prefix(text) == prefix


@pytest.mark.parametrize("text", ["", "IR6011", "E501", "declared"])
def test_what_means_nothing(text: str) -> None:
    with pytest.raises(ValueError, match=naming(repr(text))):
        code_prefix(text)


def test_the_longest_prefix_decides() -> None:
    def selected_codes(select: set[str], ignore: set[str]) -> list[str]:
        return codes(Selection(select=frozenset(select), ignore=frozenset(ignore)).apply(MIXED))

    assert codes(MIXED) == ["IR603", "IR503", "IR601", "IR116", "IR204"]
    assert selected_codes({"IR"}, set()) == codes(MIXED)
    assert selected_codes({"IR6"}, set()) == ["IR603", "IR601"]
    assert selected_codes({"IR"}, {"IR6", "IR116"}) == ["IR503", "IR204"]
    assert selected_codes({"IR", "IR603"}, {"IR6"}) == ["IR603", "IR503", "IR116", "IR204"]
    assert selected_codes({"IR6"}, {"IR6"}) == []


@pytest.mark.parametrize(
    ("glob", "is_ignored"),
    [("*.xml", True), ("bad/many-*.xml", True), ("many-independent-faults.xml", True), ("good/*.xml", False)],
)
def test_per_file(glob: str, is_ignored: bool) -> None:
    report = Selection(per_file_ignores={glob: frozenset({"IR6"})}).apply(MIXED)
    assert ("IR601" not in codes(report)) == is_ignored


def test_severities() -> None:
    report = Selection(severities={"IR6": "warning", "IR601": "info"}).apply(MIXED)
    assert {diagnostic.code: diagnostic.severity for diagnostic in report.diagnostics} == {
        "IR603": "warning",
        "IR503": "error",
        "IR601": "info",
        "IR116": "error",
        "IR204": "error",
    }
    assert MIXED.diagnostics[0].severity == "error"


class TestBaseline:
    def test_baseline_hides_its_findings(self) -> None:
        baseline = Baseline.parse(Baseline.of([MIXED], str(BAD)).text(), str(BAD))
        assert baseline.new_in(MIXED).diagnostics == ()
        other = check_model(BAD / "IR107-cycle.xml")
        assert baseline.new_in(other) == other

    def test_lines_may_move(self, tmp_path: Path) -> None:
        path = tmp_path / "x.xml"
        raw = (BAD / "IR107-cycle.xml").read_bytes()
        path.write_bytes(raw)
        baseline = Baseline.of([check_model(path)], str(tmp_path))
        path.write_bytes(raw.replace(b"<layers>", b"\n\n<layers>"))
        assert baseline.new_in(check_model(path)).diagnostics == ()

    def test_paths_are_told_from_the_folder(self) -> None:
        text = Baseline.of([MIXED], str(BAD.parent)).text()
        assert {entry["path"] for entry in json.loads(text)["findings"]} == {"bad/many-independent-faults.xml"}

    def test_one_more_of_the_same_is_new(self) -> None:
        baseline = Baseline.of([MIXED], str(BAD))
        twice = MIXED.model_copy(update={"diagnostics": MIXED.diagnostics * 2})
        assert codes(baseline.new_in(twice)) == codes(MIXED)

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "[]",
            '{"format": 2, "findings": []}',
            '{"format": 1, "findings": ["text"]}',
            '{"format": 1, "findings": [{"path": "a", "code": "IR601", "layer": "1", "type": "T", "port": null}]}',
            '{"format": 1, "findings": [{}]}',
            "[" * 100_000,
            Baseline.of([MIXED], ".").text().replace('"count": 1', '"count": 0'),
        ],
    )
    def test_invalid_baseline(self, text: str) -> None:
        with pytest.raises(ValueError, match=r"."):
            Baseline.parse(text, ".")
