"""The public documents that state the limits of devices and pipelines, and findings that cite them.

`known.json` contains the operators and element types of devices (`GPU_OPERATORS`, `GPU_TRANSFORMATIONS`,
`NPU_COMPILER`; operators that a device lowers to others first are separate lists) and the models of pipelines
(`GENAI_MODELS`, `GENAI_VISION`).
"""

from __future__ import annotations

import json
import pkgutil
from functools import cache
from typing import Any

from ir_exec.codes import Code
from ir_exec.errors import Citation, IRError, Location, Severity

__all__ = [
    "CUSTOM_GPU_OPERATIONS",
    "GENAI_MODELS",
    "GENAI_ON_NPU",
    "GENAI_STATE",
    "GENAI_STATIC_PIPELINE",
    "GENAI_TOKENIZATION",
    "GENAI_VISION",
    "GPU_DEVICE",
    "GPU_OPERATORS",
    "GPU_TRANSFORMATIONS",
    "NPU_COMPILER",
    "NPU_DEVICE",
    "STATEFUL_TO_STATELESS",
    "SUPPORTED_DEVICES",
    "WHISPER_ON_NPU",
    "finding",
    "names_in_documents",
]

_DOCS = "https://docs.openvino.ai"
_GENAI = "https://openvinotoolkit.github.io/openvino.genai/docs"
_GITHUB = "https://github.com/openvinotoolkit"
_GENAI_SOURCE = f"{_GITHUB}/openvino.genai/blob/da1db864d2bc1a265e9a036f5b57ef13f0e86c2c/src/cpp/src"

SUPPORTED_DEVICES = Citation(
    "Supported Devices",
    "OpenVINO 2025",
    f"{_DOCS}/2025/documentation/compatibility-and-support/supported-devices.html",
)
GPU_DEVICE = Citation(
    "GPU Device",
    "OpenVINO 2026",
    f"{_DOCS}/2026/openvino-workflow/running-inference/inference-devices-and-modes/gpu-device.html",
)
GPU_OPERATORS = Citation(
    "Operators of the GPU plugin",
    "OpenVINO 2025, commit f34c598",
    f"{_GITHUB}/openvino/blob/f34c598c8884ff45087f5d6f443b47c26e4b8bf1"
    "/src/plugins/intel_gpu/include/intel_gpu/plugin/primitives_list.hpp",
)
GPU_TRANSFORMATIONS = Citation(
    "Element types of the GPU plugin",
    "OpenVINO 2025, commit 000b11d",
    f"{_GITHUB}/openvino/blob/000b11d7581fcfcd2c07e573b0215f92c55216e4"
    "/src/plugins/intel_gpu/src/plugin/transformations_pipeline.cpp",
)
CUSTOM_GPU_OPERATIONS = Citation(
    "How to Implement Custom GPU Operations",
    "OpenVINO 2023.0",
    f"{_DOCS}/2023.0/openvino_docs_Extensibility_UG_GPU.html",
)
NPU_DEVICE = Citation(
    "NPU Device",
    "OpenVINO 2025",
    f"{_DOCS}/2025/openvino-workflow/running-inference/inference-devices-and-modes/npu-device.html",
)
NPU_COMPILER = Citation(
    "Operators and element types of the NPU compiler",
    "npu_compiler, commit 0ccf9bf",
    f"{_GITHUB}/npu_compiler/blob/0ccf9bf3faf8106f5575a905d665feab44e59b6f/src/vpux_compiler/src/frontend/IE.cpp",
)
STATEFUL_TO_STATELESS = Citation(
    "StatefulToStateless",
    "OpenVINO 2024, commit 09fbdf8",
    f"{_GITHUB}/openvino/blob/09fbdf829a380273e17fbd000f35095ace67f94e/src/core/src/pass/stateful_to_stateless.cpp",
)
GENAI_ON_NPU = Citation(
    "OpenVINO GenAI on NPU",
    "OpenVINO 2026.3",
    f"{_DOCS}/2026/openvino-workflow-generative/inference-with-genai/inference-with-genai-on-npu.html",
)
GENAI_MODELS = Citation("Supported Models", "OpenVINO GenAI 2026.4", f"{_GENAI}/supported-models/")
GENAI_TOKENIZATION = Citation(
    "Run LLMs with OpenVINO GenAI Flavor",
    "OpenVINO 2024",
    f"{_DOCS}/canonical/learn-openvino/llm_inference_guide/genai-guide.html",
)
GENAI_STATE = Citation("How OpenVINO GenAI Works", "OpenVINO GenAI 2026.4", f"{_GENAI}/concepts/how-it-works")
GENAI_STATIC_PIPELINE = Citation(
    "LLM pipeline for NPUs", "OpenVINO GenAI 2026.4, commit da1db86", f"{_GENAI_SOURCE}/llm/pipeline_static.cpp"
)
WHISPER_ON_NPU = Citation(
    "Whisper on NPUs, issue 4222", "OpenVINO GenAI 2026.3.1", f"{_GITHUB}/openvino.genai/issues/4222"
)
GENAI_VISION = Citation(
    "Model types of the VLM pipeline",
    "OpenVINO GenAI 2026.4, commit da1db86",
    f"{_GENAI_SOURCE}/visual_language/vlm_config.cpp",
)


def finding(
    message: str,
    location: Location,
    source: Citation,
    severity: Severity = "error",
    hint: str | None = None,
    **parts: Any,
) -> IRError:
    """Return the fault IR811 with the document that states the limit.

    Args:
        parts: `actual`, `detail`, `expected` and `reason` of the error.
    """
    code = Code.refused_by_target
    return IRError(message, code=code, hint=hint, severity=severity, location=location, **parts).changed(source=source)


@cache
def names_in_documents(target: str, what: str) -> frozenset[str]:
    """Return a list of names from the documents of a target."""
    text = pkgutil.get_data("ir_exec.text.targets", "known.json")
    assert text is not None, "the table is part of the package"
    return frozenset(json.loads(text)[target][what])
