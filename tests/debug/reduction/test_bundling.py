"""Bundles: written, run again, and what is no bundle."""

from __future__ import annotations

import io
import json
import os
import shlex
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from ir_exec import EvaluationError, IRError, Model, ResourceError, build, check_model, read_model
from ir_exec.cli import main
from ir_exec.codes import Code
from ir_exec.debug import Bundle, bundle, rerun
from tests.conformance.networks import arrays
from tests.helpers.facts import coded, naming
from tests.helpers.network_text import NetworkText

NETWORKS = Path(__file__).parents[2] / "networks"
GNN = NETWORKS / "gnn_gcn_gat.xml"

Members = dict[str, bytes]


@pytest.fixture
def bundle_path(tmp_path: Path) -> Path:
    path = tmp_path / "made.zip"
    bundle(GNN, arrays(GNN, "inputs") or [], output=path)
    return path


def members(path: Path) -> Members:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write_bundle(path: Path, content: Members) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in content.items():
            archive.writestr(name, text)
    return path


def test_bundle_contents(bundle_path: Path) -> None:
    contents = members(bundle_path)
    assert set(contents) == {
        "README.txt",
        "bundle.json",
        "model.xml",
        "model.bin",
        "model.inputs.npz",
        "model.outputs.npz",
    }
    about = Bundle.model_validate_json(contents["bundle.json"])
    assert {"ir-exec", "numpy", "openvino"} <= set(about.versions)
    assert check_model(contents["model.xml"], weights=contents["model.bin"]).ok
    assert b"ir-exec bundle --run made.zip" in contents["README.txt"]


def test_it_gives_the_same(bundle_path: Path) -> None:
    result = rerun(bundle_path)
    assert result.equal
    assert len(result.differences) == len(read_model(GNN).outputs)


def test_equal_networks_make_equal_files(bundle_path: Path, tmp_path: Path) -> None:
    again = tmp_path / "again" / "made.zip"
    again.parent.mkdir()
    bundle(GNN, arrays(GNN, "inputs") or [], output=again)
    assert again.read_bytes() == bundle_path.read_bytes()


def test_other_outputs_are_told(bundle_path: Path, tmp_path: Path) -> None:
    contents = members(bundle_path)
    with np.load(io.BytesIO(contents["model.outputs.npz"])) as outputs:
        changed = {name: outputs[name] + 1 for name in outputs.files}
    stored = io.BytesIO()
    np.savez(stored, **changed)  # type: ignore[arg-type]  # arrays by name
    result = rerun(write_bundle(tmp_path / "b.zip", retold(contents | {"model.outputs.npz": stored.getvalue()})))
    assert not result.equal
    assert len(result.differences) == len(changed)


def retold(contents: Members) -> Members:
    """With sizes and digests in bundle.json that fit."""
    import hashlib

    about = json.loads(contents["bundle.json"])
    for member in about["members"]:
        content = contents[member["name"]]
        member |= {"size": len(content), "digest": hashlib.sha256(content).hexdigest()}
    return contents | {"bundle.json": json.dumps(about).encode()}


def test_reports_are_added(tmp_path: Path) -> None:
    report = tmp_path / "compare.json"
    report.write_text("{}")
    bundle(GNN, arrays(GNN, "inputs") or [], output=tmp_path / "b.zip", reports=[report])
    assert members(tmp_path / "b.zip")["reports/compare.json"] == b"{}"
    assert rerun(tmp_path / "b.zip").equal
    with pytest.raises(IRError, match=naming("none.json")):
        bundle(GNN, arrays(GNN, "inputs") or [], output=tmp_path / "c.zip", reports=[tmp_path / "none.json"])
    assert not (tmp_path / "c.zip").exists()


@pytest.mark.parametrize("name", ["gnn_gcn_gat", "llama_int4_asym", "nms9", "script_loop_seq", "lstm"])
def test_an_anonymous_one(name: str, tmp_path: Path) -> None:
    path = NETWORKS / f"{name}.xml"
    about = bundle(path, arrays(path, "inputs") or [], output=tmp_path / "b.zip", anonymously=True)
    assert about.anonymous
    assert rerun(tmp_path / "b.zip").equal
    contents = members(tmp_path / "b.zip")
    assert b'<net name="network"' in contents["model.xml"]
    with np.load(path.with_suffix(".inputs.npz")) as inputs:
        for array in inputs.values():
            if array.dtype.kind == "f" and array.size > 8:
                assert array.tobytes() not in contents["model.inputs.npz"]


