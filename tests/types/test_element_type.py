"""Element types and the dtypes that carry them."""

import builtins

import numpy as np
import pytest

from ir_exec.types import ALL, FLOAT, INTEGER, NUMERIC, ElementType
from tests.helpers.facts import naming


@pytest.mark.parametrize("element_type", sorted(ALL, key=lambda element_type: element_type.name), ids=str)
def test_type_and_dtype_stand_one_to_one(element_type):
    array = np.zeros((2,), element_type.dtype)
    assert ElementType.of(array) is element_type
    assert ElementType.of(array[:0]) is element_type


@pytest.mark.parametrize("element_type", sorted(ALL, key=lambda element_type: element_type.name), ids=str)
def test_both_spellings_in_any_case(element_type):
    for text in (
        element_type.name,
        element_type.name.upper(),
        element_type.precision,
        element_type.precision.lower(),
        f" {element_type.name} ",
    ):
        assert ElementType.parse(text) is element_type


def test_other_spellings_of_files():
    assert ElementType.parse("U1") is ElementType.u1
    assert ElementType.parse("bool") is ElementType.boolean
    assert ElementType.parse("undefined") is ElementType.dynamic


@pytest.mark.parametrize("text", ["", "f33", "float", "FP", "complex64"])
def test_invalid_type_is_refused(text):
    with pytest.raises(ValueError, match=naming(repr(text))):
        ElementType.parse(text)


def test_sets():
    assert not FLOAT & INTEGER
    assert FLOAT | INTEGER == NUMERIC
    assert {element_type.name for element_type in ALL - NUMERIC} == {"boolean", "string"}


def test_unknown_types_have_no_dtype():
    with pytest.raises(TypeError):
        _ = ElementType.dynamic.dtype
    with pytest.raises(ValueError, match="complex64"):
        ElementType.of(np.zeros(1, np.complex64))


def test_two_threads_load_ml_dtypes_at_once(monkeypatch):
    """While the one imports it, the other has found the dtype."""
    element_type, load = ElementType.f8e4m3, builtins.__import__
    dtype = element_type.dtype
    monkeypatch.setattr(element_type, "stored_dtype", "float8_e4m3fn")

    def import_meanwhile(name, *others):
        module = load(name, *others)
        if name == "ml_dtypes":
            element_type.stored_dtype = dtype
        return module

    monkeypatch.setattr(builtins, "__import__", import_meanwhile)
    assert element_type.dtype == dtype
