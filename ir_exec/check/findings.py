"""A finding of `check_model`, and the findings of a file, which contain each fault once.

Redundant attributes that writers of IR always wrote, and that no operator has, are one info for a file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Self, TypeAlias

from ir_exec.check.rules import lesser, rule_of
from ir_exec.codes import Code
from ir_exec.errors import Citation, IRError, Location, Severity
from ir_exec.graph import Node
from ir_exec.ir import Layer, Port
from ir_exec.ops.base.registry import newest
from ir_exec.printable import printable
from ir_exec.report.records import Record
from ir_exec.types import TensorType

__all__ = ["Diagnostic", "Findings", "Repair", "with_data_files_folded", "with_leftovers_folded"]


class Diagnostic(Record):
    """One finding.

    Attributes:
        code: The code of the broken rule, such as `IR601`; its meaning never changes.
        name: The name of the broken rule, such as `declared-dims`; its meaning never changes.
        message: What is wrong, without the location.
        actual: The faulty value, as the message states it; None if the fault is not a value.
        expected: The allowed values, as the message states them; None if the message states none.
        hint: A likely fix, or a cause elsewhere in the file.
        related: Further locations that explain the finding, such as the layers on the path from the cause.
        source: The document that states a limit of other software, for IR811; None for other rules.
    """

    code: str
    name: str
    severity: Severity
    message: str
    actual: str | None = None
    expected: str | None = None
    hint: str | None = None
    location: Location
    related: tuple[Location, ...] = ()
    source: Citation | None = None

    @classmethod
    def of(cls, error: IRError) -> Self:
        """The finding for an error; its severity is at most the severity of the rule."""
        rule = rule_of(error.code)
        return cls(
            code=str(error.code),
            name=rule.name,
            severity=lesser(error.severity, rule.severity),
            message=error.message,
            actual=error.actual,
            expected=error.expected,
            hint=error.hint,
            location=error.location,
            related=error.related,
            source=error.fault.source,
        )

    def __str__(self) -> str:
        where = str(self.location)
        return f"{where}: {self.severity}[{self.code} {self.name}]: {printable(self.message)}"


_UNKNOWN = re.compile(r"(\w+) has no attribute ([\w-]+); it is ignored")


def with_leftovers_folded(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The findings, with one info for all redundant attributes that Model Optimizer wrote."""
    remaining: list[Diagnostic] = []
    leftovers: list[Diagnostic] = []
    attributes: set[tuple[str, str]] = set()
    for diagnostic in diagnostics:
        attribute = _leftover(diagnostic)
        if attribute is None:
            remaining.append(diagnostic)
        else:
            leftovers.append(diagnostic)
            attributes.add(attribute)
    if not leftovers:
        return remaining
    first = min(leftovers, key=lambda leftover: leftover.location.line or 0)
    told = ", ".join(f"{name} of {type}" for type, name in sorted(attributes))
    where = f"{len(leftovers)} times, here first" if len(leftovers) > 1 else "once"
    message = f"Model Optimizer wrote attributes that the operators do not have and readers ignore ({where}): {told}"
    remaining.append(first.model_copy(update={"severity": "info", "message": message}))
    return remaining


def _leftover(diagnostic: Diagnostic) -> tuple[str, str] | None:
    """The type and attribute of a finding about a redundant attribute; None for other findings."""
    if diagnostic.code != Code.unknown_attribute:
        return None
    match = _UNKNOWN.fullmatch(diagnostic.message)
    cls = newest(match[1]) if match is not None else None
    if match is None or cls is None or match[2] not in cls.redundant_attributes.split():
        return None
    return match[1], match[2]


_OF_DATA_FILES: dict[str, str] = {Code.weights_missing: "need it", Code.weights_short: "read data past its end"}

_QUOTED = re.compile(r"'[^']+'")


