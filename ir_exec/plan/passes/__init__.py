"""Changes of a plan: fewer, larger steps instead of several layers, and constants in the form that is read.

They work on the nodes of a plan, between inference and planning, and never on the model: an observer always sees the
layers of the file. A fusion is a `FusionRule`: a pattern, and the operator that replaces its nodes.
`ir_exec.plan.pipeline.PASSES` has all passes in their order.
"""
