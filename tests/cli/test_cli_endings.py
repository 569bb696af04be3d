"""Exit codes: 0 clean, 1 findings, 2 could not do it, 130 on Ctrl-C; never a traceback."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner

from ir_exec.cli import main

ROOT = Path(__file__).parents[2]
BAD = ROOT / "tests" / "bad"
GOOD = ROOT / "tests" / "networks" / "conv_zoo.xml"
IR_EXEC = [sys.executable, "-c", "from ir_exec.cli import main; main()"]

COMMANDS = [
    ("--help",),
    ("check", str(BAD / "IR601-declared-dims.xml")),
    ("run", str(GOOD)),
    *(
        pytest.param(command, marks=pytest.mark.rest)
        for command in (
            ("check", str(BAD / "IR601-declared-dims.xml"), "--format", "json"),
            ("check", str(BAD / "IR601-declared-dims.xml"), "--diff"),
            ("explain",),
            ("inspect", str(GOOD)),
            ("ops",),
            ("schema",),
        )
    ),
]
"""Each is a process of its own; three stand for all."""


def ids(command: tuple[str, ...]) -> str:
    return " ".join(Path(part).name for part in command)


@pytest.mark.broad
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no /dev/full")
@pytest.mark.parametrize("command", COMMANDS, ids=ids)
def test_a_full_disk(command: tuple[str, ...]) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*IR_EXEC, *command], stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 2
    assert os.strerror(errno.ENOSPC) in done.stderr.decode()
    assert b"Traceback" not in done.stderr
    assert b"Exception ignored" not in done.stderr


@pytest.mark.broad
@pytest.mark.skipif(os.name != "posix", reason="of pipes as POSIX has them")
@pytest.mark.parametrize("command", COMMANDS, ids=ids)
def test_a_closed_pipe(command: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([*IR_EXEC, *command], stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr
    assert b"Exception ignored" not in done.stderr


@pytest.mark.broad
@pytest.mark.skipif(os.name != "posix", reason="of file descriptors as POSIX has them")
@pytest.mark.parametrize("command", COMMANDS, ids=ids)
def test_no_standard_output_at_all(command: tuple[str, ...]) -> None:
    shell = ["sh", "-c", 'exec "$@" >&-', "sh", *IR_EXEC, *command]
    done = subprocess.run(shell, stderr=subprocess.PIPE, check=False)
    assert done.returncode in (0, 1)
    assert b"Traceback" not in done.stderr


@pytest.mark.broad
@pytest.mark.skipif(os.name != "posix", reason="of file descriptors as POSIX has them")
@pytest.mark.parametrize("command", COMMANDS, ids=ids)
def test_no_standard_error_at_all(command: tuple[str, ...]) -> None:
    plain = subprocess.run([*IR_EXEC, *command], capture_output=True, check=False)
    shell = ["sh", "-c", 'exec "$@" 2>&-', "sh", *IR_EXEC, *command]
    done = subprocess.run(shell, stdout=subprocess.PIPE, check=False)
    assert done.returncode == plain.returncode
    assert done.stdout.splitlines()[:3] == plain.stdout.splitlines()[:3]
    assert len(done.stdout.splitlines()) == len(plain.stdout.splitlines())


@pytest.mark.skipif(os.name != "posix", reason="of file descriptors as POSIX has them")
def test_many_inputs_without_standard_error(tmp_path: Path) -> None:
    samples = ROOT / "samples"
    command = ("run", str(samples / "gather_elements.xml"), "--inputs", str(samples / "gather*.inputs.npz"))
    shell = ["sh", "-c", 'exec "$@" 2>&-', "sh", *IR_EXEC, *command, "--output", str(tmp_path / "out"), "--jobs", "2"]
    done = subprocess.run(shell, stdout=subprocess.PIPE, check=False)
    assert done.returncode == 0
    assert done.stdout.startswith(b"ran 1 item in ")


@pytest.mark.parametrize("command", ["check", "inspect", "run", "explain"])
def test_interrupted(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*arguments: object, **more: object) -> None:
        raise KeyboardInterrupt

    for function in (
        "commands.check.check_all",
        "commands.inspect.load",
        "arrays.read_model",
        "commands.explain.find_rule",
    ):
        monkeypatch.setattr(f"ir_exec.cli.{function}", interrupt)
    result = CliRunner().invoke(main, [command, "IR601" if command == "explain" else str(GOOD)])
    assert result.exit_code == 130


@pytest.mark.skipif(os.name != "posix", reason="of signals as POSIX has them")
def test_ctrl_c(tmp_path: Path) -> None:
    # A FIFO without a reader keeps the command until the signal comes.
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    command = [*IR_EXEC, "check", str(BAD / "IR601-declared-dims.xml"), str(GOOD), "--output", str(fifo), "--diff"]
    # What runs the tests in the background of a shell has SIGINT ignored, and so would its children.
    child = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert child.stdout is not None
    child.stdout.readline()  # the diff is printed: the command is on its way
    # A signal just before the call that opens the FIFO is seen after it: as a person does, press again.
    for _ in range(60):
        child.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            _, errors = child.communicate(timeout=2)
            break
    assert child.returncode == 130
    assert b"Traceback" not in errors


@pytest.mark.parametrize("command", ["check", "inspect", "run"])
def test_a_path_that_cannot_be_read(command: str, tmp_path: Path) -> None:
    for path in (tmp_path / "no.xml", tmp_path):
        result = CliRunner().invoke(main, [command, str(path)])
        assert result.exit_code == 2, result.output


@pytest.mark.parametrize("command", ["check", "inspect", "run"])
def test_a_file_with_faults(command: str) -> None:
    assert CliRunner().invoke(main, [command, str(BAD / "IR107-cycle.xml")]).exit_code == 1
