"""The safe parser of XML files: other formats, too large files and refused markup are rejected here.

The tree comes with the lines of its start tags. lxml's `sourceline` is wrong after line 65,535 and for tags of several
lines; the lines of such files are computed from the bytes.
"""

from __future__ import annotations

import codecs
import os
import re
import stat
from collections.abc import Callable
from operator import attrgetter
from typing import NamedTuple

import numpy as np
from lxml import etree

from ir_exec.codes import Code
from ir_exec.errors import IRError, Location, ParseError, ResourceError, SourceTypeError
from ir_exec.hints import path_hint
from ir_exec.ir.urls import is_url
from ir_exec.readers import SOURCE_TYPES, hint_for_object
from ir_exec.types import Array

__all__ = [
    "LFS_HINT",
    "LFS_POINTER",
    "MAX_XML_BYTES",
    "Markup",
    "is_text",
    "load",
    "parse",
    "recognize",
    "recognize_root",
    "start_tags",
]

MAX_XML_BYTES = 128 * 2**20
"""Far above the size of any model: a layer takes half a kilobyte, and the weights are not in this file."""

_ASIDE = {b"<!--": b"-->", b"<![CDATA[": b"]]>", b"<?": b"?>"}
_ASIDE_OR_DECLARATION = re.compile(rb"<!--|<!\[CDATA\[|<\?|<!(?:DOCTYPE|ENTITY|ELEMENT|ATTLIST|NOTATION)")
_DECLARED_ENCODING = re.compile(rb"""\s*<\?xml[^>]{0,200}?\bencoding\s*=\s*["']([A-Za-z][A-Za-z0-9._-]{0,39})["']""")
_LATE_DECLARATION = re.compile(rb"\s+<\?xml\s[^>]{0,400}?\?>")
_FURTHER_DECLARATIONS = re.compile(rb"\s*<\?xml\s[^>]{0,400}?\?>((?:\s*<\?xml\s[^>]{0,400}?\?>)+)")
_END = re.compile(rb"</net\s*>")
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Some codecs of Python are not character sets, and some take quadratic time: only encodings of XML files are accepted.
_CHARACTER_SETS = re.compile(
    r"utf-(8|16|32)(-[lb]e)?|ascii|iso8859-\d+|cp\d+|koi8-[ru]|shift_jis|euc_(jp|kr)|gb(2312|k|18030)|big5"
)
_MOST_SOURCE_LINES = 65_534
_UNDECLARED_ENTITY, _UNDECLARED_PREFIX = 26, 201
# A separate error since libxml2 2.13; earlier, an internal error for the depth, and out of memory for texts.
_LIMITS_EXCEEDED = (114, 1, 2)


class Markup(NamedTuple):
    """The root element, and a function that returns the line of an element's start tag.

    Attributes:
        warnings: Markup that other readers of IR ignore, but XML does not allow.
    """

    root: etree._Element
    line_of: Callable[[etree._Element], int]
    warnings: tuple[ParseError, ...] = ()


