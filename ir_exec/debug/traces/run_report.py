"""The report of `run`: inputs, outputs with statistics, largest elements and values, and times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from ir_exec.codes import Code
from ir_exec.debug.values.facts import Facts, facts_of
from ir_exec.debug.values.files import RECORDS
from ir_exec.engines.report import PartitionReport
from ir_exec.errors import EvaluationError
from ir_exec.ir.packing import is_packed
from ir_exec.report.records import Number, Record, json_number
from ir_exec.types import STRING, Array, ElementType, Shape

__all__ = [
    "RunInput",
    "RunOutput",
    "RunReport",
    "RunTimes",
    "TopElement",
    "elements_of",
    "output_of",
    "require_labels",
    "times_of",
    "top",
]

MOST_VALUES = 100
"""Maximum number of elements of an output that the report contains by default."""


class RunInput(Record):
    """An input of the run.

    Attributes:
        origin: Given or drawn.
        seed: The seed of drawn elements.
        values: The distribution of drawn elements.
    """

    name: str
    element_type: str
    shape: tuple[int, ...]
    origin: Literal["given", "drawn"]
    seed: int | None = None
    values: str | None = None


class TopElement(Record):
    """One of the largest elements of a row: its index, its value, and its label if labels are given."""

    index: int
    value: Number
    label: str | None = None


class RunOutput(Record):
    """An output of the run.

    Attributes:
        values: Its elements as nested lists, if they are few or requested; non-finite numbers are text, such as "NaN".
        top: The largest elements of each row, with rows in the order of the leading dims.
        differs: The difference from the expected output; "" without a difference, None without an expected output.
    """

    name: str
    element_type: str
    shape: tuple[int, ...]
    facts: Facts
    values: list[Any] | bool | int | float | str | None = None
    top: tuple[tuple[TopElement, ...], ...] | None = None
    differs: str | None = None


class RunTimes(Record):
    """Milliseconds of the first run, and of the `runs` that were timed after it and `warmup` further runs."""

    first_ms: float
    warmup: int = 0
    runs: int = 0
    min_ms: float | None = None
    mean_ms: float | None = None
    p50_ms: float | None = None
    p90_ms: float | None = None
    p99_ms: float | None = None


class RunReport(Record):
    """The report of `run`.

    Attributes:
        engine: The layers that the engine ran; None without --engine.
        as_expected: True if the outputs are as expected; None without --expected.
        specialised: The properties of inputs that the model depends on, by input, for an ONNX file that requires inputs
            ("value 1", "shape [2,3]", "rank 2").
        token_offsets: For a tokenizer, the start and end of each token of each text, in bytes; None for a token that is
            not found.
    """

    format: Literal[1] = 1
    model: str
    inputs: tuple[RunInput, ...]
    outputs: tuple[RunOutput, ...]
    times: RunTimes
    engine: PartitionReport | None = None
    as_expected: bool | None = None
    specialised: dict[str, str] | None = None
    token_offsets: tuple[tuple[tuple[int, int] | None, ...], ...] | None = None

    def judged(self, differs: Mapping[str, str]) -> RunReport:
        """Return the report with the differences from the expected outputs, by output name."""
        outputs = tuple(
            [output.model_copy(update={"differs": differs.get(output.name, "")}) for output in self.outputs]
        )
        return self.model_copy(update={"outputs": outputs, "as_expected": not differs})


def times_of(first: float, others: Sequence[float], warmup: int) -> RunTimes:
    """Return the times of runs, from seconds; `others` are the runs after the first one and the warm-up."""
    if not others:
        return RunTimes(first_ms=1000 * first, warmup=warmup)
    milliseconds = 1000 * np.array(others)
    p50, p90, p99 = map(float, np.percentile(milliseconds, [50, 90, 99]))
    least, mean = float(milliseconds.min()), float(milliseconds.mean())
    return RunTimes(
        first_ms=1000 * first,
        warmup=warmup,
        runs=len(others),
        min_ms=least,
        mean_ms=mean,
        p50_ms=p50,
        p90_ms=p90,
        p99_ms=p99,
    )


def output_of(
    name: str, array: Array, *, has_values: bool = False, most: int = 0, labels: Sequence[str] = ()
) -> RunOutput:
    """Return the record of an output.

    Args:
        has_values: Include all elements.
        most: Maximum number of elements in each row of `top`.
    """
    element_type = ElementType.of(array)
    is_held = has_values or array.size <= MOST_VALUES
    return RunOutput(
        name=name,
        element_type=str(element_type),
        shape=array.shape,
        facts=Facts() if element_type in RECORDS else facts_of(array),
        values=_in_json(elements_of(array).tolist()) if is_held else None,
        top=top(array, most, labels) if most else None,
    )


def elements_of(array: Array) -> Array:
    """Return the elements in a type that Python and NumPy print: at least f32, and integers for packed types."""
    element_type = ElementType.of(array)
    if element_type in STRING:
        return array
    if element_type in RECORDS:
        return array.view(np.uint8)
    if element_type.is_float and element_type.bits < 32:
        return array.astype(np.float32)
    return array.astype(np.int8 if element_type.is_signed else np.uint8) if is_packed(element_type) else array


def _in_json(values: Any) -> Any:
    if isinstance(values, list):
        return [_in_json(value) for value in values]
    return json_number(values) if isinstance(values, float) else values


def top(array: Array, most: int, labels: Sequence[str] = ()) -> tuple[tuple[TopElement, ...], ...] | None:
    """Return the largest elements of each row, NaN last; rows are along the last axis with a size above 1.

    Args:
        labels: Labels by index, used if there is one for each element of a row.

    Returns:
        None for types without an order and for scalars.
    """
    element_type = ElementType.of(array)
    if element_type in STRING | RECORDS or array.size < 2:
        return None
    numbers = elements_of(array).reshape([size for size in array.shape if size > 1])
    rows = numbers.reshape(-1, numbers.shape[-1])
    names: Iterable[str | None] = labels if len(labels) == rows.shape[1] else [None] * rows.shape[1]
    named = list(names)
    return tuple([_top_of_row(row, most, named) for row in rows])


def _top_of_row(row: Array, most: int, labels: Sequence[str | None]) -> tuple[TopElement, ...]:
    keys = np.where(row == row, row, -np.inf) if row.dtype.kind == "f" else row
    count = min(most, len(row))
    # Equal elements are in the order of their indices.
    order = np.argsort(keys[::-1], kind="stable")[::-1][:count]
    places = (len(row) - 1 - order).tolist()
    return tuple([TopElement(index=index, value=float(row[index]), label=labels[index]) for index in places])


def require_labels(labels: Sequence[str], results: Mapping[str, Array]) -> None:
    """Raise EvaluationError if no output has rows with one element for each label."""
    lengths = [next((size for size in reversed(array.shape) if size > 1), 1) for array in results.values()]
    if len(labels) not in lengths:
        shapes = ", ".join(str(Shape(array.shape)) for array in results.values())
        raise EvaluationError(
            f"{len(labels)} labels fit no output",
            expected=f"one for each element of a row; shapes are {shapes}",
            code=Code.unknown_input,
        )
