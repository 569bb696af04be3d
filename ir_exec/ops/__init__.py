"""One class per operator version, in the folders of OpenVINO's operator specification.

`base/opsets.json` maps each operator type to its module. Importing the package imports no operator.
"""

from ir_exec.ops.base import CONTEXT, In, Op, op
from ir_exec.ops.base.registry import LAST_OPSET, opset_number, registered, resolve

__all__ = ["CONTEXT", "LAST_OPSET", "In", "Op", "op", "opset_number", "registered", "resolve"]
