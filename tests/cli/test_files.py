"""Files that `--output` and `--fix` write, and files that they leave unchanged."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from ir_exec import build
from ir_exec.cli import main
from ir_exec.cli.files import write_bytes, writing
from ir_exec.cli.output.terminal import Unusable
from tests.helpers.facts import mentions

BAD = Path(__file__).parents[1] / "bad" / "IR601-declared-dims.xml"
FIXED = BAD.read_bytes().replace(b"<dim>5</dim>", b"<dim>3</dim>")

pytestmark = pytest.mark.skipif(os.name != "posix", reason="of links, devices and owners as POSIX has them")


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)))


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    return shutil.copy(BAD, tmp_path / "m.xml")


def left_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_device_stays_one() -> None:
    device = os.stat("/dev/null")
    assert run("check", BAD, "--output", "/dev/null").exit_code == 1
    assert os.stat("/dev/null").st_rdev == device.st_rdev
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@pytest.mark.parametrize("name", ["link", "chain"])
def test_link_is_kept_and_its_target_written(name: str, tmp_path: Path) -> None:
    (tmp_path / "to").mkdir()
    (tmp_path / "to" / "report.txt").write_text("old")
    (tmp_path / "link").symlink_to("to/report.txt")
    (tmp_path / "chain").symlink_to(tmp_path / "link")
    assert run("check", BAD, "--output", tmp_path / name).exit_code == 1
    assert (tmp_path / name).is_symlink()
    assert "IR601" in (tmp_path / "to" / "report.txt").read_text()
    assert left_in(tmp_path / "to") == ["report.txt"]


def test_a_link_to_nothing_makes_its_target(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("report.txt")
    write_bytes(str(tmp_path / "link"), b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "report.txt").read_bytes() == b"new"


def test_a_fifo_is_written_to(tmp_path: Path) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(path.read_bytes()), daemon=True)
    reader.start()
    assert run("check", BAD, "--output", path).exit_code == 1
    reader.join(60)
    assert stat.S_ISFIFO(path.stat().st_mode)
    assert b"IR601" in read[0]


def test_the_mode_stays(broken: Path) -> None:
    broken.chmod(0o640)
    assert run("check", broken, "--fix").exit_code == 0
    assert stat.S_IMODE(broken.stat().st_mode) == 0o640
    assert broken.read_bytes() == FIXED


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="root alone gives files away")
def test_the_owner_stays(broken: Path) -> None:
    os.chown(broken, 4321, 1234)
    assert run("check", broken, "--fix").exit_code == 0
    assert (broken.stat().st_uid, broken.stat().st_gid) == (4321, 1234)
    assert broken.read_bytes() == FIXED


def test_fix_mends_the_target_of_a_link(broken: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.xml"
    link.symlink_to(broken)
    assert run("check", link, "--fix").exit_code == 0
    assert link.is_symlink()
    assert broken.read_bytes() == FIXED


def test_a_file_with_two_names_is_refused(broken: Path, tmp_path: Path) -> None:
    os.link(broken, tmp_path / "other.xml")
    result = run("check", broken, "--fix")
    assert result.exit_code == 2
    assert mentions(str(broken), 2) in result.stderr.splitlines()
    assert broken.read_bytes() == BAD.read_bytes()


def test_read_only_file_is_refused(broken: Path) -> None:
    broken.chmod(0o444)
    result = run("check", broken, "--fix")
    assert result.exit_code == 2
    assert mentions(broken) in result.stderr.splitlines()
    assert broken.read_bytes() == BAD.read_bytes()


def test_refused_file_does_not_stop_other_fixes(broken: Path, tmp_path: Path) -> None:
    broken.chmod(0o444)
    other = shutil.copy(BAD, tmp_path / "other.xml")
    result = run("check", tmp_path, "--fix")
    assert result.exit_code == 2
    assert other.read_bytes() == FIXED
    assert "fixed 1 file" in result.stderr


def test_failed_write_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "report.txt"
    path.write_text("old")

    def fill() -> None:
        with writing(str(path)) as file:
            file.write(b"half")
            raise OSError(28, "No space left on device")

    with pytest.raises(Unusable, match="No space left"):
        fill()
    assert path.read_text() == "old"
    assert left_in(tmp_path) == ["report.txt"]


def test_standard_output_by_its_name(tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    command = [
        sys.executable,
        "-c",
        "from ir_exec.cli import main; main()",
        "check",
        BAD,
        "--format",
        "json",
        "--output",
        "/dev/stdout",
    ]
    with open(target, "wb") as file:
        done = subprocess.run(command, stdout=file, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 1, done.stderr
    text = target.read_text()
    assert text.startswith("{")
    assert text.endswith("1 error, 0 warnings\n")


def test_run_writes_arrays_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "link.npz").symlink_to("out.npz")
    path = tmp_path / "m.xml"
    path.write_bytes(FIXED)
    result = run("run", path, "--output", tmp_path / "link.npz")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "link.npz").is_symlink()
    with np.load(tmp_path / "out.npz") as arrays:
        assert len(arrays.files) == 1
    assert run("run", path, "--output", "/dev/null").exit_code == 0
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no /dev/full")
@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "M", "-o", "/dev/full"),
        ("check", "M", "--write-baseline", "/dev/full"),
        ("diff", "M", "M", "-o", "/dev/full"),
        ("run", "M", "-o", "/dev/full"),
        ("view", "M", "-o", "/dev/full"),
        ("profile", "M", "--repeat", "1", "-o", "/dev/full"),
        ("profile", "M", "--repeat", "1", "--trace-events", "/dev/full"),
        ("bundle", "M", "-o", "/dev/full"),
        ("convert", "M", "-o", "full.xml"),
        ("edit", "M", "-o", "full.xml"),
        ("extract", "M", "--to", "y", "-o", "full.xml"),
        ("extract", "M", "--to", "y", "--seed", "0", "-o", "values.xml"),
        ("convert", "M", "-o", "full.onnx"),
    ],
    ids=lambda arguments: f"{arguments[0]} {arguments[-1]}",
)
def test_a_full_disk_is_one_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    """The message has no code of a limit, and no other file is changed."""
    monkeypatch.chdir(tmp_path)
    x = build.parameter([4], "f32", name="x")
    build.model([build.add(x, build.constant(np.ones(4, np.float32)), name="y")], [x]).save("m.xml")
    for name in ("full.xml", "full.onnx", "values.inputs.npz"):
        os.symlink("/dev/full", name)
    before = left_in(tmp_path)
    result = run(*[str(tmp_path / "m.xml") if text == "M" else text for text in arguments])
    assert result.exit_code == 2, result.output
    assert os.strerror(errno.ENOSPC) in result.stderr
    assert "IR006" not in result.stderr
    if arguments[-1] != "values.xml":
        assert left_in(tmp_path) == before


def test_a_full_disk_for_many_outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(file: object, arrays: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.chdir(tmp_path)
    x = build.parameter([-1, 4], "f32", name="x")
    build.model([build.relu(x, name="y")], [x]).save("m.xml")
    np.save("x.npy", np.ones((2, 4), np.float32))
    monkeypatch.setattr("ir_exec.debug.values.files.store_npz", full)
    result = run("run", "m.xml", "--inputs", "x.npy", "-o", "out")
    assert result.exit_code == 2, result.output
    assert "IR009" in result.stderr
    assert left_in(tmp_path / "out") == ["manifest.jsonl"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("bundle", "m.xml", "-o", "b.zip"),
        ("reduce", "m.xml", "--until", "false {model}", "-o", "r.xml"),
        ("run", "m.xml", "--inputs", "x.npy", "-o", "out", "--jobs", "2"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_no_temporary_folder_is_one_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    def full(**options: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.chdir(tmp_path)
    x = build.parameter([-1, 4], "f32", name="x")
    build.model([build.relu(x, name="y")], [x]).save("m.xml")
    np.save("x.npy", np.ones((2, 4), np.float32))
    monkeypatch.setattr("ir_exec.ir.storage.tempfile.TemporaryDirectory", full)
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert "IR009" in result.stderr


def test_models_keep_links_modes_and_pipes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`edit` and `convert` write by the rules of reports."""
    monkeypatch.chdir(tmp_path)
    x = build.parameter([4], "f32", name="x")
    build.model([build.add(x, build.constant(np.ones(4, np.float32)), name="y")], [x]).save("m.xml")
    for command in ("edit", "convert"):
        Path("real").mkdir(exist_ok=True)
        for ending in ("xml", "bin"):
            target = Path("real", f"{command}.{ending}")
            os.symlink(target, f"{command}.{ending}")
        assert run(command, "m.xml", "-o", f"{command}.xml").exit_code == 0
        for ending in ("xml", "bin"):
            target = Path("real", f"{command}.{ending}")
            assert Path(f"{command}.{ending}").is_symlink()
            target.chmod(0o600)
        assert run(command, "m.xml", "-o", f"{command}.xml").exit_code == 0
        assert {stat.S_IMODE(path.stat().st_mode) for path in Path("real").glob(f"{command}.*")} == {0o600}
        assert run("check", f"{command}.xml").exit_code == 0
        for protect in (lambda path: path.chmod(0o444), lambda path: os.link(path, "second")):
            target.chmod(0o600)
            protect(target)
            before = {path: path.read_bytes() for path in Path("real").iterdir()}
            assert run(command, "m.xml", "-o", f"{command}.xml").exit_code == 2
            assert {path: path.read_bytes() for path in Path("real").iterdir()} == before
        os.unlink("second")
