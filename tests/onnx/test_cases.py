"""Tables of versions, shapes, types and attributes give what onnxruntime gives, with declared and open dims."""

from __future__ import annotations

import warnings
from importlib import import_module
from pkgutil import iter_modules

import pytest

from tests.onnx import cases
from tests.onnx.runtime import Node, assert_as_onnxruntime

TABLES = sorted(one.name for one in iter_modules(cases.__path__) if one.name != "values")

CASES = [
    pytest.param(case, id=f"{table}-{at}-{case}")
    for table in TABLES
    for at, case in enumerate(import_module(f"tests.onnx.cases.{table}").CASES)
]


@pytest.mark.broad
@pytest.mark.parametrize("case", CASES)
def test_as_onnxruntime(case: Node) -> None:
    with warnings.catch_warnings():
        # Infinities and NaN are among the inputs.
        warnings.simplefilter("ignore", RuntimeWarning)
        assert_as_onnxruntime(case, dynamic=case.has_open_dims)
