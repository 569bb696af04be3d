"""`ir-exec check`: the faults of files."""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from ir_exec import __version__
from ir_exec.check import FORMATS, Baseline, Fix, Places, Report, Reports, Selection, Summary, fix, summary_line
from ir_exec.check.releases import target_release
from ir_exec.cli.config import Config, prefixes, read_config
from ir_exec.cli.extensions import extension_options, import_extensions, resolve_extensions, settings_path
from ir_exec.cli.files import files_in, read_text, repository, write_bytes
from ir_exec.cli.options import (
    MODEL_OR_FOLDER,
    complete_releases,
    complete_rules,
    format_option,
    read_shapes,
    shape_option,
)
from ir_exec.cli.output.check_text import TextOutput, from_level, lines_of_file
from ir_exec.cli.output.check_text import statistics as statistics_of
from ir_exec.cli.output.terminal import UNUSABLE, Unusable, echo, print_report, style_text, write
from ir_exec.cli.output.writing import OutputFile, add_sources, output_option, report_output
from ir_exec.cli.parallel import Bar, Question, check_all, pool_for, worker_options
from ir_exec.codes import Code
from ir_exec.errors import IRError, Severity
from ir_exec.hints import install_hint
from ir_exec.ir import default_weights_path
from ir_exec.ir.paths import exists
from ir_exec.ir.urls import suffix_of
from ir_exec.printable import printable
from ir_exec.readers import ENDINGS, is_readable
from ir_exec.report.numbers import format_count

if TYPE_CHECKING:
    from ir_exec.text.targets import Target

_LEVELS: tuple[Severity, ...] = ("error", "warning", "info")

_OF_DECLARATIONS = (Code.declared_dims, Code.declared_rank, Code.declared_element_type)


def _baseline_output(path: str | None, parameters: Mapping[str, Any]) -> Iterator[OutputFile]:
    if path is not None:
        yield OutputFile(path, "baseline")


def _report_output(path: str | None, parameters: Mapping[str, Any]) -> Iterable[OutputFile]:
    return report_output(path, parameters) if parameters.get("write_baseline") is None else ()


