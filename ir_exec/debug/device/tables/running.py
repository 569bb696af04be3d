"""Runs of the operator tables on a device, in batches, with failing cases repeated alone.

The cases are single layers with attributes and inputs, stored in a file of the package.
"""

from __future__ import annotations

import json
import lzma
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ir_exec.build.cutting import region_at
from ir_exec.codes import Code
from ir_exec.debug.comparison.metrics import Settings, Tolerance
from ir_exec.debug.device.devices import Asker, Device, Engine, PartQuestion, device_of
from ir_exec.debug.device.tables.report import STATUSES, CaseStatus, Conformance, FailedCase, OperatorResult
from ir_exec.debug.device.verdicts import Judgement, PartCase, judge_again
from ir_exec.debug.reduction.extracting import Extracted
from ir_exec.debug.traces.walk import Walker
from ir_exec.errors import EvaluationError, ParseError
from ir_exec.graph import Node, build_graph
from ir_exec.hints import suggested
from ir_exec.ir import Document, Edge, Layer, Port, Weights, encode
from ir_exec.ir.packing import decode
from ir_exec.model import Loaded, Model
from ir_exec.types import Array, ElementType, Shape

__all__ = [
    "OperatorCase",
    "case_types",
    "cases_of",
    "conformance",
    "load_baseline",
    "node_of",
    "pack_cases",
    "unpack_cases",
]

_FILE = "cases.xz"

_LENGTH = 8
"""Number of bytes of the size of the index."""


@dataclass(frozen=True, eq=False)
class OperatorCase:
    """A layer of one operator, and its inputs.

    Attributes:
        type: As in a file.
        opset: As in a file.
        attributes: As in a file.
        constants: The positions of inputs that are constants.
        outputs: The number of output ports.
        rtol: The tolerance for implementations of the operator.
        atol: The tolerance for implementations of the operator.
        note: The specific condition of the case, or a known fault.
        is_plugin_right: False if OpenVINO's CPU plugin is known to be wrong or to reject the case.
        may_be_open: True if OpenVINO accepts the layer with open dims.
    """

    type: str
    opset: int
    inputs: tuple[Array, ...]
    attributes: dict[str, str]
    constants: tuple[int, ...] = ()
    outputs: int = 1
    rtol: float = 0.0
    atol: float = 0.0
    note: str = ""
    is_plugin_right: bool = True
    may_be_open: bool = True

    @property
    def size(self) -> int:
        """Total bytes of the inputs."""
        return sum(array.nbytes for array in self.inputs)

    @property
    def operator(self) -> str:
        """Type and opset: `Gather-8`."""
        return f"{self.type}-{self.opset}"

    def __str__(self) -> str:
        inputs = " ".join(f"{ElementType.of(array)}{list(array.shape)}".replace(" ", "") for array in self.inputs)
        attributes = " ".join(f"{name}={text}" for name, text in self.attributes.items())
        return " ".join(part for part in (self.operator, inputs, attributes, self.note) if part)

    @property
    def arrays(self) -> list[Array]:
        """The inputs of the model: the inputs that are not constants."""
        return [array for position, array in enumerate(self.inputs) if position not in self.constants]

    def network(self, *, is_open: bool = False) -> Model:
        """Return the case as a model.

        Args:
            is_open: If True, every dim of the inputs is open.

        Raises:
            IRError: What reading a model raises.
        """
        parts = _Network(self, is_open)
        model = _load_model(parts.document, parts.weights)
        # Ports declare the inferred types, as in every file.
        layers = region_at(model).layers.values()
        ordered = tuple(sorted(layers, key=lambda layer: int(layer.id)))
        return _load_model(parts.document.changed(layers=ordered), parts.weights)


def node_of(model: Model) -> Node:
    """Return the layer of a case in its model."""
    return next(node for node in model.graph.nodes if node.name == "layer")


def _load_model(document: Document, weights: Weights) -> Model:
    return Model(Loaded(document, build_graph(document, weights), weights, document))


