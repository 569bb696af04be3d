"""The reason for selecting a kernel, attached to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

__all__ = ["KernelChoice", "choosing"]


class KernelChoice(NamedTuple):
    """The selection of a kernel.

    Attributes:
        reason: The reason for the selection.
        alternatives: Other variants and the reasons against them, the next best first.
        variant: Its name, if the kernel's own name differs.
    """

    reason: str
    alternatives: tuple[str, ...]
    variant: str = ""


_Kernel = TypeVar("_Kernel", bound=Callable[..., Any])


def choosing(kernel: _Kernel, choice: KernelChoice) -> _Kernel:
    """A new function, or a partial, with the choice attached."""
    vars(kernel)["choice"] = choice
    return kernel
