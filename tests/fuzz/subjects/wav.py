"""Damaged .wav files, with every format of samples."""

from __future__ import annotations

import struct
from pathlib import Path
from random import Random

import numpy as np

from ir_exec.text.generation.audio import read_wav
from tests.fuzz.drawing import damage
from tests.fuzz.frame import Subject, only_our_errors

__all__ = ["SUBJECT"]


def run(random: Random, folder: Path) -> None:
    path = folder / "sound.wav"
    path.write_bytes(damage(_wav(random), random))
    with only_our_errors():
        wave = read_wav(path)
        assert wave.samples.dtype == np.float32
        assert wave.samples.ndim == 1
        assert wave.rate > 0


def _wav(random: Random) -> bytes:
    bits = random.choice((8, 16, 24, 32, 64, 12))
    format_code = random.choice((1, 3, 0xFFFE, 2))
    channels = random.choice((0, 1, 2, 5))
    rate = random.choice((16_000, 0, 2**32 - 1))
    sound = random.randbytes(random.choice((0, 7, 48, 480)))
    header = struct.pack("<HHIIHH", format_code, channels, rate, rate, 4, bits) + b"\x16\0\x10\0\4\0\0\0\1\0" * (
        format_code == 0xFFFE
    )
    chunks = [(b"fmt ", header), (b"LIST", b"x" * random.randrange(9)), (b"data", sound)]
    random.shuffle(chunks)
    body = b"".join(
        name + struct.pack("<I", len(content)) + content + b"\0" * (len(content) % 2) for name, content in chunks
    )
    return b"RIFF" + struct.pack("<I", len(body) + 4) + b"WAVE" + body


SUBJECT = Subject(run, cases=400)
