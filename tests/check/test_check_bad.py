"""One broken file for each rule, and the exact findings that each gives."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ir_exec import Report, check_model
from ir_exec.check import RULES
from ir_exec.codes import Code
from tests.helpers.facts import facts
from tests.helpers.recordings import read_recording

BAD = Path(__file__).parents[1] / "bad"
EXPECTED: dict[str, list[str]] = json.loads((BAD / "expected.json").read_text("utf-8"))

TARGETS = {"IR119-newer-than-target": "2024.0"}
"""Files whose faults depend on the options of the check."""

WITHOUT_FILE = {
    Code.unreadable_path: "the file is one that does not exist",
    Code.operator_not_implemented: "operators that are missing today are there tomorrow",
    Code.unsorted_nodes: "tests/onnx/test_onnx_check.py: a fault of ONNX files",
    Code.opset_import: "tests/onnx/test_onnx_check.py",
    Code.repeated_value_name: "tests/onnx/test_onnx_check.py",
    Code.deprecated_operator: "tests/onnx/test_onnx_deprecated.py",
    Code.operator_not_in_opset: "tests/onnx/checking/test_unknown.py",
    Code.repeated_node_name: "tests/onnx/checking/test_names.py",
    Code.shadowed_name: "tests/onnx/checking/test_names.py",
    Code.value_info: "tests/onnx/test_onnx_check.py",
    Code.internal_error: "a fault of ir_exec itself",
}


def findings(report: Report) -> list[str]:
    """Severity, code, place and values of each finding.

    error[IR601] line 21: layer 1 "relu" (ReLU), port output; actual f32[2,3]; expected f32[2,5]
    """
    return [
        "; ".join(
            [
                f"{finding.severity}[{finding.code}] {replace(finding.location, path=None)}".rstrip(),
                *([] if finding.actual is None else [f"actual {finding.actual}"]),
                *([] if finding.expected is None else [f"expected {finding.expected}"]),
            ]
        )
        for finding in report.diagnostics
    ]


@pytest.mark.parametrize("name", EXPECTED)
def test_findings(name: str) -> None:
    path = BAD / f"{name}.xml"
    report = check_model(path, target=TARGETS.get(name))
    assert findings(report) == EXPECTED[name]
    assert report.ok == all(not line.startswith("error") for line in EXPECTED[name])
    assert {diagnostic.location.path for diagnostic in report.diagnostics} <= {str(path), str(path.with_suffix(".bin"))}


def test_findings_of_all_files_are_recorded() -> None:
    names = sorted(path.stem for path in BAD.glob("*.xml"))
    lines = {name: findings(check_model(BAD / f"{name}.xml", target=TARGETS.get(name))) for name in names}
    text = json.dumps(lines, indent=2, ensure_ascii=False) + "\n"
    assert text == read_recording(BAD / "expected.json", text)


def test_files_are_named_after_their_rule() -> None:
    for name, lines in EXPECTED.items():
        if name.startswith("IR"):
            assert any(f"[{name[:5]}]" in line for line in lines), name


def test_every_rule_has_a_file() -> None:
    broken = {line.partition("[")[2][:5] for lines in EXPECTED.values() for line in lines}
    missing = {code for code, rule in RULES.items() if rule.in_files} - broken - set(WITHOUT_FILE)
    assert not missing


def test_messages_name_declared_and_inferred_types() -> None:
    """Of the findings that only this checker has."""
    report = check_model(BAD / "IR601-declared-dims.xml")
    (error,) = report.errors
    assert facts(error.message) == ["1", "3", "5", "f32[2,3]", "f32[2,5]"]
    assert facts(error.hint) == ["f32[2,3]"]
    report = check_model(BAD / "IR601-attribute-changed.xml")
    (error,) = report.errors
    assert facts(error.message) == ["1", "1", "2", "i64[2,1]", "i64[2,2]"]
    assert error.hint
    report = check_model(BAD / "IR603-edge-from-another-layer.xml")
    assert facts(report.errors[0].message) == ["3", "boolean[2,3]", "f32", "f32[2,3]", "flags"]
