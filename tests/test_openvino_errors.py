"""The page about OpenVINO's errors: OpenVINO reports each message for a minimal file that breaks the rule."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "openvino-errors.md").read_text("utf-8")
ROWS = [
    (text, code)
    for text, codes in re.findall(r"^\| ([^|]+) \| (\[IR[^|]+) \|", PAGE, re.MULTILINE)
    for code in re.findall(r"\[(IR\d+)\]", codes)
]


def test_the_table_is_found() -> None:
    assert len(ROWS) > 20


@pytest.mark.parametrize(("text", "code"), ROWS, ids=[f"{code}-{number}" for number, (_, code) in enumerate(ROWS)])
def test_openvino_reports_it(text: str, code: str) -> None:
    openvino = pytest.importorskip("openvino")
    core = openvino.Core()
    messages = []
    for path in (ROOT / "tests" / "bad").glob(f"{code}-*.xml"):
        try:
            core.compile_model(core.read_model(path), "CPU")
        except RuntimeError as error:
            messages.append(str(error))
        else:
            messages.append("none")
    message = text.strip("`") if text.startswith("`") else "none"
    assert any(message in text for text in messages), messages


def test_openvino_reports_errors_of_calls() -> None:
    openvino = pytest.importorskip("openvino")
    listed = re.findall(r"^\| `([^`]+)` \| [^|]+ \| `ir-exec", PAGE, re.MULTILINE)
    core = openvino.Core()
    samples = ROOT / "samples"
    gather = core.compile_model(samples / "gather_elements.xml", "CPU")
    bert = core.compile_model(samples / "bert.xml", "CPU")
    ids, mask = np.zeros((1, 4), np.int64), np.ones((1, 5), np.int64)
    calls = [
        lambda: bert.inputs[0].shape,
        lambda: gather({"data": np.zeros((2, 2, 5), np.float32)}),
        lambda: gather({"index": ids}),
        lambda: bert({"input_ids": ids, "attention_mask": mask}),
    ]
    assert len(listed) == len(calls)
    for text, call in zip(listed, calls, strict=True):
        with pytest.raises(RuntimeError, match=re.escape(text)):
            call()
