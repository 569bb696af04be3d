"""Reports for machines."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from lxml import etree

from ir_exec import check_model
from ir_exec.check import FORMATS, RULES, Reports, Summary

BAD = Path(__file__).parents[1] / "bad"
NETWORKS = Path(__file__).parents[1] / "networks"
SARIF = json.loads((Path(__file__).parent / "sarif_subset.json").read_text("utf-8"))


def reports(*paths: Path) -> Reports:
    found = tuple(check_model(path) for path in paths)
    return Reports(version="1.2.3", files=found, summary=Summary.of(found))


ALL = reports(*sorted(BAD.glob("*.xml")), NETWORKS / "lstm.xml")
ONE = reports(BAD / "IR603-declared-element-type.xml")


@pytest.mark.parametrize("name", FORMATS)
def test_no_format_ends_with_a_line_break(name: str) -> None:
    assert not FORMATS[name](ALL).endswith("\n")
    assert FORMATS[name](ALL) == FORMATS[name](ALL)


class TestSarif:
    def test_it_keeps_to_the_schema(self) -> None:
        jsonschema.Draft7Validator.check_schema(SARIF)
        log = json.loads(FORMATS["sarif"](ALL))
        jsonschema.Draft7Validator(SARIF, format_checker=jsonschema.FormatChecker()).validate(log)
        log["runs"][0]["results"][0]["level"] = "fatal"
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.Draft7Validator(SARIF).validate(log)

    def test_the_rule_table(self) -> None:
        run = json.loads(FORMATS["sarif"](ALL))["runs"][0]
        rules = run["tool"]["driver"]["rules"]
        assert {rule["id"] for rule in rules} >= {code for code, rule in RULES.items() if rule.in_files}
        assert len({rule["id"] for rule in rules}) == len(rules)
        for result in run["results"]:
            assert rules[result["ruleIndex"]]["id"] == result["ruleId"]

    def test_a_result(self) -> None:
        (result,) = json.loads(FORMATS["sarif"](ONE))["runs"][0]["results"]
        assert (result["ruleId"], result["level"]) == ("IR603", "error")
        assert result["message"]["text"].startswith("output is declared as f16[2,3], but the layer gives f32[2,3]")
        (location,) = result["locations"]
        assert location["physicalLocation"]["region"] == {"startLine": 21}
        assert location["physicalLocation"]["artifactLocation"]["uri"].startswith("file:///")
        assert location["logicalLocations"][0]["name"] == "relu"

    def test_related_places(self) -> None:
        report = check_model(NETWORKS / "conv_zoo.xml", batch=3)
        log = json.loads(FORMATS["sarif"](Reports(files=(report,), summary=Summary.of([report]))))
        jsonschema.Draft7Validator(SARIF).validate(log)
        related = log["runs"][0]["results"][0]["relatedLocations"]
        assert related[0]["message"]["text"] == 'layer 14 "Constant_387" (Const)'

    def test_relative_paths_stay_relative(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        (tmp_path / "a b%.xml").write_bytes((BAD / "IR107-cycle.xml").read_bytes())
        log = json.loads(FORMATS["sarif"](reports(Path("a b%.xml"))))
        place = log["runs"][0]["results"][0]["locations"][0]
        assert place["physicalLocation"]["artifactLocation"]["uri"] == "a%20b%25.xml"


def test_github_annotations() -> None:
    path = BAD / "IR603-declared-element-type.xml"
    assert FORMATS["github"](ONE) == (
        f"::error file={path},line=21,title=IR603 declared-element-type::"
        'layer 1 "relu" (ReLU): output is declared as f16[2,3], but the layer gives f32[2,3]: the element type is f32, '
        "not f16%0Ahint: the layers below take f32[2,3]: only the declaration of this port is wrong"
    )
    lines = FORMATS["github"](ALL).split("\n")
    assert len(lines) == sum(len(report.diagnostics) for report in ALL.files)
    assert {line.split(" ")[0] for line in lines} == {"::error", "::warning", "::notice"}


def test_gitlab_code_quality() -> None:
    issues = json.loads(FORMATS["gitlab"](ALL))
    assert len({issue["fingerprint"] for issue in issues}) == len(issues)
    for issue in issues:
        assert set(issue) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert issue["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert issue["location"]["lines"]["begin"] >= 1
        assert issue["location"]["path"]


def test_junit() -> None:
    root = etree.fromstring(FORMATS["junit"](ALL).encode())
    (suite,) = root
    cases = suite.findall("testcase")
    assert suite.get("tests") == str(len(ALL.files)) == str(len(cases))
    failed = [case for case in cases if case.find("failure") is not None]
    assert suite.get("failures") == str(len(failed)) == str(sum(not report.ok for report in ALL.files))
    one = next(case for case in cases if case.get("name") == "IR603-declared-element-type.xml")
    failure = one.find("failure")
    assert failure is not None
    assert (failure.get("type"), failure.get("message")) == ("IR603", "1 error")
    assert failure.text is not None
    assert failure.text.startswith("error[IR603 declared-element-type]: output is declared as")


def test_junit_of_names_that_xml_cannot_hold() -> None:
    text = (BAD / "IR107-cycle.xml").read_text("utf-8").replace('name="first"', 'name="&#x85;\ufffe"')
    report = check_model(text.replace("\ufffe", "").encode())
    etree.fromstring(FORMATS["junit"](Reports(files=(report,), summary=Summary.of([report]))).encode())
