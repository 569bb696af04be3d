"""The description of a rule; the rules themselves are in `ir_exec.check.catalogue`."""

from __future__ import annotations

from dataclasses import dataclass

from ir_exec.codes import Code
from ir_exec.errors import Severity

__all__ = ["GROUPS", "Rule"]

GROUPS = {
    0: "file",
    1: "graph",
    2: "weights",
    3: "attributes",
    4: "element types",
    5: "shapes",
    6: "declared against inferred",
    7: "values",
    8: "folders of a pipeline",
    9: "not checked",
}


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that a file can break.

    Attributes:
        severity: The highest severity of faults of this rule.
        summary: The meaning of the rule, in one sentence.
        why: The consequences of a fault.
        bad: The smallest example that breaks the rule.
        good: The correction of this example; if both are XML, a file of tests/bad contains the bad one.
        in_files: True if `check_model` can find the fault in a file; the other rules are broken by calls of the Python
            API.
    """

    code: Code
    severity: Severity
    summary: str
    why: str
    bad: str
    good: str
    in_files: bool = True

    @property
    def name(self) -> str:
        """The name of the rule in kebab case: `index-out-of-range`."""
        return self.code.rule_name

    @property
    def group(self) -> str:
        return GROUPS.get(int(self.code[2]), "other")
