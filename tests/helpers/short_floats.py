"""Networks of f32 rewritten to 16-bit floats, as converters write FP16 and BF16 files."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from ir_exec.types import ElementType
from tests.conformance.build import IRFile

__all__ = ["in_short_floats"]

_PRECISION = {"f16": "FP16", "bf16": "BF16", "f32": "FP32"}


def in_short_floats(path: Path, element_type: str) -> tuple[IRFile, bytes]:
    """The network with `element_type` in place of f32, and the weights of the original file rounded in the same way."""
    root = ElementTree.parse(path).getroot()
    weights = bytearray(path.with_suffix(".bin").read_bytes())
    short = bytearray()
    for layer in root.iter("layer"):
        data = layer.find("data")
        if data is not None and layer.get("type") == "Const" and int(data.get("size", "0")):
            start, size = int(data.get("offset", "0")), int(data.get("size", "0"))
            stored = bytes(weights[start : start + size])
            if data.get("element_type") == "f32":
                with np.errstate(over="ignore"):  # masks hold the largest f32
                    values = np.frombuffer(stored, np.float32).astype(ElementType[element_type].dtype)
                stored = values.tobytes()
                weights[start : start + size] = values.astype(np.float32).tobytes()
            data.set("offset", str(len(short)))
            data.set("size", str(len(stored)))
            short += stored
        for name, value in ({} if data is None else data.attrib).items():
            if value == "f32":
                data.set(name, element_type)  # type: ignore[union-attr]  # it has attributes
    for port in root.iter("port"):
        if port.get("precision") == "FP32":
            port.set("precision", _PRECISION[element_type])
    return IRFile(ElementTree.tostring(root), bytes(short), ()), bytes(weights)
