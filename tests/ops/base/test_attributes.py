"""Fields of operators: how their text is read, what is refused, and that operators do not change."""

from __future__ import annotations

from math import inf, isnan
from typing import Annotated, Any, ClassVar, Literal

import pytest

from ir_exec.errors import InvalidAttributeError, IRError, raise_error
from ir_exec.ops.base.attributes import (
    LOWER,
    Bool,
    ElementTypeName,
    Float,
    Floats,
    IndexTypeName,
    Int,
    Ints,
    Named,
    NonNegative,
    NonNegatives,
    Positive,
    Positives,
    ShapeText,
    at_least,
    fields_of,
    of_length,
    within,
)
from ir_exec.ops.base.operator import Op
from ir_exec.types import ElementType, Shape
from tests.helpers.facts import fault_with, mentions, naming


class Sample(Op):
    kind: ClassVar[str] = "no field"

    count: Int
    mode: Annotated[Literal["linear", "cubic"], LOWER] = "linear"
    exclude_pad: Annotated[Bool, Named("exclude-pad")] = False


class Narrower(Sample):
    mode: Annotated[Literal["cubic"], LOWER] = "cubic"
    first: Int = 1
    last: Int = 2

    def check_attributes(self) -> None:
        if self.first > self.last:
            raise ValueError("first is above last")


class Types(Op):
    boolean: Bool = False
    integer: Int = 0
    natural: NonNegative = 0
    positive: Positive = 1
    number: Float = 0.0
    integers: Ints = ()
    naturals: NonNegatives = ()
    positives: Positives = ()
    numbers: Floats = ()
    element_type: ElementTypeName = ElementType.f32
    index_type: IndexTypeName = ElementType.i32
    shape: ShapeText = Shape([])
    text: str = ""
    at_least_two: Annotated[Int, at_least(2)] = 2
    up_to_ten: Annotated[Float, within(0, 10)] = 0.0
    pair: Annotated[Ints, of_length(2, 2)] = (0, 0)
    some: Annotated[Ints, of_length(1)] = (0,)
    names: Annotated[tuple[Literal["relu", "tanh"], ...], str.split] = ()


def parse(cls: type[Op], **attributes: str) -> tuple[Any, list[IRError]]:
    faults: list[IRError] = []
    operator = cls.parse({name.replace("__", "-"): text for name, text in attributes.items()}, faults.append)
    return operator, faults


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("boolean", "true", True),
        ("boolean", " False ", False),
        ("boolean", "1", True),
        ("integer", " -3 ", -3),
        ("integer", "+07", 7),
        ("integer", str(-(2**63)), -(2**63)),
        ("integer", str(2**63 - 1), 2**63 - 1),
        ("natural", "0", 0),
        ("positive", "1", 1),
        ("number", "-1e-3", -0.001),
        ("number", "inf", inf),
        ("integers", "1, -2,3", (1, -2, 3)),
        ("integers", "[1,2]", (1, 2)),
        ("integers", " ", ()),
        ("naturals", "0,1", (0, 1)),
        ("positives", "1,2", (1, 2)),
        ("numbers", "0.5,1", (0.5, 1.0)),
        ("element_type", "BF16", ElementType.bf16),
        ("element_type", "f32", ElementType.f32),
        ("index_type", "i64", ElementType.i64),
        ("shape", "1,?,2..3", [1, None, (2, 3)]),
        ("text", " any text ", " any text "),
        ("at_least_two", "2", 2),
        ("up_to_ten", "10", 10.0),
        ("pair", "1,2", (1, 2)),
        ("names", "relu tanh", ("relu", "tanh")),
    ],
)
def test_texts_that_can_be_read(name: str, text: str, value: object) -> None:
    operator, faults = parse(Types, **{name: text})
    assert faults == []
    assert getattr(operator, name) == value
    assert getattr(Types(**{name: text}), name) == value


def test_not_a_number_is_a_number() -> None:
    assert isnan(parse(Types, number="nan")[0].number)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("boolean", "yes", mentions("true", "false")),
        ("integer", "1.0", "an integer"),
        ("integer", "1_000", "an integer"),
        ("integer", "٣", "an integer"),
        ("integer", "9" * 5000, "an integer"),
        ("integer", str(2**63), mentions(64)),
        ("integer", str(-(2**63) - 1), mentions(64)),
        ("natural", "-1", "0 or more"),
        ("positive", "0", "1 or more"),
        ("number", "one", "a number"),
        ("integers", "1,,2", "an integer"),
        ("naturals", "0,-1", "0 or more"),
        ("positives", "1,0", "1 or more"),
        ("numbers", "1,x", "a number"),
        ("element_type", "FP32", mentions("f32")),
        ("element_type", "BOOL", mentions("boolean")),
        ("index_type", "f32", "i32 or i64"),
        ("at_least_two", "1", "2 or more"),
        ("up_to_ten", "10.5", mentions(0, 10)),
        ("up_to_ten", "nan", mentions(0, 10)),
        ("pair", "1", "2 values"),
        ("some", "", mentions(1)),
        ("names", "relu gelu", mentions("relu", "tanh")),
    ],
)
def test_texts_that_cannot_be_read(name: str, text: str, expected: str | mentions) -> None:
    operator, faults = parse(Types, **{name: text})
    assert operator is None
    assert faults == [fault_with(name, code="IR302", actual=repr(text), expected=expected)]
    with pytest.raises(ValueError, match=naming(*(expected.names if isinstance(expected, mentions) else (expected,)))):
        Types(**{name: text})


