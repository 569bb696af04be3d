"""Tolerances: by element types, by the type that the reference computes in, or as given."""

from __future__ import annotations

import pytest

from ir_exec.debug.settings import Settings
from ir_exec.types import ElementType

F32, I64, BF16 = ElementType.parse("f32"), ElementType.parse("i64"), ElementType.parse("bf16")


def test_a_coarser_type_of_the_reference_counts() -> None:
    coarse = Settings(computes_in=BF16)
    assert coarse.carried([F32, F32]) == Settings().carried([F32, BF16])
    assert coarse.carried([F32, F32]).rtol > Settings().carried([F32, F32]).rtol


@pytest.mark.parametrize("settings", [Settings(computes_in=BF16), Settings()])
def test_integers_are_to_be_equal(settings: Settings) -> None:
    tolerance = settings.carried([I64, I64])
    assert (tolerance.rtol, tolerance.atol, tolerance.scale) == (0, 0, 0)


def test_given_tolerances_stay() -> None:
    tolerance = Settings(rtol=1e-5, computes_in=BF16).carried([F32, F32])
    assert (tolerance.rtol, tolerance.atol, tolerance.scale) == (1e-5, 0, 0)
