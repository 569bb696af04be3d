"""Tokens of other runtimes, computed in a separate process. Started by `debug.child.Child`, never imported."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

# Telemetry calls a server from a forked process, which outlives a crash and keeps the pipes open.
sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]  # None makes the import fail


def main() -> None:
    answers = os.fdopen(os.dup(1), "wb")
    # Output of the runtimes must not be mixed with the answers.
    os.dup2(2, 1)
    ways = {"openvino": _openvino, "genai": _genai, "transformers": _transformers}
    for line in sys.stdin.buffer:
        request = json.loads(line)
        try:
            answer: dict[str, Any] = {"ids": ways[request["runtime"]](request)}
        except Exception as error:  # every error is an answer
            answer = {"refused": " ".join(f"{type(error).__name__}: {error}".split())[-600:]}
        answers.write(json.dumps(answer).encode() + b"\n")
        answers.flush()


def _openvino(request: dict[str, Any]) -> list[int]:
    """Return greedy tokens of OpenVINO's runtime; the model has a cache in variables, or no cache."""
    import numpy as np
    import openvino as ov  # type: ignore[import-untyped]  # the package has no types

    core = ov.Core()
    compiled = core.compile_model(request["model"], request["device"], request["options"])
    run = compiled.create_infer_request()
    names = {name for port in compiled.inputs for name in port.get_names()}
    has_state = len(run.query_state()) > 0
    ids = list(request["ids"])
    new: list[int] = []
    start = 0
    for _ in range(request["count"]):
        tokens = ids[start:]
        values = {
            "input_ids": np.array([tokens], np.int64),
            "attention_mask": np.ones((1, len(ids)), np.int64),
            "position_ids": np.arange(start, len(ids), dtype=np.int64)[None],
            "beam_idx": np.zeros(1, np.int32),
        }
        result = run.infer({name: value for name, value in values.items() if name in names})
        token = int(result["logits"][0, -1].argmax())
        new.append(token)
        start = len(ids) if has_state else 0
        ids.append(token)
    return new


def _genai(request: dict[str, Any]) -> list[int]:
    import numpy as np
    import openvino as ov
    import openvino_genai  # type: ignore[import-not-found]  # not installed by the tests

    pipeline = openvino_genai.LLMPipeline(request["folder"], request["device"], **request["options"])
    inputs = openvino_genai.TokenizedInputs(
        ov.Tensor(np.array([request["ids"]], np.int64)), ov.Tensor(np.ones((1, len(request["ids"])), np.int64))
    )
    result = pipeline.generate(inputs, max_new_tokens=request["count"], do_sample=False, ignore_eos=True)
    return [int(token) for token in result.tokens[0]]


def _transformers(request: dict[str, Any]) -> list[int]:
    import torch  # type: ignore[import-not-found]  # not installed by the tests
    import transformers as hf  # type: ignore[import-not-found]  # not installed by the tests

    # Without trust_remote_code, no Python file of the folder is imported; by default transformers prompts for consent.
    source, is_trusted = request["source"], False
    has_encoder = hf.AutoConfig.from_pretrained(source, trust_remote_code=is_trusted).is_encoder_decoder
    model_class = hf.AutoModelForSeq2SeqLM if has_encoder else hf.AutoModelForCausalLM
    model = model_class.from_pretrained(source, trust_remote_code=is_trusted, torch_dtype=torch.float32).eval()
    model.generation_config.eos_token_id = None
    prompt = torch.tensor([request["ids"]])
    with torch.no_grad():
        tokens = model.generate(
            prompt,
            attention_mask=torch.ones_like(prompt),
            max_new_tokens=request["count"],
            do_sample=False,
            num_beams=1,
        )
    # A decoder with an encoder begins with its start token.
    return [int(token) for token in tokens[0, 1 if has_encoder else len(request["ids"]) :]]


if __name__ == "__main__":
    main()
