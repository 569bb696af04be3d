"""Which OpenVINO a file needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from ir_exec import check_model
from ir_exec.check.releases import Release
from ir_exec.ops.opsets import LAST_OPSET

NETWORKS = Path(__file__).parents[1] / "networks"
BAD = Path(__file__).parents[1] / "bad"
RELU = (BAD / "IR119-newer-than-target.xml").read_text("utf-8")


def relu(opset: str, *, version: str = "11", kind: str = "f32") -> bytes:
    precision = {"f32": "FP32", "f8e4m3": "F8E4M3"}[kind]
    text = RELU.replace('version="opset15"', f'version="{opset}"').replace(
        'net" version="11"', f'net" version="{version}"'
    )
    return text.replace('"f32"', f'"{kind}"').replace('"FP32"', f'"{precision}"').encode()


# What the table of OpenVINO's documentation says of opsets 1 to 15.
@pytest.mark.parametrize(
    ("opset", "release"),
    [
        ("opset1", "2020.1"),
        ("opset4", "2021.1"),
        ("opset7", "2021.4"),
        ("opset8", "2022.1"),
        ("opset9", "2022.2"),
        ("opset10", "2022.3"),
        ("opset11", "2023.0"),
        ("opset12", "2023.1"),
        ("opset13", "2023.2"),
        ("opset14", "2024.0"),
        ("opset15", "2024.5"),
    ],
)
def test_the_newest_opset_counts(opset: str, release: str) -> None:
    requires = check_model(relu(opset, version="10")).requires
    assert requires is not None
    assert requires.release == release
    assert any(demand.what == f"ReLU of {opset}" for demand in requires.demands)


def test_every_opset_has_a_release() -> None:
    releases = [check_model(relu(f"opset{number}")).requires for number in range(1, LAST_OPSET + 1)]
    assert all(requires is not None for requires in releases)
    found = [Release.parse(requires.release) for requires in releases if requires is not None]
    assert found == sorted(found)


def test_ir_version_11_needs_2022_1() -> None:
    requires = check_model(relu("opset1")).requires
    assert requires is not None
    assert (requires.release, [demand.what for demand in requires.demands]) == ("2022.1", ["IR version 11"])


def test_demands_name_the_first_layer_and_count() -> None:
    requires = check_model(NETWORKS / "gnn_gcn_gat.xml").requires
    assert requires is not None
    assert requires.release == "2023.1"
    (demand,) = requires.demands
    assert (demand.what, demand.count, demand.location.layer_id) == ("ScatterElementsUpdate of opset12", 4, "27")


def test_element_types_demand_releases() -> None:
    requires = check_model(relu("opset1", kind="f8e4m3")).requires
    assert requires is not None
    assert requires.release == "2023.3"
    assert {demand.what for demand in requires.demands} == {"element type f8e4m3"}


@pytest.mark.parametrize(
    ("target", "is_read"), [("2024.4", False), ("2024.5", True), ("2024.5.0-17288", True), ("2025.0", True)]
)
def test_a_target(target: str, is_read: bool) -> None:
    report = check_model(relu("opset15"), target=target)
    assert [error.code for error in report.errors] == ([] if is_read else ["IR119"])
    if not is_read:
        assert report.errors[0].location.layer_name == "relu"
        assert report.errors[0].message == "ReLU of opset15 needs OpenVINO 2024.5, and the target is 2024.4"


def test_a_target_that_is_none() -> None:
    (error,) = check_model(relu("opset1"), target="latest").errors
    assert "'latest' is not a release of OpenVINO" in error.message


def test_a_file_that_cannot_be_read_needs_nothing() -> None:
    assert check_model(b"no xml").requires is None
