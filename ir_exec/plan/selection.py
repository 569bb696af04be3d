"""The selection of passes: all, all except some, or only some. It helps to find the pass that changes a number."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError

__all__ = ["PassSelection"]


@dataclass(frozen=True, slots=True)
class PassSelection:
    """The optional passes of a plan.

    Attributes:
        only: The passes that run, None for all.
        without: Passes that do not run.
    """

    only: frozenset[str] | None = None
    without: frozenset[str] = frozenset()

    def allows(self, name: str) -> bool:
        """Return True if a pass of this name runs."""
        return name not in self.without and (self.only is None or name in self.only)

    def leaving_out(self, *names: str) -> PassSelection:
        """Return the selection without these passes."""
        return PassSelection(self.only, self.without | set(names))

    @classmethod
    def parse(cls, text: str | None, names: Iterable[str]) -> PassSelection:
        """Parse `-a,-b`, which disables passes, or `a,b`, which runs only these.

        Args:
            names: The names of the passes that can be selected.

        Raises:
            EvaluationError: IR704 for a name that no pass has.
        """
        listed = list(names)
        parts = [part.strip() for part in (text or "").split(",") if part.strip()]
        for part in parts:
            if part.removeprefix("-") not in listed:
                message = (
                    f"there is no pass {part.removeprefix('-')!r} that can be left out; there are {', '.join(listed)}"
                )
                raise EvaluationError(message, code=Code.bad_value)
        without = frozenset(part[1:] for part in parts if part.startswith("-"))
        only = frozenset(part for part in parts if not part.startswith("-"))
        return cls(only or None, without)
