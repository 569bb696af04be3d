"""OpenVINO's answers in the user's cache folder, so that each request is answered once on a machine.

An answer is in a separate file, named by the digest of the request, in a folder named after OpenVINO's version.
`IR_EXEC_ORACLE_CACHE` names another folder, or is `off`. The folder may be deleted at any time.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import pickle
import platform
import sys
import tempfile
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import numpy as np

__all__ = ["VARIABLE", "KeptAnswers", "cache_folder", "has_wide_vectors"]

VARIABLE: Final = "IR_EXEC_ORACLE_CACHE"

_DIGEST_BYTES: Final = 32


def cache_folder() -> Path | None:
    """The folder of stored answers; None without one."""
    told = os.environ.get(VARIABLE)
    if told is not None:
        return None if told.lower() in ("", "0", "off") else Path(told)
    with contextlib.suppress(RuntimeError):  # there is no home
        return _users_cache() / "ir_exec" / "openvino-answers"
    return None


def _users_cache() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # The specification of XDG has relative paths ignored.
    return named if named.is_absolute() else Path.home() / ".cache"


@cache
def _extensions() -> tuple[str, ...]:
    """The vector extensions of this processor, as NumPy names them."""
    extensions: tuple[str, ...] = tuple(np.show_config(mode="dicts")["SIMD Extensions"].get("found", ()))  # type: ignore[index, call-overload]  # the stubs know no such dictionary
    return extensions


def has_wide_vectors() -> bool:
    """Return True if this processor has AVX-512, on which OpenVINO's CPU plugin depends. NumPy has renamed it once."""
    return not {"AVX512_SKX", "AVX512F", "X86_V4"}.isdisjoint(_extensions())


@cache
def asked_how() -> str:
    """The context of answers in addition to the request: OpenVINO's version, processor, and code of the worker."""
    worker = Path(__file__).with_name("worker.py").read_bytes()
    asked = hashlib.sha256(worker + repr(_extensions()).encode())
    return f"{metadata.version('openvino')}-{platform.machine()}-{asked.hexdigest()[:12]}"


class KeptAnswers:
    """A folder of answers. One that cannot be read or written is as good as an empty one.

    folder: that of all versions of OpenVINO; None keeps nothing.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = None if folder is None else folder / asked_how()

    def get(self, key: bytes) -> Any | None:
        """The answer to the request of this digest; None where there is none, or a damaged one."""
        if self._folder is None:
            return None
        try:
            data = self._path(key).read_bytes()
        except OSError:
            return None
        digest, body = data[:_DIGEST_BYTES], data[_DIGEST_BYTES:]
        if hashlib.sha256(key + body).digest() != digest:
            return None
        try:
            return _PlainUnpickler(io.BytesIO(body)).load()
        except (pickle.UnpicklingError, EOFError):
            return None

    def put(self, key: bytes, answer: Any) -> None:
        """Keep an answer of strings, bytes, numbers, lists, tuples and dictionaries."""
        if self._folder is None:
            return
        body = pickle.dumps(answer, protocol=5)
        path = self._path(key)
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            # Another process may write the same answer, or read it: the file appears whole, or not at all.
            with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as part:
                try:
                    part.write(hashlib.sha256(key + body).digest() + body)
                    part.close()
                    os.replace(part.name, path)
                except OSError:
                    os.unlink(part.name)

    def _path(self, key: bytes) -> Path:
        assert self._folder is not None
        name = key.hex()
        return self._folder / name[:2] / name[2:]


class _PlainUnpickler(pickle.Unpickler):
    """Reads plain data; a file with any other reference is refused."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"{module}.{name} is no plain data")
