"""The inputs and attributes of ONNX's operators, and of the operators of onnxruntime in com.microsoft.

They are stored in `signatures.json`, one entry for each version that changed them. `python -m tests.onnx.signatures`
writes it from the definitions in onnx and onnxruntime, which need not be installed here, or may be older.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

__all__ = ["DeclaredAttribute", "DeclaredInput", "Signature", "declarations_of", "find_signature", "operators_of"]


class DeclaredInput(NamedTuple):
    """An input.

    Attributes:
        variable: The name of its type, shared by inputs of equal types; only for com.microsoft.
        kinds: The names of the accepted element types; empty for all.
    """

    name: str
    variable: str
    is_required: bool
    is_variadic: bool
    kinds: frozenset[str]


class DeclaredAttribute(NamedTuple):
    """An attribute.

    Attributes:
        type_name: Its type in AttributeProto.
        default: None if there is no default.
    """

    type_name: str
    is_required: bool
    default: Any


class Signature(NamedTuple):
    """The signature of a version of an operator.

    Attributes:
        outputs: The maximum number of outputs; 0 if not stored, as for all domains but com.microsoft.
    """

    inputs: tuple[DeclaredInput, ...]
    attributes: Mapping[str, DeclaredAttribute]
    outputs: int


@cache
def find_signature(domain: str, name: str, version: int) -> Signature | None:
    """The signature of an operator in a version of its domain; None for an unknown operator."""
    entries = _entries().get(domain, {}).get(name, {})
    since = max((since for since in entries if since <= version), default=None)
    return None if since is None else _read_entry(entries[since])


def operators_of(domain: str) -> frozenset[str]:
    """The names of a domain's operators."""
    return frozenset(_entries().get(domain, ()))


@cache
def declarations_of(domain: str, operator: str, name: str) -> Mapping[int, DeclaredAttribute]:
    """An attribute in each stored version of an operator that has it."""
    entries = {since: _read_entry(entry) for since, entry in _entries().get(domain, {}).get(operator, {}).items()}
    return {since: entry.attributes[name] for since, entry in entries.items() if name in entry.attributes}


@cache
def _entries() -> dict[str, dict[str, dict[int, Mapping[str, Any]]]]:
    """The stored entries by domain, operator and version."""
    # Importing importlib.resources takes longer than reading the file.
    with open(os.path.join(os.path.dirname(__file__), "signatures.json"), encoding="utf-8") as file:
        stored = json.load(file)
    operators: dict[str, dict[str, dict[int, Mapping[str, Any]]]] = {}
    for domain, entries in stored.items():
        by_name = operators.setdefault(domain, {})
        for key, entry in entries.items():
            name, _, since = key.rpartition("-")
            by_name.setdefault(name, {})[int(since)] = entry
    return operators


def _read_entry(entry: Mapping[str, Any]) -> Signature:
    types = entry.get("types", {})
    inputs = []
    for text in entry["inputs"].split():
        name, _, variable = text.rstrip("?*").partition(":")
        # A lower-case type is no variable.
        kinds = types.get(variable, variable if variable[:1].islower() else "")
        is_required, is_variadic = not text.endswith(("?", "*")), text.endswith("*")
        inputs.append(DeclaredInput(name, variable, is_required, is_variadic, frozenset(kinds.split("|")) - {""}))
    attributes = {name: _read_attribute(declared) for name, declared in entry.get("attributes", {}).items()}
    return Signature(tuple(inputs), attributes, entry.get("outputs", 0))


def _read_attribute(stored: str | list[Any]) -> DeclaredAttribute:
    if isinstance(stored, str):
        return DeclaredAttribute(stored.removesuffix("?"), not stored.endswith("?"), None)
    type_name, default = stored
    if type_name == "FLOAT":
        # The number that a file stores: a float of 32 bits.
        (default,) = struct.unpack("f", struct.pack("f", default))
    return DeclaredAttribute(type_name, False, tuple(default) if isinstance(default, list) else default)
