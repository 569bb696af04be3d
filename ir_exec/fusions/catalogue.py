"""All transformations that are predicted, in the order in which OpenVINO applies them."""

from __future__ import annotations

from ir_exec.fusions.transformation import Transformation
from ir_exec.fusions.transformations.attention import ATTENTION
from ir_exec.fusions.transformations.experts import EXPERTS
from ir_exec.fusions.transformations.fully_connected import COMPRESSED_PRODUCT
from ir_exec.fusions.transformations.gelu import GELU
from ir_exec.fusions.transformations.int8_convolution import INT8_CONVOLUTION
from ir_exec.fusions.transformations.lora import LORA
from ir_exec.fusions.transformations.mvn import MVN
from ir_exec.fusions.transformations.paged_attention import PAGED_ATTENTION
from ir_exec.fusions.transformations.rms import RMS
from ir_exec.fusions.transformations.rope import ROPE
from ir_exec.fusions.transformations.stateful_attention import STATEFUL_ATTENTION

__all__ = ["TRANSFORMATIONS"]

TRANSFORMATIONS: tuple[Transformation, ...] = (
    MVN,
    RMS,
    GELU,
    ROPE,
    LORA,
    COMPRESSED_PRODUCT,
    EXPERTS,
    INT8_CONVOLUTION,
    ATTENTION,
    STATEFUL_ATTENTION,
    PAGED_ATTENTION,
)
