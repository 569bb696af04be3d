"""Models run by other engines: a graph is partitioned between an engine and the interpreter (`partition`, `compiled`).

`interface` defines engines, `registry` finds them by name, `onnxruntime` is one.
"""
