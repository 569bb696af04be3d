"""Writing of files that are complete before they replace older ones.

All writers use this module. Symbolic links are followed, pipes and devices are written to, read-only files and files
with hard links are refused, and mode and owner of a replaced file are kept. After an error no temporary file is left,
and the older files are unchanged. Only a file whose owner could not be kept is overwritten in place.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from time import monotonic, sleep
from typing import BinaryIO, TypeAlias

from ir_exec.codes import Code
from ir_exec.errors import ResourceError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]  # folders are not locked there

__all__ = [
    "Guard",
    "guarding",
    "lock_folder",
    "reason_of",
    "replacing",
    "replacing_all",
    "require_replaceable",
    "require_writable",
    "temporary_folder",
]

Guard: TypeAlias = Callable[[str, str], None]
"""A function that raises an error if a file must not be replaced: its path, and the format of the new content."""

_guard: ContextVar[Guard | None] = ContextVar("guard", default=None)

MOST_RESTORED = 2**24
"""Maximum bytes of a file that is restored if the next one cannot be replaced."""

LOCK_SECONDS = 10.0
"""Maximum time to wait for another writer in a folder, in seconds. A writer holds the lock during its renames only."""


@contextmanager
def guarding(guard: Guard) -> Iterator[None]:
    """Call `guard` for each file before it is replaced in the block."""
    token = _guard.set(guard)
    try:
        yield
    finally:
        _guard.reset(token)


@contextmanager
def replacing(path: str | os.PathLike[str], content: str = "report", *, is_guarded: bool = True) -> Iterator[BinaryIO]:
    """Open a new file that replaces the one at the path when the block ends without an error.

    Args:
        content: The format of the content, for the guard.
        is_guarded: False to skip the guard.

    Raises:
        OSError: If the file cannot be written.
    """
    with replacing_all([(os.fsdecode(path), content)], is_guarded=is_guarded) as (file,):
        yield file


@contextmanager
def replacing_all(targets: Sequence[tuple[str, str]], *, is_guarded: bool = True) -> Iterator[tuple[BinaryIO, ...]]:
    """Open new files that together replace those at the paths, in this order, when the block ends without an error.

    Writers of several files lock the folder of the first one during the renames. If a rename fails, files that were
    replaced before are restored, unless they are larger than 16 MiB.

    Args:
        targets: Paths, each with the format of the content.
        is_guarded: False to skip the guard.

    Raises:
        OSError: If a file cannot be written.
    """
    guard = _guard.get() if is_guarded else None
    with ExitStack() as stack:
        replacements = []
        for path, content in targets:
            if guard is not None:
                guard(path, content)
            replacements.append(stack.enter_context(_replacement(path)))
        yield tuple([replacement.file for replacement in replacements])
        for file in replacements:
            file.complete()
        if len(replacements) == 1:
            replacements[0].replace()
            return
        with lock_folder(os.path.dirname(replacements[0].path)):
            _replace_all(replacements)


def _replace_all(replacements: Sequence[Replacement]) -> None:
    done: list[Replacement] = []
    try:
        for replacement in replacements:
            replacement.back_up()
            done.append(replacement)
            replacement.replace()
    except BaseException:
        for replacement in reversed(done):
            replacement.restore()
        raise


def require_replaceable(path: str, content: str) -> None:
    """Raise the error of the guard for a file that another process will replace."""
    guard = _guard.get()
    if guard is not None:
        guard(path, content)


def require_writable(path: str | os.PathLike[str]) -> None:
    """Raise OSError if a file cannot be created or replaced, without creating it."""
    name = os.fsdecode(path)
    status = _status(name)
    _require_writable(name, status, os.path.realpath(name) if status is None else name)


def _require_writable(name: str, status: os.stat_result | None, real: str) -> None:
    if status is None:
        folder = os.path.dirname(real)
        if os.path.isdir(real):
            raise IsADirectoryError(errno.EISDIR, "the path is a folder", name)
        if not os.path.isdir(folder):
            missing = not os.path.exists(folder)
            raise OSError(errno.ENOENT if missing else errno.ENOTDIR, "the folder does not exist", name)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, "the folder is not writable", name)
    elif stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, "the path is a folder", name)
    elif stat.S_ISREG(status.st_mode) and not _is_standard_output(status):
        _refuse_protected(name, status)


def temporary_folder() -> tempfile.TemporaryDirectory[str]:
    """Return a new folder that is deleted at the end of a `with` block, or with the process.

    Raises:
        ResourceError: IR009 if it cannot be created.
    """
    try:
        return tempfile.TemporaryDirectory(prefix="ir-exec-", ignore_cleanup_errors=True)
    except OSError as error:
        message = f"cannot create a temporary folder: {reason_of(error)}"
        raise ResourceError(message, code=Code.unwritable) from None


def reason_of(error: Exception) -> str:
    """Return the text of an error without its number and path."""
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)


@contextmanager
def lock_folder(folder: str, *, is_required: bool = True) -> Iterator[None]:
    """Exclude other processes that replace several files in a folder; without effect on systems without such locks.

    Args:
        is_required: False to continue without the lock if another process keeps it.

    Raises:
        OSError: If another process keeps the lock.
    """
    try:
        descriptor = -1 if fcntl is None else os.open(folder or os.curdir, os.O_RDONLY)
    except OSError:
        descriptor = -1
    try:
        if descriptor >= 0:
            wait_for_lock(descriptor, folder, is_required=is_required)
        yield
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def wait_for_lock(descriptor: int, folder: str, *, is_required: bool) -> None:
    end = monotonic() + LOCK_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if monotonic() > end:
                if is_required:
                    raise OSError(errno.EBUSY, "another process writes to the folder", folder) from None
                return
            sleep(0.001)
        except OSError:
            return  # a file system without locks


class Replacement:
    """New content for a path.

    Attributes:
        path: The path without symbolic links; as given for pipes and devices.
        file: The new content, complete when `replace` is called.
        is_replaced: True if the new content is at the path.
    """

    def __init__(self, path: str, file: BinaryIO, new: str | None, status: os.stat_result | None) -> None:
        self.path = path
        self.file = file
        self._new = new
        self._status = status
        self._backup: bytes | None = None
        self.is_replaced = False

    def complete(self) -> None:
        """Write the buffered content, and take over mode and owner of the older file."""
        self.file.flush()
        if self._new is None:
            return
        if self._status is not None:
            # A crash of the machine must not leave an empty file in place of the older one.
            os.fsync(self.file.fileno())
        self.file.close()
        if self._status is not None:
            _copy_owner(self._new, self._status)

    def back_up(self) -> None:
        """Read a small older file. A second name would stay after a kill, and its file would have hard links."""
        if self._new is not None and self._status is not None and self._status.st_size <= MOST_RESTORED:
            with suppress(OSError), open(self.path, "rb") as file:
                self._backup = file.read()

    def replace(self) -> None:
        if self._new is not None:
            os.replace(self._new, self.path)
            self.is_replaced = True
        else:
            self._write_through()

    def restore(self) -> None:
        """Undo `replace`, as far as possible."""
        if not self.is_replaced:
            return
        with suppress(OSError):
            if self._status is None:
                os.remove(self.path)
            elif self._backup is not None:
                with replacing(self.path, is_guarded=False) as file:
                    file.write(self._backup)

    def close(self) -> None:
        with suppress(OSError, ValueError):
            self.file.close()

    def _write_through(self) -> None:
        self.file.seek(0)
        if self._status is not None and _is_standard_output(self._status):
            # Replacing the file would lose the output that the shell redirects to it.
            sys.stdout.flush()
            with open(1, "wb", closefd=False) as target:
                shutil.copyfileobj(self.file, target)
        elif self._status is not None and stat.S_ISREG(self._status.st_mode):
            with open(self.path, "r+b") as target:
                shutil.copyfileobj(self.file, target)
                target.truncate()
        else:
            with open(self.path, "wb") as target:
                shutil.copyfileobj(self.file, target)


@contextmanager
def _replacement(path: str) -> Iterator[Replacement]:
    status = _status(path)
    is_regular = status is None or stat.S_ISREG(status.st_mode)
    real = os.path.realpath(path) if is_regular else path
    _require_writable(path, status, real)
    if not is_regular or (status is not None and (_is_standard_output(status) or _is_foreign(real, status))):
        with tempfile.TemporaryFile() as spool:
            yield Replacement(real, spool, None, status)
        return
    new = _temporary_name(real)
    mode = 0o666 if status is None else stat.S_IMODE(status.st_mode) & 0o777
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    replacement: Replacement | None = None
    try:
        replacement = Replacement(real, open(os.open(new, flags, mode), "w+b"), new, status)  # noqa: SIM115  # closed by `close`
        yield replacement
    finally:
        if replacement is not None:
            replacement.close()
        if replacement is None or not replacement.is_replaced:
            with suppress(OSError):
                os.remove(new)


def _temporary_name(path: str) -> str:
    return os.path.join(os.path.dirname(path), f".{secrets.token_hex(8)}.tmp")


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


def _refuse_protected(path: str, status: os.stat_result) -> None:
    # Root can write read-only files, but they are protected on purpose.
    if not status.st_mode & 0o222 or not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, "the file is read-only", path)
    if status.st_nlink > 1:
        message = f"the file has {status.st_nlink} names (hard links), expected one"
        raise OSError(errno.EMLINK, message, path)


def _is_foreign(path: str, status: os.stat_result) -> bool:
    """Return True if a replacement could not have the same owner: another user owns the file or the folder."""
    if not hasattr(os, "geteuid"):
        return False
    groups = (os.getegid(), *os.getgroups())
    is_foreign = os.geteuid() != 0 and (os.geteuid() != status.st_uid or status.st_gid not in groups)
    return is_foreign or not os.access(os.path.dirname(path), os.W_OK | os.X_OK)


def _copy_owner(path: str, status: os.stat_result) -> None:
    """Set owner and mode of a file to those of another."""
    if hasattr(os, "chown") and (os.stat(path).st_uid, os.stat(path).st_gid) != (status.st_uid, status.st_gid):
        os.chown(path, status.st_uid, status.st_gid)
    os.chmod(path, stat.S_IMODE(status.st_mode))
