"""The machine of the process, as far as kernels depend on it: only this module detects cores, caches and BLAS."""

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
"""OpenBLAS's AVX-512 kernels that multiply small matrices in place, without copying them first."""

_CORE_CACHE_BYTES, _SHARED_CACHE_BYTES = 2**20, 2**25
"""Sizes of caches if the system does not report them."""


@dataclass(frozen=True)
class Machine:
    """The properties of a machine that kernels use, each detected on first use.

    Attributes:
        multiplications_a_nanosecond: The speed of one core in a matrix product of f32. It is fixed to the speed of a
            core with AVX2: a measured number would split products differently in each process, and so round them
            differently.
    """

    multiplications_a_nanosecond: float = 50.0

    @property
    def cores(self) -> int:
        """The cores that this process may run on, which may change while it runs."""
        return available_cores()

    @cached_property
    def core_cache_bytes(self) -> int:
        """The cache of one core. It determines the order of moving elements, and does not change results."""
        return _cache_bytes(2, _CORE_CACHE_BYTES)

    @cached_property
    def shared_cache_bytes(self) -> int:
        """The cache that cores share. It determines the order of moving elements, and does not change results."""
        return _cache_bytes(3, _SHARED_CACHE_BYTES)

    @cached_property
    def cache_line_bytes(self) -> int:
        """The memory that is fetched at a time."""
        return 64

    @cached_property
    def has_small_kernels(self) -> bool:
        """Return True if BLAS multiplies small matrices in place.

        It determines how products are split and which convolutions are products of bands, and so changes last bits.
        """
        kinds = {getattr(library, "architecture", None) for library in blas_libraries()}
        return bool(kinds) and kinds <= _WITH_SMALL_KERNELS


_MACHINE = Machine()


def machine() -> Machine:
    """The machine of this process."""
    return _MACHINE


@contextmanager
def pretend(**fields: Any) -> Iterator[Machine]:
    """Replace fields of the machine in the whole process, for tests and measurements.

    The variants already selected by a compiled model are kept.
    """
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
    """The BLAS libraries in this process whose threads can be limited for the process, from threadpoolctl."""
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]  # it has no type hints

    libraries = ThreadpoolController().select(user_api="blas").lib_controllers
    if any(getattr(library, "threading_layer", None) == "openmp" for library in libraries):
        return ()
    return tuple([library for library in libraries if library.get_num_threads() is not None])


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
    quotas = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:
            quotas += _limits(os.path.join(root, "sys/fs/cgroup"), path, _unified_quota)
        elif "cpu" in controllers.split(","):
            quotas += _limits(os.path.join(root, "sys/fs/cgroup/cpu"), path, _legacy_quota)
    return quotas


def _limits(mount: str, path: str, read: Callable[[str], tuple[int, int]]) -> list[int]:
    limits = []
    parts = path.strip("/").split("/")
    # A container may see its own group as the root, while the path is relative to the host.
    for depth in range(len(parts), -1, -1):
        try:
            quota, period = read(os.path.join(mount, *parts[:depth]))
        except (OSError, ValueError):
            continue
        if quota > 0 and period > 0:
            limits.append(ceil(quota / period))
    return limits


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
    """The size of the first core's caches of this level, as reported by Linux."""
    for index in range(8):
        try:
            folder = f"sys/devices/system/cpu/cpu0/cache/index{index}"
            if int(_read("/", f"{folder}/level")) == level:
                return int(_read("/", f"{folder}/size").strip().removesuffix("K")) * 1024
        except (OSError, ValueError):
            break
    return otherwise
