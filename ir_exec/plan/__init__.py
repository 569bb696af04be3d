"""The compiler: it makes the plan of a graph, the steps that run for a set of input shapes."""
