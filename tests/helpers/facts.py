"""The facts of a message: what a test compares instead of its wording."""

from __future__ import annotations

import re

__all__ = ["facts", "naming"]

_FACT = re.compile(
    r"""'[^']*'|"[^"]*"|\w*\[[^]]*\]|\b[\w.-]*[_/]\w[\w./-]*|\b[A-Z]\w*[A-Z]\w*|\b[A-Za-z]+\d\w*|(?<!\w)-?\b\d[\d,]*(?:\.\d+)?"""
)


def facts(message: str | None) -> list[str]:
    """Return the quoted names, shapes, identifiers and numbers of a message, sorted."""
    return sorted(found.strip(",'\"") for found in _FACT.findall(message or ""))


def naming(*names: str) -> str:
    """Return a pattern for messages that contain all names, shapes and numbers, in any order."""
    return "(?s)" + "".join(rf"(?=.*(?<!\w){re.escape(name)}(?!\w))" for name in names)
