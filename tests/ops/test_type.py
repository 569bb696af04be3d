"""Changes of element type: the types that come of them, and bounds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir_exec.errors import ElementTypeError, EvaluationError, InvalidAttributeError, ShapeError, raise_error
from ir_exec.kernels.parallel import THREADS
from ir_exec.ops import Op
from ir_exec.ops.type import StringTensorPack, StringTensorUnpack
from ir_exec.types import ElementType, Shape, TensorType
from tests.helpers.chunks import in_chunks
from tests.helpers.facts import fault_with, naming
from tests.helpers.operators import infer_types, make
from tests.helpers.values import make_type


def test_shapes_pass_through() -> None:
    for shape in ("[2,3]", "[?,2..5]", "[...]", "[]"):
        assert str(make("Convert", 1, destination_type="i32").infer(make_type(shape))) == f"i32{shape}"
        assert str(make("ConvertLike", 1).infer(make_type(shape), make_type("[...]", "u4"))) == f"u4{shape}"
        assert str(make("Identity", 16).infer(make_type(shape, "string"))) == f"string{shape}"


def test_unknown_type_stays_unknown() -> None:
    unknown = TensorType(ElementType.dynamic, Shape([2]))
    assert str(make("ConvertLike", 1).infer(make_type("[2]"), unknown)) == "dynamic[2]"
    types = infer_types(make("ConvertPromoteTypes", 14), make_type("[2]"), unknown)
    assert [str(type_) for type_ in types] == ["dynamic[2]", "dynamic[2]"]


@pytest.mark.parametrize("element_type", ["string", "dynamic", "undefined"])
def test_what_nothing_can_be_converted_to(element_type: str) -> None:
    with pytest.raises(ElementTypeError) as caught:
        make("Convert", 1, destination_type=element_type).infer(make_type("[2]"))
    assert caught.value.code == "IR401"
    if element_type == "string":
        with pytest.raises(ElementTypeError, match=naming("string")):
            make("ConvertLike", 1).infer(make_type("[2]"), make_type("[2]", "string"))


def test_strings_are_not_converted() -> None:
    operator = make("Convert", 1, destination_type="i32")
    with pytest.raises(ElementTypeError, match=naming("data", "string")):
        operator.check_inputs([make_type("[2]", "string")], raise_error)


def test_attributes() -> None:
    with pytest.raises(InvalidAttributeError, match=naming("destination_type")):
        make("Convert", 1)
    with pytest.raises(InvalidAttributeError, match=naming("f33")):
        make("Convert", 1, destination_type="f33")


def promotion(**attributes: object) -> Op:
    return make("ConvertPromoteTypes", 14, **attributes)


SAFE, UNSAFE = promotion(), promotion(promote_unsafe=True)
SCALARS = promotion(promote_unsafe=True, pytorch_scalar_promotion=True)
SAFE_SCALARS = promotion(pytorch_scalar_promotion=True)


# The examples of the specification, and what OpenVINO 2026.4.1 makes of other pairs.
@pytest.mark.parametrize(
    ("operator", "a", "b", "expected"),
    [
        (SAFE, "i8[2]", "f32[2]", "f32"),
        (SAFE, "i32[2]", "u8[2]", "i32"),
        (SAFE, "f16[2]", "f32[2]", "f32"),
        (SAFE, "f8e4m3[2]", "f16[2]", "f16"),
        (SAFE, "f8e4m3[2]", "bf16[2]", "bf16"),
        (SAFE, "boolean[2]", "i8[2]", "i8"),
        (SAFE, "u1[2]", "u8[2]", "u8"),
        (SAFE, "i4[2]", "u1[2]", "i4"),
        (UNSAFE, "f16[2]", "i64[2]", "f16"),
        (UNSAFE, "f64[2]", "u64[2]", "f64"),
        (UNSAFE, "i8[2]", "u8[2]", "i16"),
        (UNSAFE, "u4[2]", "i4[2]", "i8"),
        (UNSAFE, "u32[2]", "i16[2]", "i64"),
        (UNSAFE, "f16[2]", "bf16[2]", "f32"),
        (UNSAFE, "f8e4m3[2]", "f8e5m2[2]", "f16"),
        (UNSAFE, "u64[2]", "i8[2]", "f32"),
        (promotion(promote_unsafe=True, u64_integer_promotion_target="f64"), "u64[...]", "i32[]", "f64"),
        (SCALARS, "i64[]", "u8[2]", "u8"),
        (SCALARS, "i8[2]", "u8[]", "i8"),
        (SCALARS, "bf16[2]", "f16[]", "bf16"),
        (SCALARS, "u64[2]", "i8[]", "u64"),
        (SCALARS, "f16[2]", "i64[]", "f16"),
        (SAFE_SCALARS, "f16[]", "i8[2]", "f16"),
        (SAFE_SCALARS, "f16[...]", "f32[]", "dynamic"),
    ],
)
def test_promotion(operator: Op, a: str, b: str, expected: str) -> None:
    types = [make_type(type_[type_.index("[") :], type_[: type_.index("[")]) for type_ in (a, b)]
    for pair in (types, types[::-1]):
        outputs = infer_types(operator, *pair)
        assert [type_.element_type.name for type_ in outputs] == [expected] * 2
        assert [type_.shape for type_ in outputs] == [type_.shape for type_ in pair]


@pytest.mark.parametrize(
    ("operator", "a", "b"),
    [
        (SAFE, "f16", "i64"),
        (SAFE, "f64", "u64"),
        (SAFE, "i8", "u8"),
        (SAFE, "bf16", "f16"),
        (SAFE, "f8e4m3", "f8e5m2"),
        (SAFE, "u64", "i8"),
        (SAFE, "u4", "i4"),
        (SAFE, "u32", "i32"),
        (SAFE_SCALARS, "u8", "i64"),
    ],
)
def test_promotion_that_may_lose_values(operator: Op, a: str, b: str) -> None:
    with pytest.raises(ElementTypeError, match=naming(a, b)) as caught:
        operator.infer(make_type("[2]", a), make_type("[]", b))
    assert caught.value.code == "IR402"
    assert "promote_unsafe" in str(caught.value.hint)


def test_promotion_of_types_without_rules() -> None:
    for element_type in ("u2", "u3", "u6", "nf4", "f4e2m1", "f8e8m0", "string"):
        with pytest.raises(ElementTypeError, match=naming("input_1", element_type)):
            UNSAFE.check_inputs([make_type("[2]"), make_type("[2]", element_type)], raise_error)


def test_promotion_of_values() -> None:
    a, b = UNSAFE.evaluate(np.array([-1, 5], np.int8), np.array(200, np.uint8))
    assert (a.dtype, a.tolist(), b.dtype, b.tolist()) == (np.int16, [-1, 5], np.int16, 200)


def test_bounds_without_end_stay_so() -> None:
    operator = make("Convert", 1, destination_type="i32")
    lower, upper = operator.evaluate_bounds((np.array([0, 3]), np.array([2**63 - 1, 9])))
    assert (lower.tolist(), upper.tolist()) == ([0, 3], [2**31 - 1, 9])
    assert lower.dtype == upper.dtype == np.int32
    back = make("Convert", 1, destination_type="i64").evaluate_bounds(
        make("Convert", 1, destination_type="f32").evaluate_bounds((np.array([7]), np.array([2**63 - 1])))
    )
    assert [bound.tolist() for bound in back] == [[7], [2**63 - 1]]


@pytest.mark.parametrize(
    ("source", "target"), [("f16", "f32"), ("f32", "f16"), ("u4", "f16"), ("i8", "i64"), ("f32", "u8")]
)
@pytest.mark.parametrize("threads", [1, 3])
def test_pieces_and_threads_change_nothing(
    source: str, target: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = np.arange(-60, 60).reshape(8, 15).astype(ElementType[source].dtype)
    operator = make("Convert", 1, destination_type=target)
    expected = operator.evaluate(data)
    in_chunks(monkeypatch, "SPLIT_ELEMENTS", 10)
    in_chunks(monkeypatch, "CHUNK_ELEMENTS", 7)
    before = THREADS.set(threads)
    actual = operator.evaluate(data)
    THREADS.reset(before)
    assert actual.dtype == expected.dtype
    assert actual.tobytes() == expected.tobytes()
    assert operator.evaluate(data.T).tobytes() == expected.T.tobytes()


def integers(text: str) -> TensorType:
    return TensorType(ElementType.i64, Shape.parse(text))


def symbols(text: str) -> TensorType:
    return TensorType(ElementType.u8, Shape.parse(text))


def test_what_both_ends_allow() -> None:
    output_type = StringTensorPack().infer(integers("?,2..5"), integers("3,4.."), symbols("?"))
    assert output_type == TensorType(ElementType.string, Shape.parse("3,4..5"))


@pytest.mark.parametrize(
    ("types", "code", "port", "fault"),
    [
        (("2", "3", "9"), "IR502", "ends", fault_with("begins", "ends", actual="[2] and [3]", expected="equal shapes")),
        (
            ("2", "2,1", "9"),
            "IR501",
            "ends",
            fault_with("begins", "ends", actual="[2] and [2,1]", expected="equal shapes"),
        ),
        (("2", "2", "3,3"), "IR501", "symbols", fault_with("symbols", "[3,3]", actual=2, expected=1)),
    ],
)
def test_errors(types: tuple[str, str, str], code: str, port: str, fault: fault_with) -> None:
    with pytest.raises(ShapeError) as error:
        StringTensorPack().infer(integers(types[0]), integers(types[1]), symbols(types[2]))
    assert (error.value.code, error.value.location.port, error.value) == (code, port, fault)


@pytest.mark.parametrize(
    ("begins", "ends", "fault"),
    [
        ([0, -1], [1, 2], fault_with("begins", "symbols", actual=-1, expected="0 to 3")),
        ([0, 3], [1, 4], fault_with("ends", "symbols", actual=4, expected="0 to 3")),
    ],
)
def test_strings_beyond_the_symbols(begins: list[int], ends: list[int], fault: fault_with) -> None:
    with pytest.raises(EvaluationError) as error:
        StringTensorPack().evaluate(np.array(begins), np.array(ends), np.frombuffer(b"abc", np.uint8))
    assert (error.value.code, error.value) == ("IR701", fault)
    constants = [TensorType.of(np.array(places)) for places in (begins, ends)]
    assert list(StringTensorPack().check_values(*constants, symbols("3"))) == [fault]
    assert StringTensorPack().check_values(*constants, symbols("?")) == []


def test_invalid_text_bytes_survive() -> None:
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
