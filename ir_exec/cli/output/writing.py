"""The files that a command writes, and the decision that they may be written.

No command replaces a file that it reads, or an existing file of another format. Commands declare outputs with
`output_option`; every other parameter may name a file that is read. `protect_files` decides before the command starts,
and the writers of `ir_exec.ir.storage` check again before they replace a file.
"""

from __future__ import annotations

import glob
import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import Any, NamedTuple

import click

from ir_exec.cli.contents import detect_format
from ir_exec.cli.output.terminal import UNUSABLE, Unusable, errors_as_messages
from ir_exec.codes import Code
from ir_exec.errors import IRError
from ir_exec.ir.storage import guarding, reason_of, require_writable
from ir_exec.ir.urls import is_url

__all__ = [
    "OutputFile",
    "OutputPath",
    "add_sources",
    "arrays_output",
    "folder_output",
    "model_output",
    "output_option",
    "part_output",
    "protect_files",
    "report_output",
    "text_output",
]

_KEY = "ir_exec.cli.output.writing"
_FORCE = f"{_KEY}.force"

_NOUNS = {
    "report": "a text file",
    "baseline": "a baseline",
    "junit": "a JUnit report",
    "npz": "an .npz file",
    "bundle": "a bundle",
    "IR": "an IR model",
    "weights": "the weights of an IR model",
    "ONNX": "an ONNX model",
    "ONNX data": "the data of an ONNX model",
    "folder": "a folder",
}


_PARTNERS = {"weights": ".xml", "ONNX data": ".onnx"}
"""Formats of second files of a model, with the endings of the first ones."""


class OutputFile(NamedTuple):
    """A file that a command writes, with the format of its content.

    The format is "folder" for a folder that belongs to the command, and "cases" for one with files of a command.
    """

    path: str
    format: str


Outputs = Callable[[str | None, Mapping[str, Any]], Iterable[OutputFile]]
"""Returns the files for the value of an option, or without one, and for the other parameters of the command."""


class OutputPath(click.Path):
    """The type of options with a path that the command writes."""

    def __init__(self, outputs: Outputs) -> None:
        super().__init__()
        self.outputs = outputs


def report_output(path: str | None, parameters: Mapping[str, Any]) -> Iterator[OutputFile]:
    """Yield a report, which may replace text, or a JUnit report if it is one."""
    if path is not None:
        yield OutputFile(path, "junit" if parameters.get("output_format") == "junit" else "report")


def text_output(path: str | None, parameters: Mapping[str, Any]) -> Iterator[OutputFile]:
    """Yield a text file, which may replace text."""
    if path is not None:
        yield OutputFile(path, "report")


def arrays_output(path: str | None, parameters: Mapping[str, Any]) -> Iterator[OutputFile]:
    """Yield an .npz."""
    if path is not None:
        yield OutputFile(path, "npz")


def folder_output(path: str | None, parameters: Mapping[str, Any]) -> Iterator[OutputFile]:
    """Yield a folder."""
    if path is not None:
        yield OutputFile(path, "folder")


def model_output(path: str | None, parameters: Mapping[str, Any]) -> Iterator[OutputFile]:
    """Yield the files of an IR or ONNX model; nothing for a name that the command refuses."""
    if path is not None and path.lower().endswith(".onnx"):
        yield OutputFile(path, "ONNX")
        if parameters.get("external_data") in (True, "out"):
            yield OutputFile(f"{path}.data", "ONNX data")
    if path is not None and path.lower().endswith(".xml"):
        yield OutputFile(path, "IR")
        yield OutputFile(f"{os.path.splitext(path)[0]}.bin", "weights")


def part_output(path: str | None, parameters: Mapping[str, Any]) -> Iterator[OutputFile]:
    """Yield the files of a part of a model, with those of its inputs and outputs."""
    for output in model_output(path, parameters):
        yield output
        if output.format in ("IR", "ONNX"):
            for name in ("inputs", "outputs"):
                yield OutputFile(f"{os.path.splitext(output.path)[0]}.{name}.npz", "npz")


