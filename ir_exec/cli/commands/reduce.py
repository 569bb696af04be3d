"""`ir-exec reduce`: the smallest part of a model for which a command still fails."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

import click

from ir_exec.build.cutting import is_counted
from ir_exec.cli.arrays import Asked, input_options
from ir_exec.cli.extensions import load_extensions
from ir_exec.cli.files import is_onnx_file, require_ir_output
from ir_exec.cli.options import MODEL, MOST_SECONDS, FiniteRange, format_option
from ir_exec.cli.output.pass_text import reduce_passes
from ir_exec.cli.output.progress import LayerBar
from ir_exec.cli.output.terminal import UNUSABLE, Unusable, check_hint, echo, errors_as_messages
from ir_exec.cli.output.writing import OutputFile, output_option, part_output
from ir_exec.debug import Command, Reduced, ReductionInterrupted, reduce
from ir_exec.debug.reduction.minimizing import Outcome
from ir_exec.model import Model
from ir_exec.ops.infrastructure.values import Const, Parameter, Result
from ir_exec.printable import printable
from ir_exec.report.numbers import format_count
from ir_exec.report.text import format_remainder
from ir_exec.types import Array

if TYPE_CHECKING:
    from ir_exec.debug.reduction.onnx_reducing import ReducedOnnx

__all__ = ["command", "outcomes", "timeout_option"]

_MOST_SHOWN = 10

Progress: TypeAlias = Callable[[str], None] | None

_Result = TypeVar("_Result", Reduced, "ReducedOnnx")


class _ExitCode(click.ParamType):  # type: ignore[type-arg]  # click before 8.2 has no argument here
    """An exit code, negative for a signal, or `timeout`."""

    name = "exit code"

    def convert(self, value: object, parameter: click.Parameter | None, context: click.Context | None) -> Outcome:
        text = str(value)
        if text == "timeout":
            return "timeout"
        if not text.isascii() or not text.removeprefix("-").isdigit() or len(text) > 6:
            self.fail(f"{text!r} is not an exit code or `timeout`", parameter, context)
        return int(text)


outcomes = click.option(
    "--bad-exit",
    "bad_exit",
    multiple=True,
    type=_ExitCode(),
    metavar="CODE",
    help="Exit code of a failure, -11 for signal 11, or timeout; repeatable.  [default: the one for MODEL, if not 0]",
)

timeout_option = click.option(
    "--timeout",
    type=FiniteRange(0.01, MOST_SECONDS),
    default=600.0,
    show_default=True,
    help="Seconds before a run of the command and its child processes are killed.",
)


def _reduced_output(path: str | None, parameters: Mapping[str, Any]) -> Iterable[OutputFile]:
    return () if parameters["asks_passes"] else part_output(path or _default_output(parameters["model"]), parameters)


def _default_output(model: str) -> str:
    return "reduced.onnx" if is_onnx_file(model) else "reduced.xml"


@click.command("reduce")
@click.argument("model", metavar="MODEL", type=MODEL)
@click.option("--until", metavar="COMMAND", help='Command that fails: "COMMAND {model}" or "COMMAND {model} {inputs}".')
@click.option("--passes", "asks_passes", is_flag=True, help="Find the compiler passes that change the outputs.")
@click.option("--rtol", type=FiniteRange(min=0), metavar="X", help="With --passes: relative tolerance.")
@click.option("--atol", type=FiniteRange(min=0), metavar="X", help="With --passes: absolute tolerance.")
@format_option("json", help="With --passes: format of the report. schemas/passes.schema.json describes json.")
@outcomes
@timeout_option
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Run the command at most N times.")
@output_option(
    "-o",
    "--output",
    outputs=_reduced_output,
    metavar="SMALL",
    help="Write the reduced model to SMALL.xml, or SMALL.onnx.  [default: reduced.xml, reduced.onnx for ONNX]",
)
@input_options
def command(
    model: str,
    until: str | None,
    asks_passes: bool,
    rtol: float | None,
    atol: float | None,
    output_format: str,
    bad_exit: tuple[Outcome, ...],
    timeout: float,
    limit: int | None,
    output: str | None,
    asked: Asked,
    weights: str | None,
    extensions: tuple[str, ...],
) -> None:
    """Find the smallest part of a model for which a command still fails.

    COMMAND runs without a shell. {model} is replaced by an .xml with a part of MODEL, or by an .onnx if MODEL and SMALL
    are ONNX files, {inputs} by an .npz with its
    inputs, which are values of a run of MODEL. Inputs of MODEL are given or random, as in `run`. A part fails if
    COMMAND exits with the same code as for MODEL. For example,

        --until "ir-exec compare {model} --with openvino --inputs {inputs}"

    exits with 1 for different outputs and with 2 for parts that cannot be compared.

    Ctrl-C stops the search, and the smallest part found so far is written.

    --passes keeps the complete model. It finds the compiler passes that change the outputs compared with a run without
    passes, and reports the layers that each pass fused, with their own errors.

    Exit code: 0 if the part was written, 2 if COMMAND does not fail on MODEL or cannot run, 130 on Ctrl-C. With
    --passes: 0 if the changes are rounding errors, 1 if a pass changes more, 2 if MODEL cannot run.
    """
    if asks_passes == (until is not None):
        raise Unusable("expected either --until COMMAND or --passes")
    if asks_passes:
        load_extensions(extensions)
        with errors_as_messages(hint=check_hint(model), exit_code=UNUSABLE):
            complete_model = asked.network(model, weights)
            drawn = asked.complete_inputs(complete_model, asked.read_inputs(complete_model.inputs))
        reduce_passes(complete_model, drawn, rtol=rtol, atol=atol, output_format=output_format)
    if output_format != "text" or rtol is not None or atol is not None:
        raise Unusable("--rtol, --atol and --format require --passes")
    assert until is not None, "one of the two is given"
    output = output or _default_output(model)
    is_onnx = output.lower().endswith(".onnx") and is_onnx_file(model)
    if not is_onnx:
        require_ir_output(model, output)
    load_extensions(extensions)
    with errors_as_messages(exit_code=UNUSABLE):
        asked_command = Command(until, bad_exit=bad_exit, timeout=timeout)
    if is_onnx:
        _reduce_onnx(model, output, asked_command, asked, limit)
        return
    with errors_as_messages(hint=check_hint(model), exit_code=UNUSABLE):
        network = asked.network(model, weights)
    arrays = _inputs(network, asked, asked_command)

    def reduce_ir(progress: Progress) -> Reduced:
        return reduce(network, asked_command, arrays, limit=limit, progress=progress)

    _reduce(reduce_ir, _describe, output)


def _reduce_onnx(path: str, output: str, asked_command: Command, options: Asked, limit: int | None) -> None:
    """Reduce an ONNX file to an ONNX file, and show a summary."""
    from ir_exec.debug.reduction.onnx_reducing import reduce_onnx
    from ir_exec.onnx.editing.sources import OnnxSource  # imported for ONNX files only

    arrays: dict[str, Array] | None = None
    with errors_as_messages(hint=check_hint(path), exit_code=UNUSABLE):
        source = OnnxSource(path)
        has_inputs = bool(asked_command.takes_inputs or options.named or options.archive)
        network = options.network(path) if has_inputs else None
    if network is not None:
        arrays = _inputs(network, options, asked_command)

    def reduce_file(progress: Progress) -> ReducedOnnx:
        return reduce_onnx(source, asked_command.fails_on, arrays, limit=limit, progress=progress)

    _reduce(reduce_file, _describe_onnx, output)


def _inputs(network: Model, options: Asked, asked_command: Command) -> dict[str, Array] | None:
    """Return the inputs of the complete model; None for a reduction without inputs."""
    file_inputs = options.read_inputs(network.inputs)
    if not asked_command.takes_inputs and not file_inputs:
        return None
    with errors_as_messages(exit_code=UNUSABLE):
        return options.complete_inputs(network, file_inputs)


def _reduce(run: Callable[[Progress], _Result], describe: Callable[[_Result], _Summary], output: str) -> None:
    """Run a reduction, write its result also after Ctrl-C, and show a summary."""
    is_interrupted = False
    with errors_as_messages(exit_code=UNUSABLE):
        try:
            with _terminated_as_interrupted(), LayerBar(None) as bar:
                reduced = run(bar.advance if bar.is_wanted else None)
        except ReductionInterrupted as interrupt:
            reduced, is_interrupted = interrupt.found, True
        written = reduced.save(output)
    if is_interrupted:
        echo("interrupted: a smaller part may also fail", to_stderr=True)
    summary = describe(reduced)
    echo(f"{summary.sizes} in {format_count(reduced.runs, 'run')}")
    for line in summary.parts[:_MOST_SHOWN]:
        echo(printable(f"  {line}"))
    for line in format_remainder(len(summary.parts), _MOST_SHOWN, indent="  "):
        echo(line)
    echo(f"written to {', '.join(map(str, written))}")
    if is_interrupted:
        raise KeyboardInterrupt


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """Handle SIGTERM like Ctrl-C, to write the part that was found."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class _Summary(NamedTuple):
    """The counts of a reduction, and a line for each layer or node that remains."""

    sizes: str
    parts: Sequence[str]


def _describe(reduced: Reduced) -> _Summary:
    nodes = [node for node in reduced.model.graph.nodes if is_counted(node)]
    others = Counter(type(node.op) for node in reduced.model.graph.nodes if not is_counted(node))
    beside = ", ".join(format_count(others[cls], cls.type_name) for cls in (Parameter, Const, Result) if others[cls])
    sizes = f"{format_count(reduced.before, 'layer')} reduced to {reduced.layers} (and {beside})"
    return _Summary(sizes, [f'layer {node.id} "{node.name}" ({node.type})' for node in nodes])


def _describe_onnx(reduced: ReducedOnnx) -> _Summary:
    from ir_exec.onnx.reading.order import name_of  # imported for ONNX files only

    nodes = [node for node in reduced.part.proto.graph.node if node.op_type != "Constant"]
    sizes = f"{format_count(reduced.before, 'node')} reduced to {reduced.nodes}"
    return _Summary(sizes, [f'node "{name_of(node)}" ({node.op_type})' for node in nodes])
