"""The writing side of ONNX, held against onnxruntime and the interpreter."""
