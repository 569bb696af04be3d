"""An FP16 file against the FP32 file of the same model, both run by ir_exec."""

from __future__ import annotations

from pathlib import Path

import openvino as ov
from openvino.passes import ConvertFP32ToFP16, Manager

import ir_exec
from benchmarks.measure import Paired, measure_pair
from ir_exec.types import Array

__all__ = ["measure_fp16", "write_fp16"]


def write_fp16(path: Path, folder: Path) -> Path:
    """Return the model with f16 for all f32, inputs and outputs included; RuntimeError if OpenVINO rejects it."""
    model = ov.Core().read_model(path)
    manager = Manager()
    manager.register_pass(ConvertFP32ToFP16())
    manager.run_passes(model)
    model.validate_nodes_and_infer_types()
    written = folder / f"{path.stem}-fp16.xml"
    ov.save_model(model, written, compress_to_fp16=False)
    ov.Core().read_model(written)
    return written


def measure_fp16(name: str, path: Path, inputs: list[Array], folder: Path, seconds: float) -> Paired | None:
    """Measure the FP16 file, written to `folder`, as ours, and the FP32 file as theirs."""
    try:
        short = ir_exec.compile_model(write_fp16(path, folder))
        wide = ir_exec.compile_model(path)
    except (RuntimeError, ir_exec.IRError) as error:
        print(f"{name}: left out, {str(error).splitlines()[0][:200]}")
        return None
    halves = [array.astype(port.element_type.dtype) for array, port in zip(inputs, short.inputs, strict=True)]
    return measure_pair(name, lambda: short(halves), lambda: wide(inputs), seconds=seconds)
