"""Audio features as described by preprocessor_config.json: the log-mel spectrogram that Whisper reads.

    features = log_mel(read_wav("speech.wav"), folder)     # f32, [1, 80, 3000]

Pass other kinds of features as arrays.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, GraphError, Location, UnsupportedError
from ir_exec.ir.regular_files import open_regular
from ir_exec.text.folders.folder import Folder
from ir_exec.types import Array

__all__ = ["Wave", "log_mel", "read_wav"]

_FILE = "preprocessor_config.json"
_PROCESSOR = "processor_config.json"
"""The file of transformers 5, which contains the same settings as `feature_extractor`."""


MOST_BYTES = 2**30
"""Maximum bytes of a .wav file: three hours at 48,000 samples of 16 bits per second."""


@dataclass(frozen=True, slots=True)
class Wave:
    """Audio with one channel.

    Attributes:
        samples: f32, [samples], -1 to 1.
        rate: samples per second.
    """

    samples: Array
    rate: int


def read_wav(path: str | os.PathLike[str]) -> Wave:
    """Read the audio of a .wav file, PCM of 8 to 32 bits or float; channels are averaged.

    Raises:
        EvaluationError: IR704 for a file that cannot be read.
    """
    path = os.fspath(path)
    try:
        with open_regular(path) as file:
            data = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise _unreadable(path, getattr(error, "strerror", None) or str(error)) from None
    if len(data) > MOST_BYTES:
        raise _unreadable(path, f"it has more than {MOST_BYTES:,} bytes")
    if data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        raise _unreadable(path, "it is not a .wav file")
    chunks = _chunks(data)
    header, sound = chunks.get(b"fmt "), chunks.get(b"data")
    if header is None or sound is None or len(header) < 16:
        raise _unreadable(path, "the format or the samples are missing")
    encoding, channels, rate, _, _, bits = struct.unpack("<HHIIHH", header[:16])
    if encoding == 0xFFFE and len(header) >= 26:
        (encoding,) = struct.unpack("<H", header[24:26])
    samples = _samples(sound, encoding, bits)
    if samples is None or not channels or not rate:
        raise _unreadable(path, f"format {encoding} with {bits} bits, expected PCM with 8, 16, 24 or 32 bits, or float")
    if not np.isfinite(samples).all():
        raise _unreadable(path, "its samples are not finite numbers in f32")
    frames = samples[: samples.size // channels * channels].reshape(-1, channels)
    return Wave(frames.mean(axis=1, dtype=np.float32), rate)


def _chunks(data: bytes) -> dict[bytes, bytes]:
    chunks: dict[bytes, bytes] = {}
    at = 12
    while at + 8 <= len(data):
        name, size = data[at : at + 4], int.from_bytes(data[at + 4 : at + 8], "little")
        chunks.setdefault(name, data[at + 8 : at + 8 + size])
        at += 8 + size + size % 2
    return chunks


def _samples(sound: bytes, encoding: int, bits: int) -> Array | None:
    """The samples of all channels, f32; None for other formats."""
    width = bits // 8
    sound = sound[: len(sound) // width * width] if width else b""
    if encoding == 3 and bits in (32, 64):
        with np.errstate(over="ignore"):
            return np.frombuffer(sound, f"<f{width}").astype(np.float32)
    if encoding != 1 or bits not in (8, 16, 24, 32):
        return None
    if bits == 8:
        return np.float32(1 / 128) * (np.frombuffer(sound, np.uint8).astype(np.float32) - 128)
    if bits == 24:
        wide = np.zeros((len(sound) // 3, 4), np.uint8)
        wide[:, 1:] = np.frombuffer(sound, np.uint8).reshape(-1, 3)
        codes: Array = wide.view("<i4")[:, 0].astype(np.float64)
        codes /= 2.0**31
        return codes.astype(np.float32)
    integers: Array = np.frombuffer(sound, f"<i{width}").astype(np.float64)
    return (integers / 2.0 ** (bits - 1)).astype(np.float32)


def _unreadable(path: str, reason: str) -> EvaluationError:
    return EvaluationError(f"cannot read the audio of {path}: {reason}", code=Code.bad_value)


def log_mel(wave: Wave, folder: Folder) -> Array:
    """Return the log-mel spectrogram of audio, f32, [1, mel bands, frames].

    The audio is padded with silence to the input length of the model. The mel bands are defined by Slaney's Auditory
    Toolbox.
    Source: the feature extractor of Whisper, `WhisperFeatureExtractor` in transformers.

    Raises:
        GraphError: IR801 without preprocessor_config.json.
        UnsupportedError: IR900 if it describes other features.
        EvaluationError: IR704 for settings out of range, a different rate, or audio that is longer than the input of
            the model.
    """
    settings = folder.settings.get(_FILE)
    above: tuple[str, ...] = ()
    if settings is None and folder.setting(_PROCESSOR, "feature_extractor") is not None:
        settings, above = folder.settings[_PROCESSOR], ("feature_extractor",)
    if settings is None:
        hint = "pass `input_features` in `inputs`"
        message = f"{folder.path} has no {_FILE}, which is required for audio features"
        raise GraphError(message, code=Code.missing_part, hint=hint).located(Location(path=folder.path))
    extractor_type = settings.value(*above, "feature_extractor_type")
    if extractor_type != "WhisperFeatureExtractor":
        raise UnsupportedError(
            "the feature extractor is",
            actual=extractor_type,
            expected="WhisperFeatureExtractor",
            code=Code.unsupported,
            hint="pass the features in `inputs`",
        )
    numbers = {name: settings.value(*above, name) or default for name, default in _DEFAULTS.items()}
    for name, value in numbers.items():
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= _MOST[name]:
            raise EvaluationError(
                f"{name} is",
                actual=repr(value)[:60],
                expected=f"a whole number from 1 to {_MOST[name]:,}",
                code=Code.bad_value,
            ).located(settings.location(name))
    rate, window, hop = numbers["sampling_rate"], numbers["n_fft"], numbers["hop_length"]
    if wave.rate != rate:
        raise EvaluationError(
            "the audio has",
            actual=wave.rate,
            detail="samples per second",
            expected=rate,
            code=Code.bad_value,
            hint=f"resample it, for example with `ffmpeg -i IN -ar {rate} OUT.wav`",
        )
    length = rate * numbers["chunk_length"]
    # The samples are mirrored at both ends, and the last frame is omitted.
    if not max(window // 2, hop) < length or length // hop * window > _MOST_PRODUCTS:
        message = f"{length:,} samples in frames of n_fft={window} at every hop_length={hop} are out of range"
        raise EvaluationError(message, code=Code.bad_value).located(settings.location("hop_length"))
    if wave.samples.size > length:
        raise EvaluationError(
            "the audio is",
            actual=f"{wave.samples.size / rate:.1f}",
            detail="s long",
            expected=f"at most {numbers['chunk_length']} s",
            code=Code.bad_value,
            hint="split the audio",
        )
    samples = np.zeros(length, np.float64)
    samples[: wave.samples.size] = wave.samples
    bands = mel_filters(numbers["feature_size"], window, rate).T
    parts = [bands @ power for power in _power(samples, window, hop)]
    logs: Array = np.log10(np.maximum(np.concatenate(parts, axis=1), 1e-10))
    logs = (np.maximum(logs, logs.max() - 8.0) + 4.0) / 4.0
    return logs.astype(np.float32)[None]


_DEFAULTS = {"sampling_rate": 16000, "n_fft": 400, "hop_length": 160, "feature_size": 80, "chunk_length": 30}

_MOST = {"sampling_rate": 2**18, "n_fft": 2**16, "hop_length": 2**20, "feature_size": 2**12, "chunk_length": 3600}
"""The maximum of each setting."""

_MOST_PRODUCTS = 2**29
"""Maximum frames times their samples: about 10 seconds of computation. Whisper has 2**20."""

FRAMES_AT_ONCE = 2**22
"""Samples of the frames that are transformed at once, for bounded memory."""


def _power(samples: Array, window: int, hop: int) -> Iterator[Array]:
    """Yield the power of each frequency in each frame, f64, [window // 2 + 1, frames], without the last frame."""
    padded = np.pad(samples, window // 2, mode="reflect")
    frames = np.lib.stride_tricks.sliding_window_view(padded, window)[::hop][:-1]
    weights = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(window) / window)
    step = max(FRAMES_AT_ONCE // window, 1)
    for start in range(0, len(frames), step):
        spectrum: Array = np.abs(np.fft.rfft(frames[start : start + step] * weights, axis=1)) ** 2
        yield spectrum.T


def mel_filters(bands: int, window: int, rate: int) -> Array:
    """Return triangular filters of equal area on the mel scale, f64, [window // 2 + 1, bands]."""
    edges = _hertz(np.linspace(_mel(0.0), _mel(_HIGHEST), bands + 2))
    frequencies: Array = np.linspace(0, rate // 2, window // 2 + 1)[:, None]
    widths = np.diff(edges)
    rising = (frequencies - edges[:-2]) / widths[:-1]
    falling = (edges[2:] - frequencies) / widths[1:]
    filters: Array = np.maximum(0, np.minimum(rising, falling)) * (2.0 / (edges[2:] - edges[:-2]))
    return filters


_HIGHEST = 8000.0
"""The upper end of the bands in hertz, for every rate."""
_LINEAR = 200 / 3
"""Hertz per mel below 1000 Hz; above 1000 Hz each mel adds `_STEP` to the logarithm."""
_STEP = np.log(6.4) / 27.0


def _mel(hertz: float) -> float:
    return hertz / _LINEAR if hertz < 1000 else 15.0 + float(np.log(hertz / 1000)) / float(_STEP)


def _hertz(mels: Array) -> Array:
    return np.where(mels < 15, mels * _LINEAR, 1000 * np.exp(_STEP * (np.maximum(mels, 15) - 15)))
