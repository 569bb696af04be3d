"""The interface of engines: they name the layers that they run with the same meaning, compile parts of a model, and run
them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from ir_exec.build.cutting import Cut
from ir_exec.graph import Node
from ir_exec.kernels.limits import Limits
from ir_exec.model import Model
from ir_exec.types import Array

if TYPE_CHECKING:
    from ir_exec.onnx.export.caches import Caches
    from ir_exec.onnx.lowering.original import OriginalGraph

__all__ = [
    "CachingEngine",
    "CompiledPart",
    "Engine",
    "EngineSetting",
    "LayerTime",
    "PartForm",
    "PartRefused",
    "original_of",
]


@dataclass(frozen=True, slots=True)
class EngineSetting:
    """The settings of a user for an engine.

    Attributes:
        providers: The devices or back ends to use, best first, in the names of the engine; empty: its default.
        options: Settings by name, in the spelling of the engine.
        threads: The number of threads of one run.
        is_wide: If true, 16-bit floats are computed in f32, as for `precision="f32"`.
        keeps_weights: If true, memory matters more than speed (`weight_mode="keep"`).
        optimize: If true, the engine may fuse layers.
        has_variables: If true, the parts belong to a model with variables.
    """

    providers: Sequence[str] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    threads: int = 1
    is_wide: bool = True
    keeps_weights: bool = False
    optimize: bool = True
    has_variables: bool = False


@dataclass(frozen=True, slots=True)
class LayerTime:
    """The time that an engine spent on one of its nodes.

    Attributes:
        layer: The name of the layer that the node was made from; empty if the engine does not report it.
        kind: The operator of the node.
        seconds: Typical time of one run.
    """

    layer: str
    kind: str
    seconds: float


class PartRefused(Exception):  # noqa: N818  # it requests another partition, and never reaches a user
    """An engine cannot compile a part: it rejects these layers, by their ids, each with a reason.

    Without layers the whole part is rejected.
    """

    def __init__(self, reason: str, layers: Mapping[str, str] | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.layers = dict(layers or {})


@dataclass(frozen=True, slots=True)
class PartForm:
    """The form in which an engine got a part of a model.

    Attributes:
        original_nodes: The number of nodes of an ONNX file; None for a model that was not read from one.
        lowered: Layers of other nodes, which were lowered, with the reason; one layer for each node.
        reason: The reason why all nodes were lowered.
        int8_layers: Convolutions and products between FakeQuantize that are computed with integers of 8 bits.
    """

    original_nodes: int | None = 0
    lowered: Sequence[tuple[Node, str]] = ()
    reason: str = ""
    int8_layers: int = 0


class CompiledPart(Protocol):
    """A compiled part of a model. Several threads may run it at once.

    Attributes:
        form: The form of the part; None without one to report. An engine need not have the attribute.
    """

    def run(self, arrays: Sequence[Array], limits: Limits) -> list[Array]:
        """Return the outputs of the part for its inputs, in the order of its Parameters and Results.

        The inputs are not written to.

        Raises:
            ResourceError: If a limit is reached.
            EvaluationError: For other failures, with the layer if the engine names it.
        """

    def times(self) -> list[LayerTime]:
        """Return the time of each node of the engine, if the option to profile was set."""

    def close(self) -> None:
        """Release the resources of the part."""


def original_of(model: Model) -> OriginalGraph | None:
    """Return the ONNX graph whose nodes an engine may run in place of layers of a model; None without one."""
    original: OriginalGraph | None = model.original
    return original if original is not None and original.fits(model) else None


class Engine(Protocol):
    """Runs parts of models."""

    @property
    def name(self) -> str:
        """The name of the engine in `compile_model`."""

    @property
    def title(self) -> str:
        """The name with the version and providers, for reports."""

    def refusals(self, model: Model) -> Mapping[Node, str]:
        """Return the layers that it cannot run with the meaning of the interpreter, each with the reason."""

    def compile(self, part: Cut) -> CompiledPart:
        """Make a part ready to run; PartRefused for layers that turn out to be impossible."""


@runtime_checkable
class CachingEngine(Engine, Protocol):
    """An engine whose parts may read caches in memory with room for more elements."""

    @property
    def grows_caches(self) -> bool:
        """True if parts of this setting read such memory."""

    def compile(self, part: Cut, caches: Caches | None = None) -> CompiledPart:
        """Make a part ready to run.

        Args:
            caches: Inputs that are memory with room, and outputs that are new elements. Further inputs are the number
                of old elements, the capacity of the memory, and the padding of the old elements; further outputs are
                the target shapes of `Caches.checks`.
        """
