"""The code quality report of GitLab, shown in merge requests."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import PurePath

from ir_exec.check.baseline import fingerprint
from ir_exec.check.report import Reports

__all__ = ["gitlab"]

_SEVERITIES = {"error": "major", "warning": "minor", "info": "info"}


def gitlab(reports: Reports) -> str:
    """A list of issues; the fingerprint of each stays the same while lines move."""
    issues = []
    seen: Counter[str] = Counter()
    for report in reports.files:
        for found in report.diagnostics:
            text = "\0".join(fingerprint(report.path, found))
            seen[text] += 1
            digest = hashlib.sha256(f"{text}\0{seen[text]}".encode("utf-8", "surrogatepass")).hexdigest()
            issues.append(
                {
                    "description": f"{found.message} ({found.name})",
                    "check_name": found.code,
                    "fingerprint": digest,
                    "severity": _SEVERITIES[found.severity],
                    "location": {
                        "path": PurePath(found.location.path or report.path or "").as_posix(),
                        "lines": {"begin": found.location.line or 1},
                    },
                }
            )
    return json.dumps(issues, indent=2)
