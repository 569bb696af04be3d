"""Files by URL: fetched in blocks, once, and as they are now."""

from __future__ import annotations

import builtins
import gzip
import http.server
import os
import pickle
import re
import shutil
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import ir_exec
from ir_exec.cli import main
from ir_exec.codes import Code
from ir_exec.errors import WeightsError
from ir_exec.ir import Weights
from ir_exec.ir import remote as remote_files
from ir_exec.ir.paths import exists, local_path
from ir_exec.ir.remote import BLOCK, LIMIT_VARIABLE, VARIABLE, RemoteFile
from ir_exec.ir.urls import is_url, replaced_suffix, suffix_of
from tests.helpers.facts import coded, fault_with, naming
from tests.helpers.items import weighed_network

fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")

NETWORKS = Path(__file__).parents[1] / "networks"
LSTM = NETWORKS / "lstm"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv(VARIABLE, str(folder))
    return folder


@pytest.fixture
def memory() -> Iterator[Any]:
    system = fsspec.filesystem("memory")
    system.store.clear()
    for suffix in (".xml", ".bin", ".inputs.npz"):
        system.pipe(f"/net/lstm{suffix}", LSTM.with_name(f"lstm{suffix}").read_bytes())
    yield system
    system.store.clear()


class Fetched:
    """The byte ranges requested from a file system."""

    def __init__(self, system: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ranges: list[tuple[str, Any, Any]] = []
        cat_file = system.cat_file

        def note_range(path: str, start: Any = None, end: Any = None, **options: Any) -> Any:
            self.ranges.append((path, start, end))
            return cat_file(path, start=start, end=end, **options)

        monkeypatch.setattr(system, "cat_file", note_range)


@pytest.mark.parametrize(
    ("path", "url", "suffix", "beside"),
    [
        ("model.xml", False, ".xml", "model.bin"),
        (r"C:\net\model.XML", False, ".xml", r"C:\net\model.bin"),
        ("s3://b/net/model.xml", True, ".xml", "s3://b/net/model.bin"),
        ("http://h/m.xml?token=a.b/c", True, ".xml", "http://h/m.bin?token=a.b/c"),
        ("zip://m.xml::s3://b/c.zip", True, ".xml", "zip://m.bin::s3://b/c.zip"),
        ("hf://o/r/", True, "", "hf://o/r/.bin"),
    ],
)
def test_names(path: str, url: bool, suffix: str, beside: str) -> None:
    assert is_url(path) == url
    assert suffix_of(path) == suffix
    assert replaced_suffix(path, ".bin") == beside


def test_a_network_in_memory_and_in_an_archive(memory: Any, tmp_path: Path) -> None:
    expected = run(str(LSTM.with_suffix(".xml")))
    assert np.array_equal(run("memory://net/lstm.xml"), expected)
    with zipfile.ZipFile(tmp_path / "net.zip", "w") as archive:
        for suffix in (".xml", ".bin"):
            archive.write(LSTM.with_suffix(suffix), f"inside/lstm{suffix}")
    assert np.array_equal(run(f"zip://inside/lstm.xml::{tmp_path / 'net.zip'}"), expected)


def run(path: str) -> Any:
    with np.load(f"{LSTM}.inputs.npz") as inputs:
        return ir_exec.compile_model(path)(list(inputs.values()))[0]


def test_check_fetches_required_constants_only(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    xml = LSTM.with_suffix(".xml").read_bytes()
    content = LSTM.with_suffix(".bin").read_bytes()
    # A copy with a large constant that is never read, in the middle of a file of 40 blocks.
    large = np.zeros(20 * BLOCK // 4, np.float32).tobytes()
    offsets = {int(number) for number in re.findall(rb'offset="(\d+)"', xml)}
    moved = re.sub(rb'offset="(\d+)"', lambda match: b'offset="%d"' % (int(match[1]) + 20 * BLOCK), xml)
    memory.pipe("/net/lstm.xml", moved)
    memory.pipe("/net/lstm.bin", large + content)
    fetched = Fetched(memory, monkeypatch)
    report = ir_exec.check_model("memory://net/lstm.xml")
    assert offsets
    assert not report.errors
    asked = {start // BLOCK for path, start, _ in fetched.ranges if path.endswith(".bin")}
    assert asked <= {0, *range(20, 21 + len(content) // BLOCK)}, "the first block tells whether it is a Git LFS pointer"


def test_adjacent_blocks_are_fetched_at_once(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.pipe("/side/by.bin", bytes(9 * BLOCK))
    remote = RemoteFile.open("memory://side/by.bin")
    fetched = Fetched(memory, monkeypatch)
    remote.require(3 * BLOCK, BLOCK)
    remote.require(0, 9 * BLOCK)
    asked = [(start // BLOCK, end // BLOCK) for _, start, end in fetched.ranges]
    assert asked == [(3, 4), (0, 3), (4, 9)]


def test_fetched_blocks_are_cached_until_changed(memory: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    weighed_network(tmp_path)
    for suffix in (".xml", ".bin"):
        memory.pipe(f"/w/net{suffix}", (tmp_path / f"net{suffix}").read_bytes())
    ones = [np.ones((1, 4), np.float32)]
    first = ir_exec.compile_model("memory://w/net.xml")(ones)[0]
    fetched = Fetched(memory, monkeypatch)
    assert np.array_equal(ir_exec.compile_model("memory://w/net.xml")(ones)[0], first)
    assert fetched.ranges == []
    memory.pipe("/w/net.bin", np.ones(12, np.float32).tobytes())
    assert ir_exec.compile_model("memory://w/net.xml")(ones)[0].tolist() == [[4, 4, 4]]


@given(st.data())
def test_any_bytes_of_a_file(data: st.DataObject) -> None:
    system = fsspec.filesystem("memory")
    size = data.draw(st.sampled_from([0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 7]))
    content = np.arange(size, dtype=np.uint32).astype(np.uint8)
    system.pipe("/any.bin", content.tobytes())
    remote = RemoteFile.open("memory://any.bin")
    assert remote.size == size
    for _ in range(3):
        start = data.draw(st.integers(0, size))
        stop = data.draw(st.integers(start, size))
        remote.require(start, stop - start)
        assert np.array_equal(remote.stored[start:stop], content[start:stop])
    assert not remote.stored.flags.writeable


def test_pickles_open_the_same_file_again(memory: Any) -> None:
    model = ir_exec.read_model("memory://net/lstm.xml")
    content = pickle.dumps(model)
    assert len(content) < os.path.getsize(LSTM.with_suffix(".bin")), "the weights are not in it"
    assert pickle.loads(content).weights.path == "memory://net/lstm.bin"
    memory.pipe("/net/lstm.bin", LSTM.with_suffix(".bin").read_bytes()[::-1])
    with pytest.raises(WeightsError, check=coded(Code.weights)):
        pickle.loads(content)


class Handler(http.server.BaseHTTPRequestHandler):
    """Files of a folder; with ranges and versions if the server is configured for them."""

    def log_message(self, *_: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self._answer(with_content=False)

    def do_GET(self) -> None:
        self._answer(with_content=True)

    def _answer(self, *, with_content: bool) -> None:
        server: Any = self.server
        path = server.folder / self.path.lstrip("/")
        if not path.is_file():
            self.send_error(404)
            return
        content = path.read_bytes()
        match = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        is_part = match is not None and server.has_ranges
        if match is not None and server.has_ranges:
            content = content[int(match[1]) : int(match[2]) + 1]
        server.asked.append((self.command, self.path, len(content)))
        if server.answer is not None:
            server.answer(self, content, with_content)
            return
        self.send_response(206 if is_part else 200)
        if server.has_versions:
            self.send_header("ETag", f'"{path.stat().st_mtime_ns}"')
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if with_content:
            self.wfile.write(content)


@pytest.fixture
def server() -> Iterator[Any]:
    pytest.importorskip("aiohttp", reason="fsspec reads HTTP by aiohttp")
    server: Any = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.folder, server.asked, server.has_ranges, server.has_versions = NETWORKS, [], True, True
    server.answer = None
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize("has_ranges", [True, False])
@pytest.mark.parametrize("has_versions", [True, False])
def test_a_network_over_http(server: Any, has_ranges: bool, has_versions: bool) -> None:
    server.has_ranges, server.has_versions = has_ranges, has_versions
    url = f"http://127.0.0.1:{server.server_port}/lstm.xml"
    expected = run(str(LSTM.with_suffix(".xml")))
    assert np.array_equal(run(url), expected)
    server.asked.clear()
    assert np.array_equal(run(url), expected)
    assert any(command == "GET" for command, *_ in server.asked) == (not has_versions), "fetched anew without a version"
    missing = ir_exec.check_model(url.replace("lstm", "nothing"))
    assert [error.code for error in missing.errors] == ["IR001"]
    assert "No such file" in missing.errors[0].message


@pytest.mark.parametrize("has_ranges", [True, False])
def test_an_archive_over_http(server: Any, has_ranges: bool, tmp_path: Path) -> None:
    server.folder, server.has_ranges = tmp_path, has_ranges
    with zipfile.ZipFile(tmp_path / "net.zip", "w") as archive:
        for suffix in (".xml", ".bin"):
            archive.write(LSTM.with_suffix(suffix), f"lstm{suffix}")
    url = f"http://127.0.0.1:{server.server_port}/net.zip"
    assert np.array_equal(run(f"zip://lstm.xml::{url}"), run(str(LSTM.with_suffix(".xml"))))
    (error,) = ir_exec.check_model(f"zip://nothing.xml::{url}").errors
    assert "No such file" in error.message
    (error,) = ir_exec.check_model(f"zip://lstm.xml::{url.replace('net', 'nothing')}").errors
    assert "No such file" in error.message


def test_server_without_timely_answer(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def late(*_: object) -> None:
        raise fsspec.exceptions.FSTimeoutError

    monkeypatch.setattr(memory, "info", late)
    (error,) = ir_exec.check_model("memory://net/lstm.xml").errors
    assert (error.code, error.location.path) == ("IR001", "memory://net/lstm.xml")


def test_a_server_that_never_answers(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    never = threading.Event()
    monkeypatch.setattr(remote_files, "SECONDS", 0.02)
    for name in ("cat_file", "info"):
        monkeypatch.setattr(memory, name, lambda *_, **__: never.wait())
        (error,) = ir_exec.check_model("memory://net/lstm.xml").errors
        assert (error.code, error.location.path) == ("IR001", "memory://net/lstm.xml")
    never.set()


@pytest.mark.parametrize("size", [-1, 2**63, 10**30, "x", 1.5e30, float("nan")])
def test_sizes_that_cannot_be(memory: Any, size: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "info", lambda path, **_: {"name": path, "size": size, "type": "file"})
    (error,) = ir_exec.check_model("memory://net/lstm.xml").errors
    assert error.code in ("IR001", "IR006")
    with pytest.raises(OSError):
        local_path("memory://net/lstm.inputs.npz")


@pytest.mark.parametrize("difference", [-10, 10])
def test_false_length(memory: Any, difference: int, monkeypatch: pytest.MonkeyPatch) -> None:
    info = memory.info
    monkeypatch.setattr(memory, "info", lambda path, **_: (told := info(path)) | {"size": told["size"] + difference})
    cat_file = memory.cat_file
    monkeypatch.setattr(memory, "cat_file", lambda path, start=None, end=None: cat_file(path))
    (error,) = ir_exec.check_model("memory://net/lstm.xml").errors
    assert error.code == "IR001"


def test_more_than_the_disk_has(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(total=10, used=5, free=5))
    with pytest.raises(OSError, match=naming(f"{BLOCK:,}", 5)):
        RemoteFile.open("memory://net/lstm.bin").require(0, 10)


def test_a_file_without_a_length(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    info, content = memory.info, np.arange(3 * BLOCK + 7, dtype=np.uint32).astype(np.uint8)
    memory.pipe("/long.npy", content.tobytes())
    monkeypatch.setattr(memory, "info", lambda path, **_: info(path) | {"size": None})
    opened = RemoteFile.open("memory://long.npy")
    opened.require(0, opened.size)
    assert np.array_equal(opened.stored, content)
    for most, variable in ((content.size, ""), (1, str(content.size))):
        monkeypatch.setattr(remote_files, "MOST_UNDECLARED", most)
        monkeypatch.setenv(LIMIT_VARIABLE, variable)
        assert RemoteFile.open("memory://long.npy").size == content.size
    monkeypatch.setenv(LIMIT_VARIABLE, str(content.size - 1))
    with pytest.raises(OSError):
        RemoteFile.open("memory://long.npy")
    with pytest.raises(OSError):
        RemoteFile.open("memory://long.npy", most_bytes=content.size - 1)


def test_over_compressed_members(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros.bin", bytes(2**20))
    url = f"zip://zeros.bin::{tmp_path / 'a.zip'}"
    assert RemoteFile.open(url).size == 2**20
    monkeypatch.setattr(remote_files, "MOST_UNDECLARED", 2**20 - 1)
    with pytest.raises(OSError):
        RemoteFile.open(url)


def pack(handler: Any, content: bytes, with_content: bool) -> None:
    """A response that is compressed, with the length of the compressed bytes."""
    packed = gzip.compress(content)
    handler.send_response(200)
    handler.send_header("Content-Encoding", "gzip")
    handler.send_header("Content-Length", str(len(packed)))
    handler.end_headers()
    if with_content:
        handler.wfile.write(packed)


def stream(handler: Any, content: bytes, with_content: bool) -> None:
    """A response without a length."""
    handler.send_response(200)
    handler.end_headers()
    if with_content:
        handler.wfile.write(content)


@pytest.mark.parametrize("answer", [pack, stream])
def test_responses_without_a_length(server: Any, answer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server.folder, server.answer = tmp_path, answer
    (tmp_path / "zeros.npy").write_bytes(bytes(2**21))
    url = f"http://127.0.0.1:{server.server_port}/zeros.npy"
    opened = RemoteFile.open(url)
    assert (opened.size, opened.stored.any()) == (2**21, False)
    monkeypatch.setattr(remote_files, "MOST_UNDECLARED", 2**21 - 1)
    with pytest.raises(OSError):
        local_path(url)


def test_response_longer_than_declared(server: Any, tmp_path: Path) -> None:
    """HEAD promises few bytes, and GET sends a compressed response of many."""

    def lie(handler: Any, content: bytes, with_content: bool) -> None:
        if with_content:
            pack(handler, bytes(2**24), with_content=True)
            return
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()

    server.folder, server.answer = tmp_path, lie
    (tmp_path / "a.npy").write_bytes(bytes(10))
    with pytest.raises(OSError):
        local_path(f"http://127.0.0.1:{server.server_port}/a.npy")


def test_a_slow_response(server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_files, "SECONDS", 1.0)
    clock = iter(range(0, 100_000, 10))
    monkeypatch.setattr(remote_files, "monotonic", lambda: next(clock))
    server.folder = tmp_path
    (tmp_path / "a.npy").write_bytes(bytes(BLOCK))
    monkeypatch.setattr(remote_files, "LEAST_SPEED", 2**30)
    with pytest.raises(TimeoutError):
        local_path(f"http://127.0.0.1:{server.server_port}/a.npy")


def test_a_missing_bin(memory: Any) -> None:
    memory.rm("/net/lstm.bin")
    report = ir_exec.check_model("memory://net/lstm.xml")
    assert {error.code for error in report.errors} == {"IR201"}
    with pytest.raises(WeightsError, check=coded("IR201")):
        Weights.open("memory://net/lstm.bin")


def test_without_fsspec(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *arguments: Any, **options: Any) -> Any:
        if name.startswith("fsspec"):
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    (error,) = ir_exec.check_model("s3://bucket/net.xml").errors
    assert error == fault_with("URLs", "fsspec", ".[remote]")
    assert not exists("s3://bucket/net.xml")


def test_unknown_file_system() -> None:
    (error,) = ir_exec.check_model("nothing://bucket/net.xml").errors
    assert error == fault_with("nothing")


def test_folders_and_data_on_the_command_line(memory: Any, tmp_path: Path) -> None:
    memory.pipe("/net/.hidden/lstm.xml", b"<net/>")
    result = CliRunner().invoke(main, ["check", "memory://net", "--quiet"])
    assert result.exit_code == 0, result.output
    assert result.output.startswith("1 file: ")
    out = tmp_path / "out"
    for inputs in ("memory://net", "memory://net/*.npz"):
        arguments = ["--inputs", inputs, "--output", str(out / str(len(inputs)))]
        result = CliRunner().invoke(main, ["run", "memory://net/lstm.xml", *arguments])
        assert result.exit_code == 0, result.output
        with np.load(out / str(len(inputs)) / "lstm.inputs.npz") as outputs:
            assert np.array_equal(outputs[outputs.files[0]], run(str(LSTM.with_suffix(".xml"))))
    assert Path(local_path("memory://net/lstm.inputs.npz")).suffix == ".npz"
