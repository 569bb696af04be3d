"""Operators that normalize strings: patterns, Unicode normal forms, character maps, case."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from sys import getsizeof
from typing import Annotated, Any, Literal

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError
from ir_exec.kernels.limits import MemoryMeter
from ir_exec.kernels.matching import MatchTimer, is_quick
from ir_exec.kernels.strings import join_strings
from ir_exec.ops.base.attributes import AttributeValueError
from ir_exec.text.ops.base import (
    STRINGS,
    TextOp,
    bytes_of,
    kept_with,
    require_vector,
    strings_of,
    strings_type,
    text_op,
)
from ir_exec.text.tokenizers.charsmap import CharsMap, Form, Normalizer, fold_case, normalize_text, without_faults
from ir_exec.text.tokenizers.patterns import compile_pattern
from ir_exec.types import Array, TensorType

__all__ = ["CaseFold", "CharsMapNormalization", "NormalizeUnicode", "RegexNormalization"]


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
        strings = strings_of(begins, ends, chars)
        change = self.change(strings, **others)
        if skips is None:
            return join_strings(map(change, strings), begins.shape)
        flags = skips.ravel().tolist()
        changed = (string if skip else change(string) for string, skip in zip(strings, flags, strict=True))
        return (*join_strings(changed, begins.shape), skips)

    def change(self, strings: Sequence[bytes], **others: Array | None) -> Callable[[bytes], bytes]:
        """Return the function that changes a string.

        Args:
            strings: All strings, which are changed in this order.
        """
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

    def change(self, strings: Sequence[bytes], **others: Array | None) -> Callable[[bytes], bytes]:
        pattern, replacement = others["pattern"], others["replacement"]
        assert pattern is not None, "every generation has this input"
        assert replacement is not None, "every generation has this input"
        search = compile_pattern(_REWRITTEN.get(bytes_of(pattern), bytes_of(pattern)))
        if search is None:
            return _identity
        template = _template(bytes_of(replacement).decode("utf-8", "surrogateescape"))
        count = 0 if self.global_replace else 1
        timer = MatchTimer(sum(map(len, strings)), search)

        def replace(text: bytes) -> bytes:
            replacing = _Replacing(template)
            string = text.decode("utf-8", "surrogateescape")
            try:
                if timer.seconds_left and is_quick(search, string):
                    return str(search.sub(replacing.fill, string, count=count)).encode("utf-8", "surrogateescape")
                changed = timer.run(
                    lambda timeout: search.sub(replacing.restart().fill, string, count=count, timeout=timeout),
                    string,
                    lambda: replacing.position,
                )
            except _UnsetGroupError:
                return text
            return str(changed).encode("utf-8", "surrogateescape")

        return replace


class _UnsetGroupError(Exception):
    """Raised if a replacement refers to a group without a match."""


def _identity(text: bytes) -> bytes:
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
    at = 0
    for reference in _REFERENCE.finditer(replacement):
        parts.append(replacement[at : reference.start()])
        digits = reference["braced"] or reference["digits"] or reference["digit"]
        parts.append("$" if digits is None else _group_number(digits))
        at = reference.end()
    parts.append(replacement[at:])
    return [part for part in parts if part != ""]


_REFERENCE = re.compile(r"\$\$|\$\{(?P<braced>\d+)\}|\$(?P<digits>\d+)|\\(?P<digit>(?!0)\d)")

_MOST_GROUPS = 65_536
"""A number above all groups of a pattern."""


def _group_number(digits: str) -> int:
    digits = digits.lstrip("0")
    return int(digits or 0) if len(digits) < 5 else _MOST_GROUPS


class _Replacing:
    """The replacements in one text, within the memory budget of the run.

    Attributes:
        position: The end of the last match, in characters.
    """

    def __init__(self, template: list[str | int]) -> None:
        self._template = template
        self._text = "".join(map(str, template)) if all(isinstance(part, str) for part in template) else None
        self._meter = MemoryMeter()
        self.position = 0

    def restart(self) -> _Replacing:
        """Forget the replacements made so far."""
        self._meter = MemoryMeter()
        self.position = 0
        return self

    def fill(self, match: Any) -> str:
        """Return the replacement of a match."""
        self.position = match.end()
        replacement = self._expand_template(match) if self._text is None else self._text
        # A replacement is in the list of all of them, in the text that is made of these, and in its bytes.
        self._meter.add(_REPLACED_COPIES * getsizeof(replacement))
        return replacement

    def _expand_template(self, match: Any) -> str:
        for part in self._template:
            if isinstance(part, int) and (part > match.re.groups or match.start(part) < 0):
                raise _UnsetGroupError
            self._meter.add(len(part) if isinstance(part, str) else match.end(part) - match.start(part))
        return "".join([match[part] if isinstance(part, int) else part for part in self._template])


_REPLACED_COPIES = 3


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

    def change(self, strings: Sequence[bytes], **others: Array | None) -> Callable[[bytes], bytes]:
        form = self.normalization_form
        return lambda text: normalize_text(form, without_faults(text)).encode()


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
            raise AttributeValueError(
                "attribute encoding is", actual=repr(self.encoding), expected="''", reason=" with lower=false"
            )

    def change(self, strings: Sequence[bytes], **others: Array | None) -> Callable[[bytes], bytes]:
        if self.encoding:
            return lambda text: fold_case(without_faults(text)).encode()
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

    def inputs_by_name(self, inputs: Any) -> dict[str, Any]:
        """Return the inputs by name; the fourth input is the map in old files, and `skips` in new ones."""
        by_name = super().inputs_by_name(inputs)
        if not self.normalization_form and len(inputs) == 4:
            by_name["skips"], by_name["chars_map"] = None, inputs[3]
        return by_name

    def change(self, strings: Sequence[bytes], **others: Array | None) -> Callable[[bytes], bytes]:
        chars_map = others.get("chars_map")
        form = self.normalization_form.upper()
        replace: Callable[[str], str] = str
        if chars_map is not None and not form:
            replace = kept_with([chars_map], "chars_map", lambda: _read_map(chars_map)).replaced
        elif form not in ("", "IDENTITY"):
            replace = partial(normalize_text, form)  # type: ignore[arg-type]  # one of the four forms
        change = (lambda text: fold_case(replace(text))) if self.case_fold else replace
        return Normalizer(
            change, self.add_dummy_prefix, self.remove_extra_whitespaces, self.escape_whitespaces
        ).normalized


def _read_map(chars_map: Array) -> CharsMap:
    try:
        return CharsMap(np.frombuffer(bytes_of(chars_map), np.uint8))
    except ValueError as error:
        raise EvaluationError(str(error), code=Code.bad_value, port="chars_map") from None
