"""`ir-exec compare`: find the wrong layer, for one set of inputs or for each of many."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NoReturn

import click

from ir_exec.batch.flow import in_order
from ir_exec.batch.items import StoredItem
from ir_exec.cli.arrays import Asked, drawn_hint, input_options, read_arrays, tell_drawn
from ir_exec.cli.commands.run_batch import Many, is_many
from ir_exec.cli.extensions import load_extensions
from ir_exec.cli.files import is_onnx_file, write_text
from ir_exec.cli.options import (
    MODEL_OR_PIPELINE,
    MOST_RUNS,
    REFERENCE,
    CommaSeparated,
    ToleranceType,
    format_option,
    hint_option,
    read_tolerances,
    timeout_option,
    tolerances_of,
)
from ir_exec.cli.output.folder_text import TokenOptions, compare_folder
from ir_exec.cli.output.progress import LayerBar
from ir_exec.cli.output.rendering import render
from ir_exec.cli.output.terminal import (
    UNUSABLE,
    Unusable,
    check_hint,
    echo,
    errors_as_messages,
    show,
    show_verdict,
    terminal_width,
)
from ir_exec.cli.output.writing import output_option, report_output, text_output
from ir_exec.cli.parallel import Bar, pool_for, worker_options
from ir_exec.debug import Comparison, compare
from ir_exec.debug.comparison.by_module import add_source_modules
from ir_exec.debug.comparison.items_report import ComparedItem, Comparisons, junit
from ir_exec.debug.comparison.metrics import COLUMNS, Difference
from ir_exec.debug.comparison.records import ComparedLayer, ComparedModule
from ir_exec.debug.comparison.references.repeating import VARIED, Vary
from ir_exec.debug.comparison.report_text import beyond, counts, details, headline, shown_layers
from ir_exec.debug.comparison.variation import variation_lines
from ir_exec.debug.device.records import isolation_lines
from ir_exec.debug.precision.simulation import lower_precision
from ir_exec.debug.values.polygraphy import RecordedCalls
from ir_exec.model import Model, read_model
from ir_exec.printable import printable, printable_lines
from ir_exec.report.numbers import format_number
from ir_exec.report.records import to_json
from ir_exec.report.tables import Table, table
from ir_exec.report.text import format_remainder

__all__ = ["CompareItem", "compare_many"]


@dataclass(frozen=True)
class CompareItem:
    """A comparison of a model with a reference on one item; each worker reads the model once.

    Attributes:
        options: Keywords of `compare`.
    """

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
    """Report on every item, and exit with 0 if all are equal, 1 if one differs, 2 if one fails."""
    ports = network.inputs
    items: list[ComparedItem] = []
    with (
        errors_as_messages(exit_code=UNUSABLE),
        pool_for(many.jobs, many.scheduler, many.extensions) as pool,
        Bar(lambda: sum(1 for _ in many.items(ports)), is_wanted=True, verb="comparing", noun="items") as bar,
    ):
        for (name, _), report, error in in_order(question, many.items(ports), lambda named: named[1], pool):
            items.append(ComparedItem(item=name, error=None if error is None else str(error), comparison=report))
            bar.advance()
    if not items:
        raise Unusable("there are no items, expected at least one")
    titles = [item.comparison.reference for item in items if item.comparison is not None]
    comparisons = Comparisons.of(question.model, titles[0] if titles else question.reference, items)
    if output_format == "text" and output is None:
        _show_items(comparisons)
    else:
        write_text(_render(comparisons, output_format, question.model, question.weights), output)
        if output is not None:
            _show_items_verdict(comparisons)
    raise click.exceptions.Exit(comparisons.exit_code)


def _show_items_verdict(report: Comparisons) -> None:
    show_verdict(str(report).split("\n", 1)[0], is_good=report.equal)


def _show_items(report: Comparisons) -> None:
    _show_items_verdict(report)
    shown = table("Items that differ", item="left", verdict="left")
    for item in report.items:
        if not item.equal:
            shown.add_row(item.item, item.verdict)
    if not report.equal:
        echo("")
        show(shown, "to see every layer, compare with --inputs of one item")


_MOST_SHOWN = 20
_SHOWN = ("max_abs", "sqnr_db", "beyond")
_WIDE = 120
"""Minimum columns of a terminal for all of `_SHOWN`; narrower ones show only the first, to keep a layer in a row."""


@click.command("compare")
@click.argument("model", metavar="MODEL", type=MODEL_OR_PIPELINE)
@click.argument("other", metavar="[REFERENCE]", required=False, type=REFERENCE)
@click.option(
    "--with",
    "reference",
    metavar="REFERENCE",
    type=REFERENCE,
    help="Reference: openvino, onnxruntime, an .xml, an .onnx, an .npz, a .json of Polygraphy or a folder.",
)
@input_options
@click.option(
    "--then",
    multiple=True,
    metavar="FILE.npz",
    type=click.Path(),
    help="Inputs of the next call, which continues with the variables; repeatable.",
)
@click.option("--calls", type=click.IntRange(1, MOST_RUNS), metavar="N", help="Number of consecutive calls.")
@click.option(
    "--rtol",
    "rtols",
    type=ToleranceType(),
    multiple=True,
    metavar="[OUTPUT=]X",
    help="Relative tolerance of all outputs, or of OUTPUT; repeatable.  [default: by element type and layer]",
)
@click.option(
    "--atol",
    "atols",
    type=ToleranceType(),
    multiple=True,
    metavar="[OUTPUT=]X",
    help="Absolute tolerance of all outputs, or of OUTPUT; repeatable.  [default: by element type and layer]",
)
@click.option(
    "--tolerances",
    metavar="FILE",
    type=click.Path(),
    help='Tolerances from a .json or .toml file: {"OUTPUT": {"rtol": X, "atol": X}}; "*" is every other output.',
)
@click.option(
    "--map",
    "pairs",
    multiple=True,
    metavar="OURS=THEIRS",
    help="Compare the value OURS of MODEL with THEIRS of the reference; repeatable.",
)
@click.option("--nan-equal", is_flag=True, help="Treat NaN and infinity on both sides as compared and equal.")
@click.option(
    "--fail-on",
    type=click.Choice(["outputs", "layers"]),
    default="outputs",
    show_default=True,
    help="Exit with 1 for a different output or a gross error of a layer, or for every wrong layer.",
)
@click.option(
    "--metric", "metrics", multiple=True, metavar="NAME", help="Show this column, or module:function; repeatable."
)
@click.option(
    "--device",
    default="CPU",
    show_default=True,
    help="For openvino: device that runs the model. For onnxruntime: execution provider (CUDA, TensorRT).",
)
@hint_option("accuracy")
@click.option(
    "--probe",
    type=click.Choice(["all", "bisect", "outputs"]),
    default="all",
    show_default=True,
    help="For openvino: read all intermediate values in one run, a few in each of several, or none.",
)
@click.option(
    "--lowered",
    is_flag=True,
    help="For openvino and onnxruntime: run an .onnx file as ir_exec lowers it, not the file itself.",
)
@click.option(
    "--repeat",
    type=click.IntRange(2, MOST_RUNS),
    metavar="N",
    help="For openvino and onnxruntime: run the reference N times, to find layers whose values vary between its runs.",
)
@click.option(
    "--vary",
    type=CommaSeparated(VARIED),
    default=(),
    metavar="SETTING,...",
    help="With --repeat: also N times with other threads, with the other hint, or compiled for each run "
    "(threads,hint,compile).",
)
@click.option("--isolate", is_flag=True, help="Also run each layer alone on openvino or onnxruntime.")
@click.option(
    "--block",
    metavar="PATTERN",
    help="With --isolate: run the layers of a name prefix together: '**.layers.*'. ** also matches dots and slashes.",
)
@timeout_option(600.0)
@click.option(
    "--precision",
    type=click.Choice(["f32", "file", "f16", "bf16"]),
    default="f32",
    show_default=True,
    help="Compute f16 and bf16 in f32, or in the types of the file; f16, bf16: estimate the effect of rounding.",
)
@click.option(
    "--checkpoint",
    metavar="PATH",
    type=click.Path(),
    help="Also compare the weights of wrong layers with a checkpoint (.safetensors, .gguf, .npz, .pt, or a folder).",
)
@format_option("json", "csv", "html", "junit", help="Format of the report. schemas/compare.schema.json describes json.")
@output_option("-o", "--output", outputs=report_output, metavar="FILE", help="Write the report to this file.")
@output_option(
    "--save-outputs",
    "saved_outputs",
    outputs=text_output,
    metavar="FILE.json",
    help="Write the outputs of both sides in the format of Polygraphy, for its --load-outputs and for --with.",
)
@output_option(
    "--save-inputs",
    "saved_inputs",
    outputs=text_output,
    metavar="FILE.json",
    help="Write the inputs in the format of Polygraphy, for its --load-inputs and for --inputs.",
)
@worker_options
@click.option(
    "--by",
    type=click.Choice(["layer", "module"]),
    default="layer",
    show_default=True,
    help="List layers, or the modules that they were exported from.",
)
@click.option("--all", "every", is_flag=True, help="In text, show every layer.")
@click.option("--prompt", metavar="TEXT", help="For folders: text to continue.")
@click.option("--ids", metavar="1,2,3", help="For folders: tokens instead of a text.")
@click.option(
    "--max-new-tokens",
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    help="For folders: tokens to compare.",
)
@click.option(
    "--source", metavar="FOLDER", type=click.Path(), help="For folders: folder of the original model for transformers."
)
def command(
    model: str,
    other: str | None,
    reference: str | None,
    asked: Asked,
    weights: str | None,
    extensions: tuple[str, ...],
    then: tuple[str, ...],
    calls: int | None,
    rtols: tuple[tuple[str, float], ...],
    atols: tuple[tuple[str, float], ...],
    tolerances: str | None,
    pairs: tuple[str, ...],
    nan_equal: bool,
    fail_on: str,
    metrics: tuple[str, ...],
    device: str,
    hint: str,
    probe: str,
    lowered: bool,
    repeat: int | None,
    vary: tuple[Vary, ...],
    isolate: bool,
    block: str | None,
    timeout: float,
    precision: str,
    checkpoint: str | None,
    output_format: str,
    output: str | None,
    saved_outputs: str | None,
    saved_inputs: str | None,
    jobs: int | None,
    scheduler: str | None,
    by: str,
    every: bool,
    prompt: str | None,
    ids: str | None,
    max_new_tokens: int,
    source: str | None,
) -> None:
    """Compare the values of a model with a reference, and find the layer that is wrong.

    REFERENCE is openvino or onnxruntime (their run of MODEL), another IR file, an .onnx file, a folder written by
    `ir-exec trace`, or an .npz or a folder of .npy files named after tensors. An .onnx file is run by onnxruntime, or
    by onnx.reference if onnxruntime rejects it or with onnx-reference:FILE.onnx.

    If MODEL is an .onnx file, openvino and onnxruntime run that file, and with --lowered what ir_exec lowers it to. For
    IR, onnxruntime runs an export. The first line names the program, and an export or a lowering.

    The first line states whether the outputs agree. If they differ, each layer has two errors. The own error compares
    the layer with the reference for the same inputs of the layer; the carried error compares both complete runs.
    Layers with an own error are listed first.

    For models with variables, --then specifies the inputs of the next calls. --calls 3 repeats the inputs, or draws
    new random inputs for each call. The report names the call and the layer.

    For many inputs, --inputs is a pattern ('data/*.npz'), a folder, or a file that stacks them (.npy, .zarr,
    .parquet). Each item is compared separately and starts with the initial values of the variables.

    --isolate runs each layer alone on the device, with its inputs in the run of ir_exec. This excludes fusions, and the
    report names layers that are right alone and wrong in the complete model.

    --repeat runs the reference several times. A layer whose values vary between its runs by more than the tolerance is
    not counted as a fault of MODEL; the first line names the first such layer, its spread and the setting.

    If MODEL is a folder with a language model, its tokens are compared with openvino, genai, transformers, another
    folder (an int4 export with an f16 export) or a .json (`ids`). The report has the first token that differs, its
    margin, and the setting of the runtime or the layer that explains it.

    Exit code: 0 if the outputs are equal and no layer has a gross error, 1 if one differs (with --fail-on layers, also
    for a small error of a layer), 2 if nothing could be compared, for example because all elements are NaN or infinite
    on both sides.
    """
    if os.path.isdir(model):
        tokens = TokenOptions(prompt, ids, max_new_tokens, device, source, timeout)
        compare_folder(model, reference or other, tokens, output_format, output)
    relative, absolute = read_tolerances(tolerances)
    rtol, atol = tolerances_of(rtols, relative), tolerances_of(atols, absolute)
    if other is not None and reference is not None:
        raise Unusable(f"there are two references, {other} and --with {reference}, expected one")
    reference = other if reference is None else reference
    unknown = [name for name in metrics if name not in COLUMNS and ":" not in name]
    if unknown:
        raise Unusable(f"--metric is {unknown[0]!r}, expected module:function or one of {', '.join(COLUMNS)}")
    is_rounded = precision in ("f16", "bf16")
    if (reference is None) != is_rounded:
        raise Unusable("expected either --with REFERENCE, or --precision f16 or bf16")
    if block is not None and not isolate:
        raise Unusable("--block requires --isolate")
    if vary and repeat is None:
        raise Unusable("--vary requires --repeat")
    if repeat is not None and (isolate or reference is None):
        raise Unusable("--repeat requires --with openvino or --with onnxruntime, without --isolate")
    if lowered and reference not in ("openvino", "onnxruntime"):
        raise Unusable("--lowered requires --with openvino or --with onnxruntime")
    if isolate and reference is None:
        raise Unusable("--isolate requires --with openvino or --with onnxruntime")
    load_extensions(extensions)
    hint_text = check_hint(model)
    with errors_as_messages(hint=hint_text, exit_code=UNUSABLE):
        network = asked.network(model, weights)
    if by == "module" and not any(source.module for source in network.sources.values()):
        raise Unusable(
            f"no layer of {model} has a module, expected an export of PyTorch or TensorFlow with --by module"
        )
    recorded = RecordedCalls() if saved_outputs or saved_inputs else None
    if is_many(asked.archive) or jobs or scheduler:
        if reference is None or then or calls or by == "module" or recorded:
            options_of_one = "--then, --calls, --save-outputs, --save-inputs and --by module"
            what = f"--precision {precision}" if reference is None else options_of_one
            raise Unusable(f"{what} cannot be combined with many inputs, expected one set of inputs")
        settings: dict[str, Any] = {
            "isolate": block or isolate,
            "rtol": rtol,
            "atol": atol,
            "nan_equal": nan_equal,
            "pairs": _pairs(pairs),
            "device": device,
            "hint": hint,
            "probe": probe,
            "timeout": timeout,
            "precision": precision,
            "lowered": lowered,
            "repeat": repeat,
            "vary": vary,
            "fail_on": fail_on,
        }
        settings["metrics"] = [name for name in metrics if ":" in name]
        many = Many(asked.named, asked.archive, None, jobs, scheduler, extensions, asked.pixels)
        question = CompareItem(model, weights, reference, settings)
        compare_many(network, question, many, output_format, output)
    if is_rounded and (then or calls or recorded):
        what = "--then, --calls, --save-outputs and --save-inputs"
        raise Unusable(f"--precision {precision} cannot be combined with {what}, expected one call")
    file_inputs = asked.read_inputs(network.inputs, takes_first=not is_rounded)
    further = [*asked.read_further_calls(network.inputs), *(read_arrays(path, network.inputs) for path in then)]
    inputs = asked.complete_inputs(network, file_inputs) if file_inputs else None
    options: dict[str, Any] = {"rtol": rtol, "atol": atol, "shapes": asked.requested_shapes(network.inputs)}
    # Recordings and traces contain inputs.
    has_inputs = inputs is not None or str(reference).endswith(".npz") or os.path.isdir(str(reference))
    run_hint = None if has_inputs else drawn_hint
    with errors_as_messages(hint=run_hint, exit_code=UNUSABLE), LayerBar(network.graph) as bar:
        progress = bar.advance if bar.is_wanted else None
        if is_rounded:
            if isinstance(rtol, dict) or isinstance(atol, dict):
                raise Unusable(f"--precision {precision} has no tolerances per output, expected one for all outputs")
            asked_for = {**options, "inputs": inputs, "seed": asked.seed, "progress": progress}
            _precision(network, asked_for, precision, output_format, output)
        assert reference is not None, "one of the two is given"
        report = compare(
            network,
            reference,
            inputs,
            asked.seed,
            then=further,
            calls=calls,
            nan_equal=nan_equal,
            pairs=_pairs(pairs),
            metrics=[name for name in metrics if ":" in name],
            device=device,
            hint=hint,  # type: ignore[arg-type]  # checked by click
            probe=probe,  # type: ignore[arg-type]  # checked by click
            timeout=timeout,
            precision=precision,  # type: ignore[arg-type]  # f16 and bf16 were handled above
            isolate=block or isolate,
            lowered=lowered,
            repeat=repeat,
            vary=vary,
            fail_on=fail_on,  # type: ignore[arg-type]  # checked by click
            progress=progress,
            on_call=recorded,
            **options,
        )
    if recorded is not None:
        with errors_as_messages(exit_code=UNUSABLE):
            if saved_outputs is not None:
                recorded.write_outputs(saved_outputs, report.reference_title)
            if saved_inputs is not None:
                recorded.write_inputs(saved_inputs)
    if by == "module":
        report = add_source_modules(report)
    if is_onnx_file(model):
        from ir_exec.debug.comparison.by_node import add_nodes
        from ir_exec.onnx.reading.node_operators import node_operators  # imported for ONNX files only

        report = add_nodes(report, node_operators(model))
    if checkpoint is not None:
        report = _add_weights(report, network, checkpoint)
    if output_format == "text" and output is None:
        _show(report, metrics, every, by_module=by == "module")
    else:
        write_text(_render(report, output_format, model, weights), output)
        if output is not None:
            _show_headline(report)
    sys.exit(report.exit_code)


def _add_weights(report: Comparison, network: Model, checkpoint: str) -> Comparison:
    """Add notes on the weights of wrong layers."""
    from ir_exec.debug import diff_weights  # imported for checkpoints only
    from ir_exec.debug.weights.comparison_notes import note_weights

    with errors_as_messages(exit_code=UNUSABLE):
        return note_weights(report, diff_weights(network, checkpoint))


def _pairs(texts: Sequence[str]) -> dict[str, str]:
    """Parse pairs of names, `ours=theirs`."""
    theirs_by_name = {}
    for text in texts:
        ours, is_pair, theirs = text.partition("=")
        if not (is_pair and ours and theirs):
            raise Unusable(f"--map is {text!r}, expected OURS=THEIRS")
        theirs_by_name[ours] = theirs
    return theirs_by_name


def _render(report: Comparison | Comparisons, output_format: str, model: str, weights: str | None) -> str:
    def text() -> str:
        return junit(report) if output_format == "junit" else printable_lines(str(report)) + "\n"

    return render(report, output_format, text, "compare", model, weights, UNUSABLE)


def _show_headline(report: Comparison) -> None:
    is_bad = report.verdict in ("different", "different in a layer", "failed")
    show_verdict(headline(report), is_good=not is_bad)


def _show(report: Comparison, metrics: tuple[str, ...], every: bool, *, by_module: bool = False) -> None:
    if report.drawn is not None:
        tell_drawn(report.drawn)
    _show_headline(report)
    if report.verdict == "not compared" and report.failure is not None:
        for note in report.notes:
            echo(printable(f"  note: {note}"))
        return
    if report.equal and not (every or by_module):
        parts = () if report.isolation is None else isolation_lines(report.isolation)
        varied = () if report.variation is None else variation_lines(report.variation)
        for line in (*parts, *varied, *beyond(report)):
            echo(printable(line))
        return
    shown: list[Table | str] = [_outputs(report)]
    lines = list(details(report))
    if lines:
        shown.append("\n".join(map(printable, lines)))
    layers = shown_layers(report, every)
    is_wide = (terminal_width() or _WIDE) >= _WIDE
    columns = [name.rpartition(":")[2] for name in metrics] or list(_SHOWN if is_wide else _SHOWN[:1])
    if by_module:
        modules = [module for module in report.modules if every or not report.equal or module.status != "equal"]
        shown.append(_module_table(modules if every else modules[:_MOST_SHOWN]))
        if not every:
            shown += [f"{line}; --all shows all" for line in format_remainder(len(modules), _MOST_SHOWN)]
    elif layers:
        shown.append(_table(report, layers if every else layers[:_MOST_SHOWN], columns))
        if not every:
            shown += [f"{line}; --all shows all" for line in format_remainder(len(layers), _MOST_SHOWN)]
    echo("")
    show(*shown, counts(report))


def _outputs(report: Comparison) -> Table:
    """Return the table of the outputs with their errors and tolerances."""
    heads: dict[str, Any] = {"output": "left", "value": "left", "status": "left"}
    if report.calls > 1:
        heads["call"] = "right"
    heads |= dict.fromkeys(("max_abs", "cosine", "sqnr_db", "beyond"), "right") | {"tolerance": "left"}
    shown = table("Outputs", **heads)
    for result in report.output_results:
        value_type = f"{result.element_type}[{','.join(map(str, result.shape or ()))}]"
        cells = [str(result.call)] if report.calls > 1 else []
        cells += [_cell(result.error, name) for name in ("max_abs", "cosine", "sqnr_db", "beyond")]
        shown.add_row(result.name, value_type, result.status, *cells, _tolerance(result.error))
    return shown


def _tolerance(error: Difference | None) -> str:
    if error is None or not (error.rtol or error.atol):
        return "-" if error is None else "exact"
    return " + ".join(
        ([format_number(error.atol)] if error.atol else []) + ([f"{error.rtol:.1g} rel"] if error.rtol else [])
    )


def _table(report: Comparison, layers: list[Any], columns: list[str]) -> Table:
    heads: dict[str, Any] = {"id": "right", "layer": "left", "type": "left", "value": "left", "status": "left"}
    if report.calls > 1:
        heads["call"] = "right"
    if report.isolation is not None:
        heads["alone"] = "left"
    heads |= {f"own_{name}": "right" for name in columns} | {f"carried_{name}": "right" for name in columns}
    shown = table("Layers", **heads)
    for layer in layers:
        value_type = f"{layer.element_type}[{','.join(map(str, layer.shape or ()))}]"
        cells = [str(layer.call)] if report.calls > 1 else []
        cells += [layer.alone or "-"] if report.isolation is not None else []
        cells += [_cell(difference, name) for difference in (layer.own, layer.carried) for name in columns]
        shown.add_row(layer.layer_id, layer.path, _type_text(layer), value_type, layer.status, *cells)
    return shown


def _type_text(layer: ComparedLayer) -> str:
    """Return the type of a layer, or the operator of its ONNX node: `Gemm`, `MatMul of Gemm` for a further layer."""
    if layer.operator is None:
        return layer.type
    return layer.operator if layer.path == layer.node else f"{layer.type} of {layer.operator}"


def _module_table(modules: Sequence[ComparedModule]) -> Table:
    """Return the table of modules, each with the errors of its worst layer."""
    shown = table("Modules", module="left", layers="right", status="left", own_max_abs="right", carried_max_abs="right")
    for module in modules:
        errors = [_cell(difference, "max_abs") for difference in (module.own, module.carried)]
        shown.add_row(module.path, f"{len(module.layers):,}", module.status, *errors)
    return shown


def _cell(difference: Difference | None, name: str) -> str:
    if difference is None:
        return "-"
    value = difference.custom[name] if name in difference.custom else getattr(difference, name, None)
    return f"{value:.2%}" if name == "beyond" and value is not None else format_number(value)


def _precision(
    network: Model, asked: Mapping[str, Any], precision: str, output_format: str, output: str | None
) -> NoReturn:
    """Report the effect of a lower precision, and exit."""
    if output_format not in ("text", "json"):
        raise Unusable(f"--format is {output_format}, expected text or json with --precision {precision}")
    report = lower_precision(network, precision, **asked)  # type: ignore[arg-type]  # checked by click
    text = to_json(report) if output_format == "json" else printable_lines(str(report))
    write_text(text + "\n", output)
    if output is not None:
        show_verdict(str(report).split("\n", 1)[0], is_good=report.equal)
    sys.exit(0 if report.equal else 1)
