"""Devices that run parts: a device of OpenVINO or a provider of onnxruntime, in a child process.

Many parts run as one model, or one by one if the device does not answer. A child that crashes or hangs is replaced for
the next model.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, Protocol

from ir_exec.codes import Code
from ir_exec.debug.comparison.references.child import (
    CPU_PROVIDER,
    Child,
    ChildCrashed,
    ChildRefused,
    load_stored,
    require_device,
    require_openvino,
    require_provider,
    settings_of,
    store_arrays,
)
from ir_exec.debug.device.parts import write_together
from ir_exec.errors import EvaluationError, IRError
from ir_exec.hints import install_hint
from ir_exec.ir.storage import temporary_folder
from ir_exec.model import Model, read_model
from ir_exec.runtime.precision import Precision, as_f32
from ir_exec.types import Array, ElementType

__all__ = [
    "Asker",
    "Device",
    "Engine",
    "ONNXRuntimeDevice",
    "OpenVINODevice",
    "PartAnswer",
    "PartQuestion",
    "device_of",
]

Engine = Literal["openvino", "onnxruntime"]


class Device(Protocol):
    """A device that runs models from files.

    Attributes:
        title: Engine and device.
        version: The version of the engine.
        computes_in: The element type that the device computes in, if coarser than that of the values; set by a run.
        narrows_integers: True if the device computes i64 in i32.
        prefers_blocks: True if a model of single layers is slow to compile or takes much memory, as on GPUs by
            onnxruntime: layers then run in blocks, and those of wrong blocks alone.
    """

    title: str
    version: str
    computes_in: ElementType | None
    narrows_integers: bool
    prefers_blocks: bool

    def run(self, path: Path, inputs: Sequence[Array], *, is_static: bool = False, fuses: bool = False) -> list[Array]:
        """Return the outputs of the model at `path`.

        Args:
            is_static: Replace dynamic dims by the shapes of these inputs.
            fuses: Enable the optimizations of the engine, if the engine has an option for these.

        Raises:
            ChildCrashed: If the process ends without an answer.
            ChildRefused: If the process reports an error.
        """

    def list_fused(self, path: Path) -> list[str]:
        """Return the names of the layers computed by each step, separated by commas; empty if the engine has none."""

    def close(self) -> None:
        """End the child process."""


def device_of(
    engine: Engine, device: str, *, hint: str, timeout: float, threads: int | None, precision: Precision
) -> Device:
    """Return the device.

    Raises:
        EvaluationError: If the engine is not installed or has no such device.
    """
    if engine == "openvino":
        return OpenVINODevice(device, hint=hint, timeout=timeout, threads=threads)
    return ONNXRuntimeDevice(device, timeout=timeout, precision=precision)


class OpenVINODevice:
    """A device of OpenVINO.

    Args:
        device: CPU, GPU, GPU.1, NPU, or several as HETERO:GPU,CPU.
    """

    def __init__(self, device: str, *, hint: str, timeout: float, threads: int | None) -> None:
        require_openvino()
        self.title = f"openvino ({device}, {hint})"
        self.computes_in: ElementType | None = None
        self.narrows_integers = True
        self.prefers_blocks = False
        self._request = {"device": device, "config": settings_of(device, hint, threads), "probes": []}
        self._child = Child("openvino_child.py", timeout)
        self._folder = temporary_folder()
        try:
            self.version = require_device(self._child, device)
        except EvaluationError:
            self.close()
            raise

    def run(self, path: Path, inputs: Sequence[Array], *, is_static: bool = False, fuses: bool = False) -> list[Array]:
        with tempfile.TemporaryDirectory(dir=self._folder.name) as name:
            folder = Path(name)
            stored = store_arrays(inputs, folder)
            shapes = (
                {str(position): str(list(array.shape)) for position, array in enumerate(inputs)} if is_static else {}
            )
            answer = self._child.ask(
                do="run",
                xml=str(path),
                bin=_weights_of(path),
                shapes=shapes,
                calls=[stored],
                folder=name,
                **self._request,
            )
            if answer["computes_in"] in ("f16", "bf16"):
                self.computes_in = ElementType.parse(answer["computes_in"])
            return [load_stored(location).copy() for location in answer["outputs"]]

    def list_fused(self, path: Path) -> list[str]:
        answer = self._child.ask(do="fused", xml=str(path), bin=_weights_of(path), shapes={}, **self._request)
        names: list[str] = answer["fused"]
        return names

    def close(self) -> None:
        self._child.close()
        self._folder.cleanup()


def _weights_of(path: Path) -> str | None:
    weights = path.with_suffix(".bin")
    return str(weights) if weights.exists() else None


class ONNXRuntimeDevice:
    """A provider of onnxruntime.

    Each model is lowered to ONNX first.

    Args:
        device: CPU, GPU (CUDA), or a provider.
    """

    def __init__(self, device: str, *, timeout: float, precision: Precision) -> None:
        missing = [name for name in ("onnxruntime", "onnx") if find_spec(name) is None]
        if missing:
            hint = install_hint("onnxruntime")
            raise EvaluationError(f"{' and '.join(missing)} is not installed", code=Code.unknown_input, hint=hint)
        self.title = f"onnxruntime ({device})"
        self.computes_in: ElementType | None = None
        self.narrows_integers = False
        self._precision = precision
        self._child = Child("onnx_child.py", timeout)
        try:
            self._providers, self.version = require_provider(self._child, device)
        except EvaluationError:
            self.close()
            raise
        self.prefers_blocks = self._providers != [CPU_PROVIDER]

    def run(self, path: Path, inputs: Sequence[Array], *, is_static: bool = False, fuses: bool = False) -> list[Array]:
        # Imported here because `onnx` is an optional dependency.
        from ir_exec.engines.widening import widen_model
        from ir_exec.onnx.export.files import write_exported
        from ir_exec.onnx.export.lower import lower_model

        model = read_model(path)
        if is_static:
            model = model.reshape({port.name: array.shape for port, array in zip(model.inputs, inputs, strict=True)})
        with temporary_folder() as name:
            folder = Path(name)
            try:
                exported = lower_model(model, functions=False, sources=False)
                write_exported(widen_model(exported) if self._precision == "f32" else exported, folder / "network.onnx")
            except IRError as error:
                raise ChildRefused(error.message) from None
            # A widened model takes f32 inputs instead of 16-bit floats.
            arrays = [as_f32(array) for array in inputs] if self._precision == "f32" else inputs
            stored = dict(zip(exported.inputs, store_arrays(arrays, folder), strict=True))
            answer = self._child.ask(
                do="run",
                path=str(folder / "network.onnx"),
                engine="only onnxruntime",
                inputs=stored,
                tensors=[],
                constants=[],
                values=str(folder / "values.bin"),
                optimized=fuses,
                providers=self._providers,
            )
            missing = [output for output in exported.outputs if output not in answer["tensors"]]
            if missing:
                raise ChildRefused(f"onnxruntime returns no array for {missing[0]!r}")
            return [load_stored(answer["tensors"][output]).copy() for output in exported.outputs]

    def list_fused(self, path: Path) -> list[str]:
        return []

    def close(self) -> None:
        self._child.close()


Problem = Literal["refused", "crashed"]


@dataclass(frozen=True)
class PartQuestion:
    """A model and its inputs, in order."""

    model: Model
    inputs: Sequence[Array]

    @property
    def is_open(self) -> bool:
        """Return True if an input has dynamic dims."""
        return any(not port.shape.is_static for port in self.model.inputs)


@dataclass(frozen=True)
class PartAnswer:
    """The outputs of a model, or the problem and the message of the device.

    Attributes:
        together: The number of models in the batch.
        is_late: True if the device did not answer in time.
    """

    outputs: Sequence[Array] = ()
    problem: Problem | None = None
    reason: str = ""
    together: int = 1
    is_late: bool = False


class Asker:
    """Runner of models on a device.

    Attributes:
        networks: The number of runs.
        crashes: The number of crashes of the child.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self.networks = 0
        self.crashes = 0

    def ask_all(self, questions: Sequence[PartQuestion]) -> Iterator[PartAnswer]:
        """Yield the answers in the order of the questions.

        The questions run as one model of independent parts. A batch that the device rejects, or that crashes it, is
        halved until each faulty part is alone.
        """
        if not questions:
            return
        answer = self._together(questions)
        if isinstance(answer, list):
            yield from answer
        elif len(questions) == 1:
            yield answer
        elif answer.is_late:
            # Each half that contains the hanging part would reach the timeout again.
            for question in questions:
                yield self.ask(question)
        else:
            half = len(questions) // 2
            yield from self.ask_all(questions[:half])
            yield from self.ask_all(questions[half:])

    def ask(self, question: PartQuestion, *, is_static: bool = False, fuses: bool = False) -> PartAnswer:
        """Return the answer to a single question.

        Args:
            is_static: As for `Device.run`.
            fuses: As for `Device.run`.
        """
        answers = self._together([question], is_static=is_static, fuses=fuses)
        return answers[0] if isinstance(answers, list) else answers

    def _together(
        self, questions: Sequence[PartQuestion], *, is_static: bool = False, fuses: bool = False
    ) -> list[PartAnswer] | PartAnswer:
        self.networks += 1
        with temporary_folder() as folder:
            path = Path(folder, "parts.xml")
            inputs = [array for question in questions for array in question.inputs]
            try:
                write_together([question.model for question in questions], [array.ndim for array in inputs], path)
                outputs = iter(self.device.run(path, inputs, is_static=is_static, fuses=fuses))
            except IRError as error:
                return PartAnswer(problem="refused", reason=error.message)
            except ChildRefused as error:
                return PartAnswer(problem="refused", reason=str(error))
            except ChildCrashed as error:
                self.crashes += 1
                return PartAnswer(problem="crashed", reason=str(error), is_late=error.is_late)
        return [
            PartAnswer([next(outputs) for _ in question.model.outputs], together=len(questions))
            for question in questions
        ]
