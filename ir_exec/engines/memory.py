"""The memory of a part on an engine, compared with the budget before the engine allocates it."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Any

from ir_exec.build.cutting import is_counted
from ir_exec.errors import IRError
from ir_exec.graph import last_uses
from ir_exec.infer import infer_types
from ir_exec.kernels.limits import Limits
from ir_exec.model import Model
from ir_exec.plan.memory import byte_size
from ir_exec.types import Array, ElementType, Shape, TensorType

__all__ = ["PartMemory"]

_GROWTH = 2
"""Growth of inputs, as a factor, after which types are inferred again."""
_AMPLE = 4 * _GROWTH**2
"""Growth of memory that is quadratic in an input, for inputs within `_GROWTH`; a budget this much larger is safe."""
_SMALL = 2**16
"""Maximum bytes of inputs that are not counted."""
_MOST = 256
"""Maximum input shapes that are cached."""


class PartMemory:
    """The peak memory of the tensors of a part, by the shapes of its inputs.

    Args:
        model: The part. An engine may use more memory internally, and less if it shares buffers: the peak is computed
            for values that are freed after their last use.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._nodes = [node for node in model.graph.nodes if is_counted(node)]
        self._dying = last_uses(self._nodes)
        self._known: dict[Any, int] = {}
        self._looked_at: int | None = None
        self._highest = 0
        self._lock = Lock()

    def require(self, arrays: Sequence[Array], limits: Limits, budget: int) -> None:
        """Raise ResourceError if the part exceeds the budget for these inputs, and the errors of inference."""
        size = sum([array.nbytes for array in arrays])
        if not self.is_ample(size, budget):
            limits.require(self._peak(arrays, size))

    def is_ample(self, size: int, budget: int) -> bool:
        """Return True if the budget exceeds by far what the part takes for inputs of this many bytes."""
        return (
            self._looked_at is not None
            and size <= _GROWTH * self._looked_at + _SMALL
            and self._highest * _AMPLE <= budget
        )

    def _peak(self, arrays: Sequence[Array], size: int) -> int:
        key = tuple([(array.dtype, array.shape) for array in arrays])
        with self._lock:
            peak = self._known.get(key)
            if peak is None:
                peak = self._infer_peak(arrays)
                if len(self._known) >= _MOST:
                    self._known.pop(next(iter(self._known)))
                self._known[key] = peak
            self._looked_at = max(self._looked_at or 0, size)
            self._highest = max(self._highest, peak)
            return peak

    def _infer_peak(self, arrays: Sequence[Array]) -> int:
        graph = self._model.graph
        input_types = {}
        for node, array in zip(graph.parameters, arrays, strict=True):
            value = node.outputs[0]
            # A part that runs 16-bit floats in f32 is inferred with the types of the file.
            element_type = self._model.types[value.number].element_type
            input_types[value] = TensorType(
                element_type if element_type.is_known else ElementType.of(array), Shape(array.shape)
            )
        try:
            types = infer_types(graph, weights=self._model.weights, overrides=input_types)
        except IRError:
            # The engine rejects them too, or the interpreter reports the error.
            return 0
        sizes = {value.number: byte_size(types[value.number]) for node in self._nodes for value in node.outputs}
        live = peak = 0
        for node, dying in zip(self._nodes, self._dying, strict=True):
            live += sum([sizes[value.number] for value in node.outputs])
            peak = max(peak, live)
            live -= sum([sizes.get(number, 0) for number in dying])
        return peak
