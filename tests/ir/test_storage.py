"""Files that are written replace older ones completely, or not at all."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ir_exec.errors import ResourceError
from ir_exec.ir import storage
from ir_exec.ir.storage import guarding, lock_folder, replacing, replacing_all, require_writable, temporary_folder
from tests.helpers.facts import coded

pytestmark = pytest.mark.skipif(os.name != "posix", reason="of links, devices and owners as POSIX has them")


def write(path: Path, content: bytes) -> None:
    with replacing(path) as file:
        file.write(content)


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def pair(tmp_path: Path) -> list[tuple[str, str]]:
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(b"old " + name.encode())
    return [(str(tmp_path / name), "report") for name in ("a", "b")]


def write_pair(pair: list[tuple[str, str]]) -> None:
    with replacing_all(pair) as files:
        for file in files:
            file.write(b"new")


def contents(pair: list[tuple[str, str]]) -> list[bytes]:
    return [Path(path).read_bytes() for path, _ in pair]


def test_links_are_followed_and_kept(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "chain").symlink_to(tmp_path / "link")
    for name in ("link", "chain"):
        write(tmp_path / name, name.encode())
        assert (tmp_path / name).is_symlink()
        assert (tmp_path / "file").read_bytes() == name.encode()
    assert names_in(tmp_path) == ["chain", "file", "link"]


def test_a_device_is_written_to() -> None:
    before = os.stat("/dev/null")
    write(Path("/dev/null"), b"content")
    assert os.stat("/dev/null").st_rdev == before.st_rdev


def test_a_pipe_receives_the_content(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(path.read_bytes()), daemon=True)
    reader.start()
    write(path, b"content")
    reader.join(60)
    assert received == [b"content"]
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_a_pair_with_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append((tmp_path / "pipe").read_bytes()), daemon=True)
    reader.start()
    write_pair([(str(tmp_path / "a"), "report"), (str(tmp_path / "pipe"), "report")])
    reader.join(60)
    assert received == [(tmp_path / "a").read_bytes()] == [b"new"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644])
def test_the_mode_is_kept(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(mode)
    with replacing(path) as file:
        # The content is protected while it is written.
        assert stat.S_IMODE(os.fstat(file.fileno()).st_mode) & ~mode == 0
        file.write(b"new")
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert path.read_bytes() == b"new"


def _make_read_only(path: Path) -> None:
    path.chmod(0o444)


def _add_hard_link(path: Path) -> None:
    os.link(path, path.with_name("other"))


@pytest.mark.parametrize(
    ("protect", "number"), [(_make_read_only, errno.EACCES), (_add_hard_link, errno.EMLINK)], ids=["read-only", "link"]
)
def test_protected_files_are_refused(tmp_path: Path, protect: Callable[[Path], None], number: int) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    protect(path)
    before = names_in(tmp_path)
    for attempt in (lambda: write(path, b"new"), lambda: require_writable(path)):
        with pytest.raises(OSError) as caught:
            attempt()
        assert caught.value.errno == number
    assert path.read_bytes() == b"old"
    assert names_in(tmp_path) == before


def test_folders_and_missing_folders_are_refused(tmp_path: Path) -> None:
    for path, number in ((tmp_path, errno.EISDIR), (tmp_path / "none" / "file", errno.ENOENT)):
        with pytest.raises(OSError) as caught:
            require_writable(path)
        assert caught.value.errno == number


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), ValueError("wrong"), KeyboardInterrupt()])
def test_an_error_while_writing_leaves_the_old_files(pair: list[tuple[str, str]], error: BaseException) -> None:
    before = contents(pair)
    folder = Path(pair[0][0]).parent

    def fail() -> None:
        with replacing_all(pair) as files:
            files[0].write(b"half")
            raise error

    with pytest.raises(type(error)):
        fail()
    assert contents(pair) == before
    assert names_in(folder) == ["a", "b"]


@pytest.mark.parametrize("limit", [100, 3])
def test_a_failed_rename_restores_a_small_first_file(
    pair: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    before = contents(pair)
    folder = Path(pair[0][0]).parent
    replace = os.replace

    def fail(source: str, target: str) -> None:
        if target == pair[1][0]:
            raise OSError(errno.EPERM, "refused")
        # Another name would be left by a kill, and refuse all later writers.
        assert os.stat(target).st_nlink == 1
        replace(source, target)

    monkeypatch.setattr(storage, "MOST_RESTORED", limit)
    monkeypatch.setattr(storage.os, "replace", fail)
    with pytest.raises(OSError, match="refused"):
        write_pair(pair)
    assert contents(pair) == (before if limit == 100 else [b"new", before[1]])
    assert names_in(folder) == ["a", "b"]


def test_a_failed_rename_removes_a_new_first_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pair = [(str(tmp_path / name), "report") for name in ("a", "b")]
    replace = os.replace

    def fail(source: str, target: str) -> None:
        if target == pair[1][0]:
            raise OSError(errno.EPERM, "refused")
        replace(source, target)

    monkeypatch.setattr(storage.os, "replace", fail)
    with pytest.raises(OSError, match="refused"):
        write_pair(pair)
    assert names_in(tmp_path) == []


def test_content_is_flushed_before_replacement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    replace = os.replace
    monkeypatch.setattr(storage.os, "fsync", lambda descriptor: calls.append("fsync"))
    monkeypatch.setattr(storage.os, "replace", lambda *names: calls.append("replace") or replace(*names))
    write(tmp_path / "file", b"first")
    assert calls == ["replace"]
    write(tmp_path / "file", b"second")
    assert calls == ["replace", "fsync", "replace"]


def test_renames_of_two_writers_do_not_interleave(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second writer starts between the renames of the first one, and finishes after it."""
    pair = [(str(tmp_path / name), "report") for name in ("a", "b")]
    renamed: list[tuple[str, str]] = []
    others: list[threading.Thread] = []
    replace = os.replace
    waits = threading.Event()
    wait_for_lock = storage.wait_for_lock

    def wait(descriptor: int, folder: str, *, is_required: bool) -> None:
        if threading.current_thread() in others:
            waits.set()
        wait_for_lock(descriptor, folder, is_required=is_required)

    def spy(source: str, target: str) -> None:
        replace(source, target)
        renamed.append((threading.current_thread().name, Path(target).name))
        if not others:
            others.append(threading.Thread(target=write_pair, args=(pair,), name="second"))
            others[0].start()
            assert waits.wait(60)

    monkeypatch.setattr(storage, "wait_for_lock", wait)
    monkeypatch.setattr(storage.os, "replace", spy)
    write_pair(pair)
    others[0].join(60)
    first = threading.current_thread().name
    assert renamed == [(first, "a"), (first, "b"), ("second", "a"), ("second", "b")]


