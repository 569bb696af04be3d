"""The frame of all subjects: cases by seed, commands, and what counts as a fault."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from random import Random
from unittest.mock import patch

from click.testing import CliRunner, Result

from ir_exec.cli import main
from ir_exec.codes import Code
from ir_exec.errors import IRError
from tests.fuzz import subjects

__all__ = ["Subject", "all_subjects", "invoke", "is_inert", "only_our_errors", "run_case"]

EXIT_CODES = frozenset({0, 1, 2})

_SHOWN = 2_000
"""Characters of the output in the message of a fault."""

_CI_VARIABLES = ("CI", "FORCE_COLOR", "NO_COLOR", "SUDO_UID")


@dataclass(frozen=True)
class Subject:
    """An input from outside that is fuzzed.

    Attributes:
        run: Draws a case and runs it in a folder; raises for a fault.
        cases: The number of cases in the tests.
    """

    run: Callable[[Random, Path], None]
    cases: int


def all_subjects() -> dict[str, Subject]:
    """Return the subjects by name."""
    names = sorted(module.name for module in iter_modules(subjects.__path__))
    return {name: import_module(f"{subjects.__name__}.{name}").SUBJECT for name in names}


def run_case(name: str, subject: Subject, seed: int) -> None:
    """Run the case of a seed in a temporary folder, without variables of CI services; warnings are errors.

    Raises:
        Exception: For a fault.
    """
    with (
        tempfile.TemporaryDirectory(prefix="fuzz-", ignore_cleanup_errors=True) as folder,
        chdir(folder),
        patch.dict(os.environ),
        warnings.catch_warnings(),
    ):
        for variable in _CI_VARIABLES:
            os.environ.pop(variable, None)
        warnings.simplefilter("error")
        subject.run(Random(f"{name} {seed}"), Path(folder))


@contextmanager
def only_our_errors() -> Iterator[None]:
    """Ignore errors of `ir_exec.errors`, except IR999."""
    try:
        yield
    except IRError as error:
        if error.code == Code.internal_error:
            raise


def invoke(*arguments: str | os.PathLike[str]) -> Result:
    """Call a command and return its result.

    Raises:
        AssertionError: For another exception than an exit, an unknown exit code, IR999, or output that is not inert.
    """
    words = [os.fspath(argument) for argument in arguments]
    result = CliRunner().invoke(main, words)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise AssertionError(words) from result.exception
    shown = (words, result.output[:_SHOWN])
    assert result.exit_code in EXIT_CODES, shown
    # SARIF lists all rules before the results.
    assert Code.internal_error not in result.output.rpartition('"results":')[2], shown
    assert is_inert(result.output, github="github" in words), shown
    return result


def is_inert(text: str, *, github: bool = False) -> bool:
    """Return True if a text has neither control characters nor commands of CI services.

    Args:
        github: True for the commands of GitHub that `check --format github` writes, one a line.
    """
    lines = text.split("\n")
    if github:
        lines = [line for line in lines if not line.startswith(("::error file=", "::warning file=", "::notice file="))]
    is_seen = all(char.isprintable() for line in lines for char in line)
    return is_seen and not any(line.lstrip().startswith("::") or "##[" in line for line in lines)
