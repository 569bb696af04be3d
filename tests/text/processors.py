"""Writes tests/text/logits.json: random logits and what transformers' logits processors make of them.

python -m tests.text.processors. Needs transformers and torch, which the tests do not. Processors come in the order of
`GenerationMixin._get_logits_processor`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

CASES = 60


def main() -> None:
    """Draw the cases and write them; what is -inf is null."""
    import torch
    from transformers.generation import logits_process as hf

    random = np.random.default_rng(0)
    cases: list[dict[str, Any]] = []
    for _ in range(CASES):
        rows, length = int(random.integers(8, 16)), int(random.integers(2, 14))
        prompt = int(random.integers(1, length + 1))
        ids = random.integers(0, rows, size=length).tolist()
        ends = sorted(set(random.integers(0, rows, size=2).tolist()))
        logits = (random.normal(size=rows) * random.choice([0.5, 2, 5])).astype(np.float32)
        some = random.integers(0, rows, size=3).tolist()
        choices: dict[str, tuple[list[Any], Callable[[Any], Any]]] = {
            "repetition_penalty": ([0.7, 1.3, 2.0], hf.RepetitionPenaltyLogitsProcessor),
            "no_repeat_ngram_size": ([1, 2, 3], hf.NoRepeatNGramLogitsProcessor),
            "bad_words_ids": (
                [[[ids[-1], some[0]], [some[1]], [ends[0]]]],
                lambda value, ends=ends: hf.NoBadWordsLogitsProcessor(value, ends),
            ),
            "min_new_tokens": (
                [1, 3, 5],
                lambda value, prompt=prompt, ends=ends: hf.MinNewTokensLengthLogitsProcessor(prompt, value, ends),
            ),
            "suppress_tokens": ([some], hf.SuppressTokensLogitsProcessor),
            "begin_suppress_tokens": (
                [some],
                lambda value, prompt=prompt: hf.SuppressTokensAtBeginLogitsProcessor(value, prompt),
            ),
            "temperature": ([0.3, 0.7, 1.5], hf.TemperatureLogitsWarper),
            "top_k": ([1, 3, 8], hf.TopKLogitsWarper),
            "top_p": ([0.1, 0.5, 0.9], hf.TopPLogitsWarper),
            "min_p": ([0.05, 0.2, 0.6], hf.MinPLogitsWarper),
        }
        settings: dict[str, Any] = {}
        scores = torch.tensor(logits)[None]
        for name, (values, make) in choices.items():
            if random.random() < 0.4:
                settings[name] = values[int(random.integers(len(values)))]
                scores = make(settings[name])(torch.tensor([ids]), scores)
        values_or_null = [value if np.isfinite(value) else None for value in scores[0].tolist()]
        settings["eos_token_id"] = ends
        cases.append(
            {"ids": ids, "prompt": prompt, "settings": settings, "logits": logits.tolist(), "scores": values_or_null}
        )
    lines = ",\n".join(json.dumps(case) for case in cases)
    (Path(__file__).parent / "logits.json").write_text(f"[\n{lines}\n]\n", "utf-8")


if __name__ == "__main__":
    main()
