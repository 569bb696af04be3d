"""Settings files in folders of several owners: damaged ones are messages, and code runs only with consent.

The expected result comes from a description of the rules in plain conditions, `_runs_code`.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.fuzz.drawing import HOSTILE_TEXTS, damage, draw_name
from tests.fuzz.frame import Subject, invoke
from tests.helpers.ir_text import net, parameter, result

__all__ = ["SUBJECT"]

_OTHER_USER = 54321

_SETTINGS = """
select = ["all"]
ignore = ["unbounded-dim"]
target = "2023.0"
strict = true
jobs = 1
level = "warning"
weights-values = true
severity.unknown-attribute = "error"
per-file-ignores."legacy/*.xml" = ["IR6"]
"""

_COMMANDS = (("check", "net.xml"), ("inspect", "net.xml"), ("ops", "Relu"), ("shapes", "net.xml"))


def run(random: Random, folder: Path) -> None:
    deepest = folder / "a" / "b" / "c"
    deepest.mkdir(parents=True)
    (deepest / "net.xml").write_bytes(
        net([parameter(0, dims=(1, 2), name="x"), result(1, dims=(1, 2))], [(0, 0, 1, 0)])
    )
    os.environ["HOME"] = str(folder / "nobody")
    os.chdir(deepest)
    try:
        if random.random() < 0.4:
            _read_damaged_settings(random, deepest)
        else:
            _try_to_run_code(random, folder, deepest)
    finally:
        os.chdir(folder)


def _read_damaged_settings(random: Random, deepest: Path) -> None:
    name = random.choice(("ir-exec.toml", "pyproject.toml"))
    head = "[tool.ir-exec]\n" if name == "pyproject.toml" else ""
    text = (head + _SETTINGS).encode()
    if random.random() < 0.3:
        key = random.choice(("select", "baseline", "severity", "per-file-ignores", "extensions", "target", "x"))
        quoted = random.choice(HOSTILE_TEXTS).replace("'", "").replace("\n", "")
        text += f"{key} = {'[' * random.choice((0, 1, 5_000))}'{quoted}'".encode("utf-8", "surrogatepass")
    (deepest / name).write_bytes(damage(text, random))
    invoke(*random.choice(_COMMANDS))


@dataclass(frozen=True)
class _Attempt:
    """Settings that name code, in one of the folders a, b and c above the current one.

    Attributes:
        level: The folder of the settings: 0 is the outermost.
        boundary: The folder that is a repository or the home folder, if any.
        shared: The folder in which everyone may write, if any.
    """

    level: int
    boundary: int | None
    shared: int | None
    is_foreign: bool
    is_ci: bool
    has_no_config: bool
    has_trust: bool
    is_named: bool


def _runs_code(attempt: _Attempt) -> bool:
    if attempt.is_named:
        return True
    if attempt.has_no_config or attempt.is_foreign or (attempt.is_ci and not attempt.has_trust):
        return False
    if attempt.boundary is not None:
        return attempt.level >= attempt.boundary
    return attempt.shared is None or attempt.level > attempt.shared


def _try_to_run_code(random: Random, folder: Path, deepest: Path) -> None:
    levels = [folder, folder / "a", folder / "a" / "b", deepest]
    attempt = _Attempt(
        level=random.randrange(4),
        boundary=random.choice((None, 0, 1, 2, 3)),
        shared=random.choice((None, None, 0, 1, 2)),
        is_foreign=hasattr(os, "geteuid") and os.geteuid() == 0 and random.random() < 0.3,
        is_ci=random.random() < 0.3,
        has_no_config=random.random() < 0.2,
        has_trust=random.random() < 0.3,
        is_named=random.random() < 0.2,
    )
    _mark(levels, attempt, random)
    home = levels[attempt.level]
    code = f"code{random.randrange(10**9)}.py"
    (home / code).write_text(f"open({str(folder / 'ran')!r}, 'w').close()\n")
    name = random.choice(("ir-exec.toml", "pyproject.toml"))
    head = "[tool.ir-exec]\n" if name == "pyproject.toml" else ""
    (home / name).write_text(f'{head}extensions = ["{code}"]\n')
    if attempt.is_foreign:
        os.chown(home / name, _OTHER_USER, -1)
    if attempt.is_ci:
        os.environ["CI"] = random.choice(("true", "1", "woodpecker"))
    options = ["--no-config"] * attempt.has_no_config + ["--trust"] * attempt.has_trust
    options += [f"--extension={home / code}"] * attempt.is_named
    random.shuffle(options)
    try:
        invoke(*random.choice(_COMMANDS), *options)
    finally:
        for module in [
            name for name, module in sys.modules.items() if getattr(module, "__file__", None) == str(home / code)
        ]:
            del sys.modules[module]
    assert (folder / "ran").exists() == _runs_code(attempt), attempt


def _mark(levels: list[Path], attempt: _Attempt, random: Random) -> None:
    if attempt.shared is not None:
        levels[attempt.shared].chmod(0o777)
    if attempt.boundary is None:
        return
    folder = levels[attempt.boundary]
    match random.randrange(3):
        case 0:
            (folder / ".git").mkdir()
        case 1:
            (folder / ".git").write_text(f"gitdir: {draw_name(random)}", "utf-8", "replace")
        case _:
            os.environ["HOME"] = str(folder)


SUBJECT = Subject(run, cases=400)
