"""The surroundings of the root element: other readers of IR pass over white space before it and text after it."""

from __future__ import annotations

import pytest

from ir_exec import check_model
from ir_exec.codes import Code
from ir_exec.errors import IRError, ParseError
from ir_exec.ir import read_document
from ir_exec.ir.markup import start_tags
from tests.helpers.ir_files import RELU

RAW = RELU.encode()
PLAIN = read_document(RAW)


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("space", [b" ", b"\n", b"\r\n\t \n"])
def test_white_space_before_the_declaration(mark: bytes, space: bytes) -> None:
    document = read_document(mark + space + RAW)
    assert document is not None
    lines = space.count(b"\n")
    assert PLAIN is not None
    assert [layer.line - lines for layer in document.layers] == [layer.line for layer in PLAIN.layers]
    assert document.changed(layers=(), edges=(), rt_info=PLAIN.rt_info) == PLAIN.changed(layers=(), edges=())


def test_white_space_before_a_declared_encoding() -> None:
    text = RELU.replace('<?xml version="1.0"?>', '<?xml version="1.0" encoding="latin-1"?>').replace('"relu"', '"é"')
    document = read_document(b"\n" + text.encode("latin-1"))
    assert document is not None
    assert document.name == "é"


@pytest.mark.parametrize(
    "second", [b'<?xml version="1.0" encoding="utf-8"?>', b'\n<?xml version="1.0"?>\n<?xml version="1.1"?>']
)
@pytest.mark.parametrize("space", [b"", b"\n "])
def test_a_second_declaration_is_a_warning(second: bytes, space: bytes) -> None:
    declaration = b'<?xml version="1.0"?>'
    assert RAW.startswith(declaration)
    raw = space + declaration + second + RAW.removeprefix(declaration)
    errors: list[IRError] = []
    document = read_document(raw, report=errors.append)
    assert document is not None
    assert PLAIN is not None
    lines = (space + second).count(b"\n")
    assert [layer.line - lines for layer in document.layers] == [layer.line for layer in PLAIN.layers]
    (warning,) = errors
    assert (warning.code, warning.severity) == (Code.not_well_formed, "warning")
    assert warning.location.line == 1 + space.count(b"\n") + second.startswith(b"\n")
    assert document.is_complete
    assert check_model(raw).ok
    assert [position for _, position in start_tags(raw)] == [
        position + len(space) + len(second) for _, position in start_tags(RAW)
    ]


@pytest.mark.parametrize(
    "behind", [b"\nmore", b"\0\0\0", b"\x1a", b"\xff\xfe\x80 junk", b"&foo; > ]]>", b"\n more >\n", b" \n\t"]
)
def test_text_and_bytes_behind_the_end(behind: bytes) -> None:
    assert read_document(RAW.rstrip() + behind) == PLAIN
    assert read_document(RAW.rstrip().replace(b"</net>", b"</net \n>") + behind) == PLAIN


@pytest.mark.parametrize("behind", [b"\nmore", b"\n more >\n"])
def test_start_tags_keep_their_positions(behind: bytes) -> None:
    """`--fix` writes at these places."""
    shifted = b" \n" + RAW + behind
    assert [position - 2 for _, position in start_tags(shifted)] == [position for _, position in start_tags(RAW)]


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (RAW + b"<x>", Code.not_well_formed),
        (RAW + b"</net>", Code.not_well_formed),
        (RAW + b"<!-- open", Code.not_well_formed),
        (RAW + RAW, Code.not_well_formed),
        (RAW + b"<!DOCTYPE net>", Code.refused_markup),
        (b"\n<!DOCTYPE net>" + RAW, Code.refused_markup),
        (RAW.replace(b'name="x"', b'name="x" name="y"', 1), Code.not_well_formed),
        (RAW.replace(b"</layers>", b"\0</layers>"), Code.not_well_formed),
        (RAW.replace(b"</net>", b"</nett>") + b"more", Code.not_well_formed),
    ],
)
def test_what_stays_refused(raw: bytes, code: Code) -> None:
    with pytest.raises(ParseError) as caught:
        read_document(raw)
    assert caught.value.code == code
