"""Sessions: runs of a compiled model with separate variables, and the outputs that runs return."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from threading import RLock
from typing import Any

import numpy as np

from ir_exec.errors import EvaluationError, IRError, NoSuchKeyError, ShapeError
from ir_exec.hints import suggested
from ir_exec.kernels.limits import LIMITS, Limits
from ir_exec.model import (
    ModelPort,
    PortKey,
    numbered,
)
from ir_exec.runtime.arguments import (
    Inputs,
    bind_inputs,
    check_value,
    require_callable,
)
from ir_exec.runtime.loop import Observer
from ir_exec.runtime.runnable import RunnableNetwork
from ir_exec.runtime.specializing import Specializing
from ir_exec.runtime.state import VARIABLES, Snapshot, Variables
from ir_exec.runtime.threads import RunThreads
from ir_exec.types import Array, TensorType

__all__ = ["Results", "Session", "States"]


class _NoSuchOutputError(NoSuchKeyError, IndexError):
    """An unknown key of the mapping, which may be a position and therefore an index too."""


class Results(Mapping[PortKey, Array]):
    """The outputs of a run, by position, by any of their names, by port, or by out0, out1, ...

    Iteration yields one name of each output. An unknown key raises EvaluationError IR705, which is also a KeyError.
    """

    def __init__(self, ports: list[ModelPort], arrays: list[Array]) -> None:
        self._ports = ports
        self._arrays = arrays

    def __getitem__(self, key: PortKey) -> Array:
        if isinstance(key, (int, np.integer)):
            if not -len(self._arrays) <= key < len(self._arrays):
                raise self._missing(key)
            return self._arrays[key]
        name = key.name if isinstance(key, ModelPort) else key
        position = self._positions.get(name) if isinstance(name, str) else None
        if position is None:
            position = numbered(name, len(self._arrays), "output")
        if position is None:
            raise self._missing(name)
        return self._arrays[position]

    @cached_property
    def _positions(self) -> dict[str, int]:
        """The positions of the outputs by their names; the name of one output may be a further name of another."""
        positions = {port.name: position for position, port in reversed([*enumerate(self._ports)])}
        for position, port in enumerate(self._ports):
            for name in port.names:
                positions.setdefault(name, position)
        return positions

    def _missing(self, key: object) -> _NoSuchOutputError:
        names = [port.name for port in self._ports]
        message = f"there is no output {key!r}; the outputs are: {', '.join(names) or 'none'}"
        return _NoSuchOutputError(message, hint=suggested(key, names) if isinstance(key, str) else None)

    def __iter__(self) -> Iterator[str]:
        return iter([port.name for port in self._ports])

    def __len__(self) -> int:
        return len(self._arrays)

    def to_dict(self) -> dict[ModelPort, Array]:
        """Return the arrays by their ports, like OpenVINO's results."""
        return dict(zip(self._ports, self._arrays, strict=True))

    def to_tuple(self) -> tuple[Array, ...]:
        """Return the arrays in the order of the outputs."""
        return tuple(self._arrays)

    def names(self) -> tuple[frozenset[str], ...]:
        """Return all names of each output."""
        return tuple([port.names for port in self._ports])

    def __repr__(self) -> str:
        types = [TensorType.of(array) for array in self._arrays]
        return f"Results({', '.join(f'{port.name}: {type}' for port, type in zip(self._ports, types, strict=True))})"


class States(Mapping[str, Array | None]):
    """The variables of a session by their ids: read-only arrays, None for one that still has its initial value.

    `state[id] = array` sets the value that the next run reads, None the initial value. The array is copied; it must fit
    the variable as an input array must fit its input.

    Raises:
        EvaluationError: IR705 for an unknown variable.
        ElementTypeError: IR403.
        ShapeError: IR506 for an array that does not fit.
    """

    def __init__(self, variables: list[ModelPort], values: Variables, lock: RLock) -> None:
        self._ports = {port.name: port for port in variables}
        self._values = values
        self._lock = lock

    def __getitem__(self, variable_id: str) -> Array | None:
        if variable_id not in self._ports:
            raise self._missing(variable_id)
        with self._lock:
            return self._values.stored_value(variable_id)

    def _missing(self, variable_id: str) -> NoSuchKeyError:
        names = ", ".join(map(repr, self._ports)) or "none"
        message = f"there is no variable {variable_id!r}; the variables are: {names}"
        return NoSuchKeyError(message, hint=suggested(variable_id, self._ports))

    def port(self, variable_id: str) -> ModelPort:
        """Return the element type and shape of the values of a variable."""
        return self._ports[variable_id]

    def __setitem__(self, variable_id: str, value: Any) -> None:
        port = self._ports.get(variable_id)
        if port is None:
            raise self._missing(variable_id)
        array = None if value is None else check_value(value, port, "variable")
        with self._lock:
            self._values.set(variable_id, array)

    def __iter__(self) -> Iterator[str]:
        return iter(self._ports)

    def __len__(self) -> int:
        return len(self._ports)

    def __repr__(self) -> str:
        types = {name: "initial" if value is None else str(TensorType.of(value)) for name, value in self.items()}
        return f"States({', '.join(f'{name}: {type}' for name, type in types.items())})"


