"""Variants, kernels that may replace an operator's `evaluate`: their names, conditions and costs.

    @variant("Gather", name="take", applies=_is_short, cost=0.22, why="NumPy's own function checks few indices itself.")
    def _take(op: Gather, request: KernelRequest) -> Kernel: ...

`Op.kernel` takes the cheapest variant that applies, and `evaluate` if none costs less. A variant gives the results of
`evaluate`, bit for bit. Operators of extensions have no variants and need none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from ir_exec.kernels.choice import KernelChoice
from ir_exec.types import TensorType

__all__ = ["EVALUATE", "Kernel", "KernelRequest", "KernelVariant", "choice_of", "chosen", "variant", "variants_of"]

Kernel: TypeAlias = Callable[..., Any]

EVALUATE = 1.0
"""The cost of `evaluate`, the unit of all costs."""

_LIBRARY = "ir_exec.ops."
_REGISTERED: dict[str | type, list[KernelVariant]] = {}


class KernelRequest(NamedTuple):
    """The known facts of the calls of a kernel.

    Attributes:
        types: The static types of all inputs, with values where these are known.
        unread: Outputs that no later layer reads; those after the last output that is read may be omitted.
    """

    types: Sequence[TensorType]
    unread: frozenset[str] = frozenset()


class KernelVariant(NamedTuple):
    """A kernel that may take the place of `evaluate`.

    Attributes:
        type_name: The type of the operator, or the name of the class that operators derive from.
        applies: Returns True if the variant computes such calls.
        cost: The cost of a call, relative to `evaluate`; `python -m benchmarks.variants` measures it.
        make: The kernel for such calls.
        why: The reason in one sentence.
    """

    type_name: str
    name: str
    applies: Callable[[Any, KernelRequest], bool]
    cost: float
    make: Callable[[Any, KernelRequest], Kernel]
    why: str


def variant(
    *operators: str | type, name: str, applies: Callable[[Any, KernelRequest], bool], cost: float, why: str
) -> Callable[[Callable[[Any, KernelRequest], Kernel]], Callable[[Any, KernelRequest], Kernel]]:
    """Register a function that makes a kernel as a variant of operators.

    Args:
        *operators: Names of types, for all their versions, or classes, for all operators of the library that derive
            from them.
    """

    def register(make: Callable[[Any, KernelRequest], Kernel]) -> Callable[[Any, KernelRequest], Kernel]:
        for key in operators:
            type_name = key if isinstance(key, str) else key.__name__
            _REGISTERED.setdefault(key, []).append(KernelVariant(type_name, name, applies, cost, make, why))
        return make

    return register


def variants_of(op: Any) -> Sequence[KernelVariant]:
    """The variants of an operator of this library; none for others."""
    cls = type(op)
    if not cls.__module__.startswith(_LIBRARY):
        return ()
    return [variant for key in (cls.type_name, *cls.__mro__) for variant in _REGISTERED.get(key, ())]


def chosen(op: Any, request: KernelRequest) -> Kernel:
    """The kernel of the cheapest variant that applies, or `evaluate`."""
    cheapest = _cheapest(op, request)
    kernel: Kernel = op.evaluate if cheapest is None else cheapest.make(op, request)
    return kernel


def choice_of(op: Any, request: KernelRequest) -> KernelChoice | None:
    """The variant that `chosen` takes, and the reasons against the others; None for operators without variants."""
    variants = variants_of(op)
    if not variants:
        return None
    cheapest = _cheapest(op, request)
    able = [variant for variant in variants if variant is not cheapest and variant.applies(op, request)]
    # The kernel that would run without the variant comes first.
    costs = sorted(
        [(candidate.cost, candidate.name) for candidate in able]
        + ([] if cheapest is None else [(EVALUATE, "evaluate")])
    )
    others = [
        f"{name}: takes {cost / (EVALUATE if cheapest is None else cheapest.cost):.1f}x its time"
        for cost, name in costs
    ]
    others += [
        f"{variant.name}: does not apply" for variant in variants if variant is not cheapest and variant not in able
    ]
    if cheapest is None:
        return KernelChoice("No variant is faster.", tuple(others), "evaluate")
    return KernelChoice(cheapest.why, tuple(others), cheapest.name)


def _cheapest(op: Any, request: KernelRequest) -> KernelVariant | None:
    able = [variant for variant in variants_of(op) if variant.cost < EVALUATE and variant.applies(op, request)]
    return min(able, key=lambda variant: variant.cost, default=None)