def test_a_fault_that_stays(tmp_path: Path) -> None:
    asked: list[Model] = []

    def fails(model: Model, inputs: object) -> bool:
        asked.append(model)
        return True

    about = bundle(GNN, arrays(GNN, "inputs") or [], output=tmp_path / "b.zip", anonymously=True, fails=fails)
    assert about.fails
    assert [model.name for model in asked] == [read_model(GNN).name, "network"]


def test_a_fault_that_does_not_stay(tmp_path: Path) -> None:
    about = bundle(
        GNN,
        arrays(GNN, "inputs") or [],
        output=tmp_path / "b.zip",
        anonymously=True,
        fails=lambda model, inputs: model.name != "network",
        command="x {model}",
    )
    assert about.fails is False
    # The command may name what the bundle does not.
    assert rerun(tmp_path / "b.zip").bundle.command is None


def test_the_command_is_told(tmp_path: Path) -> None:
    inputs, path = arrays(GNN, "inputs") or [], tmp_path / "b.zip"
    bundle(GNN, inputs, output=path, fails=lambda model, inputs: True, command="x {model}")
    assert rerun(path).bundle.command == "x {model}"


def test_missing_fault_is_reported(tmp_path: Path) -> None:
    with pytest.raises(EvaluationError, check=coded("IR704")):
        bundle(GNN, arrays(GNN, "inputs") or [], output=tmp_path / "b.zip", fails=lambda *_: False)
    assert not list(tmp_path.iterdir())


