"""One function for each version of an ONNX operator, in modules by family."""
