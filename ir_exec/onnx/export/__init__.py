"""Lowering of IR to ONNX: the operators (`ops`), the graph to which they write (`writer`), and files (`files`)."""
