# The public names. Each is imported on first use, as in ir_exec itself.

from ir_exec.debug.reduction.anonymizing import anonymous as anonymous
from ir_exec.debug.comparison.api import compare as compare
from ir_exec.debug.reduction.bundle_files import (
    Bundle as Bundle,
    Rerun as Rerun,
)
from ir_exec.debug.reduction.bundling import (
    bundle as bundle,
    rerun as rerun,
)
from ir_exec.debug.reduction.minimizing import Command as Command
from ir_exec.debug.diffs.report import NetworkDiff as NetworkDiff
from ir_exec.debug.diffs.diffing import diff as diff
from ir_exec.debug.inputs.drawing import drawn_inputs as drawn_inputs
from ir_exec.debug.weights.diffing_weights import diff_weights as diff_weights
from ir_exec.debug.weights.records import (
    AccountedTensor as AccountedTensor,
    AccountedWeight as AccountedWeight,
    WeightFault as WeightFault,
    WeightsDiff as WeightsDiff,
)
from ir_exec.debug.reduction.extracting import (
    Extracted as Extracted,
    extract as extract,
)
from ir_exec.debug.comparison.items_report import (
    ComparedItem as ComparedItem,
    Comparisons as Comparisons,
)
from ir_exec.debug.comparison.metrics import Difference as Difference
from ir_exec.debug.reduction.bisecting import (
    PassLayer as PassLayer,
    PassOutput as PassOutput,
    PassBisection as PassBisection,
    PassEffect as PassEffect,
    bisect_passes as bisect_passes,
)
from ir_exec.debug.reduction.optimizers import OptimizerBisection as OptimizerBisection
from ir_exec.debug.reduction.onnx_optimizers import bisect_optimizers as bisect_optimizers
from ir_exec.debug.profiles.profile_report import Profile as Profile
from ir_exec.debug.profiles.profiling import profile as profile
from ir_exec.debug.reduction.model_reducer import ReductionInterrupted as ReductionInterrupted
from ir_exec.debug.reduction.reducing import (
    Reduced as Reduced,
    reduce as reduce,
)
from ir_exec.debug.comparison.report_text import Comparison as Comparison
from ir_exec.debug.comparison.records import (
    ComparedLayer as ComparedLayer,
    ComparedModule as ComparedModule,
    ComparedOutput as ComparedOutput,
    Decision as Decision,
    LayerFault as LayerFault,
    Unmatched as Unmatched,
)
from ir_exec.debug.inputs.shaping import ShapesReport as ShapesReport
from ir_exec.debug.inputs.shaping import shapes as shapes
from ir_exec.debug.device.records import (
    Isolation as Isolation,
    RunPart as RunPart,
)
from ir_exec.debug.device.tables.report import (
    Conformance as Conformance,
    FailedCase as FailedCase,
    OperatorResult as OperatorResult,
)
from ir_exec.debug.device.tables.running import conformance as conformance
from ir_exec.debug.precision.effects import (
    LayerEffect as LayerEffect,
    QuantizationReport as QuantizationReport,
)
from ir_exec.debug.precision.effects_by_layer import quantization_report as quantization_report
from ir_exec.debug.comparison.references.torch_hooks import (
    Recording as Recording,
    torch_recorder as torch_recorder,
)
from ir_exec.debug.traces.tracing import (
    Trace as Trace,
    TraceIndex as TraceIndex,
    trace as trace,
)
