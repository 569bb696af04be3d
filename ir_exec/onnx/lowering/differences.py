"""Nodes for which onnxruntime returns other values than ONNX's text demands, or no error.

Each was found by running the tests of ONNX's operators on onnxruntime 1.32; `docs/explanation/faults-in-runtimes.md`
lists the faults among them. An engine gets the lowered layers of these nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from ir_exec.onnx.lowering.registry import MICROSOFT, STANDARD, canonical_domain

if TYPE_CHECKING:
    from onnx import NodeProto

__all__ = ["DIFFERENCES", "Difference", "find_difference"]

Difference: TypeAlias = "Callable[[NodeProto], str | None]"
"""Returns how onnxruntime differs for a node; None for a node that it computes as the lowered layers."""


def find_difference(node: NodeProto) -> str | None:
    """Return how onnxruntime differs for a node, apart from its bodies; None if it computes the same."""
    difference = DIFFERENCES.get((canonical_domain(node.domain), node.op_type))
    return None if difference is None else difference(node)


def _attribute(node: NodeProto, name: str, default: Any) -> Any:
    from onnx import helper

    value = next((attribute for attribute in node.attribute if attribute.name == name), None)
    return default if value is None or value.ref_attr_name else helper.get_attribute_value(value)


def _has(ports: Any, position: int) -> bool:
    return len(ports) > position and bool(ports[position])


def _of_attention(node: NodeProto) -> str | None:
    return "masked products are finite in the output of the products" if _has(node.output, 3) else None


def _of_cast(node: NodeProto) -> str | None:
    from onnx import TensorProto

    floats = (TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E5M2, TensorProto.FLOAT8E4M3FNUZ, TensorProto.FLOAT8E5M2FNUZ)
    return "f64 is rounded twice" if _attribute(node, "to", 0) in floats else None


def _of_compress(node: NodeProto) -> str | None:
    return "conditions that hold after the end of the axis are ignored"


def _of_conv_transpose(node: NodeProto) -> str | None:
    is_same = _attribute(node, "auto_pad", b"").startswith(b"SAME")
    return "padding to the same size is too large for kernels smaller than the stride" if is_same else None


def _of_resize(node: NodeProto) -> str | None:
    is_floor = _attribute(node, "mode", b"nearest") == b"nearest" and _attribute(node, "nearest_mode", b"") == b"floor"
    coordinates = _attribute(node, "coordinate_transformation_mode", b"half_pixel")
    return "coordinates at ties are rounded before the floor" if is_floor and b"half_pixel" in coordinates else None


def _of_gather_block_quantized(node: NodeProto) -> str | None:
    return "indices out of range are no error"


def _of_matmul_n_bits(node: NodeProto) -> str | None:
    if _has(node.input, 4):
        return "zero points do not follow g_idx"
    return "activations are rounded to 8 bits" if _attribute(node, "accuracy_level", 0) > 1 else None


def _of_multi_head_attention(node: NodeProto) -> str | None:
    return "the last query is not masked" if _attribute(node, "unidirectional", 0) else None


def _of_sparse_attention(node: NodeProto) -> str | None:
    return "keys of different lengths in a batch are wrong"


DIFFERENCES: Mapping[tuple[str, str], Difference] = {
    (STANDARD, "Attention"): _of_attention,
    (STANDARD, "Cast"): _of_cast,
    (STANDARD, "Compress"): _of_compress,
    (STANDARD, "ConvTranspose"): _of_conv_transpose,
    (STANDARD, "Resize"): _of_resize,
    (MICROSOFT, "GatherBlockQuantized"): _of_gather_block_quantized,
    (MICROSOFT, "MatMulNBits"): _of_matmul_n_bits,
    (MICROSOFT, "MultiHeadAttention"): _of_multi_head_attention,
    (MICROSOFT, "SparseAttention"): _of_sparse_attention,
}
"""The operators with differences, by domain and name."""
