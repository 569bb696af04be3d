"""Checks of ONNX nodes, names and types against ONNX's definitions and the documents of onnxruntime."""
