"""Writing: the same document and the same bytes come back, and OpenVINO computes the same from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ir_exec.errors import IRError, WeightsError
from ir_exec.ir import Document, RtInfo, Weights, default_weights_path, read_document
from ir_exec.ir.writer import write_document
from tests.helpers.ir_files import LOOP, RELU, constant, networks


def read(source: Path | str) -> Document:
    document = read_document(source if isinstance(source, Path) else source.encode())
    assert document is not None
    return document


def content(document: Document) -> Any:
    """The content of a document, without the positions of its elements and constants."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            dropped = ("line", "data_line", "offset", "path")
            return {key: plain(item) for key, item in value.items() if key not in dropped}
        return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value

    return plain(document.model_dump())


def constants(document: Document, path: Path) -> list[bytes]:
    weights = Weights.open(default_weights_path(path))
    data = [layer.data for layer in document.all_layers() if layer.type == "Const"]
    return [bytes(weights.slice(int(entry["offset"]), int(entry["size"]))) for entry in data]


def outputs(path: Path, inputs: Path) -> tuple[list[Any], list[Any]]:
    """The results of OpenVINO, and the names of inputs and outputs."""
    ov = pytest.importorskip("openvino")
    core = ov.Core()
    # Two threads share sums in an order that may change from run to run.
    config = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1}
    compiled = core.compile_model(core.read_model(path), "CPU", config)
    with np.load(inputs) as arrays:
        result = compiled([arrays[f"in{index}"] for index in range(len(compiled.inputs))])
    names = [sorted(port.names) for port in (*compiled.inputs, *compiled.outputs)]
    return [result[index] for index in range(len(compiled.outputs))], names


@pytest.mark.broad(keep=12)
@pytest.mark.parametrize("path", networks())
def test_real_networks_come_back(path: Path, tmp_path: Path) -> None:
    document = read(path)
    weights_path = Path(default_weights_path(path))
    written = tmp_path / "written.xml"
    write_document(document, Weights.open(weights_path), written)
    again = read(written)
    assert content(again) == content(document)
    assert constants(again, written) == constants(document, path)
    # Gaps of less than 64 bytes before constants of 4,096 and more.
    assert written.with_suffix(".bin").stat().st_size <= weights_path.stat().st_size * 65 / 64
    for layer in again.layers:
        if layer.is_constant and int(layer.data["size"]) >= 4096:
            assert int(layer.data["offset"]) % 64 == 0
    inputs = path.with_name(path.stem + ".inputs.npz")
    if not inputs.exists():
        pytest.skip("there are no inputs beside the network")
    expected, expected_names = outputs(path, inputs)
    actual, names = outputs(written, inputs)
    assert names == expected_names
    for ours, theirs in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_network_with_everything_comes_back(tmp_path: Path) -> None:
    ov = pytest.importorskip("openvino")
    ops = ov.opset15
    x = ops.parameter([-1, 3], np.float32, name='x "<&>"')
    x.output(0).tensor.set_names({"a,b", "x\\y", "<&>\t"})
    empty = ops.constant(np.zeros((0, 3), np.float32))
    shared = [ops.constant(np.arange(3, dtype=np.float32)), ops.constant(np.arange(3, dtype=np.float32))]
    byte = ops.constant(np.array([7], np.uint8))
    total = ops.add(ops.multiply(ops.concat([x, empty], 0), shared[0]), shared[1])
    total = ops.add(total, ops.convert(byte, "f32"))
    total.get_rt_info()["fused_names_0"] = "x"
    branches = []
    for value in (1.0, 2.0):
        inner = ops.parameter([-1, 3], np.float32)
        branches.append((ov.Model([ops.result(ops.add(inner, np.float32(value)))], [inner], "branch"), inner))
    choice = ops.if_op(ops.constant(True).output(0))
    choice.set_then_body(branches[0][0])
    choice.set_else_body(branches[1][0])
    choice.set_input(total.output(0), branches[0][1], branches[1][1])
    out = choice.set_output(branches[0][0].results[0], branches[1][0].results[0])
    result = ops.result(out)
    result.output(0).tensor.set_names({"out,1"})
    model = ov.Model([result], [x], 'every "thing"')
    model.set_rt_info("value", ["group", "has space"])
    original, written = tmp_path / "original.xml", tmp_path / "written.xml"
    ov.save_model(model, original, compress_to_fp16=False)
    inputs = tmp_path / "inputs.npz"
    np.savez(inputs, in0=np.ones((2, 3), np.float32))
    document = read(original)
    assert any(layer.bodies for layer in document.layers)
    assert any(layer.data.get("shape") == "0, 3" for layer in document.layers)
    write_document(document, Weights.open(original.with_suffix(".bin")), written)
    assert content(read(written)) == content(document)
    assert constants(read(written), written) == constants(document, original)
    expected, names = outputs(original, inputs)
    actual, found_names = outputs(written, inputs)
    assert found_names == names
    np.testing.assert_array_equal(actual[0], expected[0])
    assert actual[0].tolist() == [[8, 10, 12]] * 2


