"""Damaged files of IR versions 2 to 7: checked, read and run."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import ir_exec
from tests.fuzz.drawing import HOSTILE_TEXTS, damage
from tests.fuzz.frame import Subject, only_our_errors
from tests.older.cases import CASES

__all__ = ["SUBJECT"]

_VALUES = (
    *["9" * 5000, "9" * 19, "-1", "1e400", "nan", "inf", "0", "1_0", "\u00b2", "2.5", "1,2,3,4", "", "Const", "FP31"],
    *["4294967296", "true", "MIXED", "U1"],
)
_TEXTS = tuple("".join([char for char in text if char.isprintable() and char not in '<&"']) for text in HOSTILE_TEXTS)


def run(random: Random, folder: Path) -> None:
    file, inputs, _ = CASES[random.choice(sorted(CASES))]()
    text = file.xml.decode()
    for _ in range(random.randint(1, 3)):
        text = _change_value(text, random)
    xml = damage(text.encode("utf-8", "replace"), random) if random.random() < 0.3 else text.encode("utf-8", "replace")
    weights = damage(file.stored, random) if random.random() < 0.3 else file.stored
    report = ir_exec.check_model(xml, weights=weights)
    assert "IR999" not in {diagnostic.code for diagnostic in report.diagnostics}
    with only_our_errors():
        model = ir_exec.read_model(xml, weights)
        ir_exec.compile_model(model, max_memory=2**26, max_seconds=1.0)(inputs)


def _change_value(text: str, random: Random) -> str:
    """Replace an attribute, a dim or an element's name by another value."""
    places = [match.span(1) for match in re.finditer(r'="([^"]*)"|<dim>([^<]*)</dim>', text) if match[1] is not None]
    places += [match.span(1) for match in re.finditer(r"<dim>([^<]*)</dim>", text)]
    start, end = random.choice(places)
    return text[:start] + random.choice((*_VALUES, *_TEXTS)) + text[end:]


SUBJECT = Subject(run, cases=200)
