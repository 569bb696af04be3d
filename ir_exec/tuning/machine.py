"""The machine that the process runs on, as far as kernels ask: this module alone looks for cores, caches and BLAS."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import ceil
from typing import Any

__all__ = ["Machine", "available_cores", "blas_libraries", "machine", "pretend"]

_WITH_SMALL_KERNELS = {"SkylakeX", "Cooperlake", "SapphireRapids"}
"""OpenBLAS's kernels, for AVX-512, that multiply small matrices as they lie in memory, without copying them first."""

_CORE_CACHE_BYTES, _SHARED_CACHE_BYTES = 2**20, 2**25
"""Caches where the system says nothing about them."""


@dataclass(frozen=True)
class Machine:
    """What kernels know about a machine. Each is looked up when it is first asked for.

    multiplications_a_nanosecond: what one core does in a matrix product of f32. A measured number would cut products
        into other pieces in each process, and so round them in other ways: it is that of a core with AVX2.
    """

    multiplications_a_nanosecond: float = 50.0

    @property
    def cores(self) -> int:
        """The cores that this process may run on, which may change while it runs."""
        return available_cores()

    @cached_property
    def core_cache_bytes(self) -> int:
        """The cache of one core. It decides in which order elements are moved, and changes no result."""
        return _cache_bytes(2, _CORE_CACHE_BYTES)

    @cached_property
    def shared_cache_bytes(self) -> int:
        """The cache that cores share. It decides in which order elements are moved, and changes no result."""
        return _cache_bytes(3, _SHARED_CACHE_BYTES)

    @cached_property
    def cache_line_bytes(self) -> int:
        """The memory that is fetched at a time."""
        return 64

    @cached_property
    def has_small_kernels(self) -> bool:
        """Whether BLAS multiplies small matrices as they lie in memory. It decides how products are cut, and which
        convolutions are products of bands, and so changes last bits."""
        kinds = {getattr(library, "architecture", None) for library in blas_libraries()}
        return bool(kinds) and kinds <= _WITH_SMALL_KERNELS


_MACHINE = Machine()


def machine() -> Machine:
    """The machine of this process."""
    return _MACHINE


@contextmanager
def pretend(**fields: Any) -> Iterator[Machine]:
    """Let kernels believe in a machine with other fields, in the whole process: for tests and measurements. What a
    compiled model has chosen already stays."""
    global _MACHINE
    before, other = _MACHINE, Machine()
    vars(other).update(vars(before), **fields)
    _MACHINE = other
    try:
        yield other
    finally:
        _MACHINE = before


@lru_cache(1)
def blas_libraries() -> tuple[Any, ...]:
    """The BLAS libraries of this process whose threads are limited for the process, and can be, as threadpoolctl has
    them."""
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]  # it has no type hints

    found = ThreadpoolController().select(user_api="blas").lib_controllers
    if any(getattr(library, "threading_layer", None) == "openmp" for library in found):
        return ()
    return tuple([library for library in found if library.get_num_threads() is not None])


def available_cores(root: str | os.PathLike[str] = "/") -> int:
    """The cores that this process may run on, within the limits of its control groups."""
    if hasattr(os, "process_cpu_count"):
        cores = os.process_cpu_count() or 1
    elif hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return max(1, min([cores, *_quotas(os.fspath(root))]))


def _quotas(root: str) -> list[int]:
    """The limits of the control groups of this process and of their parents, in cores rounded up."""
    try:
        lines = _read(root, "proc/self/cgroup").splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:
            found += _limits(os.path.join(root, "sys/fs/cgroup"), path, _unified_quota)
        elif "cpu" in controllers.split(","):
            found += _limits(os.path.join(root, "sys/fs/cgroup/cpu"), path, _legacy_quota)
    return found


def _limits(mount: str, path: str, read: Callable[[str], tuple[int, int]]) -> list[int]:
    found = []
    parts = path.strip("/").split("/")
    # A container may see its own group as the root, while the path is still that of the host.
    for depth in range(len(parts), -1, -1):
        try:
            quota, period = read(os.path.join(mount, *parts[:depth]))
        except (OSError, ValueError):
            continue
        if quota > 0 and period > 0:
            found.append(ceil(quota / period))
    return found


def _unified_quota(group: str) -> tuple[int, int]:
    quota, period = _read(group, "cpu.max").split()
    return (-1 if quota == "max" else int(quota)), int(period)


def _legacy_quota(group: str) -> tuple[int, int]:
    return int(_read(group, "cpu.cfs_quota_us")), int(_read(group, "cpu.cfs_period_us"))


def _read(folder: str, name: str) -> str:
    # Importing pathlib takes longer than all of this.
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return file.read()


def _cache_bytes(level: int, otherwise: int) -> int:
    """The size of the caches of this level that the first core has, as Linux tells it."""
    for index in range(8):
        try:
            folder = f"sys/devices/system/cpu/cpu0/cache/index{index}"
            if int(_read("/", f"{folder}/level")) == level:
                return int(_read("/", f"{folder}/size").strip().removesuffix("K")) * 1024
        except (OSError, ValueError):
            break
    return otherwise
