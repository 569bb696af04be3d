"""The operator tables on a device: the package's copy, counts, failures, and what is saved of them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import ir_exec
from ir_exec import EvaluationError, IRError
from ir_exec.debug import Conformance, compare, conformance
from ir_exec.debug.device.tables import running
from ir_exec.debug.device.tables.report import conformance_html, conformance_junit
from ir_exec.debug.device.tables.running import case_types, cases_of, load_baseline, node_of, pack_cases, unpack_cases
from ir_exec.ops import resolve
from tests.conformance.suite import PATH, shipped_cases
from tests.debug.device.faulty import FaultyDevice
from tests.helpers.facts import naming


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch) -> FaultyDevice:
    """A device on which every Floor is wrong."""
    device = FaultyDevice(wrong=["Floor"])
    monkeypatch.setattr(running, "device_of", lambda *a, **k: device)
    return device


class TestCases:
    def test_package_tables_are_current(self) -> None:
        rows = cases_of()
        assert pack_cases(rows) == pack_cases(shipped_cases()), "python -m tests.conformance.suite writes the file anew"
        assert PATH.stat().st_size < 2**19

    def test_every_type_has_cases(self) -> None:
        assert len(case_types()) > 190
        assert len(cases_of()) > 7000

    def test_patterns(self) -> None:
        assert {case.type for case in cases_of(["gather*", "TopK"])} == {
            "Gather",
            "GatherElements",
            "GatherND",
            "GatherTree",
            "TopK",
        }
        with pytest.raises(EvaluationError, match="Gathr") as raised:
            cases_of(["Gathr"])
        assert raised.value.code == "IR705"

    @pytest.mark.parametrize("is_open", [False, True])
    def test_networks(self, is_open: bool) -> None:
        for case in cases_of(["Gather", "Pad", "LSTMSequence"])[::9]:
            model = case.network(is_open=is_open)
            assert node_of(model).op == resolve(case.type, f"opset{case.opset}").parse(
                case.attributes, raise_unexpected
            )
            assert [port.shape.is_static for port in model.inputs] == [
                not is_open or array.ndim == 0 for array in case.arrays
            ]

    def test_round_trip(self) -> None:
        rows = cases_of(["StringTensorUnpack", "Convert"])
        again = list(unpack_cases(pack_cases(rows)))
        assert [str(case) for case in again] == [str(case) for case in rows]
        assert all(
            (first.view(np.uint8) == other.view(np.uint8)).all() if first.dtype != object else (first == other).all()
            for before, after in zip(rows, again, strict=True)
            for first, other in zip(before.inputs, after.inputs, strict=True)
            if first.size and first.ndim
        )


def raise_unexpected(error: IRError) -> None:
    raise error


class TestReport:
    def test_wrong_types_and_their_smallest_case(self, faulty: FaultyDevice, tmp_path: Path) -> None:
        report = conformance("TEST", types=["Floor", "Ceiling"], output=tmp_path / "failing")
        floor, ceiling = sorted(report.operators, key=lambda operator: operator.type, reverse=True)
        assert not report.ok
        # What is empty, infinite or NaN stays right with one more.
        assert ceiling.count("right") == ceiling.cases
        assert 0 < floor.count("wrong") < floor.cases
        assert floor.failed[0].bytes == min(
            case.bytes for case in floor.failed if case.status == floor.failed[0].status
        )
        assert floor.failed[0].file == str(tmp_path / "failing" / "Floor-1.xml")
        with np.load(tmp_path / "failing" / "Floor-1.inputs.npz") as inputs:
            arguments = dict(inputs)
        same = compare(tmp_path / "failing" / "Floor-1.xml", tmp_path / "failing" / "Floor-1.outputs.npz", arguments)
        assert same.verdict in ("equal", "not compared")

    def test_crashes_go_on(self, faulty: FaultyDevice) -> None:
        faulty.wrong, faulty.crashing = (), ("layer",)
        report = conformance("TEST", types="Abs")
        assert report.count("crashed") == report.cases > 3
        assert report.crashes >= report.cases

    def test_open_dims(self, faulty: FaultyDevice) -> None:
        static = conformance("TEST", types="Floor")
        both = conformance("TEST", types="Floor", open_dims=True)
        assert static.cases < both.cases <= 2 * static.cases
        assert {case.form for case in both.failed()} == {"static", "open"}

    def test_baseline(self, faulty: FaultyDevice, tmp_path: Path) -> None:
        before = conformance("TEST", types="Floor")
        path = tmp_path / "before.json"
        path.write_text(before.model_dump_json())
        assert load_baseline(path) == before
        assert conformance("TEST", types="Floor", baseline=path).ok
        faulty.wrong = ("Floor", "Ceiling")
        after = conformance("TEST", types=["Floor", "Ceiling"], baseline=path)
        assert not after.ok
        assert {case.operator.partition("-")[0] for case in after.failed() if case.is_new} == {"Ceiling"}
        path.write_text("{}")
        with pytest.raises(IRError, match=r"before\.json"):
            load_baseline(path)

    def test_pages(self, faulty: FaultyDevice) -> None:
        report = conformance("TEST", types=["Floor", "Ceiling"])
        assert "<script" not in conformance_html(report)
        assert conformance_html(report).count("<tr>") == 3
        assert conformance_junit(report).count("<failure") == len(report.failed())
        assert Conformance.model_validate_json(report.model_dump_json()) == report
        assert report.headline in str(report)


class TestDevices:
    def test_plugin_is_right_except_known_faults(self) -> None:
        report = conformance("CPU", types=["TopK", "Floor", "GatherElements"])
        assert report.ok
        assert all(case.known is not None for case in report.failed(("wrong", "crashed")))
        assert report.count("right") > 150

    def test_sequences_in_dynamic_networks(self) -> None:
        report = conformance("CPU", types="GRUSequence", open_dims=True)
        assert {case.form for case in report.failed()} == {"open"}

    def test_onnxruntime(self) -> None:
        report = conformance("CPU", types=["GatherTree", "Pad"], engine="onnxruntime")
        assert report.ok
        assert json.loads(report.model_dump_json())["device"].startswith("onnxruntime")

    def test_missing_device_is_reported(self) -> None:
        with pytest.raises(EvaluationError, match=naming("NPU")):
            conformance("NPU")


def test_entry_point_is_public() -> None:
    assert callable(ir_exec.debug.conformance)
