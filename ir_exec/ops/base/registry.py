"""The operator class for a layer's `type` and `version`.

`opsets.json` is the only table of types, under their names in files:
- home: the module below `ir_exec.ops` that registers the classes of the type.
- opsets: the opsets that contain the type. A look-up returns the newest version in the named opset.
- function: the function of `ir_exec.build` if its name does not follow from the capitals of the type, as in OpenVINO's
  Python functions; null if the builder has a function of a different form.
- aliases: other names of the type. Names are compared case-insensitively, only here.
- versions: other values of `version` that mean an opset; some files declare opset1 for types introduced in opset2.

A module is imported when the first of its types is looked up: a model uses few operators, and a process waits for all
of its imports. Other types and versions are operators of extensions, and users register classes for them.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable
from functools import cache, lru_cache
from importlib import import_module
from typing import NamedTuple, TypeVar

from ir_exec.codes import Code
from ir_exec.errors import GraphError, IRError, UnsupportedError
from ir_exec.hints import closest_names, did_you_mean
from ir_exec.ops.base.known_extensions import EXTENSION_MODULES, EXTENSION_VERSIONS, internal_operator
from ir_exec.ops.base.operator import Op, check_contract

__all__ = [
    "LAST_OPSET",
    "canonical",
    "extension_version",
    "homes",
    "names_of_types",
    "newest",
    "op",
    "opset_number",
    "provide_extension",
    "provided_extensions",
    "register",
    "register_extension",
    "registered",
    "registered_extensions",
    "resolve",
    "spelled_functions",
    "type_key",
    "unregister_extension",
]

LAST_OPSET = 17

classes_of_type: dict[str, dict[int, type[Op]]] = {}
"""By type, then by the opset that introduced the version; modules not yet needed by a layer are missing."""

EXTENSIONS: dict[tuple[str, str], type[Op]] = {}
"""Classes registered by users, by type and version."""

_provided: dict[tuple[str, str], type[Op]] = {}
"""ir_exec's own classes for operators of extensions, by type and version; their modules are imported when needed."""

_OPSET = re.compile(r"opset([1-9]\d?)")


class _Type(NamedTuple):
    """A row of the table."""

    name: str
    home: str
    opsets: frozenset[int]
    versions: dict[str, int]
    function: str | None


@cache
def _table() -> dict[str, _Type]:
    """The table, by every name of a type in lower case."""
    # Importing importlib.resources takes longer than importing all modules needed to read a model.
    with open(os.path.join(os.path.dirname(__file__), "opsets.json"), encoding="utf-8") as file:
        rows = json.load(file)
    table = {}
    for name, row in rows.items():
        entry = _Type(name, row["home"], frozenset(row["opsets"]), row.get("versions", {}), row.get("function", ""))
        for spelling in (name, *row.get("aliases", ())):
            table[spelling.lower()] = entry
    return table


def canonical(type_name: str) -> str:
    """The name in files of this type of OpenVINO, for any case; any other name unchanged."""
    row = _table().get(type_name.lower())
    return row.name if row is not None else type_name


def type_key(type_name: str) -> str:
    """The key shared by all spellings of a type, including types of extensions, used for comparisons."""
    return canonical(type_name).lower()


def homes() -> list[str]:
    """Every module that registers operators, by its name below `ir_exec.ops`."""
    return sorted({row.home for row in _table().values()})


def names_of_types() -> list[str]:
    """Every type of OpenVINO, by its name in files."""
    return sorted({row.name for row in _table().values()})


@cache
def spelled_functions() -> dict[str, str | None]:
    """The functions of `ir_exec.build` whose names do not follow from the type; None for those of a different form."""
    return {row.name: row.function for row in _table().values() if row.function != ""}


Class = TypeVar("Class", bound=type[Op])


