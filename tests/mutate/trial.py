"""One change tried out, in a copy of the repository.

The tests that reach the changed function are known (`reach`). They run in a process forked from one that has imported
everything: there the change is made in memory. What cannot be changed so, and what such a run did not notice, is tried
in a process that imports the changed source anew.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

from tests.mutate.bench import Bench, Reached, Test
from tests.mutate.changes import Change
from tests.mutate.children import Ended, Limits, be_in, in_child
from tests.mutate.patch import Functions, UnpatchableError, import_changed
from tests.mutate.reach import Reach
from tests.mutate.stages import all_files, stages

__all__ = ["Tried", "Workshop"]

LEFT_OUT: Final = shutil.ignore_patterns(".git", ".venv", ".*_cache", ".hypothesis", "results", "*.egg-info")

UNPATCHABLE: Final = "unpatchable"

MAPPING_SECONDS: Final = 600.0
"""Processor time that all tests of a source may take together when it is noted what they reach."""


@dataclass(frozen=True)
class Tried:
    """The outcome of a change: the stage and the test that noticed it; None without one."""

    key: str
    line: int
    stage: str | None
    test: str | None
    seconds: float

    @property
    def is_caught(self) -> bool:
        return self.stage is not None


class Workshop:
    """A copy of the repository in a new folder below `folder`, in which changes are made and undone.

    seconds: processor time that the tests of a stage take without a change; there are no more then.
    is_quick: the stage of everything else is left out, and no module is imported anew whose functions could be changed.
    """

    def __init__(self, root: Path, folder: Path, seconds: float, *, is_quick: bool) -> None:
        self._folder = Path(tempfile.mkdtemp(dir=folder))
        self._root = self._folder / "repository"
        self._seconds = seconds
        self._is_quick = is_quick
        self._sound: dict[Test, bool] = {}
        shutil.copytree(root, self._root, ignore=LEFT_OUT)
        self._reach = Reach(self._root, self._measure_source)
        self._session: Connection | None = None

    def try_out(self, change: Change) -> Tried:
        """Run the stages until one notices the change. A test that fails without the change too does not count."""
        start = time.perf_counter()
        all_chosen: list[Reached] = []
        patchable = True
        for stage in stages(self._root, change.path):
            if stage.is_open and self._is_quick:
                continue
            chosen = [
                candidate
                for candidate in self._reach.chosen(stage, change, self._seconds)
                if self._is_sound(candidate.test)
            ]
            if chosen and patchable:
                failed = self._failure(change, chosen)
                patchable = failed != UNPATCHABLE
                if patchable and failed is not None:
                    return Tried(change.key, change.line, stage.name, failed, _since(start))
            if chosen and not patchable:
                failed = self._failure_anew(change, chosen)
                if failed is not None:
                    return Tried(change.key, change.line, stage.name, failed, _since(start))
            all_chosen += chosen
        # Caches, and what is computed when a module is imported, may have hidden the change.
        failed = self._failure_anew(change, all_chosen) if patchable and not self._is_quick else None
        return Tried(change.key, change.line, failed and "all of them, imported anew", failed, _since(start))

    def _failure(self, change: Change, chosen: Sequence[Reached]) -> str | None:
        """The test that notices the change made in memory, or UNPATCHABLE."""
        return self._sound_failure(chosen, lambda tests, limits: self._ask("run", change, tests, limits))

    def _failure_anew(self, change: Change, chosen: Sequence[Reached]) -> str | None:
        def run(tests: list[Test], limits: Limits) -> Test | str | None:
            with self._change_file(change):
                work = partial(_run_anew, self._root, self._folder, tests)
                return _value_of(in_child(work, limits, self._folder / "told"))

        return self._sound_failure(chosen, run)

    def _sound_failure(self, chosen: Sequence[Reached], run: Any) -> str | None:
        """Of these tests the first that notices a change and does not fail without it, by `run`."""
        while chosen:
            failed: Test | str | None = run([candidate.test for candidate in chosen], _limits(chosen))
            if not isinstance(failed, Test):
                return failed
            if self._is_sound(failed, anew=True):
                return failed.name
            chosen = [candidate for candidate in chosen if candidate.test != failed]
        return None

    @contextlib.contextmanager
    def _change_file(self, change: Change) -> Iterator[None]:
        path = self._root / change.path
        source = path.read_bytes()
        path.write_bytes(change.apply_to(source))
        try:
            yield
        finally:
            path.write_bytes(source)

    def _is_sound(self, test: Test, *, anew: bool = False) -> bool:
        """Return True if this test passes alone without any change. It is run if that is unknown or `anew`."""
        if anew and test not in self._sound:
            self._sound[test] = self._ask("run", None, [test], Limits(60.0)) is None
        return self._sound.get(test, True)

    def _measure_source(self, source: str) -> list[Reached]:
        measured: list[Reached] | None = self._ask("measure", source, Limits(MAPPING_SECONDS))
        return measured or []

    def _ask(self, *question: object) -> Any:
        """The answer of the process with all imports; it is started for the first request."""
        if self._session is None:
            self._session, theirs = multiprocessing.Pipe()
            if os.fork() == 0:
                self._session.close()
                _serve(self._root, self._folder, theirs)
            theirs.close()
        self._session.send(question)
        return self._session.recv()


def _serve(root: Path, folder: Path, connection: Connection) -> None:
    """Be the process that holds all tests, until the last request."""
    try:
        be_in(root, folder / "session")
        Bench(root, all_files(root), partial(_answer, root, folder, connection)).main()
    finally:
        os._exit(0)


def _answer(root: Path, folder: Path, connection: Connection, bench: Bench) -> None:
    functions = None
    with contextlib.suppress(EOFError):
        while True:
            question, *arguments, limits = connection.recv()
            sources = (
                [arguments[0]] if question == "measure" else list(dict.fromkeys(test.source for test in arguments[1]))
            )
            for source in sources:
                bench.load(source)
            if question == "measure":
                ended = in_child(partial(bench.measure_tests, *arguments), limits, folder / "session.told")
                connection.send(None if isinstance(ended, Ended) else ended)
                functions = None
                continue
            change, tests = arguments
            if change is not None:
                import_changed(change)
            if functions is None:
                functions = Functions(root / "ir_exec")
            work = partial(_run_changed, bench, functions, change, tests)
            connection.send(_value_of(in_child(work, limits, folder / "session.told")))


def _run_changed(bench: Bench, functions: Functions, change: Change | None, tests: list[Test]) -> Test | str | None:
    if change is not None:
        try:
            functions.change(change)
        except UnpatchableError:
            return UNPATCHABLE
    functions.forget_results()
    return bench.first_failure(tests)


def _run_anew(root: Path, folder: Path, tests: list[Test]) -> Test | str | None:
    """Import everything anew and run these tests; one that is not there fails."""
    be_in(root, folder / "output")
    failure: list[Test | str | None] = ["pytest ended"]
    sources = list(dict.fromkeys(test.source for test in tests))

    def work(bench: Bench) -> None:
        there = {test: None for source in sources for test in bench.load(source)}
        chosen: dict[Test, None] = {}
        for test in tests:
            # The change may have renamed it: then all that come from the same function are run.
            same = [test] if test in there else [other for other in there if other.function == test.function]
            if not same:
                failure[0] = test
                return
            chosen |= dict.fromkeys(same)
        failure[0] = bench.first_failure(list(chosen))

    # A file that is none is not collected.
    Bench(root, [source for source in sources if source.endswith(".py")] or ["tests/mutate/bench.py"], work).main()
    return failure[0]


def _value_of(ended: Ended | Test | str | None) -> Test | str | None:
    return ended.value if isinstance(ended, Ended) else ended


def _limits(chosen: Sequence[Reached]) -> Limits:
    return Limits(10.0 + 4.0 * sum(candidate.seconds for candidate in chosen))


def _since(start: float) -> float:
    return round(time.perf_counter() - start, 2)
