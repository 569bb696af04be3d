"""Specialisation of partial models to the inputs of their calls; each specialised model is made once and kept."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from hashlib import blake2b
from threading import Lock, RLock
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, IRError
from ir_exec.kernels.limits import Budget
from ir_exec.model import Aspect, Model, ModelPort, PartialModel, Specialised
from ir_exec.runtime.arguments import Inputs, bind_inputs
from ir_exec.runtime.state import Drawers
from ir_exec.types import Array, ElementType, Shape

if TYPE_CHECKING:
    from ir_exec.runtime.sessions import RunnableNetwork

__all__ = ["ForCalls", "Specialising", "for_calls"]

_MOST_KEPT = 16
"""Maximum specialised models that are kept, for the latest calls."""

_MOST_SHOWN = 8
"""Maximum elements of a value that is shown in full."""

_Key: TypeAlias = "tuple[tuple[str, Aspect, Hashable], ...]"


class ForCalls(NamedTuple):
    """A whole model, and the inputs of calls in its order.

    Attributes:
        depends: As in `CompiledModel.specialisations`.
    """

    model: Model
    calls: list[list[Array]]
    depends: dict[str, str]

    @property
    def summary(self) -> str | None:
        """The inputs that the model depends on, in one line; None for a model that fits all inputs."""
        parts = [f"{name}: {what}" for name, what in self.depends.items()]
        return f"specialised to {', '.join(parts)}" if parts else None


def for_calls(model: Model, *calls: Inputs | None) -> ForCalls:
    """Return the model that fits the inputs of all calls.

    Raises:
        IRError: The errors of binding the inputs and of the conversion.
        EvaluationError: For calls that need different models.
    """
    if not isinstance(model, PartialModel) or not (model.is_partial or _is_refused(model, calls)):
        return ForCalls(model, [bind_inputs(one, model.inputs) for one in calls], {})
    bound = [model.bound(one) for one in calls]
    found = model.specialise(bound[0])
    key = _key(found.depends, bound[0])
    if any(_key(found.depends, one) != key for one in bound):
        names = ", ".join(name for name, _ in found.depends)
        raise EvaluationError(
            "the model depends on", actual=names, expected="equal values in all calls", code=Code.unknown_input
        )
    depends = {name: _shown(bound[0][name], aspect) for name, aspect in found.depends}
    return ForCalls(found.model, [found.arrays(one) for one in bound], depends)


def _is_refused(model: PartialModel, calls: Sequence[Inputs | None]) -> bool:
    """Return True if the general model contradicts the inputs of a call."""
    if not model.has_assumptions:
        return False
    from ir_exec.runtime.compiled import compile_model  # a circular import at the top

    compiled = compile_model(model)
    try:
        for one in calls:
            compiled(one)
    except IRError:
        return False
    return bool(compiled.specialisations)


class Specialising:
    """Finds or makes the model for the inputs of a call; thread-safe.

    Args:
        outputs: See `inputs`.
        compiled: Makes a model ready to run, within a budget.
        max_memory: Bytes that all models and a run may take together.
        general: The model for all inputs that do not contradict its assumptions.

    Attributes:
        inputs: The known inputs and outputs of the partial model.
    """

    def __init__(
        self,
        model: PartialModel,
        outputs: list[ModelPort],
        compiled: Callable[[Model, Budget, bool], RunnableNetwork],
        max_memory: int,
        general: RunnableNetwork | None = None,
    ) -> None:
        self.inputs = model.inputs
        self.outputs = outputs
        self.variables: list[ModelPort] = []
        self.rounded: Mapping[str, ElementType] = {}
        self._general = general
        self._model = model
        self._compiled = compiled
        self._max_memory = max_memory
        self._kept: OrderedDict[_Key, _Made] = OrderedDict()
        self._aspects: dict[tuple[tuple[str, Aspect], ...], None] = {}
        self._drawers: dict[Hashable, object] = {} if general is None else dict(general.drawers)
        self._lock = Lock()
        self._making = RLock()

    @property
    def drawers(self) -> Drawers:
        """The layers of all models so far that may draw random numbers, by keys that are stable between processes."""
        with self._lock:
            return dict(self._drawers)

    @property
    def made(self) -> list[dict[str, str]]:
        """For each model that is kept, the aspects of the inputs that it depends on; the latest model is last."""
        with self._lock:
            return [dict(one.shown) for one in self._kept.values()]

    @property
    def networks(self) -> list[RunnableNetwork]:
        """The general model, if there is one, then the specialized models that are kept; the latest one is last."""
        with self._lock:
            general = [] if self._general is None else [self._general]
            return [*general, *[model.network for model in self._kept.values()]]

    def chosen(self, inputs: Any) -> tuple[RunnableNetwork, Any]:
        """Return the model for these inputs, and its inputs.

        Raises:
            IRError: The errors of binding and of the conversion.
        """
        bound = self._model.bound(inputs)
        made = self._found(bound)
        if made is None and self._general is not None:
            return self._general, inputs
        return self._made_for(bound, made)

    def otherwise(self, inputs: Any) -> tuple[RunnableNetwork, Any] | None:
        """Return the model for inputs that the general one rejects; None if there is no other model."""
        if self._general is None:
            return None
        bound = self._model.bound(inputs)
        return None if self._found(bound) is not None else self._made_for(bound, None)

    def _made_for(self, bound: Mapping[str, Any], made: _Made | None) -> tuple[RunnableNetwork, list[Array]]:
        if made is None:
            with self._making:
                # Another thread may have made it meanwhile.
                made = self._found(bound) or self._new(bound)
        return made.network, made.arrays(bound)

    def planned(self, types: Mapping[str, Any]) -> Specialised:
        """Return the model for inputs of these types.

        Raises:
            NotKnownError: If the model depends on values.
        """
        return self._model.specialise(types, self._run)

    def _found(self, bound: Mapping[str, Any]) -> _Made | None:
        with self._lock:
            ways = list(self._aspects)
        for way in ways:
            key = _key(way, bound)
            with self._lock:
                found = self._kept.get(key)
                if found is not None:
                    self._kept.move_to_end(key)
                    return found
        return None

    def _new(self, bound: Mapping[str, Any]) -> _Made:
        found = self._model.specialise(bound, self._run)
        budget = _SharedBudget(self._max_memory, self._budgets)
        network = self._compiled(found.model, budget, True)
        key = _key(found.depends, bound)
        made = _Made(network, budget, found, {name: _shown(bound[name], aspect) for name, aspect in found.depends})
        with self._lock:
            self._kept[key] = made
            self._aspects[found.depends] = None
            self._drawers |= {(key, place): layer for place, layer in network.drawers.items()}
            while len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
            ways = {tuple([part[:2] for part in key]) for key in self._kept}
            self._aspects = {way: None for way in self._aspects if way in ways}
        return made

    def _run(self, model: Model, arrays: Mapping[str, Array]) -> Sequence[Array]:
        network = self._compiled(model, _SharedBudget(self._max_memory, self._budgets), False)
        from ir_exec.runtime.sessions import Session  # a circular import at the top

        return Session(network)(arrays).to_tuple()

    def _budgets(self) -> list[_SharedBudget]:
        with self._lock:
            return [one.budget for one in self._kept.values()]


class _Made:
    """A model for the inputs of some calls, and the aspects that these share."""

    def __init__(
        self, network: RunnableNetwork, budget: _SharedBudget, found: Specialised, shown: Mapping[str, str]
    ) -> None:
        self.network = network
        self.budget = budget
        self.arrays = found.arrays
        self.shown = shown


class _SharedBudget(Budget):
    """The budget of a model that also counts the constants of other models."""

    __slots__ = ("_others", "own")

    def __init__(self, max_memory: int, others: Callable[[], list[_SharedBudget]]) -> None:
        self.own = 0
        self._others = others
        self.max_memory = max_memory

    @property
    def constants(self) -> int:
        if self.max_memory == sys.maxsize:
            return self.own
        return self.own + sum([one.own for one in self._others() if one is not self])

    @constants.setter
    def constants(self, size: int) -> None:
        self.own += size - self.constants


def _key(way: Sequence[tuple[str, Aspect]], bound: Mapping[str, Any]) -> _Key:
    return tuple([(name, aspect, _aspect_of(bound[name], aspect)) for name, aspect in way])


def _aspect_of(value: Any, aspect: Aspect) -> Hashable:
    """Return the key of a value for one aspect: equal for inputs that can share a model."""
    if isinstance(value, list):
        return tuple([_aspect_of(one, aspect) for one in value])
    if value is None:
        return None
    if aspect == "rank":
        return len(value.shape)
    if aspect == "shape":
        return tuple(value.shape)
    return tuple(value.shape), blake2b(_bytes(value), digest_size=16).digest()


def _bytes(value: Array) -> bytes:
    return repr(value.tolist()).encode() if value.dtype.hasobject else np.ascontiguousarray(value).tobytes()


def _shown(value: Any, aspect: Aspect) -> str:
    """Return `value 1`, `shape [2,3]` or `rank 3`, and for a list its elements."""
    return f"{aspect} {_text(value, aspect)}"


def _text(value: Any, aspect: Aspect) -> str:
    if isinstance(value, list):
        return f"({', '.join([_text(one, aspect) for one in value])})"
    if value is None:
        return "none"
    if aspect == "rank":
        return str(value.ndim)
    if aspect == "shape":
        return str(Shape(value.shape))
    if value.size > _MOST_SHOWN:
        return f"{ElementType.of(value)}{Shape(value.shape)}"
    return str(value.tolist()).replace(" ", "")
