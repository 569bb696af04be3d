"""The compiler: from a graph to a plan, the steps that run for a set of input shapes."""
