"""The runtime: plans, the loop over layers, input arrays, variables and memory."""

from ir_exec.runtime.compiled import CompiledModel, compile_model
from ir_exec.runtime.loop import Observer
from ir_exec.runtime.requests import InferRequest
from ir_exec.runtime.sessions import Results, Session

__all__ = ["CompiledModel", "InferRequest", "Observer", "Results", "Session", "compile_model"]
