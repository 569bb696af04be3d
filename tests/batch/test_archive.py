"""By which names inputs find their arrays in a file."""

from __future__ import annotations

import pytest

from ir_exec import build
from ir_exec.batch.archive import port_of_key


@pytest.mark.parametrize(
    ("key", "expected"),
    [("a", "a"), ("in0", "a"), ("in1", "arr_0"), ("arr_1", "arr_0"), ("arr_0", "arr_0"), ("in2", None), ("b", None)],
)
def test_names_come_before_positions(key: str, expected: str | None) -> None:
    inputs = [build.parameter([2], name=name) for name in ("a", "arr_0")]
    ports = build.model([build.result(build.add(*inputs))], inputs).inputs
    port = port_of_key(key, ports)
    assert (port and port.name) == expected
