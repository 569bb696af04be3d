"""The tables as the file that the package ships: `python -m tests.conformance.suite` writes it anew.

Rows of many elements stay out of it, so that the file is small.
"""

from __future__ import annotations

import lzma
from pathlib import Path

import ir_exec
from ir_exec.debug.device.tables.running import OperatorCase, pack_cases
from tests.conformance.case import Case
from tests.conformance.checks import families, table

__all__ = ["PATH", "shipped_cases"]

PATH = Path(ir_exec.__file__).parent / "debug" / "device" / "tables" / "cases.xz"

_MOST_BYTES = 20_000
"""Of the inputs of a row."""


def shipped_cases() -> list[OperatorCase]:
    """The rows of all tables that the package ships."""
    rows = [_to_operator_case(case) for family in families() for case in table(family)]
    return [case for case in rows if case.size <= _MOST_BYTES]


def _to_operator_case(case: Case) -> OperatorCase:
    return OperatorCase(
        case.type,
        case.opset,
        case.inputs,
        case.attribute_texts(),
        tuple(sorted(case.constants)),
        case.outputs,
        case.rtol,
        case.atol,
        case.note,
        case.oracle == "plugin" and not case.wide_vectors,
        case.dynamic,
    )


if __name__ == "__main__":
    PATH.write_bytes(lzma.compress(pack_cases(shipped_cases()), preset=9 | lzma.PRESET_EXTREME))
