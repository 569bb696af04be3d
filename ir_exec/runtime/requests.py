"""Infer requests: sessions with the methods of OpenVINO's requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError
from ir_exec.model import ModelPort, PortKey, chosen_port
from ir_exec.runtime.arguments import Inputs, bind_inputs
from ir_exec.types import Array, ElementType, Shape

if TYPE_CHECKING:
    from ir_exec.runtime.sessions import Results, Session

__all__ = ["InferRequest", "Tensor", "VariableState", "states_of"]


@dataclass(frozen=True, slots=True, eq=False)
class Tensor:
    """An array with its element type and shape, in the form of OpenVINO's tensors."""

    data: Array

    @property
    def element_type(self) -> ElementType:
        return ElementType.of(self.data)

    @property
    def shape(self) -> Shape:
        return Shape(self.data.shape)


class VariableState:
    """A variable of a session."""

    def __init__(self, name: str, session: Session) -> None:
        self.name = name
        self._session = session

    @property
    def state(self) -> Tensor:
        """The value that the next run reads, read-only.

        A variable with its initial value shows zeros, with 0 for dynamic dims, as in OpenVINO's CPU plugin; the run
        itself computes the initial value.

        Assigned values are copied: a Tensor or an array that fits the variable.
        """
        value = self._session.state[self.name]
        if value is None:
            port = self._session.state.port(self.name)
            value = np.zeros([dim.lo for dim in port.shape.dims or ()], port.element_type.dtype)
            value.flags.writeable = False
        return Tensor(value)

    @state.setter
    def state(self, value: Any) -> None:
        self._session.state[self.name] = value.data if isinstance(value, Tensor) else value

    def reset(self) -> None:
        """Reset the variable to its initial value."""
        self._session.state[self.name] = None

    def __repr__(self) -> str:
        return f"VariableState({self.name!r})"


def states_of(session: Session) -> list[VariableState]:
    """Return every variable of a session."""
    return [VariableState(name, session) for name in session.state]


class InferRequest:
    """Runs with separate variables, made by `CompiledModel.create_infer_request`.

    It keeps the inputs and outputs of its last run.
    """

    def __init__(self, session: Session, inputs: Sequence[ModelPort], outputs: Sequence[ModelPort]) -> None:
        self._session = session
        self._inputs = inputs
        self._outputs = outputs
        self._given: list[Array] | None = None
        self._results: Results | None = None

    def infer(self, inputs: Inputs | None = None) -> Results:
        """Run the model; arguments and errors are the same as for calling a compiled model."""
        arguments = bind_inputs(inputs, self._inputs)
        results = self._session(arguments)
        self._given, self._results = arguments, results
        return results

    @property
    def results(self) -> Results:
        """The outputs of the last run; EvaluationError IR704 before the first one."""
        return self._last()[1]

    def get_tensor(self, key: PortKey) -> Tensor:
        """Return an input or output of the last run, by its name or port; inputs are read-only.

        Raises:
            EvaluationError: IR705 if there is no such input or output, IR704 before the first run.
        """
        name = key.name if isinstance(key, ModelPort) else key
        for ports, tensor_of in ((self._inputs, self.get_input_tensor), (self._outputs, self.get_output_tensor)):
            for position, port in enumerate(ports):
                if name in port.names:
                    return tensor_of(position)
        names = ", ".join(port.name for port in (*self._inputs, *self._outputs)) or "none"
        message = f"there is no input or output {name!r}; the names are: {names}"
        raise EvaluationError(message, code=Code.unknown_input)

    def get_input_tensor(self, key: PortKey | None = None) -> Tensor:
        """Return an input of the last run, by position or name, or the only one; read-only."""
        port = chosen_port(self._inputs, key, "input")
        array = self._last()[0][self._inputs.index(port)].view()
        array.flags.writeable = False
        return Tensor(array)

    def get_output_tensor(self, key: PortKey | None = None) -> Tensor:
        """Return an output of the last run, by position or name, or the only one."""
        return Tensor(self._last()[1][chosen_port(self._outputs, key, "output")])

    def query_state(self) -> list[VariableState]:
        """Return the variables of the request."""
        return states_of(self._session)

    def reset_state(self) -> None:
        """Reset all variables to their initial values, and restart the sequences of random numbers."""
        self._session.reset_state()

    def _last(self) -> tuple[list[Array], Results]:
        if self._given is None or self._results is None:
            raise EvaluationError("the request has no tensors before its first infer()")
        return self._given, self._results
