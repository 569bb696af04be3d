"""`ir-exec convert`, `check`, `inspect` and `run` of IR files of versions 2 to 7."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import ir_exec
from ir_exec.cli import main
from tests.older.cases import CASES


@pytest.fixture
def old(tmp_path: Path) -> Path:
    file, _, _ = CASES["convolution_with_kernel_x_and_y"]()
    (tmp_path / "old.xml").write_bytes(file.xml)
    (tmp_path / "old.bin").write_bytes(file.stored)
    return tmp_path / "old.xml"


def test_convert(old: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["convert", str(old), "-o", str(tmp_path / "new.xml")])
    assert result.exit_code == 0, result.output
    _, inputs, (expected,) = CASES["convolution_with_kernel_x_and_y"]()
    assert ir_exec.check_model(tmp_path / "new.xml").diagnostics == ()
    (actual,) = ir_exec.compile_model(tmp_path / "new.xml")(inputs).values()
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)


def test_convert_with_another_shape(old: Path, tmp_path: Path) -> None:
    arguments = ["convert", str(old), "-o", str(tmp_path / "new.xml"), "--shape", "in0[1,4,9,9]"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    assert ir_exec.read_model(tmp_path / "new.xml").output().shape == [1, 3, 5, 8]


def test_inspect_shows_the_version_of_the_file(old: Path) -> None:
    result = CliRunner().invoke(main, ["inspect", str(old), "--format", "json", "--summary"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["version"] == 2


def test_inspect_shows_the_document_in_the_layout_of_today(old: Path) -> None:
    result = CliRunner().invoke(main, ["inspect", str(old), "--format", "json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["version"] == 11


def test_check_succeeds_with_a_warning(old: Path) -> None:
    result = CliRunner().invoke(main, ["check", str(old), "--format", "json"])
    assert result.exit_code == 0, result.output
    (file,) = json.loads(result.stdout)["files"]
    assert [diagnostic["code"] for diagnostic in file["diagnostics"]] == ["IR005"]
    assert file["requires"] is None


def test_view_writes_a_page(old: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["view", str(old), "-o", str(tmp_path / "page.html")])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "page.html").stat().st_size > 0
