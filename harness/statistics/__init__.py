"""Statistics of runs: rates with exact intervals, exact tests, and their correction.

Pure functions of numbers. The choice of the runs to compare does not belong here.
"""
