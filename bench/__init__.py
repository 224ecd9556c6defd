"""Figures and ratios of what ought to be fast. Nothing is asserted: machines differ, so compare two
commits on one machine.
"""
