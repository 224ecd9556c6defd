"""The faults of a run, resolved when it is planned: rules, processes, seeds, and sentences.

A fault that cannot work in the run is refused here, with a reason and a remedy. Not in here: what a
kind of fault is, which `scenario.fault_kinds` says; the faults at work (see `faulting`).

Contents: `nemesis`, `planned_runs`, `planning`.
"""
