"""Running: plans, the loop over layers, input arrays, variables and memory."""

from ir_exec.runtime.compiled import CompiledModel, Results, Session, compile_model
from ir_exec.runtime.loop import Observer

__all__ = ["CompiledModel", "Observer", "Results", "Session", "compile_model"]
