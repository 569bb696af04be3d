"""The formats of existing files, by their content and their names."""

from __future__ import annotations

import os
import re
import stat
import zipfile

from ir_exec.readers import reader_of

__all__ = ["detect_format", "is_text"]

_PEEKED = 2**16

_STARTS = (
    (b"\x93NUMPY", "an .npy file"),
    (b"GGUF", "a GGUF model"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
    (b"PAR1", "a Parquet file"),
    (b"\x1f\x8b", "an archive"),
    (b"\x80\x02", "a pickle"),
    (b"\x80\x04", "a pickle"),
    (b"\x80\x05", "a pickle"),
)

_ROOT = re.compile(
    rb"\A(?:\xef\xbb\xbf)?\s*+(?:(?><\?.*?\?>|<!--.*?-->|<![A-Z][^>]*>)\s*+)*+<([A-Za-z_][\w.:-]*)", re.DOTALL
)
"""The name of the first element. Nothing is matched twice: declarations could be grouped in exponentially many ways."""

_BASELINE = re.compile(rb'\A\s*\{\s*"format":\s*\d+,\s*"findings":')

_ENDINGS = {
    **dict.fromkeys((".xml",), "an .xml file of another format"),
    **dict.fromkeys((".bin",), "a .bin file"),
    **dict.fromkeys((".npz", ".npy", ".zarr", ".parquet", ".h5", ".hdf5"), "a file of arrays"),
    **dict.fromkeys((".onnx", ".onnx_data", ".data", ".pb", ".safetensors", ".gguf", ".pt", ".pth"), "a model"),
    **dict.fromkeys((".ckpt", ".keras", ".tflite", ".pdmodel", ".pdiparams", ".mlmodel", ".blob"), "a model"),
    **dict.fromkeys((".zip", ".tar", ".gz", ".whl"), "an archive"),
    **dict.fromkeys((".wav", ".png", ".jpg", ".jpeg", ".bmp"), "an audio or image file"),
    **dict.fromkeys((".toml", ".yaml", ".yml", ".ini", ".cfg", ".jinja"), "a settings file"),
    **dict.fromkeys((".py", ".sh", ".ipynb", ".c", ".cc", ".cpp", ".h", ".rs", ".js", ".ts"), "a source file"),
}
"""Formats of files whose content does not show it. Other files are text or unknown."""


def detect_format(path: str) -> str | None:
    """Return the format of an existing file; None for no file, an empty file, a pipe, a device or a folder.

    The formats that commands write are "report" (any other text), "baseline", "junit", "npz", "bundle", "IR",
    "weights" (the .bin of an .xml), "ONNX" and "ONNX data". Others are nouns for messages.
    """
    # The name of the file itself, not that of a link, shows its format.
    path = os.path.realpath(path)
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode) or not status.st_size:
            return None
        with open(path, "rb") as file:
            start = file.read(_PEEKED)
    except OSError:
        return None
    ending = os.path.splitext(path)[1].lower()
    if ending == ".bin":
        return "weights" if detect_format(f"{os.path.splitext(path)[0]}.xml") == "IR" else "a .bin file"
    if path.lower().endswith(".onnx.data"):
        return "ONNX data" if detect_format(path[: -len(".data")]) == "ONNX" else "a file of weights"
    named = "npz" if ending == ".npz" else "ONNX" if ending == ".onnx" else _ENDINGS.get(ending)
    return _format_of_content(path, start, status.st_size, ending) or named or _format_of_text(path, start)


def is_text(start: bytes) -> bool:
    """Return True if the beginning of a file is UTF-8 without control characters of binary files."""
    if b"\0" in start:
        return False
    try:
        start.decode("utf-8")
    except UnicodeDecodeError as error:
        # The last character may be cut off.
        return error.start > len(start) - 4 and len(start) == _PEEKED
    return True


def _format_of_content(path: str, start: bytes, size: int, ending: str) -> str | None:
    if start.startswith(b"PK\x03\x04"):
        return _format_of_archive(path)
    if (format_name := next((name for head, name in _STARTS if start.startswith(head)), None)) is not None:
        return format_name
    if start[4:8] == b"TFL3":
        return "a TensorFlow Lite model"
    if len(start) > 8 and start[8:9] == b"{" and 2 <= int.from_bytes(start[:8], "little") <= size - 8:
        return "a safetensors file"
    if (root := _ROOT.match(start)) is not None:
        if root[1] == b"net":
            return "IR"
        if ending == ".xml":
            return "junit" if root[1] in (b"testsuites", b"testsuite") else None
        return None
    reader = reader_of(start)
    return reader.name if reader is not None else None


def _format_of_archive(path: str) -> str:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (OSError, ValueError, zipfile.BadZipFile):
        return "npz" if path.lower().endswith(".npz") else "an archive"
    if "bundle.json" in names:
        return "bundle"
    return "npz" if names and all(name.endswith(".npy") for name in names) else "an archive"


def _format_of_text(path: str, start: bytes) -> str:
    if not is_text(start):
        return "a binary file"
    if _BASELINE.match(start):
        return "baseline"
    if os.path.basename(path) in ("index.json", "manifest.jsonl"):
        return "the index of a folder"
    if path.lower().endswith(".json"):
        from ir_exec.text.folders.folder import SETTINGS_FILES  # few outputs replace a .json

        if os.path.basename(path) in SETTINGS_FILES:
            return "a settings file"
    return "report"
