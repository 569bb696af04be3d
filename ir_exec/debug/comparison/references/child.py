"""Child processes that run models in programs that may crash, and devices. Requests and answers are lines of JSON."""

from __future__ import annotations

import json
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ir_exec.codes import Code
from ir_exec.debug.values.files import damaged_file_error, unwritable
from ir_exec.errors import EvaluationError
from ir_exec.hints import install_hint, suggested
from ir_exec.ir.packing import decode, encode
from ir_exec.types import Array, ElementType

__all__ = [
    "CPU_PROVIDER",
    "Child",
    "ChildCrashed",
    "ChildRefused",
    "Stored",
    "absent_device",
    "load_stored",
    "require_device",
    "require_openvino",
    "require_provider",
    "settings_of",
    "store_arrays",
]


CPU_PROVIDER = "CPUExecutionProvider"


class ChildRefused(Exception):  # noqa: N818  # an ordinary answer
    """The child reports an error and continues to run."""


class ChildCrashed(Exception):  # noqa: N818
    """The child crashed or did not answer in time; the next request starts another.

    Attributes:
        is_late: True without an answer.
    """

    def __init__(self, message: str, *, is_late: bool = False) -> None:
        super().__init__(message)
        self.is_late = is_late


class Child:
    """A script of this package that answers requests in order.

    Attributes:
        timeout: Seconds for one answer, after which the child is killed.
    """

    def __init__(self, script: str, timeout: float) -> None:
        self._script = Path(__file__).parent / script
        self.timeout = timeout
        self._process: subprocess.Popen[bytes] | None = None
        self._answers: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  # closed in `close`

    @property
    def is_running(self) -> bool:
        return self._process is not None

    def ask(self, **request: Any) -> dict[str, Any]:
        """Return the answer to a request.

        Raises:
            ChildRefused: If the process reports an error.
            ChildCrashed: If the process ends without an answer.
        """
        process = self._process or self._start()
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
            line = self._answers.get(timeout=min(self.timeout, threading.TIMEOUT_MAX))
        except queue.Empty:
            self._end()
            raise ChildCrashed(f"did not answer within {self.timeout:g} s", is_late=True) from None
        except OSError:
            line = b""
        if not line:
            raise ChildCrashed(self._epitaph())
        answer: dict[str, Any] = json.loads(line)
        if "refused" in answer:
            raise ChildRefused(answer["refused"])
        return answer

    @contextmanager
    def patience(self, factor: int) -> Iterator[None]:
        """Wait longer for the answers inside of a `with` statement."""
        timeout, self.timeout = self.timeout, self.timeout * factor
        try:
            yield
        finally:
            self.timeout = timeout

    def _start(self) -> subprocess.Popen[bytes]:
        # -P: the folder of the script must not precede the installed packages.
        process = subprocess.Popen(
            [sys.executable, "-P", str(self._script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
        )
        self._process = process
        self._answers = queue.SimpleQueue()
        threading.Thread(target=_forward, args=(process, self._answers), daemon=True).start()
        return process

    def _epitaph(self) -> str:
        """The reason of a crash, with the last line that the child wrote to stderr."""
        process = self._process
        assert process is not None
        try:
            code = process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            code = 0
        self._end()
        self._errors.seek(0)
        lines = self._errors.read().decode("utf-8", "replace").strip().splitlines()
        reason = f"crashed with exit code {code}"
        if code < 0:
            try:
                reason = f"crashed with {signal.Signals(-code).name}"
            except ValueError:
                reason = f"crashed with signal {-code}"
        return f"{reason}: {lines[-1][:200]}" if lines else reason

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:
                    continue  # there is no reader for unsent data

    def close(self) -> None:
        self._end()
        self._errors.close()


def _forward(process: subprocess.Popen[bytes], answers: queue.SimpleQueue[bytes]) -> None:
    """Forward each line of the child, and an empty line at the end."""
    assert process.stdout is not None
    try:
        for line in process.stdout:
            answers.put(line)
    except (OSError, ValueError):
        pass  # the pipe is closed
    answers.put(b"")


Stored = dict[str, Any]
"""An array in a file: `type`, `shape`, `file`, and its `size` bytes at `start`, encoded as in a .bin. Without these,
the array is the whole file."""


def store_arrays(arrays: Sequence[Array], folder: Path) -> list[Stored]:
    """Write arrays for a child.

    Raises:
        ResourceError: If the disk is full.
    """
    stored = []
    for number, array in enumerate(arrays):
        path = folder / f"input{number}.bin"
        try:
            path.write_bytes(encode(array))
        except OSError as error:
            raise unwritable(path, error) from None
        stored.append({"type": str(ElementType.of(array)), "shape": list(array.shape), "file": str(path)})
    return stored


def load_stored(stored: Stored, mapped: dict[str, Array] | None = None) -> Array:
    """Map an array that a child wrote.

    Args:
        mapped: The mapped files by path, which the call extends.
    """
    path, element_type, shape = stored["file"], ElementType.parse(stored["type"]), tuple(stored["shape"])
    mapped = {} if mapped is None else mapped
    try:
        if path not in mapped:
            mapped[path] = (
                np.asarray(np.memmap(path, np.uint8, "r")) if Path(path).stat().st_size else np.empty(0, "u1")
            )
        start = stored.get("start", 0)
        return decode(element_type, shape, mapped[path][start : start + stored.get("size", len(mapped[path]))])
    except (OSError, ValueError) as error:
        raise damaged_file_error(path, error) from None


def require_openvino() -> None:
    """Raise EvaluationError if OpenVINO is not installed."""
    if find_spec("openvino") is None:
        hint = install_hint("openvino")
        raise EvaluationError("OpenVINO is not installed", code=Code.unknown_input, hint=hint)


def require_device(child: Child, device: str) -> str:
    """Return the version of OpenVINO.

    Args:
        child: A process of `openvino_child.py`.
        device: CPU, GPU, GPU.1, NPU, or several as HETERO:GPU,CPU.

    Raises:
        EvaluationError: If OpenVINO fails to start, or has no such device.
    """
    try:
        answer = child.ask(do="devices")
    except (ChildCrashed, ChildRefused) as error:
        raise EvaluationError(f"OpenVINO fails to start: {error}", code=Code.failed) from None
    # AUTO and HETERO select from the devices after the colon, or from all devices.
    virtual_device, _, several = device.partition(":")
    requested = (
        several.split(",") if several else [] if virtual_device in ("AUTO", "MULTI", "HETERO", "BATCH") else [device]
    )
    for item in map(str.strip, requested):
        name = item.partition("(")[0]  # GPU(4) is a GPU with a setting
        if name not in answer["devices"] and not any(listed.startswith(f"{name}.") for listed in answer["devices"]):
            raise absent_device(item, answer["devices"], "OpenVINO")
    version: str = answer["version"]
    return version.split("-")[0]


def require_provider(child: Child, device: str) -> tuple[list[str], str]:
    """Return the execution providers of onnxruntime for a device, the CPU last, and its version.

    Args:
        child: A process of `onnx_child.py`.
        device: CPU, GPU (CUDA), or a provider: CUDA, TensorRT, CUDAExecutionProvider.

    Raises:
        EvaluationError: If onnxruntime fails to start, or has no such provider.
    """
    try:
        answer = child.ask(do="providers")
    except (ChildCrashed, ChildRefused) as error:
        raise EvaluationError(f"onnxruntime fails to start: {error}", code=Code.failed) from None
    names = {name.removesuffix("ExecutionProvider"): name for name in answer["providers"]}
    provider = {"GPU": "CUDA"}.get(device, device.removesuffix("ExecutionProvider"))
    by_upper = {short.upper(): name for short, name in names.items()}
    if provider.upper() not in by_upper:
        raise absent_device(device, sorted(names), "onnxruntime")
    return list(dict.fromkeys([by_upper[provider.upper()], CPU_PROVIDER])), answer["version"]


def absent_device(device: str, available: Sequence[str], engine: str) -> EvaluationError:
    """The error for a device that is not in the list of known devices."""
    listed = ", ".join(available) or "none"
    message = f"{engine} has no device {device!r} on this machine, expected one of: {listed}"
    meant = device.upper()
    hint = suggested(meant, available) if meant in available else "install its driver, or choose another device"
    return EvaluationError(message, code=Code.unknown_input, hint=hint)


def settings_of(device: str, hint: str, threads: int | None) -> dict[str, str]:
    """The settings for compiling a model for a device."""
    config = {"EXECUTION_MODE_HINT": hint.upper()}
    if device == "CPU" and hint == "accuracy":
        config |= {"INFERENCE_PRECISION_HINT": "f32", "DYNAMIC_QUANTIZATION_GROUP_SIZE": "0"}
    if threads is not None:
        config["INFERENCE_NUM_THREADS"] = str(threads)
    return config
