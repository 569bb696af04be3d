"""The arrays of .npz files: by which names inputs find them there."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ir_exec.model import ModelPort

__all__ = ["port_of_key"]


def port_of_key(key: str, ports: Sequence[ModelPort]) -> ModelPort | None:
    """The input that an array in a file is for: one of its names, or in0, in1, ...

    arr_0, arr_1, ... are what `numpy.savez` calls arrays that it is given without names.
    """
    for port in ports:
        if key == port.name or key in port.names:
            return port
    match = re.fullmatch(r"(?:in|arr_)(\d{1,6})", key)
    return ports[int(match[1])] if match and int(match[1]) < len(ports) else None