def load(source: str | os.PathLike[str] | bytes) -> tuple[str | None, bytes]:
    """The path (None for bytes) and the content of a file.

    Raises:
        ParseError: IR001 if the path cannot be read.
        ResourceError: IR006 if the file is too large.
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        _check_size(len(source), None)
        return None, bytes(source)
    path = None
    if is_text(source):
        raise ParseError(
            "the source is",
            actual="the text of an XML file",
            expected="a path",
            code=Code.unreadable_path,
            hint='pass text as bytes: text.encode("utf-8")',
        )
    if not isinstance(source, (str, os.PathLike)):
        raise SourceTypeError(
            "the source is of type",
            actual=type(source).__name__,
            expected=SOURCE_TYPES,
            code=Code.unreadable_path,
            hint=hint_for_object(source),
        )
    try:
        path = os.fsdecode(source)
        if is_url(path):
            return path, _fetch(path)
        status = os.stat(path)
        # A pipe or a device may never end, and may block even when it is opened.
        if not stat.S_ISREG(status.st_mode):
            what = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
            message, location = f"the path is {what}", Location(path=path)
            raise ParseError(message, code=Code.unreadable_path, hint=path_hint(path), location=location)
        _check_size(status.st_size, path)
        with open(path, "rb") as file:
            raw = file.read(MAX_XML_BYTES + 1)
    except (OSError, ValueError, TypeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        message = f"cannot read the file: {reason}"
        near = path_hint(path) if path and isinstance(error, FileNotFoundError) and not is_url(path) else None
        raise ParseError(message, code=Code.unreadable_path, hint=near, location=Location(path=path)) from None
    _check_size(len(raw), path)
    return path, raw


def _fetch(url: str) -> bytes:
    from ir_exec.ir.remote import RemoteFile  # few models are elsewhere

    remote = RemoteFile.open(url, most_bytes=MAX_XML_BYTES + 1)
    _check_size(remote.size, url)
    remote.require(0, remote.size)
    return remote.stored.tobytes()


def is_text(source: object) -> bool:
    """Return True if an argument for a path is the content of a file."""
    return isinstance(source, str) and source.lstrip("\ufeff \t\r\n").startswith("<") and not os.path.exists(source)


def parse(raw: bytes) -> Markup:
    """The elements of an XML file in any encoding that XML files are written in.

    Raises:
        ParseError: IR002 not well-formed, IR003 refused markup, IR004 another kind of file.
        ResourceError: IR006 nested too deep, or a text too long.
    """
    fault = recognize(raw)
    if fault is not None:
        raise fault
    encoded = _to_utf8(raw)
    text = _without_surroundings(encoded)
    markup = _without_asides(text)
    root = _element_tree(text)
    if root.getroottree().docinfo.internalDTD is not None:
        raise _refuse("a DOCTYPE", 1)
    if str(root.tag).startswith("{"):
        _drop_namespace(root)
    return Markup(root, _line_finder(root, markup), _warnings(encoded))


def _check_size(size: int, path: str | None) -> None:
    if size > MAX_XML_BYTES:
        raise ResourceError(
            "the file has",
            actual=f"{size:,}",
            detail="bytes",
            expected=f"at most {MAX_XML_BYTES:,} in an .xml of IR",
            code=Code.limit_exceeded,
            hint="check that this is not the .bin",
            location=Location(path=path),
        )


def _to_utf8(raw: bytes) -> bytes:
    """Convert the text to UTF-8 without a byte order mark; the lines are unchanged."""
    encoding, skip = None, 0
    for mark, name in _BYTE_ORDER_MARKS:
        if raw.startswith(mark):
            encoding, skip = name, len(mark)
            break
    else:
        if raw.startswith(b"<\0"):
            encoding = "utf-16-le"
        elif raw.startswith(b"\0<"):
            encoding = "utf-16-be"
        elif declared := _DECLARED_ENCODING.match(raw):
            encoding = declared[1].decode("ascii")
    if encoding is None or encoding.lower() in ("utf-8", "utf8"):
        return raw[skip:] if skip else raw
    try:
        if not _CHARACTER_SETS.fullmatch(codecs.lookup(encoding).name):
            raise LookupError
        text = raw[skip:].decode(encoding)
    except LookupError:
        raise ParseError(f"the file declares the unknown encoding {encoding!r}", code=Code.not_well_formed) from None
    except UnicodeError as error:
        raise ParseError(f"the file is not {encoding}: {error}", code=Code.not_well_formed) from None
    return text.encode("utf-8", "surrogatepass")


def _without_surroundings(text: bytes) -> bytes:
    """The text without markup that other readers of IR ignore.

    Removed are a declaration after white space, further declarations, and text after the end. Every other byte remains
    in place. A `<` after the end remains, and is rejected later.
    """
    if (further := _FURTHER_DECLARATIONS.match(text)) is not None:
        start, end = further.span(1)
        text = text[:start] + re.sub(rb"[^\r\n]", b" ", text[start:end]) + text[end:]
    if text[:1].isspace() and (declaration := _LATE_DECLARATION.match(text)) is not None:
        start, end = text.index(b"<"), declaration.end()
        text = text[:start] + re.sub(rb"[^\r\n]", b" ", text[start:end]) + text[end:]
    end_tag = _END.match(text, max(text.rfind(b"</net"), 0))
    if end_tag is not None and (behind := text[end_tag.end() :].strip()) and b"<" not in behind:
        text = text[: end_tag.end()]
    return text


def _warnings(text: bytes) -> tuple[ParseError, ...]:
    """The warning IR002 for a second `<?xml ?>`, which OpenVINO's parser ignores and others reject."""
    further = _FURTHER_DECLARATIONS.match(text)
    if further is None:
        return ()
    start = text.index(b"<", further.start(1))
    location = Location(line=1 + text.count(b"\n", 0, start))
    error = ParseError(
        "a second XML declaration",
        expected="one",
        reason=": OpenVINO reads such a file, other tools reject it",
        code=Code.not_well_formed,
        severity="warning",
        hint="remove all <?xml ... ?> except the first",
        location=location,
    )
    return (error,)


