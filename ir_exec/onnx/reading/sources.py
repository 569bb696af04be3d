"""The line of Python that an ONNX node was exported from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ir_exec.ir import NO_RT_INFO, RtInfo, source_info
from ir_exec.ir.sources import CodeLocation, module_entries, module_in_name, parse_source, select_entries

if TYPE_CHECKING:
    from onnx import NodeProto

__all__ = ["NodeSources", "line_of_node"]


def line_of_node(node: NodeProto) -> CodeLocation | None:
    """Return the source in the metadata of a node, or else in its name."""
    entries = select_entries((entry.key, entry.value) for entry in node.metadata_props)
    return parse_source(entries, node.name)


class NodeSources:
    """The sources of the nodes of a model; nodes with equal metadata share one, as those of a repeated function do."""

    def __init__(self) -> None:
        self._shared: dict[tuple[tuple[str, str], ...], RtInfo] = {}

    def of_node(self, node: NodeProto) -> RtInfo:
        """Return the rt_info of the layers of a node: its metadata, or else the module in its name."""
        entries = select_entries((entry.key, entry.value) for entry in node.metadata_props)
        if not entries and (module := module_in_name(node.name)) is not None:
            entries = module_entries(module, node.name)
        if not entries:
            return NO_RT_INFO
        key = tuple(entries.items())
        if key not in self._shared:
            self._shared[key] = source_info(entries)
        return self._shared[key]
