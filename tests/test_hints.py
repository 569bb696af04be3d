"""Names similar to one that does not exist, of layers, of words and of files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import ir_exec
from ir_exec.codes import Code
from ir_exec.hints import closest_names, complete_path, did_you_mean, path_hint, suggested

NAMES = ["encoder.0.attention/MatMul", "encoder.0.attention/MatMul:0", "encoder.1/Relu", "hidden", "hidden:0", "Output"]


@pytest.mark.parametrize(
    ("name", "named"),
    [
        ("hiden", ["hidden"]),
        ("output", ["Output"]),
        ("relu", ["encoder.1/Relu"]),
        ("encoder.0.atention/MatMul", ["encoder.0.attention/MatMul"]),
        ("rleu", ["encoder.1/Relu"]),
        ("attention", ["encoder.0.attention/MatMul"]),
    ],
)
def test_names(name: str, named: list[str]) -> None:
    hint = suggested(name, NAMES)
    assert hint is not None
    assert [text for text in NAMES if text in hint.removesuffix("?").split()] == named


def test_dissimilar_names() -> None:
    assert suggested("xyz", NAMES) is None
    assert suggested("", NAMES) is None
    assert suggested("hidden", []) is None


@pytest.mark.parametrize(
    ("name", "named"),
    [
        ("Gathr", ["Gather", "GatherND"]),
        ("gather", ["Gather", "GatherND"]),
        ("SINH", ["Sinh", "Asinh", "Sin"]),
        ("gathernd", ["GatherND", "Gather"]),
        ("Xyz", []),
        ("", []),
    ],
)
def test_closest_names_are_spelled_alike_in_any_case(name: str, named: list[str]) -> None:
    operators = ["Sin", "Sinh", "Asinh", "Gather", "GatherND", "Relu"]
    assert closest_names(name, operators, 3) == named
    assert closest_names(name, iter(operators)) == named[:1]


def test_closest_names_have_a_minimum_similarity() -> None:
    assert closest_names("abcd", ["abxy"], similarity=0.5) == ["abxy"]
    assert closest_names("abcd", ["abxy"]) == []


def test_names_differing_in_case_are_all_named() -> None:
    assert closest_names("RELU", ["relu", "Relu", "Tanh"], 3) == ["relu", "Relu"]


def test_no_names_are_no_hint() -> None:
    assert did_you_mean([]) is None


def test_spellings_are_compared_in_one_module() -> None:
    names = ("get_close_matches", '"did you mean')
    modules = Path(ir_exec.__file__).parent.rglob("*.py")
    users = [path.name for path in modules if any(name in path.read_text(encoding="utf-8") for name in names)]
    assert users == ["hints.py"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("net.xml", "net.bin", "both.xml", "both.onnx", "openvino_model.xml", "a_tokenizer.xml"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_paths_without_their_end(folder: Path) -> None:
    assert complete_path("net") == ["net.xml"]
    assert complete_path(str(folder / "both")) == [str(folder / "both.xml"), str(folder / "both.onnx")]
    assert complete_path("both", (".onnx",)) == ["both.onnx"]
    assert complete_path("net.xml") == complete_path("empty") == complete_path("") == complete_path("other") == []


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ("net", ["net.xml"]),
        ("both", ["both.xml", "both.onnx"]),
        ("nett.xml", ["net.xml"]),
        ("./net.onnx", ["./net.xml"]),
        ("opnvino_model.xml", ["openvino_model.xml"]),
        ("none/of/net.xml", ["none"]),
        ("empty/none/net.xml", ["empty/none"]),
    ],
)
def test_files(path: str, named: list[str], folder: Path) -> None:
    hint = path_hint(path)
    assert hint is not None
    names = ["./net.xml", "net.xml", "net.bin", "both.xml", "both.onnx", "openvino_model.xml", "none", "empty/none"]
    assert [text for text in names if text in hint.removesuffix("?").split()] == named


def test_dissimilar_files(folder: Path) -> None:
    assert path_hint("zzzzzz") is None
    assert path_hint("\0") is None


def test_folders(folder: Path) -> None:
    hint = path_hint(".")
    assert hint is not None
    positions = [hint.find(f"./{name}") for name in ("openvino_model.xml", "a_tokenizer.xml", "both.onnx", "both.xml")]
    assert positions == sorted(positions)
    assert -1 not in positions
    assert ".xml" in (path_hint("empty") or "")
    assert "empty/" not in (path_hint("empty") or "")


@pytest.mark.parametrize("source", ["net", "nett.xml", "nett.onnx", ".", "empty"])
def test_reading_a_model_hints(source: str, folder: Path) -> None:
    with pytest.raises(ir_exec.IRError) as caught:
        ir_exec.read_model(source)
    assert caught.value.code == Code.unreadable_path
    assert caught.value.hint == path_hint(source)


def test_folders_of_many_files(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"net{number:02}.xml").write_bytes(b"")
    hint = path_hint(os.fspath(tmp_path))
    assert hint is not None
    assert (hint.count(".xml"), "15" in hint) == (5, True)
