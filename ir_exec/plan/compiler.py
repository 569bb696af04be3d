"""The compiler of plans: it runs the passes, and owns their scope, their state and their checks.

Passes of scope `model` run once, with the first plan. Every plan of the graph reads their result, the constants. Passes
of scope `shapes` run for each set of input shapes. If a pass fails, it is disabled and logged, and the plan made again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, ParamSpec, TypeAlias, TypeVar

from ir_exec.errors import IRError, ResourceError
from ir_exec.infer import Types, infer_types
from ir_exec.kernels.limits import current_limits
from ir_exec.ops.infrastructure.values import ReadsVariable
from ir_exec.plan.constants import ModelConstants
from ir_exec.plan.graph import PlanGraph
from ir_exec.plan.passes.prepack import WeightMemoryBudget
from ir_exec.plan.pipeline import PASSES, ModelPass, ShapesPass
from ir_exec.plan.records import Plan, Setting
from ir_exec.plan.selection import PassSelection
from ir_exec.types import Shape, TensorType

if TYPE_CHECKING:
    from ir_exec.plan.run_sizes import RunSizes

__all__ = ["Compiler", "PassFailedError", "PassOutcome", "Tier"]

Tier: TypeAlias = Literal["plain", "auto", "full"]
"""The optimization of plans: none, all passes, or all with packed weights stored immediately.

