"""Lowering of ONNX models to operators of IR; the operators are in `ir_exec.onnx.ops`."""