def with_data_files_folded(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The findings, with one finding for each external data file of an ONNX model that is missing or too short."""
    ungrouped: list[Diagnostic] = []
    groups: dict[tuple[str, str], list[Diagnostic]] = {}
    for diagnostic in diagnostics:
        name = (
            _QUOTED.search(diagnostic.message)
            if diagnostic.code in _OF_DATA_FILES and diagnostic.location.kind == "node"
            else None
        )
        if name is None:
            ungrouped.append(diagnostic)
        else:
            groups.setdefault((diagnostic.code, name[0]), []).append(diagnostic)
    for (code, _), several in groups.items():
        first = several[0]
        end = f"; {len(several):,} nodes {_OF_DATA_FILES[code]}" if len(several) > 1 else ""
        ungrouped.append(first.model_copy(update={"message": first.message + end}))
    return ungrouped


_Key: TypeAlias = tuple[str | None, str | None, str | None]

_CONSEQUENCES: dict[str, tuple[Code, ...]] = {
    Code.wrong_port: (Code.input_without_edge,),
    Code.duplicate_port_id: (Code.wrong_port, Code.two_edges, Code.input_without_edge),
}
"""Codes, and the codes that are only consequences of each at the same layer."""

_UNRELATED = {Code.variable_without_pair, Code.repeated_rt_info, Code.colliding_names}
"""Faults of a layer that do not concern its inputs and outputs."""

_OF_WEIGHTS = (
    *(Code.weights_short, Code.damaged_strings, Code.unreferenced_weights),
    *(Code.nan_in_weights, Code.infinity_in_weights, Code.saturated_f16, Code.zero_weights, Code.constant_weights),
)
_NO_WEIGHTS = (Code.weights_missing, Code.weights_lfs_pointer, Code.weights_digest)
"""Faults of a .bin that is not read."""

_NOT_OF_WEIGHTS = (Code.dynamic_rank, Code.unbounded_dim, Code.body_input_type, Code.unknown_input)
"""Faults of shapes, declarations and values that do not result from the weights."""

_OF_IDS = {Code.unreadable_number, Code.duplicate_layer_id}


@dataclass(frozen=True, slots=True)
class Repair:
    """The type that a port should declare to fix the error with this code at this location."""

    code: str
    location: Location
    port: Port
    type: TensorType


class Findings:
    """Collects the faults of one file; the object is called with each fault.

    Attributes:
        repairs: The correct types for faults that are only a wrong declaration of a port.
    """

    def __init__(self, path: str | None) -> None:
        self._file = Location(path=path)
        self._found: list[Diagnostic] = []
        self._codes: set[str] = set()
        self._leading: set[str] = set()
        self._faulty: set[_Key] = set()
        self._muted: set[_Key] = set()
        self.repairs: list[Repair] = []

    def __call__(self, error: IRError) -> None:
        diagnostic = Diagnostic.of(error.located(self._file))
        self._found.append(diagnostic)
        if diagnostic.severity == "error":
            self._codes.add(diagnostic.code)
            if diagnostic.code not in _UNRELATED:
                self._faulty.add(_key(diagnostic.location))

    def repair(self, error: IRError, port: Port, type: TensorType) -> None:
        """Record that the port fixes the error if it declares this type."""
        self.repairs.append(Repair(error.code, error.location, port, type))

    def merge(self, error: IRError) -> None:
        """Replace all errors that have the code of this one; it is sorted first, as others may follow from it."""
        self._found = [diagnostic for diagnostic in self._found if diagnostic.code != error.code]
        self.lead(error)

    def lead(self, error: IRError) -> None:
        """Report a fault that is sorted first, as others may follow from it."""
        self._leading.add(error.code)
        self(error)

    def replace_by(self, error: IRError) -> None:
        """Report an error of the weights, and drop the findings and repairs that may be its consequence."""
        unrelated = [diagnostic for diagnostic in self._found if not _may_follow(diagnostic)]
        dropped = len(
            {diagnostic for diagnostic in self._found if _may_follow(diagnostic) and diagnostic.severity == "error"}
        )
        self.repairs.clear()
        self._found = unrelated
        told = f"; {dropped:,} possible consequences are omitted" if dropped > 1 else ""
        self(error.changed(message=error.message + told))

    def mute(self, layer: Layer) -> None:
        """Drop the errors of a layer whose id, or whose neighbor's id, is in doubt, except those about ids."""
        key = (layer.id, layer.name, layer.type)
        self._muted.add(key)
        self._faulty.add(key)

    def is_faulty(self, node: Node) -> bool:
        """Return True if an error was reported at this layer: further errors may be its consequence."""
        return bool(self._faulty) and _key(node.location) in self._faulty

    def has_error(self, *codes: str) -> bool:
        """Return True if an error whose code starts with one of these was reported."""
        return any(code.startswith(codes) for code in self._codes)

    @property
    def may_follow_from_weights(self) -> bool:
        """Return True if weights of another model may be the cause of a finding of any severity."""
        return any(_may_follow(diagnostic) for diagnostic in self._found)

    def sorted(self) -> tuple[Diagnostic, ...]:
        """The findings without duplicates, by line; those of the whole file, and causes of others, are first.

        Consequences of other errors are omitted.
        """
        follows = self._consequences()
        causes = dict.fromkeys(
            diagnostic for diagnostic in self._found if diagnostic.severity != "error" or not follows(diagnostic)
        )
        return tuple(sorted(with_data_files_folded(with_leftovers_folded(causes)), key=self._order))

    def _order(self, diagnostic: Diagnostic) -> int:
        return 0 if diagnostic.code in self._leading else diagnostic.location.line or 0

    def _consequences(self) -> Callable[[Diagnostic], bool]:
        """Return a predicate for errors that are only the consequence of others."""
        at_layer = {(code, _key(other.location)) for other in self._found for code in _CONSEQUENCES.get(other.code, ())}
        of_file = [other for other in self._found if other.location.layer_id is None]
        # An unreadable edge leaves its input without an edge, or may end at a layer that does not exist.
        unread_lines = {
            other.location.line for other in of_file if other.code in (Code.unreadable_number, Code.missing_markup)
        }
        lost_results = Code.duplicate_layer_id in self._codes or any(
            other.code == Code.missing_markup and _is_result(other.location.layer_type) for other in self._found
        )
        weights_said = any(other.code in _NO_WEIGHTS for other in of_file)

        def follows(diagnostic: Diagnostic) -> bool:
            key = _key(diagnostic.location)
            return (
                (diagnostic.code, key) in at_layer
                or (key in self._muted and diagnostic.code not in _OF_IDS)
                or (diagnostic.code == Code.input_without_edge and bool(unread_lines))
                or (diagnostic.code == Code.dangling_edge and diagnostic.location.line in unread_lines)
                or (diagnostic.code == Code.no_result and lost_results)
                or (
                    diagnostic.code == Code.weights_missing
                    and diagnostic.location.layer_id is not None
                    and weights_said
                )
            )

        return follows


def _is_result(type_name: str | None) -> bool:
    cls = None if type_name is None else newest(type_name)
    return cls is not None and cls.is_result


def _may_follow(diagnostic: Diagnostic) -> bool:
    """Return True for a finding that weights of another model may cause."""
    return diagnostic.code in _OF_WEIGHTS or (
        diagnostic.code.startswith(("IR5", "IR6", "IR7")) and diagnostic.code not in _NOT_OF_WEIGHTS
    )


def _key(location: Location) -> _Key:
    """The identity of a layer.

    The id alone is unique only within a body, and the line differs: faults of edges are on the lines of the edges.
    """
    return location.layer_id, location.layer_name, location.layer_type
