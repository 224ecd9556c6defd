"""Checks at node level: what the kubelets and the drivers of devices did with claims.

The kubelets' journals are a second witness. A device counts as prepared twice only if the recorded
API objects agree.
"""
