"""`ir-exec reduce`: the smallest part of a model for which a command still fails."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click

from ir_exec.cli.arrays import Asked, input_options
from ir_exec.cli.commands.reduce_optimizers import reduce_by_optimizers_of_runtime
from ir_exec.cli.extensions import load_extensions
from ir_exec.cli.files import is_onnx_file, require_ir_output
from ir_exec.cli.options import MODEL, MOST_SECONDS, FiniteRange, format_option
from ir_exec.cli.output.pass_text import reduce_passes
from ir_exec.cli.output.reduction_text import Progress, describe_ir, describe_onnx, run_reduction, show_reduction
from ir_exec.cli.output.terminal import UNUSABLE, Unusable, check_hint, errors_as_messages
from ir_exec.cli.output.writing import OutputFile, output_option, part_output
from ir_exec.debug import Command, Reduced, reduce
from ir_exec.debug.reduction.minimizing import Outcome
from ir_exec.model import Model
from ir_exec.types import Array

if TYPE_CHECKING:
    from ir_exec.debug.reduction.onnx_reducing import ReducedOnnx

__all__ = ["command", "outcomes", "timeout_option"]


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
@click.option(
    "--optimizers",
    "asks_optimizers",
    is_flag=True,
    help="Find the graph optimizers of onnxruntime that change the outputs, and the smallest part that they change.",
)
@click.option(
    "--rtol", type=FiniteRange(min=0), metavar="X", help="With --passes and --optimizers: relative tolerance."
)
@click.option(
    "--atol", type=FiniteRange(min=0), metavar="X", help="With --passes and --optimizers: absolute tolerance."
)
@format_option(
    "json",
    help="With --passes and --optimizers: format of the report. schemas/passes.schema.json and "
    "schemas/optimizers.schema.json describe json.",
)
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
    asks_optimizers: bool,
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

    --optimizers needs no command: it runs MODEL in onnxruntime with and without graph optimizers, and if the outputs
    differ or onnxruntime refuses the optimized model, it finds the optimizers to disable in at most 12 sessions, and
    then the smallest part. IR is exported to ONNX first.

    --passes keeps the complete model. It finds the compiler passes that change the outputs compared with a run without
    passes, and reports the layers that each pass fused, with their own errors.

    Exit code: 0 if the part was written, 2 if COMMAND does not fail on MODEL or cannot run, 130 on Ctrl-C. With
    --passes and --optimizers: 0 if the changes are rounding errors, 1 if a pass or an optimizer changes more, 2 if
    MODEL cannot run.
    """
    if (until is not None) + asks_passes + asks_optimizers != 1:
        raise Unusable("expected either --until COMMAND, --passes or --optimizers")
    if asks_passes:
        load_extensions(extensions)
        with errors_as_messages(hint=check_hint(model), exit_code=UNUSABLE):
            complete_model = asked.network(model, weights)
            drawn = asked.complete_inputs(complete_model, asked.read_inputs(complete_model.inputs))
        reduce_passes(complete_model, drawn, rtol=rtol, atol=atol, output_format=output_format)
    if asks_optimizers:
        load_extensions(extensions)
        settings = {"rtol": rtol, "atol": atol, "timeout": timeout}
        reduce_by_optimizers_of_runtime(model, output or "reduced.onnx", asked, weights, settings, limit, output_format)
    if output_format != "text" or rtol is not None or atol is not None:
        raise Unusable("--rtol, --atol and --format require --passes or --optimizers")
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

    show_reduction(run_reduction(reduce_ir, output), describe_ir)


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

    show_reduction(run_reduction(reduce_file, output), describe_onnx)


def _inputs(network: Model, options: Asked, asked_command: Command) -> dict[str, Array] | None:
    """Return the inputs of the complete model; None for a reduction without inputs."""
    file_inputs = options.read_inputs(network.inputs)
    if not asked_command.takes_inputs and not file_inputs:
        return None
    with errors_as_messages(exit_code=UNUSABLE):
        return options.complete_inputs(network, file_inputs)
