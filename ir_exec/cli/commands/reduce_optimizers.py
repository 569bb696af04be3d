"""`ir-exec reduce --optimizers`: the graph optimizers of onnxruntime that change the outputs of a model."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from ir_exec.cli.arrays import Asked
from ir_exec.cli.files import is_onnx_file
from ir_exec.cli.output.optimizer_text import show_optimizers
from ir_exec.cli.output.progress import Steps
from ir_exec.cli.output.reduction_text import Progress, Reduction, describe_onnx, run_reduction, show_reduction
from ir_exec.cli.output.terminal import UNUSABLE, Unusable, check_hint, echo, errors_as_messages, show_json
from ir_exec.debug.reduction.optimizers import ReducedPart
from ir_exec.model import Model
from ir_exec.report.records import to_json
from ir_exec.types import Array

if TYPE_CHECKING:
    from ir_exec.debug.reduction.onnx_reducing import ReducedOnnx
    from ir_exec.onnx.editing.sources import OnnxSource

__all__ = ["reduce_by_optimizers_of_runtime"]


def reduce_by_optimizers_of_runtime(
    path: str,
    output: str,
    options: Asked,
    weights: str | None,
    settings: Mapping[str, Any],
    limit: int | None,
    output_format: str,
) -> NoReturn:
    """Find the optimizers and the smallest part that they change, show both, and exit with 1 if there are any.

    Args:
        settings: The tolerances `rtol` and `atol`, and the `timeout` of a session.
        limit: Maximum number of parts to test.
    """
    from ir_exec.debug.reduction.onnx_optimizers import bisect_optimizers, reduce_by_optimizers  # needs onnx

    if not output.lower().endswith(".onnx"):
        raise Unusable(f"--output is {output}, expected an .onnx with --optimizers")
    with errors_as_messages(hint=check_hint(path), exit_code=UNUSABLE):
        network = options.network(path, weights)
    file_inputs = options.read_inputs(network.inputs)
    with errors_as_messages(exit_code=UNUSABLE):
        arrays = options.complete_inputs(network, file_inputs)
        source, arrays = _onnx_source(path, network, arrays)
        with Steps() as steps:
            report = bisect_optimizers(source, arrays, **settings, progress=steps.tell)

    def reduce_file(progress: Progress) -> ReducedOnnx:
        return reduce_by_optimizers(source, arrays, report, **settings, limit=limit, progress=progress)

    reduction = None if report.verdict == "equal" else run_reduction(reduce_file, output)
    if reduction is not None:
        report = report.model_copy(update={"reduced": _reduced_part(reduction)})
    if output_format == "json":
        show_json(to_json(report))
    else:
        show_optimizers(report)
        if reduction is not None:
            echo("")
            show_reduction(reduction, describe_onnx)
    sys.exit(0 if report.verdict == "equal" else 1)


def _onnx_source(path: str, network: Model, arrays: dict[str, Array]) -> tuple[OnnxSource, dict[str, Array]]:
    """Return the source of an ONNX file, or of an export of IR, and its inputs by name."""
    from ir_exec.onnx.editing.sources import OnnxSource  # imported for ONNX only

    if is_onnx_file(path):
        return OnnxSource(path), arrays
    from ir_exec.engines.widening import widen_model
    from ir_exec.onnx.export.files import to_bytes
    from ir_exec.onnx.export.lower import lower_model
    from ir_exec.runtime.precision import as_f32

    exported = widen_model(lower_model(network, functions=False, sources=False))
    in_order = [as_f32(arrays[port.name]) for port in network.inputs]
    return OnnxSource(to_bytes(exported)), dict(zip(exported.inputs, in_order, strict=True))


def _reduced_part(reduction: Reduction[ReducedOnnx]) -> ReducedPart:
    reduced = reduction.reduced
    nodes = [node for node in reduced.part.proto.graph.node if node.op_type != "Constant"]
    return ReducedPart(
        nodes=reduced.nodes,
        before=reduced.before,
        runs=reduced.runs,
        operators=tuple([node.op_type for node in nodes]),
        written=tuple(map(str, reduction.written)),
    )
