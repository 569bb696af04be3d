"""Wrong declarations are mended, and nothing else is touched."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random

import pytest

from ir_exec import check_model
from ir_exec.check import fix
from ir_exec.errors import ParseError

BAD = Path(__file__).parents[1] / "bad"
NETWORKS = Path(__file__).parents[1] / "networks"


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("IR601-declared-dims", b"<dim>5</dim>", b"<dim>3</dim>"),
        ("IR601-declared-dims-of-an-input", b"<dim>5</dim>", b"<dim>3</dim>"),
        ("IR601-declared-dims-in-a-body", b"<dim>4</dim>", b"<dim>1</dim>"),
        ("IR601-negative-dim", b"<dim>-5</dim>", b"<dim>3</dim>"),
        ("IR602-declared-rank", b"\n          <dim>1</dim>", b""),
        (
            "IR602-dims-left-out",
            b'<port id="1" precision="FP32"/>',
            b'<port id="1" precision="FP32">\n          <dim>3</dim>\n        </port>',
        ),
        ("IR603-declared-element-type", b'"FP16"', b'"FP32"'),
        ("IR603-unknown-precision", b'"FP33"', b'"FP32"'),
    ],
)
def test_the_least_change(name: str, old: bytes, new: bytes) -> None:
    result = fix(BAD / f"{name}.xml")
    assert result.reason is None
    assert result.before.count(old) == 1
    assert result.after == result.before.replace(old, new)
    assert check_model(result.after).ok


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("IR107-cycle", "it has other errors: IR107"),
        ("many-independent-faults", "it has other errors: IR116, IR204, IR503"),
        # The layers below agree with the port, so that something else was changed.
        ("IR601-attribute-changed", "it has other errors: IR601"),
    ],
)
def test_files_with_other_errors_are_not_touched(name: str, reason: str) -> None:
    result = fix(BAD / f"{name}.xml")
    assert (result.has_changed, result.reason) == (False, reason)


def test_files_without_errors_are_not_touched() -> None:
    result = fix(NETWORKS / "lstm.xml")
    assert (result.has_changed, result.reason) == (False, None)


def test_a_path_that_does_not_exist() -> None:
    with pytest.raises(ParseError):
        fix("no/such.xml")


@pytest.mark.parametrize("network", ["index_ops", "script_loop_seq", "bert_tiny_fp16"])
def test_broken_declarations_of_real_networks(network: str, tmp_path: Path) -> None:
    """Dims that were changed come back, whatever the changes; the file then is what it was."""
    original = (NETWORKS / f"{network}.xml").read_bytes()
    shutil.copy(NETWORKS / f"{network}.bin", tmp_path / "net.bin")
    path = tmp_path / "net.xml"
    random = Random(network)
    lines = original.split(b"\n")
    places = [index for index, line in enumerate(lines) if line.strip().startswith(b"<dim>") and b"-1" not in line]
    for _ in range(8):
        changed = list(lines)
        place = random.choice(places)
        size = int(changed[place].strip()[5:-6])
        changed[place] = changed[place].replace(b">%d<" % size, b">%d<" % (size + random.choice([1, 3])))
        path.write_bytes(b"\n".join(changed))
        result = fix(path)
        assert result.reason is None
        assert check_model(result.after, weights=tmp_path / "net.bin").ok
        different = [(old, new) for old, new in zip(lines, result.after.split(b"\n"), strict=True) if old != new]
        # A dim may come back as -1, where inference does not know what the writer of the file knew.
        assert all(b"<dim>-1</dim>" in new for _, new in different)


def test_one_line_crlf_and_encodings(tmp_path: Path) -> None:
    raw = (BAD / "IR601-declared-dims.xml").read_bytes()
    windows = raw.replace(b"\n", b"\r\n")
    one_line = b"".join(line.strip() for line in raw.split(b"\n"))
    left_out = (BAD / "IR602-dims-left-out.xml").read_bytes().replace(b"\n", b"\r\n")
    for number, content in enumerate((windows, one_line, left_out)):
        path = tmp_path / f"{number}.xml"
        path.write_bytes(content)
        result = fix(path)
        assert result.reason is None
        assert check_model(result.after).ok
        assert (b"\r\n" in result.after) == (b"\r\n" in content)
        assert result.after.count(b"\r\n") == result.after.count(b"\n")
    wide = tmp_path / "wide.xml"
    wide.write_bytes(raw.decode().replace("1.0", "1.0", 1).encode("utf-16"))
    assert fix(wide).reason == "the file is not plain UTF-8"