@click.command("check")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=MODEL_OR_FOLDER)
@shape_option("Shape of an input: check the model for it, and show the output shapes")
@click.option("--batch", type=click.IntRange(min=1), help="Batch size of all inputs: check the model for it.")
@click.option(
    "--requires", is_flag=True, help="Show the oldest OpenVINO release that supports each file, and the reasons."
)
@click.option(
    "--target",
    metavar="RELEASE",
    shell_complete=complete_releases,
    help="Report everything that this OpenVINO release, such as 2023.0, does not support.",
)
@click.option(
    "--for",
    "targets",
    multiple=True,
    type=click.Choice(["npu", "gpu", "genai", "cpu"]),
    help="Report everything that this device or pipeline does not support, and missed fusions; repeatable.",
)
@click.option(
    "--weights-values",
    is_flag=True,
    help="Also check the values of constants larger than 1 MiB, and compare the weights with a checkpoint in a folder.",
)
@click.option(
    "--select",
    multiple=True,
    metavar="RULES",
    shell_complete=complete_rules,
    help="Report only these rules: codes, names or groups; repeatable.",
)
@click.option(
    "--ignore",
    multiple=True,
    metavar="RULES",
    shell_complete=complete_rules,
    help="Do not report these rules; repeatable.",
)
@click.option(
    "--level",
    type=click.Choice(_LEVELS),
    help="Minimum severity of reported findings.  [default: info; text counts infos in one line]",
)
@click.option("--strict", is_flag=True, help="Also fail for warnings and for layers that were not checked.")
@click.option("--baseline", metavar="FILE", type=click.Path(), help="Do not report the findings in this file.")
@output_option(
    "--write-baseline",
    outputs=_baseline_output,
    metavar="FILE",
    help="Write all findings to this file for --baseline, and exit with 0.",
)
@click.option("--fix", "fixes", is_flag=True, help="Correct wrong declared dims and precisions in the files.")
@click.option(
    "--declare", is_flag=True, help="With --fix or --diff: also update the declarations after an edited attribute."
)
@click.option("--diff", "diffs", is_flag=True, help="Show the changes of --fix without writing them.")
@format_option(*FORMATS, "html", help="Format of the report. schemas/report.schema.json describes json.")
@output_option("-o", "--output", outputs=_report_output, metavar="FILE", help="Write the report to this file.")
@click.option("--quiet", is_flag=True, help="In text, show only errors.")
@click.option("--statistics", is_flag=True, help="In text, show the number of findings per rule.")
@click.option("--skip-others", is_flag=True, help="Skip files that are not IR, also if they are named.")
@extension_options
@worker_options
@click.option(
    "--config",
    "config_path",
    metavar="FILE.toml",
    type=click.Path(),
    help="Settings file.  [default: ir-exec.toml or pyproject.toml in the nearest folder of the repository]",
)
def command(
    paths: tuple[str, ...],
    shapes: tuple[str, ...],
    batch: int | None,
    requires: bool,
    target: str | None,
    targets: tuple[Target, ...],
    weights_values: bool,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    level: Severity | None,
    strict: bool,
    baseline: str | None,
    write_baseline: str | None,
    fixes: bool,
    declare: bool,
    diffs: bool,
    output_format: str,
    output: str | None,
    quiet: bool,
    statistics: bool,
    skip_others: bool,
    extensions: tuple[str, ...],
    jobs: int | None,
    scheduler: str | None,
    config_path: str | None,
) -> None:
    """Report all faults of IR and ONNX files.

    PATH is an .xml file, its .bin, an .onnx file, or a folder that is searched for .xml and .onnx files. Other .xml
    files in folders are skipped and counted if they have no .bin, and ONNX files if the package onnx is not installed.
    `ir-exec explain CODE` describes a finding.

    Text lists the errors of all files, then the warnings. One line counts the infos by rule; --level info lists them.

    Settings are read from [tool.ir-exec] in pyproject.toml, or from ir-exec.toml: select, ignore, per-file-ignores,
    severity, level, strict, target, baseline, jobs, weights-values, extensions.

    The summary also counts the findings that --level hides.

    Exit code: 0 without errors, 1 with errors, 2 for an unreadable path, an invalid argument or a failed write.
    """
    settings = settings_path(config_path)
    config = read_config(settings)
    strict = strict or config.strict
    modules = resolve_extensions(config, settings, extensions)
    import_extensions(modules)
    add_sources(*filter(None, [settings, None if write_baseline else config.baseline]))
    ignored_findings = None if write_baseline else _read_baseline(baseline, config, settings)
    question = Question(
        shapes=read_shapes(shapes),
        batch=batch,
        target=config.target if target is None else _target(target),
        weights_values=weights_values or config.weights_values,
    )
    if declare and not (fixes or diffs):
        raise Unusable("--declare requires --fix or --diff")
    fixed = _fix_all(paths, writes=not diffs, declare=declare) if fixes or diffs else _Fixed()
    is_text = output_format == "text"
    level = level or config.level
    # Selected rules are listed with any severity.
    in_text: Severity = "error" if quiet else level or ("info" if select else "warning")
    shown = TextOutput(in_text, requires=requires, to_file=output is not None, counts_infos=not quiet and level is None)
    reports: list[Report] = []
    skipped: list[str] = []
    files = partial(files_in, paths, skips_others=skip_others)
    is_shown = len(paths) > 1 or os.path.isdir(paths[0])
    jobs = jobs or (config.jobs if scheduler is None else None)
    across = _across_files(paths, targets)
    agreeing = _compare_checkpoints(paths, across) if question.weights_values else []
    with pool_for(jobs, scheduler, modules) as pool, Bar(lambda: sum(1 for _ in files()), is_wanted=is_shown) as bar:
        for path, was_found, report in check_all(files(), question, pool):
            bar.advance()
            if (was_found and not is_readable(path)) or ((was_found or skip_others) and _is_other(path, report)):
                skipped.append(path)
                continue
            if (own := across.pop(os.path.realpath(path), None)) is not None:
                report = report.model_copy(update={"diagnostics": (*report.diagnostics, *own.diagnostics)})
            selected = _selection(config, select, ignore).apply(report)
            selected = selected if ignored_findings is None else ignored_findings.new_in(selected)
            if is_text and write_baseline is None:
                lines = shown.errors(selected)
                with bar.hide() if lines else nullcontext():
                    shown.lines(lines)
            reports.append(selected)
    for report in across.values():
        selected = _selection(config, select, ignore).apply(report)
        selected = selected if ignored_findings is None else ignored_findings.new_in(selected)
        if is_text and write_baseline is None:
            shown.lines(shown.errors(selected))
        reports.append(selected)
    if not reports and not skip_others:
        raise Unusable(f"{', '.join(paths)}: no IR or ONNX files, expected at least one")
    summary = Summary.of(reports)
    if write_baseline is not None:
        write_bytes(
            write_baseline, Baseline.of(reports, _folder(write_baseline)).text().encode("utf-8", "surrogateescape")
        )
        echo(f"{sum(len(report.diagnostics) for report in reports)} findings written to {write_baseline}")
        return
    if is_text:
        shown.show_collected()
        shown.lines(printable(line) for line in agreeing)
    if is_text and statistics:
        shown.lines(statistics_of(reports))
    files_shown = tuple(from_level(report, level or "info") for report in reports)
    everything = Reports(version=__version__, files=files_shown, skipped=tuple(skipped), summary=summary)
    _finish(everything, output_format, output, shown)
    if strict and not summary.errors and (summary.warnings or summary.layers_not_checked):
        echo("strict: failed because of warnings, or layers that were not checked", to_stderr=True)
    if fixed.refused:
        sys.exit(UNUSABLE)
    sys.exit(_exit_code(reports, strict=strict, is_to_change=diffs and fixed.changed > 0))


