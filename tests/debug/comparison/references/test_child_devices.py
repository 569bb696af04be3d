"""Devices of OpenVINO: which are on the machine, and the message about one that is not."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest

from ir_exec.debug.comparison.references.child import Child, absent_device, require_device, settings_of
from ir_exec.errors import EvaluationError


class Listing:
    """A child process with two GPUs."""

    def ask(self, **request: Any) -> dict[str, Any]:
        assert request == {"do": "devices"}
        return {"devices": ["CPU", "GPU.0", "GPU.1"], "version": "2026.4.1-12345-release"}


@pytest.mark.parametrize(
    "device", ["CPU", "GPU", "GPU.1", "GPU(4)", "AUTO", "AUTO:GPU,CPU", "HETERO:GPU.0, CPU", "MULTI:CPU"]
)
def test_present_devices(device: str) -> None:
    assert require_device(Listing(), device) == "2026.4.1"  # type: ignore[arg-type]  # it answers as a child does


@pytest.mark.parametrize(
    ("device", "absent"), [("NPU", "NPU"), ("GPU.2", "GPU.2"), ("HETERO:NPU,CPU", "NPU"), ("", "")]
)
def test_missing_devices(device: str, absent: str) -> None:
    with pytest.raises(EvaluationError) as raised:
        require_device(Listing(), device)  # type: ignore[arg-type]  # it answers as a child does
    assert raised.value.code == "IR705"
    assert repr(absent) in raised.value.message


def test_a_spelling_is_suggested() -> None:
    assert "CPU" in (absent_device("cpu", ["CPU"], "OpenVINO").hint or "")
    assert "CPU" not in (absent_device("GPU", ["CPU"], "OpenVINO").hint or "")


def test_the_real_one() -> None:
    with closing(Child("openvino_child.py", 60)) as child:
        assert require_device(child, "CPU").count(".") >= 1


def test_settings() -> None:
    assert settings_of("CPU", "accuracy", 2)["INFERENCE_PRECISION_HINT"] == "f32"
    assert "INFERENCE_PRECISION_HINT" not in settings_of("GPU", "accuracy", None)
