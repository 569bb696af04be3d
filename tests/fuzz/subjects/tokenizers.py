"""Damaged tokenizers and their settings, with hostile texts and tokens, within little memory and time."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import ir_exec
from ir_exec.text.folders.checking import check_folder
from ir_exec.text.folders.describing import facts_of_folder
from ir_exec.text.folders.folder import open_folder
from tests.fuzz.drawing import HOSTILE_TEXTS, damage, draw_json
from tests.fuzz.frame import Subject, only_our_errors

__all__ = ["SUBJECT"]

_TOKENIZERS = Path(__file__).parents[2] / "text" / "tokenizers"
_NAMES = sorted(path.name.removesuffix("_tokenizer.xml") for path in _TOKENIZERS.glob("*_tokenizer.xml"))

_KEYS = ("model", "vocab", "added_tokens", "id", "content", "merges", "architectures", "model_type", "eos_token_id")
_SETTINGS = ("config.json", "tokenizer.json", "tokenizer_config.json", "generation_config.json", "model_index.json")


def run(random: Random, folder: Path) -> None:
    name = random.choice(_NAMES)
    root = folder / "model"
    root.mkdir()
    for part in ("tokenizer", "detokenizer"):
        for ending in ("xml", "bin"):
            shutil.copy(_TOKENIZERS / f"{name}_{part}.{ending}", root / f"openvino_{part}.{ending}")
    for path in random.sample(sorted(root.iterdir()), 2):
        path.write_bytes(damage(path.read_bytes(), random))
    for file in random.sample(_SETTINGS, 2):
        (root / file).write_text(json.dumps(draw_json(random, _KEYS)), "utf-8")
    with only_our_errors():
        reports = check_folder(root) or []
        assert "IR999" not in {diagnostic.code for report in reports for diagnostic in report.diagnostics}
        opened = open_folder(root)
        if opened is not None:
            facts_of_folder(opened).model_dump_json()
    texts = np.array([random.choice((*HOSTILE_TEXTS, "word " * 50, "\u0301" * 300))], object)
    tokens = np.array([[random.choice((-1, 0, 1, 5, 10**6, 2**31)) for _ in range(random.randrange(5))]], np.int64)
    _run(root / "openvino_tokenizer.xml", texts)
    _run(root / "openvino_detokenizer.xml", tokens)


def _run(path: Path, *inputs: Any) -> None:
    with only_our_errors():
        ir_exec.compile_model(path, max_memory=2**26, max_seconds=0.2)(list(inputs))


SUBJECT = Subject(run, cases=60)
