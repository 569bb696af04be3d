"""The table of the passes in docs/architecture.md."""

from __future__ import annotations

import re
from pathlib import Path

from ir_exec.plan.pipeline import PASSES

__all__ = ["ARCHITECTURE", "with_table"]

ARCHITECTURE = Path(__file__).parents[2] / "docs" / "architecture.md"

_HEAD = "| pass | exactness | scope | effect |\n|---|---|---|---|\n"


def with_table(page: str) -> str:
    """The page with the current table of passes."""
    rows = [f"| `{entry.name}` | {entry.exactness} | {entry.scope} | {entry.effect} |\n" for entry in PASSES]
    return re.sub(re.escape(_HEAD) + r"(\|.*\n)*", lambda _: _HEAD + "".join(rows), page)
