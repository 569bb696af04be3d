"""Shared behavior of element-wise operators: broadcasting, element types, bounds of values."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from ir_exec.errors import IRError, ShapeError, raise_error
from ir_exec.kernels.parallel import THREADS
from ir_exec.ops import Op, registered, resolve
from ir_exec.ops.base.elementwise import Binary, Unary
from ir_exec.tuning.thresholds import CHUNK_ELEMENTS, SPLIT_ELEMENTS
from ir_exec.types import Array, ElementType, Shape, TensorType, convert
from tests.helpers.facts import fault_with, mentions
from tests.helpers.operators import attribute_error, bounds_of, evaluate, make
from tests.helpers.values import array

OPSET = {"Mod": 1, "Round": 5, "BitwiseAnd": 13, "BitwiseLeftShift": 15}
F32 = ElementType.f32


def make_type(shape: object, element_type: ElementType = F32) -> TensorType:
    return TensorType(element_type, shape if isinstance(shape, Shape) else Shape(shape))  # type: ignore[arg-type]  # a list


NUMBERS = "one of bf16, f16, f32, f64, i4, i8, i16, i32, i64, u2, u4, u8, u16, u32, u64, f4e2m1, f8e4m3, f8e5m2, f8e8m0"


@pytest.mark.parametrize(
    "cls", [cls for cls in registered() if issubclass(cls, (Unary, Binary))], ids=lambda c: c.__name__
)
def test_every_class_tells_its_formula_and_its_page(cls: type) -> None:
    assert cls.__doc__ is not None
    assert cls.__doc__.startswith("output = ")
    assert "Specification: " in cls.__doc__


@pytest.mark.parametrize(
    ("attributes", "a", "b", "code", "fault"),
    [
        ({}, [2, 3], [4], "IR504", fault_with("[2,3]", "[4]", 3, 4)),
        ({"auto_broadcast": "none"}, [2, 3], [3], "IR501", fault_with(actual="[2,3] and [3]", expected="equal shapes")),
        (
            {"auto_broadcast": "explicit"},
            [2, 3],
            [2, 1],
            "IR502",
            fault_with(actual="[2,3] and [2,1]", expected="equal shapes"),
        ),
        ({"auto_broadcast": "pdpd"}, [2, 3], [3], "IR504", fault_with("[2,3]", "[3]", 3)),
        (
            {"auto_broadcast": "pdpd", "auto_broadcast__auto_broadcast_axis": "3"},
            [2, 3],
            [3],
            "IR503",
            fault_with("axis", actual=3, expected="-1 to 2"),
        ),
        (
            {"auto_broadcast": "pdpd", "auto_broadcast__auto_broadcast_axis": "1"},
            [2, 3],
            [3, 2],
            "IR504",
            fault_with("[3,2]", "[2,3]", "axis", 1),
        ),
        (
            {"auto_broadcast": "pdpd", "auto_broadcast__auto_broadcast_axis": "-1"},
            [8, 1, 6, 1],
            [7, 1, 5],
            "IR504",
            fault_with("[7,1,5]", "[8,1,6,1]", 7, 1),
        ),
    ],
)
def test_shapes_that_do_not_fit(
    attributes: dict[str, str], a: list[int], b: list[int], code: str, fault: fault_with
) -> None:
    with pytest.raises(ShapeError) as caught:
        make("Add", **attributes).infer(make_type(a), make_type(b))
    assert caught.value.code == code
    assert caught.value == fault


def test_dynamic_shapes_broadcast_partially() -> None:
    add = make("Add")
    assert add.infer(make_type([(1, 5), 3]), make_type([(2, 8), 1])).shape == Shape([(2, 8), 3])
    assert add.infer(make_type(Shape.unknown()), make_type([3])).shape == Shape.unknown()
    pdpd = make("Add", auto_broadcast="pdpd")
    assert pdpd.infer(make_type([(0, 4), None, None]), make_type([0, 4, (0, 1)])).shape == Shape([0, 4, None])
    none = make("Add", auto_broadcast="none")
    assert none.infer(make_type(Shape.unknown()), make_type([3, None])).shape == Shape([3, None])


def test_unknown_element_type_comes_from_other_input() -> None:
    unknown = make_type([2], ElementType.dynamic)
    assert make("Add").infer(unknown, make_type([2])).element_type is F32
    assert make("Add").infer(make_type([2]), unknown).element_type is F32
    assert make("Less").infer(unknown, unknown).element_type is ElementType.boolean


@pytest.mark.parametrize(
    ("type", "opset", "kinds", "code", "fault"),
    [
        (
            "Add",
            1,
            ("boolean", "boolean"),
            "IR401",
            fault_with(
                "a",
                actual="boolean",
                expected=NUMBERS,
            ),
        ),
        ("Add", 1, ("f32", "i32"), "IR402", fault_with("b", actual="i32", expected="f32")),
        ("LogicalAnd", 1, ("u8", "u8"), "IR401", fault_with("a", actual="u8", expected=mentions())),
        (
            "BitwiseAnd",
            13,
            ("f32", "f32"),
            "IR401",
            fault_with(
                "a",
                actual="f32",
                expected=mentions("i16", "i32", "i4", "i64", "i8", "u16", "u2", "u32", "u4", "u64", "u8"),
            ),
        ),
        (
            "BitwiseLeftShift",
            15,
            ("boolean", "boolean"),
            "IR401",
            fault_with("a", actual="boolean", expected="one of i4, i8, i16, i32, i64, u2, u4, u8, u16, u32, u64"),
        ),
        (
            "Gelu",
            7,
            ("i32",),
            "IR401",
            fault_with("data", actual="i32", expected="one of bf16, f16, f32, f64, f4e2m1, f8e4m3, f8e5m2, f8e8m0"),
        ),
        (
            "IsNaN",
            10,
            ("i32",),
            "IR401",
            fault_with("data", actual="i32", expected="one of bf16, f16, f32, f64, f4e2m1, f8e4m3, f8e5m2, f8e8m0"),
        ),
        (
            "Abs",
            1,
            ("string",),
            "IR401",
            fault_with(
                "data",
                actual="string",
                expected=NUMBERS,
            ),
        ),
        ("Swish", 4, ("f32", "f16"), "IR402", fault_with("beta", actual="f16", expected="f32")),
    ],
)
def test_element_types_are_refused(type: str, opset: int, kinds: tuple[str, ...], code: str, fault: fault_with) -> None:
    faults: list[IRError] = []
    inputs = [make_type([], ElementType[element_type]) for element_type in kinds]
    assert not make(type, opset).check_inputs(inputs, faults.append)
    assert faults[0].code == code
    assert faults[0] == fault


def test_invalid_broadcast_mode() -> None:
    fault = attribute_error("Add", auto_broadcast="bidirectional")
    assert fault.code == "IR302"
    assert fault == fault_with("auto_broadcast", actual="'bidirectional'", expected=mentions("none", "numpy", "pdpd"))


UNARY = [cls for cls in registered() if issubclass(cls, Unary) and cls.type_name != "Clamp"]
OF_FLOATS = [cls for cls in UNARY if F32 in cls.inputs[0].types]
SHORT = ("bf16", "f16", "f8e4m3", "f8e5m2", "f4e2m1")


@pytest.mark.parametrize(("cls", "element_type"), list(product(OF_FLOATS, SHORT)), ids=str)
def test_short_floats_are_rounded_once_from_f32(cls: type[Unary], element_type: str) -> None:
    """The definition: exact arguments in f32, then one conversion."""
    operator = cls.parse({"alpha": "1.0"}, raise_error)
    assert operator is not None
    data = array(element_type, 0.5, 1, 1.5, 3, -0.5, -1, -3)
    result = evaluate(operator, data)
    assert result.dtype == data.dtype
    wide = evaluate(operator, data.astype(np.float32))
    with np.errstate(all="ignore"):
        assert_array_equal(result.astype(np.float32), convert(wide, ElementType[element_type]).astype(np.float32))


@pytest.mark.parametrize("element_type", SHORT)
def test_sums_of_short_floats_are_rounded_once(element_type: str) -> None:
    a, b = array(element_type, 1, 1.5, 3, 4), array(element_type, 0.5, 2, -1.5, 6)
    exact = a.astype(np.float64) * b.astype(np.float64)
    assert_array_equal(evaluate(make("Multiply"), a, b).astype(np.float64), exact.astype(a.dtype).astype(np.float64))


@pytest.mark.parametrize(
    ("element_type", "a", "b", "total", "product"),
    [
        ("i4", (7, -8, 3), (1, -1, 2), (-8, 7, 5), (7, -8, 6)),
        ("u4", (15, 3, 9), (1, 4, 2), (0, 7, 11), (15, 12, 2)),
        ("u2", (3, 1, 2), (1, 1, 3), (0, 2, 1), (3, 1, 2)),
        ("i8", (127, -128, 100), (1, -1, 3), (-128, 127, 103), (127, -128, 44)),
        ("u16", (65535, 3, 300), (1, 4, 300), (0, 7, 600), (65535, 12, 24464)),
    ],
)
def test_integers_wrap(
    element_type: str, a: tuple[int, ...], b: tuple[int, ...], total: tuple[int, ...], product: tuple[int, ...]
) -> None:
    for type, expected in (("Add", total), ("Multiply", product)):
        result = evaluate(make(type), array(element_type, *a), array(element_type, *b))
        assert result.dtype == ElementType[element_type].dtype
        assert result.astype(int).tolist() == list(expected)


def test_integers_saturate_beyond_real_range() -> None:
    assert evaluate(make("Exp"), array("u8", 0, 1, 5, 6)).tolist() == [1, 3, 148, 255]
    assert evaluate(make("Exp"), array("i64", 2, 100)).tolist() == [7, 2**63 - 1]
    assert evaluate(make("Sinh"), array("i8", -3, -9, 9)).tolist() == [-10, -128, 127]
    assert evaluate(make("Cos"), array("u8", 0, 3)).tolist() == [1, 0]
    assert evaluate(make("Cos"), array("u32", 0, 3)).tolist() == [1, 2**32 - 1]


@pytest.mark.parametrize("size", [CHUNK_ELEMENTS - 1, CHUNK_ELEMENTS, CHUNK_ELEMENTS + 1, 2 * CHUNK_ELEMENTS + 5])
def test_large_tensors_are_computed_in_parts_and_whole(size: int) -> None:
    data = np.linspace(-5, 5, size, dtype=np.float32)
    for type, opset in (("Sigmoid", 1), ("Mish", 4), ("Erf", 1)):
        complete = evaluate(make(type, opset), data)
        for part in (slice(0, 7), slice(CHUNK_ELEMENTS - 9, CHUNK_ELEMENTS + 9), slice(size - 3, size)):
            assert_array_equal(complete[part], evaluate(make(type, opset), data[part]))


@pytest.mark.parametrize("cls", UNARY, ids=str)
def test_order_of_memory_does_not_matter(cls: type[Unary]) -> None:
    element_type = ElementType.f32 if ElementType.f32 in cls.inputs[0].types else ElementType.i32
    data = np.array([[1, 2, 3], [4, 5, 6]], element_type.dtype)
    operator = cls.parse({"alpha": "1.0"}, raise_error)
    assert operator is not None
    for odd in (np.asfortranarray(data), np.repeat(data, 2, axis=1)[:, ::2], data[::-1][::-1]):
        assert_array_equal(evaluate(operator, odd), evaluate(operator, data))


# Bounds of values, against every value between the bounds of the inputs.

BINARY = ("Add", "Subtract", "Multiply", "Divide", "Mod", "FloorMod", "Power", "Maximum", "Minimum")
COMPARISONS = ("Equal", "NotEqual", "Greater", "GreaterEqual", "Less", "LessEqual")
OF_ONE = ("Abs", "Negative", "Sign", "Floor", "Ceiling", "Round", "ReLU")


def pair(interval: tuple[int, int]) -> tuple[Array, Array]:
    low, width = interval
    return array("i64", low), array("i64", low + width)


def values(interval: tuple[int, int]) -> range:
    return range(interval[0], interval[0] + interval[1] + 1)


@pytest.mark.parametrize("type", BINARY + COMPARISONS)
@settings(max_examples=40)
@given(a=st.tuples(st.integers(-6, 6), st.integers(0, 4)), b=st.tuples(st.integers(-6, 6), st.integers(0, 4)))
def test_bounds_hold_every_value(type: str, a: tuple[int, int], b: tuple[int, int]) -> None:
    operator = make(type)
    bounds = bounds_of(operator, pair(a), pair(b))
    if bounds is None:
        # Only an undefined result may prevent it.
        assert type in ("Divide", "Mod", "FloorMod", "Power")
        return
    lower, upper = bounds
    results = []
    for x, y in product(values(a), values(b)):
        if (y == 0 and type in ("Divide", "Mod", "FloorMod")) or (x == 0 and y < 0 and type == "Power"):
            continue
        results.append(int(operator.evaluate_known(array("i64", x), array("i64", y))[0]))
    assert all(lower[0] <= result <= upper[0] for result in results)
    if a[1] == b[1] == 0 and results:
        assert int(lower[0]) == int(upper[0]) == results[0]
    if type in ("Add", "Subtract", "Multiply", "Maximum", "Minimum", *COMPARISONS):
        assert (int(lower[0]), int(upper[0])) == (min(results), max(results))


@pytest.mark.parametrize("type", OF_ONE)
@settings(max_examples=25)
@given(data=st.tuples(st.integers(-6, 6), st.integers(0, 6)))
def test_bounds_of_one_input_are_tight(type: str, data: tuple[int, int]) -> None:
    operator = make(type, OPSET.get(type, 1))
    bounds = bounds_of(operator, pair(data))
    assert bounds is not None
    results = [int(evaluate(operator, array("i64", x))[0]) for x in values(data)]
    assert (int(bounds[0][0]), int(bounds[1][0])) == (min(results), max(results))


OPEN = 2**63 - 1


@pytest.mark.parametrize(
    ("type", "a", "b", "expected"),
    [
        ("Add", (1, OPEN), (5, 5), (6, OPEN)),
        ("Subtract", (3, OPEN), (1, 1), (2, OPEN)),
        ("Subtract", (5, 5), (0, OPEN), (-(2**63), 5)),
        ("Multiply", (1, OPEN), (2, 2), (2, OPEN)),
        ("Divide", (8, OPEN), (2, 2), (4, OPEN)),
        ("Divide", (8, 8), (1, OPEN), (0, 8)),
        ("Divide", (-8, -8), (1, OPEN), (-8, -1)),
        ("Divide", (8, 8), (-1, 1), (-(2**63), OPEN)),
        ("Divide", (0, OPEN), (1, OPEN), (0, OPEN)),
        ("Maximum", (1, OPEN), (5, 5), (5, OPEN)),
        ("Minimum", (1, OPEN), (5, 5), (1, 5)),
        ("Mod", (0, OPEN), (5, 5), (0, 4)),
        ("Mod", (-(2**63), OPEN), (5, 5), (-4, 4)),
        ("Mod", (5, 5), (1, OPEN), (0, 5)),
        ("FloorMod", (0, OPEN), (5, 5), (0, 4)),
        ("FloorMod", (1, 3), (5, 5), (1, 3)),
        ("FloorMod", (0, OPEN), (1, OPEN), (0, OPEN)),
        ("FloorMod", (5, 5), (-4, -2), (-3, 0)),
        ("Power", (2, OPEN), (2, 2), (4, OPEN)),
        ("Power", (2, 3), (1, 4), (2, 81)),
        ("Power", (-2, 3), (2, 2), (-(2**63), OPEN)),
        ("Power", (2, 2), (0, 62), (1, OPEN)),
    ],
)
def test_bounds_of_the_unbounded(type: str, a: tuple[int, int], b: tuple[int, int], expected: tuple[int, int]) -> None:
    bounds = bounds_of(make(type), *[(array("i64", low), array("i64", high)) for low, high in (a, b)])
    assert bounds is not None
    assert (int(bounds[0][0]), int(bounds[1][0])) == expected


@pytest.mark.parametrize(
    ("type", "expected"),
    [
        ("Divide", ([0, 0, 1], [4, OPEN, 1])),
        ("Mod", ([0, 0, 0], [2, 2, 2])),
        ("FloorMod", ([0, 0, 0], [2, 2, 2])),
        ("Power", ([4, -(2**63), 9], [512, OPEN, 27])),
        ("Equal", ([0, 0, 0], [1, 1, 1])),
    ],
)
def test_bounds_are_broadcast(type: str, expected: tuple[list[int], list[int]]) -> None:
    lower, upper = array("i64", 2, 0, 3), array("i64", 8, OPEN, 3)
    bounds = bounds_of(make(type), (lower, upper), (np.array(2), np.array(3)))
    assert bounds is not None
    assert tuple(np.asarray(bound).astype(np.int64).tolist() for bound in bounds) == expected


def test_versions_resolve_to_their_class() -> None:
    assert resolve("Gelu", "opset2") is not resolve("Gelu", "opset7")
    assert resolve("Xor", "opset1").type_name == "Xor"
    assert resolve("relu", "opset1").type_name == "ReLU"


@pytest.mark.parametrize(
    "shapes",
    [((3, 700, 300), (3, 700, 300)), ((1, 900, 700), (700,)), ((900, 1), (1, 700)), ((2, 0, 600_000), (1, 600_000))],
)
@pytest.mark.parametrize("threads", [1, 3])
def test_large_tensors_are_split_without_a_difference(shapes, threads):
    random = np.random.default_rng(0)
    a, b = (random.standard_normal(shape).astype(np.float32) for shape in shapes)
    add = resolve("Add", "opset1").parse({}, raise_error)
    token = THREADS.set(threads)
    try:
        np.testing.assert_array_equal(add.evaluate(a, b), a + b)
    finally:
        THREADS.reset(token)


@pytest.mark.parametrize("type_name", ["Tanh", "Erf", "Sigmoid"])
def test_functions_give_the_same_on_any_number_of_threads(type_name):
    data = np.random.default_rng(0).standard_normal((7, 100_003)).astype(np.float32)
    function = resolve(type_name, "opset8").parse({}, raise_error)
    expected = function.evaluate(data)
    token = THREADS.set(4)
    try:
        np.testing.assert_array_equal(function.evaluate(data), expected)
    finally:
        THREADS.reset(token)


UNARY_OF_TYPES = [
    pytest.param(cls, element_type, id=f"{cls.__name__}-{element_type}")
    for cls in registered()
    if issubclass(cls, Unary)
    for element_type in (ElementType.f32, ElementType.f16, ElementType.i32, ElementType.u8)
    if element_type in cls.inputs[0].types
]


@pytest.mark.broad(keep=150)
@pytest.mark.parametrize("size", [1, 3000, SPLIT_ELEMENTS + 7])
@pytest.mark.parametrize(("cls", "element_type"), UNARY_OF_TYPES)
def test_the_kernel_of_a_plan_does_the_same(cls: type[Unary], element_type: ElementType, size: int) -> None:
    values = {"alpha": 0.5, "min": -1.5, "max": 2.25}
    operator = cls(**{field.name: values[field.name] for field in cls.fields() if field.is_required})
    data = np.random.default_rng(0).uniform(-4, 4, (size, 1)).astype(element_type.dtype)
    original = data.copy()
    with np.errstate(all="ignore"):
        expected = operator.evaluate(data)
        kernel = operator.kernel(TensorType.of(data))
        assert_array_equal(kernel(data), expected, strict=True)
        assert_array_equal(data, original)
        if cls.inplace_inputs:
            out = kernel(data, out=data)
            assert out is data
            assert_array_equal(out, expected, strict=True)


@pytest.mark.broad(keep=120)
@pytest.mark.parametrize("size", [2, 40])
@pytest.mark.parametrize(
    ("cls", "element_type"),
    [
        pytest.param(cls, element_type, id=f"{cls.__name__}-{element_type}")
        for cls in registered()
        if cls.inplace_inputs and ".movement." not in cls.__module__
        for element_type in (ElementType.f32, ElementType.f16, ElementType.i32, ElementType.boolean)
        if element_type in cls.inputs[0].types
    ],
)
def test_channels_last_images_are_overwritten(cls: type[Op], element_type: ElementType, size: int) -> None:
    values = {"alpha": 0.5, "min": -1.5, "max": 2.25}
    operator = cls(**{field.name: values[field.name] for field in cls.fields() if field.is_required})
    random = np.random.default_rng(0)
    images = random.uniform(-4, 4, (2, size, size, 30)).astype(element_type.dtype).transpose(0, 3, 1, 2)
    further = [random.uniform(1, 4, (30, 1, 1)).astype(element_type.dtype)] if len(cls.inputs) > 1 else []
    further = [] if cls.inputs[-1].optional else further
    kernel = operator.kernel(*[TensorType.of(array) for array in (images, *further)])
    with np.errstate(all="ignore"):
        expected = kernel(np.ascontiguousarray(images), *further)
        actual = kernel(images, *further, out=images)
    assert actual is images
    assert_array_equal(actual, expected)


@pytest.mark.parametrize(("a", "b"), [((8, 20, 1), (8, 1, 30)), ((8, 20, 30), (8, 1, 30)), ((8, 20, 30), (8, 20, 30))])
def test_pairs_of_transposed_inputs_lie_by_rows(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    """If one input has all elements, the result has its memory order."""
    left, right = (np.random.default_rng(0).random(shape[::-1], np.float32).T for shape in (a, b))
    kernel = make("Add").kernel(TensorType.of(left), TensorType.of(right))
    result = kernel(left, right)
    assert_array_equal(result, np.ascontiguousarray(left) + np.ascontiguousarray(right))
    assert (result if result.shape not in (a, b) else result.T).flags.c_contiguous
    out = np.empty(result.shape, np.float32)
    assert kernel(left, right, out=out) is out
    assert_array_equal(out, result)


@pytest.mark.parametrize(("name", "dtype"), [("Add", np.int32), ("Less", np.float32), ("LogicalAnd", np.bool_)])
def test_scalars_are_calculated_by_one_call(name: str, dtype: type) -> None:
    left, right = np.array(0, dtype), np.array(1, dtype)
    operator = make(name)
    kernel = operator.kernel(TensorType.of(left), TensorType.of(right))
    assert kernel != operator.evaluate
    assert_array_equal(kernel(left, right), operator.evaluate(left, right), strict=True)
