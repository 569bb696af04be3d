"""Specialization of models to the inputs of their calls; each specialized model is compiled once and kept."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from hashlib import blake2b
from threading import Lock, RLock
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ir_exec.kernels.limits import Budget
from ir_exec.model import Aspect, Model, ModelPort, Specializer
from ir_exec.runtime.runnable import RunnableNetwork
from ir_exec.runtime.state import Drawers
from ir_exec.types import Array, ElementType, Shape

__all__ = ["Specializing", "describe_aspect", "similarity_key"]

_MOST_KEPT = 16
"""Maximum specialized models that are kept, for the latest calls."""

_MOST_SHOWN = 8
"""Maximum elements of a value that is shown in full."""

_Key: TypeAlias = "tuple[tuple[str, Aspect, Hashable], ...]"


class Specializing:
    """The models for the inputs of calls; thread-safe.

    Args:
        inputs: The known inputs of the model.
        outputs: The known outputs of the model.
        compiled: Makes a model ready to run, within a budget.
        run_session: Runs such a model in a new session.
        max_memory: Bytes that all models and a run may take together.
        general: The model for all inputs that do not contradict its assumptions.
    """

    def __init__(
        self,
        specializer: Specializer,
        inputs: list[ModelPort],
        outputs: list[ModelPort],
        compiled: Callable[[Model, Budget, bool], RunnableNetwork],
        run_session: Callable[[RunnableNetwork, Mapping[str, Array]], Sequence[Array]],
        max_memory: int,
        general: RunnableNetwork | None = None,
    ) -> None:
        self.inputs = inputs
        self.outputs = outputs
        self.variables: list[ModelPort] = []
        self.rounded: Mapping[str, ElementType] = {}
        self._general = general
        self._specializer = specializer
        self._compiled = compiled
        self._run_session = run_session
        self._max_memory = max_memory
        self._kept: OrderedDict[_Key, _Specialization] = OrderedDict()
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
    def direct(self) -> Callable[[Any], list[Array] | None] | None:
        """The calls without preparations of the general model, while there is no other model."""
        return None if self._general is None or self._kept else self._general.direct

    @property
    def specializations(self) -> list[dict[str, str]]:
        """For each model that is kept, the aspects of the inputs that it depends on; the latest model is last."""
        with self._lock:
            return [dict(specialization.aspects) for specialization in self._kept.values()]

    @property
    def networks(self) -> list[RunnableNetwork]:
        """The general model, if there is one, then the specialized models that are kept; the latest one is last."""
        with self._lock:
            general = [] if self._general is None else [self._general]
            return [*general, *[specialization.network for specialization in self._kept.values()]]

    def select(self, inputs: Any) -> tuple[RunnableNetwork, Any]:
        """Return the model for these inputs, and its inputs.

        Raises:
            IRError: The errors of binding and of the conversion.
        """
        bound = self._specializer.bind(inputs)
        specialization = self._find(bound)
        if specialization is None and self._general is not None:
            return self._general, inputs
        return self._make(bound, specialization)

    def select_other(self, inputs: Any) -> tuple[RunnableNetwork, Any] | None:
        """Return the model for inputs that the general one rejects; None if there is no other model."""
        if self._general is None:
            return None
        bound = self._specializer.bind(inputs)
        return None if self._find(bound) is not None else self._make(bound, None)

    def _make(
        self, bound: Mapping[str, Any], specialization: _Specialization | None
    ) -> tuple[RunnableNetwork, list[Array]]:
        if specialization is None:
            with self._making:
                # Another thread may have made it meanwhile.
                specialization = self._find(bound) or self._compile(bound)
        return specialization.network, specialization.arrays(bound)

    def model_of_types(self, types: Mapping[str, Any]) -> Model | None:
        """Return the model for inputs of these types; None for the general model.

        Raises:
            NotKnownError: If the model depends on values.
        """
        return None if self._general is not None else self._specializer.specialize(types, self._run).model

    def _find(self, bound: Mapping[str, Any]) -> _Specialization | None:
        with self._lock:
            ways = list(self._aspects)
        for way in ways:
            key = similarity_key(way, bound)
            with self._lock:
                specialization = self._kept.get(key)
                if specialization is not None:
                    self._kept.move_to_end(key)
                    return specialization
        return None

    def _compile(self, bound: Mapping[str, Any]) -> _Specialization:
        specialized = self._specializer.specialize(bound, self._run)
        budget = _SharedBudget(self._max_memory, self._budgets)
        network = self._compiled(specialized.model, budget, True)
        key = similarity_key(specialized.depends, bound)
        aspects = {name: describe_aspect(bound[name], aspect) for name, aspect in specialized.depends}
        specialization = _Specialization(network, budget, specialized.arrays, aspects)
        with self._lock:
            self._kept[key] = specialization
            self._aspects[specialized.depends] = None
            self._drawers |= {(key, number): layer for number, layer in network.drawers.items()}
            while len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
            ways = {tuple([part[:2] for part in key]) for key in self._kept}
            self._aspects = {way: None for way in self._aspects if way in ways}
        return specialization

    def _run(self, model: Model, arrays: Mapping[str, Array]) -> Sequence[Array]:
        network = self._compiled(model, _SharedBudget(self._max_memory, self._budgets), False)
        return self._run_session(network, arrays)

    def _budgets(self) -> list[_SharedBudget]:
        with self._lock:
            return [specialization.budget for specialization in self._kept.values()]


class _Specialization(NamedTuple):
    """A model for the inputs of some calls, and the aspects that these share."""

    network: RunnableNetwork
    budget: _SharedBudget
    arrays: Callable[[Mapping[str, Any]], list[Array]]
    aspects: Mapping[str, str]


class _SharedBudget(Budget):
    """The budget of a model that also counts the constants of other models."""

    __slots__ = ("_others", "own")

    def __init__(self, max_memory: int, others: Callable[[], list[_SharedBudget]]) -> None:
        self.own = 0
        self._others = others
        super().__init__(max_memory)
        # The setter of `constants` counts those of the others.
        self.own = 0

    @property
    def constants(self) -> int:
        if self.max_memory == sys.maxsize:
            return self.own
        return self.own + sum([budget.own for budget in self._others() if budget is not self])

    @constants.setter
    def constants(self, size: int) -> None:
        self.own += size - self.constants


def similarity_key(way: Sequence[tuple[str, Aspect]], bound: Mapping[str, Any]) -> _Key:
    return tuple([(name, aspect, _aspect_of(bound[name], aspect)) for name, aspect in way])


def _aspect_of(value: Any, aspect: Aspect) -> Hashable:
    """Return the key of a value for one aspect: equal for inputs that can share a model."""
    if isinstance(value, list):
        return tuple([_aspect_of(element, aspect) for element in value])
    if value is None:
        return None
    if aspect == "rank":
        return len(value.shape)
    if aspect == "shape":
        return tuple(value.shape)
    return tuple(value.shape), blake2b(_bytes(value), digest_size=16).digest()


def _bytes(value: Array) -> bytes:
    return repr(value.tolist()).encode() if value.dtype.hasobject else np.ascontiguousarray(value).tobytes()


def describe_aspect(value: Any, aspect: Aspect) -> str:
    """Return `value 1`, `shape [2,3]` or `rank 3`, and for a list its elements."""
    return f"{aspect} {_text(value, aspect)}"


def _text(value: Any, aspect: Aspect) -> str:
    if isinstance(value, list):
        return f"({', '.join([_text(element, aspect) for element in value])})"
    if value is None:
        return "none"
    if aspect == "rank":
        return str(value.ndim)
    if aspect == "shape":
        return str(Shape(value.shape))
    if value.size > _MOST_SHOWN:
        return f"{ElementType.of(value)}{Shape(value.shape)}"
    return str(value.tolist()).replace(" ", "")
