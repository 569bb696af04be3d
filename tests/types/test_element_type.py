"""Element types and the dtypes that carry them."""

import builtins

import numpy as np
import pytest

from ir_exec.types import ALL, FLOAT, INTEGER, NUMERIC, ElementType
from tests.helpers.facts import naming


@pytest.mark.parametrize("kind", sorted(ALL, key=lambda kind: kind.name), ids=str)
def test_type_and_dtype_stand_one_to_one(kind):
    array = np.zeros((2,), kind.dtype)
    assert ElementType.of(array) is kind
    assert ElementType.of(array[:0]) is kind


@pytest.mark.parametrize("kind", sorted(ALL, key=lambda kind: kind.name), ids=str)
def test_both_spellings_in_any_case(kind):
    for text in (kind.name, kind.name.upper(), kind.precision, kind.precision.lower(), f" {kind.name} "):
        assert ElementType.parse(text) is kind


def test_other_spellings_of_files():
    assert ElementType.parse("U1") is ElementType.u1
    assert ElementType.parse("bool") is ElementType.boolean
    assert ElementType.parse("undefined") is ElementType.dynamic


@pytest.mark.parametrize("text", ["", "f33", "float", "FP", "complex64"])
def test_what_is_no_type_is_refused(text):
    with pytest.raises(ValueError, match=naming(repr(text))):
        ElementType.parse(text)


def test_sets():
    assert not FLOAT & INTEGER
    assert FLOAT | INTEGER == NUMERIC
    assert {kind.name for kind in ALL - NUMERIC} == {"boolean", "string"}


def test_types_that_are_not_known_have_no_dtype():
    with pytest.raises(TypeError):
        _ = ElementType.dynamic.dtype
    with pytest.raises(ValueError, match="complex64"):
        ElementType.of(np.zeros(1, np.complex64))


def test_two_threads_load_ml_dtypes_at_once(monkeypatch):
    """While the one imports it, the other has found the dtype."""
    kind, load = ElementType.f8e4m3, builtins.__import__
    found = kind.dtype
    monkeypatch.setattr(kind, "stored_dtype", "float8_e4m3fn")

    def import_meanwhile(name, *others):
        module = load(name, *others)
        if name == "ml_dtypes":
            kind.stored_dtype = found
        return module

    monkeypatch.setattr(builtins, "__import__", import_meanwhile)
    assert kind.dtype == found
