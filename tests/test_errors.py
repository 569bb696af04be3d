"""Errors store their facts in a record that does not change, and keep the attributes of Python's exceptions."""

from __future__ import annotations

import copy
import pickle
import traceback
from collections.abc import Callable
from dataclasses import FrozenInstanceError

import pytest

from ir_exec import errors
from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, Fault, IRError, Location, ShapeError, raise_error

LAYER = Location("model.xml", 7, "3", "add", "Add")
ERROR = ShapeError(
    "the shapes differ",
    code=Code.dims_differ,
    port="b",
    hint="transpose b",
    severity="warning",
    location=Location(line=9),
    related=(LAYER,),
)


def caught(raise_it: Callable[[], None]) -> IRError:
    with pytest.raises(IRError) as raised:
        raise_it()
    return raised.value


def raise_placed() -> None:
    try:
        try:
            {}["key"]
        except KeyError as error:
            raise EvaluationError("a value is wrong") from error
    except IRError as error:
        error.add_note("while it was computed")
        raise error.located(LAYER) from error.__cause__


def test_error_equals_its_fault() -> None:
    assert ERROR.fault == Fault(
        "the shapes differ", "IR502", "transpose b", "warning", Location(line=9, port="b"), (LAYER,)
    )
    assert (ERROR.message, ERROR.code, ERROR.hint) == ("the shapes differ", "IR502", "transpose b")
    assert (ERROR.severity, ERROR.location, ERROR.related) == ("warning", Location(line=9, port="b"), (LAYER,))
    assert str(ERROR) == "line 9: port b: the shapes differ\nhint: transpose b"


def test_an_error_is_made_from_a_fault() -> None:
    error = ShapeError.of(ERROR.fault)
    assert (type(error), error.fault, str(error), error.args) == (ShapeError, ERROR.fault, str(ERROR), ERROR.args)


def test_a_message_is_composed_of_its_parts() -> None:
    error = ShapeError("pads has", actual=3, detail="elements", expected=4, reason="two for each axis")
    assert (error.message, error.actual, error.expected) == (
        "pads has 3 elements, expected 4, two for each axis",
        "3",
        "4",
    )
    plain = ShapeError("axis is", actual=3, expected="-2 to 1", reason=" for rank 2")
    assert (plain.message, plain.actual, plain.expected) == ("axis is 3, expected -2 to 1 for rank 2", "3", "-2 to 1")
    lacking = ShapeError("axes are missing", expected="one", reason=": data has one axis")
    assert (lacking.message, lacking.actual, lacking.expected) == (
        "axes are missing, expected one: data has one axis",
        None,
        "one",
    )
    assert (ERROR.actual, ERROR.expected) == (None, None)


def test_actual_and_expected_values_stay_with_an_error() -> None:
    error = ShapeError("axis is", actual=3, expected="-2 to 1")
    for other in (
        error.located(LAYER),
        error.changed(severity="info"),
        EvaluationError.of(error.fault),
        pickle.loads(pickle.dumps(error)),
        copy.deepcopy(error.located(LAYER)),
    ):
        assert (other.message, other.actual, other.expected) == (error.message, "3", "-2 to 1")


def test_class_has_its_own_code() -> None:
    assert ShapeError("text").code == Code.impossible_shape


@pytest.mark.parametrize("name", ["message", "code", "hint", "severity", "location", "related", "fault"])
def test_an_error_does_not_change(name: str) -> None:
    with pytest.raises(AttributeError):
        setattr(ERROR, name, None)


def test_a_fault_does_not_change() -> None:
    with pytest.raises(FrozenInstanceError):
        ERROR.fault.hint = None  # type: ignore[misc]  # that is what is tested


def test_missing_location_is_filled_in() -> None:
    placed = ERROR.located(LAYER)
    assert placed.location == Location("model.xml", 9, "3", "add", "Add", "b")
    assert type(placed) is ShapeError
    assert placed.related == (LAYER,)
    assert ERROR.location == Location(line=9, port="b")
    assert placed.located(Location("other.xml", 1, "1", "x", "Y", "z")).location == placed.location


def test_changed_error_differs_in_named_fields() -> None:
    milder = ERROR.changed(severity="info")
    assert (milder.severity, milder.hint, ERROR.severity) == ("info", "transpose b", "warning")
    with pytest.raises(TypeError):
        ERROR.changed(color="red")


def test_a_placed_error_keeps_cause_notes_and_traceback() -> None:
    error = caught(raise_placed)
    assert error.location == LAYER
    assert isinstance(error.__cause__, KeyError)
    assert error.__notes__ == ["while it was computed"]
    shown = "".join(traceback.format_exception(error))
    assert shown.count("KeyError: 'key'") == 1
    assert 'raise EvaluationError("a value is wrong") from error' in shown


def test_notes_of_a_copy_are_its_own() -> None:
    first = IRError("text")
    first.add_note("one")
    second = first.located(LAYER)
    second.add_note("two")
    assert first.__notes__ == ["one"]


@pytest.mark.parametrize("again", [lambda error: pickle.loads(pickle.dumps(error)), copy.copy, copy.deepcopy])
def test_error_survives_pickle_and_copy(again: Callable[[IRError], IRError]) -> None:
    for error in (ERROR, ERROR.located(LAYER), IRError("text")):
        other = again(error)
        assert other is not error
        assert (type(other), other.fault, str(other)) == (type(error), error.fault, str(error))


def test_only_errors_are_raised() -> None:
    raise_error(ERROR)
    with pytest.raises(ShapeError):
        raise_error(ERROR.changed(severity="error"))


def test_former_name_of_report_fault_warns() -> None:
    with pytest.warns(DeprecationWarning, match="ReportFault"):
        assert errors.Report is errors.ReportFault
    with pytest.raises(AttributeError):
        _ = errors.NoSuchName
