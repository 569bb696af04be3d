"""One finding of `check_model`."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, ConfigDict

from ir_exec.check.rules import lesser, rule_of
from ir_exec.errors import IRError, Location, Severity
from ir_exec.printable import printable

__all__ = ["Diagnostic", "Record"]


class Record(BaseModel):
    """The base of everything that a report holds: it does not change, and becomes JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Diagnostic(Record):
    """One finding.

    code, name: the rule that was broken (`IR601`, `declared-dims`); their meaning never changes.
    message: what is wrong, without the place. hint: a likely repair, or a cause elsewhere in the file.
    related: further places that explain it, such as the layers on the way from the cause.
    """

    code: str
    name: str
    severity: Severity
    message: str
    hint: str | None = None
    location: Location
    related: tuple[Location, ...] = ()

    @classmethod
    def of(cls, error: IRError) -> Self:
        """The finding for an error; its severity is at most that of its rule."""
        rule = rule_of(error.code)
        return cls(
            code=str(error.code),
            name=rule.name,
            severity=lesser(error.severity, rule.severity),
            message=error.message,
            hint=error.hint,
            location=error.location,
            related=error.related,
        )

    def __str__(self) -> str:
        where = str(self.location)
        return f"{where}: {self.severity}[{self.code} {self.name}]: {printable(self.message)}"
