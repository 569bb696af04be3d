"""A device for tests: ir_exec itself, with faults that are put in."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import ir_exec
from ir_exec.debug.comparison.references.child import ChildCrashed, ChildRefused
from ir_exec.debug.traces.walk import Visit, Walker
from ir_exec.types import Array, ElementType

Fault = Callable[[Array], Array]


class FaultyDevice:
    """wrong: types of layers whose first output is another. together: types that are wrong where a network holds all
    of them. crashing, hanging, refused: names of layers, without the number before them. seen: the layers of each
    network."""

    def __init__(
        self,
        *,
        wrong: Collection[str] = (),
        together: Collection[str] = (),
        crashing: Collection[str] = (),
        hanging: Collection[str] = (),
        refused: Collection[str] = (),
        refuses_open_dims: bool = False,
        prefers_blocks: bool = False,
    ) -> None:
        self.title = "faulty (TEST)"
        self.version = "1"
        self.computes_in: ElementType | None = None
        self.narrows_integers = True
        self.prefers_blocks = prefers_blocks
        self.seen: list[list[str]] = []
        self.wrong, self.together, self.crashing, self.refused = wrong, together, crashing, refused
        self.hanging = hanging
        self.refuses_open_dims = refuses_open_dims

    def run(self, path: Path, inputs: Sequence[Array], *, is_static: bool = False, fuses: bool = False) -> list[Array]:
        model = ir_exec.read_model(path)
        nodes = [node for node in model.graph.nodes if node.values_in and node.outputs]
        names = [node.name.partition("/")[2] for node in nodes]
        self.seen.append(names)
        if any(name in self.crashing for name in names):
            raise ChildCrashed("crashed with SIGSEGV")
        if any(name in self.hanging for name in names):
            raise ChildCrashed("did not answer within 60 s", is_late=True)
        if any(name in self.refused for name in names):
            raise ChildRefused("no kernel")
        if self.refuses_open_dims and not is_static and any(not port.shape.is_static for port in model.inputs):
            raise ChildRefused("open dims")
        types = {node.type for node in nodes}
        wrong = {*self.wrong, *(self.together if types.issuperset(self.together) else ())}

        def fault(visit: Visit) -> list[Array] | None:
            if visit.node.type not in wrong:
                return None
            return [visit.outputs[0] + visit.outputs[0].dtype.type(1), *visit.outputs[1:]]

        return Walker(model, precision="f32").run(list(inputs), fault)

    def list_fused(self, path: Path) -> list[str]:
        return []

    def close(self) -> None:
        pass
