"""The files of a command: models in folders, and output files."""

from __future__ import annotations

import errno
import os
import secrets
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from io import BytesIO
from typing import BinaryIO

from ir_exec.cli.terminal import Unusable, print_report
from ir_exec.ir.urls import exists, is_url, replaced_suffix, suffix_of
from ir_exec.readers import ENDINGS

__all__ = ["files_in", "read_text", "repository", "write_bytes", "write_text", "writing"]


def files_in(paths: Sequence[str], *, skips_others: bool = False) -> Iterator[tuple[str, bool]]:
    """Yield each file once, in a stable order, with True if it was found in a folder; hidden folders are skipped.

    A .bin is replaced by the .xml next to it, because lists of changed files may contain either.

    Args:
        skips_others: Skip a .bin without an .xml.
    """
    seen: set[str] = set()
    for path in paths:
        below = _below(path)
        is_folder = below is not None
        for file in [_network_of(path)] if below is None else below:
            if skips_others and not is_folder and file.lower().endswith(".bin"):
                continue
            if (real := file if is_url(file) else os.path.realpath(file)) not in seen:
                seen.add(real)
                yield file, is_folder


def _network_of(path: str) -> str:
    if suffix_of(path) != ".bin":
        return path
    beside = replaced_suffix(path, ".xml")
    return beside if exists(beside) else path


def _below(path: str) -> Iterable[str] | None:
    """Return the model files in a folder, None if the path is not a folder."""
    if not is_url(path):
        return _walk(path) if os.path.isdir(path) else None
    from ir_exec.ir.remote import files_below

    try:
        found = files_below(path)
    except OSError as error:
        raise Unusable(f"cannot read {path}: {_reason(error)}") from None
    return None if found is None else [url for url in found if suffix_of(url) in ENDINGS]


def _walk(folder: str) -> Iterator[str]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (os.path.join(place, name) for name in sorted(names) if name.lower().endswith(ENDINGS))


def repository(start: str) -> str:
    """Return the root of the Git repository of a folder, or the folder itself outside repositories."""
    folder = os.path.abspath(start)
    place = folder
    while not os.path.exists(os.path.join(place, ".git")):
        above = os.path.dirname(place)
        if above == place:
            return folder
        place = above
    return place


def read_text(path: str, what: str) -> str:
    """Read the text of a file.

    Args:
        what: The noun in the message of an error.
    """
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, ValueError) as error:
        raise Unusable(f"cannot read {what} {path}: {_reason(error)}") from None


def write_bytes(path: str, content: bytes) -> None:
    """Write a file with `writing`."""
    with writing(path) as file:
        file.write(content)


def write_text(text: str, path: str | None) -> None:
    """Write a file with `writing`, or print the text with `print_report` if the path is None."""
    if path is None:
        print_report(text)
    else:
        write_bytes(path, text.encode("utf-8", "surrogateescape"))


@contextmanager
def writing(path: str) -> Iterator[BinaryIO]:
    """Open a file for writing that atomically replaces the file at the path when the block ends.

    Symbolic links are followed, devices and pipes are written to, mode and owner are kept.

    Raises:
        Unusable: If the file cannot be written, is read-only or has hard links.
    """
    try:
        with _opened(path) as file:
            yield file
    except (OSError, ValueError) as error:
        raise Unusable(f"cannot write {path}: {_reason(error)}") from None


@contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
    status = _status(path)
    if status is not None and not stat.S_ISREG(status.st_mode):
        whole = BytesIO()
        yield whole
        with open(path, "wb") as file:
            file.write(whole.getbuffer())
        return
    if status is not None and _is_standard_output(status):
        # Replacing the file would lose the output that the shell redirects to it.
        whole = BytesIO()
        yield whole
        sys.stdout.flush()
        with open(1, "wb", closefd=False) as file:
            file.write(whole.getbuffer())
        return
    if status is not None:
        _refuse_what_is_kept(path, status)
    real = os.path.realpath(path)
    with _overwritten(real) if _is_of_another(real, status) else _replaced(real, status) as file:
        yield file


def _status(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def _is_standard_output(status: os.stat_result) -> bool:
    try:
        return sys.stdout is not None and os.path.samestat(status, os.fstat(1))
    except OSError:
        return False


def _refuse_what_is_kept(path: str, status: os.stat_result) -> None:
    # Root can write read-only files, but they are protected on purpose.
    if not status.st_mode & 0o222 or not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, "the file is read-only")
    if status.st_nlink > 1:
        raise OSError(errno.EMLINK, f"the file has {status.st_nlink} names (hard links), expected one")


def _is_of_another(path: str, status: os.stat_result | None) -> bool:
    """Return True if a replacement could not have the same owner: another user owns the file or the folder."""
    if status is None or not hasattr(os, "geteuid"):
        return False
    groups = (os.getegid(), *os.getgroups())
    is_foreign = os.geteuid() != 0 and (os.geteuid() != status.st_uid or status.st_gid not in groups)
    return is_foreign or not os.access(os.path.dirname(path), os.W_OK | os.X_OK)


@contextmanager
def _overwritten(path: str) -> Iterator[BinaryIO]:
    with open(path, "r+b") as file:
        yield file
        file.truncate()


@contextmanager
def _replaced(path: str, status: os.stat_result | None) -> Iterator[BinaryIO]:
    """Open a new file that replaces the one at the path, if any, when it is complete."""
    new = os.path.join(os.path.dirname(path), f".{secrets.token_hex(8)}.tmp")
    mode = 0o666 if status is None else stat.S_IMODE(status.st_mode) & 0o777
    made = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
    try:
        with open(made, "wb") as file:
            yield file
        if status is not None:
            _take_after(new, status)
        os.replace(new, path)
    except BaseException:
        with suppress(OSError):
            os.remove(new)
        raise


def _take_after(path: str, status: os.stat_result) -> None:
    """Set owner and mode of a file to those of another."""
    if hasattr(os, "chown") and (os.stat(path).st_uid, os.stat(path).st_gid) != (status.st_uid, status.st_gid):
        os.chown(path, status.st_uid, status.st_gid)
    os.chmod(path, stat.S_IMODE(status.st_mode))


def _reason(error: OSError | ValueError) -> str:
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)