def test_the_parts_of_a_loop_come_back(tmp_path: Path) -> None:
    write_document(read(LOOP), None, tmp_path / "m.xml")
    assert content(read(tmp_path / "m.xml")) == content(read(LOOP))


def test_version_10_stays_version_10(tmp_path: Path) -> None:
    text = RELU.replace('version="11"', 'version="10"').replace(
        "<edges>", '<meta_data><a value="1">text</a></meta_data><pre-process mean-precision="FP32"/><edges>'
    )
    write_document(read(text), None, tmp_path / "m.xml")
    assert content(read(tmp_path / "m.xml")) == content(read(text))


def test_constants_lie_compactly_and_share_bytes(tmp_path: Path) -> None:
    text = constant("u8", "U8", "3", 3, offset=5)
    layer = text[text.index("<layer ") : text.index("</layer>") + len("</layer>")]
    more = [layer.replace('id="0"', f'id="{id}"', 1) for id in (10, 11, 12, 13)]
    more[0] = more[0].replace('offset="5"', 'offset="20"')  # equal bytes elsewhere
    more[1] = more[1].replace('offset="5"', 'offset="6"')  # overlapping bytes
    more[2] = more[2].replace('shape="3"', 'shape="0"').replace('size="3"', 'size="1"')
    more[3] = more[3].replace('size="3"', 'size="4"').replace("u8", "f32").replace('shape="3"', 'shape=""')
    document = read(text.replace("</layers>", "".join(more) + "</layers>"))
    stored = bytearray(range(40))
    stored[20:23] = stored[5:8]
    write_document(document, Weights.of_bytes(stored), tmp_path / "m.xml")
    again = read(tmp_path / "m.xml")
    ranges = {layer.id: (layer.data["offset"], layer.data["size"]) for layer in again.layers if layer.type == "Const"}
    assert ranges == {"0": ("0", "3"), "10": ("0", "3"), "11": ("3", "3"), "12": ("6", "1"), "13": ("7", "4")}
    assert (tmp_path / "m.bin").read_bytes() == bytes([5, 6, 7, 6, 7, 8, 0, 5, 6, 7, 8])


def test_a_file_is_written_over_itself(tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    path.write_text(constant("f32", "FP32", "2", 8, offset=4))
    path.with_suffix(".bin").write_bytes(b"left" + np.float32([1, 2]).tobytes())
    write_document(read(path), Weights.open(path.with_suffix(".bin")), path)
    assert path.with_suffix(".bin").read_bytes() == np.float32([1, 2]).tobytes()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["m.bin", "m.xml"]


@pytest.mark.parametrize(
    ("old", "new", "weights", "code"),
    [
        ("", "", None, "IR201"),
        ("", "", b"1234567", "IR202"),
        ('offset="0"', 'offset="9999999999999999999999"', b"12345678", "IR205"),
        ('offset="0"', 'offset="-1"', b"12345678", "IR205"),
        ('size="8"', "", b"12345678", "IR205"),
        ('size="8"', f'size="{"9" * 6000}"', b"12345678", "IR205"),
    ],
)
def test_constants_that_cannot_be_written(old: str, new: str, weights: bytes | None, code: str, tmp_path: Path) -> None:
    (tmp_path / "m.xml").write_text("older")
    document = read(constant("f32", "FP32", "2", 8).replace(old, new))
    with pytest.raises(WeightsError) as caught:
        write_document(document, None if weights is None else Weights.of_bytes(weights), tmp_path / "m.xml")
    assert (caught.value.code, caught.value.location.layer_id, caught.value.location.line) == (code, "0", 3)
    assert (tmp_path / "m.xml").read_text() == "older"
    assert [file.name for file in tmp_path.iterdir()] == ["m.xml"]


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "folder.xml").mkdir()
    for path in (tmp_path / "m.bin", tmp_path / "missing" / "m.xml", tmp_path / "folder.xml", tmp_path / "nul\0.xml"):
        with pytest.raises(IRError) as caught:
            write_document(read(RELU), None, path)
        assert (caught.value.code, caught.value.location.path) == ("IR009", str(path))
    assert not list(tmp_path.glob("*.tmp"))


def test_texts_that_xml_cannot_hold(tmp_path: Path) -> None:
    document = read(RELU).changed(name="\1")
    with pytest.raises(IRError) as caught:
        write_document(document, None, tmp_path / "m.xml")
    assert caught.value.code == "IR009"
    assert list(tmp_path.iterdir()) == []


def test_rt_info_of_a_body_comes_back(tmp_path: Path) -> None:
    text = LOOP.replace("</body>", '<rt_info><note value="inside" /></rt_info></body>')
    document = read(text)
    assert document.layers[0].bodies[0].rt_info.value("note") == "inside"
    write_document(document, None, tmp_path / "m.xml")
    assert content(read(tmp_path / "m.xml")) == content(document)


def test_invalid_xml_names_become_attributes(tmp_path: Path) -> None:
    odd = RtInfo(name="rt_info", children=(RtInfo(name="vendor:key", attributes={"value": "1"}),))
    write_document(read(RELU).changed(rt_info=odd), None, tmp_path / "m.xml")
    assert read(tmp_path / "m.xml").rt_info.value("vendor:key") == "1"
