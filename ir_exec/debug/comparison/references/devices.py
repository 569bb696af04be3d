"""Devices of OpenVINO: their availability, and the settings for them."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

from ir_exec.codes import Code
from ir_exec.debug.comparison.references.child import Child, ChildCrashed, ChildRefused
from ir_exec.errors import EvaluationError
from ir_exec.hints import install_hint, suggested

__all__ = ["absent_device", "require_device", "require_openvino", "settings_of"]


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
