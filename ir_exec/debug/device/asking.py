"""Batches of small models: many run as one model, or one by one if the device does not answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ir_exec.debug.comparison.references.child import ChildCrashed, ChildRefused
from ir_exec.debug.device.devices import Device
from ir_exec.debug.device.networks import write_together
from ir_exec.errors import IRError
from ir_exec.ir.storage import temporary_folder
from ir_exec.model import Model
from ir_exec.types import Array

__all__ = ["Asker", "PartAnswer", "PartQuestion", "Problem"]

Problem = Literal["refused", "crashed"]


@dataclass(frozen=True)
class PartQuestion:
    """A model and its inputs, in order."""

    model: Model
    inputs: Sequence[Array]

    @property
    def is_open(self) -> bool:
        """Return True if an input has dynamic dims."""
        return any(not port.shape.is_static for port in self.model.inputs)


@dataclass(frozen=True)
class PartAnswer:
    """The outputs of a model, or the problem and the message of the device.

    Attributes:
        together: The number of models in the batch.
        is_late: True if the device did not answer in time.
    """

    outputs: Sequence[Array] = ()
    problem: Problem | None = None
    reason: str = ""
    together: int = 1
    is_late: bool = False


class Asker:
    """Runner of models on a device.

    Attributes:
        networks: The number of runs.
        crashes: The number of crashes of the child.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self.networks = 0
        self.crashes = 0

    def ask_all(self, questions: Sequence[PartQuestion]) -> Iterator[PartAnswer]:
        """Yield the answers in the order of the questions.

        The questions run as one model of independent parts. A batch that the device rejects, or that crashes it, is
        halved until each faulty part is alone.
        """
        if not questions:
            return
        answer = self._together(questions)
        if isinstance(answer, list):
            yield from answer
        elif len(questions) == 1:
            yield answer
        elif answer.is_late:
            # Each half that contains the hanging part would reach the timeout again.
            for question in questions:
                yield self.ask(question)
        else:
            half = len(questions) // 2
            yield from self.ask_all(questions[:half])
            yield from self.ask_all(questions[half:])

    def ask(self, question: PartQuestion, *, is_static: bool = False, fuses: bool = False) -> PartAnswer:
        """Return the answer to a single question.

        Args:
            is_static: As for `Device.run`.
            fuses: As for `Device.run`.
        """
        answers = self._together([question], is_static=is_static, fuses=fuses)
        return answers[0] if isinstance(answers, list) else answers

    def _together(
        self, questions: Sequence[PartQuestion], *, is_static: bool = False, fuses: bool = False
    ) -> list[PartAnswer] | PartAnswer:
        self.networks += 1
        with temporary_folder() as folder:
            path = Path(folder, "parts.xml")
            inputs = [array for question in questions for array in question.inputs]
            try:
                write_together([question.model for question in questions], [array.ndim for array in inputs], path)
                outputs = iter(self.device.run(path, inputs, is_static=is_static, fuses=fuses))
            except IRError as error:
                return PartAnswer(problem="refused", reason=error.message)
            except ChildRefused as error:
                return PartAnswer(problem="refused", reason=str(error))
            except ChildCrashed as error:
                self.crashes += 1
                return PartAnswer(problem="crashed", reason=str(error), is_late=error.is_late)
        return [
            PartAnswer([next(outputs) for _ in question.model.outputs], together=len(questions))
            for question in questions
        ]
