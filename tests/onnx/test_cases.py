"""ONNX operators over tables of shapes, types, attributes and versions, against onnxruntime."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules

import pytest

import ir_exec
from tests.onnx import cases
from tests.onnx.case import Case, close, expected, found

TABLES = sorted(one.name for one in iter_modules(cases.__path__) if one.name != "values")


def _all() -> Iterator[object]:
    for table in TABLES:
        for at, case in enumerate(import_module(f"tests.onnx.cases.{table}").CASES):
            yield pytest.param(case, id=f"{table}:{at} {case}")


@pytest.mark.parametrize("case", list(_all()))
def test_as_onnxruntime(case: Case) -> None:
    with warnings.catch_warnings():
        # What others warn of is not our business.
        warnings.simplefilter("ignore")
        wanted = expected(case)
    if wanted is None:
        with pytest.raises(ir_exec.IRError):
            found(case, is_static=True)
        return
    for is_static in (True, False) if case.is_dynamic else (True,):
        for ours, theirs in zip(found(case, is_static=is_static), wanted, strict=True):
            close(ours, theirs, case)
