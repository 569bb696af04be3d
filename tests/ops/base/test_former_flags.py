"""Flags of operators under their former names: set and read as before, with a warning."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from ir_exec.extension import Array, In, Op, TensorType
from ir_exec.ops.base.attributes import Int
from ir_exec.ops.base.former_flags import FORMER_FLAGS


class Same(Op):
    """data as it is."""

    inputs = (In("data"),)

    def infer(self, data: TensorType) -> TensorType:
        return data

    def evaluate(self, data: Array) -> Array:
        return data


VALUES = {
    "views": True,
    "overwrites": ("data",),
    "picks": ("data",),
    "fills_up": True,
    "moves": True,
    "jumps": True,
    "rising": ("data",),
}


def make_flagged_class(former: str, *bases: type) -> Any:
    """A subclass of Same that sets the flag, created without its warning."""
    with pytest.warns(DeprecationWarning, match=rf"\b{former}\b.*\b{FORMER_FLAGS[former]}\b") as warnings:
        cls = type("Own", (*bases, Same), {} if bases else {former: VALUES[former]})
    assert warnings[0].filename == __file__
    return cls


@pytest.mark.parametrize("former", FORMER_FLAGS)
def test_a_flag_set_under_its_former_name(former: str) -> None:
    cls = make_flagged_class(former)
    assert getattr(cls, FORMER_FLAGS[former]) == getattr(cls(), FORMER_FLAGS[former]) == VALUES[former]
    assert not getattr(Same, FORMER_FLAGS[former])


@pytest.mark.parametrize("former", FORMER_FLAGS)
def test_a_flag_read_under_its_former_name(former: str) -> None:
    cls = type("Own", (Same,), {FORMER_FLAGS[former]: VALUES[former]})
    for owner in (cls, cls()):
        with pytest.warns(DeprecationWarning, match=FORMER_FLAGS[former]) as warnings:
            assert getattr(owner, former) == VALUES[former]
        assert warnings[0].filename == __file__


def test_a_flag_of_a_mix_in() -> None:
    cls = make_flagged_class("moves", type("Mover", (), {"moves": True}))
    assert cls.is_data_movement


def test_flag_as_property() -> None:
    with pytest.warns(DeprecationWarning, match="is_data_movement"):

        class Sometimes(Same):
            """data as it is."""

            is_exact: ClassVar[bool] = False

            @property
            def moves(self) -> bool:
                return self.is_exact

    assert Sometimes().is_data_movement is False
    assert type("Always", (Sometimes,), {"is_exact": True})().is_data_movement is True


def test_layer_attribute_may_have_a_former_flag_name() -> None:
    class Shifted(Same):
        """data, shifted."""

        moves: Int
        jumps: Int = 2

    operator = Shifted(moves=3)
    assert (operator.moves, operator.jumps) == (3, 2)
    assert not operator.is_data_movement
    assert [field.is_required for field in Shifted.fields()] == [True, False]
