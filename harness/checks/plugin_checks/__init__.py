"""Checks that other packages bring along as plug-ins.

A run owes the checks of its plan, which are those that were installed when it was planned. Each one
runs in a process of its own with a time limit, on a copy of the evidence; its answer is checked. A
check that is missing, fails, or answers nonsense or too late is UNKNOWN, by its name and package. A
run directory never says what code to run: only installed plug-ins are used.
"""
