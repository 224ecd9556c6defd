"""Statistics of runs: rates with exact intervals, exact and permutation tests, their correction.

Sequential decisions may be asked for after every run; power is computed before the first.

Pure functions of numbers. The choice of the runs to compare does not belong here.
"""
