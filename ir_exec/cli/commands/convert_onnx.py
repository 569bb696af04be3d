"""`ir-exec convert` to ONNX: an IR file, or an ONNX file in another opset."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ir_exec.cli.options import shapes_by_input
from ir_exec.cli.output.terminal import UNUSABLE, check_hint, errors_as_messages, show
from ir_exec.errors import IRError, Location
from ir_exec.model import Model, read_model
from ir_exec.onnx.export.api import exported_model
from ir_exec.onnx.export.files import write_exported
from ir_exec.onnx.export.lower import DEFAULT_OPSET, Exported
from ir_exec.printable import printable
from ir_exec.report.tables import table
from ir_exec.types import Shape

__all__ = ["convert_to_onnx"]


def convert_to_onnx(
    path: str,
    output: str,
    *,
    shapes: Sequence[str],
    static: bool,
    fold: bool,
    opset: int | None,
    target: str | None,
    partial: bool,
    external_data: bool | None,
) -> None:
    """Read a model, lower it to ONNX, write it, and show a summary."""
    with errors_as_messages(hint=None if shapes else check_hint(path)):
        model = read_model(path)
        _reshape(model, shapes, static)
        try:
            if fold:
                from ir_exec.rewrite import simplified  # imported for --fold only

                model = simplified(model)
            exported = exported_model(model, opset=opset or DEFAULT_OPSET, target=target, partial=partial)
        except IRError as error:
            raise error.located(Location(path=path)) from error.__cause__
    _name_source(exported, path)
    with errors_as_messages(exit_code=UNUSABLE):
        write_exported(exported, output, external_data=external_data)
    _show(model, exported, output)


def _name_source(exported: Exported, path: str) -> None:
    """Store the name of the converted file in the metadata."""
    entries = {entry.key: entry for entry in exported.proto.metadata_props}
    entry = entries.get("ir_exec.source") or exported.proto.metadata_props.add()
    entry.key, entry.value = "ir_exec.source", os.path.basename(path)


def _reshape(model: Model, shapes: Sequence[str], static: bool) -> None:
    """Set the input shapes of the command line, and with `static` the remaining open dims to 1."""
    requested = shapes_by_input(shapes, model.inputs)
    changed_shapes: dict[str | int, Shape] = {}
    for position, port in enumerate(model.inputs):
        shape = requested.get(port.name, port.shape)
        if static and shape.dims is not None:
            shape = Shape([dim if dim.is_static else 1 for dim in shape])
        if shape != port.shape:
            changed_shapes[position] = shape
    if changed_shapes:
        model.reshape(changed_shapes)


def _show(model: Model, exported: Exported, output: str) -> None:
    ends = table("Converted", end="left", name="left", element_type="left", shape="left")
    rows = [("input", name, port) for name, port in zip(exported.inputs, model.inputs, strict=True)]
    rows += [("output", name, port) for name, port in zip(exported.outputs, model.outputs, strict=True)]
    for end, name, port in rows:
        ends.add_row(end, name, str(port.element_type), str(port.shape))
    for id, (past, present) in exported.states.items():
        ends.add_row("state", id, "", f"{past} -> {present}")
    count = len(exported.proto.graph.node)
    opset = next(imported.version for imported in exported.proto.opset_import if not imported.domain)
    show(ends, f"{count:,} nodes of opset {opset} written to {output}")
    for node, reason in exported.not_representable:
        show(f"not expressed in ONNX: {node.type} {printable(node.name)}: {reason}")
