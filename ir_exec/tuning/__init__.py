"""The selection of variants by kernels.

`machine` contains the properties of the machine, and `thresholds` the minimum and maximum sizes of variants. These
change only the speed of a result, unless a choice changes the order of a sum and thus its last bits; such thresholds
are marked "Rounds".
"""