def op(type_name: str, *, since: int) -> Callable[[Class], Class]:
    """Register a class for operator `type_name`, introduced in opset `since`.

    Raises:
        TypeError: If the class violates the contract: a method whose parameters are not the declared inputs, an unknown
            context, or a (type, since) that another class has already.
    """

    def decorate(cls: Class) -> Class:
        cls.since = since
        check_contract(cls, type_name)
        register(cls, type_name, since)
        return cls

    return decorate


def register(cls: type[Op], type_name: str, since: int) -> None:
    """Add the class of a type introduced in opset `since`.

    Raises:
        TypeError: If another class is registered.
    """
    versions = classes_of_type.setdefault(type_key(type_name), {})
    if since in versions:
        raise TypeError(f"{type_name}-{since} is registered as {versions[since].__name__}, not as {cls.__name__}")
    versions[since] = cls
    resolve.cache_clear()


def register_extension(cls: type[Op], type_name: str, version: str) -> None:
    """Add a user's class for layers of this type and version.

    Raises:
        TypeError: If another class is registered.
    """
    key = type_key(type_name)
    row = _table().get(key)
    if row is not None and opset_number(type_name, version) in row.opsets:
        raise TypeError(f"{type_name} of {version} is an operator of OpenVINO, which {cls.__name__} cannot replace")
    if (key, version) in EXTENSIONS:
        other = EXTENSIONS[key, version].__name__
        raise TypeError(f"{type_name} of {version!r} is registered as {other}, not as {cls.__name__}")
    EXTENSIONS[key, version] = cls
    resolve.cache_clear()


def provide_extension(cls: type[Op], type_name: str, version: str) -> None:
    """Add ir_exec's own class for layers of a known extension; a user's class takes precedence."""
    _provided[type_key(type_name), version] = cls


def _provided_class(key: str, version: str) -> type[Op] | None:
    """ir_exec's own class for this type of an extension; its module is imported when needed."""
    module = EXTENSION_MODULES.get(key)
    if module is None or version not in EXTENSION_VERSIONS:
        return None
    import_module(module)
    return _provided.get((key, version))


def provided_extensions() -> list[tuple[str, type[Op]]]:
    """Every class of ir_exec itself for operators of extensions, by type and then by version."""
    for module in sorted(set(EXTENSION_MODULES.values())):
        import_module(module)
    return [(version, cls) for (_, version), cls in sorted(_provided.items(), key=lambda entry: entry[0])]


def extension_version(type_name: str) -> str | None:
    """The version of the user's class for this type; None if there is no class, or several."""
    versions = [version for key, version in EXTENSIONS if key == type_key(type_name)]
    return versions[0] if len(versions) == 1 else None


def unregister_extension(type_name: str, version: str) -> None:
    """Remove a user's class.

    Raises:
        KeyError: If no class is registered.
    """
    del EXTENSIONS[type_key(type_name), version]
    resolve.cache_clear()


def registered() -> list[type[Op]]:
    """Every class for an operator of OpenVINO, by type and then by version."""
    for home in homes():
        _import(home)
    return [versions[since] for _, versions in sorted(classes_of_type.items()) for since in sorted(versions)]


def registered_extensions() -> list[tuple[str, type[Op]]]:
    """Every class registered by users, by type and then by version."""
    return [(version, cls) for (_, version), cls in sorted(EXTENSIONS.items(), key=lambda entry: entry[0])]


def opset_number(type_name: str, version: str) -> int | None:
    """The number of the opset that `version` means for this type; None if it is not an opset of OpenVINO."""
    row = _table().get(type_key(type_name))
    if row is not None and version in row.versions:
        return row.versions[version]
    match = _OPSET.fullmatch(version)
    return int(match[1]) if match is not None and int(match[1]) <= LAST_OPSET else None


