"""An engine for tests: it interprets its parts too, and refuses the layer types passed to it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ir_exec.build.cutting import Cut
from ir_exec.engines.guards import find_guarded
from ir_exec.engines.interface import EngineSetting, LayerTime, PartRefused
from ir_exec.errors import EvaluationError
from ir_exec.graph import Node
from ir_exec.kernels.limits import Limits
from ir_exec.model import Model
from ir_exec.runtime import CompiledModel
from ir_exec.types import Array

__all__ = ["OtherEngine", "OtherPart"]


class OtherPart:
    """A part; fails: whether every run does."""

    def __init__(self, model: Model, *, fails: bool) -> None:
        self.layers = {node.name for node in model.graph.nodes}
        self.runs = 0
        self.is_closed = False
        self._compiled = CompiledModel(model)
        self._fails = fails

    def run(self, arrays: Sequence[Array], limits: Limits) -> list[Array]:
        self.runs += 1
        if self._fails:
            raise EvaluationError("other-engine-fails")
        return list(self._compiled(list(arrays)).to_tuple())

    def times(self) -> list[LayerTime]:
        return []

    def close(self) -> None:
        self.is_closed = True


class OtherEngine:
    """refuses: types of layers known before, late: types that show themselves when a part is compiled."""

    name = "other"
    title = "other 1.0"

    def __init__(
        self, *, refuses: Collection[str] = (), late: Collection[str] = (), fails: bool = False, names: bool = True
    ) -> None:
        self.refuses, self.late, self.fails, self.names = refuses, late, fails, names
        self.setting: EngineSetting | None = None
        self.parts: list[OtherPart] = []

    def __call__(self, setting: EngineSetting) -> OtherEngine:
        self.setting = setting
        return self

    def refusals(self, model: Model) -> Mapping[Node, str]:
        refused = {node: "refused" for node in model.graph.nodes if node.type in self.refuses}
        return {**find_guarded(model), **refused}

    def compile(self, part: Cut) -> OtherPart:
        blamed = {node.id: "refused-late" for node in part.model.graph.nodes if node.type in self.late}
        if blamed:
            raise PartRefused("refused", blamed if self.names else {})
        self.parts.append(OtherPart(part.model, fails=self.fails))
        return self.parts[-1]
