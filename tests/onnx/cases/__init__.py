"""Tables of ONNX operators, one module a family: `CASES`, the cases for onnxruntime or ONNX's reference."""
