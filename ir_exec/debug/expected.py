"""The outputs of a run beside those that were expected."""

from __future__ import annotations

import os
from pathlib import Path

from ir_exec.codes import Code
from ir_exec.debug.metrics import Difference, difference
from ir_exec.debug.reference import ArraysReference, arrays_in
from ir_exec.debug.settings import Settings
from ir_exec.errors import EvaluationError
from ir_exec.runtime import Results
from ir_exec.types import ElementType

__all__ = ["differences"]


def differences(
    results: Results, path: str | os.PathLike[str], rtol: float | None = None, atol: float | None = None
) -> dict[str, Difference | None]:
    """How far each output is from the array of its name, or out0, out1, ..., in an .npz or a folder of .npy files.

    None for outputs that have no array there. rtol, atol: as for `compare`. Raises EvaluationError where none has one.
    """
    settings = Settings(rtol=rtol, atol=atol)
    names = [str(name) for name in results]  # of a mapping by name that takes positions too
    kinds = {name: str(ElementType.of(array)) for name, array in zip(names, results.to_tuple(), strict=True)}
    kinds |= {f"out{position}": kinds[name] for position, name in enumerate(names)}
    expected = ArraysReference(arrays_in(Path(path), []), os.fspath(path), names, kinds)
    keys = {name: entry.key for entry in expected.entries() for name in entry.names}
    found: dict[str, Difference | None] = {}
    for name, tensor_names, ours in zip(names, results.names(), results.to_tuple(), strict=True):
        key = next((keys[one] for one in (name, *sorted(tensor_names)) if one in keys), None)
        theirs = None if key is None else expected.output(key)
        if theirs is None:
            found[name] = None
        else:
            tolerance = settings.carried([ElementType.of(ours), ElementType.of(theirs)])
            found[name] = difference(ours, theirs, tolerance)
    if not any(found.values()):
        raise EvaluationError(f"the network and {os.fspath(path)} have no value in common", code=Code.unknown_input)
    return found
