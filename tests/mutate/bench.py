"""Tests run one by one, in a process of pytest's that somebody else leads, and what each of them reaches.

A test is a test of pytest's, or a look at a row of a conformance table: at its values, at its types in any form, or at
it as a file. Nothing here imports ir_exec or other tests before `load` does.
"""

from __future__ import annotations

import importlib
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

__all__ = ["Bench", "Reached", "Test"]


@dataclass(frozen=True)
class Test:
    """source: a file of tests, or the family of a table, whose names have no suffix."""

    __test__ = False

    source: str
    name: str

    @property
    def function(self) -> str:
        """The common part of the name of its parameters, or of rows of the table."""
        return self.name.partition("[")[0] if self.source.endswith(".py") else self.source


@dataclass(frozen=True)
class Reached:
    """A test, the processor time it takes in seconds, whether it passes, and the functions that it calls, as
    `ir_exec/ops/shape.py ShapeOf.infer`."""

    test: Test
    seconds: float
    passes: bool
    functions: frozenset[str]


class Bench:
    """A plugin of pytest: has it run `work` in the place of all tests.

    root: the copy of the repository. files: those of tests that there may be work with; pytest collects once, for what
    conftest.py holds belongs to the nodes of that collection.
    """

    def __init__(self, root: Path, files: Sequence[str], work: Callable[[Bench], None]) -> None:
        self._root = root
        self._files = files
        self._work = work
        self._tests: dict[Test, pytest.Item | Callable[[], list[str]]] = {}
        self._failed = False
        self._setting_up = False

    def main(self) -> None:
        # What is imported before the fork is no test: its assertions need not be rewritten.
        quiet = "-Wignore::pytest.PytestAssertRewriteWarning"
        options = ["--complete", "-q", "-p", "no:cacheprovider", "--continue-on-collection-errors", quiet]
        pytest.main([*options, "--hypothesis-profile=mutate", *self._files], plugins=[self])

    def load(self, source: str) -> list[Test]:
        """The tests of a source in their order; none where it cannot be imported."""
        if not source.endswith(".py") and not any(test.source == source for test in self._tests):
            self._tests |= self._rows(source)
        return [test for test in self._tests if test.source == source]

    def _rows(self, family: str) -> dict[Test, Callable[[], list[str]]]:
        try:
            checks = importlib.import_module("tests.conformance.checks")
            # Every child has its own oracle: no request precedes the fork.
            oracle = importlib.import_module("tests.conformance.oracle").Oracle()
            table = checks.table(family)
        except Exception:
            return {}
        looks: dict[str, Callable[[Any], list[str]]] = {"values": partial(checks.check_values, oracle=oracle)}
        for form in checks.FORMS:
            looks[f"types, {form}"] = partial(checks.check_types, form=form, oracle=oracle)
            looks[f"file, {form}"] = partial(checks.check_file, form=form)
        return {
            Test(family, f"{name}, {family} {number}: {case}"): partial(look, case)
            for name, look in looks.items()
            for number, case in enumerate(table)
        }

    def outcomes(self, tests: Sequence[Test]) -> Iterator[tuple[Test, bool]]:
        """Run these tests, whose sources are loaded, in this order; whether each passes."""
        items = [item for test in tests if isinstance(item := self._tests[test], pytest.Item)]
        following = iter([*items[1:], None])
        for test in tests:
            work = self._tests[test]
            if isinstance(work, pytest.Item):
                self._failed = False
                work.config.hook.pytest_runtest_protocol(item=work, nextitem=next(following))
                yield test, not self._failed
            else:
                yield test, not _has_faults(work)

    def first_failure(self, tests: Sequence[Test]) -> Test | None:
        return next((test for test, passes in self.outcomes(tests) if not passes), None)

    def measure_tests(self, source: str) -> list[Reached]:
        """Run all tests of a loaded source and note what each of them calls."""
        folder = str(self._root / "ir_exec") + "/"
        seen: dict[int, tuple[CodeType, bool]] = {}
        names: dict[CodeType, str] = {}

        def note(frame: FrameType, event: str, arg: Any) -> None:
            # Also what was seen in a test's call: fixtures of a module are set up once.
            if id(frame.f_code) not in seen or self._setting_up:
                seen[id(frame.f_code)] = (frame.f_code, self._setting_up)

        def functions(of_setup: bool) -> set[str]:
            codes = [code for code, setup in seen.values() if setup or not of_setup]
            return {
                names.setdefault(code, _name_of(code, self._root))
                for code in codes
                if code.co_filename.startswith(folder)
            }

        measured, shared = [], set()
        threading.settrace(note)  # it returns None: no lines are traced
        outcomes = self.outcomes(self.load(source))
        while True:
            seen.clear()
            start = time.process_time()
            sys.settrace(note)
            test, passes = next(outcomes, (None, False))
            sys.settrace(None)
            if test is None:
                break
            shared |= functions(of_setup=True)
            measured.append(Reached(test, time.process_time() - start, passes, frozenset(functions(of_setup=False))))
        return [Reached(entry.test, entry.seconds, entry.passes, entry.functions | shared) for entry in measured]

    # What pytest calls.

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self._tests = {Test(item.nodeid.partition("::")[0], item.nodeid): item for item in session.items}
        self._work(self)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._failed = self._failed or report.failed

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self) -> Iterator[None]:
        self._setting_up = True
        try:
            return (yield)
        finally:
            self._setting_up = False


def _has_faults(look: Callable[[], list[str]]) -> bool:
    try:
        return bool(look())
    except Exception:
        return True


def _name_of(code: CodeType, root: Path) -> str:
    """The function that contains a code object, as a change names it: `<lambda>` and the like are parts of it."""
    parts = [part for part in code.co_qualname.split(".") if not part.startswith("<")]
    return f"{Path(code.co_filename).relative_to(root)} {'.'.join(parts) or 'the module'}"
