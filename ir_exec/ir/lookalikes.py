"""Files that get passed in place of an IR .xml, told by their first bytes or their root element."""

from __future__ import annotations

import re

from ir_exec.codes import Code
from ir_exec.errors import IRError, ParseError

__all__ = ["LFS_POINTER", "recognise", "recognise_root"]

LFS_POINTER = b"version https://git-lfs.github.com/spec/v1"
"""How a Git LFS pointer starts."""

LFS_HINT = "fetch the real file with `git lfs pull`"

# An ONNX model is a protobuf message: field 1 is its IR version, a small number, then strings or the graph.
_ONNX = re.compile(rb"\x08[\x01-\x20][\x12\x1a\x22\x28\x32\x3a\x42]")
_HTML = re.compile(
    rb"(?:<\?xml[^>]*>\s*)?(?:<!--.{0,500}?-->\s*)?<(?:!doctype\s+html|html)\b", re.IGNORECASE | re.DOTALL
)

_BY_FIRST_BYTES = (
    (LFS_POINTER, "a Git LFS pointer, not the file it stands for", LFS_HINT),
    (b"RR_UPCVO", "a network that OpenVINO has compiled and exported", "check the .xml that it was compiled from"),
    (b"\x1f\x8b", "a gzip archive", "unpack it first"),
    (b"PK\x03\x04", "a zip archive (a PyTorch checkpoint is one too)", "unpack it or convert the model to IR first"),
    (b"\xfd7zXZ\0", "an xz archive", "unpack it first"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive", "unpack it first"),
    (b"BZh", "a bzip2 archive", "unpack it first"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-zip archive", "unpack it first"),
    (b"\x89HDF\r\n", "an HDF5 file", "convert the model to IR first"),
    (b"GGUF", "a GGUF model", "convert the model to IR first"),
    (b"\x80\x02", "a Python pickle", "convert the model to IR first"),
    (b"{", "JSON", None),
)

_BY_ROOT = {
    "html": ("an HTML page: perhaps the answer of a server in place of the file", "download the file again"),
    "error": ("a server's error message in place of the file", "download the file again"),
    "cnndata": ("a network that OpenVINO has compiled and exported", "check the .xml that it was compiled from"),
    "compiled_blob": ("a network that OpenVINO has compiled and exported", "check the .xml that it was compiled from"),
}


def recognise(raw: bytes) -> IRError | None:
    """The error for content that cannot be an XML file of IR, or None where it starts as XML does."""
    start = raw[:4096]
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not text and not raw.strip():
        return _not_ir("empty" if not raw else "blank", None)
    if _HTML.match(text):
        return _not_ir(*_BY_ROOT["html"])
    for first_bytes, kind, hint in _BY_FIRST_BYTES:
        if text.startswith(first_bytes) or raw.startswith(first_bytes):
            return _not_ir(kind, hint)
    if start[4:8] == b"TFL3":
        return _not_ir("a TensorFlow Lite model", "convert the model to IR first")
    if _ONNX.match(start):
        return _not_ir("an ONNX model", "convert it to IR first, with `ovc`")
    is_xml = text.startswith(b"<") or start.startswith((b"\xff\xfe", b"\xfe\xff", b"\0<", b"<\0", b"\0\0\xfe\xff"))
    if is_xml:
        return None
    if not _is_text(start):
        return _not_ir("binary data", "is this the .bin? Pass the .xml beside it")
    return _not_ir("text, but not XML", None)


def recognise_root(tag: str) -> IRError:
    """The error for an XML file whose root element is not `<net>`."""
    local_name = tag.rpartition("}")[2]
    found = _BY_ROOT.get(local_name.lower())
    if found is not None:
        return _not_ir(*found)
    return ParseError(f"not an IR file: its root element is <{local_name[:80]}>, not <net>", code=Code.not_ir)


def _is_text(start: bytes) -> bool:
    if b"\0" in start:
        return False
    odd = sum(1 for byte in start if byte < 32 and byte not in b"\t\n\r\f")
    return odd * 50 <= len(start)


def _not_ir(kind: str, hint: str | None) -> IRError:
    return ParseError(f"not an IR file: it is {kind}", code=Code.not_ir, hint=hint)
