"""Hints about names that do not exist: those that are like them, of layers as of files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from itertools import islice

from ir_exec.readers import ENDINGS

__all__ = ["completed", "path_hint", "suggested"]

_MOST_NAMES = 3
_MOST_FILES = 5

_MOST_LOOKED_AT = 10_000
"""Files of a folder among which others are looked for."""

_FIRST = ("openvino_model.xml", "model.xml", "model.onnx")
"""What tools call the network itself, in a folder that holds tokenizers and the like too."""

_PART = re.compile(r"[/.:]+")


def suggested(name: str, known: Iterable[str]) -> str | None:
    """A hint that names up to three names like one that does not exist: misspelt, in other case, or the end of it."""
    near = _near(name, known)
    return f"did you mean {' or '.join(near)}?" if near else None


def _near(name: str, known: Iterable[str]) -> list[str]:
    import difflib  # few names are misspelt

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


def completed(path: str, endings: Iterable[str] = ENDINGS) -> list[str]:
    """The files that a path means which lacks the end of a network's name; none where there is such a path itself."""
    if os.path.exists(path) or not os.path.basename(path):
        return []
    return [path + ending for ending in endings if os.path.isfile(path + ending)]


def path_hint(path: str) -> str | None:
    """A hint about a path that is no file: what a folder holds, files of such a name, the folder that is not there."""
    try:
        return _folder_hint(path) if os.path.isdir(path) else _file_hint(path)
    except (OSError, ValueError):
        return None


def _folder_hint(folder: str) -> str | None:
    files = [name for name in _files(folder) if name.lower().endswith(ENDINGS)]
    if not files:
        return f"it contains no model: no file name ends in {' or '.join(ENDINGS)}"
    files.sort(key=lambda name: (_FIRST.index(name) if name in _FIRST else len(_FIRST), name))
    more = f" and {len(files) - _MOST_FILES:,} more" if len(files) > _MOST_FILES else ""
    shown = ", ".join(os.path.join(folder, name) for name in files[:_MOST_FILES])
    return f"name a file in it: {shown}{more}"


def _file_hint(path: str) -> str | None:
    if files := completed(path):
        return f"did you mean {' or '.join(files)}?"
    folder, name = os.path.split(path)
    if folder and not os.path.isdir(folder):
        while (above := os.path.dirname(folder)) and not os.path.isdir(above):
            folder = above
        return f"there is no folder {folder}"
    files = _files(folder or os.curdir)
    stem, ending = os.path.splitext(name)
    endings = (ending.lower(),) if ending else ENDINGS
    near = _of_stem(stem, files, endings) or _of_stem(stem, files, ENDINGS if endings[0] in ENDINGS else ("",))
    return f"did you mean {' or '.join(os.path.join(folder, one) for one in near)}?" if near else None


def _of_stem(stem: str, files: list[str], endings: tuple[str, ...]) -> list[str]:
    """The files with one of these ends whose names are like this one."""
    by_stem: dict[str, list[str]] = {}
    for file in files:
        if file.lower().endswith(endings):
            by_stem.setdefault(os.path.splitext(file)[0], []).append(file)
    return [file for one in _near(stem, by_stem) for file in by_stem[one]][:_MOST_NAMES]


def _files(folder: str) -> list[str]:
    with os.scandir(folder) as entries:
        return sorted(one.name for one in islice(entries, _MOST_LOOKED_AT) if one.is_file())
