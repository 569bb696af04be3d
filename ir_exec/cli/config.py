"""Settings of `check`, and extensions: `[tool.ir-exec]` of pyproject.toml, or ir-exec.toml, in the nearest folder.

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
"""

from __future__ import annotations

import difflib
import hashlib
import os
import sys
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import click
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ir_exec.check import code_prefix
from ir_exec.check.releases import target_release
from ir_exec.cli.files import read_text
from ir_exec.cli.terminal import Unusable
from ir_exec.errors import Severity

__all__ = [
    "Config",
    "extension_option",
    "find_config",
    "import_extensions",
    "load_extensions",
    "prefixes",
    "read_config",
]


class Config(BaseModel):
    """The settings; None or empty if not set. Paths are relative to the folder of the file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    select: tuple[str, ...] = ("all",)
    ignore: tuple[str, ...] = ()
    per_file_ignores: dict[str, tuple[str, ...]] = Field(default_factory=dict, alias="per-file-ignores")
    severity: dict[str, Severity] = Field(default_factory=dict)
    level: Severity | None = None
    strict: bool = False
    target: str | None = None
    baseline: str | None = None
    jobs: int = Field(default=1, ge=1)
    weights_values: bool = Field(default=False, alias="weights-values")
    extensions: tuple[str, ...] = ()


_EXPECTED = {
    "select": "a list of rules",
    "ignore": "a list of rules",
    "per-file-ignores": "a table of lists of rules",
    "severity": "a table of severities",
    "level": "error, warning or info",
    "strict": "true or false",
    "target": 'a release of OpenVINO, such as "2023.1"',
    "baseline": "a path",
    "jobs": "an integer of at least 1",
    "weights-values": "true or false",
    "extensions": "a list of modules and files",
}
"""A description of each setting, for messages."""

_EXPECTED_INSIDE = {"severity": "error, warning or info", "per-file-ignores": "a list of rules"}


def find_config(start: str) -> str | None:
    """Return the nearest ir-exec.toml, or pyproject.toml with [tool.ir-exec], in a folder or its parents."""
    folder = Path(os.path.abspath(start))
    for place in (folder, *folder.parents):
        own = place / "ir-exec.toml"
        if own.is_file():
            return str(own)
        shared = place / "pyproject.toml"
        if shared.is_file() and "ir-exec" in _tool(_parsed(str(shared))):
            return str(shared)
    return None


def read_config(path: str | None) -> Config:
    """Read the settings of a file, or return the defaults if it is None."""
    if path is None:
        return Config()
    content = _parsed(path)
    if os.path.basename(path) == "pyproject.toml":
        content = _tool(content).get("ir-exec", {})
    try:
        config = Config.model_validate(content)
    except ValidationError as error:
        raise Unusable(f"{path}: {_fault(error)}") from None
    _check_words(config, path)
    folder = os.path.dirname(os.path.abspath(path))
    extensions = [_beside(folder, text) if text.endswith(".py") else text for text in config.extensions]
    baseline = None if config.baseline is None else _beside(folder, config.baseline)
    return config.model_copy(update={"baseline": baseline, "extensions": tuple(extensions)})


def _beside(folder: str, path: str) -> str:
    return os.path.relpath(os.path.join(folder, path))


def _fault(error: ValidationError) -> str:
    """Return a message for the first fault of the settings."""
    fault = error.errors(include_url=False)[0]
    place = [str(part) for part in fault["loc"]]
    name = ".".join(place)
    if fault["type"] == "extra_forbidden":
        near = difflib.get_close_matches(name, _EXPECTED, n=1)
        return f"there is no setting {name!r}" + (f"; did you mean {near[0]!r}?" if near else "")
    if not place:
        return f"[tool.ir-exec] is {repr(fault['input'])[:60]}, expected a table"
    expected = _EXPECTED[place[0]] if len(place) == 1 else _EXPECTED_INSIDE.get(place[0], "a string")
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


def _parsed(path: str) -> dict[str, Any]:
    try:
        return tomllib.loads(read_text(path, "the settings"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise Unusable(f"{path} is not valid TOML: {error}") from None


def _tool(content: dict[str, Any]) -> dict[str, Any]:
    tool = content.get("tool", {})
    return tool if isinstance(tool, dict) else {}


extension_option = click.option(
    "--extension",
    "extensions",
    multiple=True,
    metavar="MODULE|FILE.py",
    type=click.Path(),
    help="Python module or file with custom operators (docs/extensions.md), also set by `extensions`; repeatable.",
)


def load_extensions(given: Sequence[str]) -> None:
    """Import the extensions of the settings in the nearest folder, then those of the command line."""
    import_extensions((*read_config(find_config(".")).extensions, *given))


def import_extensions(wanted: Sequence[str]) -> None:
    """Import extensions, modules or files.

    Raises:
        Unusable: If one of them fails.
    """
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
