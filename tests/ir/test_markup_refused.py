"""Files that are not read at all: look-alikes, other versions, refused markup, limits, unreadable paths."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from ir_exec.errors import IRError, ParseError, ResourceError
from ir_exec.ir import read_document
from ir_exec.ir.markup import MAX_XML_BYTES
from ir_exec.ir.reader import MAX_BODY_DEPTH
from tests.helpers.facts import fault_with, mentions
from tests.helpers.ir_files import RELU
from tests.helpers.steps import steps_of
from tests.older.files import OlderFile


def reading_error(source: bytes | str | os.PathLike[str]) -> IRError:
    """The one error, which a collecting report gets as well."""
    with pytest.raises(IRError) as caught:
        read_document(source)
    errors: list[IRError] = []
    assert read_document(source, report=errors.append) is None
    assert [(error.code, error.message) for error in errors] == [(caught.value.code, caught.value.message)]
    return caught.value


LOOKALIKES = {
    "empty": (b"", "empty"),
    "blank": (b" \n\t\n", "blank"),
    "lfs": (b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n", "Git LFS pointer"),
    "html": (b"<!DOCTYPE html>\n<html><body>404 Not Found<br></body></html>", "HTML"),
    "html without doctype": (b"\n<HTML><head></head></HTML>", "HTML"),
    "xhtml": (b'<?xml version="1.0"?>\n<!DOCTYPE html PUBLIC "x" "y">\n<html xmlns="z"/>', "HTML"),
    "storage error": (b"<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>", "error message"),
    "gzip": (b"\x1f\x8b\x08\0\0\0\0\0", "gzip"),
    "zip": (b"PK\x03\x04\x14\0", "zip"),
    "bundle": (b"PK\x03\x04\x14\0README.txt...PK\x03\x04\x14\0bundle.json{}", "bundle"),
    "checkpoint": (b"PK\x03\x04\x14\0archive/data.pkl", "PyTorch checkpoint"),
    "arrays": (b"PK\x03\x04\x14\0x.npy", ".npz"),
    "xz": (b"\xfd7zXZ\0\0\x04", "xz archive"),
    "zstd": (b"\x28\xb5\x2f\xfd\x04", "zstd archive"),
    "bzip2": (b"BZh91AY&SY", "bzip2 archive"),
    "7-zip": (b"7z\xbc\xaf\x27\x1c\0\4", "7-zip archive"),
    "gguf": (b"GGUF\x03\0\0\0", "GGUF model"),
    "pickle": (b"\x80\x02}q\0.", "Python pickle"),
    "html behind a comment": (b"<!-- saved page -->\n<!doctype html><html></html>", "HTML"),
    "html as its root only": (b'<?xml version="1.0"?><!-- a --><!-- b --><html/>', "HTML"),
    "gzip behind blanks": (b"\n \x1f\x8b\x08\0", "gzip"),
    "json behind a byte order mark": (b'\xef\xbb\xbf {"model": 1}', "JSON"),
    "text with few odd bytes": (b"\x01" + b"a" * 49, "text, but not XML"),
    "binary data without zeros": (b"\x01" + b"a" * 48, ".bin"),
    "text with tabs and feeds": (b"a\tb\r\n\f" * 9, "text, but not XML"),
    "onnx": (b"\x08\x08\x12\x07pytorch\x1a\x052.1.0:\xd9\x01\n", "ONNX"),
    "exported blob": (b"RR_UPCVO\x01\0\0\0O\0\0\0\0\0\0\0meta=1.0;ov=2026.4.1", "compiled and exported"),
    "older exported blob": (b"<cnndata><inputs/></cnndata>", "compiled and exported"),
    "tflite": (b"\x1c\0\0\0TFL3\x14\0", "TensorFlow Lite"),
    "hdf5": (b"\x89HDF\r\n\x1a\n", "HDF5"),
    "json": (b'{"model": 1}', "JSON"),
    "weights": (b"\x1b\xd2\x71\0\0\x80\x3f" * 20, ".bin"),
    "text": (b"hello, world\n", "text"),
    "other root": (b"<model><layers/></model>", "root element is <model>"),
    "other root with a namespace": (b'<svg xmlns="http://www.w3.org/2000/svg"/>', "root element is <svg>"),
}


@pytest.mark.parametrize("name", LOOKALIKES)
def test_lookalikes_are_named(name: str) -> None:
    raw, words = LOOKALIKES[name]
    error = reading_error(raw)
    assert isinstance(error, ParseError)
    assert error.code == "IR004"
    assert words in f"{error.message} {error.hint}"


def message(*fields: tuple[int, int | str | bytes]) -> bytes:
    """A protobuf message of small numbers, texts and messages, by the numbers of its fields."""
    parts = bytearray()
    for number, value in fields:
        stored = value.encode() if isinstance(value, str) else value
        if isinstance(stored, int):
            parts += bytes([number << 3, stored])
        else:
            parts += bytes([number << 3 | 2, len(stored)]) + stored
    return bytes(parts)


def tensor_info(name: str) -> bytes:
    """A ValueInfoProto of f32[2]."""
    dims = message((1, message((1, 2))))
    return message((1, name), (2, message((1, message((1, 1), (2, dims))))))


NODE = message((1, "x"), (2, "y"), (4, "Relu"))
GRAPH = message((1, NODE), (2, "g"), (11, tensor_info("x")), (12, tensor_info("y")))
ONNX_RELU = message((1, 10), (2, "maker"), (7, GRAPH), (8, message((1, ""), (2, 17))))
"""A ModelProto as ONNX writes it: its IR version, the producer, the graph, the opsets."""


def test_onnx_is_recognized() -> None:
    ov = pytest.importorskip("openvino")
    assert [node.get_type_name() for node in ov.Core().read_model(ONNX_RELU).get_ordered_ops()][1] == "Relu"


def test_files_of_openvino_and_onnx_are_distinguished(tmp_path: Path) -> None:
    ov = pytest.importorskip("openvino")
    assert "ONNX" in reading_error(ONNX_RELU).message
    compiled = ov.Core().compile_model(ov.Core().read_model(RELU.encode(), b""), "CPU")
    exported = compiled.export_model()
    blob = exported if isinstance(exported, bytes) else exported.getvalue()
    assert reading_error(bytes(blob)) == fault_with("OpenVINO")
    path = tmp_path / "execution.xml"
    ov.save_model(compiled.get_runtime_model(), path, compress_to_fp16=False)
    error = reading_error(path)
    assert (error.code, error.location.path) == ("IR004", str(path))


@pytest.mark.parametrize("mark", ["execOrder", "execTimeMcs", "outputLayouts"])
def test_an_execution_graph(mark: str) -> None:
    text = RELU.replace(' version="opset1"', "").replace("<data ", f'<data {mark}="0" originalLayersNames="x" ')
    error = reading_error(text.encode())
    assert error.code == "IR004"


def test_names_of_original_layers_make_no_execution_graph() -> None:
    """Model Optimizer wrote them into models as well."""
    file = OlderFile(version=6)
    file.layer("ReLU", [file.input("x", 2)], (2,), data={"originalLayersNames": "a,b"})
    data = np.array([-1.0, 2.0], np.float32)
    assert file.report().ok
    np.testing.assert_array_equal(file.run(data)[0], [0, 2])


@pytest.mark.parametrize("version", ["2", "7", "9", "12", "-3", "0"])
def test_other_versions(version: str) -> None:
    error = reading_error(RELU.replace('version="11"', f'version="{version}"').encode())
    assert error.code == "IR005"
    assert error.message == mentions(version)
    assert (error.hint is not None) == (int(version) < 10)


def test_a_file_of_version_7() -> None:
    text = """<?xml version="1.0" ?><net batch="1" name="m" version="7"><layers>
        <layer id="0" name="w" precision="FP32" type="Const"><output><port id="1"><dim>1</dim></port></output>
        <blobs><custom offset="0" size="4"/></blobs></layer></layers><edges/></net>"""
    assert reading_error(text.encode()).code == "IR005"
    assert reading_error(text.replace(' version="7"', "").encode()).code == "IR005"


BOMB = (
    '<?xml version="1.0"?><!DOCTYPE net [<!ENTITY a0 "ha">'
    + "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 20))
    + ']><net name="&a19;" version="11"><layers/><edges/></net>'
)
EXTERNAL = '<!DOCTYPE net SYSTEM "file:///etc/passwd">' + RELU.partition("?>")[2]
FETCHED = '<!DOCTYPE net [<!ENTITY x SYSTEM "file:///etc/passwd">]><net name="&x;" version="11"/>'


@pytest.mark.parametrize(
    "text",
    [
        BOMB,
        EXTERNAL,
        FETCHED,
        "<!-- <net> -->\n" + EXTERNAL,
        "<?note <!-- ?>" + EXTERNAL,
        '<!ENTITY x "y">' + RELU.partition("?>")[2],
        RELU.replace('"relu"', '"&unknown;"'),
    ],
    ids=["bomb", "external", "fetched", "after a comment", "after an instruction", "bare entity", "undeclared"],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_doctypes_and_entities_are_refused_at_once(text: str, encoding: str) -> None:
    raw = text.replace('<?xml version="1.0"?>', "").encode(encoding)
    assert reading_error(raw).code == "IR003"
    steps_of(lambda: reading_error(raw), limit=5_000)


def test_mentioned_doctype_is_no_fault() -> None:
    comment = '<!-- <!DOCTYPE net [<!ENTITY x "y">]> --><![CDATA[<!DOCTYPE net>]]>'
    assert read_document(RELU.replace("<rt_info>", f"<rt_info>{comment}").encode()) is not None


def test_predefined_entities_are_text() -> None:
    document = read_document(RELU.replace('"relu"', '"&lt;&amp;&quot;&apos;&gt;&#10;&#x41;"').encode())
    assert document is not None
    assert document.name == "<&\"'>\nA"


@pytest.mark.parametrize("part", [0.3, 0.6, 0.95])
def test_truncated_files(part: float) -> None:
    error = reading_error(RELU[: int(len(RELU) * part)].encode())
    assert error.code == "IR002"
    assert error.hint == mentions("</net>")


def test_markup_error_has_its_line() -> None:
    error = reading_error(RELU.replace('name="y"', 'name="y').encode())
    assert error.code == "IR002"
    assert error.location.line in (13, 14)


@pytest.mark.parametrize("opening", ["<!--", "<![CDATA[", "<?x ", "<", "<a ", "<!", "&", "<a>", "<net>"])
def test_markup_that_never_closes(opening: str) -> None:
    """`python -m benchmarks.hostile` measures the time."""
    assert reading_error(("<net>" + opening * (2**20 // len(opening))).encode()).code in ("IR002", "IR003", "IR006")


def test_deep_nesting_is_refused() -> None:
    deep = "<x>" * 400 + "</x>" * 400
    error = reading_error(RELU.replace("<rt_info>", f"<rt_info>{deep}").encode())
    assert isinstance(error, ResourceError)
    assert error.code == "IR006"


def test_bodies_nest_to_a_limit() -> None:
    def nested_bodies(depth: int) -> bytes:
        layer = '<layer id="0" name="n" type="Loop" version="opset5">'
        opening, closing = f"<layers>{layer}<body>", "</body></layer></layers><edges/>"
        inner = "<layers/><edges/>"
        return f'<net version="11">{opening * depth}{inner}{closing * depth}</net>'.encode()

    errors: list[IRError] = []
    document = read_document(nested_bodies(MAX_BODY_DEPTH), report=errors.append)
    assert errors == []
    assert document is not None
    assert len(list(document.all_layers())) == MAX_BODY_DEPTH
    assert read_document(nested_bodies(MAX_BODY_DEPTH + 1), report=errors.append) is not None
    assert [error.code for error in errors] == ["IR006"]


def test_texts_have_a_limit() -> None:
    assert reading_error(RELU.replace('"relu"', f'"{"x" * 11_000_000}"').encode()).code == "IR006"


def test_files_have_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "model.xml"
    with open(path, "wb") as file:
        file.truncate(MAX_XML_BYTES + 1)
    tracemalloc.start()
    try:
        assert reading_error(path).code == "IR006"
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


def test_numbers_claim_no_memory() -> None:
    text = RELU.replace("<dim>2</dim>", "<dim>9223372036854775807</dim>")
    tracemalloc.start()
    try:
        assert read_document(text.encode()) is not None
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


def test_unreadable_paths(tmp_path: Path) -> None:
    missing = reading_error(tmp_path / "missing.xml")
    assert (missing.code, missing.location.path) == ("IR001", str(tmp_path / "missing.xml"))
    assert "No such file" in missing.message
    assert "folder" in reading_error(tmp_path).message
    assert reading_error("model\0.xml").code == "IR001"
    assert reading_error("x" * 5000).code == "IR001"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "model.xml"
    os.mkfifo(path)
    assert reading_error(path).code == "IR001"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may read everything")
def test_a_file_without_permission(tmp_path: Path) -> None:
    path = tmp_path / "model.xml"
    path.write_text(RELU)
    path.chmod(0)
    assert reading_error(path).code == "IR001"


def test_errors_of_a_file_name_its_path(tmp_path: Path) -> None:
    path = tmp_path / "model.xml"
    path.write_text(RELU.replace(' type="ReLU"', ""))
    with pytest.raises(ParseError) as caught:
        read_document(str(path))
    assert str(caught.value).startswith(f'{path}:13: layer 1 "y": ')
    path.write_text("<net")
    assert reading_error(path).location.path == str(path)