def _without_asides(text: bytes) -> bytes:
    """The text with every `<` in comments, CDATA and processing instructions blanked; rejects declarations.

    Each end is found by a plain search: a pattern with a lazy tail takes quadratic time for openings that are never
    closed. NumPy detects files without such openings ten times faster.
    """
    characters = np.frombuffer(text, np.uint8)
    following = characters[1:][characters[:-1] == ord("<")]
    if ord("!") not in following and ord("?") not in following[text.startswith(b"<?") :]:
        return text
    parts, position = [], 0
    while (match := _ASIDE_OR_DECLARATION.search(text, position)) is not None:
        closing = _ASIDE.get(match[0])
        if closing is None:
            raise _refuse(f"a {match[0][2:].decode()}", text.count(b"\n", 0, match.start()) + 1)
        end = text.find(closing, match.end())
        if end < 0:
            break  # not well-formed, as the parser will report
        parts += [text[position : match.start()], text[match.start() : end].replace(b"<", b" ")]
        position = end
    return b"".join([*parts, text[position:]])


def _drop_namespace(root: etree._Element) -> None:
    """Remove the root's namespace from the names of elements: other readers of IR ignore `xmlns`."""
    namespace = str(root.tag).rpartition("}")[0] + "}"
    for element in root.iter():
        element.tag = str(element.tag).removeprefix(namespace)


def _refuse(what: str, line: int) -> IRError:
    return ParseError(
        f"the file contains {what}, which IR does not need and which may make a reader fetch or expand data",
        code=Code.refused_markup,
        location=Location(line=line),
    )


def _element_tree(text: bytes, *, recover: bool = False) -> etree._Element:
    parser = etree.XMLParser(
        encoding="utf-8",
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        huge_tree=False,
        collect_ids=False,
        remove_blank_text=True,
        remove_comments=True,
        remove_pis=True,
        recover=recover,
    )
    try:
        root = etree.fromstring(text, parser)
    except etree.XMLSyntaxError as error:
        # Other readers of IR ignore namespaces, so an undeclared prefix is not a fault of an IR file.
        # Before libxml2 2.13 an attribute without an end comes first.
        first = min(parser.error_log, key=lambda entry: entry.type not in _LIMITS_EXCEEDED, default=None)
        if first is None:
            raise _syntax_error(text, None, error.msg, error.lineno) from None
        if first.type == _UNDECLARED_PREFIX and not recover:
            return _element_tree(text, recover=True)
        raise _syntax_error(text, first.type, first.message, first.line) from None
    for entry in parser.error_log if recover else ():
        if entry.type != _UNDECLARED_PREFIX:
            raise _syntax_error(text, entry.type, entry.message, entry.line)
    return root


def _syntax_error(text: bytes, code: int | None, message: str | None, line: int | None) -> IRError:
    reason = (message or "unknown reason").strip()
    location = Location(line=line)
    # libxml2 2.9 reports this for attributes, and for attributes without an end.
    if code in _LIMITS_EXCEEDED or reason.endswith("too long"):
        return ResourceError(
            f"the file goes beyond the XML parser's limits: {reason}", code=Code.limit_exceeded, location=location
        )
    if code == _UNDECLARED_ENTITY:
        return ParseError(f"the file uses an entity: {reason}", code=Code.refused_markup, location=location)
    cut_off = b"<net" in text and not text.rstrip().endswith(b"</net>")
    hint = "the file ends before </net>: was it cut off while it was copied?" if cut_off else None
    return ParseError(
        f"the file is not well-formed XML: {reason}", code=Code.not_well_formed, hint=hint, location=location
    )


def start_tags(text: bytes) -> list[tuple[etree._Element, int]]:
    """Every element of well-formed XML in UTF-8, in document order, and the byte at which its start tag begins.

    Raises:
        IRError: What `parse` raises.
        ParseError: IR002 for text that is not in UTF-8, or begins with a byte order mark.
    """
    root = parse(text).root
    if _to_utf8(text) is not text:
        raise ParseError("the file is not plain UTF-8", code=Code.not_well_formed)
    starts: list[int] = _starts(np.frombuffer(_without_asides(text), np.uint8)).tolist()
    return list(zip(root.iter(), starts, strict=True))


def _line_finder(root: etree._Element, text: bytes) -> Callable[[etree._Element], int]:
    """lxml's `sourceline` if it is correct, without cost, else a table from the bytes."""
    characters = np.frombuffer(text, np.uint8)
    line_ends = characters == ord("\n")
    if np.count_nonzero(line_ends) <= _MOST_SOURCE_LINES and _lines_end_in_tags(characters, line_ends):
        return attrgetter("sourceline")
    lines = (np.searchsorted(np.flatnonzero(line_ends), _starts(characters)) + 1).tolist()
    return dict(zip(root.iter(), lines, strict=True)).__getitem__


def _lines_end_in_tags(characters: Array, line_ends: Array) -> bool:
    """Return True if a tag ends at the end of every line, as writers of IR do: no tag then spans several lines.

    Return False if a text or an attribute may contain a `>`.
    """
    closes = characters == ord(">")
    if np.count_nonzero(characters == ord("<")) != np.count_nonzero(closes):
        return False
    return not (line_ends[1:] > closes[:-1]).any()


