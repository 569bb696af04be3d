"""`ir-exec compare` over many inputs: a verdict for each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NoReturn

import click

from ir_exec.batch.flow import in_order
from ir_exec.batch.items import StoredItem
from ir_exec.cli.batch import Many
from ir_exec.cli.files import write_bytes
from ir_exec.cli.parallel import Bar, pool_for
from ir_exec.cli.terminal import UNUSABLE, Unusable, echo, errors_as_messages, show, styled, table
from ir_exec.debug import Comparison, compare
from ir_exec.debug.text import verdict
from ir_exec.model import Model, read_model
from ir_exec.printable import printable

__all__ = ["CompareItem", "compare_many"]


@dataclass(frozen=True)
class CompareItem:
    """Compares a network with a reference on one item; workers read the network once. options: as for `compare`."""

    model: str
    weights: str | None
    reference: str
    options: Mapping[str, Any]

    def __call__(self, item: StoredItem) -> Comparison:
        network = _read(self.model, self.weights)
        arrays, _ = item.load(network.inputs)
        return compare(network, self.reference, arrays, **self.options)


@lru_cache(maxsize=1)
def _read(model: str, weights: str | None) -> Model:
    return read_model(model, weights=weights)


def compare_many(network: Model, question: CompareItem, many: Many, output_format: str, output: str | None) -> NoReturn:
    """Report on every item, and end the program: with 0 where all are equal, 1 where one differs, 2 where one fails."""
    if output_format not in ("text", "json"):
        raise Unusable(f"many inputs have no report in the format {output_format}: text or json")
    ports = network.inputs
    found: list[tuple[str, Comparison | None, Exception | None]] = []
    with (
        errors_as_messages(exit_code=UNUSABLE),
        pool_for(many.jobs, many.scheduler, many.extensions) as pool,
        Bar(lambda: sum(1 for _ in many.items(ports)), is_wanted=True, verb="comparing", noun="items") as bar,
    ):
        for (name, _), report, error in in_order(question, many.items(ports), lambda named: named[1], pool):
            found.append((name, report, error))
            bar.advance()
    if not found:
        raise Unusable("there are no items to compare")
    text = _as_json(found) if output_format == "json" else None
    if text is not None and output is None:
        click.echo(text)
    elif output is not None:
        write_bytes(output, ((text or _as_text(found)) + "\n").encode("utf-8", "surrogateescape"))
    else:
        _show(found)
    is_unusable = any(report is None or report.failure is not None for _, report, _ in found)
    are_equal = all(report is not None and report.equal for _, report, _ in found)
    raise click.exceptions.Exit(UNUSABLE if is_unusable else 0 if are_equal else 1)


def _verdict(report: Comparison | None, error: Exception | None) -> str:
    return printable(verdict(report) if report is not None else f"could not be compared: {error}".splitlines()[0])


def _as_json(found: list[tuple[str, Comparison | None, Exception | None]]) -> str:
    entries = [
        {
            "item": name,
            "error": None if error is None else str(error),
            "comparison": None if report is None else report.model_dump(mode="json"),
        }
        for name, report, error in found
    ]
    return json.dumps(entries, indent=1)


def _as_text(found: list[tuple[str, Comparison | None, Exception | None]]) -> str:
    lines = [f"{printable(name)}: {_verdict(report, error)}" for name, report, error in found]
    return "\n".join([_summary(found), *lines])


def _summary(found: list[tuple[str, Comparison | None, Exception | None]]) -> str:
    equal = sum(report is not None and report.equal for _, report, _ in found)
    return f"{equal:,} of {len(found):,} items are equal"


def _show(found: list[tuple[str, Comparison | None, Exception | None]]) -> None:
    is_good = all(report is not None and report.equal for _, report, _ in found)
    echo(styled("message" if is_good else "error", _summary(found)))
    shown = table("Items that differ", item="left", verdict="left")
    for name, report, error in found:
        if report is None or not report.equal:
            shown.add_row(printable(name), _verdict(report, error))
    if not is_good:
        echo("")
        show(shown, "compare with --inputs of one of them shows every layer")
