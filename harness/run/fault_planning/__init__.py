"""The faults of a run, resolved when it is planned: rules, processes, seeds, and sentences.

A fault that cannot work in the run is refused here, with a reason and a remedy. Not in here: the
keys of faults, which are in `scenario.fault_specs`; the faults at work (see `faulting`).
"""
