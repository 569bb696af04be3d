"""How runs are compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ir_exec.debug.metrics import Metric, Tolerance, own_tolerance, tolerance_of
from ir_exec.graph import Node
from ir_exec.ops.infrastructure.values import Const
from ir_exec.runtime.precision import Precision
from ir_exec.types import Array, ElementType

__all__ = ["Settings"]


@dataclass(frozen=True)
class Settings:
    """How to compare. rtol, atol: in place of the tolerances that follow from element types and sums; the one that is
    None is then 0. metrics: of one's own, by name. progress: called with each layer's path. precision: what f16 and
    bf16 are computed in. computes_in: a coarser type than that of its values, in which the reference computes."""

    rtol: float | None = None
    atol: float | None = None
    metrics: Mapping[str, Metric] = field(default_factory=dict)
    progress: Callable[[str], None] | None = None
    threads: int | None = None
    precision: Precision = "f32"
    computes_in: ElementType | None = None

    @property
    def given(self) -> Tolerance | None:
        if self.rtol is None and self.atol is None:
            return None
        return Tolerance(rtol=self.rtol or 0.0, atol=self.atol or 0.0)

    def own(self, node: Node, inputs: Sequence[Array], kinds: Sequence[ElementType]) -> Tolerance:
        if self.given is not None:
            return self.given
        if isinstance(node.op, Const) and len(set(kinds)) == 1:
            return Tolerance()
        return own_tolerance(node, inputs, self._computed(kinds))

    def carried(self, kinds: Sequence[ElementType]) -> Tolerance:
        return tolerance_of(self._computed(kinds)) if self.given is None else self.given

    def _computed(self, kinds: Sequence[ElementType]) -> Sequence[ElementType]:
        if self.computes_in is None or not any(kind.is_float for kind in kinds):
            return kinds
        return [*kinds, self.computes_in]
