"""Damaged .npz and .npy files: as inputs, as references, and in bundles."""

from __future__ import annotations

import io
import shutil
import struct
import zipfile
from pathlib import Path
from random import Random

import numpy as np

from ir_exec.debug import rerun
from ir_exec.debug.values.files import read_npz
from tests.fuzz.drawing import damage, draw_name
from tests.fuzz.frame import Subject, invoke, only_our_errors

__all__ = ["SUBJECT"]

_SAMPLES = Path(__file__).parents[3] / "samples"
_MODEL = "gather_elements.xml"
_INPUTS = "gather_elements.inputs.npz"

_DIMS = (-1, 0, 1, 3, 2**31, 2**62, 2**63 - 1, 2**64, 10**30, "x", 1.5, None)
_TYPES = ("<f4", "<i8", "|O", "<U5", "|V3", "<M8[s]", "x", "", "[('a', '<f4')]", "<f4,<f4", ">f8")


def run(random: Random, folder: Path) -> None:
    for suffix in (".xml", ".bin"):
        shutil.copy((_SAMPLES / _MODEL).with_suffix(suffix), folder)
    path = folder / random.choice(("a.npz", "a.npy"))
    content = _archive(random) if path.suffix == ".npz" else _member(random)
    path.write_bytes(damage(content, random) if random.random() < 0.7 else content)
    match random.randrange(6):
        case 0:
            invoke("run", _MODEL, "--inputs", path.name)
        case 1:
            invoke("run", _MODEL, "--input", f"data={path.name}")
        case 2:
            inputs = _SAMPLES / _INPUTS
            invoke("compare", _MODEL, "--inputs", inputs, "--with", path.name)
        case 3:
            with only_our_errors():
                read_npz(path)
        case 4:
            invoke("bundle", _MODEL, "--inputs", path.name, "--output", "b.zip")
        case _:
            with zipfile.ZipFile(folder / "b.zip", "w") as archive:
                archive.writestr("bundle.json", damage(b'{"format": 1}', random))
                archive.writestr("model.inputs.npz", content)
            with only_our_errors():
                rerun(folder / "b.zip")


def _archive(random: Random) -> bytes:
    """Return an .npz with arrays for the model, some of them with other headers, names, methods or flags."""
    stored = io.BytesIO()
    method = random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    with zipfile.ZipFile(stored, "w", method) as archive:
        for name in ("data.npy", "indices.npy", f"{draw_name(random)[:50]}.npy")[: random.randint(1, 3)]:
            text = name.encode("utf-8", "replace").decode().replace("\0", "")
            archive.writestr(zipfile.ZipInfo(text), _member(random))
    raw = bytearray(stored.getvalue())
    if random.random() < 0.3:
        # Flags or method of the first entry of the central directory: encrypted, or an unknown method.
        entry = raw.index(b"PK\1\2")
        offset, number = random.choice(((8, 1), (10, 99), (8, 0x2041), (10, 14)))
        raw[entry + offset : entry + offset + 2] = struct.pack("<H", number)
    return bytes(raw)


def _member(random: Random) -> bytes:
    if random.random() < 0.5:
        file = io.BytesIO()
        np.save(file, np.zeros(random.choice(((2, 2, 3), (2, 1, 3), (0,), ())), random.choice(("<f4", "<i8", ">i4"))))
        return file.getvalue()
    dims = ", ".join(repr(random.choice(_DIMS)) for _ in range(random.randrange(5)))
    dtype = random.choice(_TYPES)
    header = f"{{'descr': {dtype!r}, 'fortran_order': {random.choice(('False', 'True', '3'))}, 'shape': ({dims},)}}"
    version = random.choice(((1, 0), (2, 0), (3, 0), (9, 9)))
    size = struct.pack("<H" if version == (1, 0) else "<I", random.choice((len(header), len(header), 2**16 - 1)))
    return b"\x93NUMPY" + bytes(version) + size + header.encode() + random.randbytes(random.choice((0, 48, 200)))


SUBJECT = Subject(run, cases=200)
