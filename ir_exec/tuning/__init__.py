"""How kernels choose between ways to the same result: `machine` has what they know about the machine, `thresholds` from
which sizes on a way pays. They change how fast a result is there; where a choice changes the order of a sum, and so its
last bits, the threshold says so."""
