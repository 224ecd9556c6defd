"""The faults of a run at work: switched on, recorded, and healed.

Which call or event a rule hits is decided in `harness.faults`, by the carrier. Not in here: which
faults a run has (see `fault_planning`); whether they prove anything, which is for `checks`.
"""
