"""The faults of a run: the record of their injection, and the violations that they explain.

Injecting faults does not belong here (see `run.faulting`). A violation that a fault explains is
still a violation.
"""
