"""One change tried out: in a copy of the repository, in a process forked for each stage of tests.

Nothing here imports ir_exec or other tests before the fork, so that a child sees the copy's; what they need from
elsewhere is imported before, once for all children.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import hypothesis  # noqa: F401  # what follows is imported for the children
import lxml.etree  # noqa: F401
import ml_dtypes  # noqa: F401
import numpy
import numpy.lib.stride_tricks  # noqa: F401
import pydantic  # noqa: F401
import pytest

from tests.mutate.changes import Change
from tests.mutate.stages import Stage, stages

__all__ = ["Limits", "Tried", "Workshop"]

MEMORY: Final = 6 * 2**30
"""Memory of a child that it may write to, in bytes: a wrong size must not take the machine's."""

DIED: Final = "the process died"

LEFT_OUT: Final = shutil.ignore_patterns(".git", ".venv", ".*_cache", ".hypothesis", "results", "*.egg-info")


@dataclass(frozen=True)
class Limits:
    """Seconds of processor time that a stage may take, and how often as much of the wall clock.

    is_quick: the stage of everything else is left out.
    """

    stage: float = 60.0
    wall: float = 8.0
    is_quick: bool = False


@dataclass(frozen=True)
class Tried:
    """What became of a change: the stage and the test that noticed it; None where none did."""

    key: str
    line: int
    stage: str | None
    test: str | None
    seconds: float

    @property
    def is_caught(self) -> bool:
        return self.stage is not None


@dataclass(frozen=True)
class Run:
    """How a child ended: the first test that failed, or that its time was up."""

    failed: str | None = None
    is_late: bool = False