Otherwise packed weights are stored after enough runs.
"""

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")
_State = TypeVar("_State", ModelConstants, PlanGraph)

_FOLLOWS_SHAPES = frozenset({"fold_shapes", "hoist_gather_past_matmul", "hoist_loop_invariants"})
"""Passes that are disabled if values that follow from the input shapes cannot be computed."""


class PassFailedError(RuntimeError):
    """An optional pass failed, which is a fault of this library; it leaves the compiler in tests only."""

    def __init__(self, failed: ModelPass | ShapesPass) -> None:
        super().__init__(f"pass {failed.name} failed")
        self.failed = failed


class PassOutcome(NamedTuple):
    """The outcome of a pass.

    Attributes:
        reason: The change, or the reason for none.
    """

    name: str
    is_applied: bool
    reason: str


class Compiler:
    """The compiler of the plans of one graph.

    Args:
        weight_memory: The memory for constants in another order than in the file.
        tier: The passes that run.
        selection: Of these, the passes that the user has left.

    Attributes:
        constants: The constants after the passes of scope `model`; None before the first plan.
        failed: The reason for a plan without values that follow from the input shapes; the run reports the fault.
        broken: The passes that failed, with their errors; plans are made without them.
        outcomes: The outcome of each pass, for the latest plan.
    """

    is_strict: ClassVar[bool] = False
    """Raise PassFailedError if a pass fails, instead of making a plan without it, and check each result."""

    def __init__(
        self, setting: Setting, weight_memory: WeightMemoryBudget, tier: Tier, selection: PassSelection
    ) -> None:
        self.setting = setting
        self.tier = tier
        self.constants: ModelConstants | None = None
        self.failed: str | None = None
        self.broken: dict[str, str] = {}
        self.outcomes: dict[str, PassOutcome] = {}
        self._weight_memory = weight_memory
        self._selection = selection
        self._counted_bytes = 0

    def compile_plan(
        self,
        inputs: list[TensorType],
        sizes: RunSizes | None = None,
        *,
        variables: Sequence[tuple[str, tuple[int, ...]]] = (),
    ) -> Plan:
        """The plan for inputs of these types.

        Args:
            sizes: The sizes of a run. The plan is for this one and all others in which inference takes the same
                branches.
            variables: The shapes of variables in all runs of the plan.

        Raises:
            IRError: The errors of inference.
            ResourceError: If tensors of known sizes exceed the budget.
        """
        types = self._infer(inputs, variables)
        try:
            return self._compile(types, sizes, excluded=frozenset())
        except IRError as error:
            if isinstance(error, ResourceError) and self._discard_constants():
                return self.compile_plan(inputs, sizes, variables=variables)
            if self.tier == "plain" or self.constants is None:
                raise
            # A failure here recurs in the run, or in the plan below.
            self.failed = str(error)
            return self._compile(types, sizes, excluded=_FOLLOWS_SHAPES)

    def prepare(self, inputs: list[TensorType]) -> ModelConstants:
        """The constants, for runs of layers on inputs of these types without a plan.

        Raises:
            IRError: The errors of inference, and of layers that depend on constants only.
        """
        types = self._infer(inputs)
        return self._retry(lambda: self._prepare(types))

    def _compile(self, types: Types, sizes: RunSizes | None, excluded: Collection[str]) -> Plan:
        """The plan without the excluded passes, and without those that fail."""
        plan = self._retry(lambda: self._plan(types, sizes, self._prepare(types), excluded))
        if self.tier != "plain" and not excluded:
            plan.require_memory(current_limits())
        return plan

    def _retry(self, make: Callable[[], _Result]) -> _Result:
        """Call a function that runs passes, again without each of them that fails."""
        while True:
            try:
                return make()
            except PassFailedError as error:
                if self.is_strict:
                    raise
                self._disable(error)

    def _prepare(self, types: Types) -> ModelConstants:
        """The constants, from the passes of scope `model`, which run once."""
        if self.constants is not None:
            return self.constants
        self._weight_memory.restart()
        constants = ModelConstants(self.setting, types, self._weight_memory)
        for entry in PASSES:
            if isinstance(entry, ModelPass) and self._may_run(entry):
                before = constants
                constants = self._attempt(entry, entry.run, before)
                self._note(entry, constants is not before, f"{len(constants.folded)} constants")
                if self.is_strict:
                    constants.require_complete()
        self._counted_bytes = constants.nbytes
        self.setting.budget.constants += self._counted_bytes
        self.constants = constants
        return constants

    def _plan(self, types: Types, sizes: RunSizes | None, constants: ModelConstants, excluded: Collection[str]) -> Plan:
        """The plan, from the passes of scope `shapes`."""
        results = [node.values_in[0].number for node in self.setting.graph.results]
        graph = PlanGraph(constants.computed_nodes(), types, constants.arrays.copy(), results, self.setting.operator)
        graph.sizes = sizes
        for entry in PASSES:
            if isinstance(entry, ShapesPass) and self._may_run(entry, excluded):
                before = graph.nodes
                graph = self._attempt(entry, entry.run, graph, constants)
                self._note(entry, graph.nodes != before, f"{len(graph.nodes)} nodes, {len(before)} before")
                if self.is_strict:
                    graph.require_order(self.setting.graph.parameters)
        if self.is_strict:
            constants.require_complete()
        assert graph.plan is not None, "the last pass makes it"
        graph.plan.skipped = [*graph.skipped, *(graph.prologue.skipped if graph.prologue is not None else ())]
        return graph.plan

    def _may_run(self, entry: ModelPass | ShapesPass, excluded: Collection[str] = ()) -> bool:
        reason = ""
        if entry.name in excluded:
            reason = f"values that follow from the input shapes cannot be computed: {self.failed}"
        elif entry.is_required:
            return True
        elif self.tier == "plain" and not entry.is_plain:
            reason = "the model is compiled with optimize=False"
        elif not self._selection.allows(entry.selected_with or entry.name):
            reason = "the selection of passes leaves it out"
        elif entry.name in self.broken:
            reason = self.broken[entry.name]
        if reason:
            self._note(entry, False, reason)
        return not reason

    def _attempt(
        self,
        entry: ModelPass | ShapesPass,
        run: Callable[_Arguments, _State],
        *state: _Arguments.args,
        **options: _Arguments.kwargs,
    ) -> _State:
        """Run a pass.

        Raises:
            IRError: The errors of layers that a pass runs, and any error of a required pass.
            PassFailedError: If the plan can be made without it.
        """
        try:
            return run(*state, **options)
        except Exception as error:
            if entry.is_required or (entry.computes and isinstance(error, IRError)):
                raise
            raise PassFailedError(entry) from error

    def _disable(self, error: PassFailedError) -> None:
        import logging  # passes do not fail

        name, cause = error.failed.name, error.__cause__
        self.broken[name] = f"{type(cause).__name__}: {cause}"
        logging.getLogger("ir_exec.plan").warning("pass %s failed and is disabled", name, exc_info=cause)

    def _note(self, entry: ModelPass | ShapesPass, is_applied: bool, reason: str) -> None:
        self.outcomes[entry.name] = PassOutcome(entry.name, is_applied, reason)
        # Readers of logs have imported the module. Its import takes more time than a small model.
        if "logging" in sys.modules:
            logger = sys.modules["logging"].getLogger("ir_exec.plan")
            logger.debug("pass %s %s: %s", entry.name, "applied" if is_applied else "not applied", reason)

    def pack(self) -> None:
        """Store packed weights. Results do not change; the memory for them was counted with the first plan."""
        for packed in self.constants.packed if self.constants is not None else ():
            packed.pack()

    def _discard_constants(self) -> bool:
        """Discard all constants; from now on none is packed.

        Returns:
            True if any was packed.
        """
        if self.constants is None or not self._weight_memory.packed_bytes:
            return False
        self._selection = self._selection.leaving_out("prepack_weights", "transform_filters")
        self.setting.budget.constants -= self._counted_bytes
        self.constants = None
        return True

    def _infer(self, inputs: list[TensorType], variables: Sequence[tuple[str, tuple[int, ...]]] = ()) -> Types:
        """The type of every value for inputs of these types, and for variables of these shapes."""
        setting = self.setting
        overrides = {node.outputs[0]: type for node, type in zip(setting.graph.parameters, inputs, strict=True)}
        types = setting.types
        if types is None or any(types[value.number] != type for value, type in overrides.items()):
            types = infer_types(setting.graph, weights=setting.weights, overrides=overrides, ops=setting.ops)
        shapes = dict(variables)
        for node in setting.graph.nodes if variables else ():
            if isinstance(node.op, ReadsVariable) and node.op.variable_id in shapes:
                type = types[node.outputs[0].number]
                overrides[node.outputs[0]] = type.with_shape(Shape(shapes[node.op.variable_id]))
        if not variables:
            return types
        return infer_types(setting.graph, weights=setting.weights, overrides=overrides, ops=setting.ops)

    @property
    def constant_bytes(self) -> int:
        """The bytes of folded constants; views of the mapped file take none."""
        return 0 if self.constants is None else self.constants.nbytes
