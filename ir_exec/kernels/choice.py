"""What a kernel says about why it was taken."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

__all__ = ["KernelChoice", "choosing"]


class KernelChoice(NamedTuple):
    """reason: why it was taken. alternatives: the others, and why not these, the runner-up first. variant: its name,
    where the kernel's own does not say it."""

    reason: str
    alternatives: tuple[str, ...]
    variant: str = ""


_Kernel = TypeVar("_Kernel", bound=Callable[..., Any])


def choosing(kernel: _Kernel, choice: KernelChoice) -> _Kernel:
    """A function of its own, or a partial, that says why it was taken."""
    vars(kernel)["choice"] = choice
    return kernel
