"""Tools to find a wrong layer: traces of all values of a run, and layer-by-layer comparison of two runs.

from ir_exec.debug import compare, trace

values = trace("model.xml", inputs, output="dump")
report = compare("model.xml", "openvino", inputs)
"""

from ir_exec.lazy import from_stub

# Names are imported on first use: `ir-exec run` needs three of them.
__getattr__, __dir__, __all__ = from_stub(__name__, __file__)
