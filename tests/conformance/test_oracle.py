"""The harness itself: a harness that sees no faults proves nothing."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
import pytest

from ir_exec.types import ElementType, Shape, TensorType
from tests.conformance import ours
from tests.conformance.build import build
from tests.conformance.case import Case
from tests.conformance.checks import can_be_asked, check_types, check_values
from tests.conformance.compare import type_faults, value_faults
from tests.conformance.kept import KeptAnswers
from tests.conformance.oracle import Oracle, Refused, Request
from tests.conformance.packing import pack, unpack
from tests.helpers.facts import mentions

DATA = np.arange(6, dtype=np.float32).reshape(2, 3)
INDICES = np.array([[0, 1, 0]], np.int64)
GATHER = Case("GatherElements", 6, (DATA, INDICES), {"axis": 0})
READS_BYTES = np.frombuffer(b"\x1b\xd2\x71", np.uint8)

CODES = {
    "u1": [0, 0, 0, 1, 1, 0, 1, 1, 1, 1, 0, 1, 0, 0, 1, 0, 0, 1, 1, 1, 0, 0, 0, 1],
    "u2": [3, 2, 1, 0, 2, 0, 1, 3, 1, 0, 3, 1],
    "u3": [0, 5, 6, 7, 3, 1, 0, 6],
    "u4": [11, 1, 2, 13, 1, 7],
    "u6": [17, 59, 13, 18],
    "nf4": [11, 1, 2, 13, 1, 7],
}


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    """An oracle that sends requests: answers of earlier processes do not show its requests."""
    with Oracle(disk=KeptAnswers(None)) as oracle:
        yield oracle


@pytest.mark.parametrize("name", CODES)
def test_packing_of_small_types(name: str) -> None:
    codes = np.array(CODES[name], np.uint8)
    array = unpack(ElementType[name], codes.shape, READS_BYTES.tobytes())
    assert array.view(np.uint8).tolist() == codes.tolist()
    assert pack(array) == READS_BYTES.tobytes()


@pytest.mark.parametrize("name", ["u2", "u4", "i4", "u8", "i8"])
def test_packing_is_openvinos(name: str, oracle: Oracle) -> None:
    array = unpack(ElementType[name], (8,), bytes(range(0x1B, 0x1B + ElementType[name].bits)))
    case = Case("Convert", 1, (array,), {"destination_type": "f32"}, constants=(0,))
    (answer,) = oracle.values(build(case), "reference")
    assert answer.tolist() == array.astype(np.float32).tolist()


@pytest.mark.parametrize("type_name", sorted(ElementType.__members__.keys() - {"dynamic"}))
def test_every_element_type_travels(type_name: str, oracle: Oracle) -> None:
    element_type = ElementType[type_name]
    if element_type is ElementType.string:
        array = np.array([["a", ""], ["ü", "long text" * 5]], object)
    else:
        array = unpack(element_type, (8, 3), bytes([0x1B, 0x12, 0x31, 0x01, 0, 1, 0, 0] * 24)[: 3 * element_type.bits])
    case = Case("Reshape", 1, (array, np.array([-1])), {"special_zero": False}, constants=(0, 1))
    file = build(case)
    types = oracle.types(file)
    assert not isinstance(types, Refused), types
    assert types[-1].outputs[0].element_type is element_type or types[-1].type == "Result"
    answer = oracle.values(file, "reference")
    assert not isinstance(answer, Refused), answer
    assert value_faults(answer, [array.ravel()]) == []


def test_all_forms(oracle: Oracle) -> None:
    assert check_values(GATHER, oracle) == []
    assert [fault for form in ("static", "any dims", "any rank") for fault in check_types(GATHER, form, oracle)] == []


def test_forms_reach_openvino(oracle: Oracle) -> None:
    def data_shape(form: str) -> Shape:
        (node,) = [node for node in oracle.types(build(GATHER, form)) if node.name == "input0"]
        return node.outputs[0].shape

    assert [str(data_shape(form)) for form in ("static", "any dims", "any rank")] == ["[2,3]", "[?,?]", "[...]"]


def test_answer_follows_a_crash(oracle: Oracle) -> None:
    crashing = build(Case("MaxPool", 1, (), {"kernel": (2, 2), "strides": (1, 1)}))
    sound = build(GATHER)
    requests = [Request("plugin", sound), Request("types", crashing), Request("types", sound)]
    before, crashed, after = Oracle.ask_all(oracle, requests)
    assert crashed == Refused("crashed")
    assert before[0].tolist() == [[0.0, 4.0, 2.0]]
    assert [node.name for node in after if node.type == "GatherElements"] == ["layer"]


def sound(operator_type: str) -> Case:
    return Case(operator_type, 1, (DATA,), {})


def test_batched_requests_get_the_same_answers() -> None:
    cases = [sound("Sin"), GATHER, Case("Split", 1, (DATA, np.array(1)), {"num_splits": 3}, {1}, 3), sound("Cos")]
    refused = Case("GatherElements", 6, (DATA, INDICES[0]), {"axis": 0})
    for group in (cases, [*cases[:2], refused, *cases[2:]]):
        with Oracle(disk=KeptAnswers(None)) as first, Oracle(disk=KeptAnswers(None)) as other:
            asked = [Request("plugin", build(case)) for case in group]
            first.ask_together(asked)
            assert all(map(first.knows, asked))
            first.close()
            for request in asked:
                together, alone = first.ask(request), other.ask(request)
                assert isinstance(together, Refused) == isinstance(alone, Refused) == (request.file == build(refused))
                assert isinstance(together, Refused) or value_faults(together, alone) == []


def test_requests_are_retried_alone_after_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    with Oracle(disk=KeptAnswers(None)) as oracle:
        asked = [Request("plugin", build(case)) for case in (sound("Sin"), GATHER)]
        monkeypatch.setattr(oracle, "timeout", 0.0)
        oracle.ask_together(asked)
        assert not any(map(oracle.knows, asked))
        monkeypatch.setattr(oracle, "timeout", 60.0)
        assert oracle.ask(asked[1])[0].tolist() == [[0.0, 4.0, 2.0]]


def test_differing_answers_are_repeated_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.conformance.checks.neighbors", lambda: {GATHER: [GATHER, sound("Sin")]})
    with Oracle(disk=KeptAnswers(None)) as oracle:
        assert check_values(GATHER, oracle) == []
        key = Request("plugin", build(GATHER)).digest()
        element_type, shape, data = oracle.kept[key][1][0]
        oracle.kept[key] = ("answer", [(element_type, shape, bytes(len(data)))])
        assert check_values(GATHER, oracle) == []
        wrong = dataclasses.replace(GATHER, attributes={"axis": 1})
        monkeypatch.setattr("tests.conformance.checks.neighbors", lambda: {wrong: [wrong, GATHER]})
        monkeypatch.setattr(ours, "evaluate", lambda case, inputs=None: (DATA[:1],))
        assert any("against OpenVINO (plugin)" in fault for fault in check_values(wrong, oracle))


def test_timeout_is_an_answer() -> None:
    with Oracle(timeout=0.0, disk=KeptAnswers(None)) as hasty:
        assert hasty.values(build(GATHER)) == Refused("timed out")


def test_refusal_carries_the_reason(oracle: Oracle) -> None:
    answer = oracle.values(build(Case("GatherElements", 6, (DATA, INDICES[0]), {"axis": 0})))
    assert isinstance(answer, Refused)
    assert "rank" in answer.reason


@pytest.mark.parametrize(
    ("actual", "expected", "fault"),
    [
        (np.zeros(2, np.float32), np.zeros(2, np.float64), mentions(0, "float32", "f64")),
        (np.zeros((1, 2), np.float32), np.zeros(2, np.float32), mentions("shape")),
        (np.array([1, 2.5]), np.array([1, 2.0]), mentions("[1]", "2.5", "2.0")),
        (np.array([np.nan]), np.array([np.inf]), mentions(1, 1)),
        (np.array([1]), np.array([np.iinfo(np.int64).max]), mentions("[0]")),
        (np.array(["a", "b"], object), np.array(["a", "c"], object), mentions("[1]", "b", "c")),
        (np.array([(1,)], ElementType.u1.dtype), np.array([(0,)], ElementType.u1.dtype), mentions("[0]")),
    ],
)
def test_differences_are_seen(actual: np.ndarray, expected: np.ndarray, fault: mentions) -> None:
    assert value_faults([actual], [expected])[0] == fault
    assert value_faults([actual], [actual]) == []
    assert value_faults([actual], []) == [mentions(1, 0)]


def test_tolerance() -> None:
    values, expected = [np.array([1.001, np.inf, np.nan])], [np.array([1.0, np.inf, np.nan])]
    assert value_faults(values, expected, rtol=2e-3) == []
    assert value_faults(values, expected, atol=2e-3) == []
    assert value_faults(values, expected, rtol=1e-4) != []
    assert value_faults([np.array([-np.inf])], [np.array([np.inf])], rtol=1.0, atol=1.0) != []


def test_tolerance_of_long_sums() -> None:
    """Rounding passes where terms cancel; a product left out, taken twice or of another sign does not."""
    a, b = (np.random.default_rng(seed).uniform(-1, 1, (64, 1024)).astype(np.float32) for seed in (1, 2))
    products = a * b
    exact = products.astype(np.float64).sum(axis=1)
    summed = [np.abs(products).sum(axis=1)]
    expected = [exact.astype(np.float32)]
    one_by_one = [np.cumsum(products, axis=1, dtype=np.float32)[:, -1]]
    assert value_faults(one_by_one, expected, 1e-5, 1e-5, summed) == []
    for terms in (products[:, 0], -products[:, 0], 2 * products[:, 0]):
        seen = np.abs(terms) > 1e-3
        assert seen.sum() > 50
        for row in np.flatnonzero(seen):
            wrong = exact.copy()
            wrong[row] -= terms[row]
            assert value_faults([wrong.astype(np.float32)], expected, 1e-5, 1e-5, summed) != []


@pytest.mark.parametrize(
    ("ours", "theirs", "sound"),
    [
        (Shape([2, 3]), Shape([2, 3]), True),
        (Shape([(1, 4)]), Shape([None]), True),
        (Shape([None]), Shape([(1, 4)]), False),
        (Shape([2]), Shape([3]), False),
        (Shape(None), Shape([None]), False),
        (Shape([None]), Shape(None), True),
        (Shape([1]), Shape([1, 1]), False),
    ],
)
def test_wider_types_are_seen(ours: Shape, theirs: Shape, sound: bool) -> None:
    faults = type_faults([TensorType(ElementType.f32, ours)], [TensorType(ElementType.f32, theirs)], None)
    assert (faults == []) is sound


def test_types_excluding_the_output_are_detected() -> None:
    assert type_faults([TensorType(ElementType.f32, Shape([3]))], None, [np.zeros(3, np.float32)]) == []
    assert type_faults([TensorType(ElementType.f32, Shape([3]))], None, [np.zeros(4, np.float32)]) != []
    assert type_faults([TensorType(ElementType.f32, Shape([3]))], None, [np.zeros(3, np.int32)]) != []


def test_misbehaving_operators_are_detected(monkeypatch: pytest.MonkeyPatch, oracle: Oracle) -> None:
    def writes(case: Case, inputs: tuple[np.ndarray, ...] | None = None) -> tuple[np.ndarray, ...]:
        data = (inputs or case.inputs)[0]
        data.flags.writeable = True
        data += 1
        return (data[:1],)

    monkeypatch.setattr(ours, "evaluate", writes)
    faults = check_values(GATHER, oracle)
    assert mentions("evaluate", 0) in faults
    assert any("shares memory" in fault for fault in faults)
    assert any("against OpenVINO (plugin)" in fault for fault in faults)


@pytest.mark.parametrize(("has", "asked"), [(True, True), (False, False)])
def test_cases_that_want_a_newer_processor(has: bool, asked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.conformance.checks.has_wide_vectors", lambda: has)
    wants = dataclasses.replace(GATHER, wide_vectors=True)
    assert can_be_asked(wants) is asked
    assert can_be_asked(GATHER)
    with Oracle(disk=KeptAnswers(None)) as nobody:
        nobody.values = pytest.fail  # type: ignore[method-assign]  # must not be used
        if not asked:
            assert check_values(wants, nobody) == []