class _Network:
    """The document of a case: inputs and constants, the layer, a Result for each of its outputs."""

    def __init__(self, case: OperatorCase, is_open: bool) -> None:
        self._stored = bytearray()
        count = len(case.inputs)
        layers = [self._source(case, position, is_open) for position in range(count)]
        edges = [_edge(position, 0, count, position) for position in range(count)]
        ports = tuple([layer.outputs[0].changed(id=str(position)) for position, layer in enumerate(layers)])
        unknown = [Port(id=str(count + position), precision=None) for position in range(case.outputs)]
        layers.append(
            Layer(
                id=str(count),
                name="layer",
                type=case.type,
                version=f"opset{case.opset}",
                data=case.attributes,
                inputs=ports,
                outputs=tuple(unknown),
            )
        )
        for position in range(case.outputs):
            id = count + 1 + position
            port = Port(id="0", precision=None)
            layers.append(Layer(id=str(id), name=f"result{position}", type="Result", version="opset1", inputs=(port,)))
            edges.append(_edge(count, count + position, id, 0))
        self.document = Document(name="case", version=11, layers=tuple(layers), edges=tuple(edges))
        self.weights = Weights.of_bytes(bytes(self._stored))

    def _source(self, case: OperatorCase, position: int, is_open: bool) -> Layer:
        array = case.inputs[position]
        element_type = ElementType.of(array)
        is_constant = position in case.constants
        dims = tuple([-1] * array.ndim) if is_open and not is_constant else array.shape
        shape = str(Shape.of_rank(array.ndim))[1:-1] if is_open else ",".join(map(str, array.shape))
        port = Port(id="0", precision=element_type.precision, dims=dims)
        if not is_constant:
            data = {"shape": shape, "element_type": element_type.name}
            return Layer(
                id=str(position),
                name=f"input{position}",
                type="Parameter",
                version="opset1",
                data=data,
                outputs=(port,),
            )
        content = encode(array)
        data = {
            "element_type": element_type.name,
            "shape": ",".join(map(str, array.shape)),
            "offset": str(len(self._stored)),
        }
        data["size"] = str(max(len(content), 1))
        self._stored += content or b"\0"
        return Layer(
            id=str(position), name=f"constant{position}", type="Const", version="opset1", data=data, outputs=(port,)
        )


def _edge(source: int, source_port: int, target: int, target_port: int) -> Edge:
    return Edge(from_layer=str(source), from_port=str(source_port), to_layer=str(target), to_port=str(target_port))


def pack_cases(cases: Iterable[OperatorCase]) -> bytes:
    """Return cases as the bytes of a file before compression; equal arrays are stored once."""
    rows = []
    stored = bytearray()
    places: dict[bytes, int] = {}
    for case in cases:
        inputs = []
        for array in case.inputs:
            content = encode(array)
            if content not in places:
                places[content] = len(stored)
                stored += content
            inputs.append([ElementType.of(array).name, list(array.shape), places[content], len(content)])
        rows.append(
            [
                case.type,
                case.opset,
                inputs,
                case.attributes,
                list(case.constants),
                case.outputs,
                case.rtol,
                case.atol,
                case.note,
                case.is_plugin_right,
                case.may_be_open,
            ]
        )
    index = json.dumps(rows, separators=(",", ":")).encode()
    return len(index).to_bytes(_LENGTH, "little") + index + bytes(stored)


def unpack_cases(content: bytes, patterns: Sequence[str] = ()) -> Iterator[OperatorCase]:
    """Yield the cases in these bytes whose types match one of the patterns; all without patterns."""
    start = _LENGTH + int.from_bytes(content[:_LENGTH], "little")
    stored = np.frombuffer(content, np.uint8, offset=start)
    for type, opset, inputs, attributes, constants, *others in json.loads(content[_LENGTH:start]):
        if patterns and not _matches(type, patterns):
            continue
        arrays = [
            decode(ElementType[type_name], tuple(shape), stored[offset : offset + size])
            for type_name, shape, offset, size in inputs
        ]
        yield OperatorCase(type, opset, tuple(arrays), attributes, tuple(constants), *others)


def _matches(type: str, patterns: Sequence[str]) -> bool:
    """Return True if a type matches a pattern, ignoring case."""
    return any(fnmatchcase(type.lower(), pattern.lower()) for pattern in patterns)


