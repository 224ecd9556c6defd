"""Checks at node level: what the kubelets and the drivers of devices did with claims.

The kubelets' journals are a second witness. No check relies on them alone: a violation is one only
if the recorded API objects agree.
"""
