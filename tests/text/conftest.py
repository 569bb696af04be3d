"""OpenVINO with the operators of openvino_tokenizers."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import pytest

from tests.text.openvino import OpenVINO


@pytest.fixture(scope="session")
def openvino() -> Iterator[OpenVINO]:
    if find_spec("openvino_tokenizers") is None:
        pytest.skip("openvino_tokenizers is not installed")
    runtime = OpenVINO()
    yield runtime
    runtime.close()