def _across_files(paths: Sequence[str], targets: Sequence[Target]) -> dict[str, Report]:
    """Return the faults between the files of model folders, and the refusals of the targets, by real path of the file
    at fault.
    """
    from ir_exec.text.folders.checking import check_folder  # imported for folders only
    from ir_exec.text.targets import check_for

    reports_by_file: dict[str, Report] = {}
    for path in paths:
        for report in [target_report for target in targets for target_report in check_for(path, target)]:
            key = os.path.realpath(report.path or path)
            before = reports_by_file[key].diagnostics if key in reports_by_file else ()
            # The pipeline for NPUs also has the limits of every pipeline.
            new = [diagnostic for diagnostic in report.diagnostics if diagnostic not in before]
            reports_by_file[key] = report.model_copy(update={"diagnostics": (*before, *new)})
    for path in paths:
        for folder_path, folders, _ in os.walk(path) if os.path.isdir(path) else ():
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            reports = check_folder(folder_path, genai=not {"genai", "npu"} & {*targets})
            if reports is None:
                continue
            # Folders within a pipeline are parts of it.
            folders.clear()
            for report in reports:
                key = os.path.realpath(report.path or folder_path)
                after = reports_by_file[key].diagnostics if key in reports_by_file else ()
                reports_by_file[key] = report.model_copy(update={"diagnostics": (*report.diagnostics, *after)})
    return reports_by_file


def _compare_checkpoints(paths: Sequence[str], across: dict[str, Report]) -> list[str]:
    """Add the differences of models from the checkpoints in their folders, and return a line for each that agrees."""
    from ir_exec.debug.weights.folder_check import check_checkpoint  # imported for folders only

    lines: list[str] = []
    for path in paths:
        for folder, folders, _ in os.walk(path) if os.path.isdir(path) else ():
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            checked = check_checkpoint(folder)
            if checked is None:
                continue
            if checked.line is not None:
                lines.append(checked.line)
            key = os.path.realpath(checked.report.path or folder)
            before = across[key].diagnostics if key in across else ()
            if checked.report.diagnostics:
                diagnostics = (*before, *checked.report.diagnostics)
                across[key] = checked.report.model_copy(update={"diagnostics": diagnostics})
    return lines


def _finish(reports: Reports, output_format: str, output: str | None, shown: TextOutput) -> None:
    """Write the report, except for printed text, and always print the summary."""
    is_text = output_format == "text"
    line = summary_line(reports.summary)
    if is_text and reports.skipped:
        shown.lines(_describe_skipped(reports.skipped))
    if is_text:
        shown.lines([shown.style(_role(reports.summary), line)])
        content = "\n".join(shown.collected)
    elif output_format == "html":
        from ir_exec.view import html_of, page_of_reports  # imported for html only

        content = html_of(page_of_reports(reports.files)).rstrip("\n")
    else:
        here = os.getcwd()
        content = FORMATS[output_format](reports, Places(here, repository(here), lines_of_file))
    if output is not None:
        write_bytes(output, (content + "\n").encode("utf-8", "backslashreplace"))
        echo(style_text(_role(reports.summary), line))
    elif not is_text:
        if output_format == "github":
            write(content, nl=bool(content))
        else:
            print_report(content)
        echo(style_text(_role(reports.summary), line), to_stderr=True)


