"""Former names of the flags of operators, which classes of users may still set and read for a release."""

from __future__ import annotations

import warnings
from typing import Any

from ir_exec.ops.base.attributes import is_class_variable

__all__ = ["FORMER_FLAGS", "FormerFlag", "adopt_former_flags"]

FORMER_FLAGS = {
    "views": "may_alias",
    "overwrites": "inplace_inputs",
    "picks": "reads_sparsely",
    "fills_up": "pads_to_static",
    "moves": "is_data_movement",
    "jumps": "is_discontinuous",
    "rising": "increasing_in",
}
"""The name of each flag by its former one."""


class FormerFlag:
    """A flag of `root` and its subclasses that is read under its former name, with a DeprecationWarning."""

    def __init__(self, former: str) -> None:
        self.former = former

    def __get__(self, instance: object | None, owner: type) -> Any:
        if any(_is_field(base, self.former) for base in owner.__mro__):
            raise AttributeError(f"{owner.__name__} has no value for {self.former}")
        _warn(owner, self.former, level=3)
        return getattr(owner if instance is None else instance, FORMER_FLAGS[self.former])


def adopt_former_flags(cls: type, root: type) -> None:
    """Rename flags that are set under former names: by `cls`, a subclass of `root`, or by a mix-in among its bases."""
    for base in cls.__mro__:
        if base is not cls and issubclass(base, root):
            continue
        for former in FORMER_FLAGS.keys() & vars(base).keys():
            if _is_field(base, former):
                continue
            _warn(cls, former, level=4)
            if FORMER_FLAGS[former] not in vars(cls):
                setattr(cls, FORMER_FLAGS[former], vars(base)[former])
            if base is cls:
                delattr(cls, former)


def _is_field(cls: type, name: str) -> bool:
    """Return True if the class declares an attribute of the layer of this name."""
    annotation = getattr(cls, "__annotations__", {}).get(name) if cls is not object else None
    return annotation is not None and not is_class_variable(annotation)


def _warn(cls: type, former: str, *, level: int) -> None:
    message = f"{cls.__name__}: the flag {former} is called {FORMER_FLAGS[former]} now"
    warnings.warn(message, DeprecationWarning, stacklevel=level)
