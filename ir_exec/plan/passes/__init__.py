"""Changes of a plan: fewer, larger steps in the place of several layers, and constants in the form that is read.

They work on the nodes that a plan is made of, between inference and planning, and never on the model: the layers of a
file stay what an observer sees. A fusion is a `FusionRule`: a pattern, and the operator that takes the place of its
nodes. `ir_exec.plan.compiler.PASSES` has all passes in their order.
"""