def cases_of(types: Sequence[str] = ()) -> list[OperatorCase]:
    """Return the cases of the package whose types match one of these patterns (`Gather*`); all without patterns.

    Raises:
        EvaluationError: For a pattern that no type matches.
    """
    available = case_types()
    for pattern in types:
        if not any(_matches(type, [pattern]) for type in available):
            message = f"no operator in the tables matches {pattern!r}"
            raise EvaluationError(message, code=Code.unknown_input, hint=suggested(pattern, available))
    return list(unpack_cases(_content(), types))


@lru_cache(maxsize=1)
def case_types() -> list[str]:
    """Return the types of operators in the tables."""
    content = _content()
    rows: list[list[Any]] = json.loads(content[_LENGTH : _LENGTH + int.from_bytes(content[:_LENGTH], "little")])
    return sorted({row[0] for row in rows})


@lru_cache(maxsize=1)
def _content() -> bytes:
    return lzma.decompress(files(__package__).joinpath(_FILE).read_bytes())


_TOGETHER = 32
"""Maximum number of cases in one model."""

Form = Literal["static", "open"]


def conformance(
    device: str = "CPU",
    *,
    types: str | Sequence[str] = (),
    engine: Engine = "openvino",
    open_dims: bool = False,
    hint: Literal["accuracy", "performance"] = "accuracy",
    timeout: float = 60.0,
    output: str | os.PathLike[str] | None = None,
    baseline: Conformance | str | os.PathLike[str] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Conformance:
    """Run small cases of every operator on a device, and report wrong results and rejected cases.

    The expected values are the outputs of ir_exec, which its tests compare with OpenVINO and the specification.

    Args:
        device: The device of the engine: CPU, GPU or NPU for openvino; CPU, CUDA and others for onnxruntime.
        types: Patterns of operator types (`Gather*`).
        open_dims: Run each case a second time with open dims.
        hint: As for `compare`.
        timeout: Seconds for one model, after which the process of the device is killed.
        output: A folder for the smallest failing case of each type: NAME.xml, NAME.bin, NAME.inputs.npz, and the
            outputs of ir_exec as NAME.outputs.npz.
        baseline: A report of this function, or its JSON file, with known failures.
        progress: Called with each case.

    Raises:
        EvaluationError: For a device that is not available, and for a pattern that no type matches.
    """
    cases = cases_of([types] if isinstance(types, str) else types)
    known_failures = None if baseline is None else load_baseline(baseline)
    options: dict[str, Any] = {"hint": hint, "timeout": timeout, "threads": None, "precision": "f32"}
    with closing(device_of(engine, device, **options)) as opened_device:
        is_plugin = engine == "openvino" and device == "CPU"
        run = _Tables(opened_device, Path(output) if output is not None else None, known_failures, is_plugin, progress)
        return run.report(cases, ("static", "open") if open_dims else ("static",))


def load_baseline(baseline: Conformance | str | os.PathLike[str]) -> Conformance:
    """Return a report, read from a JSON file if a path is given; raises ParseError if the file is not a report."""
    if isinstance(baseline, Conformance):
        return baseline
    try:
        return Conformance.model_validate_json(Path(baseline).read_bytes())
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a conformance report in JSON"
        raise ParseError(f"cannot read {os.fspath(baseline)}: {reason}", code=Code.unreadable_path) from None


class _Tables:
    """Runs of cases on one device.

    Args:
        is_plugin: True for OpenVINO's CPU plugin, whose faults are known.
    """

    def __init__(
        self,
        device: Device,
        folder: Path | None,
        baseline: Conformance | None,
        is_plugin: bool,
        progress: Callable[[str], None] | None,
    ) -> None:
        self._asker = Asker(device)
        self._folder = folder
        self._is_plugin = is_plugin
        self._progress = progress
        self._settings = Settings()
        self._known = (
            None if baseline is None else {case.key for case in baseline.failed(("crashed", "wrong", "refused"))}
        )

    def report(self, cases: Sequence[OperatorCase], forms: Sequence[Form]) -> Conformance:
        by_type: dict[str, list[OperatorCase]] = {}
        for case in cases:
            by_type.setdefault(case.type, []).append(case)
        operators = [self._operator(type, by_type[type], forms) for type in sorted(by_type)]
        failed = [case for operator in operators for case in operator.failed]
        if self._known is None:
            ok = not any(case.status in ("wrong", "crashed") and case.known is None for case in failed)
        else:
            ok = not any(case.is_new and case.status != "step" for case in failed)
        device = self._asker.device
        return Conformance(
            device=device.title,
            version=device.version,
            ok=ok,
            operators=tuple(operators),
            cases=sum(operator.cases for operator in operators),
            crashes=self._asker.crashes,
        )

    def _operator(self, type: str, cases: Sequence[OperatorCase], forms: Sequence[Form]) -> OperatorResult:
        statuses: list[CaseStatus] = []
        failed: list[tuple[FailedCase, OperatorCase]] = []
        for form in forms:
            chosen_cases = [case for case in cases if form == "static" or case.may_be_open]
            for case, judgement in self._judge_cases(chosen_cases, form):
                status = _status(judgement)
                statuses.append(status)
                if status != "right":
                    failed.append((self._failed_case(case, form, status, judgement), case))
        result = OperatorResult.of(type, statuses, [failure for failure, _ in failed])
        first = result.failed[0] if result.failed and result.failed[0].status != "step" else None
        if self._folder is None or first is None:
            return result
        case = next(case for failure, case in failed if failure is first)
        saved = first.model_copy(update={"file": self._save(case, first.form)})
        return result.model_copy(update={"failed": (saved, *result.failed[1:])})

    def _judge_cases(self, cases: Sequence[OperatorCase], form: Form) -> Iterator[tuple[OperatorCase, Judgement]]:
        for rows in self._batches(cases):
            asked = [_part_case(case, form) for case in rows]
            answers = self._asker.ask_all([part_case.question for part_case in asked])
            for case, part_case, answer in zip(rows, asked, answers, strict=True):
                if self._progress is not None:
                    self._progress(str(case))
                yield case, judge_again(part_case, answer, self._asker, self._settings)

    def _batches(self, cases: Sequence[OperatorCase]) -> Iterator[Sequence[OperatorCase]]:
        """Yield the cases to run as one model; cases that may crash the plugin run alone."""
        alone = [case for case in cases if self._is_plugin and not case.is_plugin_right]
        together = [case for case in cases if not self._is_plugin or case.is_plugin_right]
        for start in range(0, len(together), _TOGETHER):
            yield together[start : start + _TOGETHER]
        for case in alone:
            yield [case]

    def _failed_case(self, case: OperatorCase, form: Form, status: CaseStatus, judgement: Judgement) -> FailedCase:
        is_known = self._is_plugin and not case.is_plugin_right
        failed = FailedCase(
            name=str(case),
            operator=case.operator,
            form=form,
            status=status,
            error=judgement.error,
            message=judgement.note,
            bytes=case.size,
            known=(case.note or "a known fault of the plugin") if is_known else None,
        )
        if self._known is None:
            return failed
        return failed.model_copy(update={"is_new": failed.key not in self._known})

    def _save(self, case: OperatorCase, form: Form) -> str:
        assert self._folder is not None, "the caller checks the folder"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            message = f"cannot create the folder {self._folder}: {error.strerror}"
            raise EvaluationError(message, code=Code.unwritable) from None
        path = self._folder / f"{case.operator}.xml"
        model = case.network(is_open=form == "open")
        names = [port.name for port in model.inputs]
        outputs = Walker(model).run(case.arrays)
        named = {port.name: array for port, array in zip(model.outputs, outputs, strict=True)}
        Extracted(model, dict(zip(names, case.arrays, strict=True)), named).save(path)
        return str(path)


def _status(judgement: Judgement) -> CaseStatus:
    for status in STATUSES:
        if status == judgement.status:
            return status
    raise AssertionError("every case has one of these statuses")


def _part_case(case: OperatorCase, form: Form) -> PartCase:
    """Return the question of a case, with the expected outputs."""
    model = case.network(is_open=form == "open")
    node = node_of(model)
    inputs: list[Array] = list(case.inputs)
    expected = Walker(model).run(case.arrays)
    least = Tolerance(rtol=case.rtol, atol=case.atol)
    return PartCase(PartQuestion(model, case.arrays), expected, node, inputs, range(case.outputs), least)
