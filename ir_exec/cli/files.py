"""The files of a command: those that it names, and the .xml files in folders that it names."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import suppress

from ir_exec.cli.terminal import Unusable

__all__ = ["files_in", "read_text", "repository", "write_bytes"]


def files_in(paths: Sequence[str], *, skips_others: bool = False) -> Iterator[tuple[str, bool]]:
    """Every file once, in a stable order, and whether it was found in a folder; hidden folders are left out.

    A .bin stands for the .xml beside it, as lists of changed files hold either. skips_others: leave out a .bin without
    an .xml beside it.
    """
    seen: set[str] = set()
    for path in paths:
        is_folder = os.path.isdir(path)
        for file in _walk(path) if is_folder else [_network_of(path)]:
            if skips_others and not is_folder and file.lower().endswith(".bin"):
                continue
            if (real := os.path.realpath(file)) not in seen:
                seen.add(real)
                yield file, is_folder


def _network_of(path: str) -> str:
    stem, extension = os.path.splitext(path)
    beside = f"{stem}.xml"
    return beside if extension.lower() == ".bin" and os.path.exists(beside) else path


def _walk(folder: str) -> Iterator[str]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (os.path.join(place, name) for name in sorted(names) if name.lower().endswith(".xml"))


def repository(start: str) -> str:
    """The root of the Git repository around a folder; the folder itself where there is none."""
    folder = os.path.abspath(start)
    place = folder
    while not os.path.exists(os.path.join(place, ".git")):
        above = os.path.dirname(place)
        if above == place:
            return folder
        place = above
    return place


def read_text(path: str, what: str) -> str:
    """The text of a file that is an argument."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, ValueError) as error:
        raise Unusable(f"cannot read {what} {path}: {_reason(error)}") from None


def write_bytes(path: str, content: bytes) -> None:
    """Replace a file at once by a complete one with the same permissions."""
    new = f"{path}.{secrets.token_hex(4)}.tmp"
    try:
        with open(new, "xb") as file:
            file.write(content)
        with suppress(FileNotFoundError):
            os.chmod(new, os.stat(path).st_mode & 0o7777)
        os.replace(new, path)
    except (OSError, ValueError) as error:
        with suppress(OSError, ValueError):
            os.remove(new)
        raise Unusable(f"cannot write {path}: {_reason(error)}") from None


def _reason(error: OSError | ValueError) -> str:
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)
