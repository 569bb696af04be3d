"""NaN, infinities and saturated f16 in constants."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ir_exec import Report, check_model
from ir_exec.check.constants import LARGEST_BY_DEFAULT
from ir_exec.codes import Code
from ir_exec.types import Array, ElementType
from tests.helpers.ir_text import const, net, parameter, result

BAD = Path(__file__).parents[1] / "bad"
TEXT = (BAD / "IR208-nan-in-weights.xml").read_text("utf-8")


def check(array: Array, *, offset: int = 0, everything: bool = False) -> Report:
    """A network that adds a constant to x of two rows."""
    kind = ElementType.of(array)
    count, size = array.size, array.nbytes
    text = TEXT.replace('shape="3" offset="0" size="12"', f'shape="{count}" offset="{offset}" size="{size}"')
    text = text.replace("2,3", f"2,{count}").replace("<dim>3</dim>", f"<dim>{count}</dim>")
    text = text.replace('"f32"', f'"{kind}"').replace('"FP32"', f'"{kind.precision}"')
    return check_model(text.encode(), weights=b"\0" * offset + array.tobytes(), weights_values=everything)


def codes(report: Report) -> list[str]:
    return [found.code for found in report.diagnostics]


@pytest.mark.parametrize("name", ["f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize("offset", [0, 3])
def test_every_float_type(name: str, offset: int) -> None:
    dtype = ElementType.parse(name).dtype
    assert codes(check(np.array([1, -2, 0], dtype), offset=offset)) == []
    assert codes(check(np.array([1, np.nan, 0], dtype), offset=offset)) == [Code.nan_in_weights]
    assert codes(check(np.array([-np.inf, np.inf, 0], dtype), offset=offset)) == [Code.infinity_in_weights]
    both = check(np.array([-np.inf, np.nan, np.nan], dtype), offset=offset)
    assert [found.message for found in both.diagnostics] == ["2 of 3 elements are NaN", "1 of 3 elements is infinite"]


def test_integers_are_never_odd() -> None:
    report = check(np.array([0x7FC00000, 2, 3], np.int32))
    assert not {Code.nan_in_weights, Code.infinity_in_weights, Code.saturated_f16} & set(codes(report))


def test_saturated_f16() -> None:
    assert codes(check(np.array([65504, 1, -65504], np.float16))) == [Code.saturated_f16]
    assert codes(check(np.array([65503, 1, 65472], np.float16))) == [Code.saturated_f16]  # rounds to 65504
    assert codes(check(np.array([65472, 1, -65472], np.float16))) == []
    assert codes(check(np.array([-65504, -65504], np.float16))) == []  # a mask


def test_large_constants_are_looked_at_on_request() -> None:
    array = np.zeros(LARGEST_BY_DEFAULT // 4 + 1, np.float32)
    array[-1] = np.nan
    assert codes(check(array)) == []
    assert codes(check(array, everything=True)) == [Code.nan_in_weights]
    assert codes(check(array[1:])) == [Code.nan_in_weights]


def test_no_more_than_64_mib_are_looked_at_unasked() -> None:
    """Constants may overlap: a small .xml can name the bytes of the .bin as often as it likes."""
    size, count = LARGEST_BY_DEFAULT, 67
    weights = np.zeros(size // 4 + count, np.float32)
    weights[count] = np.nan  # in all of them
    layers = [const(2 + index, "f32", (size // 4,), 4 * index, size) for index in range(count)]
    raw = net([parameter(0, dims=(2,)), result(1, dims=(2,)), *layers], [(0, 0, 1, 0)])
    assert codes(check_model(raw, weights=weights.tobytes())).count(Code.nan_in_weights) == 64
    everything = check_model(raw, weights=weights.tobytes(), weights_values=True)
    assert codes(everything).count(Code.nan_in_weights) == count
