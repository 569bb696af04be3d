"""Devices of OpenVINO: whether they are on this machine, and the settings of networks for them."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

from ir_exec.codes import Code
from ir_exec.debug.references.child import Child, ChildCrashed, ChildRefused
from ir_exec.errors import EvaluationError
from ir_exec.hints import suggested

__all__ = ["absent_device", "require_device", "require_openvino", "settings_of"]


def require_openvino() -> None:
    """Raises EvaluationError where OpenVINO is not installed."""
    if find_spec("openvino") is None:
        hint = "pip install 'ir-exec[openvino]' installs it"
        raise EvaluationError("OpenVINO is not installed", code=Code.unknown_input, hint=hint)


def require_device(child: Child, device: str) -> str:
    """The version of OpenVINO; raises EvaluationError where it does not start, or has no such device on this machine.

    child: a process of `openvino_child.py`. device: CPU, GPU, GPU.1, NPU, or several as HETERO:GPU,CPU.
    """
    try:
        found = child.ask(do="devices")
    except (ChildCrashed, ChildRefused) as error:
        raise EvaluationError(f"OpenVINO does not start: {error}", code=Code.failed) from None
    # AUTO and HETERO choose among the devices after the colon, or among all.
    kind, _, several = device.partition(":")
    wanted = several.split(",") if several else [] if kind in ("AUTO", "MULTI", "HETERO", "BATCH") else [device]
    for one in map(str.strip, wanted):
        name = one.partition("(")[0]  # GPU(4) is a GPU with a setting
        if name not in found["devices"] and not any(known.startswith(f"{name}.") for known in found["devices"]):
            raise absent_device(one, found["devices"], "OpenVINO")
    version: str = found["version"]
    return version.split("-")[0]


def absent_device(device: str, known: Sequence[str], engine: str) -> EvaluationError:
    """The error of a device that is not among those that an engine has."""
    listed = ", ".join(known) or "none"
    message = f"{engine} has no device {device!r} on this machine, expected one of: {listed}"
    meant = device.upper()
    hint = suggested(meant, known) if meant in known else "install its driver, or choose another device"
    return EvaluationError(message, code=Code.unknown_input, hint=hint)


def settings_of(device: str, hint: str, threads: int | None) -> dict[str, str]:
    """The settings with which a network is compiled for a device."""
    config = {"EXECUTION_MODE_HINT": hint.upper()}
    if device == "CPU" and hint == "accuracy":
        config |= {"INFERENCE_PRECISION_HINT": "f32", "DYNAMIC_QUANTIZATION_GROUP_SIZE": "0"}
    if threads is not None:
        config["INFERENCE_NUM_THREADS"] = str(threads)
    return config
