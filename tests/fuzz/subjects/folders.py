"""Folders with entries that are no models: links, loops, pipes, devices, names with control characters or of options.

Commands that only read leave every entry as it was.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from random import Random

from tests.fuzz.drawing import damage, draw_name
from tests.fuzz.frame import Subject, invoke
from tests.helpers.ir_text import net, parameter, result

__all__ = ["SUBJECT"]

_MODEL = net([parameter(0, dims=(1, 2), name="x"), result(1, dims=(1, 2))], [(0, 0, 1, 0)])

_ENDINGS = (".xml", ".xml", ".bin", ".onnx", ".npz", ".json", ".wav", ".XML", "")

_NAMES = ("net", "openvino_model", "openvino_tokenizer", "config", "tokenizer", "chat_template.jinja", "model_index")


_SETTINGS = (
    "config.json",
    "generation_config.json",
    "tokenizer_config.json",
    "chat_template.jinja",
    "model_index.json",
)


def run(random: Random, folder: Path) -> None:
    root = folder / "models"
    root.mkdir()
    entries = [path for _ in range(random.randint(1, 8)) if (path := _add_entry(root, random)) is not None]
    before = _snapshot(root)
    os.chdir(root)
    try:
        for _ in range(2):
            invoke(*_command(random, [path.name for path in entries]))
    finally:
        os.chdir(folder)
    assert _snapshot(root) == before


def _command(random: Random, names: list[str]) -> list[str]:
    path = random.choice([*names, "."])
    match random.randrange(7):
        case 0 | 1:
            report = random.choice(("text", "json", "sarif", "github", "gitlab", "junit", "html"))
            return ["check", "--format", report, "--", random.choice(names or ["."]), path]
        case 2:
            return ["check", "--skip-others", "--", *names, "."]
        case 3:
            return ["inspect", *random.choice(([], ["--layers"], ["--format=json"])), "--", path]
        case 4:
            return ["diff", "--", path, random.choice([*names, "."])]
        case 5:
            return ["run", f"--inputs={random.choice([*names, '.'])}", "--", path]
        case _:
            return ["shapes", "--", path]


def _add_entry(root: Path, random: Random) -> Path | None:
    """Return the path of a new entry, None if the file system accepts no such name."""
    name = f"{draw_name(random, _NAMES)}{random.choice(_ENDINGS)}".replace("/", "_")
    path = root / name
    if os.path.lexists(path):
        return None
    with suppress(OSError, ValueError):
        match random.randrange(11):
            case 0:
                path.symlink_to(random.choice((name, "missing", "..", ".", "/dev/null", "net.xml")))
            case 1:
                os.mkfifo(path)
            case 2:
                path.mkdir()
            case 3:
                path.mkdir()
                (path / "openvino_model.xml").write_bytes(damage(_MODEL, random))
                (path / "config.json").write_bytes(damage(b'{"model_type": "llama", "architectures": ["A"]}', random))
            case 4:
                path.mkdir()
                (path / "openvino_model.xml").write_bytes(_MODEL)
                (path / "tokenizer.json").write_bytes(b"{}")
                _add_special(path / random.choice(_SETTINGS), random)
            case 5:
                path.write_bytes(b"")
            case 6:
                path.write_bytes(_MODEL)
                path.chmod(random.choice((0o000, 0o400, 0o777)))
            case 7:
                os.link(random.choice([*root.iterdir()] or [path]), path)
            case 8:
                path.write_bytes(damage(_MODEL, random))
            case _:
                path.write_bytes(_MODEL)
        return path
    return None


def _add_special(path: Path, random: Random) -> None:
    """Add an entry that is no regular file."""
    match random.randrange(3):
        case 0:
            os.mkfifo(path)
        case 1:
            path.mkdir()
        case _:
            path.symlink_to(random.choice(("/dev/zero", "/dev/full", path.name, "missing")))


def _snapshot(root: Path) -> dict[str, tuple[object, ...]]:
    """Return the mode, size, number of names and content of every entry."""
    entries: dict[str, tuple[object, ...]] = {}
    for path in sorted(root.rglob("*")):
        status = path.lstat()
        content = path.read_bytes() if stat.S_ISREG(status.st_mode) and os.access(path, os.R_OK) else b""
        entries[str(path)] = (status.st_mode, status.st_size, status.st_nlink, content)
    return entries


SUBJECT = Subject(run, cases=200)
