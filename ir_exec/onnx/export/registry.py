"""The registry of IR operator classes and the functions that lower them to ONNX.

    @export(Gather, opset=13)
    def gather(node: ExportNode) -> Outputs:
        return node.emit("Gather", ...)

The function emits nodes and returns the names of the outputs. `opset` is the oldest opset of ONNX that it supports.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar

from ir_exec.ops import Op

if TYPE_CHECKING:
    from ir_exec.onnx.export.node import ExportNode

__all__ = [
    "FAMILIES",
    "NOT_REPRESENTABLE",
    "OLDEST_OPSET",
    "Lowering",
    "Outputs",
    "declare_not_representable",
    "export",
    "find_lowering",
    "load_families",
    "reason_not_representable",
    "register",
    "unregister",
]

OLDEST_OPSET = 17
"""The oldest opset of ONNX that can be written."""

Outputs: TypeAlias = "str | tuple[str, ...] | list[str]"
"""The name of the output of a lowered node, or the names of its outputs."""

FAMILIES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "activation": ("activation",),
        "arithmetic": ("arithmetic",),
        "bitwise": ("bitwise",),
        "comparison": ("comparison",),
        "condition": ("condition", "bucketize"),
        "convolution": ("convolution",),
        "detection": ("detection_output", "detectron", "priors", "proposals", "roi_align", "roi_pooling", "yolo"),
        "generation": ("generation",),
        "image": ("color", "grid_sample", "interpolate"),
        "infrastructure": ("infrastructure", "loops"),
        "logical": ("logical",),
        "matrix": ("matrix", "inverse"),
        "movement": ("movement", "gather_tree", "movement_layout", "movement_scatter", "movement_slice"),
        "normalization": ("normalization",),
        "pooling": ("pooling",),
        "quantization": ("quantization",),
        "reduction": ("reduction",),
        "sequence": ("recurrent", "attention", "ctc", "one_hot"),
        "shape": ("shape",),
        "signals": ("signals",),
        "sort": ("sort", "nms", "class_nms"),
        "sparse": ("sparse",),
        "type": ("type",),
    }
)
"""The modules of `ir_exec.onnx.export.ops` for each folder of the specification."""


class Lowering(NamedTuple):
    """A function that lowers an operator, and the oldest opset that it supports.

    Attributes:
        inline: Its nodes are always added to the graph itself, regardless of their number.
        slow_from: The elements of the largest input or output from which the interpreter takes less time for the layer
            than onnxruntime for its nodes, by much more than two crossings; None if it never does.
    """

    function: Callable[[ExportNode], Outputs]
    opset: int
    inline: bool
    slow_from: int | None


_lowerings: dict[type[Op], Lowering] = {}

NOT_REPRESENTABLE: dict[type[Op], str] = {}
"""The operators that ONNX cannot express, with the reason."""

Function = TypeVar("Function", bound="Callable[[ExportNode], Outputs]")


def export(
    *classes: type[Op], opset: int = OLDEST_OPSET, inline: bool = False, slow_from: int | None = None
) -> Callable[[Function], Function]:
    """Register a function as the lowering of operator classes.

    Raises:
        TypeError: If a class already has one.
    """

    def decorate(function: Function) -> Function:
        for cls in classes:
            register(cls, function, opset=opset, inline=inline, slow_from=slow_from)
        return function

    return decorate


def register(
    cls: type[Op],
    function: Callable[[ExportNode], Outputs],
    *,
    opset: int = OLDEST_OPSET,
    inline: bool = False,
    slow_from: int | None = None,
) -> None:
    """Register the lowering of an operator class.

    Raises:
        TypeError: If the class already has a lowering, or is declared not representable.
    """
    if cls in _lowerings or cls in NOT_REPRESENTABLE:
        other = _lowerings[cls].function.__name__ if cls in _lowerings else "declared not representable"
        raise TypeError(f"the lowering of {cls.__name__} is already {other}; {function.__name__} cannot replace it")
    _lowerings[cls] = Lowering(function, opset, inline, slow_from)


def unregister(cls: type[Op]) -> None:
    """Remove the lowering of an operator class.

    Raises:
        KeyError: If the class has no lowering.
    """
    del _lowerings[cls]


def declare_not_representable(*classes: type[Op], reason: str) -> None:
    """Declare operators that ONNX cannot express.

    Raises:
        TypeError: If a class already has a lowering.
    """
    for cls in classes:
        if cls in _lowerings or cls in NOT_REPRESENTABLE:
            raise TypeError(f"{cls.__name__} is already registered")
        NOT_REPRESENTABLE[cls] = reason


def find_lowering(cls: type[Op]) -> Lowering | None:
    """The lowering of an operator class; None if there is none."""
    family = _family(cls)
    if family:
        _load(family)
        return _lowerings.get(cls)
    # The operators of extensions are subclasses of the class that a user wrote.
    return next((_lowerings[base] for base in cls.__mro__ if base in _lowerings), None)


def reason_not_representable(cls: type[Op]) -> str:
    """The reason why an operator class has no lowering."""
    _load(_family(cls))
    return NOT_REPRESENTABLE.get(cls, "no lowering to ONNX is registered for it")


def load_families() -> None:
    """Import every family to complete the registry."""
    for family in FAMILIES:
        _load(family)


def _family(cls: type[Op]) -> str:
    parts = cls.__module__.split(".")
    return parts[2] if parts[:2] == ["ir_exec", "ops"] and len(parts) > 2 else ""


@cache
def _load(family: str) -> None:
    for module in FAMILIES.get(family, ()):
        name = f"ir_exec.onnx.export.ops.{module}"
        if find_spec(name) is not None:
            import_module(name)
