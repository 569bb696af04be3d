"""Extensions: modules and files of the user that register operators, from the command line and from the settings."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location

import click

from ir_exec.cli.config import find_config, read_config
from ir_exec.cli.terminal import Unusable

__all__ = ["extension_option", "import_extensions", "load_extensions"]

extension_option = click.option(
    "--extension",
    "extensions",
    multiple=True,
    metavar="MODULE|FILE.py",
    type=click.Path(),
    help="Python that registers operators of your own; docs/extensions.md tells how. Also set by `extensions`.",
)


def load_extensions(given: Sequence[str]) -> None:
    """Import those of the settings of the nearest folder and those of the command line, each once."""
    import_extensions((*read_config(find_config(".")).extensions, *given))


def import_extensions(wanted: Sequence[str]) -> None:
    """Import each of these; `Unusable` says which of them cannot be imported, and why."""
    for text in wanted:
        try:
            if text.endswith(".py"):
                _import_file(text)
            else:
                with _importing_from(os.getcwd()):
                    import_module(text)
        except Exception as error:
            raise Unusable(f"extension {text}: {type(error).__name__}: {error}") from error


def _import_file(path: str) -> None:
    real = os.path.realpath(path)
    stem = os.path.splitext(os.path.basename(real))[0]
    name = f"{stem}_{hashlib.sha256(os.fsencode(real)).hexdigest()[:12]}"
    if name in sys.modules:
        return
    if not os.path.isfile(real):
        raise FileNotFoundError("there is no such file")
    spec = spec_from_file_location(name, real)
    assert spec is not None, "a file whose name ends in .py has a loader"
    assert spec.loader is not None, "a file whose name ends in .py has a loader"
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        with _importing_from(os.path.dirname(real)):
            spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise


@contextmanager
def _importing_from(folder: str) -> Iterator[None]:
    """Let modules of a folder be imported, as those beside a script are."""
    before = sys.path.copy()
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path[:] = before
