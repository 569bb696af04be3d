"""The code quality report of GitLab."""

from __future__ import annotations

import json

from ir_exec.check.formats.places import Places, identify, sentence
from ir_exec.check.report import Reports
from ir_exec.printable import printable

__all__ = ["gitlab"]


_SEVERITIES = {"error": "major", "warning": "minor", "info": "info"}


def gitlab(reports: Reports, places: Places) -> str:
    """Return the code quality report, which merge requests show: a list of issues."""
    issues = [
        {
            "description": f"{sentence(diagnostic)} ({diagnostic.name})",
            "check_name": diagnostic.code,
            "fingerprint": identity,
            "severity": _SEVERITIES[diagnostic.severity],
            "location": {
                "path": printable(places.path(diagnostic.location.path or report.path).as_posix()),
                "lines": {"begin": diagnostic.location.line or 1},
            },
        }
        for report, diagnostic, identity in identify(reports, places)
    ]
    return json.dumps(issues, indent=2)
