"""Operators that normalize strings: patterns, Unicode normal forms, character maps, case."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError
from ir_exec.text.charsmap import CharsMap, Normalizer, folded, without_faults
from ir_exec.text.ops.base import (
    STRINGS,
    TextOp,
    bytes_of,
    joined,
    kept_with,
    require_vector,
    strings_of,
    strings_type,
    text_op,
)
from ir_exec.text.patterns import compiled
from ir_exec.types import Array, TensorType

__all__ = ["CaseFold", "CharsMapNormalization", "NormalizeUnicode", "RegexNormalization"]

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]


class Normalization(TextOp):
    """Base class of operators that change every string, except strings marked in `skips`."""

    def infer_inputs(
        self, *, begins: TensorType, ends: TensorType, chars: TensorType, **others: TensorType | None
    ) -> Any:
        require_vector(chars, "chars")
        for name in ("pattern", "replacement"):
            require_vector(others.get(name), name)
        skips = others.get("skips")
        outputs = strings_type(begins.shape)
        return outputs if skips is None else (*outputs, skips.without_values())

    def evaluate_inputs(self, *, begins: Array, ends: Array, chars: Array, **others: Array | None) -> Any:
        skips = others.get("skips")
        change = self.change(**others)
        strings = strings_of(begins, ends, chars)
        if skips is None:
            return joined(map(change, strings), begins.shape)
        changed = [one if skip else change(one) for one, skip in zip(strings, skips.ravel().tolist(), strict=True)]
        return (*joined(changed, begins.shape), skips)

    def change(self, **others: Array | None) -> Callable[[bytes], bytes]:
        """Return the function that changes a string."""
        raise NotImplementedError


@text_op("RegexNormalization")
class RegexNormalization(Normalization):
    r"""Replacement of each match of `pattern` by `replacement`; of the first match only if not `global_replace`.

    As in PCRE2, a replacement that refers to a group without a match leaves the string unchanged.
    Source: openvino_tokenizers, regex_normalization.cpp.

    Inputs:
        pattern: u8, a PCRE2 pattern.
        replacement: u8, with groups `\1` and `$1`.

    Outputs:
        begins: Strings.
        ends: Strings.
        chars: Strings.
        skips: Booleans, true for strings that remain unchanged (an input since 2024.5, with a fourth output).
    """

    generations = ((*STRINGS, "pattern", "replacement"), (*STRINGS, "skips", "pattern", "replacement"))
    outputs = (*STRINGS, "skips")
    varies_outputs = True

    global_replace: bool = True

    def change(self, **others: Array | None) -> Callable[[bytes], bytes]:
        pattern, replacement = others["pattern"], others["replacement"]
        assert pattern is not None, "every generation has this input"
        assert replacement is not None, "every generation has this input"
        search = compiled(_REWRITTEN.get(bytes_of(pattern), bytes_of(pattern)))
        if search is None:
            return _unchanged
        template = _template(bytes_of(replacement).decode("utf-8", "surrogateescape"))
        count = 0 if self.global_replace else 1

        def replaced(text: bytes) -> bytes:
            found = text.decode("utf-8", "surrogateescape")
            try:
                changed = search.sub(lambda match: _filled(template, match), found, count=count)
            except _UnsetGroupError:
                return text
            return str(changed).encode("utf-8", "surrogateescape")

        return replaced


class _UnsetGroupError(Exception):
    """Raised if a replacement refers to a group without a match."""


def _unchanged(text: bytes) -> bytes:
    return text


_REWRITTEN = {
    rb" ([\\.\\?\\!,])| ('[ms])| (') | ('[rv]e)| (n't)": rb"(?| ([\\.\\?\\!,])| ('[ms])| (') | ('[rv]e)| (n't))",
    rb"(^)(.)": rb"(^)([\s\S])",
    rb"(^)(.+)": rb"(^)([\s\S])",
}
"""Patterns in files of old releases, and the patterns that openvino_tokenizers runs instead."""


def _template(replacement: str) -> list[str | int]:
    """Split a replacement into texts and group numbers."""
    parts: list[str | int] = []
    text, at = "", 0
    while at < len(replacement):
        char = replacement[at]
        follows = replacement[at + 1 : at + 2]
        end = replacement.find("}", at)
        if char == "$" and follows == "$":
            text, at = text + "$", at + 2
        elif char == "$" and follows == "{" and replacement[at + 2 : end].isdecimal():
            parts += [text, int(replacement[at + 2 : end])]
            text, at = "", end + 1
        elif (char == "$" and follows.isdecimal()) or (char == "\\" and follows.isdecimal() and follows != "0"):
            length = 1
            while char == "$" and replacement[at + 1 + length : at + 2 + length].isdecimal():
                length += 1
            parts += [text, int(replacement[at + 1 : at + 1 + length])]
            text, at = "", at + 1 + length
        else:
            text, at = text + char, at + 1
    return [part for part in [*parts, text] if part != ""]


def _filled(template: list[str | int], match: Any) -> str:
    if len(template) == 1 and isinstance(template[0], str):
        return template[0]
    filled = []
    for part in template:
        if isinstance(part, int):
            if part > match.re.groups or match[part] is None:
                raise _UnsetGroupError
            filled.append(match[part])
        else:
            filled.append(part)
    return "".join(filled)


@text_op("NormalizeUnicode")
class NormalizeUnicode(Normalization):
    """Conversion of every string to a Unicode normal form.

    The normal form is that of Python's Unicode version. OpenVINO applies a map of single characters and listed
    sequences, which does not reorder multiple combining marks.
    Source: openvino_tokenizers, normalize_unicode.cpp; Unicode Standard Annex 15.
    """

    generations = (STRINGS, (*STRINGS, "skips"))
    outputs = (*STRINGS, "skips")
    varies_outputs = True

    normalization_form: Form

    def change(self, **others: Array | None) -> Callable[[bytes], bytes]:
        form = self.normalization_form
        return lambda text: unicodedata.normalize(form, without_faults(text)).encode()


@text_op("CaseFold")
class CaseFold(Normalization):
    """Conversion of every string to lower case: Unicode's simple case folding, or ASCII letters only.

    Source: openvino_tokenizers, case_fold.cpp.

    Attributes:
        encoding: "utf-8", or "" for ASCII only.
        lower: lower case if true, else upper case, which is possible for ASCII only.
    """

    generations = (STRINGS, (*STRINGS, "skips"))
    outputs = (*STRINGS, "skips")
    varies_outputs = True

    encoding: Literal["utf-8", ""] = "utf-8"
    lower: bool = True

    def check_attributes(self) -> None:
        if self.encoding and not self.lower:
            raise ValueError(f'encoding={self.encoding!r} with lower=false, expected encoding=""')

    def change(self, **others: Array | None) -> Callable[[bytes], bytes]:
        if self.encoding:
            return lambda text: folded(without_faults(text)).encode()
        return bytes.lower if self.lower else bytes.upper


def _normalization_form(text: str) -> str:
    if text.lower() not in ("", "identity", "nfc", "nfd", "nfkc", "nfkd"):
        raise ValueError("expected identity, nfc, nfd, nfkc, nfkd, or no text")
    return text


@text_op("CharsMapNormalization")
class CharsMapNormalization(Normalization):
    """Normalization of SentencePiece for every string: characters by a map, then whitespace.

    The normal forms are those of Unicode, as in `NormalizeUnicode`.
    Source: openvino_tokenizers, charsmap_normalization.cpp; sentencepiece, normalizer.cc.

    Inputs:
        chars_map: u8, a precompiled map of SentencePiece; not used in files with a `normalization_form`.

    Attributes:
        add_dummy_prefix: Insert a space before the text.
        remove_extra_whitespaces: Merge consecutive spaces, and remove spaces at both ends.
        escape_whitespaces: Replace each space by U+2581.
        normalization_form: nfc, nfd, nfkc, nfkd (any case), identity or "".
        case_fold: Fold case afterwards.
        nmt: Not used by OpenVINO.
    """

    generations = (STRINGS, (*STRINGS, "skips"), (*STRINGS, "skips", "chars_map"))
    any_kind = frozenset({"skips", "chars_map"})
    outputs = (*STRINGS, "skips")
    varies_outputs = True

    add_dummy_prefix: bool = False
    remove_extra_whitespaces: bool = True
    escape_whitespaces: bool = False
    normalization_form: Annotated[str, _normalization_form] = ""
    case_fold: bool = False
    nmt: bool = False

    def named(self, inputs: Any) -> dict[str, Any]:
        """Return the inputs by name; the fourth input is the map in old files, and `skips` in new ones."""
        named = super().named(inputs)
        if not self.normalization_form and len(inputs) == 4:
            named["skips"], named["chars_map"] = None, inputs[3]
        return named

    def change(self, **others: Array | None) -> Callable[[bytes], bytes]:
        chars_map = others.get("chars_map")
        form = self.normalization_form.upper()
        replace: Callable[[str], str] = str
        if chars_map is not None and not form:
            replace = kept_with([chars_map], "chars_map", lambda: _read_map(chars_map)).replaced
        elif form not in ("", "IDENTITY"):
            replace = partial(unicodedata.normalize, form)  # type: ignore[arg-type]  # one of the four forms
        change = (lambda text: folded(replace(text))) if self.case_fold else replace
        return Normalizer(
            change, self.add_dummy_prefix, self.remove_extra_whitespaces, self.escape_whitespaces
        ).normalized


def _read_map(chars_map: Array) -> CharsMap:
    try:
        return CharsMap(np.frombuffer(bytes_of(chars_map), np.uint8))
    except ValueError as error:
        raise EvaluationError(str(error), code=Code.bad_value, port="chars_map") from None
