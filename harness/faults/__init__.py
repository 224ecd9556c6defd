"""Fault injection into API traffic: which calls and events a fault applies to, and a record of it.

Both carriers use it, the embedded API server and the fault proxy, so that one fault means the same
on every cluster. Not in here: delaying, rejecting and dropping itself, which the carriers do; the
faults of a scenario, which are in `scenario.fault_kinds`; faults of processes, which the run
injects.
"""
