"""Recorded text: compared, and written with the option."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.recordings import Recording, read_recording


def test_recorded_text_is_read(tmp_path: Path) -> None:
    path = tmp_path / "report.txt"
    path.write_text("a\nb\n", encoding="utf-8")
    assert read_recording(path, "c\n") == "a\nb\n"
    with pytest.raises(FileNotFoundError):
        read_recording(tmp_path / "other.txt", "c\n")


def test_text_is_written_with_the_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Recording, "is_on", True)
    path = tmp_path / "new" / "report.txt"
    assert read_recording(path, "é\n") == "é\n"
    assert path.read_bytes() == "é\n".encode()
