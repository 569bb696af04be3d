"""Features of audio. The numbers of `STORED` are those of transformers' WhisperFeatureExtractor."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ir_exec import EvaluationError, GraphError, UnsupportedError
from ir_exec.text.folders.folder import Folder, SettingsFile
from ir_exec.text.generation import audio
from ir_exec.text.generation.audio import Wave, log_mel, mel_filters, read_wav
from ir_exec.types import Array
from tests.helpers.facts import coded

BANDS, FRAMES = (0, 7, 20, 40, 60, 79), (0, 1, 50, 100, 150, 199, 200, 2999)
STORED = [
    [1.17036664, 0.59955645, -0.54948878, -0.54948878, -0.54948878, -0.14209318, 0.36803198, -0.54948878],
    [1.21271694, 1.00382328, -0.54948878, -0.54948878, -0.54948878, -0.14038217, 0.36978465, -0.54948878],
    [0.53436685, 0.03333759, -0.13078737, -0.54948878, -0.54948878, -0.12950051, 0.38059598, -0.54948878],
    [-0.03387129, -0.48924947, -0.54948878, -0.31340909, -0.54948878, -0.0669508, 0.4433412, -0.54948878],
    [0.3956396, -0.11432171, -0.54948878, -0.54948878, -0.54948878, 1.2823968, 1.18116939, -0.54948878],
    [0.068753, -0.44134784, -0.54948878, -0.54948878, -0.54948878, -0.19816959, 0.31196165, -0.54948878],
]


def folder(**settings: Any) -> Folder:
    data = {"feature_extractor_type": "WhisperFeatureExtractor"} | settings
    return Folder("model", "speech", {}, {"preprocessor_config.json": SettingsFile("model/p.json", data)}, None)


def sweep() -> Array:
    times = np.arange(32000) / 16000
    return 0.5 * np.sin(2 * np.pi * (200 * times + 900 * times**2)) + 0.1 * np.sin(2 * np.pi * 3000 * times)


def test_log_mel_matches_transformers() -> None:
    features = log_mel(Wave(sweep().astype(np.float32), 16000), folder())
    assert (features.shape, features.dtype) == ((1, 80, 3000), np.float32)
    np.testing.assert_allclose(features[0][np.ix_(BANDS, FRAMES)], STORED, atol=1e-4)


def test_a_description_inside_of_another_file() -> None:
    inner = {"feature_extractor": {"feature_extractor_type": "WhisperFeatureExtractor", "feature_size": 16}}
    nested = Folder("model", "speech", {}, {"processor_config.json": SettingsFile("model/p.json", inner)}, None)
    wave = Wave(np.zeros(100, np.float32), 16000)
    np.testing.assert_array_equal(log_mel(wave, nested), log_mel(wave, folder(feature_size=16)))


def test_bands_have_equal_areas() -> None:
    # With fine steps the sum over frequencies is the area of each triangle.
    bands = mel_filters(40, 16000, 16000)
    np.testing.assert_allclose(bands.sum(0), 1, rtol=1e-2)
    assert (np.diff(bands.argmax(0)) > 0).all()


def wav(encoding: int, bits: int, sound: bytes, channels: int = 1, rate: int = 16000, extra: bytes = b"") -> bytes:
    header = struct.pack("<HHIIHH", encoding, channels, rate, 0, 0, bits) + extra
    junk = b"LIST" + struct.pack("<I", 3) + b"abc\0"
    chunks = b"fmt " + struct.pack("<I", len(header)) + header + junk + b"data" + struct.pack("<I", len(sound)) + sound
    return b"RIFF" + struct.pack("<I", len(chunks) + 4) + b"WAVE" + chunks


VALUES = np.array([0.0, 0.5, -0.5, -1.0])


@pytest.mark.parametrize(
    ("format_code", "bits", "sound"),
    [
        (1, 8, (VALUES * 128 + 128).astype(np.uint8).tobytes()),
        (1, 16, (VALUES * 2**15).astype("<i2").tobytes()),
        (1, 24, b"".join(int(value * 2**23).to_bytes(3, "little", signed=True) for value in VALUES)),
        (1, 32, (VALUES * 2**31).astype("<i4").tobytes()),
        (3, 32, VALUES.astype("<f4").tobytes()),
        (3, 64, VALUES.astype("<f8").tobytes()),
    ],
)
def test_formats_of_wav(format_code: int, bits: int, sound: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    path.write_bytes(wav(format_code, bits, sound, rate=8000))
    wave = read_wav(path)
    assert (wave.rate, wave.samples.dtype) == (8000, np.float32)
    np.testing.assert_array_equal(wave.samples, VALUES)
    path.write_bytes(wav(0xFFFE, bits, sound, extra=struct.pack("<HHIH", 22, bits, 0, format_code) + bytes(14)))
    np.testing.assert_array_equal(read_wav(path).samples, VALUES)


def test_channels_are_averaged(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    path.write_bytes(wav(3, 32, VALUES.astype("<f4").tobytes(), channels=2))
    np.testing.assert_array_equal(read_wav(path).samples, [0.25, -0.75])


@pytest.mark.parametrize(
    "content",
    [None, b"", b"RIFF....WAVE", b"ID3" + bytes(100), wav(1, 12, bytes(12)), wav(7, 8, bytes(8)), wav(1, 16, b"", 0)],
)
def test_files_without_audio(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(EvaluationError) as caught:
        read_wav(path)
    assert caught.value.code == "IR704"


@pytest.mark.parametrize(
    ("wave", "settings", "code"),
    [
        (Wave(np.zeros(100, np.float32), 44100), {}, "IR704"),
        (Wave(np.zeros(16000 * 2 + 1, np.float32), 16000), {"chunk_length": 2}, "IR704"),
        (Wave(np.zeros(100, np.float32), 16000), {"hop_length": "160"}, "IR704"),
        *[
            (Wave(np.zeros(100, np.float32), 16000), {name: value}, "IR704")
            for name in ("sampling_rate", "n_fft", "hop_length", "feature_size", "chunk_length")
            for value in ([16000], {"a": 1}, True, 1.5, -1, 10**6 * 3, 10**40, "9" * 5000)
        ],
        (
            Wave(np.zeros(1, np.float32), 2**18),
            {"sampling_rate": 2**18, "chunk_length": 3600, "hop_length": 1},
            "IR704",
        ),
        (Wave(np.zeros(1, np.float32), 1), {"sampling_rate": 1, "chunk_length": 1}, "IR704"),
        (
            Wave(np.zeros(1, np.float32), 8),
            {"sampling_rate": 8, "chunk_length": 1, "n_fft": 2, "hop_length": 8},
            "IR704",
        ),
        (Wave(np.zeros(100, np.float32), 16000), {"feature_extractor_type": "Wav2Vec2FeatureExtractor"}, "IR900"),
    ],
)
def test_audio_that_the_model_does_not_take(wave: Wave, settings: dict[str, Any], code: str) -> None:
    with pytest.raises((EvaluationError, UnsupportedError)) as caught:
        log_mel(wave, folder(**settings))
    assert caught.value.code == code


@pytest.mark.parametrize("frames", [1, 400 * 7, 400 * 10**6])
def test_frames_transformed_in_sequence(frames: int, monkeypatch: pytest.MonkeyPatch) -> None:
    wave = Wave(sweep()[:16000].astype(np.float32), 16000)
    expected = log_mel(wave, folder(chunk_length=1))
    monkeypatch.setattr(audio, "FRAMES_AT_ONCE", frames)
    np.testing.assert_allclose(log_mel(wave, folder(chunk_length=1)), expected, rtol=1e-6)


def test_paths_without_audio_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [tmp_path, tmp_path / "large.wav"]
    (tmp_path / "large.wav").write_bytes(wav(1, 16, bytes(100)))
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.wav")
        paths.append(tmp_path / "pipe.wav")
    monkeypatch.setattr(audio, "MOST_BYTES", 100)
    for path in paths:
        with pytest.raises(EvaluationError, check=coded("IR704")):
            read_wav(path)


def test_any_damage_is_an_error_or_audio(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    path, codes = tmp_path / "a.wav", set()
    for encoding, bits in ((1, 8), (1, 16), (1, 24), (3, 32), (0xFFFE, 16)):
        for _ in range(100):
            content = bytearray(wav(encoding, bits, random.bytes(24), extra=struct.pack("<HHIH", 22, bits, 0, 1)))
            for position in random.integers(0, len(content), 3):
                content[position] = random.integers(0, 256)
            path.write_bytes(content[: random.integers(0, len(content) + 1)])
            try:
                wave = read_wav(path)
            except EvaluationError as error:
                codes.add(error.code)
            else:
                assert (wave.samples.ndim, wave.rate > 0) == (1, True)
    assert codes == {"IR704"}


def test_a_folder_without_a_description() -> None:
    with pytest.raises(GraphError) as caught:
        log_mel(Wave(np.zeros(10, np.float32), 16000), Folder("model", "speech", {}, {}, None))
    assert caught.value.code == "IR801"


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300])
def test_nan_samples(value: float, tmp_path: Path) -> None:
    sound = np.array([0.0, value, -value], "<f8").tobytes()
    header = struct.pack("<HHIIHH", 3, 1, 16000, 128000, 8, 64)
    body = b"WAVEfmt " + struct.pack("<I", 16) + header + b"data" + struct.pack("<I", len(sound)) + sound
    (tmp_path / "a.wav").write_bytes(b"RIFF" + struct.pack("<I", len(body)) + body)
    with pytest.raises(EvaluationError, check=coded("IR704")):
        read_wav(tmp_path / "a.wav")
