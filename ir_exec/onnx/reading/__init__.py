"""ONNX files as they are stored: messages, tensors, functions, and the order of nodes."""
