"""Tables of ONNX operators, one module a family: `CASES`, what onnxruntime or ONNX's reference is asked about each."""
