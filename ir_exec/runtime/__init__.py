"""Running: the plan, the loop, the arrays of the caller, variables and memory."""

from ir_exec.runtime.compiled import CompiledModel, Results, compile_model
from ir_exec.runtime.loop import Observer

__all__ = ["CompiledModel", "Observer", "Results", "compile_model"]
