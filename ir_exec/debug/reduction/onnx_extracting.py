"""Extraction of a part of an ONNX file as an ONNX file, with the values at the cut."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ir_exec.build.cutting import region_at
from ir_exec.codes import Code
from ir_exec.debug.reduction.extracting import values_at
from ir_exec.debug.traces.walk import Visit, Walker
from ir_exec.debug.values.entries import Entry, Key, entries_of
from ir_exec.debug.values.files import Spill, write_npz
from ir_exec.errors import EvaluationError
from ir_exec.model import Model
from ir_exec.onnx.editing.checking import check_edit, infer_types
from ir_exec.onnx.editing.cutting import OnnxPart, cut_between
from ir_exec.onnx.editing.inlining import calls_of, inline_calls
from ir_exec.onnx.editing.lowered_types import names_of_port, outputs_by_layer
from ir_exec.onnx.editing.scopes import ScopeFinder
from ir_exec.onnx.editing.sources import OnnxSource
from ir_exec.onnx.editing.storage import ExternalData, write_edited
from ir_exec.onnx.reading.files import read_message
from ir_exec.runtime.arguments import Inputs
from ir_exec.runtime.calls import bind_calls
from ir_exec.types import Array

if TYPE_CHECKING:
    from onnx import ModelProto

__all__ = ["ExtractedOnnx", "OnnxValues", "extract_onnx"]


@dataclass(frozen=True)
class ExtractedOnnx:
    """A part of an ONNX file.

    Attributes:
        source: The file that it is from.
        inputs: The values of its inputs by name; None without inputs of the complete model.
        outputs: The values of its outputs by name; None without inputs of the complete model.
    """

    source: OnnxSource
    part: OnnxPart
    inputs: dict[str, Array] | None = None
    outputs: dict[str, Array] | None = None

    def save(self, path: str | os.PathLike[str]) -> list[Path]:
        """Write `cut.onnx`, and with values `cut.inputs.npz` and `cut.outputs.npz`.

        In the folder of the source the part refers to the external data of the source. In another folder, its own data
        are copied to `cut.onnx.data`.

        Returns:
            The paths.

        Raises:
            IRError: If a file cannot be written.
        """
        target = Path(path)
        folder = os.path.realpath(target.parent)
        is_moved = self.source.folder is not None and folder != os.path.realpath(self.source.folder)
        external_data: ExternalData | None = "pack" if is_moved else None
        written = [*map(Path, write_edited(self.source, self.part.proto, target, external_data=external_data))]
        for name, arrays in (("inputs", self.inputs), ("outputs", self.outputs)):
            if arrays is not None:
                written.append(target.with_suffix(f".{name}.npz"))
                write_npz(written[-1], arrays)
        return written


def extract_onnx(
    source: OnnxSource,
    model: Model | None = None,
    inputs: Inputs | None = None,
    *,
    from_: str | Iterable[str] = (),
    to: str | Iterable[str] = (),
    iteration: int | Sequence[int] = 0,
) -> ExtractedOnnx:
    """Extract the nodes between some values of an ONNX file; arguments as for `extract`.

    Nodes, initializers, functions, opsets and metadata of the part are those of the file. For names inside of functions
    (`call/name` for one of its calls, `function/name` for the first), calls are replaced by the nodes of functions.

    Args:
        model: The model of the file, to compute the values at the cut from `inputs`.

    Raises:
        EvaluationError: IR705 for names that do not exist or without nodes between them, and what a run raises.
        GraphError: If the part is not valid, although the file is.
        UnsupportedError: For an input of the part whose element type is unknown.
    """
    starts, ends = (list(dict.fromkeys([names] if isinstance(names, str) else names)) for names in (from_, to))
    if not starts and not ends:
        raise EvaluationError(
            "the cut has neither a start nor an end", expected="at least one", code=Code.unknown_input
        )
    proto, names = _inline(source.proto, [*starts, *ends])
    starts, ends = ([names[name] for name in group] for group in (starts, ends))
    part = cut_between(proto, starts, ends, lambda: infer_types(source, proto))
    check_edit(source, part.proto)
    if model is None or inputs is None:
        return ExtractedOnnx(source, part)
    if proto is not source.proto:
        model = read_message(source.readable_proto(proto), source.folder, source.path)
        assert model is not None, "without `report`, errors are raised"
    values = OnnxValues(model, inputs, proto).compute([*part.inputs, *part.outputs], iteration)
    return ExtractedOnnx(
        source,
        part,
        {name: values[name] for name in part.inputs},
        {name: values[name] for name in part.outputs},
    )


def _inline(proto: ModelProto, names: Sequence[str]) -> tuple[ModelProto, dict[str, str]]:
    """Return the model for a cut, with inlined calls if a name is inside of a function, and the names in it.

    Raises:
        EvaluationError: IR705 for names that do not exist.
    """
    finder = ScopeFinder(proto)
    by_name = {name: name for name in names}
    is_inside = False
    for name in by_name:
        try:
            scope, inner = finder.find(name)
        except EvaluationError:
            # It may be inside of a call; else the next search in the inlined model finds the nearest names.
            is_inside |= bool(proto.functions)
            continue
        if scope.is_function:
            is_inside = True
            function = scope.path.removesuffix("/")
            call = next(calls_of(proto, function), None)
            if call is None:
                message = f"no node of the graph calls {function!r}"
                raise EvaluationError(message, expected="a function that is called", code=Code.unknown_input)
            by_name[name] = f"{call}/{inner}"
    if not is_inside:
        return proto, by_name
    inlined = inline_calls(proto)
    finder_of_calls = ScopeFinder(inlined)
    if not all(_has_name(finder_of_calls, name) for name in by_name.values()):
        for name in names:
            finder.find(name)
    return inlined, by_name


def _has_name(finder: ScopeFinder, name: str) -> bool:
    try:
        finder.find(name)
    except EvaluationError:
        return False
    return True


class OnnxValues:
    """The values of an ONNX file by their names, from a run of the model that it was lowered to."""

    def __init__(self, model: Model, inputs: Inputs, proto: ModelProto) -> None:
        self._model, (self._arrays,), _ = bind_calls(model, inputs)
        by_layer = outputs_by_layer(proto)
        self._entries: dict[str, Entry] = {}
        for entry in entries_of(self._model):
            for name in names_of_port(entry.names, entry.layer_name, entry.port, by_layer if entry.scope else {}):
                self._entries.setdefault(name, entry)

    def compute(self, names: Sequence[str], iteration: int | Sequence[int] = 0) -> dict[str, Array]:
        """Return the values of these names; those of a body in one of its iterations.

        Raises:
            EvaluationError: IR705 for a value that has no layer in IR, and what a run raises.
        """
        missing = [name for name in names if name not in self._entries]
        if missing:
            message = f"the value of {missing[0]!r} is not computed: several nodes became one layer of IR"
            raise EvaluationError(message, code=Code.unknown_input, hint="name another value")
        values: dict[str, Array] = {}
        by_scope: dict[tuple[str, ...], list[str]] = {}
        for name in names:
            by_scope.setdefault(self._entries[name].scope, []).append(name)
        for scope, names_in_scope in by_scope.items():
            region = region_at(self._model, scope)
            nodes = {node.id: node for node in region.graph.nodes}
            targets = {
                name: nodes[self._entries[name].layer_id].outputs[self._entries[name].port] for name in names_in_scope
            }
            times: int | Sequence[int] = iteration if scope else 0
            arrays = values_at(region, self._arrays, list(dict.fromkeys(targets.values())), times)
            values |= {name: arrays[value] for name, value in targets.items()}
        return values

    def record(self, spill: Spill) -> None:
        """Store all values by name, those of bodies in their first iteration; until an error of the run.

        Raises:
            IRError: What the run raises.
        """
        names: dict[Key, list[str]] = {}
        for name, entry in self._entries.items():
            names.setdefault(entry.key, []).append(name)

        def keep(visit: Visit) -> None:
            if any(visit.where.iterations):
                return
            for port, array in enumerate(visit.outputs):
                for name in names.get((visit.where.scope, visit.node.id, port), ()):
                    spill.put(name, array.copy())

        Walker(self._model).run(self._arrays, keep)
