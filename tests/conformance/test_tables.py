"""The tables themselves: equal rows in every process, as parallel runs of the tests require."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from ir_exec.types import Array
from tests.conformance.case import Case
from tests.conformance.checks import families, table


def row_digest(case: Case) -> str:
    """A few characters for everything that a row holds."""
    arrays = [*case.inputs, *(case.expected or ())]
    body = [(str(array.dtype), array.shape, _content(array)) for array in arrays]
    fields = (case.opset, sorted(case.constants), case.outputs, case.oracle, case.rtol, case.atol, case.dynamic)
    return hashlib.sha256(f"{case}{fields}{body}".encode()).hexdigest()[:12]


def _content(array: Array) -> object:
    return array.tolist() if array.dtype == object else hashlib.sha256(array.tobytes()).hexdigest()


@cache
def digests(family: str) -> list[str]:
    return [row_digest(case) for case in table(family)]


@pytest.fixture(scope="module")
def elsewhere() -> dict[str, list[str]]:
    """The digests of every row as a process sees them in which sets have another order."""
    script = "from tests.conformance import test_tables as t\nfor f in t.families(): print(f, *t.digests(f))"
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    root = Path(__file__).parents[2]
    run = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(root)},
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    return {line.split()[0]: line.split()[1:] for line in run.stdout.splitlines()}


@pytest.mark.parametrize("family", families())
def test_rows_are_the_same_in_every_process(family: str, elsewhere: dict[str, list[str]]) -> None:
    here = digests(family)
    differing = [
        str(case) for case, ours, other in zip(table(family), here, elsewhere[family], strict=False) if ours != other
    ]
    assert here == elsewhere[family], f"the order of a set, or random data without a seed? first: {differing[:1]}"


@pytest.mark.parametrize("family", families())
def test_no_row_stands_twice(family: str) -> None:
    counts = Counter(digests(family))
    twice = [str(case) for case, digest in zip(table(family), digests(family), strict=True) if counts[digest] > 1]
    assert not twice