def output_option(
    *names: str, outputs: Outputs, **attributes: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return an option with a path that the command writes, and --force once for all of them."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        options = getattr(command, "__click_params__", [])
        if not any("--force" in option.opts for option in options):
            command = _force_option(command)
        return click.option(*names, type=OutputPath(outputs), **attributes)(command)

    return decorate


def _store_force(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    context.meta[_FORCE] = value


_force_option = click.option(
    "--force",
    is_flag=True,
    expose_value=False,
    callback=_store_force,
    help="Replace an existing file of another format, but no file that the command reads.",
)


@contextmanager
def protect_files(context: click.Context) -> Iterator[None]:
    """Decide whether the outputs of a command may be written, and protect other files while it runs.

    Raises:
        Unusable: If a file must not be replaced, or cannot be written.
    """
    outputs = [
        (parameter, output)
        for parameter in context.command.params
        if isinstance(parameter.type, OutputPath)
        for output in parameter.type.outputs(context.params.get(parameter.name or ""), context.params)
    ]
    protection = _Protection(context, [output for _, output in outputs])
    owners: dict[str, click.Parameter] = {}
    for parameter, output in outputs:
        protection.require_writable(output)
        owner = owners.setdefault(os.path.realpath(output.path), parameter)
        if owner is not parameter and _is_file(output.path):
            raise Unusable(f"{owner.opts[-1]} and {parameter.opts[-1]} are both {output.path}, expected two files")
    context.meta[_KEY] = protection
    with guarding(protection.check):
        yield


def add_sources(*paths: str) -> None:
    """Protect further files that the running command reads, and check its outputs again."""
    context = click.get_current_context(silent=True)
    protection = None if context is None else context.meta.get(_KEY)
    if protection is not None and paths:
        protection.add_sources(paths)


def _is_file(path: str) -> bool:
    """Return True for a path that is or becomes a regular file."""
    return not os.path.exists(path) or os.path.isfile(path)


class _Protection:
    """The outputs of a command, and the files that it reads."""

    def __init__(self, context: click.Context, outputs: Iterable[OutputFile]) -> None:
        self._context = context
        self._outputs = list(outputs)
        self._formats = {os.path.realpath(output.path): output.format for output in self._outputs}
        self._added: list[str] = []

    @cached_property
    def _sources(self) -> list[tuple[str, str]]:
        """The names of the parameters that name existing files and folders, with their paths."""
        sources = [("", path) for path in self._added]
        for parameter in self._context.command.params:
            if not isinstance(parameter.type, OutputPath):
                name = parameter.name or ""
                for text in _texts_of(self._context.params.get(name)):
                    words = _words_of(text) if name == "until" else [text]
                    sources += [(name, path) for word in words for path in _files_named_in(word, parameter)]
        return sources

    @cached_property
    def _source_files(self) -> dict[tuple[int, int], set[str]]:
        """The names of the parameters that name an existing file or folder, by its device and inode."""
        names: dict[tuple[int, int], set[str]] = {}
        for name, path in self._sources:
            if (key := file_key(path)) is not None:
                names.setdefault(key, set()).add(name)
        return names

    @cached_property
    def _external_data(self) -> set[tuple[int, int]]:
        """The devices and inodes of the files with data of the ONNX files that are read."""
        paths = [source for _, source in self._sources if source.lower().endswith(".onnx")]
        if not paths:
            return set()
        from ir_exec.onnx.reading.external_files import list_external_files  # imported for ONNX files only

        keys = {file_key(path) for source in paths for path in list_external_files(source)}
        return {key for key in keys if key is not None}

    def add_sources(self, paths: Iterable[str]) -> None:
        self._added += paths
        for name in ("_sources", "_source_files", "_external_data"):
            vars(self).pop(name, None)
        for output in self._outputs:
            self.require_writable(output)

    def require_writable(self, output: OutputFile) -> None:
        """Raise Unusable if an output must not or cannot be written."""
        if output.format in ("folder", "cases"):
            self._require_folder(output)
            return
        self.check(output.path, output.format)
        try:
            require_writable(output.path)
        except (OSError, ValueError) as error:
            message = f"cannot write {output.path}: {reason_of(error)}"
            with errors_as_messages(exit_code=UNUSABLE):
                raise IRError(message, code=Code.unwritable) from None

    def check(self, path: str, content: str) -> None:
        """Raise Unusable if a file must not be replaced by content of this format."""
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            return
        content = self._formats.get(os.path.realpath(path), content)
        before = detect_format(path)
        if before in _PARTNERS and not _belongs_to_partner(path, _PARTNERS[before]):
            before = "a file of another model"
        # A baseline may be written again.
        ignored = {"baseline"} if content == "baseline" else set()
        is_expected = before in (None, content) or (before, content) == ("report", "junit")
        key = (status.st_dev, status.st_ino)
        is_source = bool(self._source_files.get(key, set()) - ignored) or self._is_external_data(key, before)
        # In a folder that is read, only reports and other outputs of the format are not read.
        is_contained = not is_expected and any(
            _contains(source, path) for name, source in self._sources if name not in ignored
        )
        if is_source or is_contained:
            raise Unusable(f"{path} is a file that the command reads, expected another file")
        if not is_expected and not self._context.meta.get(_FORCE):
            noun, expected = _NOUNS.get(before or "", before), _NOUNS[content]
            raise Unusable(f"{path} is {noun}, expected a new file or {expected}; --force replaces it")

    def _is_external_data(self, key: tuple[int, int], before: str | None) -> bool:
        """Return True for a file with data of an ONNX file that is read; text is no such file."""
        return before not in (None, "report", "baseline", "junit") and key in self._external_data

    def _require_folder(self, output: OutputFile) -> None:
        """Raise Unusable for files, and for a folder of the command that contains files that it reads."""
        path = output.path
        if os.path.lexists(path) and not os.path.isdir(path):
            raise Unusable(f"{path} is not a folder, expected a folder")
        if output.format != "folder" or not os.path.isdir(path):
            return
        outer = os.path.join(os.path.realpath(path), "")
        for _, source in self._sources:
            if os.path.join(os.path.realpath(source), "").startswith(outer):
                raise Unusable(f"the folder {path} contains {source}, which the command reads, expected another folder")


def _belongs_to_partner(path: str, ending: str) -> bool:
    """Return True if a second file of a model is next to its first one, with links resolved."""
    name = _name_of_partner(path, ending)
    return os.path.realpath(name) == os.path.realpath(_name_of_partner(os.path.realpath(path), ending))


def _name_of_partner(path: str, ending: str) -> str:
    return os.path.splitext(path)[0].removesuffix(ending) + ending


def _contains(folder: str, path: str) -> bool:
    """Return True if a folder is, or contains, the file or folder at a path."""
    outer = os.path.realpath(folder)
    return os.path.isdir(outer) and os.path.join(os.path.realpath(path), "").startswith(os.path.join(outer, ""))


def file_key(path: str) -> tuple[int, int] | None:
    """Return the device and inode of an existing file or folder."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino


def _texts_of(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _texts_of(item)


_MOST_CHARACTERS = 4096
"""Maximum length of paths, and of texts with paths; prompts may be longer."""

_QUOTED = re.compile(r"""["']([^"']+)["']""")


def _words_of(command: str) -> list[str]:
    """Return the words of a command."""
    with suppress(ValueError):
        return shlex.split(command)
    return [command]


def _files_named_in(text: str, parameter: click.Parameter) -> Iterator[str]:
    """Yield the existing files that a value of a parameter may name, with the .bin of an .xml.

    Names follow `=` or `:`, or are in quotes. Values of the type of paths may be patterns.
    """
    if len(text) > _MOST_CHARACTERS:
        return
    names = [text, *(text[match.end() :] for match in re.finditer("[=:]", text)), *_QUOTED.findall(text)]
    is_path = isinstance(parameter.type, click.Path)
    for name in dict.fromkeys(names):
        if not name or is_url(name) or "\0" in name:
            continue
        is_pattern = is_path and glob.has_magic(name) and not os.path.exists(name)
        for path in glob.glob(name, recursive=True) if is_pattern else [name]:
            partners = [f"{os.path.splitext(path)[0]}.bin"] if _is_xml(path) else []
            yield from (candidate for candidate in (path, *partners) if os.path.exists(candidate))


def _is_xml(path: str) -> bool:
    return path.lower().endswith(".xml")
