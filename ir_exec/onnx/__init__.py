"""ONNX files: what reads them, lowered to operators of IR, and the interface for the backend tests of ONNX."""
