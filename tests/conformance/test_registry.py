"""The registry of operators: complete, documented, and in agreement with OpenVINO about versions."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib import resources

import numpy as np
import pytest

from ir_exec.errors import GraphError, IRError, UnsupportedError
from ir_exec.ops import In, Op, op, opset_number, registered, resolve
from ir_exec.ops.base import Family
from ir_exec.ops.base.docstrings import description_of
from ir_exec.ops.base.operator import check_contract
from ir_exec.types import ALL, Array, ElementType, Shape, TensorType
from tests.conformance.build import build
from tests.conformance.case import Case
from tests.conformance.checks import families, table
from tests.conformance.oracle import Oracle, Refused
from tests.conformance.ours import evaluate, operator
from tests.helpers.facts import facts, naming

NEED_A_NETWORK = {"Parameter", "Const", "Result", "ReadValue", "Assign", "Loop", "TensorIterator", "If"}
"""Types of which one layer alone makes no case; tests of whole networks run them."""

TABLE = json.loads(resources.files("ir_exec.ops.base").joinpath("opsets.json").read_text("utf-8"))

OF_KEY: dict[str, list[int]] = {
    spelling.lower(): row["opsets"] for name, row in TABLE.items() for spelling in (name, *row.get("aliases", ()))
}


def name_of(cls: type[Op]) -> str:
    return f"{cls.type_name}-{cls.since}"


def held_by(type_name: str) -> list[int]:
    return OF_KEY[type_name.lower()]


@cache
def cases_by_class() -> dict[type[Op], list[Case]]:
    by_class: dict[type[Op], list[Case]] = {}
    for family in families():
        for case in table(family):
            by_class.setdefault(resolve(case.type, f"opset{case.opset}"), []).append(case)
    return by_class


@pytest.mark.parametrize("cls", registered(), ids=name_of)
def test_every_version_has_cases(cls: type[Op]) -> None:
    if cls.type_name not in NEED_A_NETWORK:
        assert cases_by_class().get(cls), f"no row of tests/cases is a {name_of(cls)}"


@pytest.mark.parametrize("cls", registered(), ids=name_of)
def test_versions_are_documented(cls: type[Op]) -> None:
    assert (cls.__dict__.get("__doc__") or "").strip(), f"{name_of(cls)} has no docstring"


@pytest.mark.parametrize("cls", registered(), ids=name_of)
def test_every_version_tells_shapes_and_types_of_its_ports(cls: type[Op]) -> None:
    sentences = re.split(r"(?<=\.)\s+(?=[A-Za-z`])|\n\n", full_docstring(cls, frozenset()))
    ports = [*(port.name.rstrip("_") for port in cls.inputs), *cls.outputs]
    assert not [
        port
        for port in ports
        if not any(re.search(rf"\b{port}s?_?\b", sentence) and SHAPE_OR_TYPE.search(sentence) for sentence in sentences)
    ]


SHAPE_OR_TYPE = re.compile(
    r"\[|_type`|"
    r"\b(any|same|like|as `?\w+|types?|shapes?|rank|scalar|vector|integers?|float\w*|booleans?|numeric|one)\b",
    re.IGNORECASE,
)
"""Patterns of a sentence about a port: `[N, C]`, any type, the shape of another, one integer."""


def full_docstring(cls: type[Op], without: frozenset[str]) -> str:
    """The docstring of a class, and the versions that it names: Proposal-1 is "Proposal-4 without scores"."""
    text = description_of(cls)
    named = {name_of(other): other for other in registered()}
    others = sorted({*re.findall(r"\b[A-Z]\w*-\d+\b", text)} & (named.keys() - without - {name_of(cls)}))
    return "\n\n".join([text, *(full_docstring(named[name], without | {name_of(cls), *others}) for name in others)])


@pytest.mark.parametrize("cls", [cls for cls in registered() if cls.is_data_movement], ids=name_of)
def test_data_movement_outputs_input_elements(cls: type[Op]) -> None:
    if cls.type_name in NEED_A_NETWORK:
        return
    tried = 0
    for case in cases_by_class()[cls]:
        # What counts or points, as lengths do, keeps its values.
        is_data = [cls.inputs[min(position, len(cls.inputs) - 1)].types == ALL for position in range(len(case.inputs))]
        arguments = [
            random_short_floats(array) if moved else array for array, moved in zip(case.inputs, is_data, strict=True)
        ]
        if not operator(case).is_data_movement or all(
            array is own for array, own in zip(arguments, case.inputs, strict=True)
        ):
            continue
        input_bits = {0}.union(*[bits_of(array) for array in arguments if array.dtype == np.float16])
        outputs = evaluate(case, arguments)
        assert all(output.dtype == np.float16 or output.dtype.kind in "iu" for output in outputs)
        assert all(bits_of(output) <= input_bits for output in outputs if output.dtype == np.float16)
        tried += 1
    assert tried


def random_short_floats(array: Array) -> Array:
    """f16 of any bits, NaNs included, in the place of floats."""
    if array.dtype not in (np.float16, np.float32):
        return array
    return np.random.default_rng(0).integers(2**16, size=array.shape, dtype=np.uint16).view(np.float16)


def bits_of(array: Array) -> set[int]:
    return set(np.ascontiguousarray(array).view(np.uint16).ravel().tolist())


@pytest.mark.parametrize("cls", [cls for cls in registered() if not cls.is_discontinuous], ids=name_of)
def test_continuous_operator_keeps_small_differences(cls: type[Op]) -> None:
    if cls.type_name in NEED_A_NETWORK or not cls.deterministic:
        return
    for case in cases_by_class()[cls]:
        expected = evaluate(case, case.inputs)
        for direction in (-np.inf, np.inf):
            actual = evaluate(case, [next_floats(array, direction) for array in case.inputs])
            for output, other in zip(actual, expected, strict=True):
                if other.dtype in (np.float16, np.float32, np.float64):
                    assert output.shape == other.shape
                    is_number = np.isfinite(output) & np.isfinite(other)
                    largest = np.abs(other[is_number]).max(initial=0)
                    # Sums may cancel.
                    atol = 0.05 * largest + 1e-5 * max(map(largest_of, case.inputs))
                    np.testing.assert_allclose(output[is_number], other[is_number], rtol=0.05, atol=atol)


def largest_of(array: Array) -> float:
    return float(np.abs(array[np.isfinite(array)]).max(initial=0)) if array.dtype.kind == "f" else 0.0


def next_floats(array: Array, direction: float) -> Array:
    """The next number to each one, but for zeros, the largest ones and those that are none."""
    if array.dtype.kind != "f":
        return array
    with np.errstate(all="ignore"):
        moved = np.nextafter(array, array.dtype.type(direction))
    return np.where(np.isfinite(array) & np.isfinite(moved) & (array != 0), moved, array)


@pytest.mark.parametrize("cls", registered(), ids=name_of)
def test_since_is_an_opset_with_the_type(cls: type[Op]) -> None:
    assert cls.since in held_by(cls.type_name)
    assert resolve(cls.type_name, f"opset{cls.since}") is cls


@pytest.mark.parametrize("type_name", TABLE)
def test_every_type_resolves_or_is_not_implemented(type_name: str) -> None:
    for number in range(1, 18):
        if number in TABLE[type_name]["opsets"]:
            answer = resolves(type_name, f"opset{number}")
            meant = opset_number(type_name, f"opset{number}") or 0
            assert answer == "IR901" or answer in {name_of(cls) for cls in registered() if cls.since <= meant}
        elif opset_number(type_name, f"opset{number}") == number:
            with pytest.raises(GraphError) as caught:
                resolve(type_name, f"opset{number}")
            assert caught.value.code == "IR117"


@pytest.mark.parametrize("type_name", sorted({cls.type_name for cls in registered()} - NEED_A_NETWORK))
def test_versions_change_where_openvinos_do(type_name: str, oracle: Oracle) -> None:
    pairs = set()
    for cases in [cases for cls, cases in cases_by_class().items() if cls.type_name == type_name]:
        for number in held_by(type_name):
            case = cases[0]
            layer = Case(case.type, number, case.inputs, case.attributes, case.constants, case.outputs)
            answer = oracle.types(build(layer))
            if not isinstance(answer, Refused):
                (version,) = [node.version for node in answer if node.name == "layer"]
                pairs.add((resolve(type_name, f"opset{number}").since, version))
    assert len({since for since, _ in pairs}) == len({version for _, version in pairs}) == len(pairs), sorted(pairs)


@pytest.mark.parametrize("cls", [cls for cls in registered() if cls.type_name not in NEED_A_NETWORK], ids=name_of)
def test_attributes_of_openvino_are_fields(cls: type[Op], oracle: Oracle) -> None:
    answers = (oracle.attributes(build(case)) for case in cases_by_class()[cls])
    names = next(answer["layer"] for answer in answers if not isinstance(answer, Refused))
    assert cls.unknown_attributes(dict.fromkeys(names, "")) == []


def test_a_second_class_is_refused() -> None:
    with pytest.raises(TypeError, match=naming("Parameter-1")):

        @op("Parameter", since=1)
        class Second(Op):
            def infer(self) -> TensorType:
                return TensorType.unknown()

            def evaluate(self) -> Array:
                raise NotImplementedError


def takes_nothing(self: Op) -> None: ...
def takes_data(self: Op, data: object) -> None: ...
def takes_indices(self: Op, indices: object) -> None: ...
def takes_many(self: Op, *data: object) -> None: ...
def takes_optional(self: Op, data: object = None) -> None: ...
def asks_for_moon(self: Op, data: object, *, moon: object) -> None: ...


@pytest.mark.parametrize(
    ("infer", "evaluate", "message"),
    [
        (takes_data, takes_nothing, naming("evaluate")),
        (takes_indices, takes_data, naming("infer")),
        (takes_many, takes_data, naming("variadic")),
        (takes_data, takes_optional, naming("optional")),
        (takes_data, asks_for_moon, naming("moon")),
        (takes_data, None, naming("evaluate")),
    ],
)
def test_wrong_signatures_are_refused(infer: object, evaluate: object, message: str) -> None:
    methods = {"infer": infer, "evaluate": evaluate, "__annotations__": {}}
    methods = {name: method for name, method in methods.items() if method is not None}
    cls = type("Wrong", (Op,), {"__module__": __name__, "inputs": (In("data"),), **methods})
    cls.inputs = (In("data"),)
    with pytest.raises(TypeError, match=message):
        op("Wrong", since=1)(cls)
    assert all(operator.type_name != "Wrong" for operator in registered())


def needs_data(self: Op, *, data: object, scale: object = None) -> None: ...
def needs_scale(self: Op, *, data: object, scale: object) -> None: ...
def takes_any(self: Op, *, data: object, **others: object) -> None: ...


@pytest.mark.parametrize(
    ("inputs", "infer", "evaluate", "message"),
    [
        ((In("data"), In("scale", optional=True)), takes_any, needs_scale, naming("evaluate_inputs", "optional")),
        ((In("data"),), needs_scale, needs_data, naming("infer_inputs")),
        ((In("data"), In("bias")), takes_any, needs_data, naming("evaluate_inputs")),
        ((In("data", variadic=True),), takes_any, takes_any, naming("infer_inputs")),
        ((In("data"),), takes_data, takes_any, naming("infer_inputs")),
        ((In("data"),), takes_any, None, naming("evaluate_inputs")),
    ],
)
def test_wrong_signatures_of_families_are_refused(
    inputs: tuple[In, ...], infer: object, evaluate: object, message: str
) -> None:
    methods = {"infer_inputs": infer, "evaluate_inputs": evaluate}
    methods = {name: method for name, method in methods.items() if method is not None}
    cls = type("Wrong", (Family,), {"__module__": __name__, "__annotations__": {}, "inputs": inputs, **methods})
    with pytest.raises(TypeError, match=message):
        op("Wrong", since=1)(cls)
    assert all(operator.type_name != "Wrong" for operator in registered())


def test_family_members_get_inputs_by_name_in_any_order() -> None:
    class Scaling(Family):
        def infer_inputs(self, *, data: TensorType, **others: TensorType) -> TensorType:
            return data

        def evaluate_inputs(self, *, data: Array, scale: int = 1, bias: int = 0) -> Array:
            return data * scale + bias

    class First(Scaling):
        inputs = (In("data"), In("bias", optional=True))

    class Last(Scaling):
        inputs = (In("scale"), In("data"), In("bias"))

    check_contract(First, "First")
    check_contract(Last, "Last")
    assert First().evaluate(5) == 5
    assert First().evaluate(5, 1) == 6
    assert Last().evaluate(2, 5, 1) == 11


@pytest.mark.parametrize("cls", registered(), ids=name_of)
def test_declared_input_facts_hold(cls: type[Op]) -> None:
    names = {declared.name for declared in cls.inputs}
    assert {*cls.monotone, *cls.inplace_inputs} <= names
    assert cls.counts_outputs in {"", *names}
    assert cls.own_inputs <= cls.least_inputs
    assert cls.body_names or not (cls.own_inputs or cls.has_condition)


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("is_parameter", ["Parameter-1"]),
        ("is_result", ["Result-1"]),
        ("is_conversion", ["Convert-1"]),
        ("counts_outputs", ["VariadicSplit-1"]),
        ("body_names", ["If-8", "Loop-5", "TensorIterator-1"]),
        ("own_inputs", ["If-8", "Loop-5"]),
        ("has_condition", ["Loop-5"]),
    ],
)
def test_classes_answer_what_others_ask(question: str, names: list[str]) -> None:
    assert [name_of(cls) for cls in registered() if getattr(cls, question)] == names


TAKE_STRINGS = """
Assign.new_value BatchToSpace.data Broadcast.data Concat.inputs ConvertLike.like DepthToSpace.data Equal.a Equal.b
ExtractImagePatches.data Gather.data GatherElements.data GatherND.data Greater.a Greater.b GreaterEqual.a
GreaterEqual.b Identity.data If.values Less.a Less.b LessEqual.a LessEqual.b Loop.values NotEqual.a NotEqual.b
OneHot.off_value OneHot.on_value Pad.data Pad.pad_value ReadValue.init_value ReorgYolo.data Reshape.data Result.value
Reverse.data ReverseSequence.data Roll.data ScatterElementsUpdate.data ScatterElementsUpdate.updates
ScatterNDUpdate.data ScatterNDUpdate.updates ScatterUpdate.data ScatterUpdate.updates Select.else_ Select.then
ShapeOf.data ShuffleChannels.data Slice.data SliceScatter.data SliceScatter.updates SpaceToBatch.data
SpaceToDepth.data SparseFillEmptyRows.default_value SparseFillEmptyRows.values Split.data Squeeze.data
StridedSlice.data StringTensorUnpack.data TensorIterator.values Tile.data Transpose.arg Unique.data Unsqueeze.data
VariadicSplit.data
"""
"""The inputs that do not describe their elements, or take strings."""


def test_only_inputs_of_any_type_take_strings() -> None:
    text, unknown = TensorType(ElementType.string, Shape.unknown()), TensorType.unknown()
    names = set()
    for cls in registered():
        for position, declared in enumerate(cls.inputs):
            faults: list[IRError] = []
            types = [text if i == position else unknown for i in range(len(cls.inputs))]
            if Op.check_inputs(object.__new__(cls), types, faults.append):
                names.add(f"{cls.type_name}.{declared.name}")
            else:
                assert [fault.code for fault in faults] == ["IR401"], f"{name_of(cls)}.{declared.name}"
    assert names == set(TAKE_STRINGS.split())


def resolves(type_name: str, version: str) -> str:
    try:
        cls = resolve(type_name, version)
    except (GraphError, UnsupportedError) as error:
        return error.code
    return name_of(cls)


@pytest.mark.parametrize(
    ("type_name", "version", "number"),
    [
        ("MVN", "opset1", 2),
        ("ROIPooling", "opset1", 2),
        ("ReorgYolo", "opset1", 2),
        ("ExperimentalDetectronROIFeatureExtractor", "experimental", 6),
        ("ExperimentalDetectronDetectionOutput", "extension", 6),
        ("GRUCell", "experimental", 6),
        ("RNNCell", "extension", 6),
        ("Proposal", "experimental", 6),
        ("Add", "opset1", 1),
        ("Add", "experimental", None),
        ("Add", "opset18", None),
        ("Add", "opset0", None),
        ("Add", "opset01", None),
        ("Add", "ie_internal_opset", None),
        ("Add", "", None),
    ],
)
def test_opset_numbers(type_name: str, version: str, number: int | None) -> None:
    assert opset_number(type_name, version) == number


@pytest.mark.parametrize(
    ("type_name", "version", "answer"),
    [
        ("Const", "opset1", "Const-1"),
        ("const", "opset13", "Const-1"),
        ("Constant", "opset1", "Const-1"),
        ("PARAMETER", "opset1", "Parameter-1"),
        ("ReadValue", "opset3", "ReadValue-3"),
        ("ReadValue", "opset5", "ReadValue-3"),
        ("ReadValue", "opset6", "ReadValue-6"),
        ("ReadValue", "opset16", "ReadValue-6"),
        ("ReadValue", "opset1", "IR117"),
        ("RNNCell", "opset2", "IR117"),
        ("ShuffleChannels", "opset2", "IR117"),
        ("Reverse", "opset2", "IR117"),
        ("Xor", "opset2", "IR117"),
        ("ScatterNDUpdate", "opset3", "IR117"),
        ("Acosh", "opset3", "IR117"),
        ("GatherElement", "opset6", "IR116"),
        ("Add", "opset18", "IR118"),
        ("Add", "extension", "IR902"),
        ("TypeRelaxed", "type_relaxed_opset", "IR902"),
    ],
)
def test_look_up(type_name: str, version: str, answer: str) -> None:
    assert resolves(type_name, version) == answer


def test_unknown_type_is_told_its_neighbor() -> None:
    with pytest.raises(GraphError) as caught:
        resolve("GatherElement", "opset6")
    assert facts(caught.value.hint) == ["GatherElements"]
