"""Scenario folders from what a cluster has: slices, classes, nodes, templates and workloads.

`imports` is the entry. Objects come from files, are cut down to what a run
can use, are redacted on demand, and become the files of a scenario. Running it does not belong
here, nor does reading manifests for a run.
"""
