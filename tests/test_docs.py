"""What the documents for contributors name is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# A path of a folder or a file of this repository, in code or in a code block; not a page of the specification.
PATH = re.compile(r"(?<![\w/.-])((?:ir_exec|tests|docs|benchmarks|samples|schemas|\.ci)/[\w./-]*)")


def paths_in(document: str) -> list[str]:
    return sorted({path.rstrip(".") for path in PATH.findall((ROOT / document).read_text("utf-8"))})


@pytest.mark.parametrize("document", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_every_path_is_there(document: str) -> None:
    paths = paths_in(document)
    assert len(paths) > 5
    assert [path for path in paths if not (ROOT / path).exists()] == []
