"""The faults of a run: the record of their injection, and the violations that they explain.

Injecting faults does not belong here (see `run.faulting`). A violation that a fault explains is
still a violation.

Contents: `fault_attribution`, `fault_effects`, `fault_records`, `fault_wording`, `object_faults`.
"""
