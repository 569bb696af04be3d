"""`ir-exec compare` over many inputs: a verdict for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NoReturn

import click

from ir_exec.batch.flow import in_order
from ir_exec.batch.items import StoredItem
from ir_exec.cli.batch import Many
from ir_exec.cli.files import write_text
from ir_exec.cli.parallel import Bar, pool_for
from ir_exec.cli.terminal import UNUSABLE, Unusable, echo, errors_as_messages, show, styled, table
from ir_exec.debug import Comparison, compare
from ir_exec.debug.items_report import ComparedItem, Comparisons, junit
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
    ports = network.inputs
    found: list[ComparedItem] = []
    with (
        errors_as_messages(exit_code=UNUSABLE),
        pool_for(many.jobs, many.scheduler, many.extensions) as pool,
        Bar(lambda: sum(1 for _ in many.items(ports)), is_wanted=True, verb="comparing", noun="items") as bar,
    ):
        for (name, _), report, error in in_order(question, many.items(ports), lambda named: named[1], pool):
            found.append(ComparedItem(item=name, error=None if error is None else str(error), comparison=report))
            bar.advance()
    if not found:
        raise Unusable("there are no items to compare")
    whole = Comparisons.of(question.model, question.reference, found)
    if output_format == "text" and output is None:
        _show(whole)
    else:
        write_text(_rendered(whole, question, output_format), output)
    raise click.exceptions.Exit(UNUSABLE if not whole.is_whole else 0 if whole.equal else 1)


def _rendered(report: Comparisons, question: CompareItem, output_format: str) -> str:
    if output_format == "json":
        return report.model_dump_json(indent=1) + "\n"
    if output_format == "csv":
        return report.to_csv()
    if output_format == "html":
        from ir_exec.view import html_of, view  # other formats do without the page

        with errors_as_messages(exit_code=UNUSABLE):
            return html_of(view(question.model, weights=question.weights, compare=report))
    return junit(report) if output_format == "junit" else "\n".join(map(printable, str(report).split("\n"))) + "\n"


def _show(report: Comparisons) -> None:
    echo(styled("message" if report.equal else "error", str(report).split("\n", 1)[0]))
    shown = table("Items that differ", item="left", verdict="left")
    for item in report.items:
        if not item.equal:
            shown.add_row(printable(item.item), printable(item.verdict))
    if not report.equal:
        echo("")
        show(shown, "compare with --inputs of one of them shows every layer")
