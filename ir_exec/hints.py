"""Hints: similar names of layers and files, packages that are not installed, and words of commands."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable
from itertools import islice

from ir_exec.readers import ENDINGS

__all__ = ["completed", "install_hint", "path_hint", "path_word", "shell_word", "suggested"]

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


def suggested(name: str, known: Iterable[str]) -> str | None:
    """A hint with up to three names similar to an unknown one: misspelled, in other case, or ending with it."""
    near = _near(name, known)
    return f"did you mean {' or '.join(near)}?" if near else None


def _near(name: str, known: Iterable[str]) -> list[str]:
    import difflib  # imported on demand: few names are misspelled

    names = dict.fromkeys(known)
    names = dict.fromkeys(text for text in names if not (text.endswith(":0") and text[:-2] in names))
    wanted = name.lower()
    found = [text for text in names if text.lower() == wanted]
    found += difflib.get_close_matches(name, list(names), n=_MOST_NAMES)
    if not found and len(name) > 1:
        ends = sorted((text for text in names if text.lower().endswith(wanted)), key=len)
        inside = sorted((text for text in names if wanted in text.lower()), key=len)
        found = [*ends, *inside]
    if not found:
        last = {text: _PART.split(text)[-1].lower() for text in names}
        part = _PART.split(wanted)[-1]
        like = difflib.get_close_matches(part, list(dict.fromkeys(last.values())), n=_MOST_NAMES, cutoff=0.7)
        found = [text for one in like for text in names if last[text] == one]
    return list(dict.fromkeys(found))[:_MOST_NAMES]


def shell_word(text: str) -> str:
    """Return a text as one word of a command line."""
    if os.name == "nt":
        return text if re.fullmatch(r"[\w.:/\\-]+", text) else '"' + text.replace('"', '""') + '"'
    return shlex.quote(text)


def path_word(path: str) -> str:
    """Return a path as one word of a command line that is not an option."""
    return shell_word(os.path.join(os.curdir, path) if path.startswith("-") else path)


def completed(path: str, endings: Iterable[str] = ENDINGS) -> list[str]:
    """The files that a path without its file name extension may refer to; none if the path itself exists."""
    if os.path.exists(path) or not os.path.basename(path):
        return []
    return [path + ending for ending in endings if os.path.isfile(path + ending)]


def path_hint(path: str) -> str | None:
    """A hint for a path that is not a file: the models of a folder, files with similar names, the missing folder."""
    try:
        return _folder_hint(path) if os.path.isdir(path) else _file_hint(path)
    except (OSError, ValueError):
        return None


def _folder_hint(folder: str) -> str | None:
    files = [name for name in _files(folder) if name.lower().endswith(ENDINGS)]
    if not files:
        return f"name a file that ends in {' or '.join(ENDINGS)}: the folder contains none"
    files.sort(key=lambda name: (_FIRST.index(name) if name in _FIRST else len(_FIRST), name))
    more = f" and {len(files) - _MOST_FILES:,} more" if len(files) > _MOST_FILES else ""
    shown = ", ".join(os.path.join(folder, name) for name in files[:_MOST_FILES])
    return f"name a file of the folder: {shown}{more}"


def _file_hint(path: str) -> str | None:
    if files := completed(path):
        return f"did you mean {' or '.join(files)}?"
    folder, name = os.path.split(path)
    if folder and not os.path.isdir(folder):
        while (above := os.path.dirname(folder)) and not os.path.isdir(above):
            folder = above
        return f"check the folder: {folder} does not exist"
    files = _files(folder or os.curdir)
    stem, ending = os.path.splitext(name)
    endings = (ending.lower(),) if ending else ENDINGS
    near = _of_stem(stem, files, endings) or _of_stem(stem, files, ENDINGS if endings[0] in ENDINGS else ("",))
    return f"did you mean {' or '.join(os.path.join(folder, one) for one in near)}?" if near else None


def _of_stem(stem: str, files: list[str], endings: tuple[str, ...]) -> list[str]:
    """The files with one of these extensions whose names are similar to this one."""
    by_stem: dict[str, list[str]] = {}
    for file in files:
        if file.lower().endswith(endings):
            by_stem.setdefault(os.path.splitext(file)[0], []).append(file)
    return [file for one in _near(stem, by_stem) for file in by_stem[one]][:_MOST_NAMES]


def _files(folder: str) -> list[str]:
    with os.scandir(folder) as entries:
        return sorted(one.name for one in islice(entries, _MOST_LOOKED_AT) if one.is_file())
