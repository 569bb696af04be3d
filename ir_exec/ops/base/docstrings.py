"""What the docstrings of an operator's class tell, with those of the classes that it shares them with."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from ir_exec.ops.base.operator import Family, Op

__all__ = ["description_of", "docstrings_of"]


def description_of(cls: type[Op]) -> str:
    """The docstring of the class, then those of its base classes, which say what versions and families share."""
    return "\n\n".join(docstrings_of(cls))


def docstrings_of(cls: type[Op]) -> Iterator[str]:
    """The same one by one."""
    for base in cls.__mro__[: cls.__mro__.index(Op)]:
        is_other_operator = base is not cls and "type_name" in vars(base)
        # How a family is written is nothing to those who use its operators.
        if base.__doc__ and not is_other_operator and base is not Family:
            yield inspect.cleandoc(base.__doc__)
