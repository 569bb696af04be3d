"""`ir-exec edit` of an ONNX file that stays one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ir_exec.cli.layer_texts import LayerText
from ir_exec.cli.output.onnx_ends import ends_of_proto
from ir_exec.cli.output.terminal import UNUSABLE, Unusable, check_hint, errors_as_messages, show
from ir_exec.debug.values.files import read_npy
from ir_exec.onnx.editing.editor import OnnxEditor
from ir_exec.onnx.editing.nodes import NodeText
from ir_exec.onnx.editing.sources import OnnxSource
from ir_exec.onnx.editing.storage import ExternalData, write_edited
from ir_exec.onnx.editing.types import parse_dims, parse_shapes

__all__ = ["OnnxEdits", "edit_onnx_file"]


class OnnxEdits(NamedTuple):
    """The edits of a command line, in the order of their application from `inserted` to `renamed`."""

    inserted: Sequence[tuple[str, LayerText]]
    replaced: Sequence[tuple[str, LayerText]]
    removed: Sequence[str]
    attributes: Sequence[tuple[str, str, str]]
    constants: Sequence[tuple[str, Any]]
    added: Sequence[str]
    element_types: Mapping[str, str]
    shapes: Sequence[str]
    batch: str | None
    renamed: Sequence[tuple[str, str]]
    strip: bool


def edit_onnx_file(path: str, output: str, edits: OnnxEdits, external_data: ExternalData | None) -> None:
    """Read an ONNX file, edit and write it, and show a summary."""
    with errors_as_messages(hint=check_hint(path), exit_code=UNUSABLE):
        source = OnnxSource(path)
    with errors_as_messages(exit_code=UNUSABLE):
        editor = OnnxEditor(source)
        _apply(editor, edits)
        proto = editor.proto()
        written = write_edited(source, proto, output, external_data=external_data)
    count = len(proto.graph.node)
    show(ends_of_proto("Edited", proto), f"{count:,} nodes written to {', '.join(written)}")


def _apply(editor: OnnxEditor, edits: OnnxEdits) -> None:
    for name, text in edits.inserted:
        editor.insert(name, _node_text(text))
    for name, text in edits.replaced:
        editor.replace(name, _node_text(text))
    for name in edits.removed:
        editor.remove(name)
    for name, attribute, value in edits.attributes:
        array = read_npy(value) if value.lower().endswith(".npy") else value
        editor.set_attribute(name, attribute, array)
    for name, value in edits.constants:
        editor.set_constant(name, value)
    for name in edits.added:
        editor.add_output(name)
    inputs = editor.input_names
    editor.retype(edits.element_types).reshape(parse_shapes(edits.shapes, inputs))
    if edits.batch is not None:
        dims = parse_dims(edits.batch)
        if len(dims) != 1 or dims[0] is None:
            raise Unusable(f"--batch is {edits.batch!r}, expected a size or a name")
        editor.set_batch(dims[0])
    for old, new in edits.renamed:
        editor.rename(old, new)
    if edits.strip:
        editor.strip(("doc-strings", "stack-traces"))


def _node_text(text: LayerText) -> NodeText:
    inputs = [read_npy(value) if _is_array_file(value) else value for value in text.inputs]
    attributes = {name: read_npy(value) if _is_array_file(value) else value for name, value in text.attributes.items()}
    return NodeText(text.type, inputs, attributes)


def _is_array_file(value: Any) -> bool:
    return isinstance(value, str) and value.lower().endswith(".npy")
