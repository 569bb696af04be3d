"""The engine of the tests, registered by an entry point."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ir_exec.engines import registry
from tests.engines.other import OtherEngine


class _Entry:
    def __init__(self, engine: OtherEngine) -> None:
        self.name = "other"
        self._engine = engine

    def load(self) -> OtherEngine:
        return self._engine


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch) -> Callable[[OtherEngine], OtherEngine]:
    def register_engine(engine: OtherEngine) -> OtherEngine:
        monkeypatch.setattr(registry, "registered_engines", lambda: [_Entry(engine)])
        return engine

    return register_engine
