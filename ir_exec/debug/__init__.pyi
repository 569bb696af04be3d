# The public names, as those of ir_exec itself: each is imported when it is asked for.

from ir_exec.debug.anonymizing import anonymous as anonymous
from ir_exec.debug.api import compare as compare
from ir_exec.debug.bundling import (
    Bundle as Bundle,
    Rerun as Rerun,
    bundle as bundle,
    rerun as rerun,
)
from ir_exec.debug.command import Command as Command
from ir_exec.debug.diffing import NetworkDiff as NetworkDiff
from ir_exec.debug.diffing import diff as diff
from ir_exec.debug.drawing import drawn_inputs as drawn_inputs
from ir_exec.debug.extracting import (
    Extracted as Extracted,
    extract as extract,
)
from ir_exec.debug.items_report import (
    ComparedItem as ComparedItem,
    Comparisons as Comparisons,
)
from ir_exec.debug.metrics import Difference as Difference
from ir_exec.debug.profile_report import Profile as Profile
from ir_exec.debug.profiling import profile as profile
from ir_exec.debug.reducing import (
    Reduced as Reduced,
    ReductionInterrupted as ReductionInterrupted,
    reduce as reduce,
)
from ir_exec.debug.report import (
    ComparedLayer as ComparedLayer,
    ComparedModule as ComparedModule,
    ComparedOutput as ComparedOutput,
    Comparison as Comparison,
    LayerFault as LayerFault,
    Unmatched as Unmatched,
)
from ir_exec.debug.shaping import ShapesReport as ShapesReport
from ir_exec.debug.shaping import shapes as shapes
from ir_exec.debug.hooks import (
    Recording as Recording,
    torch_recorder as torch_recorder,
)
from ir_exec.debug.tracing import (
    Trace as Trace,
    TraceIndex as TraceIndex,
    trace as trace,
)
