"""Strings: what onnxruntime computes, where the strings are constants or inputs of a call."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from ir_exec import IRError, compile_model, read_model
from ir_exec.errors import EvaluationError, InvalidAttributeError, ResourceError, UnsupportedError
from ir_exec.kernels import matching
from tests.helpers.facts import coded
from tests.onnx.runtime import Node, assert_as_onnxruntime, model_of_node, node

RANDOM = np.random.default_rng(2)
ITEMS = np.array([5, 6, 7, 6, 7, 5, 6, 9])


def text(*words: str) -> Any:
    return np.array(words, object)


def ms(type: str, *inputs: Any, **options: Any) -> Node:
    return node(type, *inputs, domain="com.microsoft", **options)._replace(opset=1)


def grams(data: Any, **attributes: Any) -> Node:
    plain: dict[str, Any] = {
        "max_gram_length": 2,
        "max_skip_count": 0,
        "min_gram_length": 1,
        "mode": "TF",
        "ngram_counts": [0, 3],
        "ngram_indexes": [3, 0, 2, 4, 1],
        "pool_int64s": [5, 6, 7, 5, 6, 6, 7],
    }
    merged = {name: value for name, value in {**plain, **attributes}.items() if value is not None}
    return node("TfIdfVectorizer", data, opset=9, **merged)


WEIGHTS = [1.0, 2.5, 3.0, 4.0, -5.0]
WORDS = {"pool_int64s": None, "pool_strings": ["a", "b", "c", "a", "b", "b", "c"]}
COUNTED = [
    *[grams(ITEMS, mode=mode, weights=weights) for mode in ("TF", "IDF", "TFIDF") for weights in (WEIGHTS, None)],
    *[grams(np.stack([ITEMS, ITEMS[::-1]]), max_skip_count=skips) for skips in (0, 1, 2, 9)],
    grams(ITEMS.astype(np.int32), min_gram_length=2),
    grams(ITEMS, max_gram_length=1),
    grams(ITEMS[:1]),
    grams(ITEMS, ngram_indexes=[3, 0, 0, 4, 1]),
    grams(ITEMS, ngram_indexes=[3, 0, 7, 0, 0], mode="TFIDF", weights=WEIGHTS),
    grams(text("a", "b", "c", "a", "b", "d"), **WORDS),
    grams(text("a", "b", "c", "a", "b", "d").reshape(2, 3), max_skip_count=1, **WORDS),
    grams(ITEMS, ngram_counts=[0, 0, 4], ngram_indexes=[2, 0, 1], pool_int64s=[6, 7, 5, 6, 5, 6, 7], max_gram_length=3),
]

TOKENS = [
    ms("Tokenizer", data, mark=mark, mincharnum=least, pad_value="#", **how)
    for data, mark, least, how in (
        (text("Hello World", "I love computer science !"), 0, 1, {"separators": [" "]}),
        (text("Hello  World", "a,b c"), 1, 2, {"separators": [" ", ","]}),
        (text("abä", "c"), 0, 1, {"separators": [""]}),
        (text("ab12c", "3"), 0, 1, {"tokenexp": "[a-z]+"}),
        (text("ab", "c"), 1, 1, {"tokenexp": "."}),
        (text("a b", "c", "d e f", "").reshape(2, 2), 0, 1, {"separators": [" "]}),
        (text("  "), 0, 1, {"separators": [" "]}),
        (text("a--b-c"), 0, 1, {"separators": ["-", "--"]}),
        (text("aaab"), 0, 1, {"tokenexp": "a|aa"}),
        (text("a1b22c"), 0, 1, {"separators": [r"\d+"]}),
    )
]

NUMBERS = np.array([1.5, -0.0, 1e10, 1e-7, 3.14159274, np.nan, np.inf, -np.inf, 16777216, 0.1, 123456789])
KINDS = ["FLOAT", "DOUBLE", "FLOAT16", "INT8", "UINT8", "INT32", "INT64", "UINT64", "BOOL"]


def casts(data: Any, name: str) -> Node:
    return node("Cast", data, opset=17, to=TensorProto.DataType.Value(name))


CASTS = [
    *[casts(NUMBERS.astype(dtype), "STRING") for dtype in (np.float32, np.float64)],
    casts(NUMBERS[[0, 1, 3, 4, 5, 9]].astype(np.float16), "STRING"),
    *[casts(np.array([0, 1, 100], dtype), "STRING") for dtype in (np.int8, np.uint8, np.int64, np.uint64, np.bool_)],
    *[casts(text("3", "-2", "1.5", "1e3", " 7", "300", "0x10", "8 "), name) for name in KINDS],
    *[casts(text("NaN", "INF", "-inf", "nan", "1e40"), name) for name in KINDS[:3]],
    *[casts(text(word), name) for word in ("abc", "", "True", "NaN") for name in KINDS if name != "BOOL"],
]

NORMALIZED = [
    node("StringNormalizer", data, opset=10, is_case_sensitive=1, **attributes)
    for data, attributes in (
        (text("monday", "Monday", "ÄrA", ""), {}),
        (text("monday", "Monday", "x").reshape(1, 3), {"stopwords": ["Monday"]}),
        (text("a", "b"), {"stopwords": ["a", "b"]}),
        (text("a", "b").reshape(1, 2), {"stopwords": ["a", "b"]}),
    )
]


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("case", [*TOKENS, *CASTS, *NORMALIZED], ids=str)
def test_known_strings_as_onnxruntime(case: Node, stored: bool) -> None:
    assert_as_onnxruntime(case._replace(constants=frozenset([0] if stored else [])))


@pytest.mark.parametrize("case", COUNTED, ids=str)
def test_counts_of_n_grams_as_onnxruntime(case: Node) -> None:
    assert_as_onnxruntime(case, dynamic=True)


def model_of(operator: str, data: Any, opset: int, **attributes: Any) -> onnx.ModelProto:
    operator = helper.make_node(operator, ["x"], ["y"], **attributes)
    declared = helper.make_tensor_value_info("x", TensorProto.STRING, data.shape)
    graph = helper.make_graph([operator], "g", [declared], [helper.make_empty_tensor_value_info("y")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


@pytest.mark.parametrize(("case", "sensitive"), [("UPPER", 0), ("LOWER", 0), ("UPPER", 1), ("LOWER", 1), ("NONE", 1)])
def test_cases_as_in_the_reference(case: str, sensitive: int) -> None:
    """onnxruntime changes the case only with an installed locale."""
    data = text("monday", "Monday", "tuesday", "ArA")
    proto = model_of(
        "StringNormalizer",
        data,
        10,
        case_change_action=case,
        is_case_sensitive=sensitive,
        stopwords=["Monday", "TUESDAY"],
    )
    (expected,) = ReferenceEvaluator(proto).run(None, {"x": data})
    (actual,) = compile_model(proto.SerializeToString())({"x": data}).values()
    assert actual.tolist() == expected.tolist()


def test_stop_words_of_any_case() -> None:
    data = text("monday", "Monday", "tuesday", "ÄrA", "ärb")
    proto = model_of("StringNormalizer", data, 10, stopwords=["MONDAY", "ärA"])
    (actual,) = compile_model(proto.SerializeToString())({"x": data}).values()
    assert actual.tolist() == ["tuesday", "ärb"]


def test_unknown_strings_are_not_lowered() -> None:
    data = text("a", "b")
    proto = model_of("Cast", data, 17, to=TensorProto.FLOAT)
    with pytest.raises(IRError):
        read_model(proto.SerializeToString()).to_onnx()


def test_non_numeric_string_is_named() -> None:
    data = text("1", "word")
    proto = model_of("Cast", data, 17, to=TensorProto.FLOAT)
    with pytest.raises(EvaluationError) as caught:
        compile_model(proto.SerializeToString())({"x": data})
    assert "word" in caught.value.message


def stored_model(case: Node) -> bytes:
    """Return an ONNX model with the node, whose inputs are initializers."""
    stored = case._replace(constants=frozenset(range(len(case.inputs))))
    return model_of_node(stored, dynamic=False).SerializeToString()


ENDLESS = "a" * 60 + "b"
WITHOUT_LIMITS = [
    node("RegexFullMatch", text(ENDLESS), opset=20, pattern="^(a|aa)+$"),
    ms("Tokenizer", text(ENDLESS), mark=0, mincharnum=1, pad_value="", tokenexp="(a|aa)+$"),
    ms("Tokenizer", text(ENDLESS), mark=0, mincharnum=1, pad_value="", separators=["(a|aa)+$"]),
    node("RegexFullMatch", text("a"), opset=20, pattern="(?:a{60000}){60000}"),
    node("RegexFullMatch", text("a"), opset=20, pattern="a" * 2**20),
    grams(ITEMS, ngram_indexes=[3, 0, 2, 2**40, 1]),
]


@pytest.mark.parametrize("case", WITHOUT_LIMITS, ids=lambda case: case.type)
def test_patterns_and_tables_without_an_end_are_refused(case: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "MATCH_SECONDS", 0.01)
    with pytest.raises(ResourceError, check=coded("IR006", layer_type=case.type)):
        read_model(stored_model(case))


def test_deeply_nested_pattern_is_invalid() -> None:
    case = node("RegexFullMatch", text("a"), opset=20, pattern="(" * 5000 + "a" + ")" * 5000)
    with pytest.raises(InvalidAttributeError, check=coded("IR302", layer_type="RegexFullMatch")):
        read_model(stored_model(case))


def test_many_skips_of_n_grams_are_not_unrolled() -> None:
    with pytest.raises(UnsupportedError):
        read_model(stored_model(grams(ITEMS, max_skip_count=2**62)))


def test_doubling_strings_are_refused_in_advance() -> None:
    count = 40
    nodes = [helper.make_node("StringConcat", [f"s{i}", f"s{i}"], [f"s{i + 1}"], name=f"n{i}") for i in range(count)]
    start = helper.make_tensor("s0", TensorProto.STRING, [1], [b"a" * 1000])
    output = helper.make_tensor_value_info(f"s{count}", TensorProto.STRING, None)
    graph = helper.make_graph(nodes, "doubled", [], [output], [start])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    with pytest.raises(ResourceError, check=coded("IR006", layer_type="StringConcat")):
        read_model(model.SerializeToString())


@pytest.mark.parametrize("digits", ["9" * 5000, "0x" + "f" * 5000])
def test_thousands_of_digits_are_refused(digits: str) -> None:
    with pytest.raises(EvaluationError, check=coded("IR704", layer_type="Cast")):
        read_model(stored_model(casts(text(digits), "INT64" if digits.isdecimal() else "DOUBLE")))