def _starts(characters: Array) -> Array:
    """The places of start tags; in well-formed XML without comments and the like every `<` opens a tag."""
    opens = np.flatnonzero(characters == ord("<"))
    following = characters[opens + 1]  # the last character is the root's `>`
    starts: Array = opens[(following != ord("/")) & (following != ord("?")) & (following != ord("!"))]
    return starts


LFS_POINTER = b"version https://git-lfs.github.com/spec/v1"
"""The start of a Git LFS pointer."""

LFS_HINT = "fetch the real file with `git lfs pull`"

# An ONNX model is a protobuf message: field 1 is its IR version, a small number, then strings or the graph.
_ONNX = re.compile(rb"\x08[\x01-\x20][\x12\x1a\x22\x28\x32\x3a\x42]")
_HTML = re.compile(
    rb"(?:<\?xml[^>]*>\s*)?(?:<!--.{0,500}?-->\s*)?<(?:!doctype\s+html|html)\b", re.IGNORECASE | re.DOTALL
)

_BY_FIRST_BYTES = (
    (LFS_POINTER, "a Git LFS pointer instead of the file", LFS_HINT),
    (b"RR_UPCVO", "a model compiled and exported by OpenVINO", "check the .xml that it was compiled from"),
    (b"\x1f\x8b", "a gzip archive", "unpack it first"),
    (b"\xfd7zXZ\0", "an xz archive", "unpack it first"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive", "unpack it first"),
    (b"BZh", "a bzip2 archive", "unpack it first"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-zip archive", "unpack it first"),
    (b"\x89HDF\r\n", "an HDF5 file", "convert the model to IR first"),
    (b"GGUF", "a GGUF model", "convert the model to IR first"),
    (b"\x80\x02", "a Python pickle", "convert the model to IR first"),
    (b"{", "JSON", None),
)

_ZIP = b"PK\x03\x04"

_BY_MEMBER = (
    (b"bundle.json", "a bundle of a model with its inputs and outputs", "run it with `ir-exec bundle --run`"),
    (b"data.pkl", "a PyTorch checkpoint", "convert the model to IR first"),
    (b".npy", "an .npz with arrays", "pass the model, and the arrays with --inputs"),
    (b"", "a zip archive", "unpack it first"),
)
"""The contents of zip archives by the name of a member near the start of the file."""

_BY_ROOT = {
    "html": ("an HTML page, possibly a server's response instead of the file", "download the file again"),
    "error": ("a server's error message instead of the file", "download the file again"),
    "cnndata": ("a model compiled and exported by OpenVINO", "check the .xml that it was compiled from"),
    "compiled_blob": ("a model compiled and exported by OpenVINO", "check the .xml that it was compiled from"),
}


def recognize(raw: bytes) -> IRError | None:
    """The error for content that cannot be an XML file of IR, or None if it starts like XML."""
    start = raw[:4096]
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not text and not raw.strip():
        return _not_ir("empty" if not raw else "blank", None)
    if _HTML.match(text):
        return _not_ir(*_BY_ROOT["html"])
    if raw.startswith(_ZIP):
        return _not_ir(*next((file_format, hint) for member, file_format, hint in _BY_MEMBER if member in start))
    for first_bytes, file_format, hint in _BY_FIRST_BYTES:
        if text.startswith(first_bytes) or raw.startswith(first_bytes):
            return _not_ir(file_format, hint)
    if start[4:8] == b"TFL3":
        return _not_ir("a TensorFlow Lite model", "convert the model to IR first")
    if _ONNX.match(start):
        return _not_ir("an ONNX model", "convert it to IR first, with `ovc`")
    is_xml = text.startswith(b"<") or start.startswith((b"\xff\xfe", b"\xfe\xff", b"\0<", b"<\0", b"\0\0\xfe\xff"))
    if is_xml:
        return None
    if not _is_text(start):
        return _not_ir("binary data", "pass the .xml instead of the .bin")
    return _not_ir("text, but not XML", None)


def recognize_root(tag: str) -> IRError:
    """The error for an XML file whose root element is not `<net>`."""
    local_name = tag.rpartition("}")[2]
    entry = _BY_ROOT.get(local_name.lower())
    if entry is not None:
        return _not_ir(*entry)
    return ParseError(
        "not an IR file: its root element is", actual=f"<{local_name[:80]}>", expected="<net>", code=Code.not_ir
    )


def _is_text(start: bytes) -> bool:
    if b"\0" in start:
        return False
    odd = sum(1 for byte in start if byte < 32 and byte not in b"\t\n\r\f")
    return odd * 50 <= len(start)


def _not_ir(file_format: str, hint: str | None) -> IRError:
    return ParseError(f"not an IR file: it is {file_format}", code=Code.not_ir, hint=hint)
