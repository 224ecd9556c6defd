"""Validation of small kinds: nodes, namespaces, config maps, secrets, events, leases, priority classes.

Rules of pods belong in `validation.pod`.
"""
