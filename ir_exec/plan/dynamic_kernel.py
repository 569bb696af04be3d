"""Layers whose types are known only in the run, where they are inferred from the arrays.

A layer of a decoder has other sizes in every run. The second inference is traced: its rule accepts further arrays, as
long as an inference would take the same branches.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ir_exec.errors import EvaluationError, raise_error
from ir_exec.graph import Node
from ir_exec.infer import infer_outputs
from ir_exec.kernels.limits import current_limits
from ir_exec.ops import Op
from ir_exec.plan.memory import byte_size
from ir_exec.types import Array, Bounds, ElementType, Shape, TensorType

if TYPE_CHECKING:
    from ir_exec.plan.size_rules import SizeRule, SizeRules

__all__ = ["DynamicKernel"]

REMEMBERED_BYTES = 2**8
"""Maximum bytes of an input whose elements were used for comparing them between runs."""

REMEMBERED = 2**7
"""Maximum number of kinds of arrays stored per layer. A growing cache has the same sizes for every text."""


@dataclass(slots=True)
class _Seen:
    """Accepted arrays.

    Attributes:
        size: The bytes of the outputs.
        kernel: The kernel for the outputs.
        is_final: True if no better kernel is searched for.
    """

    size: int
    kernel: Callable[..., Any]
    is_final: bool


class DynamicKernel:
    """A kernel that first infers the types of the outputs, and raises the errors of `infer` for the arrays.

    Inference is skipped for arrays like previous ones, and for arrays to which a rule of a traced inference applies.
    The kernel for their types is selected at the second occurrence of the types, unless sizes change from call to call.
    Several threads may call the kernel at once.

    Args:
        kernel: A kernel for arrays of any types.
        better: `Op.kernel` may replace it.
        fixed: The inputs, by position, that are the same arrays in every call.
        constants: Further inputs whose elements `Op.kernel` may rely on.
        at_once: Use `Op.kernel` already for the first arrays of their types.
        view: `Op.view_kernel`, tried first.
    """

    def __init__(
        self,
        node: Node,
        op: Op,
        context: Mapping[str, Any],
        kernel: Callable[..., Any],
        *,
        better: bool,
        fixed: Mapping[int, Array] = MappingProxyType({}),
        constants: Collection[int] = (),
        at_once: bool = False,
        view: Callable[..., Any] | None = None,
    ) -> None:
        self._node = node
        self._op = op
        self._context = context
        self._kernel = kernel
        self._better = better and not op.pads_to_static
        self._at_once = at_once
        self._view = view
        self._constants = frozenset(constants)
        self._fixed = {position: TensorType.of(array) for position, array in fixed.items()}
        self._varying = [position for position in range(len(node.values_in)) if position not in fixed]
        # The other inputs whose elements were used.
        self._read: tuple[int, ...] = ()
        self._seen: dict[tuple[Any, ...], _Seen] = {}
        self._rules: SizeRules | None = None
        self._may_skip = not (at_once or op.infer_context)
        self._latest_size = -1

    def __call__(self, *arrays: Array) -> Any:
        if self._view is not None:
            view = self._view(*arrays)
            if view is not None:
                return view
        return self.accept(arrays)(*arrays)

    def accept(self, arrays: Sequence[Array]) -> Callable[..., Any]:
        """The kernel for these arrays; raises their faults."""
        match = None if self._rules is None else self._rules.match(arrays)
        if match is not None and match[0] != self._latest_size:
            # The sizes change from run to run.
            self._latest_size = match[0]
            current_limits().require(match[0])
            return self._kernel
        key = self._key(arrays)
        seen = None if key is None else self._seen.get(key)
        if seen is None:
            seen = self._accept_new(arrays, key, match)
        elif not seen.is_final:
            seen.kernel = self._kernel_for(arrays)
            seen.is_final = True
        self._latest_size = seen.size
        current_limits().require(seen.size)
        return seen.kernel

    def _accept_new(
        self, arrays: Sequence[Array], key: tuple[Any, ...] | None, match: tuple[int, SizeRule] | None
    ) -> _Seen:
        if match is None and self._rules is not None:
            match = self._rules.trace(arrays)
        if match is None:
            return self._infer(arrays, key)
        size, rule = match
        seen = _Seen(size, self._kernel, is_final=not self._better)
        if rule.elements.issubset(self._read):
            self._remember(seen, key)
        return seen

    def _key(self, arrays: Sequence[Array]) -> tuple[Any, ...] | None:
        """The relevant properties of arrays; None if they are too large to store."""
        read = self._read
        key: list[Any] = [read]
        for position in self._varying:
            array = arrays[position]
            key += (array.dtype, array.shape)
        for position in read:
            array = arrays[position]
            if array.nbytes > REMEMBERED_BYTES or array.dtype.kind not in "biuf":
                return None
            key.append(array.tobytes())
        return tuple(key)

    def _infer(self, arrays: Sequence[Array], key: tuple[Any, ...] | None) -> _Seen:
        read = set(self._read)
        types = [
            self._fixed.get(position) or _watch_elements(array, position, read) for position, array in enumerate(arrays)
        ]
        size = self._inferred_size(types)
        seen = _Seen(size, self._kernel, is_final=not self._better)
        if self._at_once and self._better:
            constant_positions = read | self._fixed.keys() | self._constants
            seen.kernel = self._op.kernel(*_with_values(types, constant_positions))
            seen.is_final = True
        if not self._op.infer_context:
            if read != set(self._read):
                self._read = tuple(sorted(read))
                key = self._key(arrays)
            self._remember(seen, key)
        if self._may_skip:
            from ir_exec.plan.size_rules import SizeRules  # not needed by static plans

            self._rules = self._rules or SizeRules(self._fixed, self._inferred_size)
            self._rules.verify(arrays, size)
        return seen

    def _remember(self, seen: _Seen, key: tuple[Any, ...] | None) -> None:
        if key is None:
            return
        if len(self._seen) >= REMEMBERED:
            self._seen.pop(next(iter(self._seen)), None)
        self._seen[key] = seen

    def _kernel_for(self, arrays: Sequence[Array]) -> Callable[..., Any]:
        """`Op.kernel`, which may rely on the elements in the key of these arrays."""
        types = [self._fixed.get(position) or TensorType.of(array) for position, array in enumerate(arrays)]
        kernel: Callable[..., Any] = self._op.kernel(*_with_values(types, self._fixed.keys() | set(self._read)))
        return kernel

    def _inferred_size(self, types: list[TensorType]) -> int:
        """The bytes of the outputs that are not views."""
        op, node = self._op, self._node
        outputs = infer_outputs(op, types, self._context, raise_error) or []
        if op.counts_outputs and len(outputs) != len(node.outputs):
            raise EvaluationError(
                f"{op.counts_outputs} has",
                actual=len(outputs),
                detail="elements",
                expected=len(node.outputs),
                reason="the outputs of the layer",
                port=op.counts_outputs,
            ).located(node.location)
        if not all(type.shape.is_static for type in outputs):
            self._better = False
        sizes = [byte_size(type) for type in outputs]
        # An output that may be a view of an input, and is not larger than one, is counted when it exists.
        least = max(map(byte_size, types), default=0) if op.may_alias else -1
        return sum([size for size in sizes if size > least])


def _with_values(types: Sequence[TensorType], positions: Container[int]) -> list[TensorType]:
    """The types, with values only for the inputs at these positions."""
    return [type if position in positions else type.without_values() for position, type in enumerate(types)]


def _watch_elements(array: Array, position: int, read: set[int]) -> TensorType:
    """The type of an array, which records in `read` that its elements were used."""

    def bounds() -> Bounds:
        read.add(position)
        return array, array

    return TensorType(ElementType.of(array), Shape(array.shape), bounds)
