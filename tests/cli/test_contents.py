"""Formats of existing files."""

from __future__ import annotations

from pathlib import Path

import pytest

from ir_exec.cli.contents import detect_format


def format_of(content: bytes, folder: Path, name: str = "file.xml") -> str | None:
    path = folder / name
    path.write_bytes(content)
    return detect_format(str(path))


@pytest.mark.parametrize("start", [b"<??>", b"<!---->", b"<? ?> <!-- -->\n", b"<!D>"])
def test_declarations_without_an_element_take_linear_time(start: bytes, tmp_path: Path) -> None:
    # A pattern that can group them in several ways takes more time than the age of the universe.
    assert format_of(start * 5000 + b"<", tmp_path) not in ("IR", "junit")


@pytest.mark.parametrize(
    "start", [b"", b"\xef\xbb\xbf \n", b'<?xml version="1.0"?>\n<!-- a > b -->\n<!DOCTYPE net>\n', b"<!--?>--><?a?>"]
)
def test_the_first_element_is_found_after_declarations(start: bytes, tmp_path: Path) -> None:
    assert format_of(start + b'<net name="x" version="11"/>', tmp_path) == "IR"
