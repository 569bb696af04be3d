"""Hints: similar names of layers and files, packages that are not installed, and words of commands."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Sequence
from itertools import islice

from ir_exec.hub_cache import cached_ids, cached_path, is_repository_path
from ir_exec.readers import ENDINGS

__all__ = [
    "closest_names",
    "complete_path",
    "did_you_mean",
    "install_hint",
    "path_hint",
    "path_word",
    "shell_word",
    "suggested",
]

_MOST_NAMES = 3
_MOST_FILES = 5

_MOST_LOOKED_AT = 10_000
"""Maximum number of files of a folder that are searched."""

_FIRST = ("openvino_model.xml", "model.xml", "model.onnx")
"""File names that tools use for the main model of a folder that also contains tokenizers and other models."""

_PART = re.compile(r"[/.:]+")


def install_hint(extra: str) -> str:
    """A hint with the command that installs an extra of ir_exec, which is installed from a clone."""
    return f"in a clone of ir_exec, run pip install '.[{extra}]'"


def closest_names(name: str, names: Iterable[str], count: int = 1, *, similarity: float = 0.6) -> list[str]:
    """Return the names with the most similar spelling in any case, the most similar first.

    Args:
        count: Maximum number of names.
        similarity: Minimum similarity, from 0 to 1: twice the number of common characters over that of all characters.
    """
    import difflib  # imported on demand: few names are misspelled

    by_spelling: dict[str, list[str]] = {}
    for text in dict.fromkeys(names):
        by_spelling.setdefault(text.casefold(), []).append(text)
    similar = difflib.get_close_matches(name.casefold(), by_spelling, n=count, cutoff=similarity)
    return [text for spelling in similar for text in by_spelling[spelling]][:count]


def did_you_mean(names: Sequence[str]) -> str | None:
    """Return a hint with the names that an unknown one may refer to; None without names."""
    return f"did you mean {' or '.join(names)}?" if names else None


def suggested(name: str, candidates: Iterable[str]) -> str | None:
    """A hint with up to three names similar to an unknown one: misspelled, in other case, or ending with it."""
    return did_you_mean(_similar(name, candidates))


def _similar(name: str, candidates: Iterable[str]) -> list[str]:
    names = dict.fromkeys(candidates)
    names = dict.fromkeys(text for text in names if not (text.endswith(":0") and text[:-2] in names))
    similar = closest_names(name, names, _MOST_NAMES)
    lowered = name.lower()
    if not similar and len(name) > 1:
        ends = sorted((text for text in names if text.lower().endswith(lowered)), key=len)
        inside = sorted((text for text in names if lowered in text.lower()), key=len)
        similar = [*ends, *inside]
    if not similar:
        last = {text: _PART.split(text)[-1].lower() for text in names}
        parts = closest_names(_PART.split(lowered)[-1], last.values(), _MOST_NAMES, similarity=0.7)
        similar = [text for part in parts for text in names if last[text] == part]
    return list(dict.fromkeys(similar))[:_MOST_NAMES]


def shell_word(text: str) -> str:
    """Return a text as one word of a command line."""
    if os.name == "nt":
        return text if re.fullmatch(r"[\w.:/\\-]+", text) else '"' + text.replace('"', '""') + '"'
    return shlex.quote(text)


def path_word(path: str) -> str:
    """Return a path as one word of a command line that is not an option."""
    return shell_word(os.path.join(os.curdir, path) if path.startswith("-") else path)


def complete_path(path: str, endings: Iterable[str] = ENDINGS) -> list[str]:
    """The files that a path without its file name extension may refer to; none if the path itself exists."""
    if os.path.exists(path) or not os.path.basename(path):
        return []
    return [path + ending for ending in endings if os.path.isfile(path + ending)]


def path_hint(path: str) -> str | None:
    """A hint for a path that is not a file: the models of a folder, files with similar names, the missing folder.

    For the form of a repository, `org/name`, it lists the similar ids in the cache of Hugging Face.
    """
    if is_repository_path(path) and (near := _repository_hint(path)) is not None:
        return near
    try:
        return _folder_hint(path) if os.path.isdir(path) else _file_hint(path)
    except (OSError, ValueError):
        return None


def _repository_hint(path: str) -> str | None:
    """A hint with the repositories in the cache, or the files of one, that a path may refer to; None without any."""
    steps = path.split("/")
    repository, inner = "/".join(steps[:2]), steps[2:]
    folder = cached_path(repository)
    if folder is None:
        ids = cached_ids()
        return did_you_mean(closest_names(repository, ids, _MOST_NAMES) or _similar(steps[1], ids))
    outer = "/".join([repository, *inner[:-1]])
    directory = cached_path(outer)
    if directory is None or not inner or not os.path.isdir(directory):
        return None
    return did_you_mean([f"{outer}/{name}" for name in closest_names(inner[-1], _files(directory), _MOST_NAMES)])


def _folder_hint(folder: str) -> str | None:
    files = [name for name in _files(folder) if name.lower().endswith(ENDINGS)]
    if not files:
        return f"name a file that ends in {' or '.join(ENDINGS)}: the folder contains none"
    files.sort(key=lambda name: (_FIRST.index(name) if name in _FIRST else len(_FIRST), name))
    more = f" and {len(files) - _MOST_FILES:,} more" if len(files) > _MOST_FILES else ""
    shown = ", ".join(os.path.join(folder, name) for name in files[:_MOST_FILES])
    return f"name a file of the folder: {shown}{more}"


def _file_hint(path: str) -> str | None:
    if files := complete_path(path):
        return did_you_mean(files)
    folder, name = os.path.split(path)
    if folder and not os.path.isdir(folder):
        while (above := os.path.dirname(folder)) and not os.path.isdir(above):
            folder = above
        return f"check the folder: {folder} does not exist"
    files = _files(folder or os.curdir)
    stem, ending = os.path.splitext(name)
    endings = (ending.lower(),) if ending else ENDINGS
    near = _of_stem(stem, files, endings) or _of_stem(stem, files, ENDINGS if endings[0] in ENDINGS else ("",))
    return did_you_mean([os.path.join(folder, file) for file in near])


def _of_stem(stem: str, files: list[str], endings: tuple[str, ...]) -> list[str]:
    """The files with one of these extensions whose names are similar to this one."""
    by_stem: dict[str, list[str]] = {}
    for file in files:
        if file.lower().endswith(endings):
            by_stem.setdefault(os.path.splitext(file)[0], []).append(file)
    return [file for similar in _similar(stem, by_stem) for file in by_stem[similar]][:_MOST_NAMES]


def _files(folder: str) -> list[str]:
    with os.scandir(folder) as entries:
        return sorted(entry.name for entry in islice(entries, _MOST_LOOKED_AT) if entry.is_file())
