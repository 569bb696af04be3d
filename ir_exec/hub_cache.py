"""Repositories in the cache of the Hugging Face Hub on this machine, by their ids, `org/name`. No network is used.

`HF_HUB_CACHE` names the folder of the cache, or `HF_HOME` the folder above `hub`. A snapshot is a folder of links; the
one of the branch `main` is named in `refs/main`. Source: the documentation of huggingface_hub, "Understand caching".
"""

from __future__ import annotations

import os
import re

from ir_exec.readers import ENDINGS

__all__ = ["cached_ids", "cached_path", "is_repository_path", "main_model", "resolve_model"]

_PATH = re.compile(r"([A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95})((?:/[\w.-]{1,95}){0,8})", re.ASCII)
"""An id, and the path of a file or folder in the repository."""

_MOST_REFERENCE = 256
"""Maximum characters of the name of a snapshot."""

_PREFIX = "models--"
_MOST_REPOSITORIES = 10_000

_MAIN = ("openvino_model.xml", "model.xml", "model.onnx", os.path.join("onnx", "model.onnx"))
"""The files of the main model of a repository, which may have tokenizers and other models as well."""


def is_repository_path(path: object) -> bool:
    """Return True for a text of the form `org/name` or `org/name/file`, unless a file or folder has this path."""
    return isinstance(path, str) and _PATH.fullmatch(path) is not None and not os.path.lexists(path)


def cached_path(path: object) -> str | None:
    """Return the path in the cache of `org/name` or `org/name/file`; None for other paths, and if it is not cached.

    An existing path always has priority.
    """
    match = _PATH.fullmatch(path) if isinstance(path, str) and not os.path.lexists(path) else None
    if match is None:
        return None
    repository, inner = match.groups()
    snapshot = _snapshot_of(repository)
    parts = [part for part in inner.split("/") if part]
    if snapshot is None or ".." in parts or "." in parts:
        return None
    cached = os.path.join(snapshot, *parts)
    return cached if os.path.exists(cached) else None


def main_model(folder: str) -> str | None:
    """Return the path of the main model of a folder: its usual name, or the only model; None if there is none."""
    for name in _MAIN:
        if os.path.isfile(path := os.path.join(folder, name)):
            return path
    try:
        models = sorted(entry.path for entry in os.scandir(folder) if entry.name.lower().endswith(ENDINGS))
    except OSError:
        return None
    return models[0] if len(models) == 1 else None


def resolve_model(source: object) -> object:
    """Return the model file of `org/name` or `org/name/file` in the cache; any other source is returned unchanged."""
    cached = cached_path(source)
    if cached is None:
        return source
    return (main_model(cached) or cached) if os.path.isdir(cached) else cached


def cached_ids() -> list[str]:
    """Return the ids of the repositories in the cache that have a snapshot."""
    try:
        names = sorted(entry.name for entry in os.scandir(_cache_folder()) if entry.name.startswith(_PREFIX))
    except OSError:
        return []
    ids = [name.removeprefix(_PREFIX).replace("--", "/", 1) for name in names[:_MOST_REPOSITORIES]]
    return [repository for repository in ids if _PATH.fullmatch(repository) and _snapshot_of(repository) is not None]


def _snapshot_of(repository: str) -> str | None:
    """Return the folder of the snapshot of a repository; without a branch `main`, it is the only snapshot."""
    folder = os.path.join(_cache_folder(), _PREFIX + repository.replace("/", "--"))
    snapshots = os.path.join(folder, "snapshots")
    try:
        with open(os.path.join(folder, "refs", "main"), encoding="ascii") as file:
            name = file.read(_MOST_REFERENCE).strip()
    except (OSError, ValueError):
        name = ""
    try:
        names = sorted(entry.name for entry in os.scandir(snapshots) if entry.is_dir())
    except OSError:
        return None
    if not name and len(names) == 1:
        name = names[0]
    return os.path.join(snapshots, name) if name in names else None


def _cache_folder() -> str:
    for variable in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if folder := os.environ.get(variable):
            return os.path.expanduser(folder)
    home = os.environ.get("HF_HOME")
    if not home:
        home = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "huggingface")
    return os.path.join(os.path.expanduser(home), "hub")
