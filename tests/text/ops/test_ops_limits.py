"""Operators of strings within the memory and the time of a run: small inputs whose results would be far larger."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import ir_exec
from ir_exec import ResourceError
from ir_exec.codes import Code
from ir_exec.kernels import matching
from ir_exec.ops.base.known_extensions import EXTENSION_MODULES
from ir_exec.text.tokenizers import patterns
from ir_exec.types import Array
from tests.helpers.facts import coded, fault_with
from tests.text.ops.test_ops_operators import I32, Case, chars, file_of, pack_strings

BUDGET = 2**20
LONG = 50_000
COPIES = 100


def overlapping(text: bytes = b"a" * LONG, copies: int = COPIES) -> list[Array]:
    """Strings that are all the whole text."""
    return [np.zeros(copies, I32), np.full(copies, len(text), I32), np.frombuffer(text, np.uint8)]


def rows(strings: list[Array]) -> list[Array]:
    """Ragged strings of one row."""
    return [np.array([0], I32), np.array([strings[0].size], I32), *strings]


def ragged_text(text: bytes) -> list[Array]:
    return overlapping(text, 1)


VOCABULARY = pack_strings("a", "b", "ab")
WORDS = b"a b " * 75_000

CASES = [
    Case("RegexNormalization", [*ragged_text(b"a" * LONG), chars("a"), chars("b" * 100)], 3),
    Case("RegexNormalization", [*ragged_text(b"a" * LONG), chars("(a)"), chars("$1" * 100)], 3),
    Case("RegexNormalization", [*overlapping(), chars("x"), chars("y")], 3),
    Case("NormalizeUnicode", ragged_text("\ufdfa".encode() * LONG), 3, {"normalization_form": "NFKD"}),
    Case("NormalizeUnicode", overlapping(), 3, {"normalization_form": "NFC"}),
    Case("CaseFold", overlapping(), 3, {"encoding": "utf-8"}),
    Case("CaseFold", overlapping(), 3, {"encoding": ""}),
    Case("CharsMapNormalization", overlapping(), 3, {"normalization_form": "nfkc"}),
    Case("RegexSplit", [*rows(ragged_text(WORDS)), chars(" ")], 5),
    Case("RegexSplit", [*rows(overlapping()), chars("x")], 5),
    Case("SpecialTokensSplit", [*rows(ragged_text(WORDS)), chars("a")], 6),
    Case("BytesToChars", rows(overlapping()), 5),
    Case("CharsToBytes", [np.zeros(COPIES, I32), np.ones(COPIES, I32), *ragged_text(b"a" * LONG)], 3),
    Case("EqualStr", [*overlapping(), *overlapping()], 1),
    Case("NumericToString", [np.arange(LONG)], 1),
    Case("StringToHashBucket", overlapping(), 1, {"num_buckets": 10}),
    Case("StringTensorPack", overlapping(), 1),
    Case("StringTensorPack", overlapping(), 1, version="opset15"),
    Case("StringTensorUnpack", [np.full(COPIES, "a" * LONG, object)], 3),
    Case("StringTensorUnpack", [np.full(COPIES, "a" * LONG, object)], 3, version="opset15"),
    Case("UTF8Validate", ragged_text(b"\xff" * 3 * LONG), 3, {"replace_mode": True}),
    Case("ContribStringJoin", [*pack_strings(*["a"] * COPIES), chars("+" * LONG), np.array([0], np.int64)], 3),
    Case("ContribStringSplit", [*ragged_text(b"a" * LONG), chars(""), np.array([False])], 5),
    Case("ContribStringSplit", [*ragged_text(b"a" * LONG), chars("a"), np.array([False])], 5),
    Case("BPETokenizer", [*rows(ragged_text(b"ab" * LONG)), *VOCABULARY, *pack_strings("a b")], 3),
    Case("WordpieceTokenizer", [*rows(overlapping()), *VOCABULARY, np.array(0, I32)], 3),
    Case("UnigramTokenizer", [*rows(ragged_text(b"ab" * LONG)), *VOCABULARY, np.zeros(3, np.float32)], 3),
    Case("TrieTokenizer", [*rows(ragged_text(b"ab" * 3 * LONG)), *VOCABULARY, np.arange(3, dtype=I32)], 3),
    Case("VocabEncoder", [*overlapping(), *VOCABULARY, np.arange(3, dtype=I32), np.array([0], I32)], 1),
    Case("VocabDecoder", [np.zeros((1, COPIES), I32), *ragged_text(b"a" * LONG)], 5),
    Case("ByteFallback", overlapping(), 3),
    Case(
        "CombineSegments",
        [np.zeros(COPIES, I32), np.full(COPIES, LONG, I32), np.zeros(LONG, I32), np.array([1], I32)],
        6,
    ),
    Case(
        "RaggedToDense", [np.zeros(1, I32), np.ones(1, I32), np.ones(1, I32), np.array(2**22, I32), np.array(0, I32)], 2
    ),
    Case("RaggedToSparse", [np.zeros(COPIES, I32), np.full(COPIES, LONG, I32)], 1),
    Case("RaggedToRagged", [np.zeros(1, I32), np.array([2**20], I32)], 2),
    Case("FuzeRagged", [np.zeros(LONG, I32), np.zeros(LONG, I32), np.zeros(1, I32), np.ones(1, I32)], 2),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_results_beyond_budget_are_refused_in_advance(case: Case, tmp_path: Path) -> None:
    path, inputs_of_case = file_of(case, tmp_path)
    compiled = ir_exec.compile_model(ir_exec.read_model(path), max_memory=BUDGET)
    inputs = sum(array.nbytes for array in inputs_of_case)
    tracemalloc.start()
    try:
        with pytest.raises(ResourceError, check=coded(Code.limit_exceeded, layer_type=case.type)):
            compiled(inputs_of_case)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # Inputs are copied when a string is made of them.
    assert peak < BUDGET + 4 * inputs + 2**20


def test_every_operator_of_strings_has_a_case() -> None:
    without_strings = ("grouped_attention", "internal", "recurrences", "sentencepiece")
    others = {name for name, module in EXTENSION_MODULES.items() if module.endswith(without_strings)}
    # Their outputs are not larger than their inputs.
    others |= {"raggedtensorpack", "truncate"}
    assert {case.type.lower() for case in CASES} | others == set(EXTENSION_MODULES)


ENDLESS = b"a" * 60 + b"b"

SLOW = [
    Case("RegexNormalization", [*pack_strings("fine", ENDLESS), chars("^(a|aa)+$"), chars("")], 3),
    Case("RegexNormalization", [*ragged_text(b"(" * 50_000), chars(r"\((?:[^()]|(?R))*\)"), chars("")], 3),
    Case("RegexSplit", [*rows(ragged_text(ENDLESS)), chars("^(a|aa)+$")], 5),
    Case("RegexSplit", [*rows(ragged_text(b"xx" + ENDLESS)), chars("x|(a|aa)+$")], 5, {"behaviour": "isolate"}),
    Case("SpecialTokensSplit", [*rows(ragged_text(ENDLESS)), chars("^(a|aa)+$")], 6),
]


@pytest.mark.parametrize("has_limit", [True, False], ids=["max_seconds", "default"])
@pytest.mark.parametrize("case", SLOW, ids=str)
def test_matches_end_at_the_time_limit(
    case: Case, has_limit: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matching, "MATCH_SECONDS", 0.05)
    monkeypatch.setattr(matching, "SECONDS_PER_BYTE", 0.0)
    path, inputs_of_case = file_of(case, tmp_path)
    compiled = ir_exec.compile_model(ir_exec.read_model(path), max_seconds=0.3 if has_limit else None)
    with pytest.raises(ResourceError, check=coded(Code.limit_exceeded, layer_type=case.type)):
        compiled(inputs_of_case)


def test_the_error_names_the_position_in_the_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "MATCH_SECONDS", 0.05)
    path, inputs_of_case = file_of(SLOW[3], tmp_path)
    with pytest.raises(ResourceError) as caught:
        ir_exec.compile_model(ir_exec.read_model(path))(inputs_of_case)
    assert caught.value == fault_with(2, "a" * 20)


QUICK = [
    r"\s+",
    r"'s|'t| ?\p{L}+| ?[^\s\p{L}]+|\s+(?!\S)",
    r"\bab\b",
    r"(^)(.)",
    r"(\<\|a\|\>|b)",
    "[&(a+)*]",
    "a{2,}b*",
]
SLOW_ONES = [
    *["(a|aa)+", "(a+)+", "(a*|b)(a*|b)", "(?:a){2,}", "a*a*a*b", r"(a)\1", "(?R)?a", "(?P<x>a)(?&x)", "(?1)(a)"],
    *["((a|a))*", "(?>a+)+b", "(?|(a)|(b))*", "(?x)( a )+", "a" * 6000],
]


@pytest.mark.parametrize("pattern", [*QUICK, *SLOW_ONES], ids=lambda pattern: pattern[:20])
def test_patterns_without_a_time_limit_for_short_texts(pattern: str) -> None:
    search = patterns.compile_pattern(pattern.encode())
    assert matching.is_quick(search, "a" * 32) == (pattern in QUICK)
    assert not matching.is_quick(search, "a" * 33)


@pytest.mark.parametrize("pattern", ["(?R)a|b", "(a)(?1)", "(a)(?-1)", "(?P<x>a)(?&x)", "(?P<x>a)(?P>x)"])
def test_patterns_with_recursion_have_less_time(pattern: str) -> None:
    assert (
        matching.MatchTimer(10**9, patterns.compile_pattern(pattern.encode())).seconds_left
        <= matching.RECURSION_SECONDS
    )
    assert matching.MatchTimer(10**9, patterns.compile_pattern(b"(?:a|b)+")).seconds_left > matching.MATCH_SECONDS


def test_short_texts_end_at_the_time_limit_too(tmp_path: Path) -> None:
    path, inputs_of_case = file_of(Case("RegexSplit", [*rows(overlapping(b"a a", 10)), chars(" ")], 5), tmp_path)
    with pytest.raises(ResourceError, check=coded(Code.limit_exceeded)):
        ir_exec.compile_model(ir_exec.read_model(path), max_seconds=1e-9)(inputs_of_case)


@pytest.mark.parametrize("seconds", [float("inf"), 1e300, 1e11])
def test_limits_beyond_any_clock(seconds: float, tmp_path: Path) -> None:
    path, inputs_of_case = file_of(
        Case("RegexNormalization", [*pack_strings("abab"), chars("a"), chars("x")], 3), tmp_path
    )
    results = ir_exec.compile_model(ir_exec.read_model(path), max_seconds=seconds)(inputs_of_case)
    assert results[2].tobytes() == b"xbxb"


def test_processor_time_of_other_threads_does_not_end_a_match(monkeypatch: pytest.MonkeyPatch) -> None:
    timer = matching.MatchTimer(0, None)
    limits: list[float] = []

    def match(timeout: float) -> str:
        limits.append(timeout)
        if len(limits) < 3:
            raise TimeoutError
        return "match"

    assert timer.run(match, "text", lambda: 0) == "match"
    assert limits[0] < limits[1] < limits[2]


@pytest.mark.parametrize(
    "pattern",
    ["a{65536}", "a{1,99999}", "(" * 251 + ")" * 251, "a{1," + "9" * 5000 + "}", "(?:" * 400 + "a" + ")" * 400],
    ids=len,
)
def test_patterns_invalid_in_pcre2_are_ignored(pattern: str) -> None:
    assert patterns.compile_pattern(pattern.encode()) is None
    assert patterns.refusal(pattern.encode()) is not None


@pytest.mark.parametrize(
    "pattern", ["a{65535}", "(" * 20 + ")" * 20, "a{0065535}", r"\({9}", "[{99999}]", r"\Q{99999}\E"]
)
def test_patterns_within_the_limits(pattern: str) -> None:
    assert patterns.compile_pattern(pattern.encode()) is not None


def test_long_patterns_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "MOST_PATTERN", 1000)
    assert patterns.compile_pattern(b"a" * 1000) is not None
    with pytest.raises(ResourceError, check=coded(Code.limit_exceeded)):
        patterns.compile_pattern(b"a" * 1001)


@pytest.mark.parametrize(
    "pattern", ["(?:a{60000}){60000}", "(?:(?:[a-z)]{99}){99}){999,}", r"(?:\w{2000}|b){2000}", "(?:a?){60000}" * 40]
)
def test_nested_counts_of_a_pattern_are_not_expanded(pattern: str, tmp_path: Path) -> None:
    case = Case("RegexNormalization", [*ragged_text(b"a"), chars(pattern), chars("")], 3)
    path, inputs = file_of(case, tmp_path)
    compiled = ir_exec.compile_model(ir_exec.read_model(path), max_seconds=5.0)
    with pytest.raises(ResourceError, check=coded(Code.limit_exceeded, layer_type=case.type)):
        compiled(inputs)


def test_counts_of_a_pattern_are_accepted(tmp_path: Path) -> None:
    case = Case("RegexNormalization", [*ragged_text(b"aab(b]"), chars(r"(?:a{2}){1,99}[(\]]{0,9}"), chars("c")], 3)
    path, inputs = file_of(case, tmp_path)
    outputs = list(ir_exec.compile_model(path)(inputs).values())
    assert bytes(outputs[2]) == b"cb(b]"
