"""Every operator alone, against OpenVINO."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import ir_exec
from ir_exec.ops.base.known_extensions import EXTENSION_MODULES
from ir_exec.types import Array, ElementType
from tests.helpers.network_text import NetworkText
from tests.text.openvino import OpenVINO
from tests.text.texts import texts

I32 = np.int32
Value = bytes | Array


class Case(NamedTuple):
    """A layer: its type, inputs (constants where they are `constants`), number of outputs and attributes."""

    type: str
    inputs: Sequence[Array]
    outputs: int
    attributes: dict[str, Any] = {}  # noqa: RUF012  # never changed
    constants: frozenset[int] = frozenset()
    version: str = "extension"

    def __str__(self) -> str:
        return f"{self.type}-{len(self.inputs)}-{'-'.join(f'{key}={value}' for key, value in self.attributes.items())}"


def pack_strings(*strings: str | bytes) -> list[Array]:
    """Strings as begins, ends and chars."""
    coded = [string if isinstance(string, bytes) else string.encode() for string in strings]
    ends = np.cumsum([len(string) for string in coded]).astype(I32)
    begins = (ends - [len(string) for string in coded]).astype(I32)
    return [begins, ends, np.frombuffer(b"".join(coded), np.uint8)]


def pack_rows(*rows: Sequence[str | bytes]) -> list[Array]:
    ends = np.cumsum([len(row) for row in rows]).astype(I32)
    begins = (ends - [len(row) for row in rows]).astype(I32)
    return [begins, ends, *pack_strings(*[text for row in rows for text in row])]


def chars(text: str) -> Array:
    return np.frombuffer(text.encode(), np.uint8)


TEXTS = [text for text in texts(60) if text][:40]
WORDS = ["Hello", " world", "it's", "a--b-c", "-x-", "x--", "naïve", "日本語", "A1b22", "", "  two  "]
VOCABULARY = ["a", "b", "c", "ab", "abc", "##a", "##bc", "##c", "é", "<0x41>", "[UNK]", "<unk>", " "]
SKIPS = np.array([index % 3 == 0 for index in range(len(TEXTS))])
WORD_SKIPS = np.array([index % 4 == 1 for index in range(len(WORDS))])


def on_words(type: str, pattern: str, outputs: int = 5, **attributes: object) -> Case:
    # With several strings in a row OpenVINO reads skips that it does not have.
    rows = [[word] for word in WORDS]
    return Case(type, [*pack_rows(*rows), chars(pattern)], outputs, attributes, frozenset({5}))


def merges() -> list[Array]:
    return pack_strings("a b", "ab c")


CASES = [
    *[
        Case(
            "RegexNormalization",
            [*pack_strings(*TEXTS), chars(pattern), chars(new)],
            3,
            {"global_replace": every},
            frozenset({3, 4}),
        )
        for pattern, new in (
            (" ", "\u2581"),
            (r"\s+", " "),
            (r"(\w)(\W)", r"\2\1"),
            (r"[^\S\n]", "$0$0"),
            (r"(^)(.)", r"\1_\2"),
            (r"[\p{Han}\x{3040}-\x{30ff}]", "J"),
            (r"\b", "|"),
            (r"[[:punct:]]", "."),
            (r"(a)|(e)", r"<\1>"),
            (r"\u0041", "never"),
            (r"$", "!"),
            (r"\d+\Z", "#"),
        )
        for every in ("true", "false")
    ],
    Case("RegexNormalization", [*pack_strings(*TEXTS), SKIPS, chars("e"), chars("3")], 4, {}, frozenset({4, 5})),
    *[Case("NormalizeUnicode", pack_strings(*TEXTS[:20]), 3, {"normalization_form": form}) for form in ("NFC", "NFKC")],
    *[
        Case("NormalizeUnicode", pack_strings("Å é ﬁ", "가 ½"), 3, {"normalization_form": form})
        for form in ("NFD", "NFKD")
    ],
    Case("CaseFold", pack_strings(*TEXTS), 3, {"encoding": "utf-8"}),
    Case("CaseFold", pack_strings(*TEXTS), 3, {"encoding": "", "lower": "true"}),
    *[
        Case(
            "CharsMapNormalization",
            pack_strings(*TEXTS[:20], "", "  a  b "),
            3,
            {
                "normalization_form": form,
                "case_fold": fold,
                "add_dummy_prefix": prefix,
                "remove_extra_whitespaces": remove,
                "escape_whitespaces": escape,
            },
        )
        for form, fold, prefix, remove, escape in (
            ("nfc", "false", "false", "false", "false"),
            ("nfkc", "true", "true", "true", "true"),
            ("nfc", "false", "true", "false", "true"),
            ("nfkc", "false", "false", "true", "false"),
        )
    ],
    *[
        on_words("RegexSplit", pattern, behaviour=behaviour, invert=invert)
        for pattern in ("-", r"\w+", r"\s")
        for behaviour in ("remove", "isolate", "contiguous")
        for invert in ("false", "true")
    ],
    *[
        Case(
            "RegexSplit",
            [*pack_rows(["a-b-c"], ["-x"], ["xy-"]), chars("-")],
            5,
            {"behaviour": behaviour},
            frozenset({5}),
        )
        for behaviour in ("mergedwithprevious", "mergedwithnext")
    ],
    *[on_words("RegexSplit", r"\w", behaviour="isolate", max_splits=count) for count in (1, 2)],
    Case("RegexSplit", [*pack_rows(WORDS), WORD_SKIPS, chars(r"\w")], 6, {"behaviour": "isolate"}, frozenset({6})),
    Case(
        "RegexSplit",
        [*pack_rows(*[[word] for word in WORDS]), chars("-"), *pack_strings("x--", "-x-")],
        5,
        {"behaviour": "isolate"},
        frozenset({5, 6, 7, 8}),
    ),
    on_words("SpecialTokensSplit", "(b)|\\s*(two)\\s*", 6),
    on_words("SpecialTokensSplit", "Hello|語", 6),
    Case("BytesToChars", pack_rows(TEXTS[:10], TEXTS[10:20]), 5),
    Case("BytesToChars", [*pack_rows(WORDS), WORD_SKIPS], 6),
    Case("CharsToBytes", pack_rows(["ĠHello", "Ċ"], ["Ã©", "abc"], []), 3),
    Case(
        "UTF8Validate", pack_strings(b"a\xffb", b"\xe2\x82", b"\xc0\x80\xe0\x80\x80", b"\xf0\x9f\x98\x80\xe2(\xa1"), 3
    ),
    Case("UTF8Validate", pack_strings(b"a\xffb", b"\xe2\x82", b"\xc0\x80", b"\xe2(\xa1"), 3, {"replace_mode": "true"}),
    Case("ByteFallback", pack_strings("<0x41>", "a", "<0xC3>", "<0xA9>"), 3),
    Case("FuzeRagged", pack_rows(["ab", "c"], ["de"], ["f", "g", "h"])[:4], 2),
    Case("EqualStr", [*pack_strings("a", "b", "ab"), *pack_strings("b")], 1),
    Case("EqualStr", [*pack_strings("a", "b"), *pack_strings("a", "c")], 1),
    *[
        Case(
            "StringToHashBucket", pack_strings(*[f"x{size}" * size for size in range(40)]), 1, {"num_buckets": buckets}
        )
        for buckets in (7, 2**40)
    ],
    *[
        Case("NumericToString", [np.array(values, dtype)], 1, {}, frozenset(), "openvino_tokenizers")
        for values, dtype in (
            ([0, -5, 2**30], np.int64),
            ([0.1, 1e-7, 123456789.0, -2.0, np.inf, np.nan], np.float32),
            ([1e30, 0.30000000000000004], np.float64),
            ([0, 255], np.uint8),
        )
    ],
    Case(
        "BPETokenizer",
        [*pack_rows(["abc", "abab"], ["cab", "éa"]), *pack_strings(*VOCABULARY), *merges()],
        3,
        {},
        frozenset(range(5, 11)),
    ),
    Case(
        "BPETokenizer",
        [
            *pack_rows(["abc", "zab"], ["A", "zz"]),
            *pack_strings(*VOCABULARY),
            *pack_strings("a", "ab"),
            *pack_strings("b", "c"),
        ],
        3,
        {"unk_token": "[UNK]", "byte_fallback": "true"},
        frozenset(range(5, 14)),
    ),
    Case(
        "BPETokenizer",
        [
            *pack_rows(["abc", "<s>ab"], ["zz"]),
            *pack_strings(*VOCABULARY),
            *merges(),
            *pack_strings("<s>"),
            np.array([99], I32),
        ],
        3,
        {"unk_token": "[UNK]", "fuse_unk": "true"},
        frozenset(range(5, 15)),
    ),
    Case(
        "BPETokenizer",
        [
            *pack_rows(["abc", "<s>ab"], ["zz"]),
            *pack_strings(*VOCABULARY),
            *pack_strings("a", "ab"),
            *pack_strings("b", "c"),
            *pack_strings("<s>"),
            np.array([99], I32),
        ],
        3,
        {"end_suffix": "c"},
        frozenset(range(5, 18)),
    ),
    Case(
        "WordpieceTokenizer",
        [*pack_rows(["abc", "abca", "z"], ["cc", "ax", "a" * 120]), *pack_strings(*VOCABULARY), np.array(10, I32)],
        3,
        {"suffix_indicator": "##", "max_bytes_per_word": 100},
        frozenset(range(5, 9)),
    ),
    Case(
        "UnigramTokenizer",
        [
            *pack_rows(["abc", "zza"], ["cab é", "日本"]),
            *pack_strings(*VOCABULARY),
            -np.arange(13, dtype=np.float32) / 3,
        ],
        3,
        {"unk_token_id": 11},
        frozenset(range(5, 9)),
    ),
    Case(
        "TrieTokenizer",
        [*pack_rows(["abcab"], ["ca"]), *pack_strings("a", "b", "c", "ab"), np.array([5, 6, 7, 8], I32)],
        3,
        {},
        frozenset(range(5, 9)),
    ),
    *[
        Case(
            "VocabEncoder",
            [
                *pack_strings("a", "q", "abc"),
                *pack_strings("a", "abc", "a"),
                np.array([5, 6, 7], dtype),
                np.array(-1, dtype),
            ],
            1,
        )
        for dtype in (np.int32, np.int64)
    ],
    Case("VocabDecoder", [np.array([[0, 3, 99], [2, 1, 4]], I32), *pack_strings(*VOCABULARY), np.array([1], I32)], 5),
    Case("VocabDecoder", [np.array([[0, 3], [2, 1]], I32), *pack_strings(*VOCABULARY)], 5, {"skip_tokens": "3,2"}),
    Case(
        "CombineSegments",
        [
            *[np.array(0, I32), np.array(2, I32), np.array([7, 8], I32)],
            *[np.array([0, 2], I32), np.array([2, 3], I32), np.array([1, 2, 3], I32)],
            np.array([0, 1], I32),
        ],
        6,
    ),
    *[
        Case(
            "Truncate",
            [
                *pack_rows(["a"] * 3, ["b"] * 9)[:2],
                np.arange(12, dtype=I32),
                np.array(5, I32),
                chars(side),
                chars("longest_first"),
            ],
            3,
            {"m_num_inputs": 1},
            frozenset({3, 4, 5}),
        )
        for side in ("left", "right")
    ],
    *[
        Case(
            "Truncate",
            [
                *[np.array([0, 3, 12], I32), np.array([3, 12, 14], I32), np.arange(14, dtype=I32)],
                *[np.array([0, 2, 10], I32), np.array([2, 10, 19], I32), np.arange(19, dtype=I32)],
                *[np.array(7, I32), chars(side), chars(mode)],
            ],
            6,
            {"m_num_inputs": 2},
            frozenset({6, 7, 8}),
        )
        for side in ("left", "right")
        for mode in ("only_first", "only_second", "longest_first")
    ],
    *[
        Case(
            "RaggedToDense",
            [np.array([0, 2], I32), np.array([2, 7], I32), data, np.array(4, I32), np.array(9, I32)],
            2,
            {"pad_right": right, "m_pad_max_length": "false"},
        )
        for right in ("true", "false")
        for data in (np.arange(7, dtype=I32), np.arange(14, dtype=I32).reshape(7, 2))
    ],
    Case("RaggedToSparse", [np.array([0, 2, 2], I32), np.array([2, 2, 5], I32)], 1),
    Case("RaggedToRagged", [np.array([0, 0, 2, 4, 4, 5], I32), np.array([6], I32)], 2),
    Case("RaggedTensorPack", [np.array([0], I32), np.array([2], I32), np.array([1.0, 2.0], np.float32)], 1),
    Case(
        "ContribStringJoin",
        [
            *[part.reshape(2, 2) for part in pack_strings("a", "bc", "", "d")[:2]],
            chars("abcd"),
            chars("+"),
            np.array([1], np.int64),
        ],
        3,
        {},
        frozenset({3, 4}),
    ),
    *[
        Case(
            "ContribStringSplit",
            [*pack_strings("a,b,,c", "", "d"), chars(","), np.array([skip])],
            5,
            {},
            frozenset({3, 4}),
        )
        for skip in (True, False)
    ],
]
"""Deviations from OpenVINO have no case: their classes document them and tests of this folder cover them."""


def file_of(case: Case, folder: Path) -> tuple[Path, list[Array]]:
    net = NetworkText()
    arrays = []
    values = []
    for position, array in enumerate(case.inputs):
        if position in case.constants:
            values.append(net.const(array))
        else:
            shape = ",".join(["?"] * array.ndim)
            values.append(net.parameter(shape, ElementType.of(array).name))
            arrays.append(array)
    for output in net.outputs(case.outputs, case.type, *values, opset=case.version, **case.attributes):
        net.result(output)
    file = net.file()
    path = folder / "net.xml"
    path.write_bytes(file.xml)
    path.with_suffix(".bin").write_bytes(file.weights)
    return path, arrays


@pytest.mark.parametrize("case", CASES, ids=str)
def test_values_are_those_of_openvino(case: Case, openvino: OpenVINO, tmp_path: Path) -> None:
    path, arrays = file_of(case, tmp_path)
    ours = list(ir_exec.compile_model(ir_exec.read_model(path))(arrays).values())
    theirs = openvino.run(path, arrays)
    for actual, expected in zip(ours, theirs, strict=True):
        assert actual.shape == expected.shape
        assert actual.tolist() == expected.tolist()


def test_every_operator_has_a_case() -> None:
    elsewhere = {"stringtensorpack", "stringtensorunpack"}
    others = ("grouped_attention", "internal", "recurrences", "sentencepiece")
    models = {name for name, module in EXTENSION_MODULES.items() if module.endswith(others)}
    assert {case.type.lower() for case in CASES} | elsewhere | models == set(EXTENSION_MODULES)
