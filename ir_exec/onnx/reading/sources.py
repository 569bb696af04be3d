"""The line of Python that an ONNX node was exported from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ir_exec.ir import NO_RT_INFO, RtInfo, source_info
from ir_exec.ir.sources import CodeLocation, module_entries, module_in_name, parse_source, select_entries

if TYPE_CHECKING:
    from onnx import NodeProto

__all__ = ["line_of_node", "source_of_node"]


def line_of_node(node: NodeProto) -> CodeLocation | None:
    """Return the source in the metadata of a node, or else in its name."""
    entries = select_entries((entry.key, entry.value) for entry in node.metadata_props)
    return parse_source(entries, node.name)


def source_of_node(node: NodeProto) -> RtInfo:
    """Return the rt_info of the layers of a node: its metadata, or else the module in its name."""
    entries = select_entries((entry.key, entry.value) for entry in node.metadata_props)
    if not entries and (module := module_in_name(node.name)) is not None:
        entries = module_entries(module, node.name)
    return source_info(entries) if entries else NO_RT_INFO
