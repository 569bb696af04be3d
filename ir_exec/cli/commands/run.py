"""`ir-exec run`: the outputs of a model."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from time import perf_counter
from typing import Any

import click
import numpy as np

from ir_exec.batch.input_files import outputs_of_data_set
from ir_exec.cli.arrays import Asked, drawn_hint, input_options, statistics, tell_drawn, write_arrays
from ir_exec.cli.commands.run_batch import Many, is_many, run_many
from ir_exec.cli.engine import engine_options
from ir_exec.cli.extensions import load_extensions
from ir_exec.cli.options import (
    MODEL,
    MOST_RUNS,
    FiniteRange,
    format_option,
    precision_option,
    weight_mode_option,
)
from ir_exec.cli.output.progress import LayerBar
from ir_exec.cli.output.run_text import TOP, labels_in, printed_top, printed_values, times_text
from ir_exec.cli.output.terminal import (
    UNUSABLE,
    Unusable,
    check_hint,
    echo,
    errors_as_messages,
    show,
    show_json,
    style_text,
)
from ir_exec.cli.output.writing import OutputFile, arrays_output, folder_output, output_option
from ir_exec.cli.parallel import Bar, worker_options
from ir_exec.cli.process import keep_freed_memory
from ir_exec.debug.comparison.metrics import difference_text
from ir_exec.debug.comparison.references.reference import differences
from ir_exec.debug.inputs.drawing import Redraw
from ir_exec.debug.profiles.engine_profile import measure_in_blocks
from ir_exec.debug.traces.run_report import RunInput, RunReport, output_of, require_labels, times_of
from ir_exec.debug.traces.walk import NotFinite, first_not_finite
from ir_exec.engines.compiled import EngineModel
from ir_exec.errors import IRError
from ir_exec.ir.urls import suffix_of
from ir_exec.model import Model, ModelPort
from ir_exec.printable import printable
from ir_exec.report.records import to_json
from ir_exec.report.tables import Table, table
from ir_exec.runtime import CompiledModel, Results, compile_model
from ir_exec.runtime.precision import Precision
from ir_exec.runtime.weight_modes import WeightMode, weight_mode_of_one_run
from ir_exec.types import STRING, Array, ElementType, Shape


def _outputs_of_run(path: str | None, parameters: Mapping[str, Any]) -> Iterable[OutputFile]:
    has_items = is_many(parameters["archive"]) or any(parameters[name] for name in ("batch", "jobs", "scheduler"))
    return folder_output(path, parameters) if has_items else arrays_output(path, parameters)


@click.command("run")
@click.argument("model", metavar="MODEL", type=MODEL)
@input_options
@output_option(
    "-o",
    "--output",
    outputs=_outputs_of_run,
    metavar="FILE.npz|FOLDER",
    help="Write the outputs by name to this file; for many inputs, to this folder.",
)
@click.option(
    "--batch", type=click.IntRange(min=1), metavar="N", help="For many inputs: stack N rows of files per run."
)
@worker_options
@engine_options
@click.option("--max-seconds", type=FiniteRange(min=0, min_open=True), help="Stop a run after this time.")
@precision_option
@weight_mode_option
@click.option("--no-optimize", is_flag=True, help="Run every layer as a separate step.")
@click.option("--passes", metavar="NAMES", help="Compiler passes to disable (-a,-b), or to enable (a,b).")
@click.option(
    "--validate", is_flag=True, help="Fail at the first layer that produces NaN or infinity from finite inputs."
)
@click.option(
    "--expected",
    metavar="FILE.npz|FOLDER",
    type=click.Path(),
    help="Fail if outputs differ from these: arrays by name or out0, out1, ...; or a folder of output_*.pb of ONNX.",
)
@click.option("--rtol", type=FiniteRange(min=0), metavar="X", help="With --expected: relative tolerance.")
@click.option("--atol", type=FiniteRange(min=0), metavar="X", help="With --expected: absolute tolerance.")
@click.option("--repeat", type=click.IntRange(1, MOST_RUNS), default=1, show_default=True, help="Number of timed runs.")
@click.option(
    "--warmup",
    type=click.IntRange(0, MOST_RUNS),
    default=0,
    show_default=True,
    help="With --repeat: number of untimed runs after the first one.",
)
@click.option(
    "--print",
    "printed",
    type=click.Choice(["summary", "values", "top5"]),
    default="summary",
    show_default=True,
    help="Print statistics of the outputs, their elements, or the five largest elements of each row.",
)
@click.option(
    "--labels", metavar="FILE", type=click.Path(), help="With --print top5: names of the indices, one per line."
)
@format_option("json", help="Format of the report. schemas/run.schema.json describes json.")
def command(
    model: str,
    asked: Asked,
    weights: str | None,
    max_seconds: float | None,
    precision: Precision,
    weight_mode: WeightMode,
    no_optimize: bool,
    passes: str | None,
    extensions: tuple[str, ...],
    output: str | None,
    batch: int | None,
    jobs: int | None,
    scheduler: str | None,
    validate: bool,
    expected: str | None,
    rtol: float | None,
    atol: float | None,
    repeat: int,
    warmup: int,
    printed: str,
    labels: str | None,
    output_format: str,
    engine: dict[str, Any],
) -> None:
    """Run a model and show its outputs.

    Inputs that are not given are random values that suit the model: masks are 1, ids and indices are within their
    table, positions count up, images are in 0 to 1, other floats are normally distributed. If outputs are NaN, infinite
    or constant, inputs are drawn again, up to three times. Open dims have small supported sizes, or those of --shape.

    With --repeat, the first run is timed separately, and the others are reported as percentiles. Without it, weights
    stay compressed if expanding them takes more than 64 MiB; --weight-mode expand expands them.

    With --engine onnxruntime, layers run there if it supports them with the same semantics, and the others are
    interpreted. `ir-exec profile --engine` shows the reasons.

    For many inputs, --inputs is a pattern ('data/*.npz'), a folder, or a file that stacks them (.npy, .zarr, .parquet,
    or an .npz with --batch). The folder --output gets one file per item, and manifest.jsonl with one line per item and
    its error, if any. Each item starts with the initial state. If the command is started again, it continues with the
    missing items.

    Exit code: 0 on success, 1 if the model cannot be read or run, or fails --validate or --expected, 2 for an invalid
    argument.
    """
    keep_freed_memory()
    load_extensions(extensions)
    with errors_as_messages(hint=check_hint(model)):
        network = asked.network(model, weights)
        if is_many(asked.archive) or batch or jobs or scheduler:
            _refuse_for_many(shapes=asked.shapes, validate=validate, expected=expected, repeat=repeat > 1)
            _refuse_for_many(passes=passes is not None)
            _refuse_for_many(print=printed != "summary", labels=labels, format=output_format != "text", warmup=warmup)
            many = Many(asked.named, asked.archive, batch, jobs, scheduler, extensions, asked.pixels)
            how: dict[str, Any] = {"precision": precision}
            how |= {} if weight_mode == "auto" else {"weight_mode": weight_mode}
            run_many(network, many, output, how, max_seconds=max_seconds, optimize=not no_optimize, engine=engine)
            return
        compiled = compile_model(
            network,
            max_seconds=max_seconds,
            precision=precision,
            weight_mode=weight_mode if repeat > 1 else weight_mode_of_one_run(network, weight_mode, precision),
            # Some optimizations pay off only after about a dozen runs.
            optimize=False if no_optimize else "full" if repeat > 1 else "auto",
            passes=passes,
            **engine,
        )
    is_text = output_format == "text"
    names = labels_in(labels)
    ports = compiled.inputs
    file_inputs = asked.read_inputs(ports)
    with errors_as_messages(hint=drawn_hint if any(port.name not in file_inputs for port in ports) else None):
        redraw = asked.redraw(network, file_inputs)
        if validate:
            _validate(network, redraw.arrays, precision)
        first, results = _first_run(network, compiled, redraw, again=not validate, shows_bar=repeat == 1 and not engine)
        arrays = redraw.arrays
        if ports and is_text:
            show(_inputs(ports, redraw, set(file_inputs)))
            echo("")
        others = _time_runs(network, compiled, arrays, warmup, repeat - 1)
        if output is not None:
            write_arrays(output, results)  # type: ignore[arg-type]  # a mapping by name that also accepts positions
    outputs_by_name = {port.name: array for port, array in results.to_dict().items()}
    with errors_as_messages(exit_code=UNUSABLE):
        if names:
            require_labels(names, outputs_by_name)
        differs = None if expected is None else _differing(results, expected, rtol, atol)
    times = times_of(first, others, warmup)
    partition = compiled.partition if isinstance(compiled, EngineModel) else None
    specialized = compiled.specializations[-1] if compiled.specializations else None
    if is_text:
        shown: list[Table | str] = [_outputs(results)] if printed == "summary" else []
        shown += printed_values(outputs_by_name) if printed == "values" else ()
        shown += printed_top(outputs_by_name, names) if printed == "top5" else ()
        if partition is not None:
            echo(printable(str(partition).splitlines()[0]))
            for choice in partition.choices:
                echo(printable(f"inputs {choice}"))
            echo("")
        show(*shown, times_text(times) + (f", outputs written to {output}" if output else ""))
        if specialized is not None:
            echo(f"specialized for {printable(', '.join(f'{name}: {what}' for name, what in specialized.items()))}")
        if differs is not None:
            _tell_expected(differs, len(outputs_by_name), expected or "")
    else:
        drawn = {input.name: input.values for input in redraw.drawn.inputs}
        inputs = [_input(port, arrays[port.name], drawn.get(port.name), asked.seed) for port in ports]
        is_whole, most = printed == "values", TOP if printed == "top5" else 0
        outputs = [
            output_of(output_name, outputs_by_name[output_name], has_values=is_whole, most=most, labels=names)
            for output_name in outputs_by_name
        ]
        report = RunReport(
            model=model,
            inputs=tuple(inputs),
            outputs=tuple(outputs),
            times=times,
            engine=partition,
            specialised=specialized,
            token_offsets=_token_offsets(model, compiled, arrays, outputs_by_name),
        )
        show_json(to_json(report if differs is None else report.judged(differs)))
    if differs:
        sys.exit(1)


def _token_offsets(
    path: str, compiled: CompiledModel, arrays: Mapping[str, Array], outputs: Mapping[str, Array]
) -> tuple[tuple[tuple[int, int] | None, ...], ...] | None:
    """Return the positions of tokens in the texts, in bytes; None for models that are not tokenizers."""
    ids = outputs.get("input_ids")
    texts = [array for port in compiled.inputs for array in [arrays[port.name]] if port.element_type in STRING]
    if ids is None or ids.ndim != 2 or len(compiled.inputs) != 1 or [text.shape for text in texts] != [ids.shape[:1]]:
        return None
    from ir_exec.text.tokenizers.offsets import batch_offsets  # imported for tokenizers only

    decoded = [item if isinstance(item, str) else bytes(item).decode("utf-8", "replace") for item in texts[0].tolist()]
    empty = compiled([np.array([""], object)])["input_ids"][0].tolist()
    places = batch_offsets(path, decoded, ids, outputs.get("attention_mask"), empty)
    return None if places is None else tuple([tuple(row) for row in places])


def _time_run(
    network: Model, compiled: CompiledModel, arrays: Mapping[str, Array], *, shows_bar: bool = False
) -> tuple[float, Results]:
    """Run from the initial state, and return the seconds and the outputs.

    An observer disables fusions, so there is one only if the bar is shown.
    """
    compiled.reset_state()
    start = perf_counter()
    with LayerBar(network.graph) as bar:
        is_wanted = shows_bar and bar.is_wanted
        results = compiled(
            dict(arrays), observe=(lambda node, *_: bar.advance(f"{node.type} {node.name}")) if is_wanted else None
        )
    return perf_counter() - start, results


def _time_runs(
    network: Model, compiled: CompiledModel, arrays: Mapping[str, Array], warmup: int, count: int
) -> list[float]:
    """Return the seconds of each of `count` runs, in blocks, after runs for warming up."""
    with Bar(lambda: warmup + count, is_wanted=warmup + count > 0, verb="running", noun="runs") as bar:

        def run() -> float:
            seconds, _ = _time_run(network, compiled, arrays)
            bar.advance()
            return seconds

        for _ in range(warmup):
            run()
        (seconds,) = measure_in_blocks([run], count)
    return seconds


def _first_run(
    network: Model, compiled: CompiledModel, redraw: Redraw, *, again: bool, shows_bar: bool
) -> tuple[float, Results]:
    """Return the seconds and outputs of the first run; `again` allows new random inputs after useless outputs."""
    best: tuple[float, Results] | None = None
    failed: IRError | None = None
    while True:
        start = perf_counter()
        try:
            timed = _time_run(network, compiled, redraw.arrays, shows_bar=shows_bar)
        except IRError as error:
            failed = failed or error
            if not again or not redraw.again_after(error, perf_counter() - start):
                break
            continue
        goes_on = again and redraw.again(list(timed[1].values()), timed[0])
        if best is None or redraw.is_best:
            best = timed
        if not goes_on:
            break
    if best is None:
        assert failed is not None, "every run failed"
        raise failed
    if redraw.drawn.rejected or redraw.drawn.problem:
        tell_drawn(redraw.drawn)
    return best


def _refuse_for_many(**options: object) -> None:
    flags = [f"--{name.rstrip('s')}" for name, value in options.items() if value]
    if flags:
        raise Unusable(f"{', '.join(flags)} cannot be combined with many inputs, expected one set of inputs")


def _validate(network: Model, arrays: Mapping[str, Array], precision: Precision) -> None:
    with LayerBar(network.graph) as bar:
        not_finite: NotFinite | None = first_not_finite(
            network, arrays, bar.advance if bar.is_wanted else None, precision=precision
        )
    if not_finite is not None:
        echo(
            f"{style_text('error', 'error')}{style_text('message', ': ' + printable(not_finite.message))}",
            to_stderr=True,
        )
        echo(f"  --> {not_finite.location}", to_stderr=True)
        sys.exit(1)


def _differing(results: Results, path: str, rtol: float | None, atol: float | None) -> dict[str, str]:
    """Return the outputs that differ from those of a file, with their differences."""
    is_data_set = os.path.isdir(path) or suffix_of(path) == ".pb"
    # A folder may contain .npy files instead of a data set.
    arrays = (outputs_of_data_set(path) or None) if is_data_set else None
    differing: dict[str, str] = {}
    for name, difference in differences(results, path, rtol, atol, arrays).items():
        if difference is None:
            differing[name] = f"no value in {path}"
        elif not difference.is_within:
            differing[name] = difference_text(difference)
    return differing


def _tell_expected(differs: Mapping[str, str], count: int, path: str) -> None:
    echo("")
    if not differs:
        echo(f"as expected: every output is within the tolerance of {path}")
        return
    echo(f"not as expected: {len(differs)} of {count} outputs differ from {path}")
    for name, how in differs.items():
        echo(f"  {printable(name)}: {how}")


def _input(port: ModelPort, array: Array, drawn: str | None, seed: int) -> RunInput:
    """Return the record of an input.

    Args:
        drawn: A description of its random values, None for a given input.
    """
    return RunInput(
        name=port.name,
        element_type=str(_element_type(array)),
        shape=np.shape(array),
        origin="given" if drawn is None else "drawn",
        seed=None if drawn is None else seed,
        values=drawn,
    )


def _inputs(ports: list[ModelPort], redraw: Redraw, names_from_files: set[str]) -> Table:
    shown = table("Inputs", name="left", element_type="left", shape="left", values="left")
    record = redraw.drawn
    drawn = {input.name: input.values for input in record.inputs}
    for port in ports:
        array = redraw.arrays[port.name]
        values = drawn.get(port.name)
        origin = (
            "given" if port.name in names_from_files else f"drawn with seed {record.seed}{': ' * bool(values)}{values}"
        )
        shown.add_row(port.name, str(_element_type(array)), str(Shape(array.shape)), origin)
    return shown


def _outputs(results: Results) -> Table:
    shown = table(
        "Outputs", name="left", element_type="left", shape="left", min="right", max="right", mean="right", NaN="right"
    )
    for name, array in results.items():
        facts = statistics(array)
        element_type, shape = str(ElementType.of(array)), str(Shape(array.shape))
        shown.add_row(str(name), element_type, shape, facts.lowest, facts.highest, facts.mean, facts.nans)
    return shown


def _element_type(array: Array) -> object:
    try:
        return ElementType.of(array)
    except ValueError:
        return array.dtype