class Session:
    """Calls of a compiled model with separate variables, made by `CompiledModel.session`.

    Several threads may call it at once. If a run depends on the previous one, through variables or random numbers, the
    calls of a session wait for each other; calls of other models, and of other sessions, run concurrently.
    """

    def __init__(self, network: RunnableNetwork | Specializing) -> None:
        self._network = network
        self._variables = Variables(network.rounded)
        self._lock = RLock()
        self._is_running = False
        self.state = States(network.variables, self._variables, self._lock)

    def __call__(self, inputs: Inputs | None = None, *, observe: Observer | None = None) -> Results:
        """Run the model.

        If the run fails, variables and sequences of random numbers are unchanged.

        Args:
            inputs: Arrays by name, position or port, or a sequence in the order of the inputs; they are never written
                to. Arrays of floats are rounded to the float type of the input. Arrays of another element type are cast
                if the cast preserves every value, and rejected otherwise.
            observe: Called after each layer with its node, its inputs and its outputs, as they are computed: with f32
                for the f16 and bf16 of the file, unless the precision is "file". The arrays are read-only;
                those that it keeps count in `max_memory` until the run ends.

        Raises:
            EvaluationError: For missing or unknown inputs, and for layers that fail on the inputs.
            ElementTypeError: For an input with another element type, and for layers that fail on the inputs.
            ShapeError: For an input with another shape, and for layers that fail on the inputs.
            WeightsError: If the .bin has changed since it was opened.
            ResourceError: If the run exceeds the memory budget, the time limit or the number of iterations.
        """
        if observe is None and (direct := self._network.direct) is not None:
            outputs = direct(inputs)
            if outputs is not None:
                return Results(self._network.outputs, outputs)
        require_callable(observe, "observe")
        network, arguments = self._network.select(inputs)
        try:
            return self._call(network, arguments, observe)
        except (ShapeError, EvaluationError):
            other = self._otherwise(inputs)
            if other is None:
                raise
        return self._call(*other, observe)

    def _otherwise(self, inputs: Inputs | None) -> tuple[RunnableNetwork, Inputs] | None:
        """Return the model for inputs that contradict the assumptions of the general one."""
        try:
            return self._network.select_other(inputs)
        except IRError:
            return None

    def _call(self, network: RunnableNetwork, inputs: Inputs | None, observe: Observer | None) -> Results:
        arrays = bind_inputs(inputs, network.inputs)
        if network.model.weights is not None:
            network.model.weights.require_unchanged()
        limits = Limits(network.budget, network.max_seconds)
        token = LIMITS.set(limits)
        try:
            with RunThreads(network.threads), np.errstate(all="ignore"):
                if network.is_stateful:
                    outputs = self._run_in_turn(network, arrays, observe, limits)
                else:
                    outputs = network.run(arrays, observe, limits)
            return Results(network.outputs, outputs)
        finally:
            limits.close()
            LIMITS.reset(token)

    def reset_state(self) -> None:
        """Reset all variables to their initial values, and restart the sequences of random numbers."""
        with self._lock:
            self._variables.reset()

    def snapshot(self) -> Snapshot:
        """Return the state of the session: the values of its variables and the positions in its random sequences."""
        with self._lock:
            return self._variables.snapshot(self._network.drawers)

    def restore(self, snapshot: Snapshot) -> None:
        """Continue from a snapshot of a session of the same model in this or another process."""
        with self._lock:
            self._variables.restore(snapshot, self._network.drawers)

    def _run_in_turn(
        self, network: RunnableNetwork, arrays: list[Array], observe: Observer | None, limits: Limits
    ) -> list[Array]:
        with self._lock:
            if network is not self._network:
                self._variables.resume(self._network.drawers)
            if self._is_running:
                raise EvaluationError(
                    "the model was called by an observer of its own run", expected="a call of a session()"
                )
            self._is_running = True
            token = VARIABLES.set(self._variables)
            limits.planned = self._variables.nbytes
            try:
                outputs = network.run(arrays, observe, limits)
                self._variables.commit()
            finally:
                self._variables.discard()
                self._is_running = False
                VARIABLES.reset(token)
        return outputs
