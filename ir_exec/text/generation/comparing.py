"""Comparison of tokens with another runtime, and the setting that explains a difference."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ir_exec.codes import Code
from ir_exec.debug.comparison.api import compare
from ir_exec.debug.comparison.references.child import Child, ChildCrashed, ChildRefused
from ir_exec.errors import EvaluationError
from ir_exec.report.records import Record
from ir_exec.text.generation.comparing_folders import describe_encodings, find_layer_between
from ir_exec.text.generation.generating import Pipeline, load
from ir_exec.text.generation.sampling import Chooser, GenerationSettings

__all__ = ["TokenComparison", "TokenDifference", "Trial", "compare_tokens"]

Runtime = Literal["openvino", "genai", "transformers"]

OPTIONS: dict[str, dict[str, Any]] = {
    "KV cache in f32": {"KV_CACHE_PRECISION": "f32"},
    "no dynamic quantization": {"DYNAMIC_QUANTIZATION_GROUP_SIZE": 0},
    "f32 instead of bf16 or f16": {"INFERENCE_PRECISION_HINT": "f32"},
}
"""Options of OpenVINO whose defaults change numbers, each with the value that does not change them."""

_STORE = 'store its tokens elsewhere, {"prompt_ids": [...], "ids": [...]}, and compare --with ref.json'
"""The hint for a runtime that cannot be run here."""

_TIE = 1e-3
"""Relative to the range of logits: rounding alone may change the order of logits with a smaller difference."""


class TokenDifference(Record):
    """The first token that differs.

    Attributes:
        position: The index among the new tokens, from 0.
        ours: The tokens.
        theirs: The tokens.
        margin: Our logit of `ours` minus our logit of `theirs`.
        gap: Our logit of `ours` minus the second largest logit.
        is_tie: True if the logits are so close that rounding may change their order.
        their_margin: Their logit of `theirs` minus their logit of `ours`; None if the reference states no logits.
    """

    position: int
    ours: int
    theirs: int
    margin: float
    gap: float
    is_tie: bool
    their_margin: float | None = None


class Trial(Record):
    """A run of the runtime with other settings.

    Attributes:
        position: The index of the first token that differs from ours; None if all are equal.
        error: The reason if the runtime returned no tokens.
    """

    name: str
    options: dict[str, Any]
    position: int | None
    error: str | None = None


class TokenComparison(Record):
    """The result of `compare FOLDER`.

    Attributes:
        ours: The tokens of ir_exec for the same prompt.
        theirs: The tokens of the reference.
        first: The first difference; None if all tokens are equal.
        trials: Runs with other settings of the runtime if tokens differ.
        layer: The first layer with an own error at the differing token, if no setting explains the difference. For two
            folders, it may be the layer whose compression has the greatest effect.
        layer_note: The error or the effect of this layer, for two folders.
        notes: Other differences between the two sides.
    """

    format: Literal[1] = 1
    folder: str
    reference: str
    prompt_ids: tuple[int, ...]
    ours: tuple[int, ...]
    theirs: tuple[int, ...]
    first: TokenDifference | None
    trials: tuple[Trial, ...] = ()
    layer: str | None = None
    layer_note: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def equal(self) -> bool:
        """True if all tokens are equal, or if the first difference is a tie."""
        return self.first is None or self.first.is_tie

    @property
    def explanation(self) -> str | None:
        """The name of the settings with which all tokens are equal; None if there are none."""
        return next((trial.name for trial in self.trials if trial.position is None and trial.error is None), None)


def compare_tokens(
    pipeline: Pipeline,
    reference: str,
    prompt: str | Sequence[int],
    *,
    count: int = 50,
    device: str = "CPU",
    source: str | None = None,
    timeout: float = 600.0,
    progress: Callable[[str], None] | None = None,
) -> TokenComparison:
    """Compare greedy decoding of a reference with greedy decoding of ir_exec.

    Args:
        pipeline: The result of `ir_exec.text.load`.
        reference: `openvino`, `genai`, `transformers`, the folder of another export of the model, or a JSON file with
            `ids` and, without a prompt, `prompt_ids`.
        prompt: Text, or tokens.
        count: The number of new tokens.
        device: The device for openvino and genai.
        source: The folder from which transformers reads the model.
        timeout: Maximum seconds for an answer of the runtime, and for runs of single layers of two folders.
        progress: Called with a description of each step.

    Raises:
        EvaluationError: If the reference cannot be run or read.
    """
    ids = pipeline.encode(prompt) if isinstance(prompt, str) else list(prompt)
    tell = progress or (lambda text: None)
    if os.path.isdir(reference):
        return _compare_with_folder(pipeline, reference, prompt, ids, count, timeout, tell)
    if reference.lower().endswith(".json"):
        stored = _read_stored_tokens(reference)
        ids = ids or [int(token) for token in stored.get("prompt_ids", ())]
        theirs = [int(token) for token in stored["ids"]]
        # Files often contain the prompt followed by the new tokens.
        theirs = theirs[len(ids) :] if theirs[: len(ids)] == ids and len(theirs) > len(ids) else theirs
        ask: _Ask | None = None
    else:
        ask = _Ask(pipeline, reference, device, source, timeout)
        tell(f"running {reference}")
        theirs = ask(ids, count, {})
    if not ids:
        raise EvaluationError("the prompt is missing", expected="text or tokens", code=Code.bad_value)
    tell("running the model")
    # The child selects the most likely token of OpenVINO's runtime itself, without penalties.
    is_plain = reference == "openvino"
    settings = GenerationSettings() if is_plain else pipeline.settings().with_options({"min_new_tokens": 0})
    ours = _continue(pipeline, ids, len(theirs), follows=not is_plain)
    first = _first(pipeline, settings, ids, ours, theirs)
    trials: list[Trial] = []
    if first is not None and ask is not None and reference in ("openvino", "genai"):
        for name, options in (
            *OPTIONS.items(),
            ("all of these", {k: v for option in OPTIONS.values() for k, v in option.items()}),
        ):
            tell(f"running {reference} with {name}")
            trials.append(_trial(ask, name, options, ids, ours))
    is_explained = any(trial.position is None and trial.error is None for trial in trials)
    layer = None
    if first is not None and not first.is_tie and trials and not is_explained:
        tell("comparing the layers at this token")
        layer = layer_at_token(pipeline, [*ids, *ours[: first.position]], device, timeout)
    return TokenComparison(
        folder=pipeline.folder.path,
        reference=reference,
        prompt_ids=tuple(ids),
        ours=tuple(ours),
        theirs=tuple(theirs),
        first=first,
        trials=tuple(trials),
        layer=layer,
    )


def _compare_with_folder(
    pipeline: Pipeline,
    reference: str,
    prompt: str | Sequence[int],
    ids: list[int],
    count: int,
    timeout: float,
    tell: Callable[[str], None],
) -> TokenComparison:
    """Compare greedy decoding of two folders; each follows its own generation_config.json."""
    if not ids:
        raise EvaluationError("the prompt is missing", expected="text or tokens", code=Code.bad_value)
    other = load(reference)
    encodings = describe_encodings(pipeline, other, prompt) if isinstance(prompt, str) else None
    tell("running the models")
    ours, theirs = (_continue(side, ids, count, follows=True) for side in (pipeline, other))
    settings = pipeline.settings().with_options({"min_new_tokens": 0})
    first = _first(pipeline, settings, ids, ours, theirs)
    trials, layer = [], None
    if first is not None:
        back = _first(other, other.settings().with_options({"min_new_tokens": 0}), ids, theirs, ours)
        first = first.model_copy(update={"their_margin": None if back is None else back.margin})
        if pipeline.settings() != other.settings():
            plain = [_continue(side, ids, count, follows=False) for side in (pipeline, other)]
            trials.append(Trial(name="no penalties of the settings", options={}, position=_leaving(*plain)))
        if not any(trial.position is None for trial in trials):
            tell("comparing the layers at this token")
            layer = find_layer_between(pipeline, other, ids, ours[: first.position], timeout)
    return TokenComparison(
        folder=pipeline.folder.path,
        reference=reference,
        prompt_ids=tuple(ids),
        ours=tuple(ours),
        theirs=tuple(theirs),
        first=first,
        trials=tuple(trials),
        layer=None if layer is None else layer[0],
        layer_note=None if layer is None else layer[1],
        notes=() if encodings is None else (encodings,),
    )


def _continue(pipeline: Pipeline, ids: list[int], count: int, *, follows: bool) -> list[int]:
    return list(
        pipeline.generate(ids, max_new_tokens=count, ignore_eos=True, follow_settings=follows, min_new_tokens=0).ids
    )


def layer_at_token(pipeline: Pipeline, ids: list[int], device: str, timeout: float) -> str | None:
    """The first layer with an own error above the tolerance if OpenVINO computes the complete text so far."""
    part = pipeline.folder.decoder
    if part is None:
        return None
    decoder, _ = pipeline.decoder(ids)
    inputs = decoder.first_inputs(ids)
    try:
        report = compare(part.path, "openvino", inputs, device=device, hint="performance", timeout=timeout)
    except EvaluationError:
        return None
    return report.faults[0].layer_name if report.faults else None


def _first(
    pipeline: Pipeline, settings: GenerationSettings, ids: list[int], ours: list[int], theirs: list[int]
) -> TokenDifference | None:
    position = _leaving(ours, theirs)
    if position is None:
        return None
    decoder, begin = pipeline.decoder(ids)
    decoder.reset()
    before = [*begin, *ours[:position]]
    choose = Chooser(settings, has_encoder="encoder" in pipeline.folder.parts)
    scores = choose.scores(before, len(begin), decoder.next_logits(before))
    # Tokens that the settings forbid are treated as least likely.
    logits = np.maximum(scores.astype(np.float64), scores[np.isfinite(scores)].min())
    mine, other = ours[position], theirs[position]
    best = np.sort(logits)[-2:]
    margin, spread = float(logits[mine] - logits[other]), float(np.ptp(logits)) or 1.0
    return TokenDifference(
        position=position,
        ours=mine,
        theirs=other,
        margin=margin,
        gap=float(best[1] - best[0]),
        is_tie=margin <= _TIE * spread,
    )


def _leaving(ours: Sequence[int], theirs: Sequence[int]) -> int | None:
    """The first position at which the tokens differ."""
    return next((position for position, pair in enumerate(zip(ours, theirs, strict=False)) if pair[0] != pair[1]), None)


def _trial(ask: _Ask, name: str, options: dict[str, Any], ids: list[int], ours: list[int]) -> Trial:
    try:
        return Trial(name=name, options=options, position=_leaving(ours, ask(ids, len(ours), options)))
    except EvaluationError as error:
        return Trial(name=name, options=options, position=None, error=error.message)


class _Ask:
    """Runs a runtime in a separate process."""

    def __init__(self, pipeline: Pipeline, reference: str, device: str, source: str | None, timeout: float) -> None:
        if reference not in ("openvino", "genai", "transformers"):
            raise EvaluationError(
                "the reference is",
                actual=repr(reference),
                expected="openvino, genai, transformers, a model folder or a JSON file",
                code=Code.bad_value,
                hint=_STORE,
            )
        if reference == "transformers" and source is None:
            hint = f"name the exported model with --source FOLDER, or {_STORE}"
            raise EvaluationError("transformers needs the folder of the model", code=Code.bad_value, hint=hint)
        part = pipeline.folder.decoder
        self._request = {
            "runtime": reference,
            "folder": os.path.abspath(pipeline.folder.path),
            "model": os.path.abspath(part.path) if part is not None else "",
            "device": device,
            "source": source,
        }
        self._timeout = timeout

    def __call__(self, ids: list[int], count: int, options: Mapping[str, Any]) -> list[int]:
        # An absolute path is used unchanged; the other scripts of the child are in another package.
        child = Child(str(Path(__file__).parent / "tokens_child.py"), self._timeout)
        try:
            answer = child.ask(**self._request, ids=ids, count=count, options=dict(options))
        except (ChildRefused, ChildCrashed) as error:
            message = f"{self._request['runtime']} returned no tokens: {error}"
            raise EvaluationError(message, code=Code.failed, hint=_STORE) from None
        finally:
            child.close()
        return [int(token) for token in answer["ids"]]


def _read_stored_tokens(path: str) -> Mapping[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            stored = json.load(file)
    except (OSError, ValueError, RecursionError) as error:
        raise EvaluationError(f"cannot read the tokens of {path}: {error}", code=Code.bad_value) from None
    if isinstance(stored, list):
        stored = {"ids": stored}
    ids = stored.get("ids") if isinstance(stored, Mapping) else None
    if not isinstance(ids, list) or not all(isinstance(token, int) for token in ids):
        raise EvaluationError(f"{path} has no `ids`", expected="a list of tokens", code=Code.bad_value)
    return dict(stored)
