"""The numbers about speed and memory: each is read by some kernel, and by its name in `costs`."""

from __future__ import annotations

import re
from pathlib import Path

import ir_exec
from ir_exec.kernels import costs

PACKAGE = Path(ir_exec.__file__).parent


def test_every_number_is_read_where_it_can_be_replaced() -> None:
    modules = [path for path in PACKAGE.rglob("*.py") if path != Path(costs.__file__)]
    text = "\n".join(path.read_text(encoding="utf-8") for path in modules)
    assert {name for name in vars(costs) if name.isupper()} == set(re.findall(r"\bcosts\.([A-Z_]+)", text))
    assert "from ir_exec.kernels.costs import" not in text
