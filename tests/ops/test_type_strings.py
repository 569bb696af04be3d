"""StringTensorPack and StringTensorUnpack: errors, and that they undo each other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir_exec.errors import EvaluationError, ShapeError
from ir_exec.ops.type import StringTensorPack, StringTensorUnpack
from ir_exec.types import ElementType, Shape, TensorType


def integers(text: str) -> TensorType:
    return TensorType(ElementType.i64, Shape.parse(text))


def symbols(text: str) -> TensorType:
    return TensorType(ElementType.u8, Shape.parse(text))


def test_what_both_ends_allow() -> None:
    found = StringTensorPack().infer(integers("?,2..5"), integers("3,4.."), symbols("?"))
    assert found == TensorType(ElementType.string, Shape.parse("3,4..5"))


@pytest.mark.parametrize(
    ("types", "code", "message"),
    [
        (("2", "3", "9"), "IR502", "the shapes of begins and ends must be equal, found [2] and [3]"),
        (("2", "2,1", "9"), "IR501", "the shapes of begins and ends must be equal, found [2] and [2,1]"),
        (("2", "2", "3,3"), "IR501", "symbols has rank 2 ([3,3]), expected 1"),
    ],
)
def test_errors(types: tuple[str, str, str], code: str, message: str) -> None:
    with pytest.raises(ShapeError) as error:
        StringTensorPack().infer(integers(types[0]), integers(types[1]), symbols(types[2]))
    assert (error.value.code, error.value.message) == (code, message)


@pytest.mark.parametrize(
    ("begins", "ends", "message"),
    [
        ([0, -1], [1, 2], "begins holds -1, allowed are 0 to 3, the length of symbols"),
        ([0, 3], [1, 4], "ends holds 4, allowed are 0 to 3, the length of symbols"),
    ],
)
def test_strings_beyond_the_symbols(begins: list[int], ends: list[int], message: str) -> None:
    with pytest.raises(EvaluationError) as error:
        StringTensorPack().evaluate(np.array(begins), np.array(ends), np.frombuffer(b"abc", np.uint8))
    assert (error.value.code, error.value.message) == ("IR701", message)
    known = [TensorType.of(np.array(places)) for places in (begins, ends)]
    assert [found.message for found in StringTensorPack().check_values(*known, symbols("3"))] == [message]
    assert StringTensorPack().check_values(*known, symbols("?")) == []


def test_bytes_that_are_no_text_survive() -> None:
    raw = np.frombuffer(b"a\xff\xfe\xc3\xa9", np.uint8)
    packed = StringTensorPack().evaluate(np.array([0, 2]), np.array([2, 5]), raw)
    assert packed.tolist() == ["a\udcff", "\udcfeé"]
    assert bytes(StringTensorUnpack().evaluate(packed)[2]) == bytes(raw)


@settings(max_examples=50)
@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=6), max_size=6))
def test_packing_undoes_unpacking(texts: list[str]) -> None:
    data = np.empty(len(texts), object)
    data[:] = texts
    begins, ends, raw = StringTensorUnpack().evaluate(data)
    assert bytes(raw) == "".join(texts).encode()
    assert StringTensorPack().evaluate(begins, ends, raw).tolist() == texts
    (*_, length) = StringTensorUnpack().infer(TensorType.of(data))
    assert length.shape == [len(raw)]
