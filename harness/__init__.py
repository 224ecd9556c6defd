"""Flake Hunt: did a Kubernetes scheduler ever give one device to two claims?

The layers, top to bottom, and the only direction in which imports go:
cli, campaign, run, traffic, report and faults, checks and subject and cluster, client, apiserver, history,
scenario, model, and at the bottom concurrency, clocks, seeds, errors and processes.
"""
