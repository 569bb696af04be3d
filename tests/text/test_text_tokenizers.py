"""Small tokenizers of seven kinds: the tokens of OpenVINO, those of the library that made them, and the texts again."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import numpy as np
import pytest

import ir_exec
from ir_exec.types import Array
from tests.text.openvino import OpenVINO, Refused
from tests.text.texts import texts

FOLDER = Path(__file__).parent / "tokenizers"
KINDS = sorted(path.name.removesuffix("_tokenizer.xml") for path in FOLDER.glob("*_tokenizer.xml"))
COUNT = 120

UNEQUAL = {"clip": 4, "unigram": 1}
"""Texts whose tokens differ from OpenVINO's: of CLIP the order of combining marks, which it leaves as it is, of the
unigram model the second one of two U+2581, which it loses."""

NOT_RUN = {"clip": COUNT}
"""Texts that OpenVINO may refuse: its CLIP tokenizer takes fewer tokens than a text may have."""


def strings(*strings_of_batch: str) -> Array:
    array = np.empty(len(strings_of_batch), object)
    array[:] = strings_of_batch
    return array


@pytest.fixture(scope="module", params=KINDS)
def tokenizer_name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def compile_tokenizer(family: str, part: str) -> ir_exec.CompiledModel:
    return ir_exec.compile_model(ir_exec.read_model(FOLDER / f"{family}_{part}.xml"))


def test_tokens_are_those_of_openvino(tokenizer_name: str, openvino: OpenVINO) -> None:
    tokenizer, refused, unequal = compile_tokenizer(tokenizer_name, "tokenizer"), 0, 0
    for text in texts(COUNT):
        ours = tokenizer([strings(text)])["input_ids"]
        try:
            theirs = openvino.run(FOLDER / f"{tokenizer_name}_tokenizer.xml", [strings(text)])[0]
        except Refused:
            refused += 1
            continue
        unequal += not np.array_equal(ours, theirs)
    assert refused <= NOT_RUN.get(tokenizer_name, 0)
    assert unequal <= UNEQUAL.get(tokenizer_name, 0)


def test_texts_are_those_of_openvino(tokenizer_name: str, openvino: OpenVINO) -> None:
    tokenizer, detokenizer = (
        compile_tokenizer(tokenizer_name, "tokenizer"),
        compile_tokenizer(tokenizer_name, "detokenizer"),
    )
    for text in texts(COUNT)[::3]:
        tokens = tokenizer([strings(text)])["input_ids"]
        (ours,) = detokenizer([tokens]).values()
        if not tokens.size:
            # OpenVINO gives what is in its memory.
            assert ours.tolist() == [""]
            continue
        (theirs,) = openvino.run(FOLDER / f"{tokenizer_name}_detokenizer.xml", [tokens])
        assert ours.tolist() == theirs.tolist()


@pytest.mark.parametrize("tokenizer_name", ["byte_level", "llama3", "unigram"])
def test_tokens_are_those_of_the_library(tokenizer_name: str) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    library = tokenizers.Tokenizer.from_file(str(FOLDER / f"{tokenizer_name}.json"))
    tokenizer = compile_tokenizer(tokenizer_name, "tokenizer")
    for text in texts(300):
        assert tokenizer([strings(text)])["input_ids"].tolist() == [library.encode(text).ids]


def test_a_batch_is_padded(openvino: OpenVINO) -> None:
    batch = strings("", "a", "Hello, world!", "the layer's shape")
    tokens = compile_tokenizer("wordpiece", "tokenizer")([batch])
    expected = openvino.run(FOLDER / "wordpiece_tokenizer.xml", [batch])
    assert [array.tolist() for array in tokens.values()] == [array.tolist() for array in expected]


def test_invalid_text_bytes(openvino: OpenVINO) -> None:
    text = strings(b"a\xff\xfeb \xe2\x82".decode("utf-8", "surrogateescape"))
    tokens = compile_tokenizer("byte_level", "tokenizer")([text])["input_ids"]
    (back,) = compile_tokenizer("byte_level", "detokenizer")([tokens]).values()
    assert unicodedata.normalize("NFC", back[0]).startswith("a")


def test_strings_of_any_kind() -> None:
    tokenizer = compile_tokenizer("llama3", "tokenizer")
    expected = tokenizer([strings("a text")])["input_ids"].tolist()
    for batch in (np.array(["a text"]), np.array(["a text"], np.dtypes.StringDType()), ["a text"]):
        assert tokenizer([batch])["input_ids"].tolist() == expected