class Workshop:
    """A copy of the repository in a new folder below `folder`, in which changes are made and undone."""

    def __init__(self, root: Path, folder: Path, limits: Limits) -> None:
        self._folder = Path(tempfile.mkdtemp(dir=folder))
        self._root = self._folder / "repository"
        self._limits = limits
        self._sound: dict[tuple[str, str], bool] = {}
        shutil.copytree(root, self._root, ignore=LEFT_OUT)

    def try_out(self, change: Change) -> Tried:
        """Run the stages until one notices the change. A test that fails without the change too does not count."""
        start = time.perf_counter()
        for stage in stages(self._root, change.path):
            if stage.is_open and self._limits.is_quick:
                continue
            run = self._change_run(change, stage)
            late = run.is_late and not stage.is_open and self._is_sound(stage, None)
            if run.failed is not None or late:
                return Tried(change.key, change.line, stage.name, run.failed or "time is up", _since(start))
        return Tried(change.key, change.line, None, None, _since(start))

    def _change_run(self, change: Change, stage: Stage) -> Run:
        unsound: list[str] = []
        while True:
            with self._changed(change):
                run = self._run(stage, unsound)
            if run.failed is None or self._is_sound(stage, run.failed):
                return run
            if run.failed in (*unsound, DIED):
                raise RuntimeError(f"{stage.name} cannot be run without a change either: {run.failed}")
            unsound.append(run.failed)

    @contextlib.contextmanager
    def _changed(self, change: Change) -> Iterator[None]:
        path = self._root / change.path
        source = path.read_bytes()
        path.write_bytes(change.applied(source))
        try:
            yield
        finally:
            path.write_bytes(source)

    def _is_sound(self, stage: Stage, test: str | None) -> bool:
        """Whether this test passes without any change; without a test, whether the stage ends well before its time."""
        only = None if test == DIED else test
        key = (stage.name + str(stage.files or stage.families), test or "")
        if key not in self._sound:
            run = self._run(stage, [], only=only, limit=self._limits.stage if test else self._limits.stage / 2)
            self._sound[key] = not run.is_late and (test is None or run.failed is None)
        return self._sound[key]

    def _run(self, stage: Stage, unsound: list[str], only: str | None = None, limit: float | None = None) -> Run:
        told = self._folder / "told.json"
        told.unlink(missing_ok=True)
        child = os.fork()
        if child == 0:
            self._be_the_child(stage, unsound, only, told, limit or self._limits.stage)
        status = self._wait(child)
        if told.exists():
            return Run(failed=json.loads(told.read_text("utf-8"))["failed"])
        late = status is None or (os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL))
        return Run(is_late=True) if late else Run(failed=DIED)

    def _wait(self, child: int) -> int | None:
        """The status of the child; None where it had to be ended. What it started is ended too."""
        end = time.monotonic() + self._limits.stage * self._limits.wall
        status = None
        while status is None and time.monotonic() < end:
            ended, code = os.waitpid(child, os.WNOHANG)
            if ended:
                status = code
            else:
                time.sleep(0.02)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)
        if status is None:
            os.waitpid(child, 0)
        return status

    def _be_the_child(self, stage: Stage, unsound: list[str], only: str | None, told: Path, limit: float) -> None:
        try:
            os.setpgid(0, 0)
            resource.setrlimit(resource.RLIMIT_CPU, (int(limit) + 1, int(limit) + 5))
            resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
            quiet = os.open(self._folder / "output", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(quiet, 1)
            os.dup2(quiet, 2)
            os.chdir(self._root)
            for name in [name for name in sys.modules if name.partition(".")[0] in ("ir_exec", "tests")]:
                del sys.modules[name]
            sys.path[0:1] = [str(self._root)]
            os.environ["PYTHONPATH"] = str(self._root)
            # A change of the same length in the same second looks like the source that was compiled before.
            sys.dont_write_bytecode = True
            os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
            failed = _first_failure(stage, unsound, only)
            told.with_suffix(".part").write_text(json.dumps({"failed": failed}), "utf-8")
            told.with_suffix(".part").rename(told)
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(1)
        os._exit(0)


def _first_failure(stage: Stage, unsound: list[str], only: str | None) -> str | None:
    if stage.families:
        return _first_row(stage.families, unsound, only)
    return _first_test(stage.files, unsound, only)


def _first_test(files: tuple[str, ...], unsound: list[str], only: str | None) -> str | None:
    noted = _Noted()
    deselected = [f"--deselect={test}" for test in unsound]
    # What is imported before the fork is no test: its assertions need not be rewritten.
    warning = "-Wignore::pytest.PytestAssertRewriteWarning"
    options = ["-x", "-q", "-p", "no:cacheprovider", warning, "--hypothesis-profile=mutate", *deselected]
    code = pytest.main([*options, *([only] if only else files)], plugins=[noted])
    fine = [pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED]
    # The change may have made the test: one for a class that it renamed.
    fine += [pytest.ExitCode.USAGE_ERROR] if only else []
    return noted.failed or (None if code in fine else f"pytest ended with {int(code)}")


class _Noted:
    """A plugin that notes the first test, or file of tests, that fails."""

    def __init__(self) -> None:
        self.failed: str | None = None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed = self.failed or report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.failed = self.failed or report.nodeid


def _first_row(families: tuple[str, ...], unsound: list[str], only: str | None) -> str | None:
    """The first row of these tables, and what is wrong with it: values, types in any form, or as a file."""
    try:
        from tests.conformance import checks  # only in the child
        from tests.conformance.oracle import Oracle

        rows = {f"{family}: {case}": case for family in families for case in checks.table(family)}
    except Exception as error:
        return f"the tables: {type(error).__name__}"

    with Oracle() as oracle:
        looks: dict[str, Callable[[Any], list[str]]] = {"values": lambda case: checks.check_values(case, oracle)}
        for form in checks.FORMS:
            looks[f"types, {form}"] = lambda case, form=form: checks.check_types(case, form, oracle)
            looks[f"file, {form}"] = lambda case, form=form: checks.check_file(case, form)
        for look, faults in looks.items():
            for row, case in rows.items():
                name = f"{look}, {row}"
                if name not in unsound and only in (None, name) and faults(case):
                    return name
    return None


def _since(start: float) -> float:
    return round(time.perf_counter() - start, 2)
