"""Suffixes of files of images, and the inputs for the names of arrays in files."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ir_exec.model import ModelPort

__all__ = ["IMAGES", "port_of_key"]

IMAGES = (".png", ".jpg", ".jpeg", ".bmp", ".webp", ".tif", ".tiff", ".gif", ".ppm", ".pgm")
"""The suffixes of images; each image is an item."""


def port_of_key(key: str, ports: Sequence[ModelPort]) -> ModelPort | None:
    """Return the input for the name of an array in a file, or None.

    `key` is a name of the input, or its position: in0, in1, ... or arr_0, arr_1, ..., which are the names that
    `numpy.savez` chooses for unnamed arrays.
    """
    for port in ports:
        if key == port.name or key in port.names:
            return port
    match = re.fullmatch(r"(?:in|arr_)(\d{1,6})", key)
    return ports[int(match[1])] if match and int(match[1]) < len(ports) else None
