"""Bytes, names and JSON that no tool writes, drawn from a Random."""

from __future__ import annotations

import json
from collections.abc import Sequence
from random import Random
from typing import Any

__all__ = ["HOSTILE_TEXTS", "damage", "draw_json", "draw_name"]

HOSTILE_TEXTS = (
    "",
    " ",
    "a b",
    "a\nb",
    "\r\n::error::x",
    "::error::x",
    "##[error]x",
    "%0A::error::x",
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "\x00",
    "\x7f\x85\x9b",
    "\u202etxt.exe",
    "\u200b\ufeff",
    "]]>",
    "<!--",
    "&lt;&#10;",
    "<script>alert(1)</script>",
    "${HOME} $(touch done) `touch done`",
    "'; touch done #",
    '"; touch done #',
    "{model} {inputs} {0} %s",
    "../../x",
    "/dev/null",
    "-",
    "--",
    "--help",
    "--extension=evil.xml",
    "\ud800",
    "é漢",
    "x" * 300,
    "=1+1",
)
"""Names and texts for files of every kind."""

_NUMBERS = (0, 1, -1, 7, 255, 2**15, 2**16 - 1, 2**31 - 1, 2**32 - 1, 2**63 - 1, 2**64 - 1)

_VALUES = (
    None,
    True,
    False,
    0,
    -1,
    1,
    2**31,
    2**63,
    10**30,
    0.5,
    -0.0,
    1e308,
    float("inf"),
    float("nan"),
    "",
    "x",
    [],
    {},
)


def damage(raw: bytes, random: Random) -> bytes:
    """Return a copy with one to four changes: bytes, integers, ranges that are removed, repeated or moved, the end."""
    changed = bytearray(raw)
    for _ in range(random.randint(1, 4)):
        if not changed:
            break
        start = random.randrange(len(changed))
        size = random.choice((1, 2, 4, 16, 100))
        match random.randrange(7):
            case 0:
                changed[start] = random.randrange(256)
            case 1:
                width = random.choice((2, 4, 8))
                number = random.choice(_NUMBERS) % 256**width
                changed[start : start + width] = number.to_bytes(width, "little")
            case 2:
                del changed[start : start + size]
            case 3:
                changed[start:start] = changed[start : start + size]
            case 4:
                del changed[start:]
            case 5:
                digits = [position for position, byte in enumerate(changed) if chr(byte).isdigit()]
                if digits:
                    changed[random.choice(digits)] = random.choice(b"0179-")
            case _:
                changed[start:start] = random.choice(HOSTILE_TEXTS).encode("utf-8", "surrogatepass")
    return bytes(changed)


def draw_name(random: Random, others: Sequence[str] = ()) -> str:
    """Return a hostile text or one of the others."""
    return random.choice((*HOSTILE_TEXTS, *others))


def draw_json(random: Random, keys: Sequence[str] = (), depth: int = 3) -> Any:
    """Return a value for `json.dumps`: hostile texts and numbers, lists, objects with these keys."""
    match random.randrange(6) if depth else random.randrange(3):
        case 0:
            return random.choice(_VALUES)
        case 1 | 2:
            return random.choice(HOSTILE_TEXTS)
        case 3:
            return [draw_json(random, keys, depth - 1) for _ in range(random.randrange(4))]
        case 4:
            return json.loads("[" * 50 + "]" * 50)
        case _:
            names = [draw_name(random, tuple(keys) * 3) for _ in range(random.randrange(4))]
            return {name: draw_json(random, keys, depth - 1) for name in names}
