"""The text of `ir-exec run`: elements of outputs, the largest elements, and times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ir_exec.cli.output.terminal import Unusable
from ir_exec.debug.traces.run_report import RunTimes, TopElement, elements_of, top
from ir_exec.printable import printable, printable_lines
from ir_exec.report.tables import Table, table
from ir_exec.report.text import format_remainder
from ir_exec.types import Array, ElementType, Shape

__all__ = ["TOP", "labels_in", "printed_top", "printed_values", "times_text"]

TOP = 5
"""Elements per row of `--print top5`."""

_MOST_ROWS = 20
"""Maximum rows per output of `--print top5`."""

_MOST_PRINTED = 1000
"""Maximum elements of an output that is printed in full; of larger ones, the ends of each axis are printed."""


def labels_in(path: str | None) -> list[str]:
    """Read the lines of a file, without empty ones at its end."""
    if path is None:
        return []
    try:
        with open(path, encoding="utf-8-sig") as file:
            lines = file.read().rstrip().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise Unusable(f"cannot read the labels {path}: {reason}") from None
    return [line.strip() for line in lines]


def printed_values(results: Mapping[str, Array]) -> Iterator[str]:
    """Yield the elements of every output in the format of NumPy."""
    for name, array in results.items():
        text = np.array2string(elements_of(array), threshold=_MOST_PRINTED, separator=", ")
        yield f"{printable(name)} {ElementType.of(array)}{Shape(array.shape)}\n{printable_lines(text)}"


def printed_top(results: Mapping[str, Array], labels: Sequence[str]) -> Iterator[Table | str]:
    """Yield tables of the largest elements of each row of every output."""
    for name, array in results.items():
        element_type, shape = ElementType.of(array), Shape(array.shape)
        rows = top(array, TOP, labels)
        if rows is None:
            yield f"{printable(name)} {element_type}{shape}: {printable(str(elements_of(array).tolist())[:200])}"
            continue
        shown = table(
            f"{printable(name)} {element_type}{shape}", row="left", index="right", value="right", label="left"
        )
        leading = [size for size in array.shape if size > 1][:-1]
        for number, row in enumerate(rows[:_MOST_ROWS]):
            position = ",".join(map(str, np.unravel_index(number, leading))) if leading else ""
            for rank, entry in enumerate(row):
                shown.add_row(f"[{position}]" * (not rank) if position else "", *_cells(entry))
        yield shown.without_empty_columns()
        yield from format_remainder(len(rows), _MOST_ROWS, noun="rows")


def _cells(entry: TopElement) -> tuple[str, str, str]:
    return str(entry.index), f"{entry.value:.6g}", printable(entry.label or "")


def times_text(times: RunTimes) -> str:
    """Return a line with the times."""
    if times.p50_ms is None:
        return f"ran in {times.first_ms / 1000:.3g} s"
    parts = {"p50": times.p50_ms, "p90": times.p90_ms, "p99": times.p99_ms, "min": times.min_ms, "mean": times.mean_ms}
    listed = ", ".join(f"{name} {value:.3g} ms" for name, value in parts.items() if value is not None)
    warmup = f", {times.warmup} warm-up" if times.warmup else ""
    count = 1 + times.warmup + times.runs
    return f"ran {count:,} times: first {times.first_ms:.3g} ms{warmup}, then {times.runs:,}: {listed}"
