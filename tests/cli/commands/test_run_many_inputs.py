"""`ir-exec run` of a model with many drawn inputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ir_exec import build
from ir_exec.cli import main
from ir_exec.debug.inputs import drawing
from tests.helpers.facts import mentions


def test_each_drawn_input_is_described_a_few_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count = 30
    inputs = [build.parameter([2], name=f"x{index}") for index in range(count)]
    build.model(build.result(build.concat(inputs, 0), name="y")).save(tmp_path / "net.xml")
    calls: list[str] = []
    create = drawing.DrawnInput

    def record_call(**fields: Any) -> Any:
        calls.append(fields["name"])
        return create(**fields)

    monkeypatch.setattr(drawing, "DrawnInput", record_call)
    result = CliRunner().invoke(main, ["run", str(tmp_path / "net.xml")])
    assert result.exit_code == 0, result.output
    assert any(line == mentions("x29", "[2]") for line in result.output.splitlines())
    assert len(calls) <= 3 * count
