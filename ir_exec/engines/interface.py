"""What an engine is: it names the layers that it runs with the same meaning, compiles a part of a network, and runs it.

Engines are found by name: `onnxruntime` is built in, others register through the entry point group `ir_exec.engines`,
each with a function that takes an `EngineSetting` and returns an `Engine`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from ir_exec.build.cutting import Cut
from ir_exec.errors import EvaluationError
from ir_exec.graph import Node
from ir_exec.kernels.limits import Limits
from ir_exec.model import Model
from ir_exec.types import Array

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

__all__ = [
    "GROUP",
    "CompiledPart",
    "Engine",
    "EngineSetting",
    "LayerTime",
    "PartRefused",
    "engine_names",
    "make_engine",
]

GROUP = "ir_exec.engines"
"""The group of entry points by which engines of other packages are found."""


@dataclass(frozen=True, slots=True)
class EngineSetting:
    """What a user asks of an engine.

    providers: the devices or back ends to use, best first, in the names of the engine; empty: its own choice.
    options: settings by name, as the engine spells them. threads: of one run. is_wide: whether 16-bit floats are
    computed in f32, as `precision="f32"` says. keeps_weights: whether memory matters more than speed
    (`weights="keep"`). optimize: whether the engine may put layers together.
    """

    providers: Sequence[str] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    threads: int = 1
    is_wide: bool = True
    keeps_weights: bool = False
    optimize: bool = True


@dataclass(frozen=True, slots=True)
class LayerTime:
    """The time that an engine spent on one of its own nodes.

    layer: the name of the layer that it was made of; empty where the engine does not tell. kind: its operator there.
    seconds: of one run, the usual.
    """

    layer: str
    kind: str
    seconds: float


class PartRefused(Exception):  # noqa: N818  # it asks for another division, and never reaches a user
    """An engine cannot compile a part as it is: it refuses these layers, by their ids, each with a reason.

    Without layers the part as a whole is refused.
    """

    def __init__(self, reason: str, layers: Mapping[str, str] | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.layers = dict(layers or {})


class CompiledPart(Protocol):
    """A part of a network that an engine has compiled. Several threads may run it at once."""

    def run(self, arrays: Sequence[Array], limits: Limits) -> list[Array]:
        """The outputs of the part for its inputs, in the order of its Parameters and Results.

        The inputs are not written to. Raises ResourceError where a limit is reached, and EvaluationError for what else
        fails, with the layer where the engine names it.
        """

    def times(self) -> list[LayerTime]:
        """The time of each node of the engine, where the option to profile was set."""

    def close(self) -> None:
        """Give back what the part holds."""


class Engine(Protocol):
    """Runs parts of networks."""

    @property
    def name(self) -> str:
        """The name by which it is asked for."""

    @property
    def title(self) -> str:
        """Its name with its version and providers, for reports."""

    def refusals(self, model: Model) -> Mapping[Node, str]:
        """The layers that it cannot run with the meaning that the interpreter gives them, each with the reason."""

    def compile(self, part: Cut) -> CompiledPart:
        """Make a part ready to run; PartRefused where the part has layers that turn out not to be possible."""


EngineFactory: TypeAlias = Callable[[EngineSetting], Engine]


def engine_names() -> list[str]:
    """The engines that can be asked for."""
    return sorted({"onnxruntime", *(entry.name for entry in registered_engines())})


def registered_engines() -> EntryPoints:
    from importlib.metadata import entry_points  # it reads the lists of what is installed

    return entry_points(group=GROUP)


def make_engine(name: str, setting: EngineSetting) -> Engine:
    """The engine of this name; EvaluationError IR704 where there is none, or where it cannot be made."""
    if name == "onnxruntime":
        from ir_exec.engines.onnxruntime import OnnxRuntime  # onnxruntime takes long to import

        return OnnxRuntime(setting)
    for entry in registered_engines():
        if entry.name == name:
            try:
                engine: Engine = entry.load()(setting)
            except (ImportError, AttributeError) as error:
                raise EvaluationError(f"the engine {name!r} cannot be loaded: {error}") from error
            return engine
    names = engine_names()
    near = get_close_matches(str(name), names, 1)
    hint = f"did you mean {near[0]!r}?" if near else None
    raise EvaluationError(f"there is no engine {name!r}; the engines are: {', '.join(names)}", hint=hint)
