"""Runs of the operator tables on a device, in batches, with failing cases repeated alone."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

from ir_exec.codes import Code
from ir_exec.debug.comparison.metrics import Settings, Tolerance
from ir_exec.debug.device.asking import Asker, PartQuestion
from ir_exec.debug.device.devices import Device, Engine, device_of
from ir_exec.debug.device.tables.cases import OperatorCase, cases_of, node_of
from ir_exec.debug.device.tables.report import STATUSES, CaseStatus, Conformance, FailedCase, OperatorResult
from ir_exec.debug.device.verdicts import Judgement, PartCase, judge_again
from ir_exec.debug.reduction.extracting import Extracted
from ir_exec.debug.traces.walk import Walker
from ir_exec.errors import EvaluationError, ParseError
from ir_exec.types import Array

__all__ = ["conformance", "load_baseline"]

_TOGETHER = 32
"""Maximum number of cases in one model."""

Form = Literal["static", "open"]


def conformance(
    device: str = "CPU",
    *,
    types: str | Sequence[str] = (),
    engine: Engine = "openvino",
    open_dims: bool = False,
    hint: Literal["accuracy", "performance"] = "accuracy",
    timeout: float = 60.0,
    output: str | os.PathLike[str] | None = None,
    baseline: Conformance | str | os.PathLike[str] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Conformance:
    """Run small cases of every operator on a device, and report wrong results and rejected cases.

    The expected values are the outputs of ir_exec, which its tests compare with OpenVINO and the specification.

    Args:
        device: The device of the engine: CPU, GPU or NPU for openvino; CPU, CUDA and others for onnxruntime.
        types: Patterns of operator types (`Gather*`).
        open_dims: Run each case a second time with open dims.
        hint: As for `compare`.
        timeout: Seconds for one model, after which the process of the device is killed.
        output: A folder for the smallest failing case of each type: NAME.xml, NAME.bin, NAME.inputs.npz, and the
            outputs of ir_exec as NAME.outputs.npz.
        baseline: A report of this function, or its JSON file, with known failures.
        progress: Called with each case.

    Raises:
        EvaluationError: For a device that is not available, and for a pattern that no type matches.
    """
    cases = cases_of([types] if isinstance(types, str) else types)
    known_failures = None if baseline is None else load_baseline(baseline)
    options: dict[str, Any] = {"hint": hint, "timeout": timeout, "threads": None, "precision": "f32"}
    with closing(device_of(engine, device, **options)) as opened_device:
        is_plugin = engine == "openvino" and device == "CPU"
        run = _Tables(opened_device, Path(output) if output is not None else None, known_failures, is_plugin, progress)
        return run.report(cases, ("static", "open") if open_dims else ("static",))


def load_baseline(baseline: Conformance | str | os.PathLike[str]) -> Conformance:
    """Return a report, read from a JSON file if a path is given; raises ParseError if the file is not a report."""
    if isinstance(baseline, Conformance):
        return baseline
    try:
        return Conformance.model_validate_json(Path(baseline).read_bytes())
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a conformance report in JSON"
        raise ParseError(f"cannot read {os.fspath(baseline)}: {reason}", code=Code.unreadable_path) from None


class _Tables:
    """Runs of cases on one device.

    Args:
        is_plugin: True for OpenVINO's CPU plugin, whose faults are known.
    """

    def __init__(
        self,
        device: Device,
        folder: Path | None,
        baseline: Conformance | None,
        is_plugin: bool,
        progress: Callable[[str], None] | None,
    ) -> None:
        self._asker = Asker(device)
        self._folder = folder
        self._is_plugin = is_plugin
        self._progress = progress
        self._settings = Settings()
        self._known = (
            None if baseline is None else {case.key for case in baseline.failed(("crashed", "wrong", "refused"))}
        )

    def report(self, cases: Sequence[OperatorCase], forms: Sequence[Form]) -> Conformance:
        by_type: dict[str, list[OperatorCase]] = {}
        for case in cases:
            by_type.setdefault(case.type, []).append(case)
        operators = [self._operator(type, by_type[type], forms) for type in sorted(by_type)]
        failed = [case for operator in operators for case in operator.failed]
        if self._known is None:
            ok = not any(case.status in ("wrong", "crashed") and case.known is None for case in failed)
        else:
            ok = not any(case.is_new and case.status != "step" for case in failed)
        device = self._asker.device
        return Conformance(
            device=device.title,
            version=device.version,
            ok=ok,
            operators=tuple(operators),
            cases=sum(operator.cases for operator in operators),
            crashes=self._asker.crashes,
        )

    def _operator(self, type: str, cases: Sequence[OperatorCase], forms: Sequence[Form]) -> OperatorResult:
        statuses: list[CaseStatus] = []
        failed: list[tuple[FailedCase, OperatorCase]] = []
        for form in forms:
            chosen_cases = [case for case in cases if form == "static" or case.may_be_open]
            for case, judgement in self._judge_cases(chosen_cases, form):
                status = _status(judgement)
                statuses.append(status)
                if status != "right":
                    failed.append((self._failed_case(case, form, status, judgement), case))
        result = OperatorResult.of(type, statuses, [failure for failure, _ in failed])
        first = result.failed[0] if result.failed and result.failed[0].status != "step" else None
        if self._folder is None or first is None:
            return result
        case = next(case for failure, case in failed if failure is first)
        saved = first.model_copy(update={"file": self._save(case, first.form)})
        return result.model_copy(update={"failed": (saved, *result.failed[1:])})

    def _judge_cases(self, cases: Sequence[OperatorCase], form: Form) -> Iterator[tuple[OperatorCase, Judgement]]:
        for rows in self._batches(cases):
            asked = [_part_case(case, form) for case in rows]
            answers = self._asker.ask_all([part_case.question for part_case in asked])
            for case, part_case, answer in zip(rows, asked, answers, strict=True):
                if self._progress is not None:
                    self._progress(str(case))
                yield case, judge_again(part_case, answer, self._asker, self._settings)

    def _batches(self, cases: Sequence[OperatorCase]) -> Iterator[Sequence[OperatorCase]]:
        """Yield the cases to run as one model; cases that may crash the plugin run alone."""
        alone = [case for case in cases if self._is_plugin and not case.is_plugin_right]
        together = [case for case in cases if not self._is_plugin or case.is_plugin_right]
        for start in range(0, len(together), _TOGETHER):
            yield together[start : start + _TOGETHER]
        for case in alone:
            yield [case]

    def _failed_case(self, case: OperatorCase, form: Form, status: CaseStatus, judgement: Judgement) -> FailedCase:
        is_known = self._is_plugin and not case.is_plugin_right
        failed = FailedCase(
            name=str(case),
            operator=case.operator,
            form=form,
            status=status,
            error=judgement.error,
            message=judgement.note,
            bytes=case.size,
            known=(case.note or "a known fault of the plugin") if is_known else None,
        )
        if self._known is None:
            return failed
        return failed.model_copy(update={"is_new": failed.key not in self._known})

    def _save(self, case: OperatorCase, form: Form) -> str:
        assert self._folder is not None, "the caller checks the folder"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            message = f"cannot create the folder {self._folder}: {error.strerror}"
            raise EvaluationError(message, code=Code.unwritable) from None
        path = self._folder / f"{case.operator}.xml"
        model = case.network(is_open=form == "open")
        names = [port.name for port in model.inputs]
        outputs = Walker(model).run(case.arrays)
        named = {port.name: array for port, array in zip(model.outputs, outputs, strict=True)}
        Extracted(model, dict(zip(names, case.arrays, strict=True)), named).save(path)
        return str(path)


def _status(judgement: Judgement) -> CaseStatus:
    for status in STATUSES:
        if status == judgement.status:
            return status
    raise AssertionError("every case has one of these statuses")


def _part_case(case: OperatorCase, form: Form) -> PartCase:
    """Return the question of a case, with the expected outputs."""
    model = case.network(is_open=form == "open")
    node = node_of(model)
    inputs: list[Array] = list(case.inputs)
    expected = Walker(model).run(case.arrays)
    least = Tolerance(rtol=case.rtol, atol=case.atol)
    return PartCase(PartQuestion(model, case.arrays), expected, node, inputs, range(case.outputs), least)
