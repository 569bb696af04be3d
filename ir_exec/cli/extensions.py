"""Extensions of the command line and of the settings: Python modules and files that register custom operators.

Importing runs code. Extensions of the settings are therefore listed, and in CI, where the settings may come from a pull
request, they are imported only with --trust or if the command line names them, too.
"""

from __future__ import annotations

import glob
import hashlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any

import click

from ir_exec.cli.config import Config, find_config, is_foreign, read_config
from ir_exec.cli.output.terminal import Unusable, echo
from ir_exec.cli.output.writing import add_sources
from ir_exec.cli.settings_options import ignores_settings, trust_option, trusts_settings
from ir_exec.printable import printable

__all__ = ["extension_options", "import_extensions", "load_extensions", "resolve_extensions", "settings_path"]

_extension_option = click.option(
    "--extension",
    "extensions",
    multiple=True,
    metavar="MODULE|FILE.py",
    type=click.Path(),
    help="Python module or file with custom operators (docs/extensions.md), also set by `extensions`; repeatable.",
)


def extension_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --extension, whose texts are the argument `extensions`, and --trust."""
    return _extension_option(trust_option(command))


def settings_path(option: str | None = None) -> str | None:
    """Return the path of the settings: the option of the command line, or the file of the nearest folder.

    Raises:
        Unusable: For a path together with --no-config.
    """
    if ignores_settings():
        if option is not None:
            raise Unusable("--config and --no-config are both given, expected one of them")
        return None
    return find_config(".") if option is None else option


def load_extensions(modules: Sequence[str]) -> None:
    """Import the extensions of the settings in the nearest folder, then those of the command line."""
    path = settings_path()
    add_sources(*filter(None, [path]))
    import_extensions(resolve_extensions(read_config(path), path, modules))


def resolve_extensions(config: Config, path: str | None, modules: Sequence[str]) -> tuple[str, ...]:
    """Return the extensions to import: those of the settings, listed in one line on stderr, and of the command line.

    Args:
        path: The settings file.
        modules: The extensions of the command line.

    Raises:
        Unusable: In CI, for an extension of the settings that neither --trust nor the command line allows.
    """
    if path is None or not config.extensions:
        return tuple(modules)
    name = os.path.relpath(path)
    own = [text for text in config.extensions if not _is_foreign_file(text)]
    for text in config.extensions:
        if text not in own:
            echo(printable(f"not imported: extension {text} of {name}, which another user owns"), to_stderr=True)
    named = {_identity(text) for text in modules}
    untrusted = [text for text in own if _identity(text) not in named]
    if untrusted and _is_ci() and not trusts_settings():
        names = ", ".join(untrusted)
        raise Unusable(f"{name} has the extensions {names}: expected --trust or --extension to import them in CI")
    if own:
        echo(printable(f"extensions: {', '.join(own)} ({name})"), to_stderr=True)
    return (*own, *modules)


def _is_foreign_file(text: str) -> bool:
    """Return True if another user owns a file, or the current folder or a file of it that a module is imported from."""
    try:
        return any(is_foreign(path) for path in _paths_of(text))
    except OSError:
        return False  # the import reports the missing file


def _paths_of(text: str) -> list[str]:
    """Return the file of an extension, or the current folder and the packages and files of a module in it."""
    if text.endswith(".py"):
        return [text]
    paths = [os.curdir]
    folder = os.curdir
    for name in text.split("."):
        folder = os.path.join(folder, name)
        paths += glob.glob(f"{glob.escape(folder)}.*") + glob.glob(f"{glob.escape(folder)}/__init__.*")
        paths += [folder] if os.path.lexists(folder) else []
    return paths


def _identity(text: str) -> str:
    return os.path.realpath(text) if text.endswith(".py") else text


_CI_VARIABLES = (
    "CI",
    "GITHUB_ACTIONS",
    "GITLAB_CI",
    "TF_BUILD",
    "JENKINS_URL",
    "TEAMCITY_VERSION",
    "CODEBUILD_BUILD_ID",
)
"""Variables of CI services. Azure Pipelines, TeamCity and older versions of Jenkins do not set CI."""


def _is_ci() -> bool:
    """Return True in a CI service."""
    return any(os.environ.get(name, "").lower() not in ("", "0", "false") for name in _CI_VARIABLES)


def import_extensions(names: Sequence[str]) -> None:
    """Import extensions, modules or files.

    Raises:
        Unusable: If one of them fails.
    """
    add_sources(*names)
    for text in names:
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
        raise FileNotFoundError("the file does not exist")
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
    """Make the modules of a folder importable, like those in the folder of a script."""
    before = sys.path.copy()
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path[:] = before
