"""A change made in memory: the functions that are imported already run other code.

A change of a constant, a class or a default is none of functions alone; it raises `UnpatchableError`, and the module
must be imported anew.
"""

from __future__ import annotations

import functools
import gc
import importlib
import inspect
import operator
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Final

from tests.mutate.changes import Change

__all__ = ["Functions", "UnpatchableError", "import_changed"]


class UnpatchableError(Exception):
    """The change cannot be made in functions that live."""


class Functions:
    """All functions and caches below a folder that live now."""

    def __init__(self, folder: Path) -> None:
        self._root = folder.parent
        self._functions: dict[str, list[FunctionType]] = {}
        self._caches: list[functools._lru_cache_wrapper[object]] = []
        for candidate in gc.get_objects():
            if type(candidate) is FunctionType and candidate.__code__.co_filename.startswith(f"{folder}/"):
                self._functions.setdefault(candidate.__code__.co_filename, []).append(candidate)
            elif (
                type(candidate) is functools._lru_cache_wrapper
                and candidate.__module__.partition(".")[0] == folder.name
            ):
                self._caches.append(candidate)

    def forget_results(self) -> None:
        """Empty the caches: what is in them was computed by other code."""
        for cache in self._caches:
            cache.cache_clear()

    def change(self, change: Change) -> None:
        """Let the functions run the changed source.

        Raises:
            UnpatchableError: more than functions differ, or one of them holds other variables than before.
        """
        path = str(self._root / change.path)
        source = Path(path).read_bytes()
        before, after = (compile(text, path, "exec", dont_inherit=True) for text in (source, change.apply_to(source)))
        others = {
            _location_of(old): (old, new) for pair in _differing(before, after) for old, new in _nested_functions(*pair)
        }
        changed = False
        for function in self._functions.get(path, ()):
            old, new = others.get(_location_of(function.__code__), (None, None))
            if old is not None and new is not None and _is_same(function.__code__, old):
                if old.co_freevars != new.co_freevars:
                    raise UnpatchableError
                function.__code__ = new
                changed = True
        if not changed:
            raise UnpatchableError


def import_changed(change: Change) -> None:
    """Import the module of a change as it was, where nothing has imported it yet."""
    importlib.import_module(change.path.removesuffix(".py").removesuffix("/__init__").replace("/", "."))


def _differing(before: CodeType, after: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """The outermost functions of a module or class that are not what they were."""
    old, new = _inner(before), _inner(after)
    if _shallow(before) != _shallow(after) or [code.co_name for code in old] != [code.co_name for code in new]:
        raise UnpatchableError
    for code, other in zip(old, new, strict=True):
        if not _is_same(code, other):
            if code.co_flags & inspect.CO_OPTIMIZED:
                yield code, other
            else:
                yield from _differing(code, other)


def _nested_functions(old: CodeType, new: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """A function and those in it. Where the change took one away, or added one, those in it are left as they are."""
    yield old, new
    inner_old, inner_new = _inner(old), _inner(new)
    if [code.co_name for code in inner_old] == [code.co_name for code in inner_new]:
        for code, other in zip(inner_old, inner_new, strict=True):
            yield from _nested_functions(code, other)


def _is_same(left: CodeType, other: CodeType) -> bool:
    """Return True if both have equal code, at any lines."""
    ones, others = _inner(left), _inner(other)
    return _shallow(left) == _shallow(other) and len(ones) == len(others) and all(map(_is_same, ones, others))


_OF_CODE: Final = operator.attrgetter(
    *("co_name", "co_code", "co_flags", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_argcount"),
    *("co_kwonlyargcount", "co_posonlyargcount", "co_exceptiontable"),
)


def _shallow(code: CodeType) -> list[object]:
    """The shallow content of a code object. Constants with their types, for 1, 1.0 and True are equal."""
    constants = [(type(const), repr(const)) for const in code.co_consts if not isinstance(const, CodeType)]
    return [*_OF_CODE(code), constants]


def _inner(code: CodeType) -> list[CodeType]:
    return [const for const in code.co_consts if isinstance(const, CodeType)]


def _location_of(code: CodeType) -> tuple[str, int]:
    return code.co_qualname, code.co_firstlineno
