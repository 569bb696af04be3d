"""Answers of earlier processes: the same as OpenVINO's, and never in the way."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.conformance import kept
from tests.conformance.build import build
from tests.conformance.case import Case
from tests.conformance.kept import VARIABLE, KeptAnswers, cache_folder
from tests.conformance.oracle import Oracle, Refused, Request

KEY = bytes(range(32))
ANSWER = ("answer", [("f32", (2, 3), b"\x00\x01"), ("string", (1,), ["ü"])])
DATA = np.arange(6, dtype=np.float32).reshape(2, 3)


def gather(indices: object, axis: int = 0) -> Case:
    return Case("GatherElements", 6, (DATA, np.array(indices)), {"axis": axis})


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_an_answer_comes_back(tmp_path: Path) -> None:
    KeptAnswers(tmp_path).put(KEY, ANSWER)
    assert KeptAnswers(tmp_path).get(KEY) == ANSWER
    assert KeptAnswers(tmp_path).get(KEY[::-1]) is None
    assert [path.suffix for path in files(tmp_path)] == [""]


@pytest.mark.parametrize("damage", ["cut off", "empty", "changed"])
def test_a_damaged_answer_is_none(damage: str, tmp_path: Path) -> None:
    answers = KeptAnswers(tmp_path)
    answers.put(KEY, ANSWER)
    (path,) = files(tmp_path)
    data = path.read_bytes()
    changed = bytes([*data[:-5], data[-5] ^ 1, *data[-4:]])
    path.write_bytes({"cut off": data[:-1], "empty": b"", "changed": changed}[damage])
    assert answers.get(KEY) is None
    answers.put(KEY, ANSWER)
    assert answers.get(KEY) == ANSWER


def test_swapped_answer_is_rejected(tmp_path: Path) -> None:
    answers = KeptAnswers(tmp_path)
    answers.put(KEY, ANSWER)
    answers.put(KEY[::-1], ("answer", []))
    first, other = files(tmp_path)
    first.write_bytes(other.read_bytes())
    assert sorted([answers.get(KEY) is None, answers.get(KEY[::-1]) is None]) == [False, True]


def test_file_with_code_is_not_loaded(tmp_path: Path) -> None:
    marker = tmp_path / "ran"

    class Harmful:
        def __reduce__(self) -> tuple[object, tuple[Path]]:
            return Path.touch, (marker,)

    assert pickle.loads(pickle.dumps(Harmful())) is None
    assert marker.exists()
    marker.unlink()
    answers = KeptAnswers(tmp_path / "answers")
    answers.put(KEY, Harmful())
    assert answers.get(KEY) is None
    assert not marker.exists()


def test_other_versions_of_openvino_have_other_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    KeptAnswers(tmp_path).put(KEY, ANSWER)
    monkeypatch.setattr(kept, "asked_how", lambda: "2020.1")
    assert KeptAnswers(tmp_path).get(KEY) is None


def test_unwritable_folder_stores_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    answers = KeptAnswers(tmp_path / "file")
    answers.put(KEY, ANSWER)
    assert answers.get(KEY) is None


def test_several_processes_write_and_read_at_once(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from tests.conformance.kept import KeptAnswers\n"
        "answers = KeptAnswers(Path(sys.argv[1]))\n"
        "for i in range(300):\n"
        "    key = bytes([i % 3]) * 32\n"
        "    assert answers.get(key) in (None, ('answer', ['x' * 100_000]))\n"
        "    answers.put(key, ('answer', ['x' * 100_000]))\n"
    )
    root = Path(__file__).parents[2]
    writers = [subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], cwd=root) for _ in range(3)]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    assert len(files(tmp_path)) == 3


def test_the_second_oracle_asks_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [Request("plugin", build(gather([[0, 1, 0]]))), Request("types", build(gather([[0, 1, 0]])))]
    asked.append(Request("plugin", build(gather([0]))))
    with Oracle(disk=KeptAnswers(tmp_path)) as oracle:
        first = list(oracle.ask_all(asked))
    monkeypatch.setattr(Oracle, "start", lambda self: pytest.fail("OpenVINO was started"))
    with Oracle(disk=KeptAnswers(tmp_path)) as oracle:
        values, types, refused = oracle.ask_all(asked)
    assert np.array_equal(values[0], first[0][0])
    assert types == first[1]
    assert isinstance(refused, Refused)
    assert refused == first[2]


def test_crashes_and_timeouts_are_asked_again(tmp_path: Path) -> None:
    crashing = build(Case("MaxPool", 1, (), {"kernel": (2, 2), "strides": (1, 1)}))
    with Oracle(disk=KeptAnswers(tmp_path)) as oracle:
        assert oracle.types(crashing) == Refused("crashed")
    with Oracle(timeout=0.0, disk=KeptAnswers(tmp_path)) as hasty:
        assert hasty.values(build(gather([[0, 1, 0]]))) == Refused("timed out")
    assert files(tmp_path) == []


@pytest.mark.parametrize(
    "other",
    [
        Request("reference", build(gather([[0, 1, 0]]))),
        Request("plugin", build(gather([[0, 1, 1]]))),
        Request("plugin", build(gather([[0, 1, 0]], axis=1))),
        Request("plugin", build(gather([[0], [1], [0]]))),
        Request("plugin", build(gather([[0, 1, 0]])), ((2, 3), (1, 3))),
    ],
)
def test_other_requests_have_other_digests(other: Request) -> None:
    assert other.digest() != Request("plugin", build(gather([[0, 1, 0]]))).digest()


def test_equal_requests_have_one_digest_in_every_process() -> None:
    script = (
        "from tests.conformance.test_kept import *\nprint(Request('plugin', build(gather([[0, 1, 0]]))).digest().hex())"
    )
    told = subprocess.run(
        [sys.executable, "-c", script], cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True
    )
    assert told.stdout.strip() == Request("plugin", build(gather([[0, 1, 0]]))).digest().hex()


@pytest.mark.parametrize("told", ["off", "OFF", "0", ""])
def test_it_can_be_switched_off(told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, told)
    assert cache_folder() is None


def test_cache_location(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setattr(sys, "platform", "linux")
    assert cache_folder() == tmp_path / "xdg" / "ir_exec" / "openvino-answers"
    for relative in ("", "some/where"):
        monkeypatch.setenv("XDG_CACHE_HOME", relative)
        assert cache_folder() == tmp_path / "home" / ".cache" / "ir_exec" / "openvino-answers"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert cache_folder() == tmp_path / "home" / "Library" / "Caches" / "ir_exec" / "openvino-answers"
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert cache_folder() == tmp_path / "local" / "ir_exec" / "openvino-answers"


def test_a_user_without_a_home_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError

    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(Path, "home", no_home)
    assert cache_folder() is None
