"""Wrong declarations are mended, and nothing else is touched."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random

import pytest

from ir_exec import check_model
from ir_exec.check import fix
from ir_exec.errors import ParseError
from tests.helpers.facts import mentions
from tests.helpers.ir_text import const, layer, net, parameter, port, result

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
        ("IR107-cycle", mentions("IR107")),
        # The layers below agree with the port, so that something else was changed.
        ("IR601-attribute-changed", mentions("IR601")),
    ],
)
def test_files_with_other_errors_are_not_touched(name: str, reason: mentions) -> None:
    result = fix(BAD / f"{name}.xml")
    assert (result.has_changed, result.reason) == (False, reason)


def test_fixable_faults_are_fixed_and_others_reported() -> None:
    path = BAD / "many-independent-faults.xml"
    result = fix(path)
    assert result.reason == mentions("IR116", "IR204", "IR503")
    assert [error.code for error in result.left] == ["IR503", "IR116", "IR204"]
    report = check_model(result.after, weights=path.with_suffix(".bin"))
    assert [error.code for error in report.errors] == [error.code for error in result.left]
    lines = zip(result.before.split(b"\n"), result.after.split(b"\n"), strict=True)
    assert sum(old != new for old, new in lines) == 2


class TestDeclare:
    """An attribute was edited: everything below it declares what was true before."""

    def write_edited(self, network: str, tmp_path: Path, *edits: tuple[bytes, bytes]) -> Path:
        raw = (NETWORKS / f"{network}.xml").read_bytes()
        for old, new in edits:
            assert old in raw
            raw = raw.replace(old, new, 1)
        shutil.copy(NETWORKS / f"{network}.bin", tmp_path / "net.bin")
        (tmp_path / "net.xml").write_bytes(raw)
        return tmp_path / "net.xml"

    def test_one_layer(self) -> None:
        path = BAD / "IR601-attribute-changed.xml"
        assert not fix(path).has_changed
        result = fix(path, declare=True)
        assert (result.reason, result.left) == (None, ())
        assert check_model(result.after).ok
        assert result.after.count(b"<data") == result.before.count(b"<data")
        unchanged = [line for line in result.before.split(b"\n") if b"<dim>" not in line]
        assert [line for line in result.after.split(b"\n") if b"<dim>" not in line] == unchanged

    def test_everything_below(self, tmp_path: Path) -> None:
        path = self.write_edited("conv_zoo", tmp_path, (b'shape="1,4,9,10,8"', b'shape="1,4,9,12,8"'))
        assert not check_model(path).ok
        result = fix(path, declare=True)
        assert result.reason is None
        report = check_model(result.after, weights=tmp_path / "net.bin")
        assert report.ok
        assert not report.warnings

    @pytest.mark.broad(keep=9)
    @pytest.mark.parametrize("network", sorted(path.stem for path in NETWORKS.glob("*.xml")))
    def test_nothing_else_is_declared_again(self, network: str, tmp_path: Path) -> None:
        raw = (NETWORKS / f"{network}.xml").read_bytes()
        last = raw.rindex(b"<dim>")
        end = raw.index(b"</dim>", last)
        path = self.write_edited(network, tmp_path)
        path.write_bytes(raw[:last] + b"<dim>-7" + raw[end:])
        once, again = fix(path), fix(path, declare=True)
        assert again.after == once.after
        assert once.reason is None

    def test_what_the_layers_below_cannot_take(self, tmp_path: Path) -> None:
        text = (BAD / "IR504-no-broadcast.xml").read_bytes()
        path = tmp_path / "net.xml"
        path.write_bytes(text)
        result = fix(path, declare=True)
        assert not result.has_changed
        assert result.reason is not None


def test_files_without_errors_are_not_touched() -> None:
    result = fix(NETWORKS / "lstm.xml")
    assert (result.has_changed, result.reason) == (False, None)


def test_a_path_that_does_not_exist() -> None:
    with pytest.raises(ParseError):
        fix("no/such.xml")


@pytest.mark.broad(keep=2)
@pytest.mark.parametrize("network", ["index_ops", "script_loop_seq", "bert_tiny_fp16"])
def test_broken_declarations_of_real_networks(network: str, tmp_path: Path) -> None:
    """Changed dims are restored, and the file is then identical to the original."""
    original = (NETWORKS / f"{network}.xml").read_bytes()
    shutil.copy(NETWORKS / f"{network}.bin", tmp_path / "net.bin")
    path = tmp_path / "net.xml"
    random = Random(network)
    lines = original.split(b"\n")
    places = [index for index, line in enumerate(lines) if line.strip().startswith(b"<dim>") and b"-1" not in line]
    for _ in range(8):
        changed = list(lines)
        line_index = random.choice(places)
        size = int(changed[line_index].strip()[5:-6])
        changed[line_index] = changed[line_index].replace(b">%d<" % size, b">%d<" % (size + random.choice([1, 3])))
        path.write_bytes(b"\n".join(changed))
        result = fix(path)
        assert result.reason is None
        assert check_model(result.after, weights=tmp_path / "net.bin").ok
        different = [(old, new) for old, new in zip(lines, result.after.split(b"\n"), strict=True) if old != new]
        # A dim may come back as -1, where inference has less information than the writer of the file had.
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
    assert fix(wide).reason == mentions("UTF", 8)


def test_tie_is_declared_from_the_layer(tmp_path: Path) -> None:
    """One of two readers agrees with the port and one with the layer."""

    def relu(id: int, actual: int, declared: int) -> str:
        return layer(id, "ReLU", inputs=[port(0, "f32", (actual,))], outputs=[port(1, "f32", (declared,))])

    layers = [
        parameter(0, dims=(3,)),
        relu(1, 3, 5),
        relu(2, 5, 3),
        relu(3, 3, 3),
        result(4, dims=(3,)),
        result(5, dims=(3,)),
    ]
    raw = net(layers, [(0, 0, 1, 0), (1, 1, 2, 0), (1, 1, 3, 0), (2, 1, 4, 0), (3, 1, 5, 0)])
    path = tmp_path / "m.xml"
    path.write_bytes(raw)
    result_of_fix = fix(path)
    assert result_of_fix.reason is None
    assert b"<dim>5</dim>" not in result_of_fix.after
    assert check_model(result_of_fix.after).ok


class TestDeclareLeavesAlone:
    def relu(self, id: int, actual: int, declared: int) -> str:
        return layer(id, "ReLU", inputs=[port(0, "f32", (2, actual))], outputs=[port(1, "f32", (2, declared))])

    def test_consumers_rejecting_the_new_declaration(self, tmp_path: Path) -> None:
        ends = [port(0, "f32", (2, 5)), port(1, "f32", (2, 5))]
        layers = [
            parameter(0, dims=(2, 3), name="x"),
            parameter(1, dims=(2, 5), name="y"),
            self.relu(2, 3, 5),
            layer(3, "Add", inputs=ends, outputs=[port(2, "f32", (2, 5))]),
            result(4, dims=(2, 5)),
        ]
        path = tmp_path / "m.xml"
        path.write_bytes(net(layers, [(0, 0, 2, 0), (2, 1, 3, 0), (1, 0, 3, 1), (3, 2, 4, 0)]))
        done = fix(path, declare=True)
        assert not done.has_changed
        assert done.reason == mentions("IR504")

    def test_decompressed_constant_declared_in_stored_type(self, tmp_path: Path) -> None:
        mark = '<rt_info><attribute name="decompression" version="0"/></rt_info>'
        ports = {"inputs": [port(0, "f16", (3,))], "outputs": [port(1, "f16", (3,))]}
        layers = [
            const(0, "f16", (3,), 0, 6),
            layer(1, "Convert", data='destination_type="f32"', inner=mark, **ports),
            result(2, "f16", (3,)),
            parameter(3, dims=(2, 3), name="x"),
            self.relu(4, 3, 5),
            result(5, dims=(2, 3)),
        ]
        raw = net(layers, [(0, 0, 1, 0), (1, 1, 2, 0), (3, 0, 4, 0), (4, 1, 5, 0)])
        path = tmp_path / "m.xml"
        path.write_bytes(raw)
        path.with_suffix(".bin").write_bytes(bytes(6))
        done = fix(path, declare=True)
        assert (done.reason, done.after) == (None, raw.replace(b"<dim>5</dim>", b"<dim>3</dim>"))
