"""IR lowered to ONNX: the operators (`ops`), the graph that they write (`writer`), and files (`files`)."""
