"""Reports for machines."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from lxml import etree

from ir_exec import Report, check_model
from ir_exec.check import FORMATS, RULES, Diagnostic, Places, Reports, Summary
from ir_exec.codes import Code
from ir_exec.errors import IRError, Location, ShapeError
from ir_exec.ir.markup import load
from tests.helpers.facts import mentions
from tests.helpers.published_schemas import published_schema
from tests.helpers.recordings import read_recording

BAD = Path(__file__).parents[2] / "bad"
NETWORKS = Path(__file__).parents[2] / "networks"


def lines(path: str) -> list[str]:
    return load(path)[1].decode("utf-8", "replace").split("\n")


HERE = Places(folder=str(BAD.parent), root=str(BAD.parents[1]), lines_of=lines)
"""The paths for a program that runs in the folder `tests` of the repository."""


def reports(*paths: Path) -> Reports:
    file_reports = tuple(check_model(path) for path in paths)
    return Reports(version="1.2.3", files=file_reports, summary=Summary.of(file_reports))


ALL = reports(*sorted(BAD.glob("*.xml")), NETWORKS / "lstm.xml", Path("no/such.xml"))
ONE = reports(BAD / "IR603-declared-element-type.xml")


@pytest.mark.parametrize("name", FORMATS)
def test_no_format_ends_with_a_line_break(name: str) -> None:
    assert not FORMATS[name](ALL, HERE).endswith("\n")
    assert FORMATS[name](ALL, HERE) == FORMATS[name](ALL, HERE)


@pytest.mark.parametrize("name", FORMATS)
def test_reports_equal_the_recorded_ones(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(BAD.parent)
    report = check_model("bad/many-independent-faults.xml")
    places = Places(folder="/repository/tests", root="/repository", lines_of=lines)
    text = FORMATS[name](Reports(version="1.2.3", files=(report,), summary=Summary.of([report])), places)
    if name == "sarif":
        log = json.loads(text)
        rules = log["runs"][0]["tool"]["driver"]["rules"]
        # Each report has the texts of all rules, which docs/rules.md has as well.
        rules[:] = [rule["id"] for rule in rules]
        text = json.dumps(log, indent=2)
    assert text + "\n" == read_recording(Path(__file__).with_name("recorded") / f"{name}.txt", text + "\n")


class TestPlaces:
    def test_paths_are_relative_to_repository_root(self) -> None:
        places = Places(folder="/home/user/repository/models", root="/home/user/repository")
        assert places.path("./net.xml").as_posix() == "models/net.xml"
        assert places.path("../docs/net.xml").as_posix() == "docs/net.xml"
        assert places.path("/home/user/repository/net.xml").as_posix() == "net.xml"
        assert places.path("..net.xml").as_posix() == "models/..net.xml"

    def test_files_that_lie_elsewhere(self) -> None:
        places = Places(folder="/home/user/repository", root="/home/user/repository")
        assert places.path("/srv/net.xml").as_posix() == "/srv/net.xml"
        assert places.path("../net.xml").as_posix() == "/home/user/net.xml"

    def test_unknown_severities_change_nothing(self) -> None:
        assert Places().path("../net.xml").as_posix() == "../net.xml"
        assert Places().path(None).as_posix() == "<bytes>"


class TestSarif:
    def validator(self) -> jsonschema.Draft7Validator:
        schema = published_schema("sarif-2.1.0.json")
        assert schema["title"] == "Static Analysis Results Format (SARIF) Version 2.1.0 JSON Schema"
        jsonschema.Draft7Validator.check_schema(schema)
        return jsonschema.Draft7Validator(schema, format_checker=jsonschema.FormatChecker())

    @pytest.mark.parametrize("places", [HERE, Places()])
    def test_it_keeps_to_the_published_schema(self, places: Places) -> None:
        self.validator().validate(json.loads(FORMATS["sarif"](ALL, places)))

    @pytest.mark.parametrize(
        ("path", "value"),
        [
            (("level",), "fatal"),
            (("message",), {}),
            (("ruleIndex",), -2),
            (("locations", 0, "physicalLocation", "region", "startLine"), 0),
            (("partialFingerprints",), {"primaryLocationLineHash": 1}),
            (("nonsense",), True),
        ],
    )
    def test_schema_refuses_invalid_reports(self, path: tuple[str | int, ...], value: object) -> None:
        log = json.loads(FORMATS["sarif"](ALL, HERE))
        entry = log["runs"][0]["results"][0]
        for step in path[:-1]:
            entry = entry[step]
        entry[path[-1]] = value
        with pytest.raises(jsonschema.ValidationError):
            self.validator().validate(log)

    def test_the_rule_table(self) -> None:
        run = json.loads(FORMATS["sarif"](ALL, HERE))["runs"][0]
        rules = run["tool"]["driver"]["rules"]
        assert {rule["id"] for rule in rules} >= {code for code, rule in RULES.items() if rule.in_files}
        assert len({rule["id"] for rule in rules}) == len(rules)
        for result in run["results"]:
            assert rules[result["ruleIndex"]]["id"] == result["ruleId"]

    def test_a_result(self) -> None:
        (result,) = json.loads(FORMATS["sarif"](ONE, HERE))["runs"][0]["results"]
        assert (result["ruleId"], result["level"]) == (Code.declared_element_type, "error")
        assert result["message"]["text"] == mentions(1, "relu", "ReLU", "output", "f16[2,3]", "f32[2,3]")
        (location,) = result["locations"]
        assert location["physicalLocation"] == {
            "artifactLocation": {"uri": "tests/bad/IR603-declared-element-type.xml", "uriBaseId": "%SRCROOT%"},
            "region": {"startLine": 21, "startColumn": 22, "endLine": 21, "endColumn": 38},
        }
        line = lines(str(BAD / "IR603-declared-element-type.xml"))[20]
        assert line[22 - 1 : 38 - 1] == 'precision="FP16"'
        assert location["logicalLocations"][0]["name"] == "relu"

    def test_related_places(self) -> None:
        report = check_model(NETWORKS / "conv_zoo.xml", batch=3)
        log = json.loads(FORMATS["sarif"](Reports(files=(report,), summary=Summary.of([report])), HERE))
        self.validator().validate(log)
        related = log["runs"][0]["results"][0]["relatedLocations"]
        assert related[0]["message"]["text"] == 'layer 14 "Constant_387" (Const)'

    def test_paths_are_uris(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        (tmp_path / "a b%.xml").write_bytes((BAD / "IR107-cycle.xml").read_bytes())
        all_reports = reports(Path("a b%.xml"), tmp_path / "a b%.xml")
        run = json.loads(FORMATS["sarif"](all_reports, Places(str(tmp_path), str(tmp_path))))["runs"][0]
        uris = [result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in run["results"]]
        assert uris == ["a%20b%25.xml", "a%20b%25.xml"]
        assert run["originalUriBaseIds"]["%SRCROOT%"]["uri"] == f"{tmp_path.as_uri()}/"

    def test_a_path_that_cannot_be_read(self) -> None:
        run = json.loads(FORMATS["sarif"](ALL, HERE))["runs"][0]
        assert run["invocations"] == [{"executionSuccessful": False}]
        assert json.loads(FORMATS["sarif"](ONE, HERE))["runs"][0]["invocations"] == [{"executionSuccessful": True}]

    def test_what_github_asks_for(self) -> None:
        """https://docs.github.com/code-security/code-scanning/integrating-with-code-scanning/sarif-support."""
        run = json.loads(FORMATS["sarif"](ALL, HERE))["runs"][0]
        for rule in run["tool"]["driver"]["rules"]:
            assert len(rule["name"]) <= 255
            assert len(rule["shortDescription"]["text"]) <= 1024
            assert len(rule["fullDescription"]["text"]) <= 1024
            assert rule["help"]["text"]
            assert rule["help"]["markdown"]
            assert rule["properties"]["precision"] == "very-high"
            assert rule["properties"]["problem.severity"] in ("error", "warning", "recommendation")
            assert len(rule["properties"]["tags"]) <= 20
        identities = [result["partialFingerprints"]["primaryLocationLineHash"] for result in run["results"]]
        assert len(set(identities)) == len(identities)
        for result in run["results"]:
            assert len(result["locations"]) == 1
            location = result["locations"][0]["physicalLocation"]
            assert location["region"]["startLine"] >= 1
            assert location["artifactLocation"]["uri"].startswith("tests/")

    def test_identities_stay_while_lines_move(self, tmp_path: Path) -> None:
        text = (BAD / "IR603-declared-element-type.xml").read_text("utf-8")
        (tmp_path / "net.xml").write_text(text)
        before = json.loads(FORMATS["sarif"](reports(tmp_path / "net.xml"), Places()))["runs"][0]["results"][0]
        (tmp_path / "net.xml").write_text(text.replace("<layers>", "\n\n<layers>"))
        after = json.loads(FORMATS["sarif"](reports(tmp_path / "net.xml"), Places()))["runs"][0]["results"][0]
        assert before["locations"] != after["locations"]
        assert before["partialFingerprints"] == after["partialFingerprints"]


