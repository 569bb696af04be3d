"""Former names of the package `check` return the functions under their homes, with a warning."""

from __future__ import annotations

import pytest

import ir_exec.check
from ir_exec import printable
from ir_exec.check import text
from ir_exec.report import numbers
from ir_exec.report.text import wrap_words

FUNCTIONS = {
    "counted": numbers.format_count,
    "inert": printable.inert,
    "plain": text.plain,
    "printable": printable.printable,
    "wrapped": wrap_words,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_former_name_warns(name: str) -> None:
    assert name not in ir_exec.check.__all__
    with pytest.warns(DeprecationWarning, match=name):
        assert getattr(ir_exec.check, name) is FUNCTIONS[name]


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError):
        _ = ir_exec.check.no_such_name
