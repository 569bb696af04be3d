"""Networks run by other engines: a graph is divided between an engine and the interpreter (`partition`, `compiled`).

`interface` says what an engine is, `onnxruntime` is one.
"""