def npz(shape: str) -> bytes:
    """An array whose declared shape differs from its bytes."""
    stored = io.BytesIO()
    with zipfile.ZipFile(stored, "w") as archive:
        header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
        archive.writestr("x.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())
    return stored.getvalue()


def compress_zeros() -> bytes:
    stored = io.BytesIO()
    np.savez_compressed(stored, x=np.zeros(10**6, np.float32))
    return stored.getvalue()


DAMAGED: dict[str, tuple[Callable[[Members], Members], str]] = {
    "no bundle.json": (lambda contents: {"model.xml": contents["model.xml"]}, naming("bundle.json")),
    "another json": (lambda contents: contents | {"bundle.json": b"[]"}, naming("bundle.json")),
    "a long json": (lambda contents: contents | {"bundle.json": b" " * 2**21}, naming("bundle.json")),
    "no network": (
        lambda contents: {name: text for name, text in contents.items() if name != "model.xml"},
        naming("model.xml"),
    ),
    "another network": (lambda contents: contents | {"model.xml": contents["model.xml"] + b" "}, naming("model.xml")),
    "a shorter .bin": (lambda contents: contents | {"model.bin": contents["model.bin"][:-1]}, naming("model.bin")),
    "more than it says": (lambda contents: contents | {"model.bin": bytes(2**25)}, naming("model.bin")),
    "more than is allowed": (lambda contents: retold(contents | {"model.bin": bytes(2**25)}), naming(f"{2**24:,}")),
    "many members": (lambda contents: contents | {f"x{i}": b"" for i in range(200)}, naming("damaged.zip")),
    "a large array": (
        lambda contents: retold(contents | {"model.inputs.npz": npz("(10**9, 10**9)")}),
        naming("model.inputs.npz"),
    ),
    "a larger array": (
        lambda contents: retold(contents | {"model.inputs.npz": npz("(1000000000, 1000)")}),
        naming("x.npy"),
    ),
    "a compressed array": (
        lambda contents: retold(contents | {"model.inputs.npz": compress_zeros()}),
        naming("model.inputs.npz"),
    ),
    "no arrays": (lambda contents: retold(contents | {"model.inputs.npz": b"PK"}), naming("model.inputs.npz")),
    "other files to be read": (
        lambda contents: contents | {"bundle.json": contents["bundle.json"].replace(b"model.bin", b"../../model.bin")},
        naming("model.bin"),
    ),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_invalid_bundle(name: str, bundle_path: Path, tmp_path: Path) -> None:
    damage, words = DAMAGED[name]
    path = write_bundle(tmp_path / "damaged.zip", damage(members(bundle_path)))
    with pytest.raises(EvaluationError, match=words):
        rerun(path, most_bytes=2**24)


def test_members_outside_the_folder_are_not_read(bundle_path: Path, tmp_path: Path) -> None:
    contents = members(bundle_path) | {"../evil.txt": b"x", "/tmp/evil.txt": b"x", "reports/../../evil.txt": b"x"}
    folder = tmp_path / "inside"
    folder.mkdir()
    assert rerun(write_bundle(folder / "b.zip", contents)).equal
    assert [path.name for path in tmp_path.rglob("evil*")] == []


@pytest.mark.parametrize("cut", [0, 1, 30, 1000, -1, -30])
def test_truncated_files(cut: int, bundle_path: Path, tmp_path: Path) -> None:
    (tmp_path / "short.zip").write_bytes(bundle_path.read_bytes()[:cut])
    with pytest.raises(EvaluationError, match=naming("short.zip")):
        rerun(tmp_path / "short.zip")


def test_flipped_bits(bundle_path: Path, tmp_path: Path) -> None:
    """Every one is found, or changes nothing that is read."""
    content = bundle_path.read_bytes()
    told = set()
    for position in range(0, len(content), max(len(content) // 150, 1)):
        damaged = bytearray(content)
        damaged[position] ^= 1 << position % 8
        (tmp_path / "b.zip").write_bytes(damaged)
        try:
            assert rerun(tmp_path / "b.zip").equal
        except IRError as error:
            told.add(error.code)
    assert told == {"IR705"}


SECRET = "secret"


def secret_model(folder: Path) -> Path:
    """A model with `secret` in names, rt_info, texts, and in unused bytes of the .bin."""
    net = NetworkText()
    x = net.parameter("1,3")
    words = net.const(np.array([f"{SECRET} words", "other"], object))
    unpacked = net.outputs(3, "StringTensorUnpack", words, opset=15)
    symbols = net.const(np.frombuffer(f"{SECRET} symbols".encode(), np.uint8))
    large = net.const(np.frombuffer((f"{SECRET} large".encode()) * 200 + b"\xff", np.uint8))
    begins, ends = net.const(np.array([0], np.int32)), net.const(np.array([6], np.int32))
    packed = net.op("StringTensorPack", begins, ends, symbols, opset=15)
    axes = net.const(np.array([0, 1], np.int64))
    for value in (net.op("Relu", x), *unpacked, packed, large, net.op("Squeeze", x, net.const(np.array([0])))):
        net.result(value)
    net.op("Reshape", x, axes, special_zero="true")
    file = net.file()
    xml = file.xml.decode()
    # The last constant ends in bytes that its type does not need.
    assert xml.count('shape="2" offset=') == 2
    at = xml.index('element_type="i64" shape="2"')
    size = xml.index('size="16"', at)
    xml = xml[:size] + f'size="{16 + len(SECRET)}"' + xml[size + len('size="16"') :]
    xml = xml.replace('<net name="', f'<net name="{SECRET} ').replace('name="layer', f'name="{SECRET}/layer')
    info = f'<rt_info><{SECRET} value="{SECRET}"/><Runtime_version value="2024.1-{SECRET}"/></rt_info></net>'
    xml = xml.replace("</net>", f"<!-- {SECRET} -->{info}")
    path = folder / f"{SECRET}.xml"
    path.write_text(xml, "utf-8")
    path.with_suffix(".bin").write_bytes(file.weights + SECRET.encode())
    return path


def all_bytes(path: Path) -> bytes:
    """The bytes of an archive and of its members, also of the archives in it."""
    content = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            member = archive.read(name)
            content += name.encode() + member
            if zipfile.is_zipfile(io.BytesIO(member)):
                with zipfile.ZipFile(io.BytesIO(member)) as inner:
                    content += b"".join(inner.read(inner_name) for inner_name in inner.namelist())
    return content


def test_an_anonymous_one_contains_no_text_of_the_model(tmp_path: Path) -> None:
    path = secret_model(tmp_path)
    inputs = [np.zeros((1, 3), np.float32)]
    bundle(path, inputs, output=tmp_path / "open.zip")
    bundle(path, inputs, output=tmp_path / "b.zip", anonymously=True)
    assert SECRET.encode() in all_bytes(tmp_path / "open.zip")
    content = all_bytes(tmp_path / "b.zip")
    assert SECRET.encode() not in content.lower()
    assert SECRET.encode("utf-16-le") not in content
    assert rerun(tmp_path / "b.zip").equal


def test_texts_as_inputs_are_replaced(tmp_path: Path) -> None:
    net = NetworkText()
    for element_type, shape in (("string", "2"), ("u8", "?")):
        net.result(net.parameter(shape, element_type))
    (tmp_path / "m.xml").write_bytes(net.file().xml)
    inputs = [np.array([SECRET, f"more {SECRET}"], object), np.frombuffer(f"{SECRET} bytes".encode(), np.uint8)]
    bundle(tmp_path / "m.xml", inputs, output=tmp_path / "b.zip", anonymously=True)
    content = all_bytes(tmp_path / "b.zip")
    for encoding in ("utf-8", "utf-32-le"):
        assert SECRET.encode(encoding) not in content


@pytest.mark.parametrize("name", ["a b.zip", "$(touch done).zip", "'; touch done #.zip", "-b.zip"])
def test_contained_command_is_quoted(name: str, tmp_path: Path) -> None:
    bundle(GNN, arrays(GNN, "inputs") or [], output=tmp_path / name)
    (line,) = [line for line in members(tmp_path / name)["README.txt"].decode().splitlines() if "--run" in line]
    *command, path = shlex.split(line)
    assert command == ["ir-exec", "bundle", "--run"]
    assert (path, os.path.normpath(path)) == (path if name[0] != "-" else f"./{name}", name)


def test_an_anonymous_one_of_an_onnx_file(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    text = f"""
    <ir_version: 10, opset_import: ["": 20], producer_name: "{SECRET}", doc_string: "{SECRET}",
     metadata_props: ["{SECRET}": "{SECRET}"]>
    {SECRET} (float[2] {SECRET}_x, string[1] {SECRET}_t) => (float[2] {SECRET}_y, string[1] {SECRET}_u)
    <float[2] {SECRET}_w = {{1, 2}}> {{
        {SECRET}_y = Add({SECRET}_x, {SECRET}_w)
        {SECRET}_u = Identity({SECRET}_t)
    }}"""
    model = onnx.parser.parse_model(text)
    model.graph.doc_string = SECRET
    for node in model.graph.node:
        node.name, node.doc_string = f"{SECRET}/{node.op_type}", SECRET
    path = tmp_path / f"{SECRET}.onnx"
    path.write_bytes(model.SerializeToString())
    assert path.read_bytes().count(SECRET.encode()) > 10
    inputs = [np.zeros(2, np.float32), np.array([SECRET], object)]
    bundle(path, inputs, output=tmp_path / "b.zip", anonymously=True)
    assert SECRET.encode() not in all_bytes(tmp_path / "b.zip").lower()
    assert rerun(tmp_path / "b.zip").equal


@pytest.mark.parametrize("limits", [{"max_seconds": 1e-9}, {"max_memory": 1}])
def test_a_run_has_limits(limits: dict[str, Any], bundle_path: Path) -> None:
    assert rerun(bundle_path, max_seconds=3600, max_memory=2**30).equal
    with pytest.raises(ResourceError, check=coded(Code.limit_exceeded)):
        rerun(bundle_path, **limits)
    ((name, limit),) = limits.items()
    options = [f"--max-seconds={limit}"] if name == "max_seconds" else [f"--max-gib={limit / 2**30}"]
    result = CliRunner().invoke(main, ["bundle", "--run", str(bundle_path), *options])
    assert result.exit_code == 2, result.output


def test_incompressible_weights_are_stored(tmp_path: Path) -> None:
    weights = {
        "random": np.random.default_rng(0).normal(size=(400, 1000)).astype(np.float32),
        "zeros": np.zeros((400, 1000), np.float32),
    }
    for name, array in weights.items():
        x = build.parameter([1, 400], name="x")
        model = build.model(build.result(build.matmul(x, build.constant(array)), name="y"))
        bundle(model, [np.ones((1, 400), np.float32)], output=tmp_path / f"{name}.zip")
        with zipfile.ZipFile(tmp_path / f"{name}.zip") as archive:
            kinds = {member.filename: member.compress_type for member in archive.infolist()}
            assert archive.testzip() is None
        assert kinds["model.bin"] == (zipfile.ZIP_STORED if name == "random" else zipfile.ZIP_DEFLATED)
        assert kinds["model.xml"] == zipfile.ZIP_DEFLATED
        assert rerun(tmp_path / f"{name}.zip").equal
