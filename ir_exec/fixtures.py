"""The fixtures of the pytest plugin: checks and comparisons whose failures leave a page, and snapshots of outputs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from ir_exec.check import Report
from ir_exec.codes import Code
from ir_exec.debug import Comparison, compare, drawn_inputs
from ir_exec.debug.comparison.api import ReferenceLike
from ir_exec.debug.values.files import read_npz, write_npz
from ir_exec.errors import EvaluationError, IRError
from ir_exec.model import Model, Source, read_model
from ir_exec.runtime import compile_model
from ir_exec.runtime.arguments import Inputs, bind_inputs
from ir_exec.testing import FailedCheckError, NothingComparedError, assert_ir_ok
from ir_exec.types import Array
from ir_exec.view import PageView, page_of_reports, view
from ir_exec.view.html import html_of

__all__ = ["CheckFixture", "CompareFixture", "TestSettings"]

_FOLDER = "ir_snapshots"
"""The folder of snapshots, next to the file of the test."""

_INPUTS, _OUTPUTS = "inputs/", "outputs/"
"""Prefixes of names in a snapshot."""

_MOST_NAME = 120
"""Maximum characters of a file name without its extension, far below the 255 bytes of file systems."""


@dataclass(frozen=True)
class TestSettings:
    """The settings of one test.

    Attributes:
        test: The id of the test, with its file.
        path: The file of the test.
        name: The name of the test in its file, with its classes and parameters.
        is_updating: Write snapshots instead of comparing them.
        pages: The folder for pages of failed checks and comparisons.
        tolerances: The arguments of the marker.
        properties: Receives pairs of a name and a text for the JUnit report.
    """

    __test__ = False  # not a class of tests

    test: str
    path: Path
    name: str
    is_updating: bool = False
    pages: Path | None = None
    tolerances: Mapping[str, Any] = field(default_factory=dict)
    properties: list[tuple[str, object]] = field(default_factory=list)


class CheckFixture:
    """The function `ir_check`."""

    def __init__(self, settings: TestSettings) -> None:
        self._pages = _Pages(settings)

    def __call__(self, source: Source, *arguments: Any, **options: Any) -> Report:
        """Check a model, and fail with the complete report if it has errors.

        Args:
            source: A path, or a model in memory.
            arguments: As for `assert_ir_ok`.
            options: As for `assert_ir_ok`.

        Raises:
            AssertionError: If the report has errors, or with `strict` warnings or unchecked layers.
        """
        __tracebackhide__ = True
        try:
            return assert_ir_ok(source, *arguments, **options)
        except FailedCheckError as error:
            report = error.report
        page = self._pages.write(lambda: view(source) if report.path is None else page_of_reports([report]))
        raise AssertionError(f"{report}{page}")


class CompareFixture:
    """The function `ir_compare`. Without a reference, it compares with the snapshot of the test."""

    def __init__(self, settings: TestSettings) -> None:
        self._settings = settings
        self._pages = _Pages(settings)
        self._numbers = count(1)

    def __call__(
        self,
        model: Model | Source,
        reference: ReferenceLike | None = None,
        inputs: Inputs | None = None,
        seed: int = 0,
        *,
        name: str | None = None,
        **options: Any,
    ) -> Comparison:
        """Compare a model with a reference, and fail with the verdict and the report if they differ.

        Args:
            model: As for `compare`.
            reference: As for `compare`. By default the snapshot of the test: the inputs and outputs of the last run
                with `--ir-update`.
            inputs: As for `compare`. By default those of the snapshot; without one they are drawn.
            seed: As for `compare`.
            name: The name of the snapshot. By default it is the name of the test, with a number after the first.
            options: As for `compare`. Those of the marker `ir_tolerance` apply if they are not given.

        Raises:
            AssertionError: If the outputs differ, or if there is no snapshot.
            NothingComparedError: If no output has an element that is finite on both sides.
            IRError: The errors of `compare`.
        """
        __tracebackhide__ = True
        network = model if isinstance(model, Model) else read_model(model)
        if reference is None:
            snapshot = OutputSnapshot(self._path_of(name))
            if self._settings.is_updating:
                snapshot.write(network, inputs, seed)
            reference, inputs = snapshot.read(network, inputs)
        report = compare(network, reference, inputs, seed, **{**self._settings.tolerances, **options})
        self._settings.properties.append(("ir_verdict", str(report).partition("\n")[0]))
        if report.equal:
            return report
        page = self._pages.write(lambda: view(network, compare=report))
        if report.verdict == "not compared":
            raise NothingComparedError(f"{report}{page}", code=Code.unknown_input)
        raise AssertionError(f"{report}{page}")

    def _path_of(self, name: str | None) -> Path:
        settings = self._settings
        if name is None:
            number = next(self._numbers)
            name = settings.name + (f"-{number}" if number > 1 else "")
        return settings.path.parent / _FOLDER / settings.path.stem / f"{_file_name(name)}.npz"


class OutputSnapshot:
    """An .npz with the inputs and outputs of a run, as `inputs/NAME` and `outputs/NAME`."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, model: Model, inputs: Inputs | None, seed: int) -> None:
        """Run a model, and write its inputs and outputs.

        Args:
            inputs: By default those of the last snapshot, if the model has the same inputs, else drawn ones.
        """
        if inputs is None and self._path.exists():
            stored, _ = self._arrays()
            inputs = stored if stored.keys() == {port.name for port in model.inputs} else None
        inputs = drawn_inputs(model, seed) if inputs is None else inputs
        bound = {port.name: array for port, array in zip(model.inputs, bind_inputs(inputs, model.inputs), strict=True)}
        results = compile_model(model)(bound)
        arrays = {_INPUTS + name: array for name, array in bound.items()}
        arrays |= {_OUTPUTS + port.name: results[port.name] for port in model.outputs}
        self._path.parent.mkdir(parents=True, exist_ok=True)
        write_npz(self._path, arrays)

    def read(self, model: Model, inputs: Inputs | None) -> tuple[dict[str, Array], dict[str, Array]]:
        """Return the outputs and the inputs.

        Raises:
            AssertionError: If there is no snapshot, or if it is the snapshot of other inputs.
            IRError: The errors of `read_npz`.
        """
        __tracebackhide__ = True
        if not self._path.exists():
            raise AssertionError(f"{self._path} does not exist; write it with: pytest --ir-update")
        stored, outputs = self._arrays()
        if inputs is not None:
            bound = bind_inputs(inputs, model.inputs)
            for port, array in zip(model.inputs, bound, strict=True):
                if port.name not in stored or not _is_same(stored[port.name], array):
                    update = "write it again with: pytest --ir-update"
                    raise AssertionError(f'{self._path} is the snapshot of another input "{port.name}"; {update}')
        if not outputs:
            raise EvaluationError(
                f"{self._path} has no outputs", expected=f"arrays named {_OUTPUTS}NAME", code=Code.unknown_input
            )
        return outputs, stored

    def _arrays(self) -> tuple[dict[str, Array], dict[str, Array]]:
        arrays = read_npz(self._path)
        inputs, outputs = (
            {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
            for prefix in (_INPUTS, _OUTPUTS)
        )
        return inputs, outputs


def _is_same(left: Array, right: Array) -> bool:
    if left.shape != right.shape or left.dtype.kind in "OU" or right.dtype.kind in "OU":
        return left.shape == right.shape and bool(np.all(left == right))
    return left.dtype == right.dtype and left.tobytes() == right.tobytes()


class _Pages:
    """The pages of the failures of one test."""

    def __init__(self, settings: TestSettings) -> None:
        self._settings = settings
        self._numbers = count(1)

    def write(self, make_page: Callable[[], PageView]) -> str:
        """Write a page if a folder was chosen, and return a line with its path.

        The line has the error if the page cannot be made: a failure of a test is reported in any case.
        """
        folder = self._settings.pages
        if folder is None:
            return ""
        number = next(self._numbers)
        path = folder / f"{_file_name(self._settings.test)}{f'-{number}' if number > 1 else ''}.html"
        try:
            page: PageView = make_page()
            folder.mkdir(parents=True, exist_ok=True)
            path.write_text(html_of(page), encoding="utf-8", errors="backslashreplace")
        except (IRError, OSError) as error:
            return f"\npage: not written: {error}"
        return f"\npage: {path}"


def _file_name(text: str) -> str:
    """Return a text as the name of a file, with a digest if characters were replaced."""
    name = re.sub(r"[^\w.=,+\[\]-]+", "_", text, flags=re.ASCII).strip("._")
    if name == text and len(name) <= _MOST_NAME:
        return name
    return f"{name[:_MOST_NAME]}-{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