@lru_cache(maxsize=1024)
def resolve(type_name: str, version: str) -> type[Op]:
    """The class for a layer's type and version.

    Raises:
        GraphError: For operators that no release of OpenVINO has: IR116 type, IR117 type not in this opset, IR118
            opset.
        UnsupportedError: For operators that ir_exec does not implement: IR901 operator without a class, IR902 operator
            of an extension.
    """
    key = type_key(type_name)
    if (key, version) in EXTENSIONS:
        return EXTENSIONS[key, version]
    number = opset_number(type_name, version)
    if number is None:
        provided = _provided_class(key, version)
        if provided is not None:
            return provided
        raise _no_opset(type_name, version)
    row = _table().get(key)
    if row is None:
        message = f"no opset has an operator of type {type_name}"
        raise GraphError(message, code=Code.unknown_type, hint=did_you_mean(nearest_types(key)))
    if number not in row.opsets:
        raise GraphError(
            f"{type_name} is not in {version}; it is in {_ranges(row.opsets)}", code=Code.type_not_in_opset
        )
    if key not in classes_of_type:
        _import(row.home)
    since = max((since for since in classes_of_type.get(key, ()) if since <= number), default=None)
    if since is None:
        raise UnsupportedError(f"{type_name} of {version} is not implemented", code=Code.operator_not_implemented)
    return classes_of_type[key][since]


def newest(type_name: str) -> type[Op] | None:
    """The class of the newest version of a type of OpenVINO; None for other types, and if no version has a class."""
    row = _table().get(type_name.lower())
    if row is None:
        return None
    _import(row.home)
    versions = classes_of_type.get(row.name.lower())
    return versions[max(versions)] if versions else None


SHORT = 6
"""Minimum length of a type in which one wrong letter leaves a pair of letters unchanged."""

MOST_COMPARED = 8
"""Number of types compared letter by letter with an unknown one, since a file may have thousands of unknown types."""


@lru_cache(maxsize=1024)
def nearest_types(key: str) -> tuple[str, ...]:
    """The known type with the most similar spelling; none if no spelling is similar."""
    if len(key) < SHORT:
        return tuple([_table()[candidate].name for candidate in closest_names(key, _table())])
    shared = Counter(candidate for pair in _pairs(key) for candidate in _types_by_pair().get(pair, ()))
    best = sorted(shared, key=lambda candidate: -shared[candidate] / (len(candidate) + len(key)))[:MOST_COMPARED]
    return tuple([_table()[candidate].name for candidate in closest_names(key, best)])


@cache
def _types_by_pair() -> dict[str, list[str]]:
    """The known types by the pairs of adjacent letters in their names."""
    names: dict[str, list[str]] = {}
    for name in _table():
        for pair in _pairs(name):
            names.setdefault(pair, []).append(name)
    return names


def _pairs(key: str) -> set[str]:
    return {key[start : start + 2] for start in range(len(key) - 1)}


def _no_opset(type_name: str, version: str) -> IRError:
    if version.startswith("opset"):
        return GraphError(
            "unknown opset", actual=version, expected=f"opset1 to opset{LAST_OPSET}", code=Code.unknown_opset
        )
    internal = internal_operator(type_key(type_name), version)
    if internal is not None:
        message = f"{type_name} of {version!r} is {internal.description}"
        return UnsupportedError(message, code=Code.extension_operator, hint=internal.hint)
    message = f"{type_name} of {version!r} is an operator of an unknown extension"
    return UnsupportedError(
        message, code=Code.extension_operator, hint="register a class for it with ir_exec.register_op"
    )


@cache
def _import(home: str) -> None:
    """Import the module of operators once: another import of it is a lookup of ten microseconds."""
    import_module(f"ir_exec.ops.{home}")


def _ranges(opsets: frozenset[int]) -> str:
    """`opset1`, `opset3 to opset8 and opset11`."""
    runs: list[list[int]] = []
    for number in sorted(opsets):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return " and ".join(f"opset{run[0]}" + (f" to opset{run[-1]}" if len(run) > 1 else "") for run in runs)
