"""The tests that reach a change.

What every test calls is found out by running it once, and kept in the user's cache folder by the digest of the file of
tests. Changes of the source since then are not considered: a test that calls another function today is at worst left
out. The folder may be deleted at any time.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.conformance.kept import cache_folder
from tests.mutate.bench import Reached, Test
from tests.mutate.changes import Change
from tests.mutate.stages import Stage

__all__ = ["Reach"]

_VERSION: Final = 1
"""Of what is kept."""


class Reach:
    """The functions that the tests of each source call.

    root: the copy of the repository.
    measured: runs all tests of a source.
    """

    def __init__(self, root: Path, measured: Callable[[str], list[Reached]]) -> None:
        self._root = root
        self._measured = measured
        self._found: dict[str, list[Reached]] = {}

    def chosen(self, stage: Stage, change: Change, seconds: float) -> list[Reached]:
        """The tests of a stage that reach a change, the quickest first, as many as take so many seconds. The other
        tests of the module itself come after them: they may use what was computed once, by another test."""
        candidates = [
            reached for source in (*stage.files, *stage.families) for reached in self._of(source) if reached.passes
        ]
        reaching = {reached.test for reached in candidates if _reaches(reached, change)}
        chosen = [reached for reached in candidates if reached.test in reaching or stage.is_own]
        return _first_of(sorted(chosen, key=lambda reached: (reached.test not in reaching, reached.seconds)), seconds)

    def _of(self, source: str) -> list[Reached]:
        if source not in self._found:
            self._found[source] = self._load_or_measure(source)
        return self._found[source]

    def _load_or_measure(self, source: str) -> list[Reached]:
        path = self._root / (source if source.endswith(".py") else f"tests/cases/{source.replace('.', '/')}.py")
        told = f"{_VERSION} {source}".encode() + path.read_bytes()
        folder = cache_folder()
        file = folder and folder.with_name("tests-reach") / f"{hashlib.sha256(told).hexdigest()}.json"
        if file and file.exists():
            return [
                Reached(Test(source, name), seconds, passes, frozenset(functions))
                for name, seconds, passes, functions in json.loads(file.read_text("utf-8"))
            ]
        measured = self._measured(source)
        if file and measured:
            rows = [(entry.test.name, entry.seconds, entry.passes, sorted(entry.functions)) for entry in measured]
            file.parent.mkdir(parents=True, exist_ok=True)
            part = file.with_suffix(f".{os.getpid()}")
            part.write_text(json.dumps(rows), "utf-8")
            part.rename(file)
        return measured


def _reaches(reached: Reached, change: Change) -> bool:
    """Return True if a test calls the changed function; for a change of a class or a module, any function in it, and
    tests that are named after the class."""
    location = f"{change.path} {change.where}"
    if location in reached.functions:
        return True
    if change.where == "the module":
        return any(name.startswith(f"{change.path} ") for name in reached.functions)
    # Classes are named after the type and the version: Gather8.
    is_named = f"[{change.where.rstrip('0123456789')}" in reached.test.name
    return is_named or any(name.startswith(f"{location}.") for name in reached.functions)


def _first_of(tests: list[Reached], seconds: float) -> list[Reached]:
    reaching: list[Reached] = []
    for test in tests:
        seconds -= test.seconds
        if seconds < 0 and reaching:
            break
        reaching.append(test)
    return reaching
