"""The operators of ONNX that can be lowered to IR, from the registry and from ONNX's own definitions."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias

from ir_exec.onnx.lowering.registry import MICROSOFT, ML, STANDARD, TRAINING, find, registered, shown_domain

__all__ = ["Covered", "covered_operators", "onnx_page", "operators_not_representable"]

How: TypeAlias = Literal["function", "body", "no"]


class Covered(NamedTuple):
    """An operator and the way it is lowered.

    Attributes:
        versions: The versions in which it changed.
        how: `function` of ir_exec, the `body` in ONNX's definition, or `no`.
    """

    domain: str
    name: str
    versions: tuple[int, ...]
    how: How

    @property
    def shown(self) -> str:
        """The name of the operator in messages."""
        return f"{self.domain}:{self.name}" if self.domain else self.name


def covered_operators() -> list[Covered]:
    """Every operator of the domains in the package onnx, and the operators of com.microsoft that can be lowered.

    They include the experimental operators of early versions of ONNX.
    """
    from onnx import defs

    schemas: dict[tuple[str, str], list[Any]] = {}
    for schema in defs.get_all_schemas_with_history():
        if schema.domain in (STANDARD, ML, TRAINING):
            schemas.setdefault((schema.domain, schema.name), []).append(schema)
    covered = []
    for (domain, name), history in sorted(schemas.items()):
        newest = max(history, key=lambda schema: schema.since_version)
        last = newest.since_version - 1 if newest.deprecated else newest.since_version
        versions = tuple(sorted(schema.since_version for schema in history if not schema.deprecated))
        has_body = newest.has_function or newest.has_context_dependent_function
        how: How = "function" if find(domain, name, last) is not None else "body" if has_body else "no"
        covered.append(Covered(domain, name, versions, how))
    own: dict[str, list[int]] = {}
    for version in registered():
        if version.domain == MICROSOFT:
            own.setdefault(version.name, []).append(version.since)
        elif version.instead is not None and (version.domain, version.name) not in schemas:
            covered.append(Covered(version.domain, version.name, (version.since,), "function"))
    covered.sort(key=lambda operator: (operator.domain, operator.name))
    return covered + [Covered(MICROSOFT, name, tuple(own[name]), "function") for name in sorted(own)]


def operators_not_representable() -> list[tuple[str, str]]:
    """The operators of IR that cannot be written as ONNX, as `Type-version`, with the reason."""
    from ir_exec.onnx.export.registry import find_lowering, load_families, reason_not_representable
    from ir_exec.ops.base.registry import registered as registered_classes

    load_families()
    return [
        (f"{cls.type_name}-{cls.since}", reason_not_representable(cls))
        for cls in registered_classes()
        if find_lowering(cls) is None
    ]


_SAID = {"function": "yes", "body": "yes, by its body", "no": "no"}


def onnx_page() -> str:
    """The list of operators in docs/reference/onnx-operators.md, as Markdown."""
    lines = []
    domain: str | None = None
    for operator in covered_operators():
        if operator.domain != domain:
            domain = operator.domain
            lines += ["", f"### {shown_domain(domain)}", "", "| operator | versions | lowered to IR |", "|---|---|---|"]
        lines.append(f"| {operator.name} | {', '.join(map(str, operator.versions))} | {_SAID[operator.how]} |")
    return "\n".join(lines[1:]) + "\n"
