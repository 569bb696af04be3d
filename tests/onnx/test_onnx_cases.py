"""Tables of versions, shapes, types and attributes give what onnxruntime gives, with declared and open dims."""

from __future__ import annotations

import warnings
from importlib import import_module
from pkgutil import iter_modules

import pytest

from ir_exec import IRError
from tests.onnx import cases
from tests.onnx.runtime import Node, assert_as_onnxruntime

TABLES = sorted(module.name for module in iter_modules(cases.__path__) if module.name != "values")

TOGETHER = 25
"""Rows of a table that are one test: a test takes as long as a row."""

CHUNKS = [
    pytest.param(rows[start : start + TOGETHER], id=f"{table}-{start}")
    for table in TABLES
    for rows in [import_module(f"tests.onnx.cases.{table}").CASES]
    for start in range(0, len(rows), TOGETHER)
]


@pytest.mark.broad
@pytest.mark.parametrize("rows", CHUNKS)
def test_as_onnxruntime(rows: list[Node]) -> None:
    _run(rows, dynamic=False)


@pytest.mark.broad(keep=40)
@pytest.mark.parametrize("rows", CHUNKS)
def test_with_open_dims(rows: list[Node]) -> None:
    _run(rows, dynamic=True)


def _run(rows: list[Node], *, dynamic: bool) -> None:
    faults = []
    for case in rows:
        try:
            with warnings.catch_warnings():
                # Infinities and NaN are among the inputs.
                warnings.simplefilter("ignore", RuntimeWarning)
                assert_as_onnxruntime(case, dynamic=dynamic)
        except (AssertionError, IRError, pytest.fail.Exception) as error:
            faults.append(f"{case}: {error}")
    assert not faults, "\n".join(faults)
