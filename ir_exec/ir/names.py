r"""The one text grammar of the file layer: lists of tensor names, `a\,b,c`."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["join_names", "split_names"]

_SEPARATOR = re.compile(r"(?<!\\),")


def split_names(text: str | None) -> tuple[str, ...]:
    r"""The names in a `names` or `output_names` attribute.

    Names are separated by commas, `\,` is a comma within a name, and any other backslash is itself. Empty names are
    none.
    """
    if not text:
        return ()
    if "," not in text:
        return (text,)
    return tuple([name.replace("\\,", ",") for name in _SEPARATOR.split(text) if name])


def join_names(names: Iterable[str]) -> str:
    r"""The attribute that lists these names.

    A name that ends in a backslash goes last: before a comma it would read as an escape. Only one such name can be
    told from the others, as in the files that OpenVINO writes.
    """
    ordered = sorted(names, key=lambda name: name.endswith("\\"))
    return ",".join(name.replace(",", "\\,") for name in ordered)
