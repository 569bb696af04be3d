"""`ir-exec profile`: where the time of a run goes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import click

from ir_exec.check import printable
from ir_exec.cli.arrays import DRAWN_HINT, Asked, input_options
from ir_exec.cli.config import load_extensions
from ir_exec.cli.engine import engine_options
from ir_exec.cli.files import write_text
from ir_exec.cli.options import MODEL, FiniteRange, format_option, left_out, rows_of, top_option
from ir_exec.cli.plan_output import EnginePlan, show_partition, show_plan
from ir_exec.cli.process import keep_freed_memory
from ir_exec.cli.progress import Steps
from ir_exec.cli.rendering import rendered
from ir_exec.cli.tables import Table, table
from ir_exec.cli.terminal import Unusable, check_hint, echo, errors_as_messages, show
from ir_exec.debug.profiles.engine_profile import EngineProfile
from ir_exec.debug.profiles.profile_report import (
    OpenVINOProfile,
    Profile,
    Rates,
    bytes_text,
    seconds_text,
    slowest,
    summary,
    type_text,
)
from ir_exec.debug.profiles.profiling import profile
from ir_exec.engines.report import PartitionReport
from ir_exec.runtime import CompiledModel, compile_model
from ir_exec.runtime.precision import Precision

_SPARE = ("memory", "GB/s", "calls", "GFLOP/s", "moved", "mult-adds", "value")
"""Columns that terminals without room for them do without."""

_LEAST_SHARE = 0.01
"""Of the time of all layers: prefixes below it are left out of the text."""


@click.command("profile")
@click.argument("model", metavar="MODEL", type=MODEL)
@input_options
@engine_options
@click.option("--repeat", type=click.IntRange(min=1), default=10, show_default=True, help="Runs that medians are of.")
@click.option("--with", "reference", type=click.Choice(["openvino"]), help="Show its own counters beside ours.")
@click.option("--device", default="CPU", show_default=True, help="For openvino: the device that it runs on.")
@click.option("--hint", type=click.Choice(["accuracy", "performance"]), default="performance", show_default=True)
@click.option("--timeout", type=FiniteRange(min=0.1), default=600.0, show_default=True, help="For openvino, in s.")
@click.option("--threads", type=click.IntRange(min=1), help="Threads of a run, those of OpenVINO too.")
@click.option(
    "--precision",
    type=click.Choice(["f32", "file"]),
    default="f32",
    show_default=True,
    help="What f16 and bf16 are computed in: f32, or the types of the file.",
)
@click.option(
    "--trace-events",
    metavar="FILE.json",
    type=click.Path(),
    help="Write one run for Perfetto (ui.perfetto.dev) or chrome://tracing.",
)
@format_option(
    "json",
    "csv",
    "html",
    help="text is for people; schemas/profile.schema.json and plan.schema.json describe json; csv has a row a layer.",
)
@click.option("-o", "--output", metavar="FILE", type=click.Path(), help="Where to write the report.")
@click.option("--plan", "shows_plan", is_flag=True, help="Show why each layer runs as it does, and run nothing.")
@click.option("--passes", metavar="NAMES", help="Leave passes out, -a,-b, or run these alone, a,b.")
@top_option
@click.option("--all", "every", is_flag=True, help="In text, show every layer, type and prefix.")
def command(
    model: str,
    asked: Asked,
    weights: str | None,
    extensions: tuple[str, ...],
    repeat: int,
    reference: Literal["openvino"] | None,
    device: str,
    hint: Literal["accuracy", "performance"],
    timeout: float,
    threads: int | None,
    precision: Precision,
    trace_events: str | None,
    output_format: str,
    output: str | None,
    top: int | None,
    every: bool,
    shows_plan: bool,
    passes: str | None,
    engine: dict[str, Any],
) -> None:
    """Show where the time of a run goes: by layer, by type, and by prefix of names.

    Beside the time of each layer stands how much it computes and moves, and how much of what this machine can do that
    is ("of peak"): a layer with much time and little of the peak is slow for what it does.

    With --plan nothing is run: each step is shown with its kernel and the pass that made it, why a kernel was taken and
    what else there was, what became of the layers that do not run by themselves, and which fusions nearly matched. With
    --engine too the parts are shown that it and the interpreter run, with each layer, and why the engine does not run
    the rest.

    With --engine its own times stand beside ours, with what it runs, and why it does not run the rest.

    Exit code: 0 when it ran, 1 when the network cannot be read or run, 2 for arguments or paths that cannot be used.
    """
    most = rows_of(top, every)
    keep_freed_memory()
    load_extensions(extensions)
    with errors_as_messages(hint=check_hint(model)):
        network = asked.network(model, weights)
    given = asked.given(network.inputs)
    if shows_plan:
        with errors_as_messages(hint=DRAWN_HINT):
            inputs = asked.drawn(network, given)
            compiled = compile_model(network, threads=threads, precision=precision, passes=passes, **engine)
            plan = compiled.explain({name: array.shape for name, array in inputs.items()})
        partition = _partition(compiled) if engine else None
        if partition is not None:
            plan = EnginePlan(**dict(plan), partition=partition)
        if output_format == "json" or output is not None:
            write_text(plan.model_dump_json(indent=1) + "\n", output)
        elif partition is not None:
            show_partition(partition, {node.name: node.type for node in network.graph.nodes}, most)
        else:
            show_plan(plan, most)
        return
    if passes is not None:
        raise Unusable("--passes is for --plan, and for run")
    drawn = [port.name for port in network.inputs if port.name not in given]
    with errors_as_messages(hint=DRAWN_HINT if drawn else None), Steps() as steps:
        report = profile(
            network,
            asked.drawn(network, given),
            repeat=repeat,
            reference=reference,
            device=device,
            hint=hint,
            timeout=timeout,
            threads=threads,
            precision=precision,
            trace_events=trace_events,
            progress=steps.tell,
            **engine,
        )
    report = report.model_copy(update={"seed": asked.seed if drawn else None})
    if output_format == "text" and output is None:
        _show(report, most, every)
        if trace_events is not None:
            echo(f"\none run written to {printable(trace_events)}: ui.perfetto.dev and chrome://tracing open it")
        return
    write_text(_rendered(report, output_format, model, weights), output)


def _partition(compiled: CompiledModel) -> PartitionReport:
    """Which layers the engine of a compiled model runs."""
    from ir_exec.engines.compiled import EngineModel  # what is interpreted does without engines

    assert isinstance(compiled, EngineModel), "an engine was asked for"
    return compiled.partition


def _rendered(report: Profile, output_format: str, model: str, weights: str | None) -> str:
    return rendered(report, output_format, lambda: f"{report}\n", "profile", model, weights)


def _show(report: Profile, most: int | None, every: bool) -> None:
    for line in summary(report):
        echo(printable(line))
    echo("")
    show(*_parts(report, most, every))


def _parts(report: Profile, most: int | None, every: bool) -> Iterator[Table | str]:
    layers = slowest(report)
    shown = _table("Layers", layer="left", type="left", value="left", memory=True)
    for layer in layers[:most]:
        kind = f"{layer.element_type}[{','.join(map(str, layer.shape or ()))}]" if layer.element_type else "-"
        shown.add_row(printable(layer.path), type_text(layer), kind, *_cells(layer), bytes_text(layer.memory))
    yield shown
    yield from left_out(len(layers), most)
    types = _table("Types", type="left", layers="right")
    for group in report.by_type[:most]:
        types.add_row(printable(group.name), f"{group.layers:,}", *_cells(group))
    yield types
    yield from left_out(len(report.by_type), most)
    prefixes = [one for one in report.by_prefix if every or one.share >= _LEAST_SHARE]
    if prefixes:
        listed = _table("Prefixes of names", prefix="left", layers="right")
        for group in prefixes[:most]:
            listed.add_row(printable(group.name), f"{group.layers:,}", *_cells(group))
        yield listed
        yield from left_out(len(prefixes), most)
    if report.openvino is not None:
        yield from _openvino(report.openvino, most)
    if report.engine is not None:
        yield from _engine(report.engine, most)


def _engine(found: EngineProfile, most: int | None) -> Iterator[Table | str]:
    yield "\n".join(map(printable, str(found.partition).splitlines()))
    yield (
        f"compiled in {seconds_text(found.compile_seconds)}, first run {seconds_text(found.first_seconds)}, then "
        f"{seconds_text(found.run_seconds)}; with its counters {seconds_text(found.timed_seconds)}"
    )
    shown = table(found.engine, layer="left", kernels="left", time="right", share="right", ours="right")
    for layer in found.layers[:most]:
        times = (seconds_text(layer.seconds), f"{layer.share:.1%}", seconds_text(layer.ours) if layer.ours else "-")
        shown.add_row(printable(layer.name or "made by the engine"), printable(", ".join(layer.kernels)), *times)
    yield shown
    yield from left_out(len(found.layers), most)


def _openvino(found: OpenVINOProfile, most: int | None) -> Iterator[Table | str]:
    shown = table(
        "OpenVINO",
        layer="left",
        type="left",
        kernel="left",
        time="right",
        share="right",
        ours="right",
        stands_for="left",
    )
    layers = sorted(found.layers, key=lambda layer: -layer.seconds)
    for layer in layers[:most]:
        others = [name for name in layer.layers if name != layer.name]
        times = (seconds_text(layer.seconds), f"{layer.share:.1%}", seconds_text(layer.ours) if layer.layers else "-")
        names = [layer.name, layer.type, layer.kernel]
        shown.add_row(*map(printable, names), *times, printable(_stands_for(layer.name, layer.layers, others)))
    yield shown
    yield from left_out(len(layers), most)


def _stands_for(name: str, layers: Sequence[str], others: Sequence[str]) -> str:
    if not layers:
        return "made by OpenVINO"
    return ", ".join(others) if name not in layers else "+ " + ", ".join(others) if others else ""


def _table(title: str, memory: bool = False, **columns: Literal["left", "right"]) -> Table:
    rates: dict[str, Any] = dict.fromkeys(("time", "share", "calls", "mult-adds", "moved", "GFLOP/s", "GB/s"), "right")
    rates["of peak"] = "right"
    if memory:
        rates["memory"] = "right"
    shown = table(title, **columns, **rates)
    shown.spare = _SPARE
    return shown


def _cells(rates: Rates) -> tuple[str, ...]:
    return (
        seconds_text(rates.seconds),
        f"{rates.share:.1%}",
        f"{rates.calls:,}",
        f"{rates.multiply_adds:,}" if rates.multiply_adds else "",
        bytes_text(rates.bytes_moved),
        f"{rates.gflops:.3g}" if rates.multiply_adds else "",
        f"{rates.gbytes:.3g}",
        "" if rates.of_peak is None else f"{rates.of_peak:.1%}",
    )
