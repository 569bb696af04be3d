"""The facts that the process finds out about its machine, and that no other module reads them."""

from __future__ import annotations

import ast
import os
from pathlib import Path
from typing import Any

import pytest

import ir_exec
from ir_exec.tuning import machine as probing
from ir_exec.tuning.machine import Machine, available_cores, machine, pretend

PACKAGE = Path(ir_exec.__file__).parent
OF_THE_MACHINE = {"cpu_count", "process_cpu_count", "sched_getaffinity", "threadpoolctl", "show_config", "architecture"}


def group(root: Path, path: str, **files: str) -> None:
    folder = root / "sys/fs/cgroup" / path
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)


def belongs(root: Path, *lines: str) -> None:
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text("\n".join(lines) + "\n")


@pytest.fixture
def cores(monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(os, "process_cpu_count", lambda: 8, raising=False)
    return 8


def test_quota_of_the_group(tmp_path: Path, cores: int) -> None:
    belongs(tmp_path, "0::/jobs/mine")
    group(tmp_path, "jobs/mine", cpu__max="250000 100000\n")
    assert available_cores(tmp_path) == 3


def test_quota_of_a_group_around(tmp_path: Path, cores: int) -> None:
    belongs(tmp_path, "0::/jobs/mine")
    group(tmp_path, "jobs/mine", cpu__max="max 100000\n")
    group(tmp_path, "jobs", cpu__max="200000 100000\n")
    assert available_cores(tmp_path) == 2


def test_quota_seen_from_inside_a_container(tmp_path: Path, cores: int) -> None:
    belongs(tmp_path, "0::/docker/0123abcd")
    group(tmp_path, ".", cpu__max="50000 100000\n")
    assert available_cores(tmp_path) == 1


def test_quota_of_the_first_kind_of_groups(tmp_path: Path, cores: int) -> None:
    belongs(tmp_path, "5:memory:/mine", "1:cpu,cpuacct:/mine")
    group(tmp_path, "cpu/mine", cpu__cfs_quota_us="400000\n", cpu__cfs_period_us="100000\n")
    assert available_cores(tmp_path) == 4
    group(tmp_path, "cpu/mine", cpu__cfs_quota_us="-1\n")
    assert available_cores(tmp_path) == cores


@pytest.mark.parametrize("text", ["", "nonsense", "1 2 3", "0 0"])
def test_unreadable_value_is_no_limit(tmp_path: Path, cores: int, text: str) -> None:
    assert available_cores(tmp_path) == cores
    belongs(tmp_path, "0::/mine")
    group(tmp_path, "mine", cpu__max=text)
    assert available_cores(tmp_path) == cores


class Library:
    """A BLAS as threadpoolctl has it."""

    def __init__(self, architecture: str, threading_layer: str = "pthreads") -> None:
        self.architecture = architecture
        self.threading_layer = threading_layer

    def get_num_threads(self) -> int:
        return 8


@pytest.mark.parametrize(
    ("libraries", "expected"),
    [
        ([], False),
        ([Library("SkylakeX")], True),
        ([Library("Haswell")], False),
        ([Library("SkylakeX"), Library("Zen")], False),
        ([Library("SkylakeX", "openmp")], False),
    ],
)
def test_small_kernels(libraries: list[Library], expected: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    class Controller:
        lib_controllers = libraries

        def select(self, user_api: str) -> Controller:
            assert user_api == "blas"
            return self

    monkeypatch.setattr("threadpoolctl.ThreadpoolController", Controller)
    probed = probing.blas_libraries.__wrapped__()
    assert len(probed) == (0 if any(library.threading_layer == "openmp" for library in libraries) else len(libraries))
    monkeypatch.setattr(probing, "blas_libraries", lambda: probed)
    assert Machine().has_small_kernels == expected


def test_caches() -> None:
    assert 2**14 <= machine().core_cache_bytes <= 2**28
    assert 2**18 <= machine().shared_cache_bytes <= 2**34
    assert machine().cores == available_cores()


def test_another_machine_for_a_while() -> None:
    before = machine()
    with pretend(has_small_kernels=True, core_cache_bytes=7) as other:
        assert machine() is other
        assert (other.has_small_kernels, other.core_cache_bytes) == (True, 7)
    assert machine() is before


def test_nothing_else_asks_for_cores_caches_or_blas() -> None:
    asking = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names: list[Any] = [getattr(node, field, None) for field in ("attr", "id", "module", "name")]
            if OF_THE_MACHINE.intersection(name for name in names if isinstance(name, str)):
                asking.add(path.relative_to(PACKAGE).as_posix())
    assert asking == {"tuning/machine.py"}