@pytest.mark.parametrize(
    ("name", "text", "names"),
    [
        ("element_type", "f33", ("f33",)),
        ("shape", "1,-3", (-3, 0, 9223372036854775807)),
    ],
)
def test_unreadable_texts_of_other_types(name: str, text: str, names: tuple[object, ...]) -> None:
    operator, faults = parse(Types, **{name: text})
    assert operator is None
    assert [fault.code for fault in faults] == ["IR302"]
    assert faults[0].message == mentions(name, *names)
    with pytest.raises(ValueError, match=naming(*names)):
        Types(**{name: text})


def test_field_name_may_differ_from_attribute() -> None:
    operator, faults = parse(Sample, count="1", exclude__pad="true")
    assert (operator.exclude_pad, faults) == (True, [])
    assert Sample.unknown_attributes({"count": "1", "exclude-pad": "true", "exclude_pad": "true"}) == ["exclude_pad"]


def test_every_fault_is_reported() -> None:
    operator, faults = parse(Sample, mode="Nearest")
    assert operator is None
    assert faults == [
        fault_with("count", code="IR301"),
        fault_with("mode", code="IR302", actual="'Nearest'", expected=mentions("linear", "cubic")),
    ]


def test_fields_are_inherited_and_narrowed() -> None:
    assert [field.name for field in fields_of(Narrower)] == ["count", "mode", "exclude_pad", "first", "last"]
    assert parse(Narrower, count="1")[0].mode == "cubic"
    (fault,) = parse(Narrower, count="1", mode="linear")[1]
    assert fault == fault_with("mode", code="IR302", actual="'linear'", expected="cubic")


def test_annotations_may_be_types() -> None:
    """Annotations of a module without `from __future__ import annotations`."""
    text = "class Plain(Op):\n    axis: Int = 1\n    label: ClassVar[str] = 'x'\n    other: ClassVar = 2\n"
    names: dict[str, Any] = {"Op": Op, "Int": Int, "ClassVar": ClassVar, "__name__": __name__}
    exec(compile(text, "plain.py", "exec", dont_inherit=True), names)
    assert names["Plain"].parse({"axis": "3"}, raise_error).axis == 3
    assert [field.name for field in names["Plain"].fields()] == ["axis"]


def test_an_attribute_may_be_absent() -> None:
    text = "class Plain(Op):\n    mode: Literal['error'] | None = None\n    count: int | None = None\n"
    names: dict[str, Any] = {"Op": Op, "Literal": Literal, "__name__": __name__}
    exec(compile(text, "plain.py", "exec", dont_inherit=True), names)
    plain = names["Plain"]
    assert plain.parse({}, raise_error) == plain()
    assert plain().mode is None
    assert (plain.parse({"mode": "error", "count": "3"}, raise_error).mode, plain(count=3).count) == ("error", 3)
    with pytest.raises(InvalidAttributeError):
        plain.parse({"mode": "zeros"}, raise_error)


def test_attributes_that_do_not_fit_together() -> None:
    assert parse(Narrower, count="1", first="3") == (None, [fault_with("first", "last", code="IR302")])
    with pytest.raises(ValueError, match=naming("first", "last")):
        Narrower(count=1, first=3)


def test_operators_do_not_change_and_compare_by_value() -> None:
    sample = Sample(count=1)
    assert sample == Sample(count=1, mode="linear") != Sample(count=2)
    assert Narrower(count=1, mode="cubic") != Sample(count=1, mode="cubic")
    assert len({sample, Sample(count=1)}) == 1
    assert repr(sample) == "Sample(count=1, mode='linear', exclude_pad=False)"
    with pytest.raises(AttributeError):
        sample.count = 2  # type: ignore[misc]  # the point of the test


def test_missing_and_unknown_fields() -> None:
    with pytest.raises(TypeError, match=naming("['count']", "['counts']")):
        Sample(counts=1)  # type: ignore[call-arg]  # the point of the test


class Mistaken(Op):
    count: Annotated[int, "an integer"]


def test_annotation_without_text_form() -> None:
    with pytest.raises(TypeError, match=naming("integer")):
        fields_of(Mistaken)
