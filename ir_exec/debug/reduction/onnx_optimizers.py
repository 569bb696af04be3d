"""onnxruntime in a child process with chosen graph optimizers, and reduction to the smallest model that they change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

from ir_exec.codes import Code
from ir_exec.debug.comparison.metrics import Settings
from ir_exec.debug.comparison.references.child import Child, ChildCrashed, ChildRefused, load_stored, store_arrays
from ir_exec.debug.reduction.minimizing import inputs_path
from ir_exec.debug.reduction.onnx_reducing import ReducedOnnx, reduce_onnx
from ir_exec.debug.reduction.optimizers import OptimizerBisection, SessionResult, output_differences, search_optimizers
from ir_exec.debug.values.files import read_npz
from ir_exec.errors import EvaluationError
from ir_exec.hints import install_hint
from ir_exec.ir.storage import temporary_folder
from ir_exec.onnx.editing.sources import OnnxSource
from ir_exec.onnx.editing.storage import write_edited
from ir_exec.onnx.reading.files import OnnxSourceLike
from ir_exec.types import Array

__all__ = ["ONNXRuntimeSessions", "bisect_optimizers", "reduce_by_optimizers"]


class ONNXRuntimeSessions:
    """Sessions of onnxruntime for one file, each of which may refuse the file or crash.

    Attributes:
        child: The process of the sessions; another one starts after a crash.

    Args:
        timeout: Seconds for one session.

    Raises:
        EvaluationError: If onnxruntime is not installed or fails to start.
    """

    def __init__(
        self, path: Path, inputs: Mapping[str, Array], operators: frozenset[str] = frozenset(), *, timeout: float
    ) -> None:
        missing = [name for name in ("onnxruntime", "onnx") if find_spec(name) is None]
        if missing:
            hint = install_hint("onnxruntime")
            raise EvaluationError(f"{' and '.join(missing)} is not installed", code=Code.unknown_input, hint=hint)
        self.operators = operators
        self._path = path
        self.child = Child("onnx_child.py", timeout)
        self._folder = temporary_folder()
        self._count = 0
        self.set_model(path, inputs)
        try:
            self.title = f"onnxruntime {self.child.ask(do='providers')['version']}"
        except (ChildCrashed, ChildRefused) as error:
            self.close()
            raise EvaluationError(f"onnxruntime fails to start: {error}", code=Code.failed) from None

    def set_model(self, path: Path, inputs: Mapping[str, Array]) -> None:
        """Set the file and the inputs of the next sessions."""
        self._path = path
        folder = Path(self._folder.name)
        self._inputs = dict(zip(inputs, store_arrays(list(inputs.values()), folder), strict=True))

    def run(self, *, is_optimized: bool, disabled: Sequence[str] = (), logs: bool = False) -> SessionResult:
        folder = Path(self._folder.name)
        self._count += 1
        values, log = folder / f"values{self._count}.bin", folder / "session.log"
        try:
            answer = self.child.ask(
                do="optimized",
                path=str(self._path),
                inputs=self._inputs,
                level="ORT_ENABLE_ALL" if is_optimized else "ORT_DISABLE_ALL",
                disabled=list(disabled),
                values=str(values),
                log=str(log) if logs else None,
            )
        except (ChildCrashed, ChildRefused) as error:
            answer = {"refusal": str(error)}
        text = log.read_text(errors="replace") if logs and log.exists() else ""
        if "refusal" in answer:
            return SessionResult(refusal=answer["refusal"], log=text)
        outputs = {name: load_stored(stored).copy() for name, stored in answer["tensors"].items()}
        values.unlink(missing_ok=True)
        return SessionResult(outputs, log=text)

    def close(self) -> None:
        self.child.close()
        self._folder.cleanup()


def bisect_optimizers(
    source: OnnxSource | OnnxSourceLike,
    inputs: Mapping[str, Array],
    *,
    rtol: float | None = None,
    atol: float | None = None,
    timeout: float = 600.0,
    progress: Callable[[str], None] | None = None,
) -> OptimizerBisection:
    """Find the graph optimizers of onnxruntime that change the outputs of an ONNX file.

    At most 12 sessions run, in a child process: optimizers that changed the graph are disabled, as few as suffice.

    Args:
        source: A path, the content of a file, or an opened file.
        inputs: All inputs by name.
        rtol: Replace the tolerances derived from element types.
        atol: Replace the tolerances derived from element types.
        timeout: Seconds for one session.
        progress: Called with the disabled optimizers before each session.

    Raises:
        EvaluationError: If onnxruntime is not installed, or does not run the file without optimizers.
    """
    source = source if isinstance(source, OnnxSource) else OnnxSource(source)
    operators = frozenset(node.op_type for node in source.proto.graph.node)
    with temporary_folder() as folder:
        path = _file_of(source, Path(folder))
        with closing(ONNXRuntimeSessions(path, inputs, operators, timeout=timeout)) as sessions:
            return search_optimizers(sessions, rtol=rtol, atol=atol, progress=progress)


def reduce_by_optimizers(
    source: OnnxSource,
    inputs: Mapping[str, Array],
    bisection: OptimizerBisection,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    limit: int | None = None,
    timeout: float = 600.0,
    progress: Callable[[str], None] | None = None,
) -> ReducedOnnx:
    """Find the smallest part of an ONNX file whose outputs the optimizers of a bisection change.

    Each part runs in two sessions: with all optimizers, and without those of the bisection. Without any, the second
    session has no optimizers.

    Raises:
        EvaluationError: If onnxruntime is not installed.
        ReductionInterrupted: As for `reduce_onnx`.
    """
    disabled = bisection.optimizers
    settings = Settings(rtol=rtol, atol=atol)
    with temporary_folder() as folder:
        path = _file_of(source, Path(folder))
        with closing(ONNXRuntimeSessions(path, inputs, timeout=timeout)) as sessions:

            def fails(part: str) -> bool:
                sessions.set_model(Path(part), read_npz(inputs_path(part)))
                plain = sessions.run(is_optimized=bool(disabled), disabled=disabled)
                if plain.outputs is None:
                    return False
                optimized = sessions.run(is_optimized=True)
                if optimized.outputs is None or bisection.verdict == "refused":
                    return optimized.outputs is None and bisection.verdict == "refused"
                differences = output_differences(optimized.outputs, plain.outputs, settings)
                return not all(output.error.is_within for output in differences)

            return reduce_onnx(source, fails, inputs, limit=limit, progress=progress)


def _file_of(source: OnnxSource, folder: Path) -> Path:
    """Return the path of a source, or of a copy for a source without a file."""
    if source.path is not None:
        return Path(source.path)
    path = folder / "network.onnx"
    write_edited(source, source.proto, path)
    return path
