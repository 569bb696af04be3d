"""Settings: `[tool.ir-exec]` of pyproject.toml, or ir-exec.toml, in the nearest folder.

    [tool.ir-exec]
    ignore = ["unbounded-dim"]
    target = "2023.0"
    strict = true
    baseline = "ir-baseline.json"
    extensions = ["operators.py", "my_package.operators"]

    [tool.ir-exec.severity]
    unknown-attribute = "error"

    [tool.ir-exec.per-file-ignores]
    "legacy/*.xml" = ["IR6"]

ir-exec.toml has the same keys without the prefix `tool.ir-exec`. Options of the command line override the settings.
Extensions are Python modules and files that register custom operators; --extension adds more of them.

The search ends at the root of the repository or at the home folder. Elsewhere it ends below the first folder in which
other users can write. `extensions` and `baseline` of a file that another user owns are not used.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from ir_exec.batch.limits import MOST_JOBS
from ir_exec.check import code_prefix
from ir_exec.check.releases import target_release
from ir_exec.cli.files import read_toml
from ir_exec.cli.output.terminal import Unusable, echo
from ir_exec.errors import Severity
from ir_exec.hints import suggested
from ir_exec.printable import printable
from ir_exec.report.records import Record

__all__ = ["Config", "find_config", "is_foreign", "prefixes", "read_config"]


class Config(Record):
    """The settings; None or empty if not set. Paths are relative to the folder of the file."""

    select: tuple[str, ...] = ("all",)
    ignore: tuple[str, ...] = ()
    per_file_ignores: dict[str, tuple[str, ...]] = Field(default_factory=dict, alias="per-file-ignores")
    severity: dict[str, Severity] = Field(default_factory=dict)
    level: Severity | None = None
    strict: bool = False
    target: str | None = None
    baseline: str | None = None
    jobs: int = Field(default=1, ge=1, le=MOST_JOBS)
    weights_values: bool = Field(default=False, alias="weights-values")
    extensions: tuple[str, ...] = ()


_RUNS_OR_READS = {"extensions": (), "baseline": None}
"""Settings that import code or name a file to read, with their defaults."""

_LARGEST = 2**22
"""Maximum bytes of a settings file."""


_EXPECTED = {
    "select": "a list of rules",
    "ignore": "a list of rules",
    "per-file-ignores": "a table of lists of rules",
    "severity": "a table of severities",
    "level": "error, warning or info",
    "strict": "true or false",
    "target": 'a release of OpenVINO, such as "2023.1"',
    "baseline": "a path",
    "jobs": f"an integer from 1 to {MOST_JOBS}",
    "weights-values": "true or false",
    "extensions": "a list of modules and files",
}
"""A description of each setting, for messages."""

_EXPECTED_INSIDE = {"severity": "error, warning or info", "per-file-ignores": "a list of rules"}


def find_config(start: str) -> str | None:
    """Return the nearest ir-exec.toml, or pyproject.toml with [tool.ir-exec], in a folder or its parents.

    The root of the repository and the home folder are the last folders that are searched.
    """
    try:
        first = Path(os.path.abspath(start))
    except OSError:
        return None  # the current folder was removed
    for folder in _searched_folders(first):
        own = folder / "ir-exec.toml"
        if os.path.isfile(own):
            return str(own)
        shared = folder / "pyproject.toml"
        if os.path.isfile(shared) and "ir-exec" in _tool(_parse(str(shared))):
            return str(shared)
    return None


def _searched_folders(start: Path) -> Iterator[Path]:
    folders = (start, *start.parents)
    last = next((folder for folder in folders if _is_boundary(folder)), None)
    for folder in folders:
        if last is None and folder != start and _is_shared(folder):
            return
        yield folder
        if folder == last:
            return


def _is_boundary(folder: Path) -> bool:
    """Return True for the root of a Git repository, worktree or submodule, and for the home folder.

    The root of the file system is the home folder of accounts without one, such as those of services.
    """
    if os.path.lexists(folder / ".git"):
        return True
    if folder == folder.parent:
        return False
    try:
        return os.path.samefile(folder, os.path.expanduser("~"))
    except OSError:
        return False


def _is_shared(folder: Path) -> bool:
    """Return True if other users than this one and root can write in a folder."""
    try:
        return is_foreign(folder) or (os.name == "posix" and bool(os.stat(folder).st_mode & stat.S_IWOTH))
    except OSError:
        return True


def is_foreign(path: str | os.PathLike[str]) -> bool:
    """Return True if another user than this one and root owns a file, or the link at its path.

    Root is also the user that called sudo. Windows has no user ids: files there are never foreign.

    Raises:
        OSError: If the file does not exist.
    """
    if not hasattr(os, "geteuid"):
        return False
    users = {0, os.geteuid()}
    if os.geteuid() == 0 and os.environ.get("SUDO_UID", "").isdecimal():
        users.add(int(os.environ["SUDO_UID"]))
    return not {os.stat(path).st_uid, os.lstat(path).st_uid} <= users


def read_config(path: str | None) -> Config:
    """Read the settings of a file, or return the defaults if it is None."""
    if path is None:
        return Config()
    content = _parse(path)
    if os.path.basename(path) == "pyproject.toml":
        content = _tool(content).get("ir-exec", {})
    try:
        config = Config.model_validate(content)
    except ValidationError as error:
        raise Unusable(f"{path}: {_fault(error)}") from None
    _check_words(config, path)
    config = _without_foreign_paths(config, path)
    folder = os.path.dirname(os.path.abspath(path))
    extensions = [_beside(folder, text) if text.endswith(".py") else text for text in config.extensions]
    baseline = None if config.baseline is None else _beside(folder, config.baseline)
    return config.model_copy(update={"baseline": baseline, "extensions": tuple(extensions)})


def _without_foreign_paths(config: Config, path: str) -> Config:
    """Return the settings of a file without code and paths if another user owns the file, with a line on stderr."""
    names = [name for name, default in _RUNS_OR_READS.items() if getattr(config, name) != default]
    if not names or not is_foreign(path):
        return config
    echo(printable(f"not used: {' and '.join(names)} of {path}, which another user owns"), to_stderr=True)
    return config.model_copy(update={name: _RUNS_OR_READS[name] for name in names})


def _beside(folder: str, path: str) -> str:
    return path if os.path.isabs(path) else os.path.relpath(os.path.join(folder, path))


def _fault(error: ValidationError) -> str:
    """Return a message for the first fault of the settings."""
    fault = error.errors(include_url=False)[0]
    keys = [str(part) for part in fault["loc"]]
    name = ".".join(keys)
    if fault["type"] == "extra_forbidden":
        hint = suggested(name, _EXPECTED)
        return f"there is no setting {name!r}" + (f"; {hint}" if hint else "")
    if not keys:
        return f"[tool.ir-exec] is {repr(fault['input'])[:60]}, expected a table"
    expected = _EXPECTED[keys[0]] if len(keys) == 1 else _EXPECTED_INSIDE.get(keys[0], "a string")
    return f"{name} is {repr(fault['input'])[:60]}, expected {expected}"


def _check_words(config: Config, path: str) -> None:
    """Raise Unusable for unknown rules and releases, naming the settings file rather than an option."""
    rules = {
        "select": config.select,
        "ignore": config.ignore,
        "severity": tuple(config.severity),
        **{f"per-file-ignores.{glob}": rules for glob, rules in config.per_file_ignores.items()},
    }
    for name, texts in rules.items():
        prefixes(texts, f"{path}: {name}")
    if config.target is not None:
        try:
            target_release(config.target)
        except ValueError as error:
            raise Unusable(f"{path}: target: {error}") from None


def prefixes(texts: tuple[str, ...] | list[str], where: str) -> frozenset[str]:
    """Return the prefixes of codes for a list of rules; a text may contain several, separated by commas."""
    names = [name for text in texts for name in text.split(",") if name.strip()]
    try:
        return frozenset(code_prefix(name) for name in names)
    except ValueError as error:
        raise Unusable(f"{where}: {error}") from None


def _parse(path: str) -> dict[str, Any]:
    if os.path.isfile(path) and os.path.getsize(path) > _LARGEST:
        raise Unusable(f"{path} has {os.path.getsize(path):,} bytes, expected at most {_LARGEST:,}")
    return read_toml(path, "the settings")


def _tool(content: dict[str, Any]) -> dict[str, Any]:
    tool = content.get("tool", {})
    return tool if isinstance(tool, dict) else {}
