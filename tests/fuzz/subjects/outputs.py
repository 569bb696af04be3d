"""Outputs of commands over existing files: models, weights, arrays, reports, links to them, read-only files.

A command never changes a file that it reads. Without --force it changes a model, weights or arrays only if it writes
this format there. Links, modes and hard links are kept, and no temporary file is left.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np

from ir_exec import build
from tests.fuzz.frame import Subject, invoke

__all__ = ["SUBJECT"]

_PROTECTED = (".xml", ".bin", ".onnx", ".data", ".npz", ".safetensors")


class _Call(NamedTuple):
    """A command without its output.

    Attributes:
        sources: The files that it reads.
        endings: The endings of the files that it writes, in addition to reports.
    """

    words: Sequence[str]
    sources: Sequence[str] = ("a.xml", "a.bin")
    option: str = "-o"
    endings: Sequence[str] = ()


_PAIR = ("a.xml", "a.bin", "b.xml", "b.bin")
_ARRAYS = ("a.xml", "a.bin", "x.npz")

_CALLS = (
    _Call(["run", "a.xml"], endings=[".npz"]),
    _Call(["run", "a.xml", "--inputs", "x.npz"], _ARRAYS, endings=[".npz"]),
    _Call(["run", "a.xml", "--input", "x=x.npy"], ("a.xml", "a.bin", "x.npy"), endings=[".npz"]),
    _Call(["run", "m.onnx"], ("m.onnx", "m.onnx.data"), endings=[".npz"]),
    _Call(["check", "a.xml"]),
    _Call(["check", "a.xml"], option="--write-baseline"),
    _Call(["check", "a.xml", "--format", "junit"]),
    _Call(["check", "m.onnx", "--format", "sarif"], ("m.onnx", "m.onnx.data")),
    _Call(["compare", "a.xml", "b.xml"], _PAIR),
    _Call(["diff", "a.xml", "b.xml", "--format", "json"], _PAIR),
    _Call(["view", "a.xml", "--diff", "b.xml"], _PAIR),
    _Call(["profile", "a.xml", "--repeat", "1"], option="--trace-events"),
    _Call(["bundle", "a.xml", "--report", "notes.txt"], ("a.xml", "a.bin", "notes.txt")),
    _Call(["edit", "a.xml"], endings=[".xml", ".bin"]),
    _Call(["edit", "a.xml", "--weights", "b.bin"], ("a.xml", "b.bin"), endings=[".xml", ".bin"]),
    _Call(["convert", "m.onnx"], ("m.onnx", "m.onnx.data"), endings=[".xml", ".bin", ".onnx"]),
    _Call(["convert", "a.xml", "--external-data"], endings=[".xml", ".bin", ".onnx", ".data"]),
    _Call(["extract", "a.xml", "--to", "y"], endings=[".xml", ".bin"]),
    _Call(["extract", "a.xml", "--to", "y", "--inputs", "x.npz"], _ARRAYS, endings=[".xml", ".bin", ".npz"]),
    _Call(["trace", "a.xml"]),
)


def run(random: Random, folder: Path) -> None:
    _write_files(random)
    for _ in range(2):
        call = random.choice(_CALLS)
        target = random.choice([*map(str, sorted(Path().rglob("*"))), "new.xml", "new.npz", "sub/new.txt", "none/x"])
        if random.random() < 0.2:
            target = os.path.join("sub", "..", ".", target)
        force = ["--force"] * (random.random() < 0.3)
        before = _snapshot()
        invoke(*call.words, call.option, target, *force)
        after = _snapshot()
        changed = [path for path in before if after.get(path) != before[path]]
        reads = {os.path.realpath(path) for path in call.sources}
        assert not [path for path in changed if os.path.realpath(path) in reads], (call, target)
        assert not [path for path in changed if not _is_family(path, target)], (call, target)
        # An empty file has no format; the name of a file counts, not that of a link.
        files = [os.path.realpath(path) for path in changed if before[path][2]]
        others = [path for path in files if path.endswith(_PROTECTED) and not path.endswith(tuple(call.endings))]
        assert force or not others, (call, target)
        for path in before:
            # The mode and the number of names, and the target of a link.
            assert after[path][:2] == before[path][:2], (call, target, path)
        assert not [path for path in after if path.endswith(".tmp")], (call, target)


def _write_files(random: Random) -> None:
    for name, value in (("a", 1.0), ("b", 2.0), ("c", 3.0)):
        x = build.parameter([2], "f32", name="x")
        weights = build.constant(np.full(2, value, np.float32))
        build.model([build.add(x, weights, name="y")], [x]).save(f"{name}.xml")
    x = build.parameter([64], "f32", name="x")
    product = build.matmul(x, build.constant(np.ones((64, 64), np.float32)), name="y")
    build.model([product], [x]).save("d.xml")
    invoke("convert", "d.xml", "-o", "m.onnx", "--external-data")
    np.savez("x.npz", x=np.ones(2, np.float32))
    np.savez("other.npz", x=np.zeros(2, np.float32))
    np.save("x.npy", np.ones(2, np.float32))
    Path("orphan.bin").write_bytes(bytes(range(32)))
    Path("w.safetensors").write_bytes((2).to_bytes(8, "little") + b"{}")
    Path("notes.txt").write_text("kept")
    Path("empty.npz").touch()
    Path("sub").mkdir()
    shutil.copy("b.xml", "sub/b.xml")
    for number in range(random.randrange(6)):
        files = [path for path in sorted(Path().rglob("*")) if path.is_file()]
        source = random.choice(files)
        link = Path(random.choice(("", "sub")), f"link{number}{random.choice((source.suffix, '.xml', '.bin', '.npz'))}")
        match random.randrange(4):
            case 0:
                os.link(source, link)
            case 1:
                source.chmod(random.choice((0o400, 0o600)))
            case _:
                link.symlink_to(source.absolute())
    if random.random() < 0.3:
        os.symlink("../b.bin", "sub/b.bin")


def _is_family(path: str, target: str) -> bool:
    """Return True for the output itself, for the other files of a model or trace, and for links to them."""
    real, output = os.path.realpath(path), os.path.realpath(target)
    return real.startswith((output, os.path.splitext(output)[0])) or _is_linked_partner(real, target)


def _is_linked_partner(real: str, target: str) -> bool:
    return real == os.path.realpath(f"{os.path.splitext(target)[0]}.bin")


def _snapshot() -> dict[str, tuple[object, ...]]:
    """Return the mode, the target of a link or the number of names, and the content of every file."""
    entries: dict[str, tuple[object, ...]] = {}
    for path in sorted(Path().rglob("*")):
        status = path.lstat()
        names = os.readlink(path) if path.is_symlink() else status.st_nlink
        if not path.is_dir():
            entries[str(path)] = (stat.S_IMODE(status.st_mode), names, path.read_bytes())
    return entries


SUBJECT = Subject(run, cases=100)
