"""Validation of nodes, namespaces, config maps, secrets, events, leases and priority classes.

Rules of pods do not belong here, but in `validation.pod`.
"""
