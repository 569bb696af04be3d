"""The elements of a model under construction: layers with their inferred types, and the values between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, TypeAlias

from ir_exec.codes import Code
from ir_exec.errors import GraphError, Location
from ir_exec.ir import NO_RT_INFO, RtInfo
from ir_exec.ops import Op
from ir_exec.types import Array, ElementType, Shape, TensorType

if TYPE_CHECKING:
    from ir_exec.graph import BodyGraph
    from ir_exec.ir import Body

__all__ = [
    "BuiltBody",
    "BuiltLayer",
    "BuiltValue",
    "Scope",
    "Value",
    "current_scope",
    "derived_from",
    "new_layer",
    "next_serial",
    "scope",
]

_serials = count()


@dataclass(eq=False, slots=True)
class Scope:
    """The model or body to which new layers are added.

    Attributes:
        outer: None for the model itself.
        sinks: The Assigns of a body, which no Result needs.
    """

    outer: Scope | None = None
    sinks: list[BuiltLayer] = field(default_factory=list)


_NETWORK = Scope()
_current: ContextVar[Scope] = ContextVar("ir_exec_build_scope", default=_NETWORK)


def current_scope() -> Scope:
    """Return the scope to which new layers are added."""
    return _current.get()


@contextmanager
def scope() -> Iterator[Scope]:
    """Open a new body, to which layers are added inside the context."""
    inner = Scope(_current.get())
    token = _current.set(inner)
    try:
        yield inner
    finally:
        _current.reset(token)


_source: ContextVar[RtInfo] = ContextVar("ir_exec_build_source", default=NO_RT_INFO)


@contextmanager
def derived_from(source: RtInfo) -> Iterator[None]:
    """Give the layers that are made in the block the source of another layer or node.

    Args:
        source: As `source_info` returns it; empty if the layers keep the source of an enclosing block.
    """
    token = _source.set(source or _source.get())
    try:
        yield
    finally:
        _source.reset(token)


def next_serial() -> int:
    """Return a serial between the serials of all earlier and all later layers."""
    return next(_serials)


@dataclass(eq=False, slots=True)
class BuiltBody:
    """A finished body of a layer: as an element of the file, as a graph, and the constants in it by their offsets."""

    body: Body
    graph: BodyGraph
    constants: dict[int, Array]


@dataclass(eq=False, slots=True, repr=False)
class BuiltLayer:
    """A layer of a model under construction.

    Attributes:
        version: The opset in the spelling of files.
        name: "" for an unnamed layer; the model gives it a name when it is built.
        attributes: The attributes of `<data>`.
        serial: Increases in the order of creation.
        constant: The value of a Const.
        rt_info: The line of Python that it was exported from.
    """

    type: str
    version: str
    op: Op
    name: str
    attributes: Mapping[str, str]
    inputs: tuple[BuiltValue, ...]
    scope: Scope
    serial: int
    outputs: tuple[BuiltValue, ...] = ()
    bodies: tuple[BuiltBody, ...] = ()
    constant: Array | None = None
    output_names: tuple[str, ...] = field(default=())
    rt_info: RtInfo = NO_RT_INFO

    @property
    def location(self) -> Location:
        """The layer in messages."""
        return Location(layer_name=self.name or None, layer_type=self.type)

    @property
    def is_parameter(self) -> bool:
        """Return True for an input of the model or body."""
        return self.op.is_parameter

    @property
    def is_result(self) -> bool:
        """Return True for an output of the model or body."""
        return self.op.is_result

    def __repr__(self) -> str:
        return f"<{self.type} {self.name!r}>"


class BuiltValue:
    """An output of a layer in a model under construction, and a possible input of other layers.

    Attributes:
        tensor_names: The names of the value in the model; they may be set at any time before it is built.
        layer: The layer that computes it.
        position: Among the outputs of the layer.
        type: Inferred when the layer was made.
    """

    __slots__ = ("_tensor_names", "layer", "position", "type")

    def __init__(self, layer: BuiltLayer, position: int, type: TensorType, tensor_names: Iterable[str] = ()) -> None:
        self.layer = layer
        self.position = position
        self.type = type
        self.tensor_names = tuple(tensor_names)

    @property
    def tensor_names(self) -> tuple[str, ...]:
        """The names of the tensor in the file; they can be set."""
        return self._tensor_names

    @tensor_names.setter
    def tensor_names(self, names: Iterable[str]) -> None:
        # A single string would be taken for a sequence of letters.
        self._tensor_names = (names,) if isinstance(names, str) else tuple(dict.fromkeys(names))

    @property
    def element_type(self) -> ElementType:
        """The element type, `dynamic` if it is not known."""
        return self.type.element_type

    @property
    def shape(self) -> Shape:
        """The inferred shape, with unknown dims."""
        return self.type.shape

    @property
    def rank(self) -> int | None:
        """The number of dims, None if it is not known."""
        return self.type.rank

    @property
    def constant(self) -> Array | None:
        """The elements, if they are known without a run: a constant, or computed from shapes and small constants."""
        return self.layer.constant if self.layer.constant is not None else self.type.value

    @property
    def name(self) -> str:
        """The layer's name, with the position if it has several outputs; the layer's type while it has no name."""
        name = self.layer.name or self.layer.type
        return name if len(self.layer.outputs) == 1 else f"{name}:{self.position}"

    def __iter__(self) -> Iterator[BuiltValue]:
        raise TypeError(f"{self!r} is a single value, expected a layer with several outputs for unpacking")

    def __repr__(self) -> str:
        return f"<Value {self.name!r} {self.type}>"


Value: TypeAlias = BuiltValue
"""The name in signatures, and the public one."""


def new_layer(
    type_name: str,
    op: Op,
    inputs: tuple[BuiltValue, ...],
    types: Iterable[TensorType],
    *,
    name: str | None = None,
    version: str | None = None,
    attributes: Mapping[str, str] | None = None,
    tensor_names: Iterable[str] | Iterable[Iterable[str]] = (),
    bodies: tuple[BuiltBody, ...] = (),
    constant: Array | None = None,
) -> BuiltLayer:
    """Return a layer of the current model or body.

    Args:
        tensor_names: The tensor names of the only output, or one list for each output.
    """
    # A Result stands for its input here, because files have no layers that read Results.
    inputs = tuple([input.layer.inputs[0] if input.layer.is_result else input for input in inputs])
    layer = BuiltLayer(
        type_name,
        version or f"opset{op.since}",
        op,
        name or "",
        attributes or {},
        inputs,
        current_scope(),
        next(_serials),
        bodies=bodies,
        constant=constant,
        rt_info=_source.get(),
    )
    layer.outputs = tuple([BuiltValue(layer, position, type) for position, type in enumerate(types)])
    if tensor_names:
        _name_outputs(layer, tensor_names)
    return layer


def _name_outputs(layer: BuiltLayer, tensor_names: Iterable[str] | Iterable[Iterable[str]]) -> None:
    names_of_outputs = [tensor_names] if isinstance(tensor_names, str) else list(tensor_names)
    if len(layer.outputs) == 1 and all(isinstance(item, str) for item in names_of_outputs):
        layer.outputs[0].tensor_names = names_of_outputs  # type: ignore[assignment]  # all of them are text
        return
    if len(names_of_outputs) > len(layer.outputs):
        raise GraphError(
            "the tensor names are for",
            actual=len(names_of_outputs),
            detail="outputs",
            expected=f"at most {len(layer.outputs)}",
            code=Code.too_many_outputs,
        ).located(layer.location)
    for output, names in zip(layer.outputs, names_of_outputs, strict=False):
        output.tensor_names = names
