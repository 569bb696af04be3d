"""SentencePiece models, against OpenVINO."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import ir_exec
from ir_exec import EvaluationError
from ir_exec.types import Array
from tests.helpers.network_text import NetworkText
from tests.text.openvino import OpenVINO
from tests.text.ops.test_ops_operators import pack_strings
from tests.text.texts import texts

sentencepiece = pytest.importorskip("sentencepiece")

ROOT = Path(__file__).parents[3]
TEXTS = [text for text in texts(40) if text.strip() and "\x00" not in text]


@pytest.fixture(scope="module", params=["unigram", "bpe"])
def model(request: pytest.FixtureRequest) -> Array:
    """A model that is trained on a page."""
    written = io.BytesIO()
    lines = (ROOT / "docs" / "building.md").read_text("utf-8").splitlines()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([line for line in lines if line]),
        model_writer=written,
        model_type=request.param,
        vocab_size=500,
        byte_fallback=True,
        num_threads=1,
        minloglevel=2,
    )
    return np.frombuffer(written.getvalue(), np.uint8)


def outputs(
    folder: Path,
    openvino: OpenVINO,
    type: str,
    count: int,
    inputs: Sequence[Array],
    constants: int,
    **attributes: object,
) -> tuple[list[Array], list[Array]]:
    """Ours and those of OpenVINO, of a layer whose first `constants` inputs are constants."""
    net = NetworkText()
    values = [net.const(array) for array in inputs[:constants]]
    arrays = list(inputs[constants:])
    kinds = ["string" if array.dtype == object else "i32" for array in arrays]
    values += [
        net.parameter(",".join(["?"] * array.ndim), element_type)
        for array, element_type in zip(arrays, kinds, strict=True)
    ]
    for output in net.outputs(count, type, *values, opset="extension", **attributes):
        net.result(output)
    file = net.file()
    path = folder / "net.xml"
    path.write_bytes(file.xml)
    path.with_suffix(".bin").write_bytes(file.weights)
    ours = list(ir_exec.compile_model(ir_exec.read_model(path))(arrays).values())
    return ours, openvino.run(path, arrays)


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"add_bos": "true", "add_eos": "true"},
        {"reverse": "true", "add_eos": "true"},
    ],
)
def test_tokens(model: Array, attributes: dict[str, object], openvino: OpenVINO, tmp_path: Path) -> None:
    batch = np.empty(len(TEXTS), object)
    batch[:] = TEXTS
    settings = {"nbest_size": 0, "alpha": 0.0, "add_bos": "false", "add_eos": "false", "reverse": "false"} | attributes
    ours, theirs = outputs(tmp_path, openvino, "SentencepieceTokenizer", 3, [model, batch], 1, **settings)
    for actual, expected in zip(ours, theirs, strict=True):
        assert actual.tolist() == expected.tolist()


@pytest.mark.parametrize("type", ["SentencepieceDetokenizer", "SentencepieceStreamDetokenizer"])
def test_texts(model: Array, type: str, openvino: OpenVINO, tmp_path: Path) -> None:
    tokens = np.random.default_rng(2).integers(3, 520, (6, 9)).astype(np.int32)
    ours, theirs = outputs(tmp_path, openvino, type, 3, [model, tokens], 1)
    for actual, expected in zip(ours, theirs, strict=True):
        assert actual.tolist() == expected.tolist()


def test_invalid_model(tmp_path: Path) -> None:
    net = NetworkText()
    text = net.parameter("?", "string")
    results = net.outputs(3, "SentencepieceTokenizer", net.const(np.arange(9, dtype=np.uint8)), text, opset="extension")
    for output in results:
        net.result(output)
    file = net.file()
    compiled = ir_exec.compile_model(ir_exec.read_model(file.xml, weights=file.weights))
    with pytest.raises(EvaluationError) as caught:
        compiled([np.array(["a"])])
    assert caught.value.code == "IR704"


def test_special_tokens_are_cut_out_first(model: Array, tmp_path: Path) -> None:
    special = [*pack_strings("<one>", "sop"), np.array([600, 601], np.int32)]
    net = NetworkText()
    text = net.parameter("?", "string")
    values = [net.const(model), text, *[net.const(array) for array in special]]
    for output in net.outputs(3, "SentencepieceTokenizer", *values, opset="extension"):
        net.result(output)
    file = net.file()
    compiled = ir_exec.compile_model(ir_exec.read_model(file.xml, weights=file.weights))
    _, tokens, shape = compiled([np.array(["a<one>b sop"])]).values()
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.tobytes())
    expected = [*processor.encode("a"), 600, *processor.encode("b "), 601]
    assert tokens.tolist() == expected
    assert shape.tolist() == [1, len(expected)]
