"""Which layer is wrong: every value of a run on disk, and two runs compared layer by layer.

from ir_exec.debug import compare, trace

values = trace("model.xml", inputs, output="dump")
report = compare("model.xml", "openvino", inputs)
"""

from ir_exec.lazy import from_stub

# Running a network on the command line needs three of them.
__getattr__, __dir__, __all__ = from_stub(__name__, __file__)
