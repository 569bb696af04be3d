"""`ir-exec profile`: the time of a run by layer, type and prefix, and the plan of a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import click

from ir_exec.cli.arrays import Asked, drawn_hint, input_options
from ir_exec.cli.engine import engine_options
from ir_exec.cli.extensions import load_extensions
from ir_exec.cli.files import is_onnx_file, write_text
from ir_exec.cli.options import (
    MODEL,
    MOST_RUNS,
    format_option,
    hint_option,
    left_out,
    precision_option,
    rows_of,
    timeout_option,
    top_option,
    weight_mode_option,
)
from ir_exec.cli.output.plan_text import show_partition, show_plan
from ir_exec.cli.output.progress import Steps
from ir_exec.cli.output.rendering import render
from ir_exec.cli.output.terminal import Unusable, check_hint, echo, errors_as_messages, show
from ir_exec.cli.output.writing import output_option, report_output, text_output
from ir_exec.cli.process import keep_freed_memory
from ir_exec.debug.profiles.engine_profile import EngineProfile
from ir_exec.debug.profiles.profile_report import (
    LayerProfile,
    OpenVINOProfile,
    Profile,
    Rates,
    slowest,
    summary,
    type_text,
)
from ir_exec.debug.profiles.profiling import grouped_by_node, profile
from ir_exec.engines.faster import TRIAL_CALLS
from ir_exec.engines.registry import AUTO
from ir_exec.engines.report import EnginePlan
from ir_exec.model import Model
from ir_exec.onnx.reading.node_operators import node_operators
from ir_exec.printable import printable
from ir_exec.report.numbers import format_bytes, format_seconds
from ir_exec.report.records import to_json
from ir_exec.report.tables import Table, table
from ir_exec.runtime import compile_model
from ir_exec.runtime.calls import bind_calls
from ir_exec.runtime.precision import Precision
from ir_exec.runtime.weight_modes import WeightMode, weight_mode_of_one_run

_SPARE = ("memory", "GB/s", "calls", "GFLOP/s", "moved", "mult-adds", "value")
"""Columns that are omitted in narrow terminals, first ones first."""

_LEAST_SHARE = 0.01
"""Minimum share of the time for prefixes in text."""


@click.command("profile")
@click.argument("model", metavar="MODEL", type=MODEL)
@input_options
@engine_options
@click.option(
    "--repeat",
    type=click.IntRange(1, MOST_RUNS),
    default=10,
    show_default=True,
    help="Number of runs; times are medians.",
)
@click.option("--with", "reference", type=click.Choice(["openvino"]), help="Add the performance counters of OpenVINO.")
@click.option("--device", default="CPU", show_default=True, help="For openvino: device that runs the model.")
@hint_option("performance")
@timeout_option(600.0)
@click.option("--threads", type=click.IntRange(min=1), help="Number of threads, also of OpenVINO.")
@precision_option
@weight_mode_option
@output_option(
    "--trace-events",
    outputs=text_output,
    metavar="FILE.json",
    help="Write the events of one run for Perfetto (ui.perfetto.dev) or chrome://tracing.",
)
@format_option(
    "json",
    "csv",
    "html",
    help="Format of the report. schemas/profile.schema.json and schemas/plan.schema.json describe json.",
)
@output_option("-o", "--output", outputs=report_output, metavar="FILE", help="Write the report to this file.")
@click.option("--plan", "shows_plan", is_flag=True, help="Show the plan with the reasons for it, without a run.")
@click.option("--passes", metavar="NAMES", help="With --plan: compiler passes to disable (-a,-b), or to enable (a,b).")
@click.option(
    "--by",
    type=click.Choice(["layer", "node", "module", "line"]),
    help="In text, list layers, types and prefixes, the nodes of an ONNX file, or modules or lines of Python that the "
    "layers were exported from.  [default: node for ONNX files, else layer]",
)
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
    weight_mode: WeightMode,
    trace_events: str | None,
    output_format: str,
    output: str | None,
    top: int | None,
    every: bool,
    shows_plan: bool,
    passes: str | None,
    by: Literal["layer", "node", "module", "line"] | None,
    engine: dict[str, Any],
) -> None:
    """Show the time of a run by layer, type and name prefix.

    The tables also have the multiply-adds and the bytes that a layer moves, and the share of the peak of this machine
    ("of peak"). A layer with a large time and a small share of the peak is slow for its work.

    --plan shows the plan and runs nothing: each step with its kernel, the pass that made it, the reason for the kernel
    and the alternatives, then the layers without a step, and the fusions that nearly matched.

    --engine adds the times of the engine, the layers that it runs, and the reasons for the others. With --plan it shows
    the partition of the model; --engine auto then runs the model, and shows the faster of interpreter and engine.

    Exit code: 0 on success, 1 if the model cannot be read or run, 2 for an unreadable path or an invalid argument.
    """
    most = rows_of(top, every)
    keep_freed_memory()
    load_extensions(extensions)
    with errors_as_messages(hint=check_hint(model)):
        network = asked.network(model, weights)
    if by == "node" and not is_onnx_file(model):
        raise Unusable(f"--by is node, but {model} is not an ONNX file")
    by = by or ("node" if is_onnx_file(model) else "layer")
    _require_sources(network, model, by)
    file_inputs = asked.read_inputs(network.inputs)
    if shows_plan:
        with errors_as_messages(hint=drawn_hint):
            complete, (arrays,), _ = bind_calls(network, asked.complete_inputs(network, file_inputs))
            mode = weight_mode_of_one_run(complete, weight_mode, precision)
            compiled = compile_model(
                complete, threads=threads, precision=precision, passes=passes, weight_mode=mode, **engine
            )
            for _ in range(TRIAL_CALLS if engine.get("engine") == AUTO else 0):
                compiled.reset_state()
                compiled(list(arrays))
            shapes = {port.name: array.shape for port, array in zip(compiled.inputs, arrays, strict=True)}
            plan = compiled.explain(shapes)
        partition = plan.partition if isinstance(plan, EnginePlan) else None
        if output_format == "json" or output is not None:
            write_text(to_json(plan) + "\n", output)
        elif partition is not None:
            show_partition(partition, {node.name: node.type for node in complete.graph.nodes}, most)
        else:
            show_plan(plan, most)
        return
    if passes is not None:
        raise Unusable("--passes requires --plan; `ir-exec run` also has --passes")
    drawn = [port.name for port in network.inputs if port.name not in file_inputs]
    with errors_as_messages(hint=drawn_hint if drawn else None), Steps() as steps:
        report = profile(
            network,
            asked.complete_inputs(network, file_inputs),
            repeat=repeat,
            reference=reference,
            device=device,
            hint=hint,
            timeout=timeout,
            threads=threads,
            precision=precision,
            weight_mode=weight_mode,
            trace_events=trace_events,
            progress=steps.tell,
            **engine,
        )
    report = report.model_copy(update={"seed": asked.seed if drawn else None})
    if output_format == "text" and output is None:
        _show(report, most, every, by, node_operators(model) if by == "node" else {})
        if trace_events is not None:
            echo(f"\none run written to {printable(trace_events)}, for ui.perfetto.dev or chrome://tracing")
        return
    write_text(_render(report, output_format, model, weights), output)


def _render(report: Profile, output_format: str, model: str, weights: str | None) -> str:
    return render(report, output_format, lambda: f"{report}\n", "profile", model, weights)


def _require_sources(network: Model, model: str, by: str) -> None:
    """Refuse `--by module` and `--by line` for a model without any."""
    sources = network.sources.values() if by in ("module", "line") else ()
    if by == "module" and not any(source.module for source in sources):
        raise Unusable(f"no layer of {model} has a module, expected an export of PyTorch or TensorFlow")
    if by == "line" and all(source.file is None for source in sources):
        raise Unusable(f"no layer of {model} has a line of Python, expected an export of torch.onnx with dynamo=True")


def _show(report: Profile, most: int | None, every: bool, by: str, operators: Mapping[str, str]) -> None:
    for line in summary(report):
        echo(printable(line))
    echo("")
    if by == "node":
        show(*_nodes(report, most, operators), *_contestants(report, most))
    else:
        show(*(_parts(report, most, every) if by == "layer" else _groups(report, most, by)))


_LEAST_LAYER_SHARE = 0.05
"""Minimum share of the run of a layer that is shown with its node, if the node became several layers."""


def _nodes(report: Profile, most: int | None, operators: Mapping[str, str]) -> Iterator[Table | str]:
    """Yield the tables of the nodes of an ONNX file and of their operators."""
    groups = list(grouped_by_node(report.layers, operators))
    shown = _table("Nodes", node="left", operator="left", slowest_layer="left")
    by_operator: dict[str, list[LayerProfile]] = {}
    for position, (group, layers) in enumerate(groups):
        operator = operators.get(group.name, "-")
        by_operator.setdefault(operator, []).extend(layers)
        if most is None or position < most:
            layer = max(layers, key=lambda layer: layer.seconds)
            matters = len(layers) > 1 and layer.share >= _LEAST_LAYER_SHARE
            text = f"{type_text(layer)} {layer.share:.1%}, one of {len(layers)}" if matters else ""
            shown.add_row(group.name, operator, text, *_cells(group))
    yield shown.without_empty_columns() if shown.rows else shown
    yield from left_out(len(groups), most)
    totals = {name: sum(layer.seconds for layer in layers) for name, layers in by_operator.items()}
    listed = table("Operators", operator="left", layers="right", time="right", share="right")
    for name in sorted(totals, key=lambda name: -totals[name])[:most]:
        layers = by_operator[name]
        share = sum(layer.share for layer in layers)
        listed.add_row(name, f"{len(layers):,}", format_seconds(totals[name]), f"{share:.1%}")
    yield listed
    yield from left_out(len(totals), most)


def _contestants(report: Profile, most: int | None) -> Iterator[Table | str]:
    """Yield the tables of OpenVINO and of an engine."""
    if report.openvino is not None:
        yield from _openvino(report.openvino, most)
    if report.engine is not None:
        yield from _engine(report.engine, most)


def _groups(report: Profile, most: int | None, by: str) -> Iterator[Table | str]:
    """Yield the table of the modules, or of the lines with their text."""
    if by == "module":
        groups, shown = report.by_module, _table("Modules", layers="right", module="left")
    else:
        groups, shown = report.by_line, _table("Lines", layers="right", line="left", code="left")
    for group in groups[:most]:
        names = [group.name] if by == "module" else [group.name, group.code or ""]
        shown.add_row(f"{group.layers:,}", *names, *_cells(group))
    yield shown
    yield from left_out(len(groups), most)


def _parts(report: Profile, most: int | None, every: bool) -> Iterator[Table | str]:
    layers = slowest(report)
    shown = _table("Layers", layer="left", type="left", value="left", fusion="left", memory=True)
    for layer in layers[:most]:
        value_type = f"{layer.element_type}[{','.join(map(str, layer.shape or ()))}]" if layer.element_type else "-"
        names = (layer.path, type_text(layer), value_type, layer.fusion or "")
        shown.add_row(*names, *_cells(layer), format_bytes(layer.memory))
    yield shown.without_empty_columns() if shown.rows else shown
    yield from left_out(len(layers), most)
    types = _table("Types", type="left", layers="right")
    for group in report.by_type[:most]:
        types.add_row(group.name, f"{group.layers:,}", *_cells(group))
    yield types
    yield from left_out(len(report.by_type), most)
    prefixes = [candidate for candidate in report.by_prefix if every or candidate.share >= _LEAST_SHARE]
    if prefixes:
        listed = _table("Prefixes of names", prefix="left", layers="right")
        for group in prefixes[:most]:
            listed.add_row(group.name, f"{group.layers:,}", *_cells(group))
        yield listed
        yield from left_out(len(prefixes), most)
    yield from _contestants(report, most)


def _engine(profiled: EngineProfile, most: int | None) -> Iterator[Table | str]:
    yield "\n".join(map(printable, str(profiled.partition).splitlines()))
    yield (
        f"compiled in {format_seconds(profiled.compile_seconds)}, first run {format_seconds(profiled.first_seconds)}, "
        f"then {format_seconds(profiled.run_seconds)}; with its counters {format_seconds(profiled.timed_seconds)}"
    )
    shown = table(profiled.engine, layer="left", kernels="left", time="right", share="right", ours="right")
    for layer in profiled.layers[:most]:
        times = (format_seconds(layer.seconds), f"{layer.share:.1%}", format_seconds(layer.ours) if layer.ours else "-")
        shown.add_row(layer.name or "added by the engine", ", ".join(layer.kernels), *times)
    yield shown
    yield from left_out(len(profiled.layers), most)


def _openvino(openvino_profile: OpenVINOProfile, most: int | None) -> Iterator[Table | str]:
    shown = table(
        "OpenVINO",
        layer="left",
        type="left",
        kernel="left",
        time="right",
        share="right",
        ours="right",
        source_layers="left",
    )
    layers = sorted(openvino_profile.layers, key=lambda layer: -layer.seconds)
    for layer in layers[:most]:
        others = [name for name in layer.layers if name != layer.name]
        times = (
            format_seconds(layer.seconds),
            f"{layer.share:.1%}",
            format_seconds(layer.ours) if layer.layers else "-",
        )
        names = [layer.name, layer.type, layer.kernel]
        shown.add_row(*names, *times, _stands_for(layer.name, layer.layers, others))
    yield shown
    yield from left_out(len(layers), most)


def _stands_for(name: str, layers: Sequence[str], others: Sequence[str]) -> str:
    if not layers:
        return "added by OpenVINO"
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
        format_seconds(rates.seconds),
        f"{rates.share:.1%}",
        f"{rates.calls:,}",
        f"{rates.multiply_adds:,}" if rates.multiply_adds else "",
        format_bytes(rates.bytes_moved),
        f"{rates.gflops:.3g}" if rates.multiply_adds else "",
        f"{rates.gbytes:.3g}",
        "" if rates.of_peak is None else f"{rates.of_peak:.1%}",
    )
