"""One layer of each type, with the values that it has to give, computed in NumPy without ir_exec."""

from __future__ import annotations

from tests.older.cases_by_family import detection, elementwise, layers, movement, windows
from tests.older.cases_by_family.single import CASES, Case, image

__all__ = ["CASES", "Case", "image"]

FAMILIES = (windows, elementwise, movement, detection, layers)
"""Importing a family adds its cases."""
