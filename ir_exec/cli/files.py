"""The files of a command: models in folders, and output files."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO, cast

from ir_exec.cli.output.terminal import Unusable, print_report
from ir_exec.ir.paths import exists
from ir_exec.ir.storage import reason_of, replacing
from ir_exec.ir.urls import is_url, name_and_rest, suffix_of
from ir_exec.readers import ENDINGS, reader_of

__all__ = [
    "files_in",
    "is_onnx_file",
    "read_json",
    "read_text",
    "read_toml",
    "repository",
    "require_ir_output",
    "write_bytes",
    "write_text",
    "writing",
]


def is_onnx_file(path: str) -> bool:
    """Return True for a path of an ONNX file, by its ending or by its content."""
    reader = reader_of(path)
    return reader is not None and reader.name == "ONNX"


def require_ir_output(model: str, output: str) -> None:
    """Raise Unusable for an output that is no .xml; only ONNX files can be written as .onnx."""
    if output.lower().endswith(".xml"):
        return
    if output.lower().endswith(".onnx"):
        raise Unusable(f"--output is {output}, but {model} is not an ONNX file, expected the ending .xml")
    expected = ".xml or .onnx" if is_onnx_file(model) else ".xml"
    raise Unusable(f"--output is {output}, expected a file with the ending {expected}")


def files_in(paths: Sequence[str], *, skips_others: bool = False) -> Iterator[tuple[str, bool]]:
    """Yield each file once, in a stable order, with True if it was found in a folder; hidden folders are skipped.

    A file of weights is replaced by the model next to it, because lists of changed files may contain either.

    Args:
        skips_others: Skip a file of weights without a model.
    """
    seen: set[str] = set()
    for path in paths:
        below = _below(path)
        is_folder = below is not None
        for file in [_network_of(path)] if below is None else below:
            if skips_others and not is_folder and _WEIGHTS.search(file):
                continue
            if (real := file if is_url(file) else os.path.realpath(file)) not in seen:
                seen.add(real)
                yield file, is_folder


_WEIGHTS = re.compile(r"\.bin$|(?<=\.onnx)[._]data$", re.IGNORECASE)
"""The ends of the names of files of weights: `.bin` of IR, and `.onnx.data` and `.onnx_data` of exporters to ONNX."""


def _network_of(path: str) -> str:
    name, ending = name_and_rest(path)
    match = _WEIGHTS.search(name)
    if match is None:
        return path
    model = name[: match.start()] + (".xml" if match[0].lower() == ".bin" else "") + ending
    return model if exists(model) else path


def _below(path: str) -> Iterable[str] | None:
    """Return the model files in a folder, None if the path is not a folder."""
    if not is_url(path):
        return _walk(path) if os.path.isdir(path) else None
    from ir_exec.ir.remote import files_below

    try:
        urls = files_below(path)
    except OSError as error:
        raise Unusable(f"cannot read {path}: {reason_of(error)}") from None
    return None if urls is None else [url for url in urls if suffix_of(url) in ENDINGS]


def _walk(folder: str) -> Iterator[str]:
    for folder_path, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (os.path.join(folder_path, name) for name in sorted(names) if name.lower().endswith(ENDINGS))


def repository(start: str) -> str:
    """Return the root of the Git repository of a folder, or the folder itself outside repositories."""
    folder = os.path.abspath(start)
    root = folder
    while not os.path.exists(os.path.join(root, ".git")):
        above = os.path.dirname(root)
        if above == root:
            return folder
        root = above
    return root


MOST_CHARACTERS = 2**28
"""Maximum characters of a text: a device or a pipe may never end."""

_MOST_DOTS = 1000
"""Maximum dots of a line of TOML: the parser takes quadratic memory for the parts of a key."""


def read_text(path: str, what: str) -> str:
    """Read the text of a file, a pipe or a device.

    Args:
        what: The noun in the message of an error.
    """
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(MOST_CHARACTERS + 1)
    except (OSError, ValueError) as error:
        raise Unusable(f"cannot read {what} {path}: {reason_of(error)}") from None
    if len(text) > MOST_CHARACTERS:
        raise Unusable(f"{path} is too long, expected at most {MOST_CHARACTERS:,} characters")
    return text


def read_json(path: str, what: str) -> Any:
    """Read a JSON file; `what` is the noun in the message of an error."""
    return _read_parsed(path, what, json.loads, "JSON")


def read_toml(path: str, what: str) -> dict[str, Any]:
    """Read a TOML file; `what` is the noun in the message of an error."""
    return cast(dict[str, Any], _read_parsed(path, what, tomllib.loads, "TOML"))


def _read_parsed(path: str, what: str, parse: Callable[[str], Any], language: str) -> Any:
    text = read_text(path, what)
    for number, line in enumerate(text.splitlines(), 1):
        if line.count(".") > _MOST_DOTS:
            raise Unusable(f"line {number} of {path} has too many dots, expected at most {_MOST_DOTS:,}")
    try:
        return parse(text)
    except RecursionError:
        raise Unusable(f"{path} is nested too deeply, expected fewer levels of {language}") from None
    except ValueError as error:
        raise Unusable(f"{path} is not valid {language}: {error}") from None


def write_bytes(path: str, content: bytes, *, is_source: bool = False) -> None:
    """Write a file with `writing`."""
    with writing(path, is_source=is_source) as file:
        file.write(content)


def write_text(text: str, path: str | None) -> None:
    """Write a file with `writing`, or print the text with `print_report` if the path is None."""
    if path is None:
        print_report(text)
    else:
        write_bytes(path, text.encode("utf-8", "surrogateescape"))


@contextmanager
def writing(path: str, *, content: str = "report", is_source: bool = False) -> Iterator[BinaryIO]:
    """Open a file for writing that atomically replaces the file at the path when the block ends.

    Args:
        content: The format of the content, as in `ir_exec.cli.contents`.
        is_source: True for a command that corrects the file that it reads.

    Raises:
        Unusable: If the file cannot be written, is read-only or has hard links.
    """
    try:
        with replacing(path, content, is_guarded=not is_source) as file:
            yield file
    except (OSError, ValueError) as error:
        raise Unusable(f"cannot write {path}: {reason_of(error)}") from None
