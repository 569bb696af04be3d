"""Operators of strings with damaged inputs, patterns and attributes, within little memory and time."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import ir_exec
from ir_exec.types import Array
from tests.fuzz.drawing import HOSTILE_TEXTS, damage
from tests.fuzz.frame import Subject, only_our_errors
from tests.text.ops.test_ops_operators import CASES, Case, file_of

__all__ = ["SUBJECT"]

_MAX_MEMORY = 2**22
_MAX_SECONDS = 0.2

_PLACES = (-1, 0, 1, 2, 7, 100, 2**20, 2**31 - 1, -(2**31))

_PATTERNS = (
    *[
        "^(a|aa)+$",
        "(a*)*b",
        r"(?R)?x",
        r"\((?:[^()]|(?R))*\)",
        "(?:a?){30}a{30}",
        r"(\w+\s?)+!",
        "",
        "(",
        "[",
        "a{9999999}",
    ],
    *[
        r"\p{",
        r"\x{110000}",
        r"(?<=a+)b",
        "(?P<n>a)(?P=n)",
        "(" * 300 + ")" * 300,
        r"\Q",
        "(?#",
        "[[:x:]]",
        "[^]",
        "$",
        "|",
    ],
)

_TEXTS = (
    "a" * 60 + "b",
    "(" * 2000,
    "word " * 100,
    "\u0301" * 500,
    "\ufdfa" * 100,
    "\U0001f600" * 9,
    "".join(HOSTILE_TEXTS),
)


def run(random: Random, folder: Path) -> None:
    case = random.choice(CASES)
    inputs = [_change(array, random) if random.random() < 0.4 else array for array in case.inputs]
    attributes = {name: _attribute(value, random) for name, value in case.attributes.items()}
    constants = frozenset(position for position in range(len(inputs)) if random.random() < 0.3)
    changed = Case(case.type, inputs, case.outputs, attributes, constants, case.version)
    path, arrays = file_of(changed, folder)
    report = ir_exec.check_model(path)
    assert "IR999" not in {diagnostic.code for diagnostic in report.diagnostics}
    with only_our_errors():
        compiled = ir_exec.compile_model(path, max_memory=_MAX_MEMORY, max_seconds=_MAX_SECONDS)
        outputs = compiled(arrays)
        assert sum(array.nbytes for array in outputs.values()) <= 2 * _MAX_MEMORY


def _attribute(value: Any, random: Random) -> Any:
    if random.random() < 0.8:
        return value
    text = random.choice((*HOSTILE_TEXTS, "9" * 5000, "1e400", "true", "-5"))
    # XML has neither control characters nor single surrogates.
    return "".join([char for char in text if char.isprintable()])


def _change(array: Array, random: Random) -> Array:
    if array.dtype == np.uint8 and array.ndim == 1:
        draw = random.randrange(3)
        if draw == 0:
            return np.frombuffer(damage(array.tobytes(), random), np.uint8)
        text = random.choice(_PATTERNS if draw == 1 else _TEXTS)
        return np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8)
    changed = array.copy()
    if array.dtype == np.int32 and array.size:
        for _ in range(random.randint(1, 3)):
            changed.reshape(-1)[random.randrange(array.size)] = random.choice(_PLACES)
    match random.randrange(6):
        case 0:
            return changed[:0] if array.ndim else changed
        case 1:
            return np.tile(changed, 100) if array.ndim == 1 else changed
        case 2:
            return changed[np.newaxis]
        case _:
            return changed


SUBJECT = Subject(run, cases=200)
