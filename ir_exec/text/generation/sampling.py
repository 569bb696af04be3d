"""Selection of the next token by its logits: penalties, forbidden and forced tokens, and sampling with a seed.

    settings = GenerationSettings(repetition_penalty=1.3, do_sample=True, temperature=0.7, top_k=20)
    choose = Chooser(settings, seed=1)
    token = choose([1, 15, 7], prompt=3, logits=logits)

Names, defaults and formulas are those of `generation_config.json` in transformers. `presence_penalty` and
`frequency_penalty`, which transformers does not have, are those of OpenVINO GenAI, and count new tokens only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from math import isfinite
from typing import Any, TypedDict, get_type_hints

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError
from ir_exec.types import Array

__all__ = ["Chooser", "GenerationOptions", "GenerationSettings", "settings_from"]


class GenerationOptions(TypedDict, total=False):
    """Options of `generate`; the defaults are the values of generation_config.json.

    Attributes:
        max_new_tokens: The maximum number of new tokens; 100 if the file does not declare it.
        min_new_tokens: The minimum number of new tokens before an end token.
        eos_token_id: One or several end tokens.
        stop_strings: Texts that end the generation; they are not part of the result.
        repetition_penalty: A divisor of positive logits, and a factor of negative logits, of tokens in the text so far.
        presence_penalty: Subtracted from the logits of new tokens that occur.
        frequency_penalty: Subtracted for each occurrence.
        no_repeat_ngram_size: The length of token sequences that must not be repeated.
        do_sample: Sample tokens.
        temperature: A divisor of the logits; without `do_sample`, a value above 0 enables sampling, and 0 selects the
            most likely token.
        top_k: Sample from this number of most likely tokens, 0 for all.
        top_p: Sample from the most likely tokens with this total probability.
        min_p: Sample from tokens with at least this fraction of the highest probability.
    """

    max_new_tokens: int
    min_new_tokens: int
    eos_token_id: int | Sequence[int]
    stop_strings: Sequence[str]
    repetition_penalty: float
    presence_penalty: float
    frequency_penalty: float
    no_repeat_ngram_size: int
    do_sample: bool
    temperature: float
    top_k: int
    top_p: float
    min_p: float


@dataclass(frozen=True, slots=True)
class GenerationSettings:
    """Settings of sampling and length: the fields of `GenerationOptions`, and fields that only the file has.

    Attributes:
        suppress_tokens: Forbidden tokens.
        begin_suppress_tokens: Forbidden first tokens.
        bad_words_ids: Forbidden sequences of tokens.
        forced_bos_token_id: The first token of a decoder with an encoder.
        forced_eos_token_id: The last token of a decoder with an encoder.
    """

    max_new_tokens: int = 100
    min_new_tokens: int = 0
    eos_token_id: tuple[int, ...] = ()
    stop_strings: tuple[str, ...] = ()
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    no_repeat_ngram_size: int = 0
    do_sample: bool = False
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    suppress_tokens: tuple[int, ...] = ()
    begin_suppress_tokens: tuple[int, ...] = ()
    bad_words_ids: tuple[tuple[int, ...], ...] = ()
    forced_bos_token_id: int | None = None
    forced_eos_token_id: int | None = None

    def __post_init__(self) -> None:
        draws = (
            ("temperature", self.temperature >= 0 and isfinite(self.temperature), "0 or more"),
            ("top_k", self.top_k >= 0, "0 or more"),
            ("top_p", 0 < self.top_p <= 1, "above 0 and at most 1"),
            ("min_p", 0 <= self.min_p <= 1, "0 to 1"),
        )
        for name, is_right, expected in (
            ("max_new_tokens", self.max_new_tokens >= 0, "0 or more"),
            ("min_new_tokens", self.min_new_tokens >= 0, "0 or more"),
            ("repetition_penalty", self.repetition_penalty > 0 and isfinite(self.repetition_penalty), "above 0"),
            ("presence_penalty", isfinite(self.presence_penalty), "a finite number"),
            ("frequency_penalty", isfinite(self.frequency_penalty), "a finite number"),
            ("no_repeat_ngram_size", self.no_repeat_ngram_size >= 0, "0 or more"),
            ("stop_strings", all(self.stop_strings), "texts that are not empty"),
            # Files without sampling have values such as -1.
            *(draws if self.do_sample else ()),
        ):
            if not is_right:
                raise EvaluationError(f"{name} is", actual=getattr(self, name), expected=expected, code=Code.bad_value)

    def with_options(self, options: GenerationOptions) -> GenerationSettings:
        """Return these settings with options replaced. A temperature above 0 without `do_sample` enables sampling."""
        values: dict[str, Any] = {name: _convert(name, value, "") for name, value in options.items()}
        if "temperature" in values and "do_sample" not in values:
            values["do_sample"] = values["temperature"] > 0
        if values.keys() & {"temperature", "top_k", "top_p", "min_p"}:
            # Invalid values are rejected even without sampling.
            replace(self, **values | {"do_sample": True})
        return replace(self, **values)


_HINTS = get_type_hints(GenerationSettings)


def settings_from(file: str, data: Mapping[str, Any]) -> GenerationSettings:
    """Return the settings of a JSON file; null values and unknown names are ignored.

    `do_sample` is False: a reference selects the most likely token by default.

    Raises:
        EvaluationError: IR704 for values of the wrong type or out of range.
    """
    names = [field.name for field in fields(GenerationSettings) if field.name != "do_sample"]
    values = {name: _convert(name, data[name], file) for name in names if data.get(name) is not None}
    return GenerationSettings(**values)


def _convert(name: str, value: Any, file: str) -> Any:
    """Convert a value to the type of its field: single values and lists to tuples."""
    hint = _HINTS.get(name)
    try:
        if hint == tuple[int, ...]:
            return (_require_int(value),) if not isinstance(value, Sequence) else tuple(map(_require_int, value))
        if hint == tuple[str, ...]:
            return (value,) if isinstance(value, str) else tuple(map(_text, value))
        if hint == tuple[tuple[int, ...], ...]:
            return tuple([tuple(map(_require_int, row)) for row in value])
        if hint is bool and not isinstance(value, bool):
            raise TypeError
        if hint in (float, bool):
            return hint(value)
        if hint is not None:
            return _require_int(value)
    except (TypeError, ValueError, OverflowError):
        pass
    where = f" in {file}" if file else ""
    if hint is None:
        raise EvaluationError(f"{name} is {value!r}{where}, no such option", code=Code.bad_value)
    expected = getattr(hint, "__name__", hint)
    raise EvaluationError(f"{name}{where} is", actual=repr(value), expected=expected, code=Code.bad_value)


def _require_int(value: Any) -> int:
    if isinstance(value, bool) or int(value) != value:
        raise TypeError
    return int(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


class Chooser:
    """Selects tokens one after the other by settings; sampling is reproducible by the seed."""

    def __init__(self, settings: GenerationSettings, seed: int = 0, *, has_encoder: bool = False) -> None:
        self._settings = settings
        self._has_encoder = has_encoder
        self._random = np.random.default_rng(seed)

    def __call__(self, ids: Sequence[int], prompt: int, logits: Array) -> int:
        """Select the token after `ids`; `prompt` is the number of prompt tokens in it.

        Raises:
            EvaluationError: IR704 for logits that are NaN, or if every token is forbidden.
        """
        scores = self.scores(ids, prompt, logits)
        best = int(np.argmax(scores))
        if scores[best] == -np.inf:
            message = f"the settings forbid every token after new token {len(ids) - prompt}"
            raise EvaluationError(message, code=Code.bad_value)
        if not self._settings.do_sample or not self._settings.temperature:
            return best
        order = np.argsort(-scores, kind="stable")
        order = order[: int(np.count_nonzero(scores > -np.inf))]
        return int(self._random.choice(order, p=_softmax(scores[order])))

    def scores(self, ids: Sequence[int], prompt: int, logits: Array) -> Array:
        """Return the logits after all settings, f32, [vocabulary]; -inf for excluded tokens."""
        if np.isnan(logits).any():
            message = (
                f"{int(np.isnan(logits).sum())} of the {logits.size} logits of new token {len(ids) - prompt} are NaN"
            )
            hint = "run `ir-exec run --validate` to find the first layer that computes NaN"
            raise EvaluationError(message, code=Code.bad_value, hint=hint)
        scores = logits.astype(np.float32)
        for step in _STEPS:
            step(scores, ids, prompt, self._settings)
        if self._has_encoder:
            _force(scores, ids, prompt, self._settings)
        if self._settings.do_sample and self._settings.temperature:
            for warp in (_temperature, _top_k, _top_p, _min_p):
                warp(scores, self._settings)
        return scores


def _softmax(scores: Array) -> Array:
    weights = np.exp(scores.astype(np.float64) - float(scores.max()))
    weights /= weights.sum()
    return weights


_Step = Callable[[Array, Sequence[int], int, GenerationSettings], None]
"""A function that modifies scores in place, by the text so far and the number of its prompt tokens."""


def _repetition(scores: Array, ids: Sequence[int], prompt: int, settings: GenerationSettings) -> None:
    if settings.repetition_penalty != 1 and ids:
        seen = _inside(set(ids), scores)
        penalty = np.float32(settings.repetition_penalty)
        scores[seen] = np.where(scores[seen] < 0, scores[seen] * penalty, scores[seen] / penalty)


def _counts(scores: Array, ids: Sequence[int], prompt: int, settings: GenerationSettings) -> None:
    if settings.presence_penalty or settings.frequency_penalty:
        for token, count in Counter(ids[prompt:]).items():
            scores[token] -= settings.presence_penalty + settings.frequency_penalty * count


def _no_repeated_ngram(scores: Array, ids: Sequence[int], prompt: int, settings: GenerationSettings) -> None:
    size = settings.no_repeat_ngram_size
    if size and len(ids) + 1 >= size:
        last = tuple(ids[len(ids) - size + 1 :])
        starts = range(len(ids) - size + 1)
        _forbid(scores, [ids[at + size - 1] for at in starts if tuple(ids[at : at + size - 1]) == last])


def _bad_words(scores: Array, ids: Sequence[int], prompt: int, settings: GenerationSettings) -> None:
    for row in settings.bad_words_ids:
        is_end = len(row) == 1 and row[0] in settings.eos_token_id
        # As in transformers, a row longer than the text is not matched.
        is_short = len(row) == 1 or 0 < len(row) <= len(ids)
        if is_short and not is_end and tuple(ids[len(ids) - len(row) + 1 :]) == row[:-1]:
            _forbid(scores, row[-1:])


def _fewest(scores: Array, ids: Sequence[int], prompt: int, settings: GenerationSettings) -> None:
    if len(ids) - prompt < settings.min_new_tokens:
        _forbid(scores, settings.eos_token_id)


def _suppress_tokens(scores: Array, ids: Sequence[int], prompt: int, settings: GenerationSettings) -> None:
    _forbid(scores, settings.suppress_tokens)
    begin = prompt + (prompt == 1 and settings.forced_bos_token_id is not None)
    if len(ids) == begin:
        _forbid(scores, settings.begin_suppress_tokens)


_STEPS: tuple[_Step, ...] = (_repetition, _counts, _no_repeated_ngram, _bad_words, _fewest, _suppress_tokens)


def _force(scores: Array, ids: Sequence[int], prompt: int, settings: GenerationSettings) -> None:
    """Force the first and the last token of a decoder with an encoder."""
    for token, is_now in (
        (settings.forced_bos_token_id, len(ids) == 1),
        (settings.forced_eos_token_id, len(ids) - prompt == settings.max_new_tokens - 1),
    ):
        if token is not None and is_now and 0 <= token < scores.size:
            scores[:] = -np.inf
            scores[token] = 0


def _temperature(scores: Array, settings: GenerationSettings) -> None:
    scores /= np.float32(settings.temperature)


def _top_k(scores: Array, settings: GenerationSettings) -> None:
    if 0 < settings.top_k < scores.size:
        scores[scores < np.partition(scores, -settings.top_k)[-settings.top_k]] = -np.inf


def _top_p(scores: Array, settings: GenerationSettings) -> None:
    if settings.top_p < 1:
        order = np.argsort(scores, kind="stable")
        below = np.cumsum(_softmax(scores[order])) <= 1 - settings.top_p
        below[-1] = False
        scores[order[below]] = -np.inf


def _min_p(scores: Array, settings: GenerationSettings) -> None:
    if settings.min_p:
        weights = _softmax(scores)
        scores[weights < settings.min_p * weights.max()] = -np.inf


def _inside(tokens: set[int], scores: Array) -> Array:
    return np.array(sorted(token for token in tokens if 0 <= token < scores.size), np.int64)


def _forbid(scores: Array, tokens: Sequence[int]) -> None:
    scores[_inside(set(tokens), scores)] = -np.inf
