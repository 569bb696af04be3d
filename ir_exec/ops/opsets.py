"""Which class stands for a layer's `type` and `version`.

`opsets.json` says which type is in which opset; the classes of this package say what each does from which opset on.
A look-up gives the newest version of the type that the named opset holds, and ignores case. Layers of other versions
are operators of extensions, for which users register classes of their own.
"""

from __future__ import annotations

import json
import os
import re
from functools import cache, lru_cache
from importlib import import_module
from typing import TYPE_CHECKING

from ir_exec.errors import GraphError, IRError, UnsupportedError
from ir_exec.ops.families import FAMILIES

if TYPE_CHECKING:
    from ir_exec.ops.base import Op

__all__ = [
    "LAST_OPSET",
    "opset_number",
    "register",
    "register_extension",
    "registered",
    "resolve",
    "unregister_extension",
]

LAST_OPSET = 17

_classes: dict[str, dict[int, type[Op]]] = {}
"""By type, and then by the opset from which on it stands; the modules that were not needed yet are missing."""

_extensions: dict[tuple[str, str], type[Op]] = {}
"""What users have registered, by type and version."""

_SPELLINGS = {"const": "constant"}

_OPSET = re.compile(r"opset([1-9]\d?)")

_FIRST_IN_OPSET2 = {"mvn", "roipooling", "reorgyolo"}
"""Types that were written as opset1 before opset2 gave them a home."""

_EXPERIMENTAL_IN_OPSET6 = {
    "experimentaldetectrondetectionoutput",
    "experimentaldetectrongenerateproposalssingleimage",
    "experimentaldetectronpriorgridgenerator",
    "experimentaldetectronroifeatureextractor",
    "experimentaldetectrontopkrois",
    "grucell",
    "rnncell",
    "proposal",
}
"""Types that were written as `experimental` or `extension` before opset6 took them in."""


def register(cls: type[Op], type_name: str, since: int) -> None:
    """Add a class; TypeError where another has its place."""
    versions = _classes.setdefault(_key(type_name), {})
    if since in versions:
        raise TypeError(f"{type_name}-{since} is {versions[since].__name__} already, {cls.__name__} cannot be too")
    versions[since] = cls
    resolve.cache_clear()


def register_extension(cls: type[Op], type_name: str, version: str) -> None:
    """Add a user's class for layers of this type and version; TypeError where another has its place."""
    key = _key(type_name)
    if opset_number(type_name, version) in _table().get(key, ()):
        raise TypeError(f"{type_name} of {version} is an operator of OpenVINO, which {cls.__name__} cannot replace")
    if (key, version) in _extensions:
        other = _extensions[key, version].__name__
        raise TypeError(f"{type_name} of {version!r} is {other} already, {cls.__name__} cannot be too")
    _extensions[key, version] = cls
    resolve.cache_clear()


def unregister_extension(type_name: str, version: str) -> None:
    """Forget a user's class; KeyError where there is none."""
    del _extensions[_key(type_name), version]
    resolve.cache_clear()


def registered() -> list[type[Op]]:
    """Every class for an operator of OpenVINO, by type and then by version."""
    for module in FAMILIES:
        _import(module)
    return [versions[since] for _, versions in sorted(_classes.items()) for since in sorted(versions)]


def opset_number(type_name: str, version: str) -> int | None:
    """The opset that a layer's `version` means for this type, or None where it names no opset of OpenVINO."""
    key = _key(type_name)
    if version in ("experimental", "extension") and key in _EXPERIMENTAL_IN_OPSET6:
        return 6
    match = _OPSET.fullmatch(version)
    if match is None or int(match[1]) > LAST_OPSET:
        return None
    number = int(match[1])
    return 2 if number == 1 and key in _FIRST_IN_OPSET2 else number


@lru_cache(maxsize=1024)
def resolve(type_name: str, version: str) -> type[Op]:
    """The class for a layer's type and version.

    Raises GraphError for what no release of OpenVINO knows: IR116 type, IR117 type not in this opset, IR118 opset;
    and UnsupportedError for what ir_exec does not have: IR901 operator without a class, IR902 operator of an extension.
    """
    key = _key(type_name)
    if (key, version) in _extensions:
        return _extensions[key, version]
    number = opset_number(type_name, version)
    if number is None:
        raise _no_opset(type_name, version)
    held_by = _table().get(key)
    if held_by is None:
        import difflib  # seldom needed

        near = difflib.get_close_matches(key, _table(), n=1)
        hint = f"did you mean {_spelling(near[0])}?" if near else None
        raise GraphError(f"no opset has an operator of type {type_name}", code="IR116", hint=hint)
    if number not in held_by:
        raise GraphError(f"{type_name} is not in {version}; it is in {_ranges(held_by)}", code="IR117")
    if key not in _classes and key in _homes():
        _import(_homes()[key])
    since = max((since for since in _classes.get(key, ()) if since <= number), default=None)
    if since is None:
        raise UnsupportedError(f"{type_name} of {version} is not implemented", code="IR901")
    return _classes[key][since]


def _no_opset(type_name: str, version: str) -> IRError:
    if version.startswith("opset"):
        message = f"there is no {version}; the opsets are opset1 to opset{LAST_OPSET}"
        return GraphError(message, code="IR118")
    message = f"{type_name} of {version!r} is an operator of an extension, which ir_exec does not know"
    return UnsupportedError(message, code="IR902", hint="ir_exec.register_op registers a class for it")


def _import(module: str) -> None:
    import_module(f"ir_exec.ops.{module}")


def _key(type_name: str) -> str:
    key = type_name.lower()
    return _SPELLINGS.get(key, key)


@cache
def _homes() -> dict[str, str]:
    return {_key(name): module for module, types in FAMILIES.items() for name in types.split()}


@cache
def _names() -> dict[str, list[int]]:
    # importlib.resources would import more than all that reading a network needs.
    with open(os.path.join(os.path.dirname(__file__), "opsets.json"), encoding="utf-8") as file:
        table: dict[str, list[int]] = json.load(file)
    return table


@cache
def _table() -> dict[str, frozenset[int]]:
    return {name.lower(): frozenset(opsets) for name, opsets in _names().items()}


def _spelling(key: str) -> str:
    """A type as files spell it."""
    spelt = {_key(name): name for types in FAMILIES.values() for name in types.split()}
    return spelt.get(key) or next(name for name in _names() if name.lower() == key)


def _ranges(opsets: frozenset[int]) -> str:
    """`opset1`, `opset3 to opset8 and opset11`."""
    runs: list[list[int]] = []
    for number in sorted(opsets):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return " and ".join(f"opset{run[0]}" + (f" to opset{run[-1]}" if len(run) > 1 else "") for run in runs)
