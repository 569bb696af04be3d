"""The records of the operator tables on a device."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Literal

from ir_exec.debug.comparison.metrics import Difference
from ir_exec.debug.isolation.report_text import told_of_device
from ir_exec.debug.values.facts import Record

__all__ = ["STATUSES", "CaseStatus", "Conformance", "FailedCase", "OperatorResult"]

CaseStatus = Literal["right", "step", "wrong", "refused", "crashed"]
"""right: within the tolerance. step: beyond it on steps and in ties alone. wrong: beyond it. refused: the device does
not take the network. crashed: its process ended, or did not answer in time."""


class FailedCase(Record):
    """A case that is not right. name: operator, inputs and attributes.

    status, error, message: what the device makes of it; the error is that of its worst output. form: whether the dims
    of its inputs are static or open. bytes: of its inputs. known: why OpenVINO's CPU plugin is known to fail in it.
    is_new: the baseline has no such failure; None without a baseline. file: where the case was saved.
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
        """By this a case is found in a baseline."""
        return self.name, self.form, self.status

    @property
    def why(self) -> str:
        """The error or the message, in a line."""
        return told_of_device(self.error) if self.error is not None and self.status == "wrong" else self.message or ""


class OperatorResult(Record):
    """The cases of one type of operators on a device. counts: of the cases, by status. failed: the smallest first."""

    type: str
    cases: int
    counts: dict[CaseStatus, int]
    failed: tuple[FailedCase, ...] = ()

    @classmethod
    def of(cls, type: str, statuses: Sequence[CaseStatus], failed: Iterable[FailedCase]) -> OperatorResult:
        """The result of cases of these statuses."""
        ordered = sorted(failed, key=lambda case: (_ORDER.index(case.status), case.bytes, len(case.name)))
        return cls(type=type, cases=len(statuses), counts=dict(Counter(statuses)), failed=tuple(ordered))

    def count(self, *statuses: CaseStatus) -> int:
        """The number of cases of these statuses."""
        return sum(self.counts.get(status, 0) for status in statuses)


STATUSES: Sequence[CaseStatus] = ("right", "step", "wrong", "crashed", "refused")
"""The statuses in the order of tables."""

_ORDER: Sequence[CaseStatus] = ("crashed", "wrong", "refused", "step", "right")


class Conformance(Record):
    """The operator tables on a device.

    device: engine and device. version: that of the engine. operators: by type, in alphabetical order. cases: how many
    there were. crashes: how often the process of the device ended. ok: no case is wrong or crashes that is not known
    to; with a baseline, no case fails that did not fail there.
    """

    format: Literal[1] = 1
    device: str
    version: str
    ok: bool
    operators: tuple[OperatorResult, ...] = ()
    cases: int = 0
    crashes: int = 0

    def failed(self, statuses: Collection[CaseStatus] = ("crashed", "wrong")) -> list[FailedCase]:
        """The cases of these statuses."""
        return [case for one in self.operators for case in one.failed if case.status in statuses]

    def count(self, *statuses: CaseStatus) -> int:
        """The number of cases of these statuses."""
        return sum(one.count(*statuses) for one in self.operators)

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self, every: bool = False) -> Iterator[str]:
        """The report: the counts, and the smallest case of each type that fails. every: all cases that fail."""
        yield self.headline
        for one in self.operators:
            if not one.failed:
                continue
            counts = ", ".join(f"{one.counts[status]} {status}" for status in _ORDER if status in one.counts)
            yield f"{one.type}: {counts}"
            for case in one.failed if every else one.failed[:1]:
                new = " (new)" if case.is_new else ""
                yield f"  {case.status}{new}: {case.name} [{case.form}]: {case.why}"
                if case.known is not None:
                    yield f"    known: {case.known}"
                if case.file is not None:
                    yield f"    saved: {case.file}"

    @property
    def headline(self) -> str:
        """The counts in a line."""
        types = sum(not one.count("crashed", "wrong", "refused") for one in self.operators)
        parts = [f"{self.count(status):,} {status}" for status in reversed(_ORDER) if self.count(status)]
        new = [case for case in self.failed(("crashed", "wrong", "refused")) if case.is_new]
        news = f"; {len(new):,} new" if new else ""
        known = sum(case.known is not None for case in self.failed(("crashed", "wrong", "refused")))
        news += f"; {known:,} known of this plugin" if known else ""
        return (
            f"{self.device} {self.version}: {self.cases:,} cases of {len(self.operators):,} operators, "
            f"{types:,} of them right in all: {', '.join(parts)}{news}"
        )