def _describe_skipped(paths: Sequence[str]) -> Iterator[str]:
    unreadable = sum(not is_readable(path) for path in paths)
    if unreadable < len(paths):
        yield f"skipped {format_count(len(paths) - unreadable, 'other .xml file')}"
    if unreadable:
        yield f"skipped {format_count(unreadable, 'ONNX file')}: to read them, {install_hint('onnx')}"


def _role(summary: Summary) -> str:
    return "error" if summary.errors else "warning" if summary.warnings else "message"


def _exit_code(reports: list[Report], *, strict: bool, is_to_change: bool) -> int:
    unusable = (Code.unreadable_path, Code.unknown_input)
    if any(diagnostic.code in unusable for report in reports for diagnostic in report.diagnostics):
        return UNUSABLE
    fails = any(report.errors or (strict and (report.warnings or report.layers_not_checked)) for report in reports)
    return 1 if fails or is_to_change else 0


@dataclass
class _Fixed:
    """The number of files that were changed (or would be with --fix), and that could not be written."""

    changed: int = 0
    refused: int = 0


def _fix_all(paths: tuple[str, ...], *, writes: bool, declare: bool) -> _Fixed:
    """Fix every file or print the diff, and report the errors that remain."""
    done = _Fixed()
    for path, was_found in files_in(paths):
        try:
            result = fix(path, declare=declare)
        except IRError:
            continue  # the report contains this error
        if result.reason is not None and (result.has_changed or not was_found):
            _tell_what_is_left(path, result, declare=declare, writes=writes)
        if not result.has_changed:
            continue
        if writes:
            try:
                write_bytes(path, result.after, is_source=True)
            except Unusable as error:
                error.show()
                done.refused += 1
                continue
        else:
            for line in _diff(path, result.before, result.after):
                echo(line)
        done.changed += 1
    if writes:
        echo(f"fixed {format_count(done.changed, 'file')}", to_stderr=True)
        lines_of_file.cache_clear()
    return done


def _tell_what_is_left(path: str, result: Fix, *, declare: bool, writes: bool) -> None:
    partly = "is partly fixed" if writes else "would be partly fixed"
    how = partly if result.has_changed else "is not changed"
    echo(f"{printable(path)} {how}: {printable(result.reason or '')}", to_stderr=True)
    if not declare and any(error.code in _OF_DECLARATIONS for error in result.left):
        text = "after editing an attribute, use --declare to update the declarations of the following layers"
        echo(f"{style_text('hint', 'hint:')} {text}", to_stderr=True)


def _diff(path: str, before: bytes, after: bytes) -> Iterator[str]:
    old, new = (text.decode("utf-8", "replace").splitlines() for text in (before, after))
    roles = {"+": "added", "-": "removed", "@": "frame"}
    for line in difflib.unified_diff(old, new, path, path, lineterm=""):
        yield style_text(roles.get(line[:1], ""), printable(line.replace("\t", "    ")))


def _selection(config: Config, select: tuple[str, ...], ignore: tuple[str, ...]) -> Selection:
    return Selection(
        select=prefixes(select or config.select, "select"),
        ignore=prefixes((*config.ignore, *ignore), "ignore"),
        per_file_ignores={glob: prefixes(rules, "per-file-ignores") for glob, rules in config.per_file_ignores.items()},
        severities={
            prefix: severity for name, severity in config.severity.items() for prefix in prefixes((name,), "severity")
        },
    )


def _target(text: str) -> str:
    try:
        target_release(text)
    except ValueError as error:
        raise Unusable(f"--target: {error}") from None
    return text


def _read_baseline(path: str | None, config: Config, settings: str | None) -> Baseline | None:
    """Read the baseline of an argument, or of the settings."""
    if path is not None:
        return _baseline(path)
    if config.baseline is None:
        return None
    try:
        return _baseline(config.baseline)
    except Unusable as error:
        raise Unusable(f"{settings}: baseline: {error.message}") from None


def _baseline(path: str) -> Baseline:
    try:
        return Baseline.parse(read_text(path, "the baseline"), _folder(path))
    except ValueError as error:
        raise Unusable(f"cannot read the baseline {path}: {error}") from None


def _folder(path: str) -> str:
    return os.path.dirname(os.path.abspath(path))


def _is_other(path: str, report: Report) -> bool:
    """Return True for an .xml of another format, without a .bin next to it."""
    if suffix_of(path) in ENDINGS and suffix_of(path) != ".xml":
        return False
    is_other = any(diagnostic.code == Code.not_ir for diagnostic in report.diagnostics)
    return is_other and not exists(default_weights_path(report.path or ""))
