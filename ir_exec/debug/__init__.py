"""Which layer is wrong: every value of a run on disk, and two runs compared layer by layer.

from ir_exec.debug import compare, trace

values = trace("model.xml", inputs, output="dump")
report = compare("model.xml", "openvino", inputs)
"""

from ir_exec.debug.anonymous import anonymous
from ir_exec.debug.api import compare
from ir_exec.debug.bundling import Bundle, Rerun, bundle, rerun
from ir_exec.debug.command import Command
from ir_exec.debug.diff_report import NetworkDiff
from ir_exec.debug.diffing import diff
from ir_exec.debug.drawing import drawn_inputs
from ir_exec.debug.extracting import Extracted, extract
from ir_exec.debug.metrics import Difference
from ir_exec.debug.profile_report import Profile
from ir_exec.debug.profiling import profile
from ir_exec.debug.reducing import Reduced, ReductionInterrupted, reduce
from ir_exec.debug.report import ComparedLayer, Comparison, LayerFault, Unmatched
from ir_exec.debug.shapes_report import ShapesReport
from ir_exec.debug.shaping import shapes
from ir_exec.debug.tracing import Trace, TraceIndex, trace

__all__ = [
    "Bundle",
    "Command",
    "ComparedLayer",
    "Comparison",
    "Difference",
    "Extracted",
    "LayerFault",
    "NetworkDiff",
    "Profile",
    "Reduced",
    "ReductionInterrupted",
    "Rerun",
    "ShapesReport",
    "Trace",
    "TraceIndex",
    "Unmatched",
    "anonymous",
    "bundle",
    "compare",
    "diff",
    "drawn_inputs",
    "extract",
    "profile",
    "reduce",
    "rerun",
    "shapes",
    "trace",
]
