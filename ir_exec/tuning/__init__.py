"""The selection of variants by kernels.

`machine` has the properties of the machine, `thresholds` the minimum and maximum sizes of variants. They change the
speed of a result. If a choice changes the order of a sum, and so its last bits, the threshold is marked "Rounds".
"""
