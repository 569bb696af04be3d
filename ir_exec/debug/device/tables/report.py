"""Records of a run of the operator tables on a device."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Literal

from ir_exec.debug.comparison.metrics import Difference
from ir_exec.debug.device.text import device_difference_text
from ir_exec.report.records import Record
from ir_exec.report.text import join_counts

__all__ = ["STATUSES", "CaseStatus", "Conformance", "FailedCase", "OperatorResult"]

CaseStatus = Literal["right", "step", "wrong", "refused", "crashed"]
"""right: within the tolerance. step: beyond it, but only on steps and in ties. wrong: beyond it. refused: the device
rejects the model. crashed: its process ended, or did not respond in time."""


class FailedCase(Record):
    """A case with a status other than right.

    Attributes:
        name: Its operator, inputs and attributes.
        form: Static or open dims of its inputs.
        status: The result of the device.
        error: The error of the worst output, if there are outputs.
        message: The note of the verdict, such as the error of the device.
        bytes: The total bytes of its inputs.
        known: The known fault of OpenVINO's CPU plugin.
        is_new: True if the baseline has no such failure; None without a baseline.
        file: The path of the saved case.
    """

    name: str
    operator: str
    form: Literal["static", "open"] = "static"
    status: CaseStatus
    error: Difference | None = None
    message: str | None = None
    bytes: int = 0
    known: str | None = None
    is_new: bool | None = None
    file: str | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        """Key of a case in a baseline."""
        return self.name, self.form, self.status

    @property
    def why(self) -> str:
        """The error or the message in one line."""
        return (
            device_difference_text(self.error)
            if self.error is not None and self.status == "wrong"
            else self.message or ""
        )


class OperatorResult(Record):
    """Results of the cases of one operator type on a device.

    Attributes:
        counts: The number of cases by status.
        failed: The failing cases, by status and the smallest first.
    """

    type: str
    cases: int
    counts: dict[CaseStatus, int]
    failed: tuple[FailedCase, ...] = ()

    @classmethod
    def of(cls, type: str, statuses: Sequence[CaseStatus], failed: Iterable[FailedCase]) -> OperatorResult:
        """Return the result for cases with these statuses."""
        ordered = sorted(failed, key=lambda case: (_ORDER.index(case.status), case.bytes, len(case.name)))
        return cls(type=type, cases=len(statuses), counts=dict(Counter(statuses)), failed=tuple(ordered))

    def count(self, *statuses: CaseStatus) -> int:
        """Return the number of cases with these statuses."""
        return sum(self.counts.get(status, 0) for status in statuses)


STATUSES: Sequence[CaseStatus] = ("right", "step", "wrong", "crashed", "refused")
"""The statuses in the order of tables."""

_ORDER: Sequence[CaseStatus] = ("crashed", "wrong", "refused", "step", "right")


class Conformance(Record):
    """Results of the operator tables on a device.

    Attributes:
        device: The engine and the device.
        version: The version of the engine.
        ok: True if all wrong and crashed cases are known. With a baseline, True if all failing cases are in it.
        operators: Results by type, in alphabetical order.
        cases: The number of cases.
        crashes: The number of times the process of the device ended.
    """

    format: Literal[1] = 1
    device: str
    version: str
    ok: bool
    operators: tuple[OperatorResult, ...] = ()
    cases: int = 0
    crashes: int = 0

    def failed(self, statuses: Collection[CaseStatus] = ("crashed", "wrong")) -> list[FailedCase]:
        """Return the cases with these statuses."""
        return [case for operator in self.operators for case in operator.failed if case.status in statuses]

    def count(self, *statuses: CaseStatus) -> int:
        """Return the number of cases with these statuses."""
        return sum(operator.count(*statuses) for operator in self.operators)

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self, every: bool = False) -> Iterator[str]:
        """Yield the lines of the report: the counts, and the smallest failing case of each type.

        Args:
            every: Include all failing cases.
        """
        yield self.headline
        for operator in self.operators:
            if not operator.failed:
                continue
            yield f"{operator.type}: {join_counts({status: operator.count(status) for status in _ORDER})}"
            for case in operator.failed if every else operator.failed[:1]:
                new = " (new)" if case.is_new else ""
                yield f"  {case.status}{new}: {case.name} [{case.form}]: {case.why}"
                if case.known is not None:
                    yield f"    known: {case.known}"
                if case.file is not None:
                    yield f"    saved: {case.file}"

    @property
    def headline(self) -> str:
        """The counts in one line."""
        types = sum(not operator.count("crashed", "wrong", "refused") for operator in self.operators)
        counts = join_counts({status: self.count(status) for status in reversed(_ORDER)}, ",")
        new = [case for case in self.failed(("crashed", "wrong", "refused")) if case.is_new]
        news = f"; {len(new):,} new" if new else ""
        known_failures = sum(case.known is not None for case in self.failed(("crashed", "wrong", "refused")))
        news += f"; {known_failures:,} known for this plugin" if known_failures else ""
        return (
            f"{self.device} {self.version}: {self.cases:,} cases of {len(self.operators):,} operators, "
            f"{types:,} without failures: {counts}{news}"
        )