def test_held_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "LOCK_SECONDS", 0.0)
    with lock_folder(str(tmp_path)):
        with lock_folder(str(tmp_path), is_required=False):
            pass
        with pytest.raises(OSError) as caught, lock_folder(str(tmp_path)):
            pass
    assert caught.value.errno == errno.EBUSY
    with lock_folder(str(tmp_path)):
        pass


def test_a_temporary_folder_on_a_full_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with temporary_folder() as folder:
        Path(folder, "file").touch()
        assert Path(folder).parent == tmp_path
    assert names_in(tmp_path) == []

    def full(**options: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(storage.tempfile, "TemporaryDirectory", full)
    with pytest.raises(ResourceError, check=coded("IR009")):
        temporary_folder()


def test_guard_precedes_creation(tmp_path: Path) -> None:
    asked: list[tuple[str, str]] = []

    def refuse(path: str, content: str) -> None:
        asked.append((path, content))
        raise PermissionError(errno.EACCES, "guarded")

    path = tmp_path / "file"
    with guarding(refuse):
        with pytest.raises(PermissionError), replacing(path, "npz"):
            pass
        assert names_in(tmp_path) == []
        with replacing(path, "npz", is_guarded=False) as file:
            file.write(b"new")
    write(path, b"newer")
    assert asked == [(str(path), "npz")]


@pytest.fixture(autouse=True)
def _no_leftovers(tmp_path: Path) -> Iterator[None]:
    yield
    assert not [name for name in names_in(tmp_path) if name.endswith(".tmp")]