def test_github_annotations() -> None:
    header, message = FORMATS["github"](ONE, HERE).split(" declared-element-type::")
    assert header == ("::error file=tests/bad/IR603-declared-element-type.xml,line=21,col=22,endColumn=38,title=IR603")
    assert message == mentions("tests/bad/IR603-declared-element-type.xml:21", "relu", "ReLU", "f16[2,3]", "f32[2,3]")
    assert "%0Ahint: " in message
    lines = FORMATS["github"](ALL, HERE).split("\n")
    assert len(lines) == sum(len(report.diagnostics) for report in ALL.files)
    assert {line.split(" ")[0] for line in lines} == {"::error", "::warning", "::notice"}


def test_gitlab_code_quality() -> None:
    """https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format."""
    issues = json.loads(FORMATS["gitlab"](ALL, HERE))
    assert len({issue["fingerprint"] for issue in issues}) == len(issues)
    for issue in issues:
        assert set(issue) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert issue["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert issue["location"]["lines"]["begin"] >= 1
        assert issue["location"]["path"].startswith("tests/")
    (issue,) = json.loads(FORMATS["gitlab"](ONE, HERE))
    assert issue["description"] == mentions(1, "relu", "ReLU", "output", "f16[2,3]")


class TestJunit:
    def test_elements_of_known_readers(self) -> None:
        """The elements of the schema of the xUnit plugin of Jenkins; GitLab adds `file`."""
        attributes = {
            "testsuites": {"name", "time", "tests", "failures", "disabled", "errors"},
            "testsuite": {"name", "tests", "failures", "errors", "time", "skipped", "timestamp", "hostname", "id"},
            "testcase": {"name", "classname", "time", "file"},
            "failure": {"message", "type"},
            "system-out": set(),
        }
        root = etree.fromstring(FORMATS["junit"](ALL, HERE).encode())
        for element in root.iter():
            assert set(element.keys()) <= attributes[str(element.tag)]
            if element.tag == "testcase":
                assert [str(child.tag) for child in element] in (
                    [],
                    ["failure"],
                    ["system-out"],
                    ["failure", "system-out"],
                )

    def test_counts(self) -> None:
        root = etree.fromstring(FORMATS["junit"](ALL, HERE).encode())
        (suite,) = root
        cases = suite.findall("testcase")
        failed = [case for case in cases if case.find("failure") is not None]
        for counted in (root, suite):
            assert counted.get("tests") == str(len(ALL.files)) == str(len(cases))
            assert counted.get("failures") == str(len(failed)) == str(sum(not report.ok for report in ALL.files))
            assert counted.get("errors") == "0"
        assert len({(case.get("classname"), case.get("name")) for case in cases}) == len(cases)

    def test_a_failure(self) -> None:
        (case,) = etree.fromstring(FORMATS["junit"](ONE, HERE).encode()).iter("testcase")
        assert dict(case.attrib) == {
            "classname": "tests/bad",
            "name": "IR603-declared-element-type.xml",
            "file": "tests/bad/IR603-declared-element-type.xml",
        }
        (failure,) = case
        assert failure.get("type") == Code.declared_element_type
        assert str(failure.get("message")) == mentions("IR603", 1, "relu", "ReLU", "f16[2,3]")
        assert str(failure.text) == mentions("error[IR603 declared-element-type]", "f16[2,3]")

    def test_several_errors_are_counted(self) -> None:
        several = reports(BAD / "many-independent-faults.xml")
        (failure,) = etree.fromstring(FORMATS["junit"](several, HERE).encode()).iter("failure")
        assert str(failure.get("message")) == mentions(4)


def test_junit_of_names_that_xml_cannot_hold() -> None:
    text = (BAD / "IR107-cycle.xml").read_text("utf-8").replace('name="first"', 'name="&#x85;\ufffe"')
    report = check_model(text.replace("\ufffe", "").encode())
    etree.fromstring(FORMATS["junit"](Reports(files=(report,), summary=Summary.of([report])), HERE).encode())


class TestHostileNames:
    """Reports with hostile layer names hold no more lines or characters than ir_exec itself writes."""

    ID = "7\n::error::owned"
    NAME = "n\x1b[31m\x85\u202e\u200b\ufeff\r\n##[error]x"

    def reports(self) -> Reports:
        location = Location("m\n::warning::.xml", 3, self.ID, self.NAME, "T\u2066", "p\u2028")
        errors = [
            ShapeError(f"{self.NAME}, number {number}", hint=f"not {self.NAME}", location=location, severity=severity)
            for number, severity in enumerate(("info", "warning", "error", "error"))
        ]
        twice = [IRError("the same", code="IR303", severity="warning", location=location)] * 2
        diagnostics = tuple(Diagnostic.of(error.changed(related=(location,))) for error in (*errors, *twice))
        report = Report(path="m\n::warning::.xml", diagnostics=diagnostics, layers_checked=1, layers_not_checked=0)
        return Reports(files=(report,), summary=Summary.of([report]))

    @pytest.mark.parametrize("name", FORMATS)
    def test_formats(self, name: str) -> None:
        text = FORMATS[name](self.reports(), Places())
        told = json.dumps(json.loads(text), ensure_ascii=False) if name in ("json", "sarif", "gitlab") else text
        assert all(char.isprintable() or char == "\n" for char in told)
        assert "n\\" + "x1b" in told.replace("\\\\", "\\")
        assert not any(line.strip().startswith(("::error::owned", "::warning::.xml")) for line in told.split("\n"))

    def test_github_lists_errors_first(self) -> None:
        lines = FORMATS["github"](self.reports(), Places()).split("\n")
        assert [line.split(" ")[0] for line in lines] == ["::error"] * 2 + ["::warning"] * 3 + ["::notice"]

    def test_text(self) -> None:
        text = str(self.reports().files[0])
        assert all(char.isprintable() or char == "\n" for char in text)
        assert not any(line.strip().startswith("::") for line in text.split("\n"))


def test_github_keeps_percent_signs() -> None:
    location = Location("100%.xml", 3, "1", "50%0A", "T")
    diagnostic = Diagnostic.of(IRError("20% are 100%25", code=Code.impossible_shape, location=location))
    report = Report(path="100%.xml", diagnostics=(diagnostic,), layers_checked=1, layers_not_checked=0)
    text = FORMATS["github"](Reports(files=(report,), summary=Summary.of([report])), Places())
    assert text.startswith("::error file=100%25.xml,line=3,")
    assert text.endswith('layer 1 "50%250A" (T): 20%25 are 100%2525')


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("a,b.xml", "a%2Cb.xml"),
        ("a:b.xml", "a%3Ab.xml"),
        ("a,b:c%2C.xml", "a%2Cb%3Ac%252C.xml"),
        ("::x.xml", "%3A%3Ax.xml"),
    ],
)
def test_github_keeps_what_separates_its_properties(path: str, shown: str) -> None:
    error = IRError("a, b: c::d", code=Code.impossible_shape, location=Location(path, 3, "1", "x,y", "T"))
    diagnostic = Diagnostic.of(error)
    report = Report(path=path, diagnostics=(diagnostic,), layers_checked=1, layers_not_checked=0)
    text = FORMATS["github"](Reports(files=(report,), summary=Summary.of([report])), Places())
    properties, _, message = text.removeprefix("::error ").partition("::")
    assert properties == f"file={shown},line=3,title={diagnostic.code} {diagnostic.name}"
    assert message == f'{path.replace("%", "%25")}:3: layer 1 "x,y" (T): a, b: c::d'


def test_severities_of_gitlab() -> None:
    errors = [
        IRError("text", code=Code.impossible_shape, severity=severity) for severity in ("error", "warning", "info")
    ]
    diagnostics = tuple(map(Diagnostic.of, errors))
    report = Report(path="m.xml", diagnostics=diagnostics, layers_checked=1, layers_not_checked=0)
    issues = json.loads(FORMATS["gitlab"](Reports(files=(report,), summary=Summary.of([report])), Places()))
    assert [issue["severity"] for issue in issues] == ["major", "minor", "info"]
